//! The segments that the send half hands out.

/// The segment that goes out next.
pub(in crate::tcp) enum Outgoing {
    Data {
        seq: u64,
        len: u32,
        fin: bool,
        sent_before: u32,
        /// The segment emptied the send queue when it was sent first, or ended a group.
        push: bool,
        /// The segment says that the window was reduced (RFC 3168).
        cwr: bool,
    },
    /// A segment without data before the window, which the peer must answer.
    Probe { seq: u64 },
    /// A copy of what was sent last, with low priority.
    Dummy { seq: u64, len: u32 },
}

/// Whether a full segment of new data goes out next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextFull {
    /// Other rules decide: nothing has happened.
    Unknown,
    /// Nothing goes: the segment waits for a larger group.
    Waits,
    /// This one.
    Goes(Full),
}

/// A full segment of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    pub seq: u64,
    /// It ends a group.
    pub push: bool,
    /// It fills the congestion window.
    pub last: bool,
    /// The congestion window in segments.
    pub window: u32,
}
