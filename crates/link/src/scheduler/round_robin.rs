//! One packet of each user in turn.

use std::collections::VecDeque;

use units::{FieldError, Time};

use super::user_queues::{UserQueuesConfig, user_queues_config};
use super::users::{ByUser, UserQueues};
use super::{Kind, Parts, Scheduler, View};
use crate::packet::{DropReason, PacketRef};

user_queues_config! {
    /// A queue for each user; each queue with packets sends one in turn.
    pub struct RoundRobinConfig {}
}

impl Kind for RoundRobinConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        Ok(Box::new(RoundRobin::new(self.queues().build(parts)?)))
    }
}

/// See [`RoundRobinConfig`].
pub struct RoundRobin {
    queues: UserQueues,
    /// The users in the order of their turns.
    turns: VecDeque<u32>,
    /// For each user: whether it has a turn.
    listed: Vec<bool>,
}

impl RoundRobin {
    /// Serves `queues` in turn.
    pub fn new(queues: UserQueues) -> RoundRobin {
        let listed = vec![false; queues.users()];
        RoundRobin { queues, turns: VecDeque::new(), listed }
    }
}

impl ByUser for RoundRobin {
    fn queues(&self) -> &UserQueues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut UserQueues {
        &mut self.queues
    }

    fn take(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.queues.push(now, packet)?;
        if !std::mem::replace(&mut self.listed[packet.user as usize], true) {
            self.turns.push_back(packet.user);
        }
        Ok(())
    }

    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        for _ in 0..self.turns.len() {
            let user = self.turns.pop_front()?;
            let mut taken = None;
            if view.may_start(user) {
                while self.queues.front(user).is_some() && taken.is_none() {
                    taken = self.queues.pop(now, user);
                }
            }
            match self.queues.front(user) {
                Some(_) => self.turns.push_back(user),
                None => self.listed[user as usize] = false,
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    fn reset(&mut self, _now: Time) {
        self.turns.clear();
        self.listed.fill(false);
    }
}
