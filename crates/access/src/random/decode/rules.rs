//! When a packet can be decoded.

use channel::{ERASED, qpsk};
use units::Db;

use super::bursts::{Left, Table};
use crate::random::scheme::Receiver;

pub(super) trait Rule {
    /// Whether a packet with bursts in these slots can be decoded.
    fn is_decodable(&self, packet: u32, slots: &[u32]) -> bool;

    /// Takes the bursts of a packet that was decoded from its slots.
    fn subtract(&mut self, packet: u32, slots: &[u32]);

    /// Adds the bursts of a packet to its slots again: the opposite of [`Rule::subtract`].
    fn add(&mut self, packet: u32, slots: &[u32]);

    /// Whether packets in a slot that lost bursts may have become decodable.
    fn may_help(&self, _slot: u32) -> bool {
        true
    }
}

/// Equal powers, each burst on its own: decoded with one in a slot of at most so many bursts.
pub(super) struct Best<'a, L: ?Sized> {
    pub(super) most: u32,
    pub(super) left: Left<'a, L>,
}

impl<L: Table + ?Sized> Rule for Best<'_, L> {
    #[inline(always)]
    fn is_decodable(&self, _packet: u32, slots: &[u32]) -> bool {
        slots.iter().fold(u32::MAX, |least, &slot| least.min(self.left.of(slot).bursts())) <= self.most
    }

    #[inline(always)]
    fn subtract(&mut self, packet: u32, slots: &[u32]) {
        self.left.subtract(packet, slots);
    }

    fn add(&mut self, packet: u32, slots: &[u32]) {
        self.left.add(packet, slots);
    }

    #[inline(always)]
    fn may_help(&self, slot: u32) -> bool {
        self.left.of(slot).bursts() <= self.most
    }
}

/// The rule for equal powers where the codeword extends over all bursts: their mean information decides.
pub(super) struct MeanOfBursts<'a, I, L: ?Sized> {
    information: I,
    required: f64,
    /// The number of bursts that most packets have, and the information that such packets need.
    needed: (usize, i64),
    left: Left<'a, L>,
}

impl<'a, I: ByBursts, L: Table + ?Sized> MeanOfBursts<'a, I, L> {
    #[inline(always)]
    pub(super) fn new(information: I, required: f64, usual: usize, left: Left<'a, L>) -> MeanOfBursts<'a, I, L> {
        MeanOfBursts { information, required, needed: (usual, fixed_point(required * usual as f64)), left }
    }
}

impl<I: ByBursts, L: Table + ?Sized> Rule for MeanOfBursts<'_, I, L> {
    #[inline(always)]
    fn is_decodable(&self, _packet: u32, slots: &[u32]) -> bool {
        let needed = match slots.len() == self.needed.0 {
            true => self.needed.1,
            false => fixed_point(self.required * slots.len() as f64),
        };
        slots.iter().map(|&slot| self.information.of(self.left.of(slot).bursts())).sum::<i64>() >= needed
    }

    #[inline(always)]
    fn subtract(&mut self, packet: u32, slots: &[u32]) {
        self.left.subtract(packet, slots);
    }

    fn add(&mut self, packet: u32, slots: &[u32]) {
        self.left.add(packet, slots);
    }
}

/// Mutual information per coded bit, in [`fixed_point`], of a burst in a slot with so many bursts of the same power
/// (itself among them), as far as it was asked for. Entry 0 is there for the arithmetic.
#[derive(Debug)]
pub(super) struct Information {
    es_n0: Db,
    /// At least [`USUAL_BURSTS`] entries, of which so many are computed; the others are 0.
    table: Vec<i64>,
    known: usize,
}

/// The size of the table while no slot has more bursts: an index of 8 bits into it needs no check.
const USUAL_BURSTS: usize = 1 << u8::BITS;

impl Information {
    pub(super) fn new(es_n0: Db) -> Information {
        let mut table = vec![0; USUAL_BURSTS];
        table[0] = fixed_point(1.0);
        Information { es_n0, table, known: 1 }
    }

    /// The information of a burst in slots with so many bursts and fewer.
    pub(super) fn up_to(&mut self, bursts: u32) -> &[i64] {
        let entries = bursts as usize + 1;
        if entries > self.table.len() {
            self.table.resize(entries, 0);
        }
        while self.known < entries {
            let interferers = (self.known - 1) as f64;
            let noise = libm::pow(10.0, -self.es_n0.get() / 10.0) + interferers;
            let information = qpsk::mutual_information(Db::new(-10.0 * libm::log10(noise)));
            self.table[self.known] = fixed_point(information);
            self.known += 1;
        }
        &self.table[..entries]
    }

    /// The table as an array, if no slot has had more bursts than are usual.
    pub(super) fn usual(&self) -> Option<&[i64; USUAL_BURSTS]> {
        self.table.as_slice().try_into().ok()
    }

    /// All entries of the table that were asked for, by number of bursts.
    pub(super) fn all(&self) -> &[i64] {
        &self.table
    }
}

/// A table of [`Information`].
pub(super) trait ByBursts {
    /// The information of a burst in a slot with so many, which the table has.
    fn of(&self, bursts: u32) -> i64;
}

impl ByBursts for &[i64; USUAL_BURSTS] {
    #[inline(always)]
    fn of(&self, bursts: u32) -> i64 {
        self[usize::from(bursts as u8)]
    }
}

impl ByBursts for &[i64] {
    #[inline(always)]
    fn of(&self, bursts: u32) -> i64 {
        self[bursts as usize]
    }
}

/// Information in units of 2^-40 bits: sums do not depend on their order.
pub(super) fn fixed_point(information: f64) -> i64 {
    (information * (1i64 << 40) as f64).round() as i64
}

/// Powers that differ. They are whole numbers, so that a slot from which everything was subtracted is empty to the last
/// bit.
pub(super) struct Powers<'a> {
    pub(super) powers: &'a [u64],
    /// The sum of the powers in each slot.
    pub(super) of_slot: &'a mut [u64],
    pub(super) noise: f64,
    pub(super) receiver: &'a Receiver,
}

impl Powers<'_> {
    fn information(&self, power: u64, interference: u64) -> f64 {
        let ratio = power as f64 / (self.noise + interference as f64);
        qpsk::mutual_information(Db::new((10.0 * libm::log10(ratio)).max(ERASED.get())))
    }
}

impl Rule for Powers<'_> {
    fn is_decodable(&self, packet: u32, slots: &[u32]) -> bool {
        let power = self.powers[packet as usize];
        let interference = slots.iter().map(|&slot| self.of_slot[slot as usize] - power);
        if self.receiver.joint {
            let required = self.receiver.required * slots.len() as f64;
            interference.map(|interference| self.information(power, interference)).sum::<f64>() >= required
        } else {
            let least = interference.min().expect("a packet has bursts");
            self.information(power, least) >= self.receiver.required
        }
    }

    fn subtract(&mut self, packet: u32, slots: &[u32]) {
        slots.iter().for_each(|&slot| self.of_slot[slot as usize] -= self.powers[packet as usize]);
    }

    fn add(&mut self, packet: u32, slots: &[u32]) {
        slots.iter().for_each(|&slot| self.of_slot[slot as usize] += self.powers[packet as usize]);
    }
}
