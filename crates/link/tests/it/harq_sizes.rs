//! The sizes of adaptive HARQ's transmissions, against laws whose quantiles are known and against the calibration in
//! numpy.

use crate::common;
use crate::common::uniform_block_fading;
use channel::TransmissionLaw;
use link::harq::adaptive::{Adaptive, AdaptiveConfig};
use link::harq::sizes::{Block, Threshold, transmission_sizes};
use proptest::prelude::*;
use units::Probability;

const CODE: Block = Block { data_bits: 8920, coded_bits: 53_520, threshold: Threshold::Code };
const TARGETS: [f64; 3] = [0.5, 0.7, 0.85];

fn ideal(threshold: f64) -> Block {
    Block { threshold: Threshold::Constant(threshold), ..CODE }
}

/// 2000 packets of the intermediate-tree-shadowed channel at 40 degrees, 60 km/h and 10 dB (Perez-Fontan 2001):
/// information per coded bit of four transmissions 20 ms apart. A systematic sample of 600 000, by the first two
/// values.
fn tree_shadowed() -> TransmissionLaw {
    let text = include_str!("fixtures/its40_10db.csv");
    let samples = text.split([',', '\n']).filter(|cell| !cell.is_empty()).map(|cell| cell.parse().unwrap()).collect();
    TransmissionLaw { transmissions: 4, samples }
}

fn assert_near(sizes: &[u32], expected: &[f64], tolerance: impl Fn(f64) -> f64) {
    let near = |(&size, &wanted): (&u32, &f64)| (f64::from(size) - wanted).abs() <= tolerance(wanted);
    assert!(sizes.len() == expected.len() && sizes.iter().zip(expected).all(near), "{sizes:?} against {expected:?}");
}

/// Shares of packets decoded after each transmission, and the mean of the coded bits.
fn outcome(block: &Block, sizes: &[u32], law: &TransmissionLaw) -> (Vec<usize>, f64) {
    let mut decoded = vec![0; sizes.len() + 1];
    let mut bits = 0.0;
    for row in law.samples.chunks(law.transmissions) {
        let (mut sent, mut information) = (0.0, 0.0);
        let mut after = sizes.len();
        for (transmission, &size) in sizes.iter().enumerate() {
            sent += f64::from(size);
            information += f64::from(size) * f64::from(row[transmission]);
            if block.decodes(sent, information) {
                after = transmission;
                break;
            }
        }
        decoded[after] += 1;
        bits += sent;
    }
    (decoded, bits / (law.samples.len() / law.transmissions) as f64)
}

/// What numpy's quantiles give for the same 2000 packets, each size rounded up to whole bits before the next.
#[test]
fn agrees_with_numpy_on_the_same_packets() {
    let law = tree_shadowed();
    for (threshold, expected, decoded, mean) in [
        (1.0, [9942, 4626, 6187, 32_765], [1000, 400, 300, 275, 25], 19_025.85),
        (1.1, [10_936, 5089, 6805, 30_690], [1000, 400, 300, 269, 31], 20_125.5),
    ] {
        let sizes = transmission_sizes(&ideal(threshold), &TARGETS, &law);
        assert_eq!(sizes, expected);
        let (outcome, bits) = outcome(&ideal(threshold), &sizes, &law);
        assert_eq!(outcome, decoded);
        assert!((bits - mean).abs() < 0.01, "{bits} against {mean}");
    }
    // The code's threshold by trying every number of bits.
    let sizes = transmission_sizes(&CODE, &TARGETS, &law);
    assert_near(&sizes, &[10_428.0, 5717.0, 7587.0, 29_788.0], |_| 2.0);
    assert_eq!(outcome(&CODE, &sizes, &law).0, [1000, 400, 300, 263, 37]);
}

/// The sizes and the success published for the whole law, which 2000 packets of it meet but for the sampling.
#[test]
fn agrees_with_the_calibration_of_the_channel() {
    let law = tree_shadowed();
    let sizes = transmission_sizes(&ideal(1.0), &TARGETS, &law);
    assert_near(&sizes, &[9940.0, 4550.0, 5965.0, 33_065.0], |wanted| 0.04 * wanted);
    let (decoded, bits) = outcome(&ideal(1.0), &sizes, &law);
    assert!((bits - 18_994.0).abs() < 0.005 * 18_994.0, "{bits}");
    let success = 100.0 * (1.0 - decoded[4] as f64 / 2000.0);
    assert!((success - 98.92).abs() < 0.25, "{success} %");
}

/// The sizes as they are defined: all packets are kept, and one that is decoded needs no bits.
fn by_definition(block: &Block, targets: &[f64], law: &TransmissionLaw) -> Vec<u32> {
    let rows: Vec<&[f32]> = law.samples.chunks(law.transmissions).collect();
    let mut received = vec![0.0; rows.len()];
    let (mut sizes, mut sent) = (Vec::new(), 0);
    for (transmission, &target) in targets.iter().enumerate() {
        let missing =
            |(row, received): (&&[f32], &f64)| block.missing(f64::from(sent), *received, f64::from(row[transmission]));
        let mut missing: Vec<f64> = rows.iter().zip(&received).map(missing).collect();
        missing.sort_by(f64::total_cmp);
        let position = target * (rows.len() - 1) as f64;
        let (low, high) = (missing[position as usize], missing[(position.ceil()) as usize]);
        let wanted = if low == high { low } else { low + position.fract() * (high - low) };
        let left = block.coded_bits - sent;
        let share = left.div_ceil((targets.len() + 1 - transmission) as u32);
        let size = if wanted.ceil() > f64::from(left) { share } else { wanted.ceil() as u32 };
        sent += size;
        sizes.push(size);
        for (received, row) in received.iter_mut().zip(&rows) {
            *received += f64::from(size) * f64::from(row[transmission]);
            if block.decodes(f64::from(sent), *received) {
                *received = f64::INFINITY;
            }
        }
    }
    sizes.push(block.coded_bits - sent);
    sizes.retain(|&size| size > 0);
    sizes
}

proptest! {
    /// Also where bursts are erased or carry all they can, where few packets are left, and where targets are met
    /// before.
    #[test]
    fn sizes_are_the_quantiles_over_all_packets(
        rows in prop::collection::vec(prop::array::uniform4(prop_oneof![0.0f32..1.0, Just(0.0), Just(1.0)]), 1..80),
        shares in prop::collection::vec(0.01f64..0.99, 0..=3),
        threshold in prop_oneof![Just(Threshold::Code), (1.0f64..1.5).prop_map(Threshold::Constant)],
    ) {
        let mut targets = shares;
        targets.sort_by(f64::total_cmp);
        let law = TransmissionLaw { transmissions: 4, samples: rows.concat() };
        let block = Block { threshold, ..CODE };
        prop_assert_eq!(transmission_sizes(&block, &targets, &law), by_definition(&block, &targets, &law));
    }
}

#[test]
fn block_fading_gives_quantiles_of_one_over_a_uniform_variable() {
    // c uniform on 0 to 1: N_1 = K / (1/2), N_1 + N_2 = K / 0.3, and all in all K / 0.15 is more than there is: the
    // rest is halved.
    let law = uniform_block_fading(4, 100_001);
    let sizes = transmission_sizes(&ideal(1.0), &TARGETS, &law);
    let half = (53_520.0 - 8920.0 / 0.3) / 2.0;
    assert_near(&sizes, &[17_840.0, 8920.0 / 0.3 - 17_840.0, half, half], |_| 2.0);
}

#[test]
fn independent_draws_use_what_was_received_before() {
    // First burst: 1 or 0.5 per bit, half of the packets each; then always 0.8. Half are decoded by 8920 bits or by 13
    // 380 (halfway between the order statistics of four packets); the others then miss 8920 - 6690 bits of information.
    let samples = [[1.0, 0.8], [1.0, 0.8], [0.5, 0.8], [0.5, 0.8]].concat();
    let law = TransmissionLaw { transmissions: 2, samples };
    assert_eq!(transmission_sizes(&ideal(1.0), &[0.5], &law), [13_380, 40_140]);
    let three = TransmissionLaw { transmissions: 3, samples: [1.0, 0.8, 0.8, 0.5, 0.8, 0.8].repeat(50) };
    let sizes = transmission_sizes(&ideal(1.0), &[0.4, 0.9], &three);
    assert_eq!(sizes[0], 8920);
    assert_near(&sizes[1..2], &[4460.0 / 0.8], |_| 1.0);
}

#[test]
fn a_transmission_without_bits_is_not_made() {
    let clear = TransmissionLaw { transmissions: 4, samples: vec![1.0; 400] };
    assert_eq!(transmission_sizes(&ideal(1.0), &TARGETS, &clear), [8920, 44_600]);
    // N^2 - 1.22 K N + 0.2 K^2 = 0
    let whole = (8920.0 * (1.22 + (1.22f64 * 1.22 - 0.8).sqrt()) / 2.0).ceil();
    assert_near(&transmission_sizes(&CODE, &TARGETS, &clear)[..1], &[whole], |_| 0.0);
    assert_eq!(transmission_sizes(&CODE, &[], &TransmissionLaw { transmissions: 1, samples: vec![1.0; 5] }), [53_520]);
}

/// Whatever is sent first, the transmissions after it still have something to send.
#[test]
fn what_no_size_reaches_leaves_bits_for_the_others() {
    let deaf = TransmissionLaw { transmissions: 4, samples: vec![0.0; 400] };
    assert_eq!(transmission_sizes(&ideal(1.0), &TARGETS, &deaf), [13_380; 4]);
    // Erasures of 55 %: the first target is out of reach with one transmission, the others with those after it.
    let erased = (0..4000usize).map(|i| f32::from((i / 4 * 389 + i % 4 * 251) % 1000 >= 550)).collect();
    let law = TransmissionLaw { transmissions: 4, samples: erased };
    let sizes = transmission_sizes(&CODE, &TARGETS, &law);
    let (decoded, _) = outcome(&CODE, &sizes, &law);
    assert_eq!((sizes.len(), sizes[0]), (4, 13_380), "{sizes:?}");
    assert!(decoded.iter().sum::<usize>() > 850, "{decoded:?} of 1000");
    // The first target is reached, the second is not.
    let two = TransmissionLaw { transmissions: 4, samples: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].repeat(50) };
    let whole = transmission_sizes(&ideal(1.0), &[0.4, 0.7, 0.9], &two);
    assert_eq!(whole, [8920, 14_867, 14_867, 14_866]);
}

/// The threshold rises as more bits are sent, but a packet that is decoded needs no more.
#[test]
fn a_decoded_packet_stays_decoded() {
    let samples = [[1.0, 0.0, 0.5, 0.5]; 60].into_iter().chain([[0.5; 4]; 40]).flatten().collect();
    let law = TransmissionLaw { transmissions: 4, samples };
    let sizes = transmission_sizes(&CODE, &[0.5, 0.7, 0.9], &law);
    assert_eq!(sizes.len(), 3, "the second decodes all others, so the third has nothing to carry: {sizes:?}");
}

#[test]
fn more_transmissions_halve_what_is_left() {
    let law = uniform_block_fading(8, 10_001);
    let with = |transmissions, targets: Option<&[f64]>| {
        let targets = targets.map(|targets| targets.iter().map(|&target| Probability::new(target)).collect());
        let config = AdaptiveConfig { transmissions, targets, codeword_bits: 500_000, ..AdaptiveConfig::default() };
        Adaptive::new(&config, Some(&law), common::user_streams(1)).unwrap().transmission_sizes()
    };
    assert_eq!(with(2, None), with(2, Some(&[0.5])));
    assert_eq!(with(4, None), with(4, Some(&TARGETS)));
    assert_eq!(with(7, None), with(7, Some(&[0.5, 0.7, 0.85, 0.925, 0.9625, 0.98125])));
    assert_eq!(with(1, None), [500_000]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5000) })]

    /// The closed form is the fewest bits that decode, whatever was received before.
    #[test]
    fn missing_is_the_first_number_of_bits_that_decodes(
        sent in 0u32..40_000, quality in 0.0f64..1.0, per_bit in 0.001f64..1.0,
        constant in prop::option::of(1.0f64..2.0)
    ) {
        let block = constant.map_or(CODE, ideal);
        let sent = f64::from(sent);
        let information = sent * quality;
        let missing = block.missing(sent, information, per_bit);
        prop_assert!(missing >= 0.0 && missing.is_finite());
        let after = |bits: f64| block.decodes(sent + bits, information + bits * per_bit);
        prop_assert!(after(missing + 1e-3));
        for part in 0..200 {
            let fewer = missing * f64::from(part) / 200.0 - 1e-2;
            prop_assert!(fewer <= 0.0 || !after(fewer), "{} of {} decode", fewer, missing);
        }
    }

    /// Whatever the law: no bit is sent twice or forgotten, and the targets are met as far as the bits reach.
    #[test]
    fn sizes_meet_its_targets(
        samples in prop::collection::vec(0.0f32..1.0, 4..400), constant in prop::option::of(1.0f64..1.3)
    ) {
        let rows = samples.len() / 4;
        let law = TransmissionLaw { transmissions: 4, samples: samples[..4 * rows].to_vec() };
        let block = constant.map_or(CODE, ideal);
        let sizes = transmission_sizes(&block, &TARGETS, &law);
        prop_assert_eq!(sizes.iter().sum::<u32>(), 53_520);
        prop_assert!(sizes.iter().all(|&size| size > 0) && sizes.len() <= 4);
        if sizes.len() == 4 {
            for (transmission, target) in TARGETS.into_iter().enumerate() {
                let until = |sizes: &[u32]| outcome(&block, sizes, &law).0[..=transmission].iter().sum::<usize>();
                // The quantile lies between two order statistics: at least the packets up to the lower one are decoded.
                let wanted = (target * (rows - 1) as f64) as usize;
                let (decoded, before) = (until(&sizes), &sizes[..transmission]);
                let all_left = [before, &[53_520 - before.iter().sum::<u32>()]].concat();
                prop_assert!(decoded > wanted || until(&all_left) <= wanted + 1, "{decoded} after {transmission}");
            }
        }
    }
}
