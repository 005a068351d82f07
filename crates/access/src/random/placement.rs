//! The slots of a packet's bursts are drawn.

use rand::Rng;

use super::columns::{Columns, FreeColumns};
use super::draw::{Digits, bits_of};
use super::layout::RandomLayout;

/// Where the slots of an RA block are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its first slot, and the first slot of that one's carrier.
    first: u32,
    first_of_carrier: u32,
    /// How many carriers it has slots on.
    carriers: u32,
    /// Bits that a number below all slots of these carriers uses.
    bits: u32,
}

impl Block {
    pub(super) fn new(layout: &RandomLayout, block: u32) -> Block {
        let &RandomLayout { timeslots, block_slots, .. } = layout;
        let first = block * block_slots;
        let first_column = first % timeslots;
        let carriers = (first_column + block_slots).div_ceil(timeslots);
        Block { first, first_of_carrier: first - first_column, carriers, bits: bits_of(carriers * timeslots) }
    }
}

impl RandomLayout {
    /// Draws the slots of a packet's bursts. The block has room.
    #[inline]
    pub(super) fn place(
        &self,
        block: Block,
        slots: &mut [u32],
        columns: &mut Columns,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) {
        if self.draws_columns() {
            return columns.draw(|free| self.place_in_columns(block, slots, free, digits));
        }
        for replica in 0..slots.len() {
            let (before, slot) = slots.split_at_mut(replica);
            slot[0] = digits.find_below(self.block_slots, |slot| {
                let slot = block.first + slot;
                let is_free = match self.one_amplifier {
                    true => columns.take(slot % self.timeslots),
                    false => !before.contains(&slot),
                };
                is_free.then_some(slot)
            });
        }
    }

    /// As [`RandomLayout::place`] where [`RandomLayout::draws_columns`]: draws a carrier and a free column until their
    /// slot is one of the block's.
    #[inline(always)]
    pub(super) fn place_in_columns(
        &self,
        block: Block,
        slots: &mut [u32],
        free: &mut FreeColumns<'_>,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) {
        let Block { first, first_of_carrier, carriers, bits } = block;
        let mut placed = 0;
        while placed < slots.len() {
            let (carrier, index) = digits.both_below(carriers, free.count(), bits);
            let slot = first_of_carrier + carrier * self.timeslots + free.column(index);
            if slot.wrapping_sub(first) < self.block_slots {
                free.take(index);
                slots[placed] = slot;
                placed += 1;
            }
        }
    }
}
