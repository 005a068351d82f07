//! The memory of loss recovery by ns-2's rules, and its choice of lost segments: runs of slots that blocks reported,
//! and retransmissions in flight.

use std::collections::VecDeque;
use std::ops::Range;

use units::Time;

use super::scoreboard::Scoreboard;
use super::slot::LOST;
use crate::tcp::SackBlocks;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ns2 {
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
}

/// Slots that an acknowledgment newly shows as arrived or lost, in their order.
#[derive(Debug, Default)]
pub(super) struct Judged {
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
        let valid = blocks.as_slice().iter().filter(|block| block.0 >= board.una() && block.1 <= board.nxt());
        let mut covered: Vec<_> = valid.map(|&(start, end)| board.within(start, end)).collect();
        covered.sort_unstable_by_key(|range| range.start);
        let last = covered.last().map_or(0, |range| range.end);
        if last > self.forward {
            self.forward = last;
            thorough = true;
        }
        if !thorough && last == 0 {
            return Judged::default();
        }
        self.arrived.forget_before(board.front_number());
        let mut arrived = Vec::new();
        for range in covered {
            arrived.extend(self.arrived.missing(range.clone()));
            self.arrived.insert(range);
        }
        // Each retransmission that a block answers: from its slot on, and for what was retransmitted before it.
        let mut answers = Vec::new();
        for &number in &arrived {
            let copy = self.copies.remove(number).unwrap_or(0);
            if board.get(number).is_on_its_way_again() {
                answers.push((number, copy));
            }
        }
        thorough |= !answers.is_empty();
        let end = if thorough { self.forward } else { (last + 1).min(self.forward) * u64::from(last > 0) };
        let mut lost = self.overtaken_copies(board, distance, &answers, end);
        lost.extend(self.newly_overtaken(board, distance, end, anew));
        lost.sort_unstable();
        for &number in &lost {
            self.copies.remove(number);
        }
        if thorough {
            self.judged = self.forward.saturating_sub(u64::from(distance));
        }
        self.answered = answers.last().map_or(self.answered, |answer| answer.1);
        Judged { arrived, lost }
    }

    /// Retransmissions before `end` that are lost: something sent for the first time after one has arrived, or one so
    /// many later is answered. `answers` has what is answered from which slot on; before the first, it is what was
    /// answered last.
    fn overtaken_copies(&self, board: &Scoreboard, distance: u32, answers: &[(u64, u64)], end: u64) -> Vec<u64> {
        let best = answers.iter().fold(self.answered, |best, answer| best.max(answer.1));
        let mut lost = Vec::new();
        for (copy, number) in self.copies.iter() {
            let slot = board.get(number);
            if !slot.is_on_its_way_again() {
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
        lost
    }

    /// Slots before `end` that were sent once, are not taken for lost, and have one so many beyond them that arrived;
    /// if `anew`, one beyond them is enough.
    fn newly_overtaken(&self, board: &Scoreboard, distance: u32, end: u64, anew: bool) -> impl Iterator<Item = u64> {
        let front = board.front_number();
        let range = if anew {
            front..end
        } else {
            self.judged.max(front)..end.min(self.forward.saturating_sub(u64::from(distance)))
        };
        self.arrived.missing(range).filter(|&number| !board.get(number).is(LOST))
    }

    pub fn forget(&mut self) {
        (self.forward, self.judged, self.answered, self.ceiling) = (0, 0, 0, 0);
        self.arrived.clear();
        self.copies.clear();
    }
}

/// Numbers of slots, as runs in their order, with gaps between them.
#[derive(Debug, Default)]
pub(super) struct Arrived {
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

    /// Adds `range`.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // The runs that it touches become one with it.
        let first = self.runs.partition_point(|run| run.end < range.start);
        let touched = first..self.runs.partition_point(|run| run.start <= range.end);
        if touched.is_empty() {
            return self.runs.insert(first, range);
        }
        let end = self.runs[touched.end - 1].end.max(range.end);
        let run = &mut self.runs[first];
        *run = run.start.min(range.start)..end;
        self.runs.drain(first + 1..touched.end);
    }

    /// The numbers of `range` that are in no run, in order.
    pub fn missing(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let starts = std::iter::once(range.start).chain(self.runs.range(first..).map(|run| run.end));
        let ends = self.runs.range(first..).map(|run| run.start).chain(std::iter::once(range.end));
        let gaps = starts.zip(ends).take_while(move |gap| gap.0 < range.end);
        gaps.flat_map(move |(start, end)| start..end.min(range.end))
    }
}

/// Slots that were retransmitted and not answered: which retransmission of the connection it was, counted from 1.
#[derive(Debug, Default)]
pub(super) struct Copies {
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
                arrived.insert(start..start + length);
                set.extend(start..start + length);
                front += leave / 6;
                arrived.forget_before(front);
                set.retain(|&number| number >= front);
            }
            let range = front + from..front + from + len;
            let missing: Vec<u64> = arrived.missing(range.clone()).collect();
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
