//! Reductions of the window: their beginning, their course, their end, and how they are taken back.

use units::Time;

use super::Sender;
use super::episode::Forced;
use super::news::News;
use super::prr::{Prr, Step};
use crate::congestion::{Cause, Congestion, Event, Window};
use crate::state::CongestionState;

impl Sender {
    /// Fast recovery begins, asked for by a mark too if `ece`.
    pub(super) fn enter_recovery(&mut self, now: Time, ece: bool) {
        self.recovery.count += 1;
        if !self.any_resent() {
            self.undo.forget_stamp();
        }
        self.undo.forbid();
        self.mark_undo();
        if !self.recovery.in_reduction() {
            if !ece {
                self.undo.allow(self.threshold_now());
            }
            self.begin_reduction(now, if ece { Cause::Mark } else { Cause::Loss });
        }
        self.recovery.state = CongestionState::Recovery;
        self.recovery.rescued = false;
        self.board.restart();
        if !self.settings.prr && !self.control.drives() {
            self.recovery.forced = Forced::FirstLost; // the fast retransmission goes whatever the window says
        }
    }

    /// A mark was echoed: a reduction without loss (RFC 3168 section 6.1.2).
    pub(super) fn enter_cwr(&mut self, now: Time) {
        self.undo.forbid();
        if matches!(self.recovery.state, CongestionState::Open | CongestionState::Disorder) {
            self.undo.unmark();
            self.begin_reduction(now, Cause::Mark);
            self.recovery.state = CongestionState::Cwr;
        }
    }

    /// A tail loss probe repaired a loss: a whole reduction at once (RFC 8985 section 7.4.2).
    pub(super) fn reduce_for_probe(&mut self, now: Time) {
        self.begin_reduction(now, Cause::Loss);
        self.recovery.state = CongestionState::Cwr;
        self.end_reduction(now);
        self.keep_open();
    }

    fn begin_reduction(&mut self, now: Time, cause: Cause) {
        self.recovery.high_seq = self.board.nxt();
        self.tail.high = None;
        self.control.window_mut().restart_count();
        self.undo.begin(self.control.window().size);
        self.prr = Prr::default();
        let congestion = self.congestion(now, cause);
        self.control.tell(now, &Event::Congestion(congestion));
        if !self.settings.prr && !self.control.drives() {
            let window = self.control.window_mut();
            window.size = window.size.min(window.threshold);
        }
        self.ecn.cwr_due |= self.ecn.on;
    }

    /// The reduction of a time-out.
    pub(super) fn begin_timeout(&mut self, now: Time) {
        self.undo.allow(self.threshold_now());
        self.undo.begin(self.control.window().size);
        let congestion = self.congestion(now, Cause::Timeout);
        self.control.tell(now, &Event::Congestion(congestion));
        self.mark_undo();
    }

    /// The window after a time-out: what is in flight, which is nothing where all is taken for lost, and one more.
    pub(super) fn collapse(&mut self, now: Time) {
        let left = self.board.in_flight() + 1;
        self.control.window_mut().collapse(left);
        self.usage.restart(now);
        self.control.tell(now, &Event::TimedOut);
    }

    pub(super) fn congestion(&self, now: Time, cause: Cause) -> Congestion {
        // RFC 5681 equation (4) reduces from FlightSize: what limited transmit sent beyond the window does not count.
        let from = if self.settings.reduce_in_flight {
            self.board.out().min(self.control.window().size.max(if self.recovery.in_reduction() {
                self.undo.window()
            } else {
                0
            }))
        } else {
            self.control.window().size
        };
        Congestion {
            now,
            cause,
            from,
            in_flight: self.board.in_flight(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            mss: self.agreed.mss as u32,
        }
    }

    /// What an acknowledgment does to the window in a reduction.
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || !self.settings.prr {
            return;
        }
        let step = Step { delivered, lost, advanced, in_flight: self.board.in_flight() };
        let window = self.control.window_mut();
        window.size = self.prr.window(step, self.undo.window(), window.threshold);
    }

    /// The end of a reduction: the window is at the threshold.
    pub(super) fn end_reduction(&mut self, now: Time) {
        if self.control.drives() {
            return;
        }
        let done = self.recovery.state == CongestionState::Cwr || self.undo.marker().is_some();
        if done && self.control.window().threshold < Window::NO_THRESHOLD {
            let window = self.control.window_mut();
            window.size = window.threshold;
            self.usage.restart(now);
        }
        self.control.tell(now, &Event::Recovered);
    }

    /// From here on the reduction can be undone.
    fn mark_undo(&mut self) {
        let resent = self.board.counts().resent + u32::from(self.tail.high.is_some() && self.tail.retransmission);
        self.undo.mark(self.board.una(), resent);
    }

    /// The threshold to return to: what the window has reached counts in.
    pub(super) fn threshold_now(&self) -> u32 {
        let size = self.control.window().size;
        if self.recovery.in_reduction() {
            self.control.window().threshold
        } else {
            self.control.window().threshold.max((size >> 1) + (size >> 2))
        }
    }

    /// Everything up to where the recovery began is acknowledged. True to hold the state until more is: without SACK
    /// late duplicates must not begin another one (RFC 6582 section 3.2 step 1).
    pub(super) fn try_undo_recovery(&mut self, now: Time, news: &News) -> bool {
        if self.may_undo(news.echo) {
            self.undo(now, false);
        } else {
            self.rack.on_recovered();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.recovery.state = CongestionState::Open;
        false
    }

    /// After a time-out that may have been spurious, as F-RTO found out if `frto`. Whether it was undone.
    pub(super) fn try_undo_loss(&mut self, now: Time, news: &News, frto: bool) -> bool {
        if !frto && !self.may_undo(news.echo) {
            return false;
        }
        self.undo(now, true);
        self.timer.timeouts = 0;
        if !self.holds_without_sack() && (frto || self.agreed.sack) {
            self.recovery.state = CongestionState::Open;
        }
        true
    }

    /// Every retransmission was reported as a duplicate (RFC 3708). Whether the reduction was undone.
    pub(super) fn try_undo_by_duplicates(&mut self, now: Time) -> bool {
        let all = self.undo.all_were_duplicates();
        if all {
            self.rack.on_undone();
            self.undo(now, false);
        }
        all
    }

    fn may_undo(&self, echo: u32) -> bool {
        self.undo.marker().is_some() && (self.undo.all_were_duplicates() || self.is_delayed(echo))
    }

    fn holds_without_sack(&mut self) -> bool {
        if self.agreed.sack || self.board.una() != self.recovery.high_seq {
            return false;
        }
        if !self.any_resent() {
            self.undo.forget_stamp();
        }
        true
    }

    /// Takes the reduction back, and the losses with it if `losses`.
    pub(super) fn undo(&mut self, now: Time, losses: bool) {
        if losses {
            self.board.unmark_lost();
        }
        if let Some(threshold) = self.undo.threshold() {
            let drives = self.control.drives();
            let window = self.control.window_mut();
            if !drives {
                window.size = window.size.max(self.undo.window()).max(1);
            }
            if threshold > window.threshold {
                window.threshold = threshold;
                self.ecn.cwr_due = false;
            }
        }
        self.usage.restart(now);
        self.undo.end();
        self.rack.look_again();
        self.control.tell(now, &Event::Undone);
    }

    /// New data went out, or could not since the window is full (`limited`).
    #[inline(always)]
    pub(super) fn validate_window(&mut self, now: Time, limited: bool) {
        if limited {
            return self.usage.fill(now, &self.board);
        }
        let unused_since = self.usage.follow(now, &self.board, self.control.window());
        if let Some(since) = unused_since
            && self.settings.cwnd_validation
            && !self.control.drives()
            && now.since(since) >= self.rtt.rto()
        {
            self.shrink_unused(now);
        }
    }

    fn shrink_unused(&mut self, now: Time) {
        if self.recovery.state == CongestionState::Open
            && let Some(size) = self.usage.shrunk(self.window(), self.initial_window())
        {
            let threshold = self.threshold_now();
            let window = self.control.window_mut();
            (window.size, window.threshold) = (size, threshold);
        }
        self.usage.restart(now);
    }
}
