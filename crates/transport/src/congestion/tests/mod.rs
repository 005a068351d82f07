//! What every controller holds to, and the numbers of the documents they come from.

mod bbr;
mod bbr3;
mod cubic;
mod external;
mod hystart;
mod newreno;
mod noordwijk;
mod path;
mod peach;
mod prague;
mod registry;
mod vegas;
mod westwood;

use std::sync::Arc;

use serde_json::json;
use units::{Duration, Time};

use super::{
    AckSample, Answer, Cause, Congestion, CongestionConfig, CongestionController, Control, Event, Kind, MakeControl,
    Needs, Profile, Start, View, Window,
};
use crate::probes::Probes;
use crate::state::CongestionState;

pub(super) const MSS: u32 = 1000;
pub(super) const RTT: Duration = Duration::from_millis(100);

/// A controller with what its sender keeps for it.
pub(super) struct Rig {
    pub(super) controller: Box<dyn CongestionController>,
    pub(super) needs: Needs,
    pub(super) probes: Probes,
}

impl Rig {
    pub(super) fn new(controller: Box<dyn CongestionController>) -> Rig {
        Rig { needs: controller.needs(), controller, probes: Probes::default() }
    }

    pub(super) fn window(&self) -> Window {
        *self.controller.window()
    }

    pub(super) fn window_mut(&mut self) -> &mut Window {
        self.controller.window_mut()
    }

    pub(super) fn tell(&mut self, now: Time, event: Event) {
        self.controller.on_event(now, &event);
        self.probes.request(now, &self.controller.poll_probes());
    }

    pub(super) fn acknowledge(&mut self, sample: &AckSample) {
        self.controller.on_ack(sample);
        self.probes.request(sample.now, &self.controller.poll_probes());
    }

    /// A reduction begins, all of it at once.
    pub(super) fn reduce(&mut self, congestion: Congestion) {
        self.tell(congestion.now, Event::Congestion(congestion));
        if !self.needs.drives {
            let window = self.window_mut();
            window.size = window.size.min(window.threshold);
        }
    }

    pub(super) fn collapse(&mut self, now: Time) {
        self.window_mut().collapse(1);
        self.tell(now, Event::TimedOut);
    }

    pub(super) fn timer(&self) -> Option<Time> {
        let own = self.controller.poll_timeout().filter(|_| self.needs.timer).unwrap_or(Time::MAX);
        Some(own.min(self.probes.timer())).filter(|&at| at != Time::MAX)
    }

    pub(super) fn handle_timeout(&mut self, now: Time, in_flight: u32) {
        self.probes.handle_timeout(now);
        if self.needs.timer {
            self.tell(now, Event::Timeout { in_flight });
        }
        assert!(self.timer().is_none_or(|at| at > now));
    }
}

/// A sender that always has data, and a path that acknowledges each segment a round trip after it was sent.
pub(super) struct Drive {
    pub(super) rig: Rig,
    pub(super) now: Time,
    pub(super) rtt: Duration,
    pub(super) una: u64,
    pub(super) delivered: u64,
    /// The window before the last reduction.
    pub(super) before: u32,
}

impl Drive {
    /// At the start of a connection, established after a round trip; slow start counts all that is acknowledged.
    pub(super) fn new(config: &dyn Kind, initial: u32, rtt: Duration) -> Drive {
        let mut drive = Drive {
            rig: Rig::new(config.build(start(initial))),
            now: Time::ZERO + rtt,
            rtt,
            una: 1,
            delivered: 0,
            before: initial,
        };
        drive.rig.tell(drive.now, Event::Established { srtt: rtt });
        drive
    }

    pub(super) fn of_kind(kind: &str, initial: u32) -> Drive {
        Drive::new(config(kind).entry(), initial, RTT)
    }

    pub(super) fn limited(mut self, limit: u32) -> Drive {
        *self.window_mut() = Window::new(self.window().size, limit);
        self
    }

    pub(super) fn window(&self) -> Window {
        self.rig.window()
    }

    pub(super) fn window_mut(&mut self) -> &mut Window {
        self.rig.window_mut()
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.rig.tell(self.now, event);
    }

    pub(super) fn sample(&self, acked: u32) -> AckSample {
        AckSample {
            in_flight_before: self.window().size,
            in_flight: self.window().size.saturating_sub(acked),
            delivered_total: self.delivered,
            una: self.una,
            nxt: self.una + u64::from(self.window().size) * u64::from(MSS),
            ..sample(self.now, acked, self.rtt)
        }
    }

    /// An acknowledgment of so many segments.
    pub(super) fn ack(&mut self, acked: u32) {
        self.una += u64::from(acked) * u64::from(MSS);
        self.delivered += u64::from(acked);
        let sample = self.sample(acked);
        self.handle(&sample);
    }

    pub(super) fn handle(&mut self, sample: &AckSample) {
        self.rig.acknowledge(sample);
    }

    /// One acknowledgment for each segment in the window, evenly over a round trip.
    pub(super) fn round(&mut self) {
        let segments = u64::from(self.window().size);
        let start = self.now;
        for i in 0..segments {
            self.now = start + self.rtt * i / segments;
            self.ack(1);
        }
        self.now = start + self.rtt;
    }

    /// One acknowledgment for each segment in the window, all at the end of a round trip.
    pub(super) fn burst(&mut self) {
        self.now += self.rtt;
        (0..self.window().size).for_each(|_| self.ack(1));
    }

    pub(super) fn congestion(&self, cause: Cause) -> Congestion {
        Congestion {
            now: self.now,
            cause,
            from: self.window().size,
            in_flight: self.window().size,
            srtt: self.rtt,
            min_rtt: self.rtt,
            mss: MSS,
        }
    }

    /// A loss detected with a full window in flight, and repaired in a round trip.
    pub(super) fn lose(&mut self) {
        self.reduce();
        self.now += self.rtt;
        self.tell(Event::Recovered);
    }

    pub(super) fn reduce(&mut self) {
        let congestion = self.congestion(Cause::Loss);
        self.rig.reduce(congestion);
    }

    pub(super) fn time_out(&mut self) {
        let congestion = self.congestion(Cause::Timeout);
        self.before = self.window().size;
        self.rig.tell(self.now, Event::Congestion(congestion));
        self.rig.collapse(self.now);
    }

    /// The average window, in segments, when each `period`-th segment is lost: the segments delivered in a round trip.
    pub(super) fn average_window(&mut self, period: u64) -> f64 {
        let (mut round_trips, mut segments) = (0.0, 0u64);
        for cycle in 0..60 {
            if cycle == 20 {
                (round_trips, segments) = (0.0, 0);
            }
            for _ in 0..period {
                let share = 1.0 / f64::from(self.window().size);
                self.now += self.rtt.mul_f64(share);
                round_trips += share;
                self.ack(1);
            }
            segments += period;
            self.reduce();
            self.tell(Event::Recovered);
        }
        segments as f64 / round_trips
    }
}

/// An acknowledgment in the open state of a sender whose window is full.
pub(super) fn sample(now: Time, acked: u32, rtt: Duration) -> AckSample {
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
        may_grow: true,
        window_limited: true,
        window_full: true,
        state: CongestionState::Open,
        ece: false,
        marked: 0,
        marked_bytes: 0,
        paced: false,
        mss: MSS,
    }
}

pub(super) fn start(window: u32) -> Start {
    Start {
        mss: MSS,
        window,
        counting_limit: u32::MAX,
        entropy: 1,
        by_acknowledgment: false,
        of_linux_2_6_22: false,
        timestamps: true,
    }
}

/// Refuses a configuration by this field.
pub(super) fn refuses(text: &str, field: &str) {
    let config: CongestionConfig = toml::from_str(text).expect(text);
    assert_eq!(config.entry().check().expect_err(text).field, field);
}

/// NewReno by numbers with fractions, as a script would write it.
struct Halving;

impl Control for Halving {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn on_ack(&mut self, sample: &AckSample, view: View) -> Answer {
        if !sample.may_grow || !sample.window_limited {
            return Answer::default();
        }
        let acked = f64::from(sample.delivered);
        let growth = if view.window < view.threshold { acked } else { acked / view.window };
        Answer { window: Some(view.window + growth), ..Answer::default() }
    }

    fn on_event(&mut self, _now: Time, _event: &Event, _view: View) -> Answer {
        Answer::default()
    }
}

pub(super) fn find(name: &str) -> Option<MakeControl> {
    (name == "test").then(|| Arc::new(|_: &Start| Box::new(Halving) as Box<dyn Control>) as MakeControl)
}

/// Of its defaults; a script's controller is the one of these tests.
pub(super) fn config(kind: &str) -> CongestionConfig {
    let given = if kind == "external" { json!({ "kind": kind, "name": "test" }) } else { json!({ "kind": kind }) };
    let mut config: CongestionConfig = serde_json::from_value(given).expect("every option has a default");
    config.entry_mut().supply(&mut find).expect("the one of these tests");
    config
}
