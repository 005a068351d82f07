//! Chase combining: the same coded bits each time, added up before decoding.
//!
//! Chase, "Code combining: a maximum-likelihood decoding approach for combining an arbitrary number of noisy packets", IEEE
//! Trans. Commun. 33(5), 1985.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::codeword::{FixedRate, check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::plan::Threshold;
use super::processes::{Scheme, SchemeConfig, Window};

/// Hybrid ARQ type I with chase combining: the same coded bits again, whose signal-to-noise ratios add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChaseConfig {
    /// Transmissions of a packet at most, the first included: 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub transmissions: u8,
    /// Packets of one user that may be under way between first burst and last answer; more wait in the queue.
    #[schemars(range(min = 1))]
    pub processes: u32,
    /// Data bits for each coded bit of one transmission.
    #[schemars(range(min = 0.015625, max = 1.0))]
    pub code_rate: f64,
    /// Data of a code block; a packet must fit in one.
    pub block: Bytes,
    /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code, or a number.
    pub threshold: Threshold,
    /// Whether a packet shorter than the block is padded to it; if not, its coded bits are in proportion.
    pub padding: bool,
    /// What answers meet on their way.
    pub feedback: FeedbackConfig,
}

impl Default for ChaseConfig {
    fn default() -> ChaseConfig {
        ChaseConfig {
            transmissions: 4,
            processes: 500,
            code_rate: 0.8,
            block: Bytes::new(1115),
            threshold: Threshold::Code,
            padding: true,
            feedback: FeedbackConfig::default(),
        }
    }
}

impl SchemeConfig for ChaseConfig {
    fn resolve(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 8)?;
        check_processes(self.processes)?;
        let &ChaseConfig { block, code_rate, threshold, padding, .. } = self;
        let coding = FixedRate { block, code_rate, threshold, padding };
        Ok(Scheme {
            codeword: coding.repeated(self.transmissions, true)?,
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
