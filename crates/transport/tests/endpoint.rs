//! The one-call entry of an end against the connection's own methods, and against lost packets.

mod util;

use std::collections::VecDeque;
use std::sync::Arc;

use transport::{
    Act, Connection, Datagram, Endpoint, Flags, Input, Payload, Profile, SackBlocks, Segment, Settings, SynOptions,
    TcpConfig, TcpEnd, Wake,
};
use units::{Bytes, Duration, Ecn, Time};
use util::{at, ms, settings};

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

    fn carry(&mut self, now: Time, from: usize, segment: Segment, transmission: u32) {
        self.sent.push((now, from, segment, transmission));
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

/// What is in the box that an end writes a packet into: of another transport, or a segment with all options.
fn left_behind(transmission: u32) -> Payload {
    if transmission > 0 {
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

/// What was sent when, with the ends entered by `handle`.
fn through_the_seam(settings: Settings, loss: u64, end: Time) -> Path {
    let settings = Arc::new(settings);
    let mut ends = [TcpEnd::new(Arc::clone(&settings), 1), TcpEnd::new(settings, 1)];
    let (mut path, mut timers, mut blank) = (Path::new(loss), [Time::MAX; 2], Box::new(left_behind(0)));
    let mut enter = |path: &mut Path, timers: &mut [Time; 2], now: Time, at: usize, input: Input<'_>, acts: &[Act]| {
        acts.iter().for_each(|&act| ends[at].act(now, act));
        let answer = ends[at].handle(now, input, &mut blank, &mut |payload, transmission| {
            let Payload::Tcp(segment) = &**payload else { panic!("a segment") };
            path.carry(now, at, *segment, transmission);
            **payload = left_behind(transmission);
        });
        match answer.wake {
            Wake::At(wake) => timers[at] = wake.unwrap_or(Time::MAX),
            Wake::Unchanged => {}
        }
        answer
    };
    enter(&mut path, &mut timers, Time::ZERO, 1, Input::Acted, &[Act::Accept]);
    enter(
        &mut path,
        &mut timers,
        Time::ZERO,
        0,
        Input::Acted,
        &[Act::Open, Act::Write(Bytes::new(300_000)), Act::Close],
    );
    let mut delivered = 0;
    while let Some((now, at, segment)) = path.next(timers, end) {
        let payload = segment.map(Payload::Tcp);
        let answer = match &payload {
            Some(payload) => enter(&mut path, &mut timers, now, at, Input::Packet(payload), &[]),
            None => {
                timers[at] = Time::MAX; // it has expired
                enter(&mut path, &mut timers, now, at, Input::Timeout, &[])
            }
        };
        if at == 1 {
            delivered = answer.delivered;
        }
    }
    assert_eq!(delivered, 300_000);
    assert!(ends[0].has_finished() && ends[1].has_been_closed() && !ends[1].has_finished());
    assert_eq!(ends[0].counters().bytes_acked, 300_000);
    path
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
            path.carry(now, at, transmit.segment, transmit.transmission);
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
            let (seam, polled) = (through_the_seam(settings.clone(), loss, end), polled(settings, loss, end));
            assert!(seam.sent.len() > 200);
            assert_eq!(seam.sent, polled.sent, "{} with a loss in {loss}", profile.name());
        }
    }
}

/// A timer that stays where it is is not told again, one that expired is.
#[test]
fn a_timer_is_told_when_it_changes() {
    let settings = Arc::new(Settings { handshake: false, ..settings() });
    let mut end = TcpEnd::new(settings, 0);
    end.act(at(0), Act::Open);
    let mut wake = |now, acts: &[Act], input| {
        acts.iter().for_each(|&act| end.act(now, act));
        end.handle(now, input, &mut Box::new(left_behind(0)), &mut |_, _| ()).wake
    };
    assert_eq!(wake(at(0), &[], Input::Acted), Wake::Unchanged, "nothing is on its way");
    let armed = wake(at(0), &[Act::Write(Bytes::new(1000))], Input::Acted);
    assert_eq!(armed, Wake::At(Some(at(1000))));
    assert_eq!(wake(at(5), &[Act::Write(Bytes::new(1000))], Input::Acted), Wake::Unchanged);
    assert_eq!(wake(at(1000), &[], Input::Timeout), Wake::At(Some(at(3000))));
}
