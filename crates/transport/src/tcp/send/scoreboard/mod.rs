//! The scoreboard of segments that were sent and are not acknowledged: a slot with the state of each.
//!
//! Segments are counted as Linux and ns-2 do: those in flight are the outstanding ones, without those known to have
//! arrived and those taken for lost, and with the retransmissions that were not answered yet. Slots are numbered from
//! the start of the connection, so that a number stays valid while the front of the queue is acknowledged; marks that
//! move forward are such numbers. Every sum is kept up to date step by step, so that the cost of an acknowledgment does
//! not grow with the window (with forward acknowledgment, with the retransmissions that turned out not to be needed).

mod check;
mod new_ranges;
mod next;
mod sending;
pub(super) mod slot;

use std::collections::VecDeque;

use units::{Ring, Time};

use self::new_ranges::NewRanges;
use self::sending::Sending;
use self::slot::{LOST, ONCE_SACKED, PUSH, RETRANSMITTED, SACKED, SentState, Slot, control_marks};
use crate::tcp::SackBlocks;

/// Counts of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Segments known to have arrived beyond a hole: by SACK blocks, or one for each duplicate acknowledgment.
    pub sacked: u32,
    /// Taken for lost, retransmitted or not.
    pub lost: u32,
    /// Retransmissions that are thought to be in flight.
    pub retransmitted: u32,
}

/// The transmissions whose order of sending is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// None: losses are detected by counting.
    Unknown,
    /// The order of retransmissions, for forward acknowledgment.
    Retransmitted,
    /// The order of all segments, for the detection of losses by time (RACK).
    Sent,
}

/// The slots and their sums.
#[derive(Debug)]
pub(super) struct Scoreboard {
    pub(super) slots: Ring<Slot>,
    /// Number of the slot at the front.
    pub(super) first: u64,
    /// First offset not acknowledged (SND.UNA).
    pub(super) una: u64,
    /// First offset not sent (SND.NXT).
    pub(super) nxt: u64,
    pub(super) counts: Counts,
    /// All that were ever sent, again or not, and all that were ever taken for lost.
    sent_total: u64,
    lost_total: u64,
    /// Number after the highest SACKed slot.
    high_sacked: u64,
    /// Number before which no lost slot waits for retransmission.
    pub(super) cursor: u64,
    /// Number after the highest slot that was ever taken for lost.
    pub(super) lost_until: u64,
    /// Number before which no slot is worth a retransmission on suspicion (RFC 6675 NextSeg rule 3).
    speculative: u64,
    /// Number before which every slot is SACKed or taken for lost by counting. It may lag behind the front.
    pub(super) frontier: u64,
    /// The SACKed slots from the frontier on.
    pub(super) above: u32,
    /// For each slot what had been delivered, if that is kept.
    #[expect(clippy::box_collection, reason = "few controllers ask for them")]
    states: Option<Box<VecDeque<SentState>>>,
    /// The order of sending, once it differed from that of the slots.
    sending: Option<Box<Sending>>,
    /// Number after the highest slot that was ever retransmitted.
    retransmitted_until: u64,
    /// The SACK blocks of the last acknowledgment that had any, which are not read again.
    known: Option<Box<SackBlocks>>,
    mss: u64,
    pub(super) order: Order,
}

impl Scoreboard {
    pub fn new(start: u64, mss: u64, order: Order, keeps_states: bool) -> Scoreboard {
        Scoreboard {
            slots: Ring::default(),
            first: 0,
            una: start,
            nxt: start,
            counts: Counts::default(),
            sent_total: 0,
            lost_total: 0,
            high_sacked: 0,
            cursor: 0,
            lost_until: 0,
            speculative: 0,
            frontier: 0,
            above: 0,
            states: keeps_states.then(Box::default),
            sending: None,
            retransmitted_until: 0,
            known: None,
            mss,
            order,
        }
    }

    /// First offset not acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// First offset not sent.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Whether anything waits for an acknowledgment.
    #[inline]
    pub fn outstanding(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Segments sent and not acknowledged cumulatively.
    #[inline]
    pub fn out(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Segments in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        // There may be more duplicate acknowledgments than segments.
        (self.out() + self.counts.retransmitted).saturating_sub(self.counts.sacked + self.counts.lost)
    }

    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Number after the highest slot that has arrived beyond a hole.
    #[inline]
    pub fn high_sacked(&self) -> u64 {
        self.high_sacked
    }

    /// Segments ever sent, again or not.
    #[inline]
    pub fn sent_total(&self) -> u64 {
        self.sent_total
    }

    /// Segments ever taken for lost.
    #[inline]
    pub fn lost_total(&self) -> u64 {
        self.lost_total
    }

    /// The oldest slot.
    #[inline]
    pub fn front(&self) -> Option<&Slot> {
        self.slots.front_ref()
    }

    /// Number of the oldest slot.
    pub fn front_number(&self) -> u64 {
        self.first
    }

    /// Number of the newest slot.
    pub fn last_number(&self) -> Option<u64> {
        (!self.slots.is_empty()).then(|| self.first + self.slots.len() as u64 - 1)
    }

    #[inline]
    pub fn get(&self, number: u64) -> &Slot {
        &self.slots[(number - self.first) as usize]
    }

    #[inline]
    fn get_mut(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first) as usize]
    }

    /// Offset after the highest SACKed byte; SND.UNA if there is none.
    #[inline]
    pub fn forward(&self) -> u64 {
        if self.counts.sacked == 0 || self.high_sacked <= self.first {
            return self.una;
        }
        self.slots.get((self.high_sacked - self.first) as usize).map_or(self.nxt, |slot| slot.seq)
    }

    /// Returns the deliveries known when slot `number` was last sent.
    pub fn state(&self, number: u64) -> SentState {
        self.states.as_ref().map_or(SentState::default(), |states| states[(number - self.first) as usize])
    }

    /// Keeps what had been delivered when slot `number` was sent just now.
    pub fn keep_state(&mut self, number: u64, state: SentState) {
        let Some(states) = &mut self.states else { return };
        let index = (number - self.first) as usize;
        if index == states.len() {
            states.push_back(state);
        } else {
            states[index] = state;
        }
    }

    /// Returns the mark of the instant that a slot keeps when it is sent.
    #[inline]
    fn then(&self, delivered: u64) -> u32 {
        let nxt = self.first + self.slots.len() as u64;
        if self.order == Order::Sent { delivered as u32 } else { nxt as u32 }
    }

    /// Sends the next `len` bytes, and the FIN after them if `fin`, when so many segments have been delivered.
    #[inline(always)]
    pub fn send(&mut self, now: Time, len: u64, fin: bool, delivered: u64) -> Slot {
        let marks = control_marks(self.nxt, fin);
        self.send_marked(now, len, marks, delivered)
    }

    /// As [`Scoreboard::send`], of data behind the SYN.
    #[inline(always)]
    pub fn send_data(&mut self, now: Time, len: u64, delivered: u64) -> Slot {
        debug_assert!(self.nxt > 0);
        self.send_marked(now, len, 0, delivered)
    }

    #[inline(always)]
    fn send_marked(&mut self, now: Time, len: u64, marks: u8, delivered: u64) -> Slot {
        debug_assert!(len < u64::from(u16::MAX), "a segment of {len} bytes");
        let slot = Slot {
            seq: self.nxt,
            sent_at: now,
            order: self.sent_total as u32,
            then: self.then(delivered),
            len: len as u16,
            transmissions: 1,
            span: len as u16 + u16::from(marks != 0),
            marks,
        };
        self.nxt = slot.end();
        self.sent_total += 1;
        self.slots.push_back(slot);
        if let Some(sending) = &mut self.sending {
            sending.push(self.order == Order::Sent);
        }
        slot
    }

    /// The slot sent just now says PSH.
    #[inline]
    pub fn push_last(&mut self) {
        let last = self.slots.len() - 1; // sent just now
        self.slots[last].marks |= PUSH;
    }

    /// Retransmits slot `number`. A `probe` (of a tail, or by RFC 6675 rule 4) does not count as in flight.
    pub fn retransmit(&mut self, now: Time, number: u64, delivered: u64, probe: bool) -> Slot {
        if self.order != Order::Unknown {
            self.list().remove(number);
        }
        self.retransmitted_until = self.retransmitted_until.max(number + 1);
        let then = self.then(delivered);
        let order = self.sent_total as u32;
        self.sent_total += 1;
        let slot = self.get_mut(number);
        debug_assert!(!slot.is(SACKED), "slot {number} has arrived");
        let count = !probe && !slot.is(RETRANSMITTED);
        if count {
            slot.marks |= RETRANSMITTED;
        }
        slot.sent_at = now;
        slot.order = order;
        slot.then = then;
        slot.transmissions = slot.transmissions.saturating_add(1);
        let copy = *slot;
        self.counts.retransmitted += u32::from(count);
        if self.order != Order::Unknown {
            self.list().append(number);
        }
        copy
    }

    /// The cumulative acknowledgment moves to `ack`; the slots stay until they are popped.
    #[inline]
    pub fn move_una(&mut self, ack: u64) {
        debug_assert!(self.una <= ack && ack <= self.nxt);
        self.una = ack;
    }

    /// Whether no segment is lost, SACKed or retransmitted, since the oldest was sent.
    #[inline]
    pub fn doubts_nothing(&self) -> bool {
        self.counts == Counts::default() && self.first >= self.retransmitted_until
    }

    /// The oldest slot, if `ack` covers it.
    #[inline(always)]
    pub fn first_up_to(&self, ack: u64) -> Option<Slot> {
        self.slots.front().filter(|slot| slot.end() <= ack)
    }

    /// The oldest slot if it is acknowledged, with its number: to be taken out.
    #[inline(always)]
    pub fn acknowledged(&mut self) -> Option<(u64, Slot)> {
        let slot = self.slots.front()?;
        if slot.end() > self.una {
            if slot.seq < self.una {
                self.trim_front();
            }
            return None;
        }
        Some((self.first, slot))
    }

    /// Takes out the oldest slot, about which nothing was ever in doubt.
    #[inline(always)]
    pub fn pop_plain(&mut self) {
        if let Some(sending) = &mut self.sending {
            sending.pop_front();
        }
        self.slots.drop_first();
        if let Some(states) = &mut self.states {
            states.pop_front();
        }
        self.first += 1;
    }

    /// Takes out the oldest slot, `slot`.
    #[inline]
    pub fn pop_front(&mut self, slot: &Slot) {
        if slot.marks & (SACKED | LOST | RETRANSMITTED) != 0 {
            self.counts.lost -= u32::from(slot.is(LOST));
            self.counts.retransmitted -= u32::from(slot.is(RETRANSMITTED));
            if slot.is(SACKED) {
                self.counts.sacked -= 1;
                if self.first >= self.frontier {
                    self.above -= 1;
                }
            }
        }
        self.pop_plain();
    }

    /// An acknowledgment in the middle of the first slot (of a peer that cuts segments): the slot keeps the rest.
    #[cold]
    fn trim_front(&mut self) {
        let una = self.una;
        let slot = &mut self.slots[0];
        let part = (una - slot.seq).min(u64::from(slot.len));
        slot.seq += part;
        slot.len -= part as u16;
        slot.span -= part as u16;
    }

    /// Without SACK: sets the number of segments beyond the hole, one for each duplicate acknowledgment.
    pub fn set_guessed_sacked(&mut self, segments: u32) {
        self.counts.sacked = segments;
    }

    /// Marks the slot behind the highest that has arrived as [`Scoreboard::mark_sacked`] does, and returns its number
    /// and what it was, in the most frequent case:
    ///
    /// - `blocks` are those of the acknowledgment before, the first of them longer by this slot;
    /// - it was sent once, and is not taken for lost;
    /// - segments have no order of sending that it would have to leave.
    #[inline(always)]
    pub fn mark_lengthened(&mut self, blocks: &SackBlocks) -> Option<(u64, Slot)> {
        let ([(start, end), others @ ..], Some(known)) = (blocks.as_slice(), &mut self.known) else { return None };
        let (&[(known_start, known_end), ref known_others @ ..], number) = (known.as_slice(), self.high_sacked) else {
            return None;
        };
        let slot = self.slots.get(number.wrapping_sub(self.first) as usize)?;
        let by_slot = *start == known_start && slot.seq == known_end && slot.end() == *end;
        let once = slot.transmissions == 1 && !slot.is(LOST) && self.order != Order::Sent;
        // The same block within the second would report a duplicate.
        let same = others == known_others && others.first().is_none_or(|second| *start < second.0 || second.1 < *end);
        if !(by_slot && once && same && blocks.as_slice().iter().all(|block| block.0 >= self.una)) {
            return None;
        }
        known.replace_first((*start, *end));
        // The frontier never passes the highest slot that has arrived: see `next_counted_lost`.
        debug_assert!(!slot.is(SACKED) && number >= self.frontier);
        self.get_mut(number).marks = slot.marks | SACKED | ONCE_SACKED;
        self.counts.sacked += 1;
        self.above += 1;
        self.high_sacked = number + 1;
        Some((number, slot))
    }

    /// Keeps the blocks of an acknowledgment that lie in outstanding data, for [`Scoreboard::mark_lengthened`].
    /// Returns them, and those that were kept before.
    #[inline(always)]
    pub fn keep_blocks(&mut self, blocks: &SackBlocks) -> [SackBlocks; 2] {
        let (una, nxt) = (self.una, self.nxt);
        let valid = blocks.as_slice().iter().copied().filter(|&(start, end)| start >= una && end <= nxt).collect();
        [valid, std::mem::replace(&mut **self.known.get_or_insert_default(), valid)]
    }

    /// The parts of `blocks` that were not in the acknowledgment before, in ascending order.
    #[inline]
    pub fn news_of(&mut self, blocks: &SackBlocks) -> NewRanges {
        let [valid, known] = self.keep_blocks(blocks);
        let mut ranges = NewRanges::default();
        for &(start, end) in valid.as_slice() {
            let mut at = start;
            while at < end {
                let covering = known.as_slice().iter().find(|k| k.0 <= at && at < k.1);
                if let Some(&(_, known_end)) = covering {
                    at = known_end;
                    continue;
                }
                let next = known.as_slice().iter().map(|k| k.0).filter(|&k| k > at).min();
                let until = next.map_or(end, |next| next.min(end));
                // A segment may be covered by what is new and what was known together.
                ranges.insert((at.saturating_sub(self.mss).max(start), (until + self.mss).min(end)));
                at = until;
            }
        }
        ranges
    }

    /// Numbers of the slots that lie wholly in `start..end`.
    #[inline(always)]
    pub fn within(&self, start: u64, end: u64) -> std::ops::Range<u64> {
        let low = self.index_at_or_after(start);
        // The slot that starts at `end` or later, or the one before it that lies across.
        let high = self.index_at_or_after(end);
        let across = high > low && self.slots[high - 1].end() > end;
        self.first + low as u64..self.first + (high - usize::from(across)).max(low) as u64
    }

    /// Index of the first slot that starts at `seq` or later.
    #[inline(always)]
    fn index_at_or_after(&self, seq: u64) -> usize {
        let Some(front) = self.slots.front() else { return 0 };
        // No slot is longer than a segment, so the answer is here or later: here, if all are full.
        let guess = (seq.saturating_sub(front.seq) / self.mss) as usize;
        if self.slots.get(guess).is_some_and(|slot| slot.seq == seq) {
            return guess;
        }
        self.slots.partition_point(|slot| slot.seq < seq)
    }

    /// Slot `number` has arrived: a block says so.
    pub fn mark_sacked(&mut self, number: u64) {
        // Among retransmissions one that stays in flight keeps its position.
        if self.order == Order::Sent || self.order == Order::Retransmitted && self.get(number).is(LOST) {
            self.leave_order(number);
        }
        let slot = self.get_mut(number);
        let marks = slot.marks;
        debug_assert!(marks & SACKED == 0);
        // A retransmission of what was not lost stays in flight: both copies may have been needed for nothing.
        let gone = if marks & LOST != 0 { LOST | RETRANSMITTED } else { 0 };
        slot.marks = marks & !gone | SACKED | ONCE_SACKED;
        self.counts.lost -= u32::from(marks & LOST != 0);
        self.counts.retransmitted -= u32::from(marks & gone & RETRANSMITTED != 0);
        self.counts.sacked += 1;
        if number >= self.frontier {
            self.above += 1;
        }
        self.high_sacked = self.high_sacked.max(number + 1);
    }

    /// A duplicate of slot `number`, which is not lost, arrived: its retransmission is not in flight any more.
    pub fn forget_retransmission(&mut self, number: u64) {
        let slot = self.get_mut(number);
        let retransmitted = slot.is(RETRANSMITTED);
        debug_assert!(!slot.is(LOST), "slot {number} would wait for a retransmission again");
        slot.marks &= !RETRANSMITTED;
        self.counts.retransmitted -= u32::from(retransmitted);
    }

    /// Takes slot `number` for lost, or its retransmission if it was retransmitted. Whether that is new.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let slot = self.get_mut(number);
        match slot.marks & (SACKED | LOST | RETRANSMITTED) {
            marks if marks & LOST == 0 && marks & SACKED == 0 => {
                slot.marks |= LOST;
                self.counts.lost += 1;
            }
            marks if marks & (SACKED | RETRANSMITTED) == RETRANSMITTED => {
                slot.marks &= !RETRANSMITTED;
                self.counts.retransmitted -= 1;
            }
            _ => return false,
        }
        self.lost_total += 1;
        self.cursor = self.cursor.min(number);
        self.lost_until = self.lost_until.max(number + 1);
        true
    }

    /// Slot `number` is not looked at again for having been overtaken, until it is retransmitted.
    pub fn leave_order(&mut self, number: u64) {
        self.list().remove(number);
    }

    /// Nothing is taken for lost any more.
    pub fn unmark_lost(&mut self) {
        for index in 0..self.slots.len() {
            self.slots[index].marks &= !LOST;
        }
        self.counts.lost = 0;
        self.restart();
        self.frontier = self.first;
        self.above = self.slots.iter().filter(|slot| slot.is(SACKED)).count() as u32;
    }

    /// The peer dropped what it had acknowledged selectively (RFC 2018 section 8). Slots keep [`ONCE_SACKED`].
    pub fn forget_sacked(&mut self) {
        for index in 0..self.slots.len() {
            self.slots[index].marks &= !SACKED;
        }
        self.counts.sacked = 0;
        self.high_sacked = self.first;
        self.frontier = self.first;
        self.above = 0;
        self.known = None;
    }

    /// A recovery begins: what waits for retransmission is looked for from the front again.
    pub fn restart(&mut self) {
        self.cursor = self.first;
        self.speculative = self.first;
    }

    /// Numbers of all slots.
    pub fn numbers(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.slots.len() as u64
    }

    /// The slot sent longest ago of those whose order is kept and that have neither arrived nor been overtaken.
    #[inline]
    pub fn oldest_sent(&self) -> Option<u64> {
        if let Some(sending) = self.listed() {
            return sending.oldest();
        }
        (self.order == Order::Sent && self.outstanding()).then_some(self.first)
    }

    /// The slot sent next after `number`.
    #[inline]
    pub fn sent_after(&self, number: u64) -> Option<u64> {
        if let Some(sending) = self.listed() {
            return sending.after(number);
        }
        Some(number + 1).filter(|&next| next < self.first + self.slots.len() as u64)
    }

    /// From here on the order of sending may differ from that of the slots.
    fn list(&mut self) -> &mut Sending {
        let slots = self.numbers();
        let sending = self.sending.get_or_insert_default();
        sending.list(slots, self.order == Order::Sent);
        sending
    }

    /// The order of sending where it is kept as a list.
    #[inline]
    pub(super) fn listed(&self) -> Option<&Sending> {
        self.sending.as_deref().filter(|sending| sending.is_listed())
    }

    /// All was acknowledged and nothing more will be sent: gives back what was kept of slots.
    pub fn release(&mut self) {
        debug_assert!(self.slots.is_empty());
        self.slots.clear();
        (self.sending, self.known) = (None, None);
    }
}

#[cfg(test)]
mod tests;
