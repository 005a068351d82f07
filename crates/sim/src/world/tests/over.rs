//! Connections that are over are given up.

use proptest::prelude::*;
use units::{Duration, Time};

use super::super::World;
use super::world;
use crate::packet::{EndpointId, Way};

/// How many connections were given up: of the others a sender has a state.
fn given_up(world: &World) -> usize {
    let sender = |connection| world.connections.end(EndpointId { connection, way: Way::Forward }).endpoint();
    let senders = world.flows.iter().map(|flow| sender(flow.connection));
    senders.filter(|sender| sender.is_open() && sender.sample().is_none()).count()
}

/// A transfer every 200 ms, and one that lasts.
fn transfers(loss: f64, more: &str) -> String {
    format!(
        r#"
        duration = "4 s"
        path     = {{ kind = "fixed", delay = "20 ms" }}
        channel  = {{ kind = "bernoulli", loss = {loss} }}
        record   = {{ series = false }}
        [last_hop]
        rate      = "100 Mbit/s"
        delay     = "5 ms"
        scheduler = {{ kind = "droptail", buffer = "100 packets" }}
        harq      = {{ kind = "none" }}
        [[flows]]
        traffic   = "bulk"
        transport = "tcp"
        [[flows]]
        count        = 20
        start_spread = "4 s"
        {more}
        "#
    )
}

#[test]
fn connections_that_are_over_are_given_up_when_others_open() {
    let [transfer, page] = [r#"{ kind = "bulk", size = "2 kB" }"#, r#"{ kind = "web", pages = 1, main = "1 kB" }"#];
    for (loss, traffic, transport) in [
        (0.0, transfer, "tcp"),
        (0.1, transfer, "tcp"),
        (0.0, page, "tcp"),
        (0.0, transfer, "quic"),
        (0.1, transfer, "quic"),
    ] {
        let text = transfers(loss, &format!("traffic = {traffic}\ntransport = \"{transport}\""));
        let (mut world, _) = world(&text);
        world.run_until(Time::ZERO + Duration::from_secs(2)).unwrap();
        let half = given_up(&world);
        assert!((4..=10).contains(&half), "{half}: {text}");
        world.run_until(Time::ZERO + Duration::from_secs(4)).unwrap();
        // The last may be under way, and nothing opens after it.
        assert!(given_up(&world) >= 17, "{}: {text}", given_up(&world));
    }
}

/// A browser may ask for another page, and Fast Open remembers the peer.
#[test]
fn connections_of_which_more_is_asked_are_kept() {
    for more in [
        "traffic = { kind = \"web\", objects = { kind = \"constant\", count = 0 } }\ntransport = \"tcp\"",
        "traffic = { kind = \"bulk\", size = \"2 kB\" }\ntransport = { kind = \"tcp\", fast_open = true }",
    ] {
        let (mut world, _) = world(&transfers(0.0, more));
        world.run_until(Time::ZERO + Duration::from_secs(4)).unwrap();
        assert_eq!(given_up(&world), 0, "{more}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Nothing shows whether connections that are over are given up.
    #[test]
    fn connections_that_are_given_up_change_nothing(
        delay in 1u32..150,
        buffer in 3u32..60,
        loss in prop_oneof![Just(0.0), 0.0..0.1],
        size in 1u32..40,
        transport in prop_oneof![
            Just(r#"kind = "tcp", profile = "classic""#),
            Just(r#"kind = "tcp", profile = "linux", handshake = false"#),
            Just(r#"kind = "quic""#),
            Just(r#"kind = "quic", idle_timeout = "400 ms", reopen = "1-rtt""#),
        ],
        harq in prop_oneof![Just(r#"kind = "none""#), Just(r#"kind = "selective-repeat", block = "1500 B""#)],
        traffic in prop_oneof![Just("bulk"), Just("short-flows")],
    ) {
        let interval = if traffic == "bulk" { "" } else { r#"interval = "300 ms","# };
        let text = format!(
            r#"
            duration = "4 s"
            path     = {{ kind = "fixed", delay = "{delay} ms" }}
            channel  = {{ kind = "bernoulli", loss = {loss} }}
            [last_hop]
            rate      = "4 Mbit/s"
            delay     = "5 ms"
            scheduler = {{ kind = "droptail", buffer = "{buffer} packets" }}
            harq      = {{ {harq} }}
            [[flows]]
            count        = 10
            start_spread = "3 s"
            traffic      = {{ kind = "{traffic}", {interval} size = "{size} kB" }}
            transport    = {{ {transport} }}
            "#
        );
        let recorded = |gives_up: bool| {
            let (mut world, plan) = world(&text);
            for step in 1..=4000 {
                world.run_until(Time::ZERO + Duration::from_millis(step)).unwrap();
                while !gives_up && world.connections.poll_over().is_some() {}
            }
            let record = world.record(&plan, 1, false).unwrap();
            [format!("{:?}", record.summary), format!("{:?}", record.series)]
        };
        prop_assert_eq!(recorded(true), recorded(false), "{}", text);
    }
}
