//! The outcome of a file, a script or a recording.

/// The result of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file passes.
    Pass,
    /// The file fails, or cannot be read: the place and the reason.
    Fail(String),
    /// The file uses this construct, which is not supported.
    Skip(String),
    /// The file fails for this known cause.
    Known(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Pass => f.write_str("PASS"),
            Outcome::Fail(reason) => write!(f, "FAIL {reason}"),
            Outcome::Skip(construct) => write!(f, "SKIP {construct}"),
            Outcome::Known(cause) => write!(f, "KNOWN {cause}"),
        }
    }
}
