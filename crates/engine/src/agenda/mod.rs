//! Which machine wakes next: one wake-up per machine, set again and never cancelled.
//!
//! The machines that wake for nearly every packet have a short list of instants, which is looked through. The others
//! have entries in a heap, in a queue while many wake at one interval (then each comes after all before it), or in a
//! list that was sorted at once. Their wake-ups may move *later* for each packet that arrives. So a later wake-up is
//! only noted, and the entry moves when it is the first of all; and the machine that is being woken keeps its entry
//! until it is armed again.

mod entry;
mod heap;
#[cfg(test)]
mod tests;

use units::{Ring, Time};

use self::entry::{Entry, FIRST, NEVER, rank};
use self::heap::Heap;

/// A machine's number in the agenda, in the order of [`Agenda::add`].
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

/// The wake-ups of all machines, ordered by time, then phase, then the order in which the machines were added.
#[derive(Debug)]
pub struct Agenda {
    /// When the machines wake that wake for nearly every packet, `Time::MAX` for never.
    frequent: [Time; MOST_FREQUENT],
    /// How many machines wake often: the first machines, all of one phase.
    frequents: usize,
    /// Their phase, as the upper half of a rank.
    frequent_phase: u64,
    /// All machines; of those that wake for nearly every packet only the phase is told here.
    machines: Vec<Machine>,
    /// Entries that were made at one interval before they are due, in order.
    steady: Ring<Entry>,
    /// The entry that came last into the queue, which may have left it.
    steady_end: Entry,
    /// How long before it was due the last entry was made: nanoseconds.
    interval: u64,
    /// Entries that were sorted at once, the first at the end: see [`Agenda::sort`].
    sorted: Vec<Entry>,
    /// The first entry of all, or [`NEVER`], and where it is.
    first: Entry,
    first_is_in: Place,
    /// The other entries. A machine that moved to an earlier time leaves an entry behind: one at another time than
    /// [`Machine::at`].
    heap: Heap,
    /// How many entries are left behind, beside those in force.
    left_behind: usize,
    /// Whether the machine of the first entry was woken last.
    first_is_woken: bool,
    now: Time,
    wakes_now: u32,
    wakes_limit: u32,
}

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Steady,
    Sorted,
    Heap,
}

#[derive(Clone, Copy, Debug)]
struct Machine {
    /// The instant for which it is armed; `Time::MAX` for never. It may be later than its entry.
    due: Time,
    /// The time of its entry; `Time::MAX` without one.
    at: Time,
    phase: u8,
}

/// The longest list that is looked through: the two ways of a place, its last hop, and the ground.
const MOST_FREQUENT: usize = 4;
/// So many entries may be left behind, beside half of all; fewer in tests, which come to more.
const MOST_LEFT_BEHIND: usize = if cfg!(test) { 2 } else { 64 };
const DEFAULT_WAKES_LIMIT: u32 = 10_000_000;

impl Default for Agenda {
    fn default() -> Self {
        Agenda {
            frequent: [Time::MAX; MOST_FREQUENT],
            frequents: 0,
            frequent_phase: 0,
            machines: Vec::new(),
            steady: Ring::default(),
            steady_end: FIRST,
            interval: 0,
            sorted: Vec::new(),
            first: NEVER,
            first_is_in: Place::Heap,
            heap: Heap::default(),
            left_behind: 0,
            first_is_woken: false,
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

    /// Adds a machine, not armed. Of wake-ups at the same instant, those of the lower `phase` come first.
    pub fn add(&mut self, phase: u8) -> MachineId {
        self.machines.push(Machine { due: Time::MAX, at: Time::MAX, phase });
        MachineId(self.machines.len() as u32 - 1)
    }

    /// As [`Agenda::add`], of a machine that wakes for nearly every packet. Up to four such machines of one phase are
    /// added before all others; beyond, they are treated as the others.
    pub fn add_frequent(&mut self, phase: u8) -> MachineId {
        let is_first = self.frequents == self.machines.len() && self.frequents < MOST_FREQUENT;
        if is_first && (self.frequents == 0 || self.frequent_phase == rank(phase)) {
            self.frequents += 1;
            self.frequent_phase = rank(phase);
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
        let at = at.max(self.now);
        let number = machine.0 as usize;
        if number < self.frequents {
            self.frequent[number] = at;
            return;
        }
        let m = &mut self.machines[number];
        m.due = at;
        if at < m.at {
            self.enter(number, at);
        }
    }

    /// The instant of the wake-up that was taken last.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Takes the next wake-up at or before `until`; the machine is then not armed. `None` when there is none.
    ///
    /// # Errors
    /// [`Livelock`] when time does not move.
    #[inline]
    pub fn next_until(&mut self, until: Time) -> Result<Option<(Time, MachineId)>, Livelock> {
        if std::mem::take(&mut self.first_is_woken) {
            self.settle();
        }
        loop {
            let frequent = self.first_frequent();
            if frequent < self.first {
                if frequent.at > until || frequent.at == Time::MAX {
                    return Ok(None);
                }
                self.frequent[frequent.machine()] = Time::MAX;
                return self.count(frequent).map(Some);
            }
            let first = self.first;
            if first.at > until || first.at == Time::MAX {
                return Ok(None); // an entry is not moved before its time: how a run is cut moves no entry
            }
            let machine = &mut self.machines[first.machine()];
            if machine.due == first.at {
                machine.due = Time::MAX;
                self.first_is_woken = true;
                return self.count(first).map(Some);
            }
            self.settle();
        }
    }

    /// As [`Agenda::wake_next`], of a machine that wakes for nearly every packet, and takes that wake-up at once if it
    /// is by `until`, after now, and certain to be the next, with no other at the same instant. Returns whether it did;
    /// otherwise [`Agenda::next_until`] is to be asked.
    #[inline]
    pub fn take_alone(&mut self, machine: MachineId, at: Time, until: Time) -> bool {
        let number = machine.0 as usize;
        if number < self.frequents && at > self.now && at <= until && at < self.first.at && !self.first_is_woken {
            self.frequent[number] = Time::MAX;
            if self.frequent.iter().all(|&other| other > at) {
                (self.now, self.wakes_now) = (at, 1);
                return true;
            }
        }
        self.wake_next(machine, at);
        false
    }

    /// Sorts the entries of the heap, which then is empty. For many wake-ups that are known before a run: each would go
    /// through a heap of all.
    pub fn sort(&mut self) {
        self.sorted.extend(self.heap.entries());
        self.sorted.sort_unstable_by(|one, other| other.cmp(one));
        self.heap = Heap::default();
        self.find_first();
    }

    /// The instant for which a machine is armed; [`Time::MAX`] for none.
    #[cfg(test)]
    fn due(&self, machine: MachineId) -> Time {
        let number = machine.0 as usize;
        if number < self.frequents { self.frequent[number] } else { self.machines[number].due }
    }

    /// Returns an instant before which no machine wakes, after [`Agenda::next_until`] gave none: it may be earlier than
    /// the next wake-up. `None` without an entry.
    pub fn quiet_until(&mut self) -> Option<Time> {
        Some(self.first.min(self.first_frequent()).at).filter(|&at| at < Time::MAX)
    }

    #[inline]
    fn count(&mut self, Entry { at, rank }: Entry) -> Result<(Time, MachineId), Livelock> {
        if at > self.now {
            self.now = at;
            self.wakes_now = 0;
        }
        self.wakes_now += 1;
        let machine = MachineId(rank as u32);
        if self.wakes_now > self.wakes_limit {
            return Err(Livelock { at, machine, wakes: self.wakes_limit });
        }
        Ok((at, machine))
    }

    /// The first wake-up of the machines that wake for nearly every packet.
    #[inline]
    fn first_frequent(&self) -> Entry {
        let earlier = |one: (Time, u64), other: (Time, u64)| if other.0 < one.0 { other } else { one };
        let [a, b, c, d] = self.frequent;
        let (at, number) = earlier(earlier((a, 0), (b, 1)), earlier((c, 2), (d, 3)));
        Entry { at, rank: self.frequent_phase | number }
    }

    /// Moves the first entry to the instant for which its machine is armed, or removes it if there is none or another
    /// entry of the machine is in force.
    #[inline(never)]
    fn settle(&mut self) {
        let number = self.first.machine();
        let machine = &mut self.machines[number];
        let due = if machine.at == self.first.at {
            if machine.due == machine.at {
                return;
            }
            machine.at = machine.due;
            machine.due
        } else {
            self.left_behind -= 1;
            Time::MAX
        };
        let entry = Entry::new(due, machine.phase, number);
        let is_steady = due != Time::MAX && self.joins_steady(entry);
        match (self.first_is_in, is_steady) {
            (Place::Steady, true) => self.steady.rotate(entry),
            (Place::Heap, false) if due != Time::MAX => self.heap.replace_first(entry),
            (place, _) => {
                match place {
                    Place::Steady => drop(self.steady.pop_front()),
                    Place::Sorted => drop(self.sorted.pop()),
                    Place::Heap => self.heap.remove_first(),
                }
                if is_steady {
                    self.steady.push_back(entry);
                } else if due != Time::MAX {
                    self.heap.push(entry);
                }
            }
        }
        self.find_first();
    }

    /// Finds the first entry. It may be one left behind, which [`Agenda::next_until`] removes.
    #[inline(always)]
    fn find_first(&mut self) {
        let steady = self.steady.front().unwrap_or(NEVER);
        let top = self.heap.first();
        (self.first, self.first_is_in) = if steady < top { (steady, Place::Steady) } else { (top, Place::Heap) };
        if let Some(&sorted) = self.sorted.last()
            && sorted < self.first
        {
            (self.first, self.first_is_in) = (sorted, Place::Sorted);
        }
    }

    /// Whether an entry joins the end of the queue, which its caller sees to: it is made at the interval of the one
    /// before.
    #[inline]
    fn joins_steady(&mut self, entry: Entry) -> bool {
        let interval = entry.at.as_nanos() - self.now.as_nanos();
        let is_steady = interval == std::mem::replace(&mut self.interval, interval) && self.steady_end < entry;
        if is_steady {
            self.steady_end = entry;
        }
        is_steady
    }

    /// Enters a machine that has no entry, or a later one.
    fn enter(&mut self, machine: usize, at: Time) {
        if self.left_behind > (self.heap.len() + self.steady.len() + self.sorted.len()) / 2 + MOST_LEFT_BEHIND {
            self.forget_left_behind();
        }
        let m = &mut self.machines[machine];
        self.left_behind += usize::from(m.at != Time::MAX);
        m.at = at;
        let entry = Entry::new(at, m.phase, machine);
        let steady = self.joins_steady(entry);
        if steady {
            self.steady.push_back(entry);
        } else {
            self.heap.push(entry);
        }
        if entry < self.first {
            self.first_is_woken = false;
            (self.first, self.first_is_in) = (entry, if steady { Place::Steady } else { Place::Heap });
        }
    }

    /// Removes the entries that machines left behind when they moved to an earlier time.
    #[cold]
    fn forget_left_behind(&mut self) {
        let entries = self.heap.entries().chain(self.steady.iter()).chain(self.sorted.drain(..));
        let mut entries: Vec<Entry> = entries.filter(|entry| self.machines[entry.machine()].at == entry.at).collect();
        entries.sort_unstable();
        entries.dedup();
        self.heap = Heap::of_sorted(&entries);
        self.steady.clear();
        self.steady_end = FIRST;
        self.left_behind = 0;
        self.find_first();
    }
}
