//! Web pages over persistent connections.
//!
//! The traffic model of the evaluation methodologies (3GPP2 C.R1002, NGMN 2008 annex A, IEEE 802.16m): a main object,
//! its embedded objects, then a reading time. Simplified: one server, one request size, no delay at the server, no
//! caches, and connections that stay open. Who could notice: a study of pages from many servers, or of today's pages of
//! megabytes (give other sizes).

mod objects;
mod report;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use crate::random::exponential;
use crate::size::Lognormal;
use crate::{
    Act, Action, End, Experience, Kind, MOST_CONNECTIONS, MakeRng, MakeUserRng, Needs, Size, Source, UserSource,
    of_each_user,
};

pub use objects::{ConstantCount, ObjectCount, ParetoCount};
pub(crate) use report::WebReport;
pub(crate) use report::WebTimes;

/// Web pages, one after the other over one connection or several: the user requests, the server responds, the user
/// reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Web {
    /// When the first connection is opened and the first page requested, from the start of the run.
    pub start: Duration,
    /// The number of pages, after which the connections are closed; by default unlimited.
    pub pages: Option<u32>,
    /// Size of a request.
    pub request: Bytes,
    /// Size of a page's main object: a size, or a distribution.
    pub main: Size,
    /// The number of embedded objects in a page.
    pub objects: ObjectCount,
    /// Size of an embedded object: a size, or a distribution.
    pub embedded: Size,
    /// The order of requests for embedded objects.
    pub requests: Requests,
    /// Connections that the browser may use, 1 to 64; those after the first are opened for embedded objects.
    #[schemars(range(min = 1, max = 64))]
    pub connections: u32,
    /// Mean time that the browser parses the main object before it requests the embedded ones (exponential).
    pub parsing: Duration,
    /// Mean time between a complete page and the next click (exponential).
    pub reading: Duration,
}

/// The order of requests for embedded objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requests {
    /// All at once, as over HTTP/2: one round trip for all. Several connections take them in turn.
    #[default]
    Pipelined,
    /// Each after the response before, as over HTTP/1.1: one round trip for each. Of several connections, the first
    /// idle one takes the next.
    Sequential,
    /// All at once, each on a stream of its own, as over HTTP/3: what one response loses holds no other up. Needs a
    /// transport with streams and one connection.
    Multiplexed,
}

impl Default for Web {
    fn default() -> Web {
        let lognormal = |median, sigma, min| {
            Size::from(Lognormal {
                median: Some(Bytes::new(median)),
                mean: None,
                sigma,
                min: Some(Bytes::new(min)),
                max: Some(Bytes::new(2_000_000)),
            })
        };
        Web {
            start: Duration::ZERO,
            pages: None,
            request: Bytes::new(350),
            main: lognormal(4_316, 1.37, 100), // µ = 8.37
            objects: ObjectCount::default(),
            embedded: lognormal(478, 2.36, 50), // µ = 6.17
            requests: Requests::default(),
            connections: 1,
            parsing: Duration::from_millis(130),
            reading: Duration::from_secs(30),
        }
    }
}

impl Kind for Web {
    fn check(&self) -> Result<(), FieldError> {
        if self.request.get() == 0 {
            return Err(FieldError::new("request", "0 B was given: must be at least 1 B"));
        }
        if self.pages == Some(0) {
            return Err(FieldError::new("pages", "0 was given: must be at least 1"));
        }
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            let reason = format!("{} was given: must be from 1 to {MOST_CONNECTIONS}", self.connections);
            return Err(FieldError::new("connections", reason));
        }
        if self.requests == Requests::Multiplexed && self.connections != 1 {
            let reason = format!("{} was given: multiplexed requests go over 1 connection", self.connections);
            return Err(FieldError::new("connections", reason));
        }
        if self.reading.is_zero() && self.pages.is_none() {
            return Err(FieldError::new("reading", "0 s was given: must be more than 0 unless `pages` is given"));
        }
        self.main.check().map_err(|error| error.within("main"))?;
        self.objects.entry().check().map_err(|error| error.within("objects"))?;
        self.embedded.check().map_err(|error| error.within("embedded"))
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        let config = Arc::new(self.clone());
        of_each_user(offsets, streams, |offset, own| [config.source(offset, own)])
    }

    fn expected_flows(&self, users: u32, _duration: Duration) -> f64 {
        f64::from(users) * f64::from(self.connections)
    }

    fn needs(&self) -> Needs {
        if self.requests == Requests::Multiplexed { Needs::Streams } else { Needs::Exchange }
    }
}

impl Web {
    fn source(self: &Arc<Web>, offset: Duration, streams: &mut MakeUserRng) -> WebSource {
        WebSource {
            config: Arc::clone(self),
            main: self.main.is_random().then(|| streams("traffic.main")),
            objects: ObjectStreams::of(self, streams),
            reading: streams("traffic.reading"),
            state: PageState::Closed,
            wake: Time::ZERO + self.start + offset,
            browser_connections: (0..self.connections).map(|_| Connection::default()).collect(),
            acts: VecDeque::new(),
            streams: BTreeMap::new(),
            opened_streams: 0,
            due: Time::ZERO,
            left: 0,
            outstanding: 0,
            clicked: Time::ZERO,
            times: WebTimes::default(),
        }
    }
}

/// The state of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    /// Before the first page.
    Closed,
    /// The user reads the page; the next click follows.
    Reading,
    /// The main object is requested.
    Main,
    /// The browser parses the main object.
    Parsing,
    /// Embedded objects are requested.
    Embedded,
    /// After the last page.
    Done,
}

/// A browser and its server.
pub(crate) struct WebSource {
    config: Arc<Web>,
    /// The random stream of the sizes of main objects, where these are random.
    main: Option<Box<dyn Rng + Send>>,
    /// The random streams of embedded objects, where pages may have some.
    objects: Option<Box<ObjectStreams>>,
    reading: Box<dyn Rng + Send>,
    state: PageState,
    /// The instant of the next click or request; [`Time::MAX`] without one.
    wake: Time,
    browser_connections: Box<[Connection]>,
    /// The actions that are due, and the instant at which they became due.
    acts: VecDeque<Act>,
    due: Time,
    /// Objects of the page that are still to be requested.
    left: u64,
    /// Requests whose response is not complete.
    outstanding: u64,
    clicked: Time,
    times: WebTimes,
    /// Multiplexed requests whose response is not complete, by their streams; whether the server has answered.
    streams: BTreeMap<u32, (Request, bool)>,
    opened_streams: u32,
}

/// The random streams of embedded objects.
struct ObjectStreams {
    /// The streams of their number and of their sizes, where these are random.
    count: Option<Box<dyn Rng + Send>>,
    embedded: Option<Box<dyn Rng + Send>>,
    parsing: Box<dyn Rng + Send>,
}

impl ObjectStreams {
    /// The streams from which one user's objects are drawn, if pages may have any.
    fn of(web: &Web, streams: &mut MakeUserRng) -> Option<Box<ObjectStreams>> {
        let count = web.objects.entry().constant();
        (count != Some(0)).then(|| {
            Box::new(ObjectStreams {
                count: count.is_none().then(|| streams("traffic.objects")),
                embedded: web.embedded.is_random().then(|| streams("traffic.embedded")),
                parsing: streams("traffic.parsing"),
            })
        })
    }
}

#[derive(Default)]
struct Connection {
    is_open: bool,
    /// How many of those that wait, from the oldest on, the server has answered.
    answered: u32,
    /// Requests whose response is not complete, the oldest first.
    waiting: VecDeque<Request>,
    /// Requests that arrived at the server since the connection was opened.
    received_requests: u64,
    /// Bytes of all complete responses.
    received: u64,
}

struct Request {
    asked: Time,
    /// The size of the requested object.
    object: Bytes,
}

impl Source for WebSource {
    fn connections(&self) -> u32 {
        self.config.connections
    }

    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if self.acts.is_empty() && self.wake <= now {
            self.wake = Time::MAX;
            self.handle_wake(now);
        }
        let act = self.acts.pop_front();
        if act.is_none() {
            self.acts = VecDeque::new(); // nothing for as long as the user reads
        }
        act
    }

    fn poll_timeout(&self) -> Option<Time> {
        let next = if self.acts.is_empty() { self.wake } else { self.due };
        (next != Time::MAX).then_some(next)
    }

    fn handle_delivered(&mut self, now: Time, connection: u32, end: End, bytes: u64) {
        match end {
            _ if self.config.requests == Requests::Multiplexed => {} // each stream by itself
            End::Server => self.handle_requests(now, connection, bytes),
            End::User => self.handle_objects(now, connection, bytes),
        }
    }

    fn handle_stream(&mut self, now: Time, _connection: u32, end: End, stream: u32, bytes: u64) {
        let Some((request, answered)) = self.streams.get_mut(&stream) else { return };
        match end {
            End::Server if bytes >= self.config.request.get() && !*answered => {
                *answered = true;
                self.times.request_times.push(now.since(request.asked));
                let action = Action::WriteStream { stream, bytes: request.object };
                self.acts.push_back(Act::on_first(End::Server, action));
                self.due = now;
            }
            End::User if bytes >= request.object.get() => {
                self.times.response_times.push(now.since(request.asked));
                self.streams.remove(&stream);
                self.outstanding -= 1;
                if self.outstanding == 0 {
                    self.handle_complete(now);
                }
            }
            End::Server | End::User => {}
        }
    }

    fn experience(&self, _now: Time, _lost: [u64; 2]) -> Option<Experience> {
        Some(Experience::Web(self.times.report()))
    }
}

impl WebSource {
    fn handle_wake(&mut self, now: Time) {
        match self.state {
            PageState::Closed | PageState::Reading => {
                self.state = PageState::Main;
                self.clicked = now;
                self.times.clicks += 1;
                let object = self.config.main.draw_from(self.main.as_deref_mut());
                self.send_request(now, 0, object);
            }
            PageState::Parsing => {
                self.state = PageState::Embedded;
                self.request_objects(now);
            }
            PageState::Main | PageState::Embedded | PageState::Done => unreachable!("only the network wakes who waits"),
        }
    }

    /// The server has received `bytes` of requests in total; it answers the complete ones.
    fn handle_requests(&mut self, now: Time, number: u32, bytes: u64) {
        let connection = &mut self.browser_connections[number as usize];
        let received_requests = bytes / self.config.request.get();
        for _ in connection.received_requests..received_requests {
            let request = &connection.waiting[connection.answered as usize];
            connection.answered += 1;
            self.times.request_times.push(now.since(request.asked));
            let action = Action::Write(request.object);
            self.acts.push_back(Act { connection: number, end: End::Server, action });
        }
        connection.received_requests = received_requests;
        self.due = now;
    }

    /// The user has received `bytes` of responses in total.
    fn handle_objects(&mut self, now: Time, number: u32, bytes: u64) {
        let connection = &mut self.browser_connections[number as usize];
        let outstanding = self.outstanding;
        while connection.answered > 0 && bytes >= connection.received + connection.waiting[0].object.get() {
            let request = connection.waiting.pop_front().expect("answered ones are among them");
            connection.answered -= 1;
            connection.received += request.object.get();
            self.times.response_times.push(now.since(request.asked));
            self.outstanding -= 1;
        }
        if self.outstanding == outstanding {
            return;
        }
        if self.left > 0 {
            self.request_object(now, number);
        } else if self.outstanding == 0 {
            self.handle_complete(now);
        }
    }

    /// All requested objects of the page have arrived at the user.
    fn handle_complete(&mut self, now: Time) {
        if self.state == PageState::Main
            && let Some(streams) = &mut self.objects
        {
            let law = self.config.objects.entry();
            self.left = match &mut streams.count {
                Some(rng) => law.draw(&mut **rng),
                None => law.constant().expect("a number that is drawn has a stream"),
            };
            if self.left > 0 {
                self.state = PageState::Parsing;
                let parsing = exponential(&mut *streams.parsing, self.config.parsing.as_secs_f64());
                self.wake = now + Duration::from_secs_f64(parsing);
                return;
            }
        }
        self.finish_page(now);
    }

    fn request_objects(&mut self, now: Time) {
        let connections = u64::from(self.config.connections);
        let at_once = match self.config.requests {
            Requests::Pipelined | Requests::Multiplexed => self.left,
            Requests::Sequential => self.left.min(connections),
        };
        for object in 0..at_once {
            self.request_object(now, (object % connections) as u32);
        }
    }

    fn request_object(&mut self, now: Time, number: u32) {
        self.left -= 1;
        let stream = self.objects.as_mut().and_then(|streams| streams.embedded.as_deref_mut());
        let object = self.config.embedded.draw_from(stream);
        self.send_request(now, number, object);
    }

    /// Sends a request, and opens the connection first if necessary.
    fn send_request(&mut self, now: Time, number: u32, object: Bytes) {
        let mut act = |action| self.acts.push_back(Act { connection: number, end: End::User, action });
        let connection = &mut self.browser_connections[number as usize];
        if !connection.is_open {
            connection.is_open = true;
            act(Action::Open);
        }
        if self.config.requests == Requests::Multiplexed {
            let stream = self.opened_streams;
            act(Action::WriteStream { stream, bytes: self.config.request });
            self.streams.insert(stream, (Request { asked: now, object }, false));
            self.opened_streams += 1;
        } else {
            act(Action::Write(self.config.request));
            connection.waiting.push_back(Request { asked: now, object });
        }
        self.outstanding += 1;
        self.due = now;
    }

    fn finish_page(&mut self, now: Time) {
        self.times.load_times.push(now.since(self.clicked));
        // All responses have arrived: the memory of the queues is freed while the user reads.
        self.browser_connections.iter_mut().for_each(|connection| connection.waiting = VecDeque::new());
        if self.config.pages.is_some_and(|pages| self.times.load_times.as_slice().len() as u64 >= u64::from(pages)) {
            self.state = PageState::Done;
            self.close(now);
        } else {
            self.state = PageState::Reading;
            let reading = exponential(&mut *self.reading, self.config.reading.as_secs_f64());
            self.wake = now + Duration::from_secs_f64(reading);
        }
    }

    /// Closes all open connections of the browser, the user's end first.
    fn close(&mut self, now: Time) {
        for (connection, _) in (0..).zip(&self.browser_connections).filter(|(_, connection)| connection.is_open) {
            let close = |end| Act { connection, end, action: Action::Close };
            self.acts.extend([End::User, End::Server].map(close));
        }
        self.due = now;
    }
}

#[cfg(test)]
mod tests;
