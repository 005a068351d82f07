//! A last hop whose users never run out of packets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use channel::{Channel, Observation};
use link::{Choose, DropReason, LastHop, LastHopReport, Output, PacketRef, QueueState};
use rand::{Rng, RngExt};
use units::{Db, Ecn, Time};

/// Packets that wait for each user: one to choose, and one more so that the queue is not empty while the first leaves
/// it.
const DEPTH: u32 = 2;

/// A last hop and sources without end: whenever a packet leaves the queues, another of the same user enters.
///
/// A packet that the queues refuse is offered again after the next one has left. Those who wait for that do so in turn,
/// so that a queue too small for everybody is shared.
pub(super) struct Saturation {
    hop: LastHop,
    packet_bytes: u32,
    last_user: Arc<AtomicU32>,
    /// Packets offered to the full last hop so far: the number of the next.
    offered: u32,
    /// How many of those in the hop have started, as it was last counted.
    started: u64,
    /// Users who have a packet less in the queues than they are to have, once for each.
    owed: VecDeque<u32>,
    /// Users whose packets left the queues since that was last dealt with.
    left: Vec<u32>,
    /// Packets given up by the scheduler after it had taken them.
    pub(super) given_up: u64,
    /// Packets decoded of each user.
    pub(super) decoded: Vec<u64>,
}

impl Saturation {
    /// Fills the queues of an idle hop at the beginning of time. `last_user`: what its [`ChannelTap`]s note.
    pub(super) fn new(hop: LastHop, users: u32, packet_bytes: u32, last_user: Arc<AtomicU32>) -> Saturation {
        let mut saturation = Saturation {
            hop,
            packet_bytes,
            last_user,
            offered: 0,
            started: 0,
            owed: VecDeque::new(),
            left: Vec::new(),
            given_up: 0,
            decoded: vec![0; users as usize],
        };
        for user in (0..DEPTH).flat_map(|_| 0..users) {
            if !saturation.offer(Time::ZERO, user) {
                saturation.owed.push_back(user);
            }
            saturation.refill(Time::ZERO);
        }
        saturation
    }

    /// Goes on to `until`.
    pub(super) fn advance(&mut self, until: Time) {
        while let Some(now) = self.hop.next_step().filter(|&now| now <= until) {
            self.hop.handle_timeout(now);
            self.take_outputs(None);
            self.refill(now);
        }
    }

    /// Returns the report of the last hop for the time up to `end`.
    pub(super) fn report(&self, end: Time) -> LastHopReport {
        self.hop.report(end.since(Time::ZERO))
    }

    /// Offers a packet for each that has left the queues, after one to the user who has waited longest for room.
    fn refill(&mut self, now: Time) {
        // Packets that leave during this pass, to make room for others, are replaced in the next.
        for user in std::mem::take(&mut self.left) {
            let first = self.owed.pop_front();
            for user in first.into_iter().chain([user]) {
                if !self.offer(now, user) {
                    self.owed.push_back(user);
                }
            }
        }
    }

    /// Whether the queues take another packet of `user`.
    fn offer(&mut self, now: Time, user: u32) -> bool {
        let (id, ecn) = (self.offered, Ecn::default());
        self.offered = self.offered.wrapping_add(1);
        // A flow is a user's, and has its number; there are no classes.
        let packet = PacketRef { id, flow: user, user, class: 0, size: self.packet_bytes, ecn };
        self.hop.handle_packet(now, packet);
        self.take_outputs(Some(id))
    }

    /// Counts what left the hop. Whether the packet `offered` is not among what the queues dropped.
    fn take_outputs(&mut self, offered: Option<u32>) -> bool {
        let mut packet_taken = true;
        while let Some(output) = self.hop.poll_output() {
            match output {
                Output::Delivered(packet) => self.decoded[packet.user as usize] += 1,
                Output::Dropped(_, DropReason::Harq) => {}
                Output::Dropped(packet, _) if Some(packet.id) == offered => packet_taken = false,
                Output::Dropped(packet, _) => {
                    self.given_up += 1;
                    self.left.push(packet.user);
                }
            }
        }
        // The hop sends one burst at a time, so at most one packet has started, and it is that of the last burst.
        let started = self.hop.harq().started;
        debug_assert!(started <= self.started + 1, "the steps of the hop are not single ones");
        if started > self.started {
            self.started = started;
            self.left.push(self.last_user.load(Ordering::Relaxed));
        }
        packet_taken
    }
}

/// A user's channel that notes when a burst was sent over it.
pub(super) struct ChannelTap {
    pub(super) channel: Box<dyn Channel>,
    pub(super) user: u32,
    pub(super) last_user: Arc<AtomicU32>,
}

impl Channel for ChannelTap {
    fn burst_snr(&mut self, now: Time) -> Db {
        self.last_user.store(self.user, Ordering::Relaxed);
        self.channel.burst_snr(now)
    }

    fn attenuation(&mut self, now: Time) -> Option<Db> {
        self.channel.attenuation(now)
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.channel.estimated_snr(now)
    }

    fn observe(&mut self, now: Time) -> Observation {
        self.channel.observe(now)
    }
}

/// Serves any user, whatever the channels.
pub(super) struct AtRandom {
    pub(super) rng: Box<dyn Rng + Send>,
}

impl Choose for AtRandom {
    fn choose(&mut self, _now: Time, queues: &[QueueState]) -> Option<u32> {
        Some(queues[self.rng.random_range(0..queues.len())].user)
    }
}
