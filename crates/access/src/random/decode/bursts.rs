//! The bursts of a frame, and which of its packets were not decoded.

use super::waiting::{GROUP, PacketPlace};

/// The bursts of a frame.
#[derive(Debug, Default)]
pub(in crate::random) struct Bursts {
    /// The bursts that are left in each slot, as [`BurstsOfSlot`]s: none until all packets have come, then all until
    /// they are decoded. At least [`USUAL_SLOTS`], of which the first are the frame's.
    left: Vec<u64>,
    /// The number of slots of the frame.
    slots: usize,
    /// The bursts of each packet; `None` if packets have different numbers of them.
    each: Option<u32>,
    /// Where the bursts of each packet begin in `slot_of`, and after the last packet, where those of the next would, if
    /// their numbers differ.
    starts: Vec<u32>,
    /// The slots of the packets' bursts, one packet after the other, and room for more.
    slot_of: Vec<u32>,
    packets: usize,
    /// The number of bursts in the frame's slots.
    count: usize,
    /// The packets that were not decoded, by number: of a frame that was.
    lost: Vec<u32>,
}

/// The bursts in a slot: how many, and above these 32 bits the sum of their packets' numbers, modulo 2^32. So one that
/// is alone is known without a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BurstsOfSlot(u64);

impl BurstsOfSlot {
    /// A slot of the frame with one burst, of this packet.
    #[inline(always)]
    pub(super) fn with(packet: u32) -> BurstsOfSlot {
        BurstsOfSlot(u64::from(packet) << 32 | 1)
    }

    /// The slot with one burst more, of this packet.
    #[inline(always)]
    pub(super) fn add(self, packet: u32) -> BurstsOfSlot {
        BurstsOfSlot(self.0.wrapping_add(BurstsOfSlot::with(packet).0))
    }

    /// The slot without the burst of this packet.
    #[inline(always)]
    pub(super) fn remove(self, packet: u32) -> BurstsOfSlot {
        BurstsOfSlot(self.0.wrapping_sub(BurstsOfSlot::with(packet).0))
    }

    #[inline(always)]
    pub(super) fn bursts(self) -> u32 {
        self.0 as u32
    }

    /// The packet whose burst is alone in the slot.
    #[inline(always)]
    pub(super) fn alone(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The bursts that are left in each slot.
pub(super) struct Left<'a, T: ?Sized> {
    table: &'a mut T,
    /// The number of slots of the frame.
    slots: usize,
}

/// The words of [`BurstsOfSlot`]s. In an array of [`USUAL_SLOTS`] the compiler leaves out the check of the index.
pub(super) trait Table {
    fn word(&self, slot: u32) -> u64;

    fn word_mut(&mut self, slot: u32) -> &mut u64;

    fn all(&self) -> &[u64];
}

/// The most slots of a usual frame: an index of 16 bits into so many words needs no check.
const USUAL_SLOTS: usize = 1 << u16::BITS;

impl Table for [u64; USUAL_SLOTS] {
    #[inline(always)]
    fn word(&self, slot: u32) -> u64 {
        self[usize::from(slot as u16)]
    }

    #[inline(always)]
    fn word_mut(&mut self, slot: u32) -> &mut u64 {
        &mut self[usize::from(slot as u16)]
    }

    fn all(&self) -> &[u64] {
        self
    }
}

impl Table for [u64] {
    #[inline(always)]
    fn word(&self, slot: u32) -> u64 {
        self[slot as usize]
    }

    #[inline(always)]
    fn word_mut(&mut self, slot: u32) -> &mut u64 {
        &mut self[slot as usize]
    }

    fn all(&self) -> &[u64] {
        self
    }
}

impl<T: Table + ?Sized> Left<'_, T> {
    #[inline(always)]
    pub(super) fn of(&self, slot: u32) -> BurstsOfSlot {
        BurstsOfSlot(self.table.word(slot))
    }

    /// Changes the bursts of a slot; returns what the slot has then.
    #[inline(always)]
    pub(super) fn change(&mut self, slot: u32, change: impl Fn(BurstsOfSlot) -> BurstsOfSlot) -> BurstsOfSlot {
        let word = self.table.word_mut(slot);
        let changed = change(BurstsOfSlot(*word));
        *word = changed.0;
        changed
    }

    /// Removes the bursts of a packet from its slots.
    #[inline(always)]
    pub(super) fn subtract(&mut self, packet: u32, slots: &[u32]) {
        slots.iter().for_each(|&slot| _ = self.change(slot, |left| left.remove(packet)));
    }

    /// Adds the bursts of a packet to its slots.
    #[inline(always)]
    pub(super) fn add(&mut self, packet: u32, slots: &[u32]) {
        slots.iter().for_each(|&slot| _ = self.change(slot, |left| left.add(packet)));
    }

    /// The number of slots of the frame.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The bursts of all slots, slot by slot.
    #[inline(always)]
    pub(super) fn all(&self) -> impl Iterator<Item = BurstsOfSlot> {
        self.table.all()[..self.slots].iter().map(|&word| BurstsOfSlot(word))
    }
}

impl Bursts {
    /// No bursts; packets will have so many each, or different numbers.
    pub(in crate::random) fn new(each: Option<u32>) -> Bursts {
        Bursts { each, starts: vec![0], ..Bursts::default() }
    }

    /// Removes everything; then there are so many empty slots.
    pub(in crate::random) fn clear(&mut self, slots: usize) {
        debug_assert!(self.are_subtracted(), "a frame that was decoded leaves no bursts");
        if self.left.len() < slots {
            // A new vector: the allocator has zeroed memory without writing it.
            self.left = vec![0; slots.max(USUAL_SLOTS)];
        }
        self.slots = slots;
        self.lost.clear();
        self.starts.truncate(1);
        (self.packets, self.count) = (0, 0);
    }

    pub(in crate::random) fn packets(&self) -> usize {
        self.packets
    }

    pub(in crate::random) fn bursts(&self) -> usize {
        self.count
    }

    /// Adds so many packets of so many bursts. Returns where their slots are to be written, those of each packet
    /// different.
    #[inline(always)]
    pub(in crate::random) fn push_packets(&mut self, packets: u32, bursts: u32) -> &mut [u32] {
        let start = self.count;
        self.count += packets as usize * bursts as usize;
        if self.count > self.slot_of.len() {
            self.grow();
        }
        match self.each {
            Some(each) => debug_assert_eq!(each, bursts, "all packets have the same number of bursts"),
            None => self.starts.extend((1..=packets).map(|packet| start as u32 + packet * bursts)),
        }
        self.packets += packets as usize;
        &mut self.slot_of[start..self.count]
    }

    #[cold]
    fn grow(&mut self) {
        // Whole groups of packets.
        let group = GROUP * self.each.map_or(1, |each| each as usize);
        self.slot_of.resize((2 * self.count).next_multiple_of(group), 0);
    }

    /// All packets of the frame have come.
    pub(in crate::random) fn complete(&mut self) {
        self.work(Fill);
    }

    /// Bursts that are alone in their slot.
    pub(in crate::random) fn alone(&self) -> usize {
        self.alone_and_most().0
    }

    /// Bursts that are alone in their slot, and a bound on the bursts of a slot: the bitwise or of all counts.
    pub(super) fn alone_and_most(&self) -> (usize, u32) {
        let count = |(alone, all), left: BurstsOfSlot| (alone + u32::from(left.bursts() == 1), all | left.bursts());
        let (alone, most) = self.left[..self.slots].iter().map(|&word| BurstsOfSlot(word)).fold((0, 0), count);
        (alone as usize, most)
    }

    /// Packets that were not decoded, by number.
    pub(in crate::random) fn lost(&self) -> &[u32] {
        &self.lost
    }

    /// For a caller that decides without a receiver: which packets are lost.
    pub(in crate::random) fn lose(&mut self, is_lost: impl FnMut(&u32) -> bool) {
        self.lost.extend((0..self.packets as u32).filter(is_lost));
    }

    /// Takes all bursts of the frame away.
    pub(in crate::random) fn empty_slots(&mut self) {
        self.left[..self.slots].fill(0);
    }

    /// Whether no slot has a burst: of a frame that was decoded.
    pub(in crate::random) fn are_subtracted(&self) -> bool {
        self.left[..self.slots].iter().all(|&left| left == 0)
    }

    /// Calls `work` with the slots of all packets. Usual numbers of replicas and slots have types of their own, for
    /// which the compiler makes faster code.
    #[inline(always)]
    pub(super) fn work<W: Work>(&mut self, work: W) {
        let Bursts { left, slots, each, starts, slot_of, packets, count, lost } = self;
        let (slots, regular) = (*slots, |each| Regular { each: each as usize, slot_of: &slot_of[..*count] });
        let irregular = Irregular { starts, slot_of: &slot_of[..*count] };
        match (left.first_chunk_mut().filter(|_| slots <= USUAL_SLOTS), *each) {
            (Some(table), Some(2)) => work.with(&Each::<2>::new(slot_of, *packets), Left { table, slots }, lost),
            (Some(table), Some(3)) => work.with(&Each::<3>::new(slot_of, *packets), Left { table, slots }, lost),
            (Some(table), Some(each)) => work.with(&regular(each), Left { table, slots }, lost),
            (Some(table), None) => work.with(&irregular, Left { table, slots }, lost),
            (None, Some(each)) => work.with(&regular(each), Left { table: left.as_mut_slice(), slots }, lost),
            (None, None) => work.with(&irregular, Left { table: left.as_mut_slice(), slots }, lost),
        }
    }

    /// The slots of a packet.
    #[cfg(test)]
    pub(in crate::random) fn slots_of(&self, packet: usize) -> impl ExactSizeIterator<Item = usize> {
        let slots = match self.each {
            Some(each) => Regular { each: each as usize, slot_of: &self.slot_of }.of(packet as u32),
            None => Irregular { starts: &self.starts, slot_of: &self.slot_of }.of(packet as u32),
        };
        slots.iter().map(|&slot| slot as usize)
    }
}

/// Work on the packets of a frame, whatever kind of [`Slots`] their slots are known by.
pub(super) trait Work {
    /// `lost`: the packets that are not decoded, to be written.
    fn with<'a>(self, slots: &impl Slots<'a>, left: Left<'_, impl Table + ?Sized>, lost: &mut Vec<u32>);
}

/// Adds all bursts to their slots.
struct Fill;

impl Work for Fill {
    #[inline(always)]
    fn with<'a>(self, slots: &impl Slots<'a>, mut left: Left<'_, impl Table + ?Sized>, _: &mut Vec<u32>) {
        slots.all().for_each(|(packet, slots)| left.add(packet, slots));
    }
}

/// The slots of packets.
pub(super) trait Slots<'a> {
    /// The number of packets.
    fn packets(&self) -> usize;

    /// The number of slots of each packet, or 0 if packets differ in it.
    fn each(&self) -> usize;

    /// All packets with their slots.
    #[inline(always)]
    fn all(&self) -> impl Iterator<Item = (u32, &'a [u32])> {
        (0..self.packets() as u32).map(|packet| (packet, self.of(packet)))
    }

    /// The slots of a packet.
    fn of(&self, packet: u32) -> &'a [u32];

    /// The slots of the packet at a place.
    #[inline(always)]
    fn at(&self, place: PacketPlace) -> &'a [u32] {
        self.of(place.packet())
    }
}

/// The same number, known to the compiler, of each packet: those of the packets, and with some more in whole groups.
struct Each<'a, const N: usize> {
    packets: &'a [[u32; N]],
    groups: &'a [[[u32; N]; GROUP]],
}

impl<'a, const N: usize> Each<'a, N> {
    fn new(slot_of: &'a [u32], packets: usize) -> Each<'a, N> {
        let with_room = slot_of.as_chunks().0;
        Each { packets: &with_room[..packets], groups: with_room.as_chunks().0 }
    }
}

/// The slots of packets that have as many each.
struct Regular<'a> {
    each: usize,
    slot_of: &'a [u32],
}

/// The slots of packets of which some have more than others.
struct Irregular<'a> {
    starts: &'a [u32],
    slot_of: &'a [u32],
}

impl<'a, const N: usize> Slots<'a> for Each<'a, N> {
    #[inline(always)]
    fn packets(&self) -> usize {
        self.packets.len()
    }

    #[inline(always)]
    fn each(&self) -> usize {
        N
    }

    #[inline(always)]
    fn all(&self) -> impl Iterator<Item = (u32, &'a [u32])> {
        (0..).zip(self.packets.iter().map(<[u32; N]>::as_slice))
    }

    #[inline(always)]
    fn of(&self, packet: u32) -> &'a [u32] {
        &self.packets[packet as usize]
    }

    #[inline(always)]
    fn at(&self, place: PacketPlace) -> &'a [u32] {
        &self.groups[place.group as usize][place.index as usize]
    }
}

impl<'a> Slots<'a> for Regular<'a> {
    #[inline(always)]
    fn packets(&self) -> usize {
        self.slot_of.len() / self.each
    }

    #[inline(always)]
    fn each(&self) -> usize {
        self.each
    }

    #[inline(always)]
    fn of(&self, packet: u32) -> &'a [u32] {
        &self.slot_of[packet as usize * self.each..][..self.each]
    }
}

impl<'a> Slots<'a> for Irregular<'a> {
    #[inline(always)]
    fn packets(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline(always)]
    fn each(&self) -> usize {
        0
    }

    #[inline(always)]
    fn of(&self, packet: u32) -> &'a [u32] {
        &self.slot_of[self.starts[packet as usize] as usize..self.starts[packet as usize + 1] as usize]
    }
}
