//! From a checked scenario to a world at rest.

use std::sync::Arc;

use access::ReturnLink;
use channel::{ChannelConfig, ChannelModel, Geometry};
use engine::Streams;
use link::{Choose, LastHop, Limit, Propagation};
use orbit::{DelayTrace, PathConfig};
use rand::{Rng, RngExt};
use traffic::{Listener, Needs};
use transport::{Settings, TcpConfig};
use units::{Bytes, Duration, Files, OrOrbit, Time};

use super::connection::{Connections, Reader, Transport};
use super::flow::{Application, Flow, Kind};
use super::law::law;
use super::ledger::Ledger;
use super::network::{Network, Site};
use super::path::LongPath;
use super::place::{Parts, Place};
use super::proxy::Proxy;
use super::run::World;
use super::schedule::{Machine, Schedule};
use crate::packet::{Route, Way};
use crate::record::recorder::Recorder;
use crate::record::series::Series;
use crate::scenario::{FlowConfig, FlowDirection, PepConfig, ScenarioConfig, ScenarioError, TransportConfig};

/// Finds a scheduler from elsewhere by its name.
pub type Choosers<'a> = dyn FnMut(&str) -> Option<Box<dyn Choose>> + 'a;

/// Builds the world of a scenario; its files are among `files`.
pub(crate) fn build(
    config: &ScenarioConfig,
    files: &mut dyn Files,
    seed: u64,
    choosers: &mut Choosers<'_>,
) -> Result<World, ScenarioError> {
    let streams = Streams::new(seed);
    let path = long_path(config, files, &streams)?;
    let (model, hop) = radio(config, files, &path)?;
    let base_rtt = base_rtt(config, &path, &hop);
    let link = last_hop(config, model.as_ref(), &hop, base_rtt, &streams, choosers)?;
    let return_link = return_link(config, files, &streams)?;
    let reference_snr = model.reference_snr();
    let warnings = path.warnings.iter().cloned().chain(model.warnings(u64::from(config.users()))).collect();

    let mut schedule = Schedule::default();
    let carrier = config.channel.entry().carrier();
    let parts = Parts { path, hop, carrier, reference_snr, last_hop: link, return_link };
    let network = Network::new(vec![Place::new(0, parts, &mut schedule)], &mut schedule);
    let sampler = schedule.add(Machine::Sampler);
    let Flows { applications, kinds, flows, connections, proxies, listeners } =
        flows(config, base_rtt, &streams, &mut schedule)?;
    let record = &config.record;
    let series = record.series.then(|| Series::new(record.interval, record.most_samples(flows.len()), flows.len()));
    let mut world = World {
        schedule,
        now: Time::ZERO,
        network,
        ledger: Ledger::new(Recorder::new(listeners.into_iter(), series)),
        applications,
        kinds,
        flows,
        connections,
        proxies,
        sampler,
        warnings,
    };
    world.start();
    Ok(world)
}

/// Reads the files that a scenario names and checks what follows from its values together, without building a world.
pub(crate) fn check(config: &ScenarioConfig, files: &mut dyn Files) -> Result<(), ScenarioError> {
    let path = long_path(config, files, &Streams::new(config.seed))?;
    let (_, hop) = radio(config, files, &path)?;
    let base_rtt = base_rtt(config, &path, &hop);
    config.last_hop.check(base_rtt, config.users() as usize).map_err(|error| error.within("last_hop"))?;
    return_link(config, files, &Streams::new(config.seed))?;
    let with_pep = config.flows.iter().enumerate().filter_map(|(i, flow)| Some((i, flow, flow.pep.as_ref()?)));
    with_pep.into_iter().try_for_each(|(i, flow, pep)| pep_settings(config, i, flow, pep, base_rtt).map(drop))
}

/// The round-trip time without queueing, from which buffers in bandwidth-delay products follow.
fn base_rtt(config: &ScenarioConfig, path: &LongPath, hop: &Propagation) -> Duration {
    (path.mean(config.duration) + hop.mean()) * 2
}

/// The channel of a scenario and its delay, as they follow its path.
///
/// # Errors
/// The first field that is wrong, or a file that cannot be read.
pub fn last_link(
    config: &ScenarioConfig,
    files: &mut dyn Files,
) -> Result<(Box<dyn ChannelModel>, Propagation), ScenarioError> {
    let path = long_path(config, files, &Streams::new(config.seed))?;
    radio(config, files, &path)
}

fn radio(
    config: &ScenarioConfig,
    files: &mut dyn Files,
    path: &LongPath,
) -> Result<(Box<dyn ChannelModel>, Propagation), ScenarioError> {
    Ok((load_channel(&config.channel, files, path.geometry().as_ref())?, propagation(config, path)?))
}

/// The delay between the last satellite and the users.
fn propagation(config: &ScenarioConfig, path: &LongPath) -> Result<Propagation, ScenarioError> {
    match config.last_hop.delay {
        OrOrbit::Given(delay) => Ok(Propagation::fixed(delay)),
        OrOrbit::Orbit => path.propagation().ok_or_else(|| {
            let message = format!(
                "\"orbit\" follows the satellite that serves the users, and a path of kind {} knows none: give a delay",
                config.path.kind()
            );
            ScenarioError::new("last_hop.delay", message)
        }),
    }
}

/// A channel as the scenario names it, its files read; `geometry` is how the satellite that serves the users is seen.
///
/// # Errors
/// The first field that is wrong, or a file that cannot be read.
pub fn load_channel(
    config: &ChannelConfig,
    files: &mut dyn Files,
    geometry: Option<&Arc<Geometry>>,
) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    config.entry().load(files, geometry).map_err(|error| error.within("channel"))
}

/// Random streams for one channel.
pub fn channel_streams(streams: Streams, user: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    move |purpose| Box::new(streams.stream(&format!("channel.{purpose}"), user))
}

/// Random streams for what chance decides on the last hop.
pub fn last_hop_streams(streams: Streams) -> impl FnMut(&'static str, u64) -> Box<dyn Rng + Send> {
    move |purpose, number| Box::new(streams.stream(&format!("last_hop.{purpose}"), number))
}

fn long_path(config: &ScenarioConfig, files: &mut dyn Files, streams: &Streams) -> Result<LongPath, ScenarioError> {
    let mut warnings = Vec::new();
    let trace = match &config.path {
        PathConfig::Fixed(fixed) => DelayTrace::fixed(fixed.delay),
        PathConfig::Constellation(path) => {
            let within = |error: ScenarioError| error.within("path");
            path.check().map_err(within)?;
            let sky = path.constellation.sky(files).map_err(within)?;
            let start = path.start.as_secs_f64();
            warnings.extend(sky.warning(start, start + config.duration.as_secs_f64()));
            let trace = path.trace_over(sky, config.duration, files).map_err(within)?;
            warnings.extend(trace.warnings().iter().cloned());
            trace
        }
        PathConfig::Trace(trace) => trace.read(files).map_err(|error| error.within("path"))?,
    };
    let jitter = match &config.path {
        PathConfig::Fixed(fixed) => fixed.jitter.clone().map(|jitter| (jitter, streams.stream("path.jitter", 0))),
        _ => None,
    };
    let mut path = LongPath::new(&config.path, trace, jitter);
    path.warnings = warnings;
    Ok(path)
}

fn last_hop(
    config: &ScenarioConfig,
    model: &dyn ChannelModel,
    hop: &Propagation,
    base_rtt: Duration,
    streams: &Streams,
    choosers: &mut Choosers<'_>,
) -> Result<LastHop, ScenarioError> {
    let law = config.last_hop.law_request(hop.mean()).map(|request| law(model, request));
    let users = (0..config.users()).map(u64::from);
    let channels = users.map(|user| model.build(user, &mut channel_streams(*streams, user))).collect();
    let mut own = last_hop_streams(*streams);
    LastHop::new(&config.last_hop, hop.clone(), base_rtt, channels, law.as_deref(), &mut own, choosers)
        .map_err(|error| error.within("last_hop"))
}

/// The return link, if the scenario has one.
fn return_link(
    config: &ScenarioConfig,
    files: &mut dyn Files,
    streams: &Streams,
) -> Result<Option<Box<ReturnLink>>, ScenarioError> {
    let Some(access) = &config.access else { return Ok(None) };
    let mut weights = vec![1.0; config.users() as usize];
    for (flow, users) in config.flows.iter().zip(config.users_of_flows()) {
        weights[users.start as usize..users.end as usize].fill(flow.weight);
    }
    let mut own = |purpose: &'static str, number| -> Box<dyn Rng + Send> {
        Box::new(streams.stream(&format!("access.{purpose}"), number))
    };
    let plan = access.plan(files).map_err(|error| error.within("access"))?;
    Ok(Some(Box::new(ReturnLink::new(&plan, &weights, &mut own))))
}

/// Applications, their flows and connections.
#[derive(Default)]
struct Flows {
    applications: Vec<Application>,
    kinds: Vec<Kind>,
    /// In the order of the applications.
    flows: Vec<Flow>,
    connections: Connections,
    proxies: Vec<Proxy>,
    /// The listener of each flow.
    listeners: Vec<Option<Listener>>,
}

/// What proxies of an entry of the scenario have between server and gateway.
struct Terrestrial {
    delay: Duration,
    transport: Transport,
    congestion: &'static str,
}

/// The flows in the order of the scenario.
fn flows(
    config: &ScenarioConfig,
    base_rtt: Duration,
    streams: &Streams,
    schedule: &mut Schedule,
) -> Result<Flows, ScenarioError> {
    let mut made = Flows::default();
    let mut before: u64 = 0;
    for ((i, entry), users) in config.flows.iter().enumerate().zip(config.users_of_flows()) {
        let class = config.class_of(entry).map_err(|error| error.within(&format!("flows.{i}")))?;
        let pep = entry.pep.as_ref().map(|pep| pep_settings(config, i, entry, pep, base_rtt)).transpose()?;
        let proxy = pep.map(|(delay, settings)| Terrestrial {
            delay,
            congestion: settings.congestion.kind(),
            transport: Transport::Tcp(settings),
        });
        made.kinds.push(Kind {
            upload: entry.direction == FlowDirection::Up,
            class,
            traffic: entry.traffic.kind(),
            transport: transport(config, entry.satellite_transport()),
            place: 0,
        });
        // Drawn from even when the spread is zero: another spread moves no other draw.
        let share = |place| streams.stream("flow.start", before + place).random::<f64>();
        let offsets: Vec<Duration> =
            (0..u64::from(entry.count)).map(|place| entry.start_spread.mul_f64(share(place))).collect();
        let mut own = |purpose: &'static str, place: u32| -> Box<dyn Rng + Send> {
            Box::new(streams.stream(purpose, before + u64::from(place)))
        };
        for traffic::UserSource { user, source } in entry.traffic.build(&offsets, config.duration, &mut own) {
            let number = made.applications.len() as u32;
            let (connections, first_flow) = (source.connections(), made.flows.len() as u32);
            let machine = schedule.add(Machine::Application(number));
            made.applications.push(Application { source, machine, first_flow });
            let listens = entry.traffic.needs() == Needs::Exchange;
            let reader = if listens { Reader::Application(number) } else { Reader::Sink };
            for _ in 0..connections {
                made.add_flow(users.start + user, number, reader, proxy.as_ref(), streams);
                made.listeners.push(entry.traffic.listener());
            }
        }
        before += u64::from(entry.count);
    }
    Ok(made)
}

impl Flows {
    /// Adds a flow of the last kind, whose endpoints over the satellites are read by `reader`, or by a proxy and an application
    /// that takes what arrives.
    fn add_flow(
        &mut self,
        user: u32,
        application: u32,
        reader: Reader,
        proxy: Option<&Terrestrial>,
        streams: &Streams,
    ) {
        let entropy = |purpose, flow| {
            let mut rng = streams.stream(purpose, u64::from(flow));
            [rng.next_u64(), rng.next_u64()]
        };
        let (flow, number) = (self.flows.len() as u32, self.kinds.len() as u32 - 1);
        let kind = self.kinds.last().expect("a flow is of a kind");
        let site = Site {
            flow,
            user,
            place: kind.place,
            class: kind.class,
            packet_bytes: kind.transport.packet_bytes(),
            routes: [Way::Forward, Way::Backward].map(|way| Route::over_satellites(way, kind.upload)),
            delay: Duration::ZERO,
        };
        let relay = Reader::Proxy(self.proxies.len() as u32);
        let readers = [if proxy.is_some() { relay } else { reader }, reader];
        let connection = self.connections.add(site, &kind.transport, entropy("flow.congestion", flow), readers);
        let proxy = proxy.map(|Terrestrial { delay, transport, congestion }| {
            let (delay, packet_bytes) = (*delay, transport.packet_bytes());
            let site = Site { routes: [Route::Terrestrial; 2], delay, packet_bytes, ..site };
            let readers = [Reader::Sink, relay];
            let terrestrial = self.connections.add(site, transport, entropy("flow.pep", flow), readers);
            self.proxies.push(Proxy::new(terrestrial, congestion, connection));
            self.proxies.len() as u32 - 1
        });
        self.flows.push(Flow { user, kind: number, application, connection, proxy });
    }
}

fn transport(config: &ScenarioConfig, transport: &TransportConfig) -> Transport {
    match transport {
        TransportConfig::Tcp(tcp) => Transport::Tcp(settings(config, tcp)),
        TransportConfig::Udp(_) => Transport::Udp,
    }
}

fn settings(config: &ScenarioConfig, tcp: &TcpConfig) -> Arc<Settings> {
    Arc::new(tcp.resolve(config.default_packet_bytes()))
}

/// How far the server of a flow of the `index`-th kind is from the gateway, and its transport.
fn pep_settings(
    config: &ScenarioConfig,
    index: usize,
    flow: &FlowConfig,
    pep: &PepConfig,
    base_rtt: Duration,
) -> Result<(Duration, Arc<Settings>), ScenarioError> {
    let section = format!("flows.{index}.pep");
    let TransportConfig::Tcp(tcp) = &flow.transport else {
        let message = format!("splits connections of tcp, and the transport is {}", flow.transport.kind());
        return Err(ScenarioError::new(section, message));
    };
    let settings = settings(config, tcp);
    let segment = u64::from(settings.mss);
    let link = config.last_hop.facts(base_rtt, config.users() as usize);
    let limit = pep.buffer.resolve(&link).map_err(|error| error.within(&section))?;
    let bytes = match limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * segment,
    };
    // It is the window of the server's connection: at least a segment, at most what can be offered (RFC 7323 section 2.3).
    if !(segment..=MAX_WINDOW).contains(&bytes) {
        let message = format!("\"{}\" is {bytes} B: {segment} (a segment) to {MAX_WINDOW} B are possible", pep.buffer);
        return Err(ScenarioError::new("buffer", message).within(&section));
    }
    Ok((pep.delay, Arc::new(Settings { receive_buffer: Bytes::new(bytes), ..(*settings).clone() })))
}

/// 65,535 bytes scaled by the largest shift.
const MAX_WINDOW: u64 = 65_535 << 14;
