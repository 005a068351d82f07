//! Es/N0 of an unobstructed line of sight over a run.

use std::sync::Arc;

use units::{Angle, Db, FieldError, Files, Frequency, Length, OrOrbit, Time};

use crate::geometry::View;
use crate::link_budget::LinkBudget;
use crate::{CLEAR, Geometry};

/// The configuration of a channel's line of sight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'a> {
    pub(crate) reference_snr: Option<Db>,
    pub(crate) link_budget: Option<&'a LinkBudget>,
    pub(crate) carrier: Option<Frequency>,
    /// The elevation in the channel's configuration, if it has one.
    pub(crate) elevation: Option<OrOrbit<Angle>>,
}

/// Es/N0 of an unobstructed line of sight.
#[derive(Clone, Debug)]
pub(crate) struct LineOfSight {
    pub(crate) snr: Snr,
    /// The geometry, if the line of sight or the channel's elevation follows it.
    pub(crate) geometry: Option<Arc<Geometry>>,
    pub(crate) warnings: Vec<String>,
}

/// Es/N0, constant or changing with the satellite.
#[derive(Clone, Debug)]
pub(crate) enum Snr {
    Fixed(Db),
    Over(Arc<SnrLevels>),
}

/// Es/N0 in decibels, linear between instants.
#[derive(Debug)]
pub(crate) struct SnrLevels {
    /// Nanoseconds and decibels; [`NOTHING`] from where no satellite serves until the next point.
    points: Vec<(u64, f64)>,
}

/// The level without a serving satellite.
const NOTHING: f64 = f64::NEG_INFINITY;

/// Es/N0 of the line of sight at the instants of a user's bursts.
pub(crate) trait Level: Send + 'static {
    /// Es/N0 in decibels at `now`, minus infinity if no satellite serves. Calls never go back in time.
    fn at(&mut self, now: Time) -> f64;

    /// Es/N0 of the line of sight, if it never changes.
    fn constant(&self) -> Option<Db> {
        None
    }
}

impl Level for Db {
    fn constant(&self) -> Option<Db> {
        Some(*self)
    }

    #[inline]
    fn at(&mut self, _now: Time) -> f64 {
        self.get()
    }
}

impl Sight<'_> {
    /// Checks the values; no file is opened.
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        let Some(budget) = self.link_budget else { return Ok(()) };
        if self.reference_snr.is_some() {
            let both = "is given, and so is reference_snr, which it makes: give one of the two";
            return Err(FieldError::new("link_budget", both.to_owned()));
        }
        if self.carrier.is_none() {
            return Err(FieldError::new("carrier", "is missing: a link budget needs it".to_owned()));
        }
        budget.check().map_err(|error| error.within("link_budget"))
    }

    pub(crate) fn follows_orbit(&self) -> bool {
        self.orbit_field().is_some()
    }

    /// After [`Sight::check`]. Without Es/N0 and link budget there is no noise.
    ///
    /// # Errors
    /// A value follows the orbit and `geometry` is missing, or the rain file is refused.
    pub(crate) fn load(
        &self,
        files: &mut dyn Files,
        geometry: Option<&Arc<Geometry>>,
    ) -> Result<LineOfSight, FieldError> {
        let geometry = self.orbit_field().map(|field| needed(geometry, field)).transpose()?.cloned();
        let mut warnings = Vec::new();
        let snr: Box<dyn Fn(View) -> Db> = match (self.link_budget, self.carrier) {
            (Some(budget), Some(carrier)) => {
                let rain = budget.load_rain(files).map_err(|error| error.within("link_budget"))?;
                let given = self.elevation.and_then(OrOrbit::given).map(Angle::as_degrees);
                let elevations = geometry.as_deref().and_then(Geometry::elevations).or(given.map(|at| (at, at)));
                warnings.extend(elevations.map(|met| rain.warnings(met)).unwrap_or_default());
                Box::new(move |view: View| {
                    let range = budget.range.given().unwrap_or(Length::from_metres(view.range_m));
                    budget.line_of_sight(carrier, range, rain.at(view.elevation_deg))
                })
            }
            _ => {
                let reference = self.reference_snr.unwrap_or(CLEAR);
                Box::new(move |_| reference)
            }
        };
        let snr = match &geometry {
            Some(geometry) => SnrLevels::tabulate(geometry, |view| snr(view).get()),
            None => {
                let elevation = self.elevation.and_then(OrOrbit::given);
                Snr::Fixed(snr(View { elevation_deg: elevation.map_or(90.0, Angle::as_degrees), range_m: 1.0 }))
            }
        };
        Ok(LineOfSight { snr, geometry, warnings })
    }

    /// The name of the field that follows the orbit, if there is one.
    fn orbit_field(&self) -> Option<&'static str> {
        if self.elevation.is_some_and(OrOrbit::follows_orbit) {
            return Some("elevation");
        }
        let budget = self.link_budget?;
        if budget.range.follows_orbit() {
            return Some("link_budget.range");
        }
        (self.elevation.is_none() && budget.by_elevation()).then_some("link_budget.rain")
    }
}

impl Snr {
    /// The mean of the decibels over the time in which a satellite serves.
    pub(crate) fn mean(&self) -> Db {
        match self {
            Snr::Fixed(snr) => *snr,
            Snr::Over(levels) => levels.mean(),
        }
    }

    /// Whether it changes with the satellite.
    pub(crate) fn varies(&self) -> bool {
        matches!(self, Snr::Over(_))
    }

    /// A boxed reader of the levels of Es/N0 for one user.
    pub(crate) fn cursor(&self) -> Box<dyn Level> {
        match self {
            Snr::Fixed(snr) => Box::new(*snr),
            Snr::Over(levels) => Box::new(Cursor::new(levels)),
        }
    }
}

/// The geometry that `field` needs, or an error about `field`.
fn needed<'a>(geometry: Option<&'a Arc<Geometry>>, field: &str) -> Result<&'a Arc<Geometry>, FieldError> {
    let missing = "follows the orbit, and there is no path over a constellation: give a value, or such a path";
    let geometry = geometry.ok_or_else(|| FieldError::new(field, missing.to_owned()))?;
    if geometry.elevations().is_none() {
        return Err(FieldError::new(field, "follows the orbit, and no satellite serves during the run".to_owned()));
    }
    Ok(geometry)
}

/// Between two points of a geometry the level is tabulated so finely that linear interpolation is exact to 0.001 dB: in
/// a step the range changes by at most this share, and the elevation, for the rain, by at most so many degrees.
const RANGE_STEP: f64 = 0.03;
const ELEVATION_STEP_DEG: f64 = 0.5;

impl SnrLevels {
    fn tabulate(geometry: &Geometry, level: impl Fn(View) -> f64) -> Snr {
        let mut points = Vec::with_capacity(geometry.points().len());
        for (i, &(time, seen)) in geometry.points().iter().enumerate() {
            points.push((time.as_nanos(), seen.map_or(NOTHING, &level)));
            let next = geometry.points().get(i + 1);
            if let (Some(from), Some(&(until, Some(to)))) = (seen, next) {
                let steps = (to.range_m - from.range_m).abs() / from.range_m.min(to.range_m) / RANGE_STEP;
                let steps = steps.max((to.elevation_deg - from.elevation_deg).abs() / ELEVATION_STEP_DEG).ceil();
                let between = |from: f64, to: f64, share: f64| from + share * (to - from);
                for step in (1..steps as u32).filter(|_| time < until) {
                    let share = f64::from(step) / steps;
                    let elevation_deg = between(from.elevation_deg, to.elevation_deg, share);
                    let view = View { elevation_deg, range_m: between(from.range_m, to.range_m, share) };
                    let nanos = (until.since(time).as_nanos() as f64 * share) as u64;
                    points.push((time.as_nanos() + nanos, level(view)));
                }
            }
        }
        match points.iter().all(|&(_, level)| level == points[0].1) {
            true => Snr::Fixed(Db::new(points[0].1)),
            false => Snr::Over(Arc::new(SnrLevels { points })),
        }
    }

    fn mean(&self) -> Db {
        let (mut sum, mut time) = (0.0, 0.0);
        for pair in self.points.windows(2) {
            let ((from, level), (until, next)) = (pair[0], pair[1]);
            if level > NOTHING {
                let next = if next > NOTHING { next } else { level };
                let share = (until - from) as f64;
                sum += (level + next) / 2.0 * share;
                time += share;
            }
        }
        let any = || self.points.iter().map(|&(_, level)| level).find(|&level| level > NOTHING).unwrap_or(0.0);
        Db::new(if time > 0.0 { sum / time } else { any() })
    }
}

impl Level for Box<dyn Level> {
    fn at(&mut self, now: Time) -> f64 {
        (**self).at(now)
    }
}

/// Reads the levels in the order of time.
#[derive(Debug)]
pub(crate) struct Cursor {
    levels: Arc<SnrLevels>,
    /// The first point after the current piece.
    next: usize,
    /// The current piece: a straight line from this instant on.
    from: u64,
    until: u64,
    level: f64,
    per_nano: f64,
}

impl Cursor {
    pub(crate) fn new(levels: &Arc<SnrLevels>) -> Cursor {
        let levels = Arc::clone(levels);
        let (level, until) = (levels.points[0].1, levels.points[0].0);
        Cursor { levels, next: 0, from: 0, until, level, per_nano: 0.0 }
    }

    #[cold]
    fn advance(&mut self, now: u64) {
        let points = &self.levels.points;
        self.next += points[self.next..].partition_point(|&(time, _)| time <= now);
        (self.from, self.level) = points[self.next - 1];
        self.per_nano = 0.0;
        self.until = u64::MAX;
        if let Some(&(until, next)) = points.get(self.next) {
            self.until = until;
            if self.level > NOTHING && next > NOTHING {
                self.per_nano = (next - self.level) / (until - self.from) as f64;
            }
        }
    }
}

impl Level for Cursor {
    #[inline]
    fn at(&mut self, now: Time) -> f64 {
        let now = now.as_nanos();
        if now >= self.until && self.next < self.levels.points.len() {
            self.advance(now);
        }
        self.level + self.per_nano * (now - self.from) as f64
    }
}
