//! The timers expire.

use units::Time;

use super::timer::TimerKind;
use crate::state::CongestionState;
use crate::tcp::info::Counters;
use crate::tcp::send::Sender;
use crate::tcp::send::cwnd::Step;
use crate::tcp::send::recovery::episode::{Forced, Rexmit};

impl Sender {
    pub(in crate::tcp) fn handle_timeout(&mut self, now: Time, counters: &mut Counters) {
        self.cwnd.control.handle_timeout(now, self.board.in_flight());
        if self.timer.at > now {
            return;
        }
        match self.timer.kind {
            TimerKind::None => {}
            TimerKind::Retransmission if self.agreed.early => self.start_rto(now), // the SYN-ACK goes again, and alone
            TimerKind::Retransmission => self.expire(now, counters),
            TimerKind::Probe => self.probe_tail(now),
            TimerKind::Reordering => self.expire_reordering(now),
            TimerKind::Persist => self.probe_window(now, counters),
        }
    }

    /// The retransmission timer expired (RFC 6298 (5.4) to (5.6)).
    fn expire(&mut self, now: Time, counters: &mut Counters) {
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

    /// The probe timer expired: one probe for each tail.
    fn probe_tail(&mut self, now: Time) {
        if self.tail.high.is_some() {
            return self.rearm_rto(now);
        }
        self.tail.retransmission = false;
        self.recovery.forced = Forced::Tail;
        self.rearm_rto(now); // in case there is nothing to probe with
        self.timer.kind = TimerKind::Probe;
    }

    fn expire_reordering(&mut self, now: Time) {
        let before = self.board.in_flight();
        let lost_before = self.board.lost_total();
        self.detect_by_rack(now);
        if before != self.board.in_flight() {
            if self.cwnd.state() != CongestionState::Recovery {
                self.enter_recovery(now, false);
                let lost = (self.board.lost_total() - lost_before) as u32;
                self.cwnd.reduce(Step { delivered: 1, lost, advanced: false, in_flight: self.board.in_flight() });
            }
            self.recovery.rexmit = Rexmit::Lost;
        }
        if self.timer.at <= now {
            self.rearm_rto(now);
        }
    }

    fn probe_window(&mut self, now: Time, counters: &mut Counters) {
        self.timer.cut = self.peer.edge() > self.board.nxt();
        if self.timer.cut {
            self.rtt.forget_backoff(); // data go
            self.timer.window_probes = 0;
        } else {
            self.rtt.back_off();
            self.recovery.forced = Forced::WindowProbe;
            self.timer.window_probes += 1;
            counters.window_probes += 1;
        }
        self.timer.at = now + self.rtt.rto();
    }
}
