//! The sizes of adaptive HARQ's transmissions, in coded bits.
//!
//! The sizes are fixed before the first burst, from the law of the channel at the reference signal-to-noise ratio, such
//! that the shares of packets decoded after transmissions 1, 2 … are the configured targets. The joint law is used,
//! because the gains of a packet's transmissions are correlated.

use std::borrow::Cow;
use std::cmp::Ordering;

use channel::TransmissionLaw;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Rounding of sums that must not turn a decoded packet into a lost one, in bits.
const TOLERANCE: f64 = 1e-6;

/// A code block: data bits, coded bits, and the decoding threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Data bits, padding included.
    pub data_bits: u32,
    /// All coded bits; no bit is sent twice.
    pub coded_bits: u32,
    /// The mutual information needed to decode.
    pub threshold: Threshold,
}

/// The mutual information per data bit at which a block is decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The code's threshold, which depends on the rate: [`channel::code::threshold`].
    Code,
    /// A constant at every rate, in bits per data bit; an ideal code needs 1.
    Constant(f64),
}

impl Block {
    /// The mutual information, in bits, at which the block is decoded when `sent` coded bits were sent.
    pub fn needed(&self, sent: f64) -> f64 {
        let data = f64::from(self.data_bits);
        match self.threshold {
            Threshold::Constant(threshold) => threshold * data,
            Threshold::Code => channel::code::threshold((data / sent.max(1.0)).min(1.0)) * data,
        }
    }

    /// Whether `sent` coded bits with `information` bits of mutual information decode the block.
    pub fn decodes(&self, sent: f64, information: f64) -> bool {
        information + TOLERANCE >= self.needed(sent)
    }

    /// The number of coded bits to add, each with `per_bit` (0 to 1) of mutual information, until the block is decoded
    /// after `sent` bits with `information`; infinite if no number suffices.
    ///
    /// The code's threshold is a straight line in the rate, `a - b·K/N`. With N bits in all, `d = information - sent·c`
    /// and `c = per_bit`, decoding starts where `d + c·N = (a - b·K/N)·K`: a quadratic in N, whose larger root is the
    /// answer, for the left side minus the right is convex in N and negative at `sent`. Where N < K the rate counts as
    /// 1 and the equation is linear.
    pub fn missing(&self, sent: f64, information: f64, per_bit: f64) -> f64 {
        if self.decodes(sent, information) {
            return 0.0;
        }
        if per_bit <= 0.0 {
            return f64::INFINITY;
        }
        let data = f64::from(self.data_bits);
        let offset = information - sent * per_bit;
        let (at_rate_0, at_rate_1) = match self.threshold {
            Threshold::Constant(threshold) => return (threshold * data - information) / per_bit,
            Threshold::Code => (channel::code::threshold(0.0), channel::code::threshold(1.0)),
        };
        let linear = (at_rate_1 * data - offset) / per_bit;
        if sent < data && linear <= data {
            return linear - sent;
        }
        let half = 0.5 * (at_rate_0 * data - offset) / per_bit;
        let product = (at_rate_0 - at_rate_1) * data * data / per_bit;
        half + (half * half - product).max(0.0).sqrt() - sent
    }
}

/// The coded bits of each transmission.
///
/// Transmission i gets the `targets[i]`-quantile of the bits that packets still need after the transmissions before it;
/// the last, beyond the targets, gets the rest. If all the rest of the codeword would not reach a target, the rest is
/// divided evenly among the transmissions left. A transmission without bits (its target is met before) is left out, so
/// there may be fewer than `targets` and the last.
///
/// # Panics
/// If the law is empty or has fewer transmissions than `targets`.
pub fn transmission_sizes(block: &Block, targets: &[f64], law: &TransmissionLaw) -> Vec<u32> {
    assert!(targets.len() <= law.transmissions && law.samples.len() >= law.transmissions);
    let rows = law.samples.chunks_exact(law.transmissions);
    let Some((&first, others)) = targets.split_first() else { return vec![block.coded_bits] };
    let mut rest = Rest { bits: block.coded_bits, transmissions: targets.len() as u32 + 1 };
    // The bits that packets miss at first are in the reverse order of the information that a bit brings, so they are
    // computed at the quantile only.
    let mut information: Vec<f32> = rows.clone().map(|row| row[0]).collect();
    let missing_at_first = |per_bit| block.missing(0.0, 0.0, f64::from(per_bit));
    let mut sizes = vec![rest.take(quantile(&mut information, 0, first, |a, b| b.total_cmp(a), missing_at_first))];
    // The packets that are not decoded yet: their rows, and the information received.
    let packets = rows.len();
    let mut undecoded: Vec<(&[f32], f64)> = rows.map(|row| (row, 0.0)).collect();
    for (before, &target) in others.iter().enumerate() {
        let (size, sent) = (f64::from(sizes[before]), f64::from(block.coded_bits - rest.bits));
        undecoded.retain_mut(|(row, received)| {
            *received += size * f64::from(row[before]);
            !block.decodes(sent, *received)
        });
        let missing = |(row, received): &(&[f32], f64)| block.missing(sent, *received, f64::from(row[before + 1]));
        let mut missing: Vec<f64> = undecoded.iter().map(missing).collect();
        let decoded = packets - missing.len();
        sizes.push(rest.take(quantile(&mut missing, decoded, target, f64::total_cmp, |missing| missing)));
    }
    sizes.push(rest.bits);
    sizes.retain(|&size| size > 0);
    sizes
}

/// The coded bits that are not sent, and the transmissions left for them.
struct Rest {
    bits: u32,
    transmissions: u32,
}

impl Rest {
    /// The bits of the next transmission, which wants so many.
    fn take(&mut self, wanted: f64) -> u32 {
        let wanted = wanted.ceil();
        let share = self.bits.div_ceil(self.transmissions);
        let size = if wanted > f64::from(self.bits) { share } else { wanted as u32 };
        self.bits -= size;
        self.transmissions -= 1;
        size
    }
}

/// The quantile between order statistics, linear: definition 7 of Hyndman and Fan (1996). `zeros` of the numbers are 0;
/// the others are `number` of each value, at least 0, and grow in the `order` of the values. Reorders `values`.
fn quantile<T: Copy>(
    values: &mut [T],
    zeros: usize,
    share: f64,
    order: impl Fn(&T, &T) -> Ordering + Copy,
    number: impl Fn(T) -> f64,
) -> f64 {
    let position = share * (zeros + values.len() - 1) as f64;
    let (low, above) = match (position as usize).checked_sub(zeros) {
        Some(index) => {
            let (_, &mut low, above) = values.select_nth_unstable_by(index, order);
            (number(low), above)
        }
        None if position as usize + 1 < zeros => return 0.0,
        None => (0.0, values),
    };
    let high = above.iter().copied().min_by(order).map_or(low, number);
    debug_assert!(0.0 <= low && low <= high, "{low} and {high}");
    let part = position.fract();
    if part == 0.0 || high == low { low } else { low + part * (high - low) }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Threshold::Code => serializer.serialize_str("code"),
            Threshold::Constant(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Threshold, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum GivenThreshold {
            Number(f64),
            Text(String),
        }
        let allowed = "write \"code\" or the mutual information per data bit, a number such as 1.05";
        match GivenThreshold::deserialize(deserializer).map_err(|_| D::Error::custom(allowed))? {
            GivenThreshold::Number(value) => Ok(Threshold::Constant(value)),
            GivenThreshold::Text(text) if text == "code" => Ok(Threshold::Code),
            GivenThreshold::Text(text) => {
                Err(D::Error::custom(format!("\"{text}\" is not a decoding threshold: {allowed}")))
            }
        }
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> Cow<'static, str> {
        "Threshold".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "code" }, { "type": "number", "minimum": 1, "maximum": 6 }] })
    }
}
