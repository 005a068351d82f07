//! Accurate ECN feedback (RFC 9768): how many packets arrived with a mark, instead of whether one did.
//!
//! The receiver counts marked packets (r.cep) and, by codepoint, payload bytes. Every segment but a SYN carries the
//! count modulo 8 in three header bits (ACE, section 3.2.2); an option may carry 24 bits of each count of bytes
//! (section 3.2.3). The sender follows both (s.cep, s.ceb).
//!
//! What is simplified, and who could notice: no middlebox changes the ECN fields, so the tests for mangling (sections
//! 3.2.2.3 and 3.2.2.4) are left out. The option goes with SYN-ACKs and segments without data only: the first, from the
//! first mark on each that acknowledges data (section 3.2.3.3), before it one for each megabyte. It takes the room that
//! SACK blocks leave.

use units::Ecn;

use super::option::{AccEcnOption, BYTES_MASK, CE, ECT0, ECT1};
use super::segment::Flags;

/// ACE counts modulo this (divACE).
const MODULUS: u64 = 8;
/// r.cep and s.cep at the start (section 3.2.1), and the counts of bytes, so that a zeroed field shows.
const FIRST_PACKETS: u64 = 5;
const FIRST_BYTES: [u32; 3] = [1, 0, 1];
/// Without marks the option goes after so many bytes of data.
const BEACON: u32 = 1 << 20;
/// Marked packets since the last acknowledgment that make another due (section 3.2.2.5.1, n).
const MARKS_PER_ACK: u32 = 2;

/// Returns the three bits of a segment as a number: AE, CWR, ECE.
pub(super) fn ace(flags: Flags) -> u8 {
    (flags.bits() >> 6 & 7) as u8
}

/// Returns the three bits for a number.
pub(super) fn ace_flags(ace: u8) -> Flags {
    [Flags::ECE, Flags::CWR, Flags::AE]
        .into_iter()
        .enumerate()
        .filter(|(bit, _)| ace >> bit & 1 == 1)
        .fold(Flags::default(), |flags, (_, flag)| flags | flag)
}

/// Returns the bits by which the handshake's segments echo the ECN field of the one before (section 3.1.1 table 2 and
/// section 3.2.2.1 table 3).
pub(super) fn handshake_ace(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The feedback that a SYN or SYN-ACK asks for or agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    None,
    Classic,
    Accurate,
}

impl Offer {
    /// Returns the offer of a SYN (section 3.1.3: what is reserved asks for accurate feedback).
    pub fn of_syn(flags: Flags) -> Offer {
        match ace(flags) {
            0b000 => Offer::None,
            0b011 => Offer::Classic,
            _ => Offer::Accurate,
        }
    }

    /// Returns the offer of the SYN-ACK that answers a SYN with all three bits: one that repeats them is broken (table
    /// 2).
    pub fn of_syn_ack(flags: Flags) -> Offer {
        match ace(flags) {
            0b000 | 0b111 => Offer::None,
            0b001 => Offer::Classic,
            _ => Offer::Accurate,
        }
    }
}

/// Both halves of the feedback of one connection.
#[derive(Debug)]
pub(super) struct AccEcn {
    /// Packets that came with a mark (r.cep), and bytes by codepoint.
    packets: u64,
    bytes: [u32; 3],
    /// The counts of bytes in the option sent last.
    reported: [u32; 3],
    /// Sends the option.
    options: bool,
    /// An option is due whatever has changed.
    first: bool,
    /// The codepoint of the handshake's segment, which the next acknowledgment echoes.
    pub handshake: Option<Ecn>,
    /// Whether the data packet before came with a mark, and the marks since the last acknowledgment.
    marked: bool,
    marks: u32,
}

impl AccEcn {
    /// Returns the feedback after the peer's segment of the handshake came with `handshake`.
    pub fn new(handshake: Ecn, options: bool) -> AccEcn {
        let packets = FIRST_PACKETS + u64::from(handshake == Ecn::Ce);
        AccEcn {
            packets,
            bytes: FIRST_BYTES,
            reported: FIRST_BYTES,
            options,
            first: options,
            handshake: None,
            marked: false,
            marks: 0,
        }
    }

    /// An acceptable segment came with this codepoint and payload. Returns whether it is to be acknowledged at once
    /// (section 3.2.2.5.1).
    pub fn on_segment(&mut self, ecn: Ecn, len: u32) -> bool {
        let marked = ecn == Ecn::Ce;
        self.packets += u64::from(marked);
        let index = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(ECT0),
            Ecn::Ect1 => Some(ECT1),
            Ecn::Ce => Some(CE),
        };
        if let Some(index) = index {
            self.bytes[index] = self.bytes[index].wrapping_add(len);
        }
        self.marks += u32::from(marked);
        let before = std::mem::replace(&mut self.marked, marked);
        let changed = marked && !before;
        len > 0 && (changed || self.marks >= MARKS_PER_ACK)
    }

    /// Returns the bits of the next segment; `bare` if it has neither data nor blocks.
    pub fn on_sent(&mut self, bare: bool) -> Flags {
        self.marks = 0;
        let echo = self.handshake.filter(|_| bare);
        if let Some(ecn) = echo {
            self.handshake = None;
            return ace_flags(handshake_ace(ecn));
        }
        ace_flags((self.packets % MODULUS) as u8)
    }

    /// Returns the option of a segment with `room` bytes left for it, if one is due.
    pub fn option(&mut self, room: u32) -> Option<AccEcnOption> {
        let grown = |index: usize| self.bytes[index].wrapping_sub(self.reported[index]);
        let ever = |index: usize| self.bytes[index] != FIRST_BYTES[index];
        let data = self.bytes != self.reported;
        let due = self.first || ever(CE) && data || grown(ECT0).max(grown(ECT1)) >= BEACON;
        if !(self.options && due) {
            return None;
        }
        let ect1_first = ever(ECT1);
        let last = if ect1_first { ECT0 } else { ECT1 };
        let wanted = match () {
            () if self.first || ever(last) => 3,
            () if ever(CE) => 2,
            () => 1,
        };
        let fields = (1..=wanted).rev().find(|&fields| (2 + 3 * u32::from(fields)).next_multiple_of(4) <= room)?;
        self.first = false;
        self.reported = self.bytes;
        Some(AccEcnOption::new(self.bytes, ect1_first, fields))
    }
}

/// The sender's counts of packets and bytes that arrived with a mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccurateCounts {
    /// Packets that arrived with a mark, from an offset (s.cep).
    packets: u64,
    /// Bytes that arrived with a mark, modulo 2^24 (s.ceb).
    bytes: u32,
    /// Marked packets since the start.
    pub total: u64,
}

/// Marks that an acknowledgment newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub packets: u32,
    pub bytes: u64,
}

impl AccurateCounts {
    /// Returns the counts after our segment of the handshake arrived, with a mark or without.
    pub fn new(marked: bool) -> AccurateCounts {
        AccurateCounts { packets: FIRST_PACKETS + u64::from(marked), bytes: FIRST_BYTES[CE], total: 0 }
    }

    /// The peer has echoed the mark of our segment of the handshake.
    pub fn on_marked_handshake(&mut self) {
        self.packets = FIRST_PACKETS + 1;
    }

    /// An acknowledgment that newly covers `delivered` packets came with this ACE and perhaps an option. `mss`: payload
    /// of a full segment. Returns the marks that it reports.
    ///
    /// Appendix A.2: the count may have wrapped while acknowledgments were lost. Then it is taken to have done so as
    /// often as the packets acknowledged allow, unless the option says less.
    pub fn on_ack(&mut self, ace: u8, option: Option<&AccEcnOption>, delivered: u32, mss: u64) -> Marks {
        let least = u64::from(ace).wrapping_sub(self.packets) % MODULUS;
        let delivered = u64::from(delivered);
        let most = if delivered < MODULUS { least } else { delivered - (delivered - least) % MODULUS };
        // What was counted without an option is not counted again: it may exceed what the option says now.
        let reported = option.and_then(AccEcnOption::marked).map(|now| {
            let grown = now.wrapping_sub(self.bytes) & BYTES_MASK;
            self.bytes = now;
            if grown > BYTES_MASK / 2 { 0 } else { u64::from(grown) }
        });
        let packets = reported.map_or(most, |bytes| {
            // As many as the bytes fill, rounded up: more if the segments were small.
            let filled = bytes.div_ceil(mss.max(1));
            most.min(filled + (MODULUS + least - filled % MODULUS) % MODULUS)
        });
        let bytes = reported.unwrap_or_else(|| {
            self.bytes = self.bytes.wrapping_add((packets * mss) as u32) & BYTES_MASK;
            packets * mss
        });
        self.packets += packets;
        self.total += packets;
        Marks { packets: packets as u32, bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u64 = 1000;

    /// RFC 9768 table 2 and table 3.
    #[test]
    fn the_handshake_echoes_each_codepoint() {
        for (ecn, bits) in [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
            assert_eq!((handshake_ace(ecn), ace(ace_flags(bits))), (bits, bits));
            assert_eq!(Offer::of_syn_ack(ace_flags(bits)), Offer::Accurate);
        }
        let of_syn: Vec<Offer> = (0..8).map(|bits| Offer::of_syn(ace_flags(bits))).collect();
        assert_eq!((of_syn[0], of_syn[0b011], of_syn[0b111]), (Offer::None, Offer::Classic, Offer::Accurate));
        let of_syn_ack: Vec<Offer> = (0..8).map(|bits| Offer::of_syn_ack(ace_flags(bits))).collect();
        assert_eq!((of_syn_ack[0], of_syn_ack[1], of_syn_ack[7]), (Offer::None, Offer::Classic, Offer::None));
    }

    #[test]
    fn the_option_has_the_fields_that_have_changed() {
        let mut receiver = AccEcn::new(Ecn::NotEct, true);
        let first = receiver.option(12).expect("on the SYN-ACK");
        assert_eq!((first.kind(), first.fields().len(), first.padded_bytes()), (172, 3, 12));
        assert_eq!(first.fields(), [[0, 0, 1], [0, 0, 0], [0, 0, 1]]);
        receiver.on_segment(Ecn::Ect1, 1000);
        assert_eq!(receiver.option(12), None, "no mark, and little data");
        receiver.on_segment(Ecn::Ce, 700);
        let marked = receiver.option(12).expect("a mark");
        assert_eq!((marked.kind(), marked.padded_bytes()), (174, 8));
        assert_eq!(marked.fields(), [[0, 3, 233], [0, 2, 188]]);
        receiver.on_segment(Ecn::Ce, 700);
        assert_eq!(receiver.option(3), None, "no room");
        assert!(receiver.option(8).is_some(), "still due");
    }

    /// Section 3.2.2.5.1: at the first mark after none, and for every second in a row.
    #[test]
    fn marks_make_acknowledgments_due() {
        let mut receiver = AccEcn::new(Ecn::NotEct, false);
        let came = |receiver: &mut AccEcn, ecn| receiver.on_segment(ecn, 1000);
        assert!(!came(&mut receiver, Ecn::Ect1));
        assert!(came(&mut receiver, Ecn::Ce));
        receiver.on_sent(true);
        assert!(!came(&mut receiver, Ecn::Ce), "the second in a row");
        assert!(came(&mut receiver, Ecn::Ce), "two since the last acknowledgment");
        receiver.on_sent(true);
        assert!(!came(&mut receiver, Ecn::Ect1));
        assert!(came(&mut receiver, Ecn::Ce));
    }

    /// Returns a sender's marks for packets with these fates, acknowledged one by one, where some acknowledgments are
    /// lost.
    fn counted(packets: &[(bool, bool)], options: bool) -> (u64, Vec<(Marks, u64)>) {
        let mut receiver = AccEcn::new(Ecn::NotEct, options);
        let mut sender = AccurateCounts::new(false);
        receiver.option(12);
        let (mut pending, mut marked, mut heard) = (0, 0, Vec::new());
        for &(mark, lost) in packets {
            receiver.on_segment(if mark { Ecn::Ce } else { Ecn::Ect1 }, MSS as u32);
            pending += 1;
            marked += u64::from(mark);
            let bits = receiver.on_sent(true);
            let option = receiver.option(12);
            if !lost {
                let marks = sender.on_ack(ace(bits), option.as_ref(), pending, MSS);
                heard.push((marks, std::mem::take(&mut marked)));
                pending = 0;
            }
        }
        (sender.packets, heard)
    }

    proptest! {
        /// Fewer than eight packets for each acknowledgment that arrives: the count is exact, however often it wraps.
        #[test]
        fn the_count_wraps_without_doubt(packets in prop::collection::vec((any::<bool>(), 0u8..8), 1..400)) {
            let packets: Vec<(bool, bool)> =
                packets.iter().enumerate().map(|(n, &(mark, draw))| (mark, draw < 5 && n % 7 != 6)).collect();
            for (marks, truth) in counted(&packets, false).1 {
                prop_assert_eq!((u64::from(marks.packets), marks.bytes), (truth, truth * MSS));
            }
        }

        /// However many acknowledgments are lost, marks are never missed and never more than the packets reported; with
        /// the option, which goes with each acknowledgment from the first mark on, they are exact.
        #[test]
        fn what_losses_hide_is_taken_for_marks(packets in prop::collection::vec((any::<bool>(), 0u8..40), 1..600)) {
            let packets: Vec<(bool, bool)> = packets.iter().map(|&(mark, draw)| (mark, draw > 0)).collect();
            for (marks, truth) in counted(&packets, false).1 {
                prop_assert!(u64::from(marks.packets) >= truth && (u64::from(marks.packets) - truth) % MODULUS == 0);
            }
            let first_mark = packets.iter().position(|&(mark, _)| mark).unwrap_or(packets.len());
            for (marks, truth) in counted(&packets[first_mark..], true).1 {
                prop_assert_eq!(u64::from(marks.packets), truth);
            }
        }
    }
}
