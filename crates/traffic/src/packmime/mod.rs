//! Web traffic of many clients, as a shared link sees it: PackMime-HTTP.
//!
//! Cao, Cleveland, Gao, Jeffay, Smith and Weigle, "Stochastic models for generating synthetic HTTP source traffic",
//! INFOCOM 2004, with the parameters of its implementation in ns-2.35 and the steps of client and server in the ns
//! manual. Most laws follow from the rate of new connections. Simplified or different, and who could notice:

mod connection;
mod fractional;
mod laws;

use std::ops::RangeInclusive;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use crate::{Kind, MakeRng, Needs, UserSource};
use connection::{Exchange, HttpSource};
use laws::{Arrivals, RequestSizes, ResponseSizes, size_laws};

/// Web connections of many clients that arrive at a rate, by the laws of PackMime-HTTP. The entry's users take them in
/// turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PackMime {
    /// When arrivals begin, from the start of the run.
    pub start: Duration,
    /// When arrivals end, from the start of the run; by default at the end of the run.
    pub stop: Option<Duration>,
    /// New connections per second, of all users of the entry together.
    #[schemars(range(min = 1.0, max = 100_000.0))]
    pub rate: f64,
    /// The most connections that arrive; by default unlimited.
    pub requests: Option<u32>,
    /// Smallest request: smaller ones are drawn again.
    pub request_min: Option<Bytes>,
    /// Largest request: larger ones are drawn again.
    pub request_max: Option<Bytes>,
    /// Whether some connections carry several requests, as over HTTP/1.1; otherwise each carries one, as over HTTP/1.0.
    pub persistent: bool,
}

/// The rates of the model. Below the least nearly all times between connections are 0 by its law, and few runs are as
/// long as the others.
const RATES: RangeInclusive<f64> = 1.0..=100_000.0;

impl Default for PackMime {
    fn default() -> PackMime {
        PackMime {
            start: Duration::ZERO,
            stop: None,
            rate: 10.0,
            requests: None,
            request_min: None,
            request_max: None,
            persistent: false,
        }
    }
}

impl Kind for PackMime {
    fn check(&self) -> Result<(), FieldError> {
        if !RATES.contains(&self.rate) {
            let (least, most) = (RATES.start(), RATES.end());
            let reason = format!("{} was given: must be from {least} to {most} connections per second", self.rate);
            return Err(FieldError::new("rate", reason));
        }
        if self.requests == Some(0) {
            return Err(FieldError::new("requests", "0 was given: must be at least 1"));
        }
        if let Some(stop) = self.stop.filter(|stop| *stop <= self.start) {
            return Err(FieldError::new("stop", format!("{stop} was given: must be after `start`, {}", self.start)));
        }
        let law = &size_laws().request;
        let (least, most) = self.limits();
        match law.beyond(least) - law.beyond(most) {
            kept if kept >= 0.01 => Ok(()),
            kept => {
                let field = if self.request_max.is_some() { "request_max" } else { "request_min" };
                let reason =
                    format!("the limits leave {:.3} % of the requests: at least 1 % is needed", kept.max(0.0) * 100.0);
                Err(FieldError::new(field, reason))
            }
        }
    }

    /// One application for each connection, in the order of arrivals.
    fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        // The arrivals are the entry's, so their chance is that of its first user.
        let mut stream = |purpose| streams(purpose, 0);
        let mut arrivals = Arrivals::new(self.rate, stream("traffic.arrivals"));
        let mut exchanges = Exchanges {
            requests: self.request_sizes(stream("traffic.requests")),
            responses: ResponseSizes::new(self.rate, stream("traffic.responses")),
            delays: stream("traffic.server_delay"),
            persistence: self.persistent.then(|| Persistence {
                counts: stream("traffic.persistence"),
                gaps: stream("traffic.gaps"),
                responses: stream("traffic.objects"),
            }),
        };
        let end = Time::ZERO + self.end(duration);
        let most = self.requests.map_or(usize::MAX, |requests| requests as usize);
        let mut arrival = Time::ZERO + self.start;
        let users = (0..).zip(offsets).cycle().take(most);
        let connections = users.map_while(|(user, &offset)| {
            arrival += arrivals.draw();
            (arrival < end).then(|| (user, arrival + offset, exchanges.draw()))
        });
        connections
            .filter(|&(_, start, _)| start < end)
            .map(|(user, start, exchanges)| UserSource { user, source: Box::new(HttpSource::new(start, exchanges)) })
            .collect()
    }

    fn expected_flows(&self, _users: u32, duration: Duration) -> f64 {
        let arrivals = self.rate * self.end(duration).saturating_sub(self.start).as_secs_f64();
        self.requests.map_or(arrivals, |requests| arrivals.min(f64::from(requests)))
    }

    fn needs(&self) -> Needs {
        Needs::Exchange
    }
}

impl PackMime {
    fn end(&self, duration: Duration) -> Duration {
        self.stop.map_or(duration, |stop| stop.min(duration))
    }

    /// The smallest and the largest request in bytes.
    fn limits(&self) -> (f64, f64) {
        let [least, most] = [self.request_min, self.request_max].map(|limit| limit.map(|size| size.get() as f64));
        (least.unwrap_or(0.0), most.unwrap_or(f64::INFINITY))
    }

    fn request_sizes(&self, rng: Box<dyn Rng + Send>) -> RequestSizes {
        let (least, most) = self.limits();
        RequestSizes::new(self.rate, least, most, rng)
    }
}

/// The random processes from which exchanges are drawn.
struct Exchanges {
    requests: RequestSizes,
    responses: ResponseSizes,
    delays: Box<dyn Rng + Send>,
    /// For HTTP/1.1 only.
    persistence: Option<Persistence>,
}

struct Persistence {
    counts: Box<dyn Rng + Send>,
    gaps: Box<dyn Rng + Send>,
    responses: Box<dyn Rng + Send>,
}

impl Exchanges {
    /// The exchanges of the next connection.
    fn draw(&mut self) -> Vec<Exchange> {
        let request = Bytes::new(self.requests.draw());
        let (response, is_download) = self.responses.draw();
        let gaps = self.persistence.as_mut().map_or(vec![Duration::ZERO], Persistence::gaps);
        // Requests of a connection have the same size; downloads after the first have a law of their stream.
        let alike = match &mut self.persistence {
            Some(Persistence { responses, .. }) if is_download && gaps.len() > 1 => {
                Some(laws::RESPONSE.connection(&mut **responses))
            }
            _ => None,
        };
        let mut exchanges = Vec::with_capacity(gaps.len());
        for gap in gaps {
            let size = match (&alike, &mut self.persistence) {
                (Some(law), Some(persistence)) if !exchanges.is_empty() => {
                    (law.draw(&mut *persistence.responses).round() as u64).max(1)
                }
                _ => response,
            };
            let delay = laws::server_delay(&mut *self.delays);
            exchanges.push(Exchange { request, response: Bytes::new(size), delay, gap });
        }
        exchanges
    }
}

impl Persistence {
    /// The gap before each request of a connection; a single zero if it is not persistent.
    fn gaps(&mut self) -> Vec<Duration> {
        let mut gaps = vec![Duration::ZERO];
        if !laws::persists(&mut *self.counts) {
            return gaps;
        }
        let within = laws::OBJECT_GAP.connection(&mut *self.gaps);
        let between = laws::PAGE_GAP.connection(&mut *self.gaps);
        let pages = laws::pages(&mut *self.counts);
        for page in 0..pages {
            for object in 0..laws::objects(&mut *self.counts, pages) {
                let gap = if object > 0 { &within } else { &between };
                if (page, object) != (0, 0) {
                    gaps.push(Duration::from_secs_f64(gap.draw(&mut *self.gaps)));
                }
            }
        }
        gaps
    }
}

#[cfg(test)]
mod tests;
