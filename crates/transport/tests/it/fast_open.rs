//! TCP Fast Open (RFC 7413): two connections over a path of 50 ms each way.

use crate::util::{at, ms};
use transport::{Connection, Cookie, FastOpenMode, Flags, PeerMemory, Profile, Segment, Settings, State, TcpConfig};
use units::Time;

fn settings(fast_open: FastOpenMode) -> Settings {
    TcpConfig { profile: Profile::Linux, fast_open: Some(fast_open), ..TcpConfig::default() }.resolve(1500)
}

/// A client and a server, of whose segments some are lost, and when each byte arrived.
struct Visit {
    client: Connection,
    server: Connection,
    now: Time,
    /// Segments in flight, with when they arrive, and whether they go to the server.
    packets: Vec<(Time, bool, Segment)>,
    /// The number of the client's segments, and the server's, that is lost.
    lost: [Option<u32>; 2],
    sent: [Vec<String>; 2],
    answered: bool,
}

impl Visit {
    /// A client asks with `request` bytes, and is answered with `response` bytes.
    fn new(modes: [FastOpenMode; 2], memory: Option<PeerMemory>, request: u64) -> Visit {
        let mut client = Connection::connect(settings(modes[0]), Time::ZERO, 0);
        if let Some(memory) = memory {
            client.recall(memory);
        }
        client.write(Time::ZERO, request);
        let server = Connection::listen(settings(modes[1]), 1);
        Visit {
            client,
            server,
            now: Time::ZERO,
            packets: Vec::new(),
            lost: [None; 2],
            sent: Default::default(),
            answered: false,
        }
    }

    fn collect(&mut self) {
        for side in [0, 1] {
            let end = if side == 0 { &mut self.client } else { &mut self.server };
            while let Some(transmit) = end.poll_transmit(self.now) {
                let segment = transmit.segment;
                let syn = if segment.flags.has(Flags::SYN) { "S" } else { "" };
                let cookie = match segment.syn.and_then(|syn| syn.fast_open).map(|option| option.cookie) {
                    None => "",
                    Some(None) => " asks",
                    Some(Some(_)) => " cookie",
                };
                let text = format!("{syn}{}+{} ack {}{cookie}", segment.seq, segment.len, segment.ack);
                let number = self.sent[side].len() as u32;
                self.sent[side].push(text);
                if self.lost[side] != Some(number) {
                    self.packets.push((self.now + ms(50), side == 0, segment));
                }
            }
        }
    }

    /// Runs until the client has got `response` bytes, the answer to the whole request; when that was.
    fn run(&mut self, request: u64, response: u64) -> Time {
        self.collect();
        while self.client.delivered_bytes() < response {
            let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
            let arrival = self.packets.iter().map(|(at, ..)| *at).min();
            let next = timers.into_iter().flatten().chain(arrival).min().expect("something is to come");
            assert!(next < at(60_000), "no answer: {:?}", self.sent);
            self.now = next;
            if arrival == Some(next) {
                let at = self.packets.iter().position(|(at, ..)| *at == next).expect("the earliest");
                let (_, to_server, segment) = self.packets.remove(at);
                if to_server { &mut self.server } else { &mut self.client }.handle_segment(next, &segment);
            }
            for end in [&mut self.client, &mut self.server] {
                if end.poll_timeout().is_some_and(|at| at <= next) {
                    end.handle_timeout(next);
                }
                end.check();
            }
            if self.server.delivered_bytes() == request && !self.answered {
                self.answered = true;
                self.server.write(next, response);
            }
            self.collect();
        }
        self.now
    }
}

const COOKIE: [FastOpenMode; 2] = [FastOpenMode::Cookie; 2];

/// The first visit asks for a cookie and takes two round trips; the second takes one.
#[test]
fn the_second_visit_saves_a_round_trip() {
    let mut first = Visit::new(COOKIE, None, 300);
    assert_eq!(first.run(300, 5000), at(200));
    assert_eq!(first.sent[0][..2], ["S0+0 ack 0 asks", "1+300 ack 1"]);
    assert_eq!(first.sent[1][0], "S0+0 ack 1 cookie");
    assert!(!first.server.opened_fast() && !first.client.opened_fast());
    let mut second = Visit::new(COOKIE, first.client.memory(), 300);
    assert_eq!(second.run(300, 5000), at(100));
    assert_eq!(second.sent[0][0], "S0+300 ack 0 cookie");
    assert_eq!(second.sent[1][..2], ["S0+0 ack 301", "1+1448 ack 301"]);
    assert!(second.server.opened_fast() && second.client.opened_fast());
    assert_eq!(second.server.state(), State::SynReceived);
    assert_eq!((second.client.counters().bytes_acked, second.client.info().delivered), (300, 1));
}

/// What does not fit the SYN follows after a round trip; 40 bytes are left to options.
#[test]
fn a_syn_takes_a_segment_less_forty_bytes() {
    let mut visit = Visit::new([FastOpenMode::Cached; 2], None, 5000);
    assert_eq!(visit.run(5000, 100), at(200));
    assert_eq!(visit.sent[0][..3], ["S0+1420 ack 0 cookie", "1421+1448 ack 1", "2869+1448 ack 1"]);
}

/// Without cookies on both sides the first visit is as fast; a server that wants one takes the SYN alone.
#[test]
fn cookies_can_be_done_without_where_both_say_so() {
    let bare = FastOpenMode::Bare;
    assert_eq!(Visit::new([bare; 2], None, 300).run(300, 1000), at(100));
    let mut refused = Visit::new([bare, FastOpenMode::Cookie], None, 300);
    assert_eq!(refused.run(300, 1000), at(200));
    assert_eq!(refused.sent[0][..2], ["S0+300 ack 0", "1+300 ack 1"]);
    assert_eq!(refused.client.counters().retransmitted_segments, 1);
}

/// A server with another key, or without Fast Open, acknowledges the SYN alone: the data go again at once.
#[test]
fn data_that_were_not_taken_go_again_with_the_answer() {
    for (mode, gives) in [(FastOpenMode::Cookie, " cookie"), (FastOpenMode::Off, "")] {
        let mut visit = Visit::new([FastOpenMode::Cached, mode], None, 3000);
        visit.server.give(Cookie { name: 9, bytes: 8 });
        assert_eq!(visit.run(3000, 1000), at(200), "{mode:?}");
        assert_eq!(visit.sent[1][0], format!("S0+0 ack 1{gives}"));
        assert_eq!(visit.sent[0][..4], ["S0+1420 ack 0 cookie", "1+1420 ack 1", "1421+1448 ack 1", "2869+132 ack 1"]);
        assert_eq!(visit.client.counters().retransmitted_segments, 1);
    }
}

/// A lost SYN goes again after a second, without data and cookie.
#[test]
fn a_lost_syn_goes_again_bare() {
    let mut visit = Visit::new([FastOpenMode::Cached; 2], None, 300);
    visit.lost[0] = Some(0);
    assert_eq!(visit.run(300, 1000), at(1200));
    assert_eq!(visit.sent[0][..3], ["S0+300 ack 0 cookie", "S0+0 ack 0", "1+300 ack 1"]);
}

/// A lost SYN-ACK: the server has the data and the client no connection. What the server sent is lost too, and goes
/// again once the client has answered.
#[test]
fn a_lost_answer_does_not_cost_the_request() {
    let mut visit = Visit::new([FastOpenMode::Cached; 2], None, 300);
    visit.lost[1] = Some(0);
    let done = visit.run(300, 1000);
    assert!(done >= at(1100) && done <= at(1250), "{done}");
    assert_eq!(visit.sent[0][1], "S0+0 ack 0");
    assert!(visit.sent[1].iter().filter(|sent| *sent == "S0+0 ack 301").count() >= 2, "{:?}", visit.sent[1]);
    assert_eq!(visit.sent[1].iter().filter(|sent| *sent == "1+1000 ack 301").count(), 2);
}

/// The end of the server's data waits for the handshake; then the connection closes as any other.
#[test]
fn a_close_before_the_handshake_is_over_is_followed_by_it() {
    let mut visit = Visit::new([FastOpenMode::Cached; 2], None, 300);
    visit.run(300, 100);
    visit.server.close();
    visit.client.close();
    visit.collect();
    while let Some(at) = visit.packets.iter().map(|(at, ..)| *at).min() {
        visit.now = at;
        let index = visit.packets.iter().position(|(other, ..)| *other == at).expect("the earliest");
        let (_, to_server, segment) = visit.packets.remove(index);
        if to_server { &mut visit.server } else { &mut visit.client }.handle_segment(at, &segment);
        visit.collect();
    }
    assert_eq!((visit.client.state(), visit.server.state()), (State::Closed, State::Closed));
}
