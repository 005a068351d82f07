//! Hybrid ARQ of 5G New Radio over non-terrestrial networks, feedback disabled (Release 17).
//!
//! A gateway that waits for feedback over a long delay runs out of processes. Release 17 therefore doubles them to 32
//! and lets feedback be switched off (TS 38.300 section 16.14, TS 38.331 `downlinkHARQ-FeedbackDisabled`): reliability
//! then comes from repetitions in consecutive slots (`pdsch-AggregationFactor`), which step through the redundancy
//! versions 0, 2, 3, 1 (TS 38.214 table 5.1.2.1-2). The machine is that of incremental redundancy; this file has the
//! starts of the redundancy versions.
//!
//! What is simplified: the decoder is [`super::sizes::Threshold`]'s and not that of the LDPC code; the 32 processes are
//! never a limit, because without feedback a process is free when its last repetition is sent; slots carry no other
//! data.

use units::FieldError;

use super::codeword::check_processes;
use super::processes::{BlockOptions, FixedSizes, Scheme, Window, scheme_config};

scheme_config! {
    /// Hybrid ARQ of 5G over satellites with feedback disabled: every packet is sent `repetitions` times.
    pub struct NrNtnConfig {
        /// Transmissions of each packet, one after the other: 1, 2, 4 or 8.
        pub repetitions: u8 = 4,
        /// Packets of one user that may be between their first and last transmission.
        #[schemars(range(min = 1))]
        pub processes: u32 = 32,
        /// Data bits for each coded bit of one transmission.
        #[schemars(range(min = 0.015625, max = 1.0))]
        pub code_rate: f64 = 0.8,
        /// Coded bits of a block at the mother rate; by default three for each data bit, LDPC base graph 1.
        pub codeword_bits: u32 = 26_760,
    }
}

impl FixedSizes for NrNtnConfig {
    fn scheme(&self) -> Result<Scheme, FieldError> {
        if ![1, 2, 4, 8].contains(&self.repetitions) {
            let reason = format!("{} given, 1, 2, 4 or 8 allowed", self.repetitions);
            return Err(FieldError::new("repetitions", reason));
        }
        check_processes(self.processes)?;
        let start = |repetition: u8, _: u32| version_start(repetition, self.codeword_bits);
        Ok(Scheme {
            codeword: self.coding().circular(self.repetitions, self.codeword_bits, start)?,
            feedback: None,
            window: Window::Count(self.processes),
        })
    }
}

/// Where the redundancy version of a repetition starts in the circular buffer: TS 38.212 table 5.4.2.1-2, base graph 1,
/// in parts of the buffer; the lifting size, to whose multiples it rounds, is not modelled.
fn version_start(repetition: u8, codeword_bits: u32) -> u64 {
    const SIXTY_SIXTHS: [u64; 4] = [0, 33, 56, 17]; // of versions 0, 2, 3 and 1
    u64::from(codeword_bits) * SIXTY_SIXTHS[usize::from(repetition) % 4] / 66
}
