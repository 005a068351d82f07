//! Handovers, and times without a serving satellite.
//!
//! The scenario decides the effect of a handover on packets and bursts ([`Transfer`]); in all cases the transmitter
//! pauses until the new satellite serves. The terminal keeps its state: its reordering buffer, and its decoder's state
//! of packets that the sender still knows.
//!
//! Where the field leaves a choice:
//! * A burst that no terminal receives counts as received and erased when it would have arrived: it was one of its
//!   packet's transmissions, and its bits were sent. The sender is not told; it notices when the feedback would have
//!   arrived.
//! * The estimates of the channels, the averages of what users were served and the state of the queues' managers are
//!   transferred with the waiting packets; where these are lost the new satellite begins without state.
//! * A second handover during an interruption does not shorten it.

use channel::ERASED;
use units::Time;

use super::LastHop;
use super::pause::{Pause, Transfer};
use crate::harq::{Answer, Burst};
use crate::packet::{DropReason, Output, PacketRef};

impl LastHop {
    /// Another satellite serves the users from now on, and sends from `resume` on, which is now or later. Forwarding
    /// may postpone that.
    ///
    /// Events that are due now happen at the old satellite, but it begins no burst. The burst that it is sending is
    /// completed if nothing is lost; else it is cut off, and counts as sent in full. Take [`LastHop::poll_output`] and
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

    /// No satellite serves the users from now on: nothing is sent, packets wait, and bursts in flight are not received.
    /// Packets may arrive, and queues drop packets as usual.
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

    /// The satellite that served before [`LastHop::halt`] serves again; no effect without a halt. An interruption by a
    /// handover continues to its end. After a halt [`LastHop::hand_over`] resumes as well.
    pub fn resume(&mut self, now: Time) {
        if !self.pause.halted {
            return self.work_until(now);
        }
        self.arrive_until(now);
        self.pause.halted = false;
        self.pause.until = self.pause.until.max(now);
        self.go_on(now);
    }

    /// The end of the burst that the transmitter is sending; in the past if it is idle.
    pub fn sending_until(&self) -> Time {
        // Once it sends again, it is free after the end of the pause.
        if self.free_at > self.pause.until && !self.pause.halted { self.free_at } else { self.pause.sent_until }
    }

    /// Pauses the transmitter; the time of the pause does not count as a stall of the reliability scheme.
    fn rest(&mut self, now: Time) {
        self.pause.sent_until = self.sending_until();
        if self.stalled_since < Time::MAX {
            self.counters.stalled += now.since(self.stalled_since);
            self.stalled_since = Time::MAX;
        }
    }

    /// Ends the burst that the transmitter is sending.
    fn cut(&mut self, now: Time) {
        self.counters.busy = self.counters.busy.saturating_sub(self.pause.sent_until.since(now));
        self.pause.sent_until = self.pause.sent_until.min(now);
        if let Some(delay) = self.propagation.constant() {
            self.bursts.hasten(now + delay);
        }
    }

    /// Bursts in flight to the users are not received.
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

    /// Loses the whole state of the old satellite.
    fn lose(&mut self, now: Time) {
        let mut waiting = Vec::new();
        self.scheduler.drain(now, &mut waiting);
        self.collect_dropped(); // packets whose time limit was over before
        self.queued -= waiting.len();
        debug_assert_eq!(self.queued, 0, "what waits was drained");
        let in_flight: Vec<Burst> = self.bursts.take().map(|flight| flight.burst).collect();
        self.feedback.take().for_each(drop);
        let mut undecided = Vec::new();
        self.harq.reset(&in_flight, &mut undecided);
        debug_assert_eq!(self.harq.undecided(), 0, "what was begun and not decoded was given up");
        self.repeats = false;
        self.decisions.clear();
        undecided.sort_unstable_by_key(|&(packet, sequence)| (packet.flow, sequence));
        let begun = undecided.into_iter().map(|(packet, _)| packet);
        let dropped = |packet: PacketRef| Output::Dropped(packet, DropReason::Handover);
        self.outputs.extend(begun.chain(waiting).map(dropped));
        if let Some(segmentation) = &mut self.segmentation {
            segmentation.give_up(DropReason::Handover, &mut self.outputs);
        }
        self.reordering.begin_at(now, &self.numbering, &mut self.outputs);
        self.estimates.forget(self.pause.until);
    }

    /// Sends from the end of the pause on, which may be now.
    fn go_on(&mut self, now: Time) {
        let Pause { sent_until, until, halted } = self.pause;
        self.free_at = if halted { Time::MAX } else { until.max(sent_until).max(now) };
        self.transmit(now);
        self.next = self.next_event();
    }
}
