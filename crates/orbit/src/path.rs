//! What a scenario says about the long path: the registry of `path.kind`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Duration, FieldError, Probability};

use crate::choice::ConstellationChoice;
use crate::follow::{Follower, Handover};
use crate::ground::Place;
use crate::sky::{ReadFile, Sky};
use crate::trace::DelayTrace;

units::registry! {
    /// The path between the source and the last hop: its one-way delay over time.
    pub enum PathConfig {
        "fixed" => Fixed(FixedPath),
        "constellation" => Constellation(ConstellationPath),
        "trace" => Trace(TracePath),
    }
}

impl PathConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// Names the field within the path, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            PathConfig::Fixed(_) | PathConfig::Trace(_) => Ok(()),
            PathConfig::Constellation(path) => path.check(),
        }
    }
}

/// A constant one-way delay, with jitter if wished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedPath {
    /// The one-way delay.
    pub delay: Duration,
    /// Some packets take longer, and so arrive out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
}

/// An extra delay for some packets, each drawn for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The share of packets that are delayed: a number from 0 to 1, or a percentage.
    pub probability: Probability,
    /// How much later these arrive.
    pub extra: Duration,
}

/// The one-way delay from a file of comma-separated rows: time and delay, both in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TracePath {
    /// The file, relative to the scenario's.
    pub file: String,
}

/// The shortest route over a constellation's inter-satellite links, as the satellites move and the Earth turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstellationPath {
    /// A preset's name, a table of Walker parameters (`preset = "NAME"` with those to change), or a table that names a file of
    /// elements.
    pub constellation: ConstellationChoice,
    /// Where the data come from.
    pub source: Place,
    /// Where the user is.
    pub user: Place,
    /// How the satellite that serves an end is chosen.
    #[serde(default)]
    pub handover: Handover,
    /// Elevation below which a satellite is not used; by default the constellation's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_elevation: Option<Angle>,
    /// How long after the constellation's reference instant the run begins.
    #[serde(default)]
    pub start: Duration,
    /// The route is searched this often; the instants of changes are located much finer.
    #[serde(default = "one_second")]
    pub step: Duration,
}

/// A trace of so many steps takes some hundred megabytes.
const MOST_STEPS: u64 = 10_000_000;

fn one_second() -> Duration {
    Duration::from_secs(1)
}

impl ConstellationPath {
    /// From `source` to `user`, all else by default.
    pub fn new(constellation: ConstellationChoice, source: Place, user: Place) -> ConstellationPath {
        ConstellationPath {
            constellation,
            source,
            user,
            handover: Handover::default(),
            minimum_elevation: None,
            start: Duration::ZERO,
            step: one_second(),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        self.constellation.check()?;
        self.source.check().map_err(|error| error.within("source"))?;
        self.user.check().map_err(|error| error.within("user"))?;
        if let Some(mask) = self.minimum_elevation
            && !(0.0..=90.0).contains(&mask.as_degrees())
        {
            return refuse("minimum_elevation", format!("{} deg must be between 0 deg and 90 deg", mask.as_degrees()));
        }
        if self.step < Duration::from_millis(1) {
            return refuse("step", format!("{} must be at least 1 ms", self.step));
        }
        if !self.constellation.is_linked() && self.handover != Handover::ShortestPath {
            let message = "without inter-satellite links both ends need the same satellite: write \"shortest-path\"";
            return refuse("handover", message.to_owned());
        }
        Ok(())
    }

    /// The one-way delay from the start of the run for `duration`, of a constellation that needs no file.
    ///
    /// # Errors
    /// As [`ConstellationPath::check`], or if there would be more than ten million steps.
    pub fn trace(&self, duration: Duration) -> Result<DelayTrace, FieldError> {
        self.trace_reading(duration, &|_| Err("files are not read here".to_owned()))
    }

    /// As [`ConstellationPath::trace`], with the files that the constellation names.
    ///
    /// # Errors
    /// As [`ConstellationPath::trace`]; or a file cannot be read or is wrong, or one of its satellites has come down.
    pub fn trace_reading(&self, duration: Duration, read: ReadFile) -> Result<DelayTrace, FieldError> {
        self.check()?;
        self.trace_over(self.constellation.sky(read)?, duration)
    }

    /// As [`ConstellationPath::trace`], over the path's own constellation with its files read.
    ///
    /// # Errors
    /// As [`ConstellationPath::trace`]; or a satellite comes down on the way.
    pub fn trace_over(&self, sky: Sky, duration: Duration) -> Result<DelayTrace, FieldError> {
        self.check()?;
        if duration.as_nanos() / self.step.as_nanos() > MOST_STEPS {
            let message = format!("{} is too short for {duration}: at most {MOST_STEPS} steps", self.step);
            return Err(FieldError::new("step", message));
        }
        sky.check(self.start, duration).map_err(|error| FieldError::new("constellation.file", error.to_string()))?;
        let mask = self.minimum_elevation.unwrap_or(sky.minimum_elevation);
        let follower = Follower::new(sky, mask, [&self.source, &self.user], self.handover, self.start);
        Ok(follower.trace(duration, self.step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constellation::Constellation;
    use crate::presets::preset;

    fn read(text: &str) -> PathConfig {
        toml::from_str(text).unwrap()
    }

    fn refused(text: &str) -> String {
        match toml::from_str::<PathConfig>(text) {
            Ok(path) => path.check().unwrap_err().to_string(),
            Err(error) => error.message().to_owned(),
        }
    }

    const PATH: &str = r#"
        kind          = "constellation"
        constellation = "leo-66"
        source        = { latitude = "43.6 deg", longitude = "1.4 deg" }
        user          = { latitude = "-36.9 deg", longitude = "174.8 deg" }
    "#;

    #[test]
    fn every_kind_reads_and_writes() {
        assert_eq!(PathConfig::ALL, ["fixed", "constellation", "trace"]);
        let fixed = read("kind = \"fixed\"\ndelay = \"40 ms\"\njitter = { probability = 0.2, extra = \"20 ms\" }");
        let jitter = Jitter { probability: Probability::new(0.2), extra: Duration::from_millis(20) };
        assert_eq!(fixed, PathConfig::Fixed(FixedPath { delay: Duration::from_millis(40), jitter: Some(jitter) }));
        let trace = read("kind = \"trace\"\nfile = \"x.csv\"");
        assert_eq!(trace, PathConfig::Trace(TracePath { file: "x.csv".to_owned() }));
        let constellation = read(PATH);
        let (source, user) = (Place::from_degrees(43.6, 1.4), Place::from_degrees(-36.9, 174.8));
        assert_eq!(constellation, PathConfig::Constellation(ConstellationPath::new("leo-66".into(), source, user)));
        for path in [fixed, trace, constellation] {
            assert_eq!(path.check(), Ok(()));
            assert_eq!(toml::from_str::<PathConfig>(&toml::to_string(&path).unwrap()).unwrap(), path);
            assert_eq!(serde_json::from_str::<PathConfig>(&serde_json::to_string(&path).unwrap()).unwrap(), path);
        }
    }

    #[test]
    fn a_preset_and_its_parameters_are_the_same_path() {
        let PathConfig::Constellation(by_name) = read(PATH) else { panic!() };
        let table = r#"{ geometry = "star", planes = 6, satellites_per_plane = 11, altitude = "800 km",
            inclination = "86.4 deg", node_spacing = "31.6 deg", minimum_elevation = "8.2 deg", cross_seam = true,
            polar_cutoff = "60 deg", first_node = "16 deg" }"#;
        let text = PATH.replace("\"leo-66\"", &table.replace('\n', " "));
        let PathConfig::Constellation(by_table) = read(&text) else { panic!() };
        assert_eq!(by_name.constellation.resolve(), by_table.constellation.resolve());
        let hour = Duration::from_secs(3600);
        assert_eq!(by_name.trace(hour), by_table.trace(hour));
        let written = toml::to_string(&PathConfig::Constellation(by_table.clone())).unwrap();
        assert_eq!(read(&written), PathConfig::Constellation(by_table));
    }

    #[test]
    fn says_which_field_is_wrong() {
        let with = |from: &str, to: &str| refused(&PATH.replace(from, to));
        assert_eq!(with("43.6 deg", "93.6 deg"), "source.latitude: 93.6 deg must be between -90 deg and 90 deg");
        assert_eq!(with("174.8 deg", "-274 deg"), "user.longitude: -274 deg must be between -180 deg and 360 deg");
        assert_eq!(
            with("leo-66", "leo66"),
            "constellation: unknown constellation \"leo66\": did you mean leo-66? one of leo-66, iridium-66, iridium-next, \
             oneweb, starlink-shell-1, kuiper-630, orbcomm-og2, o3b, geo"
        );
        let add = |line: &str| refused(&format!("{PATH}\n{line}"));
        assert_eq!(add("step = \"0 s\""), "step: 0 s must be at least 1 ms");
        assert_eq!(add("minimum_elevation = \"91 deg\""), "minimum_elevation: 91 deg must be between 0 deg and 90 deg");
        assert!(add("handover = \"often\"").contains("keep-until-mask"), "{}", add("handover = \"often\""));
        assert!(add("color = 1").contains("unknown field `color`"), "{}", add("color = 1"));
        assert!(
            with("\"leo-66\"", "66").contains("a preset's name, a table of Walker parameters, or a table with a file")
        );
        let short = ConstellationPath {
            step: Duration::from_millis(1),
            ..ConstellationPath::new("leo-66".into(), Place::from_degrees(0.0, 0.0), Place::from_degrees(1.0, 1.0))
        };
        assert_eq!(short.trace(Duration::from_secs(86_400)).unwrap_err().field, "step");
    }

    #[test]
    fn says_which_parameter_is_wrong() {
        let good = preset("leo-66").unwrap().constellation.clone();
        let says = |change: &dyn Fn(&mut Constellation)| {
            let mut bad = good.clone();
            change(&mut bad);
            let place = Place::from_degrees(0.0, 0.0);
            ConstellationPath::new(bad.into(), place, place).check().unwrap_err().to_string()
        };
        let degrees = Angle::from_degrees;
        assert_eq!(says(&|c| c.planes = 0), "constellation.planes: 0 must be between 1 and 1000");
        assert!(says(&|c| (c.planes, c.satellites_per_plane) = (1000, 1000)).contains("more than 100000 satellites"));
        assert!(says(&|c| c.satellites_per_plane = 5000).starts_with("constellation.satellites_per_plane: 5000"));
        assert!(says(&|c| c.altitude = units::Length::from_metres(1.0)).contains("between 100 km and 400000 km"));
        assert!(says(&|c| c.inclination = degrees(181.0)).starts_with("constellation.inclination: 181 deg must be"));
        assert!(says(&|c| c.minimum_elevation = degrees(-1.0)).starts_with("constellation.minimum_elevation: -1 deg"));
        assert!(says(&|c| c.polar_cutoff = Some(degrees(95.0))).starts_with("constellation.polar_cutoff: 95 deg"));
        assert!(says(&|c| c.phasing = f64::NAN).starts_with("constellation.phasing: NaN"));
        assert!(says(&|c| c.minimum_link_altitude = units::Length::from_metres(9e5)).contains("900 km"));
        assert_eq!(
            says(&|c| c.node_spacing = Some(degrees(40.0))),
            "constellation.node_spacing: 40 deg must be more than 0 deg and at most 36.000 deg for 6 planes"
        );
    }

    #[test]
    fn a_table_with_a_slip_is_told_the_slip() {
        let text = PATH.replace("\"leo-66\"", "{ geometry = \"star\", planets = 6 }");
        assert!(refused(&text).contains("unknown field `planets`"), "{}", refused(&text));
    }

    #[test]
    fn the_schema_describes_every_option() {
        let schema = serde_json::to_value(schemars::schema_for!(PathConfig)).unwrap().to_string();
        for word in [
            "keep-until-mask",
            "starlink-shell-1",
            "satellites_per_plane",
            "polar_cutoff",
            "jitter",
            "latitude",
            "preset",
            "epoch",
            "j2",
        ] {
            assert!(schema.contains(word), "{word}");
        }
    }
}
