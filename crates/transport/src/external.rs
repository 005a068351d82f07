//! IP packets of protocols that run elsewhere.

use units::Ecn;

/// An IP packet whose bytes are kept outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalPacket {
    /// Packets that the external end sent before this one.
    pub number: u64,
    /// Bytes of the whole IP packet.
    pub bytes: u32,
    /// The number by which the owner of an external packet knows it.
    pub ticket: u32,
    /// The congestion mark of its IP header.
    pub ecn: Ecn,
}
