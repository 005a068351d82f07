//! The congestion mark of an IP header, of which links and transports both speak.

/// Explicit congestion notification codepoint (RFC 3168 section 5).
///
/// As wide as its neighbours in a packet: padding would split the copies of a packet in two that wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 0.
    Ect0,
    /// ECN-capable, codepoint 1.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether a router may mark the packet instead of dropping it.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}
