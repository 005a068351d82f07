//! The parameters of a frame for the network control centre.

use units::{BitRate, Duration};

/// The parameters of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameFacts {
    /// Duration of a frame.
    pub duration: Duration,
    /// Timeslots of a carrier (N_S).
    pub timeslots: u32,
    /// Frames of a superframe.
    pub superframe_frames: u32,
    /// Whether a terminal sends on one carrier at a time.
    pub one_amplifier: bool,
    /// Bits of a [`super::Backlog`] that a slot takes: without headers of fragments.
    pub slot_bits: u32,
    /// The most slots of a terminal in a frame.
    pub max_slots: u32,
}

pub(super) const BILLION: u64 = 1_000_000_000;

/// The data that a rate sends in a frame, in billionths of a bit; no more than the slots of a terminal carry.
pub(super) fn billionths_of_frame(rate: BitRate, frame: FrameFacts) -> u64 {
    let most = (u64::from(frame.max_slots) * u64::from(frame.slot_bits)).saturating_mul(BILLION);
    rate.as_bps().saturating_mul(frame.duration.as_nanos()).min(most)
}
