//! The key numbers of a run, as the JSON summary has them. Every name ends in its unit.

use std::collections::BTreeMap;

use access::AccessReport;
use link::LastHopReport;
use serde::Serialize;
use traffic::{VoiceQuality, WebReport};

use super::table::Table;
use crate::files::InputFile;

/// The key numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The title of the scenario.
    pub title: String,
    /// The root of the random streams.
    pub seed: u64,
    /// Simulated time.
    pub simulated_s: f64,
    /// Whether the run was stopped before its end.
    pub partial: bool,
    /// Two runs share it only if the same events happened at the same instants.
    pub digest: String,
    /// What to check before trusting the result.
    pub warnings: Vec<String>,
    /// The files that the scenario names.
    pub inputs: Vec<InputFile>,
    /// One entry for each flow.
    pub flows: Vec<FlowSummary>,
    /// What the users got, one with another.
    pub users: UsersSummary,
    /// The hop from the last satellite to the users.
    pub last_hop: LastHopReport,
    /// The return link; only where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessReport>,
    /// The way to the last satellite.
    pub path: PathSummary,
    /// The radio channel of the last hop.
    pub channel: ChannelSummary,
    /// How many events made up the run.
    pub events: u64,
    /// Where all packets went.
    pub conservation: Conservation,
}

/// The key numbers of a flow. A value that was never observed is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Number of the flow, from 0.
    pub id: u32,
    /// Number of its user, from 0.
    pub user: u32,
    /// Where its data go: `"down"` to the user, or `"up"`.
    pub direction: &'static str,
    /// What it carries.
    pub traffic: String,
    /// The transport.
    pub transport: String,
    /// The congestion controller, if the transport has one.
    pub congestion: Option<String>,
    /// Data that the receiving application got in order, per second between the opening of the flow and the end of the run
    /// (or the last delivery of a finished transfer).
    pub goodput_bps: f64,
    /// Packets with data that the sender sent, retransmissions included.
    pub sent_packets: u64,
    /// Packets with data that arrived at the receiver, duplicates included.
    pub received_packets: u64,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// Fast retransmissions entered (third duplicate acknowledgment, or its equivalent by SACK).
    pub dupack_events: u64,
    /// Expiries of the retransmission timer.
    pub rto_events: u64,
    /// Retransmissions of data of which an earlier copy had been or was later received.
    pub spurious_retransmissions: u64,
    /// Acknowledgments that told the sender nothing new while data were outstanding (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// First transmissions of data that arrived after one that was sent later (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    /// Packets with data that arrived with a congestion mark from the last hop.
    pub marked_packets: u64,
    /// Mean of the round-trip times that the sender measured.
    pub rtt_mean_s: Option<f64>,
    /// Mean time from sending to arrival of packets with data.
    pub one_way_delay_mean_s: Option<f64>,
    /// 95th percentile of it.
    pub one_way_delay_p95_s: Option<f64>,
    /// Mean absolute change of the one-way delay between packets that arrive one after the other, as the published studies
    /// have it.
    pub jitter_s: Option<f64>,
    /// The interarrival jitter of RFC 3550 section 6.4.1, which is a smoothed form of it, mean over the packets.
    pub jitter_rfc3550_s: Option<f64>,
    /// Packets with data lost on the way, of those whose fate is known.
    pub loss_ratio: Option<f64>,
    /// Packets with data lost because a queue was full: before the last hop, before a link of the path, or the terminal's.
    pub lost_overflow: u64,
    /// Packets with data lost because the queue's manager dropped them although there was room.
    pub lost_early: u64,
    /// Packets with data lost because they had waited too long in the queue.
    pub lost_timeout: u64,
    /// Packets with data lost because they could not be decoded.
    pub lost_harq: u64,
    /// Packets with data lost for want of a route.
    pub lost_no_route: u64,
    /// Packets with data lost because another satellite took over their user: on their way, waiting, or half decoded.
    pub lost_handover: u64,
    /// Packets with data lost to collisions on the return link.
    pub lost_collision: u64,
    /// Packets of a voice that arrived after their play-out; `null` if nobody listens.
    pub lost_late: Option<u64>,
    /// Mean opinion score, 1 to 4.5 (ITU-T G.107); `null` if nobody listens, or nothing was to be heard.
    pub mos: Option<f64>,
    /// How the packets that went up got at the return link: `"dedicated"`, a scheme of random access, or both as
    /// `"crdsa+dedicated"`; `null` if none did or there is no return link.
    pub access_kind: Option<String>,
    /// From the opening of the flow to the arrival of its first packet with data; `null` if none arrived.
    pub first_packet_s: Option<f64>,
    /// From the opening of a transfer to the arrival of its last byte; `null` if it has not ended, or has no end.
    pub completion_s: Option<f64>,
    /// The congestion window averaged over time.
    pub cwnd_mean_packets: Option<f64>,
    /// Data delivered in order.
    pub delivered_bytes: u64,
    /// How the score of a voice comes about; only where somebody listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceQuality>,
    /// Pages that were loaded; only for web traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebReport>,
    /// What the proxy did; only where there is one. The other numbers are then those of the connection from the gateway to
    /// the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pep: Option<PepSummary>,
}

/// What the users got, one with another. A user's goodput is all that its flows delivered, per second from the opening of its
/// first flow to the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UsersSummary {
    /// Users for whom a flow has been opened; the others do not count.
    pub count: u64,
    /// Goodput of the user who got least.
    pub goodput_min_bps: f64,
    /// Mean goodput.
    pub goodput_mean_bps: f64,
    /// Goodput of the user who got most.
    pub goodput_max_bps: f64,
    /// Standard deviation of the goodput between users (over n - 1); 0 for one user.
    pub goodput_sd_bps: f64,
    /// Jain's fairness index of the goodput, 1/n to 1 (Jain, Chiu and Hawe 1984); `null` if nobody got anything.
    pub jain: Option<f64>,
}

impl UsersSummary {
    /// Of the goodput of each user.
    pub fn new(goodput_bps: &[f64]) -> UsersSummary {
        if goodput_bps.is_empty() {
            return UsersSummary::default();
        }
        let n = goodput_bps.len() as f64;
        let sum: f64 = goodput_bps.iter().sum();
        let squares: f64 = goodput_bps.iter().map(|goodput| goodput * goodput).sum();
        let mean = sum / n;
        let deviations: f64 = goodput_bps.iter().map(|goodput| (goodput - mean) * (goodput - mean)).sum();
        UsersSummary {
            count: goodput_bps.len() as u64,
            goodput_min_bps: goodput_bps.iter().copied().fold(f64::INFINITY, f64::min),
            goodput_mean_bps: mean,
            goodput_max_bps: goodput_bps.iter().copied().fold(0.0, f64::max),
            goodput_sd_bps: if n > 1.0 { (deviations / (n - 1.0)).sqrt() } else { 0.0 },
            jain: (squares > 0.0).then(|| sum * sum / (n * squares)),
        }
    }
}

/// The proxy of a flow: the connection from the server to the gateway, and what the gateway held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PepSummary {
    /// The congestion controller of the server.
    pub congestion: String,
    /// Packets with data that the server sent, retransmissions included.
    pub sent_packets: u64,
    /// Packets that the server sent again.
    pub retransmitted_packets: u64,
    /// Expiries of the server's retransmission timer.
    pub rto_events: u64,
    /// Mean of the round-trip times that the server measured.
    pub rtt_mean_s: Option<f64>,
    /// Data that reached the gateway.
    pub relayed_bytes: u64,
    /// Most data that the gateway held: arrived from the server and not acknowledged by the user.
    pub held_bytes_max: u64,
}

/// The delay of the way from the source to the user (last link included where the path is a constellation).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSummary {
    /// Shortest one-way delay.
    pub one_way_delay_min_s: Option<f64>,
    /// Mean one-way delay while there was a route.
    pub one_way_delay_mean_s: Option<f64>,
    /// Longest one-way delay.
    pub one_way_delay_max_s: Option<f64>,
    /// Times that another satellite took over the users, or a gateway: the sum of the next two.
    pub handovers: u64,
    /// Times that another satellite took over the users.
    pub user_handovers: u64,
    /// Times that another satellite took over the gateway where the route began before and after.
    pub gateway_handovers: u64,
    /// Changes of the route between the ends.
    pub route_changes: u64,
    /// Share of the time without a route.
    pub outage_ratio: f64,
    /// Lowest elevation at which the users saw the satellite that served them; `null` if the path knows none.
    pub elevation_min_deg: Option<f64>,
    /// Highest one.
    pub elevation_max_deg: Option<f64>,
    /// Largest Doppler shift of the channel's carrier by the motion of that satellite (and of moving users along the path),
    /// either way; `null` without satellite or carrier.
    pub doppler_max_hz: Option<f64>,
    /// Largest rate at which the shift changed while one satellite served, either way.
    pub doppler_rate_max_hz_per_s: Option<f64>,
}

/// The radio channel of the last hop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChannelSummary {
    /// Which model.
    pub kind: &'static str,
    /// Es/N0 of an unobstructed line of sight; where it follows the orbit, the mean of its decibels while a satellite served.
    /// `null` without noise.
    pub reference_snr_db: Option<f64>,
    /// Carrier frequency; `null` if the channel has none.
    pub carrier_hz: Option<f64>,
}

/// Every packet, data and acknowledgments alike, is delivered, dropped or still under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conservation {
    /// Packets that either end of a connection sent.
    pub created: u64,
    /// Packets that arrived at the other end.
    pub delivered: u64,
    /// Packets lost on the way.
    pub dropped: u64,
    /// Packets under way when the run ended.
    pub in_flight: u64,
    /// Lost packets by cause.
    pub dropped_by_reason: BTreeMap<&'static str, u64>,
}

/// One row for each flow.
pub(crate) fn flow_table(flows: &[FlowSummary]) -> Table {
    let mut table = Table::default();
    let observed = |value: fn(&FlowSummary) -> Option<f64>| flows.iter().map(move |f| value(f).unwrap_or(f64::NAN));
    let counted = |value: fn(&FlowSummary) -> u64| flows.iter().map(value);
    table.count("id", counted(|f| u64::from(f.id)));
    table.count("user", counted(|f| u64::from(f.user)));
    table.text("direction", flows.iter().map(|f| f.direction.to_owned()));
    table.text("traffic", flows.iter().map(|f| f.traffic.clone()));
    table.text("transport", flows.iter().map(|f| f.transport.clone()));
    table.text("congestion", flows.iter().map(|f| f.congestion.clone()));
    table.float("goodput_bps", observed(|f| Some(f.goodput_bps)));
    table.count("sent_packets", counted(|f| f.sent_packets));
    table.count("received_packets", counted(|f| f.received_packets));
    table.count("retransmitted_packets", counted(|f| f.retransmitted_packets));
    table.count("dupack_events", counted(|f| f.dupack_events));
    table.count("rto_events", counted(|f| f.rto_events));
    table.count("spurious_retransmissions", counted(|f| f.spurious_retransmissions));
    table.count("duplicate_acks", counted(|f| f.duplicate_acks));
    table.count("reordered_packets", counted(|f| f.reordered_packets));
    table.count("marked_packets", counted(|f| f.marked_packets));
    table.float("rtt_mean_s", observed(|f| f.rtt_mean_s));
    table.float("one_way_delay_mean_s", observed(|f| f.one_way_delay_mean_s));
    table.float("one_way_delay_p95_s", observed(|f| f.one_way_delay_p95_s));
    table.float("jitter_s", observed(|f| f.jitter_s));
    table.float("jitter_rfc3550_s", observed(|f| f.jitter_rfc3550_s));
    table.float("loss_ratio", observed(|f| f.loss_ratio));
    table.count("lost_overflow", counted(|f| f.lost_overflow));
    table.count("lost_early", counted(|f| f.lost_early));
    table.count("lost_timeout", counted(|f| f.lost_timeout));
    table.count("lost_harq", counted(|f| f.lost_harq));
    table.count("lost_no_route", counted(|f| f.lost_no_route));
    table.count("lost_handover", counted(|f| f.lost_handover));
    table.count("lost_collision", counted(|f| f.lost_collision));
    table.float("lost_late", observed(|f| f.lost_late.map(|late| late as f64)));
    table.float("mos", observed(|f| f.mos));
    table.text("access_kind", flows.iter().map(|f| f.access_kind.clone()));
    table.float("first_packet_s", observed(|f| f.first_packet_s));
    table.float("completion_s", observed(|f| f.completion_s));
    table.float("cwnd_mean_packets", observed(|f| f.cwnd_mean_packets));
    table.count("delivered_bytes", counted(|f| f.delivered_bytes));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_compared() {
        let users = UsersSummary::new(&[1.0, 2.0, 3.0]);
        assert_eq!((users.goodput_min_bps, users.goodput_mean_bps, users.goodput_max_bps), (1.0, 2.0, 3.0));
        assert_eq!(users.goodput_sd_bps, 1.0);
        assert!((users.jain.unwrap() - 36.0 / 42.0).abs() < 1e-12);
        // Of n users one gets all: 1/n.
        assert_eq!(UsersSummary::new(&[0.0, 0.0, 0.0, 8.0]).jain, Some(0.25));
        assert_eq!(UsersSummary::new(&[0.0]).jain, None);
    }
}
