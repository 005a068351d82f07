//! Scheduling frame by frame: the packets with the most utility fill the next frame.
//!
//! Chaput, Verloop, Beylot, Baudoin, "Utility function based packet scheduling over DVB-S2", ICC 2013; Dupé, Chaput,
//! Baudoin, Bès, Deramecourt, Beylot, "Optimized GSE packet scheduling over DVB-S2", 2014: the next frame is filled so
//! that the sum of U'(x_f)·bits over the users in it is highest, which is the first-order gain of their utilities
//! U(x_f), x_f a user's recent service. U is alpha-fair (Mo and Walrand, IEEE/ACM Transactions on Networking 8(5),
//! 2000): U'(x) = x^-α, so that α = 0 is the highest rate, 1 proportional fairness, 2 the least delay of transfers, and
//! large α max-min fairness.
//!
//! What is simplified, and who could notice:
//! * A frame of DVB-S2 has one modulation and coding, which the papers choose with the packets. On this link each
//!   packet is coded separately, so a bit of the frame has the information of the user's own estimate, and the frame is
//!   filled in the order of U'(x_f)·r_f. The cost of a packet in a frame is that of its first transmission, as
//!   estimated: retransmissions are not planned.
//! * A packet at the end of a frame is completed in the next, whose room it reduces (as with fragmentation in GSE).
//! * A frame is an amount, not an instant: one is planned when the last is sent, and none is padded. A planned packet
//!   that has been dropped since, or whose user may not start now, is skipped.

use units::{Duration, FieldError};

use super::frames::{ByFrames, DEFAULT_FRAME, Frames, check_frame};
use super::served::{DEFAULT_WINDOW, check_window};
use super::user_queues::{UserQueuesConfig, user_queues_config};
use super::{Kind, Parts, Scheduler};
use crate::buffer::LinkFacts;

user_queues_config! {
    /// A queue for each user; fills one frame after the other with the packets of the most utility.
    pub struct BbsConfig {
        /// Coded bits of a frame.
        pub frame: u32 = DEFAULT_FRAME,
        /// The fairness of the utility: 0 the highest rate, 1 proportional fairness (log), larger values more equal
        /// users.
        pub alpha: f64 = 1.0,
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

impl Kind for BbsConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn check_options(&self, _link: &LinkFacts) -> Result<(), FieldError> {
        check_window(self.window)?;
        check_frame(self.frame, self.alpha)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        let queues = self.queues().build(parts)?;
        Ok(Box::new(ByFrames::new(queues, Frames { bits: self.frame, count: 1 }, self.alpha, self.window)))
    }
}
