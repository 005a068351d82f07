//! The timeslots of a frame in which a terminal is sending.

/// Which timeslots (columns of the frame) a terminal already uses. Those of random and dedicated access are in the same
/// set: the terminal has one amplifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// A bit for each of the first 64 columns, set if it is taken: few frames have more.
    taken: u64,
    /// The same for the others.
    taken_beyond: Box<[u64]>,
    columns: u32,
    free: u32,
}

impl Columns {
    /// All columns of a frame with `timeslots` (N_S), free.
    pub fn new(timeslots: u32) -> Columns {
        let beyond = timeslots.saturating_sub(u64::BITS).div_ceil(u64::BITS) as usize;
        let taken_beyond = vec![0; beyond].into_boxed_slice();
        Columns { taken: 0, taken_beyond, columns: timeslots, free: timeslots }
    }

    /// Frees all columns, for the next frame.
    pub fn clear(&mut self) {
        self.taken = 0;
        self.taken_beyond.fill(0);
        self.free = self.columns;
    }

    /// The number of columns.
    pub fn timeslots(&self) -> u32 {
        self.columns
    }

    /// The number of columns that are free.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether a column, from 0, is free.
    pub fn is_free(&self, column: u32) -> bool {
        self.word(column / u64::BITS) >> (column % u64::BITS) & 1 == 0
    }

    /// Takes a column; false if it was taken already.
    #[inline]
    pub fn take(&mut self, column: u32) -> bool {
        debug_assert!(column < self.columns, "column {column} of {}", self.columns);
        let word = if column < u64::BITS { &mut self.taken } else { self.word_beyond_mut(column) };
        let bit = 1 << (column % u64::BITS);
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.free -= 1;
        true
    }

    /// The columns that are taken, a bit for each, if one word has them all.
    #[inline]
    pub(super) fn taken(&self) -> Option<u64> {
        (self.columns <= u64::BITS).then_some(self.taken)
    }

    /// Takes columns more: `taken` are those that are taken then, where [`Columns::taken`] has them all.
    #[inline]
    pub(super) fn take_all(&mut self, taken: u64, more: u32) {
        self.taken = taken;
        self.free -= more;
    }

    #[cold]
    fn word_beyond_mut(&mut self, column: u32) -> &mut u64 {
        &mut self.taken_beyond[(column / u64::BITS) as usize - 1]
    }

    fn word(&self, number: u32) -> u64 {
        if number == 0 { self.taken } else { self.taken_beyond[number as usize - 1] }
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
            let word = self.word(column / 64) >> (column % 64);
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
        }
    }
}
