//! What every kind of traffic must hold to.

use super::*;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Streams as the engine makes them: one for each purpose, a function of seed and purpose alone.
pub(crate) fn streams(seed: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    let mut asked = Vec::new();
    move |purpose| {
        assert!(!asked.contains(&purpose), "{purpose} is asked for twice");
        asked.push(purpose);
        let key = purpose.bytes().fold(seed, |key, byte| key.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        Box::new(Xoshiro256PlusPlus::seed_from_u64(key))
    }
}

/// Each kind with the options that make it end.
fn example(kind: &str) -> TrafficConfig {
    match kind {
        "bulk" => TrafficConfig::Bulk(Bulk { size: Some(Bytes::new(30_000)), ..Bulk::default() }),
        "short-flows" => TrafficConfig::ShortFlows(ShortFlows::default()),
        "web" => TrafficConfig::Web(Web { pages: Some(5), ..Web::default() }),
        "voice" => TrafficConfig::Voice(Voice { length: Some(Duration::from_secs(5)), ..Voice::default() }),
        other => panic!("no example of traffic {other}"),
    }
}

const OFFSET: Duration = Duration::from_secs(2);
const RUN: Duration = Duration::from_secs(20);

/// Runs a source over a network that delivers each write whole, `delay` after it, and hands over all that it did.
pub(crate) fn run(source: &mut dyn Source, delay: Duration) -> Vec<(Time, End, Action)> {
    let (mut done, mut under_way) = (Vec::new(), std::collections::VecDeque::new());
    let mut sent = [0; 2];
    loop {
        let arrival = under_way.front().map(|&(at, _, _)| at);
        let Some(now) = [source.poll_timeout(), arrival].into_iter().flatten().min() else { return done };
        assert!(done.last().is_none_or(|&(before, _, _)| before <= now), "time runs backwards");
        while let Some(&(_, to, bytes)) = under_way.front().filter(|delivery| delivery.0 <= now) {
            under_way.pop_front();
            source.handle_delivered(now, to, bytes);
        }
        while let Some((end, action)) = source.poll_action(now) {
            done.push((now, end, action));
            if let Action::Write(size) = action {
                let (from, to) = match end {
                    End::Server => (0, End::User),
                    End::User => (1, End::Server),
                };
                sent[from] += size.get();
                under_way.push_back((now + delay, to, sent[from]));
            }
        }
        assert!(source.poll_timeout().is_none_or(|next| next > now), "stays due");
    }
}

#[test]
fn every_source_acts_only_when_due_opens_first_and_closes_last() {
    for kind in TrafficConfig::ALL {
        let config = example(kind);
        assert_eq!(config.check(), Ok(()));
        let sources = config.build(OFFSET, RUN, &mut streams(1));
        assert!(!sources.is_empty(), "{kind}");
        for mut source in sources {
            let start = source.poll_timeout().expect("it starts by itself");
            assert!(start >= Time::ZERO + OFFSET, "{kind} starts before its time");
            assert_eq!(source.poll_action(start - Duration::from_nanos(1)), None, "{kind} acts before its start");
            let done = run(&mut *source, Duration::from_millis(100));
            let opener = if *kind == "web" { End::User } else { End::Server };
            assert_eq!(done[0], (start, opener, Action::Open), "{kind}");
            let opened = done.iter().filter(|(_, _, action)| *action == Action::Open).count();
            assert_eq!(opened, 1, "{kind}");
            for end in [End::Server, End::User] {
                let actions: Vec<Action> = done.iter().filter(|d| d.1 == end).map(|d| d.2).collect();
                let closed = actions.iter().position(|action| *action == Action::Close);
                assert!(closed.is_none_or(|at| at == actions.len() - 1), "{kind} acts after closing");
                assert_eq!(closed.is_some(), !actions.is_empty(), "{kind} does not close what it used");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_does_not() {
    for kind in TrafficConfig::ALL {
        let actions = |seed| {
            let sources = example(kind).build(OFFSET, RUN, &mut streams(seed));
            sources.into_iter().map(|mut s| run(&mut *s, Duration::from_millis(100))).collect::<Vec<_>>()
        };
        assert_eq!(actions(1), actions(1), "{kind}");
        let is_random = matches!(*kind, "short-flows" | "web");
        assert_eq!(actions(1) != actions(2), is_random, "{kind}");
    }
}

#[test]
fn only_voice_has_a_listener_and_goes_by_datagrams() {
    for kind in TrafficConfig::ALL {
        let config = example(kind);
        assert_eq!(config.listener().is_some(), *kind == "voice", "{kind}");
        let needs = match *kind {
            "voice" => Needs::Datagrams { packet: 200 },
            "web" => Needs::Exchange,
            _ => Needs::Stream,
        };
        assert_eq!(config.needs(), needs, "{kind}");
    }
}

#[test]
fn a_scenario_is_read_and_written_back() {
    let text = r#"[
        { "kind": "bulk", "size": "1 MB" },
        { "kind": "voice", "codec": "g711-no-plc", "activity": { "kind": "pareto" }, "rate": "64 kbit/s", "packet": "210 B",
          "playout": { "kind": "adaptive", "initial": "80 ms" }, "advantage": 10 },
        { "kind": "short-flows", "interval": "500 ms", "size": "30 kB" },
        { "kind": "short-flows", "size": { "kind": "empirical", "sizes": ["1 kB", "1 MB"], "cumulative": [0.5, "100 %"] } },
        { "kind": "web", "objects": { "kind": "constant", "count": 3 }, "main": "20 kB", "requests": "sequential" }
    ]"#;
    let read: Vec<TrafficConfig> = serde_json::from_str(text).unwrap();
    assert!(read.iter().all(|config| config.check().is_ok()));
    let again: Vec<TrafficConfig> = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(read, again);
    for kind in TrafficConfig::ALL {
        let bare = serde_json::json!({ "kind": kind });
        let config: TrafficConfig = serde_json::from_value(bare).unwrap();
        assert_eq!(config.check(), Ok(()), "{kind} with its defaults");
    }
    assert!(serde_json::from_str::<TrafficConfig>(r#"{ "kind": "voice", "codek": "g729" }"#).is_err());
}
