//! The report of a viewer of live video.

use units::{Duration, Time};

use super::viewer::Log;
use crate::{quantiles, stalls};

units::report! {
    /// The viewer's experience of live video.
    #[derive(Copy)]
    pub struct LiveReport {
        /// From the opening of the video to the first picture: `startup_s` of the flow.
        startup_s: Option<f64>,
        /// Media that was shown.
        played_s: f64,
        /// Times that the picture stood still because nothing was there to be shown.
        rebuffers: u64,
        /// Total time for which the picture stood still, a stall at the end of the run included.
        rebuffer_s: f64,
        /// Share of `rebuffer_s` in the time from the first picture to the end of the video or the run.
        rebuffer_ratio: Option<f64>,
        /// Frames that the source handed over.
        sent_frames: u64,
        /// Frames that were shown.
        shown_frames: u64,
        /// Frames that were not there when they were to be shown.
        skipped_frames: u64,
        /// Skipped frames that were complete later.
        late_frames: u64,
        /// Frames left out to catch up.
        jumped_frames: u64,
        /// Frames that were shown although one that they need was not: all up to the next that begins a group.
        impaired_frames: u64,
        /// How long the picture stood still for skipped frames: while later ones were there, or as the last never came.
        frozen_s: f64,
        /// Share of skipped frames among those that were skipped or shown: `late_ratio` of the flow.
        late_ratio: Option<f64>,
        /// Mean age of a frame when it is shown, from its capture.
        latency_mean_s: Option<f64>,
        /// Median of it.
        latency_p50_s: Option<f64>,
        /// 95th percentile of it.
        latency_p95_s: Option<f64>,
        /// 99th percentile of it.
        latency_p99_s: Option<f64>,
        /// Largest of it.
        latency_max_s: Option<f64>,
        /// [Mean opinion score](models/video.md) of the stalls alone, 1.5 to 5; `null` where frames were skipped, of
        /// which it knows nothing.
        ([1.5, 5.0]) mos: Option<f64>,
    }
}

/// Returns the report of a video that started at `start`, from its log.
pub(super) fn report(frame_time: Duration, start: Time, log: Log) -> LiveReport {
    let latencies = quantiles::Sorted::new(log.latencies);
    let (stalled_s, frozen_s) = (log.stalled.as_secs_f64(), log.frozen.as_secs_f64());
    let watched_s = log.shown_time.as_secs_f64() + stalled_s + frozen_s;
    let played_s = (frame_time * log.shown).as_secs_f64();
    let passed = log.shown + log.skipped;
    LiveReport {
        startup_s: log.started.map(|started| started.since(start).as_secs_f64()),
        played_s,
        rebuffers: log.stalls,
        rebuffer_s: stalled_s,
        rebuffer_ratio: (watched_s > 0.0).then(|| stalled_s / watched_s),
        sent_frames: log.sent,
        shown_frames: log.shown,
        skipped_frames: log.skipped,
        late_frames: log.late,
        jumped_frames: log.jumped,
        impaired_frames: log.impaired,
        frozen_s,
        late_ratio: (passed > 0).then(|| log.skipped as f64 / passed as f64),
        latency_mean_s: latencies.mean_s(),
        latency_p50_s: latencies.quantile_s(0.5),
        latency_p95_s: latencies.quantile_s(0.95),
        latency_p99_s: latencies.quantile_s(0.99),
        latency_max_s: latencies.quantile_s(1.0),
        mos: stalls::mos(log.stalls, stalled_s, played_s).filter(|_| log.skipped == 0),
    }
}
