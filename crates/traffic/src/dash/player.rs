//! A player's clock: media in its buffer, and how the time since the opening was spent. Whole nanoseconds throughout.

use units::{Duration, Time};

/// A player that has a buffer of media; what happens between two calls follows from the time between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Player {
    now: Time,
    state: PlayerState,
    /// Media of the video that has arrived and was not played.
    buffer: Duration,
    /// Play-out begins, and goes on after a stall, with this much media.
    startup: Duration,
    resume: Duration,
    /// Nothing comes after what has arrived.
    is_complete: bool,
    waited: Duration,
    played: Duration,
    stalled: Duration,
    stalls: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlayerState {
    /// Before the first picture.
    Waiting,
    Playing,
    Stalled,
    /// After the last picture.
    Ended,
}

impl Player {
    /// A player at `now` that begins to play with `startup` of media, and after a stall with `resume`.
    pub(crate) fn new(now: Time, startup: Duration, resume: Duration) -> Player {
        let none = Duration::ZERO;
        Player {
            now,
            state: PlayerState::Waiting,
            buffer: none,
            startup,
            resume,
            is_complete: false,
            waited: none,
            played: none,
            stalled: none,
            stalls: 0,
        }
    }

    /// Lets time pass until `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        let span = now.since(self.now);
        self.now = now;
        match self.state {
            PlayerState::Waiting => self.waited += span,
            PlayerState::Stalled => self.stalled += span,
            PlayerState::Ended => {}
            PlayerState::Playing => {
                let played = span.min(self.buffer);
                self.buffer = self.buffer.saturating_sub(played);
                self.played += played;
                if self.is_complete && self.buffer.is_zero() {
                    self.state = PlayerState::Ended;
                } else if span > played {
                    self.state = PlayerState::Stalled;
                    self.stalls += 1;
                    self.stalled += span.saturating_sub(played);
                }
            }
        }
    }

    /// Returns the player as it is at `now` if nothing arrives until then.
    pub(crate) fn at(&self, now: Time) -> Player {
        let mut later = *self;
        later.advance(now);
        later
    }

    /// Media of this length arrive at `now`.
    pub(crate) fn add(&mut self, now: Time, media: Duration) {
        self.advance(now);
        self.buffer += media;
        let least = match self.state {
            PlayerState::Waiting => self.startup,
            PlayerState::Stalled => self.resume,
            PlayerState::Playing | PlayerState::Ended => return,
        };
        if self.buffer >= least {
            self.state = PlayerState::Playing;
        }
    }

    /// The last segment has arrived: the player plays what there is.
    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
        if matches!(self.state, PlayerState::Waiting | PlayerState::Stalled) {
            self.state = PlayerState::Playing;
        }
    }

    /// Media that has arrived and was not played.
    pub(crate) fn buffer(&self) -> Duration {
        self.buffer
    }

    /// Media that was played.
    pub(crate) fn played(&self) -> Duration {
        self.played
    }

    /// Time before the first picture.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// Time in stalls.
    pub(crate) fn stalled(&self) -> Duration {
        self.stalled
    }

    /// Returns how often the video stalled.
    pub(crate) fn stalls(&self) -> u64 {
        self.stalls
    }

    pub(crate) fn has_started(&self) -> bool {
        self.state != PlayerState::Waiting
    }

    pub(crate) fn is_playing(&self) -> bool {
        self.state == PlayerState::Playing
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(at: u64) -> Time {
        Time::ZERO + ms(at)
    }

    #[test]
    fn a_stall_by_hand() {
        let mut player = Player::new(at(0), ms(4_000), ms(2_000));
        player.add(at(500), ms(2_000));
        assert!(!player.has_started());
        player.add(at(1_500), ms(2_000));
        assert!(player.is_playing());
        // 4 s of media from 1.5 s on: dry at 5.5 s, until 7 s.
        assert_eq!((player.at(at(5_500)).stalls(), player.at(at(5_501)).stalls()), (0, 1));
        player.add(at(7_000), ms(2_000));
        player.complete();
        let end = player.at(at(20_000));
        assert_eq!((end.waited(), end.played(), end.stalled(), end.stalls()), (ms(1_500), ms(6_000), ms(1_500), 1));
        assert!(!end.is_playing() && end.buffer().is_zero(), "the end is no stall");
    }

    #[test]
    fn what_comes_at_the_last_moment_is_in_time() {
        let mut player = Player::new(at(0), ms(1_000), ms(1_000));
        (0..5).for_each(|second| player.add(at(1_000 * second), ms(1_000)));
        assert_eq!((player.stalls(), player.at(at(5_000)).stalls(), player.at(at(5_001)).stalls()), (0, 0, 1));
    }

    proptest! {
        /// Every moment is spent once, and no more is played than has arrived.
        #[test]
        fn the_time_since_the_opening_is_accounted_for(
            arrivals in proptest::collection::vec((0u64..9_000, 1u64..5_000), 1..60),
            startup in 0u64..10_000, resume in 0u64..10_000, ends in any::<bool>(), rest in 0u64..20_000)
        {
            let mut player = Player::new(at(0), ms(startup), ms(resume));
            let (mut now, mut media) = (0, 0);
            for (wait, length) in arrivals {
                now += wait;
                media += length;
                player.add(at(now), ms(length));
                prop_assert_eq!(player.played() + player.buffer(), ms(media));
            }
            if ends {
                player.complete();
            }
            let end = player.at(at(now + rest));
            prop_assert_eq!(end.played() + end.buffer(), ms(media));
            let spent = end.waited() + end.played() + end.stalled();
            if end.buffer().is_zero() && ends {
                prop_assert!(spent <= ms(now + rest));
            } else {
                prop_assert_eq!(spent, ms(now + rest));
            }
        }
    }
}
