//! The serving satellite as the users see it, over a run.

use units::Time;

/// Elevation and range of the users' serving satellite over time.
///
/// Linear between its points; two points at one instant are a jump, as at a handover. Before the first point and after
/// the last one their values hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    points: Vec<(Time, Option<View>)>,
}

/// Elevation and range at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) elevation_deg: f64,
    pub(crate) range_m: f64,
}

impl Geometry {
    /// From points in the order of time: elevation in degrees and range in metres, or `None` from where no satellite
    /// serves the users until the next point. Before a `None` the values of the last point hold.
    ///
    /// # Panics
    /// If there are no points, times go back, or a range is not more than 0.
    pub fn new(points: Vec<(Time, Option<(f64, f64)>)>) -> Geometry {
        assert!(!points.is_empty() && points.is_sorted_by_key(|(time, _)| *time), "points in the order of time");
        let view = |(elevation_deg, range_m): (f64, f64)| {
            assert!(elevation_deg.abs() <= 90.0 && range_m > 0.0, "{elevation_deg} deg, {range_m} m");
            View { elevation_deg, range_m }
        };
        Geometry { points: points.into_iter().map(|(time, seen)| (time, seen.map(view))).collect() }
    }

    pub(crate) fn points(&self) -> &[(Time, Option<View>)] {
        &self.points
    }

    /// The lowest and the highest elevation in degrees; `None` if no satellite ever serves.
    pub(crate) fn elevations(&self) -> Option<(f64, f64)> {
        let seen = || self.points.iter().filter_map(|(_, seen)| seen.map(|view| view.elevation_deg));
        Some((seen().reduce(f64::min)?, seen().reduce(f64::max)?))
    }

    /// `count` instants, spread evenly over the time in which a satellite serves.
    pub(crate) fn served(&self, count: usize) -> impl Iterator<Item = Time> {
        let spans: Vec<(Time, Time)> = self
            .points
            .windows(2)
            .filter(|pair| pair[0].1.is_some() && pair[0].0 < pair[1].0)
            .map(|pair| (pair[0].0, pair[1].0))
            .collect();
        let seen_nanos: u128 = spans.iter().map(|(from, until)| u128::from(until.since(*from).as_nanos())).sum();
        // One satellite whose only point holds for ever.
        let always = self.points.iter().find(|(_, seen)| seen.is_some()).map_or(Time::ZERO, |(time, _)| *time);
        let (mut span, mut before) = (0, 0u128);
        (0..count).map(move |i| {
            if seen_nanos == 0 {
                return always;
            }
            let wanted = seen_nanos * (2 * i as u128 + 1) / (2 * count as u128);
            loop {
                let (from, until) = spans[span];
                let length = u128::from(until.since(from).as_nanos());
                if wanted < before + length {
                    return Time::from_nanos(from.as_nanos() + (wanted - before) as u64);
                }
                before += length;
                span += 1;
            }
        })
    }
}
