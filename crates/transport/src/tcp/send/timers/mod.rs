//! When timers are started: retransmission (RFC 6298), tail loss probe and reordering (RFC 8985), persist (RFC 9293
//! section 3.8.6.1). As in Linux one is armed at a time.

pub(super) mod timeout;
pub(super) mod timer;

use units::{Duration, Time};

use self::timer::TimerKind;
use super::Sender;
use super::recovery::episode::Forced;
use super::rtt::round_up;
use crate::state::CongestionState;

/// The shortest time that Linux lets a probe or a reordered segment wait beyond what was computed.
const SLACK: Duration = Duration::from_millis(2);

impl Sender {
    /// When [`Sender::handle_timeout`] is to be called; [`Time::MAX`] for never.
    #[inline]
    pub(in crate::tcp) fn timer(&self) -> Time {
        let at = self.timer.at.min(self.gives_up_at());
        if self.asks_window_only { at } else { at.min(self.pacing.wake_at()).min(self.cwnd.control.timer()) }
    }

    /// When the user timeout ends the connection (RFC 5482); [`Time::MAX`] for never.
    #[inline]
    pub(in crate::tcp) fn gives_up_at(&self) -> Time {
        self.wait.ends_at()
    }

    pub(in crate::tcp) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.wait.set_limit(limit);
    }

    /// Starts the user timeout: a segment that the peer must answer is sent, or the peer's window holds it back.
    pub(in crate::tcp) fn start_waiting(&mut self, now: Time) {
        self.wait.start(now);
    }

    /// A segment of the peer was accepted. If it acknowledged data, the user timeout starts anew. Data that waited for
    /// more of the application (`MSG_MORE`) no longer wait.
    #[inline(always)]
    pub(in crate::tcp) fn heard(&mut self, now: Time) {
        self.byte_stream.stop_waiting();
        self.wait.follow(now, self.board.una(), self.board.outstanding());
    }

    /// Ends all timers: the connection is over.
    pub(in crate::tcp) fn stop(&mut self) {
        self.timer.disarm();
        self.wait.stop();
        self.recovery.forced = Forced::Nothing;
    }

    #[inline]
    pub(super) fn start_rto(&mut self, now: Time) {
        self.timer.arm(TimerKind::Retransmission, now + self.rtt.rto());
    }

    /// RFC 6298 (5.1) to (5.3), with the time that a probe or reordering timer has used up taken off.
    #[inline(always)]
    pub(super) fn rearm_rto(&mut self, now: Time) {
        if !self.board.outstanding() {
            self.pacing.wake = false; // nothing lost waits any longer; for unsent data the next poll sets it
            if self.timer.kind != TimerKind::Persist {
                self.timer.disarm();
            }
            return;
        }
        let wait = match self.timer.kind {
            TimerKind::Probe | TimerKind::Reordering => self.rest_of_rto(now),
            _ => self.rtt.rto(),
        };
        self.timer.arm(TimerKind::Retransmission, now.plus(wait));
    }

    /// The time until the oldest segment has been out for a time-out.
    #[inline]
    fn rest_of_rto(&self, now: Time) -> Duration {
        let due = self.board.front().map_or(now, |front| front.sent_at + self.rtt.rto());
        round_up(due.since(now).max(Duration::from_micros(1)), self.settings.timer_tick)
    }

    /// New data went out, the first in flight if `idle`.
    pub(super) fn on_new_data(&mut self, now: Time, idle: bool) {
        if idle {
            self.start_waiting(now);
        }
        if idle || self.timer.kind == TimerKind::Probe {
            self.rearm_rto(now);
        }
    }

    /// Data were acknowledged: the tail is guarded by a probe, or by the time-out.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, now: Time) {
        if !(self.settings.tlp && self.schedule_probe(now, true)) {
            self.rearm_rto(now);
        }
    }

    /// RFC 8985 section 7.2, with tail loss probes: one after two round trips, if nothing is in doubt. `advancing` if
    /// the time-out starts anew now.
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let calm = matches!(self.cwnd.state(), CongestionState::Open | CongestionState::Cwr);
        if !self.agreed.sack || !calm || self.agreed.early {
            return false;
        }
        let Some(front) = self.board.front() else { return false };
        let rto = self.rtt.rto();
        let srtt = self.rtt.srtt();
        let mut wait = if srtt.is_zero() {
            self.settings.initial_rto
        } else {
            // One segment alone may wait for a delayed acknowledgment.
            let more = if self.board.out() == 1 { self.settings.min_rto } else { SLACK };
            srtt * 2 + more
        };
        let left = if advancing { rto } else { (front.sent_at + rto).since(now) };
        if !left.is_zero() {
            wait = wait.min(left);
        }
        self.timer.arm(TimerKind::Probe, now + round_up(wait, self.settings.timer_tick));
        true
    }

    /// Starts the reordering timer: after `wait` a segment that others overtook counts as lost.
    pub(super) fn start_reordering_timer(&mut self, now: Time, wait: Duration) {
        self.timer.arm(TimerKind::Reordering, now + round_up(wait + SLACK, self.settings.timer_tick));
    }

    /// The peer's window, or the application itself, holds back data: if nothing is in flight that would be answered,
    /// the persist timer runs.
    #[cold]
    pub(super) fn start_persist(&mut self, now: Time) {
        if !self.board.outstanding() && self.timer.at == Time::MAX {
            self.timer.arm(TimerKind::Persist, now + self.rtt.rto());
            if self.wait.is_stopped() {
                self.start_waiting(now);
            }
        }
    }

    /// The peer answered a probe: the window is open again, or the next probe comes later.
    #[cold]
    pub(super) fn follow_persist(&mut self, now: Time) {
        let usable = self.peer.usable(self.board.nxt());
        let fin = u64::from(self.byte_stream.wants_fin());
        let wanted = self.byte_stream.waiting(self.board.nxt()).min(self.agreed.mss).max(fin);
        if wanted == 0 {
            return;
        }
        if usable >= wanted || self.peer.is_half_of_largest(usable) && usable > 0 {
            self.timer.disarm();
            self.rtt.forget_backoff();
            self.timer.window_probes = 0;
        } else {
            self.timer.at = now + self.rtt.rto();
        }
    }
}
