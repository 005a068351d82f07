//! Selective repeat: only failed packets are repeated.
//!
//! Lin, Costello, Miller, "Automatic-repeat-request error-control schemes", IEEE Communications Magazine 22(12), 1984.
//! The receiver forwards packets as they are decoded; the reordering buffer puts them in order.

use units::FieldError;

use super::codeword::{check_processes, check_transmissions};
use super::feedback::FeedbackConfig;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Automatic repeat request that repeats only the packets that failed, within a window of sequence numbers for each
    /// user.
    pub struct SelectiveRepeatConfig {
        /// The most transmissions of a packet, the first included: 1 to 32.
        #[schemars(range(min = 1, max = 32))]
        pub transmissions: u8 = 4,
        /// Packets of one user from the oldest that is not acknowledged or given up to the newest: the window.
        #[schemars(range(min = 1))]
        pub processes: u32 = 512, // AM_Window_Size of TS 36.322 section 7.2 with sequence numbers of 10 bits
        /// Data bits for each coded bit.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.5,
    }
    feedback: FeedbackConfig
}

impl FixedSizes for SelectiveRepeatConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        check_transmissions(self.transmissions, 32)?;
        check_processes(self.processes)?;
        Ok(Scheme {
            codeword: self.coding().repeated(self.transmissions, false)?,
            feedback: Some(self.feedback.resolve_enabled()?),
            window: Window::Span(self.processes),
        })
    }
}
