//! The options of a kind of traffic, and the sources that are built from them.

use rand::Rng;
use units::{Duration, FieldError};

use crate::program::FindProgram;
use crate::source::{Needs, Source};
use crate::voice::listener::Listener;

/// The options of a kind of traffic, from which its applications are built.
pub trait Kind {
    /// Whether the values make sense, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns what to check before results are trusted, beginning with the field; nothing where all is usual.
    fn warning(&self) -> Option<String> {
        None
    }

    /// The applications of the users of an entry; user k starts `offsets[k]` later. Ordered by user, except where the
    /// entry has arrivals in common. Nothing arrives once `duration`, the length of the run, is over; a longer run has
    /// the applications of a shorter one among its own. `streams` hands out random streams, and is asked once for each
    /// purpose and user. [`Kind::check`] has passed.
    fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource>;

    /// Returns the number of flows (connections) that an entry of so many users is expected to have in a run of
    /// `duration`.
    fn expected_flows(&self, users: u32, _duration: Duration) -> f64 {
        f64::from(users)
    }

    /// The listener at the user's end, for voice.
    fn listener(&self) -> Option<Listener> {
        None
    }

    /// Returns what sources of this kind need of their transport.
    fn needs(&self) -> Needs;

    /// Whether the code that it names, if any, is among what scripts have registered.
    ///
    /// # Errors
    /// Nobody has registered it.
    fn check_registered(&self, _registered: &[String]) -> Result<(), FieldError> {
        Ok(())
    }

    /// Takes what makes the applications of the code that it names, if any: to be called before [`Kind::build`].
    ///
    /// # Errors
    /// `find` knows none.
    fn supply(&mut self, _find: &mut FindProgram<'_>) -> Result<(), FieldError> {
        Ok(())
    }
}

/// The applications of users who have nothing in common: `sources` makes those of one who starts `offset` later.
pub(crate) fn of_each_user<S: Source + 'static, I: IntoIterator<Item = S>>(
    offsets: &[Duration],
    streams: &mut MakeRng,
    mut sources: impl FnMut(Duration, &mut MakeUserRng) -> I,
) -> Vec<UserSource> {
    let mut applications = Vec::with_capacity(offsets.len());
    for (user, &offset) in (0..).zip(offsets) {
        let sources = sources(offset, &mut |purpose| streams(purpose, user));
        applications.extend(sources.into_iter().map(|source| UserSource { user, source: Box::new(source) }));
    }
    applications
}

/// A source and its user.
pub struct UserSource {
    /// The user's number within the entry.
    pub user: u32,
    /// The source.
    pub source: Box<dyn Source>,
}

/// Makes the random generator of a purpose for a user of the entry (by number).
pub type MakeRng<'a> = dyn FnMut(&'static str, u32) -> Box<dyn Rng + Send> + 'a;

/// Makes the random generator of a purpose for one user.
pub(crate) type MakeUserRng<'a> = dyn FnMut(&'static str) -> Box<dyn Rng + Send> + 'a;
