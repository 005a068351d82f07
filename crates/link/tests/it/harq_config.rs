//! What a scenario may write of reliability schemes, and what it is told when it may not.

use crate::common;
use crate::common::schemes::{
    ask, has_feedback, may_switch_off_feedback, options, schemes_with, schemes_with_feedback,
};
use channel::LawRequest;
use link::HarqConfig;
use serde_json::{Value, json};
use units::{Bytes, Duration};

fn read(harq: Value) -> HarqConfig {
    common::schemes::read(&harq)
}

fn refusal(harq: Value) -> String {
    match serde_json::from_value::<HarqConfig>(harq) {
        Ok(config) => config.entry().check().expect_err("accepted").to_string(),
        Err(error) => error.to_string(),
    }
}

/// The kinds of fixed sizes.
fn fixed() -> Vec<&'static str> {
    schemes_with(&["code_rate"])
}

/// The largest value of a kind's option, by the schema.
fn most(kind: &str, option: &str) -> u64 {
    let schema = serde_json::to_value(schemars::schema_for!(HarqConfig)).expect("JSON");
    let variants = schema["oneOf"].as_array().expect("one of the kinds");
    let variant = variants.iter().find(|variant| variant["title"] == kind).expect("the kind's schema");
    let name = variant["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let fields = name.map_or(&variant["properties"], |name| &schema["$defs"][name]["properties"]);
    let most = fields[option]["maximum"].as_f64().unwrap_or_else(|| panic!("{kind} has no `range` of `{option}`"));
    most as u64
}

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
        let options = options(kind);
        let block = options.get("block").map(|block| serde_json::from_value::<Bytes>(block.clone()).expect("a size"));
        assert_eq!(config.entry().max_packet_bytes().map(u64::from), block.map(Bytes::get), "{kind}");
        assert_eq!(config.entry().feedback_delay(), None, "{kind}");
        let law = config.entry().law_request(Duration::ZERO);
        assert!(law.is_none_or(|law| options["transmissions"] == law.drawn), "{kind}: {law:?}");
    }
    let spacing = Duration::from_millis(20);
    let law = LawRequest { drawn: 4, read: 3, spacing };
    assert_eq!(ask("adaptive", |entry| entry.law_request(spacing)), Some(law));
    let estimate = read(json!({ "kind": "adaptive", "sizing": "estimate" }));
    assert_eq!((estimate.entry().law_request(spacing), estimate.entry().check()), (None, Ok(())));
    assert_eq!(resolved(&estimate), estimate);
    let late = read(json!({ "kind": "chase", "feedback": { "delay": "25 ms" } }));
    assert_eq!(late.entry().feedback_delay(), Some(Duration::from_millis(25)));
}

#[test]
fn codes_that_cannot_be_are_refused() {
    for kind in fixed() {
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
    for kind in schemes_with(&["code_rate", "codeword_bits"]) {
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
    for kind in schemes_with(&["transmissions"]) {
        let most = most(kind, "transmissions");
        let says = |value: u64| refusal(json!({ "kind": kind, "transmissions": value }));
        assert_eq!(says(0), format!("transmissions: 0 given, 1 to {most} allowed"), "{kind}");
        assert_eq!(says(most + 1), format!("transmissions: {} given, 1 to {most} allowed", most + 1), "{kind}");
    }
    assert_eq!(refusal(json!({ "kind": "nr-ntn", "repetitions": 3 })), "repetitions: 3 given, 1, 2, 4 or 8 allowed");
    for kind in schemes_with(&["processes"]) {
        assert_eq!(refusal(json!({ "kind": kind, "processes": 0 })), "processes: 0 given, at least 1 needed", "{kind}");
    }
}

#[test]
fn feedback_that_makes_no_sense_is_refused() {
    let says = |kind: &str, feedback: Value| refusal(json!({ "kind": kind, "feedback": feedback }));
    for kind in schemes_with_feedback() {
        assert!(says(kind, json!({ "loss": "101 %" })).contains("100 %"), "{kind}");
        if may_switch_off_feedback(kind) {
            let leave = "given although feedback is not enabled: leave one of the two out";
            assert_eq!(says(kind, json!({ "enabled": false, "loss": "1 %" })), format!("feedback.loss: {leave}"));
            assert_eq!(says(kind, json!({ "enabled": false, "delay": "1 ms" })), format!("feedback.delay: {leave}"));
        } else {
            let refused = "feedback.enabled: false given, but";
            assert!(says(kind, json!({ "enabled": false })).starts_with(refused), "{kind}");
        }
    }
    assert!(may_switch_off_feedback("chase") && !may_switch_off_feedback("selective-repeat"));
    assert!(!has_feedback("nr-ntn"));
    assert_eq!(
        refusal(json!({ "kind": "adaptive", "sizing": "estimate", "targets": ["50 %", "70 %", "85 %"] })),
        "targets: given although sizes follow from the estimate: leave one of the two out"
    );
}

#[test]
fn what_must_be_learnt_of_a_packet_is_its_block_where_it_is_padded() {
    assert_eq!(read(json!({ "kind": "none" })).entry().information_bits(200), 1600.0);
    for kind in schemes_with(&["padding"]) {
        let bits = |padding: bool| read(json!({ "kind": kind, "padding": padding })).entry().information_bits(200);
        assert_eq!((bits(true), bits(false)), (8920.0, 1600.0), "{kind}");
    }
}
