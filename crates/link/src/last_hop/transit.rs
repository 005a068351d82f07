//! Bursts and feedback in flight, in the order of their arrival.

use std::collections::VecDeque;

use units::{Duration, Time};

/// Bursts or feedback in flight. Most arrive in the order in which they were sent, but one from a closer satellite may
/// overtake.
pub(super) struct Transit<T> {
    queue: VecDeque<(Time, T)>,
    /// The next arrival; [`Time::MAX`] without a message.
    next: Time,
    /// The latest arrival so far.
    latest: Time,
}

impl<T> Transit<T> {
    pub(super) fn new() -> Transit<T> {
        Transit { queue: VecDeque::new(), next: Time::MAX, latest: Time::ZERO }
    }

    /// Adds a message with any arrival time; it comes after earlier messages with the same arrival.
    #[inline]
    pub(super) fn push(&mut self, arrival: Time, message: T) {
        if arrival >= self.latest {
            self.latest = arrival;
            self.append(arrival, message);
        } else {
            self.overtake(arrival, message);
        }
    }

    /// Adds a message that arrives after all others. Not to be mixed with [`Transit::push`].
    #[inline]
    pub(super) fn append(&mut self, arrival: Time, message: T) {
        debug_assert!(self.queue.back().is_none_or(|last| last.0 <= arrival), "a message overtakes");
        self.next = self.next.min(arrival);
        self.queue.push_back((arrival, message));
    }

    /// The next arrival; [`Time::MAX`] without a message.
    #[inline]
    pub(super) fn next_arrival(&self) -> Time {
        self.next
    }

    /// The next message that has arrived by `now`.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<&T> {
        if self.next > now {
            return None;
        }
        self.queue.front().map(|(_, message)| message)
    }

    /// Removes and returns the next message.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let first = self.queue.pop_front();
        self.find_next();
        first.map(|(_, message)| message)
    }

    /// Removes and returns the next message that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<T> {
        if self.next > now {
            return None;
        }
        self.pop()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Time, &mut T)> {
        self.queue.iter_mut().map(|(arrival, message)| (*arrival, message))
    }

    /// Removes and returns all messages, in the order of arrival: none arrives.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> {
        (self.next, self.latest) = (Time::MAX, Time::ZERO);
        self.queue.drain(..).map(|(_, message)| message)
    }

    /// Delays all messages by `by`.
    pub(super) fn put_off(&mut self, by: Duration) {
        self.queue.iter_mut().for_each(|message| message.0 += by);
        self.latest += by;
        self.find_next();
    }

    /// Lets all messages arrive by `until`.
    pub(super) fn hasten(&mut self, until: Time) {
        self.queue.iter_mut().for_each(|message| message.0 = message.0.min(until));
        self.find_next();
    }

    #[cold]
    fn overtake(&mut self, arrival: Time, message: T) {
        let index = self.queue.partition_point(|&(other, _)| other <= arrival);
        self.queue.insert(index, (arrival, message));
        self.find_next();
    }

    #[inline]
    fn find_next(&mut self) {
        self.next = self.queue.front().map_or(Time::MAX, |message| message.0);
    }
}
