//! Deficit round robin: in turn, and fair in bytes.
//!
//! Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", IEEE/ACM Transactions on Networking
//! 4(3), 1996, figure 3: each turn adds the quantum to the bytes that a user may send; it keeps the rest for its next
//! turn, unless its queue is empty. While a user may not start it is skipped, and its turn adds nothing. A user that
//! may no longer start within its turn keeps at most the bytes of its first packet: so after each turn its deficit is
//! at most a largest packet (lemma 1 of the paper), on which the fairness bound rests, and waiting for HARQ earns no
//! credit.

use std::collections::VecDeque;

use units::{Bytes, FieldError, Time};

use super::quantum::{DEFAULT_QUANTUM, check_quantum};
use super::user_queues::{UserQueuesConfig, user_queues_config};
use super::users::{ByUser, UserQueues};
use super::{Kind, Parts, Scheduler, View};
use crate::buffer::LinkFacts;
use crate::packet::{DropReason, PacketRef};

user_queues_config! {
    /// A queue for each user; each queue with packets sends the same number of bytes in turn.
    pub struct DrrConfig {
        /// The bytes that a user may send in a turn. A choice takes few steps only if most packets are no larger.
        pub quantum: Bytes = DEFAULT_QUANTUM,
    }
}

impl Kind for DrrConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn check_options(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        check_quantum(self.quantum)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        Ok(Box::new(DeficitRoundRobin::new(self.queues().build(parts)?, self.quantum)))
    }
}

/// See [`DrrConfig`].
pub struct DeficitRoundRobin {
    queues: UserQueues,
    quantum: u64,
    /// The users in the order of their turns; the first may be in its turn.
    turns: VecDeque<u32>,
    /// Whether the first has its quantum.
    has_quantum: bool,
    /// For each user: whether it has a turn.
    listed: Vec<bool>,
    /// For each user: the bytes that it may send.
    deficits: Vec<u64>,
}

impl DeficitRoundRobin {
    /// Serves `queues` in turn, `quantum` bytes each.
    pub fn new(queues: UserQueues, quantum: Bytes) -> DeficitRoundRobin {
        let users = queues.users();
        DeficitRoundRobin {
            queues,
            quantum: quantum.get(),
            turns: VecDeque::new(),
            has_quantum: false,
            listed: vec![false; users],
            deficits: vec![0; users],
        }
    }

    /// The packet that the user may send in its turn now: `None` ends the turn.
    fn serve(&mut self, now: Time, user: u32) -> Option<PacketRef> {
        if !std::mem::replace(&mut self.has_quantum, true) {
            self.deficits[user as usize] += self.quantum;
        }
        while let Some((first, _)) = self.queues.front(user) {
            if u64::from(first.size) > self.deficits[user as usize] {
                return None;
            }
            if let Some(packet) = self.queues.pop(now, user) {
                self.deficits[user as usize] -= u64::from(packet.size);
                return Some(packet);
            }
        }
        None
    }

    fn end_turn(&mut self, user: u32) {
        let has_quantum = std::mem::replace(&mut self.has_quantum, false);
        self.turns.pop_front();
        let deficit = &mut self.deficits[user as usize];
        if let Some((first, _)) = self.queues.front(user) {
            if has_quantum {
                *deficit = (*deficit).min(u64::from(first.size));
            }
            self.turns.push_back(user);
        } else {
            self.listed[user as usize] = false;
            *deficit = 0;
        }
    }
}

impl ByUser for DeficitRoundRobin {
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
        // The search ends after a round in which no user may start.
        let mut idle = 0;
        while idle < self.turns.len() {
            let user = *self.turns.front()?;
            let may_start = view.may_start(user);
            let taken = if may_start { self.serve(now, user) } else { None };
            if taken.is_none() || self.queues.front(user).is_none() {
                self.end_turn(user);
            }
            if taken.is_some() {
                return taken;
            }
            idle = if may_start { 0 } else { idle + 1 };
        }
        None
    }

    fn reset(&mut self, _now: Time) {
        self.turns.clear();
        self.has_quantum = false;
        self.listed.fill(false);
        self.deficits.fill(0);
    }
}
