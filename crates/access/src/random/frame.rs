//! Frames of random access: packets are placed, then decoded.

use rand::Rng;
use units::chance::{normal, unit_interval};

use super::columns::{Columns, FreeColumns};
use super::decode::{Bursts, Decoder};
use super::draw::Digits;
use super::layout::RandomLayout;
use super::placement::{Block, Carriers};
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
    blocks: Vec<Block>,
    /// The carriers of each block, if all blocks have slots on as many.
    carriers: Option<Carriers>,
    bursts: Bursts,
    is_decoded: bool,
    counters: RandomCounters,
}

/// Counters of random access, since the construction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomCounters {
    /// Bursts sent.
    pub offered_bursts: u64,
    /// Bursts that shared their slot with another.
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
            layout,
            blocks: Vec::new(),
            carriers: None,
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
        if self.blocks.len() != blocks as usize {
            self.lay_out(blocks);
        }
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

    /// Determines the slots of so many blocks.
    fn lay_out(&mut self, blocks: u32) {
        let RandomFrame { layout, blocks: known, .. } = self;
        known.clear();
        known.extend((0..blocks).map(|block| Block::new(layout, block)));
        let mut carriers = known.iter().map(|block| block.carriers(layout));
        let first = carriers.next();
        self.carriers = first.filter(|&first| carriers.all(|carriers| carriers == first));
    }

    /// Adds a packet of a terminal whose `columns` are used as given, and marks those that its replicas use.
    ///
    /// The block is uniform among those with room for the packet, and each replica uniform among the slots of the block
    /// that are left: in another column than all others of the terminal if it has one amplifier, else in another slot
    /// than those of the same packet. Returns false, and nothing changes, if no block has room.
    pub fn add(&mut self, columns: &mut Columns, rng: &mut (impl Rng + ?Sized)) -> bool {
        self.add_waiting(&mut None, columns, rng)
    }

    /// As [`RandomFrame::add`] for the first packet of those that wait. Where it finds no room it keeps the number of
    /// replicas that it has drawn, in `waiting`: were it drawn anew, packets with many would be too few.
    pub fn add_waiting(
        &mut self,
        waiting: &mut Option<u32>,
        columns: &mut Columns,
        rng: &mut (impl Rng + ?Sized),
    ) -> bool {
        debug_assert!(!self.is_decoded, "packets are added before the frame is decoded");
        debug_assert_eq!(columns.timeslots(), self.layout.timeslots, "the columns are those of the frame");
        let replicas = *waiting.get_or_insert_with(|| self.replicas.draw(rng));
        if self.layout.one_amplifier && columns.free() < replicas {
            return false; // before anything else is drawn
        }
        let power = match &self.receiver {
            Receiver::Unequal { spread_db, .. } => draw_power(*spread_db, rng),
            _ => 0,
        };
        let mut digits = Digits::new(rng);
        let Some(block) = self.choose_block(columns, replicas, &mut digits) else { return false };
        let (layout, at) = (&self.layout, self.blocks[block as usize]);
        let carriers = self.carriers.unwrap_or_else(|| at.carriers(layout));
        layout.place(at, carriers, self.bursts.push_packets(1, replicas), columns, &mut digits);
        match &mut self.receiver {
            Receiver::Equal(_) => {}
            Receiver::Unequal { powers, .. } => powers.push(power),
            Receiver::Table { packets_of_block, block_of_packet, .. } => {
                packets_of_block[block as usize] += 1;
                block_of_packet.push(block);
            }
        }
        *waiting = None;
        true
    }

    /// The number of replicas, if packets find room for certain where a terminal has as many free columns for each, so
    /// that [`RandomFrame::add_all`] may add them; `None` where they are added one by one.
    pub fn together(&self) -> Option<u32> {
        match (&self.replicas, &self.receiver) {
            (&ReplicaLaw::Fixed(replicas), Receiver::Equal(_))
                if self.layout.draws_columns() && !self.blocks.is_empty() =>
            {
                Some(replicas)
            }
            _ => None,
        }
    }

    /// As [`RandomFrame::add`] for so many packets, as many as [`RandomFrame::together`] allows.
    pub fn add_all(&mut self, packets: u32, columns: &mut Columns, rng: &mut (impl Rng + ?Sized)) {
        let ReplicaLaw::Fixed(replicas) = self.replicas else {
            panic!("packets with drawn numbers of replicas are added one by one")
        };
        let slot_of = self.bursts.push_packets(packets, replicas);
        let (blocks, layout) = (self.blocks.as_slice(), &self.layout);
        columns.draw(|free| match (replicas, self.carriers) {
            (3, Some(carriers)) => place_all(layout, blocks, |_| carriers, slot_of.as_chunks_mut::<3>().0, free, rng),
            (2, Some(carriers)) => place_all(layout, blocks, |_| carriers, slot_of.as_chunks_mut::<2>().0, free, rng),
            (_, carriers) => {
                let carriers = |block: Block| carriers.unwrap_or_else(|| block.carriers(layout));
                place_all(layout, blocks, carriers, slot_of.chunks_exact_mut(replicas as usize), free, rng)
            }
        });
    }

    fn choose_block(
        &self,
        columns: &Columns,
        replicas: u32,
        digits: &mut Digits<'_, impl Rng + ?Sized>,
    ) -> Option<u32> {
        let blocks = self.blocks.len() as u32;
        if blocks == 0 {
            return None;
        }
        let block = digits.below(blocks);
        if self.has_room(block, columns, replicas) {
            return Some(block);
        }
        // Rare. The block is uniform among those with room, as if blocks without room were drawn again.
        let with_room = || (0..blocks).filter(|&block| self.has_room(block, columns, replicas));
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

    /// Decodes the frame. From `rng` only a table of loss rates draws, once for each packet.
    ///
    /// # Panics
    /// If the frame was decoded already.
    pub fn decode(&mut self, rng: &mut (impl Rng + ?Sized)) {
        assert!(!self.is_decoded, "a frame is decoded once");
        self.is_decoded = true;
        self.counters.blocks += self.blocks.len() as u64;
        self.bursts.complete();
        self.counters.offered_bursts += self.bursts.bursts() as u64;
        let alone = match &mut self.receiver {
            Receiver::Equal(decoder) => decoder.decode_equal(&mut self.bursts),
            Receiver::Unequal { decoder, powers, .. } => decoder.decode_unequal(&mut self.bursts, powers, POWER_UNIT),
            Receiver::Table { table, packets_of_block, plr_of_block, block_of_packet } => {
                let alone = self.bursts.alone();
                plr_of_block.clear();
                plr_of_block.extend(packets_of_block.iter().map(|&packets| table.plr(packets)));
                self.bursts.lose(|&packet| {
                    unit_interval(rng.next_u64()) < plr_of_block[block_of_packet[packet as usize] as usize]
                });
                self.bursts.empty_slots();
                alone
            }
        };
        debug_assert!(self.bursts.are_subtracted(), "what is lost is subtracted too");
        self.counters.collided_bursts += (self.bursts.bursts() - alone) as u64;
        let lost = self.bursts.lost().len();
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
        self.bursts.lost()
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

/// Places packets in blocks drawn for each; returns the columns that are left. A function of its own, so that what it
/// needs stays in registers.
#[inline(never)]
fn place_all<'c>(
    layout: &RandomLayout,
    blocks: &[Block],
    carriers: impl Fn(Block) -> Carriers,
    packets: impl IntoIterator<Item: AsMut<[u32]>>,
    mut free: FreeColumns<'c>,
    rng: &mut (impl Rng + ?Sized),
) -> FreeColumns<'c> {
    let mut digits = Digits::new(rng);
    for mut slots in packets {
        let block = blocks[digits.below(blocks.len() as u32) as usize];
        let carriers = carriers(block);
        slots.as_mut().iter_mut().for_each(|slot| *slot = layout.draw_slot(block, carriers, &mut free, &mut digits));
    }
    free
}

fn draw_power(spread_db: f64, rng: &mut (impl Rng + ?Sized)) -> u64 {
    let db = (spread_db * normal(|| unit_interval(rng.next_u64()))).clamp(-POWER_RANGE_DB, POWER_RANGE_DB);
    (libm::pow(10.0, db / 10.0) * POWER_UNIT) as u64
}
