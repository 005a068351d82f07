//! Accurate ECN (RFC 9768) between two ends, one of which may have no more than RFC 3168, over a path that marks.

use crate::util::{MSS, at, ms, settings};
use transport::{Connection, EcnMode, Flags, Segment, Settings, State, TcpConfig};
use units::{Bytes, Duration, Ecn, Time};

fn with(ecn: EcnMode) -> Settings {
    Settings { ecn, ..settings() }
}

fn of(congestion: &str, ecn: Option<EcnMode>) -> Settings {
    let congestion = serde_json::from_value(serde_json::json!({ "kind": congestion })).unwrap();
    TcpConfig { congestion, ecn, mss: Some(Bytes::new(MSS)), ..TcpConfig::default() }.resolve(1500)
}

fn ace(segment: &Segment) -> u8 {
    (segment.flags.bits() >> 6 & 7) as u8
}

/// Two ends over a path of 20 ms each way; `fate` sees each segment with its direction (true: of the client) and may
/// mark it, or lose it (`false`).
struct Wire {
    ends: [Connection; 2],
    now: Time,
    log: Vec<(bool, Segment)>,
}

impl Wire {
    fn new(client: Settings, server: Settings) -> Wire {
        let ends = [Connection::connect(client, Time::ZERO, 0), Connection::listen(server, 1)];
        Wire { ends, now: Time::ZERO, log: Vec::new() }
    }

    fn run(&mut self, until: Time, mut fate: impl FnMut(bool, &mut Segment) -> bool) {
        let mut in_flight: Vec<(Time, usize, Segment)> = Vec::new();
        loop {
            for from in 0..2 {
                while let Some(transmit) = self.ends[from].poll_transmit(self.now) {
                    let mut segment = transmit.segment;
                    self.log.push((from == 0, segment));
                    if fate(from == 0, &mut segment) {
                        in_flight.push((self.now + ms(20), 1 - from, segment));
                    }
                }
            }
            let arrival = in_flight.iter().map(|entry| entry.0).min();
            let timer = self.ends.iter().filter_map(Connection::poll_timeout).min();
            let Some(next) = arrival.into_iter().chain(timer).min().filter(|&next| next <= until) else { break };
            self.now = next.max(self.now);
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|due| due <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
            if let Some(index) = in_flight.iter().position(|entry| entry.0 <= self.now) {
                let (_, to, segment) = in_flight.remove(index);
                self.ends[to].handle_segment(self.now, &segment);
            }
        }
    }

    fn data(&self) -> impl Iterator<Item = &Segment> {
        self.log.iter().filter(|(client, segment)| *client && segment.len > 0).map(|(_, segment)| segment)
    }
}

/// Table 2 of RFC 9768: what each pair of ends agrees on, seen in the SYNs and in the codepoint of the data.
#[test]
fn each_pair_agrees_on_the_best_that_both_have() {
    use EcnMode::{Accurate, Classic, Off};
    for (client, server, syn, answer, ect) in [
        (Accurate, Accurate, 0b111, 0b010, Ecn::Ect0),
        (Accurate, Classic, 0b111, 0b001, Ecn::Ect0),
        (Accurate, Off, 0b111, 0b000, Ecn::NotEct),
        (Classic, Accurate, 0b011, 0b001, Ecn::Ect0),
        (Classic, Classic, 0b011, 0b001, Ecn::Ect0),
        (Off, Accurate, 0b000, 0b000, Ecn::NotEct),
    ] {
        let mut wire = Wire::new(with(client), with(server));
        wire.ends[0].write(Time::ZERO, 5 * MSS);
        wire.run(at(1000), |_, _| true);
        assert_eq!((ace(&wire.log[0].1), ace(&wire.log[1].1)), (syn, answer), "{client:?} {server:?}");
        assert!(wire.data().all(|segment| segment.ecn == ect), "{client:?} {server:?}");
        assert_eq!(wire.ends[1].delivered_bytes(), 5 * MSS);
    }
}

/// Section 3.2.2.1: each segment of the handshake echoes the codepoint of the one before, and a mark counts.
#[test]
fn the_handshake_tells_its_marks() {
    for (syn, answer, echo, third) in [
        (Ecn::NotEct, Ecn::NotEct, 0b010, 0b010),
        (Ecn::Ce, Ecn::NotEct, 0b110, 0b010),
        (Ecn::NotEct, Ecn::Ce, 0b010, 0b110),
        (Ecn::Ect0, Ecn::Ect1, 0b100, 0b011),
    ] {
        let mut wire = Wire::new(with(EcnMode::Accurate), with(EcnMode::Accurate));
        wire.ends[0].write(Time::ZERO, MSS);
        wire.run(at(1000), |client, segment| {
            if segment.flags.has(Flags::SYN) {
                segment.ecn = if client { syn } else { answer };
            }
            true
        });
        let sent = |n: usize| &wire.log[n].1;
        assert_eq!((ace(sent(1)), ace(sent(2)), sent(2).len), (echo, third, 0));
        assert!(sent(1).accecn.is_some() && sent(2).accecn.is_some());
        let first = 5 + u8::from(answer == Ecn::Ce);
        assert_eq!(ace(wire.data().next().unwrap()), first, "then the count goes on");
        let back = wire.log.iter().rfind(|(client, _)| !client).unwrap();
        assert_eq!(ace(&back.1), 5 + u8::from(syn == Ecn::Ce));
        for end in &wire.ends {
            assert_eq!((end.info().state, end.info().delivered_marked), (State::Established, 0), "marks of data only");
        }
    }
}

/// Section 3.1.4.1: the second SYN asks for accurate ECN as the first does, the third does not.
#[test]
fn a_client_asks_twice() {
    let mut wire = Wire::new(with(EcnMode::Accurate), with(EcnMode::Accurate));
    wire.run(at(8000), |client, _| !client);
    let syns: Vec<u8> = wire.log.iter().map(|(_, segment)| ace(segment)).collect();
    assert_eq!(&syns[..3], [0b111, 0b111, 0b000]);
}

/// The option takes room in the header only where it is.
#[test]
fn the_option_counts_in_the_header() {
    let mut wire = Wire::new(with(EcnMode::Accurate), with(EcnMode::Accurate));
    wire.ends[0].write(Time::ZERO, 100 * MSS);
    let mut number = 0;
    wire.run(at(3000), |client, segment| {
        number += u32::from(client && segment.len > 0);
        if client && segment.len > 0 && number == 20 {
            segment.ecn = Ecn::Ce;
        }
        true
    });
    let acks: Vec<&Segment> = wire.log[3..].iter().filter(|(client, _)| !client).map(|(_, segment)| segment).collect();
    let bytes: Vec<u32> = acks.iter().map(|segment| segment.header_bytes()).collect();
    assert_eq!((bytes[0], *bytes.last().unwrap()), (40, 48), "ECT(0) and CE: 8 bytes");
    assert_eq!(bytes.iter().filter(|&&bytes| bytes == 40).count(), 19, "from the mark on");
    let mut wire = Wire::new(Settings { ecn_option: false, ..with(EcnMode::Accurate) }, with(EcnMode::Accurate));
    wire.ends[1].write(Time::ZERO, 5 * MSS);
    wire.run(at(1000), |_, _| true);
    assert!(wire.log.iter().all(|(client, segment)| !client || segment.accecn.is_none()));
}

/// Every third data segment is marked, every fifth acknowledgment and every fortieth segment is lost: the sender counts
/// each mark once.
#[test]
fn the_sender_counts_what_the_receiver_got() {
    for ecn_option in [true, false] {
        let settings = Settings { ecn_option, initial_window: 20, ..of("prague", None) };
        assert_eq!(settings.ecn, EcnMode::Accurate, "what Prague asks for");
        let mut wire = Wire::new(settings.clone(), settings);
        wire.ends[0].write(Time::ZERO, 2000 * MSS);
        let (mut data, mut acks, mut marks) = (0u32, 0u32, 0u64);
        wire.run(at(600_000), |client, segment| {
            if segment.flags.has(Flags::SYN) {
                return true;
            }
            if !client {
                acks += 1;
                return acks % 5 != 0;
            }
            data += u32::from(segment.len > 0);
            let arrives = segment.len == 0 || data % 40 != 0;
            if segment.len > 0 && arrives && data % 3 == 0 {
                assert_eq!(segment.ecn, Ecn::Ect1, "retransmissions too");
                (segment.ecn, marks) = (Ecn::Ce, marks + 1);
            }
            arrives
        });
        assert_eq!(wire.ends[1].delivered_bytes(), 2000 * MSS);
        let counted = wire.ends[0].info().delivered_marked;
        // What only the last lost acknowledgments told, or a duplicate's, may be missing.
        assert!(counted.abs_diff(marks) <= 3, "{counted} of {marks}, with the option: {ecn_option}");
    }
}

/// A controller that takes no count reduces once a round trip, and says nothing of it (RFC 9768 section 3.1.5).
#[test]
fn other_controllers_take_a_count_for_a_mark() {
    let settings = of("newreno", Some(EcnMode::Accurate));
    let mut wire = Wire::new(settings.clone(), settings);
    wire.ends[0].write(Time::ZERO, 60 * MSS);
    let mut number = 0;
    wire.run(at(5000), |client, segment| {
        number += u32::from(client && segment.len > 0);
        if client && segment.len > 0 && (20..25).contains(&number) {
            segment.ecn = Ecn::Ce;
        }
        true
    });
    assert!(wire.data().all(|segment| segment.ecn == Ecn::Ect0 && ace(segment) == 5));
    let info = wire.ends[0].info();
    assert_eq!((info.delivered_marked, wire.ends[0].counters().retransmitted_segments), (5, 0));
    let threshold = info.slow_start_threshold.expect("a reduction");
    assert!((8..=16).contains(&threshold), "one reduction of a window of 20 to 30: {threshold}");
}

/// A mark slows Prague by half the first time, then by half the fraction.
#[test]
fn prague_reduces_by_the_fraction_of_marks() {
    let windows = |every: u32| {
        let settings = of("prague", None);
        let mut wire = Wire::new(settings.clone(), settings);
        wire.ends[0].write_for_ever(Time::ZERO);
        let mut data = 0u32;
        wire.run(at(10_000), |client, segment| {
            data += u32::from(client && segment.len > 0);
            if client && segment.len > 0 && data.is_multiple_of(every) {
                segment.ecn = Ecn::Ce;
            }
            true
        });
        f64::from(wire.ends[0].window())
    };
    // The fixed point of the equations: a segment more in a round trip, and p/2 of the window less in each with a mark.
    // With fewer marks than one in a round trip it is a sawtooth about that.
    for (every, least, most) in [(10, 12.0, 30.0), (20, 25.0, 60.0), (40, 50.0, 120.0)] {
        let window = windows(every);
        assert!((least..=most).contains(&window), "one in {every}: {window}");
    }
}

/// Without a peer that counts, Prague answers a mark as Reno does, and does not claim to be scalable.
#[test]
fn prague_falls_back_to_classic_feedback() {
    let mut wire = Wire::new(of("prague", None), with(EcnMode::Classic));
    wire.ends[0].write(Time::ZERO, 200 * MSS);
    let mut data = 0u32;
    wire.run(at(20_000), |client, segment| {
        data += u32::from(client && segment.len > 0);
        if client && segment.len > 0 && data == 60 {
            segment.ecn = Ecn::Ce;
        }
        true
    });
    assert!(wire.data().all(|segment| segment.ecn == Ecn::Ect0));
    assert!(wire.data().any(|segment| segment.flags.has(Flags::CWR)), "RFC 3168");
    assert_eq!(wire.ends[1].delivered_bytes(), 200 * MSS);
    assert!(wire.ends[0].info().slow_start_threshold.is_some());
    assert!(wire.ends[0].info().srtt < Some(Duration::from_millis(80)));
}

/// RFC 3168 section 6.1.2: a mark and the losses of the same window are one reduction, to half of the 19 segments that
/// are in flight, and a loss of what was sent after it is another.
#[test]
fn a_loss_in_the_window_of_a_mark_does_not_reduce_again() {
    use EcnMode::{Accurate, Classic};
    let first_after = 20 * MSS + 1;
    for (ecn, lost, recoveries, threshold) in
        [(Accurate, vec![10_001], 1, 9), (Classic, vec![10_001], 1, 9), (Accurate, vec![10_001, first_after], 2, 4)]
    {
        let mut wire = Wire::new(Settings { initial_window: 20, ..with(ecn) }, with(ecn));
        wire.ends[0].write(Time::ZERO, 60 * MSS);
        let mut left = lost.clone();
        wire.run(at(1000), |client, segment| {
            let data = client && segment.len > 0;
            if data && segment.seq == 1 {
                segment.ecn = Ecn::Ce;
            }
            let index = left.iter().position(|&seq| data && seq == segment.seq);
            index.map(|index| left.remove(index)).is_none()
        });
        let (info, counters) = (wire.ends[0].info(), wire.ends[0].counters());
        assert_eq!(info.slow_start_threshold, Some(threshold), "{ecn:?} {lost:?}");
        assert_eq!((counters.dupack_events, counters.rto_events), (recoveries, 0), "{ecn:?} {lost:?}");
        assert_eq!(wire.ends[1].delivered_bytes(), 60 * MSS);
    }
}
