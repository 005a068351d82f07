//! What the transmitter sends next.

use units::Time;

use super::{Flight, LastHop};
use crate::harq::{Burst, Coded};
use crate::packet::PacketRef;
use crate::scheduler::View;

impl LastHop {
    /// Begins bursts if there is something to send and the transmitter is free.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time) {
        self.looks_at = if !self.wants_to_send() {
            Time::MAX
        } else if self.transmitter.free_at > now {
            self.transmitter.free_at
        } else {
            self.begin(now)
        };
    }

    /// Whether a retransmission or something new waits for the transmitter.
    #[inline]
    fn wants_to_send(&self) -> bool {
        self.repeats || self.pending()
    }

    /// Begins bursts until the transmitter is no longer free, or there is nothing to send: when it chooses again.
    #[inline(always)]
    fn begin(&mut self, now: Time) -> Time {
        self.estimates.advance(now, &mut self.channels);
        while self.transmitter.free_at <= now {
            // Retransmissions go before new packets.
            let sent = if self.repeats { self.repeat(now) } else { self.start_new(now) };
            if !sent {
                match self.pending() {
                    true => self.transmitter.stall(now),
                    false => self.transmitter.end_stall(now), // what waited was dropped
                }
                return Time::MAX; // until a packet arrives, or feedback frees a process
            }
            self.transmitter.end_stall(now);
        }
        if self.wants_to_send() { self.transmitter.free_at } else { Time::MAX }
    }

    /// Whether something waits for its first transmission.
    #[inline]
    pub(super) fn pending(&self) -> bool {
        self.queued.packets() > 0 || self.segmentation.as_ref().is_some_and(|segmentation| segmentation.is_cutting())
    }

    #[inline(always)]
    fn repeat(&mut self, now: Time) -> bool {
        let burst = self.harq.poll_burst(now);
        self.repeats = self.harq.has_burst();
        if let Some(burst) = &burst {
            self.send(now, burst.coded, &burst.packet, burst.sequence);
        }
        burst.is_some()
    }

    #[inline(always)]
    fn start_new(&mut self, now: Time) -> bool {
        // A packet whose transmission has started is completed before another begins.
        if let Some(segmentation) = &mut self.segmentation
            && let Some(fragment) = segmentation.next(|user| self.harq.may_start(user))
        {
            self.start(now, &fragment);
            return true;
        }
        if self.queued.packets() == 0 {
            return false;
        }
        let mut view = View::new(now, self.harq.as_ref(), &mut self.estimates, &mut self.channels);
        let selected = self.queued.select(now, &mut view, &mut self.outputs);
        let Some(packet) = &selected else { return false };
        let fragment = self.segmentation.as_mut().map(|segmentation| segmentation.begin(*packet));
        self.start(now, fragment.as_ref().unwrap_or(packet));
        true
    }

    /// Begins a packet, or a fragment of one.
    #[inline(always)]
    fn start(&mut self, now: Time, packet: &PacketRef) {
        // A packet is numbered when it is first sent, so that a packet dropped in the queue leaves no gap.
        let sequence = self.numbering.number(packet.flow);
        let user = packet.user;
        let estimate = self.wants_estimate.then(|| self.estimates.information(now, user, &mut self.channels));
        let coded = self.harq.start(now, packet, sequence, estimate);
        self.repeats = self.harq.has_burst();
        self.decisions.decide(now, packet, sequence, self.channels[user as usize].as_mut());
        self.send(now, coded, packet, sequence);
    }

    #[inline(always)]
    fn send(&mut self, now: Time, coded: Coded, packet: &PacketRef, sequence: u64) {
        let decided = self.decisions.snr(packet, sequence);
        let snr = decided.unwrap_or_else(|| self.channels[packet.user as usize].burst_snr(now));
        let time = self.transmitter.tx_time(now, coded.bits);
        let end = self.transmitter.send(now, time, coded.bits);
        let burst = Burst { coded, packet: *packet, sequence };
        let flight = Flight { snr, burst, missed: false };
        match self.propagation.constant() {
            Some(delay) => self.bursts.append(end + delay, flight),
            None => self.bursts.push(end + self.propagation.delay(now), flight),
        }
    }
}
