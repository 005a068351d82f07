//! A course as a scenario writes it: points and speeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Length, Speed};

use super::place::Place;

/// A user who moves on great circles from way-point to way-point, and stays at the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovingUser {
    /// The points in their order, at least two; the run begins at the first.
    pub waypoints: Vec<Waypoint>,
    /// The speed over ground from way-points that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
}

/// A point of a user's course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// Geodetic latitude, north positive, between -90 deg and 90 deg.
    pub latitude: units::Angle,
    /// Longitude, east positive, between -180 deg and 360 deg.
    pub longitude: units::Angle,
    /// Height above the ellipsoid; it changes linearly between two way-points.
    #[serde(default)]
    pub altitude: Length,
    /// The speed over ground from here to the next way-point; by default the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
}

impl Waypoint {
    /// The way-point as a place.
    pub fn place(&self) -> Place {
        Place { latitude: self.latitude, longitude: self.longitude, altitude: self.altitude }
    }
}
