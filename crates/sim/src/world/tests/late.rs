//! Packets that pass the last hop late change nothing.

use orbit::PathConfig;
use proptest::prelude::*;
use units::{Duration, Time};

use super::super::World;
use crate::plan::Plan;
use crate::record::Column;

/// Where packets enter and leave the last hop late, some dozens wait for others beside those in flight: here all
/// calls send at the same instants.
#[test]
fn packets_that_are_late_do_not_pile_up() {
    for [channel, scheduler, harq] in [["clear", "droptail", "none"], ["lms", "pf", "fec"]] {
        let text = format!(
            r#"
            duration = "20 s"
            path     = {{ kind = "fixed", delay = "30 ms" }}
            channel  = {{ kind = "{channel}" }}
            record   = {{ series = false }}
            [last_hop]
            rate       = "50 Mbit/s"
            delay      = "10 ms"
            scheduler  = {{ kind = "{scheduler}", buffer = "500 packets" }}
            harq       = {{ kind = "{harq}" }}
            reordering = {{ enabled = false }}
            [[flows]]
            count     = 300
            transport = "udp"
            traffic   = {{ kind = "voice" }}
            "#
        );
        let (mut world, _) = late(&text);
        let mut most = 0;
        for hundredth in 1..=2000 {
            world.run_until(Time::ZERO + Duration::from_millis(10 * hundredth)).unwrap();
            most = most.max(world.under.ledger.packets.in_flight());
        }
        // Those of three to four intervals of 20 ms.
        assert!((300..1200).contains(&most), "{most} packets in flight, {scheduler}");
    }
}

/// A handover, or a loss on the path, comes before the packets of the same instant.
#[test]
fn what_comes_before_packets_finds_those_of_its_instant_in_flight() {
    let (mut world, _) = late(
        r#"
        duration = "1 s"
        path     = { kind = "fixed", delay = "30 ms" }
        channel  = { kind = "clear" }
        flows    = [{ transport = "udp", traffic = "voice" }]
        [last_hop]
        rate       = "1 Mbit/s"
        delay      = "10 ms"
        scheduler  = { kind = "droptail", buffer = "10 packets" }
        harq       = { kind = "none" }
        reordering = { enabled = false }
        "#,
    );
    // The first packet comes to the last hop after 30 ms.
    world.run_until(Time::ZERO + Duration::from_millis(31)).unwrap();
    world.catch_up(world.now(), 0);
    let arrives = world.under.network.places[0].last_hop.next_due();
    assert!(arrives < Time::MAX);
    world.catch_up_before(arrives, 0);
    assert_eq!(world.under.ledger.recorder.delivered, 0);
    world.catch_up(arrives, 0);
    assert_eq!(world.under.ledger.recorder.delivered, 1);
}

/// A packet that is sent after the last hop was scheduled reaches its user before those that wait for feedback.
#[test]
fn a_late_last_hop_wakes_before_a_packet_that_overtakes_is_answered() {
    for (processes, flows, feedback) in [(1, 2, 80), (2, 2, 80), (1, 4, 80), (2, 4, 300), (1, 2, 300), (500, 2, 80)] {
        let text = format!(
            r#"
            duration = "3 s"
            path     = {{ kind = "fixed", delay = "1 ms" }}
            channel  = {{ kind = "bernoulli", loss = 0.2 }}
            record   = {{ series = false }}
            [last_hop]
            rate       = "8 Mbit/s"
            delay      = "5 ms"
            scheduler  = {{ kind = "round-robin" }}
            reordering = {{ enabled = true }}
            [last_hop.harq]
            kind      = "selective-repeat"
            processes = {processes}
            feedback  = {{ delay = "{feedback} ms" }}
            [[flows]]
            count     = {flows}
            traffic   = "bulk"
            transport = {{ kind = "tcp", delayed_ack = false }}
            "#
        );
        assert_eq!(recorded(&text, true), recorded(&text, false), "{text}");
    }
}

/// A connection without a handshake has not measured a round trip: its first time-out may be the least, and an
/// acknowledgment waits no longer.
#[test]
fn a_late_last_hop_wakes_before_an_acknowledgment_of_a_connection_without_a_handshake_is_due() {
    let text = r#"
        duration = "2 s"
        path     = { kind = "fixed", delay = "10 ms" }
        channel  = { kind = "clear" }
        record   = { series = false }
        [last_hop]
        rate      = "8 Mbit/s"
        delay     = "7 ms"
        scheduler = { kind = "droptail", buffer = "20 packets" }
        [[flows]]
        traffic   = { kind = "short-flows", interval = "20 ms", size = "17585 B" }
        transport = { kind = "tcp", profile = "linux", min_rto = "10 ms", handshake = false }
    "#;
    assert_eq!(recorded(text, true), recorded(text, false));
}

#[test]
fn no_packet_is_at_a_user_before_the_reach() {
    let text = format!(
        r#"
        duration = "120 s"
        flows    = [{{ transport = "tcp", traffic = "bulk" }}]
        [path]
        {MOVING}
        [last_hop]
        rate  = "5 Mbit/s"
        delay = "orbit"
        "#
    );
    let (world, plan) = late(&text);
    let place = &world.under.network.places[0];
    let (reach, mut hop) = (place.late.expect("packets are late").reach, plan.hop.clone());
    let instants = (0..1200).map(|tenth| Time::ZERO + Duration::from_millis(100 * tenth));
    let least = place.path.least_delay().unwrap() + instants.map(|now| hop.delay(now)).min().unwrap();
    assert!(reach <= least, "{reach} is more than {least}");
}

/// A sample falls on the first instant of a burst, whose time was rounded up.
#[test]
fn what_was_sent_by_a_sample_never_falls() {
    let text = r#"
        duration = "3 s"
        path     = { kind = "fixed", delay = "10 ms" }
        channel  = { kind = "lms", sampling_interval = "2 ms" }
        record   = { series = true, interval = "10 ms" }
        last_hop = { rate = "2929 kbit/s", delay = "361 us", scheduler = { kind = "bps" } }
        [[flows]]
        count     = 4
        traffic   = { kind = "bulk", size = "84931 B" }
        transport = { kind = "tcp", profile = "fack", congestion = "newreno" }
    "#;
    let (mut world, plan) = late(text);
    world.run_until(Time::ZERO + plan.config().duration).unwrap();
    let series = world.record(&plan, 1, false).unwrap().series;
    let rates = series.columns.iter().find_map(|(name, column)| match column {
        Column::Float(rates) if *name == "coded_bps" => Some(rates),
        _ => None,
    });
    let rates = rates.expect("a column of coded bits");
    assert!(rates.iter().all(|&rate| rate < 2.95e6), "more than the link's rate: {rates:?}");
}

/// A path between France and Austria over satellites that are chosen every second.
const MOVING: &str = r#"
    kind          = "constellation"
    constellation = "starlink-shell-1"
    handover      = { kind = "fixed-epochs", every = "1 s" }
    source        = { latitude = "43.6 deg", longitude = "1.4 deg" }
    user          = { latitude = "48.2 deg", longitude = "16.4 deg" }
"#;

/// The seconds at which the user of [`MOVING`] is handed over.
fn handovers() -> Vec<u64> {
    let config: PathConfig = toml::from_str(MOVING).unwrap();
    let trace = config.entry().constellation().unwrap().trace(Duration::from_secs(600)).unwrap();
    let handovers = trace.intervals().iter().filter(|interval| interval.change.user_handover);
    handovers.map(|interval| interval.from.as_nanos() / 1_000_000_000).filter(|&second| second >= 2).collect()
}

/// Compares a run in which packets come late with one in which they come in time.
fn compare(text: &str) -> Result<(), TestCaseError> {
    let (late, in_time) = (recorded(text, true), recorded(text, false));
    prop_assert_eq!(&late[0], &in_time[0]);
    prop_assert!(late[1] == in_time[1], "series differ");
    Ok(())
}

/// So many calls in a scenario.
fn calls(count: u32) -> String {
    match count {
        0 => String::new(),
        _ => format!("[[flows]]\ncount = {count}\ntransport = \"udp\"\ntraffic = \"voice\"\n"),
    }
}

/// So many downloads over TCP in a scenario.
fn downloads(count: u32, profile: &str, ecn: bool) -> String {
    match count {
        0 => String::new(),
        _ => format!(
            "[[flows]]\ncount = {count}\ntraffic = \"bulk\"\n\
             transport = {{ kind = \"tcp\", profile = \"{profile}\", ecn = {ecn} }}\n"
        ),
    }
}

/// A world in which packets pass the last hop late, and its plan.
fn late(text: &str) -> (World, Plan) {
    let (world, plan) = super::world(text);
    assert!(world.under.network.places[0].is_late(), "{text}");
    (world, plan)
}

/// The record of a run, in which packets come late to their users or in time.
fn recorded(text: &str, late: bool) -> [String; 2] {
    let (mut world, plan) = self::late(text);
    if !late {
        world.run_in_time(Time::ZERO);
        assert!(!world.under.network.places[0].is_late());
    }
    let end = Time::ZERO + plan.config().duration;
    // Whoever looks in between, as a progress bar does, changes nothing.
    world.run_until(Time::from_nanos(end.as_nanos() / 3)).unwrap();
    world.run_until(end).unwrap();
    let record = world.record(&plan, 1, false).unwrap();
    [format!("{:?}", record.summary), format!("{:?}", record.series)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Nothing shows whether packets come to their users in time, or many at once before anything that they lead
    /// to.
    #[test]
    fn packets_that_come_late_change_nothing(
        delay in 1u32..300,
        hop in 1u32..20,
        rate in 1u32..20,
        buffer in prop_oneof![5u32..200, Just(4000)],
        flows in 1u32..6,
        profile in prop_oneof![Just("classic"), Just("linux"), Just("fack"), Just("ns2-linux")],
        congestion in prop_oneof![Just("newreno"), Just("cubic"), Just("bbr"), Just("westwood")],
        delayed in prop_oneof![Just("false"), Just("true"), Just("\"10 ms\""), Just("\"500 ms\"")],
        voices in 0u32..3,
        size in prop_oneof![
            Just(String::new()), (1u32..300_000).prop_map(|size| format!(", size = \"{size} B\""))
        ],
        initial_rto in prop_oneof![Just(1000), 1u32..1000],
        series in any::<bool>(),
    ) {
        let calls = calls(voices);
        let text = format!(
            r#"
            duration = "5 s"
            path     = {{ kind = "fixed", delay = "{delay} ms" }}
            channel  = {{ kind = "clear" }}
            record   = {{ series = {series} }}
            [last_hop]
            rate       = "{rate} Mbit/s"
            delay      = "{hop} ms"
            scheduler  = {{ kind = "droptail", buffer = "{buffer} packets" }}
            harq       = {{ kind = "none" }}
            reordering = {{ enabled = false }}
            [[flows]]
            count     = {flows}
            start_spread = "1 s"
            traffic   = {{ kind = "bulk"{size} }}
            [flows.transport]
            kind        = "tcp"
            congestion  = "{congestion}"
            profile     = "{profile}"
            delayed_ack = {delayed}
            initial_rto = "{initial_rto} ms"
            {calls}"#
        );
        compare(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The same where bursts are simulated.
    #[test]
    fn bursts_that_are_simulated_late_change_nothing(
        delay in prop_oneof![1u32..10, 1u32..300],
        hop in 1u32..20,
        rate in 1u32..8,
        scheduler in prop_oneof![
            Just("droptail\""), Just("pf\""), Just("codes\", limit = \"60 ms\""), Just("drr\""), Just("bbs\"")
        ],
        harq in prop_oneof![Just("adaptive"), Just("none"), Just("chase"), Just("go-back-n"), Just("nr-ntn")],
        feedback in prop::option::of(0u32..600),
        queue in prop_oneof![Just("droptail"), Just("codel"), Just("red")],
        age in prop_oneof![Just(0), 1u32..40],
        ordered in any::<bool>(),
        calls in 0u32..4,
        downloads in 0u32..4,
        profile in prop_oneof![Just("classic"), Just("linux")],
        series in any::<bool>(),
    ) {
        let flows = self::calls(calls + 1) + &self::downloads(downloads, profile, true);
        let feedback = match feedback {
            Some(delay) if !matches!(harq, "none" | "nr-ntn") => format!(", feedback = {{ delay = \"{delay} ms\" }}"),
            _ => String::new(),
        };
        let text = format!(
            r#"
            duration = "3 s"
            path     = {{ kind = "fixed", delay = "{delay} ms" }}
            channel  = {{ kind = "lms", sampling_interval = "2 ms" }}
            record   = {{ series = {series} }}
            [last_hop]
            rate       = "{rate} Mbit/s"
            delay      = "{hop} ms"
            scheduler  = {{ kind = "{scheduler} }}
            queue      = {{ kind = "{queue}" }}
            harq       = {{ kind = "{harq}"{feedback} }}
            reordering = {{ enabled = {ordered} }}
            estimate   = {{ age = "{age} ms" }}
            {flows}"#
        );
        compare(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The same over paths on which packets overtake others, and while a satellite hands its users over to the next.
    #[test]
    fn packets_that_come_late_over_a_moving_path_change_nothing(
        jitter in prop::option::of((0.01f64..0.9, 1u32..80)),
        handover in prop::sample::select(handovers()),
        hop in prop_oneof![Just("orbit"), Just("3 ms"), Just("0 ms")],
        interruption in prop_oneof![Just(0), 1u32..900],
        packets in prop_oneof![Just("deliver"), Just("forward"), Just("lose")],
        processing in 0u32..20,
        sends in prop_oneof![Just(""), Just(", rate = \"50 Mbit/s\"")],
        rate in 1u32..20,
        scheduler in prop_oneof![Just("droptail"), Just("pf")],
        harq in prop_oneof![Just("adaptive"), Just("none"), Just("selective-repeat")],
        ordered in any::<bool>(),
        calls in 0u32..4,
        downloads in 0u32..4,
        profile in prop_oneof![Just("classic"), Just("linux")],
        series in any::<bool>(),
    ) {
        let path = match jitter {
            Some((probability, extra)) => format!(
                "kind = \"fixed\"\ndelay = \"15 ms\"\n\
                 jitter = {{ probability = {probability}, extra = \"{extra} ms\" }}"
            ),
            None => {
                let start = handover - 2;
                format!(
                    "{MOVING}\nstart = \"{start} s\"\n\
                     at_handover = {{ interruption = \"{interruption} ms\", packets = \"{packets}\" }}\n\
                     hops = {{ processing_delay = \"{processing} ms\"{sends} }}"
                )
            }
        };
        let hop = if jitter.is_some() && hop == "orbit" { "3 ms" } else { hop };
        let (downloads, channel) = (downloads + u32::from(calls == 0), if harq == "none" { "clear" } else { "lms" });
        let flows = self::downloads(downloads, profile, false) + &self::calls(calls);
        let text = format!(
            r#"
            duration = "4 s"
            channel  = {{ kind = "{channel}" }}
            record   = {{ series = {series} }}
            [path]
            {path}
            [last_hop]
            rate       = "{rate} Mbit/s"
            delay      = "{hop}"
            scheduler  = {{ kind = "{scheduler}", buffer = "100 packets" }}
            harq       = {{ kind = "{harq}" }}
            reordering = {{ enabled = {ordered} }}
            {flows}"#
        );
        compare(&text)?;
    }
}
