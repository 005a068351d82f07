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

use channel::{CLEAR, ERASED};
use units::Time;

use super::fifo::{Fifo, Scheduled};
use super::transfer::Transfer;
use super::{Flight, LastHop};
use crate::harq::none::Uncoded;
use crate::harq::{Burst, Feedback};
use crate::packet::{DropReason, Output, PacketRef};

impl LastHop {
    /// Another satellite serves the users from now on, and sends from `resume` on, which is now or later. Forwarding
    /// may postpone that.
    ///
    /// Events that are due now happen at the old satellite, but it begins no burst. The burst that it is sending is
    /// completed with [`Transfer::Keep`]; else it is cut off: its coded bits count in full, its time until now. Take
    /// [`LastHop::poll_output`] and [`LastHop::poll_timeout`] afterwards.
    pub fn hand_over(&mut self, now: Time, resume: Time, transfer: Transfer) {
        debug_assert!(resume >= now, "service resumes at {resume:?}, before {now:?}");
        self.simulate_bursts(now);
        self.arrive_until(now);
        self.transmitter.rest(now);
        self.counters.handovers += 1;
        self.transmitter.serve(resume);
        match transfer {
            Transfer::Keep => {}
            Transfer::Forward { delay } => {
                self.cut(now);
                self.miss();
                self.feedback.put_off(delay);
                self.transmitter.serve(now + delay);
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
        if self.transmitter.halted {
            return self.work_until(now);
        }
        self.simulate_bursts(now);
        self.arrive_until(now);
        self.transmitter.rest(now);
        self.cut(now);
        self.miss();
        self.transmitter.halted = true;
        self.go_on(now);
    }

    /// The satellite that served before [`LastHop::halt`] serves again; no effect without a halt. An interruption by a
    /// handover continues to its end. After a halt [`LastHop::hand_over`] resumes as well.
    pub fn resume(&mut self, now: Time) {
        if !self.transmitter.halted {
            return self.work_until(now);
        }
        self.arrive_until(now);
        self.transmitter.serve(now);
        self.go_on(now);
    }

    /// Ends the burst that the transmitter is sending.
    fn cut(&mut self, now: Time) {
        self.transmitter.cut(now);
        if let Some(delay) = self.propagation.constant() {
            self.bursts.hasten(now + delay);
        }
    }

    /// Bursts in flight to the users are not received.
    fn miss(&mut self) {
        let sends_feedback = self.harq.sends_feedback();
        let LastHop { bursts, feedback, feedback_delay, propagation, .. } = self;
        bursts.for_each(|&mut arrival, flight| {
            if flight.missed {
                return;
            }
            (flight.missed, flight.snr) = (true, ERASED);
            if sends_feedback {
                let due = arrival + feedback_delay.unwrap_or_else(|| propagation.delay(arrival));
                feedback.push(due, flight.burst.coded.feedback(Feedback::Lost));
            }
        });
    }

    /// Loses the whole state of the old satellite.
    fn lose(&mut self, now: Time) {
        let waiting = self.queued.drain(now, &mut self.outputs);
        let in_flight: Vec<Burst> = self.bursts.take().iter().map(|flight| flight.burst).collect();
        self.feedback.take();
        let mut undecided = Vec::new();
        self.harq.reset(&in_flight, &mut undecided);
        debug_assert_eq!(self.harq.undecided(), 0, "what was started and not decoded was given up");
        self.repeats = false;
        self.decisions.clear();
        undecided.sort_unstable_by_key(|&(packet, sequence)| (packet.flow, sequence));
        let started = undecided.into_iter().map(|(packet, _)| packet);
        let dropped = |packet: PacketRef| Output::Dropped(packet, DropReason::Handover);
        self.outputs.extend(started.chain(waiting).map(dropped));
        if let Some(segmentation) = &mut self.segmentation {
            segmentation.give_up(DropReason::Handover, &mut self.outputs);
        }
        self.reordering.begin_at(now, self.numbering.next(), &mut self.outputs);
        self.estimates.forget(self.transmitter.serves_from);
    }

    /// Sends from the end of the pause on, which may be now.
    fn go_on(&mut self, now: Time) {
        self.transmitter.go_on(now);
        self.transmit(now);
        self.next = self.next_event();
    }

    /// From now on each burst is simulated. Those that begin at `now` have not started.
    #[cold]
    pub(super) fn simulate_bursts(&mut self, now: Time) {
        let Some(mut fifo) = self.fifo.take() else { return };
        fifo.begin_bursts(|start| start < now);
        fifo.take_back(&mut self.transmitter);
        let (uncounted, arrived) = self.counters.uncounted(fifo.started);
        self.harq.count_clear(uncounted, arrived);
        let Fifo { delay, packets, started, .. } = fifo;
        for (index, Scheduled { end, packet }) in packets.iter().enumerate() {
            if index < started {
                let sequence = self.numbering.number(packet.flow);
                let burst = Burst { coded: Uncoded::coded(&packet), sequence, packet };
                self.bursts.append(end + delay, Flight { snr: CLEAR, burst, missed: false });
            } else {
                self.queued.enqueue(now, packet).expect("a packet that waited fits in the queue");
            }
        }
        self.looks_at = if self.queued.packets() > 0 { self.transmitter.free_at } else { Time::MAX };
        self.next = self.next_event();
    }
}
