//! The SYN as number 0 of the first window, as of ns-2's one-way agents (`syn_ true`, `delay_growth_ false`).

use crate::util::{MSS, at, ms, text};
use transport::{
    CongestionConfig, Connection, DelayedAck, Flags, NewRenoConfig, Profile, Segment, Settings, TcpConfig, Transmit,
};
use units::{Bytes, Time};

/// ns-2's stack with NewReno and its window of two segments.
fn settings() -> Settings {
    let config = TcpConfig {
        congestion: CongestionConfig::NewReno(NewRenoConfig::default()),
        profile: Profile::Ns2Linux,
        mss: Some(Bytes::new(MSS)),
        handshake: Some(false),
        syn: Some(true),
        ..TcpConfig::default()
    };
    config.check().unwrap();
    config.resolve(1500)
}

fn all(connection: &mut Connection, now: Time) -> Vec<Transmit> {
    let sent = std::iter::from_fn(|| connection.poll_transmit(now)).collect();
    connection.check();
    sent
}

fn texts(sent: &[Transmit]) -> Vec<String> {
    sent.iter().map(text).collect()
}

fn hand(connection: &mut Connection, now: Time, sent: &[Transmit]) -> Vec<Transmit> {
    sent.iter().for_each(|transmit| connection.handle_segment(now, &transmit.segment));
    all(connection, now)
}

#[test]
fn the_first_window_has_a_syn_of_40_bytes_and_one_segment_of_data() {
    let [mut sender, mut receiver] = Connection::pair(settings(), Time::ZERO, [1, 2]);
    assert_eq!(texts(&all(&mut sender, Time::ZERO)), [] as [&str; 0], "nothing before the application writes");
    sender.write(Time::ZERO, 10 * MSS);
    assert_eq!(sender.info().unsent_bytes, 10 * MSS, "the SYN is no byte of the application");
    let first = all(&mut sender, Time::ZERO);
    let of = |segment: &Segment| (segment.seq, segment.end(), segment.flags.has(Flags::SYN), segment.wire_bytes());
    let sent: Vec<_> = first.iter().map(|transmit| of(&transmit.segment)).collect();
    assert_eq!(sent, [(0, 1, true, 40), (1, 1 + MSS, false, 1040)], "the window of two has both");
    // The receiver acknowledges it as any segment, and it opens the window and times the round trip.
    let mut answers = hand(&mut receiver, at(50), &first[..1]);
    assert_eq!(receiver.delivered_bytes(), 0);
    answers.extend(hand(&mut receiver, at(51), &first[1..]));
    assert_eq!(texts(&answers), ["ack 1", "ack 1001"]);
    assert_eq!(receiver.delivered_bytes(), MSS);
    let mut next = hand(&mut sender, at(100), &answers[..1]);
    next.extend(hand(&mut sender, at(101), &answers[1..]));
    assert_eq!(sender.info().srtt, Some(ms(100)));
    assert_eq!(next.len(), 4, "each acknowledgment adds a segment in slow start: {:?}", texts(&next));
    assert!(next.iter().all(|transmit| !transmit.segment.flags.has(Flags::SYN)));
}

/// Data that overtake the SYN are out of order, and nothing is delivered before it.
#[test]
fn a_lost_syn_is_repeated_by_the_timer_of_any_segment() {
    let [mut sender, mut receiver] = Connection::pair(settings(), Time::ZERO, [1, 2]);
    sender.write(Time::ZERO, 3 * MSS);
    let first = all(&mut sender, Time::ZERO);
    let answers = hand(&mut receiver, at(50), &first[1..]);
    assert_eq!(texts(&answers), ["ack 0 sack 1:1001"]);
    assert_eq!(receiver.delivered_bytes(), 0);
    hand(&mut sender, at(100), &answers);
    let timer = sender.poll_timeout().expect("a timer");
    assert_eq!(timer, at(3100), "ns-2's initial time-out, started anew by the acknowledgment");
    sender.handle_timeout(timer);
    let again = all(&mut sender, timer);
    let (segment, sent_before) = (again[0].segment, again[0].sent_before);
    assert_eq!((segment.seq, segment.flags.has(Flags::SYN), segment.wire_bytes(), sent_before), (0, true, 40, 1));
    assert_eq!(sender.window(), 1, "as after any time-out");
    let answers = hand(&mut receiver, timer + ms(50), &again[..1]);
    assert_eq!(texts(&answers), ["ack 1001"]);
    assert_eq!(receiver.delivered_bytes(), MSS);
    // A copy of it is a duplicate.
    assert_eq!(texts(&hand(&mut receiver, timer + ms(60), &again[..1])), ["ack 1001"]);
    assert_eq!(receiver.delivered_bytes(), MSS);
}

#[test]
fn each_end_has_a_syn_of_its_own_and_both_close() {
    let [mut client, mut server] = Connection::pair(settings(), Time::ZERO, [1, 2]);
    client.write(Time::ZERO, 100);
    client.close();
    server.write(Time::ZERO, 2 * MSS);
    server.close();
    let mut now = Time::ZERO;
    let (mut up, mut down) = (all(&mut client, now), all(&mut server, now));
    assert!(up[0].segment.flags.has(Flags::SYN) && down[0].segment.flags.has(Flags::SYN));
    for _ in 0..20 {
        now += ms(50);
        (up, down) = (hand(&mut client, now, &down), hand(&mut server, now, &up));
    }
    assert_eq!((client.delivered_bytes(), server.delivered_bytes()), (2 * MSS, 100));
    assert_eq!((client.state(), server.state()), (transport::State::Closed, transport::State::Closed));
}

/// An end that closes without a word sends its SYN before the FIN.
#[test]
fn a_fin_comes_after_the_syn() {
    let [mut client, mut server] = Connection::pair(settings(), Time::ZERO, [1, 2]);
    client.close();
    let sent = all(&mut client, Time::ZERO);
    let of = |sent: &Transmit| (sent.segment.flags.has(Flags::SYN), sent.segment.flags.has(Flags::FIN));
    let flags: Vec<_> = sent.iter().map(of).collect();
    assert_eq!(flags, [(true, false), (false, true)]);
    hand(&mut server, at(50), &sent);
    assert_eq!(server.state(), transport::State::CloseWait);
}

/// Whatever the stack's rules, all data arrive over a path that loses every third packet.
#[test]
fn every_profile_delivers_behind_a_syn_in_the_first_window() {
    for profile in Profile::ALL {
        for delayed_ack in [DelayedAck::Off, DelayedAck::After(ms(40))] {
            let config = TcpConfig {
                profile,
                handshake: Some(false),
                syn: Some(true),
                delayed_ack: Some(delayed_ack),
                mss: Some(Bytes::new(MSS)),
                ..TcpConfig::default()
            };
            let [mut sender, mut receiver] = Connection::pair(config.resolve(1500), Time::ZERO, [1, 2]);
            sender.write(Time::ZERO, 50 * MSS);
            let (mut now, mut sent) = (Time::ZERO, 0);
            while receiver.delivered_bytes() < 50 * MSS {
                assert!(now < at(600_000), "{profile:?} {:?}", sender.info());
                let kept: Vec<_> = all(&mut sender, now)
                    .into_iter()
                    .filter(|_| {
                        sent += 1;
                        sent % 3 != 1 // the SYN is lost
                    })
                    .collect();
                let answers = hand(&mut receiver, now + ms(20), &kept);
                let next = [sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten().min();
                now = if answers.is_empty() { next.expect("a timer").max(now + ms(20)) } else { now + ms(40) };
                sender.handle_timeout(now);
                receiver.handle_timeout(now);
                answers.iter().for_each(|answer| sender.handle_segment(now, &answer.segment));
            }
        }
    }
}

#[test]
fn it_takes_the_place_of_a_handshake() {
    let config = TcpConfig { syn: Some(true), ..TcpConfig::default() };
    let error = config.check().unwrap_err();
    assert_eq!((error.field.as_str(), error.message.as_str()), ("syn", "needs handshake = false"));
    assert!(TcpConfig { syn: Some(false), ..TcpConfig::default() }.check().is_ok());
}
