//! Forward error correction alone: one transmission at a fixed code rate, without feedback.

use units::FieldError;

use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Forward error correction alone: each packet is coded at a fixed rate and sent once.
    pub struct FecConfig {
        /// Data bits for each coded bit.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.5,
    }
}

impl FixedSizes for FecConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        // The window is unlimited: a packet's process ends with its only burst.
        Ok(Scheme { codeword: self.coding().repeated(1, false)?, feedback: None, window: Window::Count(u32::MAX) })
    }
}
