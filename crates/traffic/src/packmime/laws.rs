//! The laws of PackMime-HTTP: times between connections, sizes, the server's delay, and the exchanges of persistent
//! connections.

use std::sync::OnceLock;

use rand::Rng;
use serde::Deserialize;
use units::Duration;
use units::chance::{normal_cdf, unit_interval};

use super::fractional::{SumDifference, logistic};
use crate::random::{gamma, normal, weibull};

/// Times between connections: a sequence with long memory and a Weibull law of mean 1/rate. With a higher rate the law
/// approaches the exponential one and memory has less weight: the superposition of many connections is a Poisson
/// process.
pub(super) struct Arrivals {
    sequence: SumDifference,
    pub(super) shape: f64,
    scale: f64,
}

/// Memory of the times between connections and of the sizes of requests.
const ARRIVAL_MEMORY: f64 = 0.33;
const REQUEST_MEMORY: f64 = 0.31;

impl Arrivals {
    pub(super) fn new(rate: f64, rng: Box<dyn Rng + Send>) -> Arrivals {
        let white_share = logistic(0.333 + 0.414 * libm::log2(rate));
        let shape = logistic(0.352 + 0.388 * libm::log2(rate));
        let scale = 1.0 / (rate * libm::tgamma(1.0 + 1.0 / shape));
        Arrivals { sequence: SumDifference::new(ARRIVAL_MEMORY, white_share, rng), shape, scale }
    }

    pub(super) fn draw(&mut self) -> Duration {
        let beyond = normal_cdf(-self.sequence.draw());
        Duration::from_secs_f64(self.scale * libm::pow(-libm::log(beyond), 1.0 / self.shape))
    }
}

/// A law of sizes by points on its quantile curve.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeLaw {
    /// The share of messages up to a size, and the size in bytes.
    #[serde(default)]
    lower: Vec<(f64, f64)>,
    /// The share of messages beyond a size, and the size in bytes.
    #[serde(default)]
    upper: Vec<(f64, f64)>,
    /// Exponent of the Pareto law beyond the last point.
    tail: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeLaws {
    pub(super) request: SizeLaw,
    pub(super) validation: SizeLaw,
    pub(super) download: SizeLaw,
}

pub(super) fn size_laws() -> &'static SizeLaws {
    static LAWS: OnceLock<SizeLaws> = OnceLock::new();
    LAWS.get_or_init(|| toml::from_str(include_str!("../../parameters/packmime.toml")).expect("a valid parameter file"))
}

impl SizeLaw {
    /// The size that a share `beyond` of messages exceeds.
    pub(super) fn quantile(&self, beyond: f64) -> f64 {
        let lower = self.lower.last().map_or(0.0, |last| last.0);
        if 1.0 - beyond < lower {
            let share = 1.0 - beyond;
            let after = self.lower.partition_point(|point| point.0 <= share);
            let ((p, from), (q, to)) = (self.lower[after - 1], self.lower[after]);
            return from + (to - from) * (share - p) / (q - p);
        }
        let after = self.upper.partition_point(|point| point.0 >= beyond);
        let Some(before) = after.checked_sub(1) else { return self.lower[self.lower.len() - 1].1 };
        let (p, from) = self.upper[before];
        let exponent = match self.upper.get(after) {
            Some(&(q, to)) => libm::log(to / from) / libm::log(p / q),
            None => 1.0 / self.tail.expect("a law that has an upper part has a tail"),
        };
        from * libm::pow(p / beyond, exponent)
    }

    /// The share of messages beyond a size.
    pub(super) fn beyond(&self, size: f64) -> f64 {
        let after = self.lower.partition_point(|point| point.1 <= size);
        if after < self.lower.len() {
            let Some(before) = after.checked_sub(1) else { return 1.0 };
            let ((p, from), (q, to)) = (self.lower[before], self.lower[after]);
            return 1.0 - (p + (q - p) * (size - from) / (to - from));
        }
        let after = self.upper.partition_point(|point| point.1 <= size);
        let Some(before) = after.checked_sub(1) else { return if self.upper.is_empty() { 0.0 } else { 1.0 } };
        let (p, from) = self.upper[before];
        let exponent = match self.upper.get(after) {
            Some(&(q, to)) => libm::log(p / q) / libm::log(to / from),
            None => self.tail.expect("a law that has an upper part has a tail"),
        };
        p * libm::pow(from / size, exponent)
    }
}

/// Sizes of requests: a sequence with long memory; limits make the law a conditional one.
pub(super) struct RequestSizes {
    sequence: SumDifference,
    /// The shares beyond the largest and beyond the smallest size.
    beyond: (f64, f64),
}

impl RequestSizes {
    /// Sizes between `least` and `most` bytes.
    pub(super) fn new(rate: f64, least: f64, most: f64, rng: Box<dyn Rng + Send>) -> RequestSizes {
        let white_share = logistic(0.123 + 0.494 * libm::log2(rate));
        let law = &size_laws().request;
        let beyond = (law.beyond(most), law.beyond(least));
        RequestSizes { sequence: SumDifference::new(REQUEST_MEMORY, white_share, rng), beyond }
    }

    pub(super) fn draw(&mut self) -> u64 {
        let (most, least) = self.beyond;
        let beyond = most + normal_cdf(-self.sequence.draw()) * (least - most);
        bytes(size_laws().request.quantile(beyond))
    }
}

/// Sizes of responses: runs of downloads alternate with runs of cache validations.
pub(super) struct ResponseSizes {
    /// Shapes of the run lengths' Weibull laws.
    validation_shape: f64,
    download_shape: f64,
    downloads: bool,
    /// Remaining responses of the run.
    left: u64,
    rng: Box<dyn Rng + Send>,
}

impl ResponseSizes {
    pub(super) fn new(rate: f64, rng: Box<dyn Rng + Send>) -> ResponseSizes {
        let validation_shape = logistic(0.718 + 0.357 * libm::log2(rate));
        let download_shape = logistic(1.293 + 0.316 * libm::log2(rate));
        ResponseSizes { validation_shape, download_shape, downloads: false, left: 0, rng }
    }

    /// The next size, and whether it is a download.
    pub(super) fn draw(&mut self) -> (u64, bool) {
        if self.left == 0 {
            self.downloads = !self.downloads;
            let (scale, shape) =
                if self.downloads { (3.11, self.download_shape) } else { (0.775, self.validation_shape) };
            self.left = (weibull(&mut *self.rng, scale, shape).ceil() as u64).max(1);
        }
        self.left -= 1;
        let laws = size_laws();
        let law = if self.downloads { &laws.download } else { &laws.validation };
        (bytes(law.quantile(1.0 - unit_interval(self.rng.next_u64()))), self.downloads)
    }
}

/// A drawn size in whole bytes, at least one.
fn bytes(size: f64) -> u64 {
    (size.round() as u64).max(1)
}

/// The server's delay: 1/Weibull(0.63, 305) seconds, at most 0.1 s.
pub(super) fn server_delay(rng: &mut dyn Rng) -> Duration {
    Duration::from_secs_f64((1.0 / weibull(rng, 305.0, 0.63)).min(0.1))
}

/// A hierarchical law on a logarithmic scale (base 2): each persistent connection has a location and a squared scale;
/// each value adds an error.
pub(super) struct Hierarchy {
    /// Mean and variance of the location.
    pub(super) location: (f64, f64),
    /// Shape of the squared scale's gamma law, whose mean is 1.
    pub(super) shape: f64,
    /// Variance of the error.
    pub(super) error: f64,
}

/// Seconds from a response to the next request within a page, and to that for the next page; bytes of responses after
/// the first.
pub(super) const OBJECT_GAP: Hierarchy = Hierarchy { location: (-4.15, 3.12), shape: 2.35, error: 1.57 };
pub(super) const PAGE_GAP: Hierarchy = Hierarchy { location: (3.22, 0.73), shape: 1.85, error: 1.21 };
pub(super) const RESPONSE: Hierarchy = Hierarchy { location: (10.62, 0.94), shape: 3.22, error: 2.43 };

/// The values of one connection.
pub(super) struct OfConnection {
    location: f64,
    deviation: f64,
}

impl Hierarchy {
    pub(super) fn connection(&self, rng: &mut dyn Rng) -> OfConnection {
        let location = self.location.0 + libm::sqrt(self.location.1) * normal(rng);
        OfConnection { location, deviation: libm::sqrt(gamma(rng, self.shape) / self.shape * self.error) }
    }
}

impl OfConnection {
    pub(super) fn draw(&self, rng: &mut dyn Rng) -> f64 {
        libm::exp2(self.location + self.deviation * normal(rng))
    }
}

/// Draws whether a connection is persistent.
pub(super) fn persists(rng: &mut dyn Rng) -> bool {
    unit_interval(rng.next_u64()) < 0.09
}

/// The number of pages of a persistent connection: one, or 1 + Weibull(1, 0.417) rounded up.
pub(super) fn pages(rng: &mut dyn Rng) -> u64 {
    one_or_more(rng, 0.82, 0.417)
}

/// The number of objects of a page: one (only where there are several pages), or 1 + Weibull(1, 1.578) rounded up.
pub(super) fn objects(rng: &mut dyn Rng, pages: u64) -> u64 {
    one_or_more(rng, if pages > 1 { 0.69 } else { 0.0 }, 1.578)
}

/// One with probability `one`, else at least two.
fn one_or_more(rng: &mut dyn Rng, one: f64, scale: f64) -> u64 {
    let (is_one, more) = (unit_interval(rng.next_u64()) < one, weibull(rng, scale, 1.0));
    if is_one { 1 } else { 1 + (more.ceil() as u64).max(1) }
}
