//! Iterative interference cancellation.
//!
//! Packets and slots are the two kinds of nodes of a graph whose edges are bursts (Liva 2011). An iteration follows the
//! edges of the packets that were decoded in the one before, so the whole takes a time in proportion to the bursts;
//! where bursts are decoded together, times the bursts of a slot.

use std::slice::ChunksExactMut;

use channel::{ERASED, qpsk};
use units::Db;

use super::scheme::Receiver;

/// The bursts of a frame.
#[derive(Debug)]
pub(super) struct Bursts {
    /// The bursts that are left in each slot.
    left: Vec<Slot>,
    states: Vec<State>,
    /// Where the bursts of each packet begin in `slot_of`, and after the last packet, where those of the next would.
    starts: Vec<u32>,
    /// The slots of the packets' bursts, one packet after the other, and room for more.
    slot_of: Vec<u32>,
    /// How many bursts there are.
    count: usize,
    /// The most bursts in a slot, and those that are not alone in theirs: of a complete frame.
    most: u32,
    collided: u32,
}

/// The bursts in a slot: how many, and above these 32 bits the sum of their packets' numbers, modulo 2^32. So one that
/// is alone is known without a list.
#[derive(Clone, Copy, Debug, Default)]
struct Slot(u64);

impl Slot {
    #[inline]
    fn add(&mut self, packet: u32) {
        self.0 = self.0.wrapping_add(u64::from(packet) << 32 | 1);
    }

    #[inline]
    fn remove(&mut self, packet: u32) {
        self.0 = self.0.wrapping_sub(u64::from(packet) << 32 | 1);
    }

    #[inline]
    fn bursts(self) -> u32 {
        self.0 as u32
    }

    /// The packet of the burst that is alone.
    #[inline]
    fn alone(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Counts the bursts of a packet.
pub(super) struct Count<'a> {
    packet: u32,
    left: &'a mut [Slot],
}

impl Count<'_> {
    /// One of them is in this slot.
    #[inline]
    pub(super) fn add(&mut self, slot: u32) {
        self.left[slot as usize].add(self.packet);
    }
}

/// Room for packets with the same number of bursts.
pub(super) struct Room<'a> {
    slots: ChunksExactMut<'a, u32>,
    /// The number of the next packet.
    packet: u32,
    left: &'a mut [Slot],
}

impl Room<'_> {
    /// As [`Bursts::push_packet`], where there is room left.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(&mut [u32], Count<'_>)> {
        let count = Count { packet: self.packet, left: self.left };
        self.packet += 1;
        Some((self.slots.next()?, count))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Found to be decodable in the next iteration, or to be looked at for that.
    Candidate,
    Decoded,
}

impl Default for Bursts {
    fn default() -> Bursts {
        Bursts {
            left: Vec::new(),
            states: Vec::new(),
            starts: vec![0],
            slot_of: Vec::new(),
            count: 0,
            most: 0,
            collided: 0,
        }
    }
}

impl Bursts {
    /// Removes everything; then there are so many empty slots.
    pub(super) fn clear(&mut self, slots: usize) {
        self.left.clear();
        self.left.resize(slots, Slot::default());
        self.states.clear();
        self.starts.truncate(1);
        self.count = 0;
    }

    pub(super) fn packets(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn bursts(&self) -> usize {
        self.count
    }

    /// Adds a packet with so many bursts. Returns where their slots are to be written, each another, and what is to be
    /// told of each.
    #[inline]
    pub(super) fn push_packet(&mut self, bursts: u32) -> (&mut [u32], Count<'_>) {
        let (start, packet) = (self.count, self.packets() as u32);
        self.count += bursts as usize;
        if self.count > self.slot_of.len() {
            self.grow(self.count);
        }
        self.starts.push(self.count as u32);
        (&mut self.slot_of[start..self.count], Count { packet, left: &mut self.left })
    }

    #[cold]
    fn grow(&mut self, bursts: usize) {
        self.slot_of.resize(2 * bursts, 0);
    }

    /// Room for so many more packets of so many bursts each, of which [`Bursts::push_packets`] adds those that are
    /// filled in.
    #[inline]
    pub(super) fn room(&mut self, packets: u32, bursts: u32) -> Room<'_> {
        let (packet, end) = (self.packets() as u32, self.count + packets as usize * bursts as usize);
        if end > self.slot_of.len() {
            self.grow(end);
        }
        let slots = self.slot_of[self.count..end].chunks_exact_mut(bursts as usize);
        Room { slots, packet, left: &mut self.left }
    }

    /// Adds packets of so many bursts that were filled in.
    #[inline]
    pub(super) fn push_packets(&mut self, packets: u32, bursts: u32) {
        let before = self.count as u32;
        self.starts.extend((1..=packets).map(|packet| before + packet * bursts));
        self.count += packets as usize * bursts as usize;
    }

    /// The slots of a packet.
    #[inline]
    pub(super) fn slots_of(&self, packet: usize) -> impl ExactSizeIterator<Item = usize> {
        slots_of(&self.starts, &self.slot_of, packet).iter().map(|&slot| slot as usize)
    }

    /// No more packets come.
    pub(super) fn complete(&mut self) {
        self.states.resize(self.packets(), State::Waiting);
        (self.most, self.collided) = (0, 0);
        for bursts in self.left.iter().map(|left| left.bursts()) {
            self.most = self.most.max(bursts);
            self.collided += if bursts > 1 { bursts } else { 0 };
        }
    }

    /// Bursts that are not alone in their slot, of a complete frame.
    pub(super) fn collided(&self) -> u64 {
        u64::from(self.collided)
    }

    pub(super) fn is_decoded(&self, packet: usize) -> bool {
        self.states[packet] == State::Decoded
    }

    /// Packets that are decoded.
    pub(super) fn decoded(&self) -> usize {
        self.states.iter().filter(|&&state| state == State::Decoded).count()
    }

    /// For a caller that decides without a receiver.
    pub(super) fn set_decoded(&mut self, packet: usize) {
        self.states[packet] = State::Decoded;
    }
}

/// The slots of a packet.
#[inline]
fn slots_of<'a>(starts: &[u32], slot_of: &'a [u32], packet: usize) -> &'a [u32] {
    &slot_of[starts[packet] as usize..starts[packet + 1] as usize]
}

/// The packets in each slot: linked lists of bursts, which need no sorting.
#[derive(Debug, Default)]
struct Lists {
    /// Of each slot: its first burst, or [`NONE`].
    first: Vec<u32>,
    /// Of each burst: its packet, and the burst that comes next in its slot, or [`NONE`].
    bursts: Vec<(u32, u32)>,
}

/// No burst.
const NONE: u32 = u32::MAX;

impl Lists {
    fn fill(&mut self, bursts: &Bursts) {
        self.first.clear();
        self.first.resize(bursts.left.len(), NONE);
        self.bursts.resize(bursts.bursts(), (0, 0));
        let (first, slots) = (self.first.as_mut_slice(), &bursts.slot_of[..bursts.bursts()]);
        let places = &mut self.bursts[..slots.len()];
        for (packet, ends) in (0..).zip(bursts.starts.windows(2)) {
            for number in ends[0]..ends[1] {
                let first = &mut first[slots[number as usize] as usize];
                places[number as usize] = (packet, std::mem::replace(first, number));
            }
        }
    }

    /// The packets with a burst in a slot, those that are decoded included.
    #[inline]
    fn packets_in(&self, slot: u32) -> impl Iterator<Item = u32> {
        let (mut burst, bursts) = (self.first[slot as usize], self.bursts.as_slice());
        std::iter::from_fn(move || {
            let &(packet, next) = bursts.get(burst as usize)?;
            burst = next;
            Some(packet)
        })
    }

    /// Adds the packets of a slot that wait to the candidates.
    #[inline]
    fn find_waiting(&self, slot: u32, states: &mut [State], candidates: &mut Vec<u32>) {
        self.packets_in(slot).for_each(|packet| find_if_waiting(packet, states, candidates));
    }
}

#[inline]
fn find_if_waiting(packet: u32, states: &mut [State], candidates: &mut Vec<u32>) {
    let state = &mut states[packet as usize];
    if *state == State::Waiting {
        *state = State::Candidate;
        candidates.push(packet);
    }
}

/// The receiver, with its working memory.
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
    lists: Lists,
    missing: Vec<i64>,
    touched: Touched,
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
        let table = self.information.up_to(bursts.most);
        let Scratch { decodable, next, lists, missing, touched, .. } = &mut self.scratch;
        let packets = [decodable, next];
        if joint {
            let mut rule = Mean { table, required, missing, touched, lists };
            return iterate(iterations, bursts, &mut rule, packets);
        }
        let required = fixed_point(required);
        let most = table[1..].iter().take_while(|&&information| information >= required).count() as u32;
        if most == 1 {
            iterate(iterations, bursts, &mut Alone, packets);
        } else {
            iterate(iterations, bursts, &mut Best { most, lists }, packets);
        }
    }

    /// Decodes packets with the given `powers`, in units of which `unit` are the power of the nominal Es/N0.
    pub(super) fn decode_unequal(&mut self, bursts: &mut Bursts, powers: &[u64], unit: f64) {
        let Receiver { es_n0, required, joint, iterations, .. } = self.receiver;
        let noise = libm::pow(10.0, -es_n0.get() / 10.0) * unit;
        let Scratch { decodable, next, lists, power, .. } = &mut self.scratch;
        let mut rule = Powers { powers, of_slot: power, noise, required, joint, lists };
        iterate(iterations, bursts, &mut rule, [decodable, next]);
    }
}

fn iterate(iterations: u32, bursts: &mut Bursts, rule: &mut impl Rule, [decodable, next]: [&mut Vec<u32>; 2]) {
    decodable.clear();
    rule.begin(bursts, decodable);
    for iteration in 1..=iterations {
        for &packet in decodable.iter() {
            bursts.states[packet as usize] = State::Decoded;
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

/// Equal powers, each burst on its own: decoded with one that is alone in its slot.
struct Alone;

impl Rule for Alone {
    fn begin(&mut self, all: &mut Bursts, decodable: &mut Vec<u32>) {
        for left in all.left.iter().filter(|left| left.bursts() == 1) {
            find_if_waiting(left.alone(), &mut all.states, decodable);
        }
    }

    fn subtract(&mut self, all: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        let Bursts { left, states, starts, slot_of, .. } = all;
        let (left, states) = (left.as_mut_slice(), states.as_mut_slice());
        for &packet in decoded {
            for &slot in slots_of(starts, slot_of, packet as usize) {
                let left = &mut left[slot as usize];
                left.remove(packet);
                if left.bursts() == 1 {
                    find_if_waiting(left.alone(), states, decodable);
                }
            }
        }
    }
}

/// Equal powers, each burst on its own: decoded with one in a slot of at most so many bursts.
struct Best<'a> {
    most: u32,
    lists: &'a mut Lists,
}

impl Rule for Best<'_> {
    fn begin(&mut self, all: &mut Bursts, decodable: &mut Vec<u32>) {
        self.lists.fill(all);
        for (slot, left) in (0..).zip(&all.left) {
            if (1..=self.most).contains(&left.bursts()) {
                self.lists.find_waiting(slot, &mut all.states, decodable);
            }
        }
    }

    fn subtract(&mut self, all: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        let Bursts { left, states, starts, slot_of, .. } = all;
        for &packet in decoded {
            for &slot in slots_of(starts, slot_of, packet as usize) {
                left[slot as usize].remove(packet);
                // Below that, they have been found already.
                if left[slot as usize].bursts() == self.most {
                    self.lists.find_waiting(slot, states, decodable);
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
    touched: &'a mut Touched,
    lists: &'a mut Lists,
}

/// The slots from which an iteration takes bursts.
#[derive(Debug, Default)]
struct Touched {
    slots: Vec<u32>,
    /// Of each slot: the bursts that it had before the iteration, if it is touched, else 0.
    had: Vec<u32>,
}

impl Rule for Mean<'_> {
    fn begin(&mut self, all: &mut Bursts, decodable: &mut Vec<u32>) {
        self.lists.fill(all);
        self.touched.had.resize(all.left.len(), 0);
        self.missing.clear();
        let (table, left) = (self.table, all.left.as_slice());
        // Most schemes have one number of bursts.
        let mut required = (0, 0);
        for packet in 0..all.packets() {
            let slots = all.slots_of(packet);
            if required.0 != slots.len() {
                required = (slots.len(), fixed_point(self.required * slots.len() as f64));
            }
            let mut missing = required.1;
            for slot in slots {
                missing -= table[left[slot].bursts() as usize];
            }
            self.missing.push(missing);
            if missing <= 0 {
                decodable.push(packet as u32);
            }
        }
    }

    /// All bursts are taken away before those that are left are looked at: once in each slot, however many it loses.
    fn subtract(&mut self, all: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        let Bursts { left, starts, slot_of, .. } = all;
        // As slices: a vector's place is read again after each number that is written.
        let (left, missing) = (left.as_mut_slice(), self.missing.as_mut_slice());
        let Touched { slots: touched, had } = &mut *self.touched;
        let had = &mut had[..left.len()];
        touched.clear();
        for &packet in decoded {
            for &slot in slots_of(starts, slot_of, packet as usize) {
                let left = &mut left[slot as usize];
                if had[slot as usize] == 0 {
                    had[slot as usize] = left.bursts();
                    touched.push(slot);
                }
                left.remove(packet);
            }
        }
        for &slot in touched.iter() {
            let (left, had) = (left[slot as usize], std::mem::take(&mut had[slot as usize]));
            if left.bursts() == 0 {
                continue;
            }
            let gain = self.table[left.bursts() as usize] - self.table[had as usize];
            let mut inform = |packet: u32| {
                let missing = &mut missing[packet as usize];
                let before = std::mem::replace(missing, *missing - gain);
                if before > 0 && before <= gain {
                    decodable.push(packet);
                }
            };
            if left.bursts() == 1 {
                inform(left.alone());
            } else {
                // Decoded ones gain as well, which no longer matters.
                self.lists.packets_in(slot).for_each(inform);
            }
        }
    }
}

/// Mutual information per coded bit, in [`fixed_point`], of a burst in a slot with so many bursts of the same power
/// (itself among them), as far as it was asked for. Entry 0 is there for the arithmetic.
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

/// Powers that differ. They are whole numbers, so that a slot from which everything was subtracted is empty to the last
/// bit.
struct Powers<'a> {
    powers: &'a [u64],
    of_slot: &'a mut Vec<u64>,
    noise: f64,
    required: f64,
    joint: bool,
    lists: &'a mut Lists,
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
        self.of_slot.resize(bursts.left.len(), 0);
        self.lists.fill(bursts);
        for (packet, &power) in self.powers.iter().enumerate() {
            bursts.slots_of(packet).for_each(|slot| self.of_slot[slot] += power);
        }
        decodable.extend((0..bursts.packets() as u32).filter(|&packet| self.is_decodable(bursts, packet as usize)));
    }

    fn subtract(&mut self, all: &mut Bursts, decoded: &[u32], decodable: &mut Vec<u32>) {
        for &packet in decoded {
            all.slots_of(packet as usize).for_each(|slot| self.of_slot[slot] -= self.powers[packet as usize]);
        }
        let Bursts { states, starts, slot_of, .. } = &mut *all;
        for &packet in decoded {
            for &slot in slots_of(starts, slot_of, packet as usize) {
                self.lists.find_waiting(slot, states, decodable);
            }
        }
        decodable.retain(|&packet| {
            let decodable = self.is_decodable(all, packet as usize);
            if !decodable {
                all.states[packet as usize] = State::Waiting;
            }
            decodable
        });
    }
}
