//! Maximum rate: always the best channel, whoever starves.
//!
//! It bounds what any scheduler can get out of the users' channels (Tauran's thesis, equation 6.2 and figure 6.3).

use units::FieldError;

use super::pf::DEFAULT_WINDOW;
use super::rule::{ByRule, Known, Rule};
use super::users::user_queues_config;
use super::{Kind, Parts, Scheduler};
use crate::buffer::LinkFacts;

user_queues_config! {
    /// A queue for each user; serves the best channel, and of channels about as good the one served least lately.
    pub struct MaxRateConfig {}
}

impl Kind for MaxRateConfig {
    fn check(&self, link: &LinkFacts) -> Result<(), FieldError> {
        self.queues().resolve(link).map(drop)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        Ok(Box::new(ByRule::new(MaximumRate, self.queues().build(parts)?, DEFAULT_WINDOW)))
    }
}

/// The rate of the channel, in steps of a hundredth: QPSK brings all that it can from some signal-to-noise ratio on, and
/// differences beyond it mean nothing.
pub struct MaximumRate;

impl Rule for MaximumRate {
    #[inline]
    fn weight(&self, known: Known) -> f64 {
        // The second term is less than a step, and the smaller the more was served: it only decides between equals.
        (known.information * 100.0).round() + 0.4 / (1.0 + libm::log1p(known.served))
    }
}
