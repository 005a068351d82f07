//! The key numbers of a run, as the JSON summary has them. Every name ends in its unit.

use std::collections::BTreeMap;

use access::AccessReport;
use link::LastHopReport;
use orbit::DelayTrace;
use units::{Duration, Frequency, SPEED_OF_LIGHT, report};

use super::flow_summary::FlowSummary;
use crate::files::InputFile;

report! {
    /// The key numbers of a run.
    pub struct Summary {
        /// The scenario's title.
        title: String,
        /// Root of every random draw.
        seed: u64,
        /// Simulated time that passed.
        simulated_s: f64,
        /// Whether the run was stopped before its end.
        partial: bool,
        /// A hash over all events, of what is sent over each link and of what becomes of it, each in order. Two runs
        /// have the same one only if the same happened at the same nanoseconds.
        digest: String,
        /// Warnings: what to check before trusting the result.
        warnings: Vec<String>,
        /// The files that the scenario names, in the order of reading.
        inputs: Vec<InputFile>,
        /// One for each flow, and the table `flows.parquet`.
        flows: Vec<Box<FlowSummary>>,
        /// The users' goodput, and how equal it is. A user's goodput is all that its flows delivered, divided by the
        /// time from the opening of its first flow to the end of the run.
        users: UsersSummary,
        /// The hop from the serving satellite to the users, shared by all of them.
        last_hop: LastHopReport,
        /// Only with a [return link](models/return-link.md).
        [optional] access: Option<AccessReport>,
        /// The long way. A constellation's delay reaches from the source's ground to the user's, its last link included
        /// (which in the simulation is the last hop's to delay); a fixed or traced delay is what the scenario gives.
        path: PathSummary,
        /// The radio channel of the last hop.
        channel: ChannelSummary,
        /// How many events made up the run.
        events: u64,
        /// Where all packets went, data and acknowledgments alike. `created` = `delivered` + `dropped` + `in_flight`,
        /// checked at the end of every run.
        conservation: Conservation,
    }
}

impl Summary {
    /// Returns the summary as JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("a summary is JSON")
    }
}

report! {
    /// The users' goodput, and how equal it is.
    #[derive(Copy, Default)]
    pub struct UsersSummary {
        /// How many users: those for whom a flow has been opened.
        count: u64,
        /// Goodput of the user who got least.
        goodput_min_bps: f64,
        /// Mean goodput.
        goodput_mean_bps: f64,
        /// Goodput of the user who got most.
        goodput_max_bps: f64,
        /// Standard deviation between users, over n − 1; 0 for one user.
        goodput_sd_bps: f64,
        /// Jain's fairness index (Σx)²/(n Σx²), 1/n to 1; `null` if nobody got anything. Each user's rate
        /// is over the time to the end of the run: among transfers of equal size that all end the index is near 1. The
        /// flows' `goodput_bps` differs.
        ([0.0, 1.0]) "Jain index" jain: Option<f64>,
    }
}

impl UsersSummary {
    /// Returns the summary of the users' goodputs.
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

report! {
    /// The delay of the way from the source to the user (last link included where the path is a constellation).
    pub struct PathSummary {
        /// The path's shortest one-way delay.
        one_way_delay_min_s: Option<f64>,
        /// Mean over the time with a route.
        one_way_delay_mean_s: Option<f64>,
        /// The path's longest one-way delay.
        one_way_delay_max_s: Option<f64>,
        /// `user_handovers` and `gateway_handovers` together.
        handovers: u64,
        /// Times that another satellite took over the users than the last that served them. Rising and setting without
        /// another is an outage, not a handover.
        user_handovers: u64,
        /// The same for the gateway where the route began, before and after. That the route begins at another gateway
        /// is a change of the route.
        gateway_handovers: u64,
        /// Other changes of the route: the same satellites serve the ends, or it begins at another gateway.
        route_changes: u64,
        /// Share of the time without a route.
        outage_ratio: f64,
        /// How low the users saw the satellite that served them; `null` for paths that know none.
        elevation_min_deg: Option<f64>,
        /// How high the users saw the satellite that served them; `null` for paths that know none.
        elevation_max_deg: Option<f64>,
        /// Largest Doppler shift f·ṙ/c of the channel's carrier, either way, ṙ being the rate of the distance between
        /// users and satellite; `null` without a satellite, or if the channel has no `carrier`.
        (units::report::NEVER_NEGATIVE) doppler_max_hz: Option<f64>,
        /// Largest rate at which the shift changed while one satellite served, either way.
        (units::report::NEVER_NEGATIVE) doppler_rate_max_hz_per_s: Option<f64>,
    }
}

impl PathSummary {
    /// Returns the summary of a path that was followed for `elapsed`; `carrier`: of the channel, if it has one.
    pub(crate) fn of(trace: &DelayTrace, elapsed: Duration, carrier: Option<Frequency>) -> PathSummary {
        let seconds = |delay: Option<Duration>| delay.map(|delay| delay.as_secs_f64());
        let looks = || trace.looks().filter_map(|(_, look)| look);
        let elevations = || looks().map(|look| look.elevation_deg);
        let accelerations = trace.looks().filter_map(|(at, _)| trace.range_acceleration(at));
        let most = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).reduce(f64::max);
        let doppler = |range_rate: f64| Some(range_rate / SPEED_OF_LIGHT * carrier?.as_hz());
        PathSummary {
            one_way_delay_min_s: seconds(trace.min()),
            one_way_delay_mean_s: seconds(trace.mean()),
            one_way_delay_max_s: seconds(trace.max()),
            handovers: trace.handovers(),
            user_handovers: trace.user_handovers(),
            gateway_handovers: trace.gateway_handovers(),
            route_changes: trace.route_changes(),
            outage_ratio: if elapsed > Duration::ZERO {
                trace.outage().as_secs_f64() / elapsed.as_secs_f64()
            } else {
                0.0
            },
            elevation_min_deg: elevations().reduce(f64::min),
            elevation_max_deg: elevations().reduce(f64::max),
            doppler_max_hz: most(&mut looks().map(|look| look.range_rate_mps)).and_then(doppler),
            doppler_rate_max_hz_per_s: most(&mut accelerations.into_iter()).and_then(doppler),
        }
    }
}

report! {
    /// The radio channel of the last hop.
    #[derive(Copy)]
    pub struct ChannelSummary {
        /// Which model.
        kind: &'static str,
        /// Es/N0 of an unobstructed line of sight; where a link budget follows the orbit, the mean of its decibels
        /// while a satellite served. `null` without noise.
        reference_snr_db: Option<f64>,
        /// Whether that Es/N0 changes in the run, so that `reference_snr_db` is a mean.
        reference_varies: bool,
        /// The carrier; `null` if the channel has none.
        carrier_hz: Option<f64>,
    }
}

report! {
    /// Every packet, data and acknowledgments alike, is delivered, dropped or still in flight.
    #[derive(Eq)]
    pub struct Conservation {
        /// Packets that either end of a connection sent.
        created: u64,
        /// Packets that arrived at the other end.
        delivered: u64,
        /// Packets lost on the way.
        dropped: u64,
        /// Packets in flight when the run ended.
        in_flight: u64,
        /// Lost packets by reason.
        dropped_by_reason: BTreeMap<&'static str, u64>,
    }
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
        // One of n users gets all: 1/n.
        assert_eq!(UsersSummary::new(&[0.0, 0.0, 0.0, 8.0]).jain, Some(0.25));
        assert_eq!(UsersSummary::new(&[0.0]).jain, None);
    }
}
