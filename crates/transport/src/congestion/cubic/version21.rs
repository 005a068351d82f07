//! CUBIC 2.1, of Linux 2.6.22 and ns-2. It counts acknowledgments, and divides by how many segments one of them
//! answers; its growth is limited to 16 segments in 100 ms; a time-out makes it forget everything. Windows are whole
//! segments, times milliseconds.

use units::{Duration, Time};

use super::super::{AckSample, Event, Window};
use super::constants::Constants;
use crate::state::CongestionState;

/// 1/32 s, in milliseconds: how long the step holds while the window stays.
const HOLD: u64 = 31;
/// Round-trip times are not looked at for so many milliseconds after a stage began.
const UNSETTLED: u64 = 1000;
/// The curve counts time in 1/1024 s, and C in 1/1024 for a round trip of 100 ms.
const FINE: u64 = 1024;
/// Segments by which the window may grow in 100 ms beyond the plateau.
const MOST_GROWTH: u64 = 16;
/// Acknowledged segments for a segment more before the first loss.
const BEFORE_LOSS: u32 = 50;
/// Sixteenths: how many segments an acknowledgment answers, at the beginning.
const AT_FIRST: u32 = 2 * 16;

#[derive(Clone, Debug)]
pub(super) struct Version21 {
    constants: Constants,
    timestamps: bool,
    /// C times ten in 1/1024.
    scale: u64,
    /// Eighths: acknowledgments for a segment of Reno's window of one.
    reno_eighths: u64,
    memory: Memory,
    /// Acknowledgments counted towards the next segment.
    counted: u32,
}

/// The state that a time-out clears.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Acknowledgments for a segment more.
    per: u32,
    w_max: u32,
    lost_before: bool,
    updated: (u32, u64),
    /// The shortest round-trip time in milliseconds; 0 without one.
    shortest: u64,
    stage: Option<CubicStage>,
    /// Sixteenths of the segments that an acknowledgment answers, on average.
    answered: u32,
}

#[derive(Clone, Copy, Debug)]
struct CubicStage {
    start: u64,
    /// The time to the plateau in 1/1024 s, and its window.
    k: u64,
    plateau: u32,
    /// The window that Reno would have, and the acknowledgments towards its next segment.
    reno: u32,
    acknowledgments: u64,
}

impl Memory {
    fn new() -> Memory {
        Memory { per: 0, w_max: 0, lost_before: false, updated: (0, 0), shortest: 0, stage: None, answered: AT_FIRST }
    }
}

impl Version21 {
    pub(super) fn new(constants: Constants, timestamps: bool) -> Version21 {
        let beta = (constants.beta * 1024.0).round().min(1023.0) as u64;
        Version21 {
            constants,
            timestamps,
            scale: (constants.c * 102.4).round().max(1.0) as u64 * 10,
            reno_eighths: 8 * (1024 + beta) / 3 / (1024 - beta),
            memory: Memory::new(),
            counted: 0,
        }
    }

    pub(super) fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        let memory = &mut self.memory;
        if sample.acked > 0 && sample.state == CongestionState::Open {
            memory.answered = memory.answered - memory.answered / 16 + sample.acked;
        }
        if !sample.may_grow {
            return;
        }
        let now = millis(sample.now);
        if sample.state == CongestionState::Open && self.timestamps {
            memory.measure(now, sample.rtt);
        }
        if !sample.window_limited || window.slow_start_of_linux_2_6_22() {
            return;
        }
        self.update(window.size, now);
        if self.counted >= self.memory.per {
            self.counted = 0;
            window.grow(1);
        } else {
            self.counted += 1;
        }
    }

    pub(super) fn reduce(&mut self, window: &Window) {
        let (cwnd, w_max) = (f64::from(window.size), f64::from(self.memory.w_max));
        self.memory.w_max = self.constants.plateau(cwnd, w_max) as u32;
        self.memory.lost_before = true;
        self.memory.stage = None;
        self.counted = 0;
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        if matches!(event, Event::TimedOut) {
            self.memory = Memory::new();
        }
    }

    fn update(&mut self, cwnd: u32, now: u64) {
        if let Some(stage) = &mut self.memory.stage {
            stage.acknowledgments += 1;
        }
        let (window, at) = self.memory.updated;
        if window == cwnd && now - at.min(now) <= HOLD {
            return;
        }
        self.memory.updated = (cwnd, now);
        let mut per = self.per_curve(cwnd, now);
        if !self.memory.lost_before {
            per = BEFORE_LOSS;
        }
        if self.constants.reno_friendly {
            per = per.min(self.per_reno(cwnd));
        }
        self.memory.per = (u64::from(per) * 16 / u64::from(self.memory.answered.max(1))).max(1) as u32;
    }

    /// Returns the acknowledgments for a segment more with which the window is on the curve a round trip from now.
    fn per_curve(&mut self, cwnd: u32, now: u64) -> u32 {
        let (w_max, scale) = (self.memory.w_max, self.scale);
        let stage = self.memory.stage.get_or_insert_with(|| CubicStage {
            start: now,
            k: if w_max > cwnd { root(u64::from(w_max - cwnd), scale) } else { 0 },
            plateau: w_max.max(cwnd),
            reno: cwnd,
            acknowledgments: 1,
        });
        let t = (now + self.memory.shortest).saturating_sub(stage.start) * FINE / 1000;
        let away = u128::from(t.abs_diff(stage.k));
        let delta = u32::try_from((u128::from(scale) * away * away * away) >> 40).unwrap_or(u32::MAX);
        let target =
            if t < stage.k { stage.plateau.saturating_sub(delta) } else { stage.plateau.saturating_add(delta) };
        let per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.memory.shortest > 0 && t >= stage.k {
            let least = u64::from(cwnd) * 1000 / (10 * MOST_GROWTH * self.memory.shortest);
            return per.max(least.min(u64::from(u32::MAX)) as u32);
        }
        per
    }

    /// Returns the acknowledgments for a segment more with which the window becomes Reno's, if it is behind.
    fn per_reno(&mut self, cwnd: u32) -> u32 {
        let Some(stage) = &mut self.memory.stage else { return u32::MAX };
        let each = (u64::from(cwnd) * self.reno_eighths / 8).max(1);
        while stage.acknowledgments > each {
            stage.acknowledgments -= each;
            stage.reno = stage.reno.saturating_add(1);
        }
        if stage.reno > cwnd { cwnd / (stage.reno - cwnd) } else { u32::MAX }
    }
}

impl Memory {
    fn measure(&mut self, now: u64, rtt: Option<Duration>) {
        let start = self.stage.map_or(0, |stage| stage.start);
        if now < start + UNSETTLED {
            return;
        }
        if let Some(rtt) = rtt {
            let rtt = (rtt.as_nanos() / 1_000_000).max(1);
            self.shortest = if self.shortest == 0 { rtt } else { self.shortest.min(rtt) };
        }
    }
}

/// The cube root of `segments` over C, in 1/1024 s.
fn root(segments: u64, scale: u64) -> u64 {
    let cubed = (1_u64 << 40) / scale * segments;
    libm::cbrt(cubed as f64) as u64
}

fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
