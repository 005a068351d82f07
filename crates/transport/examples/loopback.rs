//! Two endpoints and a pipe: `loopback [segments] [one in so many is lost] [receive window in
//! segments] [initial window in segments] [profile] [congestion controller]`. Prints what was delivered.
//!
//! It is the bench of the transport itself, with nothing else around. Instructions for each segment and its
//! acknowledgment, at both ends: `valgrind --tool=callgrind target/release/examples/loopback 100000`, then
//! `callgrind_annotate --inclusive=yes` and the line of `Endpoint>::handle`, less that of its callback.

use std::collections::VecDeque;
use std::sync::Arc;

use transport::{
    Act, CongestionConfig, EndOptions, Endpoint, Input, Payload, Profile, Segment, TcpConfig, TcpEnd, Wake,
};
use units::{Bytes, Duration, Time};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a whole number"));
    let (segments, one_in) = (number(1_000_000), number(0));
    let window = number(1000); // what the receiver offers, in segments
    let initial = number(10); // segments
    let profile = arguments.next().unwrap_or_else(|| "classic".to_owned());
    let controller = arguments.next().unwrap_or_else(|| CongestionConfig::ALL[0].to_owned());

    let config = TcpConfig {
        profile: Profile::ALL.into_iter().find(|p| p.name() == profile).expect("a profile"),
        initial_window: Some(initial as u32),
        congestion: serde_json::from_value(serde_json::json!({ "kind": controller })).expect("a controller"),
        receive_buffer: Some(Bytes::new(window * 1448)),
        ..TcpConfig::default()
    };
    let settings = Arc::new(config.resolve(1500));
    let [client, server] = TcpEnd::pair(&settings, Time::ZERO, [EndOptions::default(); 2]);
    let (mut client, mut server) = (End::new(client, one_in), End::new(server, 0));
    client.act(Time::ZERO, &[Act::WriteForEver]);
    let mut now = Time::ZERO;
    while server.delivered < segments * 1448 {
        now = client.next().min(server.next());
        server.receive(now, &mut client);
        client.receive(now, &mut server);
    }
    println!("{now} simulated, {} segments delivered", server.delivered / 1448);
    println!("{:?}", client.end.counters());
}

/// An end and the pipe from it: 20 ms one way, 10 µs for each segment.
struct End {
    end: Box<TcpEnd>,
    wake: Time,
    delivered: u64,
    pipe: VecDeque<(Time, Payload)>,
    /// Where the next packet is written.
    blank: Payload,
    free: Time,
    sent: u64,
    /// Each so many-th segment is lost; 0 for none.
    one_in: u64,
}

impl End {
    fn new(end: Box<TcpEnd>, one_in: u64) -> End {
        let blank = Payload::Tcp(Segment::default());
        End { end, wake: Time::MAX, delivered: 0, pipe: VecDeque::new(), blank, free: Time::ZERO, sent: 0, one_in }
    }

    fn act(&mut self, now: Time, acts: &[Act]) {
        acts.iter().for_each(|&act| self.end.act(now, act));
        self.enter(now, Input::Acted);
    }

    /// When a packet of this end arrives, or its timer expires.
    fn next(&self) -> Time {
        self.pipe.front().map_or(self.wake, |entry| entry.0.min(self.wake))
    }

    /// What is due at this end: a packet from `peer`, or its timer.
    fn receive(&mut self, now: Time, peer: &mut End) {
        if let Some((_, payload)) = peer.pipe.pop_front_if(|entry| entry.0 <= now) {
            self.enter(now, Input::Packet(&payload));
        }
        if self.wake <= now {
            match self.end.postpone(now) {
                Some(at) => self.wake = at,
                None => {
                    self.wake = Time::MAX;
                    self.enter(now, Input::Timeout);
                }
            }
        }
    }

    fn enter(&mut self, now: Time, input: Input<'_>) {
        let End { end, pipe, blank, free, sent, one_in, .. } = self;
        let answer = end.handle(now, input, blank, &mut |payload, _| {
            *sent += 1;
            if *one_in == 0 || !sent.is_multiple_of(*one_in) {
                *free = (*free).max(now) + Duration::from_micros(10);
                pipe.push_back((*free + Duration::from_millis(20), payload.clone()));
            }
        });
        self.delivered = answer.delivered;
        if let Wake::At(wake) = answer.wake {
            self.wake = wake;
        }
    }
}
