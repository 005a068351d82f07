//! What becomes of a file.

/// The result of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It fails, or cannot be read: the place and the reason.
    Fail(String),
    /// It uses this construct, which is not supported.
    Skip(String),
    /// It fails for this known cause.
    Known(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Pass => f.write_str("PASS"),
            Verdict::Fail(reason) => write!(f, "FAIL {reason}"),
            Verdict::Skip(construct) => write!(f, "SKIP {construct}"),
            Verdict::Known(cause) => write!(f, "KNOWN {cause}"),
        }
    }
}
