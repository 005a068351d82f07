//! The mean opinion score of a video's stalls: QoE(L, N) = 3.50 e^(−(0.15 L + 0.19) N) + 1.50 with N stalls of L
//! seconds on average (Hoßfeld, Schatz, Biersack and Plissonneau, "Internet video delivery in YouTube: from traffic
//! measurements to quality of experience", LNCS 7754, 2013, section 4), fitted to viewers of clips of 30 and 60 s.
//!
//! Ours: of more than a minute of video, N is that of a mean minute. Picture quality, its changes and the waiting
//! before the first picture do not count.

/// The score of so many stalls that took `stalled_s` in all, in `played_s` of video; `None` if nothing was played.
pub(crate) fn mos(stalls: u64, stalled_s: f64, played_s: f64) -> Option<f64> {
    if played_s <= 0.0 {
        return None;
    }
    let minutes = (played_s / 60.0).max(1.0);
    // N L is the stalled time.
    let impairment = (0.15 * stalled_s + 0.19 * stalls as f64) / minutes;
    Some(3.50 * libm::exp(-impairment) + 1.50)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_the_published_curve() {
        let score = |stalls: u64, length_s: f64| mos(stalls, stalls as f64 * length_s, 60.0).unwrap();
        assert_eq!(score(0, 0.0), 5.0);
        // One stall of 1 s: 3.5 e^−0.34 + 1.5; two of 3 s: 3.5 e^−1.28 + 1.5.
        assert!((score(1, 1.0) - 3.991).abs() < 5e-4 && (score(2, 3.0) - 2.473).abs() < 5e-4);
        assert!(score(1, 1.0) > score(1, 2.0) && score(1, 2.0) > score(2, 1.0));
        assert_eq!(mos(2, 4.0, 120.0), mos(1, 2.0, 60.0));
        assert_eq!(mos(0, 0.0, 0.0), None);
    }
}
