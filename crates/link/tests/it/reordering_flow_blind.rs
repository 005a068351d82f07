//! The reordering buffer that works on the numbers of the flow: section 4.4.1 of the thesis to the letter.

use std::collections::BTreeMap;

use crate::common::buffer::{Buffer, NOTHING};
use crate::common::config;
use link::{Ecn, FlowNumbers, Numbering, PacketRef, ReorderingConfig};
use proptest::prelude::*;
use units::Duration;

/// Segments of so many bytes: a packet's numbers begin with the product.
const BYTES: u64 = 1000;

fn with_room(capacity: u32) -> Buffer {
    Buffer::new(ReorderingConfig { capacity, numbering: Numbering::FlowBlind, ..ReorderingConfig::default() })
}

/// The next packet comes to the satellite, with the handle `id` and this position in its connection.
fn offer(buffer: &mut Buffer, id: u32, user: u32, connection: u32, position: u64) -> PacketRef {
    let packet = PacketRef { id, flow: connection, user, class: 0, size: 1040, ecn: Ecn::NotEct };
    let (begin, end) = (position * BYTES, (position + 1) * BYTES);
    buffer.machine.note_numbers(&packet, FlowNumbers { connection, begin, end });
    packet
}

/// Packets of connection 0, from the first on: their handles are their places.
fn offer_all(buffer: &mut Buffer, count: u32) -> Vec<PacketRef> {
    (0..count).map(|id| offer(buffer, id, 0, 0, u64::from(id))).collect()
}

#[test]
fn a_flow_waits_for_a_packet_that_failed_until_it_is_sent_again() {
    let mut buffer = with_room(125);
    let sent = offer_all(&mut buffer, 4);
    assert_eq!(buffer.decoded(0, sent[0]), [0]);
    assert_eq!(buffer.failed(1, sent[1]), NOTHING, "nothing is stored");
    assert_eq!(buffer.decoded(2, sent[2]), NOTHING, "nobody knows that 1 was the one that failed");
    assert_eq!(buffer.decoded(3, sent[3]), NOTHING);
    let again = offer(&mut buffer, 9, 0, 0, 1);
    assert_eq!(buffer.decoded(100, again), [9, 2, 3]);
    let counters = buffer.machine.counters();
    assert_eq!((counters.held_packets, counters.flushed_failed, counters.late_packets), (2, 0, 0));
    assert_eq!(counters.wait, Duration::from_millis(98 + 97));
}

#[test]
fn the_next_failure_of_whatever_packet_empties_the_buffer() {
    let mut buffer = with_room(125);
    let sent = offer_all(&mut buffer, 5);
    assert_eq!(buffer.failed(0, sent[0]), NOTHING);
    assert_eq!(buffer.decoded(1, sent[1]), NOTHING);
    assert_eq!(buffer.decoded(1, sent[2]), NOTHING);
    assert_eq!(buffer.failed(2, sent[4]), [1, 2]);
    assert_eq!(buffer.decoded(3, sent[3]), [3], "expected is the number after the highest forwarded");
    assert_eq!(buffer.machine.counters().flushed_failed, 1);
    let again = offer(&mut buffer, 9, 0, 0, 0);
    assert_eq!(buffer.decoded(4, again), [9], "late");
    assert_eq!(buffer.machine.counters().late_packets, 1);
}

#[test]
fn a_packet_that_finds_the_buffer_full_empties_it() {
    let mut buffer = with_room(2);
    let sent = offer_all(&mut buffer, 4);
    assert_eq!(buffer.decoded(0, sent[3]), NOTHING);
    assert_eq!(buffer.decoded(0, sent[1]), NOTHING);
    assert_eq!(buffer.decoded(1, sent[2]), [1, 2, 3]);
    assert_eq!(buffer.machine.counters().flushed_full, 1);
    assert_eq!(buffer.machine.stored(), 0);
}

#[test]
fn copies_and_packets_without_numbers_pass() {
    let mut buffer = with_room(125);
    let sent = offer_all(&mut buffer, 3);
    assert_eq!(buffer.decoded(0, sent[2]), NOTHING);
    let copy = offer(&mut buffer, 9, 0, 0, 2);
    assert_eq!(buffer.decoded(1, copy), [9], "as is what is there twice");
    let bare = PacketRef { id: 8, flow: 0, user: 0, class: 0, size: 40, ecn: Ecn::NotEct };
    buffer.machine.note_numbers(&bare, FlowNumbers { connection: 0, begin: 5000, end: 5000 });
    assert_eq!(buffer.decoded(2, bare), [8], "no flow waits for it");
    assert_eq!(buffer.machine.stored(), 1);
}

#[test]
fn a_segment_cut_anew_closes_the_gap() {
    let mut buffer = with_room(125);
    let sent = offer_all(&mut buffer, 3);
    assert_eq!(buffer.decoded(0, sent[0]), [0]);
    assert_eq!(buffer.decoded(0, sent[2]), NOTHING);
    let long = PacketRef { id: 7, ..sent[1] };
    buffer.machine.note_numbers(&long, FlowNumbers { connection: 0, begin: 500, end: 2500 });
    assert_eq!(buffer.decoded(1, long), [7, 2], "it begins below what is expected and ends within what is stored");
    let next = offer(&mut buffer, 8, 0, 0, 3);
    assert_eq!(buffer.decoded(2, next), [8]);
}

#[test]
fn connections_have_numbers_of_their_own_and_users_terminals() {
    let mut buffer = with_room(125);
    let gap = |buffer: &mut Buffer, id, user, connection| {
        offer(buffer, id, user, connection, 5);
        let second = offer(buffer, id + 1, user, connection, 6);
        assert_eq!(buffer.decoded(0, second), NOTHING, "the numbers of a connection begin with its first packet");
    };
    gap(&mut buffer, 0, 0, 0);
    gap(&mut buffer, 2, 0, 1);
    gap(&mut buffer, 4, 1, 2);
    let other = offer(&mut buffer, 6, 0, 3, 0);
    assert_eq!(buffer.failed(1, other), [1, 3], "all connections of the user, and no other user's");
}

#[test]
fn a_handover_that_loses_what_was_begun_empties_the_buffer() {
    let mut buffer = with_room(125);
    let sent = offer_all(&mut buffer, 3);
    assert_eq!(buffer.decoded(0, sent[1]), NOTHING);
    assert_eq!(buffer.begun_at(1, &[3]), [1]);
    assert_eq!(buffer.decoded(2, sent[2]), [2]);
}

#[test]
fn fragments_are_refused() {
    let last_hop = |numbering: &str, enabled: bool| {
        config(serde_json::json!({
            "rate": "10 Mbit/s", "delay": "10 ms", "segmentation": {}, "harq": { "kind": "adaptive" },
            "reordering": { "numbering": numbering, "enabled": enabled },
        }))
    };
    let rtt = Duration::from_millis(160);
    let error = last_hop("flow-blind", true).check(rtt, 1).unwrap_err();
    assert_eq!(error.field, "reordering.numbering");
    assert!(error.message.contains("fragments") && error.message.contains("link"), "{}", error.message);
    assert!(last_hop("flow-blind", false).check(rtt, 1).is_ok(), "no buffer, no numbers");
    assert!(last_hop("link", true).check(rtt, 1).is_ok());
}

/// What becomes of transmissions of two connections of one user: connection, position in it, whether it is decoded. A
/// position may come more than once, and some never do.
fn events() -> impl Strategy<Value = Vec<(u32, u64, bool)>> {
    prop::collection::vec((0u32..2, 0u64..30, 0u8..100), 1..200).prop_map(|drawn| {
        drawn.into_iter().map(|(connection, position, chance)| (connection, position, chance > 10)).collect()
    })
}

/// The texts with maps by position.
#[derive(Default)]
struct Reference {
    expected: BTreeMap<u32, u64>,
    stored: BTreeMap<(u32, u64), u32>,
}

impl Reference {
    fn flush(&mut self) -> Vec<u32> {
        for &(connection, position) in self.stored.keys() {
            self.expected.insert(connection, position + 1);
        }
        std::mem::take(&mut self.stored).into_values().collect()
    }

    fn decoded(&mut self, id: u32, connection: u32, position: u64, capacity: usize) -> Vec<u32> {
        let expected = self.expected.get_mut(&connection).expect("an offered connection");
        if position < *expected || self.stored.contains_key(&(connection, position)) {
            return vec![id];
        }
        self.stored.insert((connection, position), id);
        if position > *expected {
            return if self.stored.len() > capacity { self.flush() } else { Vec::new() };
        }
        std::iter::from_fn(|| self.stored.remove(&(connection, *expected)).inspect(|_| *expected += 1)).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn does_what_the_text_says_and_loses_nothing(events in events(), capacity in 0u32..40) {
        let mut buffer = with_room(capacity);
        let mut reference = Reference::default();
        let (mut decoded, mut left) = (Vec::new(), Vec::new());
        for (step, &(connection, position, decodes)) in events.iter().enumerate() {
            let id = step as u32;
            let packet = offer(&mut buffer, id, 0, connection, position);
            reference.expected.entry(connection).or_insert(position);
            let before = *buffer.machine.counters();
            let (forwarded, expected) = if decodes {
                decoded.push(id);
                (buffer.decoded(step as u64, packet), reference.decoded(id, connection, position, capacity as usize))
            } else {
                (buffer.failed(step as u64, packet), reference.flush())
            };
            prop_assert_eq!(&forwarded, &expected);
            // What leaves together leaves in the order of its connection.
            for of in 0..2 {
                let positions = forwarded.iter().map(|&id| events[id as usize]).filter(|event| event.0 == of);
                prop_assert!(positions.map(|event| event.1).is_sorted());
            }
            let flushed = buffer.machine.counters().flushed_full > before.flushed_full;
            prop_assert!(buffer.machine.stored() <= capacity as usize && (!flushed || buffer.machine.stored() == 0));
            left.extend(forwarded);
        }
        left.extend(buffer.begun_at(1000, &[]));
        left.sort_unstable();
        prop_assert_eq!(left, decoded, "each packet leaves once");
        prop_assert_eq!(buffer.machine.stored(), 0);
    }
}
