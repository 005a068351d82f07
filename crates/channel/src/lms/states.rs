//! The slow part of the model: which state the user is in, and the parameters of Loo's law there.

use std::collections::VecDeque;

use rand::Rng;

use super::parameters::{Loo, ParameterSet};
use crate::normal::unit_interval;

/// Loo's parameters along the way of a user.
pub(crate) trait Track: Send {
    /// The parameters at `metres` and the index of the state. Calls never go back.
    fn at(&mut self, metres: f64) -> (Loo, usize);

    /// Starts a new way at 0 metres, independent of the one before and stationary.
    fn restart(&mut self);
}

/// A Markov chain clocked by distance, with linear transitions.
///
/// The parameters at `x` are the mean of the chain's over `x` ± half a transition length: a linear ramp that is centred on the
/// border between two states, and remains defined where states are shorter than the transition. Between the places where a
/// border enters or leaves this window they are linear in `x`.
pub(crate) struct MarkovTrack {
    set: &'static ParameterSet,
    shares_of_distance: Vec<f64>,
    rng: Box<dyn Rng + Send>,
    /// The frames in the window, in order.
    frames: VecDeque<Frame>,
    /// Where the window's centre was when `value` was taken, and until where `slope` holds.
    from: f64,
    until: f64,
    value: Loo,
    slope: Loo,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    start: f64,
    end: f64,
    state: usize,
}

impl Track for MarkovTrack {
    fn at(&mut self, metres: f64) -> (Loo, usize) {
        while metres >= self.until {
            self.enter_piece(self.until);
        }
        (self.value.plus(metres - self.from, self.slope), self.state_at(metres))
    }

    fn restart(&mut self) {
        let half = self.set.transition_m / 2.0;
        let state = pick(&self.shares_of_distance, &mut *self.rng);
        let frame = self.set.states[state].frame_m;
        // The window opens at a random place of its first frame.
        let start = -half - frame * unit_interval(&mut *self.rng);
        self.frames.clear();
        self.frames.push_back(Frame { start, end: start + frame, state });
        self.enter_piece(0.0);
    }
}

impl MarkovTrack {
    pub(crate) fn new(set: &'static ParameterSet, rng: Box<dyn Rng + Send>) -> MarkovTrack {
        let mut track = MarkovTrack {
            set,
            shares_of_distance: set.shares_of_distance(),
            rng,
            frames: VecDeque::with_capacity(8),
            from: 0.0,
            until: 0.0,
            value: Loo::default(),
            slope: Loo::default(),
        };
        track.restart();
        track
    }

    /// Takes value and slope anew with the window's centre at `metres`.
    fn enter_piece(&mut self, metres: f64) {
        let half = self.set.transition_m / 2.0;
        while self.back().end - half <= metres {
            let Frame { end, state, .. } = self.back();
            let state = pick(&self.set.states[state].next, &mut *self.rng);
            self.frames.push_back(Frame { start: end, end: end + self.set.states[state].frame_m, state });
        }
        while self.frames[0].end + half <= metres {
            self.frames.pop_front();
        }
        let (first, last) = (self.loo(self.frames[0]), self.loo(self.back()));
        self.from = metres;
        self.until = (self.frames[0].end + half).min(self.back().end - half);
        if half == 0.0 {
            (self.value, self.slope) = (first, Loo::default());
            return;
        }
        // A sum of the whole window each time: no rounding errors pile up.
        let share = |frame: &Frame| (frame.end.min(metres + half) - frame.start.max(metres - half)) / (2.0 * half);
        self.value = self.frames.iter().fold(Loo::default(), |sum, frame| sum.plus(share(frame), self.loo(*frame)));
        self.slope = Loo::default().plus(1.0 / (2.0 * half), last).plus(-1.0 / (2.0 * half), first);
    }

    fn state_at(&self, metres: f64) -> usize {
        self.frames.iter().find(|frame| metres < frame.end).unwrap_or(&self.frames[0]).state
    }

    fn back(&self) -> Frame {
        self.frames[self.frames.len() - 1]
    }

    fn loo(&self, frame: Frame) -> Loo {
        self.set.states[frame.state].loo
    }
}

/// An index drawn with the given probabilities.
fn pick(probabilities: &[f64], rng: &mut dyn Rng) -> usize {
    let u = unit_interval(rng);
    let mut below = 0.0;
    let found = probabilities.iter().position(|probability| {
        below += probability;
        u < below
    });
    found.unwrap_or(probabilities.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lms::Environment;
    use crate::testing::streams;

    fn track(set: &'static ParameterSet, seed: u64) -> MarkovTrack {
        MarkovTrack::new(set, streams(seed)("states"))
    }

    #[test]
    fn shares_of_the_way_follow_the_chain_and_its_frames() {
        for set in ParameterSet::all() {
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

    #[test]
    fn a_new_way_starts_stationary() {
        let set = ParameterSet::find(Environment::IntermediateTreeShadowed, 40.0);
        let mut track = track(set, 2);
        const WAYS: usize = 40_000;
        for metres in [0.0, 2.0, 5.0, 30.0] {
            let mut counts = [0usize; 3];
            for _ in 0..WAYS {
                track.restart();
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
    fn transitions_are_linear_ramps_around_the_borders() {
        for set in ParameterSet::all() {
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
        let set = ParameterSet::find(Environment::Open, 40.0);
        let (mut fine, mut coarse) = (track(set, 4), track(set, 4));
        for i in 0..20_000 {
            let exact = fine.at(f64::from(i) * 0.125);
            if i % 37 == 0 {
                assert_eq!(coarse.at(f64::from(i) * 0.125), exact);
            }
        }
    }
}
