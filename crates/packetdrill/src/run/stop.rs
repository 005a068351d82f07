//! The reasons for which a script ends before its last event.

use crate::assertions::Problem;
use crate::host::Stuck;

/// Why a script stops early, without the line.
pub(super) enum Stop {
    Fail(String),
    Skip(String),
}

impl From<Stuck> for Stop {
    fn from(stuck: Stuck) -> Stop {
        Stop::Fail(format!("the connection wants to be woken at {} without end", stuck.0))
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        match problem {
            Problem::Wrong(message) => Stop::Fail(message),
            Problem::Unsupported(construct) => Stop::Skip(construct),
        }
    }
}

pub(super) fn fail<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(message.into()))
}

pub(super) fn skip<T>(construct: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Skip(construct.into()))
}
