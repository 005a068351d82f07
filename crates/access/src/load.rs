//! The load of random access, as the network control centre measures it and terminals hear of it.

use std::collections::VecDeque;

use units::{Duration, Time};

/// How much a new frame counts in the mean.
const WEIGHT: f64 = 0.125;

/// Packets for each random access block: an exponentially weighted mean over the frames. Terminals know it a round trip late.
///
/// Simplified: the network control centre knows how many packets were sent, also where it could not decode them. A study of
/// load estimators would notice.
#[derive(Debug, Default)]
pub(crate) struct Load {
    mean: f64,
    /// What was broadcast and has not been heard: when it will be, and the mean.
    on_the_way: VecDeque<(Time, f64)>,
    heard: f64,
}

impl Load {
    /// A frame that begins at `now` carries so many packets a block, after some frames that carried none.
    pub(crate) fn handle_frame(&mut self, now: Time, idle_frames: u64, per_block: f64, round_trip: Duration) {
        for _ in 0..idle_frames {
            self.mean -= WEIGHT * self.mean;
            if self.mean < 1e-9 {
                self.mean = 0.0;
                break;
            }
        }
        self.mean += WEIGHT * (per_block - self.mean);
        self.on_the_way.push_back((now + round_trip, self.mean));
    }

    /// The mean as of the last frame.
    pub(crate) fn measured(&self) -> f64 {
        self.mean
    }

    /// The mean that terminals have heard of at `now`.
    pub(crate) fn heard(&mut self, now: Time) -> f64 {
        while let Some((_, mean)) = self.on_the_way.pop_front_if(|(at, _)| *at <= now) {
            self.heard = mean;
        }
        self.heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_hear_of_the_load_a_round_trip_late() {
        let (mut load, rtt) = (Load::default(), Duration::from_millis(500));
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        load.handle_frame(at(0), 0, 80.0, rtt);
        assert_eq!((load.measured(), load.heard(at(499)), load.heard(at(500))), (10.0, 0.0, 10.0));
        load.handle_frame(at(45), 0, 80.0, rtt);
        assert_eq!((load.heard(at(500)), load.heard(at(545))), (10.0, 18.75));
        // Frames without packets count too.
        load.handle_frame(at(135), 1, 0.0, rtt);
        assert!((load.measured() - 18.75 * 0.875 * 0.875).abs() < 1e-12);
    }
}
