//! What Linux does and RFCs leave open: groups of segments, patience with acknowledgments, lost SYNs.

use crate::util::{End, Fate, MSS, Pair, Script, at, ms};
use transport::{
    CongestionConfig, Connection, Flags, NewRenoConfig, Profile, Segment, Settings, SynOptions, TcpConfig,
};
use units::{Bytes, Duration, Time};

/// Linux with NewReno, segments of 1000 bytes and no timestamps.
fn linux() -> Settings {
    let config = TcpConfig {
        congestion: CongestionConfig::NewReno(NewRenoConfig::default()),
        profile: Profile::Linux,
        mss: Some(Bytes::new(MSS)),
        timestamps: Some(false),
        ..TcpConfig::default()
    };
    config.resolve(1500)
}

/// Whether each segment that goes out now says PSH.
fn pushes(script: &mut Script) -> Vec<bool> {
    std::iter::from_fn(|| script.connection.poll_transmit(script.now))
        .map(|transmit| transmit.segment.flags.has(Flags::PSH))
        .collect()
}

/// Observed on Linux 6.18 (`ss_ack1`): at 100 ms two segments a group, since 200 kB/s send less than that in a
/// millisecond. Near the peer a group is half of the window, and without groups only the end of the data says PSH.
#[test]
fn the_last_segment_of_a_group_says_psh() {
    for (rtt, divisor, group) in [(100, 3, 2), (1, 3, 5), (100, 0, 100)] {
        let mut script = Script::sender(Settings { offload_divisor: divisor, ..linux() }, ms(rtt), 100_000);
        let expected: Vec<bool> = (1..=10).map(|number| number % group == 0).collect();
        assert_eq!(pushes(&mut script), expected, "{rtt} ms, divisor {divisor}");
    }
    let mut script = Script::sender(Settings { offload_divisor: 0, ..linux() }, ms(100), 2_500);
    assert_eq!(pushes(&mut script), [false, false, true], "the end of the data");
}

/// Observed on Linux 6.18 (`n_rwnd`): what is left of the peer's window goes behind a full segment, while no other
/// small one is out.
#[test]
fn a_part_of_a_segment_fills_the_peers_window() {
    let mut script = Script::sender(linux(), ms(100), 100_000);
    assert_eq!(script.count(), 10);
    script.after(100);
    assert_eq!(script.ack_with_window(1001, &[], 12_032), ["10001:11001", "11001:12001"]);
    assert_eq!(script.after(2).ack_with_window(2001, &[], 11_032), ["12001:13001", "13001:13033"]);
    assert_eq!(script.after(2).ack_with_window(3001, &[], 30_000), ["13033:14033", "14033:15033"]);
    assert_eq!(script.after(2).ack_with_window(4001, &[], 12_082), ["15033:16033"], "13001:13033 is out");
}

/// In congestion avoidance an acknowledgment makes room for a single segment. Soon after others it waits for the next;
/// a pause of more than a millisecond lets it go.
#[test]
fn a_single_segment_waits_for_a_second_one() {
    let answers = |divisor, pause| {
        let mut script = Script::sender(Settings { offload_divisor: divisor, ..linux() }, ms(100), 1_000_000);
        assert_eq!(script.count(), 10);
        script.after(100).ack(1, &[(1001, 10_001)]);
        script.after(100).ack(10_001, &[]);
        // The reduction is over: the window is 5, and its segments went just now.
        let out = script.connection.info();
        assert_eq!((out.window, out.slow_start_threshold), (5, Some(5)), "{out:?}");
        script.after(100).ack(out.una + MSS, &[]);
        (2..=3)
            .map(|number| {
                script.now += pause;
                script.ack(out.una + number * MSS, &[]).len()
            })
            .collect::<Vec<_>>()
    };
    let (soon, late) = (Duration::from_micros(100), ms(2));
    assert_eq!(answers(0, soon), [1, 1]);
    assert_eq!(answers(3, late), [1, 1]);
    assert_eq!(answers(3, soon), [0, 2]);
}

/// Linux's tcp_cwnd_application_limited: where the receiver limits it, the window shrinks towards what is used once the
/// application has written all, and not while it waits to write more.
#[test]
fn a_window_that_the_receiver_limits_shrinks_unless_the_application_waits_to_write() {
    let window_after = |bytes| {
        let mut script = Script::sender(linux(), ms(100), bytes);
        script.sends();
        for rwnd in [65_535, 65_535, 65_535, 20_000, 20_000, 20_000, 20_000, 20_000] {
            let sent = script.connection.info().nxt;
            script.after(100).ack_with_window(sent, &[], rwnd);
        }
        script.connection.info().window
    };
    let full = window_after(10_000_000);
    assert_eq!(full, 146);
    assert_eq!(window_after(250_000), (full + 20) / 2, "20 segments are used");
}

/// The server's end after a handshake of 100 ms, with no quick acknowledgments left but the first.
fn receiver() -> Connection {
    let mut server = Connection::listen(Settings { quick_acks: 1, ..linux() }, 0);
    let options = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, fast_open: None };
    let syn = Segment { flags: Flags::SYN, window: 65_535, syn: Some(options), ..Segment::default() };
    server.handle_segment(Time::ZERO, &syn);
    server.poll_transmit(Time::ZERO).expect("a SYN-ACK");
    server.handle_segment(at(100), &data(1, 0, Flags::ACK));
    server
}

fn data(seq: u64, len: u32, flags: Flags) -> Segment {
    Segment { seq, ack: 1, len, flags, window: 65_535, ..Segment::default() }
}

/// What is acknowledged at once, or else when.
fn answer(server: &mut Connection, now: Time, segment: Segment) -> (Option<u64>, Option<Time>) {
    server.handle_segment(now, &segment);
    (server.poll_transmit(now).map(|transmit| transmit.segment.ack), server.poll_timeout())
}

/// Observed on Linux 6.18 (`r_nopsh_read`): a delayed acknowledgment that came too early makes the next wait twice as
/// long, at most a round trip; segments in quick succession make it short again.
#[test]
fn patience_follows_the_times_between_segments() {
    let mut server = receiver();
    assert_eq!(answer(&mut server, at(1000), data(1, 1000, Flags::ACK)), (Some(1001), None), "the quick one");
    for (number, wait) in [(1, 40), (2, 80), (3, 100)] {
        let now = at(1000 + 150 * number);
        let segment = data(1 + 1000 * number, 1000, Flags::ACK);
        assert_eq!(answer(&mut server, now, segment), (None, Some(now + ms(wait))), "number {number}");
        server.handle_timeout(now + ms(wait));
        assert!(server.poll_transmit(now + ms(wait)).is_some());
    }
    for number in 4..20 {
        let now = at(2000 + number);
        server.handle_segment(now, &data(1 + 1000 * number, 1000, Flags::ACK));
        while server.poll_transmit(now).is_some() {}
    }
    let now = at(2021);
    let (at_once, timer) = answer(&mut server, now, data(20_001, 1000, Flags::ACK));
    assert!(at_once.is_some() || timer.is_some_and(|timer| timer <= now + ms(45)), "{timer:?}");
}

/// PSH ends what the peer wrote: an application that has read it waits for nothing more.
#[test]
fn what_was_pushed_is_acknowledged_when_it_is_read() {
    let mut server = receiver();
    answer(&mut server, at(1000), data(1, 1000, Flags::ACK));
    assert_eq!(answer(&mut server, at(1010), data(1001, 1000, Flags::ACK)).0, None);
    assert_eq!(answer(&mut server, at(1020), data(2001, 1000, Flags::ACK)).0, Some(3001), "the second");
    assert_eq!(answer(&mut server, at(1030), data(3001, 1000, Flags::ACK | Flags::PSH)).0, Some(4001));
    server.hold_reads();
    assert_eq!(answer(&mut server, at(1040), data(4001, 1000, Flags::ACK | Flags::PSH)).0, None, "not read yet");
    assert_eq!(server.read(1000), 1000);
    assert_eq!(server.poll_transmit(at(1041)).map(|transmit| transmit.segment.ack), Some(5001));
}

/// Observed on Linux 6.18: an application that finds seven segments has them acknowledged at once, also the odd one.
/// One that reads each as it comes lets the odd one wait.
#[test]
fn what_came_in_one_go_is_acknowledged_when_it_is_read() {
    let mut server = receiver();
    answer(&mut server, at(1000), data(1, 1000, Flags::ACK));
    server.hold_reads();
    for number in 1..8 {
        let segment = data(1 + 1000 * number, 1000, Flags::ACK);
        assert_eq!(answer(&mut server, at(1010), segment).0, None, "number {number}");
    }
    assert_eq!(server.read(u64::MAX), 7000);
    assert_eq!(server.poll_transmit(at(1010)).map(|transmit| transmit.segment.ack), Some(8001));
    assert_eq!(server.poll_timeout(), None);
    let mut acknowledged = Vec::new();
    for number in 8..15 {
        server.handle_segment(at(1020), &data(1 + 1000 * number, 1000, Flags::ACK));
        assert_eq!(server.read(u64::MAX), 1000);
        acknowledged.extend(server.poll_transmit(at(1020)).map(|transmit| transmit.segment.ack));
    }
    assert_eq!(acknowledged, [10_001, 12_001, 14_001]);
    assert_eq!(server.poll_timeout(), Some(at(1060)));
}

/// A proxy hands on what arrives: acknowledgments do not wait until that is gone, and the window is what is left.
#[test]
fn what_is_relayed_is_acknowledged_as_if_it_were_read() {
    let (mut reads, mut relays) = (receiver(), receiver());
    relays.relay(64 << 20);
    for number in 0..40 {
        let now = at(1000 + 7 * number);
        let flags = if number % 5 == 4 { Flags::ACK | Flags::PSH } else { Flags::ACK };
        let segment = data(1 + 1000 * number, 1000, flags);
        assert_eq!(answer(&mut relays, now, segment), answer(&mut reads, now, segment), "number {number}");
    }
    assert_eq!(relays.readable(), 40_000);
    let window = |end: &mut Connection, read: u64| {
        assert_eq!(end.read(read), read);
        let segment = data(40_001, 2_000, Flags::ACK);
        end.handle_segment(at(2000), &segment);
        end.poll_transmit(at(2000)).expect("more than a segment").segment.window
    };
    let (left, all) = (window(&mut relays, 0), window(&mut reads, 0));
    assert!((42_000..42_000 + 2048).contains(&(all - left)), "{left} of {all}");
}

/// Observed on Linux 6.18 (`f_http_client`): a FIN waits for the application's own.
#[test]
fn a_fin_is_acknowledged_by_the_answering_one() {
    let mut server = receiver();
    answer(&mut server, at(1000), data(1, 1000, Flags::ACK));
    let fin = data(1001, 0, Flags::ACK | Flags::FIN);
    assert_eq!(answer(&mut server, at(1001), fin), (None, Some(at(1041))));
    server.close();
    let sent = server.poll_transmit(at(1002)).expect("our FIN").segment;
    assert_eq!((sent.flags.has(Flags::FIN), sent.ack), (true, 1002));
    let mut server = receiver();
    server.close();
    assert!(server.poll_transmit(at(1000)).is_some());
    assert_eq!(answer(&mut server, at(1001), data(1, 0, Flags::ACK | Flags::FIN)).0, Some(2), "ours was sent before");
}

/// The client after so many lost SYNs, and when it sent each.
fn after_lost_syns(settings: &Settings, lost: u32) -> (Connection, Vec<Time>) {
    let mut syns = 0;
    let mut pair = Pair::new(settings.clone(), settings.clone(), ms(50), |sent| {
        syns += u32::from(sent.transmit.segment.flags.has(Flags::SYN) && sent.from == End::Client);
        if syns <= lost { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(20_000));
    let syns = pair.log.iter().filter(|sent| sent.from == End::Client && sent.transmit.segment.flags.has(Flags::SYN));
    let times = syns.map(|sent| sent.at).collect();
    (pair.client, times)
}

/// `tcp_syn_linear_timeouts` is 4; a window of one segment begins with the second lost SYN. Without timestamps the
/// time-out is then 3 s, with them it is measured.
#[test]
fn lost_syns() {
    let (_, times) = after_lost_syns(&linux(), 7);
    assert_eq!(times, [0, 1000, 2000, 3000, 4000, 5000, 7000, 11_000].map(at));
    for (lost, timestamps, window, rto) in
        [(0, false, 10, 304), (1, false, 10, 3000), (2, false, 1, 3000), (1, true, 10, 304), (2, true, 1, 304)]
    {
        let (client, _) = after_lost_syns(&Settings { timestamps, ..linux() }, lost);
        let found = (client.window(), client.info().rto);
        assert_eq!(found.0, window, "{lost} lost, timestamps {timestamps}");
        assert!(found.1.as_nanos().abs_diff(ms(rto).as_nanos()) <= 4_000_000, "{lost} lost: {}", found.1);
    }
}
