//! The states of loss recovery: when a reduction begins, when it ends, and when it is undone.

pub(super) mod episode;
pub(super) mod undo;

use units::Time;

use self::episode::{Forced, Rexmit};
use super::news::{Before, News};
use super::{Sender, is_before};
use crate::state::CongestionState;

impl Sender {
    /// Moves between the states after an acknowledgment that is not plain progress. `duplicates` are duplicate
    /// acknowledgments.
    pub(super) fn follow(&mut self, now: Time, before: &Before, duplicates: u32, news: &mut News) {
        self.recovery.rexmit = Rexmit::None;
        if news.ece {
            self.cwnd.forbid_undo(); // the reduction is asked for
        }
        match self.cwnd.state() {
            CongestionState::Open => self.undo.forget_stamp(),
            _ if self.board.una() < self.recovery.high_seq => {}
            CongestionState::Cwr if self.board.una() > self.recovery.high_seq => {
                self.cwnd.end_reduction(now, false);
            }
            CongestionState::Recovery => {
                self.reset_guessed();
                if self.try_undo_recovery(now, news) {
                    return;
                }
                self.cwnd.end_reduction(now, self.undo.marker().is_none());
            }
            _ => {}
        }
        match self.cwnd.state() {
            CongestionState::Recovery => {
                if !self.follow_in_recovery(now, before, duplicates, news) {
                    return;
                }
            }
            CongestionState::Loss => {
                self.follow_in_loss(now, duplicates, news);
                self.identify_losses(now, news);
                if self.cwnd.state() != CongestionState::Open && !news.retransmission_lost {
                    return;
                }
                if self.follow_calm(now, duplicates, news) {
                    self.recovery.rexmit = Rexmit::Lost;
                }
                return;
            }
            _ => {
                if !self.follow_calm(now, duplicates, news) {
                    return;
                }
            }
        }
        self.recovery.rexmit = Rexmit::Lost;
    }

    /// Follows an acknowledgment in fast recovery. Returns whether it lets anything be retransmitted.
    fn follow_in_recovery(&mut self, now: Time, before: &Before, duplicates: u32, news: &mut News) -> bool {
        if !news.advanced {
            self.guess_sacked(duplicates);
        } else if self.undo.marker().is_some() && self.is_delayed(news.echo) {
            // The hole was filled by a delayed original, not by the retransmission.
            self.note_reordering(before.una);
            if self.board.counts().retransmitted > 0 {
                return false;
            }
            if !self.any_retransmitted() {
                self.undo.forget_stamp();
            }
            self.undo(now, true);
            self.keep_open();
        }
        if self.try_undo_by_duplicates(now) {
            self.try_to_open(now, news);
        }
        self.identify_losses(now, news);
        if self.cwnd.state() != CongestionState::Recovery {
            if self.board.counts().lost == 0 {
                return false;
            }
            self.enter_recovery(now, news.ece);
        }
        true
    }

    /// Follows an acknowledgment in open, disorder or the reduction for a mark. Returns whether a recovery begins.
    fn follow_calm(&mut self, now: Time, duplicates: u32, news: &mut News) -> bool {
        if !self.agreed.sack {
            if news.advanced {
                self.reset_guessed();
            }
            self.guess_sacked(duplicates);
        }
        if self.cwnd.is_calm() {
            self.try_undo_by_duplicates(now);
        }
        self.identify_losses(now, news);
        if self.board.counts().lost == 0 {
            self.try_to_open(now, news);
            return false;
        }
        self.enter_recovery(now, news.ece);
        true
    }

    /// Follows an acknowledgment after a time-out: F-RTO (RFC 5682 section 3.1) and the retransmission of what is lost.
    fn follow_in_loss(&mut self, now: Time, duplicates: u32, news: &News) {
        let recovered = self.board.una() >= self.recovery.high_seq;
        if news.advanced && self.try_undo_loss(now, news, false) {
            return;
        }
        if self.recovery.frto {
            // Step 3b: data never retransmitted were acknowledged, so not all were lost.
            if news.original_acked && self.try_undo_loss(now, news, true) {
                return;
            }
            if self.board.nxt() > self.recovery.high_seq {
                if news.sacked || duplicates > 0 {
                    self.recovery.frto = false; // step 3a: the loss was real
                }
            } else if news.advanced && !recovered {
                self.recovery.high_seq = self.board.nxt();
                if self.has_unsent() && self.peer.edge() > self.board.nxt() {
                    self.recovery.rexmit = Rexmit::New; // step 2b
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(now, news);
            return;
        }
        if !self.agreed.sack {
            if self.board.nxt() > self.recovery.high_seq && duplicates > 0 {
                self.guess_sacked(duplicates);
            } else if news.advanced {
                self.reset_guessed();
            }
        }
        self.recovery.rexmit = Rexmit::Lost;
    }

    /// Ends a tail loss probe that was answered, and reduces the window if it had repaired a loss (RFC 8985 section
    /// 7.4).
    pub(super) fn follow_tail_probe(&mut self, now: Time, ack: u64, news: &News) {
        let Some(high) = self.tail.high.filter(|&high| ack >= high) else { return };
        if !self.tail.retransmission || news.probe_duplicate {
            self.tail.high = None; // new data arrived, or both copies did
        } else if ack > high {
            self.reduce_for_probe(now); // it repaired a loss
        } else if !(news.advanced || news.data || news.window_update || news.sacked) {
            self.tail.high = None; // a duplicate acknowledgment: both copies arrived
        }
    }

    /// Back to open, unless something is still missing; or a reduction for a mark.
    fn try_to_open(&mut self, now: Time, news: &News) {
        if !self.any_retransmitted() {
            self.undo.forget_stamp();
        }
        if news.ece {
            self.enter_cwr(now);
        }
        if self.cwnd.state() != CongestionState::Cwr {
            self.keep_open();
        }
    }

    fn keep_open(&mut self) {
        let counts = self.board.counts();
        let left = counts.sacked + counts.lost > 0 || self.any_retransmitted();
        if self.cwnd.open(left) {
            self.recovery.high_seq = self.board.nxt();
        }
    }

    /// Whether a retransmission is in flight, or the oldest segment was retransmitted.
    fn any_retransmitted(&self) -> bool {
        self.board.counts().retransmitted > 0 || self.board.front().is_some_and(|front| front.was_retransmitted())
    }

    /// Fast recovery begins, asked for by a mark too if `ece`.
    pub(super) fn enter_recovery(&mut self, now: Time, ece: bool) {
        self.recovery.count += 1;
        if !self.any_retransmitted() {
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
    fn enter_cwr(&mut self, now: Time) {
        if self.cwnd.enter_cwr(now, &self.board, &self.rtt) {
            self.undo.unmark();
            self.on_reduction();
        }
    }

    /// A tail loss probe repaired a loss: a whole reduction at once (RFC 8985 section 7.4.2).
    fn reduce_for_probe(&mut self, now: Time) {
        self.cwnd.reduce_at_once(now, &self.board, &self.rtt);
        self.on_reduction();
        self.keep_open();
    }

    /// A reduction began: losses of what was sent before cause no other.
    fn on_reduction(&mut self) {
        self.recovery.high_seq = self.board.nxt();
        self.tail.high = None;
    }

    /// Data that were sent with a SYN-ACK that was lost are lost too.
    pub(super) fn repeat_early(&mut self, now: Time) {
        if self.board.outstanding() {
            self.enter_loss(now);
            self.recovery.frto = false;
            self.recovery.rexmit = Rexmit::Lost;
        }
    }

    pub(super) fn enter_loss(&mut self, now: Time) {
        let fresh = !self.cwnd.retransmits();
        self.lose_all(now);
        let again = self.cwnd.state() == CongestionState::Loss && self.timer.timeouts == 0;
        let calm = self.cwnd.is_calm();
        let begins = calm || self.recovery.high_seq <= self.board.una() || again;
        self.cwnd.enter_loss(now, begins, &self.board, &self.rtt);
        if begins {
            self.mark_undo();
        }
        if calm {
            self.reordering.distrust(self.board.counts().sacked);
        }
        self.recovery.high_seq = self.board.nxt();
        self.tail.high = None;
        self.recovery.frto = self.settings.frto && (fresh || self.timer.timeouts > 0);
    }

    /// From here on the reduction can be undone.
    fn mark_undo(&mut self) {
        let retransmitted =
            self.board.counts().retransmitted + u32::from(self.tail.high.is_some() && self.tail.retransmission);
        self.undo.mark(self.board.una(), retransmitted);
    }

    /// Everything up to where the recovery began is acknowledged. True to hold the state until more is: without SACK
    /// late duplicates must not begin another one (RFC 6582 section 3.2 step 1).
    fn try_undo_recovery(&mut self, now: Time, news: &News) -> bool {
        if self.may_undo(news.echo) {
            self.undo(now, false);
        } else if let Some(rack) = &mut self.rack {
            rack.on_recovered();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.cwnd.open(false);
        false
    }

    /// Undoes a time-out that was spurious, as F-RTO found out if `frto`. Returns whether it did.
    fn try_undo_loss(&mut self, now: Time, news: &News, frto: bool) -> bool {
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
    fn try_undo_by_duplicates(&mut self, now: Time) -> bool {
        let all = self.undo.all_were_duplicates();
        if all {
            if let Some(rack) = &mut self.rack {
                rack.on_undone();
            }
            self.undo(now, false);
        }
        all
    }

    fn may_undo(&self, echo: u32) -> bool {
        self.undo.marker().is_some() && (self.undo.all_were_duplicates() || self.is_delayed(echo))
    }

    /// Whether the acknowledgment answers a segment sent before the first retransmission (RFC 3522), or nothing was
    /// retransmitted.
    fn is_delayed(&self, echo: u32) -> bool {
        if self.undo.stamp() == 0 {
            // Without SACK the stamp is also forgotten while the end of a recovery is waited for.
            let forgotten = !self.agreed.sack && self.board.una() >= self.recovery.high_seq;
            return !forgotten && (self.settings.eifel || self.settings.dsack);
        }
        self.settings.eifel && self.agreed.timestamps && echo != 0 && is_before(echo, self.undo.stamp())
    }

    fn holds_without_sack(&mut self) -> bool {
        if self.agreed.sack || self.board.una() != self.recovery.high_seq {
            return false;
        }
        if !self.any_retransmitted() {
            self.undo.forget_stamp();
        }
        true
    }

    /// Takes the reduction back, and the losses with it if `losses`.
    fn undo(&mut self, now: Time, losses: bool) {
        if losses {
            self.board.unmark_lost();
        }
        self.cwnd.undo(now);
        self.undo.end();
        if let Some(rack) = &mut self.rack {
            rack.look_again();
        }
    }
}
