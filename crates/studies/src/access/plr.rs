//! Packet loss and throughput of random access against the load of a block: figure 3 of Kuhn et al. 2015.
//!
//! Each packet of a block is that of a terminal of its own, so the limit of one amplifier holds within a packet: its
//! bursts are in different timeslots. In a run terminals send several packets in a frame, which share their timeslots.

use access::AccessConfig;
use access::random::{self, PlrPoint, RandomLayout, Scheme};
use engine::Streams;
use serde::Serialize;
use serde_json::Value as Json;
use sim::{Scenario, ScenarioError, Table};
use toml::Value;
use units::Files;

use super::schemes::{Named, named_schemes, options, return_link};

/// The options of a study of packet loss.
#[derive(Clone, Debug, PartialEq)]
pub struct PlrOptions {
    /// Schemes of random access, as values of a scenario's `access.method`; text may be a table in TOML. A name alone
    /// is with the scenario's options if it is the scenario's own, else with its defaults. Without this, the scenario's
    /// own, and if it has none, CRDSA and MuSCA.
    pub methods: Option<Vec<Value>>,
    /// Numbers of packets in a block.
    pub packets: Vec<u32>,
    /// Bursts of each method and number of packets, at least: whole blocks are simulated.
    pub bursts: u64,
    /// Replaces the scenario's seed.
    pub seed: Option<u64>,
}

/// The result of a study of packet loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlrReport {
    /// The root of the random streams.
    pub seed: u64,
    /// Slots of a block (N_ra).
    pub block_slots: u32,
    /// Timeslots of a carrier (N_S): with one amplifier the bursts of a packet are in different ones.
    pub timeslots: u32,
    /// Whether a terminal sends on one carrier at a time.
    pub one_amplifier: bool,
    /// Energy of a symbol over noise of the packets' median power.
    pub es_n0_db: f64,
    /// Standard deviation of the packets' power.
    pub power_spread_db: f64,
    /// Iterations of interference cancellation, at most.
    pub iterations: u32,
    /// Bursts to simulate at each point, as asked.
    pub bursts_per_point: u64,
    /// Warnings: what to check before trusting the result.
    pub warnings: Vec<String>,
    /// The curves.
    pub methods: Vec<PlrMethod>,
    /// One entry for each method and number of packets.
    pub rows: Vec<PlrRow>,
}

/// A curve of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlrMethod {
    /// The name of the curve in the rows.
    pub method: String,
    /// Replicas of a packet, on average.
    pub replicas_mean: f64,
    /// Useful bits of a packet.
    pub payload_bits: u32,
    /// The scheme with all its options, as in a scenario.
    pub options: Json,
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlrRow {
    /// The curve.
    pub method: String,
    /// The loss and throughput found.
    #[serde(flatten)]
    pub point: PlrPoint,
}

/// A study of packet loss in progress.
pub struct PlrStudy {
    access: AccessConfig,
    layout: RandomLayout,
    streams: Streams,
    seed: u64,
    bursts: u64,
    packets: Vec<u32>,
    curves: Vec<Curve>,
    /// The point in progress; none between two.
    running: Option<random::PlrStudy>,
    rows: Vec<PlrRow>,
}

struct Curve {
    named: Named,
    scheme: Scheme,
}

/// The most packets in a block.
const MOST_PACKETS: u32 = 1_000_000;
/// Bursts of one call of [`PlrStudy::advance`]: few, so that Ctrl-C and a progress bar need not wait.
const STEP_BURSTS: u64 = 100_000;

impl PlrStudy {
    /// A study that has not started.
    ///
    /// # Errors
    /// The first field of the scenario's `access` table, or option (`methods.0`, `packets.0`, `bursts`), that is wrong;
    /// a file that cannot be read.
    pub fn new(scenario: &Scenario, options: &PlrOptions) -> Result<PlrStudy, ScenarioError> {
        let (config, access) = return_link(scenario)?;
        access.random.check().map_err(|error| error.within("access.random"))?;
        let (timeslots, block_slots) = (access.frame.timeslots, access.frame.block_slots);
        let layout = RandomLayout { timeslots, block_slots, one_amplifier: access.one_amplifier };
        let mut files = scenario.files();
        let curve = |named: Named| Curve::new(named, &access, layout, &mut files);
        let schemes = named_schemes(scenario, &access, options.methods.as_deref())?;
        let curves = schemes.into_iter().map(curve).collect::<Result<Vec<_>, _>>()?;
        ScenarioError::unless_positive("bursts", options.bursts)?;
        let seed = options.seed.unwrap_or(config.seed);
        Ok(PlrStudy {
            layout,
            streams: Streams::new(seed),
            seed,
            bursts: options.bursts,
            packets: loads(&options.packets)?,
            curves,
            running: None,
            rows: Vec::new(),
            access,
        })
    }

    /// Computes the next bursts, for a fraction of a second. Without effect when the study is done.
    pub fn advance(&mut self) {
        let Some(curve) = self.curves.get(self.rows.len() / self.packets.len()) else { return };
        let packets = self.packets[self.rows.len() % self.packets.len()];
        let point = self.running.get_or_insert_with(|| {
            // A point draws from a stream of its own, so that other points do not move it; the same one for all
            // schemes.
            let rng = Box::new(self.streams.stream("access.plr", u64::from(packets)));
            random::PlrStudy::new(curve.scheme.clone(), self.layout, vec![packets], self.bursts, rng)
        });
        if !point.advance(STEP_BURSTS) {
            let row = PlrRow { method: curve.named.label.clone(), point: point.points()[0] };
            self.rows.push(row);
            self.running = None;
        }
    }

    /// Returns the share of the study that is done, 0 to 1.
    pub fn share(&self) -> f64 {
        let part = self.running.as_ref().map_or(0.0, random::PlrStudy::progress);
        (self.rows.len() as f64 + part) / (self.curves.len() * self.packets.len()) as f64
    }

    /// Returns the result.
    ///
    /// # Panics
    /// If [`PlrStudy::share`] is not 1.
    pub fn report(&self) -> PlrReport {
        assert_eq!(self.rows.len(), self.curves.len() * self.packets.len(), "the study is not at its end");
        let random = &self.access.random;
        PlrReport {
            seed: self.seed,
            block_slots: self.layout.block_slots,
            timeslots: self.layout.timeslots,
            one_amplifier: self.layout.one_amplifier,
            es_n0_db: random.es_n0.get(),
            power_spread_db: random.power_spread.get(),
            iterations: random.iterations,
            bursts_per_point: self.bursts,
            warnings: self.curves.iter().filter_map(|curve| curve.warning(&self.access)).collect(),
            methods: self.curves.iter().map(Curve::described).collect(),
            rows: self.rows.clone(),
        }
    }

    /// The points so far as a table, with the columns of [`PlrRow`].
    pub fn table(&self) -> Table {
        let rows = &self.rows;
        let mut table = Table::default();
        table.text("method", rows.iter().map(|row| Some(row.method.clone())));
        table.count("packets_per_block", rows.iter().map(|row| u64::from(row.point.packets_per_block)));
        table.float("load", rows.iter().map(|row| row.point.load));
        table.count("blocks", rows.iter().map(|row| row.point.blocks));
        table.count("packets", rows.iter().map(|row| row.point.packets));
        table.count("bursts", rows.iter().map(|row| row.point.bursts));
        table.count("lost_packets", rows.iter().map(|row| row.point.lost_packets));
        table.float("plr", rows.iter().map(|row| row.point.plr));
        table.float("plr_low", rows.iter().map(|row| row.point.plr_low));
        table.float("plr_high", rows.iter().map(|row| row.point.plr_high));
        table.float("throughput", rows.iter().map(|row| row.point.throughput));
        table
    }
}

impl Curve {
    fn new(
        named: Named,
        access: &AccessConfig,
        layout: RandomLayout,
        files: &mut dyn Files,
    ) -> Result<Curve, ScenarioError> {
        let within = |error: ScenarioError| error.within(&named.field);
        named.scheme.entry().check(&layout).map_err(within)?;
        let scheme = named.scheme.load(&access.random, files).map_err(within)?;
        Ok(Curve { named, scheme })
    }

    fn described(&self) -> PlrMethod {
        PlrMethod {
            method: self.named.label.clone(),
            replicas_mean: self.scheme.mean_replicas(),
            payload_bits: self.scheme.payload_bits(),
            options: Json::Object(options(&self.named.scheme)),
        }
    }

    fn warning(&self, access: &AccessConfig) -> Option<String> {
        let Named { label, field, .. } = &self.named;
        let es_n0 = access.random.es_n0;
        (!self.scheme.decodes_without_interference())
            .then(|| format!("{field}: {label} decodes not even a packet that is alone in its block, at {es_n0}"))
    }
}

/// The numbers of packets in order, each once.
fn loads(packets: &[u32]) -> Result<Vec<u32>, ScenarioError> {
    if packets.is_empty() {
        return Err(ScenarioError::new("packets", "at least one number of packets is needed"));
    }
    for (i, &count) in packets.iter().enumerate() {
        if !(1..=MOST_PACKETS).contains(&count) {
            let message = format!("{count} was given, 1 to {MOST_PACKETS} are possible");
            return Err(ScenarioError::new(format!("packets.{i}"), message));
        }
    }
    let mut loads = packets.to_vec();
    loads.sort_unstable();
    loads.dedup();
    Ok(loads)
}
