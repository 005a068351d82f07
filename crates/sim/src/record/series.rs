//! Time series: samples of the world at a steady interval, with a bounded memory.

use access::AccessCounts;
use units::{Duration, Time};

use super::table::Table;

/// The most transmissions of a packet that the series tell apart.
pub(crate) const TRANSMISSIONS: usize = 8;

/// What is sampled of one flow. Counters run from the start, so that dropping a sample loses no count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowSample {
    pub(crate) cwnd_packets: f32,
    /// NaN while there is none.
    pub(crate) ssthresh_packets: f32,
    pub(crate) srtt_s: f32,
    pub(crate) rto_s: f32,
    pub(crate) in_flight_packets: f32,
    pub(crate) attenuation_db: f32,
    pub(crate) delivered_bytes: u64,
    pub(crate) retransmitted_packets: u64,
}

impl FlowSample {
    /// A flow whose sender has no window, or none yet.
    pub(crate) fn without_window() -> FlowSample {
        let none = f32::NAN;
        FlowSample { cwnd_packets: none, ssthresh_packets: none, srtt_s: none, rto_s: none, ..FlowSample::default() }
    }
}

/// What is sampled of the way that the flows share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HopSample {
    pub(crate) queue_packets: u32,
    pub(crate) path_delay_s: f32,
    pub(crate) coded_bits: u64,
    pub(crate) decoded_after: [u64; TRANSMISSIONS],
    /// Packets decoded after more transmissions than that.
    pub(crate) decoded_later: u64,
    pub(crate) harq_failed: u64,
    /// How the users see the satellite that serves them.
    pub(crate) look: Option<LookSample>,
    /// The return link, if there is one.
    pub(crate) access: Option<AccessCounts>,
}

/// The satellite that serves the users, as they see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookSample {
    pub(crate) elevation_deg: f32,
    /// NaN without a carrier.
    pub(crate) doppler_hz: f32,
}

/// Samples of a run: one row of flows for each instant.
#[derive(Debug)]
pub(crate) struct Series {
    interval: Duration,
    most: usize,
    times: Vec<Time>,
    hop: Vec<HopSample>,
    /// `flows` samples for each instant.
    samples: Vec<FlowSample>,
    flows: usize,
}

impl Series {
    /// Series of `flows` flows with at most `most` instants; an even number, so that thinning keeps the interval even.
    pub(crate) fn new(interval: Duration, most: usize, flows: usize) -> Series {
        let most = most & !1;
        Series { interval, most, times: Vec::new(), hop: Vec::new(), samples: Vec::new(), flows }
    }

    /// Adds one instant: the hop, then each flow in order. Beyond the most, every other instant is dropped.
    pub(crate) fn add(&mut self, now: Time, hop: HopSample, flows: impl Iterator<Item = FlowSample>) {
        if self.times.len() >= self.most {
            self.thin_out();
        }
        self.times.push(now);
        self.hop.push(hop);
        self.samples.extend(flows);
        assert_eq!(self.samples.len(), self.times.len() * self.flows, "a sample of each flow at each instant");
    }

    /// When the next sample is due after one at `now`.
    pub(crate) fn next(&self, now: Time) -> Time {
        now + self.interval
    }

    /// Drops every other instant, the first one stays.
    fn thin_out(&mut self) {
        let keep = self.times.len().div_ceil(2);
        for i in 1..keep {
            self.times[i] = self.times[2 * i];
            self.hop[i] = self.hop[2 * i];
            self.samples.copy_within(2 * i * self.flows..(2 * i + 1) * self.flows, i * self.flows);
        }
        self.times.truncate(keep);
        self.hop.truncate(keep);
        self.samples.truncate(keep * self.flows);
        self.interval = self.interval * 2;
    }

    /// One row for each instant and flow. Rates and counts are those of the interval that ends at the instant.
    pub(crate) fn table(&self, transmissions: usize) -> Table {
        let flows = self.flows;
        let rows = || (0..self.times.len()).flat_map(move |i| (0..flows).map(move |f| (i, f)));
        let flow = |i: usize, f: usize| &self.samples[i * flows + f];
        let gauge = |value: fn(&FlowSample) -> f32| rows().map(move |(i, f)| f64::from(value(flow(i, f))));
        let since = |i: usize| self.times[i].since(if i == 0 { Time::ZERO } else { self.times[i - 1] }).as_secs_f64();
        let bps = |i: usize, bits: u64| if since(i) > 0.0 { bits as f64 / since(i) } else { 0.0 };
        let hop_change = |i: usize, value: &dyn Fn(&HopSample) -> u64| {
            value(&self.hop[i]) - if i == 0 { 0 } else { value(&self.hop[i - 1]) }
        };
        let flow_change = |i: usize, f: usize, value: fn(&FlowSample) -> u64| {
            value(flow(i, f)) - if i == 0 { 0 } else { value(flow(i - 1, f)) }
        };

        let mut table = Table::default();
        table.float("time_s", rows().map(|(i, _)| self.times[i].as_secs_f64()));
        table.count("flow", rows().map(|(_, f)| f as u64));
        table.float("goodput_bps", rows().map(|(i, f)| bps(i, 8 * flow_change(i, f, |s| s.delivered_bytes))));
        table.float("cwnd_packets", gauge(|s| s.cwnd_packets));
        table.float("ssthresh_packets", gauge(|s| s.ssthresh_packets));
        table.float("srtt_s", gauge(|s| s.srtt_s));
        table.float("rto_s", gauge(|s| s.rto_s));
        table.float("in_flight_packets", gauge(|s| s.in_flight_packets));
        table.count("retransmitted_packets", rows().map(|(i, f)| flow_change(i, f, |s| s.retransmitted_packets)));
        table.float("path_delay_s", rows().map(|(i, _)| f64::from(self.hop[i].path_delay_s)));
        table.count("queue_packets", rows().map(|(i, _)| u64::from(self.hop[i].queue_packets)));
        table.float("coded_bps", rows().map(|(i, _)| bps(i, hop_change(i, &|h| h.coded_bits))));
        table.float("attenuation_db", gauge(|s| s.attenuation_db));
        for (n, name) in DECODED_AFTER.iter().enumerate().take(transmissions) {
            table.count(name, rows().map(|(i, _)| hop_change(i, &|h| h.decoded_after[n])));
        }
        if transmissions > TRANSMISSIONS {
            table.count("decoded_later", rows().map(|(i, _)| hop_change(i, &|h| h.decoded_later)));
        }
        table.count("harq_failed", rows().map(|(i, _)| hop_change(i, &|h| h.harq_failed)));
        if self.hop.iter().any(|hop| hop.look.is_some()) {
            let look = |value: fn(LookSample) -> f32| {
                rows().map(move |(i, _)| self.hop[i].look.map_or(f64::NAN, |look| f64::from(value(look))))
            };
            table.float("elevation_deg", look(|look| look.elevation_deg));
            table.float("doppler_hz", look(|look| look.doppler_hz));
        }
        if self.hop.iter().any(|hop| hop.access.is_some()) {
            let state = |i: usize| self.hop[i].access.unwrap_or_default();
            let counted = |value: fn(AccessCounts) -> u64| {
                rows().map(move |(i, _)| value(state(i)) - if i == 0 { 0 } else { value(state(i - 1)) })
            };
            table.count("random_packets", counted(|a| a.random_packets));
            table.count("random_lost", counted(|a| a.random_lost));
            table.count("random_slots", counted(|a| a.random_slots));
            table.count("granted_slots", counted(|a| a.granted_slots));
            table.count("used_slots", counted(|a| a.used_slots));
            table.count("waiting_datagrams", rows().map(|(i, _)| state(i).waiting_datagrams));
        }
        table
    }
}

const DECODED_AFTER: [&str; TRANSMISSIONS] = [
    "decoded_after_1",
    "decoded_after_2",
    "decoded_after_3",
    "decoded_after_4",
    "decoded_after_5",
    "decoded_after_6",
    "decoded_after_7",
    "decoded_after_8",
];

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;

    fn floats<'a>(table: &'a Table, name: &str) -> &'a [f64] {
        match &table.columns.iter().find(|c| c.0 == name).expect(name).1 {
            Column::Float(values) => values,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn thinning_out_bounds_the_memory_and_loses_no_count() {
        let mut series = Series::new(Duration::from_millis(100), 17, 2);
        let (mut now, mut step) = (Time::ZERO, 0);
        while now < Time::ZERO + Duration::from_secs(1000) {
            let flow = |f: u64| FlowSample { delivered_bytes: step * (f + 1), ..FlowSample::default() };
            series.add(now, HopSample { coded_bits: 10 * step, ..HopSample::default() }, (0..2).map(flow));
            now = series.next(now);
            step += 1;
        }
        let table = series.table(4);
        let times = floats(&table, "time_s");
        assert!(times.len() <= 2 * 16 && times.len() >= 2 * 8, "{} rows", times.len());
        let spacing = times[2] - times[0];
        assert!(times.windows(3).step_by(2).all(|w| (w[2] - w[0] - spacing).abs() < 1e-9), "an even interval");
        let total: f64 = floats(&table, "goodput_bps").chunks(2).map(|flows| flows[1] * spacing / 8.0).sum();
        let end = series.samples.last().unwrap().delivered_bytes as f64;
        assert!((total - end).abs() < 1e-6, "{total} of {end} bytes");
    }
}
