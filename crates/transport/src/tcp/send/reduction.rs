//! Reductions of the window: their beginning, their end, and how they are taken back.

use units::Time;

use super::Sender;
use super::episode::Forced;
use super::news::News;

impl Sender {
    /// Fast recovery begins, asked for by a mark too if `ece`.
    pub(super) fn enter_recovery(&mut self, now: Time, ece: bool) {
        self.recovery.count += 1;
        if !self.any_resent() {
            self.undo.forget_stamp();
        }
        self.mark_undo();
        if self.cwnd.enter_recovery(now, ece, &self.board, &self.rtt) {
            self.on_reduction();
        }
        self.recovery.rescued = false;
        self.board.restart();
        if !self.settings.prr && !self.cwnd.control.drives() {
            self.recovery.forced = Forced::FirstLost; // the fast retransmission goes whatever the window says
        }
    }

    /// A mark was echoed: a reduction without loss.
    pub(super) fn enter_cwr(&mut self, now: Time) {
        if self.cwnd.enter_cwr(now, &self.board, &self.rtt) {
            self.undo.unmark();
            self.on_reduction();
        }
    }

    /// A tail loss probe repaired a loss: a whole reduction at once (RFC 8985 section 7.4.2).
    pub(super) fn reduce_for_probe(&mut self, now: Time) {
        self.cwnd.reduce_at_once(now, &self.board, &self.rtt);
        self.on_reduction();
        self.keep_open();
    }

    /// A reduction began: losses of what was sent before cause no other.
    fn on_reduction(&mut self) {
        self.recovery.high_seq = self.board.nxt();
        self.tail.high = None;
    }

    /// From here on the reduction can be undone.
    pub(super) fn mark_undo(&mut self) {
        let resent = self.board.counts().resent + u32::from(self.tail.high.is_some() && self.tail.retransmission);
        self.undo.mark(self.board.una(), resent);
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
        self.cwnd.open(false);
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
            self.cwnd.open(false);
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
        self.cwnd.undo(now);
        self.undo.end();
        self.rack.look_again();
    }
}
