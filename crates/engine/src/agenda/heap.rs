//! A heap of entries with four children to a node, which lie in one line of a processor's cache.

use super::entry::{Entry, NEVER};

/// Children of a node.
const ARITY: usize = 4;
/// The place of the root: the children of a node at `place` are group `place - 2`, and all of them begin a line.
const ROOT: usize = ARITY - 1;

/// Entries of which the least is known.
#[derive(Debug)]
pub(super) struct Heap {
    /// The places before the root and after the last entry hold [`NEVER`].
    groups: Vec<Group>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Entry; ARITY]);

const EMPTY: Group = Group([NEVER; ARITY]);

impl Default for Heap {
    fn default() -> Heap {
        Heap { groups: vec![EMPTY], len: 0 }
    }
}

impl Heap {
    /// A heap of entries that are in order.
    pub(super) fn of_sorted(entries: &[Entry]) -> Heap {
        let mut heap = Heap { groups: vec![EMPTY; (ROOT + entries.len()) / ARITY + 1], len: entries.len() };
        for (place, &entry) in (ROOT..).zip(entries) {
            *heap.at(place) = entry;
        }
        heap
    }

    /// Returns all entries, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.groups.iter().flat_map(|group| group.0).skip(ROOT).take(self.len)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first entry, or [`NEVER`].
    #[inline(always)]
    pub(super) fn first(&self) -> Entry {
        self.groups[0].0[ROOT]
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let mut hole = ROOT + self.len;
        self.len += 1;
        if hole / ARITY == self.groups.len() {
            self.groups.push(EMPTY);
        }
        while hole > ROOT {
            let parent = hole / ARITY + 2;
            let above = *self.at(parent);
            if above <= entry {
                break;
            }
            *self.at(hole) = above;
            hole = parent;
        }
        *self.at(hole) = entry;
    }

    /// Removes the first entry, of which there is one.
    pub(super) fn remove_first(&mut self) {
        assert!(self.len > 0, "the heap is not empty");
        self.len -= 1;
        let last = std::mem::replace(self.at(ROOT + self.len), NEVER);
        if self.len > 0 {
            self.replace_first(last);
        }
    }

    /// Puts another entry in the place of the first, of which there is one.
    pub(super) fn replace_first(&mut self, entry: Entry) {
        let mut hole = ROOT;
        while let Some(&Group([a, b, c, d])) = self.groups.get(hole - 2) {
            // Compared in pairs, so that no comparison waits for the one before.
            let (child, least) = earlier(earlier((0, a), (1, b)), earlier((2, c), (3, d)));
            if entry <= least {
                break;
            }
            *self.at(hole) = least;
            hole = ARITY * (hole - 2) + child;
        }
        *self.at(hole) = entry;
    }

    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut Entry {
        &mut self.groups[place / ARITY].0[place % ARITY]
    }
}

/// The child that wakes first, and its index.
#[inline]
fn earlier(one: (usize, Entry), other: (usize, Entry)) -> (usize, Entry) {
    if other.1 < one.1 { other } else { one }
}
