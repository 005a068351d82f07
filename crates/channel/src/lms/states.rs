//! The slow part of the model: the user's state, and the parameters of Loo's law in it.

use std::iter::once;

use rand::Rng;
use units::chance::unit_interval;
use units::{higher, lower};

use super::course::Course;
use super::parameters::{FadingState, Loo, ParameterSet};

/// Loo's parameters along a user's course.
pub(crate) trait Track: Send {
    /// Whether the track has come to `metres`, so that [`Track::present`] tells of it. Calls never go back.
    fn has_come(&self, metres: f64) -> bool;

    /// Comes to `metres`, farther than before.
    fn advance(&mut self, metres: f64);

    /// The parameters and the index of the state at `metres`, to which the track has come.
    fn present(&self, metres: f64) -> (Loo, usize);

    /// The parameters and the index of the state at `metres`. Calls never go back.
    #[inline]
    fn at(&mut self, metres: f64) -> (Loo, usize) {
        if !self.has_come(metres) {
            self.advance(metres);
        }
        self.present(metres)
    }

    /// The parameters at `metres`, without the state: [`Track::present`] does not tell of it then. Calls never go back.
    #[inline(always)]
    fn parameters_at(&mut self, metres: f64) -> Loo {
        self.at(metres).0
    }

    /// Starts anew at `metres`, independent of the course before and stationary under the parameters that apply there.
    fn restart(&mut self, metres: f64);
}

/// A Markov chain clocked by distance, with linear transitions.
///
/// The parameters at `x` are the mean of the chain's over `x` ± half a transition length: a linear ramp centred on the
/// border between two states, which remains defined where states are shorter than the transition. Between the positions
/// where a border enters or leaves this window they are linear in `x`.
///
/// Where the elevation leaves the range of a set, the state and its frame continue under the next set, joined by such a
/// ramp; the next step of the chain is the new set's.
pub(crate) struct MarkovTrack {
    course: Course<ParameterSet>,
    /// The leg of the window's last frame, its end and its parameters.
    leg: usize,
    leg_end: f64,
    set: &'static ParameterSet,
    /// The end of the last frame, possibly in a later leg.
    frame_end: f64,
    /// Half a transition, the same for all sets of an environment.
    half: f64,
    /// A leg, and the shares of distance of its set.
    shares_of_distance: (usize, Vec<f64>),
    rng: Box<dyn Rng + Send>,
    window: Window,
    /// The window's centre when `value` was computed, and the distance up to which `slope` applies.
    from: f64,
    until: f64,
    value: Loo,
    slope: Loo,
    /// The state that [`Track::advance`] found last, and the end of its frame; minus infinity after a restart.
    state: usize,
    state_end: f64,
}

/// A stay in a state, or the part of it in a leg.
#[derive(Clone, Copy, Debug)]
struct StateFrame {
    start: f64,
    end: f64,
    /// The state, and its index.
    fading: &'static FadingState,
    state: usize,
}

/// The frames in the window, in order.
#[derive(Debug)]
struct Window {
    first: StateFrame,
    /// Those between the first and the last.
    between: Vec<StateFrame>,
    /// The last frame, which is the first if that is alone.
    last: StateFrame,
    alone: bool,
}

impl Window {
    fn of(frame: StateFrame) -> Window {
        Window { first: frame, between: Vec::new(), last: frame, alone: true }
    }

    fn restart(&mut self, frame: StateFrame) {
        self.between.clear();
        (self.first, self.last, self.alone) = (frame, frame, true);
    }

    fn push(&mut self, frame: StateFrame) {
        if !self.alone {
            self.between.push(self.last);
        }
        (self.last, self.alone) = (frame, false);
    }

    /// Removes the first frame, which is not alone.
    fn remove_first(&mut self) {
        debug_assert!(!self.alone);
        if self.between.is_empty() {
            (self.first, self.alone) = (self.last, true);
        } else {
            self.first = self.between.remove(0);
        }
    }

    fn frames(&self) -> impl Iterator<Item = &StateFrame> {
        once(&self.first).chain(&self.between).chain((!self.alone).then_some(&self.last))
    }
}

impl Track for MarkovTrack {
    #[inline(always)]
    fn has_come(&self, metres: f64) -> bool {
        metres < self.until && metres < self.state_end
    }

    fn advance(&mut self, metres: f64) {
        self.enter_pieces(metres);
        if metres >= self.state_end {
            self.enter_state(metres);
        }
    }

    #[inline(always)]
    fn present(&self, metres: f64) -> (Loo, usize) {
        (self.value.plus(metres - self.from, self.slope), self.state)
    }

    #[inline(always)]
    fn parameters_at(&mut self, metres: f64) -> Loo {
        if metres >= self.until {
            self.enter_pieces(metres);
        }
        self.present(metres).0
    }

    #[inline]
    fn restart(&mut self, metres: f64) {
        let leg = self.course.leg_at(metres);
        if self.leg != leg {
            self.enter_leg(leg);
        }
        if self.shares_of_distance.0 != leg {
            self.shares_of_distance = (leg, self.set.shares_of_distance());
        }
        let state = pick(&self.shares_of_distance.1, &mut *self.rng);
        let frame = self.set.states[state].frame_m;
        // The window opens at a uniformly distributed position of its first frame.
        let start = metres - self.half - frame * unit_interval(self.rng.next_u64());
        self.frame_end = start + frame;
        self.window.restart(self.frame(start, state));
        self.enter_piece(metres);
        self.state_end = f64::NEG_INFINITY;
    }
}

impl MarkovTrack {
    pub(crate) fn new(course: Course<ParameterSet>, rng: Box<dyn Rng + Send>) -> MarkovTrack {
        let set = course.legs()[0].1;
        let leg_end = course.end(0);
        let none = StateFrame { start: 0.0, end: 0.0, fading: &set.states[0], state: 0 };
        let mut track = MarkovTrack {
            leg: 0,
            leg_end,
            set,
            course,
            frame_end: 0.0,
            half: set.transition_m / 2.0,
            shares_of_distance: (0, set.shares_of_distance()),
            rng,
            window: Window::of(none),
            from: 0.0,
            until: 0.0,
            value: Loo::default(),
            slope: Loo::default(),
            state: 0,
            state_end: 0.0,
        };
        track.restart(0.0);
        track
    }

    /// Comes to the piece of `metres`.
    #[inline(never)]
    fn enter_pieces(&mut self, metres: f64) {
        while metres >= self.until {
            self.enter_piece(self.until);
        }
    }

    /// Computes value and slope with the window's centre at `metres`.
    #[inline(always)]
    fn enter_piece(&mut self, metres: f64) {
        let half = self.half;
        while self.window.last.end - half <= metres {
            self.push_next();
        }
        while self.window.first.end + half <= metres {
            self.window.remove_first();
        }
        self.from = metres;
        let Window { first, between, last, alone } = &self.window;
        self.until = lower(first.end + half, last.end - half);
        let (back, ahead, width) = (metres - half, metres + half, 2.0 * half);
        let share = |frame: &StateFrame| (lower(frame.end, ahead) - higher(frame.start, back)) / width;
        if half == 0.0 {
            (self.value, self.slope) = (first.fading.loo, Loo::default());
        } else if *alone {
            (self.value, self.slope) = (Loo::default().plus(share(first), first.fading.loo), Loo::default());
        } else {
            // The sum over the whole window is computed each time, so that rounding errors do not accumulate.
            let add = |sum: Loo, frame: &StateFrame| sum.plus(share(frame), frame.fading.loo);
            self.value = add(between.iter().fold(add(Loo::default(), first), add), last);
            self.slope = Loo::default().plus(1.0 / width, last.fading.loo).plus(-1.0 / width, first.fading.loo);
        }
    }

    /// Appends the next frame, or the next part of a frame that extends into another leg.
    #[inline(never)]
    fn push_next(&mut self) {
        let StateFrame { end, mut state, .. } = self.window.last;
        if self.leg_end <= end {
            self.enter_leg(self.leg + 1);
        }
        if self.frame_end <= end {
            state = pick(self.set.next_probabilities(state), &mut *self.rng);
            self.frame_end = end + self.set.states[state].frame_m;
        }
        self.window.push(self.frame(end, state));
    }

    /// The frame from `start` to its end, or to that of the leg.
    #[inline(always)]
    fn frame(&self, start: f64, state: usize) -> StateFrame {
        let end = lower(self.frame_end, self.leg_end);
        StateFrame { start, end, state, fading: &self.set.states[state] }
    }

    #[cold]
    fn enter_leg(&mut self, leg: usize) {
        (self.leg, self.leg_end, self.set) = (leg, self.course.end(leg), self.course.legs()[leg].1);
    }

    /// Finds the state at `metres`, in the window.
    #[inline(never)]
    fn enter_state(&mut self, metres: f64) {
        let frame = self.window.frames().find(|frame| metres < frame.end).unwrap_or(&self.window.first);
        (self.state, self.state_end) = (frame.state, frame.end);
    }
}

/// An index drawn with the given probabilities.
#[inline(always)]
fn pick(probabilities: &[f64], rng: &mut dyn Rng) -> usize {
    let u = unit_interval(rng.next_u64());
    let mut below = 0.0;
    let next_state = probabilities.iter().position(|probability| {
        below += probability;
        u < below
    });
    next_state.unwrap_or(probabilities.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lms::Environment;
    use crate::lms::perez_fontan::{SETS, set_at};
    use crate::testing::streams;

    fn track(set: &'static ParameterSet, seed: u64) -> MarkovTrack {
        MarkovTrack::new(Course::of(set), streams(seed)("states"))
    }

    #[test]
    fn shares_of_the_way_follow_the_chain_and_its_frames() {
        for set in &SETS {
            let mut track = track(set, 1);
            let mut counts = vec![0usize; set.states.len()];
            const STEPS: usize = 400_000;
            for i in 0..STEPS {
                counts[track.at(i as f64 * 3.0).1] += 1;
            }
            for (count, expected) in counts.iter().zip(set.shares_of_distance()) {
                let share = *count as f64 / STEPS as f64;
                assert!((share - expected).abs() < 0.012, "{} {share} against {expected}", set.environment.name());
            }
        }
    }

    /// The parameters alone may be asked in between, also right after a restart.
    #[test]
    fn parameters_without_the_state_are_those_with_it() {
        for set in &SETS {
            let (mut alone, mut both) = (track(set, 5), track(set, 5));
            for i in 0..50_000 {
                let metres = f64::from(i % 500) * 0.7;
                if i % 500 == 0 {
                    alone.restart(metres);
                    both.restart(metres);
                }
                let (loo, state) = both.at(metres);
                assert_eq!(alone.parameters_at(metres), loo);
                if i % 7 == 0 {
                    assert_eq!(alone.at(metres), (loo, state));
                }
            }
        }
    }

    #[test]
    fn a_new_way_starts_stationary() {
        let set = set_at(Environment::IntermediateTreeShadowed, 40.0);
        let mut track = track(set, 2);
        const WAYS: usize = 40_000;
        for metres in [0.0, 2.0, 5.0, 30.0] {
            let mut counts = [0usize; 3];
            for _ in 0..WAYS {
                track.restart(0.0);
                counts[track.at(metres).1] += 1;
            }
            for (count, expected) in counts.iter().zip(set.shares_of_distance()) {
                let share = *count as f64 / WAYS as f64;
                let error = (expected * (1.0 - expected) / WAYS as f64).sqrt();
                assert!((share - expected).abs() < 4.0 * error, "at {metres} m: {share} against {expected}");
            }
        }
    }

    #[test]
    fn a_restart_draws_from_the_set_that_applies_there() {
        let sets = [40.0, 80.0].map(|elevation| set_at(Environment::Urban, elevation));
        let legs = [(f64::NEG_INFINITY, sets[0]), (500.0, sets[1])];
        let mut track = MarkovTrack::new(Course::of_legs(&legs), streams(7)("states"));
        const RESTARTS: usize = 40_000;
        let mut counts = [[0usize; 3]; 2];
        for restart in 0..2 * RESTARTS {
            let leg = restart % 2;
            track.restart([100.0, 900.0][leg]);
            // Also from the first leg on across the border: the frames before it have left the window by 900 m.
            let metres = if restart % 4 == 0 { 100.0 } else { 900.0 };
            counts[usize::from(metres > 500.0)][track.at(metres).1] += 1;
        }
        for (counts, set) in counts.iter().zip(sets) {
            for (&count, expected) in counts.iter().zip(set.shares_of_distance()) {
                let all = counts.iter().sum::<usize>() as f64;
                let (share, error) = (count as f64 / all, (expected * (1.0 - expected) / all).sqrt());
                assert!(
                    (share - expected).abs() < 4.0 * error,
                    "{} deg: {share} against {expected}",
                    set.elevation_deg
                );
            }
        }
    }

    #[test]
    fn transitions_are_linear_ramps_around_the_borders() {
        for set in &SETS {
            let mut sampled = track(set, 3);
            let mut chain = track(set, 3);
            // The chain's own parameters on a fine grid, then a moving average: the definition.
            const GRID: f64 = 0.01;
            let half = (set.transition_m / 2.0 / GRID).round() as usize;
            let own: Vec<f64> =
                (0..100_000).map(|i| set.states[chain.at((i as f64 + 0.5) * GRID).1].loo.mean_db).collect();
            for centre in (half..own.len() - half).step_by(7) {
                let expected = own[centre - half..centre + half].iter().sum::<f64>() / (2 * half) as f64;
                let value = sampled.at(centre as f64 * GRID).0.mean_db;
                assert!((value - expected).abs() < 0.15, "{value} against {expected}");
            }
        }
    }

    #[test]
    fn values_do_not_depend_on_the_places_asked() {
        let set = set_at(Environment::Open, 40.0);
        let (mut fine, mut coarse) = (track(set, 4), track(set, 4));
        for i in 0..20_000 {
            let exact = fine.at(f64::from(i) * 0.125);
            if i % 37 == 0 {
                assert_eq!(coarse.at(f64::from(i) * 0.125), exact);
            }
        }
    }

    #[test]
    fn another_set_goes_on_in_the_same_state_along_a_ramp() {
        let set = |elevation| set_at(Environment::Urban, elevation);
        // Legs longer and shorter than frames (5 m) and transitions (3 m).
        let borders = [f64::NEG_INFINITY, 7.0, 8.0, 8.5, 30.0, 31.0, 50.0];
        let elevations = [40.0, 60.0, 80.0, 60.0, 40.0, 60.0, 80.0];
        let legs: Vec<_> = borders.into_iter().zip(elevations.map(set)).collect();
        let half = set(40.0).transition_m / 2.0;
        const GRID: f64 = 0.01;
        for seed in 0..50 {
            let mut chain = MarkovTrack::new(Course::of_legs(&legs), streams(seed)("states"));
            let mut track = MarkovTrack::new(Course::of_legs(&legs), streams(seed)("states"));
            // The parameters of the set that applies, in the state of the chain; then a moving average.
            let own = |metres: f64, chain: &mut MarkovTrack| {
                let leg = borders.iter().rposition(|&border| border <= metres).unwrap();
                set(elevations[leg]).states[chain.at(metres).1].loo.mean_db
            };
            let own: Vec<f64> = (0..6000).map(|i| own((f64::from(i) + 0.5) * GRID, &mut chain)).collect();
            let window = (half / GRID).round() as usize;
            let mut before = None;
            for centre in window..own.len() - window {
                let expected = own[centre - window..centre + window].iter().sum::<f64>() / (2 * window) as f64;
                let value = track.at(centre as f64 * GRID).0.mean_db;
                assert!((value - expected).abs() < 0.2, "seed {seed}, {centre}: {value} against {expected}");
                // The largest gap between two states is 24.4 dB.
                assert!(before.is_none_or(|before: f64| (value - before).abs() <= 24.4 * GRID / (2.0 * half) + 1e-9));
                before = Some(value);
            }
        }
    }

    #[test]
    fn shares_of_the_way_are_those_of_the_set_that_holds() {
        let set = |elevation| set_at(Environment::Urban, elevation);
        let leg = |i: u32| (f64::from(i) * 500.0, set([40.0, 80.0][i as usize % 2]));
        let mut legs: Vec<_> = (0..2000).map(leg).collect();
        legs[0].0 = f64::NEG_INFINITY;
        let mut track = MarkovTrack::new(Course::of_legs(&legs), streams(6)("states"));
        let mut counts = [[0usize; 3]; 2];
        for i in 0..1_000_000 {
            // The test skips positions near the borders, where the chain still has the state of the set before.
            if i % 500 >= 100 {
                counts[i / 500 % 2][track.at(i as f64).1] += 1;
            }
        }
        for (counts, elevation) in counts.iter().zip([40.0, 80.0]) {
            for (&count, expected) in counts.iter().zip(set(elevation).shares_of_distance()) {
                let share = count as f64 / 400_000.0;
                assert!((share - expected).abs() < 0.015, "{elevation} deg: {share} against {expected}");
            }
        }
    }

    #[test]
    fn transitions_are_as_long_in_all_sets_of_an_environment() {
        for set in &SETS {
            let others = SETS.iter().filter(|other| other.environment == set.environment);
            for other in others {
                assert_eq!(other.transition_m, set.transition_m);
                let names = |set: &'static ParameterSet| set.states.iter().map(|state| &state.name).collect::<Vec<_>>();
                assert_eq!(names(other), names(set), "a state goes on in another set");
            }
        }
    }
}
