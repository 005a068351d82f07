//! Two connections over pipes: windows round by round, and whatever a path can do to segments.

use std::collections::BTreeMap;

use crate::util::{End, Fate, MSS, Pair, Sent, at, in_flight, ms, no_sack, settings};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::TcpConfig;
use transport::{
    CongestionConfig, CongestionState, Connection, DelayedAck, Dupthresh, EcnMode, Flags, Profile, Settings, State,
};
use units::{Bytes, Duration, Time};

/// cwnd doubles each round trip: 10, 20, 40, 80.
#[test]
fn slow_start_doubles() {
    let mut pair = Pair::new(settings(), settings(), ms(50), |_| Fate::Pass);
    pair.client.write_for_ever(pair.now);
    for (round, window) in [10.0, 20.0, 40.0, 80.0].into_iter().enumerate() {
        pair.run_until(at(150 + 100 * round as u64));
        assert_eq!(f64::from(pair.client.window()), window);
        assert_eq!(in_flight(&pair.client.info()), window as u32);
    }
    let info = pair.client.info();
    assert_eq!((info.srtt, info.min_rtt, info.slow_start_threshold), (Some(ms(100)), Some(ms(100)), None));
}

/// One loss at a window of 40: 20, then one segment more each round trip.
#[test]
fn newreno_halves_and_grows_by_one_each_round_trip() {
    for settings in [settings(), no_sack()] {
        let mut dropped = false;
        let client = Settings { initial_window: 40, ..settings.clone() };
        let mut pair = Pair::new(client, settings, ms(50), |sent: &Sent| {
            let lost = sent.transmit.segment.len > 0 && sent.transmit.segment.seq == 1 && !dropped;
            dropped |= lost;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        pair.client.write_for_ever(pair.now);
        pair.run_until(at(250));
        assert_eq!(pair.client.info().congestion_state, CongestionState::Recovery);
        assert_eq!(pair.client.info().window, 20);
        pair.run_until(at(350));
        assert_eq!(pair.client.info().congestion_state, CongestionState::Open);
        for round in 0..10 {
            assert_eq!(f64::from(pair.client.window()), 20.0 + f64::from(round), "round {round}");
            pair.run_until(at(450 + 100 * u64::from(round as u32)));
        }
        let counters = pair.client.counters();
        assert_eq!((counters.dupack_events, counters.rto_events, counters.retransmitted_segments), (1, 0, 1));
    }
}

/// Losses of one window are one event with SACK, repaired in one round trip; NewReno needs one each.
#[test]
fn several_losses_of_a_window() {
    for (settings, rounds) in [(settings(), 1), (no_sack(), 3)] {
        let client = Settings { initial_window: 40, ..settings.clone() };
        let mut pair = Pair::new(client, settings, ms(50), |sent: &Sent| {
            let lost = [1001, 4001, 7001].contains(&sent.transmit.segment.seq) && sent.transmit.sent_before == 0;
            if lost && sent.from == End::Client { Fate::Drop } else { Fate::Pass }
        });
        pair.client.write_for_ever(pair.now);
        pair.run_until(at(1000));
        let again: Vec<Time> = pair.data().filter(|s| s.transmit.sent_before > 0).map(|s| s.at).collect();
        assert_eq!(again.len(), 3);
        let spread = again[2].since(again[0]).as_nanos() / 100_000_000 + 1;
        assert_eq!(spread, rounds, "{again:?}");
        let counters = pair.client.counters();
        assert_eq!((counters.dupack_events, counters.rto_events), (1, 0));
    }
}

/// Reordering by less than the duplicate threshold is not taken for a loss, beyond it is.
#[test]
fn reordering_up_to_the_threshold() {
    for (dupthresh, events) in [(3, 1), (6, 0)] {
        let client = Settings { dupthresh: Dupthresh::Fixed(dupthresh), initial_window: 40, ..settings() };
        let mut number = 0;
        let mut pair = Pair::new(client, settings(), ms(50), |sent: &Sent| {
            // data arrive 1 ms apart, and one segment is passed by four others
            number += u64::from(sent.transmit.segment.len > 0);
            Fate::Late(ms(number + if sent.transmit.segment.seq == 10_001 { 5 } else { 0 }))
        });
        pair.client.write(pair.now, 40_000);
        pair.run_until(at(2000));
        assert_eq!(pair.server.delivered_bytes(), 40_000);
        assert_eq!(pair.client.counters().dupack_events, events);
    }
}

/// Whatever the profile, a controller that goes by losses opens its window after one: by ten segments or more in 30
/// round trips without another.
#[test]
fn a_window_opens_after_a_loss() {
    for (profile, kind) in Profile::ALL
        .iter()
        .flat_map(|profile| ["newreno", "reno", "cubic", "hybla", "westwood"].map(|kind| (*profile, kind)))
    {
        let congestion = serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap();
        let config = TcpConfig { profile, congestion, mss: Some(Bytes::new(MSS)), ..TcpConfig::default() };
        let settings = config.resolve(1500);
        let mut dropped = false;
        let mut pair = Pair::new(settings.clone(), settings, ms(50), |sent: &Sent| {
            let lost = sent.transmit.segment.len > 0 && sent.transmit.segment.seq == 20_001 && !dropped;
            dropped |= lost;
            if lost { Fate::Drop } else { Fate::Pass }
        });
        pair.client.write_for_ever(pair.now);
        pair.run_until(at(2_000));
        let before = f64::from(pair.client.window());
        pair.run_until(at(5_000));
        let after = f64::from(pair.client.window());
        assert!(after >= before + 10.0, "{kind}, {profile:?}: {before} and {after}");
    }
}

/// Data both ways at once, with losses both ways.
#[test]
fn full_duplex() {
    for settings in
        [settings(), no_sack(), Settings { delayed_ack: DelayedAck::After(ms(40)), timestamps: true, ..settings() }]
    {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut pair = Pair::new(settings.clone(), settings, ms(20), |_| {
            if random.random_bool(0.03) { Fate::Drop } else { Fate::Pass }
        });
        pair.client.write(pair.now, 500_000);
        pair.server.write(pair.now, 400_000);
        pair.client.close();
        pair.server.close();
        pair.run_until(at(600_000));
        assert_eq!((pair.server.delivered_bytes(), pair.client.delivered_bytes()), (500_000, 400_000));
        assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed));
    }
}

/// A path: how likely it is that a segment is lost, doubled or late, and how late.
#[derive(Clone, Debug)]
struct Path {
    seed: u64,
    loss: f64,
    ack_loss: f64,
    twice: f64,
    late: f64,
    extra: u64,
    /// Every so many segments the path takes 700 ms longer for a while.
    spike: u64,
}

fn path() -> impl Strategy<Value = Path> {
    let share = || prop_oneof![Just(0.0), 0.0..0.3];
    (any::<u64>(), share(), share(), share(), share(), 1u64..200, prop_oneof![Just(u64::MAX), 20u64..200]).prop_map(
        |(seed, loss, ack_loss, twice, late, extra, spike)| Path { seed, loss, ack_loss, twice, late, extra, spike },
    )
}

impl Path {
    fn fate(&self, random: &mut impl Rng, number: u64, sent: &Sent) -> Fate {
        let loss = if sent.from == End::Client { self.loss } else { self.ack_loss };
        let (lost, twice, late) = (random.random::<f64>(), random.random::<f64>(), random.random::<f64>());
        let extra = ms(random.random_range(0..=self.extra));
        if lost < loss {
            Fate::Drop
        } else if twice < self.twice {
            Fate::Twice(extra)
        } else if number % self.spike > self.spike - 10 {
            Fate::Late(ms(700))
        } else if late < self.late {
            Fate::Late(extra)
        } else {
            Fate::Pass
        }
    }
}

/// Any profile with any controller and any of its switches the other way.
fn stack() -> impl Strategy<Value = Settings> {
    let profile = prop::sample::select(&Profile::ALL[..]);
    // The one from outside needs somebody's code.
    let kinds = CongestionConfig::ALL.iter().copied().filter(|kind| *kind != "external");
    let congestion = prop::sample::select(kinds.collect::<Vec<_>>());
    let receive_buffer = prop_oneof![Just(64u64 << 20), 2_000u64..40_000];
    let delayed = prop_oneof![Just(DelayedAck::Off), Just(DelayedAck::After(ms(40)))];
    (profile, congestion, any::<[bool; 21]>(), 1u32..6, 1u32..30, delayed, receive_buffer).prop_map(
        |(profile, kind, flips, dupthresh, window, delayed_ack, receive_buffer)| {
            let congestion = serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap();
            let config = TcpConfig { profile, congestion, mss: Some(Bytes::new(MSS)), ..TcpConfig::default() };
            let mut settings = config.resolve(1500);
            let fixed = flips[0];
            let switches = [
                &mut settings.sack,
                &mut settings.dsack,
                &mut settings.timestamps,
                &mut settings.fack,
                &mut settings.rack,
                &mut settings.tlp,
                &mut settings.prr,
                &mut settings.frto,
                &mut settings.eifel,
                &mut settings.limited_transmit,
                &mut settings.reduce_in_flight,
                &mut settings.pacing,
                &mut settings.initial_spreading,
                &mut settings.cwnd_validation,
                &mut settings.nagle,
                &mut settings.ecn_option,
                &mut settings.slow_start_after_idle,
                &mut settings.linux_rtt,
            ];
            for (switch, flip) in switches.into_iter().zip(&flips[1..]) {
                *switch ^= flip;
            }
            settings.ecn = match (flips[19], flips[20]) {
                (false, _) => settings.ecn,
                (true, false) => EcnMode::Classic,
                (true, true) => EcnMode::Accurate,
            };
            if fixed {
                settings.dupthresh = Dupthresh::Fixed(dupthresh);
            }
            Settings { initial_window: window, delayed_ack, receive_buffer: Bytes::new(receive_buffer), ..settings }
        },
    )
}

/// Watches that a window of data makes the sender reduce its window once, for a loss or a mark.
struct Reductions {
    recoveries: u64,
    timeouts: u64,
    state: CongestionState,
    threshold: Option<u32>,
    /// What was sent at the last one.
    point: u64,
    seen: usize,
    nxt: u64,
}

impl Reductions {
    fn new() -> Reductions {
        let state = CongestionState::Open;
        Reductions { recoveries: 0, timeouts: 0, state, threshold: None, point: 0, seen: 0, nxt: 0 }
    }

    fn observe(&mut self, client: &Connection, log: &[Sent]) {
        let before = self.nxt;
        let sent = log[self.seen..].iter().filter(|s| s.from == End::Client);
        self.nxt = sent.map(|s| s.transmit.segment.end()).fold(self.nxt, u64::max);
        self.seen = log.len();
        let (counters, info) = (client.counters(), client.info());
        let (state, una) = (info.congestion_state, info.una);
        // The reduction for a mark lasts until more is acknowledged than was sent at its beginning. A recovery in it
        // repairs what is lost and must leave the threshold.
        let in_cwr = self.state == CongestionState::Cwr && una <= self.point;
        let reducing = in_cwr || self.state == CongestionState::Recovery && una < self.point;
        let fell = info.slow_start_threshold.zip(self.threshold).is_some_and(|(now, before)| now < before);
        let entered = counters.dupack_events > self.recoveries || state == CongestionState::Cwr;
        let reduced = entered && !in_cwr || reducing && fell;
        let timed_out = counters.rto_events > self.timeouts;
        if reduced && !timed_out {
            assert!(una >= self.point, "a second reduction for what was sent before {}", self.point);
        }
        if reduced || timed_out {
            self.point = before;
        }
        (self.recoveries, self.timeouts) = (counters.dupack_events, counters.rto_events);
        (self.state, self.threshold) = (state, info.slow_start_threshold);
    }
}

fn check_counters<F: FnMut(&Sent) -> Fate>(pair: &Pair<F>, bytes: u64) {
    let counters = pair.client.counters();
    let sent = || pair.log.iter().filter(|s| s.from == End::Client);
    let payload = |s: &Sent| u64::from(s.transmit.segment.len);
    assert_eq!(counters.bytes_acked, bytes);
    assert_eq!(counters.segments_sent, sent().count() as u64);
    assert_eq!(counters.data_segments_sent, pair.data().count() as u64);
    assert_eq!(counters.data_bytes_sent, pair.data().map(payload).sum::<u64>());
    let is_syn = |s: &&Sent| s.transmit.segment.flags.has(Flags::SYN);
    let again = sent().filter(|s| !is_syn(s) && s.transmit.sent_before > 0);
    assert_eq!(counters.retransmitted_segments, again.count() as u64);
    // each transmission is numbered, and the first ones are the byte stream in order
    let mut transmissions = BTreeMap::new();
    let mut next = 1;
    for s in pair.data() {
        let sent_before = transmissions.entry(s.transmit.segment.seq).or_insert(0);
        assert_eq!(s.transmit.sent_before, *sent_before);
        *sent_before += 1;
        if s.transmit.sent_before == 0 {
            assert_eq!(s.transmit.segment.seq, next);
            next += payload(s);
        }
    }
    assert_eq!(next, bytes + 1);
}

/// Every byte arrives once and in order, and the books balance at each step.
fn deliver(path: &Path, stack: Settings, bytes: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(path.seed);
    let mut number = 0;
    // An undo, and a retransmission that is found lost, may begin another reduction in the same window.
    let once = !(stack.dsack || stack.eifel || stack.frto || stack.rack || stack.fack);
    let mut pair = Pair::new(stack.clone(), stack, ms(30), |sent: &Sent| {
        number += 1;
        path.fate(&mut random, number, sent)
    });
    pair.client.write(pair.now, bytes);
    pair.client.close();
    let end = Time::ZERO + Duration::from_secs(36_000);
    let mut reductions = Reductions::new();
    while pair.step(end) {
        if once {
            reductions.observe(&pair.client, &pair.log);
        }
        if pair.server.info().state == State::CloseWait {
            pair.server.close();
        }
        assert!(pair.log.len() < 100_000, "a storm of segments");
    }
    assert_eq!(pair.server.delivered_bytes(), bytes);
    assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed));
    assert_eq!((pair.client.poll_timeout(), pair.server.poll_timeout()), (None, None));
    check_counters(&pair, bytes);
}

/// Where segments are doubled and SACK is off, many acknowledgments give no delivery rate. A round trip without one
/// must not lower BBR's bounds.
#[test]
fn bbr3_goes_on_without_delivery_rates() {
    let congestion = serde_json::from_value(serde_json::json!({ "kind": "bbr3" })).unwrap();
    let config = TcpConfig { profile: Profile::Linux, congestion, mss: Some(Bytes::new(MSS)), ..TcpConfig::default() };
    let stack = Settings {
        sack: false,
        dsack: false,
        eifel: false,
        prr: false,
        initial_window: 6,
        initial_spreading: true,
        receive_buffer: Bytes::new(14_090),
        ..config.resolve(1500)
    };
    let path = Path {
        seed: 620_795_913_035_758_534,
        loss: 0.0,
        ack_loss: 0.0,
        twice: 0.234_386_938_062_086_85,
        late: 0.0,
        extra: 12,
        spike: u64::MAX,
    };
    deliver(&path, stack, 276_811);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever the path does.
    #[test]
    fn any_path_delivers_everything(path in path(), stack in stack(), bytes in 1u64..400_000) {
        deliver(&path, stack, bytes);
    }
}
