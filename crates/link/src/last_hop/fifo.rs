//! The packets of a last hop on which nothing happens to them but that they wait, are sent and arrive.
//!
//! One queue sends first in first out and drops only what finds it full; each packet is one burst, which meets no noise
//! and has no feedback; and the delay is constant. Then the burst of a packet begins when the transmitter has sent what
//! came before, which is known when the packet comes: it is entered once, and no burst is simulated. The transmitter is
//! told of all bursts at once, and of those that wait it is taken back where it is read, so what is read of the last
//! hop is the same. A handover ends it: from then on bursts are simulated.

use units::{Duration, Ring, Time};

use super::transmitter::Transmitter;
use crate::buffer::{Backlog, Limit};
use crate::harq::none::Uncoded;
use crate::packet::{DropReason, PacketRef};

/// Of a last hop whose bursts are entered, not simulated: the packets that have not arrived.
pub(super) struct Fifo {
    limit: Limit,
    pub(super) delay: Duration,
    /// The packets that have not arrived, in order.
    pub(super) packets: Ring<Scheduled>,
    /// How many of `packets` have started; the others wait.
    pub(super) started: usize,
    /// When the first of those that wait begins; [`Time::MAX`] without any.
    begins_at: Time,
    waiting_bytes: u64,
    /// When the next packet arrives; [`Time::MAX`] without any.
    pub(super) arrives_at: Time,
    /// The instant of the last event: packets that arrived by then may be handed out.
    pub(super) reached: Time,
}

#[derive(Clone, Copy)]
pub(super) struct Scheduled {
    /// When its burst ends; it begins when that of the packet before it ends, if that has not ended.
    pub(super) end: Time,
    pub(super) packet: PacketRef,
}

impl Fifo {
    /// Without packets.
    pub(super) fn new(limit: Limit, delay: Duration) -> Fifo {
        Fifo {
            limit,
            delay,
            packets: Ring::default(),
            started: 0,
            begins_at: Time::MAX,
            waiting_bytes: 0,
            arrives_at: Time::MAX,
            reached: Time::ZERO,
        }
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn next_arrival(&self) -> Option<Time> {
        (self.arrives_at < Time::MAX).then_some(self.arrives_at)
    }

    /// When the next burst begins or arrives.
    pub(super) fn next_step(&self) -> Option<Time> {
        let start = (self.begins_at < Time::MAX).then_some(self.begins_at);
        self.next_arrival().into_iter().chain(start).min()
    }

    /// The packets that wait for the transmitter.
    #[inline]
    pub(super) fn waiting(&self) -> Backlog {
        Backlog { packets: self.packets.len() - self.started, bytes: self.waiting_bytes }
    }

    /// Whether a packet has arrived by the instant of the last event.
    #[inline]
    pub(super) fn has_arrived(&self) -> bool {
        self.arrives_at <= self.reached
    }

    /// Enters a packet; returns how many waited when it came, it included.
    ///
    /// # Errors
    /// The packet finds the queue full.
    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: PacketRef,
        transmitter: &mut Transmitter,
    ) -> Result<usize, DropReason> {
        self.work_until(now);
        let bits = Uncoded::coded(&packet).bits;
        let time = transmitter.tx_time(now, bits);
        let waiting = self.waiting();
        if !self.limit.admits(waiting, packet.size) {
            return Err(DropReason::Overflow);
        }
        let begins_at = transmitter.free_at.max(now);
        if begins_at > now {
            self.waiting_bytes += u64::from(packet.size);
            self.begins_at = self.begins_at.min(begins_at);
        } else {
            self.started += 1; // nothing waits: it begins at once
        }
        let end = transmitter.send(begins_at, time, bits);
        if self.packets.is_empty() {
            self.arrives_at = end + self.delay;
        }
        self.packets.push_back(Scheduled { end, packet });
        Ok(waiting.packets + 1)
    }

    /// Begins the bursts that begin by `now`; [`Fifo::pop_arrived`] hands out the packets that have arrived.
    #[inline]
    pub(super) fn work_until(&mut self, now: Time) {
        self.reached = now;
        if self.begins_at <= now {
            self.begin_bursts(|start| start <= now);
        }
    }

    /// Begins the bursts that begin at times that are `due`.
    pub(super) fn begin_bursts(&mut self, due: impl Fn(Time) -> bool) {
        while due(self.begins_at)
            && let Some(Scheduled { end, packet }) = self.packets.get(self.started)
        {
            self.waiting_bytes -= u64::from(packet.size);
            self.started += 1;
            // The next begins when this one ends.
            self.begins_at = if self.started < self.packets.len() { end } else { Time::MAX };
        }
    }

    /// Takes the bursts that wait back from the transmitter.
    pub(super) fn take_back(&self, transmitter: &mut Transmitter) {
        if self.begins_at < Time::MAX {
            transmitter.take_back(self.begins_at, u64::from(Uncoded::BITS_PER_BYTE) * self.waiting_bytes);
        }
    }

    /// The next packet that has arrived by the instant of the last event.
    #[inline]
    pub(super) fn pop_arrived(&mut self) -> Option<PacketRef> {
        if !self.has_arrived() {
            return None;
        }
        Some(self.pop())
    }

    /// As [`Fifo::work_until`] and [`Fifo::pop_arrived`] when the next packet arrives, if that is by `until`.
    #[inline(always)]
    pub(super) fn pop_arrived_by(&mut self, until: Time) -> Option<(Time, PacketRef)> {
        let at = self.arrives_at;
        if at > until {
            return None;
        }
        self.work_until(at);
        Some((at, self.pop()))
    }

    /// Takes out the first packet, which has arrived.
    #[inline(always)]
    fn pop(&mut self) -> PacketRef {
        let Scheduled { packet, .. } = self.packets.take_first();
        self.started -= 1;
        self.arrives_at = if self.packets.is_empty() { Time::MAX } else { self.packets.first().end + self.delay };
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::super::LastHop;
    use super::*;
    use crate::estimate::{EstimateConfig, Estimates};
    use crate::packet::Output;
    use crate::queue::Queue;
    use crate::reordering::{Reordering, ReorderingConfig};
    use crate::scheduler::droptail::DropTail;
    use crate::{LastHopReport, Propagation, Transfer};
    use channel::{Channel, ChannelConfig};
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use units::{BitRate, Ecn};

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
            Box::new(Uncoded::new(Box::new(|_| rng()))),
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
