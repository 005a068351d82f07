//! The contents of a picture of a run's path: satellites, stations, and the satellites of the route, over time.

use orbit::{ConstellationPath, Place, RouteInterval, Router, Sky, Station, Vector};
use serde::Serialize;
use sim::{InputFiles, Plan, ScenarioError};
use units::{Duration, Files, SPEED_OF_LIGHT, Time};

/// A path over a constellation as it is drawn. Positions are fixed to the Earth, in metres, with x through Greenwich on
/// the equator and z through the north pole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Globe {
    /// The names of the satellites.
    pub satellites: Vec<String>,
    /// Elevation below which a satellite does not serve, degrees.
    pub minimum_elevation_deg: f64,
    /// The gateways.
    pub gateways: Vec<Vector>,
    /// The user at each of `instants_s`.
    pub user: Vec<Vector>,
    /// The instants of `positions`, seconds from the start of the run.
    pub instants_s: Vec<f64>,
    /// The pairs of satellites that are linked at the start of the run.
    pub links: Vec<(u32, u32)>,
    /// The routes in the order of their instants; each holds until the next.
    pub routes: Vec<Route>,
    /// Positions of all satellites at the first instant, then at the next.
    #[serde(skip)]
    pub positions: Vec<Vector>,
}

/// A route from an instant on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// That instant, seconds from the start of the run.
    pub from_s: f64,
    /// The number of the gateway where it begins.
    pub gateway: Option<u32>,
    /// Satellites of the route, from the gateway's to the user's; none without a route.
    pub satellites: Vec<u32>,
    /// One-way delay of the route, the last link included.
    pub delay_s: Option<f64>,
}

/// Positions of the satellites at most.
const MOST_POSITIONS: u64 = 400_000;

impl Globe {
    /// The picture of a plan's path, with about `instants` instants; nothing if the path knows no satellites.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(plan: &Plan, instants: u64) -> Result<Option<Globe>, ScenarioError> {
        let Some(path) = plan.config().path.entry().constellation() else { return Ok(None) };
        let mut files = plan.files();
        let sky = path.constellation.sky(&mut files)?;
        let satellites = sky.orbits.len() as u64;
        let instants = instants.min(MOST_POSITIONS / satellites.max(1)).max(2);
        Ok(Some(Globe::drawn(plan, path, sky, instants, &mut files)?))
    }

    fn drawn(
        plan: &Plan,
        path: &ConstellationPath,
        mut sky: Sky,
        instants: u64,
        files: &mut InputFiles,
    ) -> Result<Globe, ScenarioError> {
        let ends = RouteEnds::new(path, files)?;
        let start = path.start.as_secs_f64();
        let duration = plan.config().duration;
        let times: Vec<Time> = (0..=instants)
            .map(|i| {
                Time::ZERO
                    + Duration::from_nanos(
                        (u128::from(duration.as_nanos()) * u128::from(i) / u128::from(instants)) as u64,
                    )
            })
            .collect();
        let mut positions = Vec::with_capacity(times.len() * sky.orbits.len());
        let mut now_at = Vec::new();
        for time in &times {
            sky.earth_fixed_at(start + time.as_secs_f64(), &mut now_at);
            positions.extend(&now_at);
        }
        let routes = routes(plan, path, &mut sky, &times);
        sky.orbits.positions_at(start, &mut now_at);
        sky.links.update(start, &now_at);
        Ok(Globe {
            minimum_elevation_deg: path.minimum_elevation.unwrap_or(sky.minimum_elevation).as_degrees(),
            gateways: ends.gateways.iter().map(|place| Station::new(place).position()).collect(),
            user: times.iter().map(|&time| ends.course.station(time).position()).collect(),
            instants_s: times.iter().map(|time| time.as_secs_f64()).collect(),
            links: super::sky::pairs(&sky.links).collect(),
            satellites: sky.names,
            routes,
            positions,
        })
    }
}

/// Where a route begins and ends.
struct RouteEnds {
    gateways: Vec<Place>,
    course: orbit::Course,
}

impl RouteEnds {
    fn new(path: &ConstellationPath, files: &mut dyn Files) -> Result<RouteEnds, ScenarioError> {
        Ok(RouteEnds {
            gateways: path.source.places(files).map_err(|error| error.within("path.source"))?,
            course: path.user.course(files).map_err(|error| error.within("path.user"))?,
        })
    }
}

/// The route at the begin of each of the trace's intervals, and at each of `times`, because its satellites change
/// where its ends and its number of links stay.
fn routes(plan: &Plan, path: &ConstellationPath, sky: &mut Sky, times: &[Time]) -> Vec<Route> {
    let trace = plan.trace();
    let mut instants: Vec<Time> =
        trace.intervals().iter().map(|interval| interval.from).chain(times.iter().copied()).collect();
    instants.sort_unstable();
    instants.dedup();
    let mut router = Router::new(path.metric, path.hops.processing_delay.as_secs_f64() * SPEED_OF_LIGHT);
    let mut routes: Vec<Route> = Vec::new();
    let mut positions = Vec::new();
    for now in instants {
        let Some(interval) = trace.interval_at(now) else { continue };
        let seconds = path.start.as_secs_f64() + now.as_secs_f64();
        sky.orbits.positions_at(seconds, &mut positions);
        sky.links.update(seconds, &positions);
        let satellites = satellites(interval, &mut router, sky);
        let delay_s = trace.delay(now).map(|delay| delay.as_secs_f64());
        let route = Route { from_s: now.as_secs_f64(), gateway: interval.gateway, satellites, delay_s };
        let same = |last: &Route| (last.gateway, &last.satellites) == (route.gateway, &route.satellites);
        if !routes.last().is_some_and(same) {
            routes.push(route);
        }
    }
    routes
}

/// The satellites of the route of an interval, whose ends are known.
fn satellites(interval: &RouteInterval, router: &mut Router, sky: &Sky) -> Vec<u32> {
    let (Some(first), Some(last), Some(_)) = (interval.gateway_satellite, interval.user_satellite, interval.hops)
    else {
        return Vec::new();
    };
    if first == last {
        return vec![first];
    }
    let route_length = router.shortest(&sky.links, [(first, 0.0)], [(last, 0.0)], |_| 0.0);
    route_length.map_or_else(Vec::new, |_| router.route().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Scenario;

    const LEO: &str = r#"
duration = "120 s"
[path]
kind = "constellation"
constellation = "leo-66"
source = { latitude = "43.6 deg", longitude = "1.4 deg" }
user = { latitude = "-36.9 deg", longitude = "174.8 deg" }
[last_hop]
rate = "1 Mbit/s"
delay = "0 ms"
[[flows]]
transport = "tcp"
traffic = "bulk"
"#;

    fn distance(a: Vector, b: Vector) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    /// The satellites' distances along the route take as long as the trace says.
    #[test]
    fn the_route_is_as_long_as_its_delay() {
        let plan = Scenario::from_toml(LEO, std::path::Path::new("")).unwrap().plan().unwrap();
        let globe = Globe::of(&plan, 12).unwrap().expect("a path over satellites");
        let route = &globe.routes[0];
        let at = |satellite: &u32| globe.positions[*satellite as usize];
        let mut stops = vec![globe.gateways[0]];
        stops.extend(route.satellites.iter().map(at));
        stops.push(globe.user[0]);
        let metres: f64 = stops.windows(2).map(|two| distance(two[0], two[1])).sum();
        assert!((metres / SPEED_OF_LIGHT - route.delay_s.unwrap()).abs() < 1e-6, "{metres} m, {route:?}");
        assert_eq!((globe.instants_s.len(), globe.positions.len()), (13, 13 * 66));
        assert!(globe.links.len() > 66 && route.satellites.len() > 4);
    }

    #[test]
    fn a_fixed_path_has_no_globe() {
        let text = LEO.split("[path]").next().unwrap().to_owned()
            + "[path]\nkind = \"fixed\"\ndelay = \"10 ms\"\n[last_hop]"
            + LEO.split("[last_hop]").nth(1).unwrap();
        let plan = Scenario::from_toml(&text, std::path::Path::new("")).unwrap().plan().unwrap();
        assert_eq!(Globe::of(&plan, 12).unwrap(), None);
    }
}
