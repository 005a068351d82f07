//! What combining is worth: exact gains, and who decodes what on the same draws.

use crate::common::schemes::{has_option, schemes_with};
use crate::common::{packet, rng, user_streams};
use channel::{CLEAR, ERASED, qpsk};
use link::harq::{Burst, Decoding};
use link::{Harq, HarqConfig};
use proptest::prelude::*;
use rand::Rng;
use serde_json::{Value, json};
use units::chance::unit_interval;
use units::{Db, Time};

fn build(config: Value) -> Box<dyn Harq> {
    let config: HarqConfig = serde_json::from_value(config).unwrap();
    config.entry().build(None, user_streams(1)).unwrap()
}

/// After how many transmissions, each meeting one of `snrs`, a packet of `size` is decoded, and the bits that were
/// sent.
fn decoded_after(config: Value, size: u32, snrs: &[f64]) -> (Option<usize>, Vec<u32>) {
    let mut harq = build(config);
    let packet = packet(0, size);
    let mut burst = Burst { coded: harq.start(Time::ZERO, &packet, 0, None), packet, sequence: 0 };
    let mut bits = Vec::new();
    for (transmission, &snr) in snrs.iter().enumerate() {
        bits.push(burst.coded.bits);
        let reception = harq.receive(Time::ZERO, &burst, Db::new(snr));
        match reception.decoding {
            Decoding::Decoded => return (Some(transmission + 1), bits),
            Decoding::Failed => return (None, bits),
            Decoding::Undecided => {}
        }
        if let Some(feedback) = reception.feedback {
            harq.handle_feedback(Time::ZERO, burst.coded.feedback(feedback));
        }
        burst = harq.poll_burst(Time::ZERO).expect("not decoded, and not the last");
    }
    (None, bits)
}

fn scheme(kind: &str, transmissions: usize, threshold: Value) -> Value {
    json!({ "kind": kind, "transmissions": transmissions, "threshold": threshold, "code_rate": 0.8 })
}

/// The signal-to-noise ratio from which equal transmissions are enough, by bisection.
fn least_snr(config: &Value, transmissions: usize) -> f64 {
    let (mut low, mut high) = (-30.0, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let decoded = decoded_after(config.clone(), 1115, &vec![middle; transmissions]).0.is_some();
        if decoded { high = middle } else { low = middle }
    }
    high
}

#[test]
fn two_chase_transmissions_are_worth_three_decibels() {
    for threshold in [json!("code"), json!(1.0), json!(1.1)] {
        let one = least_snr(&scheme("chase", 1, threshold.clone()), 1);
        for copies in [2, 4, 8] {
            let many = least_snr(&scheme("chase", copies, threshold.clone()), copies);
            assert!((one - many - 10.0 * libm::log10(copies as f64)).abs() < 1e-4, "{copies}: {one} and {many} dB");
        }
    }
}

/// Without combining a repetition is worth nothing but another chance.
#[test]
fn repeat_request_does_not_combine() {
    for kind in ["stop-and-wait", "go-back-n", "selective-repeat"] {
        let one = least_snr(&scheme(kind, 1, json!("code")), 1);
        assert_eq!(least_snr(&scheme(kind, 8, json!("code")), 8), one, "{kind}");
        let fec = least_snr(&json!({ "kind": "fec", "code_rate": 0.8 }), 1);
        assert_eq!(one, fec, "{kind}");
    }
}

/// The first transmission of each scheme decodes where the code does at its rate: K/R · I = θ(R) · K.
#[test]
fn one_transmission_decodes_at_its_rate() {
    for kind in schemes_with(&["code_rate", "transmissions"]) {
        let snr = least_snr(&scheme(kind, 4, json!("code")), 1);
        let information = qpsk::mutual_information(Db::new(snr));
        assert!((information / 0.8 - channel::code::threshold(0.8)).abs() < 1e-4, "{kind}: {information}");
    }
}

/// n transmissions of incremental redundancy are a code of a rate n times lower.
#[test]
fn incremental_redundancy_is_one_code_of_a_lower_rate() {
    let config = scheme("incremental-redundancy", 4, json!("code"));
    for copies in 1..=4 {
        let rate = 0.8 / copies as f64;
        let information = qpsk::mutual_information(Db::new(least_snr(&config, copies)));
        assert!((information / rate - channel::code::threshold(rate)).abs() < 1e-4, "{copies}");
    }
}

/// When the circular buffer has come round, what comes again is combined: at the mother rate it is chase combining.
#[test]
fn a_buffer_that_comes_round_is_combined() {
    let round = json!({ "kind": "incremental-redundancy", "codeword_bits": 11_150, "code_rate": 0.8 });
    let chase = least_snr(&scheme("chase", 4, json!("code")), 4);
    assert_eq!(least_snr(&round, 4), chase);
    // One and a half rounds: half of the bits twice. 2/3 of 16 725 bits are 11 150.
    let half = json!({ "kind": "incremental-redundancy", "codeword_bits": 16_725, "code_rate": 0.8, "threshold": 1.0 });
    let snr = Db::new(least_snr(&half, 2));
    let twice = qpsk::mutual_information(snr + Db::new(10.0 * libm::log10(2.0)));
    let information = 11_150.0 * qpsk::mutual_information(snr) + 5_575.0 * twice;
    assert!((information - 8_920.0).abs() < 0.1, "{information}");
}

/// Data bits by signal-to-noise ratio, parity by mutual information.
#[test]
fn self_decodable_transmissions_share_their_data_bits() {
    let snr = Db::new(least_snr(&scheme("self-decodable", 2, json!(1.0)), 2));
    let data = 8_920.0 * qpsk::mutual_information(snr + Db::new(10.0 * libm::log10(2.0)));
    let information = data + 2.0 * 2_230.0 * qpsk::mutual_information(snr);
    assert!((information - 8_920.0).abs() < 0.1, "{information}");
}

/// Any one transmission alone is enough, whatever became of the others: what was erased does not count against it.
#[test]
fn any_transmission_is_decodable_alone() {
    let good = 5.0;
    for kind in schemes_with(&["code_rate", "transmissions"]) {
        for first in 0..4 {
            let mut snrs = vec![ERASED.get(); first];
            snrs.push(good);
            assert_eq!(decoded_after(scheme(kind, 4, json!("code")), 1115, &snrs).0, Some(first + 1), "{kind}");
        }
    }
}

/// Four blind repetitions of 5G: versions 0, 2, 3 and 1 of a buffer of 26 760 bits begin at bits 0, 13 380, 22 705 and
/// 6 892, and the coverage of each bit follows. Summed bit by bit.
#[test]
fn nr_repetitions_cover_the_buffer_as_their_versions_say() {
    let starts = [0, 13_380, 22_705, 6_892];
    let config = json!({ "kind": "nr-ntn", "threshold": 1.0 });
    for copies in 1..=4 {
        let mut covered = vec![0.0; 26_760];
        for start in &starts[..copies] {
            (0..11_150).for_each(|bit| covered[(start + bit) % 26_760] += 1.0);
        }
        let snr = least_snr(&config, copies);
        let of = |copies: f64| qpsk::mutual_information(Db::new(snr + 10.0 * libm::log10(copies)));
        let information: f64 = covered.iter().filter(|copies| **copies > 0.0).map(|&copies| of(copies)).sum();
        assert!((information - 8_920.0).abs() < 0.1, "{copies}: {information}");
    }
}

#[test]
fn short_packets_are_padded_or_cost_their_share() {
    let clear = [CLEAR.get()];
    for kind in schemes_with(&["code_rate"]) {
        let bits = |size, padding| {
            let config = json!({ "kind": kind, "code_rate": 0.8, "padding": padding });
            let (decoded, bits) = decoded_after(config, size, &clear);
            assert_eq!(decoded, Some(1));
            bits[0]
        };
        assert_eq!((bits(1115, true), bits(210, true), bits(1115, false)), (11_150, 11_150, 11_150), "{kind}");
        assert_eq!(bits(210, false), 2100, "{kind}");
        assert!((10..=11).contains(&bits(1, false)), "{kind}");
    }
}

/// In proportion a short packet's transmissions are those of a long one: it is decoded after as many.
#[test]
fn a_short_packet_decodes_where_a_long_one_does() {
    for kind in schemes_with(&["code_rate"]) {
        for snr in [-4.0, -1.0, 0.5, 2.2, 4.0] {
            let after = |size| {
                let mut config = json!({ "kind": kind, "code_rate": 0.8, "padding": false });
                if has_option(kind, "transmissions") {
                    config["transmissions"] = json!(4);
                }
                decoded_after(config, size, &[snr; 4]).0
            };
            assert_eq!(after(1115), after(210), "{kind} at {snr} dB");
        }
    }
}

fn draws() -> impl Strategy<Value = Vec<f64>> {
    let snr = prop_oneof![8 => -12.0f64..8.0, 1 => Just(ERASED.get()), 1 => Just(CLEAR.get())];
    prop::collection::vec(snr, 4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Mutual information is concave in the signal-to-noise ratio, so new bits are never worth less than old ones: with
    /// a threshold that does not depend on the rate, type II decodes whatever type III does, and that whatever type I
    /// does, and that whatever a repetition without combining does.
    #[test]
    fn type_two_is_at_least_as_good_as_three_and_that_as_one(snrs in draws(), threshold in 1.0f64..1.2) {
        let after = |kind| decoded_after(scheme(kind, 4, json!(threshold)), 1115, &snrs).0.unwrap_or(5);
        let (one, two, three) = (after("chase"), after("incremental-redundancy"), after("self-decodable"));
        prop_assert!(two <= three && three <= one && one <= after("selective-repeat"), "{two} {three} {one}");
    }

    /// More signal never hurts, also under the code's own threshold.
    #[test]
    fn more_signal_never_hurts(snrs in draws(), more in 0.0f64..3.0) {
        let better: Vec<f64> = snrs.iter().map(|snr| snr + more).collect();
        for kind in schemes_with(&["code_rate", "transmissions"]) {
            let after = |snrs| decoded_after(scheme(kind, 4, json!("code")), 1115, snrs).0.unwrap_or(5);
            prop_assert!(after(&better) <= after(&snrs), "{}", kind);
        }
    }
}

/// Under the code's threshold, which grows as the rate falls, the order holds on average.
#[test]
fn on_average_type_two_needs_the_fewest_transmissions() {
    let mut chance = rng(5);
    let mut sums = [0, 0, 0];
    for _ in 0..3000 {
        // Rayleigh fading of 0 dB on average.
        let mut snr = || {
            // Half a step above, so that it is never 0.
            let uniform = unit_interval(chance.next_u64()) + 0.25 * f64::EPSILON;
            10.0 * libm::log10(-libm::log(uniform))
        };
        let snrs: Vec<f64> = (0..4).map(|_| snr()).collect();
        for (sum, kind) in sums.iter_mut().zip(["incremental-redundancy", "self-decodable", "chase"]) {
            *sum += decoded_after(scheme(kind, 4, json!("code")), 1115, &snrs).0.unwrap_or(5);
        }
    }
    assert!(sums[0] < sums[1] && sums[1] < sums[2], "{sums:?}");
}

/// Transmissions that overtake others are known for what they are: what a packet has in the end does not depend on
/// their order.
#[test]
fn the_order_in_which_transmissions_come_does_not_matter() {
    let mut chance = rng(11);
    let mut draw = |most: f64| unit_interval(chance.next_u64()) * most;
    let (mut decoded, mut failed) = (0, 0);
    for _ in 0..500 {
        // The repetitions of 5G begin at four positions of the buffer, and overlap.
        let snrs = [0; 4].map(|_| draw(8.0) - 7.0);
        let turn = draw(4.0) as usize;
        let fate = |turn: usize| {
            let mut harq = build(json!({ "kind": "nr-ntn" }));
            let packet = packet(0, 700);
            let first = Burst { coded: harq.start(Time::ZERO, &packet, 0, None), packet, sequence: 0 };
            let mut bursts = vec![first];
            bursts.extend(std::iter::from_fn(|| harq.poll_burst(Time::ZERO)));
            let mut order = [0, 1, 2, 3];
            order.rotate_left(turn);
            let decodings = order.map(|i: usize| harq.receive(Time::ZERO, &bursts[i], Db::new(snrs[i])).decoding);
            assert_eq!((harq.undecided(), decodings.iter().filter(|v| **v != Decoding::Undecided).count()), (0, 1));
            decodings.contains(&Decoding::Decoded)
        };
        assert_eq!(fate(turn), fate(0), "{snrs:?}");
        if fate(0) { decoded += 1 } else { failed += 1 }
    }
    assert!(decoded > 50 && failed > 50, "{decoded} decoded, {failed} not");
}
