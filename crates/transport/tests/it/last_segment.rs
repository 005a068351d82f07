//! Transmit Twice and Transmit FIN (Ciullo, Mellia, Meo 2009): the loss of a flow's last segment without a time-out.

use crate::util::{MSS, Script, at, ms, settings};
use transport::{Connection, Profile, Settings, TcpConfig};
use units::{Bytes, Time};

/// Three segments and the close; what goes out.
fn three(settings: Settings) -> (Script, Vec<String>) {
    let mut script = Script::sender(settings, ms(100), 3 * MSS);
    script.connection.close();
    let sent = script.sends();
    script.after(100);
    (script, sent)
}

#[test]
fn the_last_segment_goes_twice() {
    assert_eq!(three(settings()).1, ["1:1001", "1001:2001", "2001:3001 fin"], "once, by default");
    let (mut script, sent) = three(Settings { transmit_twice: true, ..settings() });
    assert_eq!(sent, ["1:1001", "1001:2001", "2001:3001 fin", "2001:3001 fin again"]);
    assert_eq!(script.connection.info().unacked, 3, "the copy is no further segment in flight");
    // Whichever of the two arrives ends the flow, and no measurement is taken of it.
    assert_eq!(script.ack(3002, &[]), [] as [&str; 0]);
    assert_eq!(script.connection.poll_timeout(), None);
    let counters = script.connection.counters();
    assert_eq!((counters.rto_events, counters.retransmitted_segments, counters.dupack_events), (0, 1, 0));
}

#[test]
fn the_fin_goes_alone_and_tells_that_the_last_segment_is_lost() {
    for sack in [true, false] {
        let (mut script, sent) = three(Settings { transmit_fin: true, sack, ..settings() });
        assert_eq!(sent, ["1:1001", "1001:2001", "2001:3001", "fin"]);
        assert_eq!(script.ack(2001, &[]), [] as [&str; 0], "both in flight: nothing is told yet");
        let block: &[(u64, u64)] = if sack { &[(3001, 3002)] } else { &[] };
        // With SACK followed by the one of RFC 6675's NextSeg rule 4, which nothing else fills.
        let again = &["2001:3001 again"; 2][..if sack { 2 } else { 1 }];
        assert_eq!(script.ack(2001, block), again, "sack = {sack}: one duplicate is enough");
        assert_eq!(script.ack(2001, block), [] as [&str; 0], "once");
        script.after(100).ack(3002, &[]);
        assert_eq!(script.connection.counters().rto_events, 0);
        assert_eq!(script.connection.poll_timeout(), None);
    }
    // The same duplicates say nothing where the FIN is with the data.
    let (mut script, _) = three(settings());
    script.ack(2001, &[]);
    assert_eq!(script.ack(2001, &[]), [] as [&str; 0]);
}

/// Where more than the last segment is missing, it takes as many duplicates as ever.
#[test]
fn an_earlier_loss_is_told_as_ever() {
    let (mut script, _) = three(Settings { transmit_fin: true, ..settings() });
    assert_eq!(script.ack(1001, &[(3001, 3002)]), [] as [&str; 0]);
}

#[test]
fn neither_asks_for_room_in_the_window() {
    let both = Settings { transmit_twice: true, transmit_fin: true, initial_window: 3, ..settings() };
    assert_eq!(three(both).1, ["1:1001", "1001:2001", "2001:3001", "2001:3001 again", "fin"]);
}

/// A flow of six segments whose last is lost so often: how long until all has arrived, in ms.
fn flow(config: &TcpConfig, copies_lost: u32) -> u64 {
    let (mut sender, mut receiver) =
        (Connection::connect(config.resolve(1500), Time::ZERO, 1), Connection::listen(config.resolve(1500), 2));
    sender.write(Time::ZERO, 6 * MSS);
    sender.close();
    let (mut now, mut lost) = (Time::ZERO, 0);
    let mut air: Vec<(Time, bool, transport::Segment)> = Vec::new();
    while receiver.delivered_bytes() < 6 * MSS {
        assert!(now < at(20_000), "{config:?}");
        while let Some(sent) = sender.poll_transmit(now) {
            let last = sent.segment.len > 0 && sent.segment.seq == 5 * MSS + 1;
            if last && lost < copies_lost {
                lost += 1;
            } else {
                air.push((now + ms(50), true, sent.segment));
            }
        }
        while let Some(sent) = receiver.poll_transmit(now) {
            air.push((now + ms(50), false, sent.segment));
        }
        let timers = [sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten();
        now = air.iter().map(|segment| segment.0).chain(timers).min().expect("something to come").max(now);
        let due = air.extract_if(.., |segment| segment.0 <= now).collect::<Vec<_>>();
        for (_, forward, segment) in due {
            if forward { receiver.handle_segment(now, &segment) } else { sender.handle_segment(now, &segment) }
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        sender.check();
    }
    now.since(at(100)).as_nanos() / 1_000_000 // after the handshake
}

#[test]
fn every_stack_saves_the_time_out() {
    for profile in Profile::ALL {
        let with = |transmit_twice, transmit_fin| TcpConfig {
            profile,
            mss: Some(Bytes::new(MSS)),
            initial_window: Some(6),
            transmit_twice: Some(transmit_twice),
            transmit_fin: Some(transmit_fin),
            ..TcpConfig::default()
        };
        let plain = flow(&with(false, false), 1);
        assert!(plain > 160, "{profile:?}: a time-out or a probe, {plain} ms");
        assert_eq!(flow(&with(true, false), 1), 50, "{profile:?}: the copy arrives");
        // The FIN's acknowledgment is back after a round trip, and what it asks for half of one later.
        let told = flow(&with(false, true), 1);
        assert_eq!(told, 150, "{profile:?}");
        assert_eq!(flow(&with(true, true), 2), 150, "{profile:?}: both copies are lost");
        for (twice, fin) in [(false, true), (true, false), (true, true)] {
            assert_eq!(flow(&with(twice, fin), 0), 50, "{profile:?}: without loss nothing waits");
        }
    }
}
