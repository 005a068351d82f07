//! Reductions of the window: their beginning, their course, their end, and how they are taken back.

use units::Time;

use super::ack::News;
use super::{Forced, Prr, Sender, Undo};
use crate::congestion::{Cause, Congestion, Event, Window};
use crate::state::CongestionState;

impl Sender {
    /// Whether a reduction is under way, so that the controller does not open the window.
    #[inline]
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.state, CongestionState::Recovery | CongestionState::Cwr)
    }

    /// Fast recovery begins, asked for by a mark too if `ece`.
    pub(super) fn enter_recovery(&mut self, now: Time, ece: bool) {
        self.fast_recoveries += 1;
        if !self.any_resent() {
            self.undo.stamp = 0;
        }
        self.undo.threshold = None;
        self.mark_undo();
        if !self.in_reduction() {
            if !ece {
                self.undo.threshold = Some(self.threshold_now());
            }
            self.begin_reduction(now, if ece { Cause::Mark } else { Cause::Loss });
        }
        self.state = CongestionState::Recovery;
        self.rescued = false;
        self.board.restart();
        if !self.settings.prr && !self.needs.drives {
            self.forced = Forced::FirstLost; // the fast retransmission goes whatever the window says
        }
    }

    /// A mark was echoed: a reduction without loss (RFC 3168 section 6.1.2).
    pub(super) fn enter_cwr(&mut self, now: Time) {
        self.undo.threshold = None;
        if matches!(self.state, CongestionState::Open | CongestionState::Disorder) {
            self.undo.marker = None;
            self.begin_reduction(now, Cause::Mark);
            self.state = CongestionState::Cwr;
        }
    }

    /// A tail loss probe repaired a loss: a whole reduction at once (RFC 8985 section 7.4.2).
    pub(super) fn reduce_for_probe(&mut self, now: Time) {
        self.begin_reduction(now, Cause::Loss);
        self.state = CongestionState::Cwr;
        self.end_reduction(now);
        self.keep_open();
    }

    fn begin_reduction(&mut self, now: Time, cause: Cause) {
        self.high_seq = self.board.nxt();
        self.tlp.high = None;
        self.controller.window_mut().restart_count();
        self.undo.window = self.cwnd().size;
        self.prr = Prr::default();
        let congestion = self.congestion(now, cause);
        self.tell(now, &Event::Congestion(congestion));
        if !self.settings.prr && !self.needs.drives {
            let window = self.controller.window_mut();
            window.size = window.size.min(window.threshold);
        }
        self.ecn.cwr_due |= self.ecn.on;
    }

    /// The reduction of a time-out.
    pub(super) fn begin_timeout(&mut self, now: Time) {
        self.undo.threshold = Some(self.threshold_now());
        self.undo.window = self.cwnd().size;
        let congestion = self.congestion(now, Cause::Timeout);
        self.tell(now, &Event::Congestion(congestion));
        self.mark_undo();
    }

    /// The window after a time-out: what is on its way, which is nothing where all is taken for lost, and one more.
    pub(super) fn collapse(&mut self, now: Time) {
        let left = self.board.in_flight() + 1;
        self.controller.window_mut().collapse(left);
        self.usage.full_at = now;
        self.tell(now, &Event::TimedOut);
    }

    fn congestion(&self, now: Time, cause: Cause) -> Congestion {
        // RFC 5681 equation (4) reduces from FlightSize: what limited transmit sent beyond the window does not count.
        let from = if self.settings.reduce_in_flight {
            self.board.out().min(self.cwnd().size.max(if self.in_reduction() { self.undo.window } else { 0 }))
        } else {
            self.cwnd().size
        };
        Congestion {
            now,
            cause,
            from,
            in_flight: self.board.in_flight(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            mss: self.mss as u32,
        }
    }

    /// Proportional rate reduction (RFC 6937, with the refinement of RFC 9937): `delivered` and `lost` segments by this
    /// acknowledgment, which `advanced` SND.UNA or not.
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || !self.settings.prr {
            return;
        }
        self.prr.delivered += delivered;
        let in_flight = self.board.in_flight();
        let (threshold, out) = (self.cwnd().threshold, i64::from(self.prr.out));
        let send = if in_flight > threshold {
            let share = u64::from(threshold) * u64::from(self.prr.delivered);
            share.div_ceil(u64::from(self.undo.window.max(1))) as i64 - out
        } else {
            let mut send = (i64::from(self.prr.delivered) - out).max(i64::from(delivered));
            send += i64::from(advanced && lost == 0);
            send.min(i64::from(threshold - in_flight))
        };
        // The fast retransmission goes in any case.
        let least = i64::from(self.prr.out == 0);
        self.controller.window_mut().size = ((i64::from(in_flight) + send.max(least)) as u32).max(1);
    }

    /// The end of a reduction: the window is at the threshold.
    pub(super) fn end_reduction(&mut self, now: Time) {
        if self.needs.drives {
            return;
        }
        let done = self.state == CongestionState::Cwr || self.undo.marker.is_some();
        if done && self.cwnd().threshold < Window::NO_THRESHOLD {
            let window = self.controller.window_mut();
            window.size = window.threshold;
            self.usage.full_at = now;
        }
        self.tell(now, &Event::Recovered);
    }

    /// From here on the reduction can be undone.
    fn mark_undo(&mut self) {
        let resent = self.board.counts().resent + u32::from(self.tlp.high.is_some() && self.tlp.retransmission);
        self.undo.marker = Some(self.board.una());
        self.undo.retransmissions = (resent > 0).then_some(resent);
    }

    /// The threshold to return to: what the window has reached counts in.
    pub(super) fn threshold_now(&self) -> u32 {
        let size = self.cwnd().size;
        if self.in_reduction() { self.cwnd().threshold } else { self.cwnd().threshold.max((size >> 1) + (size >> 2)) }
    }

    /// Everything up to where the recovery began is acknowledged. True to hold the state until more is: without SACK late duplicates
    /// must not begin another one (RFC 6582 section 3.2 step 1).
    pub(super) fn try_undo_recovery(&mut self, now: Time, news: &News) -> bool {
        if self.may_undo(news.echo) {
            self.undo(now, false);
        } else {
            self.rack.on_recovered();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.state = CongestionState::Open;
        false
    }

    /// After a time-out that may have been spurious, as F-RTO found out if `frto`. Whether it was undone.
    pub(super) fn try_undo_loss(&mut self, now: Time, news: &News, frto: bool) -> bool {
        if !frto && !self.may_undo(news.echo) {
            return false;
        }
        self.undo(now, true);
        self.timeouts = 0;
        if !self.holds_without_sack() && (frto || self.sack) {
            self.state = CongestionState::Open;
        }
        true
    }

    /// Every retransmission was reported as a duplicate (RFC 3708). Whether the reduction was undone.
    pub(super) fn try_undo_by_duplicates(&mut self, now: Time) -> bool {
        let all = self.undo.marker.is_some() && self.undo.retransmissions == Some(0);
        if all {
            self.rack.on_undone();
            self.undo(now, false);
        }
        all
    }

    fn may_undo(&self, echo: u32) -> bool {
        self.undo.marker.is_some() && (self.undo.retransmissions == Some(0) || self.is_delayed(echo))
    }

    fn holds_without_sack(&mut self) -> bool {
        if self.sack || self.board.una() != self.high_seq {
            return false;
        }
        if !self.any_resent() {
            self.undo.stamp = 0;
        }
        true
    }

    /// Takes the reduction back, and the losses with it if `losses`.
    pub(super) fn undo(&mut self, now: Time, losses: bool) {
        if losses {
            self.board.unmark_lost();
        }
        if let Some(threshold) = self.undo.threshold {
            let window = self.controller.window_mut();
            if !self.needs.drives {
                window.size = window.size.max(self.undo.window).max(1);
            }
            if threshold > window.threshold {
                window.threshold = threshold;
                self.ecn.cwr_due = false;
            }
        }
        self.usage.full_at = now;
        self.undo = Undo {
            stamp: self.undo.stamp,
            window: self.undo.window,
            threshold: self.undo.threshold,
            ..Undo::default()
        };
        self.rack.look_again();
        self.tell(now, &Event::Undone);
    }

    /// Whether the window, not the application or the peer, holds back data: in slow start it may be twice what is used.
    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        self.usage.limited || self.cwnd().in_slow_start() && self.cwnd().size < self.usage.most_out.saturating_mul(2)
    }

    /// New data went out, or could not. Whether the window is full is told by the strongest sign in each round trip.
    pub(super) fn validate_window(&mut self, now: Time, limited: bool) {
        let out = self.board.out();
        let round_over = self.board.una() >= self.usage.until;
        if round_over || limited || !self.usage.limited && out > self.usage.most_out {
            self.usage.limited = limited;
            self.usage.most_out = out;
            self.usage.until = self.board.nxt();
        }
        if self.is_window_limited() {
            (self.usage.used, self.usage.full_at) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if self.settings.cwnd_validation && !self.needs.drives && now.since(self.usage.full_at) >= self.rtt.rto() {
            self.shrink_unused(now);
        }
    }

    /// RFC 7661, as Linux has it: half way to what is used.
    fn shrink_unused(&mut self, now: Time) {
        if self.state == CongestionState::Open {
            let used = self.usage.used.max(self.initial_window);
            if used < self.cwnd().size {
                let threshold = self.threshold_now();
                let window = self.controller.window_mut();
                (window.size, window.threshold) = ((window.size + used) / 2, threshold);
            }
            self.usage.used = 0;
        }
        self.usage.full_at = now;
    }
}
