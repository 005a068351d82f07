//! A long transfer: as much as the transport takes, or a given size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Time};

use crate::{Action, Source};

/// One long transfer, endless or of a given size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bulk {
    /// When the transfer starts, from the start of the run.
    pub start: Duration,
    /// How much is sent; without it, as much as the transport takes until the end of the run.
    pub size: Option<Bytes>,
}

impl Bulk {
    pub(crate) fn build(&self, offset: Duration) -> BulkSource {
        let last = if self.size.is_some() { Action::Close } else { Action::WriteForEver };
        let write = self.size.map(Action::Write);
        BulkSource {
            start: Time::ZERO + self.start + offset,
            actions: [Some(Action::Open), write, Some(last)],
            next: 0,
        }
    }
}

pub(crate) struct BulkSource {
    start: Time,
    actions: [Option<Action>; 3],
    next: usize,
}

impl Source for BulkSource {
    fn poll_action(&mut self, now: Time) -> Option<Action> {
        if now < self.start {
            return None;
        }
        let action = self.actions[self.next..].iter().position(Option::is_some)? + self.next;
        self.next = action + 1;
        self.actions[action]
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.next < self.actions.len()).then_some(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(bulk: &Bulk) -> Vec<Action> {
        let mut source = bulk.build(Duration::ZERO);
        std::iter::from_fn(|| source.poll_action(Time::MAX)).collect()
    }

    #[test]
    fn a_sized_transfer_closes_and_an_endless_one_does_not() {
        let sized = Bulk { size: Some(Bytes::new(30_000)), ..Bulk::default() };
        assert_eq!(actions(&sized), [Action::Open, Action::Write(Bytes::new(30_000)), Action::Close]);
        assert_eq!(actions(&Bulk::default()), [Action::Open, Action::WriteForEver]);
    }

    #[test]
    fn starts_when_it_says() {
        let source = Bulk { start: Duration::from_secs(3), size: None }.build(Duration::from_secs(2));
        assert_eq!(source.poll_timeout(), Some(Time::ZERO + Duration::from_secs(5)));
    }
}
