//! Conversations recorded from a kernel, replayed through the `linux` profile.
//!
//! What arrived at the kernel and what its application did is given to our connection at the same instants; what comes out in
//! between is compared, and after each of them what both say of themselves:
//!
//! - the segments in order: flags without PSH, sequence number, length and how often it was sent; of bare acknowledgments also the
//!   acknowledgment number and the SACK blocks;
//! - window, threshold, state, the counts of segments selectively acknowledged, lost and retransmitted, of probes and of expiries,
//!   and the reordering degree: exactly, but for CUBIC, whose growth depends on the clock by one acknowledgment: there windows,
//!   thresholds and counts may differ by one, a segment may come one acknowledgment earlier or later, and the phase of the
//!   kernel's clock, which is not recorded, may be any quarter of a millisecond of its tick;
//! - the retransmission time-out, within one tick of 4 ms, as long as both have sent every segment at the same instant.
//!
//! Of BBR, whose rounds, rates and pacing depend on microseconds of the recording machine, it is compared that both send the same
//! segments as the same transmissions, neither further ahead of the other than [`Bounds`] says, and its time-outs.
//!
//! A kernel's timer fires up to an eighth of its time and two ticks late. Where the recording shows a segment that nothing
//! arrived for, and our timer is due by then, ours fires at that instant too, so that later measurements agree; if ours is due
//! earlier than that lateness explains, it fires when it is due, and what it sends is a difference.

mod compare;
mod file;
mod known;
mod replay;

pub use compare::{Bounds, Difference};
pub use file::{Header, Info, Line, Options, Packet, Recording, What, parse, read};
pub use known::Known;
pub use replay::replay;
