//! A last hop on which nothing happens to a packet but that it waits, is sent and arrives.
//!
//! One queue sends first in first out and drops only what finds it full; each packet is one burst, which meets no noise
//! and is not answered; and the delay is constant. Then the burst of a packet begins when the transmitter has sent what
//! came before, which is known when the packet comes: it is entered once, and no burst is simulated. Counters advance
//! when bursts begin and arrive, so what is read of the last hop is the same. A handover ends it: from then on bursts
//! are simulated.

use std::borrow::Cow;

use channel::CLEAR;
use units::Time;

use super::counters::Counters;
use super::fifo::{Fifo, Scheduled};
use super::{Flight, LastHop};
use crate::buffer::{Backlog, Limit};
use crate::harq::none::Uncoded;
use crate::harq::{Burst, HarqCounters};
use crate::packet::{DropReason, Output, PacketRef};

impl LastHop {
    /// What is entered of an idle last hop, if it is one of those.
    pub(super) fn enters_bursts(&self) -> Option<Fifo> {
        let (limit, delay) = (self.scheduler.fifo_limit()?, self.propagation.constant()?);
        let clear = self.harq.sends_uncoded() && self.channels.iter().all(|channel| channel.is_clear());
        let waits = self.reordering.wants_numbers(); // a gap that a full queue made is waited for
        (clear && !waits).then(|| Fifo::new(limit, delay))
    }

    /// As [`LastHop::handle_packet`].
    #[inline(always)]
    pub(super) fn handle_fifo_packet(&mut self, now: Time, packet: PacketRef) {
        self.work_fifo_until(now);
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += u64::from(packet.size);
        let time = self.tx_time(now, Uncoded::coded(&packet).bits);
        let Some(fifo) = &mut self.fifo else { return };
        if !fifo.limit.admits(fifo.waiting(), packet.size) {
            return self.outputs.push_back(Output::Dropped(packet, DropReason::Overflow));
        }
        self.counters.queue_packets_max = self.counters.queue_packets_max.max(self.queued + 1);
        if fifo.free_at > now {
            fifo.waiting_bytes += u64::from(packet.size);
            fifo.begins_at = fifo.begins_at.min(fifo.free_at);
            self.queued += 1;
            return fifo.push(fifo.free_at + time, packet);
        }
        // Nothing waits: it begins at once.
        fifo.push(now + time, packet);
        fifo.begun += 1;
        self.free_at = fifo.free_at;
        self.counters.busy += time;
        self.counters.coded_bits += u64::from(Uncoded::coded(&packet).bits);
    }

    /// As [`LastHop::poll_timeout`]; [`Time::MAX`] for none.
    #[inline]
    pub fn next_due(&self) -> Time {
        match &self.fifo {
            Some(fifo) => fifo.arrives_at,
            None => self.poll_timeout().unwrap_or(Time::MAX),
        }
    }

    /// Whether [`LastHop::handle_packet`] may be called late, with the instant at which the packet came, as long as no
    /// other call has told a later one: no burst is simulated, and packets take time to their users.
    pub fn takes_late(&self) -> bool {
        self.fifo.as_ref().is_some_and(|fifo| !fifo.delay.is_zero())
    }

    /// Of the packets that come next at least so many find room in the queue, if no burst is simulated.
    #[inline]
    pub fn sure_room(&self) -> usize {
        match &self.fifo {
            Some(Fifo { limit: Limit::Packets(most), packets, begun, .. }) => {
                (*most as usize).saturating_sub(packets.len() - begun)
            }
            _ => 0,
        }
    }

    /// The next packet that has arrived, if no burst is simulated: its handle. Nothing has happened to it.
    /// [`LastHop::poll_output`] would tell of it, and tells of all others.
    #[inline]
    pub fn poll_arrived(&mut self) -> Option<u32> {
        let packet = self.poll_fifo()?;
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += u64::from(packet.size);
        Some(packet.id)
    }

    /// Begins the bursts that begin by `now`; [`LastHop::poll_fifo`] hands out the packets that have arrived.
    #[inline]
    pub(super) fn work_fifo_until(&mut self, now: Time) {
        let Some(fifo) = &mut self.fifo else { return };
        fifo.reached = now;
        if fifo.begins_at <= now {
            self.begin_fifo_bursts(|start| start <= now);
        }
    }

    /// The next packet that has arrived.
    #[inline]
    pub(super) fn poll_fifo(&mut self) -> Option<PacketRef> {
        self.fifo.as_mut()?.pop_arrived()
    }

    /// Counts the bursts that begin at times that are `due`.
    fn begin_fifo_bursts(&mut self, due: impl Fn(Time) -> bool) {
        let Some(fifo) = &mut self.fifo else { return };
        while due(fifo.begins_at)
            && let Some(Scheduled { end, packet }) = fifo.packets.get(fifo.begun)
        {
            self.free_at = *end;
            self.counters.busy += end.since(fifo.begins_at);
            self.counters.coded_bits += u64::from(Uncoded::coded(packet).bits);
            self.queued -= 1;
            fifo.waiting_bytes -= u64::from(packet.size);
            fifo.begun += 1;
            // The next begins when this one ends.
            fifo.begins_at = if self.queued > 0 { *end } else { Time::MAX };
        }
    }

    /// The counters of the reliability scheme.
    pub fn harq(&self) -> Cow<'_, HarqCounters> {
        let mut counters = Cow::Borrowed(self.harq.counters());
        if let Some((started, arrived)) = self.uncounted() {
            counters.to_mut().on_clear(started, arrived);
        }
        counters
    }

    /// Packets whose burst has begun and whose fate is not known.
    pub(super) fn undecided(&self) -> usize {
        self.fifo.as_ref().map_or_else(|| self.harq.undecided(), |fifo| fifo.begun)
    }

    /// What the reliability scheme has not counted: packets started, and those of them that have arrived. As long as no
    /// burst is simulated no packet leaves but these.
    pub(super) fn uncounted(&self) -> Option<(u64, Backlog)> {
        let Counters { delivered_packets, delivered_bytes, .. } = self.counters;
        let fifo = self.fifo.as_ref()?;
        Some((
            delivered_packets + fifo.begun as u64,
            Backlog { packets: delivered_packets as usize, bytes: delivered_bytes },
        ))
    }

    /// From now on each burst is simulated. Those that begin at `now` have not begun.
    #[cold]
    pub(super) fn simulate_bursts(&mut self, now: Time) {
        self.begin_fifo_bursts(|start| start < now);
        if let Some((started, arrived)) = self.uncounted() {
            self.harq.count_clear(started, arrived);
        }
        let Some(Fifo { delay, packets, begun, .. }) = self.fifo.take() else { return };
        for (index, Scheduled { end, packet }) in packets.into_iter().enumerate() {
            if index < begun {
                let burst = Burst { coded: Uncoded::coded(&packet), sequence: self.number(packet.flow), packet };
                self.bursts.append(end + delay, Flight { snr: CLEAR, burst, missed: false });
            } else {
                self.scheduler.enqueue(now, packet).expect("a packet that waited fits in the queue");
            }
        }
        self.looks_at = if self.queued > 0 { self.free_at } else { Time::MAX };
        self.next = self.next_event();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{EstimateConfig, Estimates};
    use crate::queue::Queue;
    use crate::reordering::{Reordering, ReorderingConfig};
    use crate::scheduler::droptail::DropTail;
    use crate::{LastHopReport, Propagation, Transfer};
    use channel::{Channel, ChannelConfig};
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use units::{BitRate, Duration, Ecn};

    fn rng() -> Box<dyn Rng + Send> {
        Box::new(Xoshiro256PlusPlus::seed_from_u64(1))
    }

    fn hop(limit: Limit) -> LastHop {
        let model =
            ChannelConfig::Clear(channel::Clear::default()).entry().load(&mut units::MemoryFiles::new(), None).unwrap();
        let channels: Vec<Box<dyn Channel>> = (0..3).map(|user| model.build(user, &mut |_| rng())).collect();
        let (reordering, estimates) = (ReorderingConfig::default(), EstimateConfig::default());
        LastHop::from_parts(
            BitRate::from_bps(1_000_000),
            Propagation::fixed(Duration::from_millis(7)),
            Box::new(DropTail::new(Queue::new(limit, None))),
            Box::new(Uncoded::new(rng())),
            Reordering::new(reordering, 3),
            Estimates::new(&estimates, 3),
            channels,
        )
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Packet { user: u32, size: u32 },
        Late,
        HandOver(Transfer),
        Halt,
        Resume,
    }

    /// What is read of a last hop while it works through steps, each some microseconds after the one before; late ones
    /// leave its wake-ups out.
    fn course(hop: &mut LastHop, steps: &[(u64, Step)]) -> (Vec<(Time, Output)>, Vec<String>, LastHopReport) {
        let (mut now, mut left, mut read) = (Time::ZERO, Vec::new(), Vec::new());
        for (id, &(gap, step)) in (0..).zip(steps) {
            let then = now + Duration::from_micros(gap);
            while !matches!(step, Step::Late)
                && let Some(at) = hop.poll_timeout().filter(|&at| at <= then)
            {
                now = at;
                hop.handle_timeout(now);
                left.extend(std::iter::from_fn(|| hop.poll_output()).map(|output| (now, output)));
            }
            now = then;
            match step {
                Step::Packet { user, size } => {
                    let packet = PacketRef { id, flow: user, user, class: 0, size, ecn: Ecn::NotEct };
                    hop.handle_packet(now, packet);
                }
                Step::Late => hop.handle_timeout(now),
                Step::HandOver(transfer) => hop.hand_over(now, now + Duration::from_millis(3), transfer),
                Step::Halt => hop.halt(now),
                Step::Resume => hop.resume(now),
            }
            left.extend(std::iter::from_fn(|| hop.poll_output()).map(|output| (now, output)));
            let times = (hop.poll_timeout(), hop.next_step(), hop.sending_until());
            read.push(format!("{times:?} {:?} {} {}", hop.queue(), hop.coded_bits(), hop.in_flight()));
        }
        (left, read, hop.report(now.since(Time::ZERO)))
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let transfer = prop_oneof![
            Just(Transfer::Keep),
            Just(Transfer::Lose),
            Just(Transfer::Forward { delay: Duration::from_millis(2) })
        ];
        let step = prop_oneof![
            20 => (0u32..3, 40u32..1500).prop_map(|(user, size)| Step::Packet { user, size }),
            4 => Just(Step::Late),
            1 => transfer.prop_map(Step::HandOver),
            1 => Just(Step::Halt),
            1 => Just(Step::Resume),
        ];
        // Often at the instant at which a burst ends or arrives: 1,000 bits take a millisecond.
        let gap = prop_oneof![0u64..20_000, (0u64..20).prop_map(|millis| millis * 1000), Just(0)];
        prop::collection::vec((gap, step), 1..120)
    }

    proptest! {
        #[test]
        fn nothing_shows_whether_bursts_are_simulated(
            steps in steps(),
            limit in prop_oneof![(1u32..8).prop_map(Limit::Packets), (1u64..6000).prop_map(Limit::Bytes)],
        ) {
            let (mut entered, mut simulated) = (hop(limit), hop(limit));
            prop_assert!(entered.fifo.is_some());
            simulated.simulate_bursts(Time::ZERO);
            prop_assert!(simulated.fifo.is_none());
            prop_assert_eq!(course(&mut entered, &steps), course(&mut simulated, &steps));
        }
    }
}
