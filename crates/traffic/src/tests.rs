//! Properties that every kind of traffic must have.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use rand::{Rng, TryRng};
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

/// A configuration of each kind that ends: for a kind that is not named here, the defaults with an option that ends it.
fn example(kind: &str) -> TrafficConfig {
    match kind {
        "packmime" => TrafficConfig::PackMime(PackMime { persistent: true, ..PackMime::default() }),
        "dash" => {
            TrafficConfig::Dash(Dash { length: Some(Duration::from_secs(20)), variation: 0.3, ..Dash::default() })
        }
        "live" => TrafficConfig::Live(Live { length: Some(Duration::from_secs(5)), gop: Some(12), ..Live::default() }),
        "script" => scripted(),
        other => ended(other),
    }
}

/// The defaults of a kind, with the first of these options that it has.
fn ended(kind: &str) -> TrafficConfig {
    let with = |option: &str, value: serde_json::Value| {
        serde_json::from_value::<TrafficConfig>(serde_json::json!({ "kind": kind, option: value }))
    };
    let ends = [("length", "5 s".into()), ("pages", 5.into()), ("count", 20.into()), ("size", "30 kB".into())];
    let mut given = ends.into_iter().filter_map(|(option, value)| with(option, value).ok());
    given.next().unwrap_or_else(|| with("kind", kind.into()).expect("every option has a default"))
}

/// Three writes of a size that is drawn, a second apart.
struct Three {
    start: Time,
    size: Bytes,
    left: u32,
}

impl Program for Three {
    fn on_timeout(&mut self, now: Time, acts: &mut Acts) -> Option<Time> {
        let mut act = |action| acts.push(Act::on_first(End::Server, action)).unwrap();
        if now == self.start {
            act(Action::Open);
        }
        act(Action::Write(self.size));
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
    let make: MakeProgram = Arc::new(|given: &ProgramStart| {
        let size = Bytes::new(1000 + given.entropy % 1000);
        Box::new(Three { start: given.start, size, left: 3 })
    });
    config.entry_mut().supply(&mut |name| (name == "three").then(|| Arc::clone(&make))).unwrap();
    config
}

const OFFSET: Duration = Duration::from_secs(2);
const RUN: Duration = Duration::from_secs(20);

/// The report of web traffic.
pub(crate) fn web_report(source: &dyn Source) -> crate::web::WebReport {
    match source.experience(Time::ZERO, [0; 2]) {
        Some(Experience::Web(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// Runs a source over a network that delivers each write whole after `delay`, and returns all its actions.
pub(crate) fn run(source: &mut dyn Source, delay: Duration) -> Vec<(Time, Act)> {
    try_run(source, delay).expect("it ends")
}

/// The same for a source of [`example`].
fn run_example(kind: &str, source: &mut dyn Source) -> Vec<(Time, Act)> {
    let done = try_run(source, Duration::from_millis(100));
    done.unwrap_or_else(|| panic!("{kind} does not end with its options in `example`: give it some with which it does"))
}

/// `None` of a source that does not end.
fn try_run(source: &mut dyn Source, delay: Duration) -> Option<Vec<(Time, Act)>> {
    let mut done: Vec<(Time, Act)> = Vec::new();
    let mut in_flight = std::collections::VecDeque::<(Time, u32, End, u64)>::new();
    let mut sent = vec![[0; 2]; source.connections() as usize];
    loop {
        let arrival = in_flight.front().map(|&(at, ..)| at);
        let Some(now) = [source.poll_timeout(), arrival].into_iter().flatten().min() else { return Some(done) };
        assert!(done.last().is_none_or(|&(before, _)| before <= now), "time runs backwards");
        while let Some(&(_, connection, to, bytes)) = in_flight.front().filter(|delivery| delivery.0 <= now) {
            in_flight.pop_front();
            source.handle_delivered(now, connection, to, bytes);
        }
        while let Some(act) = source.poll_action(now) {
            done.push((now, act));
            if done.len() > 1_000_000 {
                return None;
            }
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
            let done = run_example(kind, &mut *source);
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

/// A stream that notes whether anything was drawn.
struct Noted(Box<dyn Rng + Send>, Arc<AtomicBool>);

impl TryRng for Noted {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.1.store(true, Ordering::Relaxed);
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.1.store(true, Ordering::Relaxed);
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.1.store(true, Ordering::Relaxed);
        self.0.try_fill_bytes(bytes)
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_does_not_where_anything_is_drawn() {
    for kind in TrafficConfig::ALL {
        let drawn = Arc::new(AtomicBool::new(false));
        let actions = |seed| {
            let mut streams = entry_streams(seed);
            let mut noted =
                |purpose, user| -> Box<dyn Rng + Send> { Box::new(Noted(streams(purpose, user), Arc::clone(&drawn))) };
            let applications = example(kind).entry().build(&[OFFSET], RUN, &mut noted);
            let done = applications.into_iter().map(|mut a| run_example(kind, &mut *a.source));
            done.collect::<Vec<_>>()
        };
        assert_eq!(actions(1), actions(1), "{kind}");
        assert_eq!(actions(1) != actions(2), drawn.load(Ordering::Relaxed), "{kind}");
    }
}

/// What a kind says that it needs is what its sources do.
#[test]
fn needs_are_those_of_its_actions() {
    for kind in TrafficConfig::ALL {
        let config = example(kind);
        let needs = config.entry().needs();
        let writers = |end| {
            let sources = config.entry().build(&[OFFSET], RUN, &mut entry_streams(1));
            let acts = sources.into_iter().flat_map(|mut a| run_example(kind, &mut *a.source));
            acts.filter(|(_, act)| act.end == end && !matches!(act.action, Action::Open | Action::Close)).count()
        };
        let writes = (writers(End::Server) > 0, writers(End::User) > 0);
        let both = matches!(needs, Needs::Exchange | Needs::Streams | Needs::Messages { .. });
        assert_eq!(writes, (needs != Needs::Outside, both), "{kind}: who writes, of server and user");
        let listens = config.entry().listener().is_some();
        assert!(!listens || matches!(needs, Needs::Datagrams { .. }), "{kind}: a listener hears datagrams");
    }
}

#[test]
fn the_largest_packet_is_that_of_the_options() {
    let needs = |kind| example(kind).entry().needs();
    assert_eq!(needs("voice"), Needs::Datagrams { packet: 200 });
    assert_eq!(needs("live"), Needs::Media { packet: 1_000 });
    assert_eq!(needs("game"), Needs::Messages { packet: 120 + 20 * 36 + 28, option: "down.size_scale" });
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
