//! The studies against closed forms, against themselves, and with wrong input.

use std::path::Path;

use sim::Scenario;
use toml::Value;

use super::*;

fn scenario(access: &str) -> Scenario {
    let text = format!(
        "duration = '1 s'\n\
         seed = 7\n\
         path = {{ kind = 'fixed', delay = '125 ms' }}\n\
         last_hop = {{ rate = '50 Mbit/s', delay = '125 ms' }}\n\
         flows = [{{ transport = 'tcp', traffic = 'bulk' }}]\n\
         {access}"
    );
    Scenario::from_toml(&text, Path::new(".")).unwrap()
}

fn options(methods: &[&str], packets: &[u32], bursts: u64) -> PlrOptions {
    let methods = Some(methods.iter().map(|&method| Value::from(method)).collect());
    PlrOptions { methods, packets: packets.to_vec(), bursts, seed: None }
}

fn study(scenario: &Scenario, options: &PlrOptions) -> PlrReport {
    let mut study = PlrStudy::new(scenario, options).unwrap();
    let mut share = 0.0;
    while study.share() < 1.0 {
        study.advance();
        assert!(study.share() > share, "it goes on");
        share = study.share();
    }
    study.report()
}

fn row<'a>(report: &'a PlrReport, method: &str, packets: u32) -> &'a PlrRow {
    report.rows.iter().find(|row| row.method == method && row.point.packets_per_block == packets).unwrap()
}

#[test]
fn slotted_aloha_loses_what_the_formula_says() {
    let report = study(&scenario("access = {}"), &options(&["aloha"], &[1, 20, 100], 2_000_000));
    for row in &report.rows {
        // Of n packets in 100 slots one is alone with probability (1 - 1/100)^(n - 1).
        let expected = 1.0 - libm::pow(0.99, f64::from(row.point.packets_per_block - 1));
        // Four standard deviations, of which the interval is that many wide.
        assert!((row.point.plr - expected).abs() <= row.point.plr_high - row.point.plr_low, "{row:?}: {expected}");
        assert!(
            row.point.bursts >= 2_000_000
                && row.point.packets == row.point.blocks * u64::from(row.point.packets_per_block)
        );
        assert_eq!(row.point.load, f64::from(row.point.packets_per_block) / 100.0);
        assert!((row.point.throughput - row.point.load * (1.0 - row.point.plr)).abs() < 1e-12);
    }
}

#[test]
fn musca_carries_more_than_crdsa() {
    let report = study(&scenario("access = {}"), &options(&["crdsa", "musca"], &[30, 95], 300_000));
    assert!(row(&report, "crdsa", 30).point.plr < 2e-3);
    assert!(row(&report, "crdsa", 95).point.plr > 0.5);
    assert_eq!(row(&report, "musca", 95).point.lost_packets, 0);
    // Without any loss the bound is that of 1,053 blocks of which each might have been lost whole.
    assert!(row(&report, "musca", 95).point.plr_high < 4e-3);
}

#[test]
fn a_point_does_not_depend_on_the_others() {
    let scenario = scenario("access = {}");
    let alone = study(&scenario, &options(&["crdsa"], &[70], 30_000));
    let among = study(&scenario, &options(&["musca", "crdsa", "crdsa"], &[90, 70, 50, 70], 30_000));
    assert_eq!(among.rows.len(), 2 * 3, "methods and loads are sets");
    assert_eq!(row(&among, "crdsa", 70), &alone.rows[0]);
    assert_eq!(alone.seed, 7);
    let other = study(&scenario, &PlrOptions { seed: Some(8), ..options(&["crdsa"], &[70], 30_000) });
    assert_ne!(other.rows[0].point.lost_packets, alone.rows[0].point.lost_packets);
}

#[test]
fn curves_are_called_by_what_is_unusual() {
    let own = scenario("access = { method = { kind = 'musca', margin = 0.1 } }");
    let asked = ["crdsa", "{ kind = \"crdsa\", replicas = 2 }", "{ kind = \"crdsa\", replicas = 3 }", "musca"];
    let report = study(&own, &options(&asked, &[10], 1));
    let names: Vec<&str> = report.methods.iter().map(|method| method.method.as_str()).collect();
    assert_eq!(names, ["crdsa", "crdsa-2", "musca (margin=0.1)"]);
    assert_eq!(report.methods[1].options["replicas"], 2);
    assert_eq!((report.methods[1].replicas_mean, report.methods[2].payload_bits), (2.0, 594));
    // Without methods: the scenario's own, or the usual two.
    let names = |access: &str| {
        let options = PlrOptions { methods: None, ..options(&[], &[10], 1) };
        let report = study(&scenario(access), &options);
        report.methods.into_iter().map(|method| method.method).collect::<Vec<_>>()
    };
    assert_eq!(names("access = { method = 'dsa' }"), ["dsa"]);
    assert_eq!(names("access = { method = { kind = 'switch', random = 'irsa' } }"), ["irsa"]);
    assert_eq!(names("access = { method = 'dedicated' }"), ["crdsa", "musca"]);
}

#[test]
fn a_table_is_called_by_its_file() {
    let directory = std::env::temp_dir().join(format!("transorbit-plr-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("curve.csv");
    std::fs::write(&file, "packets_per_block,plr\n10,0\n20,0.5\n").unwrap();
    let table = format!("{{ kind = \"table\", plr = '{}' }}", file.display());
    let report = study(&scenario("access = {}"), &options(&[&table], &[5, 15], 300_000));
    std::fs::remove_dir_all(&directory).unwrap();
    let name = format!("table (plr={})", file.display());
    assert_eq!(row(&report, &name, 5).point.plr, 0.0);
    let steep = row(&report, &name, 15);
    assert!(steep.point.plr_low <= 0.25 && 0.25 <= steep.point.plr_high, "{steep:?}");
}

#[test]
fn the_scenarios_table_is_heeded() {
    let random = "random = { es_n0 = '8 dB', power_spread = '3 dB' }";
    let spread = format!("access = {{ frame = {{ block_slots = 50 }}, {random}, one_amplifier = false }}");
    let report = study(&scenario(&spread), &options(&["crdsa"], &[40], 200_000));
    assert_eq!(
        (report.block_slots, report.es_n0_db, report.power_spread_db, report.one_amplifier),
        (50, 8.0, 3.0, false)
    );
    assert_eq!(report.rows[0].point.load, 0.8);
    let equal = study(&scenario("access = { frame = { block_slots = 50 } }"), &options(&["crdsa"], &[40], 200_000));
    assert!(report.rows[0].point.plr_high < equal.rows[0].point.plr_low, "unequal powers help at high load");
    // A block that does not divide the carriers of the frame is a block all the same.
    let odd = study(&scenario("access = { frame = { block_slots = 70 } }"), &options(&["dsa"], &[7], 1));
    assert_eq!(odd.rows[0].point.load, 0.1);
}

#[test]
fn noise_that_nothing_survives_is_pointed_out() {
    let report =
        study(&scenario("access = { random = { es_n0 = '0 dB' } }"), &options(&["crdsa", "musca"], &[1], 1000));
    assert_eq!(report.rows[0].point.plr, 1.0);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].starts_with("methods.0: crdsa decodes not even"), "{:?}", report.warnings);
}

#[test]
fn the_table_has_the_rows_of_the_report() {
    let mut study = PlrStudy::new(&scenario("access = {}"), &options(&["aloha", "crdsa"], &[10, 20], 1000)).unwrap();
    while study.share() < 1.0 {
        study.advance();
    }
    study.advance();
    let (table, report) = (study.table(), serde_json::to_value(study.report()).unwrap());
    let keys: Vec<&String> = report["rows"][0].as_object().unwrap().keys().collect();
    let columns: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(keys.len(), columns.len());
    assert!(columns.iter().all(|name| keys.iter().any(|key| key == name)), "{columns:?} and {keys:?}");
    assert_eq!(table.rows(), 4);
}

#[test]
fn what_is_wrong_is_named() {
    let refused =
        |access: &str, options: PlrOptions| PlrStudy::new(&scenario(access), &options).err().unwrap().to_string();
    let message = refused("access = {}", options(&["crdsa", "crsda"], &[10], 1));
    assert!(message.starts_with("methods.1.kind: ") && message.contains("did you mean \"crdsa\""), "{message}");
    let message = refused("access = {}", options(&["{ kind = \"crdsa\", replicas = 101 }"], &[10], 1));
    assert!(message.starts_with("methods.0.replicas: 101 replicas"), "{message}");
    let message = refused("access = {}", options(&["{ kind = \"crdsa\", copies = 2 }"], &[10], 1));
    assert!(message.starts_with("methods.0.copies: is an unknown key"), "{message}");
    let message = refused("access = {}", options(&["{ kind = \"table\", plr = \"none.csv\" }"], &[10], 1));
    assert!(message.starts_with("methods.0.plr: "), "{message}");
    let message = refused("access = {}", options(&["{ kind = \"crdsa\""], &[10], 1));
    assert!(message.starts_with("methods.0: ") && message.contains("is not a TOML value"), "{message}");
    let message = refused("access = {}", options(&["dedicated"], &[10], 1));
    assert!(message.starts_with("methods.0: \"dedicated\" has no random access: one of aloha, "), "{message}");
    assert!(refused("access = {}", options(&[], &[10], 1)).starts_with("methods: "));
    assert!(refused("access = {}", options(&["crdsa"], &[], 1)).starts_with("packets: "));
    assert!(refused("access = {}", options(&["crdsa"], &[5, 0], 1)).starts_with("packets.1: 0 was given"));
    assert!(refused("access = {}", options(&["crdsa"], &[5], 0)).starts_with("bursts: 0"));
    assert!(refused("", options(&["crdsa"], &[5], 1)).starts_with("access: is missing"));
    let message = refused("access = { random = { iterations = 0 } }", options(&["crdsa"], &[5], 1));
    assert!(message.starts_with("access.random.iterations: "), "{message}");
    let message = refused("access = { frame = { block_slots = 0 } }", options(&["crdsa"], &[5], 1));
    assert!(message.starts_with("access.frame.block_slots: 0 was given"), "{message}");
}

fn questions() -> AnalysisOptions {
    AnalysisOptions {
        methods: None,
        users: vec![100, 400],
        losses: vec![0.0404, 0.276],
        datagrams: 3,
        retransmissions: 2,
        round_trip: units::Duration::from_millis(500),
    }
}

#[test]
fn the_equations_give_the_published_numbers() {
    let report = AnalysisReport::new(&scenario("access = {}"), &questions()).unwrap();
    assert_eq!((report.timeslots, report.carriers, report.block_slots, report.dedicated_bits), (40, 100, 100, 920));
    let musca = report.methods.iter().find(|method| method.method == "musca").unwrap();
    assert_eq!((musca.packets_per_frame, musca.random_frame_bits, musca.break_even_users), (13, 7722, 477));
    assert_eq!(musca.break_even_packets_per_block.floor(), 155.0);
    let of_400 = report.users.iter().find(|row| (row.method.as_str(), row.users) == ("musca", 400)).unwrap();
    assert_eq!((of_400.dedicated_slots, of_400.dedicated_frame_bits, of_400.packets_per_block), (10.0, 9200.0, 130.0));
    let delays: Vec<f64> = report.retransmissions.iter().map(|row| row.added_delay_s).collect();
    assert_eq!(delays, [0.5, 1.0, 0.5, 1.0]);
    assert!((report.retransmissions[0].probability - 0.11148).abs() < 1e-5 * 2.0);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn what_the_equations_leave_out_is_pointed_out() {
    let access = "access = { method = 'dsa', max_rate = '500 kbit/s', one_amplifier = false }";
    let report = AnalysisReport::new(&scenario(access), &questions()).unwrap();
    assert_eq!(report.methods.len(), 1);
    let about: Vec<&str> = report.warnings.iter().map(|warning| warning.split(':').next().unwrap()).collect();
    assert_eq!(about, ["access.one_amplifier", "access.max_rate"]);
}

#[test]
fn wrong_questions_are_refused() {
    let refused = |access: &str, options: AnalysisOptions| {
        AnalysisReport::new(&scenario(access), &options).unwrap_err().to_string()
    };
    let ok = questions();
    assert!(refused("access = {}", AnalysisOptions { users: vec![1, 0], ..ok.clone() }).starts_with("users.1: 0"));
    assert!(refused("access = {}", AnalysisOptions { losses: vec![2.0], ..ok.clone() }).starts_with("losses.0: 2"));
    assert!(refused("access = {}", AnalysisOptions { datagrams: 0, ..ok.clone() }).starts_with("datagrams: 0"));
    assert!(
        refused("access = {}", AnalysisOptions { retransmissions: 0, ..ok.clone() }).starts_with("retransmissions: 0")
    );
    let message = refused("access = { frame = { timeslots = 2 } }", ok.clone());
    assert!(
        ["methods.0: 3 replicas", "access.method: 3 replicas"].iter().any(|start| message.starts_with(start)),
        "{message}"
    );
    let message = refused("access = { dedicated = { waveform = 'none' } }", ok);
    assert!(message.starts_with("access.dedicated."), "{message}");
}
