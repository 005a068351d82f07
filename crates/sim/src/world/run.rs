//! The loop of a run: wakes the machine that is due, and carries what it gives to the next.

use std::collections::BTreeSet;

use engine::{Livelock, MachineId};
use traffic::{Action, AppSample};
use transport::{Act, Input, Prompt};
use units::Time;

use super::connection::{Connections, Reader};
use super::flow::{Application, Flow, FlowKind};
use super::network::Network;
use super::proxy::Proxy;
use super::schedule::Machine;
use super::underlay::Underlay;
use crate::packet::{EndpointId, Head, Link, Payload, Way};
use crate::record::recorder::Recorder;
use crate::record::series::FlowSample;
use crate::record::watch::EventKind;

/// All machines of a run.
pub(crate) struct World {
    pub(super) now: Time,
    pub(super) under: Underlay,
    /// The payload of the packet that [`World::receive`] took last.
    pub(super) arrived: Payload,
    pub(super) applications: Vec<Application>,
    pub(super) kinds: Vec<FlowKind>,
    pub(super) flows: Vec<Flow>,
    pub(super) connections: Connections,
    pub(super) proxies: Vec<Proxy>,
    pub(super) sampler: MachineId,
    /// The classes of service of the packets that came from outside.
    pub(super) offered_classes: BTreeSet<u32>,
    pub(super) warnings: Vec<String>,
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
        while let Some((now, machine)) = self.under.schedule.next_until(until)? {
            self.now = now;
            match machine {
                Machine::Downlink(place) => self.arrive_at_last_hop(now, place),
                Machine::LastHop(place) if self.under.network.place(place).is_late() => self.catch_up(now, place),
                Machine::LastHop(place) => {
                    self.under.network.place(place).work_last_hop(now);
                    self.leave_last_hop(now, place);
                }
                Machine::Uplink(place) => self.arrive_at_gateway(now, place, until),
                Machine::Forward(connection) => self.time_out(now, EndpointId { connection, way: Way::Forward }),
                Machine::Backward(connection) => self.time_out(now, EndpointId { connection, way: Way::Backward }),
                Machine::Application(application) => self.act(now, application),
                Machine::Terrestrial => self.arrive_over_ground(now),
                Machine::ReturnLink(place) => {
                    self.under.network.place(place).begin_frame(now, &mut self.under.ledger, &mut self.under.schedule);
                }
                Machine::PendingLosses(place) => {
                    self.catch_up_before(now, place);
                    self.under.network.place(place).lose_pending(now, &mut self.under.ledger, &mut self.under.schedule);
                }
                Machine::Service(place) => self.hand_over(now, place),
                Machine::Sampler => self.sample(now),
            }
        }
        self.now = until;
        Ok(())
    }

    /// Schedules the first wake-ups of applications, handovers and the sampler.
    pub(super) fn start(&mut self) {
        for application in &self.applications {
            self.under.schedule.wake_at(application.machine, application.source.poll_timeout());
        }
        for place in &self.under.network.places {
            place.schedule_service(&mut self.under.schedule);
        }
        self.under.schedule.wake_at(self.sampler, self.under.ledger.recorder.series.as_ref().map(|_| Time::ZERO));
        self.under.schedule.begin();
    }

    fn arrive_at_last_hop(&mut self, now: Time, place: u32) {
        while self.under.network.place(place).enter_last_hop(now, &mut self.under.ledger, &mut self.under.schedule) {
            self.leave_last_hop(now, place);
        }
    }

    /// What came to a place by `now`, and what left its last hop, where packets do so late.
    pub(super) fn catch_up(&mut self, now: Time, place: u32) {
        if self.under.network.place(place).simulates_bursts() {
            self.catch_up_simulated(now, place);
        } else {
            self.catch_up_entered(now, place);
        }
        self.under.network.place(place).schedule_late(&mut self.under.schedule);
    }

    /// As [`World::catch_up`], where bursts are simulated.
    #[inline(never)]
    fn catch_up_simulated(&mut self, now: Time, place: u32) {
        while let Some((at, id)) = self.under.network.place(place).poll_simulated(now, &mut self.under.ledger) {
            self.arrive(at, id);
        }
    }

    /// As [`World::catch_up`], where bursts are not simulated.
    #[inline(never)]
    fn catch_up_entered(&mut self, now: Time, place: u32) {
        loop {
            let lost_at = self.under.network.place(place).enter_late(now, &self.under.ledger);
            while let Some((at, id)) = self.under.network.place(place).poll_late(lost_at.unwrap_or(now)) {
                self.arrive(at, id);
            }
            let Some(at) = lost_at else { break };
            self.under.network.place(place).lose_late(at, &mut self.under.ledger);
        }
    }

    /// As [`World::catch_up`], for something that happens at `now` before packets come, where packets are late.
    pub(super) fn catch_up_before(&mut self, now: Time, place: u32) {
        if self.under.network.place(place).is_late() {
            self.catch_up(Time::from_nanos(now.as_nanos().saturating_sub(1)), place);
        }
    }

    /// Processes the packets of all places that come late, up to `now`.
    fn catch_up_everywhere(&mut self, now: Time) {
        for place in 0..self.under.network.places.len() as u32 {
            if self.under.network.place(place).is_late() {
                self.catch_up(now, place);
            }
        }
    }

    /// As [`World::catch_up_everywhere`], and from now on packets enter and leave last hops in time.
    pub(super) fn run_in_time(&mut self, now: Time) {
        self.catch_up_everywhere(now);
        let Underlay { network, schedule, .. } = &mut self.under;
        network.places.iter_mut().for_each(|place| place.run_in_time(schedule));
    }

    fn leave_last_hop(&mut self, now: Time, place: u32) {
        while let Some(id) = self.under.network.place(place).poll_arrived() {
            self.arrive(now, id);
        }
        if !self.under.network.place(place).rest_last_hop(&mut self.under.schedule) {
            self.empty_last_hop(now, place);
        }
    }

    /// Takes all that leaves the last hop, dropped and marked packets too.
    #[inline(never)]
    fn empty_last_hop(&mut self, now: Time, place: u32) {
        while let Some(id) =
            self.under.network.place(place).poll_last_hop(now, &mut self.under.ledger, &mut self.under.schedule)
        {
            self.arrive(now, id);
        }
    }

    #[inline(never)]
    fn arrive_at_gateway(&mut self, now: Time, place: u32, until: Time) {
        while let Some(id) = self.under.network.place(place).poll_uplink(now) {
            self.arrive(now, id);
        }
        if self.under.network.place(place).is_late() {
            self.go_on_at_gateway(place, until);
        } else {
            self.under.network.place(place).rest_uplink(&mut self.under.schedule);
        }
    }

    /// Takes the next packets at the gateway, as long as nothing else is due before them.
    #[inline(never)]
    fn go_on_at_gateway(&mut self, place: u32, until: Time) {
        while let Some(now) = self.under.network.place(place).go_on_uplink(until, &mut self.under.schedule) {
            self.now = now;
            while let Some(id) = self.under.network.place(place).poll_uplink(now) {
                self.arrive(now, id);
            }
        }
    }

    #[inline(never)]
    fn arrive_over_ground(&mut self, now: Time) {
        while let Some(id) = self.under.network.poll_terrestrial(now, &mut self.under.schedule) {
            self.arrive(now, id);
        }
    }

    fn hand_over(&mut self, now: Time, place: u32) {
        self.catch_up_before(now, place);
        let has_moved = self.under.network.place(place).hand_over(now, &mut self.under.ledger.recorder);
        self.leave_last_hop(now, place);
        // The last hop has scheduled itself for its packets alone.
        self.under.network.place(place).schedule_late(&mut self.under.schedule);
        if has_moved {
            for endpoint in self.connections.change_addresses(now, place) {
                self.enter(now, endpoint, Input::Acted);
            }
        }
        self.under.network.place(place).schedule_service(&mut self.under.schedule);
    }

    /// A packet arrives at the other end of its connection, which answers it in its slot, or takes it the general way.
    #[inline(always)]
    fn arrive(&mut self, now: Time, id: u32) {
        let connections = &self.connections;
        let endpoint = self
            .under
            .ledger
            .deliver(now, id, |packet, sequence| connections.end(packet.receiver()).endpoint().has_received(sequence));
        if !self.connections.answer(now, endpoint, Prompt::Packet, id, &mut self.under) {
            self.receive(now, id, endpoint);
        }
    }

    /// The general way of a packet into the endpoint at which it has arrived.
    #[inline(never)]
    fn receive(&mut self, now: Time, id: u32, endpoint: EndpointId) {
        let head: Head = **self.under.ledger.packets.get(id);
        self.under.ledger.packets.exchange(id, &mut self.arrived);
        self.under.ledger.packets.release(id);
        let World { connections, arrived, under, .. } = self;
        let (reader, advanced) = connections.enter(now, endpoint, Input::Packet(arrived), under);
        if let Payload::Quic(_) = arrived {
            under.ledger.recorder.datagrams(now, &head, arrived, advanced);
        }
        match reader {
            Reader::Application(number) if advanced => self.tell(now, number, endpoint, head.sent),
            Reader::Proxy(number) => self.relay(now, number, endpoint),
            Reader::Outside => self.leave(now, endpoint),
            Reader::Application(_) | Reader::Sink => {}
        }
    }

    fn time_out(&mut self, now: Time, endpoint: EndpointId) {
        if !self.come_to_timer(now, endpoint) {
            return;
        }
        let site = self.connections.site(endpoint.connection);
        let flow = site.flow;
        self.under.ledger.recorder.timed_out(now, flow, site.link(endpoint.way), endpoint.way);
        let expired = |world: &World| {
            let counters = world.connections.end(endpoint).endpoint().counters();
            counters.rto_events + counters.syn_timeouts
        };
        let before = self.under.ledger.recorder.watch().is_some().then(|| expired(self));
        self.enter(now, endpoint, Input::Timeout);
        if before.is_some_and(|before| expired(self) > before) {
            self.under.ledger.recorder.happened(now, EventKind::Timeout, Some(flow));
        }
    }

    /// The place of an endpoint at a user to which packets come late.
    #[inline]
    fn late_place(&mut self, EndpointId { connection, way }: EndpointId) -> Option<u32> {
        let site = self.connections.site(connection);
        let place = site.place;
        (site.link(way) == Link::Uplink && self.under.network.place(place).is_late()).then_some(place)
    }

    /// An endpoint is woken, and first takes all packets that have come by `now`. Returns whether its timer is due
    /// then; otherwise it is woken again.
    fn come_to_timer(&mut self, now: Time, endpoint: EndpointId) -> bool {
        if let Some(place) = self.late_place(endpoint) {
            self.catch_up(now, place);
        }
        let postponed = self.connections.postpone(now, endpoint);
        if let Some(at) = postponed {
            self.under.schedule.wake_next(self.connections.end(endpoint).machine(), at);
        }
        postponed.is_none()
    }

    /// Enters an endpoint, and sends what it has to send: who reads there, and whether more has arrived in order than
    /// before.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time, endpoint: EndpointId, input: Input<'_>) -> (Reader, bool) {
        self.connections.enter(now, endpoint, input, &mut self.under)
    }

    /// An application does what is due.
    fn act(&mut self, now: Time, number: u32) {
        if self.write_datagram(now, number) {
            return;
        }
        self.give_up_connections();
        let first = self.applications[number as usize].first_flow;
        let mut acted = [0u64; 2];
        while let Some(act) = self.applications[number as usize].source.poll_action(now) {
            let way = self.carry_out(now, first + act.connection, act);
            acted[way as usize] |= 1 << act.connection;
        }
        let application = &self.applications[number as usize];
        self.under.schedule.wake_at(application.machine, application.source.poll_timeout());
        for way in [Way::Forward, Way::Backward] {
            let mut left = acted[way as usize];
            while left > 0 {
                let endpoint = self.host(first + left.trailing_zeros(), way);
                left &= left - 1;
                self.enter(now, endpoint, Input::Acted);
            }
        }
    }

    /// Gives up what the connections hold that are over: their memory serves those that applications open next.
    fn give_up_connections(&mut self) {
        while let Some(connection) = self.connections.poll_over() {
            let flow = self.connections.site(connection).flow as usize;
            let application = &self.applications[self.flows[flow].application as usize];
            let rests = application.source.poll_timeout().is_none();
            let lost = self.under.ledger.recorder.flows[flow].lost_of_all;
            self.connections.give_up(connection, lost, rests);
        }
    }

    /// An application writes a datagram, if that is all that is due. Returns whether it is so.
    #[inline(always)]
    fn write_datagram(&mut self, now: Time, number: u32) -> bool {
        let Application { source, machine, first_flow: flow } = &mut self.applications[number as usize];
        let Some((bytes, next)) = source.poll_datagram(now) else { return false };
        let (machine, flow) = (*machine, *flow);
        let endpoint = self.host(flow, Way::Forward);
        let World { connections, under, .. } = self;
        under.schedule.wake_at(machine, Some(next));
        let slot = under.ledger.packets.reserve();
        if !connections.answer(now, endpoint, Prompt::Write(bytes), slot, under) {
            under.ledger.packets.release(slot);
            under.ledger.recorder.acted(now, flow, false);
            connections.act(now, endpoint, Act::Write(bytes));
            connections.enter(now, endpoint, Input::Acted, under);
        }
        true
    }

    /// Carries out what an application does on the connection of `flow`. Returns the way of the end that is to be
    /// entered next.
    fn carry_out(&mut self, now: Time, flow: u32, act: traffic::Act) -> Way {
        self.under.ledger.recorder.acted(now, flow, act.action == Action::Open);
        let way = Way::of(act.end);
        let endpoint = self.host(flow, way);
        if let Some(place) = self.late_place(endpoint) {
            self.catch_up(now, place);
        }
        let act = match act.action {
            Action::Open => return self.open(now, flow, endpoint),
            Action::Write(bytes) => Act::Write(bytes),
            Action::WriteStream { stream, bytes } => Act::WriteStream { stream, bytes },
            Action::WriteForEver => Act::WriteForEver,
            Action::Close => Act::Close,
        };
        self.connections.act(now, endpoint, act);
        way
    }

    /// The application of `flow` opens its connection at `end`. Returns the way of the end that opens it.
    fn open(&mut self, now: Time, flow: u32, end: EndpointId) -> Way {
        let World { flows, proxies, connections, .. } = self;
        let opens = match flows[flow as usize].proxy {
            Some(proxy) => proxies[proxy as usize].open(now, end, connections),
            None => connections.open(now, end, None),
        };
        connections.recall(opens);
        opens.way
    }

    /// The endpoint of a flow's application whose packets go `way`.
    #[inline]
    fn host(&self, flow: u32, way: Way) -> EndpointId {
        self.flows[flow as usize].host(way, &self.proxies)
    }

    /// Tells application `number` what the packet in `arrived`, sent at `sent`, brought to `endpoint`; it acts at once
    /// if it is due then.
    fn tell(&mut self, now: Time, number: u32, endpoint: EndpointId, sent: Time) {
        let EndpointId { connection, way } = endpoint;
        let bytes = self.connections.end(endpoint).delivered_bytes();
        let flow = self.connections.site(connection).flow;
        let application = &mut self.applications[number as usize];
        let (own, end) = (flow - application.first_flow, way.sender());
        let datagrams = self.arrived.datagrams();
        if datagrams.is_empty() {
            application.source.handle_delivered(now, own, end, bytes);
            while let Some((stream, bytes)) = self.connections.poll_stream(endpoint) {
                application.source.handle_stream(now, own, end, stream, bytes);
            }
        }
        for number in datagrams {
            application.source.handle_datagram(now, own, end, number, self.arrived.written(number, sent));
        }
        match application.source.poll_timeout() {
            Some(due) if due <= now => self.act(now, number),
            timeout => self.under.schedule.wake_at(application.machine, timeout),
        }
    }

    /// A packet came to one of a proxy's endpoints.
    fn relay(&mut self, now: Time, number: u32, endpoint: EndpointId) {
        if let Some(acted) = self.proxies[number as usize].relay(now, endpoint, &mut self.connections) {
            self.enter(now, acted, Input::Acted);
        }
    }

    /// All last hops work up to `now`.
    pub(super) fn settle_last_hops(&mut self, now: Time) {
        let Underlay { network, ledger, .. } = &mut self.under;
        network.places.iter_mut().for_each(|place| place.settle_last_hop(now, ledger));
    }

    fn sample(&mut self, now: Time) {
        self.catch_up_everywhere(now);
        self.settle_last_hops(now);
        let World { under, flows, kinds, connections, applications, proxies, .. } = self;
        let Underlay { network: Network { places, .. }, ledger, schedule } = under;
        let Recorder { series: Some(series), flows: records, .. } = &mut ledger.recorder else { return };
        let hop = places[0].sample(now);
        let flows = flows.iter().zip(records.iter()).enumerate().map(|(id, (flow, record))| {
            let sender = EndpointId { connection: flow.connection, way: Way::Forward };
            let sample = connections.end(sender).sample();
            let delivered_bytes = connections.end(flow.host(Way::Backward, proxies)).delivered_bytes();
            let place = &mut places[kinds[flow.kind as usize].place as usize];
            let queue_delay_s = record.queue.as_ref().map_or(f32::NAN, |queue| queue.last_s() as f32);
            let owner = &applications[flow.application as usize];
            let is_first = owner.first_flow == id as u32;
            let application = if is_first { owner.source.sample(now) } else { AppSample::NONE };
            (place.attenuate(now, flow.user, FlowSample { delivered_bytes, queue_delay_s, ..sample }), application)
        });
        series.add(now, hop, flows);
        schedule.wake_at(self.sampler, Some(series.next(now)));
    }
}
