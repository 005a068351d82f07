//! The order in which segments were sent last, as a list of slots' numbers.
//!
//! There is no list as long as the order is that of the slots, all of which stand in it (where only retransmissions are
//! listed: as long as nothing was retransmitted). It is made when a segment is retransmitted or leaves the order, and
//! goes when all slots of that time have gone: a connection without losses pays nothing for it.

use std::collections::VecDeque;
use std::ops::Range;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(in crate::tcp::send) struct Sending {
    /// One for each slot, while there is a list.
    neighbours: VecDeque<Neighbours>,
    listed: bool,
    oldest: u32,
    newest: u32,
    /// Number of the slot at the front.
    first: u64,
    /// The list differs from the slots below this number only.
    until: u64,
}

/// A slot's neighbours in the order of sending, as the lower bits of their numbers.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    stands: bool,
    earlier: u32,
    later: u32,
}

impl Neighbours {
    const NOWHERE: Neighbours = Neighbours { stands: false, earlier: NONE, later: NONE };
}

impl Default for Sending {
    fn default() -> Sending {
        Sending { neighbours: VecDeque::new(), listed: false, oldest: NONE, newest: NONE, first: 0, until: 0 }
    }
}

impl Sending {
    /// Whether there is a list.
    #[inline]
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// From here on the order may differ from that of the slots, of which `all` stand in it or none.
    pub fn list(&mut self, slots: Range<u64>, all: bool) {
        self.until = slots.end;
        if self.listed {
            return;
        }
        self.listed = true;
        self.first = slots.start;
        self.neighbours.clear();
        self.neighbours.resize((slots.end - slots.start) as usize, Neighbours::NOWHERE);
        if all {
            slots.for_each(|number| self.append(number));
        }
    }

    /// A slot is new: in a list it stands in the list from now on if it is to be `appended`.
    pub fn push(&mut self, appended: bool) {
        if !self.listed {
            return;
        }
        self.neighbours.push_back(Neighbours::NOWHERE);
        if appended {
            self.append(self.first + self.neighbours.len() as u64 - 1);
        }
    }

    /// The oldest slot goes, and a list with it once it is that of the slots again.
    pub fn pop_front(&mut self) {
        if !self.listed {
            return;
        }
        self.remove(self.first);
        self.neighbours.pop_front();
        self.first += 1;
        if self.first >= self.until {
            self.listed = false;
            (self.oldest, self.newest) = (NONE, NONE);
        }
    }

    /// Whether slot `number` stands in the list.
    pub fn contains(&self, number: u64) -> bool {
        self.of(number).stands
    }

    /// Returns the number of slots in the list.
    pub fn len(&self) -> usize {
        self.neighbours.iter().filter(|link| link.stands).count()
    }

    pub fn oldest(&self) -> Option<u64> {
        self.number(self.oldest)
    }

    pub fn after(&self, number: u64) -> Option<u64> {
        self.number(self.of(number).later)
    }

    pub fn append(&mut self, number: u64) {
        let (newest, short) = (self.newest, number as u32);
        *self.of_mut(number) = Neighbours { stands: true, earlier: newest, later: NONE };
        match self.number(newest) {
            Some(before) => self.of_mut(before).later = short,
            None => self.oldest = short,
        }
        self.newest = short;
    }

    pub fn remove(&mut self, number: u64) {
        let Neighbours { stands, earlier, later } = *self.of(number);
        if !stands {
            return;
        }
        *self.of_mut(number) = Neighbours::NOWHERE;
        match self.number(earlier) {
            Some(before) => self.of_mut(before).later = later,
            None => self.oldest = later,
        }
        match self.number(later) {
            Some(after) => self.of_mut(after).earlier = earlier,
            None => self.newest = earlier,
        }
    }

    /// The full number of a stored one.
    #[inline]
    fn number(&self, short: u32) -> Option<u64> {
        (short != NONE).then(|| self.first + u64::from(short.wrapping_sub(self.first as u32)))
    }

    #[inline]
    fn of(&self, number: u64) -> &Neighbours {
        &self.neighbours[(number - self.first) as usize]
    }

    #[inline]
    fn of_mut(&mut self, number: u64) -> &mut Neighbours {
        &mut self.neighbours[(number - self.first) as usize]
    }
}
