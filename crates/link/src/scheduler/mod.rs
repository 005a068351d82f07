//! Schedulers: the choice of the next packet, and drops of packets that wait too long.
//!
//! A scheduler holds the packets that wait for the transmitter. A new one is a file here, a line in the registry, and
//! passes the conformance test of this crate. The queue's manager decides which packet of one queue is dropped or
//! marked: see [`crate::queue`].
//!
//! Most schedulers keep a queue for each user ([`users::UserQueues`]), and most of those serve the user with the
//! highest score ([`rule::ByRule`]): a new one of that kind is a formula.

pub mod choose;
pub mod classes;
mod deadline;
mod frames;
mod quantum;
pub mod rule;
pub mod served;
pub mod user_queues;
pub mod users;

use channel::Channel;
use choose::Choose;
use serde::Deserialize;
use serde::de::value::{Error, MapDeserializer};
use units::{FieldError, Time};

use crate::buffer::{Backlog, Limit, LinkFacts};
use crate::estimate::Estimates;
use crate::harq::Harq;
use crate::packet::{DropReason, PacketRef};
use crate::queue::Queue;
use user_queues::UserQueuesConfig;

units::registry! {
    /// The schedulers of the last hop.
    pub enum SchedulerConfig: dyn Kind {
        #[default] "droptail" => DropTail(DropTailConfig) in droptail,
        "round-robin" => RoundRobin(RoundRobinConfig) in round_robin,
        "pf" => Pf(PfConfig) in pf,
        "codes" => Codes(CodesConfig) in codes,
        "max-rate" => MaxRate(MaxRateConfig) in max_rate,
        "m-lwdf" => MLwdf(MLwdfConfig) in m_lwdf,
        "exp-pf" => ExpPf(ExpPfConfig) in exp_pf,
        "ubmt" => Ubmt(UbmtConfig) in ubmt,
        "bbs" => Bbs(BbsConfig) in bbs,
        "bps" => Bps(BpsConfig) in bps,
        "drr" => Drr(DrrConfig) in drr,
        "fq-codel" => FqCodel(FqCodelConfig) in fq_codel,
        "external" => External(ExternalConfig) in external,
    }
}

impl SchedulerConfig {
    /// The scheduler of a kind in the registry, with its defaults.
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn with_defaults(kind: &str) -> SchedulerConfig {
        let options = MapDeserializer::<_, Error>::new([("kind", kind)].into_iter());
        SchedulerConfig::deserialize(options).expect("a kind whose options all have defaults")
    }
}

/// The parts from which a scheduler is built.
pub struct Parts<'a> {
    /// The properties of the link, for sizes of queues.
    pub link: &'a LinkFacts,
    /// Makes a queue of a size, with the scenario's queue manager.
    pub queue: &'a mut dyn FnMut(Limit) -> Queue,
    /// Finds a user's scheduler by its name.
    pub choosers: &'a mut dyn FnMut(&str) -> Option<Box<dyn Choose>>,
}

/// The options of a scheduler, from which it is built.
pub trait Kind {
    /// Its queues for the users, where each has one.
    fn user_queues(&self) -> Option<UserQueuesConfig>;

    /// Checks the options that [`Kind::check`] does not know: all but those of the queues for users and the name of a
    /// user's scheduler.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check_options(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        Ok(())
    }

    /// Checks that it can be built, except for the name of a user's scheduler.
    ///
    /// # Errors
    /// If a value cannot be.
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        self.check_options(link)?;
        self.user_queues().map_or(Ok(()), |queues| queues.resolve(link).map(drop))
    }

    /// Checks the name of a user's scheduler, if it asks one: one of `registered`.
    ///
    /// # Errors
    /// No script has registered what is named.
    fn check_chooser(&self, _registered: &[String]) -> Result<(), FieldError> {
        Ok(())
    }

    /// The scheduler.
    ///
    /// # Errors
    /// As [`Kind::check`], and if no script has registered what is named.
    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError>;

    /// Whether it serves the best channel whatever the users were sent: an upper bound for the others.
    fn looks_at_channels_alone(&self) -> bool {
        false
    }

    /// Whether its queues have managers of its own, so that no other can be configured.
    fn manages_queues(&self) -> bool {
        false
    }

    /// Whether the managers of its own mark packets whose transport understands marks.
    fn marks(&self) -> bool {
        false
    }
}

/// The queue or queues before the transmitter.
///
/// Packets of one flow leave in the order in which they came, and the scheduler is work-conserving: while packets wait
/// and every user may start, [`Scheduler::select`] returns one.
pub trait Scheduler: Send {
    /// Adds a packet.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason>;

    /// Removes and returns the packet to send now; its user must be one that [`View::may_start`].
    fn select(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef>;

    /// Whether the scheduler is told by [`Scheduler::rest`]; constant.
    fn rests(&self) -> bool {
        false
    }

    /// Nothing waits, and the transmitter has been free: no turn goes on.
    fn rest(&mut self) {}

    /// Whether the scheduler may drop a packet that it has taken, after a time limit or to make room; constant.
    fn gives_up(&self) -> bool {
        false
    }

    /// A packet that was taken and dropped later; called until `None` after each call above if [`Scheduler::gives_up`].
    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        None
    }

    /// Removes all packets, those of each flow in order, and resets the scheduler: another satellite serves. Packets
    /// whose time limit is over at `now` are still dropped for that.
    fn drain(&mut self, now: Time, lost: &mut Vec<PacketRef>);

    /// The backlog.
    fn backlog(&self) -> Backlog;

    /// The size of the queue, if there is one for all packets, first in first out, that drops only what finds it full.
    fn fifo_limit(&self) -> Option<Limit> {
        None
    }

    /// Packets that its queues have marked.
    fn marked(&self) -> u64 {
        0
    }

    /// How often a user's scheduler chose no user that could be served.
    fn overruled(&self) -> u64 {
        0
    }
}

/// The state that a scheduler may read when it chooses.
pub struct View<'a> {
    now: Time,
    harq: &'a dyn Harq,
    estimates: &'a mut Estimates,
    channels: &'a mut [Box<dyn Channel>],
}

impl<'a> View<'a> {
    /// The state of the link at `now`, to which `estimates` have advanced.
    pub fn new(
        now: Time,
        harq: &'a dyn Harq,
        estimates: &'a mut Estimates,
        channels: &'a mut [Box<dyn Channel>],
    ) -> View<'a> {
        View { now, harq, estimates, channels }
    }

    /// Whether a new packet for `user` may be sent now: false while all HARQ processes that it could take are in use.
    #[inline]
    pub fn may_start(&self, user: u32) -> bool {
        self.harq.may_start(user)
    }

    /// The mutual information of a coded bit to `user`, 0 to 1, as the sender estimates it.
    #[inline]
    pub fn information(&mut self, user: u32) -> f64 {
        self.estimates.information(self.now, user, self.channels)
    }

    /// Changes whenever [`View::information`] may have changed: values that depend on it must be recomputed then.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.estimates.epoch()
    }
}
