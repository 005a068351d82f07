//! Schedulers that serve the user with the highest score.
//!
//! A [`Rule`] is a formula of the sender's state of a user: the estimate of its channel, its recent service, and the
//! waiting time of its first packet. The part that changes only when a user is served or reports is computed then and
//! kept ([`Rule::weight`]). Where that is the whole score, a tournament tree has the highest, and a choice updates the
//! nodes of one user; where the waiting time counts ([`Rule::TIMED`]), a choice is a pass over the users
//! ([`Rule::score`]).

use units::{Duration, Time};

use super::View;
use super::served::Served;
use super::users::{ByUser, UserQueues};
use crate::packet::PacketRef;

/// The sender's state of a user from which a weight is computed.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Estimated mutual information of a coded bit: more than 0, at most 1. A user's rate is proportional to it.
    pub information: f64,
    /// The recent service: bits, smoothed, times a factor that is the same for all users.
    pub served: f64,
}

/// The state of all waiting users from which scores are computed.
#[derive(Clone, Copy, Debug)]
pub struct WaitingUsers {
    /// The mean waiting time of their first packets, seconds.
    pub mean_wait_s: f64,
}

/// The score by which users are served.
pub trait Rule: Send {
    /// Whether a score changes while a packet waits. If not, [`Rule::score`] is the weight and is not called.
    const TIMED: bool = false;

    /// The part of a score that changes only with the estimate and the service; finite.
    fn weight(&self, known: Known) -> f64;

    /// The score of a user with this weight, whose first packet has waited for `waited_s` seconds; not NaN. Minus
    /// infinity or NaN where the weight is minus infinity: there is no packet.
    #[inline(always)]
    fn score(&self, weight: f64, waited_s: f64, waiting_users: &WaitingUsers) -> f64 {
        let _ = (waited_s, waiting_users);
        weight
    }
}

/// The rate of the channel over the recent service: the score of [proportional fairness](super::pf).
pub struct ProportionalFairness;

impl Rule for ProportionalFairness {
    #[inline]
    fn weight(&self, known: Known) -> f64 {
        known.information / known.served
    }
}

/// The least information in a score: a user without any information still has a score, so that it does not starve.
pub const LEAST_INFORMATION: f64 = 1e-3;

/// A queue for each user; serves the user with the highest score.
pub struct ByRule<R> {
    rule: R,
    queues: UserQueues,
    served: Served,
    /// For each user: its weight, or minus infinity without packets.
    weights: Tournament,
    /// For each leaf of the tournament: when the user's first packet arrived, in seconds.
    since_s: Vec<f64>,
    /// The sum of the first packets' arrival times in nanoseconds modulo 2^64, and their number.
    since_sum: u64,
    waiting: u32,
    /// For each user: the arrival time of its first packet in the sum.
    since: Vec<Time>,
    /// The epoch of the estimates in the weights; `None` if all weights must be recomputed.
    epoch: Option<u64>,
}

impl<R: Rule> ByRule<R> {
    /// Serves `queues` by `rule`, with the service smoothed over `window`.
    pub fn new(rule: R, queues: UserQueues, window: Duration) -> ByRule<R> {
        let users = queues.users();
        let weights = Tournament::new(users);
        ByRule {
            rule,
            queues: queues.tracking_changes(),
            served: Served::new(users, window),
            since_s: vec![0.0; weights.leaves().len()],
            weights,
            since_sum: 0,
            waiting: 0,
            since: vec![Time::ZERO; users],
            epoch: None,
        }
    }

    /// Updates the users whose first packet or channel has changed.
    #[inline]
    fn refresh(&mut self, view: &mut View<'_>) {
        self.note_changed(view);
        if self.epoch != Some(view.epoch()) {
            self.epoch = Some(view.epoch());
            for user in 0..self.since.len() as u32 {
                if self.waits(user) {
                    let weight = self.weight(user, view);
                    self.weights.leaves_mut()[user as usize] = weight;
                }
            }
            if !R::TIMED {
                self.weights.replay_all();
            }
        }
    }

    #[inline]
    fn note_changed(&mut self, view: &mut View<'_>) {
        while let Some(user) = self.queues.poll_changed() {
            self.note(user, view);
        }
    }

    fn note(&mut self, user: u32, view: &mut View<'_>) {
        let index = user as usize;
        if self.waits(user) {
            self.waiting -= 1;
            self.since_sum = self.since_sum.wrapping_sub(self.since[index].as_nanos());
        }
        let mut weight = f64::NEG_INFINITY;
        if let Some((_, since)) = self.queues.front(user) {
            self.waiting += 1;
            self.since_sum = self.since_sum.wrapping_add(since.as_nanos());
            (self.since[index], self.since_s[index]) = (since, since.as_secs_f64());
            weight = self.weight(user, view);
        }
        self.weights.leaves_mut()[index] = weight;
        if !R::TIMED {
            self.weights.replay(index);
        }
    }

    fn waits(&self, user: u32) -> bool {
        self.weights.leaves()[user as usize] > f64::NEG_INFINITY
    }

    fn weight(&self, user: u32, view: &mut View<'_>) -> f64 {
        let information = view.information(user).max(LEAST_INFORMATION);
        self.rule.weight(Known { information, served: self.served.of(user) })
    }

    /// The user with the highest score of those that may start; the first of equals.
    #[inline]
    fn best(&self, now: Time, view: &View<'_>) -> Option<u32> {
        let best = if R::TIMED { self.best_timed(now) } else { self.weights.winner() };
        let best = best? as u32;
        if view.may_start(best) { Some(best) } else { self.best_permitted(now, view) }
    }

    #[inline]
    fn waiting_users(&self, now: Time) -> WaitingUsers {
        // The sum of the waiting times is far below 2^64 ns, whatever the sum of the instants is.
        let waited = now.as_nanos().wrapping_mul(u64::from(self.waiting)).wrapping_sub(self.since_sum);
        WaitingUsers { mean_wait_s: waited as f64 * 1e-9 / f64::from(self.waiting.max(1)) }
    }

    /// The highest score: first of each block of users, then in the block with the highest.
    #[inline]
    fn best_timed(&self, now: Time) -> Option<usize> {
        const BLOCK: usize = Tournament::LEAST;
        let (now_s, waiting_users) = (now.as_secs_f64(), self.waiting_users(now));
        let score = |weight: f64, since_s: f64| self.rule.score(weight, now_s - since_s, &waiting_users);
        let (weights, since) = (self.weights.leaves().as_chunks::<BLOCK>().0, self.since_s.as_chunks::<BLOCK>().0);
        let (mut best, mut best_block) = (f64::NEG_INFINITY, 0);
        for (number, (weights, since)) in weights.iter().zip(since).enumerate() {
            let highest = highest(weights, since, score);
            if highest > best {
                (best, best_block) = (highest, number);
            }
        }
        if best == f64::NEG_INFINITY {
            return None;
        }
        let mut block = weights[best_block].iter().zip(&since[best_block]);
        let index = block.position(|(&weight, &since)| score(weight, since) == best)?;
        Some(best_block * BLOCK + index)
    }

    /// The same, with a check whether each user may start: mostly none may then.
    #[cold]
    fn best_permitted(&self, now: Time, view: &View<'_>) -> Option<u32> {
        let (now_s, waiting_users) = (now.as_secs_f64(), self.waiting_users(now));
        let mut best = (f64::NEG_INFINITY, None);
        for user in (0..self.since.len() as u32).filter(|&user| self.waits(user) && view.may_start(user)) {
            let index = user as usize;
            let score = self.rule.score(self.weights.leaves()[index], now_s - self.since_s[index], &waiting_users);
            if score > best.0 {
                best = (score, Some(user));
            }
        }
        best.1
    }
}

impl<R: Rule> ByUser for ByRule<R> {
    fn queues(&self) -> &UserQueues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut UserQueues {
        &mut self.queues
    }

    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        self.refresh(view);
        loop {
            let user = self.best(now, view)?;
            if let Some(packet) = self.queues.pop(now, user) {
                if self.served.add(now, user, f64::from(packet.size) * 8.0) {
                    self.epoch = None;
                }
                return Some(packet);
            }
            self.note_changed(view);
        }
    }

    fn reset(&mut self, now: Time) {
        self.served.reset(now);
        self.epoch = None;
    }
}

/// The highest score of a block.
#[inline(always)]
fn highest(
    weights: &[f64; Tournament::LEAST],
    since: &[f64; Tournament::LEAST],
    score: impl Fn(f64, f64) -> f64,
) -> f64 {
    const LANES: usize = 8;
    let higher = |a: f64, b: f64| if b > a { b } else { a };
    // In lanes that the compiler processes at once, because otherwise each comparison waits for the one before. All
    // lengths are constants.
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for (weights, since) in weights.as_chunks::<LANES>().0.iter().zip(since.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            lanes[lane] = higher(lanes[lane], score(weights[lane], since[lane]));
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = higher(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// A tournament: a complete binary tree over the users, in which each node has the higher weight of its two children.
struct Tournament {
    /// The children of each node side by side, those of node i at index i, the users last. The root is node 1, the
    /// right child at index 0.
    pairs: Vec<[f64; 2]>,
}

impl Tournament {
    /// The fewest leaves: a block of a pass over them.
    const LEAST: usize = 32;

    fn new(users: usize) -> Tournament {
        let leaves = users.next_power_of_two().max(Tournament::LEAST);
        Tournament { pairs: vec![[f64::NEG_INFINITY; 2]; leaves] }
    }

    #[inline]
    fn leaves(&self) -> &[f64] {
        self.pairs[self.pairs.len() / 2..].as_flattened()
    }

    /// The leaves, whose changes take effect after an update of all nodes.
    #[inline]
    fn leaves_mut(&mut self) -> &mut [f64] {
        let half = self.pairs.len() / 2;
        self.pairs[half..].as_flattened_mut()
    }

    /// Updates the nodes above a leaf that has changed, up to the first that keeps its weight.
    #[inline]
    fn replay(&mut self, leaf: usize) {
        let mut node = (self.pairs.len() + leaf) / 2;
        while node > 0 && self.play(node) {
            node /= 2;
        }
    }

    fn replay_all(&mut self) {
        for node in (1..self.pairs.len()).rev() {
            self.play(node);
        }
    }

    /// Whether the weight of a node has changed.
    #[inline]
    fn play(&mut self, node: usize) -> bool {
        let [left, right] = self.pairs[node];
        let higher = if right > left { right } else { left };
        std::mem::replace(&mut self.pairs[node / 2][node % 2], higher) != higher
    }

    /// The leaf with the highest weight, the first of equals; `None` if all are minus infinity.
    #[inline]
    fn winner(&self) -> Option<usize> {
        if self.pairs[0][1] == f64::NEG_INFINITY {
            return None;
        }
        let mut node = 1;
        while let Some([left, right]) = self.pairs.get(node) {
            node = 2 * node + usize::from(right > left);
        }
        Some(node - self.pairs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_finds_the_first_of_the_highest() {
        for users in [1, 7, 31, 33, 500] {
            let mut tournament = Tournament::new(users);
            assert_eq!(tournament.winner(), None);
            let mut weights = vec![f64::NEG_INFINITY; users];
            let mut state = 1u64;
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (user, weight) = ((state >> 33) as usize % users, ((state >> 50) % 20) as f64);
                let weight = if weight < 4.0 { f64::NEG_INFINITY } else { weight };
                (weights[user], tournament.leaves_mut()[user]) = (weight, weight);
                tournament.replay(user);
                let highest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let first = weights.iter().position(|&weight| weight == highest);
                assert_eq!(tournament.winner(), first.filter(|_| highest > f64::NEG_INFINITY));
            }
        }
    }
}
