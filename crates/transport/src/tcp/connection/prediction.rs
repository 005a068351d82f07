//! Header prediction: which segments an end expects while nothing else comes.

/// The plain segments that an end expects: one word in place of the tests of its state, as kernels keep it. It stays
/// true as long as only plain segments arrive, and only full segments and bare acknowledgments are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prediction {
    /// To be found out, or none are expected.
    Unknown,
    /// Data beyond a hole that lengthen what is reported first, at an end with nothing to send.
    Beyond,
    /// Data, at an end with nothing to send.
    Data,
    /// Acknowledgments, in the open state while nothing is in doubt.
    Acknowledgments,
}
