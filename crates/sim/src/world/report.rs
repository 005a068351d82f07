//! From a world at its end to a record.

use transport::State;
use units::{Duration, Time};

use super::{Flow, RunError, World};
use crate::record::{Conservation, FlowSummary, PathSummary, Record, Summary, Table, flow_table};
use crate::scenario::ScenarioConfig;

impl World {
    /// The result of the run so far.
    pub(super) fn record(&self, config: &ScenarioConfig, seed: u64, partial: bool) -> Result<Record, RunError> {
        let conservation = self.conservation()?;
        let elapsed = self.now.since(Time::ZERO);
        let flows: Vec<FlowSummary> =
            self.flows.iter().enumerate().map(|(id, flow)| summarise(id as u32, flow, self.now)).collect();
        let last_hop = self.link.report(elapsed);
        let series = self.series.as_ref();
        let series = series.map_or_else(Table::default, |series| series.table(last_hop.harq.decoded_after.len()));
        let summary = Summary {
            title: config.title.clone(),
            seed,
            simulated_s: elapsed.as_secs_f64(),
            partial,
            digest: self.digest.to_string(),
            warnings: self.warnings_of(config, &flows, partial),
            last_hop,
            path: self.path_summary(),
            events: self.digest.events(),
            conservation,
            flows,
        };
        Ok(Record { flows: flow_table(&summary.flows), series, summary })
    }

    /// Counts every packet in two ways: by the world's ledger, and by asking the machines that hold packets.
    fn conservation(&self) -> Result<Conservation, RunError> {
        let dropped_by_reason = self.drops.by_reason();
        let dropped = dropped_by_reason.values().sum();
        let (created, delivered, in_flight) = (self.packets.created(), self.delivered, self.packets.in_flight());
        let held = (self.forward.len() + self.link.in_flight() + self.backward.len()) as u64;
        if created != delivered + dropped + in_flight || held != in_flight {
            return Err(RunError::Conservation(format!(
                "{created} created, {delivered} delivered, {dropped} dropped, {in_flight} under way, {held} held"
            )));
        }
        Ok(Conservation { created, delivered, dropped, in_flight, dropped_by_reason })
    }

    fn path_summary(&self) -> PathSummary {
        let trace = self.path.trace().cut(self.now);
        let elapsed = self.now.since(Time::ZERO).as_secs_f64();
        let seconds = |delay: Option<Duration>| delay.map(|delay| delay.as_secs_f64());
        PathSummary {
            one_way_delay_min_s: seconds(trace.min()),
            one_way_delay_mean_s: seconds(trace.mean()),
            one_way_delay_max_s: seconds(trace.max()),
            handovers: trace.handovers(),
            route_changes: trace.route_changes(),
            outage_ratio: if elapsed > 0.0 { trace.outage().as_secs_f64() / elapsed } else { 0.0 },
        }
    }

    fn warnings_of(&self, config: &ScenarioConfig, flows: &[FlowSummary], partial: bool) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if partial {
            warnings.push(format!("stopped after {} of {}: a partial result", self.now, config.duration));
        }
        if self.drops.no_route > 0 {
            warnings.push(format!("{} packets were lost for want of a route", self.drops.no_route));
        }
        let silent = flows.iter().filter(|flow| flow.received_packets == 0).count();
        if silent > 0 {
            warnings.push(format!("{silent} of {} flows delivered nothing", flows.len()));
        }
        warnings
    }
}

fn summarise(id: u32, flow: &Flow, now: Time) -> FlowSummary {
    let record = &flow.record;
    let counters = flow.sender.as_ref().map(|sender| *sender.counters()).unwrap_or_default();
    let delivered_bytes = flow.receiver.delivered_bytes();
    let finished =
        flow.sender.as_ref().is_some_and(|sender| matches!(sender.info().state, State::FinWait2 | State::Closed));
    let end = if finished { record.last_delivery } else { now };
    let active = end.since(record.opened_at.unwrap_or(end)).as_secs_f64();
    let settled = record.received_packets + record.lost_packets;
    FlowSummary {
        id,
        user: flow.user,
        transport: "tcp".to_owned(),
        congestion: flow.congestion.to_owned(),
        goodput_bps: if active > 0.0 { delivered_bytes as f64 * 8.0 / active } else { 0.0 },
        sent_packets: record.sent_packets,
        received_packets: record.received_packets,
        retransmitted_packets: counters.retransmitted_segments,
        dupack_events: counters.dupack_events,
        rto_events: counters.rto_events,
        spurious_retransmissions: record.spurious.count(),
        rtt_mean_s: (counters.rtt_samples > 0).then(|| counters.rtt_sum.as_secs_f64() / counters.rtt_samples as f64),
        one_way_delay_mean_s: record.delay.mean_s(),
        one_way_delay_p95_s: record.delay.p95_s(),
        jitter_s: record.delay.jitter_s(),
        loss_ratio: (settled > 0).then(|| record.lost_packets as f64 / settled as f64),
        cwnd_mean_packets: record.window.mean(end),
        delivered_bytes,
    }
}
