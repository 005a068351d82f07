//! The land mobile satellite channel of Recommendation ITU-R P.681-11: good and bad events of random length and depth.
//!
//! Simplified as in [`crate::Lms`]. The correlation distance of the shadowing is that of the good state throughout.

mod parameters;
mod rows;

use parameters::{P681Parameters, P681State};
use rand::Rng;
use rows::ROWS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::{self, normal_cdf, unit_interval};
use units::{Angle, Db, Duration, Frequency, OrOrbit, Speed};

pub use parameters::P681Environment;

use super::course::{Course, Published};
use super::model::{Fading, REFERENCE_SNR, Site, default_reference_snr, fading_options};
use super::parameters::Loo;
use super::states::Track;
use crate::held::Held;
use crate::link_budget::LinkBudget;

/// Land mobile satellite fading in L and S band at 20 to 70 degrees: two states, by ITU-R P.681-11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
#[schemars(rename = "P681")]
pub struct P681 {
    /// Surroundings of the user.
    pub environment: P681Environment,
    /// Elevation of the satellite: one for which the environment has published parameters; or "orbit": the parameters
    /// nearest to the elevation of the serving satellite.
    pub elevation: OrOrbit<Angle>,
    /// Speed of the user, more than zero and at most 1 km/s.
    pub speed: Speed,
    /// Es/N0 of an unobstructed line of sight, unless a link budget is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = REFERENCE_SNR.to_string()))]
    pub reference_snr: Option<Db>,
    /// The link budget from which Es/N0 is computed, in place of `reference_snr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_budget: Option<LinkBudget>,
    /// Carrier frequency, for the Doppler shift and the link budget.
    pub carrier: Frequency,
    /// Time between two samples of the series, at most a quarter of a Doppler period. By default an eighth or less, and
    /// at most 10 ms: 1 ms at 60 km/h and 2.2 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_interval: Option<Duration>,
    /// How the series goes on between bursts; by default with the clock.
    #[serde(skip_serializing_if = "Held::holds_by_time")]
    pub held: Held,
}

impl Default for P681 {
    fn default() -> P681 {
        P681 {
            environment: P681Environment::Suburban,
            elevation: Angle::from_degrees(30.0).into(),
            speed: Speed::from_mps(60.0 / 3.6),
            reference_snr: Some(REFERENCE_SNR),
            link_budget: None,
            carrier: Frequency::from_hz(2.2e9),
            sampling_interval: None,
            held: Held::Time,
        }
    }
}

default_reference_snr!(P681);

impl Fading for P681 {
    type Site = P681Parameters;

    fn published(&self) -> Published<P681Parameters> {
        let sites = ROWS.iter().filter(|site| site.environment == self.environment);
        Published::new(self.environment.name(), sites.map(|site| (site.elevation_deg, site)))
    }

    fading_options!();
}

impl P681Parameters {
    fn state(&self, state: usize) -> &P681State {
        if state == GOOD { &self.good } else { &self.bad }
    }

    /// The share of the distance in good events.
    fn good_share(&self) -> f64 {
        let (good, bad) = (self.good.mean_length_m(), self.bad.mean_length_m());
        good / (good + bad)
    }
}

const GOOD: usize = 0;
const BAD: usize = 1;
/// The mean attenuation of an event is between its 5 % and 95 % points if it is good, its 10 % and 90 % points if bad.
const LIMITS: [f64; 2] = [1.644_853_626_951_472_2, 1.281_551_565_544_600_4];

impl P681State {
    /// The mean of the lognormal law above the shortest length.
    fn mean_length_m(&self) -> f64 {
        let (mean, deviation) = (self.log_length_mean, self.log_length_deviation);
        let below = (libm::log(self.length_min_m) - mean) / deviation;
        let above = |x: f64| normal_cdf(-x);
        libm::exp(mean + deviation * deviation / 2.0) * above(below - deviation) / above(below)
    }

    fn draw_length_m(&self, log_mean: f64, rng: &mut dyn Rng) -> f64 {
        loop {
            let length = libm::exp(log_mean + self.log_length_deviation * normal(rng));
            if length >= self.length_min_m {
                return length;
            }
        }
    }

    /// The parameters of an event whose mean attenuation is `deviate` standard deviations from the law's mean.
    fn loo(&self, deviate: f64) -> Loo {
        let mean_db = self.mean_db + self.mean_deviation_db * deviate;
        // At their ends the regressions give negative deviations.
        let deviation_db = (self.g1 * mean_db + self.g2).max(0.0);
        let multipath_db = (self.h1 * mean_db + self.h2).min(0.0);
        Loo { mean_db, deviation_db, multipath_db }
    }
}

fn normal(rng: &mut dyn Rng) -> f64 {
    chance::normal(|| unit_interval(rng.next_u64()))
}

/// A standard normal number between minus and plus `limit`.
fn draw_within(limit: f64, rng: &mut dyn Rng) -> f64 {
    loop {
        let deviate = normal(rng);
        if deviate.abs() < limit {
            return deviate;
        }
    }
}

impl Site for P681Parameters {
    type Track = Events;

    fn track(course: Course<P681Parameters>, rng: Box<dyn Rng + Send>) -> Events {
        Events::new(course, rng)
    }

    fn state_name(&'static self, state: usize) -> &'static str {
        if state == GOOD { "good" } else { "bad" }
    }

    fn shadowing_correlation_m(&self) -> f64 {
        self.shadowing_correlation_m
    }

    fn band_hz(&self) -> std::ops::RangeInclusive<f64> {
        1.5e9..=3e9
    }

    fn warnings(_sites: &[&'static P681Parameters]) -> Vec<String> {
        Vec::new()
    }
}

/// Alternating good and bad events.
///
/// Where the elevation leaves the range of a row, the event continues under the next row with its length and its
/// quantile in the law of the mean attenuation, joined by a ramp as two events are.
pub(crate) struct Events {
    course: Course<P681Parameters>,
    leg: usize,
    rng: Box<dyn Rng + Send>,
    state: usize,
    end: f64,
    /// The distance up to which nothing is drawn and the row stays: the end of the event or of the leg.
    until: f64,
    /// The event's mean attenuation in standard deviations from its law's mean.
    deviate: f64,
    loo: Loo,
    /// The begin and the length of the last ramp, and the parameters at its begin.
    ramp_start: f64,
    ramp: f64,
    before: Loo,
}

impl Events {
    fn new(course: Course<P681Parameters>, rng: Box<dyn Rng + Send>) -> Events {
        let (loo, before) = (Loo::default(), Loo::default());
        let mut events = Events {
            course,
            leg: 0,
            rng,
            state: GOOD,
            end: 0.0,
            until: 0.0,
            deviate: 0.0,
            loo,
            ramp_start: 0.0,
            ramp: 0.0,
            before,
        };
        events.restart(0.0);
        events
    }

    fn site(&self) -> &'static P681Parameters {
        self.course.legs()[self.leg].1
    }

    /// An event from `start`, `length` metres long.
    fn enter(&mut self, state: usize, start: f64, length: f64) {
        self.before = self.loo;
        self.deviate = draw_within(LIMITS[state], &mut *self.rng);
        (self.state, self.end) = (state, start + length);
        self.ramp_from(start, length, 0.0);
    }

    /// The event has the parameters of the leg's row from `start` on, `length` before its end, after a ramp of at least
    /// `shortest` if the event lasts that long.
    fn ramp_from(&mut self, start: f64, length: f64, shortest: f64) {
        let site = self.site();
        self.loo = site.state(self.state).loo(self.deviate);
        let gap = (self.loo.mean_db - self.before.mean_db).abs();
        self.ramp_start = start;
        self.ramp = (site.f1 * gap + site.f2).max(shortest).min(length);
        self.until = self.end.min(self.course.end(self.leg));
    }

    fn at_position(&self, metres: f64) -> Loo {
        let along = metres - self.ramp_start;
        if along >= self.ramp {
            return self.loo;
        }
        let (old, new) = (1.0 - along / self.ramp, along / self.ramp);
        Loo::default().plus(old, self.before).plus(new, self.loo)
    }

    /// Goes past the end of the event or of the leg.
    fn pass(&mut self) {
        if self.course.end(self.leg) <= self.until {
            self.before = self.at_position(self.until);
            self.leg += 1;
            // The regressions of some rows have no ramp between means far apart; an elevation changes slowly, so there
            // is one here.
            let shortest = self.site().shadowing_correlation_m;
            self.ramp_from(self.until, self.end - self.until, shortest);
            return;
        }
        let next = GOOD + BAD - self.state;
        let parameters = self.site().state(next);
        let length = parameters.draw_length_m(parameters.log_length_mean, &mut *self.rng);
        self.enter(next, self.end, length);
    }
}

impl Track for Events {
    #[inline(always)]
    fn has_come(&self, metres: f64) -> bool {
        metres < self.until
    }

    fn advance(&mut self, metres: f64) {
        while metres >= self.until {
            self.pass();
        }
    }

    #[inline(always)]
    fn present(&self, metres: f64) -> (Loo, usize) {
        (self.at_position(metres), self.state)
    }

    /// At a random position of the course, long events are met in proportion to their length: if the logarithm of the
    /// length is normal, it still is, with the mean increased by the variance.
    fn restart(&mut self, metres: f64) {
        self.leg = self.course.leg_at(metres);
        let site = self.site();
        let state = if unit_interval(self.rng.next_u64()) < site.good_share() { GOOD } else { BAD };
        let parameters = site.state(state);
        let variance = parameters.log_length_deviation * parameters.log_length_deviation;
        let length = parameters.draw_length_m(parameters.log_length_mean + variance, &mut *self.rng);
        let start = metres - length * unit_interval(self.rng.next_u64());
        let other = GOOD + BAD - state;
        self.loo = site.state(other).loo(draw_within(LIMITS[other], &mut *self.rng));
        self.enter(state, start, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    fn site(environment: P681Environment, elevation_deg: f64) -> &'static P681Parameters {
        let mut sites = ROWS.iter();
        sites.find(|site| site.environment == environment && site.elevation_deg == elevation_deg).unwrap()
    }

    #[test]
    fn every_row_is_complete() {
        assert_eq!(ROWS.len(), 23);
        for row in &ROWS {
            assert!(
                std::ptr::eq(row, site(row.environment, row.elevation_deg)),
                "two rows for one environment and elevation"
            );
            assert!(row.shadowing_correlation_m > 0.0 && row.good.mean_db > row.bad.mean_db, "{row:?}");
            let mut events = Events::new(Course::of(row), streams(1)("states"));
            for i in 0..10_000 {
                let (loo, _) = events.at(f64::from(i));
                assert!(loo.deviation_db >= 0.0 && loo.multipath_db <= 0.0 && loo.mean_db < 3.0, "{row:?}: {loo:?}");
            }
        }
    }

    #[test]
    fn events_have_the_lengths_and_depths_of_the_table() {
        let row = site(P681Environment::Urban, 60.0);
        let mut events = Events::new(Course::of(row), streams(2)("states"));
        let (mut lengths, mut depths, mut counts) = ([0.0; 2], [0.0; 2], [0u32; 2]);
        for _ in 0..200_000 {
            let end = events.end;
            events.at(end);
            lengths[events.state] += events.end - events.ramp_start;
            depths[events.state] += events.loo.mean_db;
            counts[events.state] += 1;
        }
        for (state, parameters) in [(GOOD, &row.good), (BAD, &row.bad)] {
            let count = f64::from(counts[state]);
            let length = lengths[state] / count;
            assert!((length / parameters.mean_length_m() - 1.0).abs() < 0.05, "state {state}: {length} m");
            assert!(
                (depths[state] / count - parameters.mean_db).abs() < 0.03,
                "state {state}: {}",
                depths[state] / count
            );
        }
    }

    #[test]
    fn a_new_way_starts_stationary() {
        let row = site(P681Environment::Village, 45.0);
        let mut events = Events::new(Course::of(row), streams(3)("states"));
        const WAYS: u32 = 40_000;
        for metres in [0.0, 3.0, 50.0] {
            let (mut good, mut depth) = (0u32, 0.0);
            for _ in 0..WAYS {
                events.restart(0.0);
                let (loo, state) = events.at(metres);
                good += u32::from(state == GOOD);
                depth += loo.mean_db;
            }
            let share = f64::from(good) / f64::from(WAYS);
            assert!((share - row.good_share()).abs() < 0.01, "at {metres} m: {share} against {}", row.good_share());
            // The mean, ramps included, is the same at every distance: about -4.2 dB.
            let depth = depth / f64::from(WAYS);
            events.restart(0.0);
            let along: f64 = (0..400_000).map(|i| events.at(f64::from(i)).0.mean_db).sum::<f64>() / 400_000.0;
            assert!((depth - along).abs() < 0.15, "at {metres} m: {depth} against {along}");
        }
    }

    #[test]
    fn events_are_joined_by_ramps() {
        let row = site(P681Environment::Suburban, 30.0);
        let mut events = Events::new(Course::of(row), streams(4)("states"));
        for _ in 0..1000 {
            let (end, old) = (events.end, events.loo);
            let at = |x: f64, events: &mut Events| events.at(x).0.mean_db;
            let border = at(end, &mut events);
            if events.end - events.ramp_start == events.ramp {
                continue; // a ramp as long as the event
            }
            let new = events.loo;
            let ramp = row.f1 * (new.mean_db - old.mean_db).abs() + row.f2;
            assert!((border - old.mean_db).abs() < 1e-9);
            assert!((at(end + ramp / 2.0, &mut events) - (old.mean_db + new.mean_db) / 2.0).abs() < 1e-9);
            assert_eq!(at((end + ramp * 1.001).min(events.end - 1e-9), &mut events), new.mean_db);
        }
    }

    #[test]
    fn an_event_goes_on_under_another_row_along_a_ramp() {
        let (low, high) = (site(P681Environment::Village, 30.0), site(P681Environment::Village, 60.0));
        let borders = [f64::NEG_INFINITY, 40.0, 41.0, 45.0, 90.0];
        let rows = [low, high, low, high, low];
        let legs: Vec<_> = borders.into_iter().zip(rows).collect();
        for seed in 0..200 {
            let mut plain = Events::new(Course::of(low), streams(seed)("states"));
            let mut events = Events::new(Course::of_legs(&legs), streams(seed)("states"));
            for i in 0..12_000 {
                let metres = f64::from(i) * 0.01;
                if !borders.contains(&metres) {
                    let seen = events.at(metres);
                    assert!(metres >= 40.0 || seen == plain.at(metres));
                    continue;
                }
                let (before, state) = events.at(metres - 1e-7);
                let end = events.end;
                let (loo, entered) = events.at(metres);
                assert_eq!((entered, events.end), (state, end), "a border is no new event");
                assert!((loo.mean_db - before.mean_db).abs() < 1e-3, "seed {seed}, {metres} m: no jump");
                // After the ramp the mean has the same deviation from the row's mean as before.
                let row = events.site().state(state);
                assert_eq!(events.loo.mean_db, row.mean_db + row.mean_deviation_db * events.deviate);
                assert!(events.ramp <= end - metres && events.ramp_start == metres);
            }
        }
    }
}
