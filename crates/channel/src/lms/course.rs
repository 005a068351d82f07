//! The published parameter sets along a user's course, as the satellite's elevation changes.

use std::sync::Arc;

use units::{Angle, FieldError, OrOrbit};

use crate::Geometry;

/// The parameter sets of an environment, in the order of elevation.
#[derive(Debug)]
pub(crate) struct Published<S: 'static> {
    environment: &'static str,
    /// The parameter sets by elevation in degrees; at least one.
    sets: Vec<(f64, &'static S)>,
}

/// The parameter sets in the order in which they apply along the user's course.
#[derive(Debug)]
pub(crate) struct Course<S: 'static> {
    /// Each set with the distance in metres from which it applies; the first from minus infinity.
    legs: Arc<[(f64, &'static S)]>,
    warnings: Vec<String>,
}

impl<S> Published<S> {
    pub(crate) fn new(environment: &'static str, sets: impl Iterator<Item = (f64, &'static S)>) -> Published<S> {
        let mut sets: Vec<_> = sets.collect();
        sets.sort_by(|one, other| one.0.total_cmp(&other.0));
        Published { environment, sets }
    }

    /// Whether there are parameters for a given elevation.
    pub(crate) fn check(&self, elevation: OrOrbit<Angle>) -> Result<(), FieldError> {
        elevation.given().map_or(Ok(()), |elevation| self.of(elevation).map(drop))
    }

    /// The sets that apply at `speed_mps`. `geometry` is given if the elevation follows the orbit.
    pub(crate) fn course(
        &self,
        elevation: OrOrbit<Angle>,
        geometry: Option<&Geometry>,
        speed_mps: f64,
    ) -> Result<Course<S>, FieldError> {
        match (elevation, geometry) {
            (OrOrbit::Given(elevation), _) => Ok(Course::of(self.of(elevation)?)),
            (OrOrbit::Orbit, Some(geometry)) => Ok(self.along(geometry, speed_mps)),
            (OrOrbit::Orbit, None) => unreachable!("what follows the orbit was loaded with a geometry"),
        }
    }

    /// The set for an elevation, or the reason why there is none.
    fn of(&self, elevation: Angle) -> Result<&'static S, FieldError> {
        let degrees = elevation.as_degrees();
        let refuse = |message: String| FieldError::new("elevation", message);
        if !(0.0..=90.0).contains(&degrees) {
            return Err(refuse(format!("{degrees} deg is out of range: must be between 0 deg and 90 deg")));
        }
        let parameter_set = self.sets.iter().find(|(known, _)| (known - degrees).abs() < 1e-9);
        parameter_set.map(|&(_, set)| set).ok_or_else(|| {
            let known: Vec<_> = self.sets.iter().map(|(known, _)| format!("{known} deg")).collect();
            let known = known.join(" or ");
            refuse(format!("no parameters are published for {} at {degrees} deg: must be {known}", self.environment))
        })
    }

    /// At each position the set published for the elevation nearest to the satellite's; the lower one half-way between
    /// two.
    ///
    /// There is no interpolation: each set is a fit to a measurement campaign, and nothing was measured between two of
    /// them.
    fn along(&self, geometry: &Geometry, speed_mps: f64) -> Course<S> {
        let metres = |seconds: f64| seconds * speed_mps;
        let mut legs: Vec<(f64, usize)> = Vec::new();
        let mut enter = |metres: f64, set: usize| {
            if legs.last().is_none_or(|&(_, last)| last != set) {
                // A leg of the fading course that ends where it begins is removed.
                while legs.last().is_some_and(|&(from, _)| from >= metres) {
                    legs.pop();
                }
                if legs.last().is_none_or(|&(_, last)| last != set) {
                    legs.push((metres, set));
                }
            }
        };
        let points = geometry.points();
        for (i, &(time, seen)) in points.iter().enumerate() {
            let Some(from) = seen else { continue };
            let start = time.as_secs_f64();
            let mut set = self.nearest(from.elevation_deg);
            enter(metres(start), set);
            let Some(&(until, Some(to))) = points.get(i + 1) else { continue };
            let (length, last) = (until.as_secs_f64() - start, self.nearest(to.elevation_deg));
            while set != last && length > 0.0 {
                let next = if last > set { set + 1 } else { set - 1 };
                let border = self.border(set.min(next));
                let share = (border - from.elevation_deg) / (to.elevation_deg - from.elevation_deg);
                enter(metres(start + share.clamp(0.0, 1.0) * length), next);
                set = next;
            }
        }
        let mut legs: Vec<_> = legs.into_iter().map(|(from, set)| (from, self.sets[set].1)).collect();
        legs[0].0 = f64::NEG_INFINITY;
        Course { legs: legs.into(), warnings: self.outside(geometry) }
    }

    fn nearest(&self, elevation_deg: f64) -> usize {
        (0..self.sets.len() - 1).find(|&lower| elevation_deg <= self.border(lower)).unwrap_or(self.sets.len() - 1)
    }

    /// The elevation half-way from the set `lower` to the next.
    fn border(&self, lower: usize) -> f64 {
        (self.sets[lower].0 + self.sets[lower + 1].0) / 2.0
    }

    fn outside(&self, geometry: &Geometry) -> Vec<String> {
        let ((first, _), (last, _)) = (self.sets[0], self.sets[self.sets.len() - 1]);
        let Some((low, high)) = geometry.elevations().filter(|&(low, high)| low < first || high > last) else {
            return Vec::new();
        };
        let published = match first == last {
            true => format!("at {first} deg only"),
            false => format!("from {first} to {last} deg"),
        };
        let met = format!("the satellite is seen at {low:.1} to {high:.1} deg");
        let environment = self.environment;
        vec![format!("{met}, parameters of {environment} are published {published}: outside, the nearest ones hold")]
    }
}

impl<S> Course<S> {
    /// The same parameter set along the whole course.
    pub(crate) fn of(set: &'static S) -> Course<S> {
        Course { legs: [(f64::NEG_INFINITY, set)].into(), warnings: Vec::new() }
    }

    #[cfg(test)]
    pub(crate) fn of_legs(legs: &[(f64, &'static S)]) -> Course<S> {
        Course { legs: legs.into(), warnings: Vec::new() }
    }

    pub(crate) fn legs(&self) -> &[(f64, &'static S)] {
        &self.legs
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The distance at which the leg ends; infinity for the last.
    pub(crate) fn end(&self, leg: usize) -> f64 {
        self.legs.get(leg + 1).map_or(f64::INFINITY, |&(from, _)| from)
    }

    #[inline]
    pub(crate) fn leg_at(&self, metres: f64) -> usize {
        if self.legs.len() == 1 {
            return 0;
        }
        self.legs.partition_point(|&(from, _)| from <= metres) - 1
    }
}

impl<S> Clone for Course<S> {
    fn clone(&self) -> Course<S> {
        Course { legs: Arc::clone(&self.legs), warnings: self.warnings.clone() }
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;

    fn published() -> Published<f64> {
        static SETS: [f64; 4] = [30.0, 20.0, 60.0, 45.0];
        Published::new("nowhere", SETS.iter().map(|elevation| (*elevation, elevation)))
    }

    fn course(points: &[(f64, Option<f64>)], speed_mps: f64) -> Vec<(f64, f64)> {
        let point = |&(time, seen): &(f64, Option<f64>)| (Time::from_secs_f64(time), seen.map(|seen| (seen, 1e6)));
        let geometry = Geometry::new(points.iter().map(point).collect());
        let course = published().course(OrOrbit::Orbit, Some(&geometry), speed_mps).unwrap();
        course.legs().iter().map(|&(from, set)| (from, *set)).collect()
    }

    const ALWAYS: f64 = f64::NEG_INFINITY;

    #[test]
    fn the_nearest_published_elevation_holds() {
        // Borders at 25, 37.5 and 52.5 degrees.
        let rising = course(&[(0.0, Some(10.0)), (80.0, Some(90.0))], 2.0);
        assert_eq!(rising, [(ALWAYS, 20.0), (30.0, 30.0), (55.0, 45.0), (85.0, 60.0)]);
        let falling = course(&[(0.0, Some(90.0)), (80.0, Some(10.0))], 2.0);
        assert_eq!(falling, [(ALWAYS, 60.0), (75.0, 45.0), (105.0, 30.0), (130.0, 20.0)]);
        assert_eq!(course(&[(5.0, Some(25.0))], 1.0), [(ALWAYS, 20.0)], "the lower one half-way");
        assert_eq!(course(&[(5.0, Some(25.01))], 1.0), [(ALWAYS, 30.0)]);
    }

    #[test]
    fn jumps_and_gaps_change_sets_at_once() {
        let jump = [(0.0, Some(22.0)), (10.0, Some(24.0)), (10.0, Some(50.0)), (20.0, Some(46.0)), (20.0, Some(44.0))];
        assert_eq!(course(&jump, 1.0), [(ALWAYS, 20.0), (10.0, 45.0)]);
        let gap =
            [(0.0, None), (3.0, Some(80.0)), (5.0, Some(80.0)), (5.0, None), (9.0, Some(21.0)), (9.0, Some(31.0))];
        assert_eq!(course(&gap, 1.0), [(ALWAYS, 60.0), (9.0, 30.0)], "what is seen for no time at all is not met");
        let back = [(0.0, Some(80.0)), (5.0, Some(80.0)), (5.0, Some(20.0)), (5.0, Some(80.0)), (6.0, Some(80.0))];
        assert_eq!(course(&back, 1.0), [(ALWAYS, 60.0)]);
        // The elevation touches a border without crossing it, and then crosses it.
        let touch = [(0.0, Some(24.0)), (1.0, Some(25.0)), (2.0, Some(24.0)), (3.0, Some(26.0)), (4.0, Some(25.0))];
        assert_eq!(course(&touch, 1.0), [(ALWAYS, 20.0), (2.5, 30.0), (4.0, 20.0)]);
    }

    #[test]
    fn legs_are_found_by_place() {
        let points = [(0.0, Some(10.0)), (80.0, Some(90.0))];
        let points = points.map(|(time, seen)| (Time::from_secs_f64(time), seen.map(|seen: f64| (seen, 1e6))));
        let course = published().course(OrOrbit::Orbit, Some(&Geometry::new(points.into())), 2.0).unwrap();
        for (metres, leg) in [(-5.0, 0), (0.0, 0), (29.9, 0), (30.0, 1), (84.9, 2), (85.0, 3), (1e9, 3)] {
            assert_eq!(course.leg_at(metres), leg, "{metres} m");
            assert!(course.end(leg) > metres);
        }
    }
}
