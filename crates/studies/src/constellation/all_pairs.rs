//! Routes between all pairs of many stations.

use std::num::NonZero;
use std::path::Path;

use orbit::{Access, AllPairs, AllPairsOptions, Metric, NamedPlace, NextHop, PairRoute, Sky};
use serde::{Deserialize, Serialize};
use sim::{ScenarioError, Table};
use units::Angle;

use crate::bounds::span;

use super::sky::{epoch_of, sky};

/// Asks for the routes between all pairs of stations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutesOptions {
    /// A name, or as a scenario's `path.constellation`, as JSON.
    pub constellation: String,
    /// Rows of name, latitude and longitude, with a header.
    pub stations_csv: String,
    /// `delay` (least) or `hops` (fewest).
    pub metric: String,
    /// `all` satellites in view, or the `nearest`.
    pub access: String,
    /// Elevation below which a satellite is not used, degrees; by default the constellation's.
    pub minimum_elevation_deg: Option<f64>,
    /// The duration over which routes are asked for.
    pub duration_s: f64,
    /// Time between the instants.
    pub step_s: f64,
    /// Whether the next hop of every node is wanted, where it changes.
    pub forwarding: bool,
    /// Threads that search for routes; by default as many as there are processors.
    pub threads: Option<usize>,
    /// Whether stations that never have a satellite in view are left alone; else they are an error.
    pub keep_unseen: bool,
}

/// A search for routes in progress.
pub struct RoutesStudy {
    inner: AllPairs,
    stations: Vec<NamedPlace>,
    options: RoutesOptions,
    minimum_elevation: Angle,
    unseen: Option<Vec<(u32, Angle)>>,
    /// From when times count, of satellites from a file; and that their elements are old.
    epoch: Option<String>,
    warning: Option<String>,
    /// Rows of routes and of next hops that were handed out.
    rows: [u64; 2],
}

/// A batch of instants: the routes of the pairs, and next hops where they were asked for.
pub struct RoutesBatch {
    /// `time_s`, `from`, `to` (numbers of stations), `one_way_delay_s`, `hops`, `first_satellite`, `last_satellite`:
    /// the last four empty without a route.
    pub routes: Table,
    /// `time_s`, `node`, `to` (number of a station), `next_hop` (empty without a route).
    pub forwarding: Table,
}

/// The parameters of a [`RoutesStudy`] as resolved, for its folder.
#[derive(Clone, Debug, Serialize)]
struct RoutesReport<'a> {
    constellation: &'a str,
    /// From when times count, UTC; nothing for a pattern.
    epoch: Option<&'a str>,
    satellites: usize,
    minimum_elevation_deg: f64,
    metric: &'a str,
    access: &'a str,
    duration_s: f64,
    step_s: f64,
    instants: u64,
    route_rows: u64,
    forwarding_rows: Option<u64>,
    stations: Vec<StationReport<'a>>,
    warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct StationReport<'a> {
    name: &'a str,
    /// The station's number in a forwarding table.
    node: usize,
    latitude_deg: f64,
    longitude_deg: f64,
    altitude_m: f64,
}

impl RoutesStudy {
    /// A search that has not started; names of files of the constellation start from `base`.
    ///
    /// # Errors
    /// Names the option that is wrong: `constellation`, `stations` (and its line), `metric`, `access`,
    /// `minimum_elevation`, `duration`, `step`, `threads`.
    pub fn new(options: RoutesOptions, base: &Path) -> Result<RoutesStudy, ScenarioError> {
        let (duration, step) = (span("duration", options.duration_s)?, span("step", options.step_s)?);
        let sky = sky(&options.constellation, base)?;
        let until = duration.as_secs_f64();
        sky.check(0.0, until)?;
        let warning = sky.warning(0.0, until);
        let epoch = epoch_of(&sky);
        let Sky { orbits, links, minimum_elevation, .. } = sky;
        let stations = NamedPlace::from_csv(&options.stations_csv).map_err(|error| error.within("stations"))?;
        let minimum_elevation = options.minimum_elevation_deg.map_or(minimum_elevation, Angle::from_degrees);
        let threads = options.threads.map(|threads| {
            NonZero::new(threads).ok_or_else(|| ScenarioError::new("threads", "0 was given, 1 or more are expected"))
        });
        let inner = AllPairsOptions {
            metric: one_of("metric", &options.metric, [("delay", Metric::Delay), ("hops", Metric::Hops)])?,
            access: one_of("access", &options.access, [("all", Access::All), ("nearest", Access::Nearest)])?,
            minimum_elevation,
            duration,
            step,
            forwarding: options.forwarding,
            threads: threads.transpose()?,
        };
        Ok(RoutesStudy {
            inner: AllPairs::new(orbits, links, &stations, &inner)?,
            stations,
            options,
            minimum_elevation,
            unseen: None,
            epoch,
            warning,
            rows: [0; 2],
        })
    }

    /// Number of instants.
    pub fn instants(&self) -> u64 {
        self.inner.steps()
    }

    /// Returns the number of instants whose routes are found.
    pub fn done(&self) -> u64 {
        self.inner.done()
    }

    /// The names of the stations, in the order of their numbers.
    pub fn stations(&self) -> Vec<String> {
        self.stations.iter().map(|station| station.name.clone()).collect()
    }

    /// Computes the next batch; `None` while stations without a satellite are searched for.
    ///
    /// # Errors
    /// A station has no satellite in view at any instant, and the options do not allow it.
    pub fn advance(&mut self) -> Result<Option<RoutesBatch>, ScenarioError> {
        if self.unseen.is_none() {
            self.unseen = self.inner.never_in_view();
            let unseen = self.unseen.as_deref().unwrap_or_default();
            return match unseen.first() {
                Some(&first) if !self.options.keep_unseen => {
                    Err(ScenarioError::new("stations", self.complaint(first, unseen.len() - 1)))
                }
                _ => Ok(None),
            };
        }
        let batch = self.inner.advance();
        self.rows[0] += batch.routes.len() as u64;
        self.rows[1] += batch.next_hops.len() as u64;
        Ok(Some(RoutesBatch { routes: routes(&batch.routes), forwarding: self.forwarding(&batch.next_hops) }))
    }

    /// Returns the summary of each pair so far: `from`, `to`, delays, hops, `route_changes`, `reached_share`.
    pub fn pairs(&self) -> Table {
        let pairs = self.inner.summaries();
        let instants = self.inner.done().max(1) as f64;
        let mut table = Table::default();
        table.count("from", pairs.iter().map(|pair| u64::from(pair.from)));
        table.count("to", pairs.iter().map(|pair| u64::from(pair.to)));
        for (i, name) in ["delay_min_s", "delay_mean_s", "delay_max_s"].into_iter().enumerate() {
            table.float(name, pairs.iter().map(|pair| pair.delay_s[i]));
        }
        for (i, name) in ["hops_min", "hops_max"].into_iter().enumerate() {
            table.float(name, pairs.iter().map(|pair| pair.hops.map_or(f64::NAN, |hops| f64::from(hops[i]))));
        }
        table.count("route_changes", pairs.iter().map(|pair| pair.changes));
        table.float("reached_share", pairs.iter().map(|pair| pair.reached as f64 / instants));
        table
    }

    /// The parameters and what came of them, as JSON.
    pub fn report_json(&self) -> String {
        let stations = self.stations.iter().enumerate().map(|(i, station)| StationReport {
            name: &station.name,
            node: self.inner.satellites() + i,
            latitude_deg: station.place.latitude.as_degrees(),
            longitude_deg: station.place.longitude.as_degrees(),
            altitude_m: station.place.altitude.as_metres(),
        });
        let unseen = self.unseen.iter().flatten().map(|&unseen| self.complaint(unseen, 0));
        let report = RoutesReport {
            constellation: &self.options.constellation,
            epoch: self.epoch.as_deref(),
            satellites: self.inner.satellites(),
            minimum_elevation_deg: self.minimum_elevation.as_degrees(),
            metric: &self.options.metric,
            access: &self.options.access,
            duration_s: self.options.duration_s,
            step_s: self.options.step_s,
            instants: self.inner.steps(),
            route_rows: self.rows[0],
            forwarding_rows: self.options.forwarding.then_some(self.rows[1]),
            stations: stations.collect(),
            warnings: self.warning.iter().cloned().chain(unseen).collect(),
        };
        serde_json::to_string(&report).expect("a report is JSON")
    }

    fn complaint(&self, (number, best): (u32, Angle), others: usize) -> String {
        let name = &self.stations[number as usize].name;
        let and_others = match others {
            0 => String::new(),
            1 => "; the same holds for one more station".to_owned(),
            _ => format!("; the same holds for {others} more stations"),
        };
        format!(
            "\"{name}\" never has a satellite in view: the highest reaches {:.1} deg, {} deg are needed{and_others}",
            best.as_degrees(),
            self.minimum_elevation.as_degrees()
        )
    }

    fn forwarding(&self, changes: &[NextHop]) -> Table {
        let mut table = Table::default();
        table.float("time_s", changes.iter().map(|change| self.inner.seconds(change.step)));
        table.count("node", changes.iter().map(|change| u64::from(change.node)));
        table.count("to", changes.iter().map(|change| u64::from(change.to)));
        table.float("next_hop", changes.iter().map(|change| change.next.map_or(f64::NAN, f64::from)));
        table
    }
}

fn routes(rows: &[PairRoute]) -> Table {
    let mut table = Table::default();
    let known = |value: fn(&orbit::Route) -> f64| {
        rows.iter().map(move |row| row.route.as_ref().map_or(f64::NAN, value)).collect::<Vec<_>>()
    };
    table.float("time_s", rows.iter().map(|row| row.time_s));
    table.count("from", rows.iter().map(|row| u64::from(row.from)));
    table.count("to", rows.iter().map(|row| u64::from(row.to)));
    table.float("one_way_delay_s", known(|route| route.one_way_delay_s));
    table.float("hops", known(|route| f64::from(route.hops)));
    table.float("first_satellite", known(|route| f64::from(route.first)));
    table.float("last_satellite", known(|route| f64::from(route.last)));
    table
}

/// The value with this name.
fn one_of<T: Copy>(option: &str, name: &str, values: [(&str, T); 2]) -> Result<T, ScenarioError> {
    let chosen = values.iter().find(|value| value.0 == name).map(|value| value.1);
    chosen.ok_or_else(|| {
        let names = values.map(|value| value.0).join(" or ");
        ScenarioError::new(option, format!("\"{name}\" was given, {names} is expected"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATIONS: &str = "name,latitude_deg,longitude_deg\nToulouse,43.6,1.4\nAuckland,-36.9,174.8\nPole,90,0\n";

    fn options() -> RoutesOptions {
        RoutesOptions {
            constellation: "leo-66".to_owned(),
            stations_csv: STATIONS.to_owned(),
            metric: "delay".to_owned(),
            access: "all".to_owned(),
            duration_s: 30.0,
            step_s: 10.0,
            ..RoutesOptions::default()
        }
    }

    fn refused(options: RoutesOptions) -> String {
        match RoutesStudy::new(options, Path::new("")) {
            Err(error) => error.to_string(),
            Ok(mut study) => study.advance().err().expect("is refused").to_string(),
        }
    }

    #[test]
    fn hands_out_all_rows_and_what_they_are_of() {
        let mut study = RoutesStudy::new(RoutesOptions { forwarding: true, ..options() }, Path::new("")).unwrap();
        assert!(study.advance().unwrap().is_none());
        let batch = study.advance().unwrap().unwrap();
        assert_eq!((batch.routes.rows(), study.done(), study.instants()), (12, 4, 4));
        assert!(batch.forwarding.rows() >= 3 * (66 + 2));
        assert_eq!(study.pairs().rows(), 3);
        let report: serde_json::Value = serde_json::from_str(&study.report_json()).unwrap();
        assert_eq!((report["route_rows"].as_u64(), report["stations"][2]["node"].as_u64()), (Some(12), Some(68)));
        assert_eq!(report["forwarding_rows"].as_u64(), Some(batch.forwarding.rows() as u64));
    }

    #[test]
    fn says_what_is_wrong() {
        let shell = || RoutesOptions { constellation: "starlink-shell-1".to_owned(), ..options() };
        let unseen = refused(shell());
        assert!(
            unseen.starts_with("stations: \"Pole\" never has a satellite in view: the highest reaches -"),
            "{unseen}"
        );
        assert!(unseen.ends_with(" deg, 25 deg are needed"), "{unseen}");
        let wrong = RoutesOptions { metric: "jitter".to_owned(), ..options() };
        assert_eq!(refused(wrong), "metric: \"jitter\" was given, delay or hops is expected");
        let wrong = RoutesOptions { threads: Some(0), ..options() };
        assert_eq!(refused(wrong), "threads: 0 was given, 1 or more are expected");
        assert!(
            refused(RoutesOptions { constellation: "leo-67".to_owned(), ..options() }).starts_with("constellation: ")
        );
        let kept = RoutesOptions { keep_unseen: true, ..shell() };
        let mut study = RoutesStudy::new(kept, Path::new("")).unwrap();
        while study.done() < study.instants() {
            study.advance().unwrap();
        }
        assert!(study.report_json().contains("\\\"Pole\\\" never has a satellite in view"));
    }
}
