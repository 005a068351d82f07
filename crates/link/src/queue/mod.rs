//! One queue before the transmitter, and its manager: which packet is marked or dropped before the queue is full.
//!
//! A [`Queue`] holds packets first in first out up to its limit. A [`QueueManager`] sees each packet come and go and
//! decides; it never touches the packets. A scheduler makes one queue, or one for each user, each with a manager of its
//! own. A new manager is a file here, a line in the registry, and passes the conformance test of this crate.
//!
//! A mark is the congestion-experienced codepoint of RFC 3168, and only a packet whose transport understands marks gets
//! one: to the others the same decision is a loss.

use std::collections::VecDeque;

use rand::Rng;
use units::{Duration, Ecn, FieldError, Time};

use crate::buffer::{Backlog, Limit, LinkFacts};
use crate::packet::{DropReason, PacketRef};

units::registry! {
    /// The queue managers of the last hop.
    pub enum QueueConfig: dyn Kind {
        #[default] "droptail" => DropTail(DropTailConfig) in droptail,
        "red" => Red(RedConfig) in red,
        "codel" => Codel(CodelConfig) in codel,
        "pie" => Pie(PieConfig) in pie,
        "time-limit" => TimeLimit(TimeLimitConfig) in time_limit,
    }
}

/// The options of a queue manager, from which it is built.
pub trait Kind {
    /// Whether the manager can be built for `link`.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError>;

    /// The manager of one queue; `None` if nothing but the limit acts. `rng` decides what chance decides.
    ///
    /// # Errors
    /// As [`Kind::check`].
    fn build(&self, link: &LinkFacts, rng: Box<dyn Rng + Send>) -> Result<Option<Box<dyn QueueManager>>, FieldError>;
}

/// Decides which packets of one queue are marked or dropped although there is room.
pub trait QueueManager: Send {
    /// `packet` arrives where `waiting` waits before it. Also asked for a packet that then finds no room.
    fn on_arrival(&mut self, now: Time, packet: &PacketRef, waiting: Backlog) -> Decision {
        let _ = (now, packet, waiting);
        Decision::Pass
    }

    /// `packet` leaves after it `waited` so long; `left` waits behind it. If it is dropped, the next one is asked for.
    fn on_departure(&mut self, now: Time, packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        let _ = (now, packet, waited, left);
        Decision::Pass
    }

    /// Nothing waits any more since `at`, for what waited was given up elsewhere: it had waited too long, or made room. It is
    /// told late but in order: nothing came or left since `at`.
    fn on_emptied(&mut self, at: Time) {
        let _ = at;
    }

    /// The queue is empty and another's from now on: what was learnt of the one before means nothing any more.
    fn reset(&mut self, now: Time) {
        let _ = now;
    }

    /// Whether [`QueueManager::on_departure`] may drop; asked once.
    fn drops_at_departure(&self) -> bool {
        false
    }

    /// How long a packet may wait before it is dropped, if there is a limit; asked once.
    fn max_wait(&self) -> Option<Duration> {
        None
    }
}

/// What becomes of a packet. A mark is only for those whose [`Ecn::is_capable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on as it is.
    Pass,
    /// It goes on with a mark.
    Mark,
    /// It is lost.
    Drop,
}

impl Decision {
    /// Tells the sender of `packet` of congestion: by a mark if `ecn` is in use and the packet can carry it, else by a loss.
    pub fn signal(packet: &PacketRef, ecn: bool) -> Decision {
        if ecn && packet.ecn.is_capable() { Decision::Mark } else { Decision::Drop }
    }
}

/// A first-in-first-out queue with a limit and, perhaps, a manager.
pub struct Queue {
    /// Packets and when each came.
    packets: VecDeque<(PacketRef, Time)>,
    bytes: u64,
    limit: Limit,
    max_wait: Option<Duration>,
    manager: Option<Box<dyn QueueManager>>,
    dropped: VecDeque<(PacketRef, DropReason)>,
    marked: u64,
}

impl Queue {
    /// An empty queue of at most `limit`.
    pub fn new(limit: Limit, manager: Option<Box<dyn QueueManager>>) -> Queue {
        Queue {
            packets: VecDeque::new(),
            bytes: 0,
            limit,
            max_wait: manager.as_ref().and_then(|manager| manager.max_wait()),
            manager,
            dropped: VecDeque::new(),
            marked: 0,
        }
    }

    /// The same with a limit on how long a packet may wait, beside that of its manager.
    pub fn with_max_wait(mut self, limit: Option<Duration>) -> Queue {
        self.max_wait = self.max_wait.into_iter().chain(limit).min();
        self
    }

    /// How long a packet may wait; [`Queue::expire`] drops what has waited longer.
    pub fn max_wait(&self) -> Option<Duration> {
        self.max_wait
    }

    /// Takes a packet, or says why not.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    #[inline]
    pub fn push(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        if self.manager.is_some() {
            return self.push_managed(now, packet);
        }
        self.admit(now, packet)
    }

    /// The packet that [`Queue::pop`] looks at next.
    #[inline]
    pub fn front(&self) -> Option<&PacketRef> {
        self.packets.front().map(|(packet, _)| packet)
    }

    /// When the first packet came.
    #[inline]
    pub fn since(&self) -> Option<Time> {
        self.packets.front().map(|&(_, since)| since)
    }

    /// Takes out the first packet. `None` if there is none or the manager has dropped it: then ask [`Queue::front`] again.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<PacketRef> {
        let (packet, since) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        if self.manager.is_some() { self.pop_managed(now, packet, since) } else { Some(packet) }
    }

    /// Drops the packets that have waited longer than they may; whether there were any.
    pub fn expire(&mut self, now: Time) -> bool {
        let Some(limit) = self.max_wait else { return false };
        let mut last = None;
        while let Some((packet, since)) = self.packets.pop_front_if(|(_, since)| *since + limit < now) {
            self.bytes -= u64::from(packet.size);
            self.dropped.push_back((packet, DropReason::Timeout));
            last = Some(since + limit);
        }
        if let Some(at) = last {
            self.note_emptied(at);
        }
        last.is_some()
    }

    /// Gives up the first packet to make room elsewhere.
    pub fn shed(&mut self, now: Time) {
        if let Some((packet, _)) = self.packets.pop_front() {
            self.bytes -= u64::from(packet.size);
            self.dropped.push_back((packet, DropReason::Overflow));
            self.note_emptied(now);
        }
    }

    /// Takes out all packets, and begins anew.
    pub fn drain(&mut self, now: Time) -> impl Iterator<Item = PacketRef> {
        self.bytes = 0;
        if let Some(manager) = &mut self.manager {
            manager.reset(now);
        }
        self.packets.drain(..).map(|(packet, _)| packet)
    }

    /// The bytes of a packet, counted from 0 for the first.
    pub fn size_at(&self, place: usize) -> Option<u32> {
        self.packets.get(place).map(|(packet, _)| packet.size)
    }

    /// A packet that has been dropped after it was taken.
    pub fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.dropped.pop_front()
    }

    /// Whether there may be any for [`Queue::poll_dropped`].
    pub fn gives_up(&self) -> bool {
        self.max_wait.is_some() || self.manager.as_ref().is_some_and(|manager| manager.drops_at_departure())
    }

    /// The limit, if packets leave unless they find the queue full.
    pub(crate) fn unmanaged_limit(&self) -> Option<Limit> {
        (self.manager.is_none() && self.max_wait.is_none()).then_some(self.limit)
    }

    /// What waits.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }

    /// Packets that this queue has marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    #[inline]
    fn admit(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        if !self.limit.admits(self.backlog(), packet.size) {
            return Err(DropReason::Overflow);
        }
        self.bytes += u64::from(packet.size);
        self.packets.push_back((packet, now));
        Ok(())
    }

    // Apart from the common case, which is to stay small.
    #[inline(never)]
    fn push_managed(&mut self, now: Time, mut packet: PacketRef) -> Result<(), DropReason> {
        let waiting = self.backlog();
        let manager = self.manager.as_mut().expect("asked for by push");
        match manager.on_arrival(now, &packet, waiting) {
            Decision::Drop => return Err(DropReason::Early),
            // A packet that finds no room is lost, not marked.
            Decision::Mark if self.limit.admits(waiting, packet.size) => self.mark(&mut packet),
            Decision::Mark | Decision::Pass => {}
        }
        self.admit(now, packet)
    }

    #[inline(never)]
    fn pop_managed(&mut self, now: Time, mut packet: PacketRef, since: Time) -> Option<PacketRef> {
        let left = self.backlog();
        let manager = self.manager.as_mut().expect("asked for by pop");
        match manager.on_departure(now, &packet, now.since(since), left) {
            Decision::Pass => {}
            Decision::Mark => self.mark(&mut packet),
            Decision::Drop => {
                self.dropped.push_back((packet, DropReason::Early));
                return None;
            }
        }
        Some(packet)
    }

    /// Tells the manager if the packet given up at `at` was the last.
    fn note_emptied(&mut self, at: Time) {
        if let Some(manager) = self.manager.as_mut().filter(|_| self.packets.is_empty()) {
            manager.on_emptied(at);
        }
    }

    fn mark(&mut self, packet: &mut PacketRef) {
        debug_assert!(packet.ecn.is_capable(), "{packet:?} cannot carry a mark");
        self.marked += u64::from(packet.ecn != Ecn::Ce);
        packet.ecn = Ecn::Ce;
    }
}
