//! Stop-and-wait: a user's next packet starts when the last is acknowledged or given up.
//!
//! Lin, Costello, Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::codeword::{FixedRate, check_transmissions};
use super::feedback::FeedbackConfig;
use super::plan::Threshold;
use super::processes::{Scheme, SchemeConfig, Window};

/// Automatic repeat request with one packet of each user under way: sent again until it is decoded, then the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopAndWaitConfig {
    /// Transmissions of a packet at most, the first included: 1 to 32.
    #[schemars(range(min = 1, max = 32))]
    pub transmissions: u8,
    /// Data bits for each coded bit.
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

impl Default for StopAndWaitConfig {
    fn default() -> StopAndWaitConfig {
        StopAndWaitConfig {
            transmissions: 4,
            code_rate: 0.5,
            block: Bytes::new(1115),
            threshold: Threshold::Code,
            padding: true,
            feedback: FeedbackConfig::default(),
        }
    }
}

impl SchemeConfig for StopAndWaitConfig {
    fn resolve(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 32)?;
        let &StopAndWaitConfig { block, code_rate, threshold, padding, .. } = self;
        let coding = FixedRate { block, code_rate, threshold, padding };
        Ok(Scheme {
            codeword: coding.repeated(self.transmissions, false)?,
            feedback: Some(self.feedback.resolve_enabled()?),
            window: Window::Count(1),
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
