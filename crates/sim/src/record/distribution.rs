//! A quantile of many delays in little memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Delays in microseconds, of which percentiles from the 95th on are asked for: exact for the first 4096 up to an hour,
/// to three digits for more.
///
/// The first 512 are kept, and of the first 4096 the greatest, which those percentiles are among. Once there are more
/// than 512, or one longer than an hour, all are counted in a histogram, whose counters reach from the least to the
/// greatest delay only.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    kept: KeptDelays,
    /// The histogram's counters, empty while all delays are kept.
    counts: Vec<u32>,
    /// The class of the first counter.
    first: usize,
    total: u64,
    /// Delays below this are counted, and that is all.
    counted_only: u64,
}

/// The delays of a flow that are kept.
#[derive(Debug)]
enum KeptDelays {
    /// All: at most [`MOST_KEPT`], none of them [`LONG`].
    All(Vec<Reverse<u32>>),
    /// At most [`GREATEST`]: the greatest of the first [`FEW`], the least of them on top. All are counted, too.
    Greatest(BinaryHeap<Reverse<u32>>),
}

impl Default for KeptDelays {
    fn default() -> KeptDelays {
        KeptDelays::All(Vec::new())
    }
}

/// The number of delays up to which percentiles from the 95th on are exact.
const FEW: u64 = 4096;
/// The greatest of at most [`FEW`] delays, among which the 95th percentile is: FEW − ⌈0.95 FEW⌉ + 1.
const GREATEST: usize = 205;
/// The most delays in a list: they take about the memory of the greatest and of the counters.
const MOST_KEPT: usize = 512;
/// Delays of the same leading 11 bits are one class, as in an HDR histogram of three digits.
const DIGIT_BITS: u32 = 11;
const HALF: usize = 1 << (DIGIT_BITS - 1);
/// Stands for delays from here on, more than an hour: these are known to three digits.
const LONG: u32 = u32::MAX;
/// The histogram of delays grows by this many counters.
const STEP: usize = 16;

impl Distribution {
    /// Adds a delay.
    #[inline(never)]
    pub(crate) fn add(&mut self, micros: u64) {
        self.total += 1;
        if micros < self.counted_only {
            self.count(micros);
        } else if let KeptDelays::All(all) = &mut self.kept
            && all.len() < all.capacity()
            && micros < u64::from(LONG)
        {
            all.push(Reverse(micros as u32));
        } else {
            self.add_early(micros);
        }
    }

    /// Adds one of the first delays for which there is no room in a list, or which is too long for one: of these the
    /// greatest are kept, and one after them lets these go.
    #[inline(never)]
    fn add_early(&mut self, micros: u64) {
        match &mut self.kept {
            KeptDelays::All(all) => {
                if all.len() < MOST_KEPT && micros < u64::from(LONG) {
                    make_room(all);
                    return all.push(Reverse(micros as u32));
                }
                self.count_all();
                self.keep(micros);
            }
            KeptDelays::Greatest(_) => self.keep(micros),
        }
        self.count(micros);
    }

    /// From now on delays are counted.
    #[cold]
    fn count_all(&mut self) {
        if let KeptDelays::All(all) = &mut self.kept {
            let mut all = std::mem::take(all);
            all.iter().for_each(|&Reverse(micros)| self.count(u64::from(micros)));
            if all.len() > GREATEST {
                all.select_nth_unstable(GREATEST);
                all.truncate(GREATEST);
                all.shrink_to_fit();
            }
            self.kept = KeptDelays::Greatest(all.into());
        }
    }

    /// Keeps one of the first delays that is among the greatest, or lets all go after them.
    fn keep(&mut self, micros: u64) {
        let KeptDelays::Greatest(greatest) = &mut self.kept else { return };
        if self.total > FEW {
            *greatest = BinaryHeap::new();
            self.counted_only = u64::MAX;
            return;
        }
        let delay = Reverse(u32::try_from(micros).unwrap_or(LONG));
        if greatest.len() < GREATEST {
            greatest.push(delay);
        } else if let Some(mut least) = greatest.peek_mut()
            && delay < *least
        {
            *least = delay;
        }
        if greatest.len() == GREATEST
            && let Some(&Reverse(least)) = greatest.peek()
        {
            self.counted_only = u64::from(least) + 1;
        }
    }

    #[inline]
    fn count(&mut self, micros: u64) {
        let class = class_of(micros);
        match class.checked_sub(self.first).and_then(|index| self.counts.get_mut(index)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.count_outside(class),
        }
    }

    #[cold]
    fn count_outside(&mut self, class: usize) {
        if self.counts.is_empty() {
            self.first = class / STEP * STEP;
        } else if class < self.first {
            let first = class / STEP * STEP;
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        }
        let index = class - self.first;
        if index >= self.counts.len() {
            self.counts.resize(index / STEP * STEP + STEP, 0);
        }
        self.counts[index] += 1;
    }

    /// Returns the number of delays.
    pub(crate) fn len(&self) -> u64 {
        self.total
    }

    /// For each of `shares`, from 95 % on and rising, the smallest delay that this share of all do not exceed; of more
    /// than 4096 the greatest of its class.
    pub(crate) fn percentiles<const N: usize>(&self, shares: [f64; N]) -> [Option<u64>; N] {
        let kept = match &self.kept {
            KeptDelays::All(all) => all.as_slice(),
            KeptDelays::Greatest(greatest) => greatest.as_slice(),
        };
        let mut ordered = [Reverse(0); MOST_KEPT];
        // What is greater than the percentile before stands first.
        let mut first = &mut ordered[..kept.len()];
        first.copy_from_slice(kept);
        shares.map(|share| {
            let rank = ((share * self.total as f64).ceil() as u64).max(1);
            let greater = self.total.checked_sub(rank)? as usize;
            if self.total <= FEW {
                let exact = first.select_nth_unstable(greater).1.0;
                first = &mut std::mem::take(&mut first)[..=greater];
                if exact != LONG {
                    return Some(u64::from(exact));
                }
            }
            self.of_rank(rank)
        })
    }

    /// The greatest delay of the class of the smallest that this share of all do not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        self.of_rank(((share * self.total as f64).ceil() as u64).max(1))
    }

    fn of_rank(&self, rank: u64) -> Option<u64> {
        if let KeptDelays::All(all) = &self.kept
            && !all.is_empty()
        {
            let micros = select(all, all.len().checked_sub(rank as usize)?);
            return Some(greatest_of(class_of(micros.into())));
        }
        let mut counted = 0;
        let classes = self.counts.iter().zip(self.first..);
        let mut reached = classes.skip_while(|&(&count, _)| {
            counted += u64::from(count);
            counted < rank
        });
        reached.next().map(|(_, class)| greatest_of(class))
    }
}

/// Returns the delay of which so many of `delays`, at most [`MOST_KEPT`], are greater or come before it.
fn select(delays: &[Reverse<u32>], greater: usize) -> u32 {
    let mut ordered = [Reverse(0); MOST_KEPT];
    let ordered = &mut ordered[..delays.len()];
    ordered.copy_from_slice(delays);
    ordered.select_nth_unstable(greater).1.0
}

/// Room for more delays: for 4, 16, 128, and in the end for [`MOST_KEPT`].
#[cold]
fn make_room(all: &mut Vec<Reverse<u32>>) {
    let more = if all.len() < 16 { 4 * all.len().max(1) } else { (8 * all.len()).min(MOST_KEPT) };
    all.reserve_exact(more - all.len());
    assert!(all.capacity() <= MOST_KEPT, "room for as many as were asked for");
}

/// The class of a delay: its leading 11 bits and how many follow.
#[inline]
fn class_of(micros: u64) -> usize {
    let following = 64 - DIGIT_BITS - (micros | (2 * HALF as u64 - 1)).leading_zeros();
    following as usize * HALF + (micros >> following) as usize
}

/// The greatest delay of a class.
fn greatest_of(class: usize) -> u64 {
    let following = (class / HALF).saturating_sub(1);
    let leading = (class - following * HALF) as u64;
    (leading << following) + (1 << following) - 1
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    /// Returns the percentile, of 95 or more, by a sorted list, or by an HDR histogram where there are many delays.
    fn reference(delays: &[u64], share: f64) -> Option<u64> {
        if delays.len() as u64 <= FEW {
            let mut sorted = delays.to_vec();
            sorted.sort_unstable();
            let exact = sorted.get(((share * delays.len() as f64).ceil() as usize).max(1) - 1).copied();
            if exact.is_none_or(|micros| micros < u64::from(LONG)) {
                return exact;
            }
        }
        let mut histogram = Histogram::<u32>::new(3).unwrap();
        delays.iter().for_each(|&micros| histogram.record(micros).unwrap());
        Some(histogram.value_at_quantile(share))
    }

    fn delays() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..5000, 30_000u64..300_000, 30_000u64..300_000, 0u64..u64::MAX >> 20]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_a_list_and_of_an_hdr_histogram(
            delays in prop::collection::vec(delays(), 0..600), times in 1usize..20, rising in any::<bool>())
        {
            let mut all = delays.repeat(times);
            if rising {
                all.sort_unstable();
            }
            let mut distribution = Distribution::default();
            all.iter().for_each(|&micros| distribution.add(micros));
            prop_assert_eq!(distribution.len(), all.len() as u64);
            let shares = [0.95, 0.99];
            prop_assert_eq!(distribution.percentiles(shares), shares.map(|share| reference(&all, share)));
            // Of few and of many: the greatest of the class that the delay of this rank is in.
            all.sort_unstable();
            for share in [0.01, 0.5, 0.99] {
                let rank = ((share * all.len() as f64).ceil() as usize).max(1);
                let expected = all.get(rank - 1).map(|&micros| greatest_of(class_of(micros)));
                prop_assert_eq!(distribution.quantile(share), expected);
            }
        }
    }

    #[test]
    fn no_delays_have_no_percentile() {
        assert_eq!(
            (Distribution::default().percentiles([0.95])[0], Distribution::default().quantile(0.5)),
            (None, None)
        );
    }

    #[test]
    fn every_number_of_few_has_its_percentile() {
        let (mut distribution, mut all) = (Distribution::default(), Vec::new());
        let mut state = 7u64;
        for _ in 0..FEW + 100 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let micros = 80_000 + (state >> 40) % 200_000;
            all.push(micros);
            distribution.add(micros);
            if all.len() as u64 > FEW - 45 || all.len() % 13 == 0 {
                assert_eq!(distribution.percentiles([0.95]), [reference(&all, 0.95)], "of {}", all.len());
            }
        }
        assert!(matches!(distribution.kept, KeptDelays::Greatest(greatest) if greatest.is_empty()));
        assert!(distribution.counts.len() < 3000);
    }
}
