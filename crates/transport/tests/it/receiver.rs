//! The receive half: what is acknowledged when, and with which SACK blocks.

use crate::util::{MSS, Script, ms, no_sack, settings};
use proptest::prelude::*;
use rangemap::RangeSet;
use transport::{DelayedAck, Flags, Profile, Segment, Settings};
use units::Bytes;

/// A receiver whose left edge is `edge`.
fn receiver_at(edge: u64, settings: Settings) -> Script {
    let mut script = Script::receiver(settings);
    script.data(1, edge as u32 - 1);
    script
}

/// RFC 2018 section 7, case 2: the first of eight segments is lost.
#[test]
fn rfc_2018_first_segment_lost() {
    let mut script = receiver_at(5000, settings());
    for number in 1..8 {
        let seq = 5000 + 500 * number;
        assert_eq!(script.data(seq, 500), [format!("ack 5000 sack 5500:{}", seq + 500)]);
    }
    assert_eq!(script.data(5000, 500), ["ack 9000"]);
}

/// RFC 2018 section 7, case 3: the second, fourth, sixth and eighth are lost.
#[test]
fn rfc_2018_every_other_segment_lost() {
    let mut script = receiver_at(5000, settings());
    assert_eq!(script.data(5000, 500), ["ack 5500"]);
    assert_eq!(script.data(6000, 500), ["ack 5500 sack 6000:6500"]);
    assert_eq!(script.data(7000, 500), ["ack 5500 sack 7000:7500 6000:6500"]);
    assert_eq!(script.data(8000, 500), ["ack 5500 sack 8000:8500 7000:7500 6000:6500"]);
    assert_eq!(script.data(6500, 500), ["ack 5500 sack 6000:7500 8000:8500"]);
    assert_eq!(script.data(5500, 500), ["ack 7500 sack 8000:8500"]);
}

/// Merged blocks move to the front, and no more than four (three with timestamps) are told.
#[test]
fn sack_blocks_are_newest_first() {
    let mut script = receiver_at(301, settings());
    script.data(501, 100);
    assert_eq!(script.data(401, 100), ["ack 301 sack 401:601"]);
    assert_eq!(script.data(601, 100), ["ack 301 sack 401:701"]);
    assert_eq!(script.data(901, 100), ["ack 301 sack 901:1001 401:701"]);
    script.data(1201, 100);
    assert_eq!(script.data(1401, 100), ["ack 301 sack 1401:1501 1201:1301 901:1001 401:701"]);
    assert_eq!(script.data(301, 100), ["ack 701 sack 1401:1501 1201:1301 901:1001"]);
    assert_eq!(script.data(801, 100), ["ack 701 sack 801:1001 1401:1501 1201:1301"]);
    assert_eq!(script.data(1301, 100), ["ack 701 sack 1201:1501 801:1001"]);
    script.data(2001, 100);
    script.data(3001, 100);
    assert_eq!(script.data(4001, 100), ["ack 701 sack 4001:4101 3001:3101 2001:2101 1201:1501"]);
}

#[test]
fn three_blocks_beside_timestamps() {
    let mut script = Script::receiver(Settings { timestamps: true, ..settings() });
    for (value, seq) in [(1, 1001), (2, 3001), (3, 5001), (4, 7001)] {
        script.stamped(seq, 1000, value);
    }
    let last = script.last.unwrap();
    assert_eq!(last.sack.as_slice(), [(7001, 8001), (5001, 6001), (3001, 4001)]);
    assert_eq!(last.header_bytes(), 20 + 20 + 12 + 28);
}

#[test]
fn without_sack_there_are_no_blocks() {
    let mut script = Script::receiver(no_sack());
    assert_eq!(script.data(1001, 1000), ["ack 1"]);
    assert_eq!(script.data(1, 1000), ["ack 2001"]);
}

/// RFC 9293 section 3.10.7.4, RFC 5681 section 4.2.
#[test]
fn duplicates_and_gaps_are_acknowledged_at_once() {
    let mut script = Script::receiver(Settings { delayed_ack: DelayedAck::After(ms(40)), ..settings() });
    assert!(script.data(1, 1000).is_empty());
    assert_eq!(script.data(1, 1000), ["ack 1001"], "a duplicate");
    assert_eq!(script.data(2001, 1000), ["ack 1001 sack 2001:3001"], "out of order");
    assert_eq!(script.data(4001, 1000), ["ack 1001 sack 4001:5001 2001:3001"]);
    assert_eq!(script.data(1001, 1000), ["ack 3001 sack 4001:5001"], "fills in part");
    assert_eq!(script.data(3001, 1000), ["ack 5001"], "fills in whole");
}

/// RFC 1122 section 4.2.3.2: every second full segment, or after the delay.
#[test]
fn delayed_acknowledgments() {
    let mut script = Script::receiver(Settings { delayed_ack: DelayedAck::After(ms(40)), ..settings() });
    assert!(script.data(1, 1000).is_empty());
    assert_eq!(script.after(10).data(1001, 1000), ["ack 2001"]);
    assert_eq!(script.connection.poll_timeout(), None);
    assert!(script.data(2001, 1000).is_empty());
    assert_eq!(script.timeout(), (40, vec!["ack 3001".to_owned()]));
    assert!(script.data(3001, 200).is_empty());
    assert!(script.after(30).data(3201, 1000).is_empty(), "less than two full segments");
    assert_eq!(script.timeout(), (10, vec!["ack 4201".to_owned()]), "counted from the first");
    assert!(script.data(4201, 1000).is_empty());
    script.write(300);
    assert_eq!(script.sends(), ["1:301"], "rides on data");
    assert_eq!(script.last.unwrap().ack, 5201);
    let fin =
        Segment { seq: 5201, ack: 301, len: 10, window: 65_535, flags: Flags::ACK | Flags::FIN, ..Segment::default() };
    assert_eq!(script.handle(fin), ["ack 5212"], "a FIN does not wait");
}

/// RFC 7323 section 4.3: the timestamp of the earliest segment that is not acknowledged.
#[test]
fn rfc_7323_delayed_acknowledgments_echo_the_first() {
    let mut script =
        Script::receiver(Settings { timestamps: true, delayed_ack: DelayedAck::After(ms(40)), ..settings() });
    script.stamped(1, 500, 1);
    assert_eq!(script.stamped(501, 10, 2).or(script.stamped(511, 500, 3)), Some(1));
}

/// RFC 7323 section 4.3: the timestamp of the last segment that advanced the window.
#[test]
fn rfc_7323_out_of_order_segments_echo_the_last_in_order() {
    let mut script = Script::receiver(Settings { timestamps: true, ..settings() });
    let (a, b, c, d, e) = (1, 1001, 2001, 3001, 4001);
    let echoes = [(a, 1), (c, 3), (b, 2), (e, 5), (d, 4)].map(|(seq, value)| script.stamped(seq, 1000, value).unwrap());
    assert_eq!(echoes, [1, 1, 2, 2, 4]);
}

/// RFC 7323 section 5.3: an old segment is acknowledged and dropped.
#[test]
fn paws_refuses_old_timestamps() {
    let mut script = Script::receiver(Settings { timestamps: true, ..settings() });
    script.stamped(1, 1000, 10);
    assert_eq!(script.stamped(1001, 1000, 9), Some(10));
    assert_eq!(script.connection.delivered_bytes(), 1000);
    script.stamped(1001, 1000, 10);
    assert_eq!(script.connection.delivered_bytes(), 2000);
}

/// Linux accepts data whose timestamp is older by one (`tcp_paws_check` with `TCP_PAWS_WINDOW`), and keeps the newer.
#[test]
fn paws_as_in_linux_leaves_a_tick() {
    let mut script = Script::receiver(Settings { timestamps: true, profile: Profile::Linux, ..settings() });
    script.stamped(1, 1000, 10);
    assert_eq!(script.stamped(1001, 1000, 8), Some(10));
    assert_eq!(script.connection.delivered_bytes(), 1000);
    assert_eq!(script.stamped(1001, 1000, 9), Some(10));
    assert_eq!(script.connection.delivered_bytes(), 2000);
}

/// A dummy is answered wherever it comes, and moves neither TS.Recent nor what is reported.
#[test]
fn a_dummy_overtakes_data_and_is_overtaken() {
    let mut script = Script::receiver(Settings { timestamps: true, dsack: true, ..settings() });
    let dummy = |seq, value| Segment {
        seq,
        ack: 1,
        window: 65_535,
        len: 100,
        flags: Flags::ACK | Flags::DUMMY,
        timestamps: Some((value, 0)),
        ..Segment::default()
    };
    assert_eq!(script.handle(dummy(1, 7)), ["ack 1"]);
    assert_eq!(script.stamped(1, 100, 5), Some(5), "the data that the dummy overtook are no older than others");
    assert_eq!(script.stamped(101, 100, 8), Some(8));
    assert_eq!(script.handle(dummy(1, 6)), ["ack 201"], "one that comes last is no duplicate");
    assert!(script.last.expect("an answer").flags.has(Flags::DUMMY));
    assert_eq!(script.stamped(201, 100, 9), Some(9));
}

#[test]
fn data_beyond_the_window_are_refused() {
    let mut script = Script::receiver(Settings { receive_buffer: units::Bytes::new(4096), ..settings() });
    assert_eq!(script.data(4098, 1000), ["ack 1"]);
    assert_eq!(script.data(3097, 1500), ["ack 1 sack 3097:4097"], "the rest is cut off");
    assert!(!script.connection.has_received(4097));
}

/// Linux's tcp_cleanup_rbuf: freed room is told at once when the window is twice what the peer knows of it, however
/// small the pieces that the application reads.
#[test]
fn reads_in_small_pieces_tell_of_freed_room() {
    let after_reads_of = |piece: u64, fin: bool| {
        let mut script = Script::receiver(Settings { receive_buffer: Bytes::new(20_000), ..settings() });
        script.connection.hold_reads();
        for number in 0..15 {
            script.data(1 + number * MSS, MSS as u32);
        }
        if fin {
            script.handle(Segment {
                seq: 1 + 15 * MSS,
                ack: 1,
                window: 65_535,
                flags: Flags::ACK | Flags::FIN,
                ..Segment::default()
            });
        }
        let known = script.last.expect("an acknowledgment").window;
        assert_eq!(known, 5_000 - u64::from(fin));
        let mut told = Vec::new();
        for _ in 0..15_000 / piece {
            script.connection.read(piece);
            if !script.sends().is_empty() {
                told.push(script.last.expect("a segment").window);
            }
        }
        told
    };
    for piece in [100, 1_000, 5_000] {
        assert_eq!(after_reads_of(piece, false), [10_000, 20_000], "{piece} B");
    }
    assert_eq!(after_reads_of(15_000, false), [20_000]);
    assert!(after_reads_of(1_000, true).is_empty(), "nothing more comes after a FIN");
}

#[test]
fn all_orders_of_five_segments() {
    let mut orders = Vec::new();
    permutations(&mut [0, 1, 2, 3, 4], 0, &mut orders);
    assert_eq!(orders.len(), 120);
    for order in orders {
        let mut script = Script::receiver(settings());
        let mut arrived: RangeSet<u64> = RangeSet::new();
        for number in &order {
            let seq = 1 + 1000 * number;
            arrived.insert(seq..seq + 1000);
            let answer = script.data(seq, 1000);
            assert_eq!(answer.len(), 1, "an answer each time");
            assert_reassembly(&script, &arrived, 6000);
            let blocks: RangeSet<u64> = script.last.unwrap().sack.as_slice().iter().map(|b| b.0..b.1).collect();
            let beyond: RangeSet<u64> = arrived.iter().filter(|r| r.start > 1).cloned().collect();
            assert_eq!(blocks, beyond, "{order:?}");
        }
        assert_eq!(script.connection.delivered_bytes(), 5000);
    }
}

fn permutations(items: &mut [u64; 5], from: usize, into: &mut Vec<[u64; 5]>) {
    if from == items.len() {
        into.push(*items);
        return;
    }
    for other in from..items.len() {
        items.swap(from, other);
        permutations(items, from + 1, into);
        items.swap(from, other);
    }
}

/// The receiver holds exactly `arrived`, and has delivered what is in order.
fn assert_reassembly(script: &Script, arrived: &RangeSet<u64>, end: u64) {
    let next = arrived.get(&1).map_or(1, |range| range.end);
    assert_eq!(script.connection.delivered_bytes(), next - 1);
    assert_eq!(script.last.unwrap().ack, next);
    for seq in 1..end {
        assert_eq!(script.connection.has_received(seq), arrived.contains(&seq), "byte {seq}");
    }
}

proptest! {
    /// Segments that overlap, repeat and come in any order, against a set of ranges.
    #[test]
    fn reassembly(segments in prop::collection::vec((1u64..3000, 1u32..400), 1..80)) {
        let mut script = Script::receiver(settings());
        let mut arrived: RangeSet<u64> = RangeSet::new();
        for (seq, len) in segments {
            arrived.insert(seq..seq + u64::from(len));
            prop_assert_eq!(script.data(seq, len).len(), 1);
            assert_reassembly(&script, &arrived, 3500);
            let next = script.last.unwrap().ack;
            let sack = script.last.unwrap().sack;
            for block in sack.as_slice() {
                prop_assert!(arrived.iter().any(|range| (range.start, range.end) == *block), "{:?} has arrived", block);
                prop_assert!(block.0 > next);
            }
            if seq > next {
                prop_assert!(sack.as_slice()[0].0 <= seq && seq < sack.as_slice()[0].1, "the newest is first");
            }
        }
    }
}
