//! Loss recovery of ns-2.35's TCP-Linux, in our words: what the profile `ns2-linux` has beside its options.
//!
//! Blocks tell how far data have arrived. A segment is lost when one `dupthresh` beyond it has arrived, a
//! retransmission when something sent for the first time after it has, or when of the retransmissions one so many
//! later is answered. Nothing is kept beyond a recovery: what blocks had told is forgotten, and told again by the
//! acknowledgments that follow, three blocks at a time; what these do not repeat may be taken for lost though it has
//! arrived. In a recovery the window is at its floor at once, and a ceiling that falls by one for each segment sent
//! halves the rate. A retransmission that is lost after a time-out begins another recovery. An acknowledgment that
//! was overtaken is not looked at.
//!
//! Reno's and CUBIC's windows are as in Linux 2.6.22 ([`crate::congestion::Window::open`], CUBIC 2.1).

use std::collections::BTreeMap;

use units::{Duration, Time};

use super::ack::{Before, echo_age};
use super::recovery::Rexmit;
use super::slot::{LOST, RESENT, SACKED};
use super::{Ack, Sender};
use crate::congestion::{AckSample, Cause, Event};
use crate::state::CongestionState;
use crate::tcp::config::{Dupthresh, RtoRestart};
use crate::tcp::info::Counters;

/// What recovery remembers.
#[derive(Debug, Default)]
pub(super) struct Ns2 {
    /// In a reduction: what may be on its way whatever the window says.
    ceiling: u32,
    /// Number after the highest slot that a block told of since the last recovery.
    forward: u64,
    /// Of the slots on their way again: which retransmission it was.
    copies: BTreeMap<u64, u64>,
    /// Retransmissions sent, and the number after the last one that was answered.
    sent: u64,
    answered: u64,
    /// The segment that is timed: the offset after it, and when it was sent.
    timed: Option<(u64, Time)>,
}

/// What an acknowledgment newly says.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    acked: u32,
    sacked: bool,
    lost: bool,
    /// All that was sent is to be looked at again, not only what lies below a block.
    thorough: bool,
    /// The round-trip time of the newest segment, if it was sent once only.
    rtt: Option<Duration>,
}

/// The burst that the end of a recovery may send.
const MOST_BURST: u32 = 3;

impl Ns2 {
    #[inline]
    pub fn ceiling(&self) -> u32 {
        self.ceiling
    }

    fn forget(&mut self) {
        (self.forward, self.answered, self.ceiling) = (0, 0, 0);
        self.copies.clear();
    }
}

impl Sender {
    /// An acknowledgment, of nothing beyond SND.NXT.
    pub(super) fn handle_as_ns2(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        let una = self.board.una();
        if ack.ack < una {
            return;
        }
        self.timer.window_probes = 0;
        if ack.ack == una && self.is_quiet() {
            self.update_window(now, ack);
            return;
        }
        let before = self.before();
        self.update_window(now, ack);
        self.board.move_una(ack.ack);
        let mut told = self.clean(now, counters);
        self.read_blocks_as_ns2(now, ack, &mut told);
        self.measure_as_ns2(now, ack, counters);
        if told.acked > 0 {
            self.timer.timeouts = 0;
        }
        if told.acked > 0 || self.settings.rto_restart == RtoRestart::EveryAck {
            self.rearm_rto(now);
        }
        self.control_as_ns2(now, &before, &told);
        if told.acked == 0 || told.sacked || self.recovery.state != CongestionState::Open {
            self.follow_as_ns2(now, told.lost);
        }
        self.begin_burst();
    }

    /// The retransmission timer expired.
    pub(super) fn expire_as_ns2(&mut self, now: Time) {
        let congestion = self.congestion(now, Cause::Timeout);
        self.control.tell(now, &Event::Congestion(congestion));
        for number in self.board.numbers() {
            self.lose(now, number);
        }
        self.board.restart();
        self.control.window_mut().collapse(1);
        self.usage.restart(now);
        self.control.tell(now, &Event::TimedOut);
        self.recovery.state = CongestionState::Loss;
        self.recovery.high_seq = self.board.nxt();
        self.recovery.rexmit = Rexmit::Lost;
        self.timer.timeouts += 1;
        if let Some(ns2) = &mut self.ns2 {
            ns2.copies.clear();
            (ns2.answered, ns2.ceiling, ns2.timed) = (0, 0, None);
        }
        self.rtt.back_off();
        self.start_rto(now);
    }

    /// New data up to `end` went out.
    #[inline]
    pub(super) fn note_sent_as_ns2(&mut self, now: Time, end: Option<u64>) {
        let in_flight = self.board.in_flight();
        if let Some(ns2) = &mut self.ns2 {
            ns2.ceiling = ns2.ceiling.min(in_flight.saturating_sub(1).max(1));
            if let Some(end) = end {
                ns2.timed.get_or_insert((end, now));
            }
        }
    }

    /// Slot `number` went out again.
    #[inline]
    pub(super) fn note_resent_as_ns2(&mut self, now: Time, number: u64) {
        if let Some(ns2) = &mut self.ns2 {
            ns2.sent += 1;
            ns2.copies.insert(number, ns2.sent);
        }
        self.note_sent_as_ns2(now, None);
    }

    /// A ceiling leaves room for one segment at most.
    fn begin_burst(&mut self) {
        let in_flight = self.board.in_flight();
        if let Some(ns2) = &mut self.ns2 {
            ns2.ceiling = ns2.ceiling.min(in_flight + 1);
        }
        self.recovery.rexmit = Rexmit::Lost;
    }

    /// Takes out what is acknowledged cumulatively.
    fn clean(&mut self, now: Time, counters: &mut Counters) -> Told {
        let mut told = Told::default();
        while let Some((number, slot)) = self.board.acknowledged() {
            told.acked += 1;
            counters.bytes_acked += u64::from(slot.len);
            told.rtt = (!slot.was_resent()).then(|| now.since(slot.sent_at));
            if !slot.is(SACKED) {
                self.totals.delivered += 1;
                self.note_delivered(now, number, &slot, true);
            }
            if let Some(ns2) = &mut self.ns2
                && let Some(copy) = ns2.copies.remove(&number)
                && slot.is(RESENT)
                && copy > ns2.answered
            {
                ns2.answered = copy;
                told.thorough = true;
            }
            self.board.pop_front(&slot);
        }
        told.thorough &= self.board.outstanding();
        told
    }

    /// Goes through the slots below the highest that has arrived, in order: those that a block covers have arrived,
    /// others may be lost.
    fn read_blocks_as_ns2(&mut self, now: Time, ack: &Ack, told: &mut Told) {
        let Dupthresh::Fixed(distance) = self.settings.dupthresh else { return };
        let Some(mut ns2) = self.ns2.take() else { return };
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let valid = ack.sack.as_slice().iter().filter(|block| block.0 >= una && block.1 <= nxt);
        let mut covered: Vec<_> = valid.map(|&(start, end)| self.board.within(start, end)).collect();
        covered.sort_unstable_by_key(|range| range.start);
        let last = covered.last().map_or(0, |range| range.end);
        if last > ns2.forward {
            ns2.forward = last;
            told.thorough = true;
        }
        let fin_tells = self.settings.transmit_fin && self.awaits_fin_and_last();
        let mut number = self.board.front_number();
        while number < ns2.forward && (told.thorough || number <= last && last > 0) {
            let slot = *self.board.get(number);
            let sent_again = slot.marks & (LOST | RESENT) == LOST | RESENT;
            let copy = if sent_again { ns2.copies.get(&number).copied().unwrap_or(0) } else { 0 };
            if slot.is(SACKED) {
                // Told before.
            } else if covered.iter().any(|range| range.contains(&number)) {
                if sent_again {
                    ns2.answered = copy;
                    told.thorough = true;
                }
                ns2.copies.remove(&number);
                self.note_delivered(now, number, &slot, true);
                self.board.mark_sacked(number);
                self.totals.delivered += 1;
                told.sacked = true;
            } else {
                let overtaken = (ns2.forward as u32).wrapping_sub(slot.then) as i32 > 0;
                let lost = if sent_again {
                    overtaken || copy + u64::from(distance) < ns2.answered
                } else {
                    !slot.is(LOST) && (number + u64::from(distance) < ns2.forward || fin_tells)
                };
                if lost {
                    self.lose(now, number);
                    told.lost = true;
                }
            }
            number += 1;
        }
        self.ns2 = Some(ns2);
    }

    /// With timestamps every acknowledgment tells a round-trip time, otherwise that of the segment that is timed. The
    /// latter alone ends the back-off.
    fn measure_as_ns2(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        let una = self.board.una();
        let Some(ns2) = &mut self.ns2 else { return };
        let timed = ns2.timed.take_if(|timed| timed.0 <= una).map(|timed| now.since(timed.1));
        if timed.is_some() {
            self.rtt.forget_backoff();
        }
        let echoed = if self.agreed.timestamps { echo_age(now, ack.echo.unwrap_or(0)) } else { None };
        let Some(rtt) = echoed.or(timed) else { return };
        self.rtt.note_min(now, rtt);
        self.rtt.measured(rtt, una, self.board.nxt());
        counters.rtt_samples += 1;
        counters.rtt_sum += rtt;
    }

    /// Tells the controller, which opens the window outside of a recovery.
    fn control_as_ns2(&mut self, now: Time, before: &Before, told: &Told) {
        let delivered = (self.totals.delivered - before.delivered) as u32;
        let lost = (self.board.lost_total() - before.lost) as u32;
        let rate = self.rate_sample(now, delivered);
        if delivered == 0 && told.acked == 0 && lost == 0 {
            return;
        }
        let sample = AckSample {
            now,
            acked: told.acked,
            delivered,
            lost,
            delivered_total: self.totals.delivered,
            lost_total: self.board.lost_total(),
            in_flight_before: before.in_flight,
            in_flight: self.board.in_flight(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            rtt: told.rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rate,
            may_grow: told.acked > 0 && self.recovery.state != CongestionState::Recovery,
            window_limited: before.in_flight >= self.control.window().size,
            state: self.recovery.state,
            ece: false,
            marked: 0,
            marked_bytes: 0,
            paced: self.is_paced(),
            mss: self.agreed.mss as u32,
        };
        self.control.acknowledge(&sample);
    }

    /// A recovery ends when all is acknowledged that had been sent when it began, and begins with a loss.
    fn follow_as_ns2(&mut self, now: Time, lost: bool) {
        if self.recovery.state != CongestionState::Open && self.board.una() >= self.recovery.high_seq {
            self.forget_blocks();
            let in_flight = self.board.in_flight();
            let window = self.control.window_mut();
            if window.size < window.threshold {
                window.size = window.threshold.min(in_flight + MOST_BURST);
            }
            self.recovery.state = CongestionState::Open;
            self.control.tell(now, &Event::Recovered);
        } else if lost && self.recovery.state != CongestionState::Recovery {
            self.recovery.count += 1;
            self.recovery.state = CongestionState::Recovery;
            self.recovery.high_seq = self.board.nxt();
            let ceiling = self.control.window().size;
            let congestion = self.congestion(now, Cause::Loss);
            self.control.tell(now, &Event::Congestion(congestion));
            let floor = self.control.floor();
            let window = self.control.window_mut();
            window.restart_count();
            window.size = floor.min(window.size).max(1);
            if let Some(ns2) = &mut self.ns2 {
                ns2.ceiling = ceiling;
            }
        }
    }

    fn forget_blocks(&mut self) {
        self.board.forget_sacked();
        self.board.unmark_lost();
        for number in self.board.numbers() {
            if self.board.get(number).is(RESENT) {
                self.board.forget_resent(number);
            }
        }
        if let Some(ns2) = &mut self.ns2 {
            ns2.forget();
        }
    }
}
