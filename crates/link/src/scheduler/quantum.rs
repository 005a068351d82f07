//! The quantum of deficit round robin: the bytes that a queue may send in a turn.

use units::{Bytes, FieldError};

/// A full packet.
pub(super) const DEFAULT_QUANTUM: Bytes = Bytes::new(1500);

/// Refuses a quantum that is too small.
pub(super) fn check_quantum(quantum: Bytes) -> Result<(), FieldError> {
    const LEAST: Bytes = Bytes::new(40);
    const MOST: Bytes = Bytes::new(1_000_000_000);
    if (LEAST..=MOST).contains(&quantum) {
        return Ok(());
    }
    Err(FieldError::new("quantum", format!("{quantum} given, {LEAST} to {MOST} allowed")))
}
