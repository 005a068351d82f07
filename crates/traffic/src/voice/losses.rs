//! The pattern of losses in a flow whose packets may arrive out of order.

use std::collections::BTreeSet;

/// The number of packets that may overtake a packet before it counts as lost.
const WINDOW: u64 = 1024;
const WORD: u64 = u64::BITS as u64;

/// Which of the last packets were played, and counts over those before, in constant memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossPattern {
    /// The first packet that may still be played.
    base: u64,
    /// One past the last packet of the call that is known.
    end: u64,
    /// One past the last packet that is known to be lost. Packets before it may be on the way: it ages none.
    lost_end: u64,
    /// Whether each packet from `base` on was played: the bit at its number modulo [`WINDOW`].
    played: [u64; (WINDOW / WORD) as usize],
    counts: LossCounts,
    /// Packets that are neither played nor lost; one before `base` counts as lost.
    in_flight: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LossCounts {
    packets: u64,
    lost: u64,
    /// Runs of lost packets.
    bursts: u64,
    in_burst: bool,
}

impl LossPattern {
    /// This packet is played. Returns false if it is too late: 1 024 packets have overtaken it.
    pub(crate) fn play(&mut self, sequence: u64) -> bool {
        self.pass(sequence);
        if sequence < self.base {
            return false;
        }
        let (word, bit) = word_and_bit(sequence);
        self.played[word] |= bit;
        true
    }

    /// This packet is lost.
    pub(crate) fn lose(&mut self, sequence: u64) {
        self.lost_end = self.lost_end.max(sequence + 1);
    }

    /// At the end of the run this packet of the call is in flight.
    pub(crate) fn leave_out(&mut self, sequence: u64) {
        self.in_flight.insert(sequence);
    }

    /// This packet was sent, and is lost unless it is played.
    pub(crate) fn pass(&mut self, sequence: u64) {
        self.end = self.end.max(sequence + 1);
        while self.end - self.base > WINDOW {
            let (word, bit) = word_and_bit(self.base);
            self.counts.add(self.played[word] & bit != 0);
            self.played[word] &= !bit;
            self.base += 1;
        }
    }

    /// Mean length of a burst of losses, over that of random loss of the same share, 1/(1 − share); 1 if nothing or all
    /// was lost.
    pub(crate) fn burst_ratio(&self) -> f64 {
        let mut counts = self.counts;
        let mut in_flight = self.in_flight.range(self.base..).peekable();
        for sequence in self.base..self.end.max(self.lost_end) {
            if in_flight.next_if_eq(&&sequence).is_some() {
                continue;
            }
            let (word, bit) = word_and_bit(sequence);
            counts.add(sequence < self.end && self.played[word] & bit != 0);
        }
        let LossCounts { packets, lost, bursts, .. } = counts;
        if lost == 0 || lost == packets {
            return 1.0;
        }
        let mean_burst = lost as f64 / bursts as f64;
        mean_burst * (packets - lost) as f64 / packets as f64
    }
}

impl LossCounts {
    fn add(&mut self, played: bool) {
        self.packets += 1;
        self.lost += u64::from(!played);
        self.bursts += u64::from(!played && !self.in_burst);
        self.in_burst = !played;
    }
}

fn word_and_bit(sequence: u64) -> (usize, u64) {
    let at = sequence % WINDOW;
    ((at / WORD) as usize, 1 << (at % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, over a complete record.
    fn reference(played: &[bool]) -> f64 {
        let lost = played.iter().filter(|played| !**played).count();
        if lost == 0 || lost == played.len() {
            return 1.0;
        }
        let bursts = played.chunk_by(|a, b| a == b).filter(|run| !run[0]).count();
        let share = lost as f64 / played.len() as f64;
        lost as f64 / bursts as f64 * (1.0 - share)
    }

    proptest! {
        #[test]
        fn counts_what_the_whole_record_gives(
            played in proptest::collection::vec(any::<bool>(), 1..5000),
            overtaking in 0usize..200,
        ) {
            let mut order: Vec<usize> = (0..played.len()).filter(|&i| played[i]).collect();
            // Each group arrives in reverse.
            order.chunks_mut(overtaking + 1).for_each(<[usize]>::reverse);
            let mut pattern = LossPattern::default();
            for i in order {
                prop_assert!(pattern.play(i as u64));
            }
            played.iter().enumerate().filter(|(_, played)| !**played).for_each(|(i, _)| pattern.lose(i as u64));
            prop_assert!((pattern.burst_ratio() - reference(&played)).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_in_flight_at_the_end_is_in_no_burst() {
        let mut pattern = LossPattern::default();
        assert!([0, 1, 6].iter().all(|&played| pattern.play(played)));
        (2..6).for_each(|sequence| pattern.leave_out(sequence));
        assert_eq!(pattern.burst_ratio(), 1.0);
        assert!(pattern.play(9));
        pattern.leave_out(8);
        // 7 is lost, of five packets.
        assert_eq!(pattern.burst_ratio(), 4.0 / 5.0);
    }

    /// A full queue drops what comes while older packets wait in it.
    #[test]
    fn a_loss_overtakes_nothing() {
        let mut pattern = LossPattern::default();
        (1..3000).for_each(|sequence| pattern.lose(sequence));
        assert!(pattern.play(0));
        assert!((pattern.burst_ratio() - 2999.0 / 3000.0).abs() < 1e-12, "one burst of 2,999 of 3,000");
    }

    #[test]
    fn a_packet_that_a_thousand_overtook_is_lost() {
        let mut pattern = LossPattern::default();
        assert!(pattern.play(WINDOW + 4));
        assert!(!pattern.play(4) && pattern.play(5));
    }

    #[test]
    fn random_losses_have_burst_ratio_one_and_those_of_two_states_the_published_one() {
        use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
        use units::chance::unit_interval;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        // G.107: 1/(p + q) for a Markov chain with probability p from found to lost and q from lost to found.
        for (p, q) in [(0.1, 0.9), (0.05, 0.2), (0.02, 0.3)] {
            let (mut pattern, mut lost) = (LossPattern::default(), false);
            for i in 0..400_000 {
                lost = if lost { unit_interval(rng.next_u64()) >= q } else { unit_interval(rng.next_u64()) < p };
                if !lost {
                    pattern.play(i);
                }
            }
            let (ratio, expected) = (pattern.burst_ratio(), 1.0 / (p + q));
            assert!((ratio / expected - 1.0).abs() < 0.02, "p {p}, q {q}: {ratio} for {expected}");
        }
    }
}
