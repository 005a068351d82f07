//! Frames of random access: packets are placed, then decoded.

use rand::Rng;
use units::chance::{normal, unit_interval};

use super::columns::Columns;
use super::decode::{Bursts, Decoder, Slot};
use super::draw::{BITS_OF_A_DRAW, Digits, bits_of, next_digit};
use super::layout::RandomLayout;
use super::plr_table::PlrTable;
use super::scheme::{Decoding, ReplicaLaw, Scheme};

/// Frames of random access, one after the other. A frame is begun, gets its packets, is decoded, and answers which of
/// them arrived.
///
/// Memory grows with the largest frame; after that nothing is allocated.
#[derive(Debug)]
pub struct RandomFrame {
    payload_bits: u32,
    replicas: ReplicaLaw,
    receiver: Receiver,
    layout: RandomLayout,
    /// A bit for the column of each slot of a block that begins in the first column, and so on: a block that begins in
    /// another column finds its slots' from there. None where columns are more than bits.
    bit_of: Vec<u64>,
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
        let each = match scheme.replicas {
            ReplicaLaw::Fixed(replicas) => Some(replicas),
            ReplicaLaw::Drawn(_) => None,
        };
        RandomFrame {
            payload_bits: scheme.payload_bits,
            replicas: scheme.replicas,
            receiver,
            bit_of: match Columns::new(layout.timeslots).taken() {
                Some(_) => {
                    let slots = 0..layout.timeslots + (layout.block_slots + 1).next_power_of_two();
                    slots.map(|slot| 1 << (slot % layout.timeslots)).collect()
                }
                None => Vec::new(),
            },
            layout,
            blocks: 0,
            bursts: Bursts::new(each),
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

    /// Adds a packet of a terminal whose `columns` are used as given, and marks those that its replicas use.
    ///
    /// The block is uniform among those with room for the packet, and each replica uniform among the slots of the block
    /// that are left: in another column than all others of the terminal if it has one amplifier, else in another slot
    /// than those of the same packet. False, and nothing changes, if no block has room; an irregular scheme draws the
    /// number of replicas anew at the next attempt.
    pub fn add(&mut self, columns: &mut Columns, rng: &mut (impl Rng + ?Sized)) -> bool {
        debug_assert!(!self.is_decoded, "packets are added before the frame is decoded");
        debug_assert_eq!(columns.timeslots(), self.layout.timeslots, "the columns are those of the frame");
        let replicas = self.replicas.draw(rng);
        if self.layout.one_amplifier && columns.free() < replicas {
            return false; // before anything else is drawn
        }
        let power = match &self.receiver {
            Receiver::Unequal { spread_db, .. } => draw_power(*spread_db, rng),
            _ => 0,
        };
        if self.is_open(columns) {
            self.place(1, replicas, columns, rng);
            if let Receiver::Unequal { powers, .. } = &mut self.receiver {
                powers.push(power);
            }
            return true;
        }
        let mut digits = Digits::new(rng);
        let Some(block) = self.choose_block(columns, replicas, &mut digits) else { return false };
        if self.layout.one_amplifier {
            self.place_in_free_columns(block, replicas, columns, digits);
        } else {
            self.place_in_any_slots(block, replicas, digits);
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

    /// How many packets find room for certain, so that [`RandomFrame::add_all`] may add them; `None` where they are
    /// added one by one.
    pub fn room(&self, columns: &Columns) -> Option<u32> {
        match (&self.replicas, &self.receiver) {
            (&ReplicaLaw::Fixed(replicas), Receiver::Equal(_)) if self.is_open(columns) => {
                Some(columns.free() / replicas)
            }
            _ => None,
        }
    }

    /// As [`RandomFrame::add`] for so many packets, at most [`RandomFrame::room`].
    pub fn add_all(&mut self, packets: u32, columns: &mut Columns, rng: &mut (impl Rng + ?Sized)) {
        let ReplicaLaw::Fixed(replicas) = self.replicas else {
            panic!("packets with drawn numbers of replicas are added one by one")
        };
        self.place(packets, replicas, columns, rng);
    }

    /// Whether each block has a slot in each column, so that it has room where the terminal has columns left, and the
    /// columns are few.
    #[inline]
    fn is_open(&self, columns: &Columns) -> bool {
        let RandomLayout { timeslots, block_slots, one_amplifier } = self.layout;
        let is_table = matches!(self.receiver, Receiver::Table { .. });
        one_amplifier && block_slots >= timeslots && self.blocks > 0 && columns.taken().is_some() && !is_table
    }

    /// Places packets with so many replicas where [`RandomFrame::is_open`] and columns are left.
    #[inline]
    fn place(&mut self, packets: u32, replicas: u32, columns: &mut Columns, rng: &mut (impl Rng + ?Sized)) {
        match bits_of(self.layout.block_slots) {
            6 => self.place_in::<6, 64>(packets, replicas, columns, rng),
            7 => self.place_in::<7, 128>(packets, replicas, columns, rng),
            8 => self.place_in::<8, 256>(packets, replicas, columns, rng),
            _ => {
                for _ in 0..packets {
                    let mut digits = Digits::new(rng);
                    let block = digits.below(self.blocks);
                    self.place_in_free_columns(block, replicas, columns, digits);
                }
            }
        }
    }

    /// As [`RandomFrame::place`] for blocks with slots whose numbers have so many bits, of which there are so many: the
    /// compiler then knows how many a draw serves, and that each has a column.
    fn place_in<const BITS: u32, const NUMBERS: usize>(
        &mut self,
        packets: u32,
        replicas: u32,
        columns: &mut Columns,
        rng: &mut (impl Rng + ?Sized),
    ) {
        let mut taken = columns.taken().expect("few columns");
        let (blocks, RandomLayout { timeslots, block_slots, .. }) = (self.blocks, self.layout);
        let bound = block_slots & (NUMBERS as u32 - 1);
        let after_the_block = (BITS_OF_A_DRAW - bits_of(blocks)) / BITS;
        let before = self.bursts.packets() as u32;
        let (slot_of, left) = self.bursts.push_packets(packets, replicas);
        'packets: for (packet, slots) in (before..).zip(slot_of.chunks_exact_mut(replicas as usize)) {
            let burst = Slot::with(packet);
            let mut fraction = rng.next_u64();
            let first = next_digit(&mut fraction, blocks) * block_slots;
            let left = &mut left[first as usize..][..block_slots as usize];
            let bit_of = self.bit_of[(first % timeslots) as usize..].first_chunk::<NUMBERS>().expect("long enough");
            let mut rest = slots.iter_mut();
            let mut next = rest.next().expect("a packet has replicas");
            // Of 40 columns the last free one is found after 40 draws. True once the packet has all slots.
            let mut draw = |fraction: &mut u64| {
                let slot = next_digit(fraction, bound);
                let bit = bit_of[slot as usize];
                if taken & bit != 0 {
                    return false;
                }
                taken |= bit;
                left[slot as usize].add(burst);
                *next = first + slot;
                rest.next().map(|following| next = following).is_none()
            };
            for _ in 0..after_the_block {
                if draw(&mut fraction) {
                    continue 'packets;
                }
            }
            loop {
                fraction = rng.next_u64();
                for _ in 0..BITS_OF_A_DRAW / BITS {
                    if draw(&mut fraction) {
                        continue 'packets;
                    }
                }
            }
        }
        columns.take_all(taken, packets * replicas);
    }

    fn choose_block(
        &self,
        columns: &Columns,
        replicas: u32,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) -> Option<u32> {
        if self.blocks == 0 {
            return None;
        }
        let block = digits.below(self.blocks);
        if self.has_room(block, columns, replicas) {
            return Some(block);
        }
        // Rare. The block is uniform among those with room, as if blocks without room were drawn again.
        let with_room = || (0..self.blocks).filter(|&block| self.has_room(block, columns, replicas));
        let count = with_room().count() as u32;
        if count == 0 {
            return None;
        }
        with_room().nth(digits.below(count) as usize)
    }

    /// Whether a block has room for a packet. Each replica takes one column, so it is enough to count those that are
    /// free.
    #[inline]
    fn has_room(&self, block: u32, columns: &Columns, replicas: u32) -> bool {
        let RandomLayout { timeslots, block_slots, one_amplifier } = self.layout;
        if !one_amplifier {
            return replicas <= block_slots;
        }
        // All that is taken may lie in the block; mostly there is room even so.
        let (columns_of_block, taken) = (block_slots.min(timeslots), timeslots - columns.free());
        replicas + taken <= columns_of_block || self.has_room_in(block, columns, replicas)
    }

    fn has_room_in(&self, block: u32, columns: &Columns, replicas: u32) -> bool {
        let RandomLayout { timeslots, block_slots, .. } = self.layout;
        let columns_of_block = block_slots.min(timeslots);
        let first_column = (u64::from(block) * u64::from(block_slots) % u64::from(timeslots)) as u32;
        columns.free_among(first_column, columns_of_block) >= replicas
    }

    fn place_in_free_columns(
        &mut self,
        block: u32,
        replicas: u32,
        columns: &mut Columns,
        mut digits: Digits<'_, impl Rng + ?Sized>,
    ) {
        let RandomLayout { timeslots, block_slots, .. } = self.layout;
        let first = block * block_slots;
        let burst = Slot::with(self.bursts.packets() as u32);
        let (slots, left) = self.bursts.push_packets(1, replicas);
        for slot_of_replica in slots {
            *slot_of_replica = digits.find_below(block_slots, |slot| {
                let slot = first + slot;
                columns.take(slot % timeslots).then_some(slot)
            });
            left[*slot_of_replica as usize].add(burst);
        }
    }

    fn place_in_any_slots(&mut self, block: u32, replicas: u32, mut digits: Digits<'_, impl Rng + ?Sized>) {
        let RandomLayout { block_slots, .. } = self.layout;
        let burst = Slot::with(self.bursts.packets() as u32);
        let (slots, left) = self.bursts.push_packets(1, replicas);
        for replica in 0..slots.len() {
            let (before, slot) = slots.split_at_mut(replica);
            slot[0] = digits.find_below(block_slots, |slot| {
                let slot = block * block_slots + slot;
                (!before.contains(&slot)).then_some(slot)
            });
            left[slot[0] as usize].add(burst);
        }
    }

    /// Decodes the frame. From `rng` only a table of loss rates draws, once for each packet.
    ///
    /// # Panics
    /// If the frame was decoded already.
    pub fn decode(&mut self, rng: &mut (impl Rng + ?Sized)) {
        assert!(!self.is_decoded, "a frame is decoded once");
        self.is_decoded = true;
        self.counters.blocks += u64::from(self.blocks);
        self.bursts.complete();
        self.counters.offered_bursts += self.bursts.bursts() as u64;
        self.counters.collided_bursts += self.bursts.collided() as u64;
        match &mut self.receiver {
            Receiver::Equal(decoder) => decoder.decode_equal(&mut self.bursts),
            Receiver::Unequal { decoder, powers, .. } => decoder.decode_unequal(&mut self.bursts, powers, POWER_UNIT),
            Receiver::Table { table, packets_of_block, plr_of_block, block_of_packet } => {
                plr_of_block.clear();
                plr_of_block.extend(packets_of_block.iter().map(|&packets| table.plr(packets)));
                self.bursts.retain_waiting(|packet| {
                    unit_interval(rng.next_u64()) < plr_of_block[block_of_packet[packet as usize] as usize]
                });
                self.bursts.empty_slots();
            }
        }
        let lost = self.bursts.waiting().len();
        self.counters.decoded_packets += (self.bursts.packets() - lost) as u64;
        self.counters.lost_packets += lost as u64;
    }

    /// The number of packets in the frame.
    pub fn packets(&self) -> usize {
        self.bursts.packets()
    }

    /// The packets that did not arrive, counted from 0 in the order of [`RandomFrame::add`]. After
    /// [`RandomFrame::decode`].
    pub fn lost(&self) -> &[u32] {
        self.bursts.waiting()
    }

    /// Whether a packet arrived.
    #[cfg(test)]
    pub(super) fn decoded(&self, packet: usize) -> bool {
        self.lost().binary_search(&(packet as u32)).is_err()
    }

    /// The slots of a packet's replicas, numbered over all blocks.
    #[cfg(test)]
    pub(super) fn slots_of(&self, packet: usize) -> impl Iterator<Item = usize> {
        self.bursts.slots_of(packet)
    }

    /// The counters since construction.
    pub fn counters(&self) -> RandomCounters {
        self.counters
    }
}

fn draw_power(spread_db: f64, rng: &mut (impl Rng + ?Sized)) -> u64 {
    let db = (spread_db * normal(|| unit_interval(rng.next_u64()))).clamp(-POWER_RANGE_DB, POWER_RANGE_DB);
    (libm::pow(10.0, db / 10.0) * POWER_UNIT) as u64
}
