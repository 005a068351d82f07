//! The rate at which users send, where the path has one: one queue for all of them.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, RateOverTime, Time};

use crate::record::drops::PathLoss;

/// See the module.
pub(super) struct RatedUplink {
    rates: Arc<RateOverTime>,
    buffer: Bytes,
    free_at: Time,
    /// When packets have been sent, and their bytes.
    queue: VecDeque<(Time, u32)>,
    waiting: u64,
}

impl RatedUplink {
    pub(super) fn new(rates: Arc<RateOverTime>, buffer: Bytes) -> RatedUplink {
        RatedUplink { rates, buffer, free_at: Time::ZERO, queue: VecDeque::new(), waiting: 0 }
    }

    /// When the packets before one that comes at `now` have been sent.
    pub(super) fn free_from(&self, now: Time) -> Time {
        self.free_at.max(now)
    }

    /// When a packet has been sent that comes at `now`, and begins at `start` or after those before it.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn send(&mut self, now: Time, start: Time, bytes: u32) -> Result<Time, PathLoss> {
        while let Some(&(_, sent)) = self.queue.front().filter(|front| front.0 <= now) {
            self.waiting -= u64::from(sent);
            self.queue.pop_front();
        }
        if self.waiting + u64::from(bytes) > self.buffer.get() {
            return Err(PathLoss::Overflow);
        }
        let start = self.free_from(start);
        self.free_at = start + self.rates.tx_time(start, u64::from(bytes) * 8);
        self.waiting += u64::from(bytes);
        self.queue.push_back((self.free_at, bytes));
        Ok(self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    #[test]
    fn packets_are_sent_one_after_the_other_at_the_rate_of_their_time() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        // 8 Mbit/s: 1000 B take a millisecond; half of it from 5 ms on.
        let rates = RateOverTime::new(vec![(at(0), 8_000_000), (at(5), 4_000_000)]).unwrap();
        let mut uplink = RatedUplink::new(Arc::new(rates), Bytes::new(3000));
        let sent: Vec<_> = (0..4).map(|_| uplink.send(at(0), at(0), 1000)).collect();
        assert_eq!(sent, [Ok(at(1)), Ok(at(2)), Ok(at(3)), Err(PathLoss::Overflow)]);
        assert_eq!(uplink.send(at(1), at(1), 1000), Ok(at(4)), "a place is free");
        assert_eq!(uplink.send(at(10), at(11), 1000), Ok(at(13)));
    }
}
