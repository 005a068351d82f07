//! Who is sent next, and who is dropped before it is sent.
//!
//! A scheduler holds the packets that wait for the transmitter. A new one is a file here, a line in the registry, and
//! passes the conformance test of this crate. Which packet of one queue is dropped or marked, and when, is for the queue's
//! manager to say: see [`crate::queue`].

pub mod droptail;

use channel::Channel;
use units::{BitRate, Db, Duration, FieldError, Time};

use crate::buffer::{Backlog, Limit};
use crate::harq::Harq;
use crate::packet::{DropReason, PacketRef};
use crate::queue::Queue;
use droptail::{DropTail, DropTailConfig};

units::registry! {
    /// The schedulers of the last hop.
    pub enum SchedulerConfig {
        "droptail" => DropTail(DropTailConfig),
    }
}

impl SchedulerConfig {
    /// Whether the scheduler can be built.
    ///
    /// # Errors
    /// If a value cannot be.
    pub fn check(&self, rate: BitRate, base_rtt: Duration) -> Result<(), FieldError> {
        match self {
            SchedulerConfig::DropTail(config) => config.buffer.resolve(rate, base_rtt).map(drop),
        }
    }

    /// The scheduler, for a link of `rate` and flows whose round-trip time without queueing is `base_rtt`. It asks `queue`
    /// for each queue that it needs.
    ///
    /// # Errors
    /// As [`SchedulerConfig::check`].
    pub fn build(
        &self,
        rate: BitRate,
        base_rtt: Duration,
        queue: &mut dyn FnMut(Limit) -> Queue,
    ) -> Result<Box<dyn Scheduler>, FieldError> {
        Ok(match self {
            SchedulerConfig::DropTail(config) => Box::new(DropTail::new(queue(config.buffer.resolve(rate, base_rtt)?))),
        })
    }
}

impl Default for SchedulerConfig {
    fn default() -> SchedulerConfig {
        SchedulerConfig::DropTail(DropTailConfig::default())
    }
}

/// The queue or queues before the transmitter.
///
/// Packets of one flow leave in the order in which they came, and nothing is held back for nothing: while packets wait and
/// every user may start, [`Scheduler::select`] answers one.
pub trait Scheduler: Send {
    /// Takes a packet, or says why not.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason>;

    /// Takes out the packet to send now; its user must be one that [`View::may_start`].
    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef>;

    /// Whether the scheduler may drop a packet that it has taken, for a time limit or to make room; asked once.
    fn gives_up(&self) -> bool {
        false
    }

    /// A packet that was taken and has been given up since; asked until `None` after each call above if
    /// [`Scheduler::gives_up`].
    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        None
    }

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Packets that its queues have marked.
    fn marked(&self) -> u64 {
        0
    }
}

/// What a scheduler may look at when it chooses.
pub struct View<'a> {
    now: Time,
    harq: &'a dyn Harq,
    channels: &'a mut [Box<dyn Channel>],
}

impl<'a> View<'a> {
    /// The state of the link at `now`.
    pub fn new(now: Time, harq: &'a dyn Harq, channels: &'a mut [Box<dyn Channel>]) -> View<'a> {
        View { now, harq, channels }
    }

    /// Whether a new packet for `user` may be sent now: false while all HARQ processes are taken.
    pub fn may_start(&self, user: u32) -> bool {
        self.harq.may_start(user)
    }

    /// The attenuation of `user`'s channel now, as a perfect and immediate estimate; `None` if the channel has none.
    pub fn attenuation(&mut self, user: u32) -> Option<Db> {
        self.channels[user as usize].attenuation(self.now)
    }
}
