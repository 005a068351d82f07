//! One connection: requests, delays at the server, responses.

use units::{Bytes, Duration, Time};

use crate::web::WebTimes;
use crate::{Act, Action, End, Experience, Source};

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Size of the request.
    pub(super) request: Bytes,
    /// Size of the response.
    pub(super) response: Bytes,
    /// The server's delay between request and response.
    pub(super) delay: Duration,
    /// From the response before to this request; zero for the first.
    pub(super) gap: Duration,
}

/// The next event of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionStep {
    Open,
    SendRequest,
    /// The request arrives at the server.
    AwaitRequest,
    SendResponse,
    /// The server has sent its last response, and closes.
    CloseServer,
    /// The response arrives at the user.
    AwaitResponse,
    /// The user closes the connection.
    CloseUser,
    Done,
}

/// A client and its server, on one connection.
pub(super) struct HttpSource {
    /// The remaining exchanges, the last one first.
    exchanges: Vec<Exchange>,
    step: ConnectionStep,
    /// The instant of the step; `None` if it waits for a delivery.
    due: Option<Time>,
    asked: Time,
    /// The bytes that server and user have received once the message in flight is complete.
    requested: u64,
    responded: u64,
    times: WebTimes,
}

impl HttpSource {
    /// A connection that is opened at `start` for at least one exchange.
    pub(super) fn new(start: Time, mut exchanges: Vec<Exchange>) -> HttpSource {
        exchanges.reverse();
        let times = WebTimes::default();
        HttpSource {
            exchanges,
            step: ConnectionStep::Open,
            due: Some(start),
            asked: start,
            requested: 0,
            responded: 0,
            times,
        }
    }

    fn exchange(&self) -> &Exchange {
        self.exchanges.last().expect("it is done after the last one")
    }

    fn wait(&mut self, step: ConnectionStep) {
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
            ConnectionStep::Open => {
                self.step = ConnectionStep::SendRequest;
                act(End::User, Action::Open)
            }
            ConnectionStep::SendRequest => {
                let request = self.exchange().request;
                self.asked = now;
                self.requested += request.get();
                self.wait(ConnectionStep::AwaitRequest);
                act(End::User, Action::Write(request))
            }
            ConnectionStep::SendResponse => {
                let response = self.exchange().response;
                self.responded += response.get();
                match self.exchanges.len() {
                    1 => self.step = ConnectionStep::CloseServer,
                    _ => self.wait(ConnectionStep::AwaitResponse),
                }
                act(End::Server, Action::Write(response))
            }
            ConnectionStep::CloseServer => {
                self.wait(ConnectionStep::AwaitResponse);
                act(End::Server, Action::Close)
            }
            ConnectionStep::CloseUser => {
                self.wait(ConnectionStep::Done);
                act(End::User, Action::Close)
            }
            ConnectionStep::AwaitRequest | ConnectionStep::AwaitResponse | ConnectionStep::Done => {
                unreachable!("a step that waits for a delivery has no timeout")
            }
        })
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    fn handle_delivered(&mut self, now: Time, _connection: u32, end: End, bytes: u64) {
        match (end, self.step) {
            (End::Server, ConnectionStep::AwaitRequest) if bytes >= self.requested => {
                self.times.request_times.push(now.since(self.asked));
                self.step = ConnectionStep::SendResponse;
                self.due = Some(now + self.exchange().delay);
            }
            (End::User, ConnectionStep::AwaitResponse) if bytes >= self.responded => {
                self.times.response_times.push(now.since(self.asked));
                self.exchanges.pop();
                (self.step, self.due) = match self.exchanges.last() {
                    Some(next) => (ConnectionStep::SendRequest, Some(now + next.gap)),
                    None => (ConnectionStep::CloseUser, Some(now)),
                };
            }
            _ => (),
        }
    }

    fn experience(&self, _now: Time, _lost: [u64; 2]) -> Option<Experience> {
        Some(Experience::Web(self.times.report()))
    }
}
