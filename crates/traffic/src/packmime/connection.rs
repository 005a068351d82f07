//! One connection: requests, a server that thinks, responses.

use units::{Bytes, Duration, Time};

use crate::web::WebTimes;
use crate::{Act, Action, End, Source};

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Size of the request.
    pub(super) request: Bytes,
    /// Size of the response.
    pub(super) response: Bytes,
    /// How long the server thinks.
    pub(super) delay: Duration,
    /// From the response before to this request; zero for the first.
    pub(super) gap: Duration,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Ask,
    /// The request is under way.
    Hear,
    Answer,
    /// The server has no more to say, and closes.
    Leave,
    /// The response is under way.
    Receive,
    /// The user closes too.
    Close,
    Done,
}

/// A client and its server.
pub(super) struct HttpSource {
    /// Those to come, the last one first.
    exchanges: Vec<Exchange>,
    step: Step,
    /// When the step is taken; `None` for when something arrives.
    due: Option<Time>,
    asked: Time,
    /// Bytes that the server and the user have when what is under way is there.
    requested: u64,
    responded: u64,
    times: WebTimes,
}

impl HttpSource {
    /// A connection that is opened at `start` for at least one exchange.
    pub(super) fn new(start: Time, mut exchanges: Vec<Exchange>) -> HttpSource {
        exchanges.reverse();
        let times = WebTimes::default();
        HttpSource { exchanges, step: Step::Open, due: Some(start), asked: start, requested: 0, responded: 0, times }
    }

    fn exchange(&self) -> &Exchange {
        self.exchanges.last().expect("it is done after the last one")
    }

    fn wait(&mut self, step: Step) {
        (self.step, self.due) = (step, None);
    }
}

impl Source for HttpSource {
    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        let act = Act::on_first;
        Some(match self.step {
            Step::Open => {
                self.step = Step::Ask;
                act(End::User, Action::Open)
            }
            Step::Ask => {
                let request = self.exchange().request;
                self.asked = now;
                self.requested += request.get();
                self.wait(Step::Hear);
                act(End::User, Action::Write(request))
            }
            Step::Answer => {
                let response = self.exchange().response;
                self.responded += response.get();
                match self.exchanges.len() {
                    1 => self.step = Step::Leave,
                    _ => self.wait(Step::Receive),
                }
                act(End::Server, Action::Write(response))
            }
            Step::Leave => {
                self.wait(Step::Receive);
                act(End::Server, Action::Close)
            }
            Step::Close => {
                self.wait(Step::Done);
                act(End::User, Action::Close)
            }
            Step::Hear | Step::Receive | Step::Done => unreachable!("only the network wakes who waits"),
        })
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    fn handle_delivered(&mut self, now: Time, _connection: u32, end: End, bytes: u64) {
        match (end, self.step) {
            (End::Server, Step::Hear) if bytes >= self.requested => {
                self.times.requests.push(now.since(self.asked));
                self.step = Step::Answer;
                self.due = Some(now + self.exchange().delay);
            }
            (End::User, Step::Receive) if bytes >= self.responded => {
                self.times.responses.push(now.since(self.asked));
                self.exchanges.pop();
                (self.step, self.due) = match self.exchanges.last() {
                    Some(next) => (Step::Ask, Some(now + next.gap)),
                    None => (Step::Close, Some(now)),
                };
            }
            _ => (),
        }
    }

    fn web_times(&self) -> Option<&WebTimes> {
        Some(&self.times)
    }
}
