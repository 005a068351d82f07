//! The report of a viewer of live video.

use units::{Duration, Time};

use super::viewer::Log;
use crate::experience::LiveReport;
use crate::{quantiles, stalls};

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
