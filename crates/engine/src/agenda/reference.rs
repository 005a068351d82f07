//! The agenda as one binary heap of all machines, which draws the order of asking at the same moments.

use units::Time;

use super::{Livelock, MachineId};

/// The wake-ups of all machines, ordered by time, then phase, then the order in which they were (first) asked for.
pub struct Reference {
    heap: Vec<Entry>,
    machines: Vec<Machine>,
    sequence: u64,
    now: Time,
    wakes_now: u32,
    wakes_limit: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    /// Phase in the upper 8 bits, sequence below.
    order: u64,
    machine: u32,
}

#[derive(Clone, Copy, Debug)]
struct Machine {
    /// When it wants to wake; `Time::MAX` for never. May be later than its entry in the heap.
    due: Time,
    position: u32,
    phase: u8,
}

const NOT_IN_HEAP: u32 = u32::MAX;
const DEFAULT_WAKES_LIMIT: u32 = 10_000_000;

impl Default for Reference {
    fn default() -> Self {
        Reference {
            heap: Vec::new(),
            machines: Vec::new(),
            sequence: 0,
            now: Time::ZERO,
            wakes_now: 0,
            wakes_limit: DEFAULT_WAKES_LIMIT,
        }
    }
}

impl Reference {
    /// Adds a machine, not armed. Of wake-ups at the same instant, those of the lower `phase` come first.
    pub fn add(&mut self, phase: u8) -> MachineId {
        self.machines.push(Machine { due: Time::MAX, position: NOT_IN_HEAP, phase });
        MachineId(self.machines.len() as u32 - 1)
    }

    /// Sets when `machine` wants to be woken; `None` for not at all. A time in the past means now.
    pub fn wake_at(&mut self, machine: MachineId, at: Option<Time>) {
        let m = &mut self.machines[machine.0 as usize];
        let Some(at) = at else {
            m.due = Time::MAX;
            return;
        };
        let at = at.max(self.now);
        if at == m.due {
            return;
        }
        m.due = at;
        let (position, phase) = (m.position, m.phase);
        if position == NOT_IN_HEAP {
            if at == Time::MAX {
                return;
            }
            let entry = Entry { at, order: self.next_order(phase), machine: machine.0 };
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        } else if at < self.heap[position as usize].at {
            let entry = Entry { at, order: self.next_order(phase), machine: machine.0 };
            self.sift_up(position as usize, entry);
        }
    }

    /// Takes the next wake-up at or before `until`; the machine is then not armed. `None` when there is none.
    ///
    /// # Errors
    /// [`Livelock`] when time does not move.
    pub fn next_until(&mut self, until: Time) -> Result<Option<(Time, MachineId)>, Livelock> {
        while let Some(&top) = self.heap.first() {
            let machine = &mut self.machines[top.machine as usize];
            if top.at > until {
                return Ok(None);
            } else if machine.due == Time::MAX {
                self.remove_top();
            } else if machine.due > top.at {
                let (at, phase) = (machine.due, machine.phase);
                let entry = Entry { at, order: self.next_order(phase), machine: top.machine };
                self.sift_down(0, entry);
            } else {
                machine.due = Time::MAX;
                return self.count(top.at, MachineId(top.machine)).map(Some);
            }
        }
        Ok(None)
    }

    fn count(&mut self, at: Time, machine: MachineId) -> Result<(Time, MachineId), Livelock> {
        if at > self.now {
            self.now = at;
            self.wakes_now = 0;
        }
        self.wakes_now += 1;
        if self.wakes_now > self.wakes_limit {
            return Err(Livelock { at, machine, wakes: self.wakes_limit });
        }
        Ok((at, machine))
    }

    fn next_order(&mut self, phase: u8) -> u64 {
        self.sequence += 1;
        u64::from(phase) << 56 | self.sequence
    }

    fn remove_top(&mut self) {
        self.machines[self.heap[0].machine as usize].position = NOT_IN_HEAP;
        let last = self.heap.pop().expect("the heap is not empty");
        if !self.heap.is_empty() {
            self.sift_down(0, last);
        }
    }

    fn sift_up(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.place(hole, self.heap[parent]);
            hole = parent;
        }
        self.place(hole, entry);
    }

    fn sift_down(&mut self, mut hole: usize, entry: Entry) {
        loop {
            let mut child = 2 * hole + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].key() < self.heap[child].key() {
                child += 1;
            }
            if entry.key() <= self.heap[child].key() {
                break;
            }
            self.place(hole, self.heap[child]);
            hole = child;
        }
        self.place(hole, entry);
    }

    fn place(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.machines[entry.machine as usize].position = position as u32;
    }
}

impl Entry {
    /// Time before order, as one number: compared without a branch.
    fn key(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.order)
    }
}
