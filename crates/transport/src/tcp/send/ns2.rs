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

use std::ops::Range;

use units::{Duration, Time};

use super::episode::Rexmit;
use super::news::Before;
use super::ns2_told::Ns2;
use super::slot::{LOST, RESENT, SACKED};
use super::{Ack, Sender, echo_age};
use crate::congestion::{AckSample, Cause};
use crate::state::CongestionState;
use crate::tcp::config::{Dupthresh, RtoRestart};
use crate::tcp::info::Counters;

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
        if told.acked == 0 || told.sacked || self.cwnd.state() != CongestionState::Open {
            self.follow_as_ns2(now, told.lost);
        }
        self.begin_burst();
    }

    /// The retransmission timer expired.
    pub(super) fn expire_as_ns2(&mut self, now: Time) {
        self.cwnd.tell_congestion(now, Cause::Timeout, &self.board, &self.rtt);
        for number in self.board.numbers() {
            self.lose(now, number);
        }
        self.board.restart();
        self.cwnd.collapse(now, 1);
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
            ns2.copies.send(number);
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
                && let Some(copy) = ns2.copies.remove(number)
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
    /// others may be lost. Of the slots it looks at those only of which that may be new.
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
        if !told.thorough && last == 0 {
            self.ns2 = Some(ns2);
            return;
        }
        ns2.arrived.forget_before(self.board.front_number());
        let mut arrived = Vec::new();
        for range in covered {
            arrived.extend(ns2.arrived.missing(range.clone()));
            ns2.arrived.insert(range);
        }
        // Each retransmission that a block answers: from its slot on, and for what was sent again before it.
        let mut answers = vec![(0, ns2.answered)];
        for &number in &arrived {
            let copy = ns2.copies.remove(number).unwrap_or(0);
            if self.board.get(number).is_on_its_way_again() {
                answers.push((number, copy));
            }
        }
        told.thorough |= answers.len() > 1;
        let end = if told.thorough { ns2.forward } else { (last + 1).min(ns2.forward) * u64::from(last > 0) };
        let mut lost = self.overtaken_copies(&ns2, distance, &answers, end);
        lost.extend(self.newly_overtaken(&ns2, distance, end));
        lost.sort_unstable();
        if told.thorough {
            ns2.judged = ns2.forward.saturating_sub(u64::from(distance));
        }
        ns2.answered = answers.last().map_or(0, |answer| answer.1);
        told.sacked |= !arrived.is_empty();
        told.lost |= !lost.is_empty();
        let mut lost = lost.into_iter().peekable();
        for number in arrived {
            while let Some(number) = lost.next_if(|&lost| lost < number) {
                ns2.copies.remove(number);
                self.lose(now, number);
            }
            let slot = *self.board.get(number);
            self.note_delivered(now, number, &slot, true);
            self.board.mark_sacked(number);
            self.totals.delivered += 1;
        }
        for number in lost {
            ns2.copies.remove(number);
            self.lose(now, number);
        }
        self.ns2 = Some(ns2);
    }

    /// Retransmissions before `end` that are lost: something sent for the first time after one has arrived, or one so
    /// many later is answered. `answers` has what is answered from which slot on.
    fn overtaken_copies(&self, ns2: &Ns2, distance: u32, answers: &[(u64, u64)], end: u64) -> Vec<u64> {
        let best = answers.iter().map(|answer| answer.1).max().unwrap_or(0);
        let mut lost = Vec::new();
        for (copy, number) in ns2.copies.iter() {
            let slot = self.board.get(number);
            if !slot.is_on_its_way_again() {
                continue;
            }
            let overtaken = (ns2.forward as u32).wrapping_sub(slot.then) as i32 > 0;
            if !overtaken && copy + u64::from(distance) >= best {
                break; // as are all that were sent again later
            }
            let at = answers.partition_point(|answer| answer.0 <= number);
            if number < end && (overtaken || copy + u64::from(distance) < answers[at - 1].1) {
                lost.push(number);
            }
        }
        lost
    }

    /// Slots before `end` that were sent once, are not taken for lost, and have one so many beyond them that arrived.
    fn newly_overtaken(&self, ns2: &Ns2, distance: u32, end: u64) -> impl Iterator<Item = u64> {
        let front = self.board.front_number();
        let range: Range<u64> = if self.settings.transmit_fin && self.awaits_fin_and_last() {
            front..end
        } else {
            ns2.judged.max(front)..end.min(ns2.forward.saturating_sub(u64::from(distance)))
        };
        ns2.arrived.missing(range).filter(|&number| !self.board.get(number).is(LOST))
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
        let sample = AckSample {
            may_grow: told.acked > 0 && self.cwnd.state() != CongestionState::Recovery,
            window_limited: before.in_flight >= self.cwnd.window().size,
            ..self.sample(now, before, told.acked, told.rtt)
        };
        if sample.has_news() {
            self.cwnd.control.acknowledge(&sample);
        }
    }

    /// A recovery ends when all is acknowledged that had been sent when it began, and begins with a loss.
    fn follow_as_ns2(&mut self, now: Time, lost: bool) {
        if self.cwnd.state() != CongestionState::Open && self.board.una() >= self.recovery.high_seq {
            self.forget_blocks();
            self.cwnd.rise_to_threshold(now, self.board.in_flight() + MOST_BURST);
        } else if lost && self.cwnd.state() != CongestionState::Recovery {
            self.recovery.count += 1;
            self.recovery.high_seq = self.board.nxt();
            let ceiling = self.cwnd.window().size;
            self.cwnd.fall_to_floor(now, &self.board, &self.rtt);
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
