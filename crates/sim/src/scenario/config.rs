//! A checked scenario: what a run is made from.

use std::ops::Range;

use access::AccessConfig;
use channel::ChannelConfig;
use link::{Buffer, LastHopConfig};
use orbit::PathConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Needs, TrafficConfig};
use transport::{Service, TransportConfig};
use units::{Duration, FieldError as ScenarioError};

use super::registered::Registered;

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
    /// The long path between the sender and the serving satellite.
    pub path: PathConfig,
    /// The radio channel of the last hop; every user has an independent one.
    #[serde(default)]
    pub channel: ChannelConfig,
    /// The shared hop from the serving satellite to the users.
    pub last_hop: LastHopConfig,
    /// The return link, by which users send: their data, and acknowledgments of what they get. Without it what they
    /// send is only delayed, as on the path and the last hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessConfig>,
    /// The flows: their users, traffic and transport.
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
    /// How many users get this.
    #[serde(default = "one_flow")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// The first of these users, who are numbered from 0; without it, those after the users of the entries before, so
    /// that nobody gets two kinds. With 0, the users of the first entry get this too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_user: Option<u32>,
    /// The class of service of the last hop that the packets belong to; without it, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Where the data go. With `up` the server stands at the user's place, and its user on the ground.
    #[serde(default)]
    pub direction: FlowDirection,
    /// The weight of these users where the return link's capacity is divided, which has one queue for each user: the
    /// last entry that a user belongs to counts.
    #[serde(default = "one_weight")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub weight: f64,
    /// Each flow of this kind starts at a random instant within this time after its start, so that they do not march in
    /// step.
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

/// Where the data of a flow go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowDirection {
    /// From the ground to the user: over path and last hop. Acknowledgments go up.
    #[default]
    Down,
    /// From the user to the ground: over the return link. Acknowledgments go down.
    Up,
}

/// A performance-enhancing proxy (RFC 3135) at the gateway: the server's connection ends there, and another one, with
/// options of its own, goes over the satellites. It relays both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PepConfig {
    /// One-way delay between the server and the gateway, before that of the path.
    pub delay: Duration,
    /// The transport between the gateway and the user; by default that of the flow, which is otherwise the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportConfig>,
    /// What the gateway holds at most of a flow in each direction, from arrival to the acknowledgment beyond it:
    /// packets, bytes, time at the rate of the last hop, or bandwidth-delay products of the satellite part.
    #[serde(default = "two_bdp")]
    pub buffer: Buffer,
}

impl FlowConfig {
    /// The transport over the satellites.
    pub fn satellite_transport(&self) -> &TransportConfig {
        self.pep_transport().unwrap_or(&self.transport)
    }

    /// The transport of a proxy that has one of its own.
    fn pep_transport(&self) -> Option<&TransportConfig> {
        self.pep.as_ref().and_then(|pep| pep.transport.as_ref())
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
    /// The most samples that are kept of each flow: beyond it every other one is dropped and the interval doubles, so
    /// that the memory does not grow with the duration. Without it 10,000, or fewer where there are more than 400
    /// flows.
    #[schemars(range(min = 16, max = 10_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Whether it is noted how long each flow's packets wait in the queue of the last hop.
    pub queue_delays: bool,
    /// Whether every packet is written into files, one for each place where packets are looked at.
    pub packets: PacketCapture,
    /// Whether both ends of each connection of QUIC write a log in the format qlog into the folder `qlog` of the
    /// result: its packets with their frames, losses, and what the congestion controller does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub qlog: bool,
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
            samples: None,
            queue_delays: false,
            packets: PacketCapture::None,
            qlog: false,
        }
    }
}

/// Bytes of a full IP packet on Ethernet.
const ETHERNET: u32 = 1_500;

/// Flows of a run: each has the address of a server of its own in 10.0.0.0/9.
const MOST_FLOWS: f64 = 8_000_000.0;

impl RecordConfig {
    /// The most samples that are kept of each of so many flows.
    pub(crate) fn most_samples(&self, flows: usize) -> usize {
        let fitting = DEFAULT_SAMPLES / flows.max(1);
        self.samples.map_or(fitting.clamp(16, 10_000), |samples| samples as usize)
    }
}

/// Samples of flows that series may keep: some gigabytes.
const MOST_SAMPLES: f64 = 20_000_000.0;
/// The samples that the series keep by default.
const DEFAULT_SAMPLES: usize = 4_000_000;

fn one() -> u64 {
    1
}

fn one_flow() -> u32 {
    1
}

fn one_weight() -> f64 {
    1.0
}

fn two_bdp() -> Buffer {
    Buffer::bdp(2.0)
}

impl ScenarioConfig {
    /// Checks what no single type can: values against each other.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        positive("duration", self.duration)?;
        positive("record.interval", self.record.interval)?;
        self.path.entry().check().map_err(|error| error.within("path"))?;
        self.channel.entry().check().map_err(|error| error.within("channel"))?;
        self.access.as_ref().map_or(Ok(()), AccessConfig::check).map_err(|error| error.within("access"))?;
        let mut before = 0;
        for (i, (flow, users)) in self.flows.iter().zip(self.users_of_flows()).enumerate() {
            self.check_flow(flow, before).map_err(|error| error.within(&format!("flows.{i}")))?;
            before = before.max(users.end);
        }
        let expected = |flow: &FlowConfig| flow.traffic.entry().expected_flows(flow.count, self.duration);
        let flows: f64 = self.flows.iter().map(expected).sum();
        if flows > MOST_FLOWS {
            let message =
                format!("about {flows:.0} flows would arrive in {}, at most {MOST_FLOWS} are possible", self.duration);
            return Err(ScenarioError::new("flows", message));
        }
        let (samples, flows) = (self.record.samples.unwrap_or(0), flows.max(1.0));
        if self.record.series && f64::from(samples) * flows > MOST_SAMPLES {
            let message = format!(
                "{samples} for each of {flows:.0} flows would not fit the memory: at most {MOST_SAMPLES} in all, or \
                 record.series = false"
            );
            return Err(ScenarioError::new("record.samples", message));
        }
        Ok(())
    }

    /// Whether all code that the scenario names is among what scripts have registered.
    pub(super) fn check_registered(&self, registered: &Registered) -> Result<(), ScenarioError> {
        self.last_hop.check_choosers(&registered.schedulers).map_err(|error| error.within("last_hop"))?;
        let of_flow = |flow: &FlowConfig| {
            let transport = |transport: &TransportConfig, path| {
                transport.entry().check_registered(&registered.controllers).map_err(|error| error.within(path))
            };
            transport(&flow.transport, "transport")?;
            flow.pep_transport().map_or(Ok(()), |pep| transport(pep, "pep.transport"))?;
            flow.traffic.entry().check_registered(&registered.sources).map_err(|error| error.within("traffic"))
        };
        (0..)
            .zip(&self.flows)
            .try_for_each(|(i, flow)| of_flow(flow).map_err(|error| error.within(&format!("flows.{i}"))))
    }

    /// `users`: how many the entries before have.
    fn check_flow(&self, flow: &FlowConfig, users: u32) -> Result<(), ScenarioError> {
        if let Some(first) = flow.first_user.filter(|first| *first > users) {
            let message =
                format!("{first} was given, at most {users} is allowed: so many users have the entries before");
            return Err(ScenarioError::new("first_user", message));
        }
        self.class_of(flow)?;
        flow.traffic.entry().check().map_err(|error| error.within("traffic"))?;
        check_transport(flow, &flow.transport).map_err(|error| error.within("transport"))?;
        if flow.direction == FlowDirection::Up && flow.traffic.entry().needs() == Needs::Outside {
            let message = "\"up\" was given: packets from outside go both ways, \"down\" those of the servers";
            return Err(ScenarioError::new("direction", message));
        }
        let Some(transport) = flow.pep_transport() else {
            return self.check_packet(flow, &flow.transport, "transport");
        };
        check_transport(flow, transport).map_err(|error| error.within("pep.transport"))?;
        self.check_packet(flow, transport, "pep.transport")
    }

    /// The place of a flow's class of service among those of the last hop, or their number if it has none.
    pub(crate) fn class_of(&self, flow: &FlowConfig) -> Result<u32, ScenarioError> {
        let classes = &self.last_hop.classes;
        let Some(name) = &flow.class else { return Ok(classes.len() as u32) };
        let place = classes.iter().position(|class| class.name == *name);
        place.map(|place| place as u32).ok_or_else(|| {
            let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
            let known = if names.is_empty() { "has none".to_owned() } else { format!("has {}", names.join(", ")) };
            ScenarioError::new("class", format!("\"{name}\" was given: last_hop.classes {known}"))
        })
    }

    /// Whether the packets of `transport`, which stands at `path`, fit the last hop.
    fn check_packet(&self, flow: &FlowConfig, transport: &TransportConfig, path: &str) -> Result<(), ScenarioError> {
        let full = transport.entry().full_packet(self.default_packet_bytes());
        if let Some((datagram, option)) = flow.traffic.entry().needs().packet()
            && let Some(most) = transport.entry().largest_datagram(self.default_packet_bytes())
            && datagram > most
        {
            let kind = transport.kind();
            let message =
                format!("a datagram of {datagram} B with UDP's headers does not fit those of {kind}: {most} B do");
            return Err(ScenarioError::new(format!("traffic.{option}"), message));
        }
        let (packet, field, smaller) = match (full, flow.traffic.entry().needs()) {
            (Some((packet, option)), _) => (packet, format!("{path}.{option}"), option),
            (None, needs) => match needs.packet() {
                Some((packet, option)) => (packet, format!("traffic.{option}"), option),
                None => return Ok(()),
            },
        };
        match self.last_hop.max_packet_bytes() {
            Some(block) if transport.entry().least_packet() > block => {
                let least = transport.entry().least_packet();
                let message = format!(
                    "{} has full packets of {least} B at least, which do not fit the HARQ block of {block} B: use a \
                     larger last_hop.harq.block",
                    transport.kind()
                );
                Err(ScenarioError::new(field, message))
            }
            Some(block) if packet > block => {
                let message = format!(
                    "a full packet of {packet} B with its headers does not fit the HARQ block of {block} B: use a \
                     smaller {smaller}, or last_hop.segmentation = {{}}, which cuts packets"
                );
                Err(ScenarioError::new(field, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of users.
    pub fn users(&self) -> u32 {
        self.users_of_flows().map(|users| users.end).max().unwrap_or(0)
    }

    /// The users of each entry of the flows.
    pub(crate) fn users_of_flows(&self) -> impl Iterator<Item = Range<u32>> {
        let mut before = 0;
        self.flows.iter().map(move |flow| {
            let first = flow.first_user.unwrap_or(before);
            let end = first.saturating_add(flow.count);
            before = before.max(end);
            first..end
        })
    }

    /// Returns the scenario with every default of a profile written out, and its files renamed.
    pub(crate) fn resolved(&self, rename: &mut dyn FnMut(&str) -> String) -> ScenarioConfig {
        let packet = self.default_packet_bytes();
        let mut resolved = self.clone();
        resolved.files_mut().for_each(|file| *file = rename(file));
        resolved.path.entry_mut().resolve();
        resolved.last_hop.harq.entry_mut().resolve();
        resolved.access = resolved.access.map(|access| access.resolved());
        for flow in &mut resolved.flows {
            let satellite = flow.pep.as_mut().map(|pep| pep.transport.get_or_insert_with(|| flow.transport.clone()));
            for transport in satellite.into_iter().chain([&mut flow.transport]) {
                transport.entry_mut().resolve(packet);
            }
        }
        resolved
    }

    /// The names of the files that it needs.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let access = self.access.as_mut().map(AccessConfig::files_mut).into_iter().flatten();
        self.path.entry_mut().files_mut().into_iter().chain(self.channel.entry_mut().files_mut()).chain(access)
    }

    /// The size of a flow's packets over the satellites, with all headers: the largest, where they differ.
    pub fn packet_bytes(&self, flow: &FlowConfig) -> u32 {
        let default = self.default_packet_bytes();
        let full = flow.satellite_transport().entry().full_packet(default);
        full.or_else(|| flow.traffic.entry().needs().packet()).map_or(default, |(packet, _)| packet)
    }

    /// A full packet fills the HARQ block (1,115 B in the papers, also where there is no HARQ). Where packets are cut
    /// it is that of Ethernet.
    pub fn default_packet_bytes(&self) -> u32 {
        let uncut = if self.last_hop.segmentation.is_some() { ETHERNET } else { 1_115 };
        self.last_hop.max_packet_bytes().unwrap_or(uncut)
    }
}

/// Whether `transport` can carry what a flow needs.
fn check_transport(flow: &FlowConfig, transport: &TransportConfig) -> Result<(), ScenarioError> {
    let needed: &[Service] = match flow.traffic.entry().needs() {
        Needs::ByteStream | Needs::Exchange => &[Service::ByteStream],
        Needs::Streams => &[Service::Streams],
        Needs::Datagrams { .. } | Needs::Messages { .. } => &[Service::Datagrams],
        Needs::Media { .. } => &[Service::ByteStream, Service::Datagrams],
        Needs::Outside => &[Service::Outside],
    };
    let carries = |kind: &dyn transport::Kind| kind.services().iter().any(|service| needed.contains(service));
    if carries(transport.entry()) {
        return transport.entry().check();
    }
    let (kind, traffic) = (transport.kind(), flow.traffic.kind());
    // A proxy splits only what advertises windows.
    let splits = |kind: &dyn transport::Kind| flow.pep.is_none() || kind.build(ETHERNET).windows().is_some();
    if let Some((option, value, services)) = transport.entry().other_services()
        && splits(transport.entry())
        && services.iter().any(|service| needed.contains(service))
    {
        return Err(ScenarioError::new(option, format!("{kind} carries {traffic} with {option} = {value}")));
    }
    let allowed = TransportConfig::names(|kind| carries(kind) && splits(kind));
    let message = match allowed.as_str() {
        "" => format!("{kind} cannot carry {traffic}, nor can another transport that a proxy splits"),
        allowed => format!("{kind} cannot carry {traffic}, {allowed} can"),
    };
    Err(ScenarioError::new("kind", message))
}

/// Refuses a duration of no time.
///
/// # Errors
/// Names the field.
pub fn positive(field: &str, duration: Duration) -> Result<(), ScenarioError> {
    if duration.is_zero() { Err(ScenarioError::new(field, "must be more than 0 s")) } else { Ok(()) }
}
