//! Iterative interference cancellation: which packets of a frame arrive.
//!
//! Packets and slots are the two kinds of nodes of a graph whose edges are bursts (Liva 2011). An iteration looks at
//! the packets that wait and decodes those that can be. Mostly a few iterations decode nearly all, so the packets are
//! divided into parts: each counts as an iteration, and sees the slots without the bursts that the parts before it
//! decoded. Where many iterations decode few packets each, only those are looked at that share a slot with one that was
//! decoded in the iteration before, so that the whole takes a time in proportion to the bursts, times the bursts of a
//! slot.

mod bursts;
mod rules;
mod waiting;

pub(super) use bursts::Bursts;
use bursts::{BurstsOfSlot, Left, Slots, Table, Work};
use rules::{Best, Information, MeanOfBursts, Powers, Rule, fixed_point};
use waiting::WaitingPackets;

use super::scheme::Receiver;

/// The receiver, with its working memory.
#[derive(Debug)]
pub(super) struct Decoder {
    receiver: Receiver,
    information: Information,
    scratch: Scratch,
    /// For how many looks at other packets one that is decoded pays. Where they do not pay for a look at all that wait,
    /// neighbours are searched.
    pub(super) looks: usize,
}

/// Memory of the decoder that the next frame uses again.
#[derive(Debug, Default)]
struct Scratch {
    waiting: WaitingPackets,
    found: Vec<u32>,
    is_found: Vec<bool>,
    neighbours: Neighbours,
    power: Vec<u64>,
}

impl Decoder {
    pub(super) fn new(receiver: Receiver) -> Decoder {
        let (information, scratch) = (Information::new(receiver.es_n0), Scratch::default());
        Decoder { receiver, information, scratch, looks: 8 }
    }

    /// Decodes packets that arrive with the same power; returns how many bursts were alone in their slot.
    pub(super) fn decode_equal(&mut self, bursts: &mut Bursts) -> usize {
        let Receiver { required, joint, iterations, .. } = self.receiver;
        let most_decodable = |table: &[i64]| {
            let required = fixed_point(required);
            table[1..].iter().take_while(|&&information| information >= required).count() as u32
        };
        if !joint && most_decodable(self.information.up_to(2)) == 1 {
            let mut alone = 0;
            bursts.work(Alone { iterations, scratch: &mut self.scratch, alone: &mut alone });
            return alone;
        }
        let (alone, most) = bursts.alone_and_most();
        let most = most_decodable(self.information.up_to(most));
        bursts.work(Equal { decoder: self, most });
        alone
    }

    /// The same for packets with the given `powers`, in units of which `unit` are the power of the nominal Es/N0.
    pub(super) fn decode_unequal(&mut self, bursts: &mut Bursts, powers: &[u64], unit: f64) -> usize {
        let alone = bursts.alone();
        bursts.work(Unequal { decoder: self, powers, unit });
        bursts.empty_slots();
        alone
    }
}

/// Equal powers, each burst on its own: decoded with one that is alone in its slot. Each that becomes alone is found as
/// the others are taken away.
struct Alone<'b> {
    iterations: u32,
    scratch: &'b mut Scratch,
    /// The number of bursts that are alone in their slot before any packet is decoded.
    alone: &'b mut usize,
}

impl Work for Alone<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, mut left: Left<'_, impl Table + ?Sized>, lost: &mut Vec<u32>) {
        let Scratch { found, is_found, .. } = self.scratch;
        let packets = slots.packets();
        is_found.clear();
        is_found.resize(packets, false);
        found.resize(packets, 0);
        let mut found =
            FoundPackets { packets: found.as_mut_slice(), count: 0, is_found: is_found.as_mut_slice(), again: 0 };
        left.all().for_each(|slot| found.look_at(slot));
        *self.alone = found.count + found.again;
        let mut decoded = 0;
        for _ in 0..self.iterations {
            let of_iteration = decoded..found.count;
            if of_iteration.is_empty() {
                break;
            }
            decoded = of_iteration.end;
            for index in of_iteration {
                let packet = found.packets[index];
                for &slot in slots.of(packet) {
                    found.look_at(left.change(slot, |left| left.remove(packet)));
                }
            }
        }
        if decoded < packets {
            // Found too late.
            found.packets[decoded..found.count].iter().for_each(|&packet| found.is_found[packet as usize] = false);
            lost.extend((0..packets as u32).filter(|&packet| !found.is_found[packet as usize]));
            lost.iter().for_each(|&packet| left.subtract(packet, slots.of(packet)));
        }
    }
}

/// Packets that are decoded or can be, in the order in which they are found.
struct FoundPackets<'b> {
    packets: &'b mut [u32],
    count: usize,
    is_found: &'b mut [bool],
    /// How often a packet was found that had been found before.
    again: usize,
}

impl FoundPackets<'_> {
    /// Finds the packet whose burst is alone in a slot.
    #[inline(always)]
    fn look_at(&mut self, slot: BurstsOfSlot) {
        if slot.bursts() == 1 {
            if std::mem::replace(&mut self.is_found[slot.alone() as usize], true) {
                self.again += 1;
                return;
            }
            self.packets[self.count] = slot.alone();
            self.count += 1;
        }
    }
}

/// Equal powers. `most`: bursts of a slot with which one is decoded on its own.
struct Equal<'b> {
    decoder: &'b mut Decoder,
    most: u32,
}

impl Work for Equal<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, left: Left<'_, impl Table + ?Sized>, lost: &mut Vec<u32>) {
        let Decoder { receiver, information, scratch, looks } = self.decoder;
        let &mut Receiver { required, joint, iterations, .. } = receiver;
        let decoding = Decoding::new(slots, *looks, scratch, lost);
        match (joint, information.usual()) {
            (true, Some(table)) => decoding.iterate(iterations, MeanOfBursts::new(table, required, slots.each(), left)),
            (true, None) => {
                decoding.iterate(iterations, MeanOfBursts::new(information.all(), required, slots.each(), left));
            }
            (false, _) => decoding.iterate(iterations, Best { most: self.most, left }),
        }
    }
}

struct Unequal<'b> {
    decoder: &'b mut Decoder,
    powers: &'b [u64],
    unit: f64,
}

impl Work for Unequal<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, left: Left<'_, impl Table + ?Sized>, lost: &mut Vec<u32>) {
        let Decoder { receiver, scratch, .. } = self.decoder;
        let mut power = std::mem::take(&mut scratch.power);
        power.clear();
        power.resize(left.slots(), 0);
        for (packet, &of_packet) in (0..).zip(self.powers) {
            slots.of(packet).iter().for_each(|&slot| power[slot as usize] += of_packet);
        }
        let noise = libm::pow(10.0, -receiver.es_n0.get() / 10.0) * self.unit;
        let rule = Powers { powers: self.powers, of_slot: &mut power, noise, receiver };
        // To look at a packet costs logarithms.
        Decoding::new(slots, 0, scratch, lost).iterate(receiver.iterations, rule);
        scratch.power = power;
    }
}

/// The iterations that are left for each part: with the usual limit of 50 there are six parts. Few frames then reach
/// the limit and have to be decoded again without parts.
const ITERATIONS_OF_A_PART: u32 = 8;

/// The decoding of one frame of random access.
struct Decoding<'b, S> {
    slots: &'b S,
    /// [`Decoder::looks`].
    looks: usize,
    waiting: &'b mut WaitingPackets,
    neighbours: &'b mut Neighbours,
    /// The packets that still wait when nothing more can be decoded.
    lost: &'b mut Vec<u32>,
}

impl<'a, 'b, S: Slots<'a>> Decoding<'b, S> {
    fn new(slots: &'b S, looks: usize, scratch: &'b mut Scratch, lost: &'b mut Vec<u32>) -> Decoding<'b, S> {
        let Scratch { waiting, neighbours, .. } = scratch;
        Decoding { slots, looks, waiting, neighbours, lost }
    }

    /// Decodes the frame in so many iterations. Then the rule has subtracted all bursts, those of lost packets too.
    #[inline(always)]
    fn iterate(mut self, iterations: u32, mut rule: impl Rule) {
        let mut share = ITERATIONS_OF_A_PART;
        while !self.look_in_parts(iterations, share, &mut rule) {
            self.put_back(&mut rule);
            share = u32::MAX;
        }
        self.lost.iter().for_each(|&packet| rule.subtract(packet, self.slots.of(packet)));
    }

    /// Looks at the packets that wait, in one part for each `share` of the iterations that are left: the bursts of a
    /// part that was decoded are subtracted before the next part is looked at. Returns whether what is decoded is what
    /// so many iterations decode.
    ///
    /// A subtraction never makes a packet undecodable, so n iterations find all that n parts find. If no packet that
    /// waits can be decoded after as many parts as iterations, both have found the same.
    #[inline(always)]
    fn look_in_parts(&mut self, iterations: u32, share: u32, rule: &mut impl Rule) -> bool {
        let mut waits = self.slots.packets();
        let mut looks = waits;
        self.waiting.fill(waits);
        let (mut left, mut is_parted) = (iterations, false);
        while left > 0 {
            if waits > looks {
                return self.look_at_neighbours(left, rule) || !is_parted;
            }
            looks -= waits;
            let before = waits;
            let parts = (left / share).max(1);
            is_parted |= parts > 1;
            for part in self.waiting.parts(parts) {
                let decoded =
                    self.waiting.find(part.clone(), |place| rule.is_decodable(place.packet(), self.slots.at(place)));
                if decoded > 0 {
                    (waits, left) = (waits - decoded, left - 1);
                    self.waiting.for_each_found(part, |place| rule.subtract(place.packet(), self.slots.at(place)));
                }
            }
            if waits == before {
                is_parted = false;
                break;
            }
            looks += self.looks * (before - waits);
        }
        self.waiting.for_each(|place| self.lost.push(place.packet()));
        !is_parted || waits == 0
    }

    /// Puts the bursts of decoded packets back into their slots.
    #[cold]
    fn put_back(&mut self, rule: &mut impl Rule) {
        let mut lost = self.lost.drain(..).peekable();
        for packet in 0..self.slots.packets() as u32 {
            if lost.next_if_eq(&packet).is_none() {
                rule.add(packet, self.slots.of(packet));
            }
        }
    }

    /// As [`Decoding::look_in_parts`], after packets were decoded; returns whether none is left that can be.
    #[inline(never)]
    fn look_at_neighbours(&mut self, iterations: u32, rule: &mut impl Rule) -> bool {
        let Decoding { slots, waiting, neighbours, lost, .. } = self;
        waiting.for_each(|place| lost.push(place.packet()));
        neighbours.begin(*slots, lost);
        waiting.for_each_found(waiting.all(), |place| neighbours.decoded.push(place.packet()));
        let mut is_complete = false;
        for _ in 0..iterations {
            neighbours.find(*slots, |slot| rule.may_help(slot));
            neighbours.decoded.clear();
            for &packet in &neighbours.found {
                let is_decodable = rule.is_decodable(packet, slots.of(packet));
                neighbours.states[packet as usize] =
                    if is_decodable { PacketState::Decoded } else { PacketState::Waiting };
                if is_decodable {
                    neighbours.decoded.push(packet);
                }
            }
            if neighbours.decoded.is_empty() {
                is_complete = true;
                break;
            }
            for &packet in &neighbours.decoded {
                rule.subtract(packet, slots.of(packet));
            }
        }
        lost.retain(|&packet| neighbours.states[packet as usize] != PacketState::Decoded);
        is_complete
    }
}

/// Finds packets that share a slot with others: linked lists of bursts, which need no sorting.
#[derive(Debug, Default)]
struct Neighbours {
    /// Of each slot: its first burst, or [`NONE`].
    first: Vec<u32>,
    /// Of each burst: its packet, and the burst that comes next in its slot, or [`NONE`].
    bursts: Vec<(u32, u32)>,
    states: Vec<PacketState>,
    /// Those that were decoded in an iteration, and those that share a slot with them.
    decoded: Vec<u32>,
    found: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    Waiting,
    /// To be looked at.
    Found,
    Decoded,
}

/// No burst.
const NONE: u32 = u32::MAX;

impl Neighbours {
    /// Begins with the packets that wait, and an empty list of decoded ones.
    fn begin<'a>(&mut self, slots: &impl Slots<'a>, waiting: &[u32]) {
        self.states.clear();
        self.states.resize(slots.packets(), PacketState::Decoded);
        self.decoded.clear();
        self.first.clear();
        self.bursts.clear();
        for &packet in waiting {
            self.states[packet as usize] = PacketState::Waiting;
            for &slot in slots.of(packet) {
                if slot as usize >= self.first.len() {
                    self.first.resize(slot as usize + 1, NONE);
                }
                let next = std::mem::replace(&mut self.first[slot as usize], self.bursts.len() as u32);
                self.bursts.push((packet, next));
            }
        }
    }

    /// Finds the packets that wait and share a slot with one that was decoded, where that may help.
    fn find<'a>(&mut self, slots: &impl Slots<'a>, may_help: impl Fn(u32) -> bool) {
        let Neighbours { first, bursts, states, decoded, found } = self;
        found.clear();
        for slot in decoded.iter().flat_map(|&packet| slots.of(packet)).filter(|&&slot| may_help(slot)) {
            let mut burst = first.get(*slot as usize).copied().unwrap_or(NONE);
            while let Some(&(packet, next)) = bursts.get(burst as usize) {
                if states[packet as usize] == PacketState::Waiting {
                    states[packet as usize] = PacketState::Found;
                    found.push(packet);
                }
                burst = next;
            }
        }
    }
}
