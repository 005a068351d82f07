//! The configuration of the schemes.

use super::*;

const LAYOUT: RandomLayout = RandomLayout { timeslots: 40, block_slots: 100, one_amplifier: true };

fn refusal(config: serde_json::Value) -> (String, String) {
    let error = parse(&config).entry().check(&LAYOUT).unwrap_err();
    (error.field, error.message)
}

#[test]
fn every_scheme_has_defaults_that_work() {
    for &kind in RandomAccess::ALL {
        if kind == "table" {
            continue;
        }
        let config = parse(&json!({ "kind": kind }));
        config.entry().check(&LAYOUT).unwrap();
        assert_eq!(config.kind(), kind);
        let scheme = config.load(&RandomConfig::default(), &mut MemoryFiles::new()).unwrap();
        assert!(scheme.decodes_without_interference(), "{kind}");
        assert_eq!(parse(&serde_json::to_value(&config).unwrap()), config);
    }
    assert_eq!(parse(&json!({ "kind": "crdsa" })), RandomAccess::default());
}

#[test]
fn a_packet_has_its_bursts_and_bits() {
    let facts = |config| {
        let config = parse(&config);
        let scheme = config.load(&RandomConfig::default(), &mut MemoryFiles::new()).unwrap();
        assert_eq!(scheme.payload_bits(), config.entry().payload_bits());
        assert_eq!(RandomFrame::new(scheme.clone(), LAYOUT).payload_bits(), config.entry().payload_bits());
        (config.entry().replicas().most(), scheme.mean_replicas(), config.entry().payload_bits())
    };
    assert_eq!(facts(json!({ "kind": "aloha" })), (1, 1.0, 597));
    assert_eq!(facts(json!({ "kind": "dsa" })), (2, 2.0, 597));
    assert_eq!(facts(json!({ "kind": "crdsa" })), (3, 3.0, 597));
    assert_eq!(facts(json!({ "kind": "musca", "replicas": 4, "payload_bits": 500 })), (4, 4.0, 500));
    let (planned, mean, _) = facts(json!({ "kind": "irsa" }));
    assert!(planned == 8 && (mean - 3.6).abs() < 1e-12, "{mean}");
}

#[test]
fn says_which_field_is_wrong_and_why() {
    let says = |config, field: &str, part: &str| {
        let (found, message) = refusal(config);
        assert!(found == field && message.contains(part), "{found}: {message}");
    };
    says(json!({ "kind": "crdsa", "replicas": 101 }), "replicas", "an RA block has 100 slots");
    says(json!({ "kind": "crdsa", "replicas": 41 }), "replicas", "40 timeslots and the terminal one amplifier");
    says(json!({ "kind": "crdsa", "replicas": 1 }), "replicas", "at least 2");
    says(json!({ "kind": "dsa", "replicas": 0 }), "replicas", "at least 2");
    says(json!({ "kind": "musca", "replicas": 0 }), "replicas", "at least 2");
    says(json!({ "kind": "table", "plr": "a.csv", "replicas": 0 }), "replicas", "at least 1");
    says(json!({ "kind": "table", "plr": "" }), "plr", "empty");
    says(json!({ "kind": "table", "plr": "a.csv", "payload_bits": 0 }), "payload_bits", "at least 1");
    says(json!({ "kind": "aloha", "payload_bits": 0 }), "payload_bits", "at least 1");
    says(json!({ "kind": "aloha", "payload_bits": 614 }), "packet_bits", "613 bits with header are fewer");
    says(json!({ "kind": "aloha", "symbols": 0 }), "symbols", "at least 1");
    says(json!({ "kind": "aloha", "symbols": 306 }), "packet_bits", "never be decoded");
    says(json!({ "kind": "aloha", "margin": -0.1 }), "margin", "-0.1");
    says(json!({ "kind": "crdsa", "margin": 0.51 }), "packet_bits", "never be decoded");
    says(
        json!({ "kind": "irsa", "distribution": [
            { "replicas": 2, "probability": 0.5 }, { "replicas": 41, "probability": 0.5 }
        ] }),
        "distribution.1.replicas",
        "one amplifier",
    );
    says(
        json!({ "kind": "irsa", "distribution": [
            { "replicas": 2, "probability": 0.5 }, { "replicas": 3, "probability": 0.4 }
        ] }),
        "distribution",
        "add up to 0.9",
    );
    says(json!({ "kind": "irsa", "distribution": [] }), "distribution", "add up to 0");
    says(
        json!({ "kind": "irsa", "distribution": [
            { "replicas": 2, "probability": 1.5 }, { "replicas": 3, "probability": -0.5 }
        ] }),
        "distribution.0.probability",
        "1.5",
    );
    says(
        json!({ "kind": "irsa", "distribution": [
            { "replicas": 2, "probability": 0.5 }, { "replicas": 2, "probability": 0.5 }
        ] }),
        "distribution.1.replicas",
        "already",
    );
    says(
        json!({ "kind": "irsa", "distribution": [{ "replicas": 0, "probability": 1.0 }] }),
        "distribution.0.replicas",
        "at least 1",
    );
    let several = RandomLayout { one_amplifier: false, ..LAYOUT };
    parse(&json!({ "kind": "crdsa", "replicas": 100 })).entry().check(&several).unwrap();
    parse(&json!({ "kind": "crdsa", "replicas": 40 })).entry().check(&LAYOUT).unwrap();
    // Decodable from three bursts together.
    parse(&json!({ "kind": "musca", "symbols": 150 })).entry().check(&LAYOUT).unwrap();
}

#[test]
fn words_that_mean_nothing_are_refused() {
    for config in [
        json!({ "kind": "cdma" }),
        json!({ "kind": "crdsa", "repliacs": 3 }),
        json!({ "kind": "aloha", "replicas": 1 }),
        json!({ "kind": "table" }),
        json!({ "kind": "crdsa", "replicas": -1 }),
    ] {
        assert!(serde_json::from_value::<RandomAccess>(config.clone()).is_err(), "{config}");
    }
}

#[test]
fn what_schemes_share_is_checked() {
    let refusal =
        |config: serde_json::Value| serde_json::from_value::<RandomConfig>(config).unwrap().check().unwrap_err();
    assert_eq!(refusal(json!({ "es_n0": "100 dB" })).field, "es_n0");
    assert_eq!(refusal(json!({ "power_spread": "-1 dB" })).field, "power_spread");
    assert_eq!(refusal(json!({ "power_spread": "11 dB" })).field, "power_spread");
    assert_eq!(refusal(json!({ "iterations": 0 })).field, "iterations");
    assert!(serde_json::from_value::<RandomConfig>(json!({ "iteration": 1 })).is_err());
}

#[test]
fn weak_signals_are_noticed() {
    let random = RandomConfig { es_n0: units::Db::new(2.0), ..RandomConfig::default() };
    assert!(!load(&crdsa(3), &random).decodes_without_interference());
    assert!(load(&musca(0.05), &random).decodes_without_interference());
}

/// A scheme by a table with these lines.
fn by_table(lines: &str) -> Result<Scheme, units::FieldError> {
    let mut files = MemoryFiles::from([("curve.csv".to_owned(), lines.as_bytes().into())]);
    parse(&json!({ "kind": "table", "plr": "curve.csv" })).load(&RandomConfig::default(), &mut files)
}

#[test]
fn a_table_decides_by_the_packets_of_each_block() {
    let scheme = by_table("packets_per_block,plr\n0,0\n50,0.4\n60,1\n").unwrap();
    assert!(scheme.decodes_without_interference());
    for (packets, expected) in [(25, 0.2), (50, 0.4), (55, 0.7)] {
        let (plr, sigma) = loss_rate(scheme.clone(), free(100), packets, 2000, u64::from(packets));
        assert!((plr - expected).abs() < 4.0 * sigma, "{packets}: {plr}");
        let independent = (expected * (1.0 - expected) / (2000.0 * f64::from(packets))).sqrt();
        assert!((sigma / independent - 1.0).abs() < 0.1, "packets are lost independently");
    }
}

#[test]
fn a_block_of_a_table_does_not_count_the_packets_of_another() {
    let mut frame = RandomFrame::new(by_table("55,0\n56,1\n").unwrap(), free(100));
    let mut rng = rng(1);
    for _ in 0..50 {
        frame.begin(2);
        (0..111).for_each(|_| assert!(frame.add(&mut Columns::new(100), &mut rng)));
        frame.decode(&mut rng);
        let in_first = |packet: &usize| frame.slots_of(*packet).next().unwrap() < 100;
        for block in [(0..111).filter(in_first).collect::<Vec<_>>(), (0..111).filter(|p| !in_first(p)).collect()] {
            assert!(block.iter().all(|&packet| frame.decoded(packet) == (block.len() <= 55)), "{}", block.len());
        }
    }
    let counters = frame.counters();
    assert_eq!(counters.lost_packets + counters.decoded_packets, 50 * 111);
}

#[test]
fn a_table_draws_once_for_each_packet() {
    // The table draws whatever its rates are, so that they shift no other draw from the stream.
    let after = |lines: &str| {
        let mut frame = RandomFrame::new(by_table(lines).unwrap(), free(100));
        let mut rng = rng(1);
        frame.begin(1);
        (0..20).for_each(|_| assert!(frame.add(&mut Columns::new(100), &mut rng)));
        frame.decode(&mut rng);
        rng
    };
    assert_eq!(after("1,0"), after("1,1"));
    assert_eq!(after("1,0"), after("1,0.5"));
}

#[test]
fn a_table_that_cannot_be_used_is_named() {
    let error = by_table("n,plr\n10,0.1\n20,1.5\n").unwrap_err();
    assert_eq!(error.field, "plr");
    assert_eq!(error.message, "curve.csv line 3: the packet loss rate 1.5 is not between 0 and 1");
}
