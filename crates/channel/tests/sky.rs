//! Channels that follow the satellite: link budgets, elevations, gaps.

#[path = "../src/testing.rs"]
mod testing;

use std::sync::Arc;

use channel::{
    CLEAR, ChannelConfig, ChannelModel, ERASED, FixedRain, Geometry, LawRequest, LinkBudget, Rain, TransmissionLaw,
    generate, measure, qpsk,
};
use proptest::prelude::*;
use testing::streams;
use units::{Db, DbPerKelvin, Dbw, Duration, FieldError, Frequency, Length, MemoryFiles, OrOrbit, Time};

type Points = Vec<(f64, Option<(f64, f64)>)>;

fn geometry(points: Points) -> Arc<Geometry> {
    Arc::new(Geometry::new(points.into_iter().map(|(time, seen)| (Time::from_secs_f64(time), seen)).collect()))
}

fn read(text: &str) -> ChannelConfig {
    serde_json::from_str(text).unwrap()
}

/// Tables of rain that channels name.
fn rains() -> MemoryFiles {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().into());
    MemoryFiles::from([
        file("kink.csv", "elevation_deg,attenuation_db\n20,9\n30,1\n40,1\n"),
        file("rain.csv", "elevation_deg,attenuation_db\n10,8\n20,4\n40,2\n90,1\n"),
        file("low-rain.csv", "10,8\n60,2\n"),
        file("bad-rain.csv", "elevation_deg,attenuation_db\n10,8\n20,wet\n"),
    ])
}

fn load(text: &str, points: Points) -> Box<dyn ChannelModel> {
    read(text).entry().load(&mut rains(), Some(&geometry(points))).unwrap()
}

fn alone(text: &str) -> Box<dyn ChannelModel> {
    read(text).entry().load(&mut rains(), None).unwrap()
}

fn refusal(text: &str, points: Option<Points>) -> FieldError {
    let config = read(text);
    config.entry().load(&mut rains(), points.map(geometry).as_ref()).map(drop).unwrap_err()
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// A satellite at 800 km that rises to the zenith and sets, as a chain of points each second.
fn pass() -> Points {
    (0..=600)
        .map(|second| {
            let along = (f64::from(second) - 300.0) * 7450.0;
            let range = (along * along + 800e3 * 800e3_f64).sqrt();
            (f64::from(second), Some((libm::asin(800e3 / range).to_degrees(), range)))
        })
        .collect()
}

const BUDGET: &str = r#"{ "eirp": "30 dBW", "figure_of_merit": "-12 dB/K", "symbol_rate": "1 MHz" }"#;

fn with_budget(kind: &str, budget: &str) -> String {
    format!(r#"{{ "kind": "{kind}", "carrier": "2.2 GHz", "link_budget": {budget} }}"#)
}

#[test]
fn a_budget_is_what_hand_calculation_gives() {
    // Maral and Bousquet, Satellite Communications Systems (fifth edition, 2009), section 5.3, the power received from
    // a geostationary satellite 40 000 km away: 10 W at 12 GHz into a beam of 2 degrees, an EIRP of 48.2 dBW in its
    // middle, a free-space loss of 206.1 dB.
    let budget = |transmitter: &str| -> LinkBudget {
        let text = format!(r#"{{ {transmitter}, "figure_of_merit": "0 dB/K", "symbol_rate": "1 Hz" }}"#);
        serde_json::from_str(&text).unwrap()
    };
    let (carrier, range) = (Frequency::from_hz(12e9), Length::from_metres(40e6));
    let over = |transmitter: &str| budget(transmitter).line_of_sight(carrier, range, Db::new(0.0)).get();
    let boltzmann = 228.599_167;
    assert!((over(r#""eirp": "48.2 dBW""#) - (48.2 - 206.1 + boltzmann)).abs() < 0.05);
    assert_eq!(
        over(r#""eirp": "48.25 dBW""#),
        over(r#""transmit_power": "10 dBW", "antenna_gain": "38.25 dB""#),
        "power and gain are the EIRP"
    );
    // And by a satellite: 100 W at 14 GHz into 4 m with an efficiency of 60 %, a gain of 53.1 dB, a loss of 207.4 dB.
    let up = budget(r#""transmit_power": "20 dBW", "antenna_diameter": "4 m", "antenna_efficiency": "60 %""#);
    let up = up.line_of_sight(Frequency::from_hz(14e9), range, Db::new(0.0)).get();
    assert!((up - (20.0 + 53.1 - 207.4 + boltzmann)).abs() < 0.1, "{up}");
    let usual = budget(r#""transmit_power": "20 dBW", "antenna_diameter": "4 m""#);
    assert_eq!(usual.line_of_sight(Frequency::from_hz(14e9), range, Db::new(0.0)).get(), up, "60 % is usual");
}

#[test]
fn each_part_of_a_budget_counts_once() {
    let (carrier, range) = (Frequency::from_hz(2.2e9), Length::from_metres(1000e3));
    let budget: LinkBudget = serde_json::from_str(BUDGET).unwrap();
    let snr = |budget: &LinkBudget| budget.line_of_sight(carrier, range, Db::new(0.0)).get();
    // 20 log10(4 pi 10^6 2.2 10^9 / 299 792 458) = 159.2968 dB.
    assert!((snr(&budget) - (30.0 - 12.0 + 228.5992 - 159.2968 - 60.0)).abs() < 1e-3, "{}", snr(&budget));
    let less = |change: &dyn Fn(&mut LinkBudget)| {
        let mut changed = budget.clone();
        change(&mut changed);
        snr(&budget) - snr(&changed)
    };
    assert!((less(&|budget| budget.losses = Db::new(2.5)) - 2.5).abs() < 1e-9);
    assert!((less(&|budget| budget.figure_of_merit = DbPerKelvin::new(-15.0)) - 3.0).abs() < 1e-9);
    assert!((less(&|budget| budget.symbol_rate = Frequency::from_hz(1e7)) - 10.0).abs() < 1e-9);
    assert!((snr(&budget) - budget.line_of_sight(carrier, range, Db::new(4.0)).get() - 4.0).abs() < 1e-9);

    let rain = r#", "range": "1000 km", "rain": { "kind": "fixed", "attenuation": "4 dB" } }"#;
    let config = with_budget("clear", &BUDGET.replace(" }", rain));
    let found = alone(&config).build(0, &mut streams(1)).burst_snr(at(3.0)).get();
    assert!((found - (snr(&budget) - 4.0)).abs() < 1e-9);
    assert_eq!(alone(&config).reference_snr(), Some(Db::new(found)));
}

#[test]
fn a_pass_changes_the_signal_by_the_spreading_of_its_range() {
    let model = load(&with_budget("clear", BUDGET), pass());
    let mut channel = model.build(0, &mut streams(1));
    let budget: LinkBudget = serde_json::from_str(BUDGET).unwrap();
    for (second, seen) in pass() {
        let (_, range) = seen.unwrap();
        let expected = budget.line_of_sight(Frequency::from_hz(2.2e9), Length::from_metres(range), Db::new(0.0)).get();
        assert!((channel.burst_snr(at(second)).get() - expected).abs() < 1e-9, "{second} s");
    }
    let seen = |second: f64| {
        let snr = model.build(0, &mut streams(1)).burst_snr(at(second)).get();
        (snr, pass()[second as usize].1.unwrap().1)
    };
    let ((low, far), (high, near)) = (seen(0.0), seen(300.0));
    assert!((high - low - 20.0 * libm::log10(far / near)).abs() < 1e-9 && high - low > 9.0);
    assert_eq!(model.build(0, &mut streams(1)).burst_snr(at(5000.0)), Db::new(low), "it stays after its last point");
    let mean = model.reference_snr().unwrap().get();
    assert!(mean > low && mean < high);
}

#[test]
fn few_points_are_as_good_as_many() {
    // A range that doubles along one straight line, with rain that ends half-way.
    let rain = r#", "rain": { "kind": "by-elevation", "file": "kink.csv" } }"#;
    let config = with_budget("clear", &BUDGET.replace(" }", rain));
    let view = |share: f64| Some((20.0 + 20.0 * share, 1e6 * (2.0 - share)));
    let few = load(&config, vec![(0.0, view(0.0)), (1000.0, view(1.0))]);
    let many = load(&config, (0..=10_000).map(|i| (0.1 * f64::from(i), view(f64::from(i) / 1e4))).collect());
    let (mut few, mut many) = (few.build(0, &mut streams(1)), many.build(0, &mut streams(1)));
    for i in 0..5000 {
        let now = at(0.2 * f64::from(i) + 0.05);
        let (few, many) = (few.burst_snr(now).get(), many.burst_snr(now).get());
        assert!((few - many).abs() < 2e-3, "at {now:?}: {few} against {many}");
    }
}

#[test]
fn a_gap_erases() {
    let points =
        || vec![(0.0, Some((40.0, 1e6))), (10.0, Some((45.0, 0.9e6))), (10.0, None), (20.0, Some((25.0, 1.5e6)))];
    for text in [
        with_budget("clear", BUDGET),
        with_budget("lms", BUDGET),
        r#"{ "kind": "lms", "elevation": "orbit" }"#.to_owned(),
        r#"{ "kind": "p681", "elevation": "orbit" }"#.to_owned(),
    ] {
        let model = load(&text, points());
        let mut channel = model.build(0, &mut streams(1));
        for ms in 0..30_000u64 {
            let now = Time::from_nanos(ms * 1_000_000);
            let gap = (10_000..20_000).contains(&ms);
            assert_eq!(channel.burst_snr(now) == ERASED, gap, "{text} at {ms} ms");
            assert_eq!(channel.estimated_snr(now) == ERASED, gap);
            assert!(channel.attenuation(now).unwrap() > ERASED);
        }
        let stats = measure(&*model, Duration::from_secs(30), &mut streams(1));
        assert!((stats.erased_share - 1.0 / 3.0).abs() < 1e-3);
        let law = model.transmission_law(LawRequest::all(3, Duration::from_millis(20)), &mut streams(1));
        let erased = law.samples.iter().filter(|&&information| information < 1e-9).count();
        // Of 10 s, the second and the third transmission of packets that begin in the last 20 and 40 ms reach into the
        // gap.
        assert!(erased < law.samples.len() / 400, "the law is of the time in which a satellite serves");
    }
}

#[test]
fn a_constant_geometry_has_the_same_bytes_as_a_fixed_elevation() {
    for (kind, elevation) in [("lms", 40.0), ("p681", 30.0)] {
        let fixed = alone(&format!(r#"{{ "kind": "{kind}" }}"#));
        let points =
            vec![(0.0, Some((elevation, 1e6))), (60.0, Some((elevation, 2e6))), (90.0, Some((elevation, 2e6)))];
        let follows = load(&format!(r#"{{ "kind": "{kind}", "elevation": "orbit" }}"#), points);
        let rows = |model: &dyn ChannelModel| {
            generate(model, Duration::from_secs(100), None, &mut streams(5)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&*fixed), rows(&*follows), "{kind}");
        let law = |model: &dyn ChannelModel| {
            model.transmission_law(LawRequest::all(3, Duration::from_millis(20)), &mut streams(5))
        };
        assert_eq!(law(&*fixed), law(&*follows), "{kind}");
        assert_eq!(fixed.reference_snr(), follows.reference_snr());
        assert!(follows.warnings(1).is_empty());
    }
}

#[test]
fn a_change_of_elevation_keeps_the_state_and_ramps() {
    // Up to 4.99 s as at 40 degrees: the same draws give the same samples until the ramp begins; then the same state
    // goes on.
    for (kind, environment, low, high) in [("lms", "urban", 40.0, 60.0), ("p681", "village", 30.0, 45.0)] {
        let text = |elevation: &str| {
            format!(r#"{{ "kind": "{kind}", "environment": "{environment}", "elevation": "{elevation}" }}"#)
        };
        for seed in 0..40 {
            let jump = vec![(0.0, Some((low, 1e6))), (5.0, Some((low, 1e6))), (5.0, Some((high, 1e6)))];
            let follows = load(&text("orbit"), jump);
            let fixed = alone(&text(&format!("{low} deg")));
            let (mut follows, mut fixed) = (follows.build(0, &mut streams(seed)), fixed.build(0, &mut streams(seed)));
            let mut before = None;
            for ms in 0..5_000 {
                let now = Time::from_nanos(ms * 1_000_000);
                let (seen, as_fixed) = (follows.observe(now), fixed.observe(now));
                assert_eq!(seen.state, as_fixed.state);
                // 3 m of transition at 60 km/h: half of it, 90 ms, lies before the change.
                if ms < 4_900 {
                    assert_eq!(seen, as_fixed, "{kind}, {ms} ms");
                }
                before = seen.state;
            }
            assert_eq!(follows.observe(at(5.001)).state, before, "the state goes on");
        }
    }
}

#[test]
fn an_elevation_that_follows_the_orbit_has_the_statistics_of_the_nearest_set() {
    // Above and below 50 degrees, half-way between the published 40 and 60.
    let states = |text: &str, points: Points| {
        let model = read(text).entry().load(&mut rains(), Some(&geometry(points))).unwrap();
        let stats = measure(&*model, Duration::from_secs(200), &mut streams(2));
        (stats.attenuation_mean_db.unwrap(), stats.power_gain_mean_db.unwrap())
    };
    let urban = |elevation: &str| {
        format!(r#"{{ "kind": "lms", "environment": "urban", "elevation": "{elevation}", "speed": "100 km/h" }}"#)
    };
    for (elevation, nearest) in
        [(12.0, "40 deg"), (49.9, "40 deg"), (50.1, "60 deg"), (69.9, "60 deg"), (85.0, "80 deg")]
    {
        let point = vec![(0.0, Some((elevation, 1e6)))];
        assert_eq!(states(&urban("orbit"), point.clone()), states(&urban(nearest), point), "{elevation} deg");
    }
}

fn mean(law: &TransmissionLaw) -> f64 {
    law.samples.iter().map(|&information| f64::from(information)).sum::<f64>() / law.samples.len() as f64
}

#[test]
fn the_law_is_the_mixture_by_share_of_time() {
    // 40 to 80 degrees on a straight line in 400 s: a quarter, a half and a quarter of the time at 40, 60 and 80
    // degrees.
    let urban = |elevation: &str| {
        format!(r#"{{ "kind": "lms", "environment": "urban", "elevation": "{elevation}", "reference_snr": "6 dB" }}"#)
    };
    let spacing = Duration::from_millis(20);
    let law = |model: Box<dyn ChannelModel>| model.transmission_law(LawRequest::all(3, spacing), &mut streams(3));
    let rising = || vec![(0.0, Some((40.0, 1e6))), (400.0, Some((80.0, 1e6)))];
    let mixed = law(load(&urban("orbit"), rising()));
    let parts = ["40 deg", "60 deg", "80 deg"].map(|elevation| law(alone(&urban(elevation))));
    let expected = 0.25 * mean(&parts[0]) + 0.5 * mean(&parts[1]) + 0.25 * mean(&parts[2]);
    // 32 768 rows with a deviation of about 0.35 each.
    assert!((mean(&mixed) - expected).abs() < 4.0 * 0.35 / 32_768_f64.sqrt(), "{} against {expected}", mean(&mixed));
    assert!((mean(&parts[0]) - expected).abs() > 0.03, "the parts differ");
    let below = |law: &TransmissionLaw, level: f32| {
        law.samples.chunks(3).filter(|row| row.iter().sum::<f32>() < level).count() as f64
            / (law.samples.len() / 3) as f64
    };
    for level in [0.5, 1.0, 1.5, 2.0, 2.5] {
        let expected = 0.25 * below(&parts[0], level) + 0.5 * below(&parts[1], level) + 0.25 * below(&parts[2], level);
        assert!((below(&mixed, level) - expected).abs() < 0.011, "below {level}: {}", below(&mixed, level));
    }
    // And it is that of the series.
    let model = load(&urban("orbit"), rising());
    let mut information = Vec::new();
    for user in 0..20 {
        let mut channel = model.build(user, &mut streams(100 + user));
        information.extend((0..4000).map(|i| qpsk::mutual_information(channel.burst_snr(at(0.1 * f64::from(i))))));
    }
    let series = information.iter().sum::<f64>() / information.len() as f64;
    assert!((series - mean(&mixed)).abs() < 0.02, "{series} against {}", mean(&mixed));
}

#[test]
fn the_law_of_a_line_of_sight_follows_the_range() {
    // 3 dB apart, for 30 s and 10 s, and 100 s of nothing.
    let points = vec![
        (0.0, Some((50.0, 1e6))),
        (30.0, Some((50.0, 1e6))),
        (30.0, None),
        (130.0, Some((20.0, 4e6))),
        (140.0, Some((20.0, 4e6))),
    ];
    let model = load(&with_budget("clear", &BUDGET.replace("30 dB", "12 dB")), points);
    let law = model.transmission_law(LawRequest::all(2, Duration::from_millis(1)), &mut streams(1));
    let snr = |second: f64| model.build(0, &mut streams(1)).burst_snr(at(second));
    let [near, far] = [1.0, 135.0].map(|second| qpsk::mutual_information(snr(second)));
    assert!((mean(&law) - (0.75 * near + 0.25 * far)).abs() < 1e-3 && near - far > 0.1, "{near} {far}");
    assert!((model.reference_snr().unwrap().get() - (0.75 * snr(1.0).get() + 0.25 * snr(135.0).get())).abs() < 1e-9);
}

#[test]
fn rain_by_elevation_follows_what_is_given() {
    let rain = r#", "rain": { "kind": "by-elevation", "file": "rain.csv" } }"#;
    let fixed_range = r#", "range": "1000 km", "rain": { "kind": "by-elevation", "file": "rain.csv" } }"#;
    let dry = |range: f64| {
        let budget: LinkBudget = serde_json::from_str(BUDGET).unwrap();
        budget.line_of_sight(Frequency::from_hz(2.2e9), Length::from_metres(range), Db::new(0.0)).get()
    };
    let at_15 = || vec![(0.0, Some((15.0, 2e6)))];
    // The elevation of the fading is that of its parameters; rain and range go with the satellite.
    let snr = |model: Box<dyn ChannelModel>| model.reference_snr().unwrap().get();
    assert!((snr(load(&with_budget("lms", &BUDGET.replace(" }", rain)), at_15())) - (dry(2e6) - 6.0)).abs() < 1e-9);
    assert!((snr(load(&with_budget("clear", &BUDGET.replace(" }", rain)), at_15())) - (dry(2e6) - 6.0)).abs() < 1e-9);
    let clear = with_budget("clear", &BUDGET.replace(" }", fixed_range));
    assert!((snr(load(&clear, at_15())) - (dry(1e6) - 6.0)).abs() < 1e-9);
    assert_eq!(refusal(&clear, None).field, "link_budget.rain");
    // Range and elevation given: no satellite is needed.
    assert!((snr(alone(&with_budget("lms", &BUDGET.replace(" }", fixed_range)))) - (dry(1e6) - 2.0)).abs() < 1e-9);

    let low = load(&with_budget("clear", &BUDGET.replace(" }", rain)), vec![(0.0, Some((7.25, 2e6)))]);
    let warning =
        "the table of rain begins at 10 deg, the satellite is seen at 7.2 deg: the first row holds below as well";
    assert_eq!(low.warnings(1), [warning]);
    let warnings = |elevation: u32| {
        let fading = format!("lms\", \"environment\": \"open\", \"elevation\": \"{elevation} deg");
        alone(&with_budget(&fading, &BUDGET.replace(" }", &fixed_range.replace("rain.csv", "low-rain.csv"))))
            .warnings(1)
            .concat()
    };
    assert!(!warnings(40).contains("table of rain"), "{}", warnings(40));
    assert!(warnings(80).contains("the satellite is seen at 80.0 deg: the last row holds above"), "{}", warnings(80));
}

#[test]
fn elevations_outside_the_published_ones_are_reported() {
    let warnings = |text: &str, points: Points| load(text, points).warnings(1);
    let met = |low: f64, high: f64| vec![(0.0, Some((low, 2e6))), (300.0, Some((high, 1e6)))];
    let p681 = r#"{ "kind": "p681", "elevation": "orbit" }"#;
    assert_eq!(
        warnings(p681, met(8.2, 64.0)),
        ["the satellite is seen at 8.2 to 64.0 deg, parameters of suburban are published from 20 to 60 deg: \
          outside, the nearest ones hold"]
    );
    assert!(warnings(p681, met(20.0, 60.0)).is_empty());
    let its = warnings(r#"{ "kind": "lms", "elevation": "orbit" }"#, met(30.0, 50.0)).concat();
    assert!(its.ends_with("are published at 40 deg only: outside, the nearest ones hold"), "{its}");
    let open = warnings(r#"{ "kind": "lms", "environment": "open", "elevation": "orbit" }"#, met(40.0, 80.0));
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].starts_with("the parameters of open at 60, 70, 80 deg were published without "), "{open:?}");
}

#[test]
fn who_follows_the_orbit_says_so() {
    for (text, field) in [
        (r#"{ "kind": "lms", "elevation": "orbit" }"#.to_owned(), "elevation"),
        (r#"{ "kind": "p681", "elevation": "orbit" }"#.to_owned(), "elevation"),
        (with_budget("lms", BUDGET), "link_budget.range"),
        (with_budget("p681", BUDGET), "link_budget.range"),
        (with_budget("clear", BUDGET), "link_budget.range"),
    ] {
        assert!(read(&text).entry().follows_orbit(), "{text}");
        read(&text).entry().check().unwrap();
        let error = refusal(&text, None);
        assert_eq!(error.field, field);
        assert!(error.message.starts_with("follows the orbit, and there is no path over a constellation: "), "{error}");
        let never = refusal(&text, Some(vec![(0.0, None)]));
        assert_eq!(never.message, "follows the orbit, and no satellite serves during the run");
    }
    let given = BUDGET.replace(" }", r#", "range": "1000 km" }"#);
    for text in [
        r#"{ "kind": "lms" }"#,
        r#"{ "kind": "clear" }"#,
        r#"{ "kind": "bernoulli", "loss": "1 %" }"#,
        &with_budget("lms", &given),
    ] {
        assert!(!read(text).entry().follows_orbit());
        alone(text);
    }
}

#[test]
fn a_reference_snr_makes_way_for_a_budget() {
    let round = |config: &ChannelConfig| read(&serde_json::to_string(config).unwrap());
    for kind in ["lms", "p681"] {
        let plain = read(&format!(r#"{{ "kind": "{kind}" }}"#));
        let written = serde_json::to_value(&plain).unwrap();
        assert_eq!((&written["reference_snr"], written.get("link_budget")), (&"10 dB".into(), None));
        assert_eq!(round(&plain), plain);
        let budget = read(&with_budget(kind, BUDGET));
        let written = serde_json::to_value(&budget).unwrap();
        assert!(written.get("reference_snr").is_none() && written["link_budget"]["range"] == "orbit");
        assert_eq!(round(&budget), budget);
        let schema = serde_json::to_value(schemars::schema_for!(ChannelConfig)).unwrap().to_string();
        assert!(schema.contains(r#""default":"10 dB""#) && !schema.contains("Self"), "{schema}");
    }
    for kind in ["lms", "p681", "clear"] {
        let both = with_budget(kind, BUDGET).replacen('{', r#"{ "reference_snr": "10 dB","#, 1);
        let error = read(&both).entry().check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "link_budget: is given, and so is reference_snr, which it makes: give one of the two"
        );
    }
    assert_eq!(alone(r#"{ "kind": "clear" }"#).reference_snr(), None);
    assert_eq!(alone(r#"{ "kind": "clear" }"#).build(0, &mut streams(1)).burst_snr(at(1.0)), CLEAR);
}

#[test]
fn says_which_part_of_a_budget_is_wrong() {
    let valid: LinkBudget = serde_json::from_str(BUDGET).unwrap();
    let says = |change: &dyn Fn(&mut LinkBudget)| {
        let mut changed = valid.clone();
        change(&mut changed);
        changed.check().unwrap_err().to_string()
    };
    let db = |value: f64| Some(Db::new(value));
    let dbw = |value: f64| Some(Dbw::new(value));
    let expected = "losses: -1 dB is negative: must be 0 dB or more";
    assert_eq!(says(&|budget| budget.losses = Db::new(-1.0)), expected);
    let rain = Rain::FixedRain(FixedRain { attenuation: Db::new(-0.5) });
    assert_eq!(
        says(&|budget| budget.rain = Some(rain.clone())),
        "rain.attenuation: -0.5 dB is negative: must be 0 dB or more"
    );
    let zero = OrOrbit::Given(Length::from_metres(0.0));
    assert!(says(&|budget| budget.range = zero).starts_with("range: 0 m is out of range: must be more than 0"));
    assert!(says(&|budget| budget.eirp = None).starts_with("eirp: is missing: give it, or transmit_power"));
    assert!(says(&|budget| budget.transmit_power = dbw(3.0)).starts_with("transmit_power: is given, and so is eirp"));
    assert!(says(&|budget| budget.antenna_gain = db(3.0)).starts_with("eirp: holds the antenna's gain already"));
    let powered = |budget: &mut LinkBudget| (budget.eirp, budget.transmit_power) = (None, dbw(10.0));
    assert!(says(&powered).starts_with("antenna_gain: is missing"));
    let dish = |metres: f64| Some(Length::from_metres(metres));
    let both = |budget: &mut LinkBudget| {
        powered(budget);
        (budget.antenna_gain, budget.antenna_diameter) = (db(30.0), dish(1.0));
    };
    assert!(says(&both).starts_with("antenna_diameter: is given, and so is antenna_gain"));
    let flat = |budget: &mut LinkBudget| {
        powered(budget);
        budget.antenna_diameter = dish(0.0);
    };
    assert!(says(&flat).starts_with("antenna_diameter: 0 m is out of range"));
    let idle = |budget: &mut LinkBudget| {
        powered(budget);
        budget.antenna_gain = db(30.0);
        budget.antenna_efficiency = Some(units::Probability::new(0.5));
    };
    assert!(says(&idle).starts_with("antenna_efficiency: belongs to antenna_diameter"));
    let error = read(&format!(r#"{{ "kind": "clear", "link_budget": {BUDGET} }}"#)).entry().check().unwrap_err();
    assert_eq!(error.to_string(), "carrier: is missing: a link budget needs it");
    let unknown = with_budget("clear", &BUDGET.replace("eirp", "erip"));
    assert!(serde_json::from_str::<ChannelConfig>(&unknown).unwrap_err().to_string().contains("unknown field `erip`"));
}

#[test]
fn a_malformed_file_of_rain_names_its_line() {
    let config = |file: &str| {
        let rain = format!(r#", "range": "1000 km", "rain": {{ "kind": "by-elevation", "file": "{file}" }} }}"#);
        with_budget("lms", &BUDGET.replace(" }", &rain))
    };
    let error = refusal(&config("bad-rain.csv"), None);
    assert_eq!(error.field, "link_budget.rain.file");
    assert_eq!(error.message, "bad-rain.csv line 3: the attenuation in dB \"wet\" is not a number");
    assert!(refusal(&config("none.csv"), None).message.contains("cannot be read"));
    assert!(refusal(&config(""), None).message.contains("the name is empty"));
}

/// Up and down between 5 and 90 degrees, with jumps and gaps.
fn skies() -> impl Strategy<Value = Points> {
    let point = (1u32..15_000, prop::option::weighted(0.85, (5.0..90.0, 6e5..4e6)), any::<bool>());
    prop::collection::vec(point, 1..12).prop_map(|points| {
        let mut now = 0.0;
        let mut sky: Points = vec![(0.0, Some((30.0, 1e6)))];
        for (gap, seen, jump) in points {
            now += if jump { 0.0 } else { f64::from(gap) * 1e-3 };
            sky.push((now, seen));
        }
        sky
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn values_do_not_depend_on_when_others_were_read(sky in skies(), seed in 0u64..100, kind in 0usize..5) {
        let text = match kind {
            0 => with_budget("clear", BUDGET),
            1 => with_budget("lms", BUDGET),
            2 => r#"{ "kind": "p681", "elevation": "orbit", "environment": "village" }"#.to_owned(),
            3 => r#"{ "kind": "lms", "elevation": "orbit", "environment": "urban", "speed": "500 km/h" }"#.to_owned(),
            _ => r#"{ "kind": "lms", "elevation": "orbit", "environment": "open", "speed": "3 km/h" }"#.to_owned(),
        };
        let model = load(&text, sky);
        let (mut all, mut some) = (model.build(0, &mut streams(seed)), model.build(0, &mut streams(seed)));
        for ms in 0..40_000u64 {
            let now = Time::from_nanos(ms * 1_000_000);
            let value = all.burst_snr(now);
            prop_assert!(value >= ERASED && value < CLEAR);
            if ms % 997 < 3 {
                prop_assert_eq!(some.burst_snr(now), value);
                prop_assert_eq!(some.observe(now), all.observe(now));
            }
        }
    }
}
