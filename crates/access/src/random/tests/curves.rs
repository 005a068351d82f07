//! Loss curves compared with closed forms, an independent simulation, and the literature.
//!
//! Deviations are standard deviations of the simulations, from the differences between blocks.

use serde_json::json;

use super::*;
use crate::random::PlrStudy;

#[test]
fn aloha_follows_its_law() {
    for (packets, seed) in [(1, 1), (2, 2), (20, 3), (60, 4), (100, 5)] {
        let (plr, sigma) = loss_rate(scheme(&json!({ "kind": "aloha" })), free(100), packets, 3000, seed);
        let expected = 1.0 - libm::pow(0.99, f64::from(packets - 1));
        assert!((plr - expected).abs() <= 4.0 * sigma, "{packets}: {plr} against {expected}, deviation {sigma}");
    }
}

/// The probability that all `replicas` collide, by inclusion and exclusion over those that do not: the other packets
/// miss any `k` slots with the probability of drawing all their slots elsewhere.
fn diversity_loss(slots: u32, replicas: u32, packets: u32) -> f64 {
    let choose = |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
    (0..=replicas)
        .map(|k| {
            let missed = choose(slots - k, replicas) / choose(slots, replicas);
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sign * choose(replicas, k) * libm::pow(missed, f64::from(packets - 1))
        })
        .sum()
}

#[test]
fn diversity_aloha_follows_its_law() {
    for replicas in [2, 3, 4] {
        for packets in [1, 2, 10, 40, 90] {
            let config = json!({ "kind": "dsa", "replicas": replicas });
            let (plr, sigma) = loss_rate(scheme(&config), free(100), packets, 4000, u64::from(packets * replicas));
            let expected = diversity_loss(100, replicas, packets);
            assert!(
                (plr - expected).abs() <= 4.0 * sigma.max((expected / (4000.0 * f64::from(packets))).sqrt()),
                "{replicas} replicas, {packets} packets: {plr} against {expected}, deviation {sigma}"
            );
        }
    }
}

#[test]
fn two_packets_are_lost_when_they_choose_the_same_slots() {
    for (slots, replicas, ways) in [(6, 2, 15.0), (6, 3, 20.0), (8, 4, 70.0)] {
        let (plr, sigma) = loss_rate(scheme(&crdsa(replicas)), free(slots), 2, 40_000, u64::from(replicas));
        assert!((plr - 1.0 / ways).abs() < 4.0 * sigma, "{replicas} replicas: {plr}, deviation {sigma}");
    }
}

/// With one iteration nothing is cancelled: CRDSA is then diversity ALOHA.
#[test]
fn one_iteration_cancels_nothing() {
    let random = RandomConfig { iterations: 1, ..RandomConfig::default() };
    let (plr, sigma) = loss_rate(load(&crdsa(3), &random), free(100), 40, 3000, 9);
    assert!((plr - diversity_loss(100, 3, 40)).abs() < 4.0 * sigma, "{plr}");
}

/// The result of another program, which draws and decodes 3,000 blocks of 100 slots at 5 dB.
struct Reference {
    scheme: serde_json::Value,
    /// Packets of a block and their loss rate, printed with two digits; 0 where no loss was seen.
    points: Vec<(u32, f64)>,
}

fn references() -> Vec<Reference> {
    let row = |scheme: serde_json::Value, loads: &[u32], plr: &[f64]| Reference {
        scheme,
        points: loads.iter().copied().zip(plr.iter().copied()).collect(),
    };
    let low = [20, 30, 40, 50, 60, 65, 70, 80, 90, 97, 100];
    let high = [97, 100, 110, 120, 130, 140, 150, 155, 160];
    vec![
        row(
            json!({ "kind": "aloha" }),
            &low,
            &[0.173, 0.254, 0.326, 0.389, 0.449, 0.476, 0.498, 0.548, 0.591, 0.619, 0.632],
        ),
        row(
            json!({ "kind": "dsa" }),
            &low,
            &[0.100, 0.197, 0.296, 0.394, 0.485, 0.528, 0.566, 0.635, 0.695, 0.733, 0.748],
        ),
        row(crdsa(2), &low, &[5.6e-3, 1.3e-2, 2.5e-2, 5.3e-2, 0.122, 0.184, 0.253, 0.402, 0.531, 0.607, 0.634]),
        row(crdsa(3), &low, &[1.0e-4, 3.3e-4, 1.8e-4, 5.4e-4, 1.6e-3, 6.8e-3, 3.2e-2, 0.323, 0.664, 0.760, 0.788]),
        row(musca(0.0), &high, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.1e-2, 0.28, 0.56, 0.78]),
        row(musca(0.04), &high, &[0.0, 0.0, 0.0, 0.0, 1.7e-3, 0.11, 0.69, 0.84, 0.90]),
        row(musca(0.06), &high, &[0.0, 0.0, 0.0, 6.9e-4, 7.3e-2, 0.61, 0.88, 0.91, 0.93]),
        row(musca(0.10), &high, &[0.0, 0.0, 0.0, 1.1e-2, 0.33, 0.82, 0.91, 0.93, 0.95]),
        row(musca(0.15), &high, &[0.0, 0.0, 1.6e-2, 0.32, 0.78, 0.89, 0.93, 0.95, 0.96]),
        row(musca(0.20), &high, &[0.0, 0.0, 1.6e-2, 0.32, 0.78, 0.89, 0.93, 0.95, 0.96]),
        row(musca(0.30), &high, &[1.1e-2, 4.3e-2, 0.50, 0.82, 0.90, 0.93, 0.96, 0.96, 0.97]),
    ]
}

/// Half a unit of the second digit.
fn rounding(printed: f64) -> f64 {
    0.05 * libm::pow(10.0, libm::floor(libm::log10(printed)))
}

#[test]
fn curves_agree_with_another_simulation() {
    const THEIR_BLOCKS: f64 = 3000.0;
    let (mut squares, mut compared, mut worst) = (0.0, 0, 0.0_f64);
    for Reference { scheme: config, points } in references() {
        for (packets, expected) in points {
            // Where few blocks have losses, more blocks are needed for a standard deviation.
            let blocks = if expected > 0.0 && expected < 0.03 { 10_000 } else { 2000 };
            let losses = losses(scheme(&config), free(100), packets, blocks, u64::from(packets) + 77);
            let (mean, variance) = moments(&losses);
            if expected == 0.0 {
                // With losses in more than one block of 400, the probability of none in all blocks is below 0.9975^3000
                // = 5e-4.
                let with_loss = losses.iter().filter(|&&lost| lost > 0.0).count();
                assert!(
                    with_loss * 400 <= blocks as usize,
                    "{config} {packets}: losses in {with_loss} of {blocks} blocks"
                );
                continue;
            }
            let plr = mean / f64::from(packets);
            let variance = variance / f64::from(packets * packets) * (1.0 / f64::from(blocks) + 1.0 / THEIR_BLOCKS);
            let sigma = (variance + rounding(expected) * rounding(expected) / 3.0).sqrt();
            let z = (plr - expected) / sigma;
            assert!(z.abs() < 4.0, "{config} {packets}: {plr} against {expected}, {z} deviations of {sigma}");
            (squares, compared, worst) = (squares + z * z, compared + 1, worst.max(z.abs()));
        }
    }
    // The mean of the squared deviations is neither too large nor too small.
    let mean = squares / f64::from(compared);
    println!("{compared} points, mean square of the deviations {mean}, worst {worst}");
    assert!(compared > 75 && (mean - 1.0).abs() < 4.0 * (2.0 / f64::from(compared)).sqrt(), "{mean} of {compared}");
}

/// Kuhn et al. 2015, figure 3: at 5 dB and 100 slots the loss of CRDSA-3 is small to about 30 packets, that of MuSCA-3
/// to about 95, then steep.
#[test]
fn the_knees_are_where_the_paper_has_them() {
    let plr = |config: &serde_json::Value, packets, blocks| loss_rate(scheme(config), free(100), packets, blocks, 3).0;
    assert!(plr(&crdsa(3), 30, 10_000) < 4e-4);
    assert!(plr(&json!({ "kind": "musca" }), 95, 3000) < 1e-5);
    assert!(plr(&crdsa(3), 95, 300) > 0.5 && plr(&json!({ "kind": "musca" }), 145, 300) > 0.3);
}

/// The largest of the throughputs at these loads, in packets per slot, and its load.
fn peak(config: &serde_json::Value, slots: u32, loads: impl Iterator<Item = u32>) -> (f64, f64) {
    let points = loads.map(|packets| {
        let plr = loss_rate(scheme(config), free(slots), packets, 1000, u64::from(packets)).0;
        let load = f64::from(packets) / f64::from(slots);
        (load * (1.0 - plr), load)
    });
    points.fold((0.0, 0.0), |best, point| if point.0 > best.0 { point } else { best })
}

/// Casini, De Gaudenzi, del Rio Herrero 2007: 2 replicas carry up to about 0.55 packets per slot, where slotted ALOHA
/// has 1/e; Liva 2011 and del Rio Herrero, De Gaudenzi 2009 ("CRDSA++"): 3 replicas about 0.68, on 100 slots.
#[test]
fn throughput_peaks_where_it_is_published() {
    let (aloha, load) = peak(&json!({ "kind": "aloha" }), 100, (80..=120).step_by(5));
    assert!((aloha - libm::exp(-1.0)).abs() < 0.006 && (load - 1.0).abs() <= 0.1, "{aloha} at {load}");
    let (two, load) = peak(&crdsa(2), 100, (50..=75).step_by(5));
    assert!((0.52..0.55).contains(&two) && (load - 0.65).abs() <= 0.1, "{two} at {load}");
    let (three, load) = peak(&crdsa(3), 100, (60..=80).step_by(2));
    assert!((0.66..0.70).contains(&three) && (0.68..=0.74).contains(&load), "{three} at {load}");
}

/// Casini, De Gaudenzi, del Rio Herrero 2007: at a packet loss of 2 % under Poisson traffic, 2 replicas carry 17 times
/// as much as slotted ALOHA.
#[test]
fn the_gain_at_two_percent_loss_is_the_published_one() {
    // The number of packets in one of so many blocks is nearly Poisson.
    const BLOCKS: u32 = 1000;
    let mut frame = RandomFrame::new(scheme(&crdsa(2)), free(100));
    let mut rng = rng(6);
    let mut plr = |packets: u32| {
        let before = frame.counters().lost_packets;
        for _ in 0..10 {
            frame.begin(BLOCKS);
            (0..packets * BLOCKS).for_each(|_| assert!(frame.add(&mut Columns::new(100), &mut rng)));
            frame.decode(&mut rng);
        }
        (frame.counters().lost_packets - before) as f64 / f64::from(10 * packets * BLOCKS)
    };
    let (low, high) = (plr(30), plr(40));
    let load = (30.0 + 10.0 * libm::log(0.02 / low) / libm::log(high / low)) / 100.0;
    let aloha = -libm::log(1.0 - 0.02);
    assert!((load / aloha - 17.0).abs() < 0.5, "{} times at {load} packets per slot", load / aloha);
}

/// Packet loss in blocks of infinite size (Liva 2011, density evolution): an edge from a packet is unresolved if
/// all its other edges are, one from a slot if any of its other bursts, Poisson in number, is.
fn asymptotic_loss(distribution: &[(u32, f64)], load: f64) -> f64 {
    let mean: f64 = distribution.iter().map(|&(degree, share)| f64::from(degree) * share).sum();
    let mut unresolved = 1.0;
    for _ in 0..20_000 {
        let slot = 1.0 - libm::exp(-load * mean * unresolved);
        unresolved = distribution
            .iter()
            .map(|&(degree, share)| f64::from(degree) * share / mean * libm::pow(slot, f64::from(degree - 1)))
            .sum();
    }
    let slot = 1.0 - libm::exp(-load * mean * unresolved);
    distribution.iter().map(|&(degree, share)| share * libm::pow(slot, f64::from(degree))).sum()
}

const IRSA: [(u32, f64); 3] = [(2, 0.5), (3, 0.28), (8, 0.22)];

/// Liva 2011: 2, 3 and 4 replicas have the thresholds 0.5, 0.818 and 0.772, the irregular distribution 0.938.
#[test]
fn large_blocks_have_the_published_thresholds() {
    let cases = [
        (crdsa(2), &[(2, 1.0)][..], 0.5),
        (crdsa(3), &[(3, 1.0)], 0.818),
        (crdsa(4), &[(4, 1.0)], 0.772),
        (json!({ "kind": "irsa" }), &IRSA, 0.938),
    ];
    const SLOTS: u32 = 10_000;
    let random = RandomConfig { iterations: 1000, ..RandomConfig::default() };
    for (config, distribution, threshold) in cases {
        assert!(asymptotic_loss(distribution, threshold - 0.004) < 1e-3, "{config}");
        assert!(asymptotic_loss(distribution, threshold + 0.004) > 1e-4, "{config}");
        for factor in [0.93, 1.1, 1.3] {
            let load = threshold * factor;
            let packets = (load * f64::from(SLOTS)) as u32;
            let (plr, sigma) = loss_rate(super::load(&config, &random), free(SLOTS), packets, 12, packets.into());
            let expected = asymptotic_loss(distribution, load);
            // Blocks are finite: cycles of two or three packets (Liva 2011) and the number of bursts in a slot shift
            // the loss by a few over the number of slots.
            let finite = 10.0 / f64::from(SLOTS);
            assert!(
                (plr - expected).abs() < 4.0 * sigma + finite,
                "{config} at {load}: {plr} against {expected}, deviation {sigma}"
            );
        }
    }
}

/// Liva 2011: irregular repetition carries near to 0.8 packets per slot in blocks of practical size (200 slots).
#[test]
fn irregular_repetition_carries_more_than_regular() {
    let (irregular, _) = peak(&json!({ "kind": "irsa" }), 200, (150..=180).step_by(5));
    let (regular, _) = peak(&crdsa(3), 200, (140..=170).step_by(5));
    assert!((0.75..0.85).contains(&irregular) && irregular > regular + 0.02, "{irregular} and {regular}");
}

fn study(config: &serde_json::Value, loads: Vec<u32>, bursts: u64, seed: u64) -> PlrStudy {
    PlrStudy::new(scheme(config), free(100), loads, bursts, Box::new(rng(seed)))
}

#[test]
fn a_study_is_the_same_however_it_is_stepped() {
    let finish = |step: u64| {
        let mut study = study(&json!({ "kind": "irsa" }), vec![0, 10, 80, 0, 50], 5000, 1);
        let mut steps = 1;
        while study.advance(step) {
            assert!(study.progress() < 1.0 && study.points().len() < 5);
            steps += 1;
        }
        assert_eq!(study.progress(), 1.0);
        assert!(!study.advance(step));
        (study.points(), steps)
    };
    let (points, steps) = finish(u64::MAX);
    assert_eq!(steps, 1);
    let (stepped, steps) = finish(700);
    assert!(steps > 15 && stepped == points);
    assert_eq!(points.iter().map(|point| point.packets_per_block).collect::<Vec<_>>(), [0, 10, 80, 0, 50]);
    for point in points {
        let slots = point.blocks as f64 * 100.0;
        assert_eq!(point.packets, point.blocks * u64::from(point.packets_per_block));
        assert_eq!(point.load, f64::from(point.packets_per_block) / 100.0);
        if point.packets_per_block == 0 {
            assert_eq!(
                (point.blocks, point.plr, point.plr_low, point.plr_high, point.throughput),
                (0, 0.0, 0.0, 1.0, 0.0)
            );
            continue;
        }
        assert!((5000..5000 + 8 * 80).contains(&point.bursts), "{}", point.bursts);
        assert_eq!(point.plr, point.lost_packets as f64 / point.packets as f64);
        assert!((point.throughput - (point.packets - point.lost_packets) as f64 / slots).abs() < 1e-12);
        assert!(point.plr_low <= point.plr && point.plr <= point.plr_high && point.plr_low < point.plr_high);
    }
}

/// Near the knee a block of MuSCA is lost as a whole or not at all, so that some blocks without loss prove little.
#[test]
fn no_loss_is_counted_by_blocks() {
    let mut study = study(&musca(0.0), vec![100, 1], 30_000, 1);
    while study.advance(10_000) {}
    for point in study.points() {
        assert_eq!((point.lost_packets, point.plr_low), (0, 0.0));
        let expected = 1.96 * 1.96 / (point.blocks as f64 + 1.96 * 1.96);
        assert!((point.plr_high / expected - 1.0).abs() < 1e-3, "{} against {expected}", point.plr_high);
    }
}

/// The interval covers the true rate in 95 of 100 studies, also where the losses of a block are correlated.
#[test]
fn intervals_hold_what_they_promise() {
    const STUDIES: u64 = 300;
    for (config, packets, truth) in [
        (json!({ "kind": "dsa" }), 20, diversity_loss(100, 2, 20)),
        (crdsa(3), 70, loss_rate(scheme(&crdsa(3)), free(100), 70, 60_000, 4).0),
        (crdsa(2), 65, loss_rate(scheme(&crdsa(2)), free(100), 65, 60_000, 5).0),
    ] {
        let held = (0..STUDIES)
            .filter(|seed| {
                let mut study = study(&config, vec![packets], 30_000, 1000 + seed);
                while study.advance(10_000) {}
                let point = study.points()[0];
                (point.plr_low..=point.plr_high).contains(&truth)
            })
            .count() as f64;
        let deviation = (STUDIES as f64 * 0.95 * 0.05).sqrt();
        assert!((held - 0.95 * STUDIES as f64).abs() < 4.0 * deviation, "{config}: {held} of {STUDIES}");
    }
}
