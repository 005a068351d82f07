//! One queue before the transmitter, and its manager, which marks or drops packets before the queue is full.
//!
//! A [`Queue`] holds packets first in first out up to its limit. A [`QueueManager`] sees each packet arrive and leave
//! and decides; it never changes a packet. A scheduler makes one queue, or one for each user, each with a manager of
//! its own. A new manager is a file here, a line in the registry, and passes the conformance test of this crate.
//!
//! A manager may keep packets in two queues side by side (see [`Lane`]): then it also says which of the two first
//! packets goes. To a scheduler they are one queue, whose first packet may change when one arrives.
//!
//! A mark is the congestion-experienced codepoint of RFC 3168. Only a packet whose transport understands marks is
//! marked; for others the same decision is a drop.

mod dual;

use std::collections::VecDeque;

use rand::Rng;
use units::{Duration, Ecn, FieldError, Time};

pub use dual::{Heads, Lane};
use dual::{LowLatency, Packets};

use crate::buffer::{Backlog, Limit, LinkFacts};
use crate::packet::{DropReason, PacketRef};

units::registry! {
    /// The queue managers of the last hop.
    pub enum QueueConfig: dyn Kind {
        #[default] "droptail" => DropTail(DropTailConfig) in droptail,
        "red" => Red(RedConfig) in red,
        "codel" => Codel(CodelConfig) in codel,
        "pie" => Pie(PieConfig) in pie,
        "dualpi2" => DualPi2(DualPi2Config) in dualpi2,
        "time-limit" => TimeLimit(TimeLimitConfig) in time_limit,
    }
}

/// The options of a queue manager, from which it is built.
pub trait Kind {
    /// Checks that the manager can be built for `link`.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        Ok(())
    }

    /// Whether it marks packets whose transport understands marks.
    fn marks(&self) -> bool;

    /// The manager of one queue, for options that have passed [`Kind::check`]; `None` if only the limit acts. `rng`
    /// makes its random decisions.
    fn build(&self, link: &LinkFacts, rng: Box<dyn Rng + Send>) -> Option<Box<dyn QueueManager>>;
}

/// Decides which packets of one queue are marked or dropped although there is room.
pub trait QueueManager: Send {
    /// `packet` arrives at a queue with the backlog `waiting`; where there are two, that of its lane. Also called for a
    /// packet that then finds no room.
    fn on_arrival(&mut self, _now: Time, _packet: &PacketRef, _waiting: Backlog) -> Decision {
        Decision::Pass
    }

    /// `packet` leaves after it `waited` so long, with the backlog `left` behind it, where there are two queues in its
    /// lane. If it is dropped, the next one follows.
    fn on_departure(&mut self, _now: Time, _packet: &PacketRef, _waited: Duration, _left: Backlog) -> Decision {
        Decision::Pass
    }

    /// The queue is empty since `at`, because its last packets were dropped elsewhere: after a time limit, or to make
    /// room. The call may be late but is in order: no packet arrived or left since `at`.
    fn on_emptied(&mut self, _at: Time) {}

    /// The queue is empty and that of another satellite from now on: the manager's state no longer applies.
    fn reset(&mut self, _now: Time) {}

    /// Whether it keeps packets in two queues side by side; constant. If not, the next three are never called.
    fn is_dual(&self) -> bool {
        false
    }

    /// The queue of `packet`; the same at its arrival and its departure.
    fn lane(&self, _packet: &PacketRef) -> Lane {
        Lane::Classic
    }

    /// Which of the first packets of the two queues goes next. Changes with departures only.
    fn first(&self, heads: Heads) -> Lane {
        heads.older()
    }

    /// Called before a packet arrives, leaves or is dropped at `now`: since the last such event these were the first
    /// packets.
    fn on_progress(&mut self, _now: Time, _heads: Heads) {}

    /// Whether [`QueueManager::on_departure`] may drop; constant.
    fn drops_at_departure(&self) -> bool {
        false
    }

    /// The limit on a packet's waiting time, if there is one; constant.
    fn max_wait(&self) -> Option<Duration> {
        None
    }
}

/// The fate of a packet. Only a packet whose [`Ecn::is_capable`] is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet passes unchanged.
    Pass,
    /// The packet passes with a mark.
    Mark,
    /// The packet is dropped, for this reason.
    Drop(DropReason),
}

impl Decision {
    /// Signals congestion to the sender of `packet`: by a mark if `ecn` is in use and the packet can be marked, else by
    /// a drop ([`DropReason::Early`]).
    pub fn signal(packet: &PacketRef, ecn: bool) -> Decision {
        if ecn && packet.ecn.is_capable() { Decision::Mark } else { Decision::Drop(DropReason::Early) }
    }
}

/// A first-in-first-out queue with a limit and, optionally, a manager; or two, which share the limit.
pub struct Queue {
    packets: Packets,
    /// The packets beside those, of a manager that keeps two queues.
    low_latency: Option<Box<LowLatency>>,
    /// The bytes of all packets in the queue.
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
            low_latency: manager.as_ref().filter(|manager| manager.is_dual()).map(|_| Box::default()),
            bytes: 0,
            limit,
            max_wait: manager.as_ref().and_then(|manager| manager.max_wait()),
            manager,
            dropped: VecDeque::new(),
            marked: 0,
        }
    }

    /// The queue with a limit on the waiting time, beside that of its manager.
    pub fn with_max_wait(mut self, limit: Option<Duration>) -> Queue {
        self.max_wait = self.max_wait.into_iter().chain(limit).min();
        self
    }

    /// The limit on the waiting time; [`Queue::expire`] drops packets that exceed it.
    pub fn max_wait(&self) -> Option<Duration> {
        self.max_wait
    }

    /// Adds a packet.
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

    /// The next packet for [`Queue::pop`].
    #[inline]
    pub fn front(&self) -> Option<&PacketRef> {
        self.head().map(|(packet, _)| packet)
    }

    /// When the first packet arrived.
    #[inline]
    pub fn since(&self) -> Option<Time> {
        self.head().map(|&(_, since)| since)
    }

    /// Whether a packet that arrives may go before one that waits.
    #[inline]
    pub fn may_overtake(&self) -> bool {
        self.low_latency.is_some()
    }

    #[inline]
    fn head(&self) -> Option<&(PacketRef, Time)> {
        if self.low_latency.is_some() { self.dual_head() } else { self.packets.front() }
    }

    /// Removes the first packet. `None` if there is none, or if the manager has dropped it: then see [`Queue::front`]
    /// again.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<PacketRef> {
        if self.low_latency.is_some() {
            return self.pop_dual(now);
        }
        let (packet, since) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        if self.manager.is_some() { self.pop_managed(now, packet, since) } else { Some(packet) }
    }

    /// Drops the packets that have exceeded the limit on the waiting time; returns whether there were any.
    #[inline(always)]
    pub fn expire(&mut self, now: Time) -> bool {
        let Some(limit) = self.max_wait else { return false };
        if self.low_latency.is_some() {
            return self.expire_dual(now, limit);
        }
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

    /// Drops the first packet to make room elsewhere.
    pub fn shed(&mut self, now: Time) {
        self.progress(now);
        let lane = self.first_lane();
        if let Some((packet, _)) = self.take(lane) {
            self.dropped.push_back((packet, DropReason::Overflow));
            self.note_emptied(now);
        }
    }

    /// Removes all packets, and resets the manager.
    pub fn drain(&mut self, now: Time) -> impl Iterator<Item = PacketRef> {
        self.bytes = 0;
        if let Some(manager) = &mut self.manager {
            manager.reset(now);
        }
        let beside = self.low_latency.as_mut().map(|low| low.drain()).into_iter().flatten();
        beside.chain(self.packets.drain(..)).map(|(packet, _)| packet)
    }

    /// The bytes of a packet, by its index from the first; of two queues, those of low latency count first.
    pub fn size_at(&self, index: usize) -> Option<u32> {
        let beside = self.low_latency.as_ref().map_or(0, |low| low.len());
        let packet = match index.checked_sub(beside) {
            Some(index) => self.packets.get(index),
            None => self.low_latency.as_ref()?.get(index),
        };
        packet.map(|(packet, _)| packet.size)
    }

    /// A packet that was dropped after it was added.
    pub fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.dropped.pop_front()
    }

    /// Whether [`Queue::poll_dropped`] may return any packet.
    pub fn gives_up(&self) -> bool {
        self.max_wait.is_some() || self.manager.as_ref().is_some_and(|manager| manager.drops_at_departure())
    }

    /// The limit, if packets leave unless they find the queue full.
    pub(crate) fn unmanaged_limit(&self) -> Option<Limit> {
        (self.manager.is_none() && self.max_wait.is_none()).then_some(self.limit)
    }

    /// The backlog.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        let beside = self.low_latency.as_ref().map_or(0, |low| low.len());
        Backlog { packets: self.packets.len() + beside, bytes: self.bytes }
    }

    /// The number of packets that this queue has marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    #[inline]
    fn admit(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        if !self.limit.admits(self.backlog(), packet.size) {
            return Err(DropReason::Overflow);
        }
        self.bytes += u64::from(packet.size);
        if self.low_latency.is_some() {
            self.add(now, packet);
        } else {
            self.packets.push_back((packet, now));
        }
        Ok(())
    }

    // A function of its own, which keeps the common case small.
    #[inline(never)]
    fn push_managed(&mut self, now: Time, mut packet: PacketRef) -> Result<(), DropReason> {
        self.progress(now);
        let all = self.backlog();
        let waiting = self.beside(&packet);
        let manager = self.manager.as_mut().expect("asked for by push");
        match manager.on_arrival(now, &packet, waiting) {
            Decision::Drop(reason) => return Err(reason),
            // A packet that finds no room is dropped, not marked.
            Decision::Mark if self.limit.admits(all, packet.size) => self.mark(&mut packet),
            Decision::Mark | Decision::Pass => {}
        }
        self.admit(now, packet)
    }

    #[inline(never)]
    fn pop_managed(&mut self, now: Time, mut packet: PacketRef, since: Time) -> Option<PacketRef> {
        let left = self.beside(&packet);
        let manager = self.manager.as_mut().expect("asked for by pop");
        match manager.on_departure(now, &packet, now.since(since), left) {
            Decision::Pass => {}
            Decision::Mark => self.mark(&mut packet),
            Decision::Drop(reason) => {
                self.dropped.push_back((packet, reason));
                return None;
            }
        }
        Some(packet)
    }

    /// Tells the manager if the packet dropped at `at` was the last.
    fn note_emptied(&mut self, at: Time) {
        let empty = self.backlog().packets == 0;
        if let Some(manager) = self.manager.as_mut().filter(|_| empty) {
            manager.on_emptied(at);
        }
    }

    fn mark(&mut self, packet: &mut PacketRef) {
        debug_assert!(packet.ecn.is_capable(), "{packet:?} cannot carry a mark");
        self.marked += u64::from(packet.ecn != Ecn::Ce);
        packet.ecn = Ecn::Ce;
    }
}

/// The part of a queue whose manager keeps two.
impl Queue {
    fn heads(&self) -> Heads {
        let low = self.low_latency.as_ref().and_then(|low| low.get(0));
        Heads { classic: self.packets.front().map(|&(_, since)| since), low_latency: low.map(|&(_, since)| since) }
    }

    /// The lane whose first packet goes next; that of all packets where there is one queue.
    fn first_lane(&self) -> Lane {
        let Some(manager) = self.manager.as_ref().filter(|_| self.low_latency.is_some()) else { return Lane::Classic };
        let heads = self.heads();
        match (heads.classic, heads.low_latency) {
            (Some(_), Some(_)) => manager.first(heads),
            _ => heads.older(),
        }
    }

    #[inline(never)]
    fn dual_head(&self) -> Option<&(PacketRef, Time)> {
        match self.first_lane() {
            Lane::Classic => self.packets.front(),
            Lane::LowLatency => self.low_latency.as_ref()?.get(0),
        }
    }

    /// Tells the manager of two queues which packets were first until `now`.
    #[inline]
    fn progress(&mut self, now: Time) {
        if self.low_latency.is_some() {
            let heads = self.heads();
            if let Some(manager) = &mut self.manager {
                manager.on_progress(now, heads);
            }
        }
    }

    /// The backlog of the packet's lane, which is that of all where there is one queue.
    #[inline]
    fn beside(&self, packet: &PacketRef) -> Backlog {
        let Some(low) = &self.low_latency else { return self.backlog() };
        match self.lane_of(packet) {
            Lane::Classic => Backlog { packets: self.packets.len(), bytes: self.bytes - low.bytes() },
            Lane::LowLatency => Backlog { packets: low.len(), bytes: low.bytes() },
        }
    }

    fn lane_of(&self, packet: &PacketRef) -> Lane {
        self.manager.as_ref().map_or(Lane::Classic, |manager| manager.lane(packet))
    }

    /// Puts a packet that was admitted behind the others of its lane.
    #[inline(never)]
    fn add(&mut self, now: Time, packet: PacketRef) {
        let lane = self.lane_of(&packet);
        match &mut self.low_latency {
            Some(low) if lane == Lane::LowLatency => low.push(now, packet),
            _ => self.packets.push_back((packet, now)),
        }
    }

    /// Takes the first packet of a lane out.
    fn take(&mut self, lane: Lane) -> Option<(PacketRef, Time)> {
        let dequeued = match &mut self.low_latency {
            Some(low) if lane == Lane::LowLatency => low.pop()?,
            _ => self.packets.pop_front()?,
        };
        self.bytes -= u64::from(dequeued.0.size);
        Some(dequeued)
    }

    #[inline(never)]
    fn pop_dual(&mut self, now: Time) -> Option<PacketRef> {
        self.progress(now);
        let (packet, since) = self.take(self.first_lane())?;
        self.pop_managed(now, packet, since)
    }

    /// As [`Queue::expire`], for the first packets of both queues in the order of their time limits.
    #[cold]
    fn expire_dual(&mut self, now: Time, limit: Duration) -> bool {
        let mut last = None;
        loop {
            let heads = self.heads();
            let oldest = heads.classic.into_iter().chain(heads.low_latency).min();
            let Some(at) = oldest.map(|since| since + limit).filter(|&at| at < now) else { break };
            self.progress(at);
            let Some((packet, _)) = self.take(heads.older()) else { break };
            self.dropped.push_back((packet, DropReason::Timeout));
            last = Some(at);
        }
        if let Some(at) = last {
            self.note_emptied(at);
        }
        last.is_some()
    }
}
