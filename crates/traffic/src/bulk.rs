//! A long transfer: unlimited, or of a given size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use crate::{Act, Action, End, Kind, MakeRng, Needs, Source, UserSource, of_each_user};

/// One transfer from the server, endless or of a given size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bulk {
    /// When the transfer starts, from the start of the run.
    pub start: Duration,
    /// The size; without it, the transfer lasts until the end of the run.
    pub size: Option<Bytes>,
}

impl Kind for Bulk {
    fn check(&self) -> Result<(), FieldError> {
        match self.size.is_some_and(|size| size.get() == 0) {
            true => Err(FieldError::new("size", "0 B was given: must be at least 1 B")),
            false => Ok(()),
        }
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, _| [self.source(offset)])
    }

    fn needs(&self) -> Needs {
        Needs::ByteStream
    }
}

impl Bulk {
    fn source(&self, offset: Duration) -> BulkSource {
        BulkSource::new(Time::ZERO + self.start + offset, self.size)
    }
}

/// One transfer from a given instant on.
pub(crate) struct BulkSource {
    start: Time,
    /// `None`: unlimited.
    size: Option<Bytes>,
    step: BulkStep,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BulkStep {
    Open,
    Write,
    Close,
    Done,
}

impl BulkSource {
    pub(crate) fn new(start: Time, size: Option<Bytes>) -> BulkSource {
        BulkSource { start, size, step: BulkStep::Open }
    }
}

impl Source for BulkSource {
    fn size(&self) -> Option<Bytes> {
        self.size
    }

    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if now < self.start {
            return None;
        }
        let (action, next) = match (self.step, self.size) {
            (BulkStep::Open, _) => (Action::Open, BulkStep::Write),
            (BulkStep::Write, Some(size)) => (Action::Write(size), BulkStep::Close),
            (BulkStep::Write, None) => (Action::WriteForEver, BulkStep::Done),
            (BulkStep::Close, _) => (Action::Close, BulkStep::Done),
            (BulkStep::Done, _) => return None,
        };
        self.step = next;
        Some(Act::on_first(End::Server, action))
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.step != BulkStep::Done).then_some(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(bulk: &Bulk) -> Vec<Action> {
        let mut source = bulk.source(Duration::ZERO);
        std::iter::from_fn(|| source.poll_action(Time::MAX).map(|act| act.action)).collect()
    }

    #[test]
    fn a_sized_transfer_closes_and_an_endless_one_does_not() {
        let sized = Bulk { size: Some(Bytes::new(30_000)), ..Bulk::default() };
        assert_eq!(actions(&sized), [Action::Open, Action::Write(Bytes::new(30_000)), Action::Close]);
        assert_eq!(actions(&Bulk::default()), [Action::Open, Action::WriteForEver]);
        assert_eq!([&sized, &Bulk::default()].map(|bulk| bulk.source(Duration::ZERO).size()), [sized.size, None]);
    }

    #[test]
    fn a_transfer_of_nothing_is_refused() {
        let sized = |size| Bulk { size: Some(Bytes::new(size)), ..Bulk::default() };
        assert_eq!(sized(0).check().unwrap_err().to_string(), "size: 0 B was given: must be at least 1 B");
        assert_eq!(sized(1).check(), Ok(()));
    }

    #[test]
    fn starts_when_it_says() {
        let source = Bulk { start: Duration::from_secs(3), size: None }.source(Duration::from_secs(2));
        assert_eq!(source.poll_timeout(), Some(Time::ZERO + Duration::from_secs(5)));
    }
}
