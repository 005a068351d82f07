//! By the measured throughput: the harmonic mean over segments of Jiang, Sekar and Zhang, "Improving fairness,
//! efficiency, and stability in HTTP-based adaptive video streaming with FESTIVE", CoNEXT 2012 (section 4.2), with its
//! factor of 0.85 (section 5), over the 5 segments of the rate-based rule that Yin et al. 2015 compare with. Without
//! FESTIVE's gradual switching, random scheduling and delayed update.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::FieldError;

use super::{Kind, Situation, Video};

/// By the throughput: the highest bit rate within a share of the harmonic mean of the last segments' throughputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateBased {
    /// The number of segments averaged.
    #[schemars(range(min = 1, max = 1000))]
    pub segments: u32,
    /// The share of that mean which is used.
    #[schemars(range(min = 0.05, max = 2.0))]
    pub safety: f64,
}

impl Default for RateBased {
    fn default() -> RateBased {
        RateBased { segments: 5, safety: 0.85 }
    }
}

impl Kind for RateBased {
    fn check(&self, _video: &Video<'_>) -> Result<(), FieldError> {
        if !(1..=1000).contains(&self.segments) {
            return Err(FieldError::new("segments", format!("{} was given: must be from 1 to 1000", self.segments)));
        }
        if !(0.05..=2.0).contains(&self.safety) {
            return Err(FieldError::new("safety", format!("{} was given: must be between 0.05 and 2", self.safety)));
        }
        Ok(())
    }

    fn choose(&self, now: &Situation<'_>) -> usize {
        let known = now.downloads.len();
        let last = &now.downloads[known.saturating_sub(self.segments as usize)..];
        if last.is_empty() {
            return 0;
        }
        let mean = last.len() as f64 / last.iter().map(|download| 1.0 / download.bps()).sum::<f64>();
        now.video.level_within(self.safety * mean)
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, Bytes, Duration};

    use super::super::Download;
    use super::*;

    #[test]
    fn the_harmonic_mean_of_the_last_segments() {
        let ladder = [1, 2, 4].map(|mbps| BitRate::from_bps(1_000_000 * mbps));
        let video = Video { ladder: &ladder, segment: Duration::from_secs(4), buffer: Duration::from_secs(40) };
        let download = |mbps: u64| Download { size: Bytes::new(125_000 * mbps), time: Duration::from_secs(1) };
        let level = |mbps: &[u64]| {
            let downloads: Vec<Download> = mbps.iter().map(|&mbps| download(mbps)).collect();
            let rule = RateBased { segments: 2, safety: 1.0 };
            rule.choose(&Situation { video, buffer: Duration::ZERO, previous: None, downloads: &downloads, sizes: &[] })
        };
        assert_eq!(level(&[]), 0);
        // Of 1 and 9 Mbit/s it is 1.8, of 2 and 9 it is 3.3; only the last two count.
        assert_eq!([level(&[1, 9]), level(&[1, 2, 9]), level(&[1, 4, 4]), level(&[9, 9, 1])], [0, 1, 2, 0]);
    }
}
