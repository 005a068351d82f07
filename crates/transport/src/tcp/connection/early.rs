//! Data before the handshake is over (RFC 7413 section 4).

use units::Time;

use super::super::config::FastOpenMode;
use super::super::fast_open::{Cookie, PeerMemory};
use super::super::segment::{Flags, Segment, SynOptions};
use super::Connection;

impl Connection {
    /// Hands in the memory of the peer from earlier connections. To be called before the SYN is sent.
    pub fn recall(&mut self, memory: PeerMemory) {
        if let Some(fast_open) = &mut self.fast_open {
            fast_open.memory = memory;
        }
    }

    /// Returns the memory of the peer's cookie and segment size, if Fast Open is in use.
    pub fn memory(&self) -> Option<PeerMemory> {
        self.fast_open.as_ref().map(|fast_open| fast_open.memory)
    }

    /// Hands in the cookie that this end gives its peer. To be called before the SYN arrives.
    pub fn give(&mut self, cookie: Cookie) {
        if let Some(fast_open) = &mut self.fast_open {
            fast_open.cookie = cookie;
        }
    }

    /// Bytes of data that a SYN can carry to the peer.
    pub fn syn_room(&self) -> u32 {
        let bare = self.settings.fast_open == FastOpenMode::Bare;
        self.fast_open.as_ref().map_or(0, |fast_open| fast_open.room(self.settings.advertised_mss(), bare))
    }

    /// Whether data of the SYN were taken, here or by the peer.
    pub fn opened_fast(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|fast_open| fast_open.succeeded)
    }

    /// Bytes of data in the SYN that was sent.
    pub(super) fn syn_data(&self) -> u64 {
        self.fast_open.as_ref().map_or(0, |fast_open| u64::from(fast_open.syn_data))
    }

    /// The first SYN shows a cookie and carries data, or asks for a cookie; the first SYN-ACK gives one.
    pub(super) fn fill_fast_open(&mut self, segment: &mut Segment) {
        let room = self.syn_room();
        let bare = self.settings.fast_open == FastOpenMode::Bare;
        let (Some(fast_open), Some(syn)) = (&mut self.fast_open, &mut segment.syn) else { return };
        if segment.flags.has(Flags::ACK) {
            syn.fast_open = fast_open.gives;
            return;
        }
        syn.fast_open = (!bare).then(|| fast_open.syn_option());
        fast_open.syn_data = self.send.unsent().min(room.into()) as u32;
        segment.len = fast_open.syn_data;
        self.counters.data_segments_sent += u64::from(segment.len > 0);
        self.counters.data_bytes_sent += u64::from(segment.len);
    }

    /// Whether the data of a SYN are taken before the handshake is over, and may be answered at once.
    pub(super) fn admits_early(&mut self, segment: &Segment, options: SynOptions) -> bool {
        let bare = self.settings.fast_open == FastOpenMode::Bare;
        let Some(fast_open) = &mut self.fast_open else { return false };
        let admitted = fast_open.admits(options.fast_open, segment.len, bare);
        fast_open.succeeded = admitted && segment.len > 0;
        admitted
    }

    /// Reads from a SYN-ACK the cookie, and whether it acknowledges the data of our SYN, which was `retransmitted`.
    pub(super) fn follow_fast_open(&mut self, now: Time, segment: &Segment, options: SynOptions, retransmitted: bool) {
        let Some(fast_open) = &mut self.fast_open else { return };
        fast_open.learn(options.fast_open, options.mss, retransmitted);
        fast_open.succeeded = fast_open.syn_data > 0 && segment.ack > u64::from(fast_open.syn_data);
        self.counters.bytes_acked += segment.ack - 1;
        let whole = segment.ack > u64::from(fast_open.syn_data);
        self.take_syn_data(now, segment);
        if whole && self.send.unsent() > 0 {
            self.recv.last_arrival = Some(now); // what Linux has waiting to be sent answers the SYN-ACK
        }
    }

    /// The data of a SYN arrive, and its FIN.
    pub(super) fn take_syn_data(&mut self, now: Time, segment: &Segment) {
        let kept = [Flags::PSH, Flags::FIN].into_iter().filter(|flag| segment.flags.has(*flag));
        let flags = kept.fold(Flags::ACK, |flags, flag| flags | flag);
        if segment.len > 0 || flags.has(Flags::FIN) {
            let data = Segment { seq: 1, flags, syn: None, ..*segment };
            self.recv.handle_data(now, &data, false);
            self.recv.last_arrival = None; // as Linux, which does not measure by them
        }
        if self.recv.finished() {
            self.follow_teardown();
        }
    }
}
