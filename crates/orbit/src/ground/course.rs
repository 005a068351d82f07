//! A user's course over the ground: its position at any instant.
//!
//! Between two points a user follows the great circle on the sphere of the ellipsoid's normals (so latitudes and
//! longitudes are those of spherical navigation), at a constant angular speed and a constant rate of climb. What is
//! simplified: a speed becomes an angular speed by the Earth's mean radius, so over ground it is off by up to half a
//! percent.

use units::{Duration, FieldError, Time};

use crate::csv::{Header, rows};
use crate::ground::place::{Horizon, Place, Station, upright};
use crate::ground::waypoints::MovingUser;
use crate::satellites::frame::{Vector, cross, dot};

/// Mean radius of the Earth (IUGG), metres.
const MEAN_RADIUS: f64 = 6_371_008.8;

/// A user's position over time, from the start of the run.
#[derive(Clone, Debug)]
pub struct Course {
    /// The position before the first stretch.
    station: Station,
    /// In the order of time; a stretch begins when the one before ends, or later.
    stretches: Vec<Stretch>,
}

/// A part of a great circle, travelled at a constant speed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Time,
    takes: Duration,
    /// The upward direction at the begin, and the direction into which it turns.
    up: Vector,
    ahead: Vector,
    /// The angle by which the user moves on the leg, radians.
    angle: f64,
    /// Height above the ellipsoid at the begin and at the end, metres.
    altitude: [f64; 2],
}

/// Before or after an instant at which a value jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

impl Course {
    /// Always at `place`.
    pub fn at(place: &Place) -> Course {
        Course { station: Station::new(place), stretches: Vec::new() }
    }

    /// Returns the course from way-point to way-point; the user departs at the start of the run.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn of_waypoints(user: &MovingUser) -> Result<Course, FieldError> {
        let points = &user.waypoints;
        if points.len() < 2 {
            return Err(FieldError::new("waypoints", format!("{} given, at least 2 are needed", points.len())));
        }
        if user.speed.is_some_and(|speed| speed.as_mps() <= 0.0) {
            return Err(FieldError::new("speed", "must be more than 0 m/s"));
        }
        for (i, point) in points.iter().enumerate() {
            let refuse = |error: FieldError| error.within(&format!("waypoints.{i}"));
            point.place().check().map_err(refuse)?;
            if point.speed.is_some_and(|speed| speed.as_mps() <= 0.0) {
                return Err(refuse(FieldError::new("speed", "must be more than 0 m/s")));
            }
        }
        let mut course = Course::at(&points[0].place());
        let mut leg_begin = Time::ZERO;
        for (i, pair) in points.windows(2).enumerate() {
            let refuse = |field: &str, message: &str| FieldError::new(format!("waypoints.{field}"), message);
            let speed = pair[0].speed.or(user.speed).ok_or_else(|| {
                refuse(&format!("{i}.speed"), "is missing, and so is the table's `speed`: give one of them")
            })?;
            let mut stretch = Stretch::between(&pair[0].place(), &pair[1].place())
                .map_err(|message| refuse(&(i + 1).to_string(), message))?;
            if stretch.angle == 0.0 {
                return Err(refuse(
                    &(i + 1).to_string(),
                    "is where the one before is: a speed does not tell how long to stay",
                ));
            }
            stretch.from = leg_begin;
            stretch.takes = Duration::from_secs_f64(stretch.angle * MEAN_RADIUS / speed.as_mps());
            leg_begin += stretch.takes;
            course.stretches.push(stretch);
        }
        Ok(course)
    }

    /// Reads comma-separated rows of time in seconds from the start of the run, latitude and longitude in degrees, and
    /// optionally the altitude in metres, as `time_s,latitude_deg,longitude_deg,altitude_m`. A header is optional; with
    /// one, the columns may stand in any order, and other columns are ignored. The user stays at the first position
    /// until its time, and at the last position.
    ///
    /// # Errors
    /// Names the line and what is wrong with it.
    pub fn from_csv(text: &str) -> Result<Course, FieldError> {
        const COLUMNS: [&[&str]; 4] = [&["time_s"], &["latitude_deg"], &["longitude_deg"], &["altitude_m"]];
        let mut lines = rows(text).peekable();
        let header = match lines.peek() {
            None => return Err(FieldError::new("", "the file is empty")),
            Some(first) if first.is_header() => lines.next().expect("peeked at").header(COLUMNS, 3)?,
            Some(first) => Header::in_order(first.columns()?.min(4), 3),
        };
        let mut course: Option<(Course, Time, Place)> = None;
        for line in lines {
            let row = header.row(&line)?;
            let seconds: f64 = row.number(0, "time_s", 0.0..=3.2e9)?;
            let place = row.place(1)?;
            let now = Time::from_secs_f64(seconds);
            course = Some(match course {
                None => (Course::at(&place), now, place),
                Some((_, before, _)) if now <= before => {
                    let before = before.as_secs_f64();
                    let message = format!("time {seconds} s must be later than {before} s, the time of the row before");
                    return Err(line.wrong(message));
                }
                Some((mut course, before, from)) => {
                    let mut stretch = Stretch::between(&from, &place).map_err(|message| line.wrong(message))?;
                    (stretch.from, stretch.takes) = (before, now.since(before));
                    course.stretches.push(stretch);
                    (course, now, place)
                }
            });
        }
        course.map(|course| course.0).ok_or_else(|| FieldError::new("", "the file has no row"))
    }

    /// The station at the user's position at `now`.
    pub fn station(&self, now: Time) -> Station {
        let started = self.stretches.partition_point(|stretch| stretch.from <= now);
        match started.checked_sub(1) {
            Some(last) => self.stretches[last].station(now),
            None => self.station,
        }
    }

    /// As [`Course::station`], in the inertial frame `seconds` after the reference instant.
    pub(crate) fn horizon(&self, now: Time, seconds: f64) -> Horizon {
        if self.stretches.is_empty() { self.station.at(seconds) } else { self.station(now).at(seconds) }
    }

    /// The user's velocity in the frame that turns with the Earth, metres per second. Where it jumps (the user departs,
    /// turns or stops), the value on that side of `now`.
    pub(crate) fn velocity(&self, now: Time, side: Side) -> Vector {
        /// The differential quotient is taken over this time before and after. The curvature of a great circle over it
        /// is negligible.
        const OVER_S: f64 = 0.1;
        let started = self.stretches.partition_point(|stretch| match side {
            Side::Before => stretch.from < now,
            Side::After => stretch.from <= now,
        });
        let moving = started.checked_sub(1).map(|last| self.stretches[last]).filter(|stretch| {
            let end = stretch.from + stretch.takes;
            (now < end || (now == end && side == Side::Before)) && !stretch.takes.is_zero()
        });
        let Some(stretch) = moving else { return [0.0; 3] };
        let (since, takes) = (now.since(stretch.from).as_secs_f64(), stretch.takes.as_secs_f64());
        let [before, after] = [-OVER_S, OVER_S].map(|offset| stretch.at_share((since + offset) / takes).position());
        std::array::from_fn(|axis| (after[axis] - before[axis]) / (2.0 * OVER_S))
    }

    /// The next instant after `now` at which the user departs, turns or stops.
    pub(crate) fn next_turn(&self, now: Time) -> Option<Time> {
        let next = self.stretches.partition_point(|stretch| stretch.from <= now);
        let turn = self.stretches.get(next).map(|stretch| stretch.from);
        turn.or_else(|| Some(self.end()).filter(|&end| end > now))
    }

    /// The mean speed over ground until `end`, while the user moves, in metres per second; `None` if it never does.
    pub fn mean_speed(&self, end: Time) -> Option<f64> {
        let (mut metres, mut seconds) = (0.0, 0.0);
        let moving = |stretch: &&Stretch| stretch.angle > 0.0 && !stretch.takes.is_zero() && stretch.from < end;
        for stretch in self.stretches.iter().filter(moving) {
            let takes = stretch.takes.as_secs_f64();
            let until = end.since(stretch.from).as_secs_f64().min(takes);
            metres += stretch.angle * MEAN_RADIUS * until / takes;
            seconds += until;
        }
        (seconds > 0.0).then(|| metres / seconds)
    }

    /// When the user arrives; the start of the run if it never moves.
    pub fn end(&self) -> Time {
        self.stretches.last().map_or(Time::ZERO, |last| last.from + last.takes)
    }
}

impl Stretch {
    /// The shorter great circle arc between two places; the caller sets its times.
    fn between(from: &Place, to: &Place) -> Result<Stretch, &'static str> {
        let (a, b) = (upright(from), upright(to));
        let across = cross(a, b);
        let size = dot(across, across).sqrt();
        let altitude = [from.altitude.as_metres(), to.altitude.as_metres()];
        let still = Stretch { from: Time::ZERO, takes: Duration::ZERO, up: a, ahead: [0.0; 3], angle: 0.0, altitude };
        // A tenth of a millimetre on the ground.
        if size < 1e-11 {
            return match dot(a, b) > 0.0 {
                true => Ok(still),
                false => Err("is opposite to the one before: there is no single way between both"),
            };
        }
        let normal = across.map(|x| x / size);
        Ok(Stretch { ahead: cross(normal, a), angle: libm::atan2(size, dot(a, b)), ..still })
    }

    fn station(&self, now: Time) -> Station {
        let share = match self.takes.is_zero() {
            true => 1.0,
            false => (now.since(self.from).as_nanos() as f64 / self.takes.as_nanos() as f64).min(1.0),
        };
        self.at_share(share)
    }

    /// The station at this share of the stretch; beyond 1, on its continuation.
    fn at_share(&self, share: f64) -> Station {
        let (sin, cos) = libm::sincos(self.angle * share);
        let up = std::array::from_fn(|axis| cos * self.up[axis] + sin * self.ahead[axis]);
        Station::upright(up, self.altitude[0] + share * (self.altitude[1] - self.altitude[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::waypoints::Waypoint;
    use crate::satellites::frame::distance;
    use proptest::prelude::*;
    use units::{Angle, Length, Speed};

    fn waypoint(latitude: f64, longitude: f64) -> Waypoint {
        Waypoint {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::default(),
            speed: None,
        }
    }

    fn course(waypoints: &[Waypoint], mps: f64) -> Result<Course, FieldError> {
        Course::of_waypoints(&MovingUser { waypoints: waypoints.to_vec(), speed: Some(Speed::from_mps(mps)) })
    }

    /// The distance between a course and a place, metres.
    fn off(course: &Course, seconds: f64, place: Place) -> f64 {
        let there = course.station(Time::from_secs_f64(seconds)).at(0.0).position;
        distance(there, Station::new(&place).at(0.0).position)
    }

    #[test]
    fn along_the_equator_longitude_grows_with_time() {
        let course = course(&[waypoint(0.0, 350.0), waypoint(0.0, 20.0)], 250.0).unwrap();
        let whole = MEAN_RADIUS * 30f64.to_radians() / 250.0;
        assert!((course.end().as_secs_f64() - whole).abs() < 1e-6);
        for (share, longitude) in [(0.0, -10.0), (1.0 / 3.0, 0.0), (0.5, 5.0), (1.0, 20.0), (3.0, 20.0)] {
            assert!(off(&course, whole * share, Place::from_degrees(0.0, longitude)) < 0.1, "{share}");
        }
    }

    #[test]
    fn half_way_between_paris_and_tokyo_is_in_siberia() {
        let (from, to) = (waypoint(48.9, 2.4), waypoint(35.7, 139.7));
        let course = course(&[from, to], 250.0).unwrap();
        // The midpoint by the formulas of spherical navigation.
        let [(f1, l1), (f2, l2)] = [from, to].map(|p| (p.latitude.as_radians(), p.longitude.as_radians()));
        let (x, y) = (libm::cos(f2) * libm::cos(l2 - l1), libm::cos(f2) * libm::sin(l2 - l1));
        let latitude =
            libm::atan2(libm::sin(f1) + libm::sin(f2), libm::sqrt((libm::cos(f1) + x) * (libm::cos(f1) + x) + y * y));
        let longitude = l1 + libm::atan2(y, libm::cos(f1) + x);
        let middle = Place::from_degrees(latitude.to_degrees(), longitude.to_degrees());
        assert!(latitude.to_degrees() > 65.0);
        assert!(off(&course, course.end().as_secs_f64() / 2.0, middle) < 0.1);
    }

    #[test]
    fn each_stretch_has_its_speed_and_a_constant_vertical_speed() {
        let mut points = [waypoint(10.0, 0.0), waypoint(11.0, 0.0), waypoint(13.0, 0.0)];
        points[0].speed = Some(Speed::from_mps(50.0));
        points[1].altitude = Length::from_metres(8000.0);
        let course = course(&points, 200.0).unwrap();
        let degree = MEAN_RADIUS * 1f64.to_radians();
        let (first, second) = (degree / 50.0, 2.0 * degree / 200.0);
        assert!((course.end().as_secs_f64() - first - second).abs() < 1e-6);
        let at = |latitude: f64, height: f64| Place {
            altitude: Length::from_metres(height),
            ..Place::from_degrees(latitude, 0.0)
        };
        assert!(off(&course, first / 2.0, at(10.5, 4000.0)) < 0.1);
        assert!(off(&course, first, at(11.0, 8000.0)) < 0.1);
        assert!(off(&course, first + second / 4.0, at(11.5, 6000.0)) < 0.1);
        assert!(off(&course, first + second + 1e6, at(13.0, 0.0)) < 0.1);
    }

    #[test]
    fn says_what_is_wrong_with_way_points() {
        let says = |points: &[Waypoint], mps| course(points, mps).unwrap_err().to_string();
        let (a, b) = (waypoint(10.0, 20.0), waypoint(11.0, 20.0));
        assert_eq!(says(&[a], 1.0), "waypoints: 1 given, at least 2 are needed");
        assert_eq!(says(&[a, b], 0.0), "speed: must be more than 0 m/s");
        let stopped = Waypoint { speed: Some(Speed::from_mps(0.0)), ..b };
        assert_eq!(says(&[a, stopped], 1.0), "waypoints.1.speed: must be more than 0 m/s");
        assert_eq!(
            says(&[a, waypoint(91.0, 0.0)], 1.0),
            "waypoints.1.latitude: 91 deg must be between -90 deg and 90 deg"
        );
        assert!(says(&[a, b, b], 1.0).starts_with("waypoints.2: is where the one before is"));
        assert!(says(&[a, waypoint(-10.0, 200.0)], 1.0).starts_with("waypoints.1: is opposite to the one before"));
        let without = MovingUser { waypoints: vec![a, b], speed: None };
        let said = Course::of_waypoints(&without).unwrap_err().to_string();
        assert!(said.starts_with("waypoints.0.speed: is missing, and so is the table's `speed`"), "{said}");
        let first = Waypoint { speed: Some(Speed::from_mps(3.0)), ..a };
        assert!(Course::of_waypoints(&MovingUser { waypoints: vec![first, b], speed: None }).is_ok());
    }

    #[test]
    fn a_track_is_read_and_stays_before_and_after() {
        let text =
            "# a ship\ntime_s,latitude_deg,longitude_deg,altitude_m\n100,0,0,0\n200,0,1,100\n300,0,1,100\n400,1,1,\n";
        let track = Course::from_csv(text).unwrap();
        let at = |longitude: f64, height: f64| Place {
            altitude: Length::from_metres(height),
            ..Place::from_degrees(0.0, longitude)
        };
        for (seconds, longitude, height) in
            [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (150.0, 0.5, 50.0), (200.0, 1.0, 100.0), (250.0, 1.0, 100.0)]
        {
            assert!(off(&track, seconds, at(longitude, height)) < 1e-3, "{seconds}");
        }
        assert!(off(&track, 1e5, Place::from_degrees(1.0, 1.0)) < 1e-3);
        assert_eq!(track.end(), Time::from_secs_f64(400.0));
        let headless = Course::from_csv("0,1,2\n5,1,3\n").unwrap();
        assert!(off(&headless, 5.0, Place::from_degrees(1.0, 3.0)) < 1e-3);
        let one = Course::from_csv("longitude_deg,time_s,speed,latitude_deg\n2,7,x,1\n").unwrap();
        assert!(off(&one, 0.0, Place::from_degrees(1.0, 2.0)) < 1e-3);
    }

    #[test]
    fn names_the_line_of_a_track() {
        let says = |text: &str| Course::from_csv(text).unwrap_err().to_string();
        assert_eq!(says(""), "the file is empty");
        assert_eq!(says("time_s,latitude_deg,longitude_deg\n"), "the file has no row");
        assert_eq!(says("0,1,2\n1,x,2\n"), "line 2: latitude_deg: \"x\" is not a number");
        assert_eq!(says("0,1,2\n1,91,2\n"), "line 2: latitude_deg: 91 must be between -90 and 90");
        assert_eq!(says("0,1,2\n\n0,1,3\n"), "line 3: time 0 s must be later than 0 s, the time of the row before");
        assert_eq!(
            says("0,1,2\n1,-1,182\n"),
            "line 2: is opposite to the one before: there is no single way between both"
        );
        assert_eq!(says("0,1,2\n1,1\n"), "line 2: 2 columns where 3 are expected");
        assert!(says("time_s,latitude_deg,longitude\n").contains("has no column longitude_deg"));
        assert_eq!(says("0,1,2,-5\n"), "line 1: altitude_m: -5 must be between 0 and 50000");
    }

    proptest! {
        /// The user moves at a constant speed in one plane through the Earth's centre, and never farther from the
        /// ground than at the ends.
        #[test]
        fn a_stretch_is_a_great_circle(
            ends in prop::array::uniform4(-80.0..80.0f64),
            longitudes in prop::array::uniform2(-180.0..180.0f64),
        ) {
            let (a, b) = (Place::from_degrees(ends[0], longitudes[0]), Place::from_degrees(ends[1], longitudes[1]));
            let Ok(mut stretch) = Stretch::between(&a, &b) else { return Ok(()) };
            stretch.takes = Duration::from_secs(100);
            let normal = cross(upright(&a), upright(&b));
            let at = |seconds: u64| stretch.station(Time::ZERO + Duration::from_secs(seconds)).at(0.0).up;
            prop_assert!(distance(at(0), upright(&a)) < 1e-9 && distance(at(100), upright(&b)) < 1e-9);
            for seconds in [1, 13, 50, 99] {
                let up = at(seconds);
                prop_assert!(dot(up, normal).abs() < 1e-9 && (dot(up, up) - 1.0).abs() < 1e-12);
                let angle = 2.0 * libm::asin(distance(up, upright(&a)) / 2.0);
                prop_assert!((angle - stretch.angle * seconds as f64 / 100.0).abs() < 1e-7);
            }
        }
    }
}
