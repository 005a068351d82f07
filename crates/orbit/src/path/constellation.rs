//! A path over the satellites of a constellation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Duration, FieldError, Files, MemoryFiles};

use crate::ground::whereabouts::{Gateways, Whereabouts};
use crate::path::follow::{Follower, RouteSpec};
use crate::path::trace::DelayTrace;
use crate::path::transit::{AtHandover, HopConfig, NoRoute};
use crate::path::{Kind, is_default};
use crate::routes::all_pairs::Metric;
use crate::satellites::choice::ConstellationChoice;
use crate::satellites::handover::HandoverPolicy;
use crate::satellites::sky::Sky;

/// The best route over a constellation's inter-satellite links, as satellites, Earth and user move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstellationPath {
    /// A preset's name, a table of Walker parameters (`preset = "NAME"` with those to change), or a table that names a
    /// file of elements.
    pub constellation: ConstellationChoice,
    /// The gateways: a place, a list of places, or a table that names a file of places. A route begins at the gateway
    /// from which it is best.
    pub source: Gateways,
    /// The user: a place, a table with way-points, or a table that names a file with its track.
    pub user: Whereabouts,
    /// How the serving satellite of an end is chosen; by default as the constellation says, which is `shortest-path`
    /// for dense presets and else `keep-until-mask`. Without inter-satellite links both ends need the same one: it is
    /// then chosen for the user, among those that a gateway sees too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverPolicy>,
    /// The same for the gateways, where satellites have inter-satellite links; by default as for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_handover: Option<HandoverPolicy>,
    /// The quantity that the best route minimises.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metric: Metric,
    /// Processing delay, rate and buffer of the satellites and links on the route.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hops: HopConfig,
    /// What a handover of the user costs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_handover: AtHandover,
    /// What happens to packets while there is no route.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_route: NoRoute,
    /// Elevation below which a satellite does not serve; by default the constellation's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_elevation: Option<Angle>,
    /// The start of the run, after the constellation's reference instant.
    #[serde(default)]
    pub start: Duration,
    /// The interval at which the route is searched; the instants of changes are located to a millisecond. Between two
    /// searches delay, elevation and distance are linear: with more than 10 s over a low orbit they are wrong.
    #[serde(default = "one_second")]
    pub step: Duration,
}

/// A trace of so many steps takes some hundred megabytes.
const MOST_STEPS: u64 = 5_000_000;
/// So many positions of satellites take some tens of seconds.
const MOST_POSITIONS: u64 = 1_000_000_000;

/// A step up to this is not warned of: in it a satellite at 800 km goes 5 deg across the sky.
const LONGEST_SURE_STEP: Duration = Duration::from_secs(10);
/// A step in which no satellite goes farther than this across the sky is not warned of either.
const MOST_DEGREES_IN_A_STEP: f64 = 5.0;

fn one_second() -> Duration {
    Duration::from_secs(1)
}

impl Kind for ConstellationPath {
    fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        self.constellation.check()?;
        self.source.check().map_err(|error| error.within("source"))?;
        self.user.check().map_err(|error| error.within("user"))?;
        self.policy().entry().check().map_err(|error| error.within("handover"))?;
        if let Some(policy) = &self.source_handover {
            policy.entry().check().map_err(|error| error.within("source_handover"))?;
            if !self.constellation.is_linked() {
                let message = "there are no links between satellites: the gateways follow the user to its satellite, \
                               which `handover` chooses";
                return refuse("source_handover", message.to_owned());
            }
        }
        self.hops.check().map_err(|error| error.within("hops"))?;
        self.no_route.entry().check().map_err(|error| error.within("no_route"))?;
        if let Some(mask) = self.minimum_elevation
            && !(0.0..=90.0).contains(&mask.as_degrees())
        {
            return refuse("minimum_elevation", format!("{} deg must be between 0 deg and 90 deg", mask.as_degrees()));
        }
        if self.step < Duration::from_millis(1) {
            return refuse("step", format!("{} must be at least 1 ms", self.step));
        }
        Ok(())
    }

    fn resolve(&mut self) {
        self.handover = Some(self.policy());
    }

    fn delays(&self, duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        self.check()?;
        let sky = self.constellation.sky(files)?;
        let start = self.start.as_secs_f64();
        let end = start + duration.as_secs_f64();
        let (of_sky, of_step) = (sky.warning(start, end), self.step_warning(&sky, [start, end]));
        let trace = self.trace_over(sky, duration, files)?;
        let warnings = of_sky.into_iter().chain(of_step).chain(trace.warnings().iter().cloned()).collect();
        Ok(trace.warned(warnings))
    }

    fn no_route(&self) -> NoRoute {
        self.no_route.clone()
    }

    fn at_handover(&self) -> AtHandover {
        self.at_handover
    }

    fn hops(&self) -> HopConfig {
        self.hops
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.constellation.files_mut().chain(self.source.file_mut()).chain(self.user.file_mut()).collect()
    }

    fn constellation(&self) -> Option<&ConstellationPath> {
        Some(self)
    }
}

impl ConstellationPath {
    /// Returns the path from `source` to `user`, everything else by default.
    pub fn new(
        constellation: ConstellationChoice,
        source: impl Into<Gateways>,
        user: impl Into<Whereabouts>,
    ) -> ConstellationPath {
        ConstellationPath {
            constellation,
            source: source.into(),
            user: user.into(),
            handover: None,
            source_handover: None,
            metric: Metric::default(),
            hops: HopConfig::default(),
            at_handover: AtHandover::default(),
            no_route: NoRoute::default(),
            minimum_elevation: None,
            start: Duration::ZERO,
            step: one_second(),
        }
    }

    /// Returns the policy by which the serving satellite of an end is chosen.
    fn policy(&self) -> HandoverPolicy {
        self.handover.clone().unwrap_or_else(|| self.constellation.handover())
    }

    /// Returns a warning about a step in which satellites go far across the sky, during the seconds `from` to `to`
    /// after the reference instant.
    fn step_warning(&self, sky: &Sky, [from, to]: [f64; 2]) -> Option<String> {
        let step = self.step.as_secs_f64().min(to - from);
        if self.step <= LONGEST_SURE_STEP {
            return None;
        }
        let instants = [from, f64::midpoint(from, to), to];
        let rates = instants.into_iter().flat_map(|at| (0..sky.names.len() as u32).map(move |number| (at, number)));
        let fastest = rates.map(|(at, number)| sky.overhead_rate(number, at)).fold(0.0, f64::max);
        let degrees = (fastest * step).to_degrees();
        (degrees > MOST_DEGREES_IN_A_STEP).then(|| {
            format!(
                "path.step: delay, elevation and distance are linear over {}, in which a satellite overhead goes {} \
                 across the sky: {LONGEST_SURE_STEP} or less follows it",
                Duration::from_secs_f64(step),
                if degrees < 90.0 { format!("{degrees:.0} deg") } else { "from horizon to horizon".to_owned() },
            )
        })
    }

    /// The one-way delay from the start of the run for `duration`, of a path that needs no file.
    ///
    /// # Errors
    /// As [`ConstellationPath::check`]; or there would be more than ten million steps; or an end never sees a
    /// satellite.
    pub fn trace(&self, duration: Duration) -> Result<DelayTrace, FieldError> {
        self.trace_reading(duration, &mut MemoryFiles::new())
    }

    /// As [`ConstellationPath::trace`], with the files that the path names.
    ///
    /// # Errors
    /// As [`ConstellationPath::trace`]; or a file cannot be read or is wrong, or one of its satellites has come down.
    pub fn trace_reading(&self, duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        self.check()?;
        self.trace_over(self.constellation.sky(files)?, duration, files)
    }

    /// As [`ConstellationPath::trace_reading`], over the path's own constellation with its files read; `files` has
    /// those of the ends.
    ///
    /// # Errors
    /// As [`ConstellationPath::trace_reading`].
    pub fn trace_over(&self, sky: Sky, duration: Duration, files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        self.check()?;
        let most = MOST_STEPS.min(MOST_POSITIONS / (sky.names.len() as u64).max(1));
        if duration.as_nanos() / self.step.as_nanos() > most {
            let message = format!("{} is too short for {duration}: at most {most} steps", self.step);
            return Err(FieldError::new("step", message));
        }
        let start = self.start.as_secs_f64();
        sky.check(start, start + duration.as_secs_f64())?;
        let spec = RouteSpec {
            gateways: self.source.places(files).map_err(|error| error.within("source"))?,
            course: self.user.course(files).map_err(|error| error.within("user"))?,
            handover: self.policy(),
            gateway_handover: self.source_handover.clone().unwrap_or_else(|| self.policy()),
            is_linked: self.constellation.is_linked(),
            metric: self.metric,
            processing: self.hops.processing_delay,
            mask: self.minimum_elevation.unwrap_or(sky.minimum_elevation),
            start: self.start,
        };
        Follower::new(sky, spec).trace(duration, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::place::Place;
    use crate::path::fixed::FixedPath;
    use crate::path::jitter::Jitter;
    use crate::path::transit::{AtHandoverPackets, QueueWithoutRoute};
    use crate::path::{PathConfig, TracePath};
    use crate::satellites::constellation::Constellation;
    use crate::satellites::presets::preset;
    use units::{Bytes, Probability};

    fn read(text: &str) -> PathConfig {
        toml::from_str(text).unwrap()
    }

    fn refused(text: &str) -> String {
        match toml::from_str::<PathConfig>(text) {
            Ok(path) => path.entry().check().unwrap_err().to_string(),
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
        let fixed = read("kind = \"fixed\"\ndelay = \"40 ms\"\njitter = { probability = 0.2, extra = \"20 ms\" }");
        let jitter = Jitter { probability: Probability::new(0.2), extra: Duration::from_millis(20) };
        assert_eq!(fixed, PathConfig::Fixed(FixedPath { delay: Duration::from_millis(40), jitter: Some(jitter) }));
        let trace = read("kind = \"trace\"\nfile = \"x.csv\"");
        assert_eq!(trace, PathConfig::Trace(TracePath::new("x.csv")));
        let constellation = read(PATH);
        let (source, user) = (Place::from_degrees(43.6, 1.4), Place::from_degrees(-36.9, 174.8));
        assert_eq!(constellation, PathConfig::Constellation(ConstellationPath::new("leo-66".into(), source, user)));
        for path in [fixed, trace, constellation] {
            assert_eq!(path.entry().check(), Ok(()));
            assert_eq!(toml::from_str::<PathConfig>(&toml::to_string(&path).unwrap()).unwrap(), path);
            assert_eq!(serde_json::from_str::<PathConfig>(&serde_json::to_string(&path).unwrap()).unwrap(), path);
        }
    }

    #[test]
    fn a_step_in_which_satellites_go_far_is_warned_of() {
        let place = Place::from_degrees(43.6, 1.4);
        let warnings = |preset: &str, seconds: u64| {
            let path = ConstellationPath {
                step: Duration::from_secs(seconds),
                ..ConstellationPath::new(preset.into(), place, place)
            };
            let trace = Kind::delays(&path, Duration::from_secs(7200), &mut MemoryFiles::new()).unwrap();
            trace.warnings().to_vec()
        };
        assert!(warnings("leo-66", 1).is_empty() && warnings("leo-66", 10).is_empty());
        let said = warnings("leo-66", 60);
        let words = "path.step: delay, elevation and distance are linear over 60 s, in which a satellite overhead goes \
                     32 deg across the sky: 10 s or less follows it";
        assert_eq!(said, [words]);
        assert!(warnings("leo-66", 3600)[0].contains("from horizon to horizon"));
        assert!(warnings("geo", 3600).is_empty());
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
            "constellation: \"leo66\" is unknown, did you mean leo-66? (allowed: leo-66, iridium-66, iridium-next, \
             oneweb, starlink-shell-1, kuiper-630, orbcomm-og2, o3b, geo)"
        );
        let add = |line: &str| refused(&format!("{PATH}\n{line}"));
        assert_eq!(add("step = \"0 s\""), "step: 0 s must be at least 1 ms");
        assert_eq!(add("minimum_elevation = \"91 deg\""), "minimum_elevation: 91 deg must be between 0 deg and 90 deg");
        let often = add("handover = { kind = \"often\" }");
        assert!(often.contains("keep-until-mask"), "{often}");
        let every = add("handover = { kind = \"fixed-epochs\", every = \"0 s\" }");
        assert_eq!(every, "handover.every: 0 s must be at least 1 ms");
        let margin = add("handover = { kind = \"hysteresis\", margin = \"-1 deg\" }");
        assert_eq!(margin, "handover.margin: -1 deg must be between 0 deg and 90 deg");
        let margin = add("source_handover = { kind = \"hysteresis\", margin = \"-1 deg\" }");
        assert_eq!(margin, "source_handover.margin: -1 deg must be between 0 deg and 90 deg");
        let bent = refused(&format!("{}\nsource_handover = {{ kind = \"highest\" }}", PATH.replace("leo-66", "geo")));
        assert!(bent.starts_with("source_handover: there are no links between satellites"), "{bent}");
        let small = add("hops = { rate = \"1 Mbit/s\", buffer = \"1 kB\" }");
        let expected = "1 kB must be at least 1500 B: a packet larger than the buffer is always lost";
        assert_eq!(small, format!("hops.buffer: {expected}"));
        assert_eq!(add("no_route = { kind = \"queue\", buffer = \"1 kB\" }"), format!("no_route.buffer: {expected}"));
        let trace = refused("kind = \"trace\"\nfile = \"x\"\nno_route = { kind = \"queue\", buffer = \"1 kB\" }");
        assert_eq!(trace, format!("no_route.buffer: {expected}"));
        let trace = refused("kind = \"trace\"\nfile = \"x\"\nuplink_buffer = \"1 kB\"");
        assert_eq!(trace, format!("uplink_buffer: {expected}"));
        assert!(add("hops = { buffer = \"1 MB\" }").starts_with("hops.buffer: without a `rate` nothing waits"));
        assert_eq!(add("hops = { processing_delay = \"2 s\" }"), "hops.processing_delay: 2 s must be at most 1 s");
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
    fn says_which_end_is_wrong() {
        let source = |text: &str| refused(&PATH.replace("{ latitude = \"43.6 deg\", longitude = \"1.4 deg\" }", text));
        let user = |text: &str| refused(&PATH.replace("{ latitude = \"-36.9 deg\", longitude = \"174.8 deg\" }", text));
        let place = "{ latitude = \"1 deg\", longitude = \"2 deg\" }";
        assert_eq!(source("[]"), "source: 0 gateways given, 1 to 1000 are expected");
        assert_eq!(
            source(&format!("[{}]", [place; 1001].join(","))),
            "source: 1001 gateways given, 1 to 1000 are expected"
        );
        let second = format!("[{place}, {{ latitude = \"95 deg\", longitude = \"0 deg\" }}]");
        assert_eq!(source(&second), "source.1.latitude: 95 deg must be between -90 deg and 90 deg");
        assert!(source("{ file = \"a\", name = 1 }").contains("unknown field `name`"));
        assert!(source("3").contains("a place, a list of places, or a table with a file"), "{}", source("3"));
        assert!(user("[]").contains("a place, a table with way-points, or a table with a file"), "{}", user("[]"));
        assert_eq!(
            user(&format!("{{ waypoints = [{place}], speed = \"1 m/s\" }}")),
            "user.waypoints: 1 given, at least 2 are needed"
        );
        assert_eq!(
            user(&format!("{{ waypoints = [{place}, {place}], speed = \"0 m/s\" }}")),
            "user.speed: must be more than 0 m/s"
        );
        assert!(user(&format!("{{ waypoints = [{place}], speeds = 1 }}")).contains("unknown field `speeds`"));
        let trace = |text: &str| refused(&format!("kind = \"trace\"\nfile = \"x\"\n{text}"));
        assert!(trace("interval = \"1 s\"").starts_with("interval: is for \"milliseconds\" and \"ping\""));
        assert_eq!(trace("format = \"ping\"\ninterval = \"0 s\""), "interval: must be more than 0 s");
    }

    #[test]
    fn everything_that_can_be_said_reads_back() {
        let text = r#"
            kind          = "constellation"
            constellation = "leo-66"
            source        = [
                { latitude = "43.6 deg", longitude = "1.4 deg" },
                { latitude = "50 deg", longitude = "8 deg" },
            ]
            metric        = "hops"
            hops          = { processing_delay = "1 ms", rate = "10 Gbit/s", buffer = "2 MB" }
            at_handover   = { interruption = "50 ms", packets = "forward" }
            no_route      = { kind = "queue", buffer = "100 kB" }
            handover      = { kind = "hysteresis" }
            source_handover = { kind = "shortest-path" }
            user          = { waypoints = [
                { latitude = "1 deg", longitude = "2 deg", altitude = "10 km" },
                { latitude = "3 deg", longitude = "4 deg", speed = "10 m/s" },
            ], speed = "900 km/h" }
        "#;
        let path = read(text);
        path.entry().check().unwrap();
        assert_eq!(toml::from_str::<PathConfig>(&toml::to_string(&path).unwrap()).unwrap(), path);
        assert_eq!(serde_json::from_str::<PathConfig>(&serde_json::to_string(&path).unwrap()).unwrap(), path);
        assert_eq!(path.entry().no_route(), NoRoute::Queue(QueueWithoutRoute { buffer: Bytes::new(100_000) }));
        assert_eq!(path.entry().at_handover().packets, AtHandoverPackets::Forward);
        assert_eq!(path.entry().hops().processing_delay, Duration::from_millis(1));
        let fixed = read("kind = \"fixed\"\ndelay = \"40 ms\"");
        assert_eq!((fixed.entry().no_route(), fixed.entry().hops()), (NoRoute::default(), HopConfig::default()));
        // A key that was not given is not written.
        let plain = toml::to_string(&read(PATH)).unwrap();
        for word in ["metric", "hops", "at_handover", "no_route", "source_handover"] {
            assert!(!plain.contains(word), "{plain}");
        }
        let mut files =
            read(&PATH.replace("{ latitude = \"43.6 deg\", longitude = \"1.4 deg\" }", "{ file = \"g.csv\" }"));
        assert_eq!(files.entry_mut().files_mut(), ["g.csv"]);
    }

    #[test]
    fn the_ends_may_stand_in_files() {
        let text = PATH
            .replace("{ latitude = \"43.6 deg\", longitude = \"1.4 deg\" }", "{ file = \"gateways.csv\" }")
            .replace("{ latitude = \"-36.9 deg\", longitude = \"174.8 deg\" }", "{ file = \"track.csv\" }");
        let PathConfig::Constellation(path) = read(&text) else { panic!() };
        let with = |gateways: &'static str, track: &'static str| {
            let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().into());
            let mut files = MemoryFiles::from([file("gateways.csv", gateways), file("track.csv", track)]);
            path.trace_reading(Duration::from_secs(60), &mut files)
        };
        let gateways = "name,latitude_deg,longitude_deg\nToulouse,43.6,1.4\n";
        let PathConfig::Constellation(plain) = read(PATH) else { panic!() };
        assert_eq!(with(gateways, "0,-36.9,174.8\n"), plain.trace(Duration::from_secs(60)));
        let says = |gateways, track| with(gateways, track).unwrap_err().to_string();
        assert_eq!(
            says("name,latitude_deg,longitude_deg\nA,x,1\n", ""),
            "source.file: gateways.csv: line 2: latitude_deg: \"x\" is not a number"
        );
        assert_eq!(
            says("name,latitude_deg,longitude_deg\n", ""),
            "source.file: gateways.csv: 0 gateways given, 1 to 1000 are expected"
        );
        assert_eq!(
            says(gateways, "0,1,2\n0,1,3\n"),
            "user.file: track.csv: line 2: time 0 s must be later than 0 s, the time of the row before"
        );
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
