//! The study against closed forms and against itself.

use std::path::Path;

use super::*;

fn scenario(channel: &str, harq: &str) -> Scenario {
    let text = format!(
        "duration = '10 s'\n\
         path = {{ kind = 'fixed', delay = '80 ms' }}\n\
         channel = {channel}\n\
         last_hop = {{ rate = '50 Mbit/s', delay = '10 ms', scheduler = 'pf', harq = {harq} }}\n\
         flows = [{{ transport = 'tcp', traffic = 'bulk' }}]"
    );
    Scenario::from_toml(&text, Path::new(".")).unwrap()
}

const LMS: &str = "{ kind = 'lms', environment = 'intermediate-tree-shadowed', elevation = '40 deg', \
                   speed = '60 km/h', reference_snr = '10 dB' }";
const ADAPTIVE: &str = "{ kind = 'adaptive', transmissions = 4, padding = true }";

fn options(users: &[u32], seconds: u64) -> CapacityOptions {
    CapacityOptions { users: users.to_vec(), schedulers: None, duration: Duration::from_secs(seconds), seed: None }
}

fn study(scenario: &Scenario, options: &CapacityOptions) -> CapacityReport {
    let mut study = CapacityStudy::new(scenario, options).unwrap();
    let mut share = 0.0;
    while study.share() < 1.0 {
        study.advance(&mut |_| None).unwrap();
        assert!(study.share() > share, "it goes on");
        share = study.share();
    }
    study.report().unwrap()
}

fn row<'a>(report: &'a CapacityReport, policy: &str, users: u32) -> &'a CapacityRow {
    report.rows.iter().find(|row| row.policy == policy && row.users == users).unwrap()
}

fn about(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= share * expected
}

#[test]
fn a_clear_channel_without_harq_carries_what_the_transmitter_sends() {
    let report = study(&scenario("'clear'", "'none'"), &options(&[1, 7], 10));
    let packet_bits = f64::from(report.packet_bytes) * 8.0;
    assert_eq!(report.packet_information_bits as f64, packet_bits);
    for row in report.rows.iter().chain([&report.one_user]) {
        assert!(about(row.started_pps, 50e6 / packet_bits, 1e-4), "{row:?}");
        assert!(about(row.coded_bps, 50e6, 1e-6));
        // The last packets are in flight for 10 ms of the 10 s.
        assert!(about(row.useful_bps, 50e6, 2e-3));
        assert_eq!(row.bits_per_packet_mean, Some(packet_bits));
        assert!(about(row.mean_limit_bps, 50e6, 1e-6) && about(row.best_limit_bps, 50e6, 1e-6));
        // 8920 bits are 178.4 µs; 20 ms over three times that.
        assert!(about(row.spacing_users.unwrap(), 0.02 / 3.0 / (packet_bits / 50e6), 1e-9));
        assert!(about(row.user_useful_mean_bps * f64::from(row.users), row.useful_bps, 1e-9));
    }
}

#[test]
fn a_study_that_is_stopped_has_the_rows_that_are_done() {
    let mut study = CapacityStudy::new(&scenario("'clear'", "'none'"), &options(&[1, 7], 10)).unwrap();
    assert_eq!(study.report(), None);
    let mut rows = Vec::new();
    while study.share() < 1.0 {
        study.advance(&mut |_| None).unwrap();
        if let Some(report) = study.report() {
            assert_eq!(report.partial, study.share() < 1.0);
            assert!(report.rows.starts_with(&rows));
            rows = report.rows;
        }
    }
    assert_eq!(rows, study.report().unwrap().rows);
}

#[test]
fn erasures_take_their_share() {
    let report = study(&scenario("{ kind = 'bernoulli', loss = '20 %' }", "'none'"), &options(&[4], 10));
    for row in &report.rows {
        assert!((row.failed_share - 0.2).abs() < 0.01, "{row:?}");
        assert!(about(row.decoded_pps, 0.8 * row.started_pps, 0.01));
        assert!(about(row.mean_limit_bps, 0.8 * 50e6, 0.01));
        // Of four independent erasure channels one is open with probability 1 - 0.2^4.
        assert!(about(row.best_limit_bps, (1.0 - 0.0016) * 50e6, 0.001));
    }
}

#[test]
fn a_look_at_the_channels_pays_and_limits_hold() {
    let report = study(&scenario(LMS, ADAPTIVE), &options(&[1, 20], 20));
    let policies = ["random", "max-rate", "pf"];
    assert_eq!(report.rows.iter().map(|row| row.policy.as_str()).step_by(2).collect::<Vec<_>>(), policies);
    let of = |policy, users| row(&report, policy, users).decoded_pps;
    // One user is one user, whoever chooses.
    for policy in policies {
        assert_eq!(of(policy, 1), report.one_user.decoded_pps, "{policy}");
    }
    assert!(of("max-rate", 20) >= of("pf", 20) * 0.99, "{report:?}");
    assert!(of("pf", 20) > of("random", 20) * 1.1, "{report:?}");
    let random = row(&report, "random", 20);
    assert!(random.decoded_pps < random.mean_limit_pps);
    assert!(of("max-rate", 20) < random.best_limit_pps);
    assert!(random.mean_limit_pps < random.best_limit_pps);
    // All users get packets: at random about as many each, by proportional fairness about as much time.
    assert!(random.user_useful_min_bps > 0.5 * random.user_useful_mean_bps);
    assert!(row(&report, "pf", 20).jain.unwrap() > 0.7);
    for row in &report.rows {
        let shares: f64 = row.decoded_after_share.iter().sum();
        assert!((shares + row.failed_share - 1.0).abs() < 1e-9);
        assert!(about(row.coded_bps, 50e6, 1e-3), "the transmitter never rests: {row:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_seed_another() {
    let scenario = scenario(LMS, ADAPTIVE);
    let first = study(&scenario, &options(&[1, 5], 3));
    assert_eq!(first, study(&scenario, &options(&[5, 1, 5], 3)), "numbers of users are a set");
    let other = study(&scenario, &CapacityOptions { seed: Some(2), ..options(&[1, 5], 3) });
    assert_ne!(first.rows[1].useful_bps, other.rows[1].useful_bps);
    // A study of other numbers of users does not change what these get.
    let more = study(&scenario, &options(&[1, 3, 5, 8], 3));
    assert_eq!(row(&more, "random", 5), row(&first, "random", 5));
}

#[test]
fn every_scheduler_is_kept_busy() {
    // Except one that asks a user's code.
    let alone = |kind: &&&str| SchedulerConfig::with_defaults(kind).entry().check_chooser(&[]).is_ok();
    let schedulers: Vec<String> = SchedulerConfig::ALL.iter().filter(alone).map(|&kind| kind.to_owned()).collect();
    assert!(schedulers.len() + 1 >= SchedulerConfig::ALL.len());
    let schedulers = Some(schedulers);
    let report = study(&scenario(LMS, ADAPTIVE), &CapacityOptions { schedulers, ..options(&[30], 5) });
    for row in &report.rows {
        assert!(about(row.coded_bps, 50e6, 1e-3), "{row:?}");
        assert!(row.decoded_pps > 0.0 && row.user_useful_max_bps > 0.0);
    }
    for fair in ["droptail", "round-robin", "drr"] {
        assert!(row(&report, fair, 30).jain.unwrap() > 0.95, "{fair}");
    }
}

#[test]
fn a_queue_too_small_for_all_is_shared() {
    let small =
        scenario(LMS, ADAPTIVE).assign("last_hop.scheduler={ kind = \"droptail\", buffer = \"3 packets\" }").unwrap();
    let report = study(&small, &options(&[10], 5));
    let droptail = row(&report, "droptail", 10);
    assert!(about(droptail.coded_bps, 50e6, 1e-3));
    assert!(droptail.jain.unwrap() > 0.95, "{droptail:?}");
}

#[test]
fn what_is_wrong_is_named() {
    let scenario = scenario(LMS, ADAPTIVE);
    let refused = |options: CapacityOptions| CapacityStudy::new(&scenario, &options).err().unwrap().to_string();
    assert!(refused(options(&[], 1)).starts_with("users: "));
    assert!(refused(options(&[1, 0], 1)).starts_with("users.1: 0 was given"));
    assert!(refused(options(&[100_001], 1)).starts_with("users.0: 100001 was given"));
    assert!(refused(options(&[1], 0)).starts_with("duration: "));
    let unknown = CapacityOptions { schedulers: Some(vec!["pf".into(), "round-robbin".into()]), ..options(&[1], 1) };
    let message = refused(unknown);
    assert!(message.starts_with("schedulers.1: ") && message.contains("did you mean \"round-robin\""), "{message}");
}
