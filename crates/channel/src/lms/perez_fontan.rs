//! The published parameters of the three-state land mobile satellite model of Pérez-Fontán et al. (Int. J. Satellite
//! Communications 16, 1998; IEEE Trans. Vehicular Technology 50, 2001), S band (2.2 GHz).
//!
//! The rows at 40 degrees are complete. They are taken from public re-implementations that agree with each other (a
//! MATLAB link adaptation code; the git history of sns3-satellite before 2013-11; the LMS-SU and LMS-ITS channels of
//! the DVB-SH implementation guidelines TM-SSP0039 carry the same numbers), not from the papers themselves. The
//! stationary laws of the chains as they print them check the transcription. The rows at other elevations lack frame,
//! correlation and transition lengths; `assumed` names what was filled in. Rows without a transition matrix are left
//! out.

use super::parameters::Environment::{HeavyTreeShadowed, IntermediateTreeShadowed, Open, Suburban, Urban};
use super::parameters::{FadingState, Loo, MOST_STATES, ParameterSet};

/// What was filled in where a row was published without it.
const USUAL: &[&str] = &["frame_m", "shadowing_correlation_m", "transition_m"];

/// A state: Loo's mean, deviation and multipath power in decibels, the length of a frame in metres, and the
/// probabilities of the next state, which are scaled to a sum of 1.
const fn state(
    name: &'static str,
    [mean_db, deviation_db, multipath_db]: [f64; 3],
    frame_m: f64,
    [a, b, c]: [f64; MOST_STATES],
) -> FadingState {
    let total = a + b + c;
    let next = [a / total, b / total, c / total];
    FadingState { name, loo: Loo { mean_db, deviation_db, multipath_db }, frame_m, next }
}

#[expect(clippy::approx_constant, reason = "a published deviation is 3.14 dB")]
pub(super) static SETS: [ParameterSet; 10] = [
    ParameterSet {
        environment: IntermediateTreeShadowed,
        elevation_deg: 40.0,
        shadowing_correlation_m: 1.5,
        transition_m: 2.6,
        assumed: &[],
        states: &[
            state("line-of-sight", [-0.4, 1.5, -13.2], 6.3, [0.7193, 0.1865, 0.0942]),
            state("moderate-shadowing", [-8.2, 3.9, -12.7], 6.3, [0.1848, 0.7269, 0.0883]),
            state("deep-shadowing", [-17.0, 3.14, -10.0], 4.5, [0.1771, 0.0971, 0.7258]),
        ],
    },
    ParameterSet {
        environment: HeavyTreeShadowed,
        elevation_deg: 40.0,
        shadowing_correlation_m: 1.7,
        transition_m: 3.5,
        assumed: &[],
        states: &[
            state("moderate-shadowing", [-10.1, 2.25, -10.0], 4.8, [0.9259, 0.0741, 0.0]),
            state("deep-shadowing", [-19.0, 4.0, -10.0], 4.5, [0.0741, 0.9259, 0.0]),
        ],
    },
    ParameterSet {
        environment: Suburban,
        elevation_deg: 40.0,
        shadowing_correlation_m: 1.7,
        transition_m: 2.2,
        assumed: &[],
        // The second entry of the last row is .1433 in one copy and .1314 in another.
        states: &[
            state("line-of-sight", [-1.0, 0.5, -13.0], 5.2, [0.8177, 0.1715, 0.0108]),
            state("moderate-shadowing", [-3.7, 0.98, -12.2], 3.7, [0.1544, 0.7997, 0.0459]),
            state("deep-shadowing", [-15.0, 5.9, -13.0], 3.0, [0.14, 0.1433, 0.7167]),
        ],
    },
    ParameterSet {
        environment: Open,
        elevation_deg: 40.0,
        shadowing_correlation_m: 2.5,
        transition_m: 12.4,
        assumed: &[],
        // The first mean is -0.1 in one copy.
        states: &[
            state("line-of-sight", [0.1, 0.37, -22.0], 8.9, [0.953, 0.0431, 0.0039]),
            state("moderate-shadowing", [-1.0, 0.5, -22.0], 7.5, [0.0515, 0.9347, 0.0138]),
            state("deep-shadowing", [-2.25, 0.13, -21.2], 4.0, [0.0334, 0.0238, 0.9428]),
        ],
    },
    ParameterSet {
        environment: Open,
        elevation_deg: 60.0,
        shadowing_correlation_m: 1.7,
        transition_m: 12.4,
        assumed: USUAL,
        states: &[
            state("line-of-sight", [0.0, 0.12, -24.9], 5.0, [0.9643, 0.0255, 0.0102]),
            state("moderate-shadowing", [-0.7, 0.12, -26.1], 5.0, [0.0628, 0.9171, 0.0201]),
            state("deep-shadowing", [-1.4, 0.25, -23.1], 5.0, [0.0447, 0.0062, 0.9491]),
        ],
    },
    ParameterSet {
        environment: Open,
        elevation_deg: 70.0,
        shadowing_correlation_m: 1.7,
        transition_m: 12.4,
        assumed: USUAL,
        states: &[
            state("line-of-sight", [-0.1, 0.25, -22.5], 5.0, [0.9538, 0.0393, 0.0069]),
            state("moderate-shadowing", [-0.5, 0.28, -24.5], 5.0, [0.0523, 0.9309, 0.0168]),
            state("deep-shadowing", [-0.75, 0.37, -23.24], 5.0, [0.0342, 0.02, 0.9458]),
        ],
    },
    ParameterSet {
        environment: Open,
        elevation_deg: 80.0,
        shadowing_correlation_m: 1.7,
        transition_m: 12.4,
        assumed: USUAL,
        states: &[
            state("line-of-sight", [0.1, 0.16, -22.4], 5.0, [0.9307, 0.059, 0.0103]),
            state("moderate-shadowing", [-0.4, 0.15, -23.5], 5.0, [0.0292, 0.9506, 0.0202]),
            state("deep-shadowing", [-0.72, 0.27, -22.0], 5.0, [0.0111, 0.0397, 0.9492]),
        ],
    },
    ParameterSet {
        environment: Urban,
        elevation_deg: 40.0,
        shadowing_correlation_m: 1.7,
        transition_m: 3.0,
        assumed: USUAL,
        states: &[
            state("line-of-sight", [-0.3, 0.73, -15.9], 5.0, [0.8628, 0.0737, 0.0635]),
            state("moderate-shadowing", [-8.0, 4.5, -19.2], 5.0, [0.1247, 0.8214, 0.0539]),
            state("deep-shadowing", [-24.4, 4.5, -19.0], 5.0, [0.0648, 0.0546, 0.8806]),
        ],
    },
    ParameterSet {
        environment: Urban,
        elevation_deg: 60.0,
        shadowing_correlation_m: 1.7,
        transition_m: 3.0,
        assumed: USUAL,
        states: &[
            state("line-of-sight", [-0.35, 0.26, -16.0], 5.0, [0.8681, 0.0952, 0.0367]),
            state("moderate-shadowing", [-6.3, 1.4, -13.0], 5.0, [0.13, 0.8429, 0.0271]),
            state("deep-shadowing", [-15.2, 5.0, -24.8], 5.0, [0.0701, 0.0761, 0.8538]),
        ],
    },
    ParameterSet {
        environment: Urban,
        elevation_deg: 80.0,
        shadowing_correlation_m: 1.7,
        transition_m: 3.0,
        assumed: USUAL,
        // The multipath power of the second state may be -12.0 dB.
        states: &[
            state("line-of-sight", [-0.25, 0.87, -21.7], 5.0, [0.887, 0.0562, 0.0568]),
            state("moderate-shadowing", [-6.6, 2.3, -13.0], 5.0, [0.1489, 0.8039, 0.0472]),
            state("deep-shadowing", [-11.0, 8.75, -24.2], 5.0, [0.089, 0.0371, 0.8739]),
        ],
    },
];

/// The set of an environment at an elevation.
#[cfg(test)]
pub(super) fn set_at(environment: super::Environment, elevation_deg: f64) -> &'static ParameterSet {
    let mut sets = SETS.iter();
    sets.find(|set| set.environment == environment && set.elevation_deg == elevation_deg).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lms::Environment;

    #[test]
    fn every_set_is_complete() {
        for set in &SETS {
            assert!(set.shadowing_correlation_m > 0.0 && set.transition_m >= 0.0, "{set:?}");
            assert!((2..=MOST_STATES).contains(&set.states.len()));
            for (number, state) in set.states.iter().enumerate() {
                assert_eq!(set.next_probabilities(number).len(), set.states.len(), "{set:?}");
                assert!(state.next[set.states.len()..].iter().all(|&share| share == 0.0), "{set:?}");
                assert!((state.next.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(state.frame_m > 0.0 && state.loo.deviation_db > 0.0 && state.loo.multipath_db < 0.0);
            }
            let found = set_at(set.environment, set.elevation_deg);
            assert!(std::ptr::eq(found, set), "two rows for one environment and elevation");
        }
    }

    #[test]
    fn stationary_laws_are_the_printed_ones() {
        let printed: [(_, &[f64]); 4] = [
            (Environment::IntermediateTreeShadowed, &[0.3929, 0.3571, 0.25]),
            (Environment::HeavyTreeShadowed, &[0.5, 0.5]),
            (Environment::Suburban, &[0.4545, 0.4545, 0.091]),
            // The last share is printed as .0125, with which they would not add up to 1.
            (Environment::Open, &[0.5, 0.375, 0.125]),
        ];
        for (environment, printed) in printed {
            let computed = set_at(environment, 40.0).stationary_law();
            for (computed, printed) in computed.iter().zip(printed) {
                assert!((computed - printed).abs() < 0.011, "{}: {computed} against {printed}", environment.name());
            }
        }
    }
}
