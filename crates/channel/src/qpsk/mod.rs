//! QPSK with Gray mapping over additive white Gaussian noise: two independent binary antipodal channels.

mod table;

use std::f64::consts::LN_2;

use multiversion::multiversion;
use units::Db;

use self::table::TABLE;

/// Coded bits of a symbol.
pub const BITS_PER_SYMBOL: f64 = 2.0;

/// Mutual information per coded bit, 0 to 1: half of what a QPSK symbol carries at the symbol energy to noise density
/// `snr`.
///
/// With a Gray map the bit-interleaved and the coded-modulation capacities agree. At linear Es/N0 `g` the
/// log-likelihood ratio of a bit is normal with mean `2 g` and variance `4 g`, and the bit carries `1 - E[log2(1 +
/// exp(-L))]` (ten Brink 2001, function J). Read between the entries of a table made by quadrature; the error is below
/// 1e-6. [`crate::ERASED`] gives 0 and [`crate::CLEAR`] gives 1.
#[inline]
pub fn mutual_information(snr: Db) -> f64 {
    let steps = steps_to(snr.get());
    if steps < 0.0 {
        return low_snr_limit(linear(snr));
    }
    let index = steps as u32;
    // Beyond the last line it is 1.
    let Some(&[from, to]) = ENDS.get(index as usize..).and_then(|ends| ends.first_chunk()) else { return 1.0 };
    between([from, to], index, steps)
}

/// [`mutual_information`] at each of `snrs_db`, in decibels, in single precision.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn mutual_information_of_many<const MANY: usize>(snrs_db: &[f64; MANY], information: &mut [f32; MANY]) {
    const LAST: f64 = (ENDS.len() - 1) as f64;
    // Separate loops, which the compiler turns into vector instructions. Values outside of the table are replaced last.
    let (mut indices, mut ends) = ([0; MANY], [[0.0; MANY]; 2]);
    for (snr_db, index) in snrs_db.iter().zip(&mut indices) {
        *index = steps_to(*snr_db).clamp(0.0, LAST - 1.0) as u32;
    }
    for (number, index) in indices.iter().enumerate() {
        let index = (*index as usize).min(ENDS.len() - 2); // it is at most that, which spares a check
        (ends[0][number], ends[1][number]) = (ENDS[index], ENDS[index + 1]);
    }
    let mut outside = false;
    for number in 0..MANY {
        let steps = steps_to(snrs_db[number]);
        information[number] = between([ends[0][number], ends[1][number]], indices[number], steps) as f32;
        outside |= !(0.0..LAST).contains(&steps);
    }
    if outside {
        for (snr_db, information) in snrs_db.iter().zip(information) {
            if !(0.0..LAST).contains(&steps_to(*snr_db)) {
                *information = mutual_information(Db::new(*snr_db)) as f32;
            }
        }
    }
}

/// The information after so many `steps`, on the line number `index`.
#[inline(always)]
fn between(ends: [f32; 2], index: u32, steps: f64) -> f64 {
    let [from, to] = ends.map(f64::from);
    from + (to - from) * (steps - f64::from(index))
}

/// The steps of [`ENDS`] up to a signal-to-noise ratio.
#[inline(always)]
fn steps_to(snr_db: f64) -> f64 {
    (snr_db - LINES_FROM_DB) * (STEPS_PER_DB * LINES as f64)
}

/// Probability of an error in an uncoded bit, `Q(sqrt(Es/N0))` (Proakis, Digital Communications, section 4.3).
pub fn bit_error_rate(snr: Db) -> f64 {
    0.5 * libm::erfc((linear(snr) / 2.0).sqrt())
}

/// Below the table the information is `log2(1 + g) / 2`: the input alphabet matters only in the fourth order of `g`.
const LOW_DB: f64 = -40.0;
/// From here on 1 minus the information is less than the last bit of a double.
const HIGH_DB: f64 = 20.0;
const STEPS_PER_DB: f64 = 8.0;
const ENTRIES: usize = ((HIGH_DB - LOW_DB) * STEPS_PER_DB) as usize + 1;
const _: () = assert!(TABLE.len() == ENTRIES);

fn low_snr_limit(g: f64) -> f64 {
    libm::log1p(g) / (2.0 * LN_2)
}

fn linear(snr: Db) -> f64 {
    libm::pow(10.0, snr.get() / 10.0)
}

/// Lines for each step of the table: they differ from the cubics by less than 1e-6.
const LINES: usize = 8;
const LINES_FROM_DB: f64 = LOW_DB + 1.0 / STEPS_PER_DB;

/// The ends of the lines, on cubics through four neighbours of the table. In single precision those around 0 dB fill a
/// quarter of a processor's first cache.
static ENDS: [f32; (ENTRIES - 3) * LINES + 1] = {
    let mut ends = [1.0; (ENTRIES - 3) * LINES + 1];
    let mut index = 0;
    while index < ends.len() - 1 {
        let (step, line) = (index / LINES, index % LINES);
        let around = [TABLE[step], TABLE[step + 1], TABLE[step + 2], TABLE[step + 3]];
        let end = cubic(around, line as f64 / LINES as f64) as f32;
        // Near 1 the interpolated value may exceed it in the last bit.
        ends[index] = if end < 1.0 { end } else { 1.0 };
        index += 1;
    }
    ends
};

/// The cubic through four points at -1, 0, 1 and 2, evaluated at `u` from 0 to 1 (Lagrange).
const fn cubic(p: [f64; 4], u: f64) -> f64 {
    let (before, after, beyond) = (u + 1.0, u - 1.0, u - 2.0);
    before * beyond * 0.5 * (p[1] * after - p[2] * u) + u * after * (1.0 / 6.0) * (p[3] * before - p[0] * beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `1 - E[log2(1 + exp(-L))]`, `L ~ N(2 g, 4 g)`, by the trapezoidal rule over ±9 standard deviations.
    ///
    /// The rule converges exponentially for analytic integrands: the nearest poles are `d = pi / (2 sqrt(g))` from the
    /// real line, and with `n` nodes for a standard deviation the error is of the order `exp(-2 pi d n)`, here below
    /// exp(-31).
    struct Rule {
        /// From this `g` on it is too coarse.
        below: f64,
        /// Abscissa and weight of each node: the weight is the normal density times the step.
        nodes: Vec<(f64, f64)>,
    }

    impl Rule {
        fn all() -> [Rule; 3] {
            [(1.0, 8), (10.0, 16), (f64::INFINITY, 32)].map(|(below, nodes)| {
                let step = 1.0 / f64::from(nodes);
                let density = |t: f64| libm::exp(-t * t / 2.0) * step / (2.0 * std::f64::consts::PI).sqrt();
                let nodes = (-9 * nodes..=9 * nodes).map(|i| f64::from(i) * step);
                Rule { below, nodes: nodes.map(|t| (t, density(t))).collect() }
            })
        }

        /// By the coarsest of `rules` that will do.
        fn quadrature(rules: &[Rule; 3], g: f64) -> f64 {
            let lost = |llr: f64| (libm::log1p(libm::exp(-llr.abs())) + (-llr).max(0.0)) / LN_2;
            let rule = rules.iter().find(|rule| g < rule.below).unwrap_or(&rules[2]);
            let expected: f64 =
                rule.nodes.iter().map(|&(t, density)| density * lost(2.0 * g + 2.0 * g.sqrt() * t)).sum();
            1.0 - expected
        }
    }

    #[test]
    fn the_table_is_that_of_the_quadrature() {
        let rules = Rule::all();
        for (index, entry) in TABLE.iter().enumerate() {
            let expected = Rule::quadrature(&rules, linear(Db::new(LOW_DB + index as f64 / STEPS_PER_DB)));
            assert_eq!(entry.to_bits(), expected.to_bits(), "entry {index}: {entry:?} against {expected:?}");
        }
    }

    /// Bits per symbol at -10 to 15 dB, by Gauss-Hermite quadrature with 96 nodes, checked with adaptive quadrature.
    const INFORMATION_PER_SYMBOL: [f64; 26] = [
        0.13749, 0.17103, 0.21216, 0.26226, 0.32286, 0.39546, 0.48149, 0.58207, 0.69776, 0.82822, 0.97189, 1.12558,
        1.28430, 1.44132, 1.58871, 1.71839, 1.82376, 1.90136, 1.95196, 1.98033, 1.99351, 1.99837, 1.99971, 1.99997,
        2.00000, 2.00000,
    ];

    #[test]
    fn information_agrees_with_gauss_hermite_quadrature() {
        for (db, expected) in (-10..).zip(INFORMATION_PER_SYMBOL) {
            let symbol = 2.0 * mutual_information(Db::new(f64::from(db)));
            assert!((symbol - expected).abs() < 6e-6, "{db} dB: {symbol} against {expected}");
        }
    }

    #[test]
    fn many_are_those_of_each() {
        for first in (-60..30).chain([-300, 300]) {
            let snrs_db: [f64; 64] = std::array::from_fn(|number| f64::from(first) + number as f64 / 7.0);
            let mut many = [0.0; 64];
            mutual_information_of_many(&snrs_db, &mut many);
            assert_eq!(many, snrs_db.map(|snr_db| mutual_information(Db::new(snr_db)) as f32), "from {first} dB on");
        }
    }

    #[test]
    fn interpolation_agrees_with_the_quadrature_between_entries() {
        let rules = Rule::all();
        for thousandth in (-39_900..19_900).step_by(37) {
            let snr = Db::new(f64::from(thousandth) / 1000.0);
            let error = mutual_information(snr) - Rule::quadrature(&rules, linear(snr));
            assert!(error.abs() < 1e-6, "{snr}: error {error:e}");
        }
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(mutual_information(crate::CLEAR), 1.0);
        assert_eq!(mutual_information(Db::new(18.592619134107434)), 1.0, "not a bit more");
        assert!(mutual_information(crate::ERASED) < 1e-29);
        let (below, above) = (mutual_information(Db::new(-39.89)), mutual_information(Db::new(-39.85)));
        assert!((above / below - 1.0 - 0.04 * 0.230_259).abs() < 1e-4, "no step where the table begins");
    }

    #[test]
    fn bit_error_rate_agrees_with_the_q_function() {
        // Q(1), Q(2) and Q(3), Abramowitz and Stegun table 26.1.
        for (sigma, q) in [(1.0_f64, 0.158_655_254), (2.0, 0.022_750_132), (3.0, 0.001_349_898)] {
            let snr = Db::new(10.0 * libm::log10(sigma * sigma));
            assert!((bit_error_rate(snr) - q).abs() < 1e-9);
        }
        assert_eq!(bit_error_rate(crate::CLEAR), 0.0);
        assert!((bit_error_rate(crate::ERASED) - 0.5).abs() < 1e-14);
    }

    proptest! {
        #[test]
        fn information_grows_with_the_signal(low in -60.0f64..30.0, step in 0.001f64..20.0) {
            let (less, more) = (mutual_information(Db::new(low)), mutual_information(Db::new(low + step)));
            prop_assert!((0.0..=1.0).contains(&less) && less <= more + 1e-12, "{less} then {more}");
        }
    }
}
