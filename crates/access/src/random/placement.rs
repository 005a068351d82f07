//! The slots of a packet's bursts are drawn.

use rand::Rng;

use super::columns::{Columns, FreeColumns};
use super::draw::{Digits, bits_of};
use super::layout::RandomLayout;

/// Where the slots of an RA block are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its first slot, and how many slots of that one's carrier come before.
    first: u32,
    before: u32,
}

/// The carriers on which an RA block has slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carriers {
    count: u64,
    /// Bits that a number below all slots of these carriers uses.
    bits: u32,
}

impl Block {
    pub(super) fn new(layout: &RandomLayout, block: u32) -> Block {
        let first = block * layout.block_slots;
        Block { first, before: first % layout.timeslots }
    }

    pub(super) fn carriers(self, layout: &RandomLayout) -> Carriers {
        let carriers = (self.before + layout.block_slots).div_ceil(layout.timeslots);
        Carriers { count: u64::from(carriers), bits: bits_of(carriers * layout.timeslots) }
    }
}

impl RandomLayout {
    /// Draws the slots of a packet's bursts. The block has room.
    #[inline]
    pub(super) fn place(
        &self,
        block: Block,
        carriers: Carriers,
        slots: &mut [u32],
        columns: &mut Columns,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) {
        if self.draws_columns() {
            return columns.draw(|mut free| {
                slots.iter_mut().for_each(|slot| *slot = self.draw_slot(block, carriers, &mut free, digits));
                free
            });
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

    /// Draws the slot of a burst where [`RandomLayout::draws_columns`], and takes its column: a carrier and a free
    /// column, until their slot is one of the block's.
    #[inline(always)]
    pub(super) fn draw_slot(
        &self,
        block: Block,
        carriers: Carriers,
        free: &mut FreeColumns<'_>,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) -> u32 {
        loop {
            let (carrier, index) = digits.both_below(carriers.count, free.count() as u64, carriers.bits);
            let column = free.column(index as usize);
            let slot = (carrier as u32 * self.timeslots).wrapping_sub(block.before).wrapping_add(column);
            if slot < self.block_slots {
                free.take(index as usize);
                return block.first + slot;
            }
        }
    }
}
