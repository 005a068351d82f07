//! Statistics and series of a channel.

use serde::Serialize;
use units::{Db, Duration, Time};

use crate::{ChannelModel, ERASED, MakeRng, Observation, qpsk};

/// One instant of a channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Time since the start.
    pub time_s: f64,
    /// Attenuation relative to a line of sight.
    pub attenuation_db: Option<f64>,
    /// Es/N0 of a burst.
    pub snr_db: f64,
    /// Mutual information per coded bit, 0 to 1.
    pub mutual_information: f64,
    /// Name of the propagation state.
    pub state: Option<&'static str>,
}

/// The series of the channel of user 0 over `duration`, a row each `step` (by default the sampling interval of the
/// channel, or 1 ms).
///
/// A `trace` channel reads the times and attenuations. The series goes with the clock, however bursts go on in it.
pub fn generate(
    model: &dyn ChannelModel,
    duration: Duration,
    step: Option<Duration>,
    streams: &mut MakeRng<'_>,
) -> impl Iterator<Item = Row> + use<> {
    instants(model, duration, step, streams).map(|(now, snr, seen)| Row {
        time_s: now.as_secs_f64(),
        attenuation_db: seen.attenuation.map(Db::get),
        snr_db: snr.get(),
        mutual_information: qpsk::mutual_information(snr),
        state: seen.state,
    })
}

fn instants(
    model: &dyn ChannelModel,
    duration: Duration,
    step: Option<Duration>,
    streams: &mut MakeRng<'_>,
) -> impl Iterator<Item = (Time, Db, Observation)> + use<> {
    let model = model.over_time().unwrap_or(model);
    let step = step_of(model, step);
    let mut channel = model.build(0, streams);
    (0..duration.as_nanos().div_ceil(step.as_nanos())).map(move |index| {
        let now = Time::ZERO + step * index;
        (now, channel.burst_snr(now), channel.observe(now))
    })
}

fn step_of(model: &dyn ChannelModel, step: Option<Duration>) -> Duration {
    step.or(model.sampling_interval()).unwrap_or(Duration::from_millis(1)).max(Duration::from_nanos(1))
}

/// Statistics of a channel over some time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelStats {
    /// The length of the observation.
    pub duration_s: f64,
    /// The time between two samples.
    pub sampling_interval_s: f64,
    /// Es/N0 of an unobstructed line of sight.
    pub reference_snr_db: Option<f64>,
    /// Mean of the attenuation in decibels.
    pub attenuation_mean_db: Option<f64>,
    /// The mean power received, relative to a line of sight.
    pub power_gain_mean_db: Option<f64>,
    /// Attenuations that are not exceeded for given percentages of the time.
    pub attenuation_percentiles: Vec<Percentile>,
    /// Mean of the mutual information per coded bit.
    pub mutual_information_mean: f64,
    /// Share of the bursts that are erased, 0 to 1.
    pub erased_share: f64,
    /// The propagation states in the order of their names' first appearance.
    pub states: Vec<StateShare>,
    /// Fades deeper than given thresholds.
    pub fades: Vec<FadeStats>,
    /// The random processes of the fading; `None` for users that do not move.
    pub fading: Option<Fading>,
    /// What to know before trusting the numbers.
    pub warnings: Vec<String>,
}

/// A point of the distribution of the attenuation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// Percentage of the time.
    pub percent: f64,
    /// The attenuation is at most this, to 0.01 dB.
    pub attenuation_db: f64,
}

/// Statistics of a propagation state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateShare {
    /// Its name in the table of parameters.
    pub name: &'static str,
    /// Share of the time, 0 to 1.
    pub share: f64,
    /// How often the state was entered.
    pub visits: u64,
    /// Mean duration of a stay: the time in the state for each stay that ended, so that the stay which the end of the
    /// series cuts does not count as a short one; `None` if none ended.
    pub stay_mean_s: Option<f64>,
    /// Mean length of a stay, of a user who moves.
    pub stay_mean_m: Option<f64>,
}

/// Fades deeper than a threshold. Rate and duration are those of the series at its sampling interval: what happens
/// between two samples is not seen, and the shadowing, a first-order autoregression, crosses a level the more often the
/// shorter the interval is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FadeStats {
    /// The attenuation above which the channel is in a fade.
    pub threshold_db: f64,
    /// Share of the time in a fade, 0 to 1.
    pub share: f64,
    /// Fades that begin, per second (the level crossing rate), of the series at its sampling interval.
    pub crossings_per_s: f64,
    /// The average fade duration, of the series at its sampling interval; `None` if none began.
    pub duration_mean_s: Option<f64>,
}

/// The random processes of the fading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fading {
    /// The maximum Doppler shift of the model.
    pub doppler_hz: f64,
    /// The same, from the correlation of neighbouring multipath samples under Clarke's spectrum.
    pub doppler_measured_hz: Option<f64>,
    /// Time after which the correlation of the multipath has fallen to one half.
    pub coherence_time_s: Option<f64>,
    /// Mean power of the multipath process; its expectation is 1.
    pub multipath_power: f64,
    /// Correlation of the multipath after some times, in phase.
    pub multipath_correlation: Vec<Lag>,
    /// Variance of the shadowing process; its expectation is 1.
    pub shadowing_variance: f64,
    /// Distance after which the correlation of the shadowing has fallen to 1/e.
    pub shadowing_correlation_distance_m: Option<f64>,
    /// Correlation of the shadowing after some distances.
    pub shadowing_correlation: Vec<Lag>,
}

/// A point of a correlation function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lag {
    /// The time between the two instants.
    pub lag_s: f64,
    /// The distance between the two places.
    pub distance_m: f64,
    /// Between -1 and 1.
    pub correlation: f64,
}

/// Samples the channel of user 0 of `model` for `duration`, in constant memory.
pub fn measure(model: &dyn ChannelModel, duration: Duration, streams: &mut MakeRng<'_>) -> ChannelStats {
    let mut levels = Attenuations::new();
    let mut states = States::default();
    let mut correlations = FadingCorrelations::new(model);
    let (mut samples, mut information, mut erased) = (0u64, 0.0, 0u64);
    for (_, snr, seen) in instants(model, duration, None, streams) {
        samples += 1;
        information += qpsk::mutual_information(snr);
        erased += u64::from(snr <= ERASED);
        if let Some(attenuation) = seen.attenuation {
            levels.add(attenuation.get());
        }
        if let Some(state) = seen.state {
            states.add(state);
        }
        if let Some(correlations) = &mut correlations {
            correlations.add(&seen);
        }
    }
    let step_s = step_of(model, None).as_secs_f64();
    let count = samples.max(1) as f64;
    let fades = levels.fades(step_s);
    let mut warnings = model.warnings(1);
    // Between two samples of other channels nothing happens.
    warnings.extend(model.doppler_hz().and_then(|_| short_fades(&fades, step_s)));
    ChannelStats {
        duration_s: duration.as_secs_f64(),
        sampling_interval_s: step_s,
        reference_snr_db: model.reference_snr().map(Db::get),
        attenuation_mean_db: levels.mean(),
        power_gain_mean_db: levels.power_gain_mean_db(),
        attenuation_percentiles: levels.percentiles(),
        mutual_information_mean: information / count,
        erased_share: erased as f64 / count,
        states: states.shares(step_s, model.speed_mps()),
        fades,
        warnings,
        fading: correlations.map(|correlations| correlations.fading()),
    }
}

/// The distribution of the attenuation, in bins.
struct Attenuations {
    count: u64,
    sum_db: f64,
    sum_power: f64,
    lowest_db: f64,
    highest_db: f64,
    bins: Vec<u64>,
    /// For each threshold: samples in a fade, fades started, and whether the channel is in a fade now.
    fades: Vec<(u64, u64, bool)>,
}

const LOWEST_DB: f64 = -50.0;
const BINS_PER_DB: f64 = 50.0;
const BINS: usize = 350 * 50;
const PERCENTS: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
const FADES_DB: [f64; 6] = [3.0, 5.0, 10.0, 15.0, 20.0, 30.0];

impl Attenuations {
    fn new() -> Attenuations {
        Attenuations {
            count: 0,
            sum_db: 0.0,
            sum_power: 0.0,
            lowest_db: f64::INFINITY,
            highest_db: f64::NEG_INFINITY,
            bins: vec![0; BINS],
            fades: vec![(0, 0, false); FADES_DB.len()],
        }
    }

    fn add(&mut self, attenuation_db: f64) {
        let first = self.count == 0;
        self.count += 1;
        self.sum_db += attenuation_db;
        self.sum_power += libm::pow(10.0, -attenuation_db / 10.0);
        self.lowest_db = self.lowest_db.min(attenuation_db);
        self.highest_db = self.highest_db.max(attenuation_db);
        let bin = ((attenuation_db - LOWEST_DB) * BINS_PER_DB) as usize; // saturates at 0
        self.bins[bin.min(BINS - 1)] += 1;
        for (threshold, (samples, started, inside)) in FADES_DB.iter().zip(&mut self.fades) {
            let faded = attenuation_db > *threshold;
            *samples += u64::from(faded);
            *started += u64::from(faded && !*inside && !first);
            *inside = faded;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_db / self.count as f64)
    }

    fn power_gain_mean_db(&self) -> Option<f64> {
        (self.count > 0).then(|| 10.0 * libm::log10(self.sum_power / self.count as f64))
    }

    fn percentiles(&self) -> Vec<Percentile> {
        if self.count == 0 {
            return Vec::new();
        }
        let at = |percent: f64| {
            let wanted = percent / 100.0 * self.count as f64;
            let mut below = 0;
            let bin = self.bins.iter().position(|&samples| {
                below += samples;
                below as f64 >= wanted
            });
            let middle = LOWEST_DB + (bin.unwrap_or(BINS - 1) as f64 + 0.5) / BINS_PER_DB;
            middle.clamp(self.lowest_db, self.highest_db)
        };
        PERCENTS.into_iter().map(|percent| Percentile { percent, attenuation_db: at(percent) }).collect()
    }

    fn fades(&self, step_s: f64) -> Vec<FadeStats> {
        if self.count == 0 {
            return Vec::new();
        }
        let seconds = self.count as f64 * step_s;
        let stats = |(&threshold_db, &(samples, started, _)): (&f64, &(u64, u64, bool))| FadeStats {
            threshold_db,
            share: samples as f64 / self.count as f64,
            crossings_per_s: started as f64 / seconds,
            duration_mean_s: (started > 0).then(|| samples as f64 * step_s / started as f64),
        };
        FADES_DB.iter().zip(&self.fades).map(stats).collect()
    }
}

/// Fades of fewer samples than this on average are counted too rarely and told too long.
const LEAST_SAMPLES_OF_A_FADE: f64 = 3.0;

/// A warning about the fades that are too short for the sampling interval.
fn short_fades(fades: &[FadeStats], step_s: f64) -> Option<String> {
    let is_short = |fade: &&FadeStats| fade.duration_mean_s.is_some_and(|mean| mean < LEAST_SAMPLES_OF_A_FADE * step_s);
    let short: Vec<String> = fades.iter().filter(is_short).map(|fade| fade.threshold_db.to_string()).collect();
    (!short.is_empty()).then(|| {
        format!(
            "fades deeper than {} dB last less than {LEAST_SAMPLES_OF_A_FADE} samples of {} on average: between two \
             samples others are missed, so crossings_per_s is too low and duration_mean_s too long; a shorter \
             sampling_interval of the channel finds more",
            short.join(", "),
            Duration::from_secs_f64(step_s)
        )
    })
}

/// The states that occurred: name, samples, visits.
#[derive(Default)]
struct States {
    met: Vec<(&'static str, u64, u64)>,
    now: Option<&'static str>,
}

impl States {
    fn add(&mut self, name: &'static str) {
        let entered = self.now != Some(name);
        self.now = Some(name);
        match self.met.iter_mut().find(|(met, ..)| *met == name) {
            Some((_, samples, visits)) => {
                *samples += 1;
                *visits += u64::from(entered);
            }
            None => self.met.push((name, 1, 1)),
        }
    }

    fn shares(&self, step_s: f64, speed_mps: Option<f64>) -> Vec<StateShare> {
        let samples_met: u64 = self.met.iter().map(|(_, samples, _)| samples).sum();
        let share = |&(name, samples, visits): &(&'static str, u64, u64)| {
            let ended = visits - u64::from(self.now == Some(name));
            let stay_mean_s = (ended > 0).then(|| samples as f64 * step_s / ended as f64);
            let stay_mean_m = speed_mps.zip(stay_mean_s).map(|(speed, stay)| speed * stay);
            StateShare { name, share: samples as f64 / samples_met as f64, visits, stay_mean_s, stay_mean_m }
        };
        self.met.iter().map(share).collect()
    }
}

/// Correlations of the multipath over about a Doppler period, and of the shadowing over some metres.
struct FadingCorrelations {
    doppler_hz: f64,
    speed_mps: f64,
    step_s: f64,
    multipath: Correlator,
    shadowing: Correlator,
}

/// The least number of multipath samples per Doppler period, and of shadowing samples per metre.
const LOOKS_PER_PERIOD: f64 = 16.0;
const LOOKS_PER_METRE: f64 = 8.0;

impl FadingCorrelations {
    fn new(model: &dyn ChannelModel) -> Option<FadingCorrelations> {
        let (doppler_hz, speed_mps) = (model.doppler_hz()?, model.speed_mps()?);
        let step_s = step_of(model, None).as_secs_f64();
        let every = |looks_per_s: f64| ((1.0 / (looks_per_s * step_s)) as u64).max(1);
        Some(FadingCorrelations {
            doppler_hz,
            speed_mps,
            step_s,
            multipath: Correlator::new(every(LOOKS_PER_PERIOD * doppler_hz), 16),
            shadowing: Correlator::new(every(LOOKS_PER_METRE * speed_mps), 32),
        })
    }

    fn add(&mut self, seen: &Observation) {
        if let (Some(multipath), Some(shadowing)) = (seen.multipath, seen.shadowing) {
            self.multipath.add(multipath);
            self.shadowing.add([shadowing, 0.0]);
        }
    }

    fn fading(&self) -> Fading {
        let lags = |correlator: &Correlator| {
            let lag = |(index, correlation): (usize, f64)| {
                let lag_s = (index as u64 * correlator.every) as f64 * self.step_s;
                Lag { lag_s, distance_m: lag_s * self.speed_mps, correlation }
            };
            correlator.correlations().into_iter().enumerate().map(lag).collect::<Vec<_>>()
        };
        let (multipath, shadowing) = (lags(&self.multipath), lags(&self.shadowing));
        let doppler = |lag: &Lag| invert_j0(lag.correlation) / (2.0 * std::f64::consts::PI * lag.lag_s);
        Fading {
            doppler_hz: self.doppler_hz,
            doppler_measured_hz: multipath.get(1).map(doppler),
            coherence_time_s: falls_to(0.5, &multipath).map(|lag| lag.lag_s),
            multipath_power: self.multipath.power(),
            multipath_correlation: multipath,
            shadowing_variance: self.shadowing.power(),
            shadowing_correlation_distance_m: falls_to(libm::exp(-1.0), &shadowing).map(|lag| lag.distance_m),
            shadowing_correlation: shadowing,
        }
    }
}

/// The lag at which a correlation function first falls to `level`, interpolated linearly.
fn falls_to(level: f64, lags: &[Lag]) -> Option<Lag> {
    let pair = lags.windows(2).find(|pair| pair[1].correlation <= level)?;
    let (before, after) = (&pair[0], &pair[1]);
    let share = (before.correlation - level) / (before.correlation - after.correlation);
    let between = |from: f64, to: f64| from + share * (to - from);
    Some(Lag {
        lag_s: between(before.lag_s, after.lag_s),
        distance_m: between(before.distance_m, after.distance_m),
        correlation: level,
    })
}

/// The `x` before the first minimum at which J0 is `value`.
fn invert_j0(value: f64) -> f64 {
    let (mut low, mut high) = (0.0, 3.831_705_970_207_512);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if libm::j0(middle) > value { low = middle } else { high = middle }
    }
    low
}

/// Real part of the correlation of a complex process at multiples of `every` samples.
struct Correlator {
    every: u64,
    seen: u64,
    /// The last sampled values, the latest at `looks % recent.len()`.
    recent: Vec<[f64; 2]>,
    looks: usize,
    sums: Vec<f64>,
}

impl Correlator {
    fn new(every: u64, lags: usize) -> Correlator {
        Correlator { every, seen: 0, recent: vec![[0.0; 2]; lags], looks: 0, sums: vec![0.0; lags] }
    }

    fn add(&mut self, value: [f64; 2]) {
        let counts = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if !counts {
            return;
        }
        let lags = self.recent.len();
        self.recent[self.looks % lags] = value;
        for lag in 0..lags.min(self.looks + 1) {
            let before = self.recent[(self.looks - lag) % lags];
            self.sums[lag] += value[0] * before[0] + value[1] * before[1];
        }
        self.looks += 1;
    }

    fn power(&self) -> f64 {
        self.sums[0] / self.looks.max(1) as f64
    }

    /// Relative to the power, at the lags with at least one product.
    fn correlations(&self) -> Vec<f64> {
        let power = self.power();
        let lags = self.sums.len().min(self.looks);
        (0..lags).map(|lag| self.sums[lag] / (self.looks - lag) as f64 / power).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stay_that_has_not_ended_is_not_a_short_one() {
        let mut states = States::default();
        "aaaaabbba".chars().for_each(|state| states.add(if state == 'a' { "a" } else { "b" }));
        let stays: Vec<_> =
            states.shares(0.5, Some(2.0)).iter().map(|s| (s.visits, s.stay_mean_s, s.stay_mean_m)).collect();
        assert_eq!(stays, [(2, Some(3.0), Some(6.0)), (1, Some(1.5), Some(3.0))]);
        let mut still = States::default();
        still.add("a");
        assert_eq!(still.shares(0.5, None)[0].stay_mean_s, None);
    }

    #[test]
    fn percentiles_of_a_constant_are_the_constant() {
        let mut levels = Attenuations::new();
        (0..10).for_each(|_| levels.add(7.0));
        assert!(levels.percentiles().iter().all(|point| point.attenuation_db == 7.0), "{:?}", levels.percentiles());
        // Between the least and the most to the middle of a bin.
        (0..10).for_each(|_| levels.add(9.0));
        levels.add(8.005);
        let median = levels.percentiles().into_iter().find(|point| point.percent == 50.0).unwrap();
        assert!((median.attenuation_db - 8.005).abs() <= 0.01, "{median:?}");
    }
}
