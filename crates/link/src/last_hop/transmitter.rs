//! The transmitter: how long its bursts take, when it is free, and its pauses.

use std::sync::Arc;

use units::{BitRate, Duration, RateOverTime, Time};

#[derive(Clone)]
pub(super) struct Transmitter {
    rate: BitRate,
    /// The rates over time, in place of `rate`.
    pub(super) rates: Option<Arc<RateOverTime>>,
    /// The last burst that was sent at these, with its coded bits: when it began.
    begun: (Time, u32),
    /// The last burst length and its transmission time: most bursts have the same length, and this saves a division.
    last_tx: (u32, Duration),
    /// When it may begin a burst: the present one is sent, and a satellite serves. [`Time::MAX`] without a satellite.
    pub(super) free_at: Time,
    /// When the last burst before the pause ends.
    sent_until: Time,
    /// When the serving satellite begins to serve.
    pub(super) serves_from: Time,
    /// Whether no satellite serves.
    pub(super) halted: bool,
    /// The instant since which packets wait of which none may start; [`Time::MAX`] if there are none.
    stalled_since: Time,
    stalled: Duration,
    busy: Duration,
    /// Coded bits of the bursts sent so far, the one being sent included.
    pub(super) coded_bits: u64,
}

impl Transmitter {
    /// Has sent nothing.
    pub(super) fn new(rate: BitRate) -> Transmitter {
        Transmitter {
            rate,
            rates: None,
            begun: (Time::ZERO, 0),
            last_tx: (0, Duration::ZERO),
            free_at: Time::ZERO,
            sent_until: Time::ZERO,
            serves_from: Time::ZERO,
            halted: false,
            stalled_since: Time::MAX,
            stalled: Duration::ZERO,
            busy: Duration::ZERO,
            coded_bits: 0,
        }
    }

    /// The transmission time of a burst that begins now.
    #[inline]
    pub(super) fn tx_time(&mut self, now: Time, bits: u32) -> Duration {
        if self.last_tx.0 != bits {
            // Rates over time are asked for each burst: they leave nothing to remember.
            if let Some(rates) = &self.rates {
                self.begun = (now, bits);
                return rates.tx_time(now, u64::from(bits));
            }
            self.last_tx = (bits, self.rate.tx_time(u64::from(bits)));
        }
        self.last_tx.1
    }

    /// Sends a burst that takes `time` from `start` on; returns its end.
    #[inline]
    pub(super) fn send(&mut self, start: Time, time: Duration, bits: u32) -> Time {
        self.free_at = start + time;
        self.busy += time;
        self.coded_bits += u64::from(bits);
        self.free_at
    }

    /// Takes back the bursts that were to be sent without a gap from `begin` on, with so many coded bits.
    pub(super) fn take_back(&mut self, begin: Time, coded_bits: u64) {
        self.busy = self.busy.saturating_sub(self.free_at.since(begin));
        self.free_at = begin;
        self.coded_bits -= coded_bits;
    }

    /// Packets wait, and none of them may start.
    #[inline]
    pub(super) fn stall(&mut self, now: Time) {
        self.stalled_since = self.stalled_since.min(now);
    }

    #[inline]
    pub(super) fn end_stall(&mut self, now: Time) {
        if self.stalled_since < Time::MAX {
            self.stalled += now.since(self.stalled_since);
            self.stalled_since = Time::MAX;
        }
    }

    /// Begins a pause; its time does not count as a stall of the reliability scheme.
    pub(super) fn rest(&mut self, now: Time) {
        self.sent_until = self.sending_until();
        self.end_stall(now);
    }

    /// A pause ends the burst that is being sent.
    pub(super) fn cut(&mut self, now: Time) {
        self.busy = self.busy.saturating_sub(self.sent_until.since(now));
        self.sent_until = self.sent_until.min(now);
    }

    /// A satellite serves, but not before `from`.
    pub(super) fn serve(&mut self, from: Time) {
        self.serves_from = self.serves_from.max(from);
        self.halted = false;
    }

    /// Sends from the end of the pause on, which may be now.
    pub(super) fn go_on(&mut self, now: Time) {
        self.free_at = if self.halted { Time::MAX } else { self.serves_from.max(self.sent_until).max(now) };
    }

    /// The end of the burst that is being sent; in the past if it is idle.
    pub(super) fn sending_until(&self) -> Time {
        // Once it sends again, it is free after the end of the pause.
        if self.free_at > self.serves_from && !self.halted { self.free_at } else { self.sent_until }
    }

    /// The coded bits sent by `end`, of the last burst those that were sent by then.
    pub(super) fn coded_bits_by(&self, end: Time) -> f64 {
        let unsent = self.sending_until().since(end);
        let unsent_bits = match &self.rates {
            // Not the bits from `end` on: a rate that stays 0 sends none of them.
            Some(rates) if !unsent.is_zero() => f64::from(self.begun.1) - rates.bits(self.begun.0, end),
            Some(_) => 0.0,
            None => unsent.as_secs_f64() * self.rate.as_bps() as f64,
        };
        (self.coded_bits as f64 - unsent_bits).max(0.0)
    }

    /// Returns the time for which the transmitter was sending, up to `end`.
    pub(super) fn busy_by(&self, end: Time) -> Duration {
        self.busy.saturating_sub(self.sending_until().since(end))
    }

    /// Returns the time, up to `end`, in which packets waited and none was allowed to start.
    pub(super) fn stalled_by(&self, end: Time) -> Duration {
        self.stalled + end.since(self.stalled_since)
    }
}
