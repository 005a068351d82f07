//! The promises that every channel keeps, over all kinds of the registry.

#[path = "../src/testing.rs"]
mod testing;

use channel::{ChannelConfig, ChannelModel, LawRequest, TransmissionLaw, measure, qpsk};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::streams;
use units::{Db, Duration, Time};

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count as f64
}

/// Every kind, with these options or with its defaults.
fn every_kind() -> Vec<ChannelConfig> {
    let mut configs: Vec<ChannelConfig> = [
        r#"{ "kind": "lms" }"#,
        r#"{ "kind": "lms", "environment": "urban", "elevation": "60 deg", "speed": "7 km/h" }"#,
        r#"{ "kind": "p681" }"#,
        r#"{ "kind": "p681", "environment": "village", "elevation": "45 deg", "speed": "30 km/h" }"#,
        r#"{ "kind": "clear" }"#,
        r#"{ "kind": "clear", "reference_snr": "3 dB" }"#,
        r#"{ "kind": "bernoulli", "loss": "20 %" }"#,
        r#"{ "kind": "trace", "file": "steps.csv", "reference_snr": "9 dB" }"#,
        r#"{ "kind": "outcomes", "file": "steps.csv" }"#,
    ]
    .map(|text| serde_json::from_str(text).unwrap())
    .into();
    for kind in ChannelConfig::ALL {
        if configs.iter().all(|config| config.kind() != *kind) {
            let defaults = serde_json::from_str(&format!(r#"{{ "kind": "{kind}" }}"#));
            configs.push(defaults.unwrap_or_else(|error| panic!("{kind} needs options here: {error}")));
        }
    }
    configs
}

fn load_with_steps(config: &ChannelConfig) -> Box<dyn ChannelModel> {
    let steps = b"0,0\n0.3,12\n1,3\n".as_slice();
    config.entry().load(&mut units::MemoryFiles::from([("steps.csv".to_owned(), steps.into())]), None).unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    for config in every_kind() {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<ChannelConfig>(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn every_kind_keeps_the_promises_of_a_channel() {
    for config in every_kind() {
        let model = load_with_steps(&config);
        let (mut plain, mut watched) = (model.build(0, &mut streams(1)), model.build(0, &mut streams(1)));
        if plain.decides() {
            continue; // it has no signal, and its law is one of packets
        }
        let mut information = Vec::new();
        for i in 0..400_000u64 {
            let now = Time::from_nanos(i * 1_300_000);
            watched.attenuation(now);
            let snr = watched.burst_snr(now);
            watched.observe(now);
            assert_eq!(plain.burst_snr(now), snr, "{config:?}: watching changes nothing");
            assert!((channel::ERASED..=channel::CLEAR).contains(&snr));
            information.push(qpsk::mutual_information(snr));
        }
        let asked = LawRequest::all(3, Duration::from_millis(20));
        let law = model.transmission_law(asked, &mut streams(1));
        assert!(law.transmissions == 3 && !law.samples.is_empty() && law.samples.len().is_multiple_of(3));
        assert!(law.samples.iter().all(|mutual| (0.0..=1.0).contains(mutual)));
        assert_eq!(law, model.transmission_law(asked, &mut streams(1)));
        let expected = mean(information.into_iter());
        for i in 0..3 {
            let of_law = mean(law.samples.iter().skip(i).step_by(3).map(|&mutual| f64::from(mutual)));
            assert!((of_law - expected).abs() < 0.04, "{config:?}: {of_law} against {expected}");
        }
        let stats = measure(&*model, Duration::from_secs(2), &mut streams(1));
        assert!((0.0..=1.0).contains(&stats.mutual_information_mean) && (0.0..=1.0).contains(&stats.erased_share));
    }
}

/// What is not read is drawn all the same: fewer that are read are the first of all.
#[test]
fn a_law_does_not_depend_on_how_many_are_read() {
    let held = |held: Value| serde_json::from_value(json!({ "kind": "lms", "held": held })).expect("a channel");
    let burst: ChannelConfig = held(json!({ "kind": "burst", "step": "7 ms" }));
    // Half of the packets cross a border between two blocks.
    let block = held(json!({ "kind": "block", "length": "40 ms", "step": "1 s" }));
    for config in every_kind().into_iter().chain([burst, block]) {
        let model = load_with_steps(&config);
        let asked = LawRequest::all(4, Duration::from_millis(20));
        let law = model.transmission_law(asked, &mut streams(1));
        assert_eq!(law.transmissions, 4);
        for read in 1..4 {
            let fewer = model.transmission_law(LawRequest { read, ..asked }, &mut streams(1));
            let samples: Vec<f32> = law.samples.chunks(4).flat_map(|row| &row[..read]).copied().collect();
            assert!(fewer == TransmissionLaw { transmissions: read, samples }, "{read} of {config:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn values_do_not_depend_on_when_others_were_read(
        seed in 0u64..1000,
        gaps in prop::collection::vec(0u64..8_000_000_000, 1..20),
    ) {
        for config in every_kind() {
            let model = load_with_steps(&config);
            if model.build(0, &mut streams(seed)).attenuation(Time::ZERO).is_none() {
                continue; // it may draw at each burst
            }
            let mut hasty = model.build(0, &mut streams(seed));
            let mut times = Vec::new();
            let mut now = Time::ZERO;
            for gap in &gaps {
                now += Duration::from_nanos(*gap);
                times.push(now);
            }
            let skipping: Vec<Db> = times.iter().map(|&now| hasty.burst_snr(now)).collect();
            let mut thorough = model.build(0, &mut streams(seed));
            let mut ms = 0;
            for (&time, &expected) in times.iter().zip(&skipping) {
                while at(ms) <= time {
                    thorough.burst_snr(at(ms));
                    ms += 1;
                }
                prop_assert!(thorough.attenuation(time).is_some(), "{:?}", config);
                prop_assert_eq!(thorough.burst_snr(time), expected, "{:?}", config);
            }
        }
    }
}
