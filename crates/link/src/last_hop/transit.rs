//! Bursts and feedback in flight, in the order of their arrival.

use units::{Duration, Ring, Time};

/// Bursts or feedback in flight. Most arrive in the order in which they were sent, but one from a closer satellite may
/// overtake.
pub(super) struct Transit<T> {
    queue: Ring<(Time, T)>,
    /// The next arrival; [`Time::MAX`] without a message.
    next: Time,
    /// The latest arrival so far.
    latest: Time,
}

impl<T> Default for Transit<T> {
    fn default() -> Transit<T> {
        Transit { queue: Ring::default(), next: Time::MAX, latest: Time::ZERO }
    }
}

impl<T: Copy> Transit<T> {
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
        self.queue.front_ref().map(|(_, message)| message)
    }

    /// Removes the next message, of which there is one.
    #[inline]
    pub(super) fn remove_next_message(&mut self) {
        self.queue.drop_first();
        self.find_next();
    }

    /// Removes and returns the next message that has arrived by `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Time) -> Option<T> {
        if self.next > now {
            return None;
        }
        let (_, message) = self.queue.front()?;
        self.remove_next_message();
        Some(message)
    }

    /// Hands each message in the order of arrival, with its arrival, to `change`, which keeps that order.
    pub(super) fn for_each(&mut self, mut change: impl FnMut(&mut Time, &mut T)) {
        for index in 0..self.queue.len() {
            let (arrival, message) = &mut self.queue[index];
            change(arrival, message);
        }
        debug_assert!(self.queue.iter().is_sorted_by_key(|(arrival, _)| arrival), "messages keep their order");
        self.find_next();
    }

    /// Removes and returns all messages, in the order of arrival: none arrives.
    pub(super) fn take(&mut self) -> Vec<T> {
        let queue = std::mem::take(self).queue;
        queue.iter().map(|(_, message)| message).collect()
    }

    /// Delays all messages by `by`.
    pub(super) fn put_off(&mut self, by: Duration) {
        self.for_each(|arrival, _| *arrival += by);
        self.latest += by;
    }

    /// Lets all messages arrive by `until`.
    pub(super) fn hasten(&mut self, until: Time) {
        self.for_each(|arrival, _| *arrival = until.min(*arrival));
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
