//! The congestion window and what moves it: the controller, and beside the controller reductions and time-outs, what
//! takes them back, idle times, and validation (RFC 2861).
//!
//! The sender says what happened, hands in what is in flight and how long a round trip takes, and reads the window and
//! the state. Nothing here knows of the sender. Where the controller drives, it alone moves the window.

mod control;
mod prr;
mod usage;

use std::sync::Arc;

use units::{Duration, Time};

use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use crate::congestion::{AckSample, Cause, Congestion, Event, Window};
use crate::state::CongestionState;
use crate::tcp::accecn::AccurateCounts;
use crate::tcp::config::Settings;
pub(super) use control::Control;
use prr::Prr;
pub(super) use prr::Step;
use usage::Usage;

/// See the module.
pub(super) struct CongestionWindow {
    settings: Arc<Settings>,
    mss: u32,
    /// The initial window.
    initial: u32,
    /// The controller: asked for rates and probes, and handed events.
    pub control: Control,
    pub ecn: EcnState,
    state: CongestionState,
    usage: Usage,
    prr: Prr,
    /// The window before the last reduction.
    before: u32,
    /// The threshold that an undo returns to; `None` forbids that the window is moved back.
    undo_threshold: Option<u32>,
}

/// RFC 3168 at the sender, or RFC 9768.
#[derive(Debug, Default)]
pub(super) struct EcnState {
    /// RFC 3168 is in use.
    pub on: bool,
    /// The counts of accurate feedback, if it is in use.
    pub accurate: Option<Box<AccurateCounts>>,
    /// The controller takes the count of marks, and decides itself on reductions.
    pub scalable: bool,
    /// The next new segment says that the window was reduced.
    pub cwr_due: bool,
}

impl CongestionWindow {
    pub fn new(settings: &Arc<Settings>, mss: u32, initial: u32, entropy: u64) -> CongestionWindow {
        CongestionWindow {
            settings: Arc::clone(settings),
            mss,
            initial,
            control: Control::new(settings, mss, initial, entropy),
            ecn: EcnState::default(),
            state: CongestionState::Open,
            usage: Usage::new(),
            prr: Prr::new(0),
            before: 0,
            undo_threshold: None,
        }
    }

    /// The handshake settled another segment size or initial window: the controller is made anew.
    pub fn settle(&mut self, mss: u32, initial: u32, entropy: u64) {
        (self.mss, self.initial) = (mss, initial);
        self.control = Control::new(&self.settings, mss, initial, entropy);
    }

    /// The connection is open.
    pub fn establish(&mut self, now: Time, srtt: Duration) {
        self.usage.restart(now);
        self.control.tell(now, &Event::Established { srtt });
    }

    #[inline]
    pub fn window(&self) -> &Window {
        self.control.window()
    }

    #[inline]
    pub fn state(&self) -> CongestionState {
        self.state
    }

    /// Whether a reduction is in progress, so that the controller does not open the window.
    #[inline]
    pub fn in_reduction(&self) -> bool {
        matches!(self.state, CongestionState::Recovery | CongestionState::Cwr)
    }

    /// Whether lost segments are being retransmitted.
    #[inline]
    pub fn retransmits(&self) -> bool {
        matches!(self.state, CongestionState::Recovery | CongestionState::Loss)
    }

    /// Whether no loss and no mark is being answered.
    #[inline]
    pub fn is_calm(&self) -> bool {
        matches!(self.state, CongestionState::Open | CongestionState::Disorder)
    }

    /// As [`Usage::is_window_limited`].
    #[inline(always)]
    pub fn is_window_limited(&self) -> bool {
        self.usage.is_window_limited(|| self.window())
    }

    /// As [`Usage::is_full`].
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.usage.is_full()
    }

    /// Moves the window after an acknowledgment, which advanced SND.UNA if `advanced`, by the rules of the controller
    /// or of a reduction.
    #[inline]
    pub fn acknowledge(&mut self, sample: &AckSample, advanced: bool) {
        self.control.acknowledge(sample);
        if self.in_reduction() {
            let AckSample { delivered, lost, in_flight, .. } = *sample;
            self.reduce(Step { delivered, lost, advanced, in_flight });
        }
    }

    /// The next step of a reduction.
    pub fn reduce(&mut self, step: Step) {
        if step.delivered == 0 || !self.settings.prr || self.control.drives() {
            return;
        }
        let window = self.control.window_mut();
        window.size = self.prr.window(step, window.threshold);
    }

    /// A segment was sent.
    #[inline]
    pub fn on_sent(&mut self) {
        if self.in_reduction() {
            self.prr.on_sent();
        }
    }

    /// Open, or disorder while data are `missing`. Whether the state is another one.
    pub fn open(&mut self, missing: bool) -> bool {
        let state = if missing { CongestionState::Disorder } else { CongestionState::Open };
        std::mem::replace(&mut self.state, state) != state
    }

    /// Fast recovery begins, asked for by a mark too if `ece`. Whether a reduction begins with it; otherwise the one
    /// for a mark goes on.
    pub fn enter_recovery(&mut self, now: Time, ece: bool, board: &Scoreboard, rtt: &Rtt) -> bool {
        let begins = !self.in_reduction();
        self.undo_threshold = (begins && !ece).then(|| self.threshold_now());
        if begins {
            self.begin_reduction(now, if ece { Cause::Mark } else { Cause::Loss }, board, rtt);
        }
        self.state = CongestionState::Recovery;
        begins
    }

    /// A mark was echoed: a reduction without loss (RFC 3168 section 6.1.2). Whether one begins.
    pub fn enter_cwr(&mut self, now: Time, board: &Scoreboard, rtt: &Rtt) -> bool {
        self.forbid_undo();
        let begins = self.is_calm();
        if begins {
            self.begin_reduction(now, Cause::Mark, board, rtt);
            self.state = CongestionState::Cwr;
        }
        begins
    }

    /// A whole reduction at once.
    pub fn reduce_at_once(&mut self, now: Time, board: &Scoreboard, rtt: &Rtt) {
        self.begin_reduction(now, Cause::Loss, board, rtt);
        self.end_reduction(now, false);
    }

    fn begin_reduction(&mut self, now: Time, cause: Cause, board: &Scoreboard, rtt: &Rtt) {
        self.control.window_mut().restart_count();
        self.before = self.window().size;
        self.prr = Prr::new(self.reduced_from(board));
        self.tell_congestion(now, cause, board, rtt);
        if !self.settings.prr && !self.control.drives() {
            let window = self.control.window_mut();
            window.size = window.size.min(window.threshold);
        }
        self.ecn.cwr_due |= self.ecn.on;
    }

    /// The end of a reduction: the window is at the threshold, unless the reduction was `undone`.
    pub fn end_reduction(&mut self, now: Time, undone: bool) {
        self.state = CongestionState::Open;
        if self.control.drives() {
            return;
        }
        if !undone && self.window().threshold < Window::NO_THRESHOLD {
            let window = self.control.window_mut();
            window.size = window.threshold;
            self.usage.restart(now);
        }
        self.control.tell(now, &Event::Recovered);
    }

    /// A time-out, which is a new reduction if `begins`. The window is what is in flight, which is nothing where all is
    /// taken for lost, and one more.
    pub fn enter_loss(&mut self, now: Time, begins: bool, board: &Scoreboard, rtt: &Rtt) {
        if begins {
            self.undo_threshold = Some(self.threshold_now());
            self.before = self.window().size;
            self.tell_congestion(now, Cause::Timeout, board, rtt);
        }
        self.ecn.cwr_due |= self.ecn.on;
        self.collapse(now, board.in_flight() + 1);
    }

    /// The window after a time-out is `size`.
    pub fn collapse(&mut self, now: Time, size: u32) {
        self.control.window_mut().collapse(size);
        self.usage.restart(now);
        self.control.tell(now, &Event::TimedOut);
        self.state = CongestionState::Loss;
    }

    /// All that was sent is lost, which is no sign of congestion.
    pub fn await_loss(&mut self) {
        self.state = CongestionState::Loss;
    }

    /// From here on an undo does not move the window back: a reduction is asked for.
    pub fn forbid_undo(&mut self) {
        self.undo_threshold = None;
    }

    /// Takes the last reduction back; the state stays.
    pub fn undo(&mut self, now: Time) {
        if let Some(threshold) = self.undo_threshold {
            let drives = self.control.drives();
            let window = self.control.window_mut();
            if !drives {
                window.size = window.size.max(self.before).max(1);
            }
            if threshold > window.threshold {
                window.threshold = threshold;
                self.ecn.cwr_due = false;
            }
        }
        self.usage.restart(now);
        self.control.tell(now, &Event::Undone);
    }

    /// A recovery by ns-2's rules: the window is at its floor at once.
    pub fn fall_to_floor(&mut self, now: Time, board: &Scoreboard, rtt: &Rtt) {
        self.state = CongestionState::Recovery;
        self.tell_congestion(now, Cause::Loss, board, rtt);
        let floor = self.control.floor();
        let window = self.control.window_mut();
        window.restart_count();
        window.size = floor.min(window.size).max(1);
    }

    /// The end of a recovery by ns-2's rules: the window is at the threshold, but at most `most`.
    pub fn rise_to_threshold(&mut self, now: Time, most: u32) {
        let window = self.control.window_mut();
        if window.size < window.threshold {
            window.size = window.threshold.min(most);
        }
        self.state = CongestionState::Open;
        self.control.tell(now, &Event::Recovered);
    }

    /// Tells the controller what a reduction is for and from what.
    pub fn tell_congestion(&mut self, now: Time, cause: Cause, board: &Scoreboard, rtt: &Rtt) {
        let congestion = Congestion {
            now,
            cause,
            from: self.reduced_from(board),
            in_flight: board.in_flight(),
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            mss: self.mss,
        };
        self.control.tell(now, &Event::Congestion(congestion));
    }

    /// Returns what a reduction that begins now starts from, in segments: for PRR the RecoverFS of RFC 6937, where what
    /// was acknowledged selectively before counts in.
    fn reduced_from(&self, board: &Scoreboard) -> u32 {
        let size = self.window().size;
        if !self.settings.reduce_in_flight {
            return size;
        }
        // RFC 5681 equation (4) reduces from FlightSize: what limited transmit sent beyond the window does not count.
        board.out().min(if self.in_reduction() { size.max(self.before) } else { size })
    }

    /// The threshold to return to: what the window has reached counts in.
    fn threshold_now(&self) -> u32 {
        let window = self.window();
        if self.in_reduction() {
            window.threshold
        } else {
            window.threshold.max((window.size >> 1) + (window.size >> 2))
        }
    }

    /// Nothing was sent for `idle`: the window starts over (RFC 5681 section 4.1). As in Linux (RFC 2861) it halves for
    /// each time-out that has passed, down to the initial window; as in ns-2, if `as_ns2`, it falls to that at once.
    pub fn restart_after_idle(&mut self, now: Time, idle: Duration, rto: Duration, as_ns2: bool) {
        if !self.settings.slow_start_after_idle || self.control.drives() || idle <= rto {
            return;
        }
        let (initial, threshold) = (self.initial, self.threshold_now());
        let window = self.control.window_mut();
        if as_ns2 {
            window.size = window.size.min(initial);
            return;
        }
        let halvings = ((idle.as_nanos() - 1) / rto.as_nanos().max(1)).min(31);
        window.threshold = threshold;
        window.size = (window.size >> halvings).max(initial.min(window.size));
        self.usage.forget(now);
        self.control.tell(now, &Event::Restarted);
    }

    /// New data went out, or could not since the window is full (`limited`). Returns whether part of the window has
    /// been unused for a time-out, so that it may shrink.
    #[inline(always)]
    #[must_use]
    pub fn validate(&mut self, now: Time, limited: bool, board: &Scoreboard, rtt: &Rtt) -> bool {
        if limited {
            self.usage.fill(now, board);
            return false;
        }
        let unused_since = self.usage.follow(now, board, self.control.window());
        unused_since.is_some_and(|since| now.since(since) >= rtt.rto())
            && self.settings.cwnd_validation
            && !self.control.drives()
    }

    /// The window shrinks half way to what is used, unless the application waits until it can write more: then the
    /// receiver limits it (Linux's `tcp_cwnd_application_limited`). What is unused counts from now on either way.
    pub fn shrink_unused(&mut self, now: Time, waits_to_write: bool) {
        if self.state == CongestionState::Open
            && !waits_to_write
            && let Some(size) = self.usage.shrunk(self.window().size, self.initial)
        {
            let threshold = self.threshold_now();
            let window = self.control.window_mut();
            (window.size, window.threshold) = (size, threshold);
        }
        self.usage.restart(now);
    }
}

#[cfg(test)]
mod tests;
