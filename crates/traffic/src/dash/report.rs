//! The report of a viewer of adaptive video, and its quality of experience.
//!
//! Quality of experience: equation 5 of Yin, Jindal, Sekar and Sinopoli, "A control-theoretic approach for dynamic
//! adaptive video streaming over HTTP", SIGCOMM 2015, with q(R) = R in Mbit/s, over the segments of which something was
//! played, divided by their number. A linear model of weights that somebody chose, fitted to no viewers. The score of
//! stalls: see [`crate::stalls`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, FieldError};

use super::adaptation::{Download, Video};
use super::player::Player;
use crate::stalls;

/// The weights of the linear quality of experience, in Mbit/s of a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinearQoe {
    /// The cost of a change of the bit rate, for each Mbit/s of it, λ.
    pub switching: f64,
    /// The cost of a second of a stall, µ; by default as much as the highest bit rate of the ladder.
    pub stalling: Option<f64>,
    /// The cost of a second before the first picture, µs; by default as much as one of a stall.
    pub startup: Option<f64>,
}

impl Default for LinearQoe {
    fn default() -> LinearQoe {
        LinearQoe { switching: 1.0, stalling: None, startup: None }
    }
}

impl LinearQoe {
    pub(super) fn check(&self) -> Result<(), FieldError> {
        let weights = [("switching", Some(self.switching)), ("stalling", self.stalling), ("startup", self.startup)];
        for (field, weight) in weights {
            if let Some(weight) = weight.filter(|weight| !(0.0..=1_000.0).contains(weight)) {
                return Err(FieldError::new(field, format!("{weight} was given: must be between 0 and 1000")));
            }
        }
        Ok(())
    }

    /// Returns the mean quality of segments played at these bit rates, in Mbit/s; `None` without any.
    fn of(&self, rates: &[f64], stalled_s: f64, startup_s: f64, highest: BitRate) -> Option<f64> {
        let stalling = self.stalling.unwrap_or(highest.as_bps() as f64 / 1e6);
        let startup = self.startup.unwrap_or(stalling);
        let quality: f64 = rates.iter().sum();
        let changes: f64 = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        let sum = quality - self.switching * changes - stalling * stalled_s - startup * startup_s;
        (!rates.is_empty()).then(|| sum / rates.len() as f64)
    }
}

units::report! {
    /// The viewer's experience of adaptive video.
    #[derive(Copy)]
    pub struct VideoReport {
        /// From the opening of the connection to the first picture: `startup_s` of the flow.
        startup_s: Option<f64>,
        /// Media that was played.
        played_s: f64,
        /// Times that the picture stood still because the buffer was empty.
        rebuffers: u64,
        /// Total time for which the picture stood still, a stall at the end of the run included.
        rebuffer_s: f64,
        /// Share of `rebuffer_s` in the time from the first picture to the end of the video or the run.
        rebuffer_ratio: Option<f64>,
        /// Segments that arrived whole.
        segments: u64,
        /// Segments of which something was played; the keys from here to `mos` are about them.
        played_segments: u64,
        /// Mean bit rate of what was played, by the ladder.
        bitrate_mean_bps: Option<f64>,
        /// Changes of the bit rate from one segment to the next.
        switches: u64,
        /// Mean size of such a change.
        switch_mean_bps: Option<f64>,
        /// Mean [quality of experience](models/video.md) of a segment by the linear model of Yin and others (2015).
        qoe: Option<f64>,
        /// [Mean opinion score](models/video.md) of the stalls alone, 1.5 to 5.
        ([1.5, 5.0]) mos: Option<f64>,
        /// Throughput of the segments: their bits over the time from the request of each to its last byte. The first
        /// request is written when the connection is opened, so its time contains the handshake.
        throughput_bps: Option<f64>,
        /// Media in the buffer at the end of the run.
        buffer_s: f64,
    }
}

/// Returns the report of a player at the end; `chosen`: the level of each requested segment, `downloads`: those that
/// have arrived.
pub(super) fn report(
    video: &Video<'_>,
    weights: &LinearQoe,
    player: &Player,
    chosen: &[u8],
    downloads: &[Download],
) -> VideoReport {
    let (played, segment) = (player.played(), video.segment);
    let started = played.as_nanos().div_ceil(segment.as_nanos()) as usize;
    let level = |level: &u8| video.ladder[usize::from(*level)].as_bps() as f64;
    let rates: Vec<f64> = chosen[..started].iter().map(level).collect();
    let played_s = played.as_secs_f64();
    // All of the segments but perhaps a part of the last.
    let missing_s = (segment * started as u64).saturating_sub(played).as_secs_f64();
    let bits = rates.iter().sum::<f64>() * segment.as_secs_f64() - rates.last().unwrap_or(&0.0) * missing_s;
    let changes: Vec<f64> = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|by| *by > 0.0).collect();
    let (stalled_s, waited_s) = (player.stalled().as_secs_f64(), player.waited().as_secs_f64());
    let mean = |sum: f64, number: f64| (number > 0.0).then(|| sum / number);
    let mbps: Vec<f64> = rates.iter().map(|rate| rate / 1e6).collect();
    let arrived: f64 = downloads.iter().map(|download| download.size.bits() as f64).sum();
    let spent: f64 = downloads.iter().map(|download| download.time.as_secs_f64()).sum();
    VideoReport {
        startup_s: player.has_started().then_some(waited_s),
        played_s,
        rebuffers: player.stalls(),
        rebuffer_s: stalled_s,
        rebuffer_ratio: mean(stalled_s, played_s + stalled_s),
        segments: downloads.len() as u64,
        played_segments: started as u64,
        bitrate_mean_bps: mean(bits, played_s),
        switches: changes.len() as u64,
        switch_mean_bps: mean(changes.iter().sum(), changes.len() as f64),
        qoe: weights.of(&mbps, stalled_s, waited_s, video.ladder[video.ladder.len() - 1]),
        mos: stalls::mos(player.stalls(), stalled_s, played_s),
        throughput_bps: mean(arrived, spent),
        buffer_s: player.buffer().as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linear_model_by_hand() {
        let qoe = LinearQoe::default();
        let highest = BitRate::from_bps(3_000_000);
        // 1 + 2 + 2 + 1 Mbit/s, two changes of 1, half a second of stalls and 1 s of waiting at 3 each.
        let sum = 6.0 - 2.0 - 1.5 - 3.0;
        assert_eq!(qoe.of(&[1.0, 2.0, 2.0, 1.0], 0.5, 1.0, highest), Some(sum / 4.0));
        let free = LinearQoe { switching: 0.5, startup: Some(0.0), ..qoe };
        assert_eq!(free.of(&[1.0, 2.0, 2.0, 1.0], 0.5, 1.0, highest), Some((6.0 - 1.0 - 1.5) / 4.0));
        assert_eq!(free.of(&[], 0.0, 1.0, highest), None);
    }
}
