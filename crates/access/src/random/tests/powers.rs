//! Unequal powers, compared with closed forms.

use channel::qpsk;
use serde_json::json;
use units::Db;

use super::*;

/// The signal-to-interference ratio at which a burst of 613 bits on 460 QPSK symbols is decoded.
fn needed_db() -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if qpsk::mutual_information(Db::new(middle)) < 613.0 / 920.0 { low = middle } else { high = middle }
    }
    high
}

/// Two packets in one slot without noise: the difference of their powers is normal, with twice their variance.
fn capture(spread: f64) -> f64 {
    0.5 * libm::erfc(needed_db() / (spread * 2f64.sqrt()) / 2f64.sqrt())
}

fn without_noise(spread: f64) -> RandomConfig {
    RandomConfig { es_n0: Db::new(60.0), power_spread: Db::new(spread), iterations: 50 }
}

#[test]
fn the_stronger_of_two_is_captured() {
    for spread in [1.5, 3.0, 6.0] {
        let (plr, sigma) = loss_rate(load(&json!({ "kind": "aloha" }), &without_noise(spread)), free(1), 2, 40_000, 1);
        let expected = 1.0 - capture(spread);
        assert!((plr - expected).abs() < 4.0 * sigma, "{spread} dB: {plr} against {expected}, deviation {sigma}");
    }
}

#[test]
fn cancelling_the_stronger_frees_the_weaker() {
    for spread in [1.5, 3.0, 6.0] {
        let (plr, sigma) = loss_rate(load(&crdsa(2), &without_noise(spread)), free(2), 2, 40_000, 2);
        let expected = 1.0 - 2.0 * capture(spread);
        assert!((plr - expected).abs() < 4.0 * sigma, "{spread} dB: {plr} against {expected}, deviation {sigma}");
        let (replicas, sigma) =
            loss_rate(load(&json!({ "kind": "dsa" }), &without_noise(spread)), free(2), 2, 40_000, 3);
        let expected = 1.0 - capture(spread);
        assert!((replicas - expected).abs() < 4.0 * sigma, "{spread} dB, without cancellation: {replicas}");
    }
}

#[test]
fn noise_takes_the_weak() {
    // One packet alone, at a median of 5 dB: lost if its power is too low.
    let random = RandomConfig { power_spread: Db::new(2.0), ..RandomConfig::default() };
    for (config, seed) in [(json!({ "kind": "aloha" }), 4), (crdsa(3), 5)] {
        let (plr, sigma) = loss_rate(load(&config, &random), free(10), 1, 100_000, seed);
        let expected = 0.5 * libm::erfc((5.0 - needed_db()) / 2.0 / 2f64.sqrt());
        assert!((plr - expected).abs() < 4.0 * sigma, "{plr} against {expected}, deviation {sigma}");
    }
}

#[test]
fn all_replicas_of_a_packet_have_one_power() {
    // With 8 replicas a packet alone has the same power in each: the loss is that of one replica.
    let random = RandomConfig { power_spread: Db::new(2.0), ..RandomConfig::default() };
    let one = loss_rate(load(&crdsa(2), &random), free(10), 1, 100_000, 6).0;
    let (eight, sigma) = loss_rate(load(&crdsa(8), &random), free(10), 1, 100_000, 7);
    assert!((one - eight).abs() < 4.0 * sigma * 2f64.sqrt(), "{one} and {eight}");
}

/// With power to spare, unequal powers let the strong packets be decoded in collisions, and the weak ones after them.
#[test]
fn imbalance_raises_the_load_that_is_carried() {
    let strong = |spread| RandomConfig { es_n0: Db::new(15.0), power_spread: Db::new(spread), iterations: 50 };
    let balanced = loss_rate(load(&crdsa(3), &strong(0.0)), free(100), 90, 300, 8).0;
    let unbalanced = loss_rate(load(&crdsa(3), &strong(3.0)), free(100), 90, 300, 9).0;
    assert!(balanced > 0.5 && unbalanced < 0.05, "{balanced} and {unbalanced}");
}
