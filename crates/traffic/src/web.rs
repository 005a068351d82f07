//! Web pages over one connection that stays open.
//!
//! The traffic model of the evaluation methodologies (3GPP2 C.R1002, NGMN 2008 annex A, IEEE 802.16m): a main object, the
//! objects embedded in it, then a time to read. Simplified: one connection, one request size, no time to think for the server,
//! no caches. Who could notice: a study of many parallel connections, or of today's pages of megabytes (give other sizes).

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use crate::random::{exponential, pareto};
use crate::size::Lognormal;
use crate::{Action, End, Size, SizeDistribution, Source, Streams};

/// Web pages, one after the other over one connection: the user asks, the server answers, the user reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Web {
    /// When the connection is opened and the first page asked for, from the start of the run.
    pub start: Duration,
    /// How many pages are read before the connection is closed; without it, until the end of the run.
    pub pages: Option<u32>,
    /// Size of a request.
    pub request: Bytes,
    /// Size of a page's main object: a size, or a distribution.
    pub main: Size,
    /// How many objects are embedded in a page.
    pub objects: ObjectCount,
    /// Size of an embedded object: a size, or a distribution.
    pub embedded: Size,
    /// How embedded objects are asked for.
    pub requests: Requests,
    /// Mean time that the browser needs for the main object before it asks for the embedded ones (exponential).
    pub parsing: Duration,
    /// Mean time between a complete page and the next click (exponential).
    pub reading: Duration,
}

/// How a browser asks for embedded objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requests {
    /// All at once, as over HTTP/2: one round trip for all.
    #[default]
    Pipelined,
    /// Each after the one before has arrived, as over HTTP/1.1: one round trip for each.
    Sequential,
}

units::registry! {
    /// Laws of the number of objects in a page.
    pub enum ObjectCount {
        "pareto" => Pareto(ParetoCount),
        "constant" => Constant(ConstantCount),
    }
}

/// A Pareto law cut off at `max`, less its smallest value: `least` becomes no object, what is beyond `max` becomes `max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParetoCount {
    /// The tail's exponent, α.
    pub shape: f64,
    /// The smallest value of the law, k.
    pub least: u32,
    /// The largest value of the law, m.
    pub max: u32,
}

/// Always the same number of objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConstantCount {
    /// How many.
    pub count: u32,
}

/// What a user of the web measured. A page's load time is that from the click to its last byte; the first page's contains the
/// opening of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WebReport {
    /// Pages that were complete.
    pub pages: u64,
    /// Pages that were asked for.
    pub clicks: u64,
    /// Mean load time of the complete pages; `None` without any.
    pub load_mean_s: Option<f64>,
    /// Median load time: the smallest that half of the pages do not exceed.
    pub load_median_s: Option<f64>,
    /// 95th percentile of the load time: the smallest that 95 % of the pages do not exceed.
    pub load_p95_s: Option<f64>,
}

impl Default for Web {
    fn default() -> Web {
        let lognormal = |median, sigma, min| {
            Size::Random(SizeDistribution::Lognormal(Lognormal {
                median: Some(Bytes::new(median)),
                mean: None,
                sigma,
                min: Some(Bytes::new(min)),
                max: Some(Bytes::new(2_000_000)),
            }))
        };
        Web {
            start: Duration::ZERO,
            pages: None,
            request: Bytes::new(350),
            main: lognormal(4_316, 1.37, 100), // µ = 8.37
            objects: ObjectCount::Pareto(ParetoCount::default()),
            embedded: lognormal(478, 2.36, 50), // µ = 6.17
            requests: Requests::default(),
            parsing: Duration::from_millis(130),
            reading: Duration::from_secs(30),
        }
    }
}

impl Default for ParetoCount {
    fn default() -> ParetoCount {
        ParetoCount { shape: 1.1, least: 2, max: 55 }
    }
}

impl ObjectCount {
    fn draw(&self, rng: &mut dyn Rng) -> u64 {
        match self {
            ObjectCount::Constant(constant) => u64::from(constant.count),
            ObjectCount::Pareto(law) => {
                let value = pareto(rng, f64::from(law.least), law.shape).min(f64::from(law.max));
                value.round() as u64 - u64::from(law.least)
            }
        }
    }

    fn check(&self) -> Result<(), FieldError> {
        let ObjectCount::Pareto(law) = self else { return Ok(()) };
        if !(law.shape > 0.0 && law.shape <= 1000.0) {
            let reason = format!("{} was given: must be more than 0 and at most 1000", law.shape);
            return Err(FieldError::new("shape", reason));
        }
        if law.least == 0 {
            return Err(FieldError::new("least", "0 was given: must be at least 1"));
        }
        if law.max < law.least {
            let reason = format!("{} was given: must be at least `least`, {}", law.max, law.least);
            return Err(FieldError::new("max", reason));
        }
        Ok(())
    }
}

impl Web {
    pub(crate) fn build(&self, offset: Duration, streams: &mut Streams) -> WebSource {
        WebSource {
            config: self.clone(),
            main: streams("traffic.main"),
            count: streams("traffic.objects"),
            embedded: streams("traffic.embedded"),
            parsing: streams("traffic.parsing"),
            reading: streams("traffic.reading"),
            stage: Stage::Closed,
            wake: Some(Time::ZERO + self.start + offset),
            to_ask: 0,
            left: 0,
            asked: 0,
            heard: 0,
            answered: 0,
            written: 0,
            clicked: Time::ZERO,
            clicks: 0,
            loads: Vec::new(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), FieldError> {
        if self.request.get() == 0 {
            return Err(FieldError::new("request", "0 B was given: must be at least 1 B"));
        }
        if self.pages == Some(0) {
            return Err(FieldError::new("pages", "0 was given: must be at least 1"));
        }
        if self.reading.is_zero() && self.pages.is_none() {
            return Err(FieldError::new("reading", "0 s was given: must be more than 0 unless `pages` is given"));
        }
        self.main.check().map_err(|error| error.within("main"))?;
        self.objects.check().map_err(|error| error.within("objects"))?;
        self.embedded.check().map_err(|error| error.within("embedded"))
    }
}

/// Where the user is with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing has happened yet.
    Closed,
    /// Reads, and clicks when that is over.
    Reading,
    /// Waits for the main object.
    Main,
    /// Has the main object and looks at it.
    Parsing,
    /// Waits for embedded objects.
    Embedded,
    /// Has read enough; the user's end closes first.
    Leaving,
    /// The server's end closes.
    Left,
    Done,
}

/// A browser and its server.
pub(crate) struct WebSource {
    config: Web,
    main: Box<dyn Rng + Send>,
    count: Box<dyn Rng + Send>,
    embedded: Box<dyn Rng + Send>,
    parsing: Box<dyn Rng + Send>,
    reading: Box<dyn Rng + Send>,
    stage: Stage,
    /// When one of the ends acts next.
    wake: Option<Time>,
    /// Requests to send at once.
    to_ask: u64,
    /// Objects of the page that are to be asked for later.
    left: u64,
    /// Requests sent, arrived at the server, and answered, since the connection was opened.
    asked: u64,
    heard: u64,
    answered: u64,
    /// What the server wrote in all.
    written: u64,
    clicked: Time,
    clicks: u64,
    loads: Vec<Duration>,
}

impl Source for WebSource {
    fn poll_action(&mut self, now: Time) -> Option<(End, Action)> {
        if self.wake.is_none_or(|wake| now < wake) {
            return None;
        }
        if self.to_ask > 0 {
            return Some(self.ask());
        }
        if self.answered < self.heard {
            return Some(self.answer());
        }
        match self.stage {
            Stage::Closed => {
                self.stage = Stage::Reading;
                Some((End::User, Action::Open))
            }
            Stage::Reading => {
                self.stage = Stage::Main;
                self.clicked = now;
                self.clicks += 1;
                Some(self.ask())
            }
            Stage::Parsing => {
                self.stage = Stage::Embedded;
                self.ask_for_more(now);
                Some(self.ask())
            }
            Stage::Leaving => {
                self.stage = Stage::Left;
                Some((End::User, Action::Close))
            }
            Stage::Left => {
                self.stage = Stage::Done;
                Some((End::Server, Action::Close))
            }
            Stage::Main | Stage::Embedded | Stage::Done => {
                self.wake = None;
                None
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.wake
    }

    fn handle_delivered(&mut self, now: Time, end: End, bytes: u64) {
        match end {
            End::Server => {
                self.heard = bytes / self.config.request.get();
                if self.answered < self.heard {
                    self.wake = Some(now);
                }
            }
            End::User => {
                let waits = matches!(self.stage, Stage::Main | Stage::Embedded);
                if waits && self.to_ask == 0 && self.answered == self.asked && bytes >= self.written {
                    self.handle_complete(now);
                }
            }
        }
    }

    fn report(&self) -> Option<WebReport> {
        let mut loads = self.loads.clone();
        loads.sort_unstable();
        let quantile = |share: f64| {
            let rank = (share * loads.len() as f64).ceil() as usize;
            loads.get(rank.saturating_sub(1)).map(|load| load.as_secs_f64())
        };
        let total: Duration = loads.iter().copied().sum();
        Some(WebReport {
            pages: loads.len() as u64,
            clicks: self.clicks,
            load_mean_s: (!loads.is_empty()).then(|| total.as_secs_f64() / loads.len() as f64),
            load_median_s: quantile(0.5),
            load_p95_s: quantile(0.95),
        })
    }
}

impl WebSource {
    fn ask(&mut self) -> (End, Action) {
        self.to_ask = self.to_ask.saturating_sub(1);
        self.asked += 1;
        (End::User, Action::Write(self.config.request))
    }

    fn answer(&mut self) -> (End, Action) {
        let size = match self.stage {
            Stage::Main => self.config.main.draw(&mut *self.main),
            _ => self.config.embedded.draw(&mut *self.embedded),
        };
        self.answered += 1;
        self.written += size.get();
        (End::Server, Action::Write(size))
    }

    /// All that was asked for has arrived at the user.
    fn handle_complete(&mut self, now: Time) {
        if self.stage == Stage::Main {
            self.left = self.config.objects.draw(&mut *self.count);
            if self.left > 0 {
                self.stage = Stage::Parsing;
                let parsing = exponential(&mut *self.parsing, self.config.parsing.as_secs_f64());
                self.wake = Some(now + Duration::from_secs_f64(parsing));
                return;
            }
        }
        if self.left > 0 {
            self.ask_for_more(now);
        } else {
            self.finish_page(now);
        }
    }

    fn ask_for_more(&mut self, now: Time) {
        self.to_ask = match self.config.requests {
            Requests::Pipelined => self.left,
            Requests::Sequential => 1,
        };
        self.left -= self.to_ask;
        self.wake = Some(now);
    }

    fn finish_page(&mut self, now: Time) {
        self.loads.push(now.since(self.clicked));
        if self.config.pages.is_some_and(|pages| self.loads.len() as u64 >= u64::from(pages)) {
            self.stage = Stage::Leaving;
            self.wake = Some(now);
        } else {
            self.stage = Stage::Reading;
            let reading = exponential(&mut *self.reading, self.config.reading.as_secs_f64());
            self.wake = Some(now + Duration::from_secs_f64(reading));
        }
    }
}

#[cfg(test)]
mod tests;
