//! The three processes of the model, sampled at equal steps and combined.

use std::f32::consts::{LN_10, LOG2_10};

use units::{Duration, Time};

use super::multipath::Multipath;
use super::parameters::Loo;
use super::shadowing::Shadowing;
use super::shared::{self, Phasor};
use super::states::Track;
use crate::elementary::{exp2, ln};

/// The Doppler shift of the direct ray over the largest possible. Any value up to 1 is possible, depending on the
/// direction of the satellite; the multipath has no preferred phase, so the law of the attenuation hardly depends on
/// it.
pub(crate) const DIRECT_DOPPLER: f64 = 0.5;

/// A user's motion, and the sampling interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Motion {
    pub(crate) speed_mps: f64,
    /// Maximum Doppler shift.
    pub(crate) doppler_hz: f64,
    pub(crate) step: Duration,
}

impl Motion {
    pub(crate) fn step_m(self) -> f64 {
        self.speed_mps * self.step.as_secs_f64()
    }

    /// Maximum Doppler shift in cycles per sample.
    pub(crate) fn cycles(self) -> f64 {
        self.doppler_hz * self.step.as_secs_f64()
    }
}

/// When samples are: at multiples of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleTimes {
    step: Duration,
    /// By which an instant is multiplied in place of a division, and the binary digits that are left out then.
    reciprocal: u64,
    shift: u32,
}

impl SampleTimes {
    /// `step` is above 0.
    pub(crate) fn new(step: Duration) -> SampleTimes {
        // Granlund and Montgomery 1994, theorem 4.2, for numerators below 2^63: with s the logarithm of the step,
        // rounded up, the first number above 2^(63 + s) / step.
        let shift = u64::BITS - (step.as_nanos() - 1).leading_zeros();
        let reciprocal = (1u128 << (63 + shift)) / u128::from(step.as_nanos()) + 1;
        SampleTimes { step, reciprocal: reciprocal as u64, shift }
    }

    #[inline(always)]
    pub(crate) fn step(&self) -> Duration {
        self.step
    }

    /// The number of the sample that holds at `now`, which is below 2^63 ns.
    #[inline(always)]
    pub(crate) fn at(&self, now: Time) -> u64 {
        let product = u128::from(now.as_nanos() << 1) * u128::from(self.reciprocal);
        let number = (product >> 64) as u64 >> self.shift;
        debug_assert_eq!(number, now.as_nanos() / self.step.as_nanos());
        number
    }

    /// The instant from which a sample holds.
    #[inline(always)]
    pub(crate) fn begin(&self, number: u64) -> Time {
        Time::from_nanos(number * self.step.as_nanos())
    }
}

/// The fading series of one user. Multipath is computed block by block, so memory is constant, and shadowing step by
/// step; their draws do not depend on which samples are read. Exponentials are computed only for samples that are read.
pub(crate) struct Series<T> {
    track: T,
    shadowing: Shadowing,
    multipath: Multipath,
    rays: Rays,
    step_m: f64,
    /// Turns of the direct ray in a step.
    turns: f64,
    /// The indices of the block's first sample, and of the first sample after it.
    begin: u64,
    end: u64,
}

/// The fading at one instant: the gain, the state, and the processes whose sum it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Power gain relative to a line of sight.
    pub(crate) gain_db: f64,
    pub(crate) state: usize,
    pub(crate) shadowing: f32,
    pub(crate) multipath: [f32; 2],
}

impl<T: Track> Series<T> {
    pub(crate) fn new(track: T, shadowing: Shadowing, multipath: Multipath, motion: Motion) -> Series<T> {
        let end = multipath.stride() as u64;
        Series {
            track,
            shadowing,
            multipath,
            step_m: motion.step_m(),
            turns: motion.cycles() * DIRECT_DOPPLER,
            rays: Rays::default(),
            begin: 0,
            end,
        }
    }

    /// The sample number `index`. Calls never go back.
    #[inline(always)]
    pub(crate) fn sample(&mut self, index: u64) -> Sample {
        let steps = index as i64 as f64; // as a signed number, with fewer instructions
        let metres = steps * self.step_m;
        let phasor = shared::phasor(steps * self.turns);
        if index >= self.end || !self.shadowing.has_come(index) || !self.track.has_come(metres) {
            self.advance(index, metres);
        }
        // Nothing below is a call, so all of it stays in registers.
        let (loo, state) = self.track.present(metres);
        let shadowing = self.shadowing.after(index);
        let amplitudes = self.rays.amplitudes(loo, shadowing);
        let multipath = self.multipath.sample((index - self.begin) as usize);
        let gain_db = gain_db(amplitudes, multipath, phasor).into();
        Sample { gain_db, state, shadowing, multipath }
    }

    /// The processes come to the sample number `index`, at `metres`.
    #[inline(never)]
    fn advance(&mut self, index: u64, metres: f64) {
        if index >= self.end {
            self.make_blocks(index);
        }
        if !self.shadowing.has_come(index) {
            self.shadowing.walk(index);
        }
        if !self.track.has_come(metres) {
            self.track.advance(metres);
        }
    }

    /// Computes blocks up to the one that holds `index`.
    fn make_blocks(&mut self, index: u64) {
        let stride = self.multipath.stride() as u64;
        let blocks = (index - self.end) / stride + 1;
        for remaining in (0..blocks).rev() {
            // A block overlaps the next one, so the last two are computed in full.
            match remaining {
                0 | 1 => self.multipath.next_block(),
                _ => self.multipath.skip_block(),
            }
        }
        self.end += blocks * stride;
        self.begin = self.end - stride;
    }
}

/// The amplitudes of the direct ray and of the multipath.
struct Rays {
    /// The power of the multipath in decibels at the last call, and its amplitude: constant within a state.
    diffuse: (f64, f32),
}

impl Default for Rays {
    fn default() -> Rays {
        Rays { diffuse: (0.0, 1.0) }
    }
}

impl Rays {
    /// The amplitudes of the direct ray with its shadowing, and of the multipath.
    #[inline(always)]
    fn amplitudes(&mut self, loo: Loo, shadowing: f32) -> (f32, f32) {
        if loo.multipath_db != self.diffuse.0 {
            self.diffuse = (loo.multipath_db, amplitude(loo.multipath_db as f32));
        }
        (amplitude(loo.direct_db(shadowing)), self.diffuse.1)
    }
}

/// The power gain `|A exp(i phi) + b z|^2` in decibels (Loo 1985): `A` is the amplitude of the direct ray, which has
/// the phase `phasor`, `b` that of the multipath, and `z` the multipath.
#[inline(always)]
pub(crate) fn gain_db((direct, diffuse): (f32, f32), multipath: [f32; 2], phasor: Phasor) -> f32 {
    let Phasor { sin, cos } = phasor;
    let (re, im) = (direct * cos + diffuse * multipath[0], direct * sin + diffuse * multipath[1]);
    (10.0 / LN_10 * ln(re * re + im * im)).max(-300.0)
}

/// 10^(dB / 20)
#[inline(always)]
pub(crate) fn amplitude(db: f32) -> f32 {
    exp2(db * (LOG2_10 / 20.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{LN_10, PI};
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::lms::multipath::BandTables;
    use crate::lms::parameters::Environment;
    use crate::lms::perez_fontan::set_at;
    use crate::testing::streams;

    /// A track that stays in one state.
    struct Fixed(Loo);

    impl Track for Fixed {
        fn has_come(&self, _metres: f64) -> bool {
            true
        }
        fn advance(&mut self, _metres: f64) {}
        fn present(&self, _metres: f64) -> (Loo, usize) {
            (self.0, 0)
        }
        fn restart(&mut self, _metres: f64) {}
    }

    /// exp(-x) I0(x) to 2e-7: Abramowitz and Stegun 9.8.1 and 9.8.2.
    fn scaled_i0(x: f64) -> f64 {
        let polynomial = |t: f64, c: &[f64]| c.iter().rev().fold(0.0, |sum, c| sum * t + c);
        if x < 3.75 {
            let c = [1.0, 3.515_622_9, 3.089_942_4, 1.206_749_2, 0.265_973_2, 0.036_076_8, 0.004_581_3];
            return libm::exp(-x) * polynomial((x / 3.75) * (x / 3.75), &c);
        }
        let c = [
            0.398_942_28,
            0.013_285_92,
            0.002_253_19,
            -0.001_575_65,
            0.009_162_81,
            -0.020_577_06,
            0.026_355_37,
            -0.016_476_33,
            0.003_923_77,
        ];
        polynomial(3.75 / x, &c) / x.sqrt()
    }

    /// Loo's density of the amplitude r: `r / (b0 sqrt(2 pi) d0) * integral over z of 1/z exp(-(ln z - mu)^2 / (2 d0^2)
    /// - (r^2 + z^2) / (2 b0)) I0(r z / b0)`, with `z = exp(mu + d0 t)` substituted.
    fn loo_density(loo: Loo, r: f64) -> f64 {
        let (mu, d0) = (loo.mean_db * LN_10 / 20.0, loo.deviation_db * LN_10 / 20.0);
        let b0 = libm::pow(10.0, loo.multipath_db / 10.0) / 2.0;
        const STEP: f64 = 0.05;
        (-140..=140)
            .map(|i| f64::from(i) * STEP)
            .map(|t| {
                let z = libm::exp(mu + d0 * t);
                let exponent = -t * t / 2.0 - (r - z) * (r - z) / (2.0 * b0);
                STEP / (2.0 * PI).sqrt() * libm::exp(exponent) * r / b0 * scaled_i0(r * z / b0)
            })
            .sum()
    }

    proptest! {
        #[test]
        fn a_sample_holds_from_a_multiple_of_the_step_to_the_next(
            step in prop_oneof![1u64..1 << 62, 1u64..1 << 20, (0u32..62).prop_map(|bits| 1 << bits)],
            steps in any::<u64>(),
            offset in 0u64..3,
        ) {
            let samples = SampleTimes::new(Duration::from_nanos(step));
            // About a multiple of the step, where a rounded product would be wrong first.
            let multiple = steps % ((1 << 63) / step) * step;
            for now in [multiple + offset, multiple.saturating_sub(offset), steps >> 1] {
                let now = now.min((1 << 63) - 1);
                prop_assert_eq!(samples.at(Time::from_nanos(now)), now / step);
            }
            prop_assert_eq!(samples.begin(multiple / step), Time::from_nanos(multiple));
        }
    }

    #[test]
    fn amplitudes_in_a_state_have_loo_s_law() {
        let set = set_at(Environment::IntermediateTreeShadowed, 40.0);
        let motion = Motion { speed_mps: 60.0 / 3.6, doppler_hz: 122.3, step: Duration::from_millis(2) };
        for state in set.states {
            let loo = state.loo;
            // Samples half a second (8 m) apart are independent.
            const SAMPLES: usize = 20_000;
            let shadowing = Shadowing::new(motion.step_m(), set.shadowing_correlation_m, streams(1)("shadowing"));
            let multipath = Multipath::new(Arc::new(BandTables::new(motion.cycles())), streams(1)("multipath"));
            let mut series = Series::new(Fixed(loo), shadowing, multipath, motion);
            let mut sample: Vec<f64> =
                (0..SAMPLES as u64).map(|i| amplitude(series.sample(i * 250).gain_db as f32).into()).collect();
            sample.sort_by(f64::total_cmp);

            const STEP: f64 = 0.004;
            let (mut cumulative, mut distance, mut before) = (0.0, 0.0_f64, 0.0);
            for i in 1..1_000 {
                let r = f64::from(i) * STEP;
                let density = loo_density(loo, r);
                cumulative += (before + density) / 2.0 * STEP;
                before = density;
                let share = sample.partition_point(|&amplitude| amplitude <= r) as f64 / SAMPLES as f64;
                distance = distance.max((share - cumulative).abs());
            }
            assert!((cumulative - 1.0).abs() < 2e-3, "{}: the density holds {cumulative}", state.name);
            // Kolmogorov and Smirnov, 1 %.
            assert!(distance < 1.63 / (SAMPLES as f64).sqrt(), "{}: distance {distance}", state.name);
        }
    }

    #[test]
    fn a_gain_is_the_sum_of_two_rays() {
        let loo = Loo { mean_db: -6.0, deviation_db: 2.0, multipath_db: -10.0 };
        // In phase: 10^(-4/20) + 10^(-10/20); opposed: their difference; at right angles: their powers.
        let power = |db: f64| libm::pow(10.0, db / 10.0);
        let gain = |multipath, turns| {
            power(gain_db(Rays::default().amplitudes(loo, 1.0), multipath, Phasor::after(turns)).into()).sqrt()
        };
        let (direct, diffuse) = (power(-4.0).sqrt(), power(-10.0).sqrt());
        assert!((gain([1.0, 0.0], 3.0) - (direct + diffuse)).abs() < 1e-6);
        assert!((gain([1.0, 0.0], 0.5) - (direct - diffuse)).abs() < 1e-6);
        assert!((gain([0.0, 1.0], 7.0) - (direct * direct + diffuse * diffuse).sqrt()).abs() < 1e-6);
        let nothing = Loo { mean_db: -3000.0, deviation_db: 0.0, multipath_db: -3000.0 };
        let amplitudes = Rays::default().amplitudes(nothing, 0.0);
        assert_eq!(gain_db(amplitudes, [0.0, 0.0], Phasor::after(0.0)), -300.0);
    }
}
