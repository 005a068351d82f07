use super::super::frames::Packet;
use super::*;

fn at(millis: u64) -> Time {
    Time::ZERO + units::Duration::from_millis(millis)
}

/// NewReno with 20 packets sent, one each millisecond, of which the first is lost at 100 ms.
fn reduced() -> Core {
    let config = QuicConfig {
        congestion: serde_json::from_value(serde_json::json!({ "kind": "newreno" })).expect("a kind"),
        initial_window: 20,
        ..QuicConfig::default()
    };
    let mut core = Core::new(Facts { config, mtu: 1200, entropy: 1, clock: Clock::new() });
    for number in 0..20 {
        core.sent(at(number), number, 1200);
    }
    core.lost(at(100), 0, 1200);
    core.congested(at(100), at(0), false, false);
    assert_eq!((core.window(), core.threshold(), core.reductions), (10, Some(10), 1));
    core
}

/// RFC 9002 appendix B.8.
#[test]
fn persistent_congestion_within_a_reduction_leaves_the_threshold() {
    let mut core = reduced();
    core.congested(at(200), at(15), true, false);
    assert_eq!((core.window(), core.threshold(), core.timeouts), (LEAST_WINDOW, Some(10), 1));
    assert_eq!(core.state(), CongestionState::Loss);
}

/// RFC 9002 section 7.3.1: what was sent before a reduction began does not begin another, even when that is over.
#[test]
fn packets_of_before_a_reduction_do_not_begin_another_after_its_end() {
    let mut core = reduced();
    core.sent(at(101), 20, 1200);
    for number in (1..=20).filter(|number| *number != 9) {
        core.acked(number, 1200, if number < 20 { at(number) } else { at(101) });
    }
    core.end_acks(at(201), 1200, false, Some(20));
    assert_eq!((core.state(), core.reductions), (CongestionState::Open, 1));
    let window = core.window();
    core.lost(at(201), 9, 1200);
    core.congested(at(201), at(9), false, false);
    assert_eq!((core.state(), core.window(), core.reductions), (CongestionState::Open, window, 1));
    // One that was sent since does.
    core.sent(at(210), 21, 1200);
    core.congested(at(300), at(210), false, false);
    assert_eq!((core.state(), core.reductions), (CongestionState::Recovery, 2));
}

/// A window counts packets, and the library bytes: it has room for a full one as long as fewer are in flight.
#[test]
fn a_window_holds_as_many_small_datagrams_as_full_ones() {
    let config = QuicConfig { datagrams: true, ..reduced().facts.config };
    let mut core = Core::new(Facts { config, mtu: 1200, entropy: 1, clock: Clock::new() });
    (0..200).for_each(|number| core.sent(at(number), number, 300));
    let (window, room) = (u64::from(core.window()), core.window_bytes() - 1200);
    assert!(room.abs_diff((window - 1) * 300) <= window, "{room} for {window}");
}

/// Sends these packets in one datagram: kind, number and bytes.
fn send(core: &mut Core, now: Time, packets: &[(PacketKind, u64, u16)]) {
    let mut told = [None; 3];
    for &(kind, number, bytes) in packets {
        core.sent(now, number, bytes);
        told[kind.space()] = Some(Packet::numbered(kind, number, bytes.into()));
    }
    core.packets.tell_kinds(now, &told);
}

/// RFC 9002 section 6.4: a packet of the handshake is no longer in flight when its keys are discarded. The library
/// tells it only by the bytes in flight.
#[test]
fn packets_whose_keys_are_discarded_leave_the_count_of_those_in_flight() {
    let mut core = Core::new(reduced().facts);
    send(&mut core, at(0), &[(PacketKind::Handshake, 1, 300)]);
    (0..5).for_each(|number| core.sent(at(1 + number), number, 1200));
    core.acked(0, 1200, at(1));
    core.end_acks(at(100), 4 * 1200 + 300, false, Some(0));
    assert_eq!(core.packets.in_flight, 5);
    core.acked(1, 1200, at(2));
    core.end_acks(at(101), 3 * 1200, false, Some(1));
    assert_eq!(core.packets.in_flight, 3);
    core.lost(at(102), 2, 1200);
    assert_eq!(core.packets.in_flight, 2);
}

/// A client's Finished is sent again after data have left: it is not the oldest in flight when its keys are discarded,
/// and none of the data leave the count for it.
#[test]
fn a_repeated_packet_of_the_handshake_leaves_the_count_and_no_data_do() {
    let mut core = Core::new(reduced().facts);
    send(&mut core, at(0), &[(PacketKind::Handshake, 1, 81), (PacketKind::OneRtt, 0, 1119)]);
    (1..4).for_each(|number| core.sent(at(number), number, 1200));
    send(&mut core, at(50), &[(PacketKind::Handshake, 2, 81), (PacketKind::OneRtt, 4, 1119)]);
    core.sent(at(51), 5, 1200);
    assert_eq!(core.packets.in_flight, 8);
    core.acked(5, 1200, at(51));
    core.end_acks(at(100), 2 * 1119 + 3 * 1200, false, Some(5));
    assert_eq!(core.packets.in_flight, 5);
    for (number, bytes, sent) in [(0, 1119, 0), (1, 1200, 1), (2, 1200, 2), (3, 1200, 3), (4, 1119, 50)] {
        assert_eq!(core.news.delivered, number as u32);
        core.acked(number, bytes, at(sent));
    }
    core.end_acks(at(150), 0, false, Some(5));
    assert_eq!((core.packets.in_flight, core.packets.delivered), (0, 6));
}

/// The first flight of a server: three packets with the same number at the same instant.
#[test]
fn packets_of_a_datagram_with_the_same_number_are_told_apart() {
    let mut core = Core::new(reduced().facts);
    let flight = [(PacketKind::Initial, 0, 142), (PacketKind::Handshake, 0, 222), (PacketKind::OneRtt, 0, 1008)];
    send(&mut core, at(0), &flight);
    core.sent(at(1), 1, 1200);
    core.acked(0, 222, at(0));
    // With an acknowledgment of the client's in a Handshake packet the Initial keys are gone.
    core.end_acks(at(100), 1008 + 1200, false, Some(0));
    assert_eq!(core.packets.in_flight, 2);
    assert_eq!(core.lost(at(101), 0, 1008), Some(PacketKind::OneRtt));
    assert_eq!(core.packets.in_flight, 1);
}

/// RFC 9002 section 2: acknowledgments alone are not in flight, so that none of them is a loss to a controller.
#[test]
fn an_acknowledgment_that_is_lost_counts_for_no_controller() {
    let mut core = reduced();
    let lost = core.packets.lost;
    assert_eq!(core.lost(at(110), 30, 0), None);
    assert_eq!((core.packets.lost, core.news.lost), (lost, 1));
    assert_eq!(core.lost(at(110), 1, 1200), Some(PacketKind::OneRtt));
    assert_eq!((core.packets.lost, core.news.lost), (lost + 1, 2));
}
