//! How far a connection is: its handshake, its ends, and a reset that is due.

use super::super::info::State;
use super::Connection;
use super::handshake::Handshake;
use super::reset::Reset;

impl Connection {
    /// Returns the handshake of a connection that is not open yet.
    pub(super) fn handshake(&mut self) -> &mut Handshake {
        self.handshake.as_mut().expect("a connection that is not open yet")
    }

    /// Whether the handshake is not over and data may go nevertheless.
    pub fn is_open_early(&self) -> bool {
        self.handshake.as_ref().is_some_and(|handshake| handshake.early)
    }

    /// Whether both sides know of the connection (the synchronized states of RFC 9293 section 3.3.2), and it is not
    /// given up.
    #[inline(always)]
    pub(super) fn is_synchronized(&self) -> bool {
        !(self.gone || matches!(self.state, State::Listen | State::SynSent | State::SynReceived))
    }

    /// Whether nothing more comes from the peer: its FIN has arrived with all before it, or the connection is over.
    pub fn has_been_closed(&self) -> bool {
        matches!(self.state, State::CloseWait | State::Closing | State::LastAck | State::Closed)
    }

    /// Whether this end is done sending: its FIN is acknowledged, or the connection is over.
    pub fn has_finished(&self) -> bool {
        matches!(self.state, State::FinWait2 | State::Closed)
    }

    /// Whether the FIN was sent.
    pub(crate) fn fin_sent(&self) -> bool {
        self.send.fin_sent()
    }

    /// Makes this reset the next segment, if there is one.
    #[cold]
    pub(super) fn reset(&mut self, reset: Option<Reset>) {
        self.reset_due = reset.map(Box::new);
    }
}
