//! What a scenario may write of reliability schemes, and what it is told when it may not.

use link::HarqConfig;
use serde_json::{Value, json};
use units::Duration;

fn read(harq: Value) -> HarqConfig {
    serde_json::from_value(harq.clone()).unwrap_or_else(|error| panic!("{harq}: {error}"))
}

fn refusal(harq: Value) -> String {
    match serde_json::from_value::<HarqConfig>(harq) {
        Ok(config) => config.entry().check().expect_err("accepted").to_string(),
        Err(error) => error.to_string(),
    }
}

const FIXED: [&str; 8] = [
    "fec",
    "stop-and-wait",
    "go-back-n",
    "selective-repeat",
    "chase",
    "incremental-redundancy",
    "self-decodable",
    "nr-ntn",
];

fn resolved(config: &HarqConfig) -> HarqConfig {
    let mut resolved = config.clone();
    resolved.entry_mut().resolve();
    resolved
}

#[test]
fn an_unknown_scheme_or_option_is_refused() {
    assert!(refusal(json!({ "kind": "adaptiv" })).contains("unknown variant `adaptiv`"));
    assert!(refusal(json!({ "kind": "none", "transmissions": 2 })).contains("unknown field `transmissions`"));
    assert!(refusal(json!({ "kind": "fec", "feedback": {} })).contains("unknown field `feedback`"));
    assert!(refusal(json!({ "kind": "stop-and-wait", "processes": 2 })).contains("unknown field `processes`"));
    assert!(refusal(json!({ "kind": "nr-ntn", "feedback": {} })).contains("unknown field `feedback`"));
}

#[test]
fn every_default_can_be_built_and_is_written_as_it_is_read() {
    for kind in HarqConfig::ALL {
        let config = read(json!({ "kind": kind }));
        assert_eq!(config.entry().check(), Ok(()), "{kind}");
        let resolved = resolved(&config);
        assert_eq!(resolved.entry().check(), Ok(()), "{kind}");
        let written = serde_json::to_value(&resolved).unwrap();
        assert_eq!(serde_json::to_value(read(written.clone())).unwrap(), written, "{kind}");
        assert_eq!(config.entry().max_packet_bytes(), (*kind != "none").then_some(1115), "{kind}");
        assert_eq!(config.entry().feedback_delay(), None, "{kind}");
        assert_eq!(config.entry().law_transmissions(), (*kind == "adaptive").then_some(4), "{kind}");
    }
    let estimate = read(json!({ "kind": "adaptive", "sizing": "estimate" }));
    assert_eq!((estimate.entry().law_transmissions(), estimate.entry().check()), (None, Ok(())));
    assert_eq!(resolved(&estimate), estimate);
    let late = read(json!({ "kind": "chase", "feedback": { "delay": "25 ms" } }));
    assert_eq!(late.entry().feedback_delay(), Some(Duration::from_millis(25)));
}

#[test]
fn codes_that_cannot_be_are_refused() {
    for kind in FIXED {
        let says = |key: &str, value: Value| refusal(json!({ "kind": kind, key: value }));
        let rates = "1/64 to 1 data bit for each coded bit allowed";
        assert_eq!(says("code_rate", json!(0)), format!("code_rate: 0 given, {rates}"));
        assert_eq!(says("code_rate", json!(1.5)), format!("code_rate: 1.5 given, {rates}"));
        assert_eq!(
            says("code_rate", json!(0.99)),
            "code_rate: 0.99 given, so 9011 coded bits; even without noise it takes 9117"
        );
        assert_eq!(says("block", json!("0 B")), "block: 0 B given, 1 B to 100 kB allowed");
        assert!(says("threshold", json!(0.9)).contains("no code needs less than 1"));
    }
    for kind in ["incremental-redundancy", "self-decodable", "nr-ntn"] {
        let says = |codeword: u32| refusal(json!({ "kind": kind, "codeword_bits": codeword, "code_rate": 0.8 }));
        assert!(says(8919).starts_with("codeword_bits: 8919 given, 1 to 64 for each"), "{kind}");
        assert_eq!(
            says(11_149),
            "code_rate: 0.8 given, a block has no more than 11149 coded bits and this takes 11150",
            "{kind}"
        );
        assert_eq!(read(json!({ "kind": kind, "codeword_bits": 11_150, "code_rate": 0.8 })).entry().check(), Ok(()));
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (kinds, most) in [(&FIXED[1..4], 32), (&FIXED[4..7], 8)] {
        for kind in kinds {
            let says = |value: u8| refusal(json!({ "kind": kind, "transmissions": value }));
            assert_eq!(says(0), format!("transmissions: 0 given, 1 to {most} allowed"));
            assert_eq!(says(most + 1), format!("transmissions: {} given, 1 to {most} allowed", most + 1));
        }
    }
    assert_eq!(refusal(json!({ "kind": "nr-ntn", "repetitions": 3 })), "repetitions: 3 given, 1, 2, 4 or 8 allowed");
    for kind in
        ["go-back-n", "selective-repeat", "chase", "incremental-redundancy", "self-decodable", "nr-ntn", "adaptive"]
    {
        assert_eq!(refusal(json!({ "kind": kind, "processes": 0 })), "processes: 0 given, at least 1 needed");
    }
}

#[test]
fn feedback_that_makes_no_sense_is_refused() {
    let says = |kind: &str, feedback: Value| refusal(json!({ "kind": kind, "feedback": feedback }));
    for kind in ["stop-and-wait", "go-back-n", "selective-repeat", "adaptive"] {
        assert!(says(kind, json!({ "enabled": false })).starts_with("feedback.enabled: false given, but"), "{kind}");
    }
    for kind in ["chase", "incremental-redundancy", "self-decodable"] {
        assert_eq!(read(json!({ "kind": kind, "feedback": { "enabled": false } })).entry().check(), Ok(()));
        let leave = "given although feedback is not enabled: leave one of the two out";
        assert_eq!(says(kind, json!({ "enabled": false, "loss": "1 %" })), format!("feedback.loss: {leave}"));
        assert_eq!(says(kind, json!({ "enabled": false, "delay": "1 ms" })), format!("feedback.delay: {leave}"));
        assert!(says(kind, json!({ "loss": "101 %" })).contains("100 %"), "{kind}");
    }
    assert_eq!(
        refusal(json!({ "kind": "adaptive", "sizing": "estimate", "targets": ["50 %", "70 %", "85 %"] })),
        "targets: given although sizes follow from the estimate: leave one of the two out"
    );
}

#[test]
fn what_must_be_learnt_of_a_packet_is_its_block_where_it_is_padded() {
    assert_eq!(read(json!({ "kind": "none" })).entry().information_bits(200), 1600.0);
    for kind in FIXED.iter().chain(&["adaptive"]) {
        let bits = |padding: bool| read(json!({ "kind": kind, "padding": padding })).entry().information_bits(200);
        assert_eq!((bits(true), bits(false)), (8920.0, 1600.0), "{kind}");
    }
}
