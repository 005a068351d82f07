//! Iterative interference cancellation.
//!
//! Packets and slots are the two kinds of nodes of a graph whose edges are bursts (Liva 2011). An iteration looks at
//! the packets that wait and decodes those that can be. Mostly a few iterations decode nearly all; where many decode
//! few packets each, only those are looked at that share a slot with one that was decoded in the iteration before, so
//! that the whole takes a time in proportion to the bursts, times the bursts of a slot.

mod bursts;
mod rules;

pub(super) use bursts::Bursts;
use bursts::{Slot, Slots, Work};
use rules::{Best, Information, Mean, Powers, Rule, fixed_point};

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

/// Memory that is used again.
#[derive(Debug, Default)]
struct Scratch {
    decodable: Vec<u32>,
    next: Vec<u32>,
    is_found: Vec<bool>,
    neighbours: Neighbours,
    left: Vec<u32>,
    of_slot: Vec<i64>,
    power: Vec<u64>,
}

impl Decoder {
    pub(super) fn new(receiver: Receiver) -> Decoder {
        let (information, scratch) = (Information::new(receiver.es_n0), Scratch::default());
        Decoder { receiver, information, scratch, looks: 8 }
    }

    /// Decodes packets that arrive with the same power.
    pub(super) fn decode_equal(&mut self, bursts: &mut Bursts) {
        let Receiver { required, joint, iterations, .. } = self.receiver;
        let most_decodable = |table: &[i64]| {
            let required = fixed_point(required);
            table[1..].iter().take_while(|&&information| information >= required).count() as u32
        };
        if !joint && most_decodable(self.information.up_to(2)) == 1 {
            return bursts.work(Alone { iterations, scratch: &mut self.scratch });
        }
        let most = most_decodable(self.information.up_to(bursts.most()));
        bursts.work(Equal { decoder: self, most });
    }

    /// Decodes packets with the given `powers`, in units of which `unit` are the power of the nominal Es/N0.
    pub(super) fn decode_unequal(&mut self, bursts: &mut Bursts, powers: &[u64], unit: f64) {
        bursts.work(Unequal { decoder: self, powers, unit });
        bursts.empty_slots();
    }
}

/// Equal powers, each burst on its own: decoded with one that is alone in its slot. Each that becomes alone is found as
/// the others are taken away.
struct Alone<'b> {
    iterations: u32,
    scratch: &'b mut Scratch,
}

impl Work for Alone<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, packets: usize, left: &mut [Slot], waiting: &mut Vec<u32>) {
        let Scratch { decodable, next, is_found, .. } = self.scratch;
        is_found.clear();
        is_found.resize(packets, false);
        let is_found = is_found.as_mut_slice();
        let mut find = |slot: Slot, found: &mut Vec<u32>| {
            if slot.bursts() == 1 && !std::mem::replace(&mut is_found[slot.alone() as usize], true) {
                found.push(slot.alone());
            }
        };
        decodable.clear();
        left.iter().for_each(|&slot| find(slot, decodable));
        for _ in 0..self.iterations {
            next.clear();
            for &packet in decodable.iter() {
                for &slot in slots.of(packet) {
                    let left = &mut left[slot as usize];
                    left.remove(packet);
                    find(*left, next);
                }
            }
            std::mem::swap(decodable, next);
            if decodable.is_empty() {
                break;
            }
        }
        // Found too late.
        decodable.iter().for_each(|&packet| is_found[packet as usize] = false);
        waiting.retain(|&packet| !is_found[packet as usize]);
        remove_waiting(slots, left, waiting);
    }
}

/// Leaves empty slots.
#[inline(always)]
fn remove_waiting<'a>(slots: &impl Slots<'a>, left: &mut [Slot], waiting: &[u32]) {
    for &packet in waiting {
        slots.of(packet).iter().for_each(|&slot| left[slot as usize].remove(packet));
    }
}

/// Equal powers. `most`: bursts of a slot with which one is decoded on its own.
struct Equal<'b> {
    decoder: &'b mut Decoder,
    most: u32,
}

impl Work for Equal<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, packets: usize, left: &mut [Slot], waiting: &mut Vec<u32>) {
        let Decoder { receiver, information, scratch, looks } = self.decoder;
        let &mut Receiver { required, joint, iterations, .. } = receiver;
        let Scratch { decodable, neighbours, left: counts, of_slot, .. } = scratch;
        let mut decoding = Decoding { packets, looks: *looks, slots, waiting, decodable, neighbours };
        if joint {
            let table = information.table();
            decoding.iterate(iterations, &mut Mean::new(table, required, slots.each(), left, (counts, of_slot)));
        } else {
            decoding.iterate(iterations, &mut Best { most: self.most, left });
            remove_waiting(slots, left, waiting);
        }
    }
}

struct Unequal<'b> {
    decoder: &'b mut Decoder,
    powers: &'b [u64],
    unit: f64,
}

impl Work for Unequal<'_> {
    fn with<'a>(self, slots: &impl Slots<'a>, packets: usize, left: &mut [Slot], waiting: &mut Vec<u32>) {
        let Decoder { receiver, scratch: Scratch { decodable, neighbours, power, .. }, .. } = self.decoder;
        power.clear();
        power.resize(left.len(), 0);
        for (packet, &of_packet) in (0..).zip(self.powers) {
            slots.of(packet).iter().for_each(|&slot| power[slot as usize] += of_packet);
        }
        let noise = libm::pow(10.0, -receiver.es_n0.get() / 10.0) * self.unit;
        let mut rule = Powers { powers: self.powers, of_slot: power, noise, receiver };
        // To look at a packet costs logarithms.
        let mut decoding = Decoding { packets, looks: 0, slots, waiting, decodable, neighbours };
        decoding.iterate(receiver.iterations, &mut rule);
    }
}

/// A frame that is decoded.
struct Decoding<'b, S> {
    packets: usize,
    /// [`Decoder::looks`].
    looks: usize,
    slots: &'b S,
    waiting: &'b mut Vec<u32>,
    /// Those that were decoded in an iteration.
    decodable: &'b mut Vec<u32>,
    neighbours: &'b mut Neighbours,
}

impl<'a, S: Slots<'a>> Decoding<'_, S> {
    #[inline(always)]
    fn iterate(&mut self, iterations: u32, rule: &mut impl Rule) {
        let mut looks = self.waiting.len();
        for iteration in 0..iterations {
            if self.waiting.len() > looks {
                return self.iterate_over_neighbours(iterations - iteration, rule);
            }
            looks -= self.waiting.len();
            self.look_at_all(rule);
            if self.decodable.is_empty() {
                break;
            }
            looks += self.looks * self.decodable.len();
            for &packet in self.decodable.iter() {
                rule.subtract(packet, self.slots.of(packet));
            }
        }
    }

    /// Moves the packets that wait and can be decoded to those that are. Without a branch: it would be guessed wrongly
    /// as often as not.
    #[inline(always)]
    fn look_at_all(&mut self, rule: &impl Rule) {
        self.decodable.resize(self.waiting.len(), 0);
        let (waiting, decodable) = (self.waiting.as_mut_slice(), self.decodable.as_mut_slice());
        let (mut kept, mut found) = (0, 0);
        for index in 0..waiting.len() {
            let packet = waiting[index];
            let is_decodable = rule.is_decodable(packet, self.slots.of(packet));
            waiting[kept] = packet;
            decodable[found] = packet;
            kept += usize::from(!is_decodable);
            found += usize::from(is_decodable);
        }
        self.waiting.truncate(kept);
        self.decodable.truncate(found);
    }

    /// As [`Decoding::iterate`], after an iteration in which packets were decoded.
    #[inline(never)]
    fn iterate_over_neighbours(&mut self, iterations: u32, rule: &mut impl Rule) {
        let Decoding { slots, decodable, waiting, neighbours, .. } = self;
        neighbours.begin(self.packets, *slots, waiting);
        for _ in 0..iterations {
            neighbours.find(*slots, decodable, |slot| rule.may_help(slot));
            decodable.clear();
            for &packet in &neighbours.found {
                let is_decodable = rule.is_decodable(packet, slots.of(packet));
                neighbours.states[packet as usize] = if is_decodable { State::Decoded } else { State::Waiting };
                if is_decodable {
                    decodable.push(packet);
                }
            }
            if decodable.is_empty() {
                break;
            }
            for &packet in decodable.iter() {
                rule.subtract(packet, slots.of(packet));
            }
        }
        waiting.retain(|&packet| neighbours.states[packet as usize] != State::Decoded);
    }
}

/// Finds packets that share a slot with others: linked lists of bursts, which need no sorting.
#[derive(Debug, Default)]
struct Neighbours {
    /// Of each slot: its first burst, or [`NONE`].
    first: Vec<u32>,
    /// Of each burst: its packet, and the burst that comes next in its slot, or [`NONE`].
    bursts: Vec<(u32, u32)>,
    states: Vec<State>,
    found: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// To be looked at.
    Found,
    Decoded,
}

/// No burst.
const NONE: u32 = u32::MAX;

impl Neighbours {
    /// With the packets that wait, of so many.
    fn begin<'a>(&mut self, packets: usize, slots: &impl Slots<'a>, waiting: &[u32]) {
        self.states.clear();
        self.states.resize(packets, State::Decoded);
        self.first.clear();
        self.bursts.clear();
        for &packet in waiting {
            self.states[packet as usize] = State::Waiting;
            for &slot in slots.of(packet) {
                if slot as usize >= self.first.len() {
                    self.first.resize(slot as usize + 1, NONE);
                }
                let next = std::mem::replace(&mut self.first[slot as usize], self.bursts.len() as u32);
                self.bursts.push((packet, next));
            }
        }
    }

    /// Finds the packets that wait and share a slot with one of these, where that may help.
    fn find<'a>(&mut self, slots: &impl Slots<'a>, decoded: &[u32], may_help: impl Fn(u32) -> bool) {
        let Neighbours { first, bursts, states, found } = self;
        found.clear();
        for slot in decoded.iter().flat_map(|&packet| slots.of(packet)).filter(|&&slot| may_help(slot)) {
            let mut burst = first.get(*slot as usize).copied().unwrap_or(NONE);
            while let Some(&(packet, next)) = bursts.get(burst as usize) {
                if states[packet as usize] == State::Waiting {
                    states[packet as usize] = State::Found;
                    found.push(packet);
                }
                burst = next;
            }
        }
    }
}
