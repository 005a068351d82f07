//! The columns of flows: name, meaning, label, and how each is made.

use std::borrow::Cow;

use traffic::Experience;
use transport::{Counters, Ended, Lifetime};
use units::report::Reported;
use units::{Bytes, Duration, Time};

use super::drops::Lost;
use super::flow::FlowRecord;
use super::member::{key, write_object};
use super::pep_summary::PepSummary;
use super::table::{Cell, Table};

/// Flows of which all columns are made before those of the next: they fit into a processor's cache.
const PART: usize = 256;

/// The facts from which the columns of a flow are made.
pub(crate) struct FlowFacts<'a> {
    pub(crate) id: u32,
    pub(crate) user: u32,
    pub(crate) upload: bool,
    pub(crate) traffic: &'static str,
    pub(crate) transport: &'static str,
    pub(crate) congestion: Option<Cow<'static, str>>,
    pub(crate) record: &'a FlowRecord,
    /// The 95th and the 99th percentile of the one-way delay.
    pub(crate) delays_s: [Option<f64>; 2],
    /// The counters of the end that sends the data.
    pub(crate) counters: Counters,
    pub(crate) delivered_bytes: u64,
    /// What the transfer is to bring, where the source knows.
    pub(crate) size: Option<Bytes>,
    /// The end of the run.
    pub(crate) now: Time,
    /// Whether all of a transfer has arrived, as the receiver knows.
    pub(crate) closed: bool,
    /// Whether the sender knows it, or sends no more datagrams.
    pub(crate) finished: bool,
    pub(crate) access_kind: Option<String>,
    /// The report of its listener or, at the first flow of an application, of its source.
    pub(crate) experience: Option<Box<Experience>>,
    /// The connections' ends and reopenings at both ends, where the transport may end connections.
    pub(crate) lifetimes: Option<[&'a Lifetime; 2]>,
    pub(crate) pep: Option<PepSummary>,
}

impl FlowFacts<'_> {
    /// From the opening to the end of the run, or to the last delivery of what has ended.
    fn active(&self) -> Duration {
        let end = if self.closed || self.finished { self.record.last_delivery } else { self.now };
        end.since(self.record.opened_at.unwrap_or(end))
    }

    fn mean_window(&self) -> Option<f64> {
        let last_change = self.record.window.value_from().max(self.record.last_delivery);
        self.record.window.mean(if self.finished { last_change } else { self.now })
    }

    fn loss_ratio(&self) -> Option<f64> {
        let lost = self.record.lost_packets();
        let settled = self.record.received_packets + lost;
        (settled > 0).then(|| lost as f64 / settled as f64)
    }

    /// Returns the value of a key of the application's report, whatever its kind; `None` where it has no such key, or
    /// no value.
    fn reported(&self, key: &str) -> Option<f64> {
        debug_assert!(Experience::has_key(key), "no report has {key}");
        let value = self.experience.as_deref()?.number_of(key);
        (!value.is_nan()).then_some(value)
    }

    fn reported_count(&self, key: &str) -> Option<u64> {
        self.reported(key).map(|count| count as u64)
    }

    /// The larger count of the two ends.
    fn most(&self, count: fn(&Lifetime) -> u64) -> Option<u64> {
        self.lifetimes?.into_iter().map(count).max()
    }

    /// The first end of a connection by its library, as the end knew that learned it first.
    fn first_end(&self) -> Option<&Ended> {
        Lifetime::first_end(self.lifetimes?)
    }

    fn resumption_s(&self) -> Option<f64> {
        let [sender, receiver] = self.lifetimes?;
        mean_s(sender.resumption + receiver.resumption, sender.resumptions + receiver.resumptions)
    }

    /// Returns the time from the flow's opening to `to`, if both are known.
    fn since_opening(&self, to: Option<Time>) -> Option<f64> {
        Some(to?.since(self.record.opened_at?).as_secs_f64())
    }
}

/// Declares the columns of flows: a line of [`units::report!`] for each, with how it is made from [`FlowFacts`]. A line
/// without that is the value of its key in the application's report.
macro_rules! flow_columns {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $([$how:ident])? $(($scale:expr))? $($label:literal)?
            $field:ident: $type:ty $(= $made:expr)?;)+
    }) => {
        units::report! {
            $(#[$meta])*
            pub struct $name { $($(#[doc = $doc])+ $([$how])? $(($scale))? $($label)? $field: $type),+ }
        }

        impl $name {
            pub(crate) fn of(facts: &FlowFacts<'_>) -> Box<$name> {
                Box::new($name {
                    $($field: made!(facts, $field: $type $(= $made)?)),+
                })
            }

            /// Appends its JSON. The members are those of `Serialize`, which searches each key for characters to
            /// escape.
            pub(super) fn write_json(&self, text: &mut Vec<u8>) {
                write_object(text, |text| {
                    $(if true $(&& is_written!($how, self.$field))? {
                        self.$field.write(text, key!(stringify!($field)));
                    })+
                });
            }
        }

        /// One row for each flow.
        pub(super) fn flow_table(flows: &[Box<$name>]) -> Table {
            let of = |flows: &[Box<$name>]| {
                let mut table = Table::default();
                $(<$type as Cell>::add(&mut table, stringify!($field), flows.iter().map(|flow| &flow.$field));)+
                table
            };
            let mut table = of(&[]);
            flows.chunks(PART).for_each(|part| table.append(of(part)));
            table
        }

        /// One row for each flow that has a report: see [`Cell::reports`].
        pub(super) fn report_table(flows: &[Box<$name>], report: &str) -> Option<Table> {
            $(if let Some(table) =
                <$type as Cell>::reports(report, stringify!($field), flows.iter().map(|flow| (flow.id, &flow.$field)))
            {
                return Some(table);
            })+
            None
        }
    };
}

/// The value of a column of flows, as [`flow_columns!`] says it.
macro_rules! made {
    ($facts:ident, $field:ident: $type:ty) => {
        $facts.reported(stringify!($field))
    };
    ($facts:ident, $field:ident: $type:ty = $made:expr) => {{
        let made: fn(&FlowFacts<'_>) -> $type = $made;
        made($facts)
    }};
}

/// Whether a key is written, as [`units::report!`] says it.
macro_rules! is_written {
    (optional, $value:expr) => {
        $value.is_some()
    };
    (flat, $value:expr) => {
        true
    };
}

flow_columns! {
    /// The key numbers of a flow. A value that was never observed is `null`.
    pub struct FlowSummary {
        /// Number of the flow, from 0.
        "Flow" id: u32 = |f| f.id;
        /// Number of the user at its end. Each has a channel and a terminal of its own.
        user: u32 = |f| f.user;
        /// Where its data go: `down` to the user, or `up` over the [return link](models/return-link.md).
        direction: &'static str = |f| if f.upload { "up" } else { "down" };
        /// The flow's traffic: the kind of `flows.N.traffic`.
        traffic: &'static str = |f| f.traffic;
        /// The kind of its transport over the satellites: `tcp`, `udp`, `quic` or `external`.
        transport: &'static str = |f| f.transport;
        /// The congestion controller, one of the user's own by its name; `null` for `udp` and `external`.
        "Congestion controller" congestion: Option<Cow<'static, str>> = |f| f.congestion.clone();
        /// Data that the receiving application got, in order and once (of UDP: what arrived), divided by the time from
        /// the opening of the flow to the end of the run (or to the last delivery of a finished transfer or call).
        /// Headers and retransmissions do not count.
        goodput_bps: f64 = |f| f.active().per_second(f.delivered_bytes as f64 * 8.0);
        /// Packets with data that the sender sent, retransmissions included.
        "Packets sent" sent_packets: u64 = |f| f.record.sent_packets;
        /// Packets with data that arrived at the receiver, duplicates and late ones included, whether or not the
        /// receiver could use them.
        "Packets received" received_packets: u64 = |f| f.record.received_packets;
        /// Packets with data (or the final FIN) retransmitted, for whatever reason; a repeated SYN does not count. Of
        /// QUIC, packets with data that had been sent before.
        "Retransmitted packets" retransmitted_packets: u64 = |f| f.counters.retransmitted_segments;
        /// Times the sender entered fast retransmit: the third duplicate acknowledgment, or as many segments
        /// selectively acknowledged (RFC 6675). Of QUIC, reductions for a loss (RFC 9002 section 7.3.2).
        "Fast retransmits" dupack_events: u64 = |f| f.counters.dupack_events;
        /// Expiries of the retransmission timer; of QUIC, times of persistent congestion (RFC 9002 section 7.6).
        "Timeouts" rto_events: u64 = |f| f.counters.rto_events;
        /// Retransmitted packets with data of which an earlier copy had been, or was later, received: nothing had been
        /// lost, only late. A copy that the receiver refuses without having its data is not received: by PAWS, or of
        /// QUIC before it has the keys.
        spurious_retransmissions: u64 = |f| f.record.spurious();
        /// Acknowledgments that reached the sender after data beyond them had been sent and that repeat acknowledgment
        /// number and window of the one before, without data, SYN or FIN (RFC 5681 section 2).
        "Duplicate acknowledgments" duplicate_acks: u64 = |f| f.record.order.duplicate_acks();
        /// First transmissions that arrived after data that follow theirs, or after a copy of theirs (RFC 4737 section
        /// 3.3). Of other transports than TCP the numbers of packets with data stand for places in them.
        "Packets reordered" reordered_packets: u64 = |f| f.record.order.reordered();
        /// Packets with data that reached the receiver with a congestion mark from the last hop.
        "Packets marked" marked_packets: u64 = |f| f.record.marked_packets;
        /// Mean time that its packets with data waited in the queue of the last hop before they were first sent; only
        /// with `record.queue_delays`.
        "Mean wait in the queue" queue_delay_mean_s: Option<f64> =
            |f| f.record.queue.as_ref().map(|queue| queue.mean_s());
        /// The median of it, rounded up to three digits, by 0.1 % at most.
        "Wait in the queue, median" queue_delay_p50_s: Option<f64> =
            |f| f.record.queue.as_ref()?.quantile_s(0.5);
        /// The 99th percentile of it, rounded likewise.
        "Wait in the queue, 99 %" queue_delay_p99_s: Option<f64> =
            |f| f.record.queue.as_ref()?.quantile_s(0.99);
        /// Mean [round-trip time](models/tcp.md#round-trip-times): at each acknowledgment the age of the newest packet
        /// that it is the first to report; of QUIC only where that is the newest of all (RFC 9002 section 5.1). The
        /// `srtt_s` of TCP follows the oldest, so that delayed acknowledgments count in.
        "Mean RTT" rtt_mean_s: Option<f64> = |f| mean_s(f.counters.rtt_sum, f.counters.rtt_samples);
        /// Mean time of packets with data from the moment they are sent to their arrival at the receiver's transport:
        /// path, queue, last hop, HARQ and reordering included. Packets that never arrive do not count.
        "Mean one-way delay" one_way_delay_mean_s: Option<f64> = |f| f.record.delay.mean_s();
        /// The 95th percentile of it, in whole microseconds; of more than 4096 packets rounded likewise.
        "One-way delay, 95 %" one_way_delay_p95_s: Option<f64> = |f| f.delays_s[0];
        /// The 99th percentile of it, in whole microseconds; of more than 4096 packets rounded likewise.
        "One-way delay, 99 %" one_way_delay_p99_s: Option<f64> = |f| f.delays_s[1];
        /// Mean absolute difference between the one-way delays of packets that arrive one after the other: the jitter
        /// of the published studies.
        jitter_s: Option<f64> = |f| f.record.delay.jitter_s();
        /// The interarrival jitter of RFC 3550 section 6.4.1, J ← J + (|D| − J)/16 with D that difference, as the mean
        /// of J over the packets.
        "Interarrival jitter" jitter_rfc3550_s: Option<f64> = |f| f.record.delay.interarrival_jitter_s();
        /// Packets with data lost on the way, as a share of those whose fate is known at the end of the run.
        "Packets lost" loss_ratio: Option<f64> = |f| f.loss_ratio();
        /// The lost packets by reason.
        [flat] lost: Lost = |f| f.record.lost();
        /// Packets of a call that arrived after they should have been played; they are not in `loss_ratio`. `null`
        /// where nobody listens.
        "Packets late" lost_late: Option<u64> = |f| f.reported_count("late_packets");
        /// Mean opinion score, 1 to 5 at most: of [voice](models/voice-quality.md) by the E-model, of
        /// [video](models/video.md) by its stalls, of a [game](models/game.md) by delay and jitter. `null` for other
        /// traffic, and where nothing was sent or played. Scores of different kinds do not compare.
        ([1.0, 5.0]) mos: Option<f64>;
        /// Time from the opening of a video's connection to the first picture; `null` without one.
        "Start-up delay" startup_s: Option<f64>;
        /// Times that the picture of a video stood still because the buffer was empty.
        "Stalls" rebuffers: Option<u64> = |f| f.reported_count("rebuffers");
        /// Total time for which the picture of a video stood still.
        "Time in stalls" rebuffer_s: Option<f64>;
        /// Share of `rebuffer_s` in the time from the first picture to the end of the video or the run.
        "Share of time in stalls" rebuffer_ratio: Option<f64>;
        /// Mean bit rate of what was played of adaptive video.
        "Bit rate of the video" bitrate_mean_bps: Option<f64>;
        /// Changes of that bit rate.
        "Changes of the bit rate" bitrate_switches: Option<u64> = |f| f.reported_count("switches");
        /// Mean quality of experience of a segment of adaptive video, by the linear model of Yin and others (2015).
        "Quality of experience" qoe: Option<f64>;
        /// From the capture of a live frame to its showing, mean over the frames shown.
        "Latency to live" latency_mean_s: Option<f64>;
        /// The 95th percentile of it.
        "Latency to live, 95 %" latency_p95_s: Option<f64>;
        /// Of live video, the share of frames that were not there when they were to be shown; of a game, the share of
        /// updates and commands that arrived later than its `bound` or not at all.
        "Late or lost" late_ratio: Option<f64>;
        /// Of a game: from sending a command to the first update made with it, the 95th percentile.
        "Response time, 95 %" response_p95_s: Option<f64>;
        /// The 99th percentile of it.
        "Response time, 99 %" response_p99_s: Option<f64>;
        /// How the packets that went up, data or acknowledgments, got at the return link: `dedicated`, a scheme of
        /// random access, or both as `crdsa+dedicated`; `null` without a return link.
        "Access" access_kind: Option<String> = |f| f.access_kind.clone();
        /// When the flow was opened; `null` if it was not, as connections that a browser does not need.
        "Opened at" opened_s: Option<f64> = |f| f.record.opened_at.map(|at| at.as_secs_f64());
        /// Time from the opening of the flow to the arrival of the first packet with data that goes in its direction
        /// (of web traffic: of a response); `null` if none arrived.
        "First packet" first_packet_s: Option<f64> = |f| f.since_opening(f.record.first_delivery);
        /// Time from the opening of a transfer to the arrival of its last byte; `null` if it has no end, or had not
        /// ended.
        "Completed after" completion_s: Option<f64> =
            |f| f.since_opening(Some(f.record.last_delivery).filter(|_| f.closed));
        /// The congestion window, averaged over time: from the first that the sender has to the end of the run, or
        /// where all has been acknowledged to the last delivery or, if that is later, the window's last change.
        "Mean window" cwnd_mean_packets: Option<f64> = |f| f.mean_window();
        /// Connections of [QUIC](quic.md#when-a-connection-ends) that ended before the application closed them, by an
        /// idle time-out or an error.
        [optional] "Connections ended" ended_connections: Option<u64> = |f| f.most(|end| end.ends);
        /// Why the first of them did: `idle-timeout`, `replaced` (the client had opened another), or an error of RFC
        /// 9000 section 20.1 such as `internal-error`.
        [optional] end_cause: Option<String> = |f| Some(f.first_end()?.cause.to_string());
        /// Time from the opening of the flow to that end.
        [optional] "First end of a connection" ended_after_s: Option<f64> =
            |f| f.since_opening(Some(f.first_end()?.at));
        /// Connections that the client opened after one had ended.
        [optional] "Connections reopened" reopened_connections: Option<u64> = |f| f.most(|end| end.reopened);
        /// Mean time from the opening of such a connection to the first data that arrive at the client.
        [optional] "Time to resume" resumption_s: Option<f64> = |f| f.resumption_s();
        /// New addresses of the client that the server of a QUIC connection has validated (RFC 9000 section 9).
        [optional] "Migrations" migrations: Option<u64> = |f| f.most(|end| end.migrations);
        /// Bytes of a transfer, whether or not it has ended; `null` for traffic that has no end, or does not know
        /// its size when it begins.
        "Size" size_bytes: Option<u64> = |f| f.size.map(Bytes::get);
        /// The data of `goodput_bps`.
        "Data delivered" delivered_bytes: u64 = |f| f.delivered_bytes;
        /// The report of the application, under the key of its kind.
        [flat] experience: Option<Box<Experience>> = |f| f.experience.clone();
        /// The work of the [proxy](models/pep.md), only for a flow that has one. The other keys of the flow are then
        /// those of the connection over the satellites; delivered bytes, goodput, completion and what the application
        /// reports are those of its own two ends.
        [optional] pep: Option<Box<PepSummary>> = |f| f.pep.clone().map(Box::new);
    }
}

pub(crate) fn mean_s(sum: Duration, count: u64) -> Option<f64> {
    (count > 0).then(|| sum.as_secs_f64() / count as f64)
}
