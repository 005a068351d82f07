//! The timeslots of a frame in which a terminal is sending.

/// Which timeslots (columns of the frame) a terminal already uses. Those of random and dedicated access are in the same set:
/// the terminal has one amplifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// A bit for each column, set if it is taken.
    taken: Box<[u64]>,
    columns: u32,
    free: u32,
}

impl Columns {
    /// All columns of a frame with `timeslots` (N_S), free.
    pub fn new(timeslots: u32) -> Columns {
        let words = timeslots.div_ceil(64) as usize;
        Columns { taken: vec![0; words].into_boxed_slice(), columns: timeslots, free: timeslots }
    }

    /// Frees all columns, for the next frame.
    pub fn clear(&mut self) {
        self.taken.fill(0);
        self.free = self.columns;
    }

    /// The number of columns.
    pub fn timeslots(&self) -> u32 {
        self.columns
    }

    /// The number of columns that are free.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether a column, from 0, is free.
    pub fn is_free(&self, column: u32) -> bool {
        self.taken[(column / 64) as usize] >> (column % 64) & 1 == 0
    }

    /// Takes a column; false if it was taken already.
    #[inline]
    pub fn take(&mut self, column: u32) -> bool {
        debug_assert!(column < self.columns, "column {column} of {}", self.columns);
        let (word, bit) = (&mut self.taken[(column / 64) as usize], 1 << (column % 64));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.free -= 1;
        true
    }

    /// Takes the columns of `slots` consecutive slots, numbered carrier by carrier, from `first_slot`; false, and nothing
    /// changes, if there is no room: one is taken already, or there are more slots than columns.
    pub fn take_span(&mut self, first_slot: u32, slots: u32) -> bool {
        let first = first_slot % self.columns;
        if slots > self.columns || self.free_among(first, slots) < slots {
            return false;
        }
        for slot in 0..slots {
            self.take((first + slot) % self.columns);
        }
        true
    }

    /// How many of `columns` (at most all) from `first` are free, continuing with the first column after the last.
    pub(super) fn free_among(&self, first: u32, columns: u32) -> u32 {
        if columns >= self.columns {
            return self.free;
        }
        let end = first + columns;
        if end <= self.columns {
            self.free_between(first, end)
        } else {
            self.free_between(first, self.columns) + self.free_between(0, end - self.columns)
        }
    }

    fn free_between(&self, first: u32, end: u32) -> u32 {
        let mut taken = 0;
        let mut column = first;
        while column < end {
            let next = ((column / 64 + 1) * 64).min(end);
            let word = self.taken[(column / 64) as usize] >> (column % 64);
            let mask = u64::MAX >> (64 - (next - column));
            taken += (word & mask).count_ones();
            column = next;
        }
        end - first - taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_column_is_taken_once() {
        let mut columns = Columns::new(40);
        assert!(columns.take(7) && !columns.take(7) && columns.take(8));
        assert_eq!((columns.free(), columns.is_free(7), columns.is_free(9)), (38, false, true));
        columns.clear();
        assert_eq!(columns, Columns::new(40));
    }

    #[test]
    fn spans_go_on_with_the_next_carrier_or_not_at_all() {
        let mut columns = Columns::new(40);
        assert!(columns.take_span(3 * 40 + 38, 4));
        assert_eq!(
            [37, 38, 39, 0, 1, 2].map(|column| columns.is_free(column)),
            [true, false, false, false, false, true]
        );
        let before = columns.clone();
        assert!(!columns.take_span(30, 9) && !columns.take_span(0, 41));
        assert_eq!(columns, before);
        assert!(columns.take_span(2, 36) && columns.free() == 0);
        assert!(columns.take_span(5, 0) && !columns.take_span(5, 1));
    }

    proptest! {
        #[test]
        fn free_columns_are_those_that_were_not_taken(
            size in 1u32..200, taken in prop::collection::vec(0u32..200, 0..100), first in 0u32..200, span in 0u32..250,
        ) {
            let mut columns = Columns::new(size);
            let mut plain = vec![true; size as usize];
            for column in taken.into_iter().map(|column| column % size) {
                prop_assert_eq!(columns.take(column), plain[column as usize]);
                plain[column as usize] = false;
            }
            prop_assert_eq!(columns.free() as usize, plain.iter().filter(|&&free| free).count());
            let first = first % size;
            let expected = (0..span.min(size)).filter(|i| plain[((first + i) % size) as usize]).count();
            prop_assert_eq!(columns.free_among(first, span) as usize, expected);
            let fits = span <= size && expected == span as usize;
            prop_assert_eq!(columns.take_span(first, span), fits);
            let left = plain.iter().filter(|&&free| free).count() - if fits { span as usize } else { 0 };
            prop_assert_eq!(columns.free() as usize, left);
        }
    }
}
