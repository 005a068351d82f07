//! A scheme of random access, resolved.

use channel::qpsk;
use rand::Rng;
use units::Db;
use units::chance::unit_interval;

use super::burst_count::{BurstCount, Repetition};
use super::plr_table::PlrTable;

/// A scheme with checked parameters and its files read.
#[derive(Clone, Debug)]
pub struct Scheme {
    pub(super) payload_bits: u32,
    pub(super) degrees: Degrees,
    pub(super) decoding: Decoding,
}

impl Scheme {
    pub(super) fn new(payload_bits: u32, bursts: &BurstCount, decoding: Decoding) -> Scheme {
        let degrees = match bursts {
            BurstCount::Fixed(bursts) => Degrees::Fixed(*bursts),
            BurstCount::Drawn(distribution) => Degrees::distributed(distribution),
        };
        Scheme { payload_bits, degrees, decoding }
    }

    /// Useful bits of a packet.
    pub fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    /// Mean bursts of a packet.
    pub fn mean_bursts(&self) -> f64 {
        match &self.degrees {
            Degrees::Fixed(bursts) => f64::from(*bursts),
            Degrees::Drawn(choices) => {
                let mut below = 0.0;
                choices
                    .iter()
                    .map(|&(bursts, upto)| f64::from(bursts) * (upto - std::mem::replace(&mut below, upto)))
                    .sum()
            }
        }
    }

    /// Whether a packet of median power is decoded without interference. If not, nearly all packets are lost.
    pub fn decodes_without_interference(&self) -> bool {
        match &self.decoding {
            Decoding::Receiver(receiver) => qpsk::mutual_information(receiver.es_n0) >= receiver.required,
            Decoding::Table(table) => table.plr(1) < 1.0,
        }
    }
}

/// The number of bursts of a packet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Degrees {
    Fixed(u32),
    /// Numbers of bursts, each with its cumulative probability.
    Drawn(Vec<(u32, f64)>),
}

impl Degrees {
    /// From numbers of bursts and their probabilities, whose sum is about 1.
    fn distributed(distribution: &[Repetition]) -> Degrees {
        let sum: f64 = distribution.iter().map(|choice| choice.probability).sum();
        let mut upto = 0.0;
        let mut choices: Vec<(u32, f64)> = distribution
            .iter()
            .filter(|choice| choice.probability > 0.0)
            .map(|choice| {
                upto += choice.probability / sum;
                (choice.replicas, upto)
            })
            .collect();
        if let Some(last) = choices.last_mut() {
            last.1 = 1.0;
        }
        Degrees::Drawn(choices)
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> u32 {
        match self {
            Degrees::Fixed(bursts) => *bursts,
            Degrees::Drawn(choices) => {
                let u = unit_interval(rng.next_u64());
                choices.iter().find(|&&(_, upto)| u < upto).expect("the last one is 1").0
            }
        }
    }
}

/// How it is found which packets arrive.
#[derive(Clone, Debug)]
pub enum Decoding {
    /// By a receiver.
    Receiver(Receiver),
    /// By a curve of packet loss.
    Table(PlrTable),
}

/// The receiver that the module describes.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    pub(super) es_n0: Db,
    /// Standard deviation of the packets' power.
    pub(super) power_spread: Db,
    /// Mutual information per coded bit that a packet needs, 0 to 1.
    pub(super) required: f64,
    /// Whether the mean over its bursts must reach it, and not the best burst.
    pub(super) joint: bool,
    pub(super) iterations: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn degrees_follow_their_distribution() {
        let choices = [(2, 0.5), (5, 0.0), (3, 0.28), (8, 0.22)];
        let degrees =
            Degrees::distributed(&choices.map(|(replicas, probability)| Repetition { replicas, probability }));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0u32; 9];
        const N: u32 = 100_000;
        (0..N).for_each(|_| counts[degrees.draw(&mut rng) as usize] += 1);
        for (bursts, probability) in choices.map(|(bursts, probability)| (bursts as usize, probability)) {
            let expected = f64::from(N) * probability;
            let deviation = (expected * (1.0 - probability)).sqrt();
            assert!((f64::from(counts[bursts]) - expected).abs() <= 4.0 * deviation, "{bursts}: {}", counts[bursts]);
        }
    }
}
