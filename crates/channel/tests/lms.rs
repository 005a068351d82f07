//! The land mobile satellite channel, seen from outside.

#[path = "../src/testing.rs"]
mod testing;

use channel::lms::Environment;
use channel::{ChannelConfig, ChannelModel, LawRequest, Lms, generate, measure, qpsk};
use testing::streams;
use units::{Angle, Db, Duration, Frequency, Speed, Time};

fn load(config: Lms) -> Box<dyn ChannelModel> {
    ChannelConfig::Lms(config).entry().load(&mut units::MemoryFiles::new(), None).unwrap()
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn kmh(speed: f64) -> Speed {
    Speed::from_mps(speed / 3.6)
}

/// The mutual information of packets' transmissions, cut out of the series itself.
fn rows_of_series(model: &dyn ChannelModel, seeds: u64, seconds: u64, spacing: Duration) -> Vec<[f64; 4]> {
    let step = model.sampling_interval().unwrap();
    let lag = (spacing.as_nanos() / step.as_nanos()) as usize;
    let mut rows = Vec::new();
    for seed in 0..seeds {
        let mut channel = model.build(0, &mut streams(100 + seed));
        let mut information = |i: u64| qpsk::mutual_information(channel.burst_snr(Time::ZERO + step * i));
        let series: Vec<f64> = (0..seconds * 1_000_000_000 / step.as_nanos()).map(&mut information).collect();
        rows.extend((0..series.len() - 3 * lag).step_by(4).map(|start| [0, 1, 2, 3].map(|i| series[start + i * lag])));
    }
    rows
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum) = (0u64, 0.0);
    for value in values {
        count += 1;
        sum += value;
    }
    sum / count as f64
}

#[test]
fn a_sample_holds_from_its_instant_to_the_next() {
    let model = load(Lms::default());
    let step = model.sampling_interval().unwrap();
    let (mut once, mut often) = (model.build(0, &mut streams(1)), model.build(0, &mut streams(1)));
    for number in 0..5_000 {
        let begin = Time::ZERO + step * number;
        let expected = once.burst_snr(begin);
        if number % 7 == 3 {
            continue; // nobody asks
        }
        let last = begin + step.saturating_sub(Duration::from_nanos(1));
        let found = [often.burst_snr(begin), often.estimated_snr(begin + step / 2), often.burst_snr(last)];
        assert_eq!(found, [expected; 3], "sample {number}");
    }
}

#[test]
fn the_law_is_that_of_the_series() {
    // At 60 km/h the multipath has forgotten itself after 20 ms; at 5 km/h it has not: its correlation is 0.64, -0.05,
    // -0.40.
    let spacing = Duration::from_millis(20);
    for (speed, seconds) in [(60.0, 500), (5.0, 6_000)] {
        let model = load(Lms { speed: kmh(speed), ..Lms::default() });
        let law = model.transmission_law(LawRequest::all(4, spacing), &mut streams(1));
        let law: Vec<[f64; 4]> = law.samples.chunks(4).map(|row| [0, 1, 2, 3].map(|i| f64::from(row[i]))).collect();
        let series = rows_of_series(&*model, 16, seconds, spacing);
        let compare = |what: &str, statistic: &dyn Fn(&[f64; 4]) -> f64, tolerance: f64| {
            let (law, series) = (mean(law.iter().map(statistic)), mean(series.iter().map(statistic)));
            assert!((law - series).abs() < tolerance, "{speed} km/h, {what}: law {law}, series {series}");
        };
        for i in 0..4 {
            compare("mean", &|row| row[i], 0.012);
            for level in [0.1, 0.3, 0.5, 0.7, 0.9, 0.99] {
                compare("distribution", &|row| f64::from(u8::from(row[i] < level)), 0.015);
            }
            // States and their starts differ from run to run; differences within a packet much less.
            compare("variogram", &|row| (row[0] - row[i]) * (row[0] - row[i]), 0.003);
        }
        compare("all four", &|row| f64::from(u8::from(row.iter().sum::<f64>() < 1.5)), 0.012);
    }
}

#[test]
fn shares_of_time_are_those_of_the_chain_weighted_with_its_frames() {
    // 0.3929, 0.3571 and 0.25 of the frames, of 6.3, 6.3 and 4.5 m.
    let stats = measure(&*load(Lms::default()), Duration::from_secs(6_000), &mut streams(1));
    let share = |name: &str| stats.states.iter().find(|state| state.name == name).unwrap();
    for (name, expected, leave) in
        [("line-of-sight", 0.4230, 0.2807), ("moderate-shadowing", 0.3845, 0.2731), ("deep-shadowing", 0.1923, 0.2742)]
    {
        let state = share(name);
        assert!((state.share - expected).abs() < 0.025, "{name}: {}", state.share);
        let frame = if name == "deep-shadowing" { 4.5 } else { 6.3 };
        let stay = state.stay_mean_m.unwrap();
        assert!((stay / (frame / leave) - 1.0).abs() < 0.07, "{name}: stays of {stay} m");
    }
}

#[test]
fn statistics_find_what_was_put_in() {
    let stats = measure(&*load(Lms::default()), Duration::from_secs(2_000), &mut streams(2));
    let fading = stats.fading.unwrap();
    assert!((fading.doppler_hz - 122.3).abs() < 0.1);
    assert!((fading.doppler_measured_hz.unwrap() - fading.doppler_hz).abs() < 2.0, "{:?}", fading.doppler_measured_hz);
    // J0(1.5211) = 1/2
    let coherence = fading.coherence_time_s.unwrap();
    assert!((coherence - 1.5211 / (2.0 * std::f64::consts::PI * 122.3)).abs() < 1e-4, "{coherence}");
    assert!((fading.shadowing_correlation_distance_m.unwrap() - 1.5).abs() < 0.1);
    assert!((fading.multipath_power - 1.0).abs() < 0.01 && (fading.shadowing_variance - 1.0).abs() < 0.05);
    // Gain percentiles and mean power of the reference implementation: -24.0, -16.9, -13.8, -4.5, 1.1 dB; -2.70 dB.
    let percentile =
        |percent: f64| stats.attenuation_percentiles.iter().find(|p| p.percent == percent).unwrap().attenuation_db;
    for (percent, expected) in [(99.0, 24.0), (95.0, 16.9), (90.0, 13.8), (50.0, 4.5), (10.0, -1.1)] {
        assert!((percentile(percent) - expected).abs() < 0.5, "{percent} %: {}", percentile(percent));
    }
    assert!((stats.power_gain_mean_db.unwrap() + 2.70).abs() < 0.2, "{:?}", stats.power_gain_mean_db);
    for fade in &stats.fades {
        let product = fade.crossings_per_s * fade.duration_mean_s.unwrap();
        assert!((product / fade.share - 1.0).abs() < 1e-9);
    }
    let text =
        serde_json::to_string(&measure(&*load(Lms::default()), Duration::from_secs(1), &mut streams(2))).unwrap();
    assert!(text.contains("\"doppler_measured_hz\":"));
}

#[test]
fn fades_that_are_short_against_the_sampling_interval_are_warned_of() {
    let stats = |interval: Option<Duration>| {
        let model = load(Lms { sampling_interval: interval, ..Lms::default() });
        measure(&*model, Duration::from_secs(200), &mut streams(2))
    };
    let (usual, fine) = (stats(None), stats(Some(Duration::from_micros(100))));
    let deepest = |stats: &channel::ChannelStats| stats.fades.last().unwrap().clone();
    let told = |stats: &channel::ChannelStats| stats.warnings.iter().find(|said| said.starts_with("fades ")).cloned();
    let said = told(&usual).unwrap();
    assert!(said.starts_with("fades deeper than 15, 20, 30 dB last less than 3 samples of 1 ms on average"), "{said}");
    assert!(said.ends_with("a shorter sampling_interval of the channel finds more"), "{said}");
    assert!(deepest(&fine).crossings_per_s > 2.0 * deepest(&usual).crossings_per_s, "{fine:?}");
    assert_eq!(deepest(&fine).threshold_db, 30.0);
    assert_eq!(told(&fine), None);
}

#[test]
fn level_crossings_of_rayleigh_fading_follow_rice() {
    // Deep shadowing alone would be Rayleigh; heavy trees at 40 degrees come near it only, so take the multipath
    // itself.
    let model = load(Lms { sampling_interval: Some(Duration::from_micros(100)), ..Lms::default() });
    let mut channel = model.build(0, &mut streams(3));
    let level = 0.5_f64; // amplitude over rms
    let (mut crossings, mut inside) = (0u32, false);
    const SECONDS: u64 = 200;
    for i in 0..SECONDS * 10_000 {
        let [re, im] = channel.observe(Time::from_nanos(i * 100_000)).multipath.unwrap();
        let faded = re * re + im * im < level * level;
        crossings += u32::from(faded && !inside);
        inside = faded;
    }
    // Jakes 1974 equation 1.3-35.
    let expected = (2.0 * std::f64::consts::PI).sqrt() * 122.3 * level * libm::exp(-level * level);
    let rate = f64::from(crossings) / SECONDS as f64;
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} crossings a second against {expected}");
}

#[test]
fn users_are_independent() {
    let model = load(Lms::default());
    let series = |seed: u64| {
        let mut channel = model.build(0, &mut streams(seed));
        (0..1_200_000).map(|ms| -channel.attenuation(at(ms)).unwrap().get()).collect::<Vec<f64>>()
    };
    let (a, b) = (series(1), series(2));
    let (mean_a, mean_b) = (mean(a.iter().copied()), mean(b.iter().copied()));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| mean(x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)));
    let correlation =
        product(&a, mean_a, &b, mean_b) / (product(&a, mean_a, &a, mean_a) * product(&b, mean_b, &b, mean_b)).sqrt();
    // 20 km hold about 1000 independent stays.
    assert!(correlation.abs() < 0.09, "correlation {correlation}");
}

#[test]
fn a_draw_of_one_process_disturbs_no_other() {
    // The same streams for multipath and shadowing, another for the states.
    let model = load(Lms::default());
    let mut mixed = |purpose: &'static str| streams(if purpose == "states" { 9 } else { 1 })(purpose);
    let (mut a, mut b) = (model.build(0, &mut streams(1)), model.build(0, &mut mixed));
    let mut differing = 0;
    for ms in 0..30_000 {
        let (a, b) = (a.observe(at(ms)), b.observe(at(ms)));
        assert_eq!((a.shadowing, a.multipath), (b.shadowing, b.multipath));
        differing += u32::from(a.state != b.state);
    }
    assert!(differing > 1000);
}

#[test]
fn rows_for_people_agree_with_the_channel() {
    let model = load(Lms::default());
    let rows: Vec<_> = generate(&*model, Duration::from_secs(2), None, &mut streams(4)).collect();
    let mut channel = model.build(0, &mut streams(4));
    assert_eq!(rows.len(), 2000);
    for (row, ms) in rows.iter().zip(0..) {
        assert!((row.time_s - ms as f64 * 1e-3).abs() < 1e-12);
        assert_eq!(row.attenuation_db, channel.attenuation(at(ms)).map(Db::get));
        assert!((row.snr_db - (10.0 - row.attenuation_db.unwrap())).abs() < 1e-12);
        assert_eq!(row.mutual_information, qpsk::mutual_information(Db::new(row.snr_db)));
        assert!(row.state.is_some());
    }
    assert_eq!(generate(&*model, Duration::from_secs(2), Some(Duration::from_millis(300)), &mut streams(4)).count(), 7);
}

#[test]
fn a_generated_series_is_a_trace() {
    let model = load(Lms::default());
    let mut text = "time_s,attenuation_db,snr_db,mutual_information,state\n".to_owned();
    for row in generate(&*model, Duration::from_secs(1), None, &mut streams(4)) {
        let attenuation = row.attenuation_db.unwrap();
        text +=
            &format!("{},{attenuation},{},{},{}\n", row.time_s, row.snr_db, row.mutual_information, row.state.unwrap());
    }
    let mut files = units::MemoryFiles::from([("series.csv".to_owned(), text.as_bytes().into())]);
    let config = r#"{ "kind": "trace", "file": "series.csv", "reference_snr": "10 dB" }"#;
    let trace = serde_json::from_str::<ChannelConfig>(config).unwrap().entry().load(&mut files, None).unwrap();
    let (mut replayed, mut original) = (trace.build(0, &mut streams(0)), model.build(0, &mut streams(4)));
    for ms in 0..1000 {
        assert_eq!(replayed.burst_snr(at(ms)), original.burst_snr(at(ms)), "at {ms} ms");
        assert_eq!(replayed.attenuation(at(ms)), original.attenuation(at(ms)));
    }
}

#[test]
fn says_what_cannot_be_used() {
    let refusal = |config: Lms| ChannelConfig::Lms(config).entry().check().unwrap_err();
    let degrees = |degrees: f64| Angle::from_degrees(degrees).into();
    let error = refusal(Lms { elevation: degrees(95.0), ..Lms::default() });
    assert_eq!(error.to_string(), "elevation: 95 deg is out of range: must be between 0 deg and 90 deg");
    assert_eq!(refusal(Lms { elevation: degrees(-1.0), ..Lms::default() }).field, "elevation");
    let error = refusal(Lms { speed: "60 km/s".parse().unwrap(), ..Lms::default() });
    assert_eq!(error.to_string(), "speed: 60 km/s is out of range: a user moves at 1 km/s at most");
    let error = refusal(Lms { environment: Environment::Open, elevation: degrees(50.0), ..Lms::default() });
    assert_eq!(
        error.message,
        "no parameters are published for open at 50 deg: must be 40 deg or 60 deg or 70 deg or 80 deg"
    );
    assert_eq!(refusal(Lms { speed: kmh(0.0), ..Lms::default() }).field, "speed");
    let error = refusal(Lms { sampling_interval: Some(Duration::from_millis(5)), ..Lms::default() });
    assert!(error.to_string().starts_with("sampling_interval: 5 ms is out of range: must be between"), "{error}");
    assert_eq!(refusal(Lms { sampling_interval: Some(Duration::ZERO), ..Lms::default() }).field, "sampling_interval");
}

#[test]
fn every_environment_and_speed_can_be_used() {
    for (environment, elevations) in [
        (Environment::IntermediateTreeShadowed, vec![40.0]),
        (Environment::HeavyTreeShadowed, vec![40.0]),
        (Environment::Suburban, vec![40.0]),
        (Environment::Open, vec![40.0, 60.0, 70.0, 80.0]),
        (Environment::Urban, vec![40.0, 60.0, 80.0]),
    ] {
        for elevation in elevations {
            let model = load(Lms { environment, elevation: Angle::from_degrees(elevation).into(), ..Lms::default() });
            let stats = measure(&*model, Duration::from_secs(60), &mut streams(1));
            assert!((0.05..=1.0).contains(&stats.mutual_information_mean), "{}", environment.name());
            assert_eq!(model.warnings(200).is_empty(), elevation == 40.0 && environment != Environment::Urban);
        }
    }
    for (speed, step) in [(0.001, 10_000), (3.0, 10_000), (30.0, 2_000), (60.0, 1_000), (120.0, 500), (900.0, 50)] {
        let model = load(Lms { speed: kmh(speed), ..Lms::default() });
        let step = Duration::from_micros(step);
        assert!(speed < 0.01 || model.sampling_interval() == Some(step), "{speed}: {:?}", model.sampling_interval());
        assert!(model.build(0, &mut streams(1)).burst_snr(Time::ZERO).get().is_finite());
    }
    let far = Lms { carrier: Frequency::from_hz(20e9), ..Lms::default() };
    assert_eq!(load(far).warnings(1).len(), 1);
}

#[test]
fn reads_what_a_scenario_says() {
    let text = r#"{ "kind": "lms", "environment": "intermediate-tree-shadowed", "elevation": "40 deg",
        "speed": "60 km/h", "reference_snr": "10 dB" }"#;
    assert_eq!(serde_json::from_str::<ChannelConfig>(text).unwrap(), ChannelConfig::Lms(Lms::default()));
    assert_eq!(serde_json::from_str::<ChannelConfig>(r#"{ "kind": "lms" }"#).unwrap().kind(), "lms");
    let error = serde_json::from_str::<ChannelConfig>(r#"{ "kind": "lms", "elevaton": "40 deg" }"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `elevaton`"), "{error}");
}
