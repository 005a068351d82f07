//! Loss recovery: RFC 6675 with SACK, RFC 6582 without, and the retransmission timer of RFC 6298 under both.
//!
//! The window is the controller's. In a recovery with SACK data may go while the pipe has room for a segment (RFC 6675 section 5
//! (C)); a rule that spreads the reduction, as proportional rate reduction, has its place in [`Sender::room`].

use units::Time;

use super::scoreboard::News;
use super::{Outgoing, Sender};
use crate::congestion::LossSample;
use crate::tcp::info::{CongestionState, Counters};

impl Sender {
    /// Moves between open, disorder, recovery and loss after an acknowledgment.
    pub(super) fn follow_recovery(
        &mut self,
        now: Time,
        advanced: bool,
        duplicate: bool,
        news: &News,
        counters: &mut Counters,
    ) {
        if advanced {
            self.dupacks = 0;
        }
        self.dupacks += u32::from(duplicate);
        match self.state {
            CongestionState::Recovery | CongestionState::Loss if self.board.una() >= self.recovery_point => {
                if self.in_recovery() {
                    self.controller.on_recovered(now);
                }
                self.state = CongestionState::Open;
                self.inflation = 0;
                self.resend_front = false;
            }
            CongestionState::Recovery if !self.sack => return self.follow_newreno(advanced, duplicate, news.acked),
            CongestionState::Recovery | CongestionState::Loss => return,
            CongestionState::Open | CongestionState::Disorder => {}
        }
        if self.is_loss() {
            self.enter_recovery(now, counters);
        } else if self.dupacks > 0 || self.board.sacked_bytes() > 0 {
            self.state = CongestionState::Disorder;
            // RFC 3042: two segments beyond the window at most. With SACK the pipe makes that room.
            let extra = if self.limited_transmit && !self.sack { self.dupacks.min(2) } else { 0 };
            self.inflation = i64::from(extra) * self.mss as i64;
        } else {
            self.state = CongestionState::Open;
            self.inflation = 0;
        }
    }

    /// Whether a segment is lost that no earlier recovery is about (RFC 6675 section 5; RFC 6582 section 3.2 step 1). With SACK
    /// that recovery ends at its point, and acknowledgments of older data bring no new duplicates.
    #[inline]
    fn is_loss(&self) -> bool {
        let told = self.dupacks >= self.dupthresh && self.board.outstanding();
        if self.sack { told || self.board.front_lost() } else { told && self.board.una() > self.recovery_point }
    }

    fn enter_recovery(&mut self, now: Time, counters: &mut Counters) {
        counters.dupack_events += 1;
        let sample = self.loss_sample(now);
        self.controller.on_loss(&sample);
        self.state = CongestionState::Recovery;
        self.recovery_point = self.board.nxt();
        self.rescued = false;
        self.partial = false;
        self.inflation = if self.sack { 0 } else { i64::from(self.dupacks) * self.mss as i64 };
        self.board.lose_front();
        self.board.restart();
        self.resend_front = true;
    }

    /// Within a recovery of RFC 6582: section 3.2 steps 2 and 3.
    fn follow_newreno(&mut self, advanced: bool, duplicate: bool, acked: u64) {
        let mss = self.mss as i64;
        if advanced {
            self.partial = true;
            let back = if acked >= self.mss { mss } else { 0 };
            // The window never falls below a segment: a large partial acknowledgment empties the pipe as well.
            self.inflation = (self.inflation - acked as i64 + back).max(mss - self.controller.window() as i64);
            self.board.lose_front();
            self.resend_front = true;
        } else if duplicate {
            self.inflation += mss;
        }
    }

    /// The retransmission timer expired (RFC 6298 (5.4) to (5.6), RFC 6675 section 5.1).
    pub(super) fn expire(&mut self, now: Time, counters: &mut Counters) {
        counters.rto_events += 1;
        let una = self.board.una();
        let first = self.expired_at != Some(una);
        self.expired_at = Some(una);
        let sample = self.loss_sample(now);
        self.controller.on_timeout(&sample, first);
        self.state = CongestionState::Loss;
        self.recovery_point = self.board.nxt();
        self.dupacks = 0;
        self.inflation = 0;
        self.partial = false;
        self.board.lose_all();
        self.resend_front = true;
        self.rtt.back_off();
        self.start_timer(now);
    }

    /// FlightSize of RFC 5681 is what was sent and is not acknowledged cumulatively.
    fn loss_sample(&self, now: Time) -> LossSample {
        LossSample {
            now,
            in_flight: self.board.nxt() - self.board.una(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
        }
    }

    /// NextSeg rule 1. After a time-out only what was sent before it goes again: a loss beyond reduces the window anew first.
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        match self.state {
            CongestionState::Open | CongestionState::Disorder => None,
            CongestionState::Recovery => self.board.next_lost(u64::MAX),
            CongestionState::Loss => self.board.next_lost(self.recovery_point),
        }
    }

    /// NextSeg rules 3 and 4: there is room and no new data to fill it.
    #[inline]
    pub(super) fn next_speculative(&mut self, now: Time) -> Option<Outgoing> {
        if !self.sack || !self.in_recovery() {
            return None;
        }
        if let Some(number) = self.board.next_speculative() {
            return Some(self.resend(now, number));
        }
        if self.rescued {
            return None;
        }
        self.rescued = true;
        let number = self.board.last_unsacked()?;
        let slot = self.board.rescue(now, number);
        Some(self.sent(now, slot))
    }
}
