//! Random access: terminals send without a request, and the receiver resolves collisions (EN 301 545-2, section 7.2.5).
//!
//! A *scheme* defines the number of bursts of a packet and how the receiver decodes. A scenario names it
//! ([`RandomAccess`]), and loading it computes its decoding threshold or reads its table ([`Scheme`]). [`RandomFrame`]
//! is the machine: packets are added to the RA blocks of a frame, then the frame is decoded. [`PlrStudy`] simulates
//! packet loss against load with it.
//!
//! # The receiver
//! A burst meets the noise and the other bursts of its slot, which count as Gaussian noise of the same power. The
//! resulting signal-to-noise ratio gives the mutual information of a QPSK burst ([`channel::qpsk`]); a packet is
//! decoded when its bursts have the mutual information that its code needs. All bursts of a decoded packet are
//! subtracted from their slots, and the receiver decodes again (successive interference cancellation: Casini, De
//! Gaudenzi, del Rio Herrero 2007, "Contention Resolution Diversity Slotted ALOHA", IEEE Trans. Wireless Commun. 6(4)).
//! An iteration decodes all packets that are decodable at its beginning, so the result does not depend on any order.
//!
//! # What is simplified, and who could notice
//! The channel of every burst is known and cancellation is perfect. Real receivers leave a residue, which costs most
//!   where many iterations are needed: the knee of the loss curve comes a little earlier.

mod columns;
mod config;
mod decode;
mod draw;
mod frame;
mod plr_table;
mod scheme;
mod study;
#[cfg(test)]
mod tests;

pub use columns::Columns;
pub(crate) use config::random_access_schemes;
pub use config::{Aloha, Crdsa, Dsa, Irsa, Musca, RandomAccess, RandomConfig, Repetition, Table};
pub use frame::{RandomCounters, RandomFrame};
pub use scheme::Scheme;
pub use study::{PlrPoint, PlrStudy};

/// The slots of random access in a frame, and their division into RA blocks.
///
/// The random slots of a frame are numbered carrier by carrier, slot `s` being timeslot `s % timeslots`; RA block `b` is the
/// slots from `b * block_slots`, so a block may begin or end in the middle of a carrier.
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
    /// The largest number of bursts that a terminal can have in a block.
    fn most_bursts(&self) -> u32 {
        if self.one_amplifier { self.block_slots.min(self.timeslots) } else { self.block_slots }
    }
}
