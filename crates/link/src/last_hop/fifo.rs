//! Packets that wait, are sent and arrive in the order in which they came, each at a time that is known when it comes.

use std::collections::VecDeque;

use units::{Duration, Time};

use crate::buffer::{Backlog, Limit};
use crate::packet::PacketRef;

/// Of a last hop whose bursts are entered, not simulated: the packets that have not arrived.
pub(super) struct Fifo {
    pub(super) limit: Limit,
    pub(super) delay: Duration,
    /// When the transmitter will have sent all that came.
    pub(super) free_at: Time,
    /// What has not arrived, in order.
    pub(super) packets: VecDeque<Scheduled>,
    /// How many of `packets` have begun; the others wait.
    pub(super) begun: usize,
    /// When the first of those that wait begins; [`Time::MAX`] without any.
    pub(super) begins_at: Time,
    pub(super) waiting_bytes: u64,
    /// When the next packet arrives; [`Time::MAX`] without any.
    pub(super) arrives_at: Time,
    /// The instant of the last event: packets that arrived by then may be handed out.
    pub(super) reached: Time,
}

#[derive(Clone, Copy)]
pub(super) struct Scheduled {
    /// When its burst ends; it begins when that of the packet before it ends, if that has not ended.
    pub(super) end: Time,
    pub(super) packet: PacketRef,
}

impl Fifo {
    /// That of an idle last hop.
    pub(super) fn new(limit: Limit, delay: Duration) -> Fifo {
        Fifo {
            limit,
            delay,
            free_at: Time::ZERO,
            packets: VecDeque::new(),
            begun: 0,
            begins_at: Time::MAX,
            waiting_bytes: 0,
            arrives_at: Time::MAX,
            reached: Time::ZERO,
        }
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn next_arrival(&self) -> Option<Time> {
        (self.arrives_at < Time::MAX).then_some(self.arrives_at)
    }

    /// When the next burst begins or arrives.
    pub(super) fn next_step(&self) -> Option<Time> {
        let start = (self.begins_at < Time::MAX).then_some(self.begins_at);
        self.next_arrival().into_iter().chain(start).min()
    }

    /// What waits for the transmitter.
    #[inline]
    pub(super) fn waiting(&self) -> Backlog {
        Backlog { packets: self.packets.len() - self.begun, bytes: self.waiting_bytes }
    }

    /// Whether a packet has arrived by the instant of the last event.
    #[inline]
    pub(super) fn has_arrived(&self) -> bool {
        self.arrives_at <= self.reached
    }

    /// Enters a packet whose burst ends at `end`.
    #[inline]
    pub(super) fn push(&mut self, end: Time, packet: PacketRef) {
        self.free_at = end;
        if self.packets.is_empty() {
            self.arrives_at = end + self.delay;
        }
        self.packets.push_back(Scheduled { end, packet });
    }

    /// The next packet that has arrived by the instant of the last event.
    #[inline]
    pub(super) fn pop_arrived(&mut self) -> Option<PacketRef> {
        if !self.has_arrived() {
            return None;
        }
        let Scheduled { packet, .. } = self.packets.pop_front()?;
        self.begun -= 1;
        self.arrives_at = self.packets.front().map_or(Time::MAX, |next| next.end + self.delay);
        Some(packet)
    }
}
