//! Incremental redundancy in transmissions of equal size.
//!
//! The coded bits form a circular buffer, read on from where the last transmission ended (rate matching as in TS 36.212
//! section 5.1.4.1): when it has come round, bits are repeated and combined. [`super::adaptive`] is the same in sizes planned
//! from the channel's law.
//!
//! What is simplified: only information counts, so that parity bits alone decode as a good code of their rate would. Who
//! studies what self-decodable repetitions gain where first transmissions are lost would notice.

use units::FieldError;

use super::codeword::{check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Hybrid ARQ type II: each transmission brings new coded bits, equally many, until the mutual information is enough.
    pub struct IncrementalRedundancyConfig {
        /// Transmissions of a packet at most, the first included: 1 to 8.
        #[schemars(range(min = 1, max = 8))]
        pub transmissions: u8 = 4,
        /// Packets of one user that may be under way between first burst and last answer; more wait in the queue.
        #[schemars(range(min = 1))]
        pub processes: u32 = 500,
        /// Data bits for each coded bit of one transmission; all are of one size.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.8,
        /// Coded bits of a block at the mother rate; when all were sent, the first come again.
        pub codeword_bits: u32 = 53_520,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for IncrementalRedundancyConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 8)?;
        check_processes(self.processes)?;
        let start = |transmission: u8, bits: u32| u64::from(transmission) * u64::from(bits);
        Ok(Scheme {
            codeword: self.coding().circular(self.transmissions, self.codeword_bits, start)?,
            feedback: self.feedback.resolve()?,
            window: Window::Count(self.processes),
        })
    }
}
