//! The bursts of a frame, and which of its packets wait to be decoded.

/// The bursts of a frame.
#[derive(Debug, Default)]
pub(in crate::random) struct Bursts {
    /// How many bursts are in each slot; the receiver takes away those of decoded packets.
    pub(super) left: Vec<u32>,
    /// Of each packet, if all have the same number.
    each: Option<u32>,
    /// Where the bursts of each packet end in `slot_of`, if their numbers differ.
    ends: Vec<u32>,
    /// The slots of the packets' bursts, one packet after the other, and room for more.
    slot_of: Vec<u32>,
    packets: usize,
    /// How many bursts there are.
    count: usize,
    /// The packets that are not decoded, by number: of a complete frame.
    pub(super) waiting: Vec<u32>,
    /// The most bursts in a slot, and those that are not alone in theirs: of a complete frame.
    pub(super) most: u32,
    collided: u32,
}

impl Bursts {
    /// No bursts; packets will have so many each, or different numbers.
    pub(in crate::random) fn new(each: Option<u32>) -> Bursts {
        Bursts { each, ..Bursts::default() }
    }

    /// Removes everything; then there are so many empty slots.
    pub(in crate::random) fn clear(&mut self, slots: usize) {
        debug_assert!(self.left.iter().all(|&left| left == 0), "a frame that was decoded leaves no bursts");
        self.left.resize(slots, 0);
        self.ends.clear();
        (self.packets, self.count) = (0, 0);
    }

    pub(in crate::random) fn packets(&self) -> usize {
        self.packets
    }

    pub(in crate::random) fn bursts(&self) -> usize {
        self.count
    }

    /// Adds so many packets of so many bursts. Returns where their slots are to be written, those of each packet
    /// different, and the bursts in each slot, where they are to be counted.
    #[inline]
    pub(in crate::random) fn push_packets(&mut self, packets: u32, bursts: u32) -> (&mut [u32], &mut [u32]) {
        let start = self.count;
        self.count += packets as usize * bursts as usize;
        if self.count > self.slot_of.len() {
            self.grow();
        }
        match self.each {
            Some(each) => debug_assert_eq!(each, bursts, "all packets have the same number of bursts"),
            None => self.ends.extend((1..=packets).map(|packet| start as u32 + packet * bursts)),
        }
        self.packets += packets as usize;
        (&mut self.slot_of[start..self.count], &mut self.left)
    }

    #[cold]
    fn grow(&mut self) {
        self.slot_of.resize(2 * self.count, 0);
    }

    /// No more packets come; all wait.
    pub(in crate::random) fn complete(&mut self) {
        self.waiting.clear();
        self.waiting.extend(0..self.packets as u32);
        (self.most, self.collided) = (0, 0);
        for &bursts in &self.left {
            self.most = self.most.max(bursts);
            self.collided += if bursts > 1 { bursts } else { 0 };
        }
    }

    /// Bursts that are not alone in their slot, of a complete frame.
    pub(in crate::random) fn collided(&self) -> u64 {
        u64::from(self.collided)
    }

    /// Packets that are not decoded, by number.
    pub(in crate::random) fn waiting(&self) -> &[u32] {
        &self.waiting
    }

    /// For a caller that decides without a receiver: which packets go on waiting.
    pub(in crate::random) fn retain_waiting(&mut self, mut waits: impl FnMut(u32) -> bool) {
        self.waiting.retain(|&packet| waits(packet));
    }

    /// Takes all bursts away.
    pub(in crate::random) fn empty_slots(&mut self) {
        self.left.fill(0);
    }

    /// Calls `work` with the slots of all packets, of which the compiler knows how many a packet has, if that is one of
    /// the usual numbers.
    #[inline(always)]
    pub(super) fn work<W: Work>(&mut self, work: W) {
        let Bursts { left, each, ends, slot_of, packets, waiting, .. } = self;
        let slot_of = &slot_of[..self.count];
        match each {
            Some(2) => work.with(&Each::<2>(slot_of.as_chunks().0), *packets, left, waiting),
            Some(3) => work.with(&Each::<3>(slot_of.as_chunks().0), *packets, left, waiting),
            Some(each) => work.with(&Regular { each: *each as usize, slot_of }, *packets, left, waiting),
            None => work.with(&Irregular { ends, slot_of }, *packets, left, waiting),
        }
    }

    /// The slots of a packet.
    #[cfg(test)]
    pub(in crate::random) fn slots_of(&self, packet: usize) -> impl ExactSizeIterator<Item = usize> {
        let slots = match self.each {
            Some(each) => Regular { each: each as usize, slot_of: &self.slot_of }.of(packet as u32),
            None => Irregular { ends: &self.ends, slot_of: &self.slot_of }.of(packet as u32),
        };
        slots.iter().map(|&slot| slot as usize)
    }
}

/// What is done with packets whose slots are known in one way or another.
pub(super) trait Work {
    /// `left`: the bursts in each slot. `waiting`: the packets that are not decoded.
    fn with<'a>(self, slots: &impl Slots<'a>, packets: usize, left: &mut [u32], waiting: &mut Vec<u32>);
}

/// The slots of packets.
pub(super) trait Slots<'a> {
    /// How many each packet has, or 0 if their numbers differ.
    fn each(&self) -> usize;

    /// Those of a packet.
    fn of(&self, packet: u32) -> &'a [u32];
}

/// The same number, known to the compiler, of each packet.
struct Each<'a, const N: usize>(&'a [[u32; N]]);

/// The same number of each packet.
struct Regular<'a> {
    each: usize,
    slot_of: &'a [u32],
}

/// Different numbers.
struct Irregular<'a> {
    ends: &'a [u32],
    slot_of: &'a [u32],
}

impl<'a, const N: usize> Slots<'a> for Each<'a, N> {
    #[inline(always)]
    fn each(&self) -> usize {
        N
    }

    #[inline(always)]
    fn of(&self, packet: u32) -> &'a [u32] {
        &self.0[packet as usize]
    }
}

impl<'a> Slots<'a> for Regular<'a> {
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
    fn each(&self) -> usize {
        0
    }

    #[inline(always)]
    fn of(&self, packet: u32) -> &'a [u32] {
        let start = packet.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.slot_of[start as usize..self.ends[packet as usize] as usize]
    }
}
