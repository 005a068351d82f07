//! The one-call entry of an end against the connection's own methods, and against lost packets.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::util::hostile::sent_before;
use crate::util::{at, ms, settings};
use transport::{
    Act, Answer, Connection, Datagram, DelayedAck, EndOptions, Endpoint, Flags, Input, Payload, Profile, Prompt, Reply,
    SackBlocks, Segment, Settings, State, SynOptions, TcpConfig, TcpEnd, Wake,
};
use units::{Bytes, Duration, Ecn, Time};

/// Two ends over pipes of equal delay that lose every `loss`-th segment with data.
struct Path {
    pipes: [VecDeque<(Time, Segment)>; 2],
    data: u64,
    loss: u64,
    sent: Vec<(Time, usize, Segment, u32)>,
}

impl Path {
    fn new(loss: u64) -> Path {
        Path { pipes: [VecDeque::new(), VecDeque::new()], data: 0, loss, sent: Vec::new() }
    }

    fn carry(&mut self, now: Time, from: usize, segment: Segment, sent_before: u32) {
        self.sent.push((now, from, segment, sent_before));
        self.data += u64::from(segment.len > 0);
        if segment.len == 0 || !self.data.is_multiple_of(self.loss) {
            self.pipes[from].push_back((now + ms(40), segment));
        }
    }

    /// What happens next until `end`: an arrival at an end, or the timer of one.
    fn next(&mut self, timers: [Time; 2], end: Time) -> Option<(Time, usize, Option<Segment>)> {
        let arrival = |pipe: &VecDeque<(Time, Segment)>| pipe.front().map_or(Time::MAX, |entry| entry.0);
        let arrivals = [arrival(&self.pipes[1]), arrival(&self.pipes[0])];
        let now = arrivals.into_iter().chain(timers).min().filter(|&now| now <= end)?;
        if let Some(to) = arrivals.iter().position(|&at| at == now) {
            let (_, segment) = self.pipes[1 - to].pop_front().expect("an arrival");
            return Some((now, to, Some(segment)));
        }
        Some((now, timers.iter().position(|&at| at == now).expect("a timer"), None))
    }
}

/// What an end finds where it writes a packet: of another transport, or a segment with all options.
fn left_behind(sent_before: u32) -> Payload {
    if sent_before > 0 {
        return Payload::Udp(Datagram { number: 3, len: 5 });
    }
    let syn = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, fast_open: None };
    Payload::Tcp(Segment {
        seq: 11,
        ack: 12,
        window: 13,
        len: 14,
        flags: Flags::SYN | Flags::FIN | Flags::ECE,
        ecn: Ecn::Ce,
        timestamps: Some((3, 4)),
        sack: SackBlocks::from_iter([(10, 20), (30, 40)]),
        syn: Some(syn),
        accecn: None,
    })
}

/// How ends are entered by a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// By `handle`, without header prediction.
    General,
    /// By `answer`.
    InPlace,
}

/// Two ends, each with its timer and what it was asked last.
struct Ends {
    ends: [Box<TcpEnd>; 2],
    timers: [Time; 2],
    blank: Payload,
    answers: [Answer; 2],
}

impl Ends {
    fn new(settings: Settings, way: Way) -> Ends {
        let options = EndOptions { entropy: 1, ..EndOptions::default() };
        let none = Answer { delivered: 0, window: None, over: false, wake: Wake::Unchanged };
        let mut ends = TcpEnd::pair(&Arc::new(settings), Time::ZERO, [options; 2]);
        if way == Way::General {
            ends.iter_mut().for_each(|end| end.go_generally());
        }
        Ends { ends, timers: [Time::MAX; 2], blank: left_behind(0), answers: [none; 2] }
    }

    fn enter(&mut self, path: &mut Path, now: Time, at: usize, input: Input<'_>, acts: &[Act]) {
        acts.iter().for_each(|&act| self.ends[at].act(now, act));
        let answer = self.ends[at].handle(now, input, &mut self.blank, &mut |payload, sent_before| {
            let Payload::Tcp(segment) = &*payload else { panic!("a segment") };
            path.carry(now, at, *segment, sent_before);
            *payload = left_behind(sent_before);
        });
        self.take(at, answer);
    }

    fn take(&mut self, at: usize, answer: Answer) {
        if let Wake::At(wake) = answer.wake {
            self.timers[at] = wake;
        }
        self.answers[at] = Answer { wake: Wake::At(self.timers[at]), ..answer };
    }

    /// A packet arrives and is answered in place, unless the end has sent its FIN and refuses.
    fn answer(&mut self, path: &mut Path, now: Time, at: usize, segment: Segment) {
        let (mut payload, mut prompt) = (Payload::Tcp(segment), Prompt::Packet);
        loop {
            let reply = self.ends[at].answer(now, prompt, &mut payload);
            if reply == Reply::Refused {
                let state = self.ends[at].info().state;
                assert!(!matches!(state, State::Established | State::CloseWait), "{state:?}: {prompt:?}");
                return self.enter(path, now, at, Input::Packet(&payload), &[]);
            }
            if let (Some(sent_before), Payload::Tcp(segment)) = (sent_before(reply), &payload) {
                path.carry(now, at, *segment, sent_before);
            }
            match reply {
                Reply::QuietChanged | Reply::SentChanged { .. } => {
                    let answer = self.ends[at].poll_state();
                    self.take(at, answer);
                }
                Reply::Quiet { delivered } | Reply::Sent { delivered } => self.answers[at].delivered = delivered,
                _ => {
                    (payload, prompt) = (left_behind(path.sent.len() as u32 % 2), Prompt::More);
                    continue;
                }
            }
            return;
        }
    }

    /// The timer that an end has told of is due, or has moved to a later time.
    fn come_to_timer(&mut self, path: &mut Path, now: Time, at: usize) {
        let postponed = self.ends[at].postpone(now);
        self.timers[at] = postponed.unwrap_or(Time::MAX);
        self.answers[at].wake = Wake::At(self.timers[at]);
        if postponed.is_none() {
            self.enter(path, now, at, Input::Timeout, &[]);
        }
    }

    /// A packet arrives and is handed in one `way` or the other.
    fn take_packet(&mut self, path: &mut Path, now: Time, at: usize, segment: Segment, way: Way) {
        match way {
            Way::General => self.enter(path, now, at, Input::Packet(&Payload::Tcp(segment)), &[]),
            Way::InPlace => self.answer(path, now, at, segment),
        }
    }
}

/// What was sent when through the seam, and what was asked of the ends after each input.
fn through_the_seam(settings: Settings, loss: u64, end: Time, way: Way) -> (Path, Vec<[Answer; 2]>) {
    let (mut path, mut ends, mut asked) = (Path::new(loss), Ends::new(settings, way), Vec::new());
    ends.enter(&mut path, Time::ZERO, 1, Input::Acted, &[]);
    ends.enter(&mut path, Time::ZERO, 0, Input::Acted, &[Act::Write(Bytes::new(300_000)), Act::Close]);
    while let Some((now, at, segment)) = path.next(ends.timers, end) {
        match segment {
            None => ends.come_to_timer(&mut path, now, at),
            Some(segment) => {
                ends.take_packet(&mut path, now, at, segment, way);
            }
        }
        asked.push(ends.answers);
    }
    let Ends { ends, answers, .. } = ends;
    assert_eq!(answers[1].delivered, 300_000);
    assert!(ends[0].has_finished() && ends[1].has_been_closed() && !ends[1].has_finished());
    assert_eq!(ends[0].counters().bytes_acked, 300_000);
    (path, asked)
}

/// The same with the methods of connections.
fn polled(settings: Settings, loss: u64, end: Time) -> Path {
    let settings = Arc::new(settings);
    let mut ends =
        [Connection::connect(Arc::clone(&settings), Time::ZERO, 1), Connection::listen(Arc::clone(&settings), 1)];
    if !settings.handshake {
        ends = Connection::pair(settings, Time::ZERO, [1, 1]);
    }
    let mut path = Path::new(loss);
    let pump = |path: &mut Path, now: Time, at: usize, connection: &mut Connection| {
        while let Some(transmit) = connection.poll_transmit(now) {
            path.carry(now, at, transmit.segment, transmit.sent_before);
        }
    };
    ends[0].write(Time::ZERO, 300_000);
    ends[0].close();
    pump(&mut path, Time::ZERO, 0, &mut ends[0]);
    let timer = |end: &Connection| end.poll_timeout().unwrap_or(Time::MAX);
    while let Some((now, at, segment)) = path.next([timer(&ends[0]), timer(&ends[1])], end) {
        match segment {
            Some(segment) => ends[at].handle_segment(now, &segment),
            None => ends[at].handle_timeout(now),
        }
        pump(&mut path, now, at, &mut ends[at]);
    }
    path
}

#[test]
fn one_call_for_each_input_sends_what_polling_sends() {
    for profile in Profile::ALL {
        for (loss, handshake) in [(u64::MAX, true), (u64::MAX, false), (17, true), (5, false)] {
            let config = TcpConfig { profile, handshake: Some(handshake), ..TcpConfig::default() };
            let (settings, end) = (config.resolve(1500), Time::ZERO + Duration::from_secs(200));
            let (seam, _) = through_the_seam(settings.clone(), loss, end, Way::General);
            let polled = polled(settings, loss, end);
            assert!(seam.sent.len() > 200);
            assert_eq!(seam.sent, polled.sent, "{} with a loss in {loss}", profile.name());
        }
    }
}

/// Whoever answers in place sends the same segments at the same instants, and says the same after each.
#[test]
fn an_answer_in_place_is_that_of_the_general_way() {
    let configs = Profile::ALL.iter().flat_map(|&profile| {
        ["cubic", "newreno", "vegas", "bbr", "peach"].map(|kind| {
            let congestion = serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap();
            TcpConfig { profile, congestion, ..TcpConfig::default() }
        })
    });
    for config in configs {
        for (loss, timestamps) in [(u64::MAX, true), (u64::MAX, false), (17, true)] {
            let config = TcpConfig { timestamps: Some(timestamps), ..config.clone() };
            let (settings, end) = (config.resolve(1500), Time::ZERO + Duration::from_secs(300));
            let (general, asked) = through_the_seam(settings.clone(), loss, end, Way::General);
            let (in_place, answered) = through_the_seam(settings, loss, end, Way::InPlace);
            assert_eq!(in_place.sent, general.sent, "{config:?} with a loss in {loss}");
            assert_eq!(answered, asked, "{config:?} with a loss in {loss}");
        }
    }
}

/// The openings of a connection, and with which congestion marks.
fn openings() -> impl Iterator<Item = serde_json::Value> {
    let opened = [
        serde_json::json!({}),
        serde_json::json!({ "handshake": false }),
        serde_json::json!({ "handshake": false, "syn": true }),
        serde_json::json!({ "fast_open": "no-cookie" }),
    ];
    opened.into_iter().flat_map(|opened| {
        [serde_json::json!(false), serde_json::json!(true), serde_json::json!("accurate")].map(|ecn| {
            let mut config = opened.clone();
            config["ecn"] = ecn;
            config
        })
    })
}

/// Data go one way or both, while a share of the segments is lost or marked, drawn by `seed`.
fn disturbed(settings: Settings, seed: u64, both: bool, way: Way) -> (Path, Vec<[Answer; 2]>) {
    let (mut path, mut ends, mut asked) = (Path::new(u64::MAX), Ends::new(settings, way), Vec::new());
    let acts = [Act::Write(Bytes::new(50_000)), Act::Close];
    ends.enter(&mut path, Time::ZERO, 1, Input::Acted, if both { &acts } else { &[] });
    ends.enter(&mut path, Time::ZERO, 0, Input::Acted, &[Act::Write(Bytes::new(100_000)), Act::Close]);
    let (mut state, end) = (seed, Time::ZERO + Duration::from_secs(300));
    while let Some((now, at, segment)) = path.next(ends.timers, end) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let percent = (state >> 33) % 100;
        match segment {
            None => ends.come_to_timer(&mut path, now, at),
            Some(_) if percent < 3 * seed => {} // lost
            Some(mut segment) => {
                if percent >= 97 && segment.ecn != Ecn::NotEct {
                    segment.ecn = Ecn::Ce;
                }
                ends.take_packet(&mut path, now, at, segment, way);
            }
        }
        asked.push(ends.answers);
    }
    (path, asked)
}

/// However a connection is opened, with whatever marks, and whatever is lost.
#[test]
fn any_segment_may_be_answered_in_place() {
    for profile in Profile::ALL {
        for kind in ["cubic", "peach", "prague"] {
            for mut config in openings() {
                config["congestion"] = serde_json::json!({ "kind": kind });
                config["profile"] = serde_json::to_value(profile).unwrap();
                let settings = serde_json::from_value::<TcpConfig>(config.clone()).unwrap().resolve(1500);
                for (seed, both) in (0..4).flat_map(|seed| [(seed, false), (seed, true)]) {
                    let (general, asked) = disturbed(settings.clone(), seed, both, Way::General);
                    let (in_place, answered) = disturbed(settings.clone(), seed, both, Way::InPlace);
                    assert_eq!(in_place.sent, general.sent, "{config}, seed {seed}, both ways: {both}");
                    assert_eq!(answered, asked, "{config}, seed {seed}, both ways: {both}");
                }
            }
        }
    }
}

/// The acknowledgments of an end that only receives, of data between these offsets that arrive a millisecond apart.
fn acknowledgments(settings: &Arc<Settings>, way: Way, data: &[(u64, u64)]) -> Vec<Option<Segment>> {
    let [_, mut end] = TcpEnd::pair(settings, at(0), [EndOptions::default(); 2]);
    if way == Way::General {
        end.go_generally();
    }
    let answer = |(millis, &(seq, until))| {
        let (now, len) = (at(millis), (until - seq) as u32);
        let timestamps = Some((millis as u32, 1));
        let flags = Flags::ACK | Flags::PSH;
        let segment = Segment { seq, ack: 1, window: 1 << 16, len, flags, timestamps, ..Segment::default() };
        let (mut payload, mut sent) = (Payload::Tcp(segment), Vec::new());
        let mut note = |payload: &Payload| match payload {
            Payload::Tcp(segment) => sent.push(*segment),
            _ => unreachable!("a packet of TCP"),
        };
        match way {
            Way::General => {
                end.handle(now, Input::Packet(&payload), &mut left_behind(0), &mut |payload, _| note(payload));
            }
            Way::InPlace => match end.answer(now, Prompt::Packet, &mut payload) {
                Reply::Quiet { .. } | Reply::QuietChanged => {}
                Reply::Refused | Reply::First { .. } => unreachable!("it only acknowledges"),
                Reply::Sent { .. } | Reply::SentChanged { .. } => note(&payload),
            },
        }
        assert!(sent.len() <= 1);
        sent.pop()
    };
    (1..).zip(data).map(answer).collect()
}

/// Data beyond a hole lengthen what is reported, also up to the end of the window, are the largest segment so far, or
/// come again; behind a second hole; and after the holes are filled.
#[test]
fn data_beyond_a_hole_are_answered_in_place() {
    let data = [
        (1, 101),
        (201, 301),
        (301, 401),
        (401, 901), // the largest
        (301, 401), // again
        (901, 1001),
        (1201, 1301), // a second hole
        (1301, 1401),
        (1001, 1101), // behind what is reported second
        (1401, 1501),
        (1501, 1901),
        (1901, 2101), // with the window's end, or beyond it
        (2101, 2201), // beyond it
        (101, 201),
        (1101, 1201),
        (2101, 2201),
        (2201, 2301), // in order
        (2301, 2401),
        (2401, 2501),
        (2501, 2601),
        (2601, 2701),
        (2701, 2801),
    ];
    for dsack in [false, true] {
        for (delayed_ack, quick_acks) in
            [(DelayedAck::Off, 0), (DelayedAck::After(ms(40)), 0), (DelayedAck::After(ms(40)), 3)]
        {
            for receive_buffer in [2000, 2050, 64 << 20] {
                let receive_buffer = Bytes::new(receive_buffer);
                let settings = Settings {
                    handshake: false,
                    timestamps: true,
                    dsack,
                    delayed_ack,
                    quick_acks,
                    receive_buffer,
                    ..settings()
                };
                let (settings, of) =
                    (Arc::new(settings), |settings: &Arc<Settings>, way| acknowledgments(settings, way, &data));
                let general = of(&settings, Way::General);
                assert!(general.iter().flatten().any(|segment| segment.sack.as_slice().len() > 1));
                assert_eq!(of(&settings, Way::InPlace), general, "{settings:?}");
            }
        }
    }
}

/// A timer is told if it is due earlier than was told, or expired. One that moved to a later time is asked for.
#[test]
fn a_timer_is_told_when_it_is_due_earlier() {
    let settings = Arc::new(Settings { handshake: false, ..settings() });
    let [mut end, _] = TcpEnd::pair(&settings, at(0), [EndOptions::default(); 2]);
    let wake = |end: &mut TcpEnd, now, acts: &[Act], input: Input<'_>| {
        acts.iter().for_each(|&act| end.act(now, act));
        end.handle(now, input, &mut left_behind(0), &mut |_, _| ()).wake
    };
    let write = [Act::Write(Bytes::new(1000))];
    assert_eq!(wake(&mut end, at(0), &[], Input::Acted), Wake::Unchanged, "nothing is in flight");
    assert_eq!(wake(&mut end, at(0), &write, Input::Acted), Wake::At(at(1000)));
    for now in [5, 10] {
        assert_eq!(wake(&mut end, at(now), &write, Input::Acted), Wake::Unchanged);
    }
    let mut acknowledge = |now, ack| {
        let answer = Segment { seq: 1, ack, window: 1 << 16, flags: Flags::ACK, ..Segment::default() };
        wake(&mut end, now, &[], Input::Packet(&Payload::Tcp(answer)))
    };
    assert_eq!(acknowledge(at(100), 1001), Wake::At(at(400)), "the first round trip, and four times its half");
    assert_eq!(acknowledge(at(200), 2001), Wake::Unchanged);
    let later = end.postpone(at(400)).expect("the acknowledgment started it anew");
    assert!(later > at(400));
    assert_eq!(end.postpone(later), None);
    assert_eq!(wake(&mut end, later, &[], Input::Timeout), Wake::At(later + (later.since(at(200)) * 2)));
}
