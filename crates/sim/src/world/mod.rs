//! The world of a run: all machines, and the only place that knows how they are wired.
//!
//! ```text
//! application ► endpoint ► downlink pipe ► last hop ► endpoint ► application
//!               (server)                             (user)
//! application ◄ endpoint ◄ uplink pipe ◄ return link ◄ endpoint ◄ application
//! ```
//!
//! Data take the downlink and acknowledgments the uplink, or the other way round in an upload. With a proxy the application
//! writes to a server, and a terrestrial pipe joins it to the gateway, where the proxy reads and writes the connection over the
//! satellites.

mod build;
mod endpoint;
mod flow;
mod law;
mod ledger;
mod network;
mod path;
mod pipe;
mod place;
mod proxy;
mod report;
mod schedule;

use endpoint::{Connection, Endpoints, Entered, Reader};
use engine::Livelock;
use flow::{Application, Flow, Kind};
use ledger::Ledger;
use network::Network;
use proxy::Proxy;
use schedule::{Machine, Schedule};
use traffic::Action;
use transport::{Act, Answer, Input};
use units::Time;

use crate::packet::Way;
use crate::record::series::FlowSample;

pub use build::{Choosers, channel_streams, last_hop_streams, last_link, load_channel};
pub(crate) use build::{build, check};
pub use law::law;

/// See the module.
pub(crate) struct World {
    schedule: Schedule,
    now: Time,
    network: Network,
    ledger: Ledger,
    applications: Vec<Application>,
    kinds: Vec<Kind>,
    flows: Vec<Flow>,
    endpoints: Endpoints,
    proxies: Vec<Proxy>,
    sampler: engine::MachineId,
    warnings: Vec<String>,
}

impl World {
    /// Simulated time that has passed.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Runs all that is due until `until`.
    ///
    /// # Errors
    /// Time does not move.
    pub(crate) fn run_until(&mut self, until: Time) -> Result<(), Livelock> {
        while let Some((now, machine)) = self.schedule.next_until(until)? {
            self.now = now;
            match machine {
                Machine::Downlink(place) => self.arrive_at_last_hop(now, place),
                Machine::LastHop(place) => {
                    self.network.place(place).work_last_hop(now);
                    self.leave_last_hop(now, place);
                }
                Machine::Uplink(place) => self.arrive_at_gateway(now, place),
                Machine::Endpoint(endpoint) => self.time_out(now, endpoint),
                Machine::Application(application) => self.act(now, application),
                Machine::Terrestrial => self.arrive_over_ground(now),
                Machine::ReturnLink(place) => {
                    self.network.place(place).begin_frame(now, &mut self.ledger, &mut self.schedule);
                }
                Machine::Service(place) => self.hand_over(now, place),
                Machine::Sampler => self.sample(now),
            }
        }
        self.now = until;
        Ok(())
    }

    /// Arms what acts by itself.
    fn start(&mut self) {
        for application in &self.applications {
            self.schedule.wake_at(application.machine, application.source.poll_timeout());
        }
        for place in &self.network.places {
            place.schedule_service(&mut self.schedule);
        }
        self.schedule.wake_at(self.sampler, self.ledger.recorder.series.as_ref().map(|_| Time::ZERO));
    }

    fn arrive_at_last_hop(&mut self, now: Time, place: u32) {
        while self.network.place(place).enter_last_hop(now, &mut self.ledger, &mut self.schedule) {
            self.leave_last_hop(now, place);
        }
    }

    fn leave_last_hop(&mut self, now: Time, place: u32) {
        while let Some(id) = self.network.place(place).poll_last_hop(now, &mut self.ledger, &mut self.schedule) {
            self.arrive(now, id);
        }
    }

    fn arrive_at_gateway(&mut self, now: Time, place: u32) {
        while let Some(id) = self.network.place(place).poll_uplink(now, &mut self.schedule) {
            self.arrive(now, id);
        }
    }

    fn arrive_over_ground(&mut self, now: Time) {
        while let Some(id) = self.network.poll_terrestrial(now, &mut self.schedule) {
            self.arrive(now, id);
        }
    }

    fn hand_over(&mut self, now: Time, place: u32) {
        self.network.place(place).hand_over(now);
        self.leave_last_hop(now, place);
        self.network.place(place).schedule_service(&mut self.schedule);
    }

    /// A packet arrives at the endpoint that it was sent to, which answers, and whoever reads there.
    fn arrive(&mut self, now: Time, id: u32) {
        let (endpoint, payload) = self.ledger.deliver(now, id);
        let Entered { reader, advanced, answer } = self.enter(now, endpoint, Input::Packet(&payload));
        match reader {
            Reader::Sink => {}
            Reader::Application(number) if advanced => self.tell(now, number, endpoint, answer.delivered),
            Reader::Application(_) => {}
            Reader::Proxy { number, .. } => self.relay(now, number, endpoint, &answer),
        }
    }

    fn time_out(&mut self, now: Time, endpoint: u32) {
        let site = &self.endpoints.get(endpoint).site;
        self.ledger.recorder.timed_out(now, site.flow, site.route, site.way);
        self.enter(now, endpoint, Input::Timeout);
    }

    /// Enters an endpoint, and sends what it has to send.
    #[inline]
    fn enter(&mut self, now: Time, endpoint: u32, input: Input<'_>) -> Entered {
        let World { endpoints, ledger, network, schedule, .. } = self;
        endpoints.enter(now, endpoint, input, ledger, network, schedule)
    }

    /// An application does what is due.
    fn act(&mut self, now: Time, number: u32) {
        let first = self.applications[number as usize].first_flow;
        let mut acted = [0u64; 2];
        while let Some(act) = self.applications[number as usize].source.poll_action(now) {
            self.carry_out(now, first + act.connection, act);
            acted[Way::of(act.end) as usize] |= 1 << act.connection;
        }
        let application = &self.applications[number as usize];
        self.schedule.wake_at(application.machine, application.source.poll_timeout());
        for way in [Way::Forward, Way::Backward] {
            let mut left = acted[way as usize];
            while left > 0 {
                let endpoint = self.connection_of(first + left.trailing_zeros()).end(way);
                left &= left - 1;
                self.enter(now, endpoint, Input::Acted);
            }
        }
    }
    /// An application acts on one of its connections.
    fn carry_out(&mut self, now: Time, flow: u32, act: traffic::Act) {
        self.ledger.recorder.acted(now, flow, act.action == Action::Open);
        let (connection, way) = (*self.connection_of(flow), Way::of(act.end));
        let act = match act.action {
            Action::Open => return self.endpoints.open(now, &connection, way),
            Action::Write(bytes) => Act::Write(bytes),
            Action::WriteForEver => Act::WriteForEver,
            Action::Close => Act::Close,
        };
        self.endpoints.act(now, connection.end(way), act);
    }

    /// The connection that the application of a flow writes to.
    fn connection_of(&self, flow: u32) -> &Connection {
        let flow = &self.flows[flow as usize];
        flow.proxy.map_or(&flow.connection, |proxy| &self.proxies[proxy as usize].terrestrial)
    }

    /// The application has so many bytes at `endpoint`; it may have something to say to that.
    fn tell(&mut self, now: Time, number: u32, endpoint: u32, bytes: u64) {
        let site = &self.endpoints.get(endpoint).site;
        let application = &mut self.applications[number as usize];
        let connection = site.flow - application.first_flow;
        application.source.handle_delivered(now, connection, site.way.sender(), bytes);
        match application.source.poll_timeout() {
            Some(due) if due <= now => self.act(now, number),
            timeout => self.schedule.wake_at(application.machine, timeout),
        }
    }

    /// A packet came to one of a proxy's endpoints.
    fn relay(&mut self, now: Time, number: u32, endpoint: u32, answer: &Answer) {
        if let Some(acted) = self.proxies[number as usize].relay(now, endpoint, answer, &mut self.endpoints) {
            self.enter(now, acted, Input::Acted);
        }
    }

    fn sample(&mut self, now: Time) {
        let World { network: Network { places, .. }, ledger, flows, kinds, endpoints, .. } = self;
        let Some(series) = &mut ledger.recorder.series else { return };
        let hop = places[0].sample(now);
        let flows = flows.iter().map(|flow| {
            let sample = endpoints.sample(flow.connection.end(Way::Forward));
            let delivered_bytes = endpoints.get(flow.connection.end(Way::Backward)).delivered_bytes;
            let place = &mut places[kinds[flow.kind as usize].place as usize];
            place.attenuate(now, flow.user, FlowSample { delivered_bytes, ..sample })
        });
        series.add(now, hop, flows);
        let next = series.next(now);
        self.schedule.wake_at(self.sampler, Some(next));
    }
}
