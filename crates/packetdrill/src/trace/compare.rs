//! The comparison of a recording with a connection.

use transport::Flags;
use units::{Duration, Ecn};

use super::file::{Info, Packet};
use crate::host::Sent;
use crate::kernel::{NO_THRESHOLD, ca_state};

/// The tolerated differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Segments that one side may have sent and the other not yet, when a segment arrives; PSH is compared where it is
    /// 0.
    pub ahead: usize,
    /// Difference of windows and thresholds in segments; with `None` they are not compared.
    pub window: Option<u32>,
    /// Difference of the counts of segments lost, retransmitted and selectively acknowledged.
    pub counts: Option<u32>,
    /// Whether the congestion states must be equal.
    pub state: bool,
    /// Whether segments must come in the same order; if not, each must come within the bound of `ahead`.
    pub order: bool,
    /// Whether the instants of sending are compared.
    pub instants: bool,
    /// The number of phases of the kernel's clock that are tried, a quarter of a millisecond apart: the begin of its 4
    /// ms ticks is not recorded, and CUBIC evaluates its curve once a tick.
    pub phases: u64,
    /// The tolerances of a closed loop.
    pub closed: Tolerance,
}

/// The tolerated differences from the kernel in a closed loop. Reno is deterministic; CUBIC's curve and BBR's pacing
/// depend on the kernel's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Difference of the time of the transfer, as a share, beyond the lateness of the kernel's timers.
    pub goodput: f64,
    /// Difference of the number of transmissions, as a share, and one more.
    pub transmissions: f64,
    /// Difference of the number of time-outs.
    pub timeouts: u32,
    /// Difference of the instants of recoveries, in round trips, beyond the same lateness; with `None` they are not
    /// compared.
    pub recoveries: Option<f64>,
}

impl Bounds {
    /// The bounds for a congestion control.
    pub fn of(congestion: &str) -> Bounds {
        match congestion {
            "reno" => Bounds {
                ahead: 0,
                window: Some(0),
                counts: Some(0),
                state: true,
                order: true,
                instants: true,
                phases: 1,
                closed: Tolerance { goodput: 0.01, transmissions: 0.01, timeouts: 0, recoveries: Some(0.1) },
            },
            "cubic" => Bounds {
                ahead: 1,
                window: Some(1),
                counts: Some(1),
                state: true,
                order: true,
                instants: true,
                phases: 16,
                closed: Tolerance { goodput: 0.02, transmissions: 0.02, timeouts: 0, recoveries: Some(0.5) },
            },
            _ => Bounds {
                ahead: 8,
                window: Some(4),
                counts: None,
                state: true,
                order: false,
                instants: false,
                phases: 1,
                closed: Tolerance { goodput: 0.05, transmissions: 0.05, timeouts: 0, recoveries: None },
            },
        }
    }
}

/// A difference beyond the bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Line of the recording.
    pub line: usize,
    /// The time in milliseconds on the recording's clock.
    pub at: f64,
    /// The kind: `segment`, `push`, `instant`, `window`, `state`, `counts` or `rto`.
    pub kind: &'static str,
    /// The kernel's value.
    pub kernel: String,
    /// Our value.
    pub ours: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Difference { line, at, kind, kernel, ours } = self;
        write!(f, "{at:.3} ms (line {line}): {kind}: kernel {kernel}; ours {ours}")
    }
}

/// A tick of the recording kernel's clock.
const TICK: Duration = Duration::from_millis(4);

/// The values that differ: the kind, and both values as text.
///
/// The kernel's time-out excludes the back-off of zero window probes, ours includes it.
pub(super) fn infos(
    kernel: &Info,
    ours: &transport::Info,
    bounds: Bounds,
    rto: bool,
) -> Vec<(&'static str, String, String)> {
    let mut differences = Vec::new();
    let mut number = |kind: &'static str, name: &str, a: u32, b: u32, most: Option<u32>| {
        if most.is_some_and(|most| a.abs_diff(b) > most) {
            differences.push((kind, format!("{name} {a}"), format!("{b}")));
        }
    };
    let state = ca_state(ours.congestion_state);
    number("state", "state", kernel.ca.into(), state.into(), bounds.state.then_some(0));
    number("window", "cwnd", kernel.snd_cwnd, ours.window, bounds.window);
    let threshold = ours.slow_start_threshold.unwrap_or(NO_THRESHOLD);
    number("window", "ssthresh", kernel.snd_ssthresh, threshold, bounds.window);
    number("counts", "sacked", kernel.sacked, ours.sacked, bounds.counts);
    number("counts", "lost", kernel.lost, ours.lost, bounds.counts);
    number("counts", "retrans", kernel.retrans, ours.retransmitted, bounds.counts);
    number("counts", "reordering", kernel.reordering, ours.reordering, bounds.counts.map(|_| 0));
    number("counts", "backoff", kernel.backoff, ours.backoff, bounds.counts);
    number("counts", "probes", kernel.probes, ours.probes, bounds.counts);
    number("counts", "timeouts", kernel.rexmits, ours.consecutive_timeouts, bounds.counts);
    let probing = if kernel.unacked == 0 && ours.unsent_bytes > 0 { ours.backoff.min(20) } else { 0 };
    let micros = ((ours.rto.as_nanos() / 1000) >> probing).min(u64::from(u32::MAX)) as u32;
    let kernels = kernel.rto.min(u64::from(u32::MAX)) as u32;
    number("rto", "rto (us)", kernels, micros, rto.then_some((TICK.as_nanos() / 1000) as u32));
    differences
}

/// A segment in the form in which it is compared and shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SegmentShape {
    flags: String,
    seq: u64,
    len: u32,
    /// The number of earlier transmissions; of bare acknowledgments always 0.
    sent_before: u32,
    /// Acknowledgment number and SACK blocks; `None` for data, because the other direction carries none.
    ack: Option<(u64, Vec<(u64, u64)>)>,
    ecn: u8,
}

impl SegmentShape {
    pub(super) fn of_kernel(packet: &Packet, sent_before: u32) -> SegmentShape {
        let mut flags: Vec<char> = packet.flags.chars().filter(|flag| *flag != 'P').collect();
        flags.sort_unstable();
        let bare = packet.len == 0;
        SegmentShape {
            flags: flags.into_iter().collect(),
            seq: packet.seq,
            len: packet.len,
            sent_before: if bare { 0 } else { sent_before },
            ack: bare.then(|| (packet.ack, packet.options.sack.clone())),
            ecn: packet.options.ecn,
        }
    }

    pub(super) fn of_ours(sent: &Sent) -> SegmentShape {
        let segment = &sent.segment;
        let letters = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::ACK, '.'),
        ];
        let mut flags: Vec<char> =
            letters.into_iter().filter(|(flag, _)| segment.flags.has(*flag)).map(|(_, letter)| letter).collect();
        flags.sort_unstable();
        let bare = segment.len == 0;
        SegmentShape {
            flags: flags.into_iter().collect(),
            seq: segment.seq,
            len: segment.len,
            sent_before: if bare { 0 } else { sent.sent_before },
            ack: bare.then(|| (segment.ack, segment.sack.as_slice().to_vec())),
            ecn: match segment.ecn {
                Ecn::NotEct => 0,
                Ecn::Ect1 => 1,
                Ecn::Ect0 => 2,
                Ecn::Ce => 3,
            },
        }
    }
}

impl SegmentShape {
    pub(super) fn is_syn(&self) -> bool {
        self.flags.contains('S')
    }

    /// Whether both carry the same data in the same transmission, whatever their flags.
    pub(super) fn same_data(&self, other: &SegmentShape) -> bool {
        self.seq == other.seq && self.len == other.len && self.sent_before == other.sent_before && self.ack == other.ack
    }
}

impl std::fmt::Display for SegmentShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SegmentShape { flags, seq, len, sent_before, ack, ecn } = self;
        write!(f, "{flags} {seq}:{}({len})", seq + u64::from(*len))?;
        if *sent_before > 0 {
            write!(f, " retransmission {sent_before}")?;
        }
        if let Some((ack, sack)) = ack {
            write!(f, " ack {ack}")?;
            for (start, end) in sack {
                write!(f, " {start}:{end}")?;
            }
        }
        if *ecn > 0 { write!(f, " ecn {ecn}") } else { Ok(()) }
    }
}
