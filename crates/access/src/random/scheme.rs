//! A scheme of random access, resolved.

use channel::qpsk;
use rand::Rng;
use units::Db;
use units::chance::unit_interval;

use super::plr_table::PlrTable;
use super::replica_count::{Repetition, ReplicaCount};

/// A scheme with checked parameters and its files read.
#[derive(Clone, Debug)]
pub struct Scheme {
    pub(super) payload_bits: u32,
    pub(super) replicas: ReplicaLaw,
    pub(super) decoding: Decoding,
}

impl Scheme {
    pub(super) fn new(payload_bits: u32, replicas: &ReplicaCount, decoding: Decoding) -> Scheme {
        let replicas = match replicas {
            ReplicaCount::Fixed(replicas) => ReplicaLaw::Fixed(*replicas),
            ReplicaCount::Drawn(distribution) => ReplicaLaw::distributed(distribution),
        };
        Scheme { payload_bits, replicas, decoding }
    }

    /// Useful bits of a packet.
    pub fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    /// Mean replicas of a packet.
    pub fn mean_replicas(&self) -> f64 {
        match &self.replicas {
            ReplicaLaw::Fixed(replicas) => f64::from(*replicas),
            ReplicaLaw::Drawn(choices) => {
                let mut below = 0.0;
                choices
                    .iter()
                    .map(|&(replicas, upto)| f64::from(replicas) * (upto - std::mem::replace(&mut below, upto)))
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

/// The number of replicas of a packet, as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReplicaLaw {
    Fixed(u32),
    /// Numbers of replicas, each with its cumulative probability.
    Drawn(Vec<(u32, f64)>),
}

impl ReplicaLaw {
    /// From numbers of replicas and their probabilities, whose sum is about 1.
    fn distributed(distribution: &[Repetition]) -> ReplicaLaw {
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
        ReplicaLaw::Drawn(choices)
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> u32 {
        match self {
            ReplicaLaw::Fixed(replicas) => *replicas,
            ReplicaLaw::Drawn(choices) => {
                let u = unit_interval(rng.next_u64());
                choices.iter().find(|&&(_, upto)| u < upto).expect("the last one is 1").0
            }
        }
    }
}

/// How a scheme of random access finds which packets arrive.
#[derive(Clone, Debug)]
pub enum Decoding {
    /// By a receiver.
    Receiver(Receiver),
    /// By a curve of packet loss.
    Table(PlrTable),
}

/// The receiver of random access that the module describes.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    pub(super) es_n0: Db,
    /// Standard deviation of the packets' power.
    pub(super) power_spread: Db,
    /// Mutual information per coded bit that a packet needs, 0 to 1.
    pub(super) required: f64,
    /// Whether the mean over its replicas must reach it, and not the best replica.
    pub(super) joint: bool,
    pub(super) iterations: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn replicas_follow_their_distribution() {
        let choices = [(2, 0.5), (5, 0.0), (3, 0.28), (8, 0.22)];
        let law = ReplicaLaw::distributed(&choices.map(|(replicas, probability)| Repetition { replicas, probability }));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0u32; 9];
        const N: u32 = 100_000;
        (0..N).for_each(|_| counts[law.draw(&mut rng) as usize] += 1);
        for (replicas, probability) in choices.map(|(replicas, probability)| (replicas as usize, probability)) {
            let expected = f64::from(N) * probability;
            let deviation = (expected * (1.0 - probability)).sqrt();
            assert!(
                (f64::from(counts[replicas]) - expected).abs() <= 4.0 * deviation,
                "{replicas}: {}",
                counts[replicas]
            );
        }
    }
}
