//! The load of random access, as the network control centre measures and broadcasts it.

use std::collections::VecDeque;

use units::{Duration, Time};

/// The weight of a new frame in the mean.
const WEIGHT: f64 = 0.125;

/// Packets in each random access block: an exponentially weighted mean over the frames, empty ones included. Terminals
/// receive it a round trip later.
///
/// Simplified: the network control centre knows the number of packets sent, also where it could not decode them. A
/// study of load estimators would notice.
#[derive(Debug)]
pub(crate) struct Load {
    frame: Duration,
    measured: MeanLoad,
    /// Broadcasts in flight, with the instant of their arrival.
    in_flight: VecDeque<(Time, MeanLoad)>,
    received: MeanLoad,
}

/// The mean after the frame that began at `at`.
#[derive(Clone, Copy, Debug)]
struct MeanLoad {
    value: f64,
    at: Time,
}

impl MeanLoad {
    const NONE: MeanLoad = MeanLoad { value: 0.0, at: Time::ZERO };

    /// The frames that have begun since, one that begins at `now` included.
    fn frames_until(self, now: Time, frame: Duration) -> u64 {
        now.since(self.at).as_nanos() / frame.as_nanos()
    }

    /// The mean with the frame that begins at `now`, if nothing was sent since.
    fn at(self, now: Time, frame: Duration) -> f64 {
        self.after(self.frames_until(now, frame))
    }

    /// The mean after so many more frames in which nothing was sent.
    fn after(self, frames: u64) -> f64 {
        self.value * libm::pow(1.0 - WEIGHT, frames as f64)
    }
}

impl Load {
    /// The load before the first frame; `frame`: the duration of a frame.
    pub(crate) fn new(frame: Duration) -> Load {
        Load { frame, measured: MeanLoad::NONE, in_flight: VecDeque::new(), received: MeanLoad::NONE }
    }

    /// A frame that begins at `now` carries `per_block` packets in each block.
    pub(crate) fn handle_frame(&mut self, now: Time, per_block: f64, round_trip: Duration) {
        self.receive(now);
        let value = self.measured.at(now, self.frame) + WEIGHT * per_block;
        self.measured = MeanLoad { value, at: now };
        // A broadcast does not overtake an earlier one when the path becomes shorter.
        let due = self.in_flight.back().map_or(Time::ZERO, |last| last.0).max(now + round_trip);
        self.in_flight.push_back((due, self.measured));
    }

    /// The mean over the frames before the one that begins at `now`.
    pub(crate) fn measured(&self, now: Time) -> f64 {
        self.measured.after(self.measured.frames_until(now, self.frame).saturating_sub(1))
    }

    fn receive(&mut self, now: Time) {
        while let Some((_, mean)) = self.in_flight.pop_front_if(|(due, _)| *due <= now) {
            self.received = mean;
        }
    }

    /// The mean in the last broadcast that terminals have received at `now`, a `round_trip` old. Without a route, the
    /// broadcast before.
    pub(crate) fn broadcast(&mut self, now: Time, round_trip: Option<Duration>) -> f64 {
        self.receive(now);
        let Some(round_trip) = round_trip else { return self.received.value };
        let then = Time::ZERO + now.since(Time::ZERO).saturating_sub(round_trip);
        self.received.at(then.max(self.received.at), self.frame)
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
            (load.measured(at(0)), load.broadcast(at(499), Some(RTT)), load.broadcast(at(500), Some(RTT))),
            (10.0, 0.0, 10.0)
        );
        load.handle_frame(at(45), 80.0, RTT);
        assert_eq!((load.broadcast(at(544), Some(RTT)), load.broadcast(at(545), Some(RTT))), (10.0, 18.75));
    }

    #[test]
    fn the_load_falls_while_nothing_is_sent() {
        let mut load = Load::new(Duration::from_millis(45));
        load.handle_frame(at(0), 80.0, RTT);
        assert!((load.measured(at(45 * 3)) - 10.0 * 0.875 * 0.875).abs() < 1e-12);
        assert!((load.broadcast(at(500 + 90), Some(RTT)) - 10.0 * 0.875 * 0.875).abs() < 1e-12);
        assert!(load.broadcast(at(100_000), Some(RTT)) < 1e-9);
        load.handle_frame(at(45_000), 8.0, RTT);
        assert!((load.measured(at(45_000)) - 1.0).abs() < 1e-9);
    }
}
