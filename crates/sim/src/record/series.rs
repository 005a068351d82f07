//! Time series: samples of the world at a steady interval, with a bounded memory.

use access::AccessCounts;
use traffic::AppSample;
use units::report::Line;
use units::{Duration, Time};

use super::table::Table;

/// The most transmissions of a packet that the series distinguish.
pub(crate) const TRANSMISSIONS: usize = 8;

/// A sample of one flow. Counters run from the start, so that dropping a sample loses no count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowSample {
    pub(crate) cwnd_packets: f32,
    /// NaN while there is none.
    pub(crate) ssthresh_packets: f32,
    pub(crate) srtt_s: f32,
    pub(crate) rto_s: f32,
    pub(crate) in_flight_packets: f32,
    pub(crate) attenuation_db: f32,
    /// NaN where none is known.
    pub(crate) queue_delay_s: f32,
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

/// A sample of the links that the flows share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HopSample {
    pub(crate) queue_packets: u32,
    /// Over all users.
    pub(crate) reordering_packets: u32,
    pub(crate) path_delay_s: f32,
    pub(crate) coded_bits: u64,
    pub(crate) decoded_after: [u64; TRANSMISSIONS],
    /// Packets decoded after more transmissions than that.
    pub(crate) decoded_later: u64,
    pub(crate) harq_failed: u64,
    /// Whether it is noted how long packets wait in the queue.
    pub(crate) queue_delays: bool,
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
    /// The applications of these flows; empty as long as none has a state.
    states: Vec<AppSample>,
    flows: usize,
}

impl Series {
    /// Series of `flows` flows over `duration` with at most `most` instants; an even number, so that thinning keeps the
    /// interval even.
    pub(crate) fn new(interval: Duration, duration: Duration, most: usize, flows: usize) -> Series {
        let most = most & !1;
        let instants = (duration.as_nanos() / interval.as_nanos() + 1).min(most as u64) as usize;
        Series {
            interval,
            most,
            times: Vec::with_capacity(instants),
            hop: Vec::with_capacity(instants),
            samples: Vec::with_capacity(instants * flows),
            states: Vec::new(),
            flows,
        }
    }

    /// Adds one instant: the hop, then each flow and its application in order. Beyond the most, every other instant is
    /// dropped.
    pub(crate) fn add(&mut self, now: Time, hop: HopSample, flows: impl Iterator<Item = (FlowSample, AppSample)>) {
        if self.times.len() >= self.most {
            self.thin_out();
        }
        self.times.push(now);
        // The time of a burst is rounded up: at its first instant more than the whole burst may be left.
        let sent_before = self.hop.last().map_or(0, |before| before.coded_bits);
        self.hop.push(HopSample { coded_bits: hop.coded_bits.max(sent_before), ..hop });
        for (flow, state) in flows {
            if state.is_known() || !self.states.is_empty() {
                self.states.resize(self.samples.len(), AppSample::NONE);
                self.states.push(state);
            }
            self.samples.push(flow);
        }
        assert_eq!(self.samples.len(), self.times.len() * self.flows, "a sample of each flow at each instant");
    }

    /// When the next sample is due after one at `now`.
    pub(crate) fn next(&self, now: Time) -> Time {
        now + self.interval
    }

    /// Drops every other instant of the series, the first one stays.
    fn thin_out(&mut self) {
        let keep = self.times.len().div_ceil(2);
        for i in 1..keep {
            self.times[i] = self.times[2 * i];
            self.hop[i] = self.hop[2 * i];
            let kept = 2 * i * self.flows..(2 * i + 1) * self.flows;
            self.samples.copy_within(kept.clone(), i * self.flows);
            if !self.states.is_empty() {
                self.states.copy_within(kept, i * self.flows);
            }
        }
        self.times.truncate(keep);
        self.hop.truncate(keep);
        self.samples.truncate(keep * self.flows);
        self.states.truncate(keep * self.flows);
        self.interval = self.interval * 2;
    }

    /// One row for each instant and flow. Rates and counts are those of the interval that ends at the instant.
    pub(crate) fn table(&self, transmissions: usize) -> Table {
        // A list, so that each column knows its length before it is made.
        let of_instant =
            |instant| (0..self.flows as u32).map(move |number| SeriesRow { series: self, instant, number });
        let rows: Vec<SeriesRow> = (0..self.times.len() as u32).flat_map(of_instant).collect();
        let mut table = Table::default();
        for SeriesColumn { line, only_with, made } in COLUMNS {
            if !only_with.holds(self) {
                continue;
            }
            match *made {
                ColumnSource::Float(made) => table.float(line.name, rows.iter().map(made)),
                ColumnSource::Count(made) => table.count(line.name, rows.iter().map(made)),
                ColumnSource::CountOfEach(names, made) => {
                    for (n, name) in names.iter().enumerate().take(transmissions) {
                        table.count(name, rows.iter().map(|row| made(row, n)));
                    }
                }
                ColumnSource::CountBeyond(made) if transmissions > TRANSMISSIONS => {
                    table.count(line.name, rows.iter().map(made));
                }
                ColumnSource::CountBeyond(_) => {}
            }
        }
        for &(line, state) in AppSample::STATES {
            if self.states.iter().any(|sample| !state(sample).is_nan()) {
                table.float(line.name, rows.iter().map(|row| state(&row.state()).into()));
            }
        }
        table
    }
}

/// An instant and flow of the series, each by its number.
#[derive(Clone, Copy)]
struct SeriesRow<'a> {
    series: &'a Series,
    instant: u32,
    number: u32,
}

impl SeriesRow<'_> {
    fn place(&self) -> usize {
        self.instant as usize * self.series.flows + self.number as usize
    }

    fn time(&self) -> Time {
        self.series.times[self.instant as usize]
    }

    fn flow(&self) -> &FlowSample {
        &self.series.samples[self.place()]
    }

    fn state(&self) -> AppSample {
        self.series.states.get(self.place()).copied().unwrap_or(AppSample::NONE)
    }

    fn hop(&self) -> &HopSample {
        &self.series.hop[self.instant as usize]
    }

    fn access(&self) -> AccessCounts {
        self.hop().access.unwrap_or_default()
    }

    fn look(&self, value: fn(LookSample) -> f32) -> f64 {
        self.hop().look.map_or(f64::NAN, |look| f64::from(value(look)))
    }

    /// Returns the row of the same flow an instant before; none at the first.
    fn before(&self) -> Option<Self> {
        Some(SeriesRow { instant: self.instant.checked_sub(1)?, ..*self })
    }

    /// Returns how much a counter grew in the interval.
    fn grown(&self, counter: impl Fn(&Self) -> u64) -> u64 {
        counter(self) - self.before().map_or(0, |before| counter(&before))
    }

    /// Bits per second of the interval.
    fn bps(&self, bits: u64) -> f64 {
        let from = self.before().map_or(Time::ZERO, |before| before.time());
        self.time().since(from).per_second(bits as f64)
    }
}

/// A column of the series.
struct SeriesColumn {
    line: Line,
    only_with: OnlyWith,
    made: ColumnSource,
}

/// Which runs have a column.
#[derive(Clone, Copy)]
enum OnlyWith {
    Anything,
    Satellites,
    ReturnLink,
    QueueDelays,
}

/// How a column is made of each row.
#[derive(Clone, Copy)]
enum ColumnSource {
    Float(fn(&SeriesRow<'_>) -> f64),
    Count(fn(&SeriesRow<'_>) -> u64),
    /// A column for each of the names, as many as there are transmissions of a packet.
    CountOfEach(&'static [&'static str], fn(&SeriesRow<'_>, usize) -> u64),
    /// Only where a packet has more transmissions than those columns.
    CountBeyond(fn(&SeriesRow<'_>) -> u64),
}

impl OnlyWith {
    fn holds(self, series: &Series) -> bool {
        let hop = &series.hop;
        match self {
            OnlyWith::Anything => true,
            OnlyWith::Satellites => hop.iter().any(|hop| hop.look.is_some()),
            OnlyWith::QueueDelays => hop.iter().any(|hop| hop.queue_delays),
            OnlyWith::ReturnLink => hop.iter().any(|hop| hop.access.is_some()),
        }
    }
}

macro_rules! label {
    () => {
        None
    };
    ($label:literal) => {
        Some($label)
    };
}

/// The columns in their order: documentation, perhaps a label, the name and how it is made.
macro_rules! series_columns {
    ($($only_with:ident {
        $($(#[doc = $doc:literal])+ $($label:literal)? $name:ident = $how:ident($($made:tt)+);)+
    })+) => {
        static COLUMNS: &[SeriesColumn] = &[$($(SeriesColumn {
            line: Line::new(stringify!($name), label!($($label)?), concat!($($doc),+)),
            only_with: OnlyWith::$only_with,
            made: ColumnSource::$how($($made)+),
        }),+),+];
    };
}

series_columns! {
    Anything {
        /// The instant.
        "Time" time_s = Float(|row| row.time().as_secs_f64());
        /// The flow's `id`.
        flow = Count(|row| row.number.into());
        /// Data handed to the receiving application in the interval.
        goodput_bps = Float(|row| row.bps(8 * row.grown(|row| row.flow().delivered_bytes)));
        /// Congestion window.
        "Congestion window" cwnd_packets = Float(|row| row.flow().cwnd_packets.into());
        /// Slow-start threshold; null before the first loss.
        "Slow-start threshold" ssthresh_packets = Float(|row| row.flow().ssthresh_packets.into());
        /// Smoothed round-trip time (RFC 6298).
        "Smoothed round-trip time" srtt_s = Float(|row| row.flow().srtt_s.into());
        /// Retransmission timeout.
        "Retransmission timeout" rto_s = Float(|row| row.flow().rto_s.into());
        /// Packets that the sender counts as in flight.
        in_flight_packets = Float(|row| row.flow().in_flight_packets.into());
        /// Packets retransmitted in the interval.
        "Retransmitted packets" retransmitted_packets = Count(|row| row.grown(|row| row.flow().retransmitted_packets));
        /// One-way delay of the path.
        "One-way delay of the path" path_delay_s = Float(|row| row.hop().path_delay_s.into());
        /// Packets waiting for the last hop.
        "Queue of the last hop" queue_packets = Count(|row| row.hop().queue_packets.into());
        /// Packets that the reordering buffers hold back, over all users.
        "Reordering buffers" reordering_packets = Count(|row| row.hop().reordering_packets.into());
        /// Coded bits sent over the last hop in the interval, per second.
        "Coded rate of the last hop" coded_bps = Float(|row| row.bps(row.grown(|row| row.hop().coded_bits)));
        /// Attenuation of the user's channel against an unobstructed line of sight; null where the channel has none.
        "Attenuation of the channel" attenuation_db = Float(|row| row.flow().attenuation_db.into());
        /// Packets decoded in the interval with the n-th transmission: `decoded_after_1`, `decoded_after_2`, … to 8.
        decoded_after_n = CountOfEach(DECODED_AFTER, |row, n| row.grown(|row| row.hop().decoded_after[n]));
        /// Packets decoded later still.
        decoded_later = CountBeyond(|row| row.grown(|row| row.hop().decoded_later));
        /// Packets given up in the interval.
        harq_failed = Count(|row| row.grown(|row| row.hop().harq_failed));
    }
    QueueDelays {
        /// How long the packet of the flow that left the queue of the last hop last had waited there; only with
        /// `record.queue_delays`.
        "Wait in the queue of the last hop" queue_delay_s = Float(|row| row.flow().queue_delay_s.into());
    }
    Satellites {
        /// How high the users see the satellite that serves them; only where the path knows satellites.
        "Elevation of the satellite" elevation_deg = Float(|row| row.look(|look| look.elevation_deg));
        /// Doppler shift of the channel's carrier; only where the path knows satellites.
        "Doppler shift of the carrier" doppler_hz = Float(|row| row.look(|look| look.doppler_hz));
    }
    ReturnLink {
        /// With a return link: packets sent by random access in the frames that began in the interval.
        random_packets = Count(|row| row.grown(|row| row.access().random_packets));
        /// Packets of `random_packets` that were not decoded.
        random_lost = Count(|row| row.grown(|row| row.access().random_lost));
        /// Slots for random access in these frames.
        random_slots = Count(|row| row.grown(|row| row.access().random_slots));
        /// With a return link: slots granted in the interval.
        granted_slots = Count(|row| row.grown(|row| row.access().granted_slots));
        /// Slots of `granted_slots` in which something was sent.
        used_slots = Count(|row| row.grown(|row| row.access().used_slots));
        /// With a return link: datagrams that wait in the terminals.
        waiting_datagrams = Count(|row| row.access().waiting_datagrams);
    }
}

/// The lines of the columns: of flows and links, and of the states of applications.
pub(crate) fn lines() -> Vec<Line> {
    let of_states = AppSample::STATES.iter().map(|&(line, _)| line);
    COLUMNS.iter().map(|column| column.line).chain(of_states).collect()
}

const DECODED_AFTER: &[&str] = &[
    "decoded_after_1",
    "decoded_after_2",
    "decoded_after_3",
    "decoded_after_4",
    "decoded_after_5",
    "decoded_after_6",
    "decoded_after_7",
    "decoded_after_8",
];
const _: () = assert!(DECODED_AFTER.len() == TRANSMISSIONS);

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
        let mut series = Series::new(Duration::from_millis(100), Duration::from_secs(1000), 17, 2);
        let room = (16, 32);
        assert_eq!((series.times.capacity(), series.samples.capacity()), room);
        let (mut now, mut step) = (Time::ZERO, 0);
        while now < Time::ZERO + Duration::from_secs(1000) {
            let flow = |f: u64| FlowSample { delivered_bytes: step * (f + 1), ..FlowSample::default() };
            let state = |f| AppSample { buffer_s: (10.0 * now.as_secs_f64()) as f32 * f as f32, ..AppSample::NONE };
            // The first application has a state after a while only.
            let states = |f| if step < 10 { AppSample::NONE } else { state(f) };
            let hop = HopSample { coded_bits: 10 * step, ..HopSample::default() };
            series.add(now, hop, (0..2).map(|f| (flow(f), states(f))));
            now = series.next(now);
            step += 1;
        }
        assert_eq!((series.times.capacity(), series.samples.capacity()), room, "no list grew");
        let table = series.table(4);
        let times = floats(&table, "time_s");
        assert!(times.len() <= 2 * 16 && times.len() >= 2 * 8, "{} rows", times.len());
        let spacing = times[2] - times[0];
        assert!(times.windows(3).step_by(2).all(|w| (w[2] - w[0] - spacing).abs() < 1e-9), "an even interval");
        let total: f64 = floats(&table, "goodput_bps").chunks(2).map(|flows| flows[1] * spacing / 8.0).sum();
        let end = series.samples.last().unwrap().delivered_bytes as f64;
        assert!((total - end).abs() < 1e-6, "{total} of {end} bytes");
        // At each instant the state of that instant, of the second flow.
        let mut buffers = floats(&table, "buffer_s").chunks(2).zip(times.chunks(2));
        assert!(buffers.clone().all(|(own, at)| own[1].is_nan() || (own[1] - 10.0 * at[1]).abs() < 1e-2));
        assert!(buffers.next_back().is_some_and(|(own, _)| own[1] > 0.0), "the last is known");
    }
}
