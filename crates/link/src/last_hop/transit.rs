//! What is under way, in the order in which it arrives.

use std::collections::VecDeque;

use units::{Duration, Time};

/// Messages on their way. Most arrive in the order in which they were sent, but one from a closer satellite may overtake.
pub(super) struct Transit<T> {
    queue: VecDeque<(Time, T)>,
    /// The latest arrival so far.
    latest: Time,
}

impl<T> Transit<T> {
    pub(super) fn new() -> Transit<T> {
        Transit { queue: VecDeque::new(), latest: Time::ZERO }
    }

    /// Arrives at any time, and after what arrives at the same instant and was sent before.
    #[inline]
    pub(super) fn push(&mut self, arrival: Time, message: T) {
        if arrival >= self.latest {
            self.latest = arrival;
            self.append(arrival, message);
        } else {
            self.overtake(arrival, message);
        }
    }

    /// Arrives after all others. Where [`Transit::push`] is used, nothing else is.
    #[inline]
    pub(super) fn append(&mut self, arrival: Time, message: T) {
        debug_assert!(self.queue.back().is_none_or(|last| last.0 <= arrival), "a message overtakes");
        self.queue.push_back((arrival, message));
    }

    /// When the next arrives; [`Time::MAX`] if nothing is under way.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.queue.front().map_or(Time::MAX, |message| message.0)
    }

    /// The next that has arrived by `now`.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<&T> {
        self.queue.front().filter(|message| message.0 <= now).map(|(_, message)| message)
    }

    /// The next is worked off.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Takes the next that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<T> {
        if self.next() > now {
            return None;
        }
        self.queue.pop_front().map(|(_, message)| message)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Time, &mut T)> {
        self.queue.iter_mut().map(|(arrival, message)| (*arrival, message))
    }

    /// Nothing of it will arrive: what it was, in the order of arrival.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> {
        self.latest = Time::ZERO;
        self.queue.drain(..).map(|(_, message)| message)
    }

    /// All of it arrives so much later.
    pub(super) fn put_off(&mut self, by: Duration) {
        self.queue.iter_mut().for_each(|message| message.0 += by);
        self.latest += by;
    }

    /// All of it has arrived by then.
    pub(super) fn hasten(&mut self, until: Time) {
        self.queue.iter_mut().for_each(|message| message.0 = message.0.min(until));
    }

    #[cold]
    fn overtake(&mut self, arrival: Time, message: T) {
        let place = self.queue.partition_point(|&(other, _)| other <= arrival);
        self.queue.insert(place, (arrival, message));
    }
}
