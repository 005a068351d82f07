//! The memory of loss recovery by ns-2's rules, and its choice of lost segments: runs of slots that blocks reported,
//! and retransmissions in flight.

use std::collections::VecDeque;
use std::ops::Range;

use units::Time;

use crate::tcp::SackBlocks;
use crate::tcp::send::scoreboard::Scoreboard;
use crate::tcp::send::scoreboard::slot::{LOST, Slot};

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
    ///
    /// Each of `blocks` lies between SND.UNA and SND.NXT, and in no other.
    pub fn judge(
        &mut self,
        board: &Scoreboard,
        blocks: &SackBlocks,
        distance: u32,
        mut thorough: bool,
        anew: bool,
    ) -> Judged {
        let mut covered = [const { 0..0 }; SackBlocks::MAX];
        let mut count = 0;
        for &(start, end) in blocks.as_slice() {
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
        self.find_lost(board, distance, &answers, end, anew, &mut judged.lost);
        if thorough {
            self.judged = self.forward.saturating_sub(u64::from(distance));
        }
        self.answered = answers.last().map_or(self.answered, |answer| answer.1);
        judged
    }

    /// Does what [`Ns2::judge`] does with the blocks of the acknowledgment before, the first of them longer by a slot
    /// that was sent once: [`Scoreboard::mark_lengthened`] marks it. Returns the slot's number, the slot, and what is
    /// lost; the list of arrivals leaves the slot out. `None` for other blocks, of which nothing is read.
    #[inline(always)]
    pub fn judge_lengthened(
        &mut self,
        board: &mut Scoreboard,
        blocks: &SackBlocks,
        distance: u32,
        anew: bool,
    ) -> Option<(u64, Slot, Judged)> {
        // The slot follows the highest that a block reported, which is still in a run.
        let last = self.arrived.runs.back_mut().filter(|run| run.end == self.forward)?;
        if board.high_sacked() != self.forward {
            return None;
        }
        let (number, slot) = board.mark_lengthened(blocks)?;
        last.end += 1;
        self.forward += 1;
        let mut judged = std::mem::take(&mut self.lists);
        self.find_lost(board, distance, &[], self.forward, anew, &mut judged.lost);
        self.judged = self.forward.saturating_sub(u64::from(distance));
        Some((number, slot, judged))
    }

    /// Adds slots before `end` that are lost, in their order.
    #[inline(always)]
    fn find_lost(
        &mut self,
        board: &Scoreboard,
        distance: u32,
        answers: &[(u64, u64)],
        end: u64,
        anew: bool,
        lost: &mut Vec<u64>,
    ) {
        self.find_overtaken_copies(board, distance, answers, end, lost);
        self.find_newly_overtaken(board, distance, end, anew, lost);
        if !lost.is_empty() {
            lost.sort_unstable();
            for &number in &*lost {
                self.copies.remove(number);
            }
        }
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
    #[inline(always)]
    fn find_overtaken_copies(
        &self,
        board: &Scoreboard,
        distance: u32,
        answers: &[(u64, u64)],
        end: u64,
        lost: &mut Vec<u64>,
    ) {
        let best = answers.iter().fold(self.answered, |best, answer| best.max(answer.1));
        // If the oldest is in flight and not overtaken, none is.
        let Some((copy, number)) = self.copies.oldest() else { return };
        let slot = board.get(number);
        let first = slot.is_in_flight_again() && !self.has_overtaken(slot) && copy + u64::from(distance) >= best;
        if !first {
            self.find_each_overtaken_copy(best, board, distance, answers, end, lost);
        }
    }

    /// Goes through all retransmissions for [`Ns2::find_overtaken_copies`]. `best` is the latest that was answered.
    #[inline(never)]
    fn find_each_overtaken_copy(
        &self,
        best: u64,
        board: &Scoreboard,
        distance: u32,
        answers: &[(u64, u64)],
        end: u64,
        lost: &mut Vec<u64>,
    ) {
        for (copy, number) in self.copies.iter() {
            let slot = board.get(number);
            if !slot.is_in_flight_again() {
                continue;
            }
            let overtaken = self.has_overtaken(slot);
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

    /// Whether something sent for the first time after a retransmission has arrived.
    #[inline(always)]
    fn has_overtaken(&self, copy: &Slot) -> bool {
        (self.forward as u32).wrapping_sub(copy.then) as i32 > 0
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
    #[inline]
    pub fn each_missing(&self, range: Range<u64>, act: impl FnMut(u64)) {
        let all = |run: &Range<u64>| run.start <= range.start && range.end <= run.end;
        if !(range.is_empty() || self.runs.back().is_some_and(all)) {
            self.each_missing_between(range, act);
        }
    }

    #[inline(never)]
    fn each_missing_between(&self, range: Range<u64>, mut act: impl FnMut(u64)) {
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

    /// The oldest retransmission, and its slot.
    #[inline]
    pub fn oldest(&self) -> Option<(u64, u64)> {
        self.in_order.0.front().copied()
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
    use crate::tcp::send::scoreboard::Order;
    use crate::tcp::send::scoreboard::slot::RETRANSMITTED;

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

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Send(u64),
        /// So many of the segments that wait for it are retransmitted.
        Retransmit(u64),
        /// So many segments more are acknowledged.
        Acknowledge(u64),
        /// The first block is longer by so many segments.
        Lengthen(u64),
        TimeOut,
        /// A recovery ends.
        Forget,
        /// Another first block, which begins so many segments behind the highest that has arrived, of so many half
        /// segments.
        Begin(u64, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (1u64..6).prop_map(Step::Send),
            2 => (1u64..3).prop_map(Step::Retransmit),
            1 => (0u64..4).prop_map(Step::Acknowledge),
            1 => prop_oneof![Just(Step::TimeOut), Just(Step::Forget)],
            8 => prop_oneof![4 => Just(1u64), 1 => 0u64..4].prop_map(Step::Lengthen),
            2 => (0u64..4, prop_oneof![3 => Just(2u64), 1 => 1u64..4]).prop_map(|(gap, half)| Step::Begin(gap, half)),
        ];
        prop::collection::vec(step, 1..120)
    }

    fn send(board: &mut Scoreboard) {
        board.send(Time::ZERO, 100, false, 0);
    }

    /// Does a step. Returns whether all that was sent is to be looked at again.
    fn apply(step: Step, board: &mut Scoreboard, ns2: &mut Ns2, blocks: &mut Vec<(u64, u64)>) -> bool {
        let mut thorough = false;
        match step {
            Step::Send(count) => (0..count).for_each(|_| send(board)),
            Step::Retransmit(count) => {
                for _ in 0..count {
                    let Some(number) = board.next_lost() else { break };
                    board.retransmit(Time::ZERO, number, 0, false);
                    ns2.on_retransmission(number, board.in_flight());
                }
            }
            Step::TimeOut => {
                for number in board.numbers() {
                    board.mark_lost(number);
                }
                board.restart();
                ns2.on_timeout();
            }
            Step::Forget => {
                board.forget_sacked();
                board.unmark_lost();
                for number in board.numbers() {
                    if board.get(number).is(RETRANSMITTED) {
                        board.forget_retransmission(number);
                    }
                }
                ns2.forget();
            }
            Step::Acknowledge(count) => {
                board.move_una((board.una() + 100 * count).min(board.nxt()));
                while let Some((number, slot)) = board.acknowledged() {
                    let answered = ns2.copies.remove(number).filter(|&copy| copy > ns2.answered);
                    (ns2.answered, thorough) = (answered.unwrap_or(ns2.answered), thorough | answered.is_some());
                    board.pop_front(&slot);
                }
                thorough &= board.outstanding();
                blocks.retain(|block| block.0 > board.una());
            }
            Step::Lengthen(count) => {
                if let Some(first) = blocks.first_mut() {
                    first.1 = (first.1 + 100 * count).min(board.nxt());
                }
            }
            Step::Begin(count, halves) => {
                let start = blocks.iter().map(|block| block.1).max().unwrap_or(board.una()) + 100 * (count + 1);
                let end = start + 50 * halves;
                if end <= board.nxt() {
                    blocks.insert(0, (start, end));
                    blocks.truncate(3);
                }
            }
        }
        thorough
    }

    /// What is lost after each step, and the memory; blocks longer by a segment are read by the short way if `shortly`.
    /// Also how often that was taken.
    fn judged_after(steps: &[Step], anew: bool, shortly: bool) -> (Vec<String>, u32) {
        let (mut board, mut ns2) = (Scoreboard::new(1, 100, Order::Unknown, false), Ns2::default());
        let (mut blocks, mut after, mut taken) = (Vec::new(), Vec::new(), 0);
        (0..8).for_each(|_| send(&mut board));
        for &step in steps {
            let thorough = apply(step, &mut board, &mut ns2, &mut blocks);
            let given: SackBlocks = blocks.iter().copied().collect();
            if shortly && let Some((number, _, judged)) = ns2.judge_lengthened(&mut board, &given, 3, anew) {
                judged.lost.iter().for_each(|&number| _ = board.mark_lost(number));
                after.push(format!("{:?} {:?}", [number], judged.lost));
                ns2.give_back(judged);
                taken += 1;
            } else {
                let [given, _] = board.keep_blocks(&given);
                let judged = ns2.judge(&board, &given, 3, thorough, anew);
                judged.lost.iter().for_each(|&number| _ = board.mark_lost(number));
                judged.arrived.iter().for_each(|&number| board.mark_sacked(number));
                after.push(format!("{:?} {:?}", judged.arrived, judged.lost));
                ns2.give_back(judged);
            }
            ns2.arrived.forget_before(board.front_number());
            board.check(false);
            check_overtaken(&mut ns2, &board);
            let (counts, high, slots) = (board.counts(), board.high_sacked(), board.slots.iter().collect::<Vec<_>>());
            after.push(format!("{ns2:?} {counts:?} {high} {slots:?}"));
        }
        (after, taken)
    }

    /// The oldest retransmission tells whether others are overtaken, had more arrived or been answered.
    fn check_overtaken(ns2: &mut Ns2, board: &Scoreboard) {
        let (forward, answered) = (ns2.forward, ns2.answered);
        for (farther, later) in [(0, 0), (9, 0), (0, 9), (3, 3)] {
            (ns2.forward, ns2.answered) = (forward + farther, answered + later);
            let [mut found, mut all] = [const { Vec::new() }; 2];
            ns2.find_overtaken_copies(board, 3, &[], u64::MAX, &mut found);
            ns2.find_each_overtaken_copy(ns2.answered, board, 3, &[], u64::MAX, &mut all);
            assert_eq!(found, all, "{farther} farther, {later} later");
        }
        (ns2.forward, ns2.answered) = (forward, answered);
    }

    proptest! {
        /// A block longer by a segment is judged as any blocks are.
        #[test]
        fn a_block_longer_by_a_segment_is_judged_as_any(steps in steps(), anew: bool) {
            let (short, general) = (judged_after(&steps, anew, true).0, judged_after(&steps, anew, false).0);
            for (step, (short, general)) in short.iter().zip(&general).enumerate() {
                prop_assert_eq!(short, general, "step {}", step / 2);
            }
        }
    }

    /// The short way is taken.
    #[test]
    fn a_block_longer_by_a_segment_is_judged_by_itself() {
        let steps = [Step::Begin(0, 2), Step::Lengthen(1), Step::Lengthen(1), Step::Lengthen(2), Step::Lengthen(1)];
        assert_eq!(judged_after(&steps, false, true).1, 3);
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
