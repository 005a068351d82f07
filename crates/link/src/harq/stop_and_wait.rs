//! Stop-and-wait: a user's next packet starts when the last is acknowledged or given up.
//!
//! Lin, Costello, Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984.

use units::FieldError;

use super::codeword::check_transmissions;
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Automatic repeat request with one packet of each user in flight: repeated until it is decoded, then the next.
    pub struct StopAndWaitConfig {
        /// The most transmissions of a packet, the first included: 1 to 32.
        #[schemars(range(min = 1, max = 32))]
        pub transmissions: u8 = 4,
        /// Data bits for each coded bit.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.5,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for StopAndWaitConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 32)?;
        Ok(Scheme {
            codeword: self.coding().repeated(self.transmissions, false)?,
            feedback: Some(self.feedback.resolve_enabled()?),
            window: Window::Count(1),
        })
    }
}
