//! A checked scenario: what a run is made from.

use std::path::Path;

use channel::ChannelConfig;
use link::{Buffer, LastHopConfig};
use orbit::PathConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::TrafficConfig;
use transport::TcpConfig;
use units::Duration;

use super::ScenarioError;

/// A scenario with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioConfig {
    /// What the scenario shows, for the titles of results.
    #[serde(default)]
    pub title: String,
    /// How long the simulated time is.
    pub duration: Duration,
    /// The root of all random streams of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// The long path between the sender and the last satellite.
    pub path: PathConfig,
    /// The radio channel of the last hop; every user has an independent one.
    #[serde(default = "clear")]
    pub channel: ChannelConfig,
    /// The shared hop from the last satellite to the users.
    pub last_hop: LastHopConfig,
    /// Who sends what; each flow goes to a user of its own.
    #[schemars(length(min = 1))]
    pub flows: Vec<FlowConfig>,
    /// What is recorded along the run; it does not change the run.
    #[serde(default)]
    pub record: RecordConfig,
}

/// Flows of the same kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// How many flows of this kind.
    #[serde(default = "one_flow")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// Each flow of this kind starts at a random instant within this time after its start, so that they do not march in step.
    #[serde(default)]
    pub start_spread: Duration,
    /// The transport that carries the flow.
    pub transport: TransportConfig,
    /// What the application sends.
    pub traffic: TrafficConfig,
    /// A proxy that splits the connection at the gateway, where the path begins; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pep: Option<PepConfig>,
}

/// A performance-enhancing proxy (RFC 3135) at the gateway: the server's connection ends there, and another one goes on over
/// the satellites with options of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PepConfig {
    /// One-way delay between the server and the gateway, before that of the path.
    pub delay: Duration,
    /// The transport from the gateway to the user; by default that of the flow, which is otherwise the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportConfig>,
    /// What the gateway holds at most of a flow, from its arrival to the user's acknowledgment: packets, bytes, time at the
    /// rate of the last hop, or bandwidth-delay products of the satellite part.
    #[serde(default = "two_bdp")]
    pub buffer: Buffer,
}

impl FlowConfig {
    /// The transport over the satellites.
    pub(crate) fn satellite_transport(&self) -> &TransportConfig {
        self.pep.as_ref().and_then(|pep| pep.transport.as_ref()).unwrap_or(&self.transport)
    }
}

units::registry! {
    /// The transport of a flow.
    pub enum TransportConfig {
        "tcp" => Tcp(TcpConfig),
    }
}

/// What is recorded along the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordConfig {
    /// Whether time series are kept.
    pub series: bool,
    /// Time between two samples of the series.
    pub interval: Duration,
    /// The most samples that are kept: beyond it every other one is dropped and the interval doubles, so that the memory
    /// does not grow with the duration.
    #[schemars(range(min = 16, max = 10_000_000))]
    pub samples: u32,
    /// Whether every packet is written into files, one for each place where packets are looked at.
    pub packets: PacketCapture,
}

/// How packets are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketCapture {
    /// Not at all.
    #[default]
    None,
    /// As `packets-sender.pcapng`, `packets-satellite.pcapng` and `packets-receiver.pcapng` in the result folder, for
    /// Wireshark and tshark.
    Pcapng,
}

impl Default for RecordConfig {
    fn default() -> Self {
        RecordConfig {
            series: true,
            interval: Duration::from_millis(100),
            samples: 10_000,
            packets: PacketCapture::None,
        }
    }
}

/// Samples of flows that series may keep: some gigabytes.
const MOST_SAMPLES: u64 = 20_000_000;

fn one() -> u64 {
    1
}

fn one_flow() -> u32 {
    1
}

fn two_bdp() -> Buffer {
    Buffer::Bdp(2.0)
}

fn clear() -> ChannelConfig {
    ChannelConfig::Clear(channel::Clear::default())
}

impl ScenarioConfig {
    /// Checks what no single type can: values against each other.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        positive("duration", self.duration)?;
        positive("record.interval", self.record.interval)?;
        let flows: u64 = self.flows.iter().map(|flow| u64::from(flow.count)).sum();
        if self.record.series && u64::from(self.record.samples) * flows > MOST_SAMPLES {
            let message = format!(
                "{} for each of {flows} flows would not fit the memory: at most {MOST_SAMPLES} in all, or record.series = false",
                self.record.samples
            );
            return Err(ScenarioError::new("record.samples", message));
        }
        self.path.check().map_err(|error| error.within("path"))?;
        self.channel.check().map_err(|error| error.within("channel"))?;
        for (i, flow) in self.flows.iter().enumerate() {
            let TransportConfig::Tcp(tcp) = &flow.transport;
            tcp.check().map_err(|error| error.within(&format!("flows.{i}.transport")))?;
            let (tcp, section) = match &flow.pep {
                Some(PepConfig { transport: Some(TransportConfig::Tcp(tcp)), .. }) => {
                    (tcp, format!("flows.{i}.pep.transport"))
                }
                _ => (tcp, format!("flows.{i}.transport")),
            };
            tcp.check().map_err(|error| error.within(&section))?;
            let packet = tcp.packet_bytes(self.default_packet_bytes());
            if let Some(block) = self.last_hop.max_packet_bytes().filter(|block| packet > *block) {
                let message = format!(
                    "a full packet of {packet} B with its headers does not fit the HARQ block of {block} B: use a smaller mss"
                );
                return Err(ScenarioError::new("mss", message).within(&section));
            }
        }
        Ok(())
    }

    /// The same scenario with what profiles leave open written out, and files named from the root, so that it means the same
    /// wherever it is kept.
    pub(super) fn resolved(&self, base: &Path) -> ScenarioConfig {
        let packet = self.default_packet_bytes();
        let mut resolved = self.clone();
        let from_root = |file: &Path| std::path::absolute(base.join(file)).unwrap_or_else(|_| base.join(file));
        if let PathConfig::Trace(trace) = &mut resolved.path {
            trace.file = from_root(Path::new(&trace.file)).display().to_string();
        }
        if let ChannelConfig::Trace(trace) = &mut resolved.channel {
            trace.file = from_root(&trace.file);
        }
        resolved.last_hop.harq = resolved.last_hop.harq.resolved();
        for flow in &mut resolved.flows {
            if let Some(pep) = &mut flow.pep {
                let TransportConfig::Tcp(tcp) = pep.transport.get_or_insert_with(|| flow.transport.clone());
                *tcp = tcp.resolved(packet);
            }
            let TransportConfig::Tcp(tcp) = &mut flow.transport;
            *tcp = tcp.resolved(packet);
        }
        resolved
    }

    /// A full packet fills the HARQ block (1,115 B in the papers, also where there is no HARQ).
    pub fn default_packet_bytes(&self) -> u32 {
        self.last_hop.max_packet_bytes().unwrap_or(1_115)
    }
}

/// Refuses a duration of no time.
pub(crate) fn positive(field: &str, duration: Duration) -> Result<(), ScenarioError> {
    if duration.is_zero() { Err(ScenarioError::new(field, "must be more than 0 s")) } else { Ok(()) }
}
