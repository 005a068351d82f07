//! Sizes of transfers: constant, or random.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::{normal_cdf, unit_interval};
use units::{Bytes, FieldError, Probability};

use crate::random::{exponential, normal, pareto_least};

/// A size: `"30 kB"`, or a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Size {
    /// Constant.
    Constant(Bytes),
    /// Random.
    Random(SizeDistribution),
}

units::registry! {
    /// Laws of sizes.
    pub enum SizeDistribution: dyn Kind {
        "exponential" => Exponential(Exponential),
        "pareto" => Pareto(Pareto),
        "lognormal" => Lognormal(Lognormal),
        "empirical" => Empirical(Empirical),
    }
}

/// Exponential sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exponential {
    /// The mean.
    pub mean: Bytes,
}

/// Pareto sizes: many small ones and a few very large ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pareto {
    /// The mean of the law without `max`. The smallest size is `mean` times (shape − 1)/shape.
    pub mean: Bytes,
    /// The tail's exponent, more than 1. Below 2 the variance is infinite.
    pub shape: f64,
    /// The largest size: larger ones are drawn again.
    pub max: Option<Bytes>,
}

/// Lognormal sizes, given by median or mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lognormal {
    /// The median of the law without limits, e^µ. Either this or `mean` is given.
    pub median: Option<Bytes>,
    /// The mean of the law without limits, e^(µ + σ²/2).
    pub mean: Option<Bytes>,
    /// Standard deviation of the size's natural logarithm, σ.
    pub sigma: f64,
    /// The smallest size: smaller ones are drawn again.
    pub min: Option<Bytes>,
    /// The largest size: larger ones are drawn again.
    pub max: Option<Bytes>,
}

/// A measured distribution: points of its cumulative curve, connected by straight lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empirical {
    /// Sizes in increasing order.
    pub sizes: Vec<Bytes>,
    /// The share of transfers up to each size; the last share is 1. The first share has exactly the first size.
    pub cumulative: Vec<Probability>,
}

impl Default for Exponential {
    fn default() -> Exponential {
        Exponential { mean: Bytes::new(30_000) }
    }
}

impl Default for Pareto {
    fn default() -> Pareto {
        Pareto { mean: Bytes::new(30_000), shape: 1.5, max: None }
    }
}

impl Default for Lognormal {
    fn default() -> Lognormal {
        Lognormal { median: None, mean: None, sigma: 1.0, min: None, max: None }
    }
}

/// A law of sizes, in bytes.
pub trait Kind {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError>;

    /// The next size of the law, before it is rounded.
    fn draw(&self, rng: &mut dyn Rng) -> f64;

    /// The mean, limits included.
    fn mean(&self) -> f64;
}

impl From<Lognormal> for Size {
    fn from(law: Lognormal) -> Size {
        Size::Random(SizeDistribution::Lognormal(law))
    }
}

impl Size {
    /// The next size of the law, at least one byte.
    pub(crate) fn draw(&self, rng: &mut dyn Rng) -> Bytes {
        match self {
            Size::Constant(size) => *size,
            Size::Random(law) => Bytes::new((law.entry().draw(rng).round() as u64).max(1)),
        }
    }

    /// Whether sizes are drawn.
    pub(crate) fn is_random(&self) -> bool {
        matches!(self, Size::Random(_))
    }

    /// As [`Size::draw`].
    ///
    /// # Panics
    /// If there is no `stream` and [`Size::is_random`].
    pub(crate) fn draw_from(&self, stream: Option<&mut (dyn Rng + Send + 'static)>) -> Bytes {
        match self {
            Size::Constant(size) => *size,
            Size::Random(_) => self.draw(stream.expect("a random size has a stream")),
        }
    }

    /// The mean in bytes, limits included, for computing an offered load.
    pub fn mean(&self) -> f64 {
        match self {
            Size::Constant(size) => size.get() as f64,
            Size::Random(law) => law.entry().mean(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), FieldError> {
        match self {
            Size::Constant(size) => more_than_none("", *size),
            Size::Random(law) => law.entry().check(),
        }
    }
}

fn more_than_none(field: &str, size: Bytes) -> Result<(), FieldError> {
    match size.get() {
        0 => Err(FieldError::new(field, "0 B was given: must be at least 1 B")),
        _ => Ok(()),
    }
}

impl Kind for Exponential {
    fn check(&self) -> Result<(), FieldError> {
        more_than_none("mean", self.mean)
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        exponential(rng, self.mean.get() as f64)
    }

    fn mean(&self) -> f64 {
        self.mean.get() as f64
    }
}

impl Kind for Pareto {
    fn check(&self) -> Result<(), FieldError> {
        more_than_none("mean", self.mean)?;
        check_shape(self.shape)?;
        match self.max {
            Some(max) if max.get() as f64 <= self.least() => {
                let least = self.least();
                Err(FieldError::new(
                    "max",
                    format!("{max} was given: must be more than the smallest size, {least:.0} B"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Draws by inversion of the distribution function up to `max`: what drawing again would give, with one draw.
    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let survival = 1.0 - unit_interval(rng.next_u64()) * (1.0 - self.beyond());
        self.least() * libm::pow(survival, -1.0 / self.shape)
    }

    fn mean(&self) -> f64 {
        let (mean, beyond) = (self.mean.get() as f64, self.beyond());
        let share = self.max.map_or(0.0, |max| libm::pow(self.least() / max.get() as f64, self.shape - 1.0));
        mean * (1.0 - share) / (1.0 - beyond)
    }
}

impl Pareto {
    fn least(&self) -> f64 {
        pareto_least(self.mean.get() as f64, self.shape)
    }

    /// The probability that the law without limit is beyond `max`.
    fn beyond(&self) -> f64 {
        self.max.map_or(0.0, |max| libm::pow(self.least() / max.get() as f64, self.shape))
    }
}

/// Checks that a Pareto law of this shape has a mean.
pub(crate) fn check_shape(shape: f64) -> Result<(), FieldError> {
    if shape > 1.0 && shape <= 1000.0 {
        return Ok(());
    }
    Err(FieldError::new(
        "shape",
        format!("{shape} was given: must be more than 1 (else there is no mean), at most 1000"),
    ))
}

impl Kind for Lognormal {
    fn check(&self) -> Result<(), FieldError> {
        match (self.median, self.mean) {
            (Some(median), None) => more_than_none("median", median)?,
            (None, Some(mean)) => more_than_none("mean", mean)?,
            (Some(_), Some(_)) => return Err(FieldError::new("mean", "only one of `median` and `mean` can be given")),
            (None, None) => return Err(FieldError::new("median", "is missing: `median` or `mean` must be given")),
        }
        if !(self.sigma > 0.0 && self.sigma <= 10.0) {
            let reason = format!("{} was given: must be more than 0 and at most 10", self.sigma);
            return Err(FieldError::new("sigma", reason));
        }
        self.min.map_or(Ok(()), |min| more_than_none("min", min))?;
        self.max.map_or(Ok(()), |max| more_than_none("max", max))?;
        match self.kept() {
            kept if kept >= 0.01 => Ok(()),
            kept => {
                let field = if self.max.is_some() { "max" } else { "min" };
                let reason = format!("the limits leave {:.3} % of the law: at least 1 % is needed", kept * 100.0);
                Err(FieldError::new(field, reason))
            }
        }
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let (low, high) = self.limits();
        loop {
            let x = normal(rng);
            if (low..=high).contains(&x) {
                return libm::exp(self.mu() + self.sigma * x);
            }
        }
    }

    fn mean(&self) -> f64 {
        let (low, high) = self.limits();
        let mean = libm::exp(self.mu() + self.sigma * self.sigma / 2.0);
        mean * (normal_cdf(high - self.sigma) - normal_cdf(low - self.sigma)) / self.kept()
    }
}

impl Lognormal {
    /// Mean of the logarithm.
    fn mu(&self) -> f64 {
        match (self.median, self.mean) {
            (Some(median), _) => libm::log(median.get() as f64),
            (None, mean) => {
                let mean = mean.expect("checked: one of the two is given").get() as f64;
                libm::log(mean) - self.sigma * self.sigma / 2.0
            }
        }
    }

    /// The limits in standard deviations of the logarithm.
    fn limits(&self) -> (f64, f64) {
        let standard = |size: Bytes| (libm::log(size.get() as f64) - self.mu()) / self.sigma;
        (self.min.map_or(f64::NEG_INFINITY, standard), self.max.map_or(f64::INFINITY, standard))
    }

    /// The probability that a drawn size lies within the bounds and is kept.
    fn kept(&self) -> f64 {
        let (low, high) = self.limits();
        normal_cdf(high) - normal_cdf(low)
    }
}

impl Kind for Empirical {
    fn check(&self) -> Result<(), FieldError> {
        let (sizes, shares) = (self.sizes.len(), self.cumulative.len());
        if sizes == 0 {
            return Err(FieldError::new("sizes", "an empty list was given: needs at least one size"));
        }
        if shares != sizes {
            return Err(FieldError::new(
                "cumulative",
                format!("has {shares} entries, `sizes` has {sizes}: one for each is needed"),
            ));
        }
        more_than_none("sizes.0", self.sizes[0])?;
        for i in 1..sizes {
            if self.sizes[i] <= self.sizes[i - 1] {
                let reason = format!("{} was given after {}: sizes must grow", self.sizes[i], self.sizes[i - 1]);
                return Err(FieldError::new(format!("sizes.{i}"), reason));
            }
            if self.cumulative[i] < self.cumulative[i - 1] {
                let reason =
                    format!("{} was given after {}: shares must not fall", self.cumulative[i], self.cumulative[i - 1]);
                return Err(FieldError::new(format!("cumulative.{i}"), reason));
            }
        }
        match self.cumulative[shares - 1] {
            last if last.get() == 1.0 => Ok(()),
            last => {
                let reason = format!("{last} was given: the last share must be 100 %");
                Err(FieldError::new(format!("cumulative.{}", shares - 1), reason))
            }
        }
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let u = unit_interval(rng.next_u64());
        let after = self.cumulative.partition_point(|share| share.get() <= u).min(self.sizes.len() - 1);
        let Some(before) = after.checked_sub(1) else { return self.sizes[0].get() as f64 };
        let (low, high) = (self.cumulative[before].get(), self.cumulative[after].get());
        let (from, to) = (self.sizes[before].get() as f64, self.sizes[after].get() as f64);
        from + (to - from) * (u - low) / (high - low)
    }

    fn mean(&self) -> f64 {
        let first = self.sizes[0].get() as f64 * self.cumulative[0].get();
        let segments = self.points().zip(self.points().skip(1));
        first + segments.map(|((from, low), (to, high))| (from + to) / 2.0 * (high - low)).sum::<f64>()
    }
}

impl Empirical {
    /// The points of the curve: size and share up to it.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.sizes.iter().zip(&self.cumulative).map(|(size, share)| (size.get() as f64, share.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

    fn size(json: &str) -> Size {
        serde_json::from_str(json).unwrap()
    }

    fn sample(size: &Size, n: usize) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        (0..n).map(|_| size.draw(&mut rng).get() as f64).collect()
    }

    /// Compares the mean of `size` with `mean`, if given, and with the sample's within four standard errors.
    fn check_mean(size: &Size, mean: Option<f64>) {
        let draws = sample(size, 200_000);
        let n = draws.len() as f64;
        let average = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - average) * (x - average)).sum::<f64>() / n;
        let analytic = size.mean();
        assert!((average - analytic).abs() < 4.0 * (variance / n).sqrt() + 0.01, "{size:?}: {average} for {analytic}");
        if let Some(mean) = mean {
            assert!((analytic / mean - 1.0).abs() < 1e-3, "{size:?}: {analytic} for {mean}");
        }
    }

    #[test]
    fn means_are_met() {
        check_mean(&size(r#""30 kB""#), Some(30_000.0));
        check_mean(&size(r#"{ "kind": "exponential", "mean": "30 kB" }"#), Some(30_000.0));
        check_mean(&size(r#"{ "kind": "pareto", "mean": "30 kB", "shape": 3 }"#), Some(30_000.0));
        check_mean(&size(r#"{ "kind": "pareto", "mean": "30 kB", "shape": 1.2, "max": "1 MB" }"#), None);
        check_mean(&size(r#"{ "kind": "lognormal", "mean": "30 kB", "sigma": 1 }"#), Some(30_000.0));
        // e^(µ + σ²/2)
        check_mean(&size(r#"{ "kind": "lognormal", "median": "10 kB", "sigma": 1 }"#), Some(16_487.2));
        check_mean(
            &size(r#"{ "kind": "lognormal", "median": "10 kB", "sigma": 1.5, "min": "2 kB", "max": "90 kB" }"#),
            None,
        );
        // Half of them 1 kB, the others uniform up to 3 kB.
        check_mean(
            &size(r#"{ "kind": "empirical", "sizes": ["1 kB", "3 kB"], "cumulative": [0.5, 1] }"#),
            Some(1_500.0),
        );
    }

    #[test]
    fn the_truncated_means_are_those_of_numerical_integration() {
        let lognormal =
            size(r#"{ "kind": "lognormal", "median": "10 kB", "sigma": 1.5, "min": "2 kB", "max": "90 kB" }"#);
        let pareto = size(r#"{ "kind": "pareto", "mean": "30 kB", "shape": 1.2, "max": "1 MB" }"#);
        let integrate = |density: &dyn Fn(f64) -> f64, low: f64, high: f64| {
            // In the logarithm, midpoints.
            let (n, from, to) = (200_000, libm::log(low), libm::log(high));
            let step = (to - from) / f64::from(n);
            let (mut mass, mut moment) = (0.0, 0.0);
            for i in 0..n {
                let x = libm::exp(from + (f64::from(i) + 0.5) * step);
                mass += density(x) * x * step;
                moment += density(x) * x * x * step;
            }
            moment / mass
        };
        let normal = |x: f64| libm::exp(-0.5 * libm::pow((libm::log(x) - libm::log(1e4)) / 1.5, 2.0)) / x;
        let expected = integrate(&normal, 2e3, 9e4);
        assert!((lognormal.mean() / expected - 1.0).abs() < 1e-6, "{} for {expected}", lognormal.mean());
        let expected = integrate(&|x| libm::pow(x, -2.2), 5e3, 1e6);
        assert!((pareto.mean() / expected - 1.0).abs() < 1e-6, "{} for {expected}", pareto.mean());
    }

    #[test]
    fn half_of_a_lognormal_law_is_below_its_median() {
        let draws = sample(&size(r#"{ "kind": "lognormal", "median": "10 kB", "sigma": 2 }"#), 100_000);
        let share = |limit: f64| draws.iter().filter(|x| **x <= limit).count() as f64 / draws.len() as f64;
        for (deviations, expected) in [(-1.0, 0.158_655), (0.0, 0.5), (1.0, 0.841_345), (2.0, 0.977_250)] {
            let found = share(1e4 * libm::exp(2.0 * deviations));
            assert!((found - expected).abs() < 0.006, "{deviations}: {found} for {expected}");
        }
    }

    #[test]
    fn an_empirical_curve_is_followed() {
        let size =
            size(r#"{ "kind": "empirical", "sizes": ["1 kB", "2 kB", "10 kB"], "cumulative": [0.2, 0.2, "100 %"] }"#);
        let draws = sample(&size, 100_000);
        let share = |limit: f64| draws.iter().filter(|x| **x <= limit).count() as f64 / draws.len() as f64;
        for (limit, expected) in [(999.0, 0.0), (1000.0, 0.2), (2000.0, 0.2), (6000.0, 0.6), (10_000.0, 1.0)] {
            assert!((share(limit) - expected).abs() < 0.006, "up to {limit}: {} for {expected}", share(limit));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        let cases = [
            (r#""0 B""#, "0 B was given"),
            (r#"{ "kind": "exponential", "mean": "0 B" }"#, "mean: 0 B"),
            (r#"{ "kind": "pareto", "shape": 1 }"#, "shape: 1 was given: must be more than 1"),
            (
                r#"{ "kind": "pareto", "mean": "30 kB", "max": "10 kB" }"#,
                "max: 10 kB was given: must be more than the smallest size, 10000 B",
            ),
            (r#"{ "kind": "lognormal" }"#, "median: is missing"),
            (r#"{ "kind": "lognormal", "median": "1 kB", "mean": "2 kB" }"#, "mean: only one of"),
            (r#"{ "kind": "lognormal", "median": "1 kB", "sigma": 0 }"#, "sigma: 0 was given"),
            (r#"{ "kind": "lognormal", "median": "1 kB", "max": "10 B" }"#, "max: the limits leave 0.000 % of the law"),
            (r#"{ "kind": "empirical", "sizes": [], "cumulative": [] }"#, "sizes: an empty list"),
            (
                r#"{ "kind": "empirical", "sizes": ["1 B"], "cumulative": [] }"#,
                "cumulative: has 0 entries, `sizes` has 1",
            ),
            (
                r#"{ "kind": "empirical", "sizes": ["2 B", "1 B"], "cumulative": [0.5, 1] }"#,
                "sizes.1: 1 B was given after 2 B",
            ),
            (
                r#"{ "kind": "empirical", "sizes": ["1 B", "2 B"], "cumulative": [0.5, 0.9] }"#,
                "cumulative.1: 90 % was given",
            ),
        ];
        for (json, message) in cases {
            let error = size(json).check().unwrap_err().to_string();
            assert!(error.starts_with(message), "{json}: {error}");
        }
    }

    proptest! {
        #[test]
        fn draws_stay_within_the_limits(
            seed: u64,
            mean in 1_000u64..1_000_000,
            shape in 1.05f64..4.0,
            sigma in 0.2f64..2.5,
            wide in 1.5f64..50.0,
        ) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let bytes = |x: f64| Bytes::new(x as u64);
            let max = bytes(mean as f64 * wide);
            let pareto = Pareto { mean: Bytes::new(mean), shape, max: Some(max) };
            let pareto = Size::Random(SizeDistribution::Pareto(pareto));
            let min = bytes(mean as f64 / wide);
            let law = Lognormal { median: Some(Bytes::new(mean)), mean: None, sigma, min: Some(min), max: Some(max) };
            let lognormal = Size::Random(SizeDistribution::Lognormal(law));
            let least = mean as f64 * (shape - 1.0) / shape;
            for _ in 0..200 {
                let draw = pareto.draw(&mut rng);
                prop_assert!(draw <= max && draw.get() as f64 >= least - 1.0);
                let draw = lognormal.draw(&mut rng);
                prop_assert!((min..=max).contains(&draw));
            }
            prop_assert!(pareto.mean() <= mean as f64 + 1e-6);
        }
    }
}
