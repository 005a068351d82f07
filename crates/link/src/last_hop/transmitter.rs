//! What the transmitter sends next, and how long that takes.

use units::{Duration, Time};

use super::{Flight, LastHop};
use crate::harq::{Burst, Coded};
use crate::packet::PacketRef;
use crate::scheduler::View;

impl LastHop {
    /// Begins bursts if the transmitter is free.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time) {
        if self.free_at <= now && !self.begin(now) {
            return;
        }
        self.looks_at = if self.pending() || self.repeats { self.free_at } else { Time::MAX };
    }

    /// Begins bursts until the transmitter is no longer free, or there is nothing to send: then false.
    fn begin(&mut self, now: Time) -> bool {
        while self.free_at <= now {
            // Repetitions go before new packets.
            let sent = if self.repeats { self.repeat(now) } else { self.pending() && self.start_new(now) };
            if !sent {
                self.looks_at = Time::MAX; // until a packet arrives, or feedback frees a process
                if self.pending() {
                    self.stalled_since = self.stalled_since.min(now);
                }
                return false;
            }
            if self.stalled_since < Time::MAX {
                self.counters.stalled += now.since(self.stalled_since);
                self.stalled_since = Time::MAX;
            }
        }
        true
    }

    fn repeat(&mut self, now: Time) -> bool {
        let burst = self.harq.poll_burst(now);
        self.repeats = self.harq.has_burst();
        if let Some(burst) = &burst {
            self.send(now, burst.coded, &burst.packet, burst.sequence);
        }
        burst.is_some()
    }

    fn start_new(&mut self, now: Time) -> bool {
        // A packet whose transmission has begun is completed before another begins.
        if let Some(segmentation) = &mut self.segmentation
            && let Some(fragment) = segmentation.next(|user| self.harq.may_start(user))
        {
            self.start(now, &fragment);
            return true;
        }
        if self.queued == 0 {
            return false;
        }
        let mut view = View::new(now, self.harq.as_ref(), &mut self.estimates, &mut self.channels);
        let selected = self.scheduler.select(now, &mut view);
        self.collect_dropped();
        let Some(packet) = &selected else { return false };
        self.queued -= 1;
        if let Some(waits) = &mut self.waits {
            waits.on_start(now, packet);
        }
        let fragment = self.segmentation.as_mut().map(|segmentation| segmentation.begin(*packet));
        self.start(now, fragment.as_ref().unwrap_or(packet));
        true
    }

    /// Begins a packet, or a fragment of one.
    #[inline]
    fn start(&mut self, now: Time, packet: &PacketRef) {
        // A packet is numbered when it is first sent, so that a packet dropped in the queue leaves no gap.
        let sequence = self.number(packet.flow);
        let user = packet.user;
        let estimate = self.wants_estimate.then(|| self.estimates.information(now, user, &mut self.channels));
        let coded = self.harq.start(now, packet, sequence, estimate);
        self.repeats = self.harq.has_burst();
        self.decisions.decide(now, packet, sequence, self.channels[user as usize].as_mut());
        self.send(now, coded, packet, sequence);
    }

    #[inline]
    fn send(&mut self, now: Time, coded: Coded, packet: &PacketRef, sequence: u64) {
        let decided = self.decisions.snr(packet, sequence);
        let snr = decided.unwrap_or_else(|| self.channels[packet.user as usize].burst_snr(now));
        let time = self.tx_time(now, coded.bits);
        self.free_at = now + time;
        self.counters.busy += time;
        self.counters.coded_bits += u64::from(coded.bits);
        let burst = Burst { coded, packet: *packet, sequence };
        let flight = Flight { snr, burst, missed: false };
        match self.propagation.constant() {
            Some(delay) => self.bursts.append(self.free_at + delay, flight),
            None => self.bursts.push(self.free_at + self.propagation.delay(now), flight),
        }
    }

    #[inline]
    pub(super) fn tx_time(&mut self, now: Time, bits: u32) -> Duration {
        if self.last_tx.0 != bits {
            // Rates over time are asked for each burst: they leave nothing to remember.
            if let Some(rates) = &self.rates {
                return rates.tx_time(now, u64::from(bits));
            }
            self.last_tx = (bits, self.rate.tx_time(u64::from(bits)));
        }
        self.last_tx.1
    }
}
