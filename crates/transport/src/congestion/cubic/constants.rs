//! Constants that the rules of growth share.

/// The constants of the curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    pub reno_friendly: bool,
}

impl Constants {
    /// Section 4.7: W_max after a loss at the window `cwnd`.
    pub fn plateau(&self, cwnd: f64, w_max: f64) -> f64 {
        if self.fast_convergence && cwnd < w_max { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd }
    }
}
