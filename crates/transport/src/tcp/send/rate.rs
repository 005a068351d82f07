//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation), for controllers that ask for them.

use units::{Duration, Time};

use super::scoreboard::slot::{APP_LIMITED, SentState, Slot, is_after};
use crate::congestion::RateSample;

/// The sums of a connection from which samples are taken.
#[derive(Debug)]
pub(super) struct RateSampler {
    delivered_at: Time,
    first_sent_at: Time,
    /// Segments delivered when the last gap left by the application will have passed.
    app_limited_until: Option<u64>,
    newest: Option<Newest>,
}

/// The segment sent last of those that an acknowledgment covers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    state: SentState,
    sent_at: Time,
    order: u32,
    retransmitted: bool,
}

impl RateSampler {
    pub fn new() -> RateSampler {
        RateSampler { delivered_at: Time::ZERO, first_sent_at: Time::ZERO, app_limited_until: Some(0), newest: None }
    }

    /// A segment goes out while `in_flight` others are in flight.
    pub fn on_send(&mut self, now: Time, in_flight: u32, idle: bool, delivered: u64, lost: u64) -> SentState {
        if idle {
            self.delivered_at = now;
            self.first_sent_at = now;
        }
        let app_limited = if self.app_limited_until.is_some() { APP_LIMITED } else { 0 };
        SentState {
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            delivered: delivered as u32,
            lost: lost as u32,
            tx_in_flight: (in_flight + 1) | app_limited,
        }
    }

    /// A segment was delivered.
    pub fn on_delivered(&mut self, slot: &Slot, state: SentState) {
        if self.newest.is_some_and(|newest| is_after(newest.order, slot.order)) {
            return;
        }
        self.newest =
            Some(Newest { state, sent_at: slot.sent_at, order: slot.order, retransmitted: slot.was_retransmitted() });
    }

    /// Returns the sample of the acknowledgment that reported these deliveries.
    pub fn sample(
        &mut self,
        now: Time,
        delivered: u64,
        lost: u64,
        news: bool,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        if self.app_limited_until.is_some_and(|until| delivered > until) {
            self.app_limited_until = None;
        }
        if news {
            self.delivered_at = now;
        }
        let newest = self.newest.take()?;
        self.first_sent_at = newest.sent_at;
        let since = (delivered as u32).wrapping_sub(newest.state.delivered);
        let send_phase = newest.sent_at.since(newest.state.first_sent_at);
        let ack_phase = now.since(newest.state.delivered_at);
        let interval = send_phase.max(ack_phase);
        Some(RateSample {
            delivered: since,
            lost: (lost as u32).wrapping_sub(newest.state.lost),
            prior_delivered: delivered - u64::from(since),
            tx_in_flight: newest.state.tx_in_flight & !APP_LIMITED,
            interval: (interval >= min_rtt && !interval.is_zero()).then_some(interval),
            app_limited: newest.state.tx_in_flight & APP_LIMITED != 0,
            retransmitted: newest.retransmitted,
        })
    }

    /// Whether the application, or the beginning of the connection, limits what is being measured.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// The application has nothing more to send while the path has room.
    pub fn on_app_limited(&mut self, delivered: u64, in_flight: u32) {
        self.app_limited_until = Some((delivered + u64::from(in_flight)).max(1));
    }
}
