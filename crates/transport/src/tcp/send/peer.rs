//! The window that the peer offers (RFC 9293 section 3.10.7.4).

#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    /// Right edge of the window, and the sequence and acknowledgment numbers of the segment that advertised it (RFC
    /// 9293 SND.WL1, SND.WL2).
    edge: u64,
    seq: u64,
    ack: u64,
    /// The largest window that the peer offered.
    largest: u64,
}

impl PeerWindow {
    pub fn new() -> PeerWindow {
        PeerWindow { edge: 1, seq: 0, ack: 0, largest: 0 }
    }

    /// The window of a SYN or of the acknowledgment of ours.
    pub fn start(&mut self, seq: u64, ack: u64, window: u64) {
        self.edge = ack.max(1).saturating_add(window);
        (self.seq, self.ack) = (seq, ack);
        self.largest = self.largest.max(window);
    }

    /// The window is taken from the newest segment. Whether it changed; `None` if the segment is older.
    #[inline(always)]
    pub fn update(&mut self, seq: u64, ack: u64, window: u64) -> Option<bool> {
        if seq < self.seq || seq == self.seq && ack < self.ack {
            return None;
        }
        let changed = self.edge != self.ack.saturating_add(window);
        self.edge = ack.saturating_add(window);
        (self.seq, self.ack) = (seq, ack);
        self.largest = self.largest.max(window);
        Some(changed)
    }

    /// Offset after the last byte that may be sent.
    #[inline]
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Bytes that may be sent from `nxt` on.
    #[inline]
    pub fn usable(&self, nxt: u64) -> u64 {
        self.edge.saturating_sub(nxt)
    }

    /// Whether it is worth a segment that is not full (RFC 9293 section 3.8.6.2.1).
    pub fn is_half_of_largest(&self, usable: u64) -> bool {
        usable >= self.largest / 2
    }
}
