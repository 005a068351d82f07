//! Packets cut into fragments where a block of the reliability scheme is smaller: Generic Stream Encapsulation
//! (ETSI TS 102 606-1, GSE) on a forward link, as RLE (EN 301 545-2, section 7.2.3) on the return link.
//!
//! The transmitter cuts a packet when its turn comes: every fragment but the last fills a block. The reliability scheme
//! and the reordering buffer know fragments only, each numbered; the terminal puts packets together from what leaves
//! the buffer. A packet of which a fragment is lost is lost.
//!
//! What is simplified:
//! * Fragments of a packet that has lost one are still sent: the sender of GSE is not told either.
//! * A block carries one fragment: the room behind the last one is left empty (or padded, if the scheme pads), where
//!   GSE may begin the next packet. With packets little longer than a block half of the link would notice.
//! * A terminal has memory for as many packets as are being put together; GSE numbers 256 of them.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use crate::packet::{DropReason, Output, PacketRef};

/// Cutting of packets into fragments, each a block of the reliability scheme. The defaults are the headers of GSE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SegmentationConfig {
    /// Before each fragment, and before a packet that needs no cutting: length and number of the packet.
    pub fragment: Bytes,
    /// Added once to a packet that is cut: total length, protocol and checksum.
    pub datagram: Bytes,
}

impl Default for SegmentationConfig {
    fn default() -> SegmentationConfig {
        SegmentationConfig { fragment: Bytes::new(3), datagram: Bytes::new(8) }
    }
}

/// More than any encapsulation adds.
const MOST_HEADER: Bytes = Bytes::new(64);

impl SegmentationConfig {
    /// Checks that packets can be cut for blocks of this size; `None` if the scheme has no blocks.
    pub(crate) fn check(&self, block: Option<u32>, scheme: &str) -> Result<(), FieldError> {
        let Some(block) = block else {
            let reason =
                format!("given, but harq {scheme} has no blocks that packets could be too long for: leave this out");
            return Err(FieldError::new("segmentation", reason));
        };
        for (field, bytes) in [("segmentation.fragment", self.fragment), ("segmentation.datagram", self.datagram)] {
            if bytes > MOST_HEADER {
                return Err(FieldError::new(field, format!("{bytes} was given, at most {MOST_HEADER} is allowed")));
            }
        }
        if Bytes::new(u64::from(block)) <= self.fragment {
            let reason = format!("{} was given, which leaves no room in a block of {block} B", self.fragment);
            return Err(FieldError::new("segmentation.fragment", reason));
        }
        Ok(())
    }

    /// The sizes of a packet's fragments, with their headers.
    pub(crate) fn fragments(&self, packet_bytes: u32, block: u32) -> impl Iterator<Item = u32> {
        let mut cutter = Cutter::new(self, block);
        let mut left = cutter.load(packet_bytes);
        std::iter::from_fn(move || (left > 0).then(|| cutter.cut(&mut left)))
    }
}

/// The sizes of fragments.
#[derive(Clone, Copy, Debug)]
struct Cutter {
    /// Bytes of a packet in a full block.
    room: u32,
    header: u32,
    datagram: u32,
}

impl Cutter {
    fn new(config: &SegmentationConfig, block: u32) -> Cutter {
        let header = config.fragment.get() as u32;
        Cutter { room: block - header, header, datagram: config.datagram.get() as u32 }
    }

    /// Bytes that the fragments of a packet carry together.
    fn load(self, packet_bytes: u32) -> u32 {
        if packet_bytes <= self.room { packet_bytes } else { packet_bytes + self.datagram }
    }

    /// The size of the next fragment of what is `left`.
    fn cut(&mut self, left: &mut u32) -> u32 {
        let carried = self.room.min(*left);
        *left -= carried;
        carried + self.header
    }
}

/// The packets between the scheduler and the terminal.
#[derive(Debug)]
pub(crate) struct Segmentation {
    cutter: Cutter,
    /// Begun and not all sent, in the order of their beginning, with the bytes that are left.
    cutting: VecDeque<(PacketRef, u32)>,
    /// Begun and not left, by the caller's handle.
    open: BTreeMap<u32, OpenPacket>,
    counters: SegmentationCounters,
}

/// A packet of which a part was sent.
#[derive(Debug)]
struct OpenPacket {
    packet: PacketRef,
    /// Fragments whose fate is not known.
    fragments: u32,
    /// Why the first fragment that was lost was.
    lost: Option<DropReason>,
}

/// Counters of a segmentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentationCounters {
    /// Packets that took more than one fragment.
    pub cut_packets: u64,
    /// Bits of packets that were put together.
    pub useful_bits: u64,
}

impl Segmentation {
    pub fn new(config: &SegmentationConfig, block: u32) -> Segmentation {
        let (cutting, open) = (VecDeque::new(), BTreeMap::new());
        Segmentation { cutter: Cutter::new(config, block), cutting, open, counters: SegmentationCounters::default() }
    }

    /// A packet's turn has come: its first fragment.
    pub fn begin(&mut self, packet: PacketRef) -> PacketRef {
        let mut left = self.cutter.load(packet.size);
        let fragments = left.div_ceil(self.cutter.room).max(1);
        let before = self.open.insert(packet.id, OpenPacket { packet, fragments, lost: None });
        debug_assert!(before.is_none(), "two packets of one handle: {packet:?}");
        let size = self.cutter.cut(&mut left);
        if left > 0 {
            self.counters.cut_packets += 1;
            self.cutting.push_back((packet, left));
        }
        PacketRef { size, ..packet }
    }

    /// The next fragment of a started packet, of a user that may start one.
    pub fn next(&mut self, may_start: impl Fn(u32) -> bool) -> Option<PacketRef> {
        let index = self.cutting.iter().position(|(packet, _)| may_start(packet.user))?;
        let (packet, left) = &mut self.cutting[index];
        let fragment = PacketRef { size: self.cutter.cut(left), ..*packet };
        if *left == 0 {
            self.cutting.remove(index);
        }
        Some(fragment)
    }

    /// Whether a packet was started and is not all sent.
    pub fn is_cutting(&self) -> bool {
        !self.cutting.is_empty()
    }

    /// The fragments that have not been sent are lost.
    pub fn give_up(&mut self, reason: DropReason, outputs: &mut VecDeque<Output>) {
        while let Some(fragment) = self.next(|_| true) {
            outputs.push_back(Output::Dropped(fragment, reason));
        }
    }

    /// What leaves when this does: the packet, with its last fragment; a packet that was never started, at once.
    pub fn merge(&mut self, output: Output) -> Option<Output> {
        let (Output::Delivered(PacketRef { id, .. }) | Output::Dropped(PacketRef { id, .. }, _)) = output;
        let Some(open) = self.open.get_mut(&id) else { return Some(output) };
        if let Output::Dropped(_, reason) = output {
            open.lost.get_or_insert(reason);
        }
        open.fragments -= 1;
        if open.fragments > 0 {
            return None;
        }
        let OpenPacket { packet, lost, .. } = self.open.remove(&id).expect("it was found above");
        Some(match lost {
            Some(reason) => Output::Dropped(packet, reason),
            None => {
                self.counters.useful_bits += u64::from(packet.size) * 8;
                Output::Delivered(packet)
            }
        })
    }

    /// Packets that were started and have not left, and those of `outputs` that were never started.
    pub fn in_flight(&self, outputs: &VecDeque<Output>) -> usize {
        let never_started = |output: &&Output| {
            let (Output::Delivered(packet) | Output::Dropped(packet, _)) = output;
            !self.open.contains_key(&packet.id)
        };
        self.open.len() + outputs.iter().filter(never_started).count()
    }

    pub fn counters(&self) -> SegmentationCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use units::Ecn;

    use super::*;

    fn packet(id: u32, user: u32, size: u32) -> PacketRef {
        PacketRef { id, flow: user, user, class: 0, size, ecn: Ecn::NotEct }
    }

    #[test]
    fn fragments_fill_their_blocks_and_carry_the_packet_and_its_headers() {
        let config = SegmentationConfig::default();
        let sizes = |bytes| config.fragments(bytes, 1115).collect::<Vec<_>>();
        assert_eq!(sizes(40), [43]);
        assert_eq!(sizes(1112), [1115]);
        assert_eq!(sizes(1113), [1115, 1113 + 8 - 1112 + 3]);
        assert_eq!(sizes(1280), [1115, 1280 + 8 - 1112 + 3]);
        assert_eq!(sizes(9000).len(), 9);
        assert_eq!(sizes(9000).iter().sum::<u32>(), 9000 + 8 + 9 * 3);
    }

    #[test]
    fn a_packet_leaves_with_its_last_fragment_and_is_lost_with_any() {
        for lost in [None, Some(0), Some(1), Some(2)] {
            let mut segmentation = Segmentation::new(&SegmentationConfig::default(), 103);
            let whole = packet(7, 0, 250);
            let mut fragments = vec![segmentation.begin(whole)];
            fragments.extend(std::iter::from_fn(|| segmentation.next(|_| true)));
            assert_eq!(fragments.iter().map(|fragment| fragment.size).collect::<Vec<_>>(), [103, 103, 61]);
            let outputs = fragments.iter().enumerate().map(|(number, fragment)| match lost {
                Some(lost) if lost == number => Output::Dropped(*fragment, DropReason::Harq),
                _ => Output::Delivered(*fragment),
            });
            let left: Vec<Output> = outputs.filter_map(|output| segmentation.merge(output)).collect();
            let whole_lost = Output::Dropped(whole, DropReason::Harq);
            assert_eq!(left, [lost.map_or(Output::Delivered(whole), |_| whole_lost)]);
            assert_eq!(segmentation.in_flight(&VecDeque::new()), 0);
        }
    }

    #[test]
    fn a_user_who_may_not_start_stops_no_other() {
        let mut segmentation = Segmentation::new(&SegmentationConfig::default(), 103);
        segmentation.begin(packet(0, 0, 150));
        segmentation.begin(packet(1, 1, 150));
        assert_eq!(segmentation.next(|user| user == 1).map(|fragment| fragment.id), Some(1));
        assert_eq!(segmentation.next(|user| user == 1), None);
        assert!(segmentation.is_cutting());
        let mut outputs = VecDeque::new();
        segmentation.give_up(DropReason::Handover, &mut outputs);
        assert_eq!(outputs.len(), 1);
        assert!(!segmentation.is_cutting());
    }
}
