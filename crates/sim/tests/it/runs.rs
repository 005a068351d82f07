//! What holds of every run, whatever its scenario.

use crate::util::{self, LABORATORY, LEO, report, run, run_in_pieces, scenario};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use sim::{Column, Simulation};
use units::Time;

#[test]
fn a_run_is_a_function_of_scenario_and_seed() {
    let first = run(LEO, &[]);
    assert_eq!(first.summary, run(LEO, &[]).summary);
    assert_ne!(first.summary.digest, run(LEO, &["seed=2"]).summary.digest);
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| run(LEO, &[]).summary.digest)).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first.summary.digest);
    }
}

#[test]
fn observing_and_cutting_a_run_into_pieces_change_nothing() {
    let base = run(LEO, &[]).summary;
    let unobserved = run(LEO, &["record.series=false"]).summary;
    assert_eq!(base, unobserved);
    assert_eq!(base, run(LEO, &["record.interval=1 ms", "record.samples=64"]).summary);
    assert_eq!(base, run_in_pieces(LEO, &[], 97).summary);
}

/// Calls enter and leave the last hop late where nobody looks: with series somebody does, with a watch from then on.
#[test]
fn nothing_shows_when_calls_enter_the_last_hop() {
    let voice = r#"flows.0.traffic={ kind = "voice", activity = { kind = "pareto" } }"#;
    let calls = ["duration=6 s", "flows.0.transport=udp", voice, "flows.0.count=40", "flows.0.start_spread=1 s"];
    // 3.2 Mbit/s while all speak.
    for (rate, buffer, loses) in [
        ("20 Mbit/s", "100 packets", false),
        ("2500 kbit/s", "30 packets", true),
        ("2500 kbit/s", "3000 B", true),
        ("200 kbit/s", "1 packets", true),
    ] {
        let link = [format!("last_hop.rate={rate}"), format!("last_hop.scheduler.buffer={buffer}")];
        let edits = |series| [&calls[..], &[&link[0], &link[1], series]].concat();
        let (seen, unseen) = (edits("record.series=true"), edits("record.series=false"));
        let base = run(LABORATORY, &seen).summary;
        assert_eq!(base.flows.iter().any(|flow| flow.loss_ratio > Some(0.0)), loses, "{link:?}");
        assert_eq!(base, run(LABORATORY, &unseen).summary, "{link:?}");
        assert_eq!(base, run_in_pieces(LABORATORY, &unseen, 97).summary, "{link:?}");
        let mut simulation = Simulation::new(&scenario(LABORATORY, &unseen), None).unwrap();
        simulation.advance(Time::from_secs_f64(2.345)).unwrap();
        simulation.watch(Time::ZERO, Time::MAX);
        simulation.advance(Time::MAX).unwrap();
        assert_eq!(base, simulation.finish(false).unwrap().summary, "{link:?}");
    }
}

#[test]
fn another_flow_moves_no_draw_of_the_first_users_channel() {
    let attenuation = |edits: &[&str]| {
        let record = run(LEO, edits);
        let flows = edits.len() + 1;
        let column = record.series.columns.iter().find(|c| c.0 == "attenuation_db").unwrap().1.clone();
        match column {
            sim::Column::Float(values) => values.into_iter().step_by(flows).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    let alone = attenuation(&[]);
    assert!(alone.len() > 100 && alone.iter().any(|a| *a > 5.0));
    assert_eq!(alone, attenuation(&["flows.0.count=2"]));
}

#[test]
fn series_add_up_to_the_summary() {
    let record = run(LABORATORY, &["record.samples=32"]);
    let (times, goodput) = (util::column(&record.series, "time_s"), util::column(&record.series, "goodput_bps"));
    let bytes: f64 = times.windows(2).zip(&goodput[1..]).map(|(t, rate)| (t[1] - t[0]) * rate / 8.0).sum();
    let flow = &record.summary.flows[0];
    // The last sample lies up to one (doubled) interval before the end.
    assert!(bytes <= flow.delivered_bytes as f64 && bytes > 0.9 * flow.delivered_bytes as f64);
}

#[test]
fn flows_that_do_not_begin_are_told_of() {
    let warnings = |edits: &[&str]| run(LABORATORY, edits).summary.warnings;
    let told = |edits: &[&str], says: &str| assert!(warnings(edits).iter().any(|line| line == says), "{edits:?}");
    let late = "flows.0.traffic.start=30 s";
    told(&[late, "flows.0.count=3"], "3 of 3 flows do not begin within the run");
    let hosts = "1 of 1 flows do not begin within the run: their packets are those of hosts, in transorbit emulate and \
                 transorbit replay";
    told(&["flows.0.traffic=external", "flows.0.transport=external"], hosts);
    let idle = "flows.0.weight: there is no return link, [access], whose capacity it divides: it changes nothing";
    told(&["flows.0.weight=8"], idle);
    assert_eq!(warnings(&["flows.0.weight=8", "access={ method = \"dedicated\" }"]), warnings(&[]));
    let rare = "flows.0.traffic={kind=\"short-flows\", size=\"1 kB\", interval=\"1000 h\"}";
    told(&[rare], "no flow begins within the run");
    assert!(warnings(&[]).iter().all(|line| !line.contains("begin")));
}

#[test]
fn the_text_of_a_summary_is_its_json() {
    let web = "flows.0.traffic={ kind = \"web\", main = \"10 kB\", reading = \"1 s\" }";
    let title = "title=\"Übung: \\\"flows\\\":[] \\\\\"";
    for edits in [
        &[web, title][..],
        &["flows.0.transport=udp", "flows.0.traffic=voice"],
        &["flows.0.transport=quic", "record.queue_delays=true"],
        &["flows.0.traffic=dash", "duration=4 s"],
        &["flows.0.count=801", "duration=1 s"],
        &["flows.0.start_spread=1 h"],
    ] {
        let record = run(LABORATORY, edits);
        let mut text = Vec::new();
        record.write_summary(&mut text).unwrap();
        let json = serde_json::to_string(&record.summary).unwrap();
        // Both read back: the last bit of a number may change when it is read.
        let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        assert_eq!(read(str::from_utf8(&text).unwrap()), read(&json), "{edits:?}");
        let numbers = sim::Summary { flows: vec![], ..record.summary.clone() };
        assert_eq!(record.numbers_json(), serde_json::to_string(&numbers).unwrap());
    }
}

#[test]
fn flows_are_told_in_parts() {
    let record = run(LABORATORY, &["flows.0.count=5"]);
    let part = |range| serde_json::from_str::<Json>(&format!("[{}]", record.flow_lines(range))).unwrap();
    let joined = [part(0..3), part(3..9)].iter().flat_map(|part| part.as_array().unwrap().clone()).collect();
    assert_eq!(Json::Array(joined), part(0..5));
    assert_eq!((part(5..6), part(7..9)), (json!([]), json!([])));
    assert!(record.flow_lines(0..2).starts_with("\n    {\"id\": 0, \"user\": 0, \"direction\": \"down\", "));
    assert_eq!(record.flow_lines(0..2).lines().count(), 3);
}

#[test]
fn reports_are_tables_of_the_flows_that_have_them() {
    let web = "flows.0.traffic={kind=\"web\", main=\"1 kB\", objects={kind=\"constant\", count=0}, reading=\"1 s\"}";
    let record = run(LABORATORY, &[web, "flows.0.count=2"]);
    let table = record.reports("web").unwrap();
    let column = |name: &str| util::column(&table, name);
    let reports = || record.summary.flows.iter().map(|flow| report!(flow, Web));
    assert_eq!(column("flow"), [0.0, 1.0]);
    assert_eq!(column("pages"), reports().map(|web| web.pages as f64).collect::<Vec<_>>());
    assert_eq!(column("load_mean_s"), reports().map(|web| web.load_mean_s.unwrap()).collect::<Vec<_>>());
    assert_eq!(record.reports("voice").unwrap().columns, [("flow", sim::Column::Count(vec![]))]);
    assert_eq!((record.reports("id"), record.reports("traffic"), record.reports("none")), (None, None, None));
}

#[test]
fn a_finite_transfer_is_delivered_to_the_byte_and_closed() {
    let record = run(LABORATORY, &["flows.0.traffic={kind=\"bulk\", size=\"100 kB\"}", "flows.0.count=3"]);
    for flow in &record.summary.flows {
        assert_eq!(flow.delivered_bytes, 100_000);
        assert!(flow.goodput_bps > 1e6, "measured until the last byte, not until the end of the run");
    }
    assert_eq!(record.summary.conservation.in_flight, 0);
}

#[test]
fn the_reordering_buffer_repairs_the_order_that_harq_breaks() {
    let with = &run(LEO, &[]).summary;
    let without = &run(LEO, &["last_hop.reordering.enabled=false"]).summary;
    let share = |flow: &sim::FlowSummary| flow.dupack_events as f64 / flow.sent_packets as f64;
    assert!(share(&with.flows[0]) * 3.0 < share(&without.flows[0]));
    assert!(with.flows[0].goodput_bps > without.flows[0].goodput_bps);
    assert!(with.last_hop.reordering.held_packets > 0);
    assert_eq!(without.last_hop.reordering.held_packets, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Conservation is checked at the end of each run: an error would panic in `run`.
    #[test]
    fn packets_are_conserved_and_goodput_is_within_the_rate(
        seed in 0u64..1000,
        flows in 1u32..6,
        loss in 0.0f64..10.0,
        buffer in 1u32..40,
        jitter in 0.0f64..0.5,
        delay_ms in 0u64..100,
        harq in prop::sample::select(link::HarqConfig::ALL),
        scheduler in prop::sample::select(link::SchedulerConfig::ALL),
        kinds in (0usize..2, any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let (congestion, reordering, sack, delayed_ack) = kinds;
        // The one from elsewhere has nothing to run here.
        let scheduler = if scheduler == "external" { "droptail" } else { scheduler };
        let edits = [
            format!("seed={seed}"),
            "duration=5 s".into(),
            format!("flows.0.count={flows}"),
            format!("channel={{kind=\"bernoulli\", loss=\"{loss} %\"}}"),
            format!("last_hop.scheduler.kind={scheduler}"),
            format!("last_hop.scheduler.buffer=\"{buffer} packets\""),
            format!("path.jitter={{probability={jitter}, extra=\"15 ms\"}}"),
            format!("path.delay=\"{delay_ms} ms\""),
            format!("last_hop.harq={{kind=\"{harq}\"}}"),
            format!("last_hop.reordering.enabled={reordering}"),
            format!("flows.0.transport.congestion={}", ["cubic", "newreno"][congestion]),
            format!("flows.0.transport.sack={sack}"),
            format!("flows.0.transport.delayed_ack={delayed_ack}"),
            "flows.0.transport.mss=\"1000 B\"".into(),
        ];
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        let summary = run(LABORATORY, &edits).summary;
        let total: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
        prop_assert!(total > 0.0 && total < 10e6);
        for flow in &summary.flows {
            prop_assert!(flow.spurious_retransmissions <= flow.retransmitted_packets);
            prop_assert!(flow.received_packets <= flow.sent_packets);
            prop_assert!(flow.retransmitted_packets <= flow.sent_packets);
        }
    }
}

/// A burst that takes several intervals is told in each of them by its part.
#[test]
fn the_coded_rate_of_an_interval_is_never_above_that_of_the_link() {
    let record = run(LABORATORY, &["last_hop.rate=100 kbit/s", "record.interval=20 ms", "duration=5 s"]);
    let coded = record.series.columns.iter().find(|column| column.0 == "coded_bps");
    let Some((_, Column::Float(rates))) = coded else { panic!("no floats: {:?}", coded.map(|column| &column.0)) };
    let most = rates.iter().copied().fold(0.0, f64::max);
    assert!((99_900.0..=100_050.0).contains(&most), "{most} bit/s");
    let sum: f64 = rates.iter().filter(|rate| !rate.is_nan()).sum::<f64>() * 0.02;
    assert!((sum / (record.summary.last_hop.coded_bps * 5.0) - 1.0).abs() < 1e-3, "{sum} bit");
}
