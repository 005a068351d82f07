//! Goodput of one bulk transfer over a path with random loss, to be held against a live kernel: `goodput CONGESTION
//! RTT_MS LOSS_PERCENT BOTTLENECK_MBPS SEED [SECONDS] [PROFILE [OPTION…]]`, where a bottleneck of 0 is none and an
//! OPTION is a line of the transport.
//!
//! The n-th data packet (of 1000 bytes and more) is lost if splitmix64(seed + n * 0x9E3779B97F4A7C15) < p * 2^64, so
//! that any tool can replay the same losses. The bottleneck has a drop-tail queue of a bandwidth-delay product. Where
//! the receiver is a kernel's (with `quick_acks`), the application reads after all that arrived at an instant: it has
//! to be woken. Prints one line of CSV: goodput in Mbit/s over the whole time and after 5 s, retransmissions, random
//! losses, queue drops, spurious retransmissions, mean SRTT in ms.

use std::collections::{BTreeMap, VecDeque};

use transport::{Connection, Segment, TcpConfig, Transmit};
use units::{BitRate, Duration, Time};

/// Payload of a full segment: 1500 bytes without 40 of headers and 12 of timestamps.
const MSS: u64 = 1448;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments[i].parse::<f64>().unwrap_or_else(|_| panic!("{} is not a number", arguments[i]));
    let (rtt, loss, bottleneck, seed) = (number(1) * 1e-3, number(2) / 100.0, number(3) * 1e6, number(4) as u64);
    let seconds = if arguments.len() > 5 { number(5) } else { 30.0 };
    let profile = arguments.get(6).map_or("linux", String::as_str);
    let options = arguments.get(7..).unwrap_or_default().join("\n");
    let congestion = format!("{{ kind = '{}' }}", arguments[0]);
    let given = format!("profile = '{profile}'\nmss = '{MSS} B'\ncongestion = {congestion}\n{options}");
    let config: TcpConfig = toml::from_str(&given).expect("options of the transport");
    config.check().expect("options of the transport");
    let run = Run::new(&config, rtt, loss, bottleneck, seed).until(Time::from_secs_f64(seconds));
    println!("{run}");
}

struct Run {
    client: Connection,
    server: Connection,
    there: VecDeque<(Time, Segment)>,
    back: VecDeque<(Time, Segment)>,
    delay: Duration,
    loss: f64,
    seed: u64,
    /// The bottleneck's rate and the packets that its queue holds.
    rate: Option<(BitRate, usize)>,
    free: Time,
    data: u64,
    lost: u64,
    overflow: u64,
    /// Copies of a segment that were sent and not lost.
    copies: BTreeMap<u64, u32>,
    spurious: u64,
    after: u64,
    srtt: (f64, u64),
}

impl Run {
    fn new(config: &TcpConfig, rtt: f64, loss: f64, bottleneck: f64, seed: u64) -> Run {
        let settings = config.resolve(1500);
        let queue = (bottleneck * rtt / 8.0 / 1500.0) as usize;
        let is_kernel = settings.quick_acks > 0;
        let client = Connection::connect(settings.clone(), Time::ZERO, seed);
        let mut server = Connection::listen(settings, seed);
        if is_kernel {
            server.hold_reads();
        }
        Run {
            client,
            server,
            there: VecDeque::new(),
            back: VecDeque::new(),
            delay: Duration::from_secs_f64(rtt / 2.0),
            loss,
            seed,
            rate: (bottleneck > 0.0).then(|| (BitRate::from_bps(bottleneck as u64), queue)),
            free: Time::ZERO,
            data: 0,
            lost: 0,
            overflow: 0,
            copies: BTreeMap::new(),
            spurious: 0,
            after: 0,
            srtt: (0.0, 0),
        }
    }

    fn until(mut self, end: Time) -> String {
        let mut now = Time::ZERO;
        self.client.write_for_ever(now);
        self.pump(now);
        let warm = Time::from_secs_f64(5.0);
        let mut at_warm = 0;
        while let Some(next) = self.next().filter(|&next| next < end) {
            if now < warm && next >= warm {
                at_warm = self.server.delivered_bytes();
            }
            now = next;
            if self.there.front().is_some_and(|entry| entry.0 <= now) {
                let (_, segment) = self.there.pop_front().expect("it is there");
                self.server.handle_segment(now, &segment);
                if self.there.front().is_none_or(|entry| entry.0 > now) {
                    self.server.read(u64::MAX);
                }
            } else if self.back.front().is_some_and(|entry| entry.0 <= now) {
                let (_, segment) = self.back.pop_front().expect("it is there");
                self.client.handle_segment(now, &segment);
                if let Some(srtt) = self.client.info().srtt {
                    self.srtt = (self.srtt.0 + srtt.as_secs_f64(), self.srtt.1 + 1);
                }
            } else {
                self.client.handle_timeout(now);
                self.server.handle_timeout(now);
            }
            self.pump(now);
        }
        self.after = self.server.delivered_bytes() - at_warm;
        let rate = |bytes: u64, seconds: f64| bytes as f64 * 8e-6 / seconds;
        format!(
            "{:.4},{:.4},{},{},{},{},{:.2}",
            rate(self.server.delivered_bytes(), end.as_secs_f64()),
            rate(self.after, end.since(warm).as_secs_f64()),
            self.client.counters().retransmitted_segments,
            self.lost,
            self.overflow,
            self.spurious,
            self.srtt.0 / self.srtt.1.max(1) as f64 * 1e3
        )
    }

    fn next(&self) -> Option<Time> {
        let arrivals = [self.there.front(), self.back.front()].into_iter().flatten().map(|entry| entry.0);
        arrivals.chain(self.client.poll_timeout()).chain(self.server.poll_timeout()).min()
    }

    fn pump(&mut self, now: Time) {
        while let Some(Transmit { segment, .. }) = self.client.poll_transmit(now) {
            self.forward(now, segment);
        }
        while let Some(Transmit { segment, .. }) = self.server.poll_transmit(now) {
            self.back.push_back((now + self.delay, segment));
        }
    }

    fn forward(&mut self, now: Time, segment: Segment) {
        if segment.wire_bytes() >= 1000 {
            let number = self.data;
            self.data += 1;
            let draw = splitmix64(self.seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            if (draw as f64) < self.loss * (u64::MAX as f64) {
                self.lost += 1;
                return;
            }
        }
        let mut leaves = now;
        if let Some((rate, queue)) = self.rate {
            let waiting = self.free.since(now).as_nanos() / rate.tx_time(1500 * 8).as_nanos();
            if waiting as usize > queue {
                self.overflow += 1;
                return;
            }
            self.free = self.free.max(now) + rate.tx_time(u64::from(segment.wire_bytes()) * 8);
            leaves = self.free;
        }
        let copies = self.copies.entry(segment.seq).or_default();
        *copies += 1;
        self.spurious += u64::from(segment.len > 0 && *copies > 1);
        self.there.push_back((leaves + self.delay, segment));
    }
}

/// Steele, Lea, Flood 2014; the state has already moved on.
fn splitmix64(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
