//! One bulk transfer with ns-2's TCP-Linux over the links that ns-2 was run on, to be held against it:
//!
//! ```text
//! cargo run --release -p transorbit-transport --example lateness -- \
//!     late CC RTT_MS LOSS LATE LATE_BY_MS DELACK_MS SEED SECONDS [OPTION…]
//! cargo run --release -p transorbit-transport --example lateness -- \
//!     replay CC OUTCOMES BUFFER DELACK_MS SECONDS [OPTION…]
//! ```
//!
//! `late` is a fixed path of 50 Mbit/s with a queue of 448 packets on which a share of the packets is lost and
//! another comes late. `replay` is a path of 68 ms, 28 Mbit/s and a link that decodes a packet after the transmission
//! that OUTCOMES names for the millisecond in which it is sent (a digit each, 0 for never), 10 ms for the first and
//! 20 ms for each further one, and tells of a failure after 60 ms more. BUFFER is 0 for none, 1 to put what arrived
//! in the order of sending and 2 in the order of the segments, when it is let go by the next failure of whatever
//! packet. An OPTION is a line of the transport, such as `timestamps=true`. Prints goodput in Mbit/s, time-outs,
//! retransmissions, the mean window in segments, the mean smoothed round-trip time in ms, reductions (time-outs
//! included), spurious retransmissions, and the mean retransmission time-out in s.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use transport::{Connection, Segment, TcpConfig, Transmit};
use units::{BitRate, Duration, Time};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("{}", transfer(&arguments).map(|number| format!("{number:.4}")).join(","));
}

/// What the program prints for its arguments.
pub fn transfer(arguments: &[String]) -> [f64; 8] {
    let number = |i: usize| arguments[i].parse::<f64>().expect("a number");
    let ms = |i: usize| Duration::from_secs_f64(number(i) / 1e3);
    let late = arguments[0] == "late";
    let (link, delay, owd, back, delayed_ack, seconds, rest) = if late {
        let link = Link::Late { loss: number(3), late: number(4), by: ms(5), state: number(7) as u64 };
        let owd = ms(2) / 2;
        (link, Duration::ZERO, owd, owd, number(6), number(8), 9)
    } else {
        let text = std::fs::read(&arguments[2]).expect("the outcomes");
        let outcomes = text.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0').collect();
        let link = Link::Harq { outcomes, buffer: number(3) as u8 };
        (link, Duration::from_millis(68), Duration::ZERO, Duration::from_millis(78), number(4), number(5), 6)
    };
    let delayed_ack = if delayed_ack > 0.0 { format!("'{delayed_ack} ms'") } else { "false".to_owned() };
    let control = format!("{{ kind = '{}' }}", arguments[1]);
    let fixed = "profile = 'ns2-linux'\nhandshake = false\nmss = '1000 B'";
    let options = arguments[rest..].join("\n");
    let text = format!("{fixed}\ncongestion = {control}\ndelayed_ack = {delayed_ack}\n{options}");
    let config: TcpConfig = toml::from_str(&text).expect("options");
    config.check().expect("options");
    let [client, server] = Connection::pair(config.resolve(1500), Time::ZERO, [1, 2]);
    let (mbps, queue) = if late { (50, 448) } else { (28, 1000) };
    let mut run = Run {
        client,
        server,
        // The offset of the first byte, or the number of the first packet.
        expected: u64::from(matches!(link, Link::Harq { buffer: 2, .. })),
        link,
        delay,
        owd,
        back,
        rate: BitRate::from_bps(mbps * 1_000_000),
        queue,
        free: Time::ZERO,
        events: BinaryHeap::new(),
        segments: BTreeMap::new(),
        number: 0,
        taken: 0,
        held: BTreeMap::new(),
        got: BTreeSet::new(),
        spurious: 0,
    };
    run.client.write_for_ever(Time::ZERO);
    run.run(Time::from_secs_f64(seconds))
}

/// What happens to a packet behind the queue.
enum Link {
    Late { loss: f64, late: f64, by: Duration, state: u64 },
    Harq { outcomes: Vec<u8>, buffer: u8 },
}

/// What arrives when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A packet enters the queue.
    Enters,
    /// A packet leaves the queue for the link.
    Leaves,
    /// Its decoding succeeded or failed.
    Decided {
        number: u64,
        decoded: bool,
    },
    /// It is at the receiver.
    Arrives,
    /// An acknowledgment is at the sender.
    Returns,
    Sample,
}

struct Run {
    client: Connection,
    server: Connection,
    link: Link,
    delay: Duration,
    owd: Duration,
    back: Duration,
    rate: BitRate,
    queue: u64,
    free: Time,
    events: BinaryHeap<Reverse<(Time, u64, What)>>,
    segments: BTreeMap<u64, Segment>,
    number: u64,
    /// Packets that the link took, and the number or offset that the buffer waits for.
    taken: u64,
    expected: u64,
    held: BTreeMap<u64, Segment>,
    got: BTreeSet<u64>,
    spurious: u64,
}

/// How often the window is looked at.
const STEP: Duration = Duration::from_millis(100);
/// Packets that the reordering buffer holds.
const HELD: usize = 125;

impl Run {
    fn run(&mut self, end: Time) -> [f64; 8] {
        let mut sums = [0.0; 4];
        self.push(Time::ZERO + STEP, None, What::Sample);
        self.pump(Time::ZERO);
        loop {
            let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
            let timer = timers.into_iter().flatten().min().unwrap_or(Time::MAX);
            let next = self.events.peek().map_or(Time::MAX, |event| event.0.0);
            let now = timer.min(next);
            if now > end {
                break;
            }
            if timer < next {
                self.client.handle_timeout(now);
                self.server.handle_timeout(now);
            } else {
                let Reverse((_, id, what)) = self.events.pop().expect("an event");
                let segment = self.segments.remove(&id).unwrap_or_default();
                if what == What::Sample {
                    let info = self.client.info();
                    let srtt = info.srtt.map_or(0.0, Duration::as_secs_f64);
                    let sample = [1.0, f64::from(info.window), srtt * 1e3, info.rto.as_secs_f64()];
                    sums = std::array::from_fn(|i| sums[i] + sample[i]);
                    self.push(now + STEP, None, What::Sample);
                } else {
                    self.handle(now, what, segment);
                }
            }
            self.pump(now);
        }
        let counters = self.client.counters();
        let goodput = (self.client.info().una - 1) as f64 * 8e-6 / end.as_secs_f64();
        let reductions = counters.dupack_events + counters.rto_events;
        let counts =
            [counters.rto_events, counters.retransmitted_segments, reductions, self.spurious].map(|n| n as f64);
        let [window, srtt, rto] = [1, 2, 3].map(|i| sums[i] / sums[0].max(1.0));
        [goodput, counts[0], counts[1], window, srtt, counts[2], counts[3], rto]
    }

    fn push(&mut self, at: Time, segment: Option<Segment>, what: What) {
        self.number += 1;
        if let Some(segment) = segment {
            self.segments.insert(self.number, segment);
        }
        self.events.push(Reverse((at, self.number, what)));
    }

    fn pump(&mut self, now: Time) {
        while let Some(Transmit { segment, .. }) = self.client.poll_transmit(now) {
            let at = now + self.delay;
            self.push(at, Some(segment), What::Enters);
        }
        while let Some(Transmit { segment, .. }) = self.server.poll_transmit(now) {
            let at = now + self.back;
            self.push(at, Some(segment), What::Returns);
        }
    }

    fn handle(&mut self, now: Time, what: What, segment: Segment) {
        match what {
            What::Enters => {
                let time = self.rate.tx_time(u64::from(segment.wire_bytes()) * 8);
                if self.free.since(now).as_nanos() / time.as_nanos() < self.queue {
                    self.free = self.free.max(now) + time;
                    let at = self.free;
                    self.push(at, Some(segment), What::Leaves);
                }
            }
            What::Leaves => self.transmit(now, segment),
            What::Decided { number, decoded } => self.decide(now, number, decoded, segment),
            What::Arrives => self.arrive(now, segment),
            What::Returns => self.client.handle_segment(now, &segment),
            What::Sample => {}
        }
    }

    fn transmit(&mut self, now: Time, segment: Segment) {
        match &mut self.link {
            Link::Late { loss, late, by, state } => {
                let mut draw = || {
                    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    splitmix64(*state) as f64 / u64::MAX as f64
                };
                let (lost, late) = (draw() < *loss, draw() < *late);
                let more = if late { *by } else { Duration::ZERO };
                if !lost {
                    let at = now + self.owd + more;
                    self.push(at, Some(segment), What::Arrives);
                }
            }
            Link::Harq { outcomes, .. } => {
                let needed = outcomes[now.as_nanos() as usize / 1_000_000 % outcomes.len()];
                let number = self.taken;
                self.taken += 1;
                let wait = Duration::from_millis(if needed == 0 { 70 } else { 20 * u64::from(needed) - 10 });
                self.push(now + wait, Some(segment), What::Decided { number, decoded: needed > 0 });
            }
        }
    }

    fn decide(&mut self, now: Time, number: u64, decoded: bool, segment: Segment) {
        let Link::Harq { buffer, .. } = self.link else { return };
        let key = if buffer == 2 { segment.seq } else { number };
        let after = if buffer == 2 { segment.end() } else { number + 1 };
        if !decoded {
            if buffer == 2 || buffer == 1 && number >= self.expected {
                self.release(now);
                if buffer == 1 {
                    self.expected = self.expected.max(number + 1);
                }
            }
            return;
        }
        if buffer == 0 || key < self.expected || self.held.contains_key(&key) {
            return self.arrive(now, segment);
        }
        if key > self.expected {
            self.held.insert(key, segment);
            if self.held.len() > HELD {
                self.release(now);
            }
            return;
        }
        self.expected = after;
        self.arrive(now, segment);
        while let Some(next) = self.held.remove(&self.expected) {
            self.expected = if buffer == 2 { next.end() } else { self.expected + 1 };
            self.arrive(now, next);
        }
    }

    fn release(&mut self, now: Time) {
        let blind = matches!(self.link, Link::Harq { buffer: 2, .. });
        for (key, segment) in std::mem::take(&mut self.held) {
            self.expected = if blind { segment.end() } else { key + 1 };
            self.arrive(now, segment);
        }
    }

    fn arrive(&mut self, now: Time, segment: Segment) {
        self.spurious += u64::from(segment.len > 0 && !self.got.insert(segment.seq));
        self.server.handle_segment(now, &segment);
        self.pump(now);
    }
}

/// Steele, Lea, Flood 2014; the state has already moved on.
fn splitmix64(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
