//! Which machine wakes next: one entry per machine, re-armed and never cancelled.
//!
//! A machine's next wake-up mostly moves *later*: a retransmission timer at every acknowledgment. So a later wake-up is
//! only noted, and the entry moves when it is the first of all; and the machine that is being woken keeps its entry
//! until it is armed again. The machines that wake for nearly every packet are in a short sorted list; the others are
//! in a heap, or in a queue while many wake at one interval: then each comes after all before it.

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::VecDeque;

use units::Time;

/// A machine's place in the agenda, in the order of [`Agenda::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineId(pub u32);

/// Machines that kept waking each other without time moving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("livelock at {at}: {wakes} wake-ups without time moving, the last of machine {}", machine.0)]
pub struct Livelock {
    /// When time stopped.
    pub at: Time,
    /// The machine that was to be woken next.
    pub machine: MachineId,
    /// The number of wake-ups at this instant.
    pub wakes: u32,
}

/// The wake-ups of all machines, ordered by time, then phase, then the order in which they were (first) asked for.
#[derive(Debug)]
pub struct Agenda {
    machines: Vec<Machine>,
    /// The number of machines that wake for nearly every packet; they are the first.
    frequent: usize,
    /// Their entries, the first to wake at the end.
    front: Vec<Entry>,
    /// Entries of other machines that were made at one interval before they are due, in order.
    steady: VecDeque<Entry>,
    /// How long before it was due the last entry of other machines was made: nanoseconds.
    interval: u64,
    /// The first entry in `steady` and `heap`, or [`NEVER`], and whether it is the first in `steady`.
    other: Entry,
    other_is_steady: bool,
    /// The other entries of the other machines, a heap with four children to a node. A machine that moved to an
    /// earlier time leaves an entry behind, told by its order.
    heap: Vec<Entry>,
    left_behind: usize,
    /// The machine that was woken last, while no other entry is before its own.
    woken: Option<MachineId>,
    sequence: u32,
    now: Time,
    wakes_now: u32,
    wakes_limit: u32,
}

/// Ordered by time, then order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Time,
    /// [`Machine::order`] above the machine's number.
    rest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Machine {
    /// The instant for which it is armed; `Time::MAX` for never. It may be later than its entry.
    due: Time,
    /// The time of its entry; `Time::MAX` without one.
    at: Time,
    /// The phase in the upper 4 bits, below them the entry's place in the order of asking.
    order: u32,
}

const SEQUENCE_BITS: u32 = 28;
const LAST_SEQUENCE: u32 = (1 << SEQUENCE_BITS) - 1;
/// Children of a node of the heap.
const ARITY: usize = 4;
/// After all entries.
const NEVER: Entry = Entry { at: Time::MAX, rest: u64::MAX };
/// The longest sorted list: beyond, a heap is faster.
const MOST_FREQUENT: usize = 16;
const DEFAULT_WAKES_LIMIT: u32 = 10_000_000;

impl Default for Agenda {
    fn default() -> Self {
        Agenda {
            machines: Vec::new(),
            frequent: 0,
            front: Vec::new(),
            steady: VecDeque::new(),
            interval: 0,
            other: NEVER,
            other_is_steady: false,
            heap: Vec::new(),
            left_behind: 0,
            woken: None,
            sequence: 0,
            now: Time::ZERO,
            wakes_now: 0,
            wakes_limit: DEFAULT_WAKES_LIMIT,
        }
    }
}

impl Agenda {
    /// An agenda that calls it a livelock when `limit` wake-ups fall on one instant.
    pub fn with_wakes_limit(limit: u32) -> Agenda {
        Agenda { wakes_limit: limit, ..Agenda::default() }
    }

    /// Adds a machine, not armed. Of wake-ups at the same instant, those of the lower `phase` (0 to 15) come first.
    pub fn add(&mut self, phase: u8) -> MachineId {
        assert!(phase < 16, "phase {phase}");
        self.machines.push(Machine { due: Time::MAX, at: Time::MAX, order: u32::from(phase) << SEQUENCE_BITS });
        MachineId(self.machines.len() as u32 - 1)
    }

    /// As [`Agenda::add`], of a machine that wakes for nearly every packet. Such machines are added before all others;
    /// beyond sixteen they are treated as the others.
    pub fn add_frequent(&mut self, phase: u8) -> MachineId {
        if self.frequent == self.machines.len() && self.frequent < MOST_FREQUENT {
            self.frequent += 1;
        }
        self.add(phase)
    }

    /// Arms `machine` for an instant; `None` disarms it. A time in the past means now.
    #[inline]
    pub fn wake_at(&mut self, machine: MachineId, at: Option<Time>) {
        self.wake_next(machine, at.unwrap_or(Time::MAX));
    }

    /// As [`Agenda::wake_at`]; [`Time::MAX`] disarms it.
    #[inline]
    pub fn wake_next(&mut self, machine: MachineId, at: Time) {
        let m = &mut self.machines[machine.0 as usize];
        let at = at.max(self.now);
        m.due = at;
        if at < m.at {
            self.enter(machine, at);
        }
    }

    /// Takes the next wake-up at or before `until`; the machine is then not armed. `None` when there is none.
    ///
    /// # Errors
    /// [`Livelock`] when time does not move.
    #[inline]
    pub fn next_until(&mut self, until: Time) -> Result<Option<(Time, MachineId)>, Livelock> {
        let mut unsettled = self.woken.take();
        loop {
            if let Some(MachineId(machine)) = unsettled {
                self.settle(machine as usize);
            }
            let first = self.first();
            if first.at > until || first.at == Time::MAX {
                return Ok(None); // an entry is not moved before its time: how a run is cut moves no entry
            }
            let (number, machine) = (MachineId(first.machine() as u32), &mut self.machines[first.machine()]);
            if machine.due == first.at {
                machine.due = Time::MAX;
                return self.count(first.at, number).map(Some);
            }
            unsettled = Some(number);
        }
    }

    /// No machine wakes before this instant, after [`Agenda::next_until`] gave none; `None` if none is armed.
    pub fn quiet_until(&mut self) -> Option<Time> {
        Some(self.first().at).filter(|&at| at < Time::MAX)
    }

    #[inline]
    fn count(&mut self, at: Time, machine: MachineId) -> Result<(Time, MachineId), Livelock> {
        if at > self.now {
            self.now = at;
            self.wakes_now = 0;
        }
        self.wakes_now += 1;
        if self.wakes_now > self.wakes_limit {
            return Err(Livelock { at, machine, wakes: self.wakes_limit });
        }
        self.woken = Some(machine);
        Ok((at, machine))
    }

    /// The entry before all others, or [`NEVER`].
    #[inline]
    fn first(&self) -> Entry {
        match self.front.last() {
            Some(&front) if front < self.other => front,
            _ => self.other,
        }
    }

    /// Finds the first entry of the machines that wake less often.
    #[inline]
    fn find_other(&mut self) {
        if self.left_behind > 0 {
            return self.find_other_in_force();
        }
        let first = |entry: Option<&Entry>| entry.copied().unwrap_or(NEVER);
        let (steady, top) = (first(self.steady.front()), first(self.heap.first()));
        self.other_is_steady = steady < top;
        self.other = if self.other_is_steady { steady } else { top };
    }

    /// The same where machines have left entries behind.
    #[inline(never)]
    fn find_other_in_force(&mut self) {
        (self.other, self.other_is_steady) = (NEVER, false);
        while let Some(&first) = self.steady.front() {
            if self.is_in_force(first) {
                (self.other, self.other_is_steady) = (first, true);
                break;
            }
            self.left_behind -= 1;
            self.steady.pop_front();
        }
        while let Some(&top) = self.heap.first()
            && top < self.other
        {
            if self.is_in_force(top) {
                (self.other, self.other_is_steady) = (top, false);
                break;
            }
            self.left_behind -= 1;
            self.remove_top();
        }
    }

    /// Whether an entry was not left behind by its machine.
    #[inline]
    fn is_in_force(&self, entry: Entry) -> bool {
        self.machines[entry.machine()].order == entry.order()
    }

    /// Moves the first entry of all, that of `machine`, to the instant for which it is armed, or removes it.
    #[inline(always)]
    fn settle(&mut self, machine: usize) {
        let Machine { due, at, .. } = self.machines[machine];
        if due == at {
            return;
        }
        if machine >= self.frequent {
            self.settle_other(machine, due);
        } else if due != Time::MAX {
            let entry = self.next_entry(machine, due);
            self.insert_front(self.front.len() - 1, entry);
        } else {
            self.front.pop();
            self.machines[machine].forget_entry();
        }
    }

    #[inline(never)]
    fn settle_other(&mut self, machine: usize, due: Time) {
        let was_steady = self.other_is_steady;
        if was_steady {
            self.steady.pop_front();
        }
        if due == Time::MAX {
            self.machines[machine].forget_entry();
            if !was_steady {
                self.remove_top();
            }
            return self.find_other();
        }
        let entry = self.next_entry(machine, due);
        match (was_steady, self.is_steady(entry)) {
            (true, true) => self.steady.push_back(entry),
            (true, false) => self.push_heap(entry),
            (false, true) => {
                self.remove_top();
                self.steady.push_back(entry);
            }
            (false, false) => self.sift_down(0, entry),
        }
        self.find_other();
    }

    /// Whether an entry belongs at the end of the queue: made at the interval of the one before.
    #[inline]
    fn is_steady(&mut self, entry: Entry) -> bool {
        let interval = entry.at.as_nanos() - self.now.as_nanos();
        interval == std::mem::replace(&mut self.interval, interval)
            && self.steady.back().is_none_or(|last| *last < entry)
    }

    /// Enters a machine that has no entry, or a later one.
    fn enter(&mut self, MachineId(machine): MachineId, at: Time) {
        let machine = machine as usize;
        if at == self.now {
            self.woken = None;
        }
        let had_entry = self.machines[machine].at != Time::MAX;
        let entry = self.next_entry(machine, at);
        if machine < self.frequent {
            self.front.retain(|other| other.machine() != machine);
            self.front.push(entry);
            self.insert_front(self.front.len() - 1, entry);
            return;
        }
        self.left_behind += usize::from(had_entry);
        if self.left_behind > (self.heap.len() + self.steady.len()) / 2 + 64 {
            self.forget_left_behind();
        }
        let steady = self.is_steady(entry);
        if steady {
            self.steady.push_back(entry);
        } else {
            self.push_heap(entry);
        }
        if entry < self.other {
            (self.other, self.other_is_steady) = (entry, steady);
        }
    }

    fn push_heap(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
    }

    /// Places `entry` among those before `hole`.
    #[inline]
    fn insert_front(&mut self, hole: usize, entry: Entry) {
        let front = &mut self.front[..=hole];
        let mut hole = hole;
        while let Some(before) = hole.checked_sub(1)
            && front[before] < entry
        {
            front[hole] = front[before];
            hole = before;
        }
        front[hole] = entry;
    }

    /// The next place in the order of asking, which is given to the machine.
    #[inline(always)]
    fn next_entry(&mut self, machine: usize, at: Time) -> Entry {
        if self.sequence == LAST_SEQUENCE {
            self.renumber();
        }
        self.sequence += 1;
        let m = &mut self.machines[machine];
        m.order = m.order & !LAST_SEQUENCE | self.sequence;
        m.at = at;
        Entry { at, rest: u64::from(m.order) << 32 | machine as u64 }
    }

    /// Numbers the entries anew from 1, and keeps their order of asking.
    #[cold]
    fn renumber(&mut self) {
        self.forget_left_behind();
        let mut entered: Vec<u32> = (0..self.machines.len() as u32).collect();
        entered.retain(|&machine| self.machines[machine as usize].order & LAST_SEQUENCE != 0);
        entered.sort_unstable_by_key(|&machine| self.machines[machine as usize].order & LAST_SEQUENCE);
        self.sequence = 0;
        for machine in entered {
            self.sequence += 1;
            let order = &mut self.machines[machine as usize].order;
            *order = *order & !LAST_SEQUENCE | self.sequence;
        }
        for entry in self.front.iter_mut().chain(&mut self.steady).chain(&mut self.heap) {
            let order = self.machines[entry.machine()].order;
            entry.rest = u64::from(order) << 32 | entry.machine() as u64;
        }
        self.find_other();
    }

    /// Removes the entries that machines left behind when they moved to an earlier time.
    #[cold]
    fn forget_left_behind(&mut self) {
        self.steady.retain(|entry| self.machines[entry.machine()].order == entry.order());
        self.heap.retain(|entry| self.machines[entry.machine()].order == entry.order());
        self.heap.sort_unstable(); // a sorted list is a heap
        self.left_behind = 0;
    }

    fn remove_top(&mut self) {
        let last = self.heap.pop().expect("the heap is not empty");
        if !self.heap.is_empty() {
            self.sift_down(0, last);
        }
    }

    fn sift_up(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    fn sift_down(&mut self, mut hole: usize, entry: Entry) {
        let heap = &mut self.heap[..];
        loop {
            let first = ARITY * hole + 1;
            let Some(children) = heap.get(first..heap.len().min(first + ARITY)) else { break };
            let (child, least) = match children {
                // Nearly always: compared in pairs, so that no comparison waits for the one before.
                &[a, b, c, d] => earlier(earlier((0, a), (1, b)), earlier((2, c), (3, d))),
                &[a, ref others @ ..] => (1..).zip(others.iter().copied()).fold((0, a), earlier),
                [] => break,
            };
            if entry <= least {
                break;
            }
            heap[hole] = least;
            hole = first + child;
        }
        heap[hole] = entry;
    }
}

impl Machine {
    fn forget_entry(&mut self) {
        self.at = Time::MAX;
        self.order &= !LAST_SEQUENCE;
    }
}

/// The child that wakes first, and its place.
#[inline]
fn earlier(one: (usize, Entry), other: (usize, Entry)) -> (usize, Entry) {
    if other.1 < one.1 { other } else { one }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Entry) -> bool {
        self.key() < other.key()
    }

    #[inline]
    fn le(&self, other: &Entry) -> bool {
        self.key() <= other.key()
    }
}

impl Entry {
    /// One number in the order of entries: compared without a branch.
    #[inline]
    fn key(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.rest)
    }

    #[inline]
    fn machine(self) -> usize {
        self.rest as u32 as usize
    }

    #[inline]
    fn order(self) -> u32 {
        (self.rest >> 32) as u32
    }
}
