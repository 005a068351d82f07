//! A scheduler that calls a user's code: a script, or code outside of this crate.
//!
//! It keeps the queues and their rules (order within a queue, work conservation), and calls a [`Choose`] for the choice
//! of the user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time, plugin};

use super::choose::{Choose, QueueState};
use super::served::{DEFAULT_WINDOW, Served};
use super::user_queues::{DEFAULT_BUFFER, UserQueuesConfig};
use super::users::{ByUser, UserQueues};
use super::{Kind, Parts, Scheduler, SchedulerConfig, View};
use crate::buffer::{Backlog, Buffer, LinkFacts};
use crate::packet::PacketRef;

/// A queue for each user; a script chooses the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalConfig {
    /// The name under which the script has registered its scheduler.
    pub name: String,
    /// Size of all queues together, of which each of the n users has an equal part: packets, bytes, time at the rate of
    /// the link, or bandwidth-delay products.
    pub buffer: Buffer,
    /// The waiting time after which a packet is dropped; by default unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
}

impl Default for ExternalConfig {
    fn default() -> ExternalConfig {
        ExternalConfig { name: String::new(), buffer: DEFAULT_BUFFER, limit: None }
    }
}

impl SchedulerConfig {
    /// A scheduler that asks the code registered under `name`.
    pub fn asking(name: &str) -> SchedulerConfig {
        ExternalConfig { name: name.to_owned(), ..ExternalConfig::default() }.into()
    }
}

impl ExternalConfig {
    fn queues(&self) -> UserQueuesConfig {
        UserQueuesConfig { buffer: self.buffer, limit: self.limit }
    }
}

impl Kind for ExternalConfig {
    fn check_chooser(&self, registered: &[String]) -> Result<(), FieldError> {
        plugin::check_registered("scheduler", &self.name, registered)
    }

    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn check_options(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        plugin::check_given("scheduler", &self.name)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        let chooser = (parts.choosers)(&self.name).ok_or_else(|| plugin::unknown("scheduler", &self.name, &[]))?;
        Ok(Box::new(External::new(chooser, self.queues().build(parts)?)))
    }
}

/// See [`ExternalConfig`].
pub struct External {
    chooser: Box<dyn Choose>,
    queues: UserQueues,
    served: Served,
    overruled: u64,
    /// Working memory for the states.
    states: Vec<QueueState>,
}

impl External {
    /// Serves `queues` by the choices of `chooser`.
    pub fn new(chooser: Box<dyn Choose>, queues: UserQueues) -> External {
        let served = Served::new(queues.users(), DEFAULT_WINDOW);
        External { chooser, queues, served, overruled: 0, states: Vec::new() }
    }

    fn look(&mut self, now: Time, view: &mut View<'_>) {
        self.states.clear();
        for user in 0..self.queues.users() as u32 {
            let Some((first, since)) = self.queues.front(user) else { continue };
            if view.may_start(user) {
                let Backlog { packets, bytes } = self.queues.backlog_of(user);
                self.states.push(QueueState {
                    user,
                    packets,
                    bytes,
                    head_wait: now.since(since),
                    head_size: first.size,
                    information: view.information(user),
                    served_bps: self.served.bps(now, user),
                });
            }
        }
    }
}

impl ByUser for External {
    fn queues(&self) -> &UserQueues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut UserQueues {
        &mut self.queues
    }

    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        loop {
            self.look(now, view);
            let first = self.states.first()?.user;
            let choice = self.chooser.choose(now, &self.states);
            let listed = |user: &u32| self.states.binary_search_by_key(user, |state| state.user).is_ok();
            let user = choice.filter(listed).unwrap_or_else(|| {
                self.overruled += 1;
                first
            });
            if let Some(packet) = self.queues.pop(now, user) {
                self.served.add(now, user, f64::from(packet.size) * 8.0);
                return Some(packet);
            }
        }
    }

    fn reset(&mut self, now: Time) {
        self.served.reset(now);
    }

    fn overruled_choices(&self) -> u64 {
        self.overruled
    }
}
