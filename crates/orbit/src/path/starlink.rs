//! A path like Starlink's: every 15 s a controller gives each terminal another satellite, and the delay jumps.
//!
//! At :12, :27, :42 and :57 of each minute (Tanveer et al., CoNEXT Companion 2023; Mohan et al., WWW 2024) an *epoch*
//! begins. It has a level, drawn from the distribution of the epochs' medians and correlated with the level before;
//! which satellite and which gateway serve is in it. Within it the delay varies around the level as frames are
//! scheduled: a deviation from a distribution of its own, correlated over a time, times the epoch's spread. Where an
//! epoch begins there may be a gap without service, and losses come in bursts, more often there than elsewhere. The
//! rate is drawn for each epoch.
//!
//! Correlated draws are a Gaussian copula: a normal process of order one, whose value is the position in the table of
//! quantiles, which are even steps of a standard normal variable apart. So distributions are those of the tables,
//! whatever the correlation, and their tails are resolved: a last step from 99 to 100 % of the values would spread a
//! hundredth of all evenly up to the largest.
//!
//! What is simplified, and who could notice: levels have no daily course and no drift within an epoch, nor do they know
//! the weather or an obstacle; level, spread and rate of an epoch do not depend on each other, though a far satellite
//! has both a longer way and a weaker signal; the rate is the same within an epoch.

use std::f64::consts::PI;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Files, RateOverTime, Time, chance};

use super::measured::{LossOverTime, Measured};
use super::stretch::DelayPoint;
use super::trace::DelayTrace;
use super::transit::NoRoute;
use super::{Kind, is_default};
use crate::csv::read_text;

/// A model of Starlink's delay, losses and rate, whose satellites change every 15 s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StarlinkPath {
    /// Fitted parameters that are built in: `seattle-2023` (bent pipe) or `lagos-2023` (links between
    /// satellites).
    pub model: String,
    /// A file of parameters in place of these, as `transorbit calibrate` writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The second of the minute at which the run begins.
    pub start: Duration,
    /// What happens to packets while there is no route.
    #[serde(skip_serializing_if = "is_default")]
    pub no_route: NoRoute,
    /// The parameters, once they are read.
    #[serde(skip)]
    read: Option<Parameters>,
}

/// The parameters of the model. Times are of a round trip, in milliseconds. Tables are quantiles at even steps of a
/// standard normal variable z from -[`REACH`] to [`REACH`]: the share of values below the entry at z is the normal
/// distribution function of z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The measurements to which they are fitted.
    pub summary: String,
    /// Where the measurements come from, and their licence.
    pub source: String,
    /// The time between two epochs.
    pub epoch_s: f64,
    /// The second of the minute at which the first epoch begins.
    pub first_s: f64,
    /// The shortest round trip.
    pub least_ms: f64,
    /// The epochs' medians.
    pub level_ms: Vec<f64>,
    /// The correlation of a level with the one before.
    pub level_correlation: f64,
    /// Deviations from the epoch's median, in units of its spread.
    pub deviation: Vec<f64>,
    /// The spreads of the epochs.
    pub spread_ms: Vec<f64>,
    /// The time over which a deviation's correlation falls to 1/e.
    pub deviation_correlation_ms: f64,
    /// The probability of a burst of losses that comes with an epoch.
    pub burst_at_epoch: f64,
    /// How long after the epoch's begin the burst of losses comes.
    pub burst_after_s: f64,
    /// Bursts of losses elsewhere, for each second.
    pub bursts_per_s: f64,
    /// How long bursts last.
    pub burst_ms: Vec<f64>,
    /// The probability that a packet is lost by itself, there and back.
    pub loss: f64,
    /// The rates of the epochs towards the user; empty if they are not known.
    #[serde(default)]
    pub rate_mbps: Vec<f64>,
    /// The correlation of a rate with the one before.
    #[serde(default)]
    pub rate_correlation: f64,
}

/// Where tables begin and end: 3 of 100,000 values are beyond either end.
const REACH: f64 = 4.0;
/// The distance between points of the drawn delay.
const STEP: Duration = Duration::from_millis(20);
/// The name of every model with its file.
const FILES: &[(&str, &str)] = &[
    ("seattle-2023", include_str!("../../measured/seattle-2023.toml")),
    ("lagos-2023", include_str!("../../measured/lagos-2023.toml")),
];

/// The built-in parameters of this name.
fn model(name: &str) -> Option<Parameters> {
    let (_, text) = FILES.iter().find(|known| known.0 == name)?;
    Some(toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

impl Default for StarlinkPath {
    fn default() -> StarlinkPath {
        let model = FILES[0].0.to_owned();
        StarlinkPath { model, file: None, start: Duration::ZERO, no_route: NoRoute::default(), read: None }
    }
}

impl Kind for StarlinkPath {
    fn check(&self) -> Result<(), FieldError> {
        self.no_route.entry().check().map_err(|error| error.within("no_route"))?;
        if self.start >= Duration::from_secs(60) {
            let message = format!("{} is no second of a minute: less than 60 s are possible", self.start);
            return Err(FieldError::new("start", message));
        }
        if self.file.is_none() && model(&self.model).is_none() {
            let names = FILES.iter().map(|known| known.0).collect::<Vec<_>>().join(", ");
            return Err(FieldError::new("model", format!("\"{}\" is none of {names}", self.model)));
        }
        Ok(())
    }

    fn prepare(&mut self, files: &mut dyn Files) -> Result<(), FieldError> {
        let Some(file) = &self.file else { return Ok(()) };
        let refuse = |message: String| FieldError::new("file", format!("{file}: {message}"));
        let text = read_text(files, file).map_err(refuse)?;
        let parameters: Parameters = toml::from_str(&text).map_err(|error| refuse(error.message().to_owned()))?;
        parameters.check().map_err(|error| refuse(error.to_string()))?;
        self.read = Some(parameters);
        Ok(())
    }

    fn delays(&self, _duration: Duration, _files: &mut dyn Files) -> Result<DelayTrace, FieldError> {
        self.check()?;
        let parameters = self.parameters();
        // The shortest round trip, which raises some of the draws, makes half a percent more.
        let round_trip = mean(&parameters.level_ms) + mean(&parameters.spread_ms) * mean(&parameters.deviation);
        let rate = if parameters.rate_mbps.is_empty() { 0.0 } else { mean(&parameters.rate_mbps) };
        let measured = parameters.measured([(Time::ZERO, rate)].into_iter().filter(|step| step.1 > 0.0).collect());
        Ok(DelayTrace::fixed(Duration::from_secs_f64(round_trip * 0.5e-3)).measured_with(measured, None))
    }

    fn realise(&self, duration: Duration, uniform: &mut dyn FnMut() -> f64) -> Option<DelayTrace> {
        Some(Epochs::new(&self.parameters(), self.start, uniform).trace(duration))
    }

    fn no_route(&self) -> NoRoute {
        self.no_route.clone()
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.file.iter_mut().collect()
    }
}

impl StarlinkPath {
    /// Returns the levels of the file if it has been read, else those of the model.
    fn parameters(&self) -> Parameters {
        self.read.clone().or_else(|| model(&self.model)).expect("a model that was checked")
    }
}

impl Parameters {
    fn check(&self) -> Result<(), FieldError> {
        let tables = [
            ("level_ms", &self.level_ms, 0.0),
            ("deviation", &self.deviation, f64::NEG_INFINITY),
            ("spread_ms", &self.spread_ms, 0.0),
            ("burst_ms", &self.burst_ms, 0.0),
        ];
        let rates = (!self.rate_mbps.is_empty()).then_some(("rate_mbps", &self.rate_mbps, 0.0));
        for (name, table, least) in tables.into_iter().chain(rates) {
            if table.len() < 2 || !table.is_sorted() || table.iter().any(|value| !value.is_finite() || *value < least) {
                return Err(FieldError::new(name, "quantiles are two or more numbers in rising order"));
            }
        }
        let numbers = [
            ("epoch_s", self.epoch_s, 0.1, 3600.0),
            ("first_s", self.first_s, 0.0, self.epoch_s),
            ("least_ms", self.least_ms, 0.0, 1e4),
            ("level_correlation", self.level_correlation, -0.999, 0.999),
            ("rate_correlation", self.rate_correlation, -0.999, 0.999),
            ("deviation_correlation_ms", self.deviation_correlation_ms, 1.0, 1e6),
            ("burst_at_epoch", self.burst_at_epoch, 0.0, 1.0),
            ("burst_after_s", self.burst_after_s, 0.0, self.epoch_s),
            ("bursts_per_s", self.bursts_per_s, 0.0, 10.0),
            ("loss", self.loss, 0.0, 1.0),
        ];
        match numbers.into_iter().find(|&(_, value, least, most)| !(least..=most).contains(&value)) {
            Some((name, value, least, most)) => {
                Err(FieldError::new(name, format!("{value} must be between {least} and {most}")))
            }
            None => Ok(()),
        }
    }

    /// The path's rates (in Mbit/s, from when) and its single losses, which may happen in either direction.
    fn measured(&self, rates: Vec<(Time, f64)>) -> Measured {
        let one_way = 1.0 - libm::sqrt(1.0 - self.loss);
        let loss = || LossOverTime::new(vec![(Time::ZERO, one_way)]).filter(|_| one_way > 0.0);
        let rates = rates.into_iter().map(|(at, mbps)| (at, (mbps * 1e6).round() as u64)).collect();
        Measured {
            rate_down: RateOverTime::new(rates).map(Arc::new),
            loss_down: loss(),
            loss_up: loss(),
            ..Measured::default()
        }
    }
}

/// The value of a table of quantiles at `z`, linear in between.
fn quantile(table: &[f64], z: f64) -> f64 {
    let position = (z.clamp(-REACH, REACH) + REACH) / (2.0 * REACH) * (table.len() - 1) as f64;
    let below = (position.floor() as usize).min(table.len() - 2);
    table[below] + (position - below as f64) * (table[below + 1] - table[below])
}

/// The mean of what a table of quantiles has for a standard normal variable. Above each z the table rises by its slope
/// there; the integral of the share of values above z, from z on, is `density(z) - z (1 - cdf(z))`.
fn mean(table: &[f64]) -> f64 {
    let step = 2.0 * REACH / (table.len() - 1) as f64;
    let beyond = |index: usize| {
        let z = index as f64 * step - REACH;
        libm::exp(-z * z / 2.0) / libm::sqrt(2.0 * PI) - z * chance::normal_cdf(-z)
    };
    let rise = |(index, pair): (usize, &[f64])| (pair[1] - pair[0]) / step * (beyond(index) - beyond(index + 1));
    table[0] + table.windows(2).enumerate().map(rise).sum::<f64>()
}

/// The delays of one run, drawn epoch by epoch.
struct Epochs<'a> {
    of: &'a Parameters,
    uniform: &'a mut dyn FnMut() -> f64,
    /// From the start of the run to the first epoch.
    first: f64,
    /// The normal variables of level, rate and deviation.
    level: f64,
    rate: f64,
    deviation: f64,
    spread_ms: f64,
}

impl<'a> Epochs<'a> {
    fn new(of: &'a Parameters, start: Duration, uniform: &'a mut dyn FnMut() -> f64) -> Epochs<'a> {
        let since = (start.as_secs_f64() - of.first_s).rem_euclid(of.epoch_s);
        let first = if since > 0.0 { of.epoch_s - since } else { 0.0 };
        let mut epochs = Epochs { of, uniform, first, level: 0.0, rate: 0.0, deviation: 0.0, spread_ms: 0.0 };
        (epochs.level, epochs.rate, epochs.deviation) = (epochs.normal(), epochs.normal(), epochs.normal());
        epochs.spread_ms = quantile(&of.spread_ms, epochs.normal());
        epochs
    }

    fn normal(&mut self) -> f64 {
        chance::normal(&mut *self.uniform)
    }

    fn next(&mut self, before: f64, correlation: f64) -> f64 {
        correlation * before + libm::sqrt(1.0 - correlation * correlation) * self.normal()
    }

    /// Another epoch begins.
    fn begin(&mut self) {
        self.level = self.next(self.level, self.of.level_correlation);
        self.rate = self.next(self.rate, self.of.rate_correlation);
        self.deviation = self.normal();
        self.spread_ms = quantile(&self.of.spread_ms, self.normal());
    }

    fn delay(&self) -> Duration {
        let level = quantile(&self.of.level_ms, self.level);
        let round_trip = level + self.spread_ms * quantile(&self.of.deviation, self.deviation);
        Duration::from_secs_f64(round_trip.max(self.of.least_ms) * 0.5e-3)
    }

    /// Returns the length of the burst of losses that begins now, if one does.
    fn burst(&mut self, probability: f64) -> Option<Duration> {
        let (begins, z) = ((self.uniform)() < probability, self.normal());
        begins.then(|| Duration::from_secs_f64(quantile(&self.of.burst_ms, z) * 1e-3))
    }

    fn trace(mut self, duration: Duration) -> DelayTrace {
        let step = STEP.as_secs_f64();
        let correlation = libm::exp(-step * 1e3 / self.of.deviation_correlation_ms);
        let (mut points, mut rates) = (Points::default(), Vec::new());
        let mut boundary = Time::from_secs_f64(self.first);
        let (epoch, end) = (Duration::from_secs_f64(self.of.epoch_s), Time::ZERO + duration);
        let (mut now, mut of_epoch) = (Time::ZERO, None);
        rates.push((now, self.rate));
        while now <= end + STEP {
            let is_boundary = now == boundary;
            let burst = if is_boundary {
                // The level before holds up to the boundary.
                points.push(now, self.delay());
                self.begin();
                rates.push((now, self.rate));
                boundary += epoch;
                let after = now + Duration::from_secs_f64(self.of.burst_after_s);
                of_epoch = self.burst(self.of.burst_at_epoch).map(|lasts| (after, lasts));
                None
            } else {
                self.deviation = self.next(self.deviation, correlation);
                self.burst(self.of.bursts_per_s * step)
            };
            let burst = of_epoch.take_if(|burst| burst.0 <= now).map(|burst| burst.1).or(burst);
            points.push(now, self.delay());
            if let Some(lasts) = burst {
                points.outage(now, lasts);
            }
            let next = now + STEP;
            now = if now < boundary && boundary <= next { boundary } else { next };
        }
        rates.retain(|_| !self.of.rate_mbps.is_empty());
        let rates = rates.into_iter().map(|(at, z)| (at, quantile(&self.of.rate_mbps, z))).collect();
        DelayTrace::build(points.drawn, Vec::new(), Vec::new()).measured_with(self.of.measured(rates), None)
    }
}

/// The points of the drawn delay.
#[derive(Default)]
struct Points {
    drawn: Vec<DelayPoint>,
    /// The end of the outage that is drawn last, until there is a delay after it.
    outage_end: Option<Time>,
}

impl Points {
    /// The delay at `at`, which is heard of no more where an outage lasts; it holds from the end of one before.
    fn push(&mut self, at: Time, delay: Duration) {
        if self.outage_end.is_some_and(|end| at < end) {
            return;
        }
        for at in self.outage_end.take().into_iter().chain([at]) {
            self.drawn.push(DelayPoint { at, delay: Some(delay), last_link: None });
        }
    }

    /// An outage begins, unless one lasts.
    fn outage(&mut self, at: Time, lasts: Duration) {
        if self.outage_end.is_none() {
            self.drawn.push(DelayPoint { at, delay: None, last_link: None });
            self.outage_end = Some(at + lasts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are spread evenly: the golden ratio's multiples.
    fn even() -> impl FnMut() -> f64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            chance::unit_interval(state)
        }
    }

    fn trace(path: &StarlinkPath, seconds: u64) -> DelayTrace {
        path.realise(Duration::from_secs(seconds), &mut even()).unwrap()
    }

    #[test]
    fn the_models_that_come_along_are_sound() {
        for &(name, _) in FILES {
            let parameters = model(name).unwrap();
            assert_eq!(parameters.check(), Ok(()), "{name}");
            assert!(parameters.source.contains("CC BY-SA 4.0"), "{name}");
        }
    }

    #[test]
    fn levels_change_at_twelve_twenty_seven_forty_two_and_fifty_seven() {
        let calm = Parameters {
            deviation: vec![0.0, 0.0],
            bursts_per_s: 0.0,
            burst_at_epoch: 0.0,
            ..model("seattle-2023").unwrap()
        };
        let path = StarlinkPath { start: Duration::from_secs(5), read: Some(calm), ..StarlinkPath::default() };
        let trace = trace(&path, 60);
        let mut jumps: Vec<f64> = Vec::new();
        let points: Vec<_> = trace.points().collect();
        for pair in points.windows(2) {
            if pair[0].1 != pair[1].1 {
                assert_eq!(pair[0].0, pair[1].0, "the delay jumps");
                jumps.push(pair[0].0.as_secs_f64());
            }
        }
        assert_eq!(jumps, [7.0, 22.0, 37.0, 52.0]);
    }

    /// The epochs' levels are those of the table, and neighbours are as alike as it says.
    #[test]
    fn levels_have_the_distribution_and_the_correlation_of_the_parameters() {
        let parameters = Parameters {
            level_ms: vec![20.0, 40.0],
            level_correlation: 0.6,
            deviation: vec![0.0, 0.0],
            bursts_per_s: 0.0,
            burst_at_epoch: 0.0,
            least_ms: 0.0,
            ..model("seattle-2023").unwrap()
        };
        let path = StarlinkPath { read: Some(parameters), ..StarlinkPath::default() };
        let trace = trace(&path, 60_000);
        let level =
            |epoch: u64| trace.delay(Time::from_secs_f64(15.0 * epoch as f64 + 5.0)).unwrap().as_secs_f64() * 2e3;
        let levels: Vec<f64> = (0..4000).map(level).collect();
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        let variance = levels.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / levels.len() as f64;
        let together =
            levels.windows(2).map(|l| (l[0] - mean) * (l[1] - mean)).sum::<f64>() / (levels.len() - 1) as f64;
        // A line from 20 to 40 is normal: its mean is 30, its deviation 20 over the 8 of the table's length. There are
        // four thousand levels, of which neighbours resemble each other.
        assert!((mean - 30.0).abs() < 0.2 && (variance - 6.25).abs() < 0.5, "{mean} {variance}");
        assert!((together / variance - 0.6).abs() < 0.05, "{}", together / variance);
    }

    /// The mean, from which buffers are sized before a course is drawn, is that of what is drawn.
    #[test]
    fn the_mean_is_that_of_the_draws() {
        const DRAWS: u32 = 1_000_000;
        for (name, _) in FILES {
            let parameters = model(name).unwrap();
            for table in [&parameters.level_ms, &parameters.rate_mbps, &parameters.spread_ms, &parameters.deviation] {
                let mut uniform = even();
                let drawn: f64 = (0..DRAWS).map(|_| quantile(table, chance::normal(&mut uniform))).sum();
                let drawn = drawn / f64::from(DRAWS);
                assert!((mean(table) / drawn - 1.0).abs() < 0.01, "{name}: {} for {drawn}", mean(table));
            }
            let path = StarlinkPath { model: (*name).to_owned(), ..StarlinkPath::default() };
            let (hours, known) = (200 * 3600, path.delays(Duration::ZERO, &mut units::MemoryFiles::new()).unwrap());
            let (drawn, known) = (trace(&path, hours), known.delay(Time::ZERO).unwrap().as_secs_f64());
            let at: Vec<f64> = (0..hours)
                .filter_map(|second| drawn.delay(Time::from_secs_f64(second as f64 + 0.5)))
                .map(|delay| delay.as_secs_f64())
                .collect();
            let drawn = at.iter().sum::<f64>() / at.len() as f64;
            assert!((known / drawn - 1.0).abs() < 0.02, "{name}: {known} s for {drawn} s");
        }
        assert!((mean(&[20.0, 40.0]) - 30.0).abs() < 1e-12 && mean(&[7.0, 7.0]) == 7.0);
    }

    /// A trace of 600 s with a burst of losses for each epoch alone, and the begins of the epochs.
    fn with_bursts(burst_after_s: f64, burst_ms: [f64; 2]) -> (DelayTrace, impl Iterator<Item = f64>) {
        let parameters = Parameters {
            deviation: vec![0.0, 0.0],
            burst_at_epoch: 1.0,
            burst_after_s,
            bursts_per_s: 0.0,
            burst_ms: burst_ms.to_vec(),
            ..model("seattle-2023").unwrap()
        };
        let path = StarlinkPath { read: Some(parameters), ..StarlinkPath::default() };
        (trace(&path, 600), (1..39).map(|epoch| 12.0 + 15.0 * f64::from(epoch)))
    }

    #[test]
    fn bursts_are_outages() {
        let (trace, begins) = with_bursts(0.0, [100.0, 300.0]);
        let at = |seconds: f64| trace.delay(Time::from_secs_f64(seconds));
        for begin in begins {
            assert!(at(begin + 0.05).is_none() && at(begin + 0.31).is_some() && at(begin - 0.01).is_some(), "{begin}");
        }
    }

    /// Within an outage over its begin an epoch's level is not seen; after it no other is.
    #[test]
    fn an_outage_over_the_begin_of_an_epoch_ends_at_its_level() {
        let (trace, begins) = with_bursts(14.98, [107.0, 107.0]);
        let at = |seconds: f64| trace.delay(Time::from_secs_f64(seconds));
        for begin in begins {
            assert!(at(begin - 0.021).is_some() && at(begin).is_none() && at(begin + 0.08).is_none(), "{begin}");
            let level = at(begin + 5.0);
            assert!(level.is_some() && at(begin + 0.088) == level && at(begin + 0.095) == level, "{begin}");
        }
    }

    #[test]
    fn parameters_that_cannot_be_are_refused() {
        let sound = model("seattle-2023").unwrap();
        let says = |parameters: Parameters| parameters.check().unwrap_err().to_string();
        let falling = Parameters { level_ms: vec![40.0, 20.0], ..sound.clone() };
        assert_eq!(says(falling), "level_ms: quantiles are two or more numbers in rising order");
        assert_eq!(says(Parameters { loss: 2.0, ..sound }), "loss: 2 must be between 0 and 1");
        let unknown = StarlinkPath { model: "paris".to_owned(), ..StarlinkPath::default() };
        assert_eq!(unknown.check().unwrap_err().to_string(), "model: \"paris\" is none of seattle-2023, lagos-2023");
    }
}
