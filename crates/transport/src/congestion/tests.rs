//! What every controller holds to, and the numbers of the documents they come from.

mod bbr;
mod bbr3;
mod cubic;
mod hybla;
mod hystart;
mod newreno;
mod noordwijk;
mod path;
mod peach;
mod registry;
mod vegas;
mod westwood;

use serde_json::json;
use units::{Duration, Time};

use super::{
    AckSample, Cause, Congestion, CongestionConfig, CongestionController, Event, Options, Profile, Start, Window,
};
use crate::tcp::CongestionState;

const MSS: u32 = 1000;
const RTT: Duration = Duration::from_millis(100);

/// A sender that always has data, and a path that acknowledges each segment a round trip after it was sent.
struct Drive {
    controller: Box<dyn CongestionController>,
    window: Window,
    now: Time,
    rtt: Duration,
    una: u64,
    delivered: u64,
    /// The window before the last reduction.
    before: u32,
}

impl Drive {
    /// At the start of a connection, established after a round trip; slow start counts all that is acknowledged.
    fn new(config: &dyn Options, initial: u32, rtt: Duration) -> Drive {
        let mut drive = Drive {
            controller: config.build(start(initial)),
            window: Window::new(initial, u32::MAX),
            now: Time::ZERO + rtt,
            rtt,
            una: 1,
            delivered: 0,
            before: initial,
        };
        drive.controller.on_established(&mut drive.window, drive.now, rtt);
        drive
    }

    fn of_kind(kind: &str, initial: u32) -> Drive {
        Drive::new(config(kind).options(), initial, RTT)
    }

    fn limited(mut self, limit: u32) -> Drive {
        self.window = Window::new(self.window.size, limit);
        self
    }

    fn sample(&self, acked: u32) -> AckSample {
        AckSample {
            in_flight_before: self.window.size,
            in_flight: self.window.size.saturating_sub(acked),
            delivered_total: self.delivered,
            una: self.una,
            nxt: self.una + u64::from(self.window.size) * u64::from(MSS),
            ..sample(self.now, acked, self.rtt)
        }
    }

    /// An acknowledgment of so many segments.
    fn ack(&mut self, acked: u32) {
        self.una += u64::from(acked) * u64::from(MSS);
        self.delivered += u64::from(acked);
        let sample = self.sample(acked);
        self.handle(&sample);
    }

    fn handle(&mut self, sample: &AckSample) {
        self.controller.on_measure(&mut self.window, sample);
        self.controller.on_ack(&mut self.window, sample);
    }

    /// One acknowledgment for each segment in the window, evenly over a round trip.
    fn round(&mut self) {
        let segments = u64::from(self.window.size);
        let start = self.now;
        for i in 0..segments {
            self.now = start + self.rtt * i / segments;
            self.ack(1);
        }
        self.now = start + self.rtt;
    }

    /// One acknowledgment for each segment in the window, all at the end of a round trip.
    fn burst(&mut self) {
        self.now += self.rtt;
        (0..self.window.size).for_each(|_| self.ack(1));
    }

    fn congestion(&self, cause: Cause) -> Congestion {
        Congestion {
            now: self.now,
            cause,
            from: self.window.size,
            in_flight: self.window.size,
            srtt: self.rtt,
            min_rtt: self.rtt,
            mss: MSS,
        }
    }

    /// A loss detected with a full window in flight, and repaired in a round trip.
    fn lose(&mut self) {
        self.reduce();
        self.now += self.rtt;
        self.controller.on_event(&mut self.window, self.now, Event::Recovered);
    }

    fn reduce(&mut self) {
        let congestion = self.congestion(Cause::Loss);
        self.window.threshold = self.controller.threshold(&self.window, &congestion);
        if !self.controller.drives() {
            self.window.size = self.window.size.min(self.window.threshold);
        }
    }

    fn time_out(&mut self) {
        let congestion = self.congestion(Cause::Timeout);
        self.before = self.window.size;
        self.window.threshold = self.controller.threshold(&self.window, &congestion);
        self.window.collapse(1);
        self.controller.on_event(&mut self.window, self.now, Event::TimedOut);
    }

    /// The average window, in segments, when each `period`-th segment is lost: the segments delivered in a round trip.
    fn average_window(&mut self, period: u64) -> f64 {
        let (mut round_trips, mut segments) = (0.0, 0u64);
        for cycle in 0..60 {
            if cycle == 20 {
                (round_trips, segments) = (0.0, 0);
            }
            for _ in 0..period {
                let share = 1.0 / f64::from(self.window.size);
                self.now += self.rtt.mul_f64(share);
                round_trips += share;
                self.ack(1);
            }
            segments += period;
            self.reduce();
            self.controller.on_event(&mut self.window, self.now, Event::Recovered);
        }
        segments as f64 / round_trips
    }
}

/// An acknowledgment in the open state of a sender whose window is full.
fn sample(now: Time, acked: u32, rtt: Duration) -> AckSample {
    AckSample {
        now,
        acked,
        delivered: acked,
        lost: 0,
        delivered_total: u64::from(acked),
        lost_total: 0,
        in_flight_before: acked,
        in_flight: 0,
        una: 1,
        nxt: 1,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        rate: None,
        window_limited: true,
        state: CongestionState::Open,
        ece: false,
        paced: false,
        mss: MSS,
    }
}

fn start(window: u32) -> Start {
    Start { mss: MSS, window, entropy: 1 }
}

fn config(kind: &str) -> CongestionConfig {
    serde_json::from_value(json!({ "kind": kind })).expect("every option has a default")
}
