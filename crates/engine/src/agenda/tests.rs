use proptest::prelude::*;

use super::*;

fn at(nanos: u64) -> Option<Time> {
    Some(Time::from_nanos(nanos))
}

fn drain(agenda: &mut Agenda) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| agenda.next_until(Time::MAX).unwrap()).map(|(t, m)| (t.as_nanos(), m.0)).collect()
}

#[test]
fn wakes_by_time_then_phase_then_order_of_adding() {
    let mut agenda = Agenda::default();
    let late = agenda.add(1);
    let [a, b, c] = [agenda.add(0), agenda.add(0), agenda.add(0)];
    agenda.wake_at(late, at(5));
    agenda.wake_at(c, at(5));
    agenda.wake_at(b, at(5));
    agenda.wake_at(a, at(3));
    assert_eq!(drain(&mut agenda), [(3, 1), (5, 2), (5, 3), (5, 0)]);
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
fn a_machine_is_taken_at_once_only_where_no_other_is_due() {
    let mut agenda = Agenda::default();
    let [a, b, timer] = [agenda.add_frequent(0), agenda.add_frequent(0), agenda.add(1)];
    for (machine, nanos) in [(a, 3), (b, 7), (timer, 5)] {
        agenda.wake_at(machine, at(nanos));
    }
    let end = Time::from_nanos(9);
    let mut take = |machine, nanos, until| agenda.take_alone(machine, Time::from_nanos(nanos), until);
    assert!(!take(b, 7, end) && !take(timer, 5, end) && !take(a, 3, Time::from_nanos(2)));
    assert!(take(a, 3, end));
    assert_eq!(drain(&mut agenda), [(5, 2), (7, 1)]);
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

const MACHINES: u32 = 16;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Arms a machine so much later than now, at the end of time, or not at all.
    Wake(u32, Delay),
    /// Arms the machine that was woken last.
    Rearm(Delay),
    /// Takes the next wake-up, at most so much later than now.
    Next(u64),
    /// The same if it is that of this machine alone.
    Alone(u32, u64),
    /// Sorts all entries of the heap.
    Sort,
}

#[derive(Clone, Copy, Debug)]
enum Delay {
    After(u64),
    Max,
    Never,
}

impl Delay {
    fn from(self, now: Time) -> Option<Time> {
        match self {
            Delay::After(nanos) => at(now.as_nanos() + nanos),
            Delay::Max => Some(Time::MAX),
            Delay::Never => None,
        }
    }
}

fn delays() -> impl Strategy<Value = Delay> {
    // Short ones, so that many fall on one instant.
    prop_oneof![8 => (0u64..6).prop_map(Delay::After), 4 => (0u64..500).prop_map(Delay::After), 2 => Just(Delay::Never),
        1 => Just(Delay::Max)]
}

fn horizons() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), 0u64..100]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..MACHINES, delays()).prop_map(|(machine, delay)| Step::Wake(machine, delay)),
        2 => delays().prop_map(Step::Rearm),
        3 => horizons().prop_map(Step::Next),
        1 => (0..4u32, horizons()).prop_map(|(machine, horizon)| Step::Alone(machine, horizon)),
        1 => Just(Step::Sort),
    ];
    prop::collection::vec(step, 1..400)
}

/// The same by looking at all machines each time.
#[derive(Default)]
struct Reference {
    /// When each machine wakes, and its phase.
    machines: Vec<(Option<Time>, u8)>,
    now: Time,
}

impl Reference {
    fn wake_at(&mut self, machine: u32, at: Option<Time>) {
        self.machines[machine as usize].0 = at.map(|at| at.max(self.now)).filter(|&at| at < Time::MAX);
    }

    fn next_until(&mut self, until: Time) -> Option<(Time, MachineId)> {
        let armed = (0..).zip(&self.machines).filter_map(|(number, &(at, phase))| Some((at?, phase, number)));
        let (at, _, number) = armed.min().filter(|&(at, ..)| at <= until)?;
        self.machines[number as usize].0 = None;
        self.now = at;
        Some((at, MachineId(number)))
    }
}

proptest! {
    /// Also in the order of machines that wake at one instant, wherever the entries are.
    #[test]
    fn agrees_with_a_look_at_all_machines(
        steps in steps(), phases in prop::collection::vec(0u8..3, MACHINES as usize), frequent in 0usize..12,
        one_phase in any::<bool>(),
    ) {
        let (mut agenda, mut reference) = (Agenda::default(), Reference::default());
        for (number, &phase) in phases.iter().enumerate() {
            let phase = if one_phase && number < frequent { phases[0] } else { phase };
            let added = if number < frequent { agenda.add_frequent(phase) } else { agenda.add(phase) };
            prop_assert_eq!(added, MachineId(number as u32));
            reference.machines.push((None, phase));
        }
        let (mut now, mut woken) = (Time::ZERO, 0);
        for step in steps {
            match step {
                Step::Wake(machine, delay) => {
                    agenda.wake_at(MachineId(machine), delay.from(now));
                    reference.wake_at(machine, delay.from(now));
                }
                Step::Sort => agenda.sort(),
                Step::Rearm(delay) => {
                    agenda.wake_at(MachineId(woken), delay.from(now));
                    reference.wake_at(woken, delay.from(now));
                }
                Step::Next(horizon) => {
                    let until = Time::from_nanos(now.as_nanos().saturating_add(horizon));
                    let next = agenda.next_until(until).unwrap();
                    prop_assert_eq!(next, reference.next_until(until));
                    if let Some((at, MachineId(machine))) = next {
                        (now, woken) = (at, machine);
                    }
                }
                Step::Alone(machine, horizon) => {
                    let until = Time::from_nanos(now.as_nanos().saturating_add(horizon));
                    let at = agenda.due(MachineId(machine));
                    if agenda.take_alone(MachineId(machine), at, until) {
                        prop_assert_eq!(reference.next_until(until), Some((at, MachineId(machine))));
                        (now, woken) = (at, machine);
                    }
                }
            }
            for (number, &(due, _)) in (0..).zip(&reference.machines) {
                prop_assert_eq!(agenda.due(MachineId(number)), due.unwrap_or(Time::MAX));
            }
            let entries = agenda.heap.len() + agenda.steady.len() + agenda.sorted.len();
            prop_assert!(entries <= 3 * MACHINES as usize, "{entries} entries");
        }
        prop_assert_eq!(drain(&mut agenda), std::iter::from_fn(|| reference.next_until(Time::MAX))
            .map(|(t, m)| (t.as_nanos(), m.0)).collect::<Vec<_>>());
    }
}

#[test]
fn machines_that_move_to_earlier_times_leave_nothing_behind_for_long() {
    let mut agenda = Agenda::default();
    let machines: Vec<_> = (0..10).map(|_| agenda.add(0)).collect();
    for (nanos, &machine) in (0..10_000).rev().zip(machines.iter().cycle()) {
        agenda.wake_at(machine, at(nanos));
        assert!(agenda.heap.len() <= 30, "{} entries", agenda.heap.len());
    }
    assert_eq!(drain(&mut agenda), std::array::from_fn::<_, 10, _>(|n| (n as u64, 9 - n as u32)));
}

#[test]
fn a_machine_that_is_not_armed_costs_24_bytes_and_an_entry_16() {
    assert_eq!((size_of::<Machine>(), size_of::<Entry>()), (24, 16));
}
