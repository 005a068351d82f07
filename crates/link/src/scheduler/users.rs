//! A queue for each user, as used by the schedulers that distinguish users.

use std::collections::VecDeque;

use units::{FieldError, Time};

use super::user_queues::UserQueuesConfig;
use super::{Parts, Scheduler, View};
use crate::buffer::Backlog;
use crate::packet::{DropReason, PacketRef};
use crate::queue::Queue;

/// A scheduler with a queue for each user: it chooses, and the queues answer the rest.
pub trait ByUser: Send {
    /// The queues.
    fn queues(&self) -> &UserQueues;

    /// The queues.
    fn queues_mut(&mut self) -> &mut UserQueues;

    /// As [`Scheduler::enqueue`].
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    fn take(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.queues_mut().push(now, packet)
    }

    /// As [`Scheduler::select`], after packets whose time limit is over were dropped.
    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef>;

    /// Its own part of [`Scheduler::drain`]: the queues are empty.
    fn reset(&mut self, now: Time);

    /// As [`Scheduler::rests`].
    fn ends_turns(&self) -> bool {
        false
    }

    /// As [`Scheduler::rest`].
    fn end_turns(&mut self) {}

    /// As [`Scheduler::gives_up`].
    fn may_drop(&self) -> bool {
        self.queues().gives_up()
    }

    /// As [`Scheduler::overruled`].
    fn overruled_choices(&self) -> u64 {
        0
    }
}

impl<S: ByUser> Scheduler for S {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.take(now, packet)
    }

    #[inline]
    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        self.queues_mut().expire(now);
        self.choose(now, view)
    }

    fn rests(&self) -> bool {
        self.ends_turns()
    }

    fn rest(&mut self) {
        self.end_turns();
    }

    fn gives_up(&self) -> bool {
        self.may_drop()
    }

    #[inline]
    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.queues_mut().poll_dropped()
    }

    fn drain(&mut self, now: Time, lost: &mut Vec<PacketRef>) {
        self.queues_mut().drain(now, lost);
        self.reset(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues().backlog()
    }

    fn marked(&self) -> u64 {
        self.queues().marked()
    }

    fn overruled(&self) -> u64 {
        self.overruled_choices()
    }
}

impl UserQueuesConfig {
    /// The queues of the users of a link.
    ///
    /// # Errors
    /// As [`UserQueuesConfig::resolve`].
    pub fn build(&self, parts: &mut Parts<'_>) -> Result<UserQueues, FieldError> {
        let size = self.resolve(parts.link)?;
        let queue = |_| (parts.queue)(size).with_max_wait(self.limit);
        Ok(UserQueues::new((0..parts.link.users).map(queue).collect()))
    }
}

/// A queue for each user, or for each class of packets that a scheduler distinguishes.
pub struct UserQueues {
    queues: Vec<Queue>,
    backlog: Backlog,
    /// Whether any queue has a limit on the waiting time.
    expires: bool,
    /// The time limit of each packet that has one, and its user; all queues have the same limit, so the oldest is
    /// first.
    deadlines: VecDeque<(Time, u32)>,
    gives_up: bool,
    /// Whether changes of first packets are noted.
    tracks: bool,
    /// Users whose first packet has changed since the last [`UserQueues::poll_changed`], each once.
    changed: Vec<u32>,
    /// For each user: whether it is among them; empty if changes are not noted.
    is_changed: Vec<bool>,
    dropped: VecDeque<(PacketRef, DropReason)>,
}

impl UserQueues {
    /// One queue for each user, with the same limit on the waiting time.
    pub fn new(queues: Vec<Queue>) -> UserQueues {
        let expires = queues.iter().any(|queue| queue.max_wait().is_some());
        let gives_up = queues.iter().any(Queue::gives_up);
        UserQueues {
            queues,
            backlog: Backlog::default(),
            expires,
            deadlines: VecDeque::new(),
            gives_up,
            tracks: false,
            changed: Vec::new(),
            is_changed: Vec::new(),
            dropped: VecDeque::new(),
        }
    }

    /// The same with notes of changes, for [`UserQueues::poll_changed`] before each choice.
    pub fn tracking_changes(mut self) -> UserQueues {
        self.tracks = true;
        self.is_changed = vec![false; self.queues.len()];
        self
    }

    /// The number of users.
    pub fn users(&self) -> usize {
        self.queues.len()
    }

    /// Adds a packet to its user's queue.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    #[inline]
    pub fn push(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.push_to(now, packet.user, packet)
    }

    /// Adds a packet to the queue `index`, for schedulers whose queues are not of users; in the other methods a user is
    /// then a queue.
    ///
    /// # Errors
    /// As [`UserQueues::push`].
    #[inline(always)]
    pub fn push_to(&mut self, now: Time, index: u32, packet: PacketRef) -> Result<(), DropReason> {
        self.expire(now);
        let queue = &mut self.queues[index as usize];
        let first = queue.front().is_none() || queue.may_overtake();
        queue.push(now, packet)?;
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        if let Some(limit) = queue.max_wait() {
            self.deadlines.push_back((now + limit, index));
        }
        if first {
            self.note_change(index);
        }
        Ok(())
    }

    /// Drops the packets that have waited too long. Called before a choice.
    #[inline]
    pub fn expire(&mut self, now: Time) {
        if self.expires {
            self.expire_due(now);
        }
    }

    #[inline(never)]
    fn expire_due(&mut self, now: Time) {
        while let Some(&(_, user)) = self.deadlines.front().filter(|&&(deadline, _)| deadline < now) {
            self.deadlines.pop_front();
            if self.queues[user as usize].expire(now) {
                self.note_change(user);
                self.take_dropped(user);
            }
        }
    }

    /// Removes the first packet of a user; `None` if its manager has dropped it, or there is none.
    #[inline(always)]
    pub fn pop(&mut self, now: Time, user: u32) -> Option<PacketRef> {
        self.note_change(user);
        let packet = self.queues[user as usize].pop(now);
        match &packet {
            Some(packet) => self.left(packet.size),
            None if self.gives_up => self.take_dropped(user),
            None => {}
        }
        packet
    }

    /// Drops the first packet of a queue to make room.
    pub fn shed(&mut self, now: Time, index: u32) {
        self.note_change(index);
        self.queues[index as usize].shed(now);
        self.take_dropped(index);
    }

    /// As [`super::Scheduler::drain`].
    pub fn drain(&mut self, now: Time, lost: &mut Vec<PacketRef>) {
        self.expire(now);
        for index in 0..self.queues.len() {
            if self.queues[index].front().is_some() {
                self.note_change(index as u32);
            }
            lost.extend(self.queues[index].drain(now));
        }
        self.deadlines.clear();
        self.backlog = Backlog::default();
    }

    /// The bytes of a packet of a user, by its index from the first.
    pub fn size_at(&self, user: u32, index: usize) -> Option<u32> {
        self.queues[user as usize].size_at(index)
    }

    /// The first packet of a user, and when it arrived.
    #[inline]
    pub fn front(&self, user: u32) -> Option<(&PacketRef, Time)> {
        let queue = &self.queues[user as usize];
        queue.front().zip(queue.since())
    }

    /// The backlog of a user.
    pub fn backlog_of(&self, user: u32) -> Backlog {
        self.queues[user as usize].backlog()
    }

    /// A user whose first packet has changed, or who has none any more; until `None`, in any order. Only noted after
    /// [`UserQueues::tracking_changes`].
    #[inline]
    pub fn poll_changed(&mut self) -> Option<u32> {
        let user = self.changed.pop()?;
        self.is_changed[user as usize] = false;
        Some(user)
    }

    /// As [`super::Scheduler::gives_up`].
    pub fn gives_up(&self) -> bool {
        self.gives_up
    }

    /// As [`super::Scheduler::poll_dropped`].
    pub fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        self.dropped.pop_front()
    }

    /// The backlog of all users.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The number of packets that the queues have marked.
    pub fn marked(&self) -> u64 {
        self.queues.iter().map(Queue::marked).sum()
    }

    #[inline]
    fn note_change(&mut self, user: u32) {
        if self.tracks && !std::mem::replace(&mut self.is_changed[user as usize], true) {
            self.changed.push(user);
        }
    }

    fn take_dropped(&mut self, user: u32) {
        while let Some(dropped) = self.queues[user as usize].poll_dropped() {
            self.left(dropped.0.size);
            self.dropped.push_back(dropped);
        }
    }

    #[inline]
    fn left(&mut self, size: u32) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Limit;
    use units::Ecn;

    /// A class that never chooses, because the classes before it always can, notes at most its users.
    #[test]
    fn a_change_is_noted_once_until_somebody_asks() {
        let queues = (0..3).map(|_| Queue::new(Limit::Packets(10), None)).collect();
        let mut queues = UserQueues::new(queues).tracking_changes();
        for id in 0..1000 {
            let user = id % 2;
            queues.push(Time::ZERO, PacketRef { id, flow: 0, user, class: 0, size: 100, ecn: Ecn::NotEct }).unwrap();
            assert!(queues.pop(Time::ZERO, user).is_some());
        }
        let asked = |queues: &mut UserQueues| {
            let mut users: Vec<u32> = std::iter::from_fn(|| queues.poll_changed()).collect();
            users.sort_unstable();
            users
        };
        assert_eq!(asked(&mut queues), [0, 1]);
        assert!(asked(&mut queues).is_empty());
        assert!(queues.pop(Time::ZERO, 2).is_none());
        assert_eq!(asked(&mut queues), [2], "noted again after somebody asked");
    }
}
