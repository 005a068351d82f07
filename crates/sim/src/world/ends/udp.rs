//! The two ends of a flow of datagrams.

use traffic::{Action, End};
use transport::{Datagram, UdpSender};

use crate::packet::Way;

/// Both ends send, and count what arrives.
#[derive(Debug, Default)]
pub(in crate::world) struct UdpEnds {
    server: UdpSender,
    user: UdpSender,
    /// Payload that has arrived at the user, and at the server.
    delivered: [u64; 2],
    /// The server sends no more.
    finished: bool,
}

impl UdpEnds {
    pub(super) fn act(&mut self, end: End, action: Action) {
        match action {
            Action::Write(bytes) => self.sender(Way::of(end)).write(bytes),
            Action::Close => self.finished |= end == End::Server,
            // There is nothing to open, and what always has more to send is refused with the scenario.
            Action::Open | Action::WriteForEver => {}
        }
    }

    pub(super) fn has_finished(&self) -> bool {
        self.finished
    }

    #[inline]
    pub(super) fn handle_datagram(&mut self, way: Way, datagram: &Datagram) {
        self.delivered[way as usize] += u64::from(datagram.len);
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, way: Way) -> Option<Datagram> {
        self.sender(way).poll_transmit()
    }

    #[inline]
    pub(super) fn delivered_bytes(&self, way: Way) -> u64 {
        self.delivered[way as usize]
    }

    #[inline]
    fn sender(&mut self, way: Way) -> &mut UdpSender {
        match way {
            Way::Forward => &mut self.server,
            Way::Backward => &mut self.user,
        }
    }
}
