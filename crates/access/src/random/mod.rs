//! Random access: terminals send without a request, and the receiver resolves collisions (EN 301 545-2, section 7.2.5).
//!
//! A *scheme* defines the number of replicas of a packet, each a burst in a slot of its own, and how the receiver
//! decodes. A scenario names it ([`RandomAccess`]), and loading it computes its decoding threshold or reads its table
//! ([`Scheme`]). [`RandomFrame`] is the machine: packets are added to the RA blocks of a frame, then the frame is
//! decoded. [`PlrStudy`] simulates packet loss against load with it.
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

mod check;
mod coding;
mod columns;
mod config;
mod decode;
mod draw;
mod frame;
mod layout;
mod placement;
mod plr_table;
mod replica_count;
mod scheme;
mod study;
#[cfg(test)]
mod tests;

pub use columns::Columns;
pub use config::RandomConfig;
pub use frame::{RandomCounters, RandomFrame};
pub use layout::RandomLayout;
pub use replica_count::{Repetition, ReplicaCount};
pub use scheme::{Decoding, Scheme};
pub use study::{PlrPoint, PlrStudy};
use units::{FieldError, Files};

units::registry! {
    /// The schemes of random access.
    pub enum RandomAccess: dyn Kind {
        "aloha" => Aloha(Aloha) in aloha,
        "dsa" => Dsa(Dsa) in dsa,
        #[default] "crdsa" => Crdsa(Crdsa) in crdsa,
        "irsa" => Irsa(Irsa) in irsa,
        "musca" => Musca(Musca) in musca,
        "table" => Table(Table) in table,
    }
}

/// The options of a scheme of random access.
pub trait Kind {
    /// Whether the values can be used together, in blocks of this layout. Reads no file.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError>;

    /// Useful bits of a packet (N_data).
    fn payload_bits(&self) -> u32;

    /// Symbols of a burst that carry coded bits, where they are known.
    fn symbols(&self) -> Option<u32> {
        None
    }

    /// Whether the replicas of a packet are parts of one codeword, which are decoded together.
    fn is_joint(&self) -> bool {
        false
    }

    /// How many replicas a packet has.
    fn replicas(&self) -> ReplicaCount;

    /// How it is found which packets arrive. For values that [`Kind::check`] and [`RandomConfig::check`] accept.
    ///
    /// # Errors
    /// Says which line of a file cannot be used.
    fn decoding(&self, random: &RandomConfig, files: &mut dyn Files) -> Result<Decoding, FieldError>;

    /// The names of the files that it needs.
    fn files_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

impl RandomAccess {
    /// The scheme, with its threshold found or its file read.
    ///
    /// # Errors
    /// As [`Kind::decoding`].
    pub fn load(&self, random: &RandomConfig, files: &mut dyn Files) -> Result<Scheme, FieldError> {
        let kind = self.entry();
        Ok(Scheme::new(kind.payload_bits(), &kind.replicas(), kind.decoding(random, files)?))
    }
}
