//! Frames of random access: packets are placed, then decoded.

use rand::Rng;

use super::columns::{Columns, entry_of};
use super::decode::{Bursts, Decoder};
use super::draw::{Digits, normal, unit_interval};
use super::layout::RandomLayout;
use super::plr_table::PlrTable;
use super::scheme::{Decoding, Degrees, Scheme};

/// Frames of random access, one after the other. A frame is begun, gets its packets, is decoded, and answers which of
/// them arrived.
///
/// Memory grows with the largest frame; after that nothing is allocated.
#[derive(Debug)]
pub struct RandomFrame {
    payload_bits: u32,
    degrees: Degrees,
    receiver: Receiver,
    layout: RandomLayout,
    /// The column of each slot of a block that begins in the first column, and so on for as many slots as a carrier
    /// has: a block that begins in another column finds its slots' from there.
    column_of: Vec<u64>,
    blocks: u32,
    bursts: Bursts,
    is_decoded: bool,
    counters: RandomCounters,
}

/// Counters since construction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomCounters {
    /// Bursts sent.
    pub offered_bursts: u64,
    /// Those that shared their slot with another.
    pub collided_bursts: u64,
    /// Packets that arrived.
    pub decoded_packets: u64,
    /// Packets that did not.
    pub lost_packets: u64,
    /// RA blocks decoded, empty ones among them.
    pub blocks: u64,
}

#[derive(Debug)]
enum Receiver {
    Equal(Decoder),
    Unequal { decoder: Decoder, spread_db: f64, powers: Vec<u64> },
    Table { table: PlrTable, packets_of_block: Vec<u32>, plr_of_block: Vec<f64>, block_of_packet: Vec<u32> },
}

/// Powers are whole numbers of this fraction of the nominal power, so that sums are exact.
const POWER_UNIT: f64 = (1u64 << 36) as f64;
/// Powers are limited to this far above and below the nominal one: 6 standard deviations of the largest spread. Then
/// 200 of the strongest can meet in a slot, and the weakest is known to 5 digits.
const POWER_RANGE_DB: f64 = 60.0;

impl RandomFrame {
    /// An empty frame without blocks. The scheme has been checked against the layout.
    pub fn new(scheme: Scheme, layout: RandomLayout) -> RandomFrame {
        let receiver = match scheme.decoding {
            Decoding::Receiver(receiver) if receiver.power_spread.get() == 0.0 => {
                Receiver::Equal(Decoder::new(receiver))
            }
            Decoding::Receiver(receiver) => Receiver::Unequal {
                decoder: Decoder::new(receiver),
                spread_db: receiver.power_spread.get(),
                powers: Vec::new(),
            },
            Decoding::Table(table) => Receiver::Table {
                table,
                packets_of_block: Vec::new(),
                plr_of_block: Vec::new(),
                block_of_packet: Vec::new(),
            },
        };
        RandomFrame {
            payload_bits: scheme.payload_bits,
            degrees: scheme.degrees,
            receiver,
            column_of: (0..layout.timeslots + layout.block_slots)
                .map(|slot| entry_of(slot % layout.timeslots, layout.timeslots))
                .collect(),
            layout,
            blocks: 0,
            bursts: Bursts::default(),
            is_decoded: false,
            counters: RandomCounters::default(),
        }
    }

    /// Useful bits of a packet.
    pub fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    /// Begins a new frame with so many RA blocks, and forgets the packets of the one before.
    ///
    /// # Panics
    /// If the one before has packets and was not decoded.
    pub fn begin(&mut self, blocks: u32) {
        assert!(
            self.is_decoded || self.bursts.packets() == 0,
            "a frame with packets is decoded before the next begins"
        );
        self.blocks = blocks;
        self.bursts.clear(blocks as usize * self.layout.block_slots as usize);
        self.is_decoded = false;
        match &mut self.receiver {
            Receiver::Equal(_) => {}
            Receiver::Unequal { powers, .. } => powers.clear(),
            Receiver::Table { packets_of_block, block_of_packet, .. } => {
                packets_of_block.clear();
                packets_of_block.resize(blocks as usize, 0);
                block_of_packet.clear();
            }
        }
    }

    /// Adds a packet of a terminal whose `columns` are used as given, and marks those that its bursts use.
    ///
    /// The block is uniform among those with room for the packet, and each burst uniform among the slots of the block
    /// that are left: in another column than all others of the terminal if it has one amplifier, else in another slot
    /// than those of the same packet. False, and nothing changes, if no block has room; an irregular scheme draws the
    /// number of bursts anew at the next attempt.
    pub fn add(&mut self, columns: &mut Columns, rng: &mut dyn Rng) -> bool {
        debug_assert!(!self.is_decoded, "packets are added before the frame is decoded");
        debug_assert_eq!(columns.timeslots(), self.layout.timeslots, "the columns are those of the frame");
        let bursts = self.degrees.draw(rng);
        if self.layout.one_amplifier && columns.free() < bursts {
            return false; // before anything else is drawn
        }
        let power = match &self.receiver {
            Receiver::Unequal { spread_db, .. } => draw_power(*spread_db, rng),
            _ => 0,
        };
        let mut digits = Digits::new(rng);
        let Some(block) = self.choose_block(columns, bursts, &mut digits) else { return false };
        if self.layout.one_amplifier {
            self.place_in_free_columns(block, bursts, columns, digits);
        } else {
            self.place_in_any_slots(block, bursts, digits);
        }
        match &mut self.receiver {
            Receiver::Equal(_) => {}
            Receiver::Unequal { powers, .. } => powers.push(power),
            Receiver::Table { packets_of_block, block_of_packet, .. } => {
                packets_of_block[block as usize] += 1;
                block_of_packet.push(block);
            }
        }
        true
    }

    /// As [`RandomFrame::add`] for one packet after the other, as long as there is room and `goes_on` wants it: asked
    /// at first, and after each packet that was added, with whether one was.
    #[inline(always)]
    pub fn add_while(&mut self, columns: &mut Columns, rng: &mut dyn Rng, mut goes_on: impl FnMut(bool) -> bool) {
        if !goes_on(false) {
            return;
        }
        let RandomLayout { timeslots, block_slots, one_amplifier } = self.layout;
        match (&self.degrees, &self.receiver) {
            // A block that has a slot in each column has room where the terminal has columns left.
            (&Degrees::Fixed(bursts), Receiver::Equal(_))
                if one_amplifier && block_slots >= timeslots && columns.are_few() && self.blocks > 0 =>
            {
                let mut room = self.bursts.room(columns.free() / bursts, bursts);
                let mut added = 0;
                while let Some((slots, mut count)) = room.next() {
                    let mut digits = Digits::new(rng);
                    let first = digits.below(self.blocks) * block_slots;
                    let column_of = &self.column_of[(first % timeslots) as usize..][..block_slots as usize];
                    columns.draw_few(first, column_of, slots, &mut digits, |slot| count.add(slot));
                    added += 1;
                    if !goes_on(true) {
                        break;
                    }
                }
                self.bursts.push_packets(added, bursts);
            }
            _ => while self.add(columns, rng) && goes_on(true) {},
        }
    }

    fn choose_block(&self, columns: &Columns, bursts: u32, digits: &mut Digits<'_>) -> Option<u32> {
        if self.blocks == 0 {
            return None;
        }
        let block = digits.below(self.blocks);
        if self.has_room(block, columns, bursts) {
            return Some(block);
        }
        // Rare, and uniform as well: those without room are drawn again, as it were.
        let with_room = || (0..self.blocks).filter(|&block| self.has_room(block, columns, bursts));
        let count = with_room().count() as u32;
        if count == 0 {
            return None;
        }
        with_room().nth(digits.below(count) as usize)
    }

    /// Whether a block has room for a packet. Each burst takes one column, so it is enough to count those that are
    /// free.
    #[inline]
    fn has_room(&self, block: u32, columns: &Columns, bursts: u32) -> bool {
        let RandomLayout { timeslots, block_slots, one_amplifier } = self.layout;
        if !one_amplifier {
            return bursts <= block_slots;
        }
        // All that is taken may lie in the block; mostly there is room even so.
        let (columns_of_block, taken) = (block_slots.min(timeslots), timeslots - columns.free());
        bursts + taken <= columns_of_block || self.has_room_in(block, columns, bursts)
    }

    fn has_room_in(&self, block: u32, columns: &Columns, bursts: u32) -> bool {
        let RandomLayout { timeslots, block_slots, .. } = self.layout;
        let columns_of_block = block_slots.min(timeslots);
        let first_column = (u64::from(block) * u64::from(block_slots) % u64::from(timeslots)) as u32;
        columns.free_among(first_column, columns_of_block) >= bursts
    }

    #[inline(always)]
    fn place_in_free_columns(&mut self, block: u32, bursts: u32, columns: &mut Columns, mut digits: Digits<'_>) {
        let RandomLayout { timeslots, block_slots, .. } = self.layout;
        let first = block * block_slots;
        let column_of = &self.column_of[(first % timeslots) as usize..][..block_slots as usize];
        let (slots, mut count) = self.bursts.push_packet(bursts);
        columns.draw_slots(first, column_of, slots, &mut digits, |slot| count.add(slot));
    }

    fn place_in_any_slots(&mut self, block: u32, bursts: u32, mut digits: Digits<'_>) {
        let RandomLayout { block_slots, .. } = self.layout;
        let (slots, mut count) = self.bursts.push_packet(bursts);
        for place in 0..slots.len() {
            let (before, slot) = slots.split_at_mut(place);
            slot[0] = digits.find_below(block_slots, |slot| {
                let slot = block * block_slots + slot;
                (!before.contains(&slot)).then_some(slot)
            });
            count.add(slot[0]);
        }
    }

    /// Decodes the frame. From `rng` only a table of loss rates draws, once for each packet.
    ///
    /// # Panics
    /// If the frame was decoded already.
    pub fn decode(&mut self, rng: &mut dyn Rng) {
        assert!(!self.is_decoded, "a frame is decoded once");
        self.is_decoded = true;
        self.counters.blocks += u64::from(self.blocks);
        self.bursts.complete();
        self.counters.offered_bursts += self.bursts.bursts() as u64;
        self.counters.collided_bursts += self.bursts.collided();
        match &mut self.receiver {
            Receiver::Equal(decoder) => decoder.decode_equal(&mut self.bursts),
            Receiver::Unequal { decoder, powers, .. } => decoder.decode_unequal(&mut self.bursts, powers, POWER_UNIT),
            Receiver::Table { table, packets_of_block, plr_of_block, block_of_packet } => {
                plr_of_block.clear();
                plr_of_block.extend(packets_of_block.iter().map(|&packets| table.plr(packets)));
                for (packet, &block) in block_of_packet.iter().enumerate() {
                    if unit_interval(rng) >= plr_of_block[block as usize] {
                        self.bursts.set_decoded(packet);
                    }
                }
            }
        }
        let (packets, decoded) = (self.bursts.packets(), self.bursts.decoded());
        self.counters.decoded_packets += decoded as u64;
        self.counters.lost_packets += (packets - decoded) as u64;
    }

    /// The number of packets in the frame.
    pub fn packets(&self) -> usize {
        self.bursts.packets()
    }

    /// Whether a packet, counted from 0 in the order of [`RandomFrame::add`], arrived. After [`RandomFrame::decode`].
    pub fn decoded(&self, packet: usize) -> bool {
        self.bursts.is_decoded(packet)
    }

    /// The slots of a packet's bursts, numbered over all blocks.
    #[cfg(test)]
    pub(super) fn slots_of(&self, packet: usize) -> impl Iterator<Item = usize> {
        self.bursts.slots_of(packet)
    }

    /// The counters since construction.
    pub fn counters(&self) -> RandomCounters {
        self.counters
    }
}

fn draw_power(spread_db: f64, rng: &mut dyn Rng) -> u64 {
    let db = (spread_db * normal(rng)).clamp(-POWER_RANGE_DB, POWER_RANGE_DB);
    (libm::pow(10.0, db / 10.0) * POWER_UNIT) as u64
}
