//! Scheduling by periods: the next frames are planned together and then sent.
//!
//! The criterion is that of [frame by frame](super::bbs) (Dupé et al., ICC 2014, name the variant without its details):
//! here a schedule covers a period, and each of its frames is filled as if those before it had been sent. Within a
//! period the schedule ignores new packets and changes of the channels, which is the cost of planning rarely.
//!
//! What is simplified: as there. The service does not decay within a period, so a period should be short against the
//! window.

use units::{Duration, FieldError};

use super::frames::{ByFrames, DEFAULT_FRAME, Frames, check_frame};
use super::served::{DEFAULT_WINDOW, check_window};
use super::user_queues::{UserQueuesConfig, user_queues_config};
use super::{Kind, Parts, Scheduler};
use crate::buffer::LinkFacts;

user_queues_config! {
    /// A queue for each user; plans the frames of a period for the most utility, and then sends them.
    pub struct BpsConfig {
        /// Coded bits of a frame.
        pub frame: u32 = DEFAULT_FRAME,
        /// The length of the frames that are planned at once, at the rate of the link: rounded up to whole frames, at
        /// most 10 000 of them and 10 s.
        pub period: Duration = Duration::from_millis(10),
        /// The fairness of the utility: 0 the highest rate, 1 proportional fairness (log), larger values more equal
        /// users.
        pub alpha: f64 = 1.0,
        /// The time over which the service is averaged: it divides the past by e.
        pub window: Duration = DEFAULT_WINDOW,
    }
}

/// A longer schedule would outlast the state of channels and queues, and take long to compute.
const MOST_FRAMES: u32 = 10_000;

impl BpsConfig {
    fn frames(&self, link: &LinkFacts) -> Frames {
        let bits = self.period.as_secs_f64() * link.rate.as_bps() as f64;
        Frames { bits: self.frame, count: (bits / f64::from(self.frame)).ceil().max(1.0) as u32 } // at most 2^32 - 1
    }
}

impl Kind for BpsConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn check_options(&self, link: &LinkFacts) -> Result<(), FieldError> {
        check_window(self.window)?;
        check_frame(self.frame, self.alpha)?;
        if self.period > Duration::from_secs(10) {
            return Err(FieldError::new("period", format!("{} given, at most 10 s allowed", self.period)));
        }
        let frames = self.frames(link).count;
        if frames > MOST_FRAMES {
            let given = format!("{} given, which are {frames} frames of {} coded bits", self.period, self.frame);
            let rate = link.rate;
            return Err(FieldError::new("period", format!("{given} at {rate}, at most {MOST_FRAMES} frames allowed")));
        }
        Ok(())
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        let queues = self.queues().build(parts)?;
        Ok(Box::new(ByFrames::new(queues, self.frames(parts.link), self.alpha, self.window)))
    }
}
