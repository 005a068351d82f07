//! The load of random access, as the network control centre measures it and terminals hear of it.

use std::collections::VecDeque;

use units::{Duration, Time};

/// How much a new frame counts in the mean.
const WEIGHT: f64 = 0.125;

/// Packets for each random access block: an exponentially weighted mean over the frames, those without packets included.
/// Terminals know it a round trip late.
///
/// Simplified: the network control centre knows how many packets were sent, also where it could not decode them. A study of
/// load estimators would notice.
#[derive(Debug)]
pub(crate) struct Load {
    frame: Duration,
    measured: Mean,
    /// What was broadcast and has not been heard: when it will be.
    on_the_way: VecDeque<(Time, Mean)>,
    heard: Mean,
}

/// The mean after the frame that began at `at`.
#[derive(Clone, Copy, Debug)]
struct Mean {
    value: f64,
    at: Time,
}

impl Mean {
    const NONE: Mean = Mean { value: 0.0, at: Time::ZERO };

    /// What is left of it at `now` if nothing was sent since.
    fn at(self, now: Time, frame: Duration) -> f64 {
        let frames = now.since(self.at).as_nanos() / frame.as_nanos();
        self.value * libm::pow(1.0 - WEIGHT, frames as f64)
    }
}

impl Load {
    /// Nothing was sent; `frame`: duration of one.
    pub(crate) fn new(frame: Duration) -> Load {
        Load { frame, measured: Mean::NONE, on_the_way: VecDeque::new(), heard: Mean::NONE }
    }

    /// A frame that begins at `now` carries so many packets a block.
    pub(crate) fn handle_frame(&mut self, now: Time, per_block: f64, round_trip: Duration) {
        self.hear(now);
        let value = self.measured.at(now, self.frame) + WEIGHT * per_block;
        self.measured = Mean { value, at: now };
        // Broadcasts do not overtake each other where the path becomes shorter.
        let due = self.on_the_way.back().map_or(Time::ZERO, |last| last.0).max(now + round_trip);
        self.on_the_way.push_back((due, self.measured));
    }

    /// The mean at `now`, before the frame that begins then.
    pub(crate) fn measured(&self, now: Time) -> f64 {
        self.measured.at(now, self.frame)
    }

    fn hear(&mut self, now: Time) {
        while let Some((_, mean)) = self.on_the_way.pop_front_if(|(due, _)| *due <= now) {
            self.heard = mean;
        }
    }

    /// The mean that terminals have heard of at `now`. `round_trip`: how old it is; without a route, the last that was.
    pub(crate) fn heard(&mut self, now: Time, round_trip: Option<Duration>) -> f64 {
        self.hear(now);
        let Some(round_trip) = round_trip else { return self.heard.value };
        let then = Time::ZERO + now.since(Time::ZERO).saturating_sub(round_trip);
        self.heard.at(then.max(self.heard.at), self.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(500);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn terminals_hear_of_the_load_a_round_trip_late() {
        let mut load = Load::new(Duration::from_millis(45));
        load.handle_frame(at(0), 80.0, RTT);
        assert_eq!(
            (load.measured(at(0)), load.heard(at(499), Some(RTT)), load.heard(at(500), Some(RTT))),
            (10.0, 0.0, 10.0)
        );
        load.handle_frame(at(45), 80.0, RTT);
        assert_eq!((load.heard(at(544), Some(RTT)), load.heard(at(545), Some(RTT))), (10.0, 18.75));
    }

    #[test]
    fn the_load_falls_while_nothing_is_sent() {
        let mut load = Load::new(Duration::from_millis(45));
        load.handle_frame(at(0), 80.0, RTT);
        assert!((load.measured(at(45 * 3)) - 10.0 * 0.875 * 0.875 * 0.875).abs() < 1e-12);
        assert!((load.heard(at(500 + 90), Some(RTT)) - 10.0 * 0.875 * 0.875).abs() < 1e-12);
        assert!(load.heard(at(100_000), Some(RTT)) < 1e-9);
        load.handle_frame(at(45_000), 8.0, RTT);
        assert!((load.measured(at(45_000)) - 1.0).abs() < 1e-9);
    }
}
