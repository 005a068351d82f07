//! The receiver compared with one that computes every iteration anew, block by block.

use channel::qpsk;
use proptest::prelude::*;
use units::Db;

use crate::random::decode::{Bursts, Decoder};
use crate::random::scheme::Receiver;

/// Packets as their slots and power; what the slots are like.
#[derive(Clone, Debug)]
struct Case {
    slots: usize,
    packets: Vec<(Vec<usize>, f64)>,
    receiver: Receiver,
}

const UNIT: f64 = (1u64 << 30) as f64;

impl Case {
    /// Sums up every slot anew for every burst.
    fn plainly_decoded(&self) -> Vec<bool> {
        let Receiver { es_n0, required, joint, iterations, .. } = self.receiver;
        let noise = libm::pow(10.0, -es_n0.get() / 10.0);
        let mut decoded = vec![false; self.packets.len()];
        for _ in 0..iterations {
            let before = decoded.clone();
            for (packet, (slots, power)) in self.packets.iter().enumerate() {
                let information = |slot: &usize| {
                    let others =
                        self.packets.iter().enumerate().filter(|&(other, _)| other != packet && !before[other]);
                    let in_slot = others.filter(|(_, (slots, _))| slots.contains(slot));
                    let interference: f64 = in_slot.map(|(_, &(_, power))| power).sum();
                    qpsk::mutual_information(Db::new(10.0 * libm::log10(power / (noise + interference))))
                };
                let found = slots.iter().map(information);
                let found = if joint { found.sum::<f64>() / slots.len() as f64 } else { found.fold(0.0, f64::max) };
                decoded[packet] |= found >= required;
            }
        }
        decoded
    }

    fn bursts(&self, order: &[usize]) -> Bursts {
        let numbers = || self.packets.iter().map(|(slots, _)| slots.len() as u32);
        let each = numbers().next().filter(|&first| numbers().all(|bursts| bursts == first));
        let mut bursts = Bursts::new(each);
        bursts.clear(self.slots);
        for &packet in order {
            let slots = &self.packets[packet].0;
            let places = bursts.push_packets(1, slots.len() as u32);
            places.iter_mut().zip(slots).for_each(|(place, &slot)| *place = slot as u32);
        }
        bursts.complete();
        bursts
    }

    fn decoded(&self, order: &[usize], equal: bool) -> Vec<bool> {
        self.decoded_after(8, order, equal)
    }

    /// The same where a decoded packet pays for so many looks.
    fn decoded_after(&self, looks: usize, order: &[usize], equal: bool) -> Vec<bool> {
        let mut bursts = self.bursts(order);
        let mut decoder = Decoder::new(self.receiver);
        decoder.looks = looks;
        if equal {
            decoder.decode_equal(&mut bursts);
        } else {
            let powers: Vec<u64> = order.iter().map(|&packet| (self.packets[packet].1 * UNIT) as u64).collect();
            decoder.decode_unequal(&mut bursts, &powers, UNIT);
        }
        let mut decoded = vec![true; order.len()];
        bursts.lost().iter().for_each(|&place| decoded[order[place as usize]] = false);
        decoded
    }

    fn in_order(&self) -> Vec<usize> {
        (0..self.packets.len()).collect()
    }
}

/// Blocks of up to 14 slots with up to 22 packets of 1 to 4 bursts, powers within `range_db` of 0 dB (whole numbers of
/// the unit).
fn cases(range_db: f64) -> impl Strategy<Value = Case> {
    let receiver =
        (-5.0f64..15.0, 0.02f64..0.95, any::<bool>(), 1u32..9).prop_map(|(es_n0, required, joint, iterations)| {
            let es_n0 = Db::new(es_n0);
            Receiver { es_n0, power_spread: Db::new(0.0), required, joint, iterations }
        });
    (4usize..14, receiver, 1usize..=4, 1usize..=4).prop_flat_map(move |(slots, receiver, one, other)| {
        let bursts = one.min(other)..=one.max(other);
        let places = prop::sample::subsequence((0..slots).collect::<Vec<_>>(), bursts).prop_shuffle();
        let power = (-1.0f64..=1.0).prop_map(move |db| (libm::pow(10.0, db * range_db / 10.0) * UNIT).floor() / UNIT);
        prop::collection::vec((places, power), 0..22).prop_map(move |packets| Case { slots, packets, receiver })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn equal_powers_decode_as_plainly(case in cases(0.0)) {
        let plain = case.plainly_decoded();
        prop_assert_eq!(&case.decoded(&case.in_order(), true), &plain);
        prop_assert_eq!(&case.decoded_after(0, &case.in_order(), true), &plain, "by neighbours after the first look");
        prop_assert_eq!(case.decoded(&case.in_order(), false), plain, "and as powers that happen to be equal");
    }

    #[test]
    fn unequal_powers_decode_as_plainly(case in cases(20.0)) {
        prop_assert_eq!(case.decoded(&case.in_order(), false), case.plainly_decoded());
    }

    #[test]
    fn what_is_decoded_does_not_depend_on_an_order((case, order) in cases(10.0).prop_flat_map(|case| {
        let order = Just(case.in_order()).prop_shuffle();
        (Just(case), order)
    }), equal in any::<bool>()) {
        let mut reversed = case.clone();
        reversed.packets.iter_mut().for_each(|(slots, _)| slots.reverse());
        prop_assert_eq!(case.decoded(&case.in_order(), equal), reversed.decoded(&order, equal));
    }

    #[test]
    fn more_iterations_lose_nothing(case in cases(10.0)) {
        let mut longer = case.clone();
        longer.receiver.iterations += 1;
        let decoded = case.decoded(&case.in_order(), false).into_iter().zip(longer.decoded(&case.in_order(), false));
        prop_assert!(decoded.into_iter().all(|(before, after)| !before || after));
    }

    #[test]
    fn blocks_are_decoded_by_themselves(case in cases(10.0), other in cases(10.0), equal in any::<bool>()) {
        let shift = case.slots;
        let moved = |slots: &[usize]| slots.iter().map(|slot| slot + shift).collect();
        let moved = other.packets.iter().map(|(slots, power)| (moved(slots), *power));
        let both = Case {
            slots: shift + other.slots,
            packets: case.packets.iter().cloned().chain(moved).collect(),
            receiver: case.receiver,
        };
        let other = Case { receiver: case.receiver, ..other };
        let mut expected = case.decoded(&case.in_order(), equal);
        expected.extend(other.decoded(&other.in_order(), equal));
        prop_assert_eq!(both.decoded(&both.in_order(), equal), expected);
    }
}

/// A chain in which each iteration frees exactly one more packet, by one burst or by both together.
fn chain(packets: usize, iterations: u32, joint: bool) -> Case {
    let required = if joint { 0.5 } else { 0.666 };
    let receiver = Receiver { es_n0: Db::new(5.0), power_spread: Db::new(0.0), required, joint, iterations };
    let slots = packets + 30;
    let packets = (0..packets).map(|packet| (vec![packet, packet + 1], 1.0)).collect();
    let mut case = Case { slots, packets, receiver };
    // Both ends of the chain lie in one slot with a pair that cannot be told apart, except the first slot.
    let last = case.packets.len();
    case.packets.push((vec![last, last + 1], 1.0));
    case.packets.push((vec![last, last + 1], 1.0));
    case
}

#[test]
fn an_iteration_goes_one_step() {
    for (iterations, looks) in (1..=12).flat_map(|iterations| [0, 1, 8].map(|looks| (iterations, looks))) {
        let case = chain(10, iterations, false);
        let decoded = case.decoded_after(looks, &case.in_order(), true);
        let expected: Vec<bool> = (0..12).map(|packet| packet < 10.min(iterations as usize)).collect();
        assert_eq!(decoded, expected, "{iterations} iterations, {looks} looks");
    }
}

#[test]
fn a_part_goes_no_further_than_the_iterations() {
    // Two chains, whose packets are in different parts in one order, and in all parts in the other.
    const PACKETS: usize = 200;
    for (iterations, looks) in [1, 15, 16, 17, 49, 50, 64, 150, 199, 200, 300].into_iter().zip([0, 1, 8].repeat(4)) {
        let mut case = chain(PACKETS, iterations, true);
        let (one, shift) = (case.packets.len(), case.slots);
        let other: Vec<_> =
            case.packets.iter().map(|(slots, _)| slots.iter().map(|slot| slot + shift).collect()).collect();
        case.packets.extend(other.into_iter().map(|slots| (slots, 1.0)));
        case.slots += shift;
        let expected: Vec<bool> = (0..2 * one).map(|packet| packet % one < PACKETS.min(iterations as usize)).collect();
        let in_order = case.in_order();
        let reversed = in_order.iter().rev().copied().collect();
        let mixed = (0..2 * one).map(|packet| packet * 7 % (2 * one)).collect();
        for (order, equal) in [in_order, reversed, mixed].iter().flat_map(|order| [(order, true), (order, false)]) {
            let decoded = case.decoded_after(looks, order, equal);
            assert_eq!(decoded, expected, "{iterations} iterations, {looks} looks, equal: {equal}");
        }
    }
}

#[test]
fn a_cancelled_slot_is_empty_to_the_last_bit() {
    // The weak packet is left alone in slot 0 after two that are 70 dB stronger, and needs nearly all of the
    // information.
    let receiver = Receiver {
        es_n0: Db::new(45.0),
        power_spread: Db::new(1.0),
        required: qpsk::mutual_information(Db::new(4.999_99)),
        joint: false,
        iterations: 50,
    };
    let weak = libm::pow(10.0, -4.0);
    let packets = vec![(vec![0], weak), (vec![0, 1], 1000.7), (vec![0, 2], 999.3)];
    let case = Case { slots: 3, packets, receiver };
    assert_eq!(case.decoded(&[0, 1, 2], false), [true; 3]);
}
