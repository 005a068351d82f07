//! Chase combining: the same coded bits in each transmission, combined before decoding.
//!
//! Chase, "Code combining: a maximum-likelihood decoding approach for combining an arbitrary number of noisy packets",
//! IEEE Trans. Commun. 33(5), 1985.

use units::FieldError;

use super::codeword::{check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Hybrid ARQ type I with chase combining: the same coded bits again, whose signal-to-noise ratios add up.
    pub struct ChaseConfig {
        /// The most transmissions of a packet, the first included: 1 to 8.
        #[schemars(range(min = 1, max = 8))]
        pub transmissions: u8 = 4,
        /// Packets of one user that may be in flight between first burst and last feedback; more wait in the queue.
        #[schemars(range(min = 1))]
        pub processes: u32 = 500,
        /// Data bits for each coded bit of one transmission.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.8,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for ChaseConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 8)?;
        check_processes(self.processes)?;
        Ok(Scheme {
            codeword: self.coding().repeated(self.transmissions, true)?,
            feedback: self.feedback.resolve()?,
            window: Window::Count(self.processes),
        })
    }
}
