//! What chance decides in a scheme: each user has a random stream, so what one draws moves no draw of another.

use rand::Rng;
use units::chance::unit_interval;

/// Makes the random stream of a user.
pub type UserStreams = Box<dyn Fn(u64) -> Box<dyn Rng + Send> + Send>;

/// See the module. A stream is made with the user's first draw.
pub(super) struct Chance {
    streams: UserStreams,
    users: Vec<Option<Box<dyn Rng + Send>>>,
}

impl Chance {
    pub fn new(streams: UserStreams) -> Chance {
        Chance { streams, users: Vec::new() }
    }

    /// A number from the unit interval, from the stream of `user`.
    #[inline]
    pub fn draw(&mut self, user: u32) -> f64 {
        let index = user as usize;
        if index >= self.users.len() {
            self.users.resize_with(index + 1, || None);
        }
        let stream = self.users[index].get_or_insert_with(|| (self.streams)(user.into()));
        unit_interval(stream.next_u64())
    }
}
