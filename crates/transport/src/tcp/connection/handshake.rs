//! The SYN or SYN-ACK of one end: when it is sent, and the round-trip time that its answer gives (RFC 6298 section 5).

use units::{Duration, Time};

use super::super::config::Settings;
use super::super::segment::SynOptions;
use super::super::send::{echo_age, timestamp};

/// Expiries of the timer for a SYN that come at the same intervals in Linux (`tcp_syn_linear_timeouts`).
const LINEAR: u32 = 4;

/// The SYN or SYN-ACK in flight, and what the peer's said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// The segment is to be sent (again).
    pub due: bool,
    /// Our SYN-ACK is not acknowledged, and data may go nevertheless (TCP Fast Open).
    pub early: bool,
    pub timer: Time,
    /// Expiries of the timer.
    pub expiries: u32,
    /// How often it was sent.
    pub sent: u32,
    sent_at: Time,
    /// The timestamp of the first.
    first_stamp: u32,
    pub peer: Option<SynOptions>,
}

impl Handshake {
    pub fn new(now: Time) -> Handshake {
        Handshake {
            due: false,
            early: false,
            timer: Time::MAX,
            expiries: 0,
            sent: 0,
            sent_at: now,
            first_stamp: 0,
            peer: None,
        }
    }

    /// The segment is sent, and is sent again unless it is answered in time.
    pub fn on_sent(&mut self, now: Time, settings: &Settings) {
        if self.sent == 0 {
            self.first_stamp = timestamp(now);
        }
        self.due = false;
        self.sent += 1;
        self.sent_at = now;
        let linear = if settings.linux_handshake && self.peer.is_none() { LINEAR } else { 0 };
        let rto = settings.initial_rto * (1 << self.expiries.saturating_sub(linear).min(16));
        self.timer = now + rto.min(settings.max_rto);
    }

    /// Returns whether the timer expired.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let expired = self.timer <= now;
        if expired {
            self.timer = Time::MAX;
            self.expiries += 1;
            self.due = true;
        }
        expired
    }

    /// The time between our SYN and its answer, which echoes this timestamp. Karn: which of several SYNs was answered
    /// is not known, unless by its timestamp.
    pub fn rtt(&self, now: Time, echo: Option<u32>) -> Option<Duration> {
        match self.sent {
            1 => Some(now.since(self.sent_at)),
            _ => echo.and_then(|echo| echo_age(now, echo)),
        }
    }

    /// Whether a SYN was lost. Linux takes one expiry for the fault of the short time-out, and none for a loss if the
    /// answer's timestamp shows that the first SYN has arrived.
    pub fn lost(&self, settings: &Settings, echo: Option<u32>) -> bool {
        let forgiven = if settings.linux_handshake { 1 } else { 0 };
        self.expiries > forgiven && echo != Some(self.first_stamp)
    }
}
