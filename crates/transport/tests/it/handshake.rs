//! Opening and closing.

use crate::util::{self, End, Fate, Pair, Script, at, ms, settings, syn_ack};
use transport::{Connection, Flags, Segment, Settings, State, SynOptions};
use units::{Duration, Time};

fn is_syn(sent: &util::Sent) -> bool {
    sent.transmit.segment.flags.has(Flags::SYN)
}

#[test]
fn options_are_what_both_want() {
    let client = Settings { timestamps: true, mss: 1400, ..settings() };
    for (sack, timestamps, mss) in [(true, true, 1000), (true, false, 1000), (false, true, 600), (false, false, 600)] {
        let server = Settings { sack, timestamps, mss, ..settings() };
        let mut pair = Pair::new(client.clone(), server, ms(10), |_| Fate::Pass);
        pair.client.write(pair.now, 10_000);
        pair.run_until(at(1000));
        let (syn, reply) = (pair.log[0].transmit.segment, pair.log[1].transmit.segment);
        assert_eq!(
            syn.syn.unwrap(),
            SynOptions { mss: 1412, window_scale: Some(11), sack_permitted: true, fast_open: None }
        );
        assert_eq!((syn.window, syn.timestamps.is_some()), (65_535, true));
        let server_mss = mss as u16 + if timestamps { 12 } else { 0 };
        assert_eq!(
            reply.syn.unwrap(),
            SynOptions { mss: server_mss, window_scale: Some(11), sack_permitted: sack, fast_open: None }
        );
        assert_eq!(reply.timestamps.is_some(), timestamps);
        let first = pair.data().next().unwrap().transmit.segment;
        assert_eq!((first.seq, first.len), (1, mss));
        assert_eq!(first.timestamps.is_some(), timestamps);
        assert_eq!(pair.server.delivered_bytes(), 10_000);
    }
}

#[test]
fn a_window_without_scaling_is_65535() {
    let mut script = Script::sender(settings(), ms(100), 1_000_000);
    assert_eq!(script.count(), 10);
    let mut server = Connection::listen(settings(), 0);
    let options = SynOptions { mss: 1460, window_scale: None, sack_permitted: false, fast_open: None };
    let syn = Segment { flags: Flags::SYN, window: 65_535, syn: Some(options), ..Segment::default() };
    server.handle_segment(Time::ZERO, &syn);
    let reply = server.poll_transmit(Time::ZERO).unwrap().segment;
    assert_eq!(reply.syn.unwrap().window_scale, None);
    server.handle_segment(at(1), &Segment { seq: 1, ack: 1, len: 10, flags: Flags::ACK, ..Segment::default() });
    assert_eq!(server.poll_transmit(at(1)).unwrap().segment.window, 65_535);
}

#[test]
fn a_lost_syn_is_sent_again_after_1_2_4_seconds() {
    let mut syns = 0;
    let mut pair = Pair::new(settings(), settings(), ms(50), |sent| {
        syns += u32::from(is_syn(sent) && sent.from == End::Client);
        if syns <= 3 { Fate::Drop } else { Fate::Pass }
    });
    pair.client.write(pair.now, 5_000);
    pair.run_until(at(7_050));
    assert_eq!(pair.client.info().state, State::SynSent);
    pair.run_until(at(7_100));
    let times: Vec<_> = pair.log.iter().filter(|s| is_syn(s) && s.from == End::Client).map(|s| s.at).collect();
    assert_eq!(times, [at(0), at(1000), at(3000), at(7000)]);
    // RFC 6298 (5.7) and RFC 5681 section 3.1
    assert_eq!(pair.client.info().rto, Duration::from_secs(3));
    assert_eq!(pair.client.window(), 1);
    assert_eq!(pair.data().count(), 1);
    pair.run_until(at(8_000));
    assert_eq!(pair.server.delivered_bytes(), 5_000);
    assert_eq!((pair.client.counters().syn_timeouts, pair.client.counters().rto_events), (3, 0));
}

#[test]
fn a_lost_syn_ack_and_a_lost_third_segment_are_repaired() {
    for lost in [1, 2] {
        let mut number = 0;
        let mut pair = Pair::new(settings(), settings(), ms(50), |_| {
            number += 1;
            if number - 1 == lost { Fate::Drop } else { Fate::Pass }
        });
        pair.run_until(at(10_000));
        assert_eq!(pair.client.info().state, State::Established, "without segment {lost}");
        assert_eq!(pair.server.info().state, State::Established, "without segment {lost}");
        assert_eq!(pair.client.poll_timeout(), None);
        assert_eq!(pair.server.poll_timeout(), None);
    }
}

/// Karn: which of two SYN-ACKs is acknowledged is not known.
#[test]
fn a_syn_ack_sent_twice_measures_nothing() {
    for syns in [1, 2] {
        let mut server = Connection::listen(settings(), 0);
        let options = SynOptions { mss: 1460, window_scale: None, sack_permitted: true, fast_open: None };
        let syn = Segment { flags: Flags::SYN, window: 65_535, syn: Some(options), ..Segment::default() };
        for number in 0..syns {
            server.handle_segment(at(10 * number), &syn);
            assert_eq!(u64::from(server.poll_transmit(at(10 * number)).unwrap().sent_before), number);
        }
        server.handle_segment(at(100), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
        assert_eq!(server.info().srtt, (syns == 1).then_some(ms(100)));
        assert_eq!(server.info().rto, if syns == 1 { ms(300) } else { ms(1000) });
    }
}

#[test]
fn both_sides_close_in_turn() {
    let mut pair = Pair::new(settings(), settings(), ms(50), |_| Fate::Pass);
    pair.client.write(pair.now, 2_500);
    pair.client.close();
    pair.run_until(at(1000));
    assert_eq!(pair.client.info().state, State::FinWait2);
    assert_eq!(pair.server.info().state, State::CloseWait);
    assert_eq!(pair.server.delivered_bytes(), 2_500);
    pair.server.write(pair.now, 700);
    pair.server.close();
    pair.run_until(at(2000));
    assert_eq!(pair.client.delivered_bytes(), 700);
    assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed));
    assert_eq!((pair.client.poll_timeout(), pair.server.poll_timeout()), (None, None));
    let fins = pair.log.iter().filter(|s| s.transmit.segment.flags.has(Flags::FIN));
    let fins: Vec<_> = fins.map(|s| (s.from, s.transmit.segment.seq, s.transmit.segment.len)).collect();
    assert_eq!(fins, [(End::Client, 2001, 500), (End::Server, 1, 700)], "the FIN rides on the last data");
}

#[test]
fn both_sides_close_at_once() {
    let mut pair = Pair::new(settings(), settings(), ms(50), |_| Fate::Pass);
    pair.run_until(at(1000));
    pair.client.close();
    pair.server.close();
    pair.run_until(at(1040));
    assert_eq!((pair.client.info().state, pair.server.info().state), (State::FinWait1, State::FinWait1));
    pair.run_until(at(1060));
    assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closing, State::Closing));
    assert!(pair.client.has_been_closed() && pair.server.has_been_closed());
    pair.run_until(at(2000));
    assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed));
}

#[test]
fn lost_fins_and_their_lost_acknowledgments_are_repaired() {
    for lost in 0..6 {
        let mut number = 0;
        let mut pair = Pair::new(settings(), settings(), ms(50), |sent| {
            number += u32::from(sent.at >= at(1000));
            if number == lost + 1 && sent.at >= at(1000) { Fate::Drop } else { Fate::Pass }
        });
        pair.run_until(at(1000));
        pair.client.write(pair.now, 3_000);
        pair.client.close();
        pair.server.close();
        pair.run_until(at(60_000));
        assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed), "{lost}");
        assert_eq!(pair.server.delivered_bytes(), 3_000);
        assert_eq!((pair.client.poll_timeout(), pair.server.poll_timeout()), (None, None));
    }
}

#[test]
fn a_repeated_syn_ack_is_acknowledged() {
    let mut script = Script::sender(settings(), ms(100), 0);
    assert_eq!(script.sends(), ["ack 1"]);
    assert_eq!(script.handle(syn_ack(true, None)), ["ack 1"]);
}

#[test]
fn a_reset_ends_everything() {
    let mut script = Script::sender(settings(), ms(100), 50_000);
    assert_eq!(script.count(), 10);
    let reset = Segment { seq: 1, ack: 1, flags: Flags::RST | Flags::ACK, ..Segment::default() };
    assert!(script.handle(reset).is_empty());
    assert_eq!(script.connection.info().state, State::Closed);
    assert_eq!(script.connection.poll_timeout(), None);
}

/// What a connection sends now, as (flags, offset, acknowledgment).
fn resets(connection: &mut Connection, now: Time) -> Vec<(Flags, u64, u64)> {
    let sent = std::iter::from_fn(|| connection.poll_transmit(now));
    sent.map(|transmit| (transmit.segment.flags, transmit.segment.seq, transmit.segment.ack)).collect()
}

/// RFC 9293 section 3.5.2, group 1.
#[test]
fn a_connection_that_is_over_answers_with_resets_but_never_a_reset() {
    let mut script = Script::sender(settings(), ms(100), 0);
    script.count();
    script.connection.abort();
    let (now, rst) = (script.now, Flags::RST);
    assert_eq!(resets(&mut script.connection, now), [(rst | Flags::ACK, 1, 1)]);
    let data = Segment { seq: 1, ack: 40, len: 10, flags: Flags::ACK, ..Segment::default() };
    for (segment, answer) in [
        (data, Some((rst, 40, 0))),
        (Segment { flags: Flags::FIN, ..data }, Some((rst | Flags::ACK, 0, 12))),
        (Segment { flags: rst, ..data }, None),
        (Segment { flags: rst | Flags::ACK, ..data }, None),
    ] {
        script.connection.handle_segment(now, &segment);
        assert_eq!(resets(&mut script.connection, now), answer.into_iter().collect::<Vec<_>>());
    }
}

/// Two ends that are both gone do not keep each other busy.
#[test]
fn ends_that_abandon_data_in_flight_are_soon_quiet() {
    for first in [End::Client, End::Server] {
        let mut pair = Pair::new(settings(), settings(), ms(50), |_| Fate::Pass);
        pair.client.write(pair.now, 1_000_000);
        pair.server.write(pair.now, 1_000_000);
        pair.run_until(at(330));
        let (gone, other) = match first {
            End::Client => (&mut pair.client, &mut pair.server),
            End::Server => (&mut pair.server, &mut pair.client),
        };
        gone.abandon();
        other.close();
        pair.run_until(at(20_000));
        assert_eq!((pair.client.info().state, pair.server.info().state), (State::Closed, State::Closed));
        assert_eq!((pair.client.poll_timeout(), pair.server.poll_timeout()), (None, None));
        let last = pair.log.last().expect("segments");
        assert!(last.at <= at(500), "still busy at {}", last.at);
        assert!(pair.log.iter().any(|sent| sent.from == first && sent.transmit.segment.flags.has(Flags::RST)));
    }
}

#[test]
fn an_application_that_has_read_all_leaves_by_a_fin() {
    let mut script = Script::receiver(settings());
    script.connection.hold_reads();
    assert_eq!(script.data(1, 1000), ["ack 1001"]);
    assert_eq!(script.connection.read(1000), 1000);
    script.connection.abandon();
    script.count();
    assert_eq!(script.connection.info().state, State::FinWait1);
    assert!(script.last.expect("a FIN").flags.has(Flags::FIN));
    let ack = Segment { seq: 1001, ack: 2, window: 65_535, flags: Flags::ACK, ..Segment::default() };
    assert!(script.handle(ack).is_empty());
    assert_eq!(script.connection.info().state, State::FinWait2);
    script.data(1001, 1);
    assert!(script.last.expect("a reset").flags.has(Flags::RST));
    assert_eq!(script.connection.info().state, State::Closed);
}

/// RFC 5482: from when the oldest was sent, or the last progress, whichever was set first, the limit or the data.
#[test]
fn a_user_timeout_ends_a_connection_at_its_instant() {
    for late in [false, true] {
        let mut script = Script::sender(settings(), ms(100), 3_000);
        let limit = |script: &mut Script| script.connection.set_user_timeout(Some(ms(700)));
        if !late {
            limit(&mut script);
        }
        assert_eq!(script.count(), 3);
        script.after(90).ack(1001, &[]); // at 190 ms
        if late {
            script.after(100);
            limit(&mut script);
        }
        while script.connection.info().state == State::Established {
            assert!(!script.connection.timed_out());
            script.timeout();
        }
        assert_eq!((script.now, script.connection.timed_out()), (at(890), true));
        assert_eq!(script.connection.poll_timeout(), None);
        assert_eq!(script.count(), 0, "the peer is not told");
    }
}

#[test]
fn a_user_timeout_that_is_taken_back_ends_nothing() {
    let mut script = Script::sender(settings(), ms(100), 1_000);
    script.connection.set_user_timeout(Some(ms(500)));
    script.count();
    script.connection.set_user_timeout(None);
    for _ in 0..6 {
        script.timeout();
    }
    assert_eq!((script.connection.info().state, script.connection.timed_out()), (State::Established, false));
}

/// However the application cuts its stream and holds it back, all of it arrives, and whole segments are never held.
#[test]
fn what_is_held_back_arrives_all_the_same() {
    for (cork, loss) in [(false, 0), (false, 7), (true, 0), (true, 5)] {
        let mut number = 0;
        let mut pair = Pair::new(settings(), settings(), ms(30), |_| {
            number += 1;
            if loss > 0 && number % loss == 0 { Fate::Drop } else { Fate::Pass }
        });
        pair.client.set_cork(cork);
        let mut written = 0;
        for write in 0..60 {
            let bytes = 1 + write * 211 % 2_300;
            match write % 3 {
                0 => pair.client.write(pair.now, bytes),
                _ => pair.client.write_more(pair.now, bytes),
            }
            written += bytes;
            let now = pair.now + ms(write % 5 * 20);
            pair.run_until(now);
        }
        pair.run_until(at(60_000));
        assert_eq!(pair.server.delivered_bytes(), written, "cork {cork}, loss {loss}");
        assert_eq!(pair.client.info().unsent_bytes, 0);
    }
}

#[test]
fn a_pair_is_open_at_once_and_has_measured_nothing() {
    let options = Settings { timestamps: true, mss: 1000, initial_window: 4, ..settings() };
    let [mut client, mut server] = Connection::pair(options, at(7), [1, 2]);
    assert_eq!([client.info().state, server.info().state], [State::Established; 2]);
    assert_eq!([client.info().srtt, server.info().srtt], [None; 2]);
    assert_eq!([client.counters().segments_sent, server.counters().segments_sent], [0; 2]);
    assert_eq!((client.poll_transmit(at(7)), client.poll_timeout(), server.poll_timeout()), (None, None, None));
    client.write(at(7), 10_000);
    let first = client.poll_transmit(at(7)).unwrap().segment;
    assert_eq!((first.seq, first.len, first.timestamps.is_some()), (1, 1000, true));
    server.handle_segment(at(107), &first);
    let ack = server.poll_transmit(at(107)).unwrap().segment;
    client.handle_segment(at(207), &ack);
    assert_eq!(client.info().srtt, Some(ms(200)));
    assert_eq!(server.delivered_bytes(), 1000);
}
