//! Who wakes next: one entry per machine, re-armed and never cancelled.
//!
//! A machine's next wake-up mostly moves *later*: a retransmission timer at every acknowledgment. So a later wake-up is only
//! noted, and the entry travels down the heap when it reaches the top; and the machine that is being woken keeps its place
//! until it is armed again. A wake-up costs one walk down a small heap and allocates nothing.

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
    /// How many wake-ups this instant has seen.
    pub wakes: u32,
}

/// The wake-ups of all machines, ordered by time, then phase, then the order in which they were (first) asked for.
#[derive(Debug)]
pub struct Agenda {
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

impl Default for Agenda {
    fn default() -> Self {
        Agenda {
            heap: Vec::new(),
            machines: Vec::new(),
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

    /// Adds a machine, not armed. Of wake-ups at the same instant, those of the lower `phase` come first.
    pub fn add(&mut self, phase: u8) -> MachineId {
        self.machines.push(Machine { due: Time::MAX, position: NOT_IN_HEAP, phase });
        MachineId(self.machines.len() as u32 - 1)
    }

    /// Sets when `machine` wants to be woken; `None` for not at all. A time in the past means now.
    #[inline]
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
    #[inline]
    pub fn next_until(&mut self, until: Time) -> Result<Option<(Time, MachineId)>, Livelock> {
        while let Some(&top) = self.heap.first() {
            let machine = &mut self.machines[top.machine as usize];
            if machine.due == Time::MAX {
                self.remove_top();
            } else if machine.due > top.at {
                let (at, phase) = (machine.due, machine.phase);
                let entry = Entry { at, order: self.next_order(phase), machine: top.machine };
                self.sift_down(0, entry);
            } else if top.at > until {
                return Ok(None);
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

    #[inline]
    fn place(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.machines[entry.machine as usize].position = position as u32;
    }
}

impl Entry {
    /// Time before order, as one number: compared without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Option<Time> {
        Some(Time::from_nanos(nanos))
    }

    fn drain(agenda: &mut Agenda) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| agenda.next_until(Time::MAX).unwrap()).map(|(t, m)| (t.as_nanos(), m.0)).collect()
    }

    #[test]
    fn wakes_by_time_then_phase_then_order_of_asking() {
        let mut agenda = Agenda::default();
        let late = agenda.add(1);
        let [a, b, c] = [agenda.add(0), agenda.add(0), agenda.add(0)];
        agenda.wake_at(late, at(5));
        agenda.wake_at(c, at(5));
        agenda.wake_at(b, at(5));
        agenda.wake_at(a, at(3));
        assert_eq!(drain(&mut agenda), [(3, 1), (5, 3), (5, 2), (5, 0)]);
    }

    #[test]
    fn re_arming_moves_a_wake_up_both_ways_and_none_drops_it() {
        let mut agenda = Agenda::default();
        let [a, b, c] = [agenda.add(0), agenda.add(0), agenda.add(0)];
        for machine in [a, b, c] {
            agenda.wake_at(machine, at(10));
        }
        agenda.wake_at(a, at(20));
        agenda.wake_at(b, at(2));
        agenda.wake_at(c, None);
        assert_eq!(drain(&mut agenda), [(2, 1), (20, 0)]);
        agenda.wake_at(c, at(1)); // the past: now
        assert_eq!(drain(&mut agenda), [(20, 2)]);
    }

    #[test]
    fn stops_at_the_horizon_and_goes_on_later() {
        let mut agenda = Agenda::default();
        let a = agenda.add(0);
        agenda.wake_at(a, at(10));
        assert_eq!(agenda.next_until(Time::from_nanos(9)), Ok(None));
        assert_eq!(agenda.next_until(Time::from_nanos(10)), Ok(Some((Time::from_nanos(10), a))));
    }

    #[test]
    fn machines_that_wake_each_other_for_ever_are_an_error() {
        let mut agenda = Agenda::with_wakes_limit(100);
        let [a, b] = [agenda.add(0), agenda.add(0)];
        agenda.wake_at(a, at(7));
        let livelock = loop {
            match agenda.next_until(Time::MAX) {
                Ok(Some((now, woken))) => agenda.wake_at(if woken == a { b } else { a }, Some(now)),
                Ok(None) => panic!("the machines never stop"),
                Err(livelock) => break livelock,
            }
        };
        assert_eq!((livelock.at, livelock.wakes), (Time::from_nanos(7), 100));
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0u32..8, 0u64..50, any::<bool>()), 1..200)) {
            let mut agenda = Agenda::default();
            let machines: Vec<_> = (0..8).map(|_| agenda.add(0)).collect();
            let mut due = [None; 8];
            let mut now = 0;
            for (machine, delay, pop) in steps {
                if pop {
                    let expected = due.iter().flatten().min().copied();
                    let woken = agenda.next_until(Time::MAX).unwrap();
                    prop_assert_eq!(woken.map(|w| w.0.as_nanos()), expected);
                    if let Some((time, machine)) = woken {
                        prop_assert_eq!(due[machine.0 as usize], Some(time.as_nanos()));
                        due[machine.0 as usize] = None;
                        now = time.as_nanos();
                    }
                } else {
                    agenda.wake_at(machines[machine as usize], at(now + delay));
                    due[machine as usize] = Some(now + delay);
                }
            }
        }
    }
}
