//! A queue in a ring whose size is a power of two, so that a place in it is found without a comparison.

use std::ops::{Index, IndexMut};

/// A queue that grows at its end and shrinks at its front. [`std::collections::VecDeque`] is the general one; this one
/// takes 8 bytes less and holds at most 2^31 items, which can be copied.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The items from `first` on, around the end; the other places hold anything.
    places: Box<[T]>,
    first: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Box::default(), first: 0, len: 0 }
    }
}

impl<T: Copy> Index<usize> for Ring<T> {
    type Output = T;

    /// The item at `index`, counted from the front.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        assert!(index < self.len as usize, "no item {index} of {}", self.len);
        &self.places[self.place(index)]
    }
}

impl<T: Copy> IndexMut<usize> for Ring<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        assert!(index < self.len as usize, "no item {index} of {}", self.len);
        let place = self.place(index);
        &mut self.places[place]
    }
}

impl<T: Copy> Ring<T> {
    /// How many items there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no item.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an item.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        if self.len as usize == self.places.len() {
            self.grow(item);
        }
        let place = self.place(self.len as usize);
        self.places[place] = item;
        self.len += 1;
    }

    /// Removes and returns the first item.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        (self.len > 0).then(|| self.take_first())
    }

    /// Removes and returns the first item, of which there is one.
    #[inline(always)]
    pub fn take_first(&mut self) -> T {
        let first = self.first();
        self.drop_first();
        first
    }

    /// Removes the first item, of which there is one.
    #[inline(always)]
    pub fn drop_first(&mut self) {
        debug_assert!(!self.is_empty(), "a queue has a first item");
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
    }

    /// The first item, of which there is one.
    #[inline(always)]
    pub fn first(&self) -> T {
        debug_assert!(!self.is_empty(), "a queue has a first item");
        self.places[self.place(0)]
    }

    /// Removes the first item, of which there is one, and appends another.
    #[inline(always)]
    pub fn rotate(&mut self, item: T) {
        debug_assert!(!self.is_empty(), "a queue that rotates has an item");
        let place = self.place(self.len as usize); // the first item's, if all are taken
        self.places[place] = item;
        self.first = self.first.wrapping_add(1);
    }

    /// The first item.
    #[inline(always)]
    pub fn front(&self) -> Option<T> {
        (self.len > 0).then(|| self.first())
    }

    /// The first item, where it stands.
    #[inline(always)]
    pub fn front_ref(&self) -> Option<&T> {
        (self.len > 0).then(|| &self.places[self.place(0)])
    }

    /// The last item.
    #[inline(always)]
    pub fn back(&self) -> Option<T> {
        (self.len > 0).then(|| self.places[self.place(self.len as usize - 1)])
    }

    /// The item at `index`, counted from the front.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<T> {
        (index < self.len as usize).then(|| self.places[self.place(index)])
    }

    /// Inserts an item at `index`, counted from the front.
    ///
    /// # Panics
    /// If `index` is above the number of items.
    pub fn insert(&mut self, index: usize, item: T) {
        assert!(index <= self.len(), "no place {index} among {} items", self.len());
        self.push_back(item);
        let (place, last) = (self.place(index), self.place(self.len() - 1));
        if place <= last {
            self.places.copy_within(place..last, place + 1);
        } else {
            // Around the end.
            let end = self.places.len() - 1;
            self.places.copy_within(..last, 1);
            self.places[0] = self.places[end];
            self.places.copy_within(place..end, place + 1);
        }
        self.places[place] = item;
    }

    /// The index of the first item for which `before` does not hold: it holds for those before, and for none after.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self[middle]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        (0..self.len()).map(|index| self.places[self.place(index)])
    }

    /// Removes all items and frees their memory.
    pub fn clear(&mut self) {
        *self = Ring::default();
    }

    #[inline(always)]
    fn place(&self, index: usize) -> usize {
        (self.first as usize).wrapping_add(index) & self.places.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let size = (2 * self.len()).max(1);
        let mut places = Vec::with_capacity(size);
        places.extend(self.iter());
        places.resize(size, filler);
        (self.places, self.first) = (places.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u8),
        Pop,
        Rotate(u8),
        Insert(usize, u8),
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => any::<u8>().prop_map(Step::Push),
            7 => Just(Step::Pop),
            4 => any::<u8>().prop_map(Step::Rotate),
            2 => (any::<usize>(), any::<u8>()).prop_map(|(index, item)| Step::Insert(index, item)),
            1 => Just(Step::Clear),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        #[test]
        fn does_as_the_general_queue(steps in steps(), first in any::<u32>()) {
            let (mut ring, mut queue) = (Ring { places: Box::new([0; 4]), first, len: 0 }, VecDeque::new());
            for step in steps {
                match step {
                    Step::Push(item) => {
                        ring.push_back(item);
                        queue.push_back(item);
                    }
                    Step::Pop => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                    Step::Rotate(item) => {
                        if queue.pop_front().is_some() {
                            queue.push_back(item);
                            ring.rotate(item);
                        }
                    }
                    Step::Insert(index, item) => {
                        let index = index % (queue.len() + 1);
                        ring.insert(index, item);
                        queue.insert(index, item);
                    }
                    Step::Clear => {
                        ring.clear();
                        queue.clear();
                    }
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
                prop_assert_eq!((ring.front(), ring.back()), (queue.front().copied(), queue.back().copied()));
                prop_assert_eq!(ring.get(3), queue.get(3).copied());
                prop_assert_eq!(ring.front_ref(), queue.front());
                if let Some(last) = queue.len().checked_sub(1) {
                    ring[last] ^= 1;
                    queue[last] ^= 1;
                    prop_assert_eq!(ring[last], queue[last]);
                }
                prop_assert!(ring.iter().eq(queue.iter().copied()));
            }
        }
    }

    #[test]
    fn takes_less_than_the_general_queue() {
        assert_eq!((size_of::<Ring<u64>>(), size_of::<VecDeque<u64>>()), (24, 32));
    }
}
