//! Where bursts of random access may go.

/// The slots of random access in a frame, and their division into RA blocks.
///
/// The random slots of a frame are numbered carrier by carrier, slot `s` being timeslot `s % timeslots`; RA block `b`
/// is the slots from `b * block_slots`, so a block may begin or end in the middle of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomLayout {
    /// Timeslots of a carrier (N_S).
    pub timeslots: u32,
    /// Slots of an RA block (N_ra).
    pub block_slots: u32,
    /// Whether a terminal can send on only one carrier at a time, so that it uses each timeslot at most once in a
    /// frame.
    pub one_amplifier: bool,
}

impl RandomLayout {
    /// The largest number of replicas that a packet can have in a block.
    pub(super) fn most_replicas(&self) -> u32 {
        if self.one_amplifier { self.block_slots.min(self.timeslots) } else { self.block_slots }
    }

    /// Whether bursts are drawn among the free columns of a terminal: it has one amplifier, and each block has a slot
    /// in each column.
    #[inline]
    pub(super) fn draws_columns(&self) -> bool {
        self.one_amplifier && self.block_slots >= self.timeslots
    }
}
