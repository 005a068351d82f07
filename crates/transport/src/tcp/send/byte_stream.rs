//! The bytes that the application has written, and which of them may wait.

use super::scoreboard::Scoreboard;

/// The way from the application: bytes to send and the FIN after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteStream {
    /// Offset after the last byte that the application wrote.
    end: u64,
    fin: Fin,
    /// Nagle's algorithm holds back a segment that is not full.
    nagle: bool,
    /// The application holds back all that is not full (`TCP_CORK`), or says with what it wrote last that more is to
    /// come.
    cork: bool,
    more: bool,
    /// Data below this offset are sent although they do not fill a segment.
    pushed: bool,
    /// Offset after the last segment that was not full.
    small_end: u64,
}

/// The FIN after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    None,
    Wanted,
    Sent,
}

impl ByteStream {
    pub fn new(nagle: bool) -> ByteStream {
        ByteStream { end: 1, fin: Fin::None, nagle, cork: false, more: false, pushed: false, small_end: 0 }
    }

    /// Whether the application may still write.
    pub fn is_open(&self) -> bool {
        self.fin == Fin::None
    }

    pub fn write(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
        (self.more, self.pushed) = (false, false);
    }

    pub fn expect_more(&mut self) {
        self.more = true;
    }

    /// A segment of the peer arrived: data no longer wait for more of the application (`MSG_MORE`).
    #[inline]
    pub fn stop_waiting(&mut self) {
        self.more = false;
    }

    pub fn close(&mut self) {
        if self.fin == Fin::None {
            self.fin = Fin::Wanted;
        }
    }

    pub fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
        self.pushed = !on;
    }

    pub fn set_cork(&mut self, on: bool) {
        self.cork = on;
    }

    /// Offset after the last byte written.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Bytes written from `nxt` on; none once the FIN is sent.
    #[inline]
    pub fn waiting(&self, nxt: u64) -> u64 {
        self.end.saturating_sub(nxt.max(1))
    }

    /// Whether new data or a FIN wait to be sent from `nxt` on.
    #[inline]
    pub fn has_unsent(&self, nxt: u64) -> bool {
        self.end > nxt.max(1) || self.fin == Fin::Wanted
    }

    #[inline]
    pub fn wants_fin(&self) -> bool {
        self.fin == Fin::Wanted
    }

    #[inline]
    pub fn fin_sent(&self) -> bool {
        self.fin == Fin::Sent
    }

    pub fn on_fin_sent(&mut self) {
        self.fin = Fin::Sent;
    }

    /// A segment that was not full went out, up to `end`.
    #[inline]
    pub fn on_small_sent(&mut self, end: u64) {
        self.small_end = end;
    }

    /// Whether a segment that is not full waits: for the application, or for another small one (RFC 9293 section
    /// 3.7.4). Nagle's algorithm as modified by Minshall: a small segment waits for another small one only.
    pub fn holds_small(&self, board: &Scoreboard) -> bool {
        !self.pushed && (self.cork || self.more || self.small_is_out(board))
    }

    /// Whether a small segment is not acknowledged, and others wait for that.
    pub fn small_is_out(&self, board: &Scoreboard) -> bool {
        self.nagle && board.outstanding() && self.small_end > board.una()
    }
}
