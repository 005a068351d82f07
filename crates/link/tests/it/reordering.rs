//! The reordering buffer: the transitions of figure 4.6 one by one, and its promises for any order of events.

use std::collections::BTreeMap;

use crate::common::buffer::{Buffer, HANDLES, NOTHING};
use link::{Ecn, PacketRef, ReorderingConfig};
use proptest::prelude::*;
use units::Duration;

/// Handles of packets carry flow and number, so that an output tells which it was.
fn packet(user: u32, flow: u32, sequence: u64) -> PacketRef {
    PacketRef { id: flow * HANDLES + sequence as u32, flow, user, class: 0, size: 1115, ecn: Ecn::NotEct }
}

fn with_room(capacity: u32) -> Buffer {
    Buffer::new(ReorderingConfig { capacity, ..ReorderingConfig::default() })
}

fn flushes(buffer: &Buffer) -> (u64, u64) {
    (buffer.machine.counters().flushed_full, buffer.machine.counters().flushed_failed)
}

#[test]
fn in_sequence_is_forwarded() {
    let mut buffer = with_room(125);
    assert_eq!(buffer.decoded(0, packet(0, 0, 0)), [0]);
    assert_eq!(buffer.decoded(1, packet(0, 0, 1)), [1]);
    assert_eq!(buffer.machine.counters().held_packets, 0);
}

#[test]
fn out_of_sequence_is_stored_until_the_missing_one_comes() {
    let mut buffer = with_room(125);
    assert_eq!(buffer.decoded(0, packet(0, 0, 1)), NOTHING);
    assert_eq!(buffer.decoded(1, packet(0, 0, 3)), NOTHING);
    assert_eq!(buffer.machine.stored(), 2);
    assert_eq!(buffer.decoded(10, packet(0, 0, 0)), [0, 1], "2 is still missing");
    assert_eq!(buffer.decoded(20, packet(0, 0, 2)), [2, 3]);
    let counters = buffer.machine.counters();
    assert_eq!((counters.held_packets, counters.released_packets, counters.stored_max), (2, 2, 2));
    assert_eq!(counters.wait, Duration::from_millis(10 + 19));
}

#[test]
fn a_packet_that_finds_the_buffer_full_empties_it_in_order() {
    let mut buffer = with_room(3);
    for sequence in [5, 2, 3] {
        assert_eq!(buffer.decoded(0, packet(0, 0, sequence)), NOTHING);
    }
    assert_eq!(flushes(&buffer), (0, 0), "full, and nobody needs room yet");
    assert_eq!(buffer.decoded(1, packet(0, 0, 4)), [2, 3, 4, 5], "0 and 1 are missing");
    assert_eq!(flushes(&buffer), (1, 0));
    assert_eq!(buffer.machine.stored(), 0);
    assert_eq!(buffer.decoded(2, packet(0, 0, 6)), [6], "the expected number is past the highest forwarded");
    assert_eq!(buffer.decoded(3, packet(0, 0, 1)), [1], "late ones are forwarded at once");
    assert_eq!(buffer.machine.counters().late_packets, 1);
    assert_eq!(buffer.machine.counters().held_packets, 3);
}

#[test]
fn a_full_buffer_still_accepts_what_is_in_sequence() {
    let mut buffer = with_room(2);
    assert_eq!(buffer.decoded(0, packet(0, 0, 1)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(0, 0, 2)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(0, 0, 0)), [0, 1, 2]);
    assert_eq!(flushes(&buffer), (0, 0));
}

#[test]
fn a_decoding_failure_empties_the_buffer() {
    let mut buffer = with_room(125);
    for sequence in [2, 4] {
        assert_eq!(buffer.decoded(0, packet(0, 0, sequence)), NOTHING);
    }
    assert_eq!(buffer.failed(1, packet(0, 0, 0)), [2, 4]);
    assert_eq!(flushes(&buffer), (0, 1));
    assert_eq!(buffer.decoded(2, packet(0, 0, 3)), [3], "late");
    assert_eq!(buffer.decoded(2, packet(0, 0, 5)), [5]);
    assert_eq!(buffer.decoded(2, packet(0, 0, 1)), [1], "late");
}

#[test]
fn nobody_waits_for_a_packet_that_failed_when_the_buffer_was_empty() {
    let mut buffer = with_room(125);
    assert_eq!(buffer.decoded(0, packet(0, 0, 0)), [0]);
    assert_eq!(buffer.failed(1, packet(0, 0, 1)), NOTHING);
    assert_eq!(buffer.decoded(2, packet(0, 0, 2)), [2]);
    assert_eq!(flushes(&buffer), (0, 0), "there was nothing to empty");
}

#[test]
fn flows_have_numbers_of_their_own_and_share_the_users_buffer() {
    let mut buffer = with_room(2);
    assert_eq!(buffer.decoded(0, packet(0, 0, 1)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(0, 1, 0)), [10_000]);
    assert_eq!(buffer.decoded(0, packet(0, 1, 2)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(0, 1, 3)), [1, 10_002, 10_003], "the capacity is the user's");
    assert_eq!(buffer.decoded(1, packet(0, 0, 3)), NOTHING);
    assert_eq!(buffer.failed(2, packet(0, 1, 4)), [3], "a failure does not tell its flow");
    assert_eq!(flushes(&buffer), (1, 1));
}

#[test]
fn users_have_terminals_of_their_own() {
    let mut buffer = with_room(2);
    assert_eq!(buffer.decoded(0, packet(0, 0, 1)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(0, 0, 2)), NOTHING);
    assert_eq!(buffer.decoded(0, packet(1, 1, 1)), NOTHING);
    assert_eq!(buffer.failed(0, packet(2, 2, 0)), NOTHING);
    assert_eq!(buffer.failed(0, packet(1, 1, 0)), [10_001]);
    assert_eq!(buffer.machine.stored(), 2);
    assert_eq!(buffer.machine.counters().stored_max, 2);
}

#[test]
fn without_room_or_without_buffer_everything_passes() {
    let none = Buffer::new(ReorderingConfig { enabled: false, ..ReorderingConfig::default() });
    for mut buffer in [with_room(0), none] {
        assert_eq!(buffer.decoded(0, packet(0, 0, 4)), [4]);
        assert_eq!(buffer.failed(0, packet(0, 0, 1)), NOTHING);
        assert_eq!(buffer.decoded(0, packet(0, 0, 0)), [0]);
        assert_eq!(buffer.machine.stored(), 0);
    }
}

/// What the texts say, with maps and no cleverness.
#[derive(Default)]
struct Reference {
    expected: BTreeMap<(u32, u32), u64>,
    stored: BTreeMap<(u32, u32), BTreeMap<u64, u32>>,
}

impl Reference {
    fn flush(&mut self, user: u32) -> Vec<u32> {
        let mut forwarded = Vec::new();
        for (&key, packets) in self.stored.iter_mut().filter(|(key, _)| key.0 == user) {
            if let Some((&highest, _)) = packets.last_key_value() {
                self.expected.insert(key, highest + 1);
            }
            forwarded.extend(std::mem::take(packets).into_values());
        }
        forwarded
    }

    fn decoded(&mut self, user: u32, flow: u32, sequence: u64, capacity: usize) -> Vec<u32> {
        let id = packet(user, flow, sequence).id;
        let expected = self.expected.entry((user, flow)).or_default();
        if sequence < *expected {
            return vec![id];
        }
        self.stored.entry((user, flow)).or_default().insert(sequence, id);
        if sequence > *expected {
            let held: usize =
                self.stored.iter().filter(|(key, _)| key.0 == user).map(|(_, packets)| packets.len()).sum();
            return if held > capacity { self.flush(user) } else { Vec::new() };
        }
        let packets = self.stored.get_mut(&(user, flow)).unwrap();
        std::iter::from_fn(|| packets.remove(expected).inspect(|_| *expected += 1)).collect()
    }

    fn failed(&mut self, user: u32, flow: u32, sequence: u64) -> Vec<u32> {
        let forwarded = self.flush(user);
        let expected = self.expected.entry((user, flow)).or_default();
        *expected = (*expected).max(sequence + 1);
        forwarded
    }
}

/// Fates of packets of three flows (two of user 0, one of user 1), in an order disturbed by `reach` positions.
fn events() -> impl Strategy<Value = Vec<(u32, u32, u64, bool)>> {
    let fates = prop::collection::vec((0u32..3, 0u32..40, any::<u8>()), 1..300);
    (fates, 1u32..60, 0u8..60).prop_map(|(fates, reach, failures)| {
        let mut next = [0u64; 3];
        let numbered = fates.into_iter().enumerate().map(|(position, (flow, delay, chance))| {
            let sequence = next[flow as usize];
            next[flow as usize] += 1;
            (position as u32 + delay % reach, (flow / 2, flow, sequence, chance >= failures))
        });
        let mut numbered: Vec<_> = numbered.collect();
        numbered.sort_by_key(|entry| entry.0);
        numbered.into_iter().map(|entry| entry.1).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn does_what_the_texts_say(events in events(), capacity in 0u32..40) {
        let mut buffer = with_room(capacity);
        let mut reference = Reference::default();
        for (step, (user, flow, sequence, decodes)) in (0..).zip(events) {
            let sent = packet(user, flow, sequence);
            let (forwarded, expected) = if decodes {
                (buffer.decoded(step, sent), reference.decoded(user, flow, sequence, capacity as usize))
            } else {
                (buffer.failed(step, sent), reference.failed(user, flow, sequence))
            };
            // Which flow of a user is flushed first is left open.
            let sorted = |mut ids: Vec<u32>| { ids.sort_by_key(|id| id / HANDLES); ids };
            prop_assert_eq!(sorted(forwarded), sorted(expected));
        }
    }

    #[test]
    fn every_packet_leaves_once_and_in_order_unless_flushed(events in events(), capacity in 0u32..40) {
        let mut buffer = with_room(capacity);
        let mut left = Vec::new();
        let mut most = 0;
        for &(user, flow, sequence, decodes) in &events {
            left.extend(if decodes {
                buffer.decoded(0, packet(user, flow, sequence))
            } else {
                buffer.failed(0, packet(user, flow, sequence))
            });
            most = most.max(buffer.machine.stored());
        }
        prop_assert_eq!(buffer.machine.stored(), 0, "nothing waits for what cannot come");
        prop_assert!(most <= 2 * capacity as usize);
        let decodes = events.iter().filter(|event| event.3);
        let mut decoded: Vec<u32> = decodes.map(|event| packet(event.0, event.1, event.2).id).collect();
        let counters = *buffer.machine.counters();
        if counters.late_packets == 0 && counters.flushed_failed == 0 && counters.flushed_full == 0 {
            for flow in 0..3 {
                prop_assert!(left.iter().filter(|&&id| id / HANDLES == flow).is_sorted());
            }
        }
        decoded.sort_unstable();
        left.sort_unstable();
        prop_assert_eq!(left, decoded);
        // A packet that finds the buffer full leaves at once; all others that were stored were counted as held.
        prop_assert_eq!(counters.released_packets, counters.held_packets + counters.flushed_full);
    }
}
