//! Options of a TCP endpoint, the table of profiles that fills in what is not given, and the result.
//!
//! The advertised maximum segment size never counts timestamps (RFC 6691); `mss` here is the payload of a full segment,
//! with them taken off.

mod values;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError};
pub use values::{AvoidanceCounts, ByteCounting, DelayedAck, Dupthresh, EcnMode, FastOpenMode, RtoFloor, RtoRestart};

use crate::congestion::CongestionConfig;
use crate::profile::Profile;

/// The table of profiles: one line for each option, with its value in each of [`Profile::ALL`].
macro_rules! options {
    ($(
        $(#[doc = $doc:literal])* $(#[schemars $range:tt])?
        $name:ident: $type:ty = [$classic:expr, $fack:expr, $ns2:expr, $linux:expr $(,)?];
    )+) => {
        /// TCP: a bulk or interactive byte stream with retransmission and congestion control.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct TcpConfig {
            /// The congestion controller; by default CUBIC, with the constants that the profile's stack has.
            pub congestion: CongestionConfig,
            /// The stack whose rules and defaults apply to every option that is not given.
            pub profile: Profile,
            /// Payload of a full segment; by default what fills the path's default packet.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub mss: Option<Bytes>,
            $(
                $(#[doc = $doc])*
                $(#[schemars $range])?
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )+
        }

        impl Default for TcpConfig {
            fn default() -> Self {
                TcpConfig {
                    congestion: CongestionConfig::default(),
                    profile: Profile::Classic,
                    mss: None,
                    $($name: None,)+
                }
            }
        }

        /// A connection's options, nothing left open.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            /// The congestion controller.
            pub congestion: CongestionConfig,
            /// The stack whose rules apply where no option says otherwise.
            pub profile: Profile,
            /// Payload bytes of a full segment.
            pub mss: u32,
            $($(#[doc = $doc])* pub $name: $type,)+
        }

        impl TcpConfig {
            /// The options with every default filled in; a full packet has `default_packet` bytes unless `mss` is
            /// given.
            pub fn resolve(&self, default_packet: u32) -> Settings {
                let column = self.profile as usize;
                let mut settings = Settings {
                    congestion: self.congestion.resolved(self.profile),
                    profile: self.profile,
                    mss: 0,
                    $($name: self.$name.unwrap_or_else(|| [$classic, $fack, $ns2, $linux][column]),)+
                };
                let fill = match self.profile {
                    Profile::Ns2Linux => NS2_MSS,
                    _ => u64::from(default_packet.saturating_sub(header_bytes(settings.timestamps))),
                };
                if self.ecn.is_none() && settings.congestion.entry().marks().is_some() {
                    settings.ecn = EcnMode::Accurate;
                }
                settings.mss = self.mss.map_or(fill, Bytes::get).clamp(MIN_MSS, MAX_MSS) as u32;
                settings
            }

            /// Returns the configuration with every default filled in, to show what a run uses. A switch of the profile
            /// that cannot work without another is left to the profile: written down it would be refused.
            pub fn resolved(&self, default_packet: u32) -> TcpConfig {
                let settings = self.resolve(default_packet);
                let mut resolved = TcpConfig {
                    congestion: settings.congestion,
                    profile: self.profile,
                    mss: Some(Bytes::new(u64::from(settings.mss))),
                    $($name: Some(settings.$name),)+
                };
                for name in resolved.unmet().map(|(name, _)| name).collect::<Vec<_>>() {
                    $(if name == stringify!($name) { resolved.$name = None; })+
                }
                resolved
            }
        }

        /// The table of profiles as text: for each option its name and its value in each of [`Profile::ALL`].
        pub fn profile_table() -> Vec<(&'static str, [String; 4])> {
            vec![$((
                stringify!($name),
                { let row: [$type; 4] = [$classic, $fack, $ns2, $linux]; row.map(as_written) },
            ),)+]
        }
    };
}

/// A value as a scenario writes it.
fn as_written(value: impl Serialize) -> String {
    serde_json::to_string(&value).expect("options are plain values")
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

options! {
    // option = [classic, fack, ns2-linux, linux]

    /// A connection is opened by a handshake (RFC 9293 section 3.5). Without one both ends are open at once and no time
    /// passes, as between ns-2's one-way agents.
    handshake: bool = [true, true, true, true];
    /// Without a handshake: what an end sends begins with a SYN of its own, a segment without data that is number 0 of
    /// the first window and is lost, repeated and timed as any other. So do ns-2's one-way agents (`syn_ true`,
    /// `delay_growth_ false`). Needs `handshake = false`.
    syn: bool = [false, false, false, false];
    /// As Linux after lost SYNs: the initial window stays after one and is a segment after two, timestamps measure the
    /// round-trip time, and the first four expiries for a SYN come at the initial time-out. Without it one lost SYN
    /// makes the initial window a segment (RFC 5681 section 3.1), the time-out for data 3 s (RFC 6298 (5.7)), and the
    /// time between SYNs doubles.
    linux_handshake: bool = [false, false, false, true];
    /// TCP Fast Open (RFC 7413): data go with the SYN, and are answered with the SYN-ACK, to a host that has given a
    /// cookie. With `true` the first connection of a host to another asks for one, with `"cached"` it has one from an
    /// earlier visit, and `"no-cookie"` needs none. As in Linux a SYN is retransmitted without data.
    fast_open: FastOpenMode = [FastOpenMode::Off, FastOpenMode::Off, FastOpenMode::Off, FastOpenMode::Off];
    /// Selective acknowledgments (RFC 2018); without them loss recovery is NewReno's (RFC 6582).
    sack: bool = [true, true, true, true];
    /// Duplicate SACK (RFC 2883): the receiver reports duplicates, and the sender undoes a reduction when every
    /// retransmission of it turns out to be one (RFC 3708).
    dsack: bool = [false, false, false, true];
    /// Timestamps option (RFC 7323), 12 bytes in every segment.
    timestamps: bool = [true, true, false, true];
    /// Duplicate acknowledgments, or as many segments selectively acknowledged above one, that are taken for a loss;
    /// `"adaptive"` begins with 3 and grows with the reordering that is seen, as in Linux.
    dupthresh: Dupthresh = [Dupthresh::Fixed(3), Dupthresh::Fixed(3), Dupthresh::Fixed(4), Dupthresh::Adaptive];
    /// Forward acknowledgment: what lies `dupthresh` segments below the highest one selectively acknowledged is lost,
    /// however many arrived in between. Assumes a path without reordering.
    fack: bool = [false, true, true, false];
    /// RACK (RFC 8985): what was sent a reordering window before something that has arrived is lost, retransmissions
    /// included. Needs SACK; takes the place of counting.
    rack: bool = [false, false, false, true];
    /// Tail loss probe (RFC 8985 section 7): after two round trips of silence the last segment, or new data, goes as a
    /// probe. Needs SACK.
    tlp: bool = [false, false, false, true];
    /// Transmit Twice (Ciullo, Mellia, Meo 2009): the last segment of a flow, with which all is sent that was written
    /// before the close, goes twice, so that its loss is seldom left to a time-out. The copy asks for no room in the
    /// window.
    transmit_twice: bool = [false, false, false, false];
    /// Transmit FIN (Ciullo, Mellia, Meo 2009): the FIN goes behind the last segment and not with it, also where the
    /// window has no room, and one acknowledgment which shows that the FIN came alone is enough to take the last
    /// segment for lost.
    transmit_fin: bool = [false, false, false, false];
    /// Proportional rate reduction (RFC 6937, RFC 9937): a reduction is spread over a round trip. Without it the window
    /// is at the slow start threshold at once.
    prr: bool = [false, false, false, true];
    /// F-RTO (RFC 5682): after a time-out new data are sent before more is retransmitted, and the time-out is undone if
    /// the originals turn out to have arrived.
    frto: bool = [false, false, false, true];
    /// Eifel (RFC 3522, RFC 4015): a reduction is undone when an acknowledgment echoes a timestamp from before the
    /// retransmission. Needs timestamps.
    eifel: bool = [false, false, false, true];
    /// Send new data on the first duplicate acknowledgments (RFC 3042).
    limited_transmit: bool = [true, true, true, true];
    /// Reduce from the data in flight (RFC 5681 equation (4)); without it from the window, as Linux does.
    reduce_in_flight: bool = [true, true, false, false];
    /// Segments that one acknowledgment may count for in slow start (RFC 3465 L); `"all"` counts what it acknowledges.
    /// After a time-out a number counts one only. Without effect where slow start is that of Linux 2.6.22, as under the
    /// profile `ns2-linux`.
    abc: ByteCounting = [ByteCounting::AtMost(1), ByteCounting::AtMost(1), ByteCounting::AtMost(1), ByteCounting::All];
    /// The unit that opens the window in congestion avoidance, for controllers that add a segment for each window: the
    /// `"bytes"` acknowledged (RFC 3465 section 2.1, which RFC 5681 section 3.1 recommends), or so many
    /// `"acknowledgments"` (RFC 5681 equation (3)), of which delayed ones bring half as many.
    avoidance_counts: AvoidanceCounts = [
        AvoidanceCounts::Bytes, AvoidanceCounts::Bytes, AvoidanceCounts::Bytes, AvoidanceCounts::Bytes,
    ];
    /// Congestion window at the start, in segments (RFC 6928).
    #[schemars(range(min = 1, max = 10_000))]
    initial_window: u32 = [10, 10, 2, 10];
    /// Spread the initial window over the first round trip (draft-sallantin-iccrg-initial-spreading).
    initial_spreading: bool = [false, false, false, false];
    /// Space segments at twice the window per round trip in slow start and 1.2 times it afterwards, as Linux does
    /// behind the queue discipline fq. Controllers that set a rate, such as BBR, pace in any case.
    pacing: bool = [false, false, false, false];
    /// Segmentation offload, as in Linux: new data leave in groups of a millisecond's worth, at least two segments; PSH
    /// ends a group, and what is less than this part of the window (3 is a third) may wait for a larger one
    /// (`tcp_tso_win_divisor`). 0 sends each segment by itself.
    #[schemars(range(max = 1000))]
    offload_divisor: u32 = [0, 0, 0, 3];
    /// Explicit congestion notification, if both ends use it: `true` is RFC 3168, `"accurate"` counts marks (RFC 9768)
    /// and is the default of controllers that ask for the count.
    ecn: EcnMode = [EcnMode::Off, EcnMode::Off, EcnMode::Off, EcnMode::Off];
    /// With accurate feedback: acknowledgments may carry the option with counts of bytes, which shows how often the
    /// count in the header has wrapped.
    ecn_option: bool = [true, true, true, true];
    /// The window starts over after an idle time-out (RFC 5681 section 4.1); in the manner of Linux it halves for each
    /// time-out.
    slow_start_after_idle: bool = [true, true, true, true];
    /// The window shrinks towards what is used while the application sends less than it allows (RFC 2861, as in Linux).
    cwnd_validation: bool = [false, false, false, true];
    /// Whether acknowledgments wait for a second segment, and how long at most; `true` is 40 ms. With `quick_acks` it
    /// is the shortest such time, and adapts to the times between segments as in Linux.
    delayed_ack: DelayedAck = [DelayedAck::Off, DelayedAck::Off, DelayedAck::Off, DelayedAck::After(ms(40))];
    /// With delayed acknowledgments: how many are sent at once at the start, and after a pause, a duplicate or a mark,
    /// as in Linux.
    #[schemars(range(max = 1000))]
    quick_acks: u32 = [0, 0, 0, 16];
    /// Small writes wait while something is unacknowledged (RFC 9293 section 3.7.4).
    nagle: bool = [true, true, true, true];
    /// Floor of the retransmission time-out.
    min_rto: Duration = [ms(200), ms(200), ms(200), ms(200)];
    /// The quantity of which `min_rto` is the floor: the `"variance"` term, as in Linux, or the `"total"`, as in RFC
    /// 6298 and ns-2.
    rto_floor: RtoFloor = [RtoFloor::Variance, RtoFloor::Variance, RtoFloor::Total, RtoFloor::Variance];
    /// The longest retransmission time-out.
    max_rto: Duration = [ms(60_000), ms(60_000), ms(60_000), ms(120_000)];
    /// When the retransmission timer starts anew: when `"new-data"` are acknowledged (RFC 6298 (5.3)); as in `"linux"`,
    /// also when a block acknowledges an original that was sent before the last transmission of the oldest segment; or
    /// at `"every-ack"`, so that it does not expire while duplicates come.
    rto_restart: RtoRestart = [RtoRestart::NewData, RtoRestart::NewData, RtoRestart::EveryAck, RtoRestart::Linux];
    /// The retransmission time-out before the first measurement.
    initial_rto: Duration = [ms(1_000), ms(1_000), ms(3_000), ms(1_000)];
    /// The clock tick to which timers are rounded up (RFC 6298 G); 4 ms is a Linux with HZ = 250, 0 rounds nothing.
    timer_tick: Duration = [ms(0), ms(0), ms(1), ms(4)];
    /// Filter falling deviations of the round-trip time eight times slower and let its variation fall once a window
    /// only, as Linux does, so that a shorter path does not make the time-out longer.
    linux_rtt: bool = [false, false, false, true];
    /// Receive buffer, which is the window offered to the sender.
    receive_buffer: Bytes = [Bytes::new(64 << 20), Bytes::new(64 << 20), Bytes::new(64 << 20), Bytes::new(64 << 20)];
}

/// IPv4 and TCP headers.
const HEADERS: u32 = 40;
/// Timestamps option with its padding.
pub(super) const TIMESTAMPS: u32 = 12;
/// The payload of ns-2's segments.
const NS2_MSS: u64 = 1000;
/// RFC 9293 section 3.7.1 asks for more; smaller segments would be all headers.
const MIN_MSS: u64 = 16;
/// The most that the option of a SYN and the packet's length can express, without headers.
const MAX_MSS: u64 = 65_535 - (HEADERS + TIMESTAMPS) as u64;
/// 65,535 bytes scaled by the largest shift of RFC 7323 section 2.3.
pub const MAX_WINDOW: u64 = 65_535 << 14;

impl Settings {
    /// The maximum segment size that a SYN says, which does not count timestamps (RFC 6691).
    pub(in crate::tcp) fn advertised_mss(&self) -> u32 {
        self.mss + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// Whether losses are found and repaired by ns-2's own rules: the profile is its, and no option asks for another
    /// way.
    pub(in crate::tcp) fn recovers_as_ns2(&self) -> bool {
        let asked = self.rack || self.tlp || self.prr || self.frto || self.eifel || self.dsack;
        let asked = asked || self.rto_restart == RtoRestart::Linux;
        let counts = matches!(self.dupthresh, Dupthresh::Fixed(_)) && self.ecn == EcnMode::Off;
        self.profile == Profile::Ns2Linux && self.sack && self.fack && counts && !asked
    }
}

impl TcpConfig {
    /// Refuses values that no connection can work with.
    ///
    /// # Errors
    /// The field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let outside = |value: u64, low: u64, high: u64| value < low || value > high;
        if let Some(mss) = self.mss.filter(|mss| outside(mss.get(), MIN_MSS, MAX_MSS)) {
            return Err(FieldError::new("mss", format!("{mss} is not from {MIN_MSS} B to {MAX_MSS} B")));
        }
        if let Some(segments) = self.initial_window.filter(|w| outside(u64::from(*w), 1, 10_000)) {
            return Err(FieldError::new("initial_window", format!("{segments} is not from 1 to 10000 segments")));
        }
        if let Some(acks) = self.quick_acks.filter(|acks| *acks > 1000) {
            return Err(FieldError::new("quick_acks", format!("{acks} is not from 0 to 1000")));
        }
        if let Some(divisor) = self.offload_divisor.filter(|divisor| *divisor > 1000) {
            return Err(FieldError::new("offload_divisor", format!("{divisor} is not from 0 to 1000")));
        }
        self.check_timers()?;
        self.check_needs()?;
        let least = self.mss.map_or(4096, Bytes::get);
        if let Some(buffer) = self.receive_buffer.filter(|b| outside(b.get(), least, MAX_WINDOW)) {
            let message = format!("{buffer} is not from {} (a segment) to {} B", Bytes::new(least), MAX_WINDOW);
            return Err(FieldError::new("receive_buffer", message));
        }
        self.congestion.entry().check().map_err(|error| error.within("congestion"))
    }

    fn check_timers(&self) -> Result<(), FieldError> {
        let settings = self.resolve(0);
        let positive = [("initial_rto", settings.initial_rto), ("max_rto", settings.max_rto)];
        if let Some((name, rto)) = positive.iter().find(|(_, rto)| rto.is_zero() || *rto > Duration::from_secs(3600)) {
            return Err(FieldError::new(*name, format!("{rto} is not more than 0 s and at most 1 h")));
        }
        if settings.min_rto.is_zero() || settings.min_rto > settings.max_rto {
            let (min, max) = (settings.min_rto, settings.max_rto);
            return Err(FieldError::new("min_rto", format!("{min} is not more than 0 s and at most max_rto, {max}")));
        }
        if settings.timer_tick > Duration::from_millis(500) {
            let message = format!("{} is more than 500 ms", settings.timer_tick);
            return Err(FieldError::new("timer_tick", message));
        }
        match settings.delayed_ack {
            DelayedAck::After(delay) if delay.is_zero() || delay > Duration::from_millis(500) => {
                let message = format!("{delay} is not more than 0 s and at most 500 ms (RFC 9293 section 3.8.6.3)");
                Err(FieldError::new("delayed_ack", message))
            }
            _ => Ok(()),
        }
    }

    /// A switch that was set by hand and cannot work without another is a mistake; one that the profile sets is simply
    /// off.
    fn check_needs(&self) -> Result<(), FieldError> {
        self.unmet().next().map_or(Ok(()), |(name, message)| Err(FieldError::new(name, message)))
    }

    /// The switches that are given and cannot work, and why.
    fn unmet(&self) -> impl Iterator<Item = (&'static str, String)> {
        let settings = self.resolve(0);
        let needs = [
            ("rack", self.rack, "sack", settings.sack),
            ("tlp", self.tlp, "sack", settings.sack),
            ("dsack", self.dsack, "sack", settings.sack),
            ("fack", self.fack, "sack", settings.sack),
            ("eifel", self.eifel, "timestamps", settings.timestamps),
            ("fast_open", self.fast_open.map(|mode| mode != FastOpenMode::Off), "handshake", settings.handshake),
        ];
        let without = needs.into_iter().filter(|(_, given, _, there)| *given == Some(true) && !there);
        let idle = self.fack == Some(true) && settings.rack;
        let idle = idle.then(|| ("fack", "has no effect with rack: set rack = false".to_owned()));
        let second = self.syn == Some(true) && settings.handshake;
        let second = second.then(|| ("syn", "needs handshake = false".to_owned()));
        without.map(|(name, _, need, _)| (name, format!("needs {need} = true"))).chain(idle).chain(second)
    }

    /// Bytes of a full packet where the default packet has `default_packet` bytes.
    pub fn packet_bytes(&self, default_packet: u32) -> u32 {
        let settings = self.resolve(default_packet);
        settings.mss + header_bytes(settings.timestamps)
    }
}

fn header_bytes(timestamps: bool) -> u32 {
    HEADERS + if timestamps { TIMESTAMPS } else { 0 }
}
