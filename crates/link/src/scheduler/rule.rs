//! Schedulers that serve the user with the highest score.
//!
//! A [`Rule`] is a formula of the sender's state of a user: the estimate of its channel, its recent service, and the
//! waiting time of its first packet. The part that changes only when a user is served or reports is computed then and
//! kept ([`Rule::weight`]). Where that is the whole score, the highest of each block of users is kept, and that of each
//! block of blocks; where the waiting time counts ([`Rule::TIMED`]), a choice is a pass over the users
//! ([`Rule::score`]).

use units::{Duration, Time, higher};

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

/// Makes a configuration a scheduler by a rule. It has a `window`, `queues()`, and `rule()`, which makes the rule or
/// refuses an option.
macro_rules! by_rule {
    ($config:ty) => {
        impl $crate::scheduler::Kind for $config {
            fn user_queues(&self) -> Option<$crate::scheduler::user_queues::UserQueuesConfig> {
                Some(self.queues())
            }

            fn check_options(&self, _link: &$crate::buffer::LinkFacts) -> Result<(), units::FieldError> {
                $crate::scheduler::served::check_window(self.window)?;
                self.rule().map(drop)
            }

            fn build(
                &self,
                parts: &mut $crate::scheduler::Parts<'_>,
            ) -> Result<Box<dyn $crate::scheduler::Scheduler>, units::FieldError> {
                self.check(parts.link)?;
                let queues = self.queues().build(parts)?;
                Ok(Box::new($crate::scheduler::rule::ByRule::new(self.rule()?, queues, self.window)))
            }
        }
    };
}
pub(super) use by_rule;

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

/// The number of users whose scores are computed at once.
const AT_ONCE: usize = 32;

/// A queue for each user; serves the user with the highest score.
pub struct ByRule<R> {
    rule: R,
    queues: UserQueues,
    served: Served,
    weights: Weights,
    /// When first packets arrived; only where the waiting time counts.
    arrivals: Arrivals,
    /// The epoch of the estimates in the weights; `None` if all weights must be recomputed.
    epoch: Option<u64>,
}

impl<R: Rule> ByRule<R> {
    /// Serves `queues` by `rule`, with the service smoothed over `window`.
    pub fn new(rule: R, queues: UserQueues, window: Duration) -> ByRule<R> {
        let users = queues.users();
        ByRule {
            rule,
            queues: queues.tracking_changes(),
            served: Served::new(users, window),
            weights: Weights::new(users),
            arrivals: Arrivals::new(if R::TIMED { users } else { 0 }),
            epoch: None,
        }
    }

    /// Updates the users whose first packet or channel has changed.
    #[inline]
    fn refresh(&mut self, view: &mut View<'_>) {
        self.note_changed(view);
        if self.epoch != Some(view.epoch()) {
            self.epoch = Some(view.epoch());
            let ByRule { rule, served, weights, .. } = self;
            weights.renew(|user| weight(rule, served, user, view));
            if !R::TIMED {
                self.weights.update_all();
            }
        }
    }

    #[inline]
    fn note_changed(&mut self, view: &mut View<'_>) {
        while let Some(user) = self.queues.poll_changed() {
            self.note(user, view);
        }
    }

    #[inline(always)]
    fn note(&mut self, user: u32, view: &mut View<'_>) {
        let since = self.queues.front(user).map(|(_, since)| since);
        let waits = since.is_some();
        let weight = if waits { weight(&self.rule, &self.served, user, view) } else { f64::NEG_INFINITY };
        self.weights.note(user, weight);
        if R::TIMED {
            self.arrivals.note(user, since);
        } else {
            self.weights.update_blocks_of(user);
        }
    }

    /// The user with the highest score of those that may start; the first of equals.
    #[inline]
    fn best(&self, now: Time, view: &View<'_>) -> Option<u32> {
        let best = if R::TIMED { self.best_timed(now) } else { self.weights.first() };
        let best = best?;
        if view.may_start(best) { Some(best) } else { self.best_permitted(now, view) }
    }

    /// The highest score: first of each group of users, then in the group with the highest.
    #[inline]
    fn best_timed(&self, now: Time) -> Option<u32> {
        let (now_s, waiting_users) = (now.as_secs_f64(), self.arrivals.waiting_users(now));
        let score = |weight: f64, since_s: f64| self.rule.score(weight, now_s - since_s, &waiting_users);
        let weights = self.weights.of_users().as_chunks::<AT_ONCE>().0;
        let since = self.arrivals.seconds.as_chunks::<AT_ONCE>().0;
        let (mut best, mut best_group) = (f64::NEG_INFINITY, 0);
        for (number, (weights, since)) in weights.iter().zip(since).enumerate() {
            let highest = highest(weights, |place, weight| score(weight, since[place]));
            if highest > best {
                (best, best_group) = (highest, number);
            }
        }
        if best == f64::NEG_INFINITY {
            return None;
        }
        let mut group = weights[best_group].iter().zip(&since[best_group]);
        let index = group.position(|(&weight, &since)| score(weight, since) == best)?;
        Some((best_group * AT_ONCE + index) as u32)
    }

    /// The same, with a check whether each user may start: mostly none may then.
    #[cold]
    fn best_permitted(&self, now: Time, view: &View<'_>) -> Option<u32> {
        let (now_s, waiting_users) = (now.as_secs_f64(), self.arrivals.waiting_users(now));
        let mut best = (f64::NEG_INFINITY, None);
        for user in 0..self.queues.users() as u32 {
            let weight = self.weights.of(user);
            if weight > f64::NEG_INFINITY && view.may_start(user) {
                let waited = |user| now_s - self.arrivals.seconds_of(user);
                let score = if R::TIMED { self.rule.score(weight, waited(user), &waiting_users) } else { weight };
                if score > best.0 {
                    best = (score, Some(user));
                }
            }
        }
        best.1
    }
}

#[inline(always)]
fn weight(rule: &impl Rule, served: &Served, user: u32, view: &mut View<'_>) -> f64 {
    let information = higher(LEAST_INFORMATION, view.information(user));
    rule.weight(Known { information, served: served.of(user) })
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

/// The highest score of those side by side, each by its place and its weight.
#[inline(always)]
fn highest<const COUNT: usize>(weights: &[f64; COUNT], score: impl Fn(usize, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    // In lanes that the compiler processes at once, because otherwise each comparison waits for the one before. All
    // lengths are constants.
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for first in (0..COUNT).step_by(LANES) {
        for lane in 0..LANES {
            lanes[lane] = higher(lanes[lane], score(first + lane, weights[first + lane]));
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

/// The weights of the users, in blocks that are the leaves of a tree: a block above others has the highest of each.
struct Weights {
    /// From the root on, level by level; minus infinity without packets and where there is no user. The blocks below
    /// block `b` are numbers `BLOCK * b + 1` and following. Only where weights are scores, those above users are kept.
    blocks: Vec<[f64; Weights::BLOCK]>,
    /// The number of the first block of users.
    leaves: usize,
}

impl Weights {
    /// The number of weights in a block.
    const BLOCK: usize = 16;

    fn new(users: usize) -> Weights {
        let of_users = users.next_multiple_of(AT_ONCE) / Weights::BLOCK;
        let (mut leaves, mut level) = (0, 1);
        while level < of_users {
            leaves += level;
            level *= Weights::BLOCK;
        }
        Weights { blocks: vec![[f64::NEG_INFINITY; Weights::BLOCK]; leaves + of_users], leaves }
    }

    #[inline]
    fn of_users(&self) -> &[f64] {
        self.blocks[self.leaves..].as_flattened()
    }

    #[inline]
    fn of(&self, user: u32) -> f64 {
        self.of_users()[user as usize]
    }

    /// Another weight of a user, which counts in [`Weights::first`] after an update.
    #[inline]
    fn note(&mut self, user: u32, weight: f64) {
        self.blocks[self.leaves + user as usize / Weights::BLOCK][user as usize % Weights::BLOCK] = weight;
    }

    /// Replaces the weight of each user with a packet by `weight` of it.
    #[inline(always)]
    fn renew(&mut self, mut weight: impl FnMut(u32) -> f64) {
        for (user, kept) in self.blocks[self.leaves..].as_flattened_mut().iter_mut().enumerate() {
            if *kept > f64::NEG_INFINITY {
                *kept = weight(user as u32);
            }
        }
    }

    /// Updates the blocks above a user, up to the first that keeps its highest weight.
    #[inline(always)]
    fn update_blocks_of(&mut self, user: u32) {
        let mut block = self.leaves + user as usize / Weights::BLOCK;
        while block > 0 && self.update_above(block) {
            block = (block - 1) / Weights::BLOCK;
        }
    }

    fn update_all(&mut self) {
        for block in (1..self.blocks.len()).rev() {
            self.update_above(block);
        }
    }

    /// Updates the highest weight of a block in the one above it. Returns whether that changed it.
    #[inline(always)]
    fn update_above(&mut self, block: usize) -> bool {
        let highest = highest(&self.blocks[block], |_, weight| weight);
        let kept = &mut self.blocks[(block - 1) / Weights::BLOCK][(block - 1) % Weights::BLOCK];
        std::mem::replace(kept, highest) != highest
    }

    /// The user with the highest weight, the first of equals; `None` if all are minus infinity.
    #[inline(always)]
    fn first(&self) -> Option<u32> {
        let best = highest(&self.blocks[0], |_, weight| weight);
        if best == f64::NEG_INFINITY {
            return None;
        }
        let mut block = 0;
        loop {
            let place = self.blocks[block].iter().position(|&weight| weight >= best)?;
            if block >= self.leaves {
                return Some(((block - self.leaves) * Weights::BLOCK + place) as u32);
            }
            block = Weights::BLOCK * block + 1 + place;
        }
    }
}

/// When the first packets of users arrived.
struct Arrivals {
    /// For each user: the instant in seconds, without a packet any; as many as weights.
    seconds: Vec<f64>,
    /// For each user: the arrival of its first packet, without a packet `None`.
    of_users: Vec<Option<Time>>,
    /// The sum of the instants in nanoseconds modulo 2^64, and their number.
    sum: u64,
    waiting: u32,
}

impl Arrivals {
    fn new(users: usize) -> Arrivals {
        let seconds = vec![0.0; users.next_multiple_of(AT_ONCE)];
        Arrivals { seconds, of_users: vec![None; users], sum: 0, waiting: 0 }
    }

    /// The first packet of a user arrived `since` then; `None` without one.
    #[inline]
    fn note(&mut self, user: u32, since: Option<Time>) {
        if let Some(before) = std::mem::replace(&mut self.of_users[user as usize], since) {
            self.waiting -= 1;
            self.sum = self.sum.wrapping_sub(before.as_nanos());
        }
        if let Some(since) = since {
            self.waiting += 1;
            self.sum = self.sum.wrapping_add(since.as_nanos());
            self.seconds[user as usize] = since.as_secs_f64();
        }
    }

    #[inline]
    fn seconds_of(&self, user: u32) -> f64 {
        self.seconds[user as usize]
    }

    #[inline]
    fn waiting_users(&self, now: Time) -> WaitingUsers {
        // The sum of the waiting times is far below 2^64 ns, whatever the sum of the instants is.
        let waited = now.as_nanos().wrapping_mul(u64::from(self.waiting)).wrapping_sub(self.sum);
        WaitingUsers { mean_wait_s: waited as f64 * 1e-9 / f64::from(self.waiting.max(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_highest_is_found() {
        for users in [1, 7, 31, 33, 255, 257, 500, 5000] {
            let mut kept = Weights::new(users);
            assert_eq!(kept.first(), None);
            let mut weights = vec![f64::NEG_INFINITY; users];
            let mut state = 1u64;
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (user, weight) = ((state >> 33) as usize % users, ((state >> 50) % 20) as f64);
                let weight = if weight < 4.0 { f64::NEG_INFINITY } else { weight };
                weights[user] = weight;
                kept.note(user as u32, weight);
                kept.update_blocks_of(user as u32);
                let highest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let first = weights.iter().position(|&weight| weight == highest);
                assert_eq!(kept.first(), first.filter(|_| highest > f64::NEG_INFINITY).map(|user| user as u32));
            }
        }
    }
}
