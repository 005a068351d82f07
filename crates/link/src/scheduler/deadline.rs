//! A target of the waiting time, for schedulers whose scores grow towards it.

use units::{Duration, FieldError, Probability};

/// Acceptable for a conversation over a satellite's last hop, and CoDeS' limit.
pub(super) const DEFAULT_DEADLINE: Duration = Duration::from_millis(100);

/// The usual share in simulators of cellular networks.
pub(super) fn default_loss() -> Probability {
    Probability::new(0.005)
}

/// -log10(δ) / τ, in 1/s.
///
/// # Errors
/// If a value cannot be.
pub(super) fn urgency(deadline: Duration, loss: Probability) -> Result<f64, FieldError> {
    check_deadline(deadline)?;
    let loss = loss.get();
    if loss <= 0.0 || loss >= 1.0 {
        return Err(FieldError::new("loss", "must be more than 0 % and less than 100 %"));
    }
    Ok(-libm::log10(loss) / deadline.as_secs_f64())
}

/// Refuses a deadline of zero.
pub(super) fn check_deadline(deadline: Duration) -> Result<(), FieldError> {
    if deadline.is_zero() { Err(FieldError::new("deadline", "must be more than 0 s")) } else { Ok(()) }
}
