//! From what an acknowledgment says to what is lost, and to the state of recovery.

use units::Time;

use super::episode::{Forced, Rexmit};
use super::news::{Before, News};
use super::slot::{LOST, RESENT, SACKED};
use super::{Sender, TimerKind, is_before};
use crate::state::CongestionState;
use crate::tcp::info::Counters;

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
                if self.cwnd.state() != CongestionState::Open && !news.resent_lost {
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

    /// In fast recovery. False if nothing is to be retransmitted for this acknowledgment.
    fn follow_in_recovery(&mut self, now: Time, before: &Before, duplicates: u32, news: &mut News) -> bool {
        if !news.advanced {
            self.guess_sacked(duplicates);
        } else if self.undo.marker().is_some() && self.is_delayed(news.echo) {
            // The hole was filled by a delayed original, not by the retransmission.
            self.note_reordering(before.una);
            if self.board.counts().resent > 0 {
                return false;
            }
            if !self.any_resent() {
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

    /// In open, disorder or the reduction for a mark. Whether a recovery begins.
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

    /// After a time-out: F-RTO (RFC 5682 section 3.1) and the retransmission of what is lost.
    fn follow_in_loss(&mut self, now: Time, duplicates: u32, news: &News) {
        let recovered = self.board.una() >= self.recovery.high_seq;
        if news.advanced && self.try_undo_loss(now, news, false) {
            return;
        }
        if self.recovery.frto {
            // Step 3b: data never sent again were acknowledged, so not all were lost.
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

    /// Finds what is lost: by RACK, by counting, or without SACK by duplicate acknowledgments.
    fn identify_losses(&mut self, now: Time, news: &mut News) {
        if !self.board.outstanding() {
            return;
        }
        self.recovery.lost_again = false;
        if !self.agreed.sack {
            self.lose_head_by_duplicates(now, news.advanced);
        } else if self.settings.rack {
            if self.rack.take_advanced() && self.detect_by_rack(now) {
                news.set_timer = false;
            }
        } else {
            while let Some(number) = self.board.next_counted_lost(self.reordering.degree(), self.settings.fack) {
                self.lose(now, number);
            }
            while self.settings.fack
                && let Some(number) = self.board.next_overtaken()
            {
                self.lose(now, number);
            }
        }
        if self.settings.transmit_fin && self.last_is_lost() {
            let head = self.board.front_number();
            self.lose(now, head);
            if self.settings.rack {
                self.board.leave_order(head);
            }
        }
        news.resent_lost |= self.recovery.lost_again;
    }

    /// Transmit FIN: the FIN has arrived, and the segment before it, the only other that is outstanding, has not.
    fn last_is_lost(&self) -> bool {
        let told = self.awaits_fin_and_last() && self.board.counts().sacked > 0;
        told && self.board.front().is_some_and(|front| !front.is(SACKED | LOST | RESENT))
    }

    /// Whether a FIN by itself and the segment before it are all that is outstanding.
    pub(super) fn awaits_fin_and_last(&self) -> bool {
        let bare = |number| self.board.get(number).fin() && self.board.get(number).len == 0;
        self.board.out() == 2 && self.board.last_number().is_some_and(bare)
    }

    /// RFC 5681 section 3.2 and RFC 6582: the oldest segment is lost after enough duplicates, and again at each partial
    /// acknowledgment.
    fn lose_head_by_duplicates(&mut self, now: Time, advanced: bool) {
        let recovering = self.cwnd.repairs();
        let told = !recovering && self.board.counts().sacked >= self.reordering.degree();
        if told || self.cwnd.state() == CongestionState::Recovery && advanced {
            let head = self.board.front_number();
            self.lose(now, head);
            if recovering && !self.settings.prr {
                self.recovery.forced = Forced::Head;
            }
        }
    }

    /// RFC 8985 section 6.2 step 5. Whether the reordering timer was started.
    pub(super) fn detect_by_rack(&mut self, now: Time) -> bool {
        let window = self.reordering_window();
        let mut longest = units::Duration::ZERO;
        let mut next = self.board.oldest_sent();
        while let Some(number) = next {
            next = self.board.sent_after(number);
            let slot = self.board.get(number);
            if slot.is(LOST) && !slot.is(RESENT) {
                continue;
            }
            if !self.rack.overtook(slot) {
                break;
            }
            let wait = (slot.sent_at + self.rack.rtt() + window).since(now);
            if wait.is_zero() {
                self.lose(now, number);
                self.board.leave_order(number);
            } else {
                longest = longest.max(wait);
            }
        }
        if longest.is_zero() {
            return false;
        }
        self.start_reordering_timer(now, longest);
        true
    }

    /// RFC 8985 section 6.2 step 4: none while no reordering was seen and losses are being repaired or told by
    /// duplicates.
    fn reordering_window(&self) -> units::Duration {
        let told = self.board.counts().sacked >= self.reordering.degree();
        let recovering = self.cwnd.repairs();
        if self.reordering.seen() == 0 && (told || recovering) {
            return units::Duration::ZERO;
        }
        self.rack.window(self.rtt.min(), self.rtt.srtt())
    }

    /// Back to open, unless something is still missing; or a reduction for a mark.
    fn try_to_open(&mut self, now: Time, news: &News) {
        if !self.any_resent() {
            self.undo.forget_stamp();
        }
        if news.ece {
            self.enter_cwr(now);
        }
        if self.cwnd.state() != CongestionState::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let counts = self.board.counts();
        let left = counts.sacked + counts.lost > 0 || self.any_resent();
        if self.cwnd.open(left) {
            self.recovery.high_seq = self.board.nxt();
        }
    }

    /// Whether a retransmission is in flight, or the oldest segment was sent again.
    pub(super) fn any_resent(&self) -> bool {
        self.board.counts().resent > 0 || self.board.front().is_some_and(|front| front.was_resent())
    }

    /// The retransmission timer expired (RFC 6298 (5.4) to (5.6)).
    pub(super) fn expire(&mut self, now: Time, counters: &mut Counters) {
        if !self.board.outstanding() {
            return;
        }
        counters.rto_events += 1;
        if self.ns2.is_some() {
            return self.expire_as_ns2(now);
        }
        self.enter_loss(now);
        if self.peer.edge() > self.board.una() {
            self.timer.timeouts += 1; // a peer that has closed its window is there: as Linux, no time-out in a row
        }
        self.recovery.forced = Forced::Head;
        self.recovery.rexmit = Rexmit::Lost;
        self.rtt.back_off();
        self.start_rto(now);
    }

    /// What was sent with a SYN-ACK that was lost is lost too.
    pub(super) fn repeat_early(&mut self, now: Time) {
        if self.board.outstanding() {
            self.enter_loss(now);
            self.recovery.frto = false;
            self.recovery.rexmit = Rexmit::Lost;
        }
    }

    fn enter_loss(&mut self, now: Time) {
        let fresh = !self.cwnd.repairs();
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

    /// Takes everything for lost that is not known to have arrived, copies included (RFC 6675 section 5.1); with RACK
    /// not what was sent within the last round trip.
    fn lose_all(&mut self, now: Time) {
        self.reset_guessed();
        let head = self.board.front_number();
        for number in self.board.numbers() {
            let recent = self.settings.rack
                && self.agreed.sack
                && number != head
                && !(self.board.get(number).sent_at + self.rack.rtt()).since(now).is_zero();
            if !recent {
                self.lose(now, number);
            }
        }
        self.board.restart();
    }

    /// What the tail loss probe found out (RFC 8985 section 7.4).
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

    /// Data from `seq` on came after data sent later.
    pub(super) fn note_reordering(&mut self, seq: u64) {
        self.reordering.note(seq, &self.board, self.agreed.mss);
    }

    /// Without SACK: each duplicate acknowledgment tells of a segment beyond the hole.
    fn guess_sacked(&mut self, duplicates: u32) {
        if self.agreed.sack || duplicates == 0 {
            return;
        }
        let before = self.board.counts().sacked;
        self.board.set_guessed_sacked(before + duplicates);
        self.limit_guessed(0);
        self.totals.delivered += u64::from(self.board.counts().sacked.saturating_sub(before));
    }

    /// Without SACK: one acknowledged segment filled the hole, the others had been told of.
    pub(super) fn settle_guessed(&mut self, acked: u32) {
        let guessed = self.board.counts().sacked;
        self.totals.delivered += u64::from(acked.saturating_sub(guessed).max(1));
        self.board.set_guessed_sacked(guessed.saturating_sub(acked - 1));
        self.limit_guessed(acked);
    }

    /// More duplicates than segments can be out means that data came out of order.
    fn limit_guessed(&mut self, acked: u32) {
        let (out, counts) = (self.board.out(), self.board.counts());
        let holes = counts.lost.max(1).min(out);
        if counts.sacked + holes <= out {
            return;
        }
        self.board.set_guessed_sacked(out - holes);
        self.reordering.exceed(out + acked);
    }

    pub(super) fn reset_guessed(&mut self) {
        if !self.agreed.sack {
            self.board.set_guessed_sacked(0);
        }
    }

    /// The peer acknowledges data and has dropped what follows, which it had acknowledged selectively.
    #[cold]
    pub(super) fn forget_reneged(&mut self, now: Time) {
        self.board.forget_sacked();
        for number in self.board.numbers() {
            self.lose(now, number);
        }
        self.timer.kind = TimerKind::Retransmission;
    }

    /// Whether the acknowledgment answers a segment sent before the first retransmission (RFC 3522), or nothing was
    /// retransmitted.
    pub(super) fn is_delayed(&self, echo: u32) -> bool {
        if self.undo.stamp() == 0 {
            // Without SACK the stamp is also forgotten while the end of a recovery is waited for.
            let forgotten = !self.agreed.sack && self.board.una() >= self.recovery.high_seq;
            return !forgotten && (self.settings.eifel || self.settings.dsack);
        }
        self.settings.eifel && self.agreed.timestamps && echo != 0 && is_before(echo, self.undo.stamp())
    }
}
