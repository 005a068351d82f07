//! The return link: terminals with their queues, in frames.

use std::collections::VecDeque;

use rand::Rng;
use units::{Bytes, Duration, Time};

use crate::config::AccessConfig;
use crate::datagram::{Access, Datagram, DropReason, Output};
use crate::division::Divide;
use crate::frame::FrameConfig;
use crate::load::Load;
use crate::method::dedicated_name;
use crate::ncc::{Backlog, Backlogs, FrameFacts, Ncc};
use crate::plan::AccessPlan;
use crate::policy::{SwitchPolicy, SwitchView};
use crate::random::{RandomFrame, Scheme};
use crate::terminal::{Filled, Filler, Terminal, WaitingDatagram};

/// The return link of all terminals of a gateway.
///
/// A machine without input or output of its own: datagrams are handed in, frames begin at [`ReturnLink::poll_timeout`],
/// and the fate of the datagrams is polled. The caller computes propagation, and hands in the round trip for requests.
///
/// What is simplified, and who could notice: bursts are aligned to their slots, and Es/N0 is one constant value for all
/// terminals, so that bursts in granted slots are always decoded. A study of fading on the return link would notice.
pub struct ReturnLink {
    method: &'static str,
    frame: FrameConfig,
    filler: Filler,
    datagram_bits: u64,
    whole_frames: bool,
    frame_bits: u64,
    buffer_bits: u64,
    policy: Option<SwitchPolicy>,
    terminals: Vec<Terminal>,
    random: Option<Random>,
    dedicated: Option<Dedicated>,
    divider: Box<dyn Divide>,
    random_carriers: u32,
    /// The first frame of the return link that was not handled yet.
    next_frame: u64,
    /// Terminals that could not send a request, because there was no route.
    unrequested: Vec<u32>,
    /// Terminals with datagrams for random access, in the order in which they got them.
    contending: Vec<u32>,
    now: Time,
    outputs: VecDeque<Output>,
    /// Datagrams that leave in granted slots of the present frame, to be sorted by time.
    leaving: Vec<(Time, Output)>,
    tally: LinkTally,
}

/// The state of random access on the return link.
struct Random {
    name: &'static str,
    /// Whether a packet that is alone in its block is decoded.
    decodes_alone: bool,
    frame: RandomFrame,
    decoder: Box<dyn Rng + Send>,
    load: Load,
    sent: Vec<SentPackets>,
}

/// Packets of this frame, one after the other, that carry parts of the same datagrams.
struct SentPackets {
    terminal: u32,
    /// The index of the first of these datagrams in the terminal's queue, and how many they are.
    first: u32,
    datagrams: u32,
    /// The number of the packet after the last of these packets.
    end: u32,
}

/// What is the same for all terminals that send by random access in a frame.
#[derive(Clone, Copy)]
struct RandomSending<'a> {
    now: Time,
    filler: &'a Filler,
    /// Useful bits of a packet.
    payload: u32,
    /// The replicas of packets that are added together.
    together: Option<u32>,
}

struct Dedicated {
    ncc: Ncc,
    slot_bits: u32,
}

/// The terminals as the network control centre sees them.
struct Terminals<'a> {
    terminals: &'a [Terminal],
    filler: &'a Filler,
    slot_bits: u32,
}

/// Counters.
#[derive(Debug, Default)]
struct LinkTally {
    random_slots: u64,
    slots_granted: u64,
    slots_used: u64,
    begun: u64,
    waited: Duration,
}

/// Counters from the start of the run, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts {
    /// Packets sent by random access in frames that have begun.
    pub random_packets: u64,
    /// Packets of these that were not decoded.
    pub random_lost: u64,
    /// Slots for random access.
    pub random_slots: u64,
    /// Granted slots.
    pub granted_slots: u64,
    /// Granted slots in which a burst was sent.
    pub used_slots: u64,
    /// Datagrams that wait in the terminals.
    pub waiting_datagrams: u64,
}

units::report! {
    /// The return link in numbers.
    pub struct AccessReport {
        /// The access method: the kind of `access.method`.
        method: &'static str,
        /// Frames that began within the run, one at its very end included.
        frames: u64,
        /// Bursts sent by random access, all replicas counted.
        offered_bursts: u64,
        /// Those that shared their slot with another burst, decoded or not.
        collided_bursts: u64,
        /// Packets of random access (the contents of all bursts of one) that were decoded.
        decoded_packets: u64,
        /// Packets of random access that were not.
        lost_packets: u64,
        /// Packet loss rate: lost packets as a share of both; `null` without any. With `packing` a datagram may lie in
        /// several packets, and is lost with any of them (`lost_collision` of the flow).
        ([0.0, 1.0]) plr: Option<f64>,
        /// Packets sent by random access for each slot of random access, over all frames of the run; `null` without
        /// such slots.
        (units::report::NEVER_NEGATIVE) normalized_load: Option<f64>,
        /// Slots in the burst time plans.
        dedicated_slots_granted: u64,
        /// Those in which something was sent.
        dedicated_slots_used: u64,
        /// Mean time of a datagram from its arrival at the terminal to the beginning of the frame in which its
        /// transmission begins; those that never began do not count. `null` if none did.
        waiting_mean_s: Option<f64>,
        /// Carriers for random access at the end of the run.
        random_carriers: u32,
        /// Datagrams that wait in the terminals at the end of the run, those that are partly sent included.
        waiting_datagrams: u64,
    }
}

impl ReturnLink {
    /// A return link without datagrams. `weights`: the share of each terminal where capacity is divided. `streams`
    /// makes the random generator of a purpose for a terminal.
    pub fn new(
        plan: &AccessPlan,
        weights: &[f64],
        streams: &mut dyn FnMut(&'static str, u64) -> Box<dyn Rng + Send>,
    ) -> ReturnLink {
        let config = &plan.config;
        let frame = config.frame.clone();
        let random_carriers = config.random_carriers();
        let decoder = streams("decoder", 0);
        let random = plan.random.as_ref().map(|(name, scheme)| Random::new(config, name, scheme.clone(), decoder));
        let dedicated = plan.dedicated_slot_bits.map(|bits| Dedicated::new(config, bits, weights));
        let terminals = 0..weights.len() as u64;
        let policy = config.method.entry().policy().cloned();
        let requests_early = policy.as_ref().is_some_and(|policy| policy.entry().requests_early());
        let terminal = |number| Terminal::new(frame.timeslots, requests_early, streams("slots", number));
        let terminals = terminals.map(terminal).collect();
        ReturnLink {
            method: config.method.kind(),
            filler: Filler::new(&config.encapsulation),
            datagram_bits: config.encapsulation.datagram.bits(),
            whole_frames: config.whole_frames,
            frame_bits: config.frame_bits(),
            buffer_bits: config.buffer.map_or(u64::MAX, Bytes::bits),
            policy,
            terminals,
            random,
            dedicated,
            divider: config.division.entry().build(frame.carriers, random_carriers, frame.carrier_step()),
            random_carriers,
            frame,
            next_frame: 0,
            unrequested: Vec::new(),
            contending: Vec::new(),
            now: Time::ZERO,
            outputs: VecDeque::new(),
            leaving: Vec::new(),
            tally: LinkTally::default(),
        }
    }

    /// Adds a datagram to a terminal's queue. Only where slots may be requested its `position` is asked for (that of
    /// [`SwitchView`]; a retransmission has that of the original), and the `round_trip` between terminals and network
    /// control centre; `None` without a route.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        datagram: Datagram,
        position: impl FnOnce() -> u64,
        round_trip: impl FnOnce() -> Option<Duration>,
    ) {
        self.now = now;
        let Datagram { id, terminal: number, bytes } = datagram;
        let bits = u64::from(bytes) * 8 + self.datagram_bits;
        let terminal = &mut self.terminals[number as usize];
        let waiting_bits = terminal.waiting_bits();
        if waiting_bits > 0 && waiting_bits + bits > self.buffer_bits {
            self.outputs.push_back(Output::Dropped { id, reason: DropReason::Overflow, access: None });
            return;
        }
        let waiting = WaitingDatagram::new(id, bits, now);
        if self.dedicated.is_none() {
            return self.contend(number, waiting);
        }
        let round_trip = round_trip();
        let (access, requests_slots) = self.choose(now, number, position, round_trip);
        match access {
            Access::Random => self.contend(number, waiting),
            Access::Dedicated => self.terminals[number as usize].push_dedicated(waiting),
        }
        match round_trip {
            _ if !requests_slots => {}
            Some(round_trip) => self.request_slots(now, number, round_trip),
            None => self.unrequested.push(number),
        }
    }

    /// A terminal will send a datagram by random access.
    fn contend(&mut self, number: u32, waiting: WaitingDatagram) {
        let terminal = &mut self.terminals[number as usize];
        if terminal.random.is_empty() {
            self.contending.push(number);
        }
        terminal.push_random(waiting);
    }

    /// A terminal tells the network control centre its backlog.
    fn request_slots(&mut self, now: Time, number: u32, round_trip: Duration) {
        if let Some(Dedicated { ncc, slot_bits }) = &mut self.dedicated {
            let backlogs = Terminals { terminals: &self.terminals, filler: &self.filler, slot_bits: *slot_bits };
            ncc.handle_data(now, number, &backlogs, round_trip);
        }
    }

    /// The access of a datagram where there is dedicated access, and whether the terminal requests slots for it.
    fn choose(
        &mut self,
        now: Time,
        number: u32,
        position: impl FnOnce() -> u64,
        round_trip: Option<Duration>,
    ) -> (Access, bool) {
        let (Some(policy), Some(random)) = (&self.policy, &mut self.random) else { return (Access::Dedicated, true) };
        let terminal = &mut self.terminals[number as usize];
        let view = SwitchView {
            position: position(),
            queue_bits: terminal.waiting_bits(),
            random_load: random.load.broadcast(now, round_trip),
        };
        let access = policy.choose(&mut terminal.switch, &view);
        (access, access == Access::Dedicated || policy.entry().requests_slots(&view))
    }

    /// When [`ReturnLink::handle_timeout`] is due: at the next frame, if there is anything to send or to request.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let dedicated = self.dedicated.as_ref().is_some_and(|dedicated| !dedicated.ncc.is_idle());
        let busy = dedicated || !self.contending.is_empty() || !self.unrequested.is_empty();
        busy.then(|| self.frame.start(self.next_frame.max(self.frame.next(self.now))))
    }

    /// The fate of a datagram; sent datagrams are in the order of time.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// A frame begins, at the time of [`ReturnLink::poll_timeout`]; all its transmissions are determined here. Without
    /// a route, terminals receive neither burst time plan nor clock, and send nothing.
    pub fn handle_timeout(&mut self, now: Time, round_trip: Option<Duration>) {
        self.now = now;
        let number = self.frame.next(now);
        if number < self.next_frame || self.frame.start(number) != now {
            return;
        }
        let idle_frames = number - self.next_frame;
        self.next_frame = number + 1;
        self.tally.random_slots += idle_frames * self.random_slots();
        let Some(round_trip) = round_trip else {
            self.tally.random_slots += self.random_slots();
            return;
        };
        while let Some(number) = self.unrequested.pop() {
            self.request_slots(now, number, round_trip);
        }
        let superframe_frames = u64::from(self.frame.superframe_frames);
        if number.is_multiple_of(superframe_frames) {
            self.divide_carriers(now, number / superframe_frames);
        }
        self.tally.random_slots += self.random_slots();
        self.send_dedicated(now, number, round_trip);
        self.leaving.sort_by_key(|&(at, _)| at);
        self.outputs.extend(self.leaving.drain(..).map(|(_, output)| output));
        self.send_random(now, number, round_trip);
    }

    fn random_slots(&self) -> u64 {
        u64::from(self.random_carriers) * u64::from(self.frame.timeslots)
    }

    fn divide_carriers(&mut self, now: Time, superframe: u64) {
        let (Some(random), Some(dedicated)) = (&self.random, &self.dedicated) else { return };
        let backlog: u64 = self.terminals.iter().map(|terminal| terminal.dedicated.bits()).sum();
        let slots = backlog.div_ceil(u64::from(dedicated.slot_bits));
        self.random_carriers = self.divider.handle_superframe(superframe, random.load.measured(now), slots);
    }

    /// Terminals fill their granted slots.
    fn send_dedicated(&mut self, now: Time, frame: u64, round_trip: Duration) {
        let Some(Dedicated { ncc, slot_bits }) = &mut self.dedicated else { return };
        let slots = (self.frame.carriers - self.random_carriers) * self.frame.timeslots;
        let backlogs = Terminals { terminals: &self.terminals, filler: &self.filler, slot_bits: *slot_bits };
        ncc.handle_frame(now, slots, &backlogs, round_trip);
        let terminals = &mut self.terminals;
        let frame_end = now + self.frame.duration;
        for grant in ncc.burst_time_plan() {
            self.tally.slots_granted += u64::from(grant.slots);
            let terminal = &mut terminals[grant.terminal as usize];
            terminal.begin_frame(frame, self.frame_bits);
            for (index, slot) in grant.in_time_order(self.frame.timeslots).enumerate() {
                if terminal.bits_left < u64::from(*slot_bits) {
                    break;
                }
                terminal.advance(&self.filler, *slot_bits, grant.slots - index as u32);
                if terminal.dedicated.is_empty() {
                    break;
                }
                terminal.bits_left -= u64::from(*slot_bits);
                // A column is taken only by a used slot; random access may use the amplifier in the others.
                terminal.columns.take(slot % self.frame.timeslots);
                self.tally.slots_used += 1;
                let slot_end = now + self.frame.offset(slot % self.frame.timeslots + 1);
                let end = if self.whole_frames { frame_end } else { slot_end };
                terminal.dedicated.fill(|waiting| {
                    let filled = self.filler.fill(waiting, *slot_bits, 1, now);
                    self.tally.begin(&filled);
                    filled.bits
                });
                terminal.dedicated.remove_done(|&WaitingDatagram { id, .. }| {
                    self.leaving.push((end, Output::Sent { id, at: end, access: Access::Dedicated }));
                });
            }
        }
    }

    /// Terminals send their datagrams for random access; the gateway decodes at the end of the frame.
    #[inline(never)]
    fn send_random(&mut self, now: Time, frame: u64, round_trip: Duration) {
        let Some(random) = &mut self.random else { return };
        let blocks = self.random_carriers * self.frame.timeslots / self.frame.block_slots;
        random.frame.begin(blocks);
        random.sent.clear();
        let sending = RandomSending {
            now,
            filler: &self.filler,
            payload: random.frame.payload_bits(),
            together: random.frame.together(),
        };
        let slots_first = self.policy.as_ref().is_some_and(|policy| policy.entry().prefers_slots());
        for &number in &self.contending {
            let has_slots = |dedicated: &Dedicated| slots_first && dedicated.ncc.has_slots(number);
            let has_slots = self.dedicated.as_ref().is_some_and(has_slots);
            let terminal = &mut self.terminals[number as usize];
            terminal.begin_frame(frame, self.frame_bits);
            random.send(&sending, number, terminal, has_slots, &mut self.tally);
        }
        random.decode(&mut self.terminals);
        let per_block = random.frame.packets() as f64 / f64::from(blocks.max(1));
        random.load.handle_frame(now, per_block, round_trip);
        self.leave_random(now);
    }

    /// What was sent completely by random access in the frame that began at `now` leaves, decoded or not.
    #[inline(never)]
    fn leave_random(&mut self, now: Time) {
        // No slot ends after the frame.
        let (at, access) = (now + self.frame.duration, Access::Random);
        let mut left = 0;
        for index in 0..self.contending.len() {
            let number = self.contending[index];
            let queue = &mut self.terminals[number as usize].random;
            queue.remove_done(|&WaitingDatagram { id, damaged, .. }| {
                self.outputs.push_back(match damaged {
                    true => Output::Dropped { id, reason: DropReason::Collision, access: Some(access) },
                    false => Output::Sent { id, at, access },
                });
            });
            if !queue.is_empty() {
                self.contending[left] = number;
                left += 1;
            }
        }
        self.contending.truncate(left);
    }

    /// A warning if Es/N0 is too low for random access.
    pub fn undecodable(&self) -> Option<String> {
        let random = self.random.as_ref().filter(|random| !random.decodes_alone)?;
        Some(format!("on the return link, {} decodes not even a packet that is alone: Es/N0 is too low", random.name))
    }

    /// The name of an access in the scenario's method.
    pub fn name_of(&self, access: Access) -> &'static str {
        match (access, &self.random) {
            (Access::Random, Some(random)) => random.name,
            _ => dedicated_name(),
        }
    }

    /// Datagrams that have neither left nor been dropped, or whose output was not polled yet.
    pub fn in_flight(&self) -> usize {
        self.waiting_datagrams() + self.outputs.len()
    }

    fn waiting_datagrams(&self) -> usize {
        self.terminals.iter().map(|terminal| terminal.random.len() + terminal.dedicated.len()).sum()
    }

    /// The counters from the start to `now`.
    pub fn counts(&self, now: Time) -> AccessCounts {
        let unseen_frames = self.frame.begun(now).saturating_sub(self.next_frame);
        let counters = self.random.as_ref().map(|random| random.frame.counters()).unwrap_or_default();
        AccessCounts {
            random_packets: counters.decoded_packets + counters.lost_packets,
            random_lost: counters.lost_packets,
            random_slots: self.tally.random_slots + unseen_frames * self.random_slots(),
            granted_slots: self.tally.slots_granted,
            used_slots: self.tally.slots_used,
            waiting_datagrams: self.waiting_datagrams() as u64,
        }
    }

    /// The counters and means from the start to `now`.
    pub fn report(&self, now: Time) -> AccessReport {
        let counters = self.random.as_ref().map(|random| random.frame.counters()).unwrap_or_default();
        let counts = self.counts(now);
        let ratio = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        AccessReport {
            method: self.method,
            frames: self.frame.begun(now),
            offered_bursts: counters.offered_bursts,
            collided_bursts: counters.collided_bursts,
            decoded_packets: counters.decoded_packets,
            lost_packets: counters.lost_packets,
            plr: ratio(counts.random_lost as f64, counts.random_packets),
            normalized_load: ratio(counts.random_packets as f64, counts.random_slots),
            dedicated_slots_granted: counts.granted_slots,
            dedicated_slots_used: counts.used_slots,
            waiting_mean_s: ratio(self.tally.waited.as_secs_f64(), self.tally.begun),
            random_carriers: self.random_carriers,
            waiting_datagrams: counts.waiting_datagrams,
        }
    }
}

impl Random {
    fn new(config: &AccessConfig, name: &'static str, scheme: Scheme, decoder: Box<dyn Rng + Send>) -> Random {
        Random {
            name,
            decodes_alone: scheme.decodes_without_interference(),
            frame: RandomFrame::new(scheme, config.layout()),
            decoder,
            load: Load::new(config.frame.duration),
            sent: Vec::new(),
        }
    }

    /// A terminal sends packets as long as it has datagrams and room; with `begun_only`, no datagram that it has not
    /// begun.
    #[inline(always)]
    fn send(
        &mut self,
        sending: &RandomSending<'_>,
        number: u32,
        terminal: &mut Terminal,
        begun_only: bool,
        tally: &mut LinkTally,
    ) {
        let &RandomSending { now, filler, payload, together } = sending;
        let Terminal { random: queue, replicas, columns, rng, bits_left, .. } = terminal;
        let most = u32::try_from(*bits_left / u64::from(payload)).unwrap_or(u32::MAX);
        let mut left = together.map_or(most, |replicas| most.min(columns.free() / replicas));
        let before = self.frame.packets() as u32;
        let mut end = before;
        queue.fill(|waiting| {
            let (mut next, mut bits) = (0, 0);
            // A datagram whose transmission has begun by random access continues so.
            while left > 0 && next < waiting.len() && (!begun_only || waiting[next].begun) {
                if together.is_none() && !self.frame.add_waiting(replicas, columns, &mut **rng) {
                    break;
                }
                let filled = filler.fill(&mut waiting[next..], payload, if together.is_some() { left } else { 1 }, now);
                tally.begin(&filled);
                left -= filled.slots;
                end += filled.slots;
                self.sent.push(SentPackets {
                    terminal: number,
                    first: next as u32,
                    datagrams: filled.carried as u32,
                    end,
                });
                next += filled.done;
                bits += filled.bits;
            }
            bits
        });
        if together.is_some() && end > before {
            self.frame.add_all(end - before, columns, &mut **rng);
        }
    }

    /// The gateway decodes the packets of random access in the frame.
    fn decode(&mut self, terminals: &mut [Terminal]) {
        self.frame.decode(&mut *self.decoder);
        let mut sent = self.sent.iter();
        let mut of_packet = sent.next();
        for &packet in self.frame.lost() {
            while of_packet.is_some_and(|sent| sent.end <= packet) {
                of_packet = sent.next();
            }
            let &SentPackets { terminal, first, datagrams, .. } = of_packet.expect("each packet was sent");
            terminals[terminal as usize].random.damage(first as usize, datagrams as usize);
        }
    }
}

impl Dedicated {
    /// `payload`: useful bits of a slot.
    fn new(config: &AccessConfig, payload: u32, weights: &[f64]) -> Dedicated {
        let FrameConfig { duration, timeslots, superframe_frames, .. } = config.frame;
        let by_rate = u32::try_from(config.frame_bits() / u64::from(payload)).unwrap_or(u32::MAX);
        let max_slots = by_rate.min(timeslots * config.frame.carriers);
        let one_amplifier = config.one_amplifier;
        let slot_bits = payload - config.encapsulation.fragment.bits() as u32;
        let facts = FrameFacts { duration, timeslots, superframe_frames, one_amplifier, slot_bits, max_slots };
        Dedicated { ncc: Ncc::new(&config.dedicated, facts, weights), slot_bits: payload }
    }
}

impl Backlogs for Terminals<'_> {
    fn wait(&self, terminal: u32) -> bool {
        self.terminals[terminal as usize].has_backlog()
    }

    fn backlog(&self, terminal: u32) -> Backlog {
        self.terminals[terminal as usize].backlog(self.filler, self.slot_bits)
    }
}

impl LinkTally {
    fn begin(&mut self, filled: &Filled) {
        self.begun += filled.begun;
        self.waited += filled.waited;
    }
}
