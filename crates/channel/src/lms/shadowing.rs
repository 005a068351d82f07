//! Slow variations of the direct ray: shadowing.

use std::collections::VecDeque;

use rand::Rng;

use crate::normal::Normals;

/// A stationary normal process with mean 0, variance 1 and correlation `exp(-d / correlation length)`: a first-order
/// autoregression in distance (Gudmundson 1991). The correlation length may change along the course.
pub(crate) struct Shadowing {
    normals: Normals,
    step: ShadowingStep,
    /// The coming steps, each with the number of steps from the start after which it applies.
    changes: VecDeque<(u64, ShadowingStep)>,
    until: u64,
    /// The shadowing after the last step that was made.
    value: f32,
    last: u64,
    /// The first of the steps whose values overwrite the numbers that they took, the index of its number, and the
    /// value before it.
    first: u64,
    kept_at: usize,
    before: f32,
}

#[derive(Clone, Copy, Debug)]
struct ShadowingStep {
    memory: f32,
    innovation: f32,
    ratio: f64,
}

impl ShadowingStep {
    fn new(step_m: f64, correlation_m: f64) -> ShadowingStep {
        let ratio = step_m / correlation_m;
        // The innovation belongs to the rounded memory, so that the variance is 1 also for short steps.
        let memory = libm::exp(-ratio) as f32;
        let innovation = (1.0 - f64::from(memory) * f64::from(memory)).sqrt() as f32;
        ShadowingStep { memory, innovation, ratio }
    }
}

impl Shadowing {
    /// Sampled each `step_m` metres.
    pub(crate) fn new(step_m: f64, correlation_m: f64, rng: Box<dyn Rng + Send>) -> Shadowing {
        let mut normals = Normals::new(rng);
        let value = normals.draw();
        Shadowing {
            normals,
            step: ShadowingStep::new(step_m, correlation_m),
            changes: VecDeque::new(),
            until: u64::MAX,
            value,
            last: 0,
            first: 1,
            kept_at: 0,
            before: value,
        }
    }

    /// Another correlation length from step `index` on, later than the changes before.
    pub(crate) fn change(&mut self, index: u64, step_m: f64, correlation_m: f64) {
        self.changes.push_back((index, ShadowingStep::new(step_m, correlation_m)));
        self.until = self.changes[0].0;
    }

    /// Whether the steps up to `index` are made, so that [`Shadowing::after`] tells of it. Calls never go back in time.
    #[inline(always)]
    pub(crate) fn has_come(&self, index: u64) -> bool {
        index <= self.last
    }

    /// The value after `index` steps from the start, which are made.
    #[inline(always)]
    pub(crate) fn after(&self, index: u64) -> f32 {
        debug_assert!(self.has_come(index));
        debug_assert!(self.first <= index + 1, "asked for step {index} after step {}", self.first);
        if index < self.first { self.before } else { self.normals.kept(self.kept_at + (index - self.first) as usize) }
    }

    /// The value after `index` steps from the start, which are made if they are not.
    #[cfg(test)]
    fn at(&mut self, index: u64) -> f32 {
        if !self.has_come(index) {
            self.walk(index);
        }
        self.after(index)
    }

    #[cold]
    fn exchange(&mut self) {
        if let Some((_, step)) = self.changes.pop_front() {
            self.step = step;
        }
        self.until = self.changes.front().map_or(u64::MAX, |&(change, _)| change);
    }

    /// Makes the steps up to `index`, and those after it for which numbers were drawn.
    #[inline(never)]
    pub(crate) fn walk(&mut self, index: u64) {
        while self.last < index {
            while self.last == self.until {
                self.exchange();
            }
            let ShadowingStep { memory, innovation, .. } = self.step;
            let (kept_at, run) = self.normals.run((self.until - self.last).min(1 << 30) as usize);
            (self.first, self.kept_at, self.before) = (self.last + 1, kept_at, self.value);
            // A loop of its own, for numbers side by side.
            run.iter_mut().for_each(|number| *number *= innovation);
            let mut value = self.value;
            let mut step = |number: &mut f32| {
                value = memory * value + *number;
                *number = value;
            };
            // Several at once, so that the loop itself costs little.
            let (fours, rest) = run.as_chunks_mut::<4>();
            fours.iter_mut().for_each(|[a, b, c, d]| [a, b, c, d].into_iter().for_each(&mut step));
            rest.iter_mut().for_each(&mut step);
            self.value = value;
            self.last += run.len() as u64;
        }
    }

    /// Overwrites `numbers` with walks of the same length, each under one of the `correlations_m`: the values at
    /// successive steps, of which the first is independent of all before and the first `read` are read. Not for a
    /// process that is asked with [`Shadowing::after`].
    pub(crate) fn walk_anew(&mut self, step_m: f64, correlations_m: &[f64], numbers: &mut [f32], read: usize) {
        self.normals.fill(numbers);
        let steps = numbers.len() / correlations_m.len();
        for (correlation_m, walk) in correlations_m.iter().zip(numbers.chunks_exact_mut(steps)) {
            if self.step.ratio != step_m / correlation_m {
                self.step = ShadowingStep::new(step_m, *correlation_m);
            }
            let ShadowingStep { memory, innovation, .. } = self.step;
            let mut value = walk[0];
            for number in &mut walk[1..read] {
                value = memory * value + innovation * *number;
                *number = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    #[test]
    fn values_do_not_depend_on_the_places_asked() {
        let mut some = Shadowing::new(0.05, 1.5, streams(2)("shadowing"));
        let mut values = recursion(2, 0, 5_000);
        for index in 0..5_000 {
            let value = values.next().expect("a value for each index");
            if index % 61 < 2 {
                assert_eq!((some.at(index), some.at(index)), (value, value));
            }
        }
    }

    /// The values at steps of 0.05 m, from the number drawn after so many on: the definition.
    fn recursion(seed: u64, skipped: usize, steps: usize) -> impl Iterator<Item = f32> {
        let ShadowingStep { memory, innovation, .. } = ShadowingStep::new(0.05, 1.5);
        let mut normals = Normals::new(streams(seed)("shadowing"));
        (0..skipped).for_each(|_| _ = normals.draw());
        let first = normals.draw();
        let next = move |value: &f32| Some(memory * value + innovation * normals.draw());
        std::iter::successors(Some(first), next).take(steps)
    }

    #[test]
    fn a_walk_anew_begins_with_the_next_number() {
        let mut shadowing = Shadowing::new(0.05, 1.5, streams(3)("shadowing"));
        let mut skipped = 1; // the value at the start
        for (steps, read) in [(1, 1), (5, 5), (300, 300), (5, 3), (2, 2)] {
            let mut walks = vec![0.0; 2 * steps];
            shadowing.walk_anew(0.05, &[1.5; 2], &mut walks, read);
            for walk in walks.chunks_exact(steps) {
                assert!(walk[..read].iter().copied().eq(recursion(3, skipped, read)), "{read} of {steps} steps");
                skipped += steps;
            }
        }
    }

    #[test]
    fn correlation_falls_to_one_over_e_at_the_correlation_distance() {
        const N: usize = 1_000_000;
        let mut shadowing = Shadowing::new(0.05, 1.5, streams(1)("shadowing"));
        let x: Vec<f64> = (0..N as u64).map(|index| shadowing.at(index).into()).collect();
        let correlation = |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / (N - lag) as f64;
        // About N * 0.05 / 1.5 / 2 independent values.
        assert!((correlation(0) - 1.0).abs() < 0.03, "variance {}", correlation(0));
        for (lag, expected) in [(30, libm::exp(-1.0)), (60, libm::exp(-2.0)), (15, libm::exp(-0.5))] {
            assert!((correlation(lag) - expected).abs() < 0.03, "lag {lag}: {}", correlation(lag));
        }
    }

    #[test]
    fn a_change_of_the_correlation_distance_keeps_the_variance() {
        let mut far = Shadowing::new(0.05, 3.0, streams(4)("shadowing"));
        let mut changes = Shadowing::new(0.05, 3.0, streams(4)("shadowing"));
        changes.change(1_000, 0.05, 0.5);
        let mut some = Shadowing::new(0.05, 3.0, streams(4)("shadowing"));
        some.change(1_000, 0.05, 0.5);
        const N: u64 = 500_000;
        let x: Vec<f64> = (0..N).map(|index| changes.at(index).into()).collect();
        assert!((0..=1_000).all(|index| f64::from(far.at(index)) == x[index as usize]));
        assert!((0..N).step_by(777).all(|index| f64::from(some.at(index)) == x[index as usize]));
        let x = &x[1_000..];
        let correlation =
            |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / (x.len() - lag) as f64;
        assert!((correlation(0) - 1.0).abs() < 0.03, "variance {}", correlation(0));
        assert!((correlation(10) - libm::exp(-1.0)).abs() < 0.03, "{}", correlation(10));
    }
}
