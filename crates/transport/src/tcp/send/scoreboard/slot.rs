//! The state of a segment that was sent and is not acknowledged.

use units::Time;

use crate::congestion::LostSegment;

/// A segment that was sent: two in a cache line. What only some mechanisms ask of it is kept elsewhere.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Slot {
    /// Offset of the first byte.
    pub seq: u64,
    /// When it was last sent.
    pub sent_at: Time,
    /// How many segments had been sent before it was last sent, modulo 2^32: the order of sending also within an
    /// instant.
    pub order: u32,
    /// When the segment was last sent, modulo 2^32: with RACK as the segments delivered by then, otherwise as SND.NXT's
    /// slot.
    pub then: u32,
    /// Bytes of payload.
    pub len: u16,
    /// How often it was sent.
    pub transmissions: u16,
    /// Numbers that it takes: its payload's, and one of a SYN or FIN.
    pub span: u16,
    pub marks: u8,
}

const _: () = assert!(size_of::<Slot>() == 32);

/// Selectively acknowledged.
pub(in crate::tcp::send) const SACKED: u8 = 1;
/// A block reported it once, whether or not that was forgotten since.
pub(in crate::tcp::send) const ONCE_SACKED: u8 = 64;
/// Taken for lost and not (known to be) delivered since.
pub(in crate::tcp::send) const LOST: u8 = 2;
/// Retransmitted, and the retransmission is thought to be in flight.
pub(in crate::tcp::send) const RETRANSMITTED: u8 = 4;
/// The FIN goes with it.
pub(in crate::tcp::send) const FIN: u8 = 8;
/// The SYN: nothing else goes with it.
pub(in crate::tcp::send) const SYN: u8 = 32;
/// The segment has PSH: the application had written no more.
pub(in crate::tcp::send) const PUSH: u8 = 16;

/// The marks of a new slot: data begin at 1, and a FIN goes with it if `fin`.
#[inline]
pub(in crate::tcp::send) fn control_marks(seq: u64, fin: bool) -> u8 {
    if seq == 0 { SYN } else { u8::from(fin) * FIN }
}

/// Whether a transmission of this order went out after another.
#[inline]
pub(in crate::tcp::send) fn is_after(order: u32, other: u32) -> bool {
    order.wrapping_sub(other) as i32 > 0
}

impl Slot {
    /// Offset after the last byte; a SYN and a FIN count.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.span)
    }

    #[inline]
    pub fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    #[inline]
    pub fn fin(&self) -> bool {
        self.is(FIN)
    }

    /// Whether it was taken for lost, and what was retransmitted for it is in flight.
    #[inline]
    pub fn is_in_flight_again(&self) -> bool {
        self.marks & (LOST | RETRANSMITTED) == LOST | RETRANSMITTED
    }

    /// Whether it was ever retransmitted.
    #[inline]
    pub fn was_retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// The deliveries known when a segment was sent, kept for controllers that ask for rates.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::send) struct SentState {
    /// When the last delivery before it was known.
    pub delivered_at: Time,
    /// When the segment delivered last had been sent.
    pub first_sent_at: Time,
    /// Segments delivered and lost, modulo 2^32.
    pub delivered: u32,
    pub lost: u32,
    /// Segments in flight, it included; the highest bit says that the application limits.
    pub tx_in_flight: u32,
}

/// The bit of [`SentState::tx_in_flight`].
pub(in crate::tcp::send) const APP_LIMITED: u32 = 1 << 31;

impl SentState {
    /// Returns what a controller learns of the segment when it is taken for lost.
    pub fn lost_segment(&self, lost: u64) -> LostSegment {
        LostSegment {
            tx_in_flight: self.tx_in_flight & !APP_LIMITED,
            lost_since: (lost as u32).wrapping_sub(self.lost),
            app_limited: self.tx_in_flight & APP_LIMITED != 0,
        }
    }
}
