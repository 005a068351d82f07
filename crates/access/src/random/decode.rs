//! Iterative interference cancellation.
//!
//! Packets and slots are the two kinds of nodes of a graph whose edges are bursts (Liva 2011). An iteration follows the edges
//! of the packets that were decoded in the one before, so the whole takes a time in proportion to the bursts; where bursts
//! are decoded together, times the bursts of a slot.

use std::ops::Range;

use channel::{ERASED, qpsk};
use units::Db;

use super::scheme::Receiver;

/// The bursts of a frame.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    /// One more than there are.
    slots: Vec<Slot>,
    packets: Vec<Packet>,
    /// The slots of the packets' bursts, one packet after the other.
    slot_of: Vec<u32>,
    /// The packets of the slots' bursts, one slot after the other; once the frame is complete.
    packet_of: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bursts that are left in it.
    bursts: u32,
    /// Bursts that are being subtracted.
    subtracted: u32,
    /// Where its bursts begin in `packet_of`; they end where those of the next slot begin.
    first_burst: u32,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Where its bursts begin in `slot_of`, and end.
    first_burst: u32,
    end: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Found to be decodable in the next iteration, or to be looked at for that.
    Candidate,
    Decoded,
}

impl Packet {
    #[inline]
    fn bursts(&self) -> Range<usize> {
        self.first_burst as usize..self.end as usize
    }
}

impl Bursts {
    /// Removes everything; then there are so many empty slots.
    pub(super) fn clear(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots + 1, Slot::default());
        self.slot_of.clear();
        self.packets.clear();
    }

    pub(super) fn packets(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn bursts(&self) -> usize {
        self.slot_of.len()
    }

    /// Bursts that are not alone in their slot. Before anything is decoded.
    pub(super) fn collided(&self) -> u64 {
        self.slots.iter().map(|slot| if slot.bursts > 1 { u64::from(slot.bursts) } else { 0 }).sum()
    }

    pub(super) fn is_decoded(&self, packet: usize) -> bool {
        self.packets[packet].state == State::Decoded
    }

    /// For whoever decides otherwise.
    pub(super) fn set_decoded(&mut self, packet: usize) {
        self.packets[packet].state = State::Decoded;
    }

    /// Begins a packet; [`Bursts::push_burst`] puts its bursts into slots.
    pub(super) fn push_packet(&mut self) {
        let first_burst = self.slot_of.len() as u32;
        self.packets.push(Packet { first_burst, end: first_burst, state: State::Waiting });
    }

    /// Puts a burst of the last packet into a slot, in which it has no other.
    #[inline]
    pub(super) fn push_burst(&mut self, slot: u32) {
        self.slots[slot as usize].bursts += 1;
        self.slot_of.push(slot);
        if let Some(packet) = self.packets.last_mut() {
            packet.end += 1;
        }
    }

    /// The slots of a packet.
    #[inline]
    pub(super) fn slots_of(&self, packet: usize) -> impl ExactSizeIterator<Item = usize> {
        self.slot_of[self.packets[packet].bursts()].iter().map(|&slot| slot as usize)
    }

    /// Sorts the bursts by slot.
    fn complete(&mut self) {
        let mut end = 0;
        for slot in &mut self.slots {
            end += slot.bursts;
            slot.first_burst = end;
        }
        self.packet_of.resize(end as usize, 0);
        for (packet, number) in self.packets.iter().zip(0..) {
            for &slot in &self.slot_of[packet.bursts()] {
                let first = &mut self.slots[slot as usize].first_burst;
                *first -= 1;
                self.packet_of[*first as usize] = number;
            }
        }
    }
}

/// The bursts of a slot, in `packet_of`.
#[inline]
fn bursts_in(slots: &[Slot], slot: usize) -> Range<usize> {
    slots[slot].first_burst as usize..slots[slot + 1].first_burst as usize
}

/// The receiver, with what it needs to remember.
#[derive(Debug)]
pub(super) struct Decoder {
    receiver: Receiver,
    information: Information,
    scratch: Scratch,
}

/// Memory that is used again.
#[derive(Debug, Default)]
struct Scratch {
    decodable: Vec<u32>,
    next: Vec<u32>,
    missing: Vec<i64>,
    touched: Vec<u32>,
    power: Vec<u64>,
}

impl Decoder {
    pub(super) fn new(receiver: Receiver) -> Decoder {
        let information = Information { es_n0: receiver.es_n0, table: Vec::new() };
        Decoder { receiver, information, scratch: Scratch::default() }
    }

    /// Decodes packets that arrive with the same power.
    pub(super) fn decode_equal(&mut self, bursts: &mut Bursts) {
        let Receiver { required, joint, iterations, .. } = self.receiver;
        let table = self.information.up_to(bursts.slots.iter().map(|slot| slot.bursts).max().unwrap_or(0));
        let Scratch { decodable, next, missing, touched, .. } = &mut self.scratch;
        if joint {
            iterate(iterations, bursts, &mut Mean { table, required, missing, touched }, [decodable, next]);
        } else {
            let required = fixed_point(required);
            let most = table[1..].iter().take_while(|&&information| information >= required).count() as u32;
            iterate(iterations, bursts, &mut Best { most }, [decodable, next]);
        }
    }

    /// Decodes packets with the given `powers`, in units of which `unit` are the power of the nominal Es/N0.
    pub(super) fn decode_unequal(&mut self, bursts: &mut Bursts, powers: &[u64], unit: f64) {
        let Receiver { es_n0, required, joint, iterations, .. } = self.receiver;
        let noise = libm::pow(10.0, -es_n0.get() / 10.0) * unit;
        let Scratch { decodable, next, power, .. } = &mut self.scratch;
        let mut rule = Powers { powers, of_slot: power, noise, required, joint };
        iterate(iterations, bursts, &mut rule, [decodable, next]);
    }
}

fn iterate(iterations: u32, bursts: &mut Bursts, rule: &mut impl Rule, [decodable, next]: [&mut Vec<u32>; 2]) {
    bursts.complete();
    decodable.clear();
    rule.begin(bursts, decodable);
    for iteration in 1..=iterations {
        for &packet in decodable.iter() {
            bursts.packets[packet as usize].state = State::Decoded;
        }
        if decodable.is_empty() || iteration == iterations {
            break;
        }
        next.clear();
        rule.subtract(bursts, decodable, next);
        std::mem::swap(decodable, next);
    }
}

/// Decides when a packet is decoded.
trait Rule {
    /// Finds the packets that are decodable at first.
    fn begin(&mut self, bursts: &mut Bursts, decodable: &mut Vec<u32>);

    /// Takes the decoded packets from their slots and finds the others that this makes decodable, each once.
    fn subtract(&mut self, bursts: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>);
}

/// Equal powers, each burst on its own: decoded with one in a slot of at most so many bursts.
struct Best {
    most: u32,
}

impl Best {
    #[inline]
    fn find(packets_in_slot: &[u32], packets: &mut [Packet], decodable: &mut Vec<u32>) {
        for &packet in packets_in_slot {
            let state = &mut packets[packet as usize].state;
            if *state == State::Waiting {
                *state = State::Candidate;
                decodable.push(packet);
            }
        }
    }
}

impl Rule for Best {
    fn begin(&mut self, Bursts { slots, packets, packet_of, .. }: &mut Bursts, decodable: &mut Vec<u32>) {
        for (slot, place) in slots.iter().zip(0..) {
            if (1..=self.most).contains(&slot.bursts) {
                Best::find(&packet_of[bursts_in(slots, place)], packets, decodable);
            }
        }
    }

    fn subtract(&mut self, bursts: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        let Bursts { slots, packets, slot_of, packet_of } = bursts;
        for &packet in decoded {
            for &slot in &slot_of[packets[packet as usize].bursts()] {
                let left = &mut slots[slot as usize].bursts;
                *left -= 1;
                // Below that, they have been found already.
                if *left == self.most {
                    Best::find(&packet_of[bursts_in(slots, slot as usize)], packets, decodable);
                }
            }
        }
    }
}

/// Equal powers, all bursts together.
struct Mean<'a> {
    /// See [`Information`].
    table: &'a [i64],
    required: f64,
    /// Information that each packet lacks, summed over its bursts; none once it is decodable.
    missing: &'a mut Vec<i64>,
    /// Slots in which something is subtracted.
    touched: &'a mut Vec<u32>,
}

impl Rule for Mean<'_> {
    fn begin(&mut self, bursts: &mut Bursts, decodable: &mut Vec<u32>) {
        self.missing.clear();
        for (packet, place) in bursts.packets.iter().zip(0..) {
            let slots = &bursts.slot_of[packet.bursts()];
            let received = slots.iter().map(|&slot| self.table[bursts.slots[slot as usize].bursts as usize]);
            let missing = fixed_point(self.required * slots.len() as f64) - received.sum::<i64>();
            self.missing.push(missing);
            if missing <= 0 {
                decodable.push(place);
            }
        }
    }

    fn subtract(&mut self, bursts: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        let Bursts { slots, packets, slot_of, packet_of } = bursts;
        self.touched.clear();
        for &packet in decoded {
            for &place in &slot_of[packets[packet as usize].bursts()] {
                let slot = &mut slots[place as usize];
                if slot.subtracted == 0 {
                    self.touched.push(place);
                }
                slot.bursts -= 1;
                slot.subtracted += 1;
            }
        }
        for &place in self.touched.iter() {
            let Slot { bursts: left, subtracted, .. } = &mut slots[place as usize];
            let before = *left + std::mem::take(subtracted);
            if *left == 0 {
                continue;
            }
            let gain = self.table[*left as usize] - self.table[before as usize];
            // Decoded ones gain as well, which no longer matters.
            for &packet in &packet_of[bursts_in(slots, place as usize)] {
                let missing = &mut self.missing[packet as usize];
                let was_missing = *missing > 0;
                *missing -= gain;
                if was_missing && *missing <= 0 {
                    decodable.push(packet);
                }
            }
        }
    }
}

/// Mutual information per coded bit, in [`fixed_point`], of a burst in a slot with so many bursts of the same power (itself
/// among them), as far as it was asked for. Entry 0 is there for the arithmetic.
#[derive(Debug)]
struct Information {
    es_n0: Db,
    table: Vec<i64>,
}

impl Information {
    fn up_to(&mut self, bursts: u32) -> &[i64] {
        if self.table.is_empty() {
            self.table.push(fixed_point(1.0));
        }
        while self.table.len() <= bursts as usize {
            let interferers = (self.table.len() - 1) as f64;
            let noise = libm::pow(10.0, -self.es_n0.get() / 10.0) + interferers;
            let information = qpsk::mutual_information(Db::new(-10.0 * libm::log10(noise)));
            self.table.push(fixed_point(information));
        }
        &self.table
    }
}

/// Information in units of 2^-40 bits: sums do not depend on their order.
fn fixed_point(information: f64) -> i64 {
    (information * (1i64 << 40) as f64).round() as i64
}

/// Powers that differ. They are whole numbers, so that a slot from which everything was subtracted is empty to the last bit.
struct Powers<'a> {
    powers: &'a [u64],
    of_slot: &'a mut Vec<u64>,
    noise: f64,
    required: f64,
    joint: bool,
}

impl Powers<'_> {
    fn is_decodable(&self, bursts: &Bursts, packet: usize) -> bool {
        let power = self.powers[packet];
        let interference = bursts.slots_of(packet).map(|slot| self.of_slot[slot] - power);
        if self.joint {
            let required = self.required * interference.len() as f64;
            interference.map(|interference| self.information(power, interference)).sum::<f64>() >= required
        } else {
            let least = interference.min().expect("a packet has bursts");
            self.information(power, least) >= self.required
        }
    }

    fn information(&self, power: u64, interference: u64) -> f64 {
        let ratio = power as f64 / (self.noise + interference as f64);
        qpsk::mutual_information(Db::new((10.0 * libm::log10(ratio)).max(ERASED.get())))
    }
}

impl Rule for Powers<'_> {
    fn begin(&mut self, bursts: &mut Bursts, decodable: &mut Vec<u32>) {
        self.of_slot.clear();
        self.of_slot.resize(bursts.slots.len(), 0);
        for (packet, &power) in self.powers.iter().enumerate() {
            bursts.slots_of(packet).for_each(|slot| self.of_slot[slot] += power);
        }
        decodable.extend((0..bursts.packets.len() as u32).filter(|&packet| self.is_decodable(bursts, packet as usize)));
    }

    fn subtract(&mut self, bursts: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        for &packet in decoded {
            bursts.slots_of(packet as usize).for_each(|slot| self.of_slot[slot] -= self.powers[packet as usize]);
        }
        let Bursts { slots, packets, slot_of, packet_of } = bursts;
        for &packet in decoded {
            for &slot in &slot_of[packets[packet as usize].bursts()] {
                for &packet in &packet_of[bursts_in(slots, slot as usize)] {
                    let state = &mut packets[packet as usize].state;
                    if *state == State::Waiting {
                        *state = State::Candidate;
                        decodable.push(packet);
                    }
                }
            }
        }
        decodable.retain(|&packet| {
            let decodable = self.is_decodable(bursts, packet as usize);
            if !decodable {
                bursts.packets[packet as usize].state = State::Waiting;
            }
            decodable
        });
    }
}
