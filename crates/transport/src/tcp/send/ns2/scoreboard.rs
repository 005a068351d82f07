//! The memory of loss recovery by ns-2's rules, and its choice of lost segments: runs of slots that blocks reported,
//! and retransmissions in flight.

use std::collections::VecDeque;
use std::ops::Range;

use units::Time;

use crate::tcp::SackBlocks;
use crate::tcp::send::scoreboard::Scoreboard;
use crate::tcp::send::scoreboard::slot::LOST;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Ns2 {
    /// In a reduction: the most segments in flight, whatever the window says.
    pub ceiling: u32,
    /// Number after the highest slot that a block reported since the last recovery.
    pub forward: u64,
    /// Number before which every slot has arrived or is taken for lost, since the last recovery.
    pub judged: u64,
    /// Slots that blocks reported since the last recovery.
    pub arrived: Arrived,
    /// The retransmissions in flight, and the one that was answered last.
    pub copies: Copies,
    pub answered: u64,
    /// The segment that is timed: the offset after it, and when it was sent.
    pub timed: Option<(u64, Time)>,
    /// Empty lists with room for numbers, of [`Ns2::judge`].
    lists: Judged,
}

/// Slots that an acknowledgment newly shows as arrived or lost, in their order.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Judged {
    pub arrived: Vec<u64>,
    pub lost: Vec<u64>,
}

impl Ns2 {
    /// New data up to `end` went out.
    pub fn on_new_data(&mut self, now: Time, end: u64, in_flight: u32) {
        self.timed.get_or_insert((end, now));
        self.lower_ceiling(in_flight);
    }

    /// Slot `number` went out again.
    pub fn on_retransmission(&mut self, number: u64, in_flight: u32) {
        self.copies.send(number);
        self.lower_ceiling(in_flight);
    }

    fn lower_ceiling(&mut self, in_flight: u32) {
        self.ceiling = self.ceiling.min(in_flight.saturating_sub(1).max(1));
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self) {
        self.copies.clear();
        (self.answered, self.ceiling, self.timed) = (0, 0, None);
    }

    /// Goes through the slots below the highest that has arrived, in order: those that a block covers have arrived,
    /// others may be lost. Of the slots it looks at those only of which that may be new, unless it is to be
    /// `thorough`; at those that were judged before too if `anew`.
    pub fn judge(
        &mut self,
        board: &Scoreboard,
        blocks: &SackBlocks,
        distance: u32,
        mut thorough: bool,
        anew: bool,
    ) -> Judged {
        let (una, nxt) = (board.una(), board.nxt());
        let mut covered = [const { 0..0 }; SackBlocks::MAX];
        let mut count = 0;
        for &(start, end) in blocks.as_slice().iter().filter(|block| block.0 >= una && block.1 <= nxt) {
            covered[count] = board.within(start, end);
            count += 1;
        }
        let covered = &mut covered[..count];
        covered.sort_unstable_by_key(|range| range.start);
        let last = covered.last().map_or(0, |range| range.end);
        let mut judged = std::mem::take(&mut self.lists);
        if last > self.forward {
            self.forward = last;
            thorough = true;
        }
        if !thorough && last == 0 {
            return judged;
        }
        self.arrived.forget_before(board.front_number());
        for range in covered {
            self.arrived.insert(range.clone(), &mut judged.arrived);
        }
        // Each retransmission that a block answers: from its slot on, and for what was retransmitted before it.
        let mut answers = Vec::new();
        for &number in &judged.arrived {
            let slot = board.get(number);
            let copy = if slot.was_retransmitted() { self.copies.remove(number) } else { None };
            if slot.is_in_flight_again() {
                answers.push((number, copy.unwrap_or(0)));
            }
        }
        thorough |= !answers.is_empty();
        let end = if thorough { self.forward } else { (last + 1).min(self.forward) * u64::from(last > 0) };
        self.find_overtaken_copies(board, distance, &answers, end, &mut judged.lost);
        self.find_newly_overtaken(board, distance, end, anew, &mut judged.lost);
        judged.lost.sort_unstable();
        for &number in &judged.lost {
            self.copies.remove(number);
        }
        if thorough {
            self.judged = self.forward.saturating_sub(u64::from(distance));
        }
        self.answered = answers.last().map_or(self.answered, |answer| answer.1);
        judged
    }

    /// Takes the lists of [`Ns2::judge`] back, for the next acknowledgment.
    pub fn give_back(&mut self, mut judged: Judged) {
        judged.arrived.clear();
        judged.lost.clear();
        self.lists = judged;
    }

    /// Adds retransmissions before `end` that are lost: something sent for the first time after one has arrived, or one
    /// so many later is answered. `answers` has what is answered from which slot on; before the first, it is what was
    /// answered last.
    fn find_overtaken_copies(
        &self,
        board: &Scoreboard,
        distance: u32,
        answers: &[(u64, u64)],
        end: u64,
        lost: &mut Vec<u64>,
    ) {
        let best = answers.iter().fold(self.answered, |best, answer| best.max(answer.1));
        for (copy, number) in self.copies.iter() {
            let slot = board.get(number);
            if !slot.is_in_flight_again() {
                continue;
            }
            let overtaken = (self.forward as u32).wrapping_sub(slot.then) as i32 > 0;
            if !overtaken && copy + u64::from(distance) >= best {
                break; // as are all that were retransmitted later
            }
            let before = answers.partition_point(|answer| answer.0 <= number).checked_sub(1);
            let answered = before.map_or(self.answered, |last| answers[last].1);
            if number < end && (overtaken || copy + u64::from(distance) < answered) {
                lost.push(number);
            }
        }
    }

    /// Adds slots before `end` that were sent once, are not taken for lost, and have one so many beyond them that
    /// arrived; if `anew`, one beyond them is enough.
    fn find_newly_overtaken(&self, board: &Scoreboard, distance: u32, end: u64, anew: bool, lost: &mut Vec<u64>) {
        let front = board.front_number();
        let range = if anew {
            front..end
        } else {
            self.judged.max(front)..end.min(self.forward.saturating_sub(u64::from(distance)))
        };
        self.arrived.each_missing(range, |number| {
            if !board.get(number).is(LOST) {
                lost.push(number);
            }
        });
    }

    pub fn forget(&mut self) {
        (self.forward, self.judged, self.answered, self.ceiling) = (0, 0, 0, 0);
        self.arrived.clear();
        self.copies.clear();
    }
}

/// Numbers of slots, as runs in their order, with gaps between them.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Arrived {
    runs: VecDeque<Range<u64>>,
}

impl Arrived {
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Slots before `front` have left.
    pub fn forget_before(&mut self, front: u64) {
        while let Some(run) = self.runs.front_mut().filter(|run| run.start < front) {
            run.start = front;
            if run.end > front {
                break;
            }
            self.runs.pop_front();
        }
    }

    /// Adds `range`, and to `new` those of its numbers that are in no run yet, in order.
    pub fn insert(&mut self, range: Range<u64>, new: &mut Vec<u64>) {
        let first = self.runs.partition_point(|run| run.end < range.start);
        let Some(run) = self.runs.get(first).filter(|run| run.start <= range.end) else {
            if !range.is_empty() {
                new.extend(range.clone());
                self.runs.insert(first, range);
            }
            return;
        };
        if run.start <= range.start && range.end <= run.end {
            return; // mostly, as a block stands in several acknowledgments
        }
        // The runs that it touches become one with it.
        let (start, mut from, mut after) = (run.start.min(range.start), range.start, first);
        while let Some(run) = self.runs.get(after).filter(|run| run.start <= range.end) {
            new.extend(from..run.start);
            (from, after) = (run.end, after + 1);
        }
        new.extend(from..range.end);
        self.runs[first] = start..from.max(range.end);
        self.runs.drain(first + 1..after);
    }

    /// Calls `act` with the numbers of `range` that are in no run, in order.
    pub fn each_missing(&self, range: Range<u64>, mut act: impl FnMut(u64)) {
        if range.is_empty() {
            return;
        }
        let mut from = range.start;
        let first = self.runs.partition_point(|run| run.end <= range.start);
        for run in self.runs.range(first..).take_while(|run| run.start < range.end) {
            (from..run.start).for_each(&mut act);
            from = run.end;
        }
        (from..range.end).for_each(act);
    }
}

/// Slots that were retransmitted and not answered: which retransmission of the connection it was, counted from 1.
#[derive(Debug, Default)]
pub(in crate::tcp::send) struct Copies {
    of_slot: Pairs,
    in_order: Pairs,
    sent: u64,
}

/// Pairs in the order of their first numbers, which mostly come at the end and leave near the front.
#[derive(Debug, Default)]
struct Pairs(VecDeque<(u64, u64)>);

impl Copies {
    /// Slot `number` is retransmitted.
    pub fn send(&mut self, number: u64) {
        self.sent += 1;
        self.remove(number);
        self.of_slot.insert(number, self.sent);
        self.in_order.insert(self.sent, number);
    }

    /// Slot `number` was answered, or its retransmission was lost: which one it was.
    pub fn remove(&mut self, number: u64) -> Option<u64> {
        let copy = self.of_slot.remove(number)?;
        self.in_order.remove(copy);
        Some(copy)
    }

    /// Retransmissions and their slots, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.in_order.0.iter().copied()
    }

    pub fn clear(&mut self) {
        self.of_slot.0.clear();
        self.in_order.0.clear();
    }
}

impl Pairs {
    /// Adds a pair whose first number is new.
    fn insert(&mut self, first: u64, second: u64) {
        let index = self.0.partition_point(|pair| pair.0 < first);
        self.0.insert(index, (first, second));
    }

    /// Removes the pair with this first number; returns the second.
    fn remove(&mut self, first: u64) -> Option<u64> {
        let index = self.0.binary_search_by_key(&first, |pair| pair.0).ok()?;
        self.0.remove(index).map(|pair| pair.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_the_set_of_their_numbers(
            steps in prop::collection::vec((0u64..60, 0u64..12, 0u64..8), 1..40), from in 0u64..70, len in 0u64..70,
        ) {
            let (mut arrived, mut set, mut front) = (Arrived::default(), BTreeSet::new(), 0);
            for (start, length, leave) in steps {
                let start = front + start;
                let (range, mut new) = (start..start + length, Vec::new());
                arrived.insert(range.clone(), &mut new);
                prop_assert_eq!(new, range.clone().filter(|number| !set.contains(number)).collect::<Vec<_>>());
                set.extend(range);
                front += leave / 6;
                arrived.forget_before(front);
                set.retain(|&number| number >= front);
            }
            let range = front + from..front + from + len;
            let mut missing = Vec::new();
            arrived.each_missing(range.clone(), |number| missing.push(number));
            prop_assert_eq!(missing, range.filter(|number| !set.contains(number)).collect::<Vec<_>>());
            let runs: Vec<_> = arrived.runs.iter().collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "{runs:?}");
        }
    }

    #[test]
    fn a_slot_has_its_last_retransmission_only() {
        let mut copies = Copies::default();
        for number in [7, 5, 7] {
            copies.send(number);
        }
        assert_eq!(copies.iter().collect::<Vec<_>>(), [(2, 5), (3, 7)]);
        assert_eq!(copies.remove(6), None);
        assert_eq!(copies.remove(7), Some(3));
        assert_eq!(copies.iter().collect::<Vec<_>>(), [(2, 5)]);
    }
}
