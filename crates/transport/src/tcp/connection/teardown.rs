//! How a connection ends: by the FINs of both sides, or at once (RFC 9293 section 3.6).

use super::super::info::State;
use super::Connection;
use super::prediction::Prediction;
use super::reset::Reset;

impl Connection {
    /// The application has written all: a FIN follows. It still reads.
    pub fn close(&mut self) {
        self.prediction = Prediction::Unknown;
        self.send.close();
    }

    /// The application has exited: it has written all, and reads no more. Unread data and data that arrive later are
    /// answered by a reset, so that the peer knows that they were lost (RFC 9293 section 3.6.1, SHLD-3). A
    /// connection that is not open yet is forgotten (section 3.10.4).
    pub fn abandon(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.give_up(),
            _ if self.recv.readable() > 0 => self.abort(),
            _ => {
                self.abandoned = true;
                self.close();
            }
        }
    }

    /// Ends the connection at once; the peer gets a reset.
    pub fn abort(&mut self) {
        let synchronized = !matches!(self.state, State::Listen | State::SynSent | State::Closed);
        self.give_up();
        self.reset(synchronized.then_some(Reset::Abort));
    }

    /// Ends the connection at once; nothing more is sent.
    pub(super) fn give_up(&mut self) {
        self.prediction = Prediction::Unknown;
        self.state = State::Closed;
        self.gone = true;
        self.handshake = None;
        self.send.stop();
        self.recv.on_acknowledged();
    }

    /// The state follows from which FINs were sent, received and acknowledged.
    #[cold]
    pub(super) fn follow_teardown(&mut self) {
        if self.is_open_early() {
            return; // as in Linux the handshake ends first
        }
        let before = self.state;
        self.state = match (self.send.fin_sent(), self.send.fin_acknowledged(), self.recv.finished()) {
            (false, _, false) => State::Established,
            (false, _, true) => State::CloseWait,
            (true, false, false) => State::FinWait1,
            (true, true, false) => State::FinWait2,
            (true, false, true) if matches!(before, State::CloseWait | State::LastAck) => State::LastAck,
            (true, false, true) => State::Closing,
            (true, true, true) => State::Closed,
        };
        if self.has_finished() {
            self.send.release();
        }
        if self.recv.finished() {
            self.recv.release();
        }
        // The end that closed first waits for a repeated FIN of the peer (TIME-WAIT); the other end does not.
        self.gone |= before == State::LastAck && self.state == State::Closed;
    }
}
