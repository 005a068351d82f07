//! The interface of a user's own program, which [`crate::script`] runs: its start, its inputs and its actions.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use crate::source::{Act, Action, End};

/// The transport service of a script's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// A byte stream from the server to the user.
    #[default]
    #[serde(rename = "stream")]
    ByteStream,
    /// A byte stream in both directions, whose arrivals it sees.
    Exchange,
    /// Datagrams from the server to the user.
    Datagrams,
}

/// Makes a user's program for each user of an entry.
pub type MakeProgram = Arc<dyn Fn(&ProgramStart) -> Box<dyn Program> + Send + Sync>;

/// Finds what makes the programs of a name.
pub type FindProgram<'a> = dyn FnMut(&str) -> Option<MakeProgram> + 'a;

/// The facts for which a program is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramStart {
    /// The user's number within the entry.
    pub user: u32,
    /// When it is asked first.
    pub start: Time,
    /// The length of the run.
    pub duration: Duration,
    /// A number of the user's own random stream.
    pub entropy: u64,
}

/// A user's source.
pub trait Program: Send {
    /// The time that it asked for is there: it acts, and says when to be asked again.
    fn on_timeout(&mut self, now: Time, acts: &mut Acts) -> Option<Time>;

    /// The application at `end` of a connection has received `bytes` in order since the connection began
    /// ([`Service::Exchange`] only). `Some` moves the time of the next [`Program::on_timeout`].
    fn on_delivered(&mut self, now: Time, connection: u32, end: End, bytes: u64, acts: &mut Acts) -> Option<Time>;
}

/// The acts of a program that are due, and what it may do.
#[derive(Clone, Debug)]
pub struct Acts {
    service: Service,
    largest_datagram: u64,
    connections: Vec<Connection>,
    waiting: VecDeque<Act>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    open: bool,
    /// By end: nothing more is written.
    closed: [bool; 2],
    written: u64,
}

/// The most bytes of one connection.
pub(crate) const MOST_BYTES: u64 = 1 << 50;

impl Acts {
    /// Returns the acts of a program that has done nothing yet.
    pub fn new(service: Service, connections: u32, largest_datagram: u64) -> Acts {
        let connections = vec![Connection::default(); connections as usize];
        Acts { service, largest_datagram, connections, waiting: VecDeque::new() }
    }

    /// Returns what the source needs of its transport.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The most connections that the program may use.
    pub(crate) fn connections(&self) -> u32 {
        self.connections.len() as u32
    }

    /// Whether no act is due.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The program's next act that is due.
    pub(crate) fn pop(&mut self) -> Option<Act> {
        self.waiting.pop_front()
    }

    /// Takes an act, which is due at once.
    ///
    /// # Errors
    /// An application cannot do that: why, in a line.
    pub fn push(&mut self, act: Act) -> Result<(), String> {
        let (service, count) = (self.service, self.connections.len());
        let Some(connection) = self.connections.get_mut(act.connection as usize) else {
            return Err(format!(
                "connection {} of {count}: `connections` of the scenario says how many",
                act.connection
            ));
        };
        let end = act.end as usize;
        if act.end == End::User && service != Service::Exchange {
            return Err("the user's end acts only with service = \"exchange\"".to_owned());
        }
        match act.action {
            Action::Open if connection.open => return Err(format!("connection {} is open", act.connection)),
            Action::Open => connection.open = true,
            _ if !connection.open => return Err(format!("connection {} is not open yet", act.connection)),
            _ if connection.closed[end] => return Err(format!("connection {} is closed at this end", act.connection)),
            Action::Close => connection.closed[end] = true,
            Action::WriteStream { .. } => return Err("a script's streams are connections".to_owned()),
            Action::WriteForEver if service == Service::Datagrams => {
                return Err("datagrams have an end: write one after the other".to_owned());
            }
            Action::WriteForEver => connection.written = MOST_BYTES,
            Action::Write(bytes) => {
                let most = if service == Service::Datagrams { self.largest_datagram } else { MOST_BYTES };
                if bytes.get() == 0 || bytes.get() > most {
                    return Err(format!("{} B are not from 1 to {most} B", bytes.get()));
                }
                if connection.written >= MOST_BYTES && service != Service::Datagrams {
                    return Err(format!(
                        "connection {} writes for ever, or has written all that it can",
                        act.connection
                    ));
                }
                connection.written = (connection.written + bytes.get()).min(MOST_BYTES);
            }
        }
        self.waiting.push_back(act);
        Ok(())
    }
}
