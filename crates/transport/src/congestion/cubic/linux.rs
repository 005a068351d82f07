//! The rule of Linux: the window opens by one for so many acknowledged segments, a number that is found from the curve
//! anew when the window has moved or some time has passed. Windows are whole segments, times ticks of a clock.

use units::{Duration, Time};

use super::super::{AckSample, Event, Window};
use super::constants::Constants;

/// The kernel's clock, with HZ = 250.
const TICK: Duration = Duration::from_millis(4);
/// 1/32 s: how long the number holds while the window stays.
const HOLD: u64 = 7;
/// The curve counts time in 1/1024 s.
const FINE: f64 = 1024.0;
/// Round-trip times are not looked at for so many ticks after a stage began.
const UNSETTLED: u64 = 250;

#[derive(Clone, Debug)]
pub(super) struct Linux {
    constants: Constants,
    /// C in 1/1024.
    c: f64,
    /// The kernel's `beta_scale`, 8 (1 + β) / (3 (1 − β)): a window of w opens by one for w/8 times this many
    /// acknowledged segments.
    reno_eighths: u64,
    /// The window at the last loss, as fast convergence has it; 0 before the first and after a timeout.
    w_max: u32,
    min_rtt: Duration,
    epoch: Option<Epoch>,
    /// Segments to be acknowledged for one more in the window.
    per: u32,
    /// When and for which window `per` was found.
    updated: u64,
    window: u32,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// In ticks.
    start: u64,
    /// The time to the plateau, in 1/1024 s.
    k: f64,
    /// The window of the plateau.
    plateau: u32,
    /// The window that Reno would have, and the segments acknowledged towards its next one.
    reno: u32,
    acked: u64,
}

impl Linux {
    pub(super) fn new(constants: Constants) -> Linux {
        let beta = (constants.beta * 1024.0).round();
        Linux {
            constants,
            c: (constants.c * 1024.0).round().max(1.0) / 1024.0,
            reno_eighths: (8.0 * (1024.0 + beta) / 3.0 / (1024.0 - beta).max(1.0)) as u64,
            w_max: 0,
            min_rtt: Duration::ZERO,
            epoch: None,
            per: 0,
            updated: 0,
            window: 0,
        }
    }

    /// Takes a round-trip time. Returns whether it was used.
    pub(super) fn measure(&mut self, sample: &AckSample) -> bool {
        if self.epoch.is_some_and(|epoch| ticks(sample.now).saturating_sub(epoch.start) < UNSETTLED) {
            return false;
        }
        if let Some(rtt) = sample.rtt
            && (self.min_rtt.is_zero() || rtt < self.min_rtt)
        {
            self.min_rtt = rtt;
        }
        true
    }

    pub(super) fn grow(&mut self, window: &mut Window, acked: u32, sample: &AckSample) {
        self.update(window.size, acked, ticks(sample.now));
        window.add_one_per(self.per, acked);
    }

    /// The window is reduced: section 4.7.
    pub(super) fn reduce(&mut self, window: &Window) {
        self.w_max = self.constants.plateau(f64::from(window.size), f64::from(self.w_max)) as u32;
        self.epoch = None;
    }

    pub(super) fn on_event(&mut self, now: Time, event: &Event) {
        match *event {
            Event::TimedOut => *self = Linux::new(self.constants),
            // The time in which nothing was sent does not count.
            Event::Starts { last_sent, .. } => {
                if let Some(epoch) = &mut self.epoch {
                    let idle = ticks(now) - ticks(last_sent.unwrap_or(Time::ZERO)).min(ticks(now));
                    epoch.start = (epoch.start + idle).min(ticks(now));
                }
            }
            _ => (),
        }
    }

    fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += u64::from(acked);
            if self.window == cwnd && now.saturating_sub(self.updated) <= HOLD {
                return;
            }
        }
        // Two windows of one tick share a point of the curve.
        if self.epoch.is_none() || now != self.updated {
            self.window = cwnd;
            self.updated = now;
            self.per = self.per_curve(cwnd, acked, now);
        }
        if self.constants.reno_friendly {
            self.per = self.per.min(self.per_reno(cwnd));
        }
        self.per = self.per.max(2);
    }

    /// Sections 4.2, 4.4 and 4.5: so many that the window is on the curve a round trip from now.
    fn per_curve(&mut self, cwnd: u32, acked: u32, now: u64) -> u32 {
        let (w_max, c) = (self.w_max, self.c);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: if w_max > cwnd { (libm::cbrt(f64::from(w_max - cwnd) / c) * FINE).floor() } else { 0.0 },
            plateau: w_max.max(cwnd),
            reno: cwnd,
            acked: u64::from(acked),
        });
        let rtt = self.min_rtt.as_nanos().div_ceil(TICK.as_nanos());
        let t = ((now.saturating_sub(epoch.start) + rtt) as f64 * TICK.as_secs_f64() * FINE).floor();
        let from_plateau = (t - epoch.k).abs() / FINE;
        let delta = (c * from_plateau * from_plateau * from_plateau) as u32;
        let target =
            if t < epoch.k { epoch.plateau.saturating_sub(delta) } else { epoch.plateau.saturating_add(delta) };
        let per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // As long as no loss has shown what the path carries, the window grows by 5 % in a round trip at least.
        if w_max == 0 { per.min(20) } else { per }
    }

    /// Section 4.3: returns the acknowledged segments for one more with which the window becomes Reno's, if it is
    /// behind.
    fn per_reno(&mut self, cwnd: u32) -> u32 {
        let Some(epoch) = &mut self.epoch else { return u32::MAX };
        let each = (u64::from(cwnd) * self.reno_eighths / 8).max(1);
        if epoch.acked > each {
            let steps = (epoch.acked - 1) / each;
            epoch.acked -= steps * each;
            epoch.reno = epoch.reno.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        }
        if epoch.reno > cwnd { cwnd / (epoch.reno - cwnd) } else { u32::MAX }
    }
}

fn ticks(time: Time) -> u64 {
    time.as_nanos() / TICK.as_nanos()
}
