//! A terminal's queues, and how datagrams are put into slots.

use rand::Rng;
use units::{Duration, Time};

use crate::config::Encapsulation;
use crate::ncc::Backlog;
use crate::policy::SwitchState;
use crate::random::Columns;

/// A terminal (RCST).
pub(crate) struct Terminal {
    /// Datagrams for random access.
    pub(crate) random: DatagramQueue,
    /// Datagrams for slots of its own.
    pub(crate) dedicated: DatagramQueue,
    /// Whether it also requests slots for the datagrams of random access.
    requests_early: bool,
    /// Data that have arrived and for which it requests slots, since the start.
    arrived_bits: u64,
    pub(crate) switch: SwitchState,
    /// The replicas of the next packet of random access, if they are drawn: it found no room in an earlier frame.
    pub(crate) replicas: Option<u32>,
    /// Draws the slots of the terminal's bursts.
    pub(crate) rng: Box<dyn Rng + Send>,
    /// In the present frame: the timeslots in which it sends, and the bits that it may still send.
    pub(crate) columns: Columns,
    pub(crate) bits_left: u64,
    frame: Option<u64>,
}

/// A waiting datagram, with the bits that were not sent yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingDatagram {
    pub(crate) id: u32,
    pub(crate) bits_left: u64,
    pub(crate) since: Time,
    pub(crate) begun: bool,
    /// Whether a part of the datagram is lost.
    pub(crate) damaged: bool,
}

/// Datagrams that wait in a terminal, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct DatagramQueue {
    /// In a row, as each frame goes through them. The first `left` have left the queue; the others wait.
    datagrams: Vec<WaitingDatagram>,
    left: usize,
    bits: u64,
}

/// Fills slots with datagrams.
pub(crate) struct Filler {
    fragment_bits: u64,
    packing: bool,
}

/// The content of slots.
pub(crate) struct Filled {
    /// The number of slots.
    pub(crate) slots: u32,
    /// How many datagrams, from the first on, they carry parts of, and how many of these have no bits left.
    pub(crate) carried: usize,
    pub(crate) done: usize,
    /// The bits of the datagrams.
    pub(crate) bits: u64,
    /// The number of datagrams whose transmission begins in them, and the sum of their waiting times.
    pub(crate) begun: u64,
    pub(crate) waited: Duration,
}

impl Terminal {
    pub(crate) fn new(timeslots: u32, requests_early: bool, rng: Box<dyn Rng + Send>) -> Terminal {
        Terminal {
            random: DatagramQueue::default(),
            dedicated: DatagramQueue::default(),
            requests_early,
            arrived_bits: 0,
            switch: SwitchState::default(),
            replicas: None,
            rng,
            columns: Columns::new(timeslots),
            bits_left: 0,
            frame: None,
        }
    }

    /// Resets columns and bits at the first call in a frame.
    pub(crate) fn begin_frame(&mut self, frame: u64, bits: u64) {
        if self.frame.replace(frame) != Some(frame) {
            self.columns.clear();
            self.bits_left = bits;
        }
    }

    /// Adds a datagram for slots of its own.
    pub(crate) fn push_dedicated(&mut self, waiting: WaitingDatagram) {
        self.arrived_bits += waiting.bits_left;
        self.dedicated.push(waiting);
    }

    /// Adds a datagram for random access.
    pub(crate) fn push_random(&mut self, waiting: WaitingDatagram) {
        if self.requests_early {
            self.arrived_bits += waiting.bits_left;
        }
        self.random.push(waiting);
    }

    /// Moves datagrams for random access that were not begun to a slot of its own, the first of so many in this frame:
    /// one to a slot that would stay empty, and more to what room there is. Of these it has to have requested slots for
    /// them, or to have enough that they end in the frame: the rest would wait for a request.
    pub(crate) fn advance(&mut self, filler: &Filler, slot_bits: u32, slots_left: u32) {
        let slots_left = u64::from(slots_left).min(self.bits_left / u64::from(slot_bits));
        while self.dedicated.bits() < u64::from(slot_bits)
            && let Some(fresh) = self.random.fresh()
        {
            let own = self.dedicated.waiting();
            let fits = || match self.requests_early {
                true => filler.has_room(own, slot_bits),
                false => filler.slots(own.iter().chain([&self.random.waiting()[fresh]]), slot_bits) <= slots_left,
            };
            if !own.is_empty() && !fits() {
                break;
            }
            let waiting = self.random.take(fresh);
            if !self.requests_early {
                self.arrived_bits += waiting.bits_left;
            }
            self.dedicated.push(waiting);
        }
    }

    /// The backlog in bits.
    pub(crate) fn waiting_bits(&self) -> u64 {
        self.random.bits + self.dedicated.bits
    }

    /// Whether data wait of which the network control centre is told.
    pub(crate) fn has_backlog(&self) -> bool {
        !self.dedicated.is_empty() || self.requests_early && !self.random.is_empty()
    }

    /// The backlog as the network control centre is told, which fills slots of so many bits.
    pub(crate) fn backlog(&self, filler: &Filler, slot_bits: u32) -> Backlog {
        let early = if self.requests_early { Some(&self.random) } else { None };
        let queues = || std::iter::once(&self.dedicated).chain(early);
        let waiting = queues().flat_map(DatagramQueue::waiting);
        Backlog {
            bits: queues().map(DatagramQueue::bits).sum(),
            slots: filler.slots(waiting, slot_bits),
            arrived_bits: self.arrived_bits,
        }
    }
}

impl WaitingDatagram {
    pub(crate) fn new(id: u32, bits: u64, since: Time) -> WaitingDatagram {
        WaitingDatagram { id, bits_left: bits, since, begun: false, damaged: false }
    }
}

impl DatagramQueue {
    pub(crate) fn push(&mut self, waiting: WaitingDatagram) {
        self.bits += waiting.bits_left;
        if self.datagrams.len() == self.datagrams.capacity() && 2 * self.left >= self.datagrams.len() {
            self.datagrams.drain(..self.left);
            self.left = 0;
        }
        self.datagrams.push(waiting);
    }

    /// The datagrams that wait in this queue of the terminal.
    #[inline]
    pub(crate) fn waiting(&self) -> &[WaitingDatagram] {
        &self.datagrams[self.left..]
    }

    pub(crate) fn len(&self) -> usize {
        self.datagrams.len() - self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn bits(&self) -> u64 {
        self.bits
    }

    /// Calls `fill` with the datagrams that wait, which returns how many of their bits it has put into slots.
    #[inline(always)]
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut [WaitingDatagram]) -> u64) {
        self.bits -= fill(&mut self.datagrams[self.left..]);
    }

    /// Removes the first datagrams, as many as were sent completely, after a call of `leave` with each.
    #[inline]
    pub(crate) fn remove_done(&mut self, mut leave: impl FnMut(&WaitingDatagram)) {
        let done =
            self.waiting().iter().take_while(|waiting| waiting.bits_left == 0).inspect(|&waiting| leave(waiting));
        let done = done.count();
        self.let_go(done);
    }

    /// The first `datagrams` of the waiting datagrams have left.
    fn let_go(&mut self, datagrams: usize) {
        self.left += datagrams;
        if self.left == self.datagrams.len() {
            self.datagrams.clear();
            self.left = 0;
        }
    }

    /// The index of the first datagram of which nothing was sent.
    fn fresh(&self) -> Option<usize> {
        self.waiting().iter().position(|waiting| !waiting.begun)
    }

    /// Removes the datagram at an index.
    fn take(&mut self, index: usize) -> WaitingDatagram {
        let at = self.left + index;
        let waiting = self.datagrams[at];
        // Few have begun, and a queue may be long: they move, not what comes after.
        self.datagrams.copy_within(self.left..at, self.left + 1);
        self.let_go(1);
        self.bits -= waiting.bits_left;
        waiting
    }

    /// Marks so many datagrams from the one at an index on as damaged: a part of each is lost.
    pub(crate) fn damage(&mut self, index: usize, datagrams: usize) {
        self.datagrams[self.left + index..][..datagrams].iter_mut().for_each(|waiting| waiting.damaged = true);
    }
}

impl Filler {
    pub(crate) fn new(encapsulation: &Encapsulation) -> Filler {
        Filler { fragment_bits: encapsulation.fragment.bits(), packing: encapsulation.packing }
    }

    /// Whether a slot of so many bits that carries these datagrams has room for a part of another.
    fn has_room(&self, carried: &[WaitingDatagram], slot_bits: u32) -> bool {
        let carried_bits: u64 = carried.iter().map(|waiting| waiting.bits_left + self.fragment_bits).sum();
        self.packing && carried_bits + self.fragment_bits < u64::from(slot_bits)
    }

    /// How many slots of so many bits datagrams will fill.
    fn slots<'a>(&self, waiting: impl Iterator<Item = &'a WaitingDatagram>, slot_bits: u32) -> u64 {
        let most = u64::from(slot_bits) - self.fragment_bits;
        // For the next datagram in the last slot, with its header.
        let (mut slots, mut room) = (0, 0u64);
        for &WaitingDatagram { bits_left, .. } in waiting {
            let here = bits_left.min(room.saturating_sub(self.fragment_bits));
            let beyond = bits_left - here;
            let full = beyond.saturating_sub(1) / most;
            room = match beyond {
                0 => room.saturating_sub(here + self.fragment_bits),
                _ => most - (beyond - full * most),
            };
            slots += full + u64::from(beyond > 0);
            if !self.packing {
                room = 0;
            }
        }
        slots
    }

    /// Fills slots of so many bits, at least one and at most `most`, from the first datagram on, which has bits left:
    /// those that carry nothing else and do not finish it, or else one.
    #[inline(always)]
    pub(crate) fn fill(&self, datagrams: &mut [WaitingDatagram], slot_bits: u32, most: u32, now: Time) -> Filled {
        let mut filled = Filled { slots: 1, carried: 0, done: 0, bits: 0, begun: 0, waited: Duration::ZERO };
        let mut room = u64::from(slot_bits);
        for waiting in datagrams {
            if room <= self.fragment_bits {
                break;
            }
            if !waiting.begun {
                waiting.begun = true;
                filled.begun += 1;
                filled.waited += now.since(waiting.since);
            }
            let mut bits = waiting.bits_left.min(room - self.fragment_bits);
            filled.carried += 1;
            room -= bits + self.fragment_bits;
            if waiting.bits_left > bits {
                if filled.done == 0 {
                    filled.slots = ((waiting.bits_left - 1) / bits).min(u64::from(most)) as u32;
                    bits *= u64::from(filled.slots);
                }
                waiting.bits_left -= bits;
                filled.bits += bits;
                break;
            }
            waiting.bits_left = 0;
            filled.bits += bits;
            filled.done += 1;
            if !self.packing {
                break;
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_backlog_is_told_in_the_slots_that_it_fills(
            fragment_bits in 0u64..40, slot_bits in 41u32..500, packing in any::<bool>(),
            datagrams in prop::collection::vec(1u64..2000, 0..20),
        ) {
            let filler = Filler { fragment_bits, packing };
            let mut queue = DatagramQueue::default();
            datagrams.iter().for_each(|&bits| queue.push(WaitingDatagram::new(0, bits, Time::ZERO)));
            let told = filler.slots(queue.waiting().iter(), slot_bits);
            let mut filled = 0;
            while !queue.is_empty() {
                queue.fill(|waiting| {
                    let of_slot = filler.fill(waiting, slot_bits, 1, Time::ZERO);
                    filled += u64::from(of_slot.slots);
                    of_slot.bits
                });
                queue.remove_done(|_| {});
            }
            prop_assert_eq!(told, filled);
        }
    }
}
