//! How much of the window is used (RFC 2861, section 3, as in Linux; RFC 7661, which replaces it, is not followed).

use units::Time;

use crate::congestion::Window;
use crate::tcp::send::scoreboard::Scoreboard;

#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Whether the window was full in this round trip, the most that was outstanding, and where the round trip ends.
    limited: bool,
    most_out: u32,
    until: u64,
    /// The most that was outstanding since the window was full last, and when that was.
    used: u32,
    full_at: Time,
}

impl Usage {
    pub fn new() -> Usage {
        Usage { limited: false, most_out: 0, until: 1, used: 0, full_at: Time::ZERO }
    }

    /// The window was set anew: what is unused counts from now on.
    pub fn restart(&mut self, now: Time) {
        self.full_at = now;
    }

    /// Begins to follow the window anew, and forgets what was used.
    pub fn forget(&mut self, now: Time) {
        (self.used, self.full_at) = (0, now);
    }

    /// Whether the window, not the application or the peer, holds back data: in slow start it may be twice what is
    /// used.
    #[inline]
    pub fn is_window_limited<'a>(&self, window: impl FnOnce() -> &'a Window) -> bool {
        if self.limited {
            return true; // the controller is not asked
        }
        let window = window();
        window.in_slow_start() && window.size < self.most_out.saturating_mul(2)
    }

    /// Whether the window was full in this round trip.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.limited
    }

    /// New data went out or could not, and the window is full: of all signs in a round trip the strongest.
    #[inline]
    pub fn fill(&mut self, now: Time, board: &Scoreboard) {
        self.begin_round(true, board);
        self.forget(now);
    }

    #[inline]
    fn begin_round(&mut self, limited: bool, board: &Scoreboard) {
        self.limited = limited;
        self.most_out = board.out();
        self.until = board.nxt();
    }

    /// New data went out, and the window is not full. The strongest sign in each round trip decides whether it was
    /// full. Returns whether it has been unused in part, and since when.
    #[inline]
    pub fn follow(&mut self, now: Time, board: &Scoreboard, window: &Window) -> Option<Time> {
        let out = board.out();
        if board.una() >= self.until || !self.limited && out > self.most_out {
            self.begin_round(false, board);
        }
        if self.is_window_limited(|| window) {
            self.forget(now);
            return None;
        }
        self.used = self.used.max(out);
        Some(self.full_at)
    }

    /// RFC 2861, section 3, as Linux has it: the window half way to what is used, which is at least `initial`. `None`
    /// if all is used.
    pub fn shrunk(&mut self, window: u32, initial: u32) -> Option<u32> {
        let used = self.used.max(initial);
        self.used = 0;
        (used < window).then(|| (window + used) / 2)
    }
}
