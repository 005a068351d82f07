//! Incremental redundancy with transmissions that can be decoded alone.
//!
//! Kallel, "Complementary punctured convolutional (CPC) codes and their applications", IEEE Trans. Commun. 43(6), 1995;
//! with systematic bits in each transmission as in Frenger, Parkvall, Dahlman, VTC 2001.

use units::FieldError;

use super::codeword::{check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Hybrid ARQ type III: each transmission has all data bits and new parity bits, and can be decoded alone.
    pub struct SelfDecodableConfig {
        /// The most transmissions of a packet, the first included: 1 to 8.
        #[schemars(range(min = 1, max = 8))]
        pub transmissions: u8 = 4,
        /// Packets of one user that may be in flight between first burst and last feedback; more wait in the queue.
        #[schemars(range(min = 1))]
        pub processes: u32 = 500,
        /// Data bits for each coded bit of one transmission; the other bits are parity.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.8,
        /// Coded bits of a block at the mother rate; after all its parity bits were sent, the first are repeated.
        pub codeword_bits: u32 = 53_520,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for SelfDecodableConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 8)?;
        check_processes(self.processes)?;
        Ok(Scheme {
            codeword: self.coding().systematic(self.transmissions, self.codeword_bits)?,
            feedback: self.feedback.resolve()?,
            window: Window::Count(self.processes),
        })
    }
}
