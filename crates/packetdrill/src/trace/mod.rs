//! Conversations recorded from a kernel, replayed through the `linux` profile.
//!
//! The segments that arrived at the kernel and the calls of its application are handed to our connection at the same
//! instants. The segments that it sends are compared, and after each of them the state of both:
//!
//! the segments in order: flags without PSH, sequence number, length and transmission; of bare acknowledgments also the
//!   acknowledgment number and the SACK blocks;
//!
//! the instant of each, where both sent it since the last arrival: what answers something within a tick, what a timer
//!   sends no earlier than a tick before ours is due and no later than the kernel's may be. One with the timestamp of a
//!   segment before it was sent within the same millisecond, whenever it was recorded.
//!
//! The rounds, rates and pacing of BBR depend on microseconds of the recording system. So for BBR only two things are
//! compared: that both send the same segments in the same transmissions, neither further ahead of the other than
//! [`Bounds`] allows, and the time-outs.
//!
//! A kernel's timer fires up to an eighth of its time and two ticks late. Where the recording has a segment without an
//! arrival before it, and our timer is due by then, ours fires at that instant too, so that later measurements agree.
//! If ours is due earlier than that lateness explains, it fires when it is due, and the segment it sends is a
//! difference.

mod closed;
mod compare;
mod fates;
mod file;
mod known;
mod replay;

pub use closed::{Compared, Course, closed_loop};
pub use compare::{Bounds, Difference, Tolerance};
pub use file::{Header, Info, Line, Options, Packet, Recording, What, parse, read};
pub use known::Known;
pub use replay::replay;
