//! Two connections and a pipe: `loopback [segments] [one in so many is lost] [receive window in
//! segments] [initial window in segments] [profile]`. Prints what was delivered.
//!
//! It is the bench of the connection itself: send, receive, acknowledge and process, with nothing else around.

use std::collections::VecDeque;

use transport::{CongestionConfig, Connection, Profile, Segment, TcpConfig};
use units::{Bytes, Duration, Time};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a whole number"));
    let (segments, one_in) = (number(1_000_000), number(0));
    let window = number(1000); // what the receiver offers, in segments
    let initial = number(10); // segments
    let profile = arguments.next().unwrap_or_else(|| "classic".to_owned());

    let config = TcpConfig {
        profile: Profile::ALL.into_iter().find(|p| p.name() == profile).expect("a profile"),
        initial_window: Some(initial as u32),
        congestion: CongestionConfig::NewReno(Default::default()),
        receive_buffer: Some(Bytes::new(window * 1448)),
        ..TcpConfig::default()
    };
    let settings = config.resolve(1500);
    let mut client = Connection::connect(settings.clone(), Time::ZERO, 0);
    let mut server = Connection::listen(settings, 0);
    client.write_for_ever(Time::ZERO);

    let mut there = Pipe::default();
    let mut back = Pipe::default();
    let mut now = Time::ZERO;
    let mut sent = 0u64;
    pump(&mut client, now, &mut there, |_| true);
    while server.delivered_bytes() < segments * 1448 {
        let timers = client.poll_timeout().into_iter().chain(server.poll_timeout());
        now = timers.chain(there.next()).chain(back.next()).min().expect("something happens");
        if let Some(segment) = there.receive(now) {
            server.handle_segment(now, &segment);
            pump(&mut server, now, &mut back, |_| true);
        } else {
            match back.receive(now) {
                Some(segment) => client.handle_segment(now, &segment),
                None => client.handle_timeout(now),
            }
            pump(&mut client, now, &mut there, |_| {
                sent += 1;
                one_in == 0 || !sent.is_multiple_of(one_in)
            });
        }
        if server.poll_timeout().is_some_and(|timer| timer <= now) {
            server.handle_timeout(now);
            pump(&mut server, now, &mut back, |_| true);
        }
    }
    println!("{now} simulated, {} segments delivered", server.delivered_bytes() / 1448);
    println!("{:?}", client.counters());
}

fn pump(end: &mut Connection, now: Time, pipe: &mut Pipe, mut passes: impl FnMut(&Segment) -> bool) {
    while let Some(transmit) = end.poll_transmit(now) {
        if passes(&transmit.segment) {
            pipe.send(now, transmit.segment);
        }
    }
}

/// 20 ms one way, 10 µs for each segment.
#[derive(Default)]
struct Pipe {
    segments: VecDeque<(Time, Segment)>,
    free: Time,
}

impl Pipe {
    fn send(&mut self, now: Time, segment: Segment) {
        self.free = self.free.max(now) + Duration::from_micros(10);
        self.segments.push_back((self.free + Duration::from_millis(20), segment));
    }

    fn next(&self) -> Option<Time> {
        self.segments.front().map(|entry| entry.0)
    }

    fn receive(&mut self, now: Time) -> Option<Segment> {
        self.segments.pop_front_if(|entry| entry.0 <= now).map(|entry| entry.1)
    }
}
