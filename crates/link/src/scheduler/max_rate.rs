//! Maximum rate: always the best channel, without fairness.
//!
//! It is an upper bound of the capacity of the users' channels under any scheduler (Tauran's thesis, equation 6.2 and
//! figure 6.3).

use units::FieldError;

use super::rule::{ByRule, Known, Rule};
use super::served::DEFAULT_WINDOW;
use super::user_queues::{UserQueuesConfig, user_queues_config};
use super::{Kind, Parts, Scheduler};

user_queues_config! {
    /// A queue for each user; serves the best channel, and among nearly equal channels the user with the least recent
    /// service.
    pub struct MaxRateConfig {}
}

impl Kind for MaxRateConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        Some(self.queues())
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        Ok(Box::new(ByRule::new(MaximumRate, self.queues().build(parts)?, DEFAULT_WINDOW)))
    }

    fn looks_at_channels_alone(&self) -> bool {
        true
    }
}

/// The rate of the channel, in steps of a hundredth: from some signal-to-noise ratio on QPSK has nearly its full
/// information, and smaller differences have no meaning.
pub struct MaximumRate;

impl Rule for MaximumRate {
    #[inline]
    fn weight(&self, known: Known) -> f64 {
        // The second term is less than a step and falls with the service: it only decides between equals.
        (known.information * 100.0).round() + 0.4 / (1.0 + libm::log1p(known.served))
    }
}
