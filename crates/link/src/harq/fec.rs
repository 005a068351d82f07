//! Forward error correction alone: one transmission at a fixed code rate, nobody is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError};

use super::codeword::FixedRate;
use super::plan::Threshold;
use super::processes::{Scheme, SchemeConfig, Window};

/// Forward error correction alone: each packet is coded at a fixed rate and sent once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FecConfig {
    /// Data bits for each coded bit.
    #[schemars(range(min = 0.015625, max = 1.0))]
    pub code_rate: f64,
    /// Data of a code block; a packet must fit in one.
    pub block: Bytes,
    /// Mutual information per data bit at which a block is decoded: "code" for that of the CCSDS turbo code, or a number.
    pub threshold: Threshold,
    /// Whether a packet shorter than the block is padded to it; if not, its coded bits are in proportion.
    pub padding: bool,
}

impl Default for FecConfig {
    fn default() -> FecConfig {
        FecConfig { code_rate: 0.5, block: Bytes::new(1115), threshold: Threshold::Code, padding: true }
    }
}

impl SchemeConfig for FecConfig {
    fn resolve(&self) -> Result<Scheme, FieldError> {
        let &FecConfig { block, code_rate, threshold, padding } = self;
        let coding = FixedRate { block, code_rate, threshold, padding };
        // Nothing is held back: a packet's process ends with its only burst.
        Ok(Scheme { codeword: coding.repeated(1, false)?, feedback: None, window: Window::Count(u32::MAX) })
    }

    fn block(&self) -> u64 {
        self.block.get()
    }

    fn padding(&self) -> bool {
        self.padding
    }
}
