//! What the last hop sees of a packet, and what becomes of it.

use units::Ecn;

/// A packet as the last hop sees it: where it goes, how large it is, and a handle that only its owner understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketRef {
    /// The owner's handle; the last hop carries it and never looks at it.
    pub id: u32,
    /// The flow, numbered from 0 without large gaps. A flow belongs to one user.
    pub flow: u32,
    /// The user it goes to: an index into the channels given to [`crate::LastHop::new`].
    pub user: u32,
    /// The class of service, 0 for the one that goes first: an index into [`crate::LastHopConfig::classes`], or their number
    /// for a packet that belongs to none.
    pub class: u32,
    /// Bytes, with all headers.
    pub size: u32,
    /// The congestion mark of its IP header.
    pub ecn: Ecn,
}

/// What the last hop did with a packet; each packet that came in leaves once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The packet left the user's terminal towards the transport layer, perhaps with a mark that it had not when it came.
    Delivered(PacketRef),
    /// The packet is lost.
    Dropped(PacketRef, DropReason),
}

/// Why the last hop lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)] // as Ecn
pub enum DropReason {
    /// The queue was full.
    Overflow,
    /// The queue's manager dropped it although there was room.
    Early,
    /// It had waited in the queue longer than the scheduler's limit.
    Timeout,
    /// The receiver could not decode it.
    Harq,
    /// It waited, or was under way and not decoded, when another satellite took over that knows nothing of it.
    Handover,
}
