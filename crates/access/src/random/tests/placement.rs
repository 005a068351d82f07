//! The placement of packets in slots, and the conservation of packets.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::random::RandomCounters;

fn layouts() -> impl Strategy<Value = RandomLayout> {
    (1u32..50, 1u32..120, any::<bool>()).prop_map(|(timeslots, block_slots, one_amplifier)| RandomLayout {
        timeslots,
        block_slots,
        one_amplifier,
    })
}

fn table(replicas: u32) -> serde_json::Value {
    json!({ "kind": "crdsa", "replicas": replicas })
}

/// Whether a block has as many columns free as a packet has bursts.
fn has_room(layout: RandomLayout, block: u32, columns: &Columns, bursts: u32) -> bool {
    if !layout.one_amplifier {
        return bursts <= layout.block_slots;
    }
    let mut free: Vec<u32> = (0..layout.block_slots)
        .map(|slot| (block * layout.block_slots + slot) % layout.timeslots)
        .filter(|&column| columns.is_free(column))
        .collect();
    free.sort_unstable();
    free.dedup();
    free.len() >= bursts as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_terminal_with_one_amplifier_uses_each_timeslot_once(
        layout in layouts(), replicas in 1u32..9, blocks in 0u32..5, seed in any::<u64>(),
        dedicated in prop::collection::vec((0u32..500, 0u32..20), 3), packets in 1usize..20,
    ) {
        let mut frame = RandomFrame::new(scheme(&table(replicas)), layout);
        let mut rng = rng(seed);
        frame.begin(blocks);
        let (mut added, mut bursts_of) = (0, Vec::new());
        for (first, slots) in dedicated {
            let mut columns = Columns::new(layout.timeslots);
            (first..first + slots).for_each(|slot| _ = columns.take(slot % layout.timeslots));
            let mut used: Vec<bool> = (0..layout.timeslots).map(|column| !columns.is_free(column)).collect();
            for _ in 0..packets {
                let room = (0..blocks).any(|block| has_room(layout, block, &columns, replicas));
                let before = columns.clone();
                prop_assert_eq!(frame.add(&mut columns, &mut rng), room);
                if !room {
                    prop_assert!((0..layout.timeslots).all(|column| columns.is_free(column) == before.is_free(column)));
                    prop_assert_eq!(frame.packets(), added);
                    continue;
                }
                let slots: Vec<usize> = frame.slots_of(added).collect();
                added += 1;
                prop_assert_eq!(slots.len(), replicas as usize);
                let block_of = |slot: &usize| slot / layout.block_slots as usize;
                let block = block_of(&slots[0]);
                prop_assert!(block < blocks as usize && slots.iter().all(|slot| block_of(slot) == block));
                let mut distinct = slots.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), slots.len(), "each burst in a slot of its own");
                if layout.one_amplifier {
                    for slot in &slots {
                        let column = slot % layout.timeslots as usize;
                        prop_assert!(!std::mem::replace(&mut used[column], true), "column {} twice", column);
                        prop_assert!(!columns.is_free(column as u32));
                    }
                    let taken = used.iter().filter(|&&used| used).count() as u32;
                    prop_assert_eq!(columns.free(), layout.timeslots - taken);
                }
                bursts_of.push(slots);
            }
        }
        prop_assert_eq!(frame.packets(), added);
    }

    #[test]
    fn packets_added_together_use_each_timeslot_once(
        timeslots in 1u32..100, block_slots in 1u32..300, one_amplifier in any::<bool>(), replicas in 1u32..5,
        blocks in 0u32..4, wanted in 0u32..30, taken in prop::collection::vec(0u32..100, 0..20), seed in any::<u64>(),
    ) {
        let layout = RandomLayout { timeslots, block_slots, one_amplifier };
        let mut columns = Columns::new(timeslots);
        taken.iter().for_each(|column| _ = columns.take(column % timeslots));
        let mut frame = RandomFrame::new(scheme(&table(replicas)), layout);
        frame.begin(blocks);
        let Some(room) = frame.together().map(|replicas| columns.free() / replicas) else {
            prop_assert!(!one_amplifier || block_slots < timeslots || blocks == 0);
            return Ok(());
        };
        let mut expected: Vec<bool> = (0..timeslots).map(|column| columns.is_free(column)).collect();
        let packets = room.min(wanted);
        frame.add_all(packets, &mut columns, &mut rng(seed));
        prop_assert_eq!(frame.packets(), packets as usize);
        for packet in 0..packets {
            let slots: Vec<usize> = frame.slots_of(packet as usize).collect();
            prop_assert_eq!(slots.len(), replicas as usize);
            let block = slots[0] / block_slots as usize;
            prop_assert!(block < blocks as usize);
            for slot in slots {
                prop_assert_eq!(slot / block_slots as usize, block);
                prop_assert!(std::mem::replace(&mut expected[slot % timeslots as usize], false), "slot {}", slot);
            }
        }
        prop_assert_eq!(columns.free() as usize, expected.iter().filter(|&&free| free).count());
        prop_assert!((0..timeslots).all(|column| columns.is_free(column) == expected[column as usize]));
    }

    #[test]
    fn every_packet_and_burst_is_counted(
        layout in layouts(), replicas in 1u32..6, spread in prop::sample::select(vec![0.0, 4.0]), seed in any::<u64>(),
        frames in prop::collection::vec((1u32..4, 0u32..60), 1..5),
    ) {
        let random = RandomConfig { power_spread: units::Db::new(spread), ..RandomConfig::default() };
        let mut frame = RandomFrame::new(load(&table(replicas), &random), layout);
        let (mut rng, mut expected) = (rng(seed), RandomCounters::default());
        for (blocks, packets) in frames {
            frame.begin(blocks);
            let mut occupied = vec![0u64; (blocks * layout.block_slots) as usize];
            for packet in 0..packets {
                let added = frame.add(&mut Columns::new(layout.timeslots), &mut rng);
                prop_assert_eq!(added, replicas <= layout.most_replicas());
                if added {
                    frame.slots_of(packet as usize).for_each(|slot| occupied[slot] += 1);
                }
            }
            frame.decode(&mut rng);
            expected.blocks += u64::from(blocks);
            expected.offered_bursts += occupied.iter().sum::<u64>();
            expected.collided_bursts += occupied.iter().filter(|&&bursts| bursts > 1).sum::<u64>();
            let decoded = (0..frame.packets()).filter(|&packet| frame.decoded(packet)).count() as u64;
            expected.decoded_packets += decoded;
            expected.lost_packets += frame.packets() as u64 - decoded;
            prop_assert_eq!(frame.counters(), expected);
        }
    }
}

/// The probability of each sequence of slots when each burst is uniform among the remaining slots, by enumeration.
fn law(layout: RandomLayout, blocks: u32, columns: &Columns, bursts: u32) -> Vec<(Vec<usize>, f64)> {
    let with_room: Vec<u32> = (0..blocks).filter(|&block| has_room(layout, block, columns, bursts)).collect();
    let mut sequences: Vec<(Vec<usize>, f64)> = Vec::new();
    for &block in &with_room {
        let mut partial = vec![(Vec::new(), 1.0 / with_room.len() as f64)];
        for _ in 0..bursts {
            partial = partial
                .into_iter()
                .flat_map(|(taken, probability)| {
                    let column = |slot: u32| slot % layout.timeslots;
                    let left: Vec<u32> = (block * layout.block_slots..(block + 1) * layout.block_slots)
                        .filter(|&slot| match layout.one_amplifier {
                            true => {
                                columns.is_free(column(slot))
                                    && taken.iter().all(|&other| column(other as u32) != column(slot))
                            }
                            false => !taken.contains(&(slot as usize)),
                        })
                        .collect();
                    let share = probability / left.len() as f64;
                    left.into_iter()
                        .map(move |slot| ([taken.clone(), vec![slot as usize]].concat(), share))
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        sequences.extend(partial);
    }
    sequences
}

/// How far counts are from those expected of a law, in standard deviations of a sum of squares that follows it.
fn deviation(law: &[(Vec<usize>, f64)], counts: &[u32]) -> f64 {
    let n = f64::from(counts.iter().sum::<u32>());
    let expected = law.iter().map(|(_, probability)| probability * n);
    let chi: f64 = expected.zip(counts).map(|(n, &count)| (f64::from(count) - n) * (f64::from(count) - n) / n).sum();
    let freedom = (law.len() - 1) as f64;
    (chi - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn blocks_and_slots_are_drawn_from_their_law() {
    const N: u32 = 60_000;
    for (timeslots, block_slots, blocks, one_amplifier, taken) in [
        (4, 6, 3, true, vec![1]),        // columns with one and with two slots in a block
        (9, 3, 3, true, vec![0, 1, 4]),  // one block without room, one with two slots left
        (4, 6, 2, false, vec![0, 1, 2]), // several amplifiers: columns do not count
    ] {
        let layout = RandomLayout { timeslots, block_slots, one_amplifier };
        let mut columns = Columns::new(timeslots);
        taken.iter().for_each(|&column| assert!(columns.take(column)));
        let law = law(layout, blocks, &columns, 2);
        let mut counts = vec![0u32; law.len()];
        let mut frame = RandomFrame::new(scheme(&table(2)), layout);
        let mut rng = rng(u64::from(timeslots));
        frame.begin(blocks);
        for packet in 0..N {
            assert!(frame.add(&mut columns.clone(), &mut rng));
            let slots: Vec<usize> = frame.slots_of(packet as usize).collect();
            counts[law.iter().position(|(sequence, _)| *sequence == slots).expect("a sequence that can be")] += 1;
        }
        assert!(deviation(&law, &counts) < 4.0, "{layout:?}: {} deviations", deviation(&law, &counts));
    }
}

#[test]
fn packets_added_together_are_drawn_from_the_same_law() {
    const N: u32 = 60_000;
    // Blocks that begin in different columns, one column taken: of the others, the second packet finds those that the
    // first has left.
    let layout = RandomLayout { timeslots: 5, block_slots: 7, one_amplifier: true };
    let mut terminal = Columns::new(5);
    assert!(terminal.take(2));
    let first_law = law(layout, 3, &terminal, 2);
    let mut both: Vec<(Vec<usize>, f64)> = Vec::new();
    for (first, probability) in &first_law {
        let mut columns = terminal.clone();
        first.iter().for_each(|&slot| assert!(columns.take(slot as u32 % 5)));
        both.extend(
            law(layout, 3, &columns, 2)
                .into_iter()
                .map(|(second, p)| ([&first[..], &second].concat(), p * probability)),
        );
    }
    let mut counts = vec![0u32; both.len()];
    let index_of: std::collections::BTreeMap<Vec<usize>, usize> =
        both.iter().enumerate().map(|(index, (slots, _))| (slots.clone(), index)).collect();
    let mut frame = RandomFrame::new(scheme(&table(2)), layout);
    let mut rng = rng(7);
    let mut columns = terminal.clone();
    for _ in 0..N {
        frame.begin(3);
        columns.clear();
        assert!(columns.take(2));
        frame.add_all(2, &mut columns, &mut rng);
        counts[index_of[&frame.slots_of(0).chain(frame.slots_of(1)).collect::<Vec<_>>()]] += 1;
        frame.decode(&mut rng);
    }
    assert!(deviation(&both, &counts) < 4.0, "{} deviations", deviation(&both, &counts));
}

#[test]
fn a_full_load_of_one_terminal_fits() {
    // 13 packets of 3 bursts on 40 timeslots (Kuhn et al. 2015, section 4.2), not 14.
    let layout = RandomLayout { timeslots: 40, block_slots: 100, one_amplifier: true };
    let mut frame = RandomFrame::new(scheme(&table(3)), layout);
    let mut rng = rng(8);
    for _ in 0..200 {
        frame.begin(40);
        let mut columns = Columns::new(40);
        assert_eq!((0..20).filter(|_| frame.add(&mut columns, &mut rng)).count(), 13);
        frame.decode(&mut rng);
    }
}

#[test]
fn degrees_of_irregular_repetition_are_placed() {
    let mut frame = RandomFrame::new(scheme(&json!({ "kind": "irsa" })), free(100));
    let mut rng = rng(2);
    frame.begin(30);
    let mut counts = [0u32; 9];
    for packet in 0..20_000 {
        assert!(frame.add(&mut Columns::new(100), &mut rng));
        counts[frame.slots_of(packet).count()] += 1;
    }
    for (degree, probability) in [(2, 0.5), (3, 0.28), (8, 0.22)] {
        let expected = 20_000.0 * probability;
        assert!((f64::from(counts[degree]) - expected).abs() < 4.0 * (expected * (1.0f64 - probability)).sqrt());
    }
    assert_eq!(counts.iter().sum::<u32>(), counts[2] + counts[3] + counts[8]);
}

#[test]
#[should_panic(expected = "decoded before the next begins")]
fn a_frame_is_not_thrown_away() {
    let mut frame = RandomFrame::new(scheme(&table(2)), free(10));
    frame.begin(1);
    frame.add(&mut Columns::new(10), &mut rng(1));
    frame.begin(1);
}
