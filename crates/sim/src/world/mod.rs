//! The world of a run: all machines, and the only place that knows how they are wired.
//!
//! ```text
//! application ► end ► pipe down ► last hop ► end ► application
//!              (server)                    (user)
//! application ◄ end ◄ pipe up ◄ return link ◄ end ◄ application
//! ```
//!
//! Data and acknowledgments take the one or the other, by the direction of the flow. With a proxy the source writes to a
//! server, and a terrestrial pipe joins it to the gateway, which is the sender.

mod build;
mod ends;
mod flow;
mod law;
mod path;
mod pipe;
mod report;

use std::path::Path;

use access::ReturnLink;
pub(crate) use build::check;
pub use build::{channel_streams, last_hop_streams, last_link, load_channel};
use engine::{Agenda, Livelock, MachineId};
use flow::{Application, Flow};
pub use law::law;
use link::{Choose, LastHop, PacketRef, Propagation};
use path::{Event, LongPath};
use pipe::Pipe;
use traffic::{Act, Action};
use units::{Db, Duration, Ecn, Frequency, Time};

use crate::capture::Capture;
use crate::packet::{Direction, Leg, Packet, Packets, Way};
use crate::record::Record;
use crate::record::drops::Loss;
use crate::record::recorder::Recorder;
use crate::record::series::{HopSample, LookSample};
use crate::scenario::{PacketCapture, Scenario, ScenarioConfig, ScenarioError};

/// Finds a scheduler from elsewhere by its name.
pub type Choosers<'a> = dyn FnMut(&str) -> Option<Box<dyn Choose>> + 'a;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Time did not move: a defect of the simulator.
    #[error(transparent)]
    Livelock(#[from] Livelock),
    /// Packets appeared or vanished: a defect of the simulator.
    #[error("packets are not conserved: {0}")]
    Conservation(String),
    /// The packets could not be written.
    #[error("cannot write the packets: {0}")]
    Capture(String),
}

/// A run of a scenario.
pub struct Simulation {
    config: ScenarioConfig,
    seed: u64,
    world: World,
}

impl Simulation {
    /// Checks the scenario and builds its world at rest; `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// The first field that is wrong, or a file that cannot be read.
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Simulation, ScenarioError> {
        Simulation::with_choosers(scenario, seed, &mut |_| None)
    }

    /// As [`Simulation::new`] with schedulers from elsewhere: `choosers` is asked for what a scheduler of kind `external` names.
    ///
    /// # Errors
    /// As [`Simulation::new`], or no chooser has the name.
    pub fn with_choosers(
        scenario: &Scenario,
        seed: Option<u64>,
        choosers: &mut Choosers<'_>,
    ) -> Result<Simulation, ScenarioError> {
        let config = scenario.config()?;
        if let Some(seed) = seed.filter(|seed| i64::try_from(*seed).is_err()) {
            return Err(ScenarioError::new("seed", format!("{seed} was given, at most {} is allowed", i64::MAX)));
        }
        let seed = seed.unwrap_or(config.seed);
        let world = build::build(&config, scenario.base(), seed, choosers)?;
        Ok(Simulation { config, seed, world })
    }

    /// Whether the scenario asks for the packets: then give a folder to [`Simulation::record_packets`].
    pub fn wants_packets(&self) -> bool {
        self.config.record.packets != PacketCapture::None
    }

    /// From now on writes every packet into files in `directory`, if the scenario asks for it. Without this call nothing is
    /// written. The files are complete after [`Simulation::finish`].
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn record_packets(&mut self, directory: &Path) -> std::io::Result<()> {
        if self.wants_packets() {
            let flows = self.world.flows.iter().map(|flow| (flow.user, flow.pep.is_some()));
            let capture = Capture::create(directory, self.seed, flows)?;
            self.world.recorder.capture = Some(capture);
        }
        Ok(())
    }

    /// Length of the run.
    pub fn duration(&self) -> Duration {
        self.config.duration
    }

    /// Simulated time that has passed.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The root of the random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs until `until`, at most to the end. How a run is cut into pieces changes nothing of its result.
    ///
    /// # Errors
    /// A livelock.
    pub fn advance(&mut self, until: Time) -> Result<(), RunError> {
        let until = until.min(Time::ZERO + self.config.duration);
        self.world.run_until(until).map_err(RunError::from)
    }

    /// The result up to now; `partial` marks it as that of a run stopped before its end.
    ///
    /// # Errors
    /// If a packet appeared or vanished, or the packets could not be written.
    pub fn finish(&mut self, partial: bool) -> Result<Record, RunError> {
        self.world.link.handle_timeout(self.world.now); // so that its counters are those of now
        if let Some(capture) = &mut self.world.recorder.capture {
            capture.finish(self.world.now).map_err(|error| RunError::Capture(error.to_string()))?;
        }
        self.world.record(&self.config, self.seed, partial)
    }
}

const DOWN: MachineId = MachineId(0);
const LINK: MachineId = MachineId(1);
const RETURN_LINK: MachineId = MachineId(2);
const UP: MachineId = MachineId(3);
const TERRESTRIAL: MachineId = MachineId(4);
const SAMPLER: MachineId = MachineId(5);
const SERVICE: MachineId = MachineId(6);
/// Each flow has three machines from here on: sender, receiver, and before them the application whose first flow it is. Each
/// flow with a proxy has two more after those of all flows: server, and the gateway's end towards it.
const FIRST_FLOW: u32 = 7;

/// What a machine does when it wakes; of those that wake at the same instant, the lower phase goes first.
#[derive(Clone, Copy)]
enum Role {
    /// Another satellite serves the users.
    HandOver,
    Deliver,
    Act,
    /// A frame begins with all that came until then.
    Frame,
    Sample,
}

impl Role {
    fn phase(self) -> u8 {
        self as u8
    }
}

struct World {
    agenda: Agenda,
    now: Time,
    packets: Packets,
    path: LongPath,
    /// Between the last satellite and the users.
    hop: Propagation,
    /// Of the channel, if it has one.
    carrier: Option<Frequency>,
    /// Es/N0 of an unobstructed line of sight, if there is noise.
    reference_snr: Option<Db>,
    /// From the ground to the last satellite.
    down: Pipe,
    link: LastHop,
    /// How users get at the channel upwards; without it they need only send.
    return_link: Option<Box<ReturnLink>>,
    /// From the users to the ground.
    up: Pipe,
    /// Between servers and the gateway, both ways.
    terrestrial: Pipe,
    applications: Vec<Application>,
    flows: Vec<Flow>,
    /// The flows with a proxy, by [`flow::Pep::number`].
    with_pep: Vec<u32>,
    recorder: Recorder,
    warnings: Vec<String>,
}

impl World {
    fn arm_at_rest(&mut self) {
        for application in &self.applications {
            self.agenda.wake_at(application_machine(application), application.source.poll_timeout());
        }
        self.agenda.wake_at(SERVICE, self.path.service.poll_timeout());
        self.agenda.wake_at(SAMPLER, self.recorder.series.as_ref().map(|_| Time::ZERO));
    }

    fn run_until(&mut self, until: Time) -> Result<(), Livelock> {
        while let Some((now, machine)) = self.agenda.next_until(until)? {
            self.now = now;
            match machine {
                DOWN => self.arrive_at_last_hop(now),
                LINK => {
                    self.link.handle_timeout(now);
                    self.leave_last_hop(now);
                }
                RETURN_LINK => self.begin_frame(now),
                UP => self.arrive_at_gateway(now),
                TERRESTRIAL => self.arrive_on_the_ground(now),
                SAMPLER => self.sample(now),
                SERVICE => self.hand_over(now),
                MachineId(machine) => self.wake_flow(now, machine - FIRST_FLOW),
            }
        }
        self.now = until;
        Ok(())
    }

    fn wake_flow(&mut self, now: Time, machine: u32) {
        let flows = self.flows.len() as u32;
        if machine < 3 * flows {
            let index = (machine / 3) as usize;
            match machine % 3 {
                0 => self.act(now, self.flows[index].application),
                1 => self.time_out(now, index, Leg::Satellite, Way::Forward),
                _ => self.time_out(now, index, Leg::Satellite, Way::Backward),
            }
        } else {
            let machine = machine - 3 * flows;
            let index = self.with_pep[machine as usize / 2] as usize;
            let way = if machine.is_multiple_of(2) { Way::Forward } else { Way::Backward };
            self.time_out(now, index, Leg::Terrestrial, way);
        }
    }

    /// An application does what is due.
    fn act(&mut self, now: Time, application: u32) {
        let application = &mut self.applications[application as usize];
        let mut acted = [0u64; 2];
        while let Some(Act { connection, end, action }) = application.source.poll_action(now) {
            let index = (application.first_flow + connection) as usize;
            self.recorder.acted(now, index, action == Action::Open);
            self.flows[index].act(now, end, action);
            acted[Way::of(end) as usize] |= 1 << connection;
        }
        let first = application.first_flow as usize;
        self.agenda.wake_at(application_machine(application), application.source.poll_timeout());
        for way in [Way::Forward, Way::Backward] {
            let mut left = acted[way as usize];
            while left > 0 {
                let index = first + left.trailing_zeros() as usize;
                left &= left - 1;
                self.send(now, index, self.flows[index].first_leg(), way);
            }
        }
    }

    fn time_out(&mut self, now: Time, index: usize, leg: Leg, way: Way) {
        self.recorder.timed_out(now, index, leg, way);
        self.flows[index].handle_timeout(now, leg, way);
        self.send(now, index, leg, way);
    }

    /// Sends what one end of a connection has to send: that whose packets go `way`.
    #[inline]
    fn send(&mut self, now: Time, index: usize, leg: Leg, way: Way) {
        match leg {
            Leg::Satellite => self.send_over_satellites(now, index, way),
            Leg::Terrestrial => self.send_on_the_ground(now, index, way),
        }
    }

    fn send_over_satellites(&mut self, now: Time, index: usize, way: Way) {
        let direction = self.flows[index].direction(way);
        while let Some((payload, copy)) = self.flows[index].satellite.poll_transmit(now, way) {
            let (flow, number) = (index as u32, self.packets.next_number());
            let packet = Packet { payload, flow, number, leg: Leg::Satellite, way, direction, copy, sent: now };
            self.recorder.sent(now, &packet, || self.flows[index].satellite.has_received(payload.sequence()));
            let id = self.packets.add(packet);
            match direction {
                Direction::Down => self.descend(now, id),
                Direction::Up => self.ascend(now, id),
            }
        }
        let ends = &self.flows[index].satellite;
        match way {
            Way::Forward => {
                if let Some(packets) = ends.window_packets() {
                    self.recorder.window(now, index, packets);
                }
                self.agenda.wake_at(sender_machine(index), ends.poll_timeout(way));
            }
            Way::Backward => self.agenda.wake_at(receiver_machine(index), ends.poll_timeout(way)),
        }
        match direction {
            Direction::Down => self.agenda.wake_at(DOWN, self.down.poll_timeout()),
            Direction::Up => self.leave_return_link(now),
        }
    }

    #[inline]
    fn descend(&mut self, now: Time, id: u32) {
        match self.path.descend(now, || self.packets.get(id).payload.wire_bytes()) {
            Ok(arrival) => self.down.push(arrival, id),
            Err(reason) => self.lose(now, id, Loss::Path(reason)),
        }
    }

    #[inline]
    fn ascend(&mut self, now: Time, id: u32) {
        let Some(link) = &mut self.return_link else { return self.climb(now, id) };
        let Packet { flow, payload, way, .. } = self.packets.get(id);
        let Flow { user, satellite, .. } = &self.flows[*flow as usize];
        let position = satellite.position(payload, *way);
        let datagram = access::Datagram { id, terminal: *user, bytes: payload.wire_bytes(), position };
        link.handle_datagram(now, datagram, round_trip(&self.path, &mut self.hop, now));
    }

    /// A frame of the return link begins.
    fn begin_frame(&mut self, now: Time) {
        if let Some(link) = &mut self.return_link {
            link.handle_timeout(now, round_trip(&self.path, &mut self.hop, now));
        }
        self.leave_return_link(now);
    }

    #[inline]
    fn leave_return_link(&mut self, now: Time) {
        if self.return_link.is_some() {
            self.carry_up(now);
        }
        self.agenda.wake_at(UP, self.up.poll_timeout());
    }

    fn carry_up(&mut self, now: Time) {
        while let Some(output) = self.return_link.as_mut().and_then(|link| link.poll_output()) {
            match output {
                access::Output::Sent { id, at, access } => {
                    self.recorder.accessed(self.packets.get(id), access);
                    self.climb(at, id);
                }
                access::Output::Dropped { id, reason, access } => {
                    if let Some(access) = access {
                        self.recorder.accessed(self.packets.get(id), access);
                    }
                    self.lose(now, id, Loss::ReturnLink(reason));
                }
            }
        }
        self.agenda.wake_at(RETURN_LINK, self.return_link.as_ref().and_then(|link| link.poll_timeout()));
    }

    /// A packet leaves its user at `at`.
    #[inline]
    fn climb(&mut self, at: Time, id: u32) {
        let packet = self.packets.get(id);
        match self.path.climb(at, || packet.payload.wire_bytes(), &mut self.hop) {
            Ok((at_satellite, arrival)) => {
                self.recorder.climbs(at_satellite, packet);
                self.up.push(arrival, id);
            }
            Err(reason) => self.lose(self.now, id, Loss::Path(reason)),
        }
    }

    fn lose(&mut self, now: Time, id: u32, loss: Loss) {
        let packet = self.packets.get(id);
        let word = match loss {
            Loss::LastHop(_) => u64::from(id),
            _ => packet.payload.digest_word(packet.way),
        };
        self.recorder.dropped(now, packet, word, loss);
        self.packets.release(id);
    }

    fn send_on_the_ground(&mut self, now: Time, index: usize, way: Way) {
        let flows = self.flows.len() as u32;
        let Some(pep) = &mut self.flows[index].pep else { return };
        while let Some((payload, copy)) = pep.terrestrial.poll_transmit(now, way) {
            let (flow, number, direction) = (index as u32, self.packets.next_number(), Direction::of(way, false));
            let packet = Packet { payload, flow, number, leg: Leg::Terrestrial, way, direction, copy, sent: now };
            self.recorder.sent(now, &packet, || false);
            let id = self.packets.add(packet);
            self.terrestrial.push(now + pep.delay, id);
        }
        let place = 2 * pep.number + u32::from(way == Way::Backward);
        let machine = MachineId(FIRST_FLOW + 3 * flows + place);
        self.agenda.wake_at(machine, pep.terrestrial.poll_timeout(way));
        self.agenda.wake_at(TERRESTRIAL, self.terrestrial.poll_timeout());
    }

    fn arrive_at_last_hop(&mut self, now: Time) {
        while let Some(id) = self.down.pop_due(now) {
            let packet = self.packets.get(id);
            self.recorder.at_hop(now, packet);
            let Packet { flow, payload, .. } = packet;
            let Flow { user, class, .. } = self.flows[*flow as usize];
            let reference = PacketRef { id, flow: *flow, user, class, size: payload.wire_bytes(), ecn: payload.ecn() };
            self.link.handle_packet(now, reference);
            self.leave_last_hop(now);
        }
        self.agenda.wake_at(DOWN, self.down.poll_timeout());
    }

    fn leave_last_hop(&mut self, now: Time) {
        while let Some(output) = self.link.poll_output() {
            match output {
                link::Output::Delivered(PacketRef { id, ecn, .. }) => {
                    if ecn == Ecn::Ce {
                        self.carry_mark(now, id);
                    }
                    self.arrive(now, id);
                }
                link::Output::Dropped(PacketRef { id, .. }, reason) => self.lose(now, id, Loss::LastHop(reason)),
            }
        }
        self.agenda.wake_at(LINK, self.link.poll_timeout());
    }

    /// A packet leaves the last hop with a mark.
    fn carry_mark(&mut self, now: Time, id: u32) {
        let packet = self.packets.get_mut(id);
        if packet.payload.ecn() != Ecn::Ce {
            packet.payload.set_ecn(Ecn::Ce);
            self.recorder.marked(now, packet);
        }
    }

    /// Another satellite serves the users from now on, or none does.
    fn hand_over(&mut self, now: Time) {
        while let Some(event) = self.path.service.poll_event(now) {
            match event {
                Event::HandOver { resume, transfer } => self.link.hand_over(now, resume, transfer),
                Event::Halt => self.link.halt(now),
                Event::Resume => self.link.resume(now),
            }
        }
        self.leave_last_hop(now);
        self.agenda.wake_at(SERVICE, self.path.service.poll_timeout());
    }

    fn arrive_at_gateway(&mut self, now: Time) {
        while let Some(id) = self.up.pop_due(now) {
            self.arrive(now, id);
        }
        self.agenda.wake_at(UP, self.up.poll_timeout());
    }

    fn arrive_on_the_ground(&mut self, now: Time) {
        while let Some(id) = self.terrestrial.pop_due(now) {
            self.arrive(now, id);
        }
        self.agenda.wake_at(TERRESTRIAL, self.terrestrial.poll_timeout());
    }

    /// A packet arrives at the end that it was sent to, which answers.
    #[inline]
    fn arrive(&mut self, now: Time, id: u32) {
        let packet = self.packets.get(id);
        let (index, leg, way) = (packet.flow as usize, packet.leg, packet.way);
        let more = self.flows[index].handle_packet(now, leg, way, &packet.payload);
        self.recorder.delivered(now, packet, more.is_some());
        self.packets.release(id);
        self.send(now, index, leg, way.back());
        if let Some(bytes) = more {
            self.tell_application(now, index, way, bytes);
        }
        if let Some((leg, way)) = self.flows[index].relay(now, leg, way) {
            self.send(now, index, leg, way);
        }
    }

    /// The application at the end of `way` has so many bytes; it may have something to say to that.
    #[inline]
    fn tell_application(&mut self, now: Time, flow: usize, way: Way, bytes: u64) {
        let number = self.flows[flow].application;
        let application = &mut self.applications[number as usize];
        if !application.listens {
            return;
        }
        application.source.handle_delivered(now, flow as u32 - application.first_flow, way.receiver(), bytes);
        match application.source.poll_timeout() {
            Some(due) if due <= now => self.act(now, number),
            timeout => self.agenda.wake_at(application_machine(application), timeout),
        }
    }

    fn sample(&mut self, now: Time) {
        let look = self.path.trace().look(now).map(|look| LookSample {
            elevation_deg: look.elevation_deg as f32,
            doppler_hz: self.carrier.map_or(f32::NAN, |carrier| look.doppler_shift(carrier) as f32),
        });
        let Some(series) = &mut self.recorder.series else { return };
        self.link.handle_timeout(now); // so that what it shows is that of now
        let mut hop = HopSample {
            queue_packets: self.link.queue().packets as u32,
            path_delay_s: self.path.trace().delay(now).map_or(f32::NAN, |delay| delay.as_secs_f64() as f32),
            coded_bits: self.link.coded_bits(),
            harq_failed: self.link.harq().failed,
            access: self.return_link.as_ref().map(|link| link.counts(now)),
            look,
            ..HopSample::default()
        };
        let decoded_after = &self.link.harq().decoded_after;
        for (counter, &decoded) in hop.decoded_after.iter_mut().zip(decoded_after) {
            *counter = decoded;
        }
        hop.decoded_later = decoded_after.iter().skip(hop.decoded_after.len()).sum();
        let link = &mut self.link;
        let flows = self.flows.iter().map(|flow| {
            let attenuation = link.attenuation(now, flow.user);
            flow.satellite.sample(attenuation.map_or(f32::NAN, |attenuation| attenuation.get() as f32))
        });
        series.add(now, hop, flows);
        let next = series.next(now);
        self.agenda.wake_at(SAMPLER, Some(next));
    }
}

/// The round-trip time between users and the ground while nothing waits; none without a route.
fn round_trip(path: &LongPath, hop: &mut Propagation, now: Time) -> Option<Duration> {
    Some((path.delay(now)? + hop.delay(now)) * 2)
}

fn application_machine(application: &Application) -> MachineId {
    MachineId(FIRST_FLOW + 3 * application.first_flow)
}

fn sender_machine(flow: usize) -> MachineId {
    MachineId(FIRST_FLOW + 3 * flow as u32 + 1)
}

fn receiver_machine(flow: usize) -> MachineId {
    MachineId(FIRST_FLOW + 3 * flow as u32 + 2)
}
