//! Rules by which a client of adaptive video chooses the bit rate of the next segment.

use units::{BitRate, Bytes, Duration, FieldError};

units::registry! {
    /// Rules that choose the bit rate of the next segment.
    pub enum Adaptation: dyn Kind {
        #[default] "buffer-based" => BufferBased(BufferBased) in buffer_based,
        "bola" => Bola(Bola) in bola,
        "rate-based" => RateBased(RateBased) in rate_based,
        "fixed" => Fixed(Fixed) in fixed,
    }
}

/// A rule. It is asked when a segment is about to be requested, and remembers nothing: all that it may know is in the
/// [`Situation`].
pub trait Kind {
    /// Whether the values make sense for a video.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self, _video: &Video<'_>) -> Result<(), FieldError> {
        Ok(())
    }

    /// The level of the next segment, its index in the ladder.
    fn choose(&self, now: &Situation<'_>) -> usize;
}

/// The properties of a video that are known before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Video<'a> {
    /// The bit rates, the lowest first.
    pub ladder: &'a [BitRate],
    /// The media time of a segment.
    pub segment: Duration,
    /// The most media that the client holds.
    pub buffer: Duration,
}

/// The state of a client that is about to request a segment.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The video.
    pub video: Video<'a>,
    /// Media in the buffer.
    pub buffer: Duration,
    /// The level of the segment before.
    pub previous: Option<usize>,
    /// The segments that have arrived, in order.
    pub downloads: &'a [Download],
    /// The sizes of the next segment, by level.
    pub sizes: &'a [Bytes],
}

/// A segment that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Download {
    /// The size of the segment.
    pub size: Bytes,
    /// From the writing of its request to its last byte.
    pub time: Duration,
}

impl Download {
    /// Returns the throughput of the segment in bit/s.
    pub fn bps(&self) -> f64 {
        self.size.bits() as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

impl Video<'_> {
    /// The highest level of at most `bps`; the lowest if all are higher.
    fn level_within(&self, bps: f64) -> usize {
        self.ladder.iter().rposition(|rate| rate.as_bps() as f64 <= bps).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Dash;

    proptest! {
        /// Every rule chooses from the ladder, in any situation; more buffer or throughput never lowers the level.
        #[test]
        fn a_level_of_the_ladder_which_rises_with_buffer_and_throughput(
            buffers in proptest::collection::vec(0u64..60_000, 2), kbps in proptest::collection::vec(1u64..20_000, 2),
            previous in proptest::option::of(0usize..6))
        {
            let dash = Dash::default();
            let sizes: Vec<Bytes> = dash.ladder.iter().map(|rate| Bytes::new(rate.as_bps() / 2)).collect();
            for kind in Adaptation::ALL {
                let rule: Adaptation = serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap();
                let level = |buffer: u64, kbps: u64| {
                    let download = Download { size: Bytes::new(125 * kbps), time: Duration::from_secs(1) };
                    let now = Situation {
                        video: dash.video(),
                        buffer: Duration::from_millis(buffer),
                        previous,
                        downloads: &[download],
                        sizes: &sizes,
                    };
                    rule.entry().choose(&now)
                };
                let (low, high) = (*buffers.iter().min().unwrap(), *buffers.iter().max().unwrap());
                let (slow, fast) = (*kbps.iter().min().unwrap(), *kbps.iter().max().unwrap());
                prop_assert!(level(high, fast) < dash.ladder.len(), "{}", kind);
                prop_assert!(level(low, slow) <= level(high, slow), "{}: {} and {} ms", kind, low, high);
                prop_assert!(level(low, slow) <= level(low, fast), "{}: {} and {} kbit/s", kind, slow, fast);
            }
        }
    }
}
