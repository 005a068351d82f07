//! Incremental redundancy in transmissions of equal size.
//!
//! The coded bits form a circular buffer, read on from where the last transmission ended (rate matching as in TS 36.212
//! section 5.1.4.1): when it has come round, bits are repeated and combined. [`super::adaptive`] is the same in sizes planned
//! from the channel's law.
//!
//! What is simplified: only information counts, so that parity bits alone decode as a good code of their rate would. Who
//! studies what self-decodable repetitions gain where first transmissions are lost would notice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::codeword::{FixedRate, check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::plan::Threshold;
use super::processes::{Scheme, SchemeConfig, Window};

/// Hybrid ARQ type II: each transmission brings new coded bits, equally many, until the mutual information is enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IncrementalRedundancyConfig {
    /// Transmissions of a packet at most, the first included: 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub transmissions: u8,
    /// Packets of one user that may be under way between first burst and last answer; more wait in the queue.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// Data bits for each coded bit of one transmission; all are of one size.
    #[schemars(range(min = 0.015625, max = 1.0))]
    pub code_rate: f64,
    /// Data of a code block; a packet must fit in one.
    pub block: Bytes,
    /// Coded bits of a block at the mother rate; when all were sent, the first come again.
    pub codeword_bits: u32,
    /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code at the rate
    /// reached so far, or a number.
    pub threshold: Threshold,
    /// Whether a packet shorter than the block is padded to it; if not, its coded bits are in proportion.
    pub padding: bool,
    /// What answers meet on their way.
    pub feedback: FeedbackConfig,
}

impl Default for IncrementalRedundancyConfig {
    fn default() -> IncrementalRedundancyConfig {
        IncrementalRedundancyConfig {
            transmissions: 4,
            processes: 500,
            code_rate: 0.8,
            block: Bytes::new(1115),
            codeword_bits: 53_520,
            threshold: Threshold::Code,
            padding: true,
            feedback: FeedbackConfig::default(),
        }
    }
}

impl SchemeConfig for IncrementalRedundancyConfig {
    fn resolve(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 8)?;
        check_processes(self.processes)?;
        let &IncrementalRedundancyConfig { block, code_rate, threshold, padding, .. } = self;
        let coding = FixedRate { block, code_rate, threshold, padding };
        let start = |transmission: u8, bits: u32| u64::from(transmission) * u64::from(bits);
        Ok(Scheme {
            codeword: coding.circular(self.transmissions, self.codeword_bits, start)?,
            feedback: self.feedback.resolve()?,
            window: Window::Count(self.processes),
        })
    }

    fn block(&self) -> u64 {
        self.block.get()
    }

    fn padding(&self) -> bool {
        self.padding
    }

    fn feedback(&self) -> Option<&FeedbackConfig> {
        Some(&self.feedback)
    }
}
