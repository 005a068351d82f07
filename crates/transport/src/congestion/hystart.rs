//! Leaving slow start before a queue overflows: HyStart as Linux has it, and HyStart++ (RFC 9406). Section numbers in
//! this file are RFC 9406's.
//!
//! Both compare the shortest round-trip time of a round with that of the path: the difference is a queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use super::{AckSample, Window};

/// When slow start ends before the first loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HyStart {
    /// Slow start goes on until a loss.
    #[default]
    #[serde(rename = "none")]
    None,
    /// HyStart as in Linux: at once, when the round-trip times of a round rise by an eighth, or when acknowledgments
    /// have followed each other closely for half a round-trip time.
    #[serde(rename = "hystart")]
    HyStart,
    /// HyStart++ (RFC 9406): when the round-trip times of a round rise by an eighth, the window grows four times slower
    /// for up to five rounds, and slow start goes on if they fall again. In the first slow start only.
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
}

/// Sections 4.2 and 4.3: bounds of the rise of the round-trip time that shows a queue.
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
/// Round-trip times measured in a round before it is judged.
const SAMPLES: u32 = 8;

/// The slow start of a controller.
#[derive(Clone, Debug)]
pub(super) enum SlowStart {
    Plain,
    HyStart(Box<Linux>),
    HyStartPlusPlus(Box<PlusPlus>),
}

impl SlowStart {
    pub(super) fn new(kind: HyStart) -> SlowStart {
        match kind {
            HyStart::None => SlowStart::Plain,
            HyStart::HyStart => SlowStart::HyStart(Box::new(Linux::new())),
            HyStart::HyStartPlusPlus => SlowStart::HyStartPlusPlus(Box::new(PlusPlus::new())),
        }
    }

    /// Looks at a round-trip time, and may end slow start. To be called before [`SlowStart::grow`].
    #[inline(always)]
    pub(super) fn measure(&mut self, window: &mut Window, sample: &AckSample) {
        match self {
            SlowStart::Plain => (),
            SlowStart::HyStart(hystart) => hystart.measure(window, sample),
            SlowStart::HyStartPlusPlus(hystart) => hystart.measure(window, sample),
        }
    }

    /// Opens the window by the acknowledged segments, as [`Window::slow_start`] does. Returns those that were not used.
    pub(super) fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        match self {
            SlowStart::HyStartPlusPlus(hystart) => hystart.grow(window, acked),
            _ => window.slow_start(acked),
        }
    }

    /// A slow start begins, after a timeout.
    pub(super) fn restart(&mut self) {
        match self {
            SlowStart::HyStart(hystart) => **hystart = Linux::new(),
            SlowStart::Plain | SlowStart::HyStartPlusPlus(_) => (),
        }
    }
}

/// The window below which HyStart judges nothing.
const LOW_WINDOW: u32 = 16;
/// Acknowledgments no farther apart belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// A train may last longer by the time in which four bursts leave at the sender's rate, but at most by this.
const MAX_ACK_DELAY: Duration = Duration::from_millis(1);
/// The bytes of four bursts of the largest size that segmentation offload makes.
const FOUR_BURSTS: u64 = 4 * 65_536;

/// Linux' HyStart.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    min_rtt: Duration,
    /// The round in progress: when it began, the offset whose acknowledgment ends it, its shortest round-trip time.
    round_start: Time,
    round_end: Option<u64>,
    round_rtt: Duration,
    samples: u32,
    /// The last acknowledgment of the train.
    last_ack: Time,
    found: bool,
}

impl Linux {
    fn new() -> Linux {
        Linux {
            min_rtt: Duration::MAX,
            round_start: Time::ZERO,
            round_end: None,
            round_rtt: Duration::MAX,
            samples: 0,
            last_ack: Time::ZERO,
            found: false,
        }
    }

    #[inline]
    fn measure(&mut self, window: &mut Window, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        self.min_rtt = self.min_rtt.min(rtt);
        if !self.found && window.in_slow_start() {
            self.judge(window, sample, rtt);
        }
    }

    /// Looks for a queue in slow start.
    #[inline(never)]
    fn judge(&mut self, window: &mut Window, sample: &AckSample, rtt: Duration) {
        if self.round_end.is_none_or(|end| sample.una > end) {
            self.begin_round(sample);
        }
        if window.size >= LOW_WINDOW && (self.train(window, sample) | self.delay(rtt)) {
            self.found = true;
            window.end_slow_start();
        }
    }

    fn begin_round(&mut self, sample: &AckSample) {
        self.round_start = sample.now;
        self.last_ack = sample.now;
        self.round_end = Some(sample.nxt);
        self.round_rtt = Duration::MAX;
        self.samples = 0;
    }

    /// Whether the acknowledgments of this round have come in one train for longer than half a round-trip time, or a
    /// whole one if the sender spaces segments: the data of a window then fill the path.
    fn train(&mut self, window: &Window, sample: &AckSample) -> bool {
        if sample.now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = sample.now;
        // In slow start the rate is two windows per round trip.
        let rate = 2 * u64::from(window.size) * u64::from(sample.mss);
        let ack_delay = (sample.srtt.min(Duration::from_secs(60)) * FOUR_BURSTS / rate.max(1)).min(MAX_ACK_DELAY);
        let rtt_and_delay = self.min_rtt + ack_delay;
        let length = if sample.paced { rtt_and_delay } else { rtt_and_delay / 2 };
        sample.now.since(self.round_start) > length
    }

    /// Whether the shortest of more than eight round-trip times of this round shows a queue.
    fn delay(&mut self, rtt: Duration) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_rtt > self.min_rtt + rise(self.min_rtt)
    }
}

/// Section 4.2: CSS_GROWTH_DIVISOR and CSS_ROUNDS.
const GROWTH_DIVISOR: u32 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// HyStart++.
#[derive(Clone, Debug)]
pub(super) struct PlusPlus {
    /// windowEnd: the offset whose acknowledgment ends the round.
    round_end: Option<u64>,
    last_rtt: Duration,
    round_rtt: Duration,
    samples: u32,
    conservative: Option<Conservative>,
    /// Acknowledged segments that have not yet opened the window by one, in the conservative phase.
    acked_rest: u32,
}

/// The conservative slow start phase.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

impl PlusPlus {
    fn new() -> PlusPlus {
        PlusPlus {
            round_end: None,
            last_rtt: Duration::MAX,
            round_rtt: Duration::MAX,
            samples: 0,
            conservative: None,
            acked_rest: 0,
        }
    }

    /// Section 4.2. Only the slow start before the first reduction is judged (section 4.3).
    fn measure(&mut self, window: &mut Window, sample: &AckSample) {
        if window.threshold != Window::NO_THRESHOLD {
            return;
        }
        if self.round_end.is_none_or(|end| sample.una >= end) {
            self.begin_round(window, sample);
        }
        let Some(rtt) = sample.rtt else { return };
        self.round_rtt = self.round_rtt.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match self.conservative {
            // The rise was no queue: slow start goes on.
            Some(phase) if self.round_rtt < phase.baseline => self.conservative = None,
            Some(_) => (),
            None => {
                let queued = self.last_rtt != Duration::MAX && self.round_rtt >= self.last_rtt + rise(self.last_rtt);
                self.conservative = queued.then_some(Conservative { baseline: self.round_rtt, rounds: 0 });
            }
        }
    }

    fn begin_round(&mut self, window: &mut Window, sample: &AckSample) {
        self.round_end = Some(sample.nxt);
        self.last_rtt = self.round_rtt;
        self.round_rtt = Duration::MAX;
        self.samples = 0;
        if let Some(phase) = &mut self.conservative {
            phase.rounds += 1; // the round in which the phase began counts as one
            if phase.rounds >= CONSERVATIVE_ROUNDS {
                self.conservative = None;
                window.end_slow_start();
            }
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        if self.conservative.is_none() || window.threshold != Window::NO_THRESHOLD {
            return window.slow_start(acked);
        }
        self.acked_rest += window.countable(acked);
        window.grow(self.acked_rest / GROWTH_DIVISOR);
        self.acked_rest %= GROWTH_DIVISOR;
        0
    }
}

/// An eighth of `rtt`, within the bounds.
fn rise(rtt: Duration) -> Duration {
    (rtt / 8).clamp(MIN_RISE, MAX_RISE)
}
