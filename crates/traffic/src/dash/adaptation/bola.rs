//! BOLA of Spiteri, Urgaonkar and Sitaraman, "BOLA: near-optimal bitrate adaptation for online videos", INFOCOM 2016:
//! BOLA-BASIC with logarithmic utility. V and γp are given by two levels of the buffer as in dash.js. Where BOLA would
//! pause, the client's full buffer makes it wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError};

use super::{Kind, Situation, Video};

/// By the buffer (BOLA): the bit rate with the largest (V (ln(S/S₁) + 1 + γp) − buffer)/S, S being the segment's size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bola {
    /// The buffer up to which the lowest bit rate is best, whatever the ladder has beside it: V γp.
    pub low: Duration,
    /// The buffer from which on the highest is: V (ln(Sₘ/S₁) + γp); by default the client's largest.
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
        // A utility of 1 for the lowest, to which V and γp belong: of a continuous ladder the best size is then the
        // lowest at `low`, and the highest at `high`.
        let score = |size: f64| (v * (1.0 + utility(size) + gamma_p) - now.buffer.as_secs_f64()) / size;
        // The first of equal ones is the lower.
        (1..sizes.len()).fold(0, |best, level| if score(sizes[level]) > score(sizes[best]) { level } else { best })
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, Bytes};

    use super::*;

    #[test]
    fn the_lowest_is_best_up_to_low_and_the_highest_from_high_on() {
        // Steps of 1 %: nearly a continuous ladder, whose crossings lie at both ends.
        let sizes: Vec<Bytes> =
            (0..300).map(|step| Bytes::new((1e6 * libm::pow(1.01, f64::from(step))) as u64)).collect();
        let ladder: Vec<BitRate> = sizes.iter().map(|size| BitRate::from_bps(size.get())).collect();
        let video = Video { ladder: &ladder, segment: Duration::from_secs(4), buffer: Duration::from_secs(60) };
        let level = |seconds: f64| {
            let buffer = Duration::from_secs_f64(seconds);
            Bola::default().choose(&Situation { video, buffer, previous: None, downloads: &[], sizes: &sizes })
        };
        assert_eq!([level(9.9), level(60.0)], [0, 299]);
        assert!(level(10.3) > 0 && level(59.7) < 299);
        assert!((1..60).all(|second| level(f64::from(second)) <= level(f64::from(second + 1))));
    }

    #[test]
    fn scores_by_hand() {
        // Sizes 1 and e: utilities 1 and 2. From 10 to 20 s: γp = 1, V = 10. Scores (20 − Q) and (30 − Q)/e cross at
        // Q = (20e − 30)/(e − 1) = 14.18 s.
        let ladder = [1_000_000, 2_718_282].map(BitRate::from_bps);
        let sizes = [Bytes::new(1_000_000), Bytes::new(2_718_282)];
        let video = Video { ladder: &ladder, segment: Duration::from_secs(4), buffer: Duration::from_secs(20) };
        let level = |ms| {
            let buffer = Duration::from_millis(ms);
            Bola::default().choose(&Situation { video, buffer, previous: None, downloads: &[], sizes: &sizes })
        };
        assert_eq!([level(0), level(14_170), level(14_190), level(16_000)], [0, 0, 1, 1]);
        let one = Situation { video, buffer: Duration::ZERO, previous: None, downloads: &[], sizes: &sizes[..1] };
        assert_eq!(Bola::default().choose(&one), 0);
        assert!(Bola::default().check(&Video { buffer: Duration::from_secs(10), ..video }).is_err());
    }
}
