//! The last hop: one satellite's downlink, shared by its users.
//!
//! A packet passes, in this order, a [`queue`] (where it may be marked or dropped) and its [`scheduler`] (which chooses
//! the next user), the serial transmitter, a reliability scheme ([`harq`]) over each user's [`channel`], and the
//! [`reordering`] buffer of the user's terminal. [`LastHop`] is the machine that joins them. It reads no clock, knows
//! no transport protocol, and numbers packets itself.
//!
//! What is simplified, and who could notice:
//! * A burst meets one value of the channel, that of the instant when its first bit leaves. Bursts last a fraction of a
//!   millisecond; a study of fading faster than that would notice.
//! * The delay to all users is the same: users at the edge of a wide beam would notice.
//! * One satellite serves all users, and all are handed over at once.
//! * Feedback and channel reports cost no capacity.

mod buffer;
pub mod estimate;
pub mod harq;
mod last_hop;
mod packet;
mod propagation;
pub mod queue;
pub mod reordering;
mod report;
pub mod scheduler;
pub mod segmentation;

pub use buffer::{Backlog, Buffer, Limit, LinkFacts};
pub use estimate::{EstimateConfig, Estimates};
pub use harq::{Harq, HarqConfig};
pub use last_hop::{LastHop, LastHopConfig, Transfer};
pub use packet::{DropReason, Dropped, FlowNumbers, Output, PacketRef};
pub use propagation::Propagation;
pub use queue::{Queue, QueueConfig, QueueManager};
pub use reordering::{Numbering, ReorderingConfig};
pub use report::{HarqReport, LastHopReport, ReorderingReport};
pub use scheduler::choose::{Choose, QueueState};
pub use scheduler::{Scheduler, SchedulerConfig};
pub use segmentation::SegmentationConfig;
pub use units::Ecn;
