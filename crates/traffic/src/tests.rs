//! Properties that every kind of traffic must have.

use std::sync::Arc;

use super::*;
use rand::Rng;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use units::{Bytes, Duration, Time};

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

/// A configuration of each kind that ends.
fn example(kind: &str) -> TrafficConfig {
    match kind {
        "bulk" => TrafficConfig::Bulk(Bulk { size: Some(Bytes::new(30_000)), ..Bulk::default() }),
        "short-flows" => TrafficConfig::ShortFlows(ShortFlows::default()),
        "web" => TrafficConfig::Web(Web { pages: Some(5), ..Web::default() }),
        "packmime" => TrafficConfig::PackMime(PackMime { persistent: true, ..PackMime::default() }),
        "voice" => TrafficConfig::Voice(Voice { length: Some(Duration::from_secs(5)), ..Voice::default() }),
        "dash" => {
            TrafficConfig::Dash(Dash { length: Some(Duration::from_secs(20)), variation: 0.3, ..Dash::default() })
        }
        "live" => TrafficConfig::Live(Live { length: Some(Duration::from_secs(5)), gop: Some(12), ..Live::default() }),
        "game" => TrafficConfig::Game(Game { length: Some(Duration::from_secs(5)), ..Game::default() }),
        "external" => TrafficConfig::External(External::default()),
        "script" => scripted(),
        other => panic!("no example of traffic {other}"),
    }
}

/// Three writes, a second apart.
struct Three {
    start: Time,
    left: u32,
}

impl Program for Three {
    fn on_timeout(&mut self, now: Time, acts: &mut Acts) -> Option<Time> {
        let mut act = |action| acts.push(Act::on_first(End::Server, action)).unwrap();
        if now == self.start {
            act(Action::Open);
        }
        act(Action::Write(Bytes::new(1000)));
        self.left -= 1;
        if self.left == 0 {
            act(Action::Close);
        }
        (self.left > 0).then(|| now + Duration::from_secs(1))
    }

    fn on_delivered(&mut self, _: Time, _: u32, _: End, _: u64, _: &mut Acts) -> Option<Time> {
        None
    }
}

pub(crate) fn scripted() -> TrafficConfig {
    let mut config = TrafficConfig::Script(Script::named("three"));
    let make: MakeProgram = Arc::new(|given: &ProgramStart| Box::new(Three { start: given.start, left: 3 }));
    config.entry_mut().supply(&mut |name| (name == "three").then(|| Arc::clone(&make))).unwrap();
    config
}

const OFFSET: Duration = Duration::from_secs(2);
const RUN: Duration = Duration::from_secs(20);

/// Runs a source over a network that delivers each write whole after `delay`, and returns all its actions.
pub(crate) fn run(source: &mut dyn Source, delay: Duration) -> Vec<(Time, Act)> {
    let mut done: Vec<(Time, Act)> = Vec::new();
    let mut in_flight = std::collections::VecDeque::<(Time, u32, End, u64)>::new();
    let mut sent = vec![[0; 2]; source.connections() as usize];
    loop {
        let arrival = in_flight.front().map(|&(at, ..)| at);
        let Some(now) = [source.poll_timeout(), arrival].into_iter().flatten().min() else { return done };
        assert!(done.last().is_none_or(|&(before, _)| before <= now), "time runs backwards");
        while let Some(&(_, connection, to, bytes)) = in_flight.front().filter(|delivery| delivery.0 <= now) {
            in_flight.pop_front();
            source.handle_delivered(now, connection, to, bytes);
        }
        while let Some(act) = source.poll_action(now) {
            done.push((now, act));
            if let Action::Write(size) = act.action {
                let (from, to) = match act.end {
                    End::Server => (0, End::User),
                    End::User => (1, End::Server),
                };
                let sent = &mut sent[act.connection as usize][from];
                *sent += size.get();
                in_flight.push_back((now + delay, act.connection, to, *sent));
            }
        }
        assert!(source.poll_timeout().is_none_or(|next| next > now), "stays due");
    }
}

/// Each stream once, for each user's number.
pub(crate) fn entry_streams(seed: u64) -> impl FnMut(&'static str, u32) -> Box<dyn Rng + Send> {
    let mut users = Vec::new();
    move |purpose, user| {
        while users.len() <= user as usize {
            users.push(streams(seed + 1_000 * users.len() as u64));
        }
        users[user as usize](purpose)
    }
}

#[test]
fn every_source_acts_only_when_due_opens_first_and_closes_last() {
    for kind in TrafficConfig::ALL {
        let config = example(kind);
        assert_eq!(config.entry().check(), Ok(()));
        let applications = config.entry().build(&[OFFSET, OFFSET * 2], RUN, &mut entry_streams(1));
        if config.entry().needs() == Needs::Outside {
            assert!(applications.iter().all(|application| application.source.poll_timeout().is_none()), "{kind}");
            continue;
        }
        for user in 0..2 {
            assert!(applications.iter().any(|application| application.user == user), "{kind}");
        }
        for UserSource { user, mut source } in applications {
            let start = source.poll_timeout().expect("it starts by itself");
            assert!(start >= Time::ZERO + OFFSET * u64::from(user + 1), "{kind} starts before its time");
            assert_eq!(source.poll_action(start - Duration::from_nanos(1)), None, "{kind} acts before its start");
            let done = run(&mut *source, Duration::from_millis(100));
            let asks = matches!(config.entry().needs(), Needs::Exchange | Needs::Messages { .. });
            let opener = if asks { End::User } else { End::Server };
            assert_eq!(done[0], (start, Act::on_first(opener, Action::Open)), "{kind}");
            for connection in 0..source.connections() {
                check_connection(kind, done.iter().map(|(_, act)| *act).filter(|act| act.connection == connection));
            }
        }
    }
}

fn check_connection(kind: &str, acts: impl Iterator<Item = Act>) {
    let acts: Vec<Act> = acts.collect();
    assert!(acts.first().is_none_or(|act| act.action == Action::Open), "{kind} does not open first");
    let opened = acts.iter().filter(|act| act.action == Action::Open).count();
    assert_eq!(opened, usize::from(!acts.is_empty()), "{kind}");
    for end in [End::Server, End::User] {
        let actions: Vec<Action> = acts.iter().filter(|act| act.end == end).map(|act| act.action).collect();
        let closed = actions.iter().position(|action| *action == Action::Close);
        assert!(closed.is_none_or(|at| at == actions.len() - 1), "{kind} acts after closing");
        assert_eq!(closed.is_some(), !actions.is_empty(), "{kind} does not close what it used");
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_does_not() {
    for kind in TrafficConfig::ALL {
        let actions = |seed| {
            let applications = example(kind).entry().build(&[OFFSET], RUN, &mut entry_streams(seed));
            let done = applications.into_iter().map(|mut a| run(&mut *a.source, Duration::from_millis(100)));
            done.collect::<Vec<_>>()
        };
        assert_eq!(actions(1), actions(1), "{kind}");
        let is_random = matches!(*kind, "short-flows" | "web" | "packmime" | "dash" | "game");
        assert_eq!(actions(1) != actions(2), is_random, "{kind}");
    }
}

#[test]
fn only_voice_has_a_listener_and_goes_by_datagrams() {
    for kind in TrafficConfig::ALL {
        let config = example(kind);
        assert_eq!(config.entry().listener().is_some(), *kind == "voice", "{kind}");
        let needs = match *kind {
            "voice" => Needs::Datagrams { packet: 200 },
            "web" | "packmime" | "dash" => Needs::Exchange,
            "live" => Needs::Media { packet: 1_000 },
            "game" => Needs::Messages { packet: 120 + 20 * 36 + 28, option: "down.size_scale" },
            "external" => Needs::Outside,
            _ => Needs::Stream,
        };
        assert_eq!(config.entry().needs(), needs, "{kind}");
    }
}

#[test]
fn a_scenario_is_read_and_written_back() {
    let text = r#"[
        { "kind": "bulk", "size": "1 MB" },
        { "kind": "voice", "codec": "g711-no-plc", "activity": { "kind": "pareto" }, "rate": "64 kbit/s",
          "packet": "210 B",
          "playout": { "kind": "adaptive", "initial": "80 ms" }, "advantage": 10 },
        { "kind": "short-flows", "interval": "500 ms", "size": "30 kB" },
        { "kind": "short-flows", "size": { "kind": "empirical", "sizes": ["1 kB", "1 MB"],
          "cumulative": [0.5, "100 %"] } },
        { "kind": "web", "objects": { "kind": "constant", "count": 3 }, "main": "20 kB", "requests": "sequential" },
        { "kind": "web", "connections": 6 },
        { "kind": "dash", "ladder": ["1 Mbit/s", "3 Mbit/s"], "adaptation": { "kind": "rate-based", "segments": 3 },
          "qoe": { "switching": 0.5, "stalling": 3 } },
        { "kind": "dash", "adaptation": { "kind": "bola", "low": "8 s" }, "buffer": "30 s", "variation": 0.2 },
        { "kind": "live", "rate": "2 Mbit/s", "fps": 50, "gop": 25, "chunk": 5, "latency": "3 s",
          "catch_up": { "kind": "none" } },
        { "kind": "live", "catch_up": { "kind": "seek", "drift": "1 s" } },
        { "kind": "game", "down": { "interval": "15625 us", "interval_scale": "0 s" }, "up": { "size": "60 B" } },
        { "kind": "packmime", "rate": 500, "requests": 2000, "request_min": "150 B", "request_max": "650 B",
          "persistent": true }
    ]"#;
    let read: Vec<TrafficConfig> = serde_json::from_str(text).unwrap();
    assert!(read.iter().all(|config| config.entry().check().is_ok()));
    let again: Vec<TrafficConfig> = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(read, again);
    for kind in TrafficConfig::ALL.iter().filter(|kind| **kind != "script") {
        let bare = serde_json::json!({ "kind": kind });
        let config: TrafficConfig = serde_json::from_value(bare).unwrap();
        assert_eq!(config.entry().check(), Ok(()), "{kind} with its defaults");
    }
    assert!(serde_json::from_str::<TrafficConfig>(r#"{ "kind": "voice", "codek": "g729" }"#).is_err());
}
