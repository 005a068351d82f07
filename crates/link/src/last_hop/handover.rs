//! Another satellite takes over, or none serves the users for a while.
//!
//! What a handover does to what is under way is for the scenario to say ([`Transfer`]); what all kinds have in common is that
//! the transmitter rests until the new satellite serves. The terminal keeps what it has: its reordering buffer and what its
//! decoder holds of packets that the sender still knows.
//!
//! Where the field leaves a choice:
//! * A burst that finds nobody counts as received and erased when it would have arrived: it was one of its packet's
//!   transmissions, and its bits were sent. The sender is told nothing; it notices when the answer would have come.
//! * What the sender believes of the channels, what it remembers having served and the state of the queues' managers go with
//!   what waits; where that is lost the new satellite begins at rest.
//! * Within an interruption that is not over, a second handover does not shorten it.

use channel::ERASED;
use units::{Duration, Time};

use super::LastHop;
use crate::harq::{Answer, Burst};
use crate::packet::{DropReason, Output, PacketRef};

/// What becomes at a handover of what waits, of the state of the reliability scheme, and of what is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Nothing is lost: what is under way arrives as if nothing had happened, and the new satellite has what the old one had.
    Keep,
    /// The old satellite forwards what waits and the state of its scheme. What is under way to the users finds nobody; answers
    /// reach the old satellite and are forwarded.
    Forward {
        /// From the old satellite to the new one.
        delay: Duration,
    },
    /// All is lost: what waits, what is under way, and every packet that was begun and is not decoded.
    Lose,
}

/// When the transmitter may not send although it is free.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// When it had sent what it sent before.
    sent_until: Time,
    /// When the satellite that serves, or will, begins to.
    until: Time,
    /// Whether none serves.
    halted: bool,
}

impl LastHop {
    /// Another satellite serves the users from now on, and sends from `resume` on: now or later. Forwarding may put that off.
    ///
    /// What is due now has still come to pass at the old satellite, but it begins no burst now. A burst that it is sending is sent to its
    /// end if nothing is lost; else it is cut off, and counts as sent in full. Take [`LastHop::poll_output`] and ask for
    /// [`LastHop::poll_timeout`] afterwards.
    pub fn hand_over(&mut self, now: Time, resume: Time, transfer: Transfer) {
        debug_assert!(resume >= now, "service resumes at {resume:?}, before {now:?}");
        self.simulate_bursts(now);
        self.arrive_until(now);
        self.rest(now);
        self.counters.handovers += 1;
        self.pause.until = self.pause.until.max(resume);
        self.pause.halted = false;
        match transfer {
            Transfer::Keep => {}
            Transfer::Forward { delay } => {
                self.cut(now);
                self.miss();
                self.feedback.put_off(delay);
                self.pause.until = self.pause.until.max(now + delay);
            }
            Transfer::Lose => {
                self.cut(now);
                self.lose(now);
            }
        }
        self.go_on(now);
    }

    /// No satellite serves the users from now on: nothing is sent, what waits waits, and bursts under way find nobody. Packets
    /// may come, and queues drop what they would.
    pub fn halt(&mut self, now: Time) {
        if self.pause.halted {
            return self.work_until(now);
        }
        self.simulate_bursts(now);
        self.arrive_until(now);
        self.rest(now);
        self.cut(now);
        self.miss();
        self.pause.halted = true;
        self.go_on(now);
    }

    /// The satellite that served before [`LastHop::halt`] serves again; nothing happens if there was no halt. An interruption by
    /// a handover goes on to its end. After a halt [`LastHop::hand_over`] resumes as well.
    pub fn resume(&mut self, now: Time) {
        if !self.pause.halted {
            return self.work_until(now);
        }
        self.arrive_until(now);
        self.pause.halted = false;
        self.pause.until = self.pause.until.max(now);
        self.go_on(now);
    }

    /// When the transmitter has sent what it sends; in the past if it is idle.
    pub fn sending_until(&self) -> Time {
        // Once it sends again it is free later than the pause is over.
        if self.free_at > self.pause.until && !self.pause.halted { self.free_at } else { self.pause.sent_until }
    }

    /// The transmitter rests, and nobody is held up by the reliability scheme.
    fn rest(&mut self, now: Time) {
        self.pause.sent_until = self.sending_until();
        if self.stalled_since < Time::MAX {
            self.counters.stalled += now.since(self.stalled_since);
            self.stalled_since = Time::MAX;
        }
    }

    /// What the transmitter is sending ends now.
    fn cut(&mut self, now: Time) {
        self.counters.busy = self.counters.busy.saturating_sub(self.pause.sent_until.since(now));
        self.pause.sent_until = self.pause.sent_until.min(now);
        if let Some(delay) = self.propagation.constant() {
            self.bursts.hasten(now + delay);
        }
    }

    /// What is under way to the users finds nobody.
    fn miss(&mut self) {
        let answers = self.harq.answers();
        for (arrival, flight) in self.bursts.iter_mut().filter(|(_, flight)| !flight.missed) {
            (flight.missed, flight.snr) = (true, ERASED);
            if answers {
                let due = arrival + self.feedback_delay.unwrap_or_else(|| self.propagation.delay(arrival));
                self.feedback.push(due, flight.burst.coded.answered(Answer::Lost));
            }
        }
    }

    /// All that the old satellite had is gone.
    fn lose(&mut self, now: Time) {
        let mut waiting = Vec::new();
        self.scheduler.drain(now, &mut waiting);
        self.collect_dropped(); // what had waited too long before
        self.queued -= waiting.len();
        debug_assert_eq!(self.queued, 0, "what waits was drained");
        let in_flight: Vec<Burst> = self.bursts.take().map(|flight| flight.burst).collect();
        self.feedback.take().for_each(drop);
        let mut undecided = Vec::new();
        self.harq.reset(&in_flight, &mut undecided);
        debug_assert_eq!(self.harq.undecided(), 0, "what was begun and not decoded was given up");
        self.repeats = false;
        undecided.sort_unstable_by_key(|&(packet, sequence)| (packet.flow, sequence));
        let begun = undecided.into_iter().map(|(packet, _)| packet);
        let dropped = |packet: PacketRef| Output::Dropped(packet, DropReason::Handover);
        self.outputs.extend(begun.chain(waiting).map(dropped));
        self.reordering.begin_at(now, &self.numbering, &mut self.outputs);
        self.estimates.forget(self.pause.until);
    }

    /// Sends when the pause is over, which may be now.
    fn go_on(&mut self, now: Time) {
        let Pause { sent_until, until, halted } = self.pause;
        self.free_at = if halted { Time::MAX } else { until.max(sent_until).max(now) };
        self.transmit(now);
        self.next = self.next_event();
    }
}
