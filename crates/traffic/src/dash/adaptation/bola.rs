//! BOLA of Spiteri, Urgaonkar and Sitaraman, "BOLA: near-optimal bitrate adaptation for online videos", INFOCOM 2016:
//! BOLA-BASIC with logarithmic utility. V and γp are given by two levels of the buffer as in dash.js. Where BOLA would
//! pause, the client's full buffer makes it wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::{Kind, Situation, Video};

/// By the buffer (BOLA): the bit rate with the largest (V (ln(S/S₁) + γp) − buffer)/S, S being the segment's size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bola {
    /// The buffer from which on more than the lowest bit rate is worth its risk, V γp.
    pub low: Duration,
    /// The buffer at which the highest bit rate's score is 0, V (ln(Sₘ/S₁) + γp); by default the client's largest.
    pub high: Option<Duration>,
}

impl Default for Bola {
    fn default() -> Bola {
        Bola { low: Duration::from_secs(10), high: None }
    }
}

impl Kind for Bola {
    fn check(&self, video: &Video<'_>) -> Result<(), FieldError> {
        if self.low.is_zero() {
            return Err(FieldError::new("low", "0 s was given: must be more than 0"));
        }
        let high = self.high.unwrap_or(video.buffer);
        if high <= self.low {
            let field = if self.high.is_some() { "high" } else { "low" };
            let reason = format!("from {} to {high}: `high` (by default the buffer) must be after `low`", self.low);
            return Err(FieldError::new(field, reason));
        }
        Ok(())
    }

    fn choose(&self, now: &Situation<'_>) -> usize {
        let sizes: Vec<f64> = now.sizes.iter().map(|size| size.get() as f64).collect();
        let utility = |size: f64| libm::log(size / sizes[0]);
        let (low, high) = (self.low.as_secs_f64(), self.high.unwrap_or(now.video.buffer).as_secs_f64());
        let gamma_p = utility(sizes[sizes.len() - 1]) / (high / low - 1.0);
        if gamma_p <= 0.0 {
            return 0;
        }
        let v = low / gamma_p;
        let score = |size: f64| (v * (utility(size) + gamma_p) - now.buffer.as_secs_f64()) / size;
        // The first of equal ones is the lower.
        (1..sizes.len()).fold(0, |best, level| if score(sizes[level]) > score(sizes[best]) { level } else { best })
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, Bytes};

    use super::*;

    #[test]
    fn scores_by_hand() {
        // Sizes 1 and e: utilities 0 and 1. From 10 to 20 s: γp = 1, V = 10. Scores (10 − Q) and (20 − Q)/e cross at
        // Q = (10e − 20)/(e − 1) = 4.18 s.
        let ladder = [1_000_000, 2_718_282].map(BitRate::from_bps);
        let sizes = [Bytes::new(1_000_000), Bytes::new(2_718_282)];
        let video = Video { ladder: &ladder, segment: Duration::from_secs(4), buffer: Duration::from_secs(20) };
        let level = |ms| {
            let buffer = Duration::from_millis(ms);
            Bola::default().choose(&Situation { video, buffer, previous: None, downloads: &[], sizes: &sizes })
        };
        assert_eq!([level(0), level(4_170), level(4_190), level(16_000)], [0, 0, 1, 1]);
        let one = Situation { video, buffer: Duration::ZERO, previous: None, downloads: &[], sizes: &sizes[..1] };
        assert_eq!(Bola::default().choose(&one), 0);
        assert!(Bola::default().check(&Video { buffer: Duration::from_secs(10), ..video }).is_err());
    }
}
