//! Selective repeat: only what failed is sent again.
//!
//! Lin, Costello, Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984. The
//! receiver hands up packets as they are decoded; their order is the reordering buffer's task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::codeword::{FixedRate, check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::plan::Threshold;
use super::processes::{Scheme, SchemeConfig, Window};

/// Automatic repeat request that repeats only the packets that failed, within a window of sequence numbers for each user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SelectiveRepeatConfig {
    /// Transmissions of a packet at most, the first included: 1 to 32.
    #[schemars(range(min = 1, max = 32))]
    pub transmissions: u8,
    /// Packets of one user from the oldest that is not acknowledged or given up to the newest: the window.
    #[schemars(range(min = 1))]
    pub processes: u32,
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

impl Default for SelectiveRepeatConfig {
    fn default() -> SelectiveRepeatConfig {
        SelectiveRepeatConfig {
            transmissions: 4,
            processes: 512, // AM_Window_Size of TS 36.322 section 7.2 with sequence numbers of 10 bits
            code_rate: 0.5,
            block: Bytes::new(1115),
            threshold: Threshold::Code,
            padding: true,
            feedback: FeedbackConfig::default(),
        }
    }
}

impl SchemeConfig for SelectiveRepeatConfig {
    fn resolve(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 32)?;
        check_processes(self.processes)?;
        let &SelectiveRepeatConfig { block, code_rate, threshold, padding, .. } = self;
        let coding = FixedRate { block, code_rate, threshold, padding };
        Ok(Scheme {
            codeword: coding.repeated(self.transmissions, false)?,
            feedback: Some(self.feedback.resolve_enabled()?),
            window: Window::Span(self.processes),
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
