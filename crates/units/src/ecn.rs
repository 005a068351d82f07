//! The ECN field of an IP header, which links and transports both use.

/// Explicit congestion notification codepoint (RFC 3168 section 5).
///
/// Four bytes wide like its neighbours in a packet: with padding, a copy of the packet becomes two stores, and the
/// second waits for the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Ecn {
    /// Not-ECT: the transport does not react to marks.
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
