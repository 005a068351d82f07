//! The packets of a frame that wait, and those of them that are decoded in an iteration.

use std::ops::Range;

/// Which packets of a frame wait.
#[derive(Debug, Default)]
pub(super) struct WaitingPackets(Vec<PacketGroup>);

/// The packets of a group: a bit of a word each.
pub(super) const GROUP: usize = u64::BITS as usize;

/// The place of a packet: its group, and its index there.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketPlace {
    pub(super) group: u32,
    pub(super) index: u32,
}

impl PacketPlace {
    #[inline(always)]
    pub(super) fn packet(self) -> u32 {
        self.group * GROUP as u32 + self.index
    }
}

#[derive(Clone, Copy, Debug)]
struct PacketGroup {
    waiting: u64,
    /// The packets of the group that were found decodable last.
    found: u64,
}

impl WaitingPackets {
    /// Lets the first so many packets wait, and no others.
    pub(super) fn fill(&mut self, packets: usize) {
        self.0.clear();
        self.0.resize(packets.div_ceil(GROUP), PacketGroup { waiting: u64::MAX, found: 0 });
        if let (Some(last), rest @ 1..) = (self.0.last_mut(), packets % GROUP) {
            last.waiting = (1 << rest) - 1;
        }
    }

    /// The groups of waiting packets, divided into so many parts or fewer.
    #[inline(always)]
    pub(super) fn parts(&self, parts: u32) -> impl Iterator<Item = Range<usize>> + use<> {
        let groups = self.0.len();
        let of_part = groups.div_ceil(parts as usize).max(1);
        (0..groups).step_by(of_part).map(move |first| first..(first + of_part).min(groups))
    }

    /// All groups.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.0.len()
    }

    /// Looks at those of some groups that wait: those that `is_found` finds wait no longer. Returns how many.
    #[inline(always)]
    pub(super) fn find(&mut self, groups: Range<usize>, is_found: impl Fn(PacketPlace) -> bool) -> usize {
        let mut count = 0;
        for (group, PacketGroup { waiting, found }) in (groups.start as u32..).zip(&mut self.0[groups]) {
            let mut of_group = 0;
            // Without a branch: it would be guessed wrongly as often as not.
            if *waiting == u64::MAX {
                for four in (0..GROUP as u32 / 4).rev() {
                    for index in (0..4).rev() {
                        of_group = of_group << 1 | u64::from(is_found(PacketPlace { group, index: 4 * four + index }));
                    }
                }
            } else {
                ones(group, *waiting, |place| of_group |= u64::from(is_found(place)) << place.index);
            }
            (*waiting, *found) = (*waiting ^ of_group, of_group);
            if of_group != 0 {
                count += of_group.count_ones() as usize;
            }
        }
        count
    }

    /// Calls `work` with each of some groups that was found last.
    #[inline(always)]
    pub(super) fn for_each_found(&self, groups: Range<usize>, mut work: impl FnMut(PacketPlace)) {
        (groups.start as u32..)
            .zip(&self.0[groups])
            .for_each(|(group, &PacketGroup { found, .. })| ones(group, found, &mut work));
    }

    /// Calls `work` with each that waits, in their order.
    #[inline(always)]
    pub(super) fn for_each(&self, mut work: impl FnMut(PacketPlace)) {
        (0..).zip(&self.0).for_each(|(group, &PacketGroup { waiting, .. })| ones(group, waiting, &mut work));
    }
}

/// Calls `work` with the place of each bit that is set in a group's word.
#[inline(always)]
fn ones(group: u32, mut word: u64, mut work: impl FnMut(PacketPlace)) {
    while word != 0 {
        work(PacketPlace { group, index: word.trailing_zeros() });
        word &= word - 1;
    }
}
