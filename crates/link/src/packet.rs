//! A packet as the last hop sees it, and its fate.

use std::ops::Index;

use serde::{Serialize, Serializer};
use units::Ecn;
use units::report::{Line, Reported};

/// A packet as the last hop sees it: its destination, its size, and a handle of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketRef {
    /// The caller's handle, which the last hop does not interpret.
    pub id: u32,
    /// The flow, numbered from 0 without large gaps. A flow belongs to one user.
    pub flow: u32,
    /// The destination: an index into the channels given to [`crate::LastHop::new`].
    pub user: u32,
    /// The class of service, 0 for the first: an index into [`crate::LastHopConfig::classes`], or their number for a
    /// packet without a class.
    pub class: u32,
    /// Bytes, with all headers.
    pub size: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// The numbers that a packet has in its flow, for a reordering buffer that orders by them: from `begin` on, without
/// `end`. Bytes of TCP are a number each, and so are SYN and FIN; a packet of another transport is one number. A bare
/// acknowledgment has none: it begins where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNumbers {
    /// The connection that counts its packets so.
    pub connection: u32,
    /// The first number.
    pub begin: u64,
    /// The number after the last.
    pub end: u64,
}

/// The fate of a packet; each packet that came in leaves once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The packet left the user's terminal towards the transport layer; the last hop may have marked it.
    Delivered(PacketRef),
    /// The packet is dropped.
    Dropped(PacketRef, DropReason),
}

macro_rules! drop_reasons {
    ($($(#[doc = $doc:literal])+ $reason:ident => $key:literal,)+) => {
        /// Why the last hop lost a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)] // as Ecn
        pub enum DropReason {
            $($(#[doc = $doc])+ $reason,)+
        }

        /// Of each reason: its key in the report and what that means.
        const LINES: &[Line] = &[$(Line::count($key, None, concat!($($doc),+))),+];
    };
}

drop_reasons! {
    /// Packets dropped because the queue was full.
    Overflow => "dropped_overflow",
    /// Packets that the queue's manager dropped although there was room.
    Early => "dropped_early",
    /// Packets dropped because they had waited in the queue longer than the scheduler's limit.
    Timeout => "dropped_timeout",
    /// Packets lost because they could not be decoded.
    Harq => "dropped_harq",
    /// Packets lost because [another satellite took over](models/last-hop.md#handover) that knew nothing of them: they
    /// waited, or were in flight and not decoded.
    Handover => "dropped_handover",
}

/// Lost packets by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped([u64; LINES.len()]);

impl Dropped {
    pub(crate) fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }
}

impl Index<DropReason> for Dropped {
    type Output = u64;

    fn index(&self, reason: DropReason) -> &u64 {
        &self.0[reason as usize]
    }
}

impl Serialize for Dropped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(LINES.iter().map(|line| line.name).zip(self.0))
    }
}

impl Reported for Dropped {
    fn lines() -> Vec<Line> {
        LINES.to_vec()
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        LINES.iter().zip(self.0).map(|(line, count)| (line.name, count as f64)).collect()
    }
}
