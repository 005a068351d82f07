//! The options of the last hop, and what can be known before it is built.

use channel::LawRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, FieldError, OrOrbit, OrPath};

use crate::buffer::{Limit, LinkFacts};
use crate::estimate::EstimateConfig;
use crate::harq::HarqConfig;
use crate::queue::QueueConfig;
use crate::reordering::ReorderingConfig;
use crate::scheduler::SchedulerConfig;
use crate::scheduler::classes::ClassConfig;
use crate::segmentation::SegmentationConfig;

/// The last hop: a shared downlink from one satellite to its users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastHopConfig {
    /// Coded bits that the transmitter sends in a second. With "path" it is the rate that the path has at each instant:
    /// of a trace, or of a model.
    pub rate: OrPath<BitRate>,
    /// The mean of the path's rate, where the rate follows it: the caller, which knows the path, fills it in.
    #[serde(skip)]
    pub path_rate: Option<BitRate>,
    /// Propagation from the satellite to a user, one way; feedback takes the same time back, unless the scheme has a
    /// delay of its own. With "orbit" it follows the range of the serving satellite.
    pub delay: OrOrbit<Duration>,
    /// The choice of the user whose packet is sent next.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// The choice of packets that are marked or dropped before a queue is full.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Classes of service in the order of priority: each has queues and a scheduler of its own, and is served when the
    /// classes before it have nothing to send. Packets without a class come last, under the scheduler above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassConfig>,
    /// The sender's estimates of the users' channels.
    #[serde(default)]
    pub estimate: EstimateConfig,
    /// The reliability scheme against a bad channel.
    #[serde(default)]
    pub harq: HarqConfig,
    /// Cutting of packets that are longer than a block of the reliability scheme; without it they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segmentation: Option<SegmentationConfig>,
    /// The buffer that restores the order of packets after retransmissions.
    #[serde(default)]
    pub reordering: ReorderingConfig,
}

impl LastHopConfig {
    /// Checks that [`LastHop::new`] accepts this, for so many users and flows with this round-trip time without
    /// queueing.
    ///
    /// # Errors
    /// A value that cannot be: the error's key is that below the last hop, such as `harq.targets`.
    pub fn check(&self, base_rtt: Duration, users: usize) -> Result<(), FieldError> {
        let link = self.facts(base_rtt, users);
        self.scheduler.entry().check(&link).map_err(|error| error.within("scheduler"))?;
        self.queue.entry().check(&link).map_err(|error| error.within("queue"))?;
        check_managers(&self.scheduler, &self.queue)?;
        for (i, class) in self.classes.iter().enumerate() {
            let section = format!("classes.{i}");
            if self.classes[..i].iter().any(|other| other.name == class.name) {
                let reason = format!("\"{}\" is the name of a class before it", class.name);
                return Err(FieldError::new("name", reason).within(&section));
            }
            class.scheduler.entry().check(&link).map_err(|error| error.within("scheduler").within(&section))?;
            class.queue.entry().check(&link).map_err(|error| error.within("queue").within(&section))?;
            check_managers(&class.scheduler, &class.queue).map_err(|error| error.within(&section))?;
        }
        self.estimate.check().map_err(|error| error.within("estimate"))?;
        self.harq.entry().check().map_err(|error| error.within("harq"))?;
        if self.segmentation.is_some() && self.reordering.is_flow_blind() {
            let reason = "\"flow-blind\" given, but fragments have no numbers: with segmentation give \"link\"";
            return Err(FieldError::new("reordering.numbering", reason));
        }
        let block = self.harq.entry().max_packet_bytes();
        self.segmentation.as_ref().map_or(Ok(()), |segmentation| segmentation.check(block, self.harq.kind()))
    }

    /// Checks the names of scripts' schedulers, of which there are those `registered`.
    ///
    /// # Errors
    /// Nobody has registered what is named; the error's key is that below the last hop.
    pub fn check_choosers(&self, registered: &[String]) -> Result<(), FieldError> {
        let check = |scheduler: &SchedulerConfig| {
            scheduler.entry().check_chooser(registered).map_err(|error| error.within("scheduler"))
        };
        check(&self.scheduler)?;
        let of_class = |(i, class): (usize, &ClassConfig)| {
            check(&class.scheduler).map_err(|error| error.within(&format!("classes.{i}")))
        };
        self.classes.iter().enumerate().try_for_each(of_class)
    }

    /// The rate, or the mean of the path's; 1 bit/s where the path is not known.
    pub fn mean_rate(&self) -> BitRate {
        self.rate.given().or(self.path_rate).unwrap_or(BitRate::from_bps(1))
    }

    /// The properties from which sizes of buffers are computed.
    pub fn facts(&self, base_rtt: Duration, users: usize) -> LinkFacts {
        LinkFacts { rate: self.mean_rate(), base_rtt, users }
    }

    /// The size of one user's queue for packets of a class, by its place; those without a class come after all. `None`
    /// where users share a queue.
    pub fn user_queue(&self, class: u32, base_rtt: Duration, users: usize) -> Option<Limit> {
        let scheduler = self.classes.get(class as usize).map_or(&self.scheduler, |class| &class.scheduler);
        scheduler.entry().user_queues()?.resolve(&self.facts(base_rtt, users)).ok()
    }

    /// Whether packets of a class, by its place as in [`LastHopConfig::user_queue`], are marked if they can be.
    pub fn marks(&self, class: u32) -> bool {
        let (scheduler, queue) = match self.classes.get(class as usize) {
            Some(class) => (&class.scheduler, &class.queue),
            None => (&self.scheduler, &self.queue),
        };
        scheduler.entry().marks() || queue.entry().marks()
    }

    /// The law of the channel that [`LastHop::new`] needs, over a link with a delay of `typical`; `None` if it needs
    /// none.
    pub fn law_request(&self, typical: Duration) -> Option<LawRequest> {
        self.harq.entry().law_request(self.feedback_rtt(typical))
    }

    /// The time from the end of a burst until the sender has the feedback and may begin the next burst of the same
    /// packet, over a link with a delay of `typical`: that of the configuration, or [`Propagation::mean`] where it
    /// follows the orbit.
    pub fn feedback_rtt(&self, typical: Duration) -> Duration {
        typical + self.harq.entry().feedback_delay().unwrap_or(typical)
    }

    /// The largest packet that the last hop can carry; `None` without a limit. Offering a larger one is a bug of the
    /// caller.
    pub fn max_packet_bytes(&self) -> Option<u32> {
        if self.segmentation.is_some() { None } else { self.harq.entry().max_packet_bytes() }
    }

    /// The information that an ideal code needs to decode a packet, in bits, with all fragments: see
    /// [`crate::harq::Kind::information_bits`].
    pub fn information_bits(&self, packet_bytes: u32) -> f64 {
        let harq = self.harq.entry();
        match (&self.segmentation, harq.max_packet_bytes()) {
            (Some(segmentation), Some(block)) => {
                segmentation.fragments(packet_bytes, block).map(|size| harq.information_bits(size)).sum()
            }
            _ => harq.information_bits(packet_bytes),
        }
    }
}

/// Refuses a queue manager for a scheduler that has its own.
fn check_managers(scheduler: &SchedulerConfig, queue: &QueueConfig) -> Result<(), FieldError> {
    if !scheduler.entry().manages_queues() || *queue == QueueConfig::default() {
        return Ok(());
    }
    let reason = format!(
        "\"{}\" given, but the scheduler {} brings a manager for each of its queues: leave this out",
        queue.kind(),
        scheduler.kind()
    );
    Err(FieldError::new("queue", reason))
}
