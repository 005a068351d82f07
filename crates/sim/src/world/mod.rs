//! The world of a run: all machines, and the only place that knows how they are wired.
//!
//! ```text
//! source ► sender ► forward pipe ► last hop ► receiver ► backward pipe ► sender
//! ```

mod build;
mod packets;
mod path;
mod pipe;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use build::{channel_streams, check, load_channel};
use engine::{Agenda, Digest, Livelock, MachineId};
use link::{DropReason, Ecn, LastHop, Output, PacketRef};
use packets::{Packet, Packets};
use path::LongPath;
use pipe::Pipe;
use traffic::{Action, Source};
use transport::{Connection, Settings};
use units::{Duration, Time};

use crate::record::Record;
use crate::record::flow::FlowRecord;
use crate::record::series::{FlowSample, HopSample, Series};
use crate::scenario::{Scenario, ScenarioConfig, ScenarioError};

/// Why a run stopped: always a defect of the simulator.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Time did not move.
    #[error(transparent)]
    Livelock(#[from] Livelock),
    /// Packets appeared or vanished.
    #[error("packets are not conserved: {0}")]
    Conservation(String),
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
        let config = scenario.config()?;
        if let Some(seed) = seed.filter(|seed| i64::try_from(*seed).is_err()) {
            return Err(ScenarioError::new("seed", format!("{seed} was given, at most {} is allowed", i64::MAX)));
        }
        Simulation::from_config(config, scenario.base().to_owned(), seed)
    }

    /// As [`Simulation::new`] for a checked scenario whose relative file names start from `base`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn from_config(config: ScenarioConfig, base: PathBuf, seed: Option<u64>) -> Result<Simulation, ScenarioError> {
        let seed = seed.unwrap_or(config.seed);
        let world = build::build(&config, &base, seed)?;
        Ok(Simulation { config, seed, world })
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
    /// If a packet appeared or vanished.
    pub fn finish(&mut self, partial: bool) -> Result<Record, RunError> {
        self.world.link.handle_timeout(self.world.now); // so that its counters are those of now
        self.world.record(&self.config, self.seed, partial)
    }
}

const FORWARD: MachineId = MachineId(0);
const LINK: MachineId = MachineId(1);
const BACKWARD: MachineId = MachineId(2);
const SAMPLER: MachineId = MachineId(3);
/// Each flow has three machines from here on: source, sender, receiver.
const FIRST_FLOW: u32 = 4;

/// What a machine does when it wakes; of those that wake at the same instant, the lower phase goes first.
#[derive(Clone, Copy)]
enum Role {
    Deliver,
    Source,
    Sender,
    Receiver,
    Sample,
}

impl Role {
    fn phase(self) -> u8 {
        match self {
            Role::Deliver => 0,
            Role::Source | Role::Sender | Role::Receiver => 1,
            Role::Sample => 2,
        }
    }
}

/// Kinds of events in the digest.
#[derive(Clone, Copy)]
enum Event {
    Sent,
    Delivered,
    Dropped,
    Acted,
    TimedOut,
}

struct World {
    agenda: Agenda,
    digest: Digest,
    now: Time,
    packets: Packets,
    path: LongPath,
    hop_delay: Duration,
    forward: Pipe,
    link: LastHop,
    backward: Pipe,
    flows: Vec<Flow>,
    delivered: u64,
    drops: Drops,
    series: Option<Series>,
    warnings: Vec<String>,
}

/// Lost packets by cause.
#[derive(Default)]
struct Drops {
    overflow: u64,
    timeout: u64,
    harq: u64,
    no_route: u64,
}

impl Drops {
    fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        let Drops { overflow, timeout, harq, no_route } = *self;
        BTreeMap::from([("overflow", overflow), ("timeout", timeout), ("harq", harq), ("no_route", no_route)])
    }
}

/// Both ends of a flow, and what is noted about it.
struct Flow {
    /// Whose channel the flow crosses.
    user: u32,
    settings: Settings,
    congestion: &'static str,
    source: Box<dyn Source>,
    /// Nothing before the application opens the connection.
    sender: Option<Connection>,
    receiver: Connection,
    record: FlowRecord,
}

impl Flow {
    fn new(user: u32, settings: Settings, congestion: &'static str, source: Box<dyn Source>) -> Flow {
        let receiver = Connection::listen(settings.clone());
        Flow { user, settings, congestion, source, sender: None, receiver, record: FlowRecord::new() }
    }
}

fn source_machine(flow: usize) -> MachineId {
    MachineId(FIRST_FLOW + 3 * flow as u32)
}

fn sender_machine(flow: usize) -> MachineId {
    MachineId(FIRST_FLOW + 3 * flow as u32 + 1)
}

fn receiver_machine(flow: usize) -> MachineId {
    MachineId(FIRST_FLOW + 3 * flow as u32 + 2)
}

impl World {
    fn arm_at_rest(&mut self) {
        for (i, flow) in self.flows.iter().enumerate() {
            self.agenda.wake_at(source_machine(i), flow.source.poll_timeout());
        }
        self.agenda.wake_at(SAMPLER, self.series.as_ref().map(|_| Time::ZERO));
    }

    fn run_until(&mut self, until: Time) -> Result<(), Livelock> {
        while let Some((now, machine)) = self.agenda.next_until(until)? {
            self.now = now;
            match machine {
                FORWARD => self.arrive_at_last_hop(now),
                LINK => {
                    self.link.handle_timeout(now);
                    self.leave_last_hop(now);
                }
                BACKWARD => self.arrive_at_sender(now),
                SAMPLER => self.sample(now),
                MachineId(flow) => {
                    let (flow, role) = ((flow - FIRST_FLOW) / 3, (flow - FIRST_FLOW) % 3);
                    match role {
                        0 => self.act(now, flow as usize),
                        1 => self.time_out_sender(now, flow as usize),
                        _ => self.time_out_receiver(now, flow as usize),
                    }
                }
            }
        }
        self.now = until;
        Ok(())
    }

    /// The application of a flow does what is due.
    fn act(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        while let Some(action) = flow.source.poll_action(now) {
            self.digest.event(now, Event::Acted as u8, index as u32, 0);
            if action == Action::Open {
                flow.sender = Some(Connection::connect(flow.settings.clone(), now));
                flow.record.opened_at = Some(now);
            }
            let sender = flow.sender.as_mut().expect("a source opens first");
            match action {
                Action::Open => {}
                Action::Write(bytes) => sender.write(bytes.get()),
                Action::WriteForEver => sender.write_for_ever(),
                Action::Close => sender.close(),
            }
        }
        self.agenda.wake_at(source_machine(index), flow.source.poll_timeout());
        self.send(now, index);
    }

    fn time_out_sender(&mut self, now: Time, index: usize) {
        self.digest.event(now, Event::TimedOut as u8, index as u32, 0);
        if let Some(sender) = &mut self.flows[index].sender {
            sender.handle_timeout(now);
        }
        self.send(now, index);
    }

    fn time_out_receiver(&mut self, now: Time, index: usize) {
        self.digest.event(now, Event::TimedOut as u8, index as u32, 1);
        self.flows[index].receiver.handle_timeout(now);
        self.acknowledge(now, index);
    }

    /// Sends what the sender of a flow has to send.
    fn send(&mut self, now: Time, index: usize) {
        let flow = &mut self.flows[index];
        let Some(sender) = &mut flow.sender else { return };
        while let Some(transmit) = sender.poll_transmit(now) {
            let (segment, copy) = (transmit.segment, transmit.transmission);
            if segment.len > 0 {
                flow.record.sent_packets += 1;
                if copy > 0 {
                    let received = flow.receiver.has_received(segment.seq);
                    flow.record.spurious.on_retransmission(segment.seq, copy, received);
                }
            }
            self.digest.event(now, Event::Sent as u8, index as u32, segment.seq);
            let packet = self.packets.add(Packet { segment, flow: index as u32, copy, sent: now });
            match self.path.forward_delay(now) {
                Some(delay) => self.forward.push(now + delay, packet),
                None => {
                    self.drops.no_route += 1;
                    self.digest.event(now, Event::Dropped as u8, index as u32, segment.seq);
                    lose(&mut self.packets, &mut flow.record, packet);
                }
            }
        }
        flow.record.window.set(now, sender.window_segments());
        self.agenda.wake_at(sender_machine(index), sender.poll_timeout());
        self.agenda.wake_at(FORWARD, self.forward.poll_timeout());
    }

    /// Sends what the receiver of a flow has to send.
    fn acknowledge(&mut self, now: Time, index: usize) {
        let receiver = &mut self.flows[index].receiver;
        while let Some(transmit) = receiver.poll_transmit(now) {
            let segment = transmit.segment;
            self.digest.event(now, Event::Sent as u8, index as u32, !segment.ack);
            let copy = transmit.transmission;
            let packet = self.packets.add(Packet { segment, flow: index as u32, copy, sent: now });
            match self.path.delay(now) {
                Some(delay) => self.backward.push(now + delay + self.hop_delay, packet),
                None => {
                    self.drops.no_route += 1;
                    self.digest.event(now, Event::Dropped as u8, index as u32, !segment.ack);
                    self.packets.release(packet);
                }
            }
        }
        self.agenda.wake_at(receiver_machine(index), receiver.poll_timeout());
        self.agenda.wake_at(BACKWARD, self.backward.poll_timeout());
    }

    fn arrive_at_last_hop(&mut self, now: Time) {
        while let Some(id) = self.forward.pop_due(now) {
            let packet = self.packets.get(id);
            let (flow, size) = (packet.flow, packet.segment.wire_bytes());
            let user = self.flows[flow as usize].user;
            self.link.handle_packet(now, PacketRef { id, flow, user, size, ecn: Ecn::NotEct });
            self.leave_last_hop(now);
        }
        self.agenda.wake_at(FORWARD, self.forward.poll_timeout());
    }

    fn leave_last_hop(&mut self, now: Time) {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Delivered(packet) => self.arrive_at_receiver(now, packet),
                Output::Dropped(packet, reason) => {
                    match reason {
                        DropReason::Overflow => self.drops.overflow += 1,
                        DropReason::Timeout => self.drops.timeout += 1,
                        DropReason::Harq => self.drops.harq += 1,
                    }
                    self.digest.event(now, Event::Dropped as u8, packet.flow, u64::from(packet.id));
                    lose(&mut self.packets, &mut self.flows[packet.flow as usize].record, packet.id);
                }
            }
        }
        self.agenda.wake_at(LINK, self.link.poll_timeout());
    }

    fn arrive_at_receiver(&mut self, now: Time, packet: PacketRef) {
        let index = packet.flow as usize;
        let Packet { segment, copy, sent, .. } = self.packets.get(packet.id);
        self.delivered += 1;
        self.digest.event(now, Event::Delivered as u8, packet.flow, segment.seq);
        let Flow { receiver, record, .. } = &mut self.flows[index];
        let before = receiver.delivered_bytes();
        receiver.handle_segment(now, segment);
        if segment.len > 0 {
            record.received_packets += 1;
            record.delay.add(*sent, now);
            record.spurious.on_arrival(segment.seq, *copy);
            if receiver.delivered_bytes() > before {
                record.last_delivery = now;
            }
        }
        self.packets.release(packet.id);
        self.acknowledge(now, index);
    }

    fn arrive_at_sender(&mut self, now: Time) {
        while let Some(id) = self.backward.pop_due(now) {
            let Packet { segment, flow, .. } = self.packets.get(id);
            let index = *flow as usize;
            self.delivered += 1;
            self.digest.event(now, Event::Delivered as u8, *flow, !segment.ack);
            if let Some(sender) = &mut self.flows[index].sender {
                sender.handle_segment(now, segment);
            }
            self.packets.release(id);
            self.send(now, index);
        }
        self.agenda.wake_at(BACKWARD, self.backward.poll_timeout());
    }

    fn sample(&mut self, now: Time) {
        let Some(series) = &mut self.series else { return };
        self.link.handle_timeout(now); // so that what it shows is that of now
        let mut hop = HopSample {
            queue_packets: self.link.queue().packets as u32,
            path_delay_s: self.path.trace().delay(now).map_or(f32::NAN, |delay| delay.as_secs_f64() as f32),
            coded_bits: self.link.coded_bits(),
            harq_failed: self.link.harq().failed,
            ..HopSample::default()
        };
        for (counter, &decoded) in hop.decoded_after.iter_mut().zip(&self.link.harq().decoded_after) {
            *counter = decoded;
        }
        let link = &mut self.link;
        let flows = self.flows.iter().map(|flow| {
            let attenuation = link.attenuation(now, flow.user);
            flow_sample(flow, attenuation.map_or(f32::NAN, |attenuation| attenuation.get() as f32))
        });
        series.add(now, hop, flows);
        let next = series.next(now);
        self.agenda.wake_at(SAMPLER, Some(next));
    }
}

fn flow_sample(flow: &Flow, attenuation_db: f32) -> FlowSample {
    let delivered_bytes = flow.receiver.delivered_bytes();
    let Some(sender) = &flow.sender else {
        let none = f32::NAN;
        return FlowSample {
            cwnd_packets: none,
            ssthresh_packets: none,
            srtt_s: none,
            rto_s: none,
            in_flight_packets: 0.0,
            attenuation_db,
            delivered_bytes,
            retransmitted_packets: 0,
        };
    };
    let info = sender.info();
    let packets = |bytes: u64| bytes as f32 / info.mss as f32;
    FlowSample {
        cwnd_packets: packets(info.window_bytes),
        ssthresh_packets: info.slow_start_threshold.map_or(f32::NAN, packets),
        srtt_s: info.srtt.map_or(f32::NAN, |srtt| srtt.as_secs_f64() as f32),
        rto_s: info.rto.as_secs_f64() as f32,
        in_flight_packets: packets(info.in_flight_bytes),
        attenuation_db,
        delivered_bytes,
        retransmitted_packets: sender.counters().retransmitted_segments,
    }
}

/// A packet of a flow towards its user is lost.
fn lose(packets: &mut Packets, record: &mut FlowRecord, id: u32) {
    let Packet { segment, copy, .. } = packets.get(id);
    if segment.len > 0 {
        record.lost_packets += 1;
        record.spurious.on_loss(segment.seq, *copy);
    }
    packets.release(id);
}
