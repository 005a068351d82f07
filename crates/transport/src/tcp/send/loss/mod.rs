//! The detection of losses: by RACK (RFC 8985), by counting (RFC 6675), or without SACK by duplicate acknowledgments
//! (RFC 6582).

pub(super) mod rack;
pub(super) mod reordering;

use units::{Duration, Time};

use self::rack::Rack;
use super::news::News;
use super::recovery::episode::Forced;
use super::scoreboard::slot::{LOST, RETRANSMITTED, SACKED};
use super::{Sender, TimerKind};
use crate::congestion::Event;
use crate::state::CongestionState;

impl Sender {
    /// Finds what is lost: by RACK, by counting, or without SACK by duplicate acknowledgments.
    pub(super) fn identify_losses(&mut self, now: Time, news: &mut News) {
        if !self.board.outstanding() {
            return;
        }
        self.recovery.lost_again = false;
        if !self.agreed.sack {
            self.lose_head_by_duplicates(now, news.advanced);
        } else if let Some(rack) = &mut self.rack {
            if rack.take_advanced() && self.detect_by_rack(now) {
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
            if self.rack.is_some() {
                self.board.leave_order(head);
            }
        }
        news.retransmission_lost |= self.recovery.lost_again;
    }

    /// Whether the FIN has arrived, and the segment before it, the only other outstanding one, has not (Transmit FIN).
    fn last_is_lost(&self) -> bool {
        let fin_arrived = self.awaits_fin_and_last() && self.board.counts().sacked > 0;
        fin_arrived && self.board.front().is_some_and(|front| !front.is(SACKED | LOST | RETRANSMITTED))
    }

    /// Whether a FIN by itself and the segment before it are all that is outstanding.
    pub(super) fn awaits_fin_and_last(&self) -> bool {
        let bare = |number| self.board.get(number).fin() && self.board.get(number).len == 0;
        self.board.out() == 2 && self.board.last_number().is_some_and(bare)
    }

    /// RFC 5681 section 3.2 and RFC 6582: the oldest segment is lost after enough duplicates, and again at each partial
    /// acknowledgment.
    fn lose_head_by_duplicates(&mut self, now: Time, advanced: bool) {
        let recovering = self.cwnd.retransmits();
        let enough = !recovering && self.board.counts().sacked >= self.reordering.degree();
        if enough || self.cwnd.state() == CongestionState::Recovery && advanced {
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
        let mut longest = Duration::ZERO;
        let mut next = self.board.oldest_sent();
        while let (Some(number), Some(rack)) = (next, &self.rack) {
            next = self.board.sent_after(number);
            let slot = self.board.get(number);
            if slot.is(LOST) && !slot.is(RETRANSMITTED) {
                continue;
            }
            if !rack.overtook(slot) {
                break;
            }
            let wait = (slot.sent_at + rack.rtt() + window).since(now);
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

    /// RFC 8985 section 6.2 step 4: none while no reordering was seen and losses are being repaired or shown by
    /// duplicates.
    fn reordering_window(&self) -> Duration {
        let enough = self.board.counts().sacked >= self.reordering.degree();
        let recovering = self.cwnd.retransmits();
        if self.reordering.seen() == 0 && (enough || recovering) {
            return Duration::ZERO;
        }
        self.rack.as_ref().map_or(Duration::ZERO, |rack| rack.window(self.rtt.min(), self.rtt.srtt()))
    }

    /// Takes everything for lost that is not known to have arrived, copies included (RFC 6675 section 5.1); with RACK
    /// not what was sent within the last round trip.
    pub(super) fn lose_all(&mut self, now: Time) {
        self.reset_guessed();
        let head = self.board.front_number();
        for number in self.board.numbers() {
            let sent_at = self.board.get(number).sent_at;
            let is_recent = |rack: &Rack| !(sent_at + rack.rtt()).since(now).is_zero();
            let recent = self.agreed.sack && number != head && self.rack.as_deref().is_some_and(is_recent);
            if !recent {
                self.lose(now, number);
            }
        }
        self.board.restart();
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

    /// Takes slot `number` for lost.
    pub(super) fn lose(&mut self, now: Time, number: u64) {
        let retransmitted = self.board.get(number).is(LOST);
        if !self.board.mark_lost(number) {
            return;
        }
        self.recovery.lost_again |= retransmitted;
        if self.cwnd.control.wants_rates() {
            let lost = self.board.state(number).lost_segment(self.board.lost_total());
            self.cwnd.control.tell(now, &Event::Lost(lost));
        }
    }

    /// Data from `seq` on came after data sent later.
    pub(super) fn note_reordering(&mut self, seq: u64) {
        self.reordering.note(seq, &self.board, self.agreed.mss);
    }

    /// Without SACK: each duplicate acknowledgment stands for a segment beyond the hole.
    pub(super) fn guess_sacked(&mut self, duplicates: u32) {
        if self.agreed.sack || duplicates == 0 {
            return;
        }
        let before = self.board.counts().sacked;
        self.board.set_guessed_sacked(before + duplicates);
        self.limit_guessed(0);
        self.totals.delivered += u64::from(self.board.counts().sacked.saturating_sub(before));
    }

    /// Without SACK: one acknowledged segment filled the hole, duplicates had stood for the others.
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
}
