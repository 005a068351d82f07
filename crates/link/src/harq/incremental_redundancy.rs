//! Incremental redundancy in transmissions of equal size.
//!
//! The coded bits form a circular buffer, read from where the last transmission ended (rate matching as in TS 36.212
//! section 5.1.4.1): after it wraps, bits are repeated and combined. [`super::adaptive`] is the same with sizes planned
//! from the channel's law.
//!
//! What is simplified: only information counts, so that parity bits alone decode as a good code of their rate would. A
//! study of self-decodable repetitions after lost first transmissions would notice.

use units::FieldError;

use super::codeword::{check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Hybrid ARQ type II: each transmission carries the same number of new coded bits, until the mutual information
    /// suffices.
    pub struct IncrementalRedundancyConfig {
        /// The most transmissions of a packet, the first included: 1 to 8.
        #[schemars(range(min = 1, max = 8))]
        pub transmissions: u8 = 4,
        /// Packets of one user that may be in flight between first burst and last feedback; more wait in the queue.
        #[schemars(range(min = 1))]
        pub processes: u32 = 500,
        /// Data bits for each coded bit of one transmission; all transmissions have the same size.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.8,
        /// Coded bits of a block at the mother rate; after all were sent, the first are repeated.
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
