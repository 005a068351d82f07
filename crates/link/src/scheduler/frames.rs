//! Schedulers that plan frames: the next ones are filled with the packets of the most utility, and then sent.
//!
//! [`super::bbs`] has the sources and what is simplified.

use std::collections::VecDeque;

use units::{Duration, FieldError, Time};

use super::View;
use super::rule::LEAST_INFORMATION;
use super::served::Served;
use super::users::{ByUser, UserQueues};
use crate::packet::PacketRef;

/// A normal frame of DVB-S2 (EN 302 307-1, section 5.3).
pub(super) const DEFAULT_FRAME: u32 = 64_800;

/// Refuses frames and utilities that cannot be.
pub(super) fn check_frame(frame: u32, alpha: f64) -> Result<(), FieldError> {
    if !(100..=100_000_000).contains(&frame) {
        return Err(FieldError::new("frame", format!("{frame} given, 100 to 100000000 coded bits allowed")));
    }
    if !(0.0..=10.0).contains(&alpha) {
        return Err(FieldError::new("alpha", format!("{alpha} given, 0 to 10 allowed")));
    }
    Ok(())
}

/// The frames that are planned at once.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Coded bits of a frame.
    pub bits: u32,
    /// The number of frames that are planned at once.
    pub count: u32,
}

/// A queue for each user, and a schedule of the next frames.
pub struct ByFrames {
    queues: UserQueues,
    served: Served,
    frames: Frames,
    alpha: f64,
    /// The user of each next packet.
    schedule: VecDeque<u32>,
    /// Coded bits by which the last schedule was longer than its frames.
    overhang: f64,
    /// Working memory for planning.
    candidates: Vec<Candidate>,
}

/// A user while a schedule is made.
struct Candidate {
    user: u32,
    information: f64,
    /// Its recent service, including the frames planned so far, in bits.
    served: f64,
    /// Bits in the frame being planned.
    in_frame: f64,
    /// Packets planned.
    packets: usize,
    /// First-order gain of utility for each coded bit.
    gain: f64,
}

impl ByFrames {
    /// Serves `queues` by schedules for the utility of fairness `alpha`, with the service smoothed over `window`.
    pub fn new(queues: UserQueues, frames: Frames, alpha: f64, window: Duration) -> ByFrames {
        let served = Served::new(queues.users(), window);
        ByFrames { queues, served, frames, alpha, schedule: VecDeque::new(), overhang: 0.0, candidates: Vec::new() }
    }

    /// Fills the next frames with packets of the users that may start now; at least one packet if any waits.
    fn make_schedule(&mut self, now: Time, view: &mut View<'_>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        self.gather(now, view, &mut candidates);
        let mut room = -self.overhang;
        for frame in 0..self.frames.count {
            if candidates.is_empty() {
                room += f64::from(self.frames.bits) * f64::from(self.frames.count - frame);
                break;
            }
            room += f64::from(self.frames.bits);
            if room <= 0.0 && !self.schedule.is_empty() {
                continue; // a packet that extends beyond a frame fills the next
            }
            for candidate in &mut candidates {
                candidate.begin_frame(self.alpha);
            }
            while (room > 0.0 || self.schedule.is_empty())
                && let Some(best) = best(&candidates)
            {
                let candidate = &mut candidates[best];
                while (room > 0.0 || self.schedule.is_empty())
                    && let Some(size) = self.queues.size_at(candidate.user, candidate.packets)
                {
                    room -= candidate.plan_packet(size);
                    self.schedule.push_back(candidate.user);
                }
                if self.queues.size_at(candidate.user, candidate.packets).is_none() {
                    candidates.swap_remove(best);
                }
            }
        }
        // Unfilled frames are not kept for later, and the excess is at most the next frames.
        self.overhang = (-room).clamp(0.0, f64::from(self.frames.bits) * f64::from(self.frames.count));
        candidates.clear();
        self.candidates = candidates;
    }

    fn gather(&self, now: Time, view: &mut View<'_>, candidates: &mut Vec<Candidate>) {
        let factor = self.served.factor(now);
        for user in 0..self.queues.users() as u32 {
            if self.queues.front(user).is_some() && view.may_start(user) {
                let information = view.information(user).max(LEAST_INFORMATION);
                // Never so small that its power leaves the range of numbers.
                let served = (self.served.of(user) / factor).max(1e-3);
                candidates.push(Candidate { user, information, served, in_frame: 0.0, packets: 0, gain: 0.0 });
            }
        }
    }
}

impl Candidate {
    fn begin_frame(&mut self, alpha: f64) {
        self.served += std::mem::take(&mut self.in_frame);
        let utility = if alpha == 1.0 { 1.0 / self.served } else { libm::pow(self.served, -alpha) };
        self.gain = utility * self.information;
    }

    /// Plans its next packet, of `size` bytes. Returns the coded bits that the packet takes.
    fn plan_packet(&mut self, size: u32) -> f64 {
        let bits = f64::from(size) * 8.0;
        self.packets += 1;
        self.in_frame += bits;
        bits / self.information
    }
}

/// The candidate with the highest gain; of equals that with the lowest number.
fn best(candidates: &[Candidate]) -> Option<usize> {
    let better = |a: &Candidate, b: &Candidate| a.gain.total_cmp(&b.gain).then(b.user.cmp(&a.user));
    (0..candidates.len()).max_by(|&a, &b| better(&candidates[a], &candidates[b]))
}

impl ByUser for ByFrames {
    fn queues(&self) -> &UserQueues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut UserQueues {
        &mut self.queues
    }

    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        loop {
            while let Some(user) = self.schedule.pop_front() {
                if self.queues.front(user).is_some()
                    && view.may_start(user)
                    && let Some(packet) = self.queues.pop(now, user)
                {
                    self.served.add(now, user, f64::from(packet.size) * 8.0);
                    return Some(packet);
                }
            }
            self.make_schedule(now, view);
            if self.schedule.is_empty() {
                return None;
            }
        }
    }

    fn reset(&mut self, now: Time) {
        self.schedule.clear();
        self.overhang = 0.0;
        self.served.reset(now);
    }
}
