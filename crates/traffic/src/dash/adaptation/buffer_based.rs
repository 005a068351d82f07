//! BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, "A buffer-based approach to rate adaptation", SIGCOMM 2014,
//! algorithm 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::{Kind, Situation, Video};

/// By the buffer alone (BBA-0): the lowest bit rate up to the reservoir, the highest from the cushion's end on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BufferBased {
    /// Up to so much media the lowest bit rate is chosen; by default 3/8 of the buffer, as 90 s of 240 s.
    pub reservoir: Option<Duration>,
    /// Over so much more the bit rate rises to the highest; by default to 9/10 of the buffer.
    pub cushion: Option<Duration>,
}

impl Kind for BufferBased {
    fn check(&self, video: &Video<'_>) -> Result<(), FieldError> {
        let (reservoir, cushion) = self.bounds(video);
        if cushion.is_zero() {
            return Err(FieldError::new("cushion", "0 s was given: must be more than 0"));
        }
        if reservoir + cushion > video.buffer {
            let reason =
                format!("{cushion} after a reservoir of {reservoir}: together at most the buffer, {}", video.buffer);
            return Err(FieldError::new("cushion", reason));
        }
        Ok(())
    }

    fn choose(&self, now: &Situation<'_>) -> usize {
        let (reservoir, cushion) = self.bounds(&now.video);
        let (ladder, top) = (now.video.ladder, now.video.ladder.len() - 1);
        if now.buffer <= reservoir {
            return 0;
        }
        if now.buffer >= reservoir + cushion {
            return top;
        }
        let [lowest, highest] = [ladder[0], ladder[top]].map(|rate| rate.as_bps() as f64);
        let share = now.buffer.saturating_sub(reservoir).as_secs_f64() / cushion.as_secs_f64();
        let mapped = lowest + share * (highest - lowest);
        let previous = now.previous.unwrap_or(0);
        if mapped >= ladder[(previous + 1).min(top)].as_bps() as f64 {
            ladder.iter().rposition(|rate| (rate.as_bps() as f64) < mapped).unwrap_or(0)
        } else if mapped <= ladder[previous.saturating_sub(1)].as_bps() as f64 {
            ladder.iter().position(|rate| rate.as_bps() as f64 > mapped).unwrap_or(top)
        } else {
            previous
        }
    }
}

impl BufferBased {
    /// Reservoir and cushion.
    fn bounds(&self, video: &Video<'_>) -> (Duration, Duration) {
        let reservoir = self.reservoir.unwrap_or(video.buffer * 3 / 8);
        (reservoir, self.cushion.unwrap_or((video.buffer * 9 / 10).saturating_sub(reservoir)))
    }
}

#[cfg(test)]
mod tests {
    use units::BitRate;

    use super::*;

    #[test]
    fn the_map_and_its_hysteresis_by_hand() {
        let ladder = [1, 2, 4].map(|mbps| BitRate::from_bps(1_000_000 * mbps));
        let rule = BufferBased { reservoir: Some(Duration::from_secs(10)), cushion: Some(Duration::from_secs(30)) };
        let video = Video { ladder: &ladder, segment: Duration::from_secs(4), buffer: Duration::from_secs(40) };
        let level = |buffer: u64, previous: Option<usize>| {
            let buffer = Duration::from_secs(buffer);
            rule.choose(&Situation { video, buffer, previous, downloads: &[], sizes: &[] })
        };
        assert_eq!([level(0, None), level(10, Some(2)), level(40, Some(0))], [0, 0, 2]);
        // The map at 19 s is 1.9 Mbit/s, at 21 s 2.1: the level stays until the next one is reached.
        assert_eq!([level(19, Some(0)), level(21, Some(0)), level(21, Some(1))], [0, 1, 1]);
        // Down from 4 Mbit/s when the map is at 2 or less: then the lowest level above it.
        assert_eq!([level(21, Some(2)), level(20, Some(2)), level(12, Some(2))], [2, 2, 1]);
        assert_eq!(rule.check(&video), Ok(()));
        let refused = rule.check(&Video { buffer: Duration::from_secs(39), ..video }).unwrap_err().to_string();
        assert_eq!(refused, "cushion: 30 s after a reservoir of 10 s: together at most the buffer, 39 s");
    }
}
