//! The timeslots of a frame in which a terminal is sending.

/// Which timeslots (columns of the frame) a terminal already uses. Those of random and dedicated access are in the same
/// set: the terminal has one amplifier.
#[derive(Clone, Debug)]
pub struct Columns {
    /// All columns (timeslots) of the frame, those that are free first.
    columns: Box<[u32]>,
    free: u32,
    /// The index of each column in `columns`, where that is known.
    index_of: Box<[u32]>,
    is_indexed: bool,
}

/// The free columns, to be drawn from.
pub(super) struct FreeColumns<'a>(&'a mut [u32]);

impl Columns {
    /// All columns of a frame with `timeslots` (N_S), free.
    pub fn new(timeslots: u32) -> Columns {
        let columns: Box<[u32]> = (0..timeslots).collect();
        Columns { index_of: columns.clone(), columns, free: timeslots, is_indexed: true }
    }

    /// Frees all columns of the terminal, for the next frame.
    pub fn clear(&mut self) {
        self.free = self.timeslots();
    }

    /// The number of columns.
    pub fn timeslots(&self) -> u32 {
        self.columns.len() as u32
    }

    /// The number of columns that are free.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Whether a column, from 0, is free.
    pub fn is_free(&self, column: u32) -> bool {
        match self.is_indexed {
            true => self.index_of[column as usize] < self.free,
            false => self.columns[..self.free as usize].contains(&column),
        }
    }

    /// Takes a column. Returns whether it was free.
    #[inline]
    pub fn take(&mut self, column: u32) -> bool {
        if !self.is_indexed {
            self.index();
        }
        let index = self.index_of[column as usize];
        if index >= self.free {
            return false;
        }
        self.with_free(|mut free| {
            free.take(index as usize);
            free
        });
        let moved = self.columns[index as usize];
        (self.index_of[moved as usize], self.index_of[column as usize]) = (index, self.free);
        true
    }

    #[cold]
    fn index(&mut self) {
        for (index, &column) in (0..).zip(&self.columns) {
            self.index_of[column as usize] = index;
        }
        self.is_indexed = true;
    }

    /// Calls `draw` with the free columns, which returns those that it has not taken.
    #[inline(always)]
    pub(super) fn draw(&mut self, draw: impl for<'a> FnOnce(FreeColumns<'a>) -> FreeColumns<'a>) {
        self.is_indexed = false;
        self.with_free(draw);
    }

    #[inline(always)]
    fn with_free(&mut self, draw: impl for<'a> FnOnce(FreeColumns<'a>) -> FreeColumns<'a>) {
        self.free = draw(FreeColumns(&mut self.columns[..self.free as usize])).0.len() as u32;
    }

    /// How many of `columns` (at most all) from `first` are free, continuing with the first column after the last.
    pub(super) fn free_among(&self, first: u32, columns: u32) -> u32 {
        let timeslots = self.timeslots();
        let among = (first..timeslots).chain(0..first).take(columns as usize);
        among.filter(|&column| self.is_free(column)).count() as u32
    }
}

impl FreeColumns<'_> {
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// One of the free columns, counted from 0 in no order.
    #[inline(always)]
    pub(super) fn column(&self, index: usize) -> u32 {
        self.0[index]
    }

    /// Takes the free column with this index.
    #[inline(always)]
    pub(super) fn take(&mut self, index: usize) {
        let last = self.0.len() - 1;
        self.0.swap(index, last);
        self.0 = &mut std::mem::take(&mut self.0)[..last];
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
        assert!((0..40).all(|column| columns.is_free(column)) && columns.free() == 40);
    }

    proptest! {
        #[test]
        fn free_columns_are_those_that_were_not_taken(
            size in 1u32..200, taken in prop::collection::vec((0u32..200, any::<bool>()), 0..100), first in 0u32..200,
            span in 0u32..250,
        ) {
            let mut columns = Columns::new(size);
            let mut plain = vec![true; size as usize];
            for (column, is_drawn) in taken {
                if is_drawn && columns.free() > 0 {
                    let index = (column % columns.free()) as usize;
                    columns.draw(|mut free| {
                        plain[free.column(index) as usize] = false;
                        free.take(index);
                        free
                    });
                } else {
                    let column = column % size;
                    prop_assert_eq!(columns.take(column), plain[column as usize]);
                    plain[column as usize] = false;
                }
            }
            prop_assert_eq!(columns.free() as usize, plain.iter().filter(|&&free| free).count());
            let first = first % size;
            let expected = (0..span.min(size)).filter(|i| plain[((first + i) % size) as usize]).count();
            prop_assert_eq!(columns.free_among(first, span) as usize, expected);
        }
    }
}
