//! How a player of live video that has fallen behind comes back to its latency.

use units::{Duration, FieldError};

units::registry! {
    /// Rules by which a player that has fallen behind catches up.
    pub enum CatchUp: dyn Kind {
        #[default] "speed" => Speed(Speed) in speed,
        "seek" => Seek(Seek) in seek,
        "none" => Never(Never) in never,
    }
}

/// A rule, asked for each frame that is shown.
pub trait Kind {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// The speed at which a frame is played that is `latency` old and should be `target`: 1 or more.
    fn rate(&self, _latency: Duration, _target: Duration) -> f64 {
        1.0
    }

    /// Whether the frames after it are left out until one is as old as it should be.
    fn jumps(&self, _latency: Duration, _target: Duration) -> bool {
        false
    }
}
