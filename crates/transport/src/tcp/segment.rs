//! A segment as the machines exchange it.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use units::Ecn;

use super::fast_open::FastOpenOption;
use super::option::AccEcnOption;

/// A TCP segment without its payload's bytes, which no model looks at.
///
/// Sequence numbers are offsets in the byte stream: the SYN is 0, data begin at 1, the FIN comes after the last byte.
/// The data of a SYN (TCP Fast Open) begin after it, at 1. What is read of every segment stands first in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Offset of the first byte (or of the SYN or FIN).
    pub seq: u64,
    /// Next offset expected from the other side; meaningful with [`Flags::ACK`].
    pub ack: u64,
    /// Receive window in bytes, scaling undone.
    pub window: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Congestion mark of the IP header.
    pub ecn: Ecn,
    /// Timestamps option (RFC 7323 section 3): (TSval, TSecr).
    pub timestamps: Option<(u32, u32)>,
    /// Control bits.
    pub flags: Flags,
    /// AccECN option (RFC 9768 section 3.2.3).
    pub accecn: Option<AccEcnOption>,
    /// SACK option (RFC 2018).
    pub sack: SackBlocks,
    /// Options that only a segment with [`Flags::SYN`] has.
    pub syn: Option<SynOptions>,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size that the sender of the SYN can receive.
    pub mss: u16,
    /// Window scale shift (RFC 7323 section 2), if offered.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// TCP Fast Open (RFC 7413 section 4.1.1).
    pub fast_open: Option<FastOpenOption>,
}

/// IPv4 and TCP headers without options.
const HEADERS: u32 = 20 + 20;
/// The longest options of a TCP header (RFC 9293 section 3.1).
const MOST_OPTIONS: u32 = 40;

impl Segment {
    /// Bytes of the IPv4 and TCP headers with options.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        debug_assert!(self.syn.is_none() || self.flags.has(Flags::SYN), "options of a SYN");
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 }; // 10 and two of padding
        if self.sack.is_empty() && !self.flags.has(Flags::SYN) && self.accecn.is_none() {
            return HEADERS + timestamps;
        }
        HEADERS + timestamps + self.rare_bytes()
    }

    /// Bytes of the options that few segments have.
    #[inline(never)]
    fn rare_bytes(&self) -> u32 {
        let sack = match self.sack.len() {
            0 => 0,
            blocks => 4 + 8 * blocks as u32, // 2 and two of padding
        };
        let syn = self.syn.map_or(0, |syn| {
            let scale = if syn.window_scale.is_some() { 4 } else { 0 };
            let fast_open = syn.fast_open.map_or(0, |option| option.padded_bytes());
            4 + scale + fast_open + if syn.sack_permitted && self.timestamps.is_none() { 4 } else { 0 }
        });
        let accecn = self.accecn.map_or(0, |option| option.padded_bytes());
        sack + syn + accecn
    }

    /// Bytes that the header still has room for.
    pub fn option_room(&self) -> u32 {
        (HEADERS + MOST_OPTIONS).saturating_sub(self.header_bytes())
    }

    /// Bytes of the whole IP packet.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        self.header_bytes() + self.len
    }

    /// Whether it carries data of the application.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.len > 0 && !self.flags.has(Flags::DUMMY)
    }

    /// Whether its flags say nothing but that it acknowledges, so that only its offsets have to be looked at.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.flags.0 & !Flags::PSH.0 == Flags::ACK.0 && self.sack.is_empty()
    }

    /// Removes what a SYN says. Without its flag there is nothing, and the memory is not touched.
    #[inline(always)]
    pub(crate) fn forget_syn(&mut self) {
        if self.flags.has(Flags::SYN) {
            self.syn = None;
        }
    }

    /// The offset after the segment: payload, SYN and FIN count.
    #[inline]
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq.saturating_add(u64::from(self.len) + control)
    }
}

/// Control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Opens the connection.
    pub const SYN: Flags = Flags(0x02);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x04);
    /// Pass the data on at once.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is meaningful.
    pub const ACK: Flags = Flags(0x10);
    /// Congestion experienced echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768): with CWR and ECE a count of marks.
    pub const AE: Flags = Flags(0x100);
    /// A dummy segment of TCP Peach, or the acknowledgment of one: one of the reserved bits.
    pub const DUMMY: Flags = Flags(0x800);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits that are also in `others`.
    #[inline]
    pub const fn of(self, others: Flags) -> Flags {
        Flags(self.0 & others.0)
    }

    /// The bits as in the header.
    pub const fn bits(self) -> u16 {
        self.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, rhs: Flags) -> Flags {
        Flags(self.0 | rhs.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, rhs: Flags) {
        self.0 |= rhs.0;
    }
}

/// Up to four SACK blocks, each the first offset received and the one after the last (RFC 2018 section 3).
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SackBlocks {
    len: u8,
    blocks: [(u64, u64); 4],
}

impl SackBlocks {
    /// The most blocks that the header has room for: four, or three beside timestamps.
    pub const MAX: usize = 4;

    /// Adds a block.
    ///
    /// # Panics
    /// If there is no room, or the block is empty.
    #[inline]
    pub fn push(&mut self, start: u64, end: u64) {
        assert!(start < end, "an empty block {start}:{end}");
        self.blocks[self.len as usize] = (start, end);
        self.len += 1;
    }

    /// Another block in place of the first.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn replace_first(&mut self, block: (u64, u64)) {
        debug_assert!(block.0 < block.1 && self.len > 0);
        self.blocks[0] = block;
    }

    /// The blocks in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..self.len as usize]
    }

    /// Takes all blocks out.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &SackBlocks) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl FromIterator<(u64, u64)> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(blocks: I) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for (start, end) in blocks {
            sack.push(start, end);
        }
        sack
    }
}

/// Whether timestamp `a` is older than `b`, modulo 2^32.
#[inline]
pub(super) fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
