//! From a checked scenario to a world at rest.

use std::path::Path;
use std::sync::Arc;

use access::ReturnLink;
use channel::{ChannelConfig, ChannelModel, Geometry};
use engine::{Agenda, Streams};
use link::{LastHop, Limit, Propagation};
use orbit::{DelayTrace, PathConfig};
use rand::{Rng, RngExt};
use traffic::{Listener, Needs};
use transport::{Settings, TcpConfig};
use units::{Bytes, Duration, OrOrbit, Time};

use super::ends::{TcpEnds, Transport};
use super::flow::Pep;
use super::law::law;
use super::path::LongPath;
use super::{
    Application, Choosers, DOWN, FIRST_FLOW, Flow, LINK, Packets, Pipe, RETURN_LINK, Role, SAMPLER, SERVICE,
    TERRESTRIAL, UP, World,
};
use crate::record::recorder::Recorder;
use crate::record::series::Series;
use crate::scenario::{FlowConfig, FlowDirection, PepConfig, ScenarioConfig, ScenarioError, TransportConfig};

/// Builds the world of a scenario; relative file names start from `base`.
pub(super) fn build(
    config: &ScenarioConfig,
    base: &Path,
    seed: u64,
    choosers: &mut Choosers<'_>,
) -> Result<World, ScenarioError> {
    let streams = Streams::new(seed);
    let path = long_path(config, base, &streams)?;
    let (model, hop) = radio(config, base, &path)?;
    let base_rtt = base_rtt(config, &path, &hop);
    let link = last_hop(config, model.as_ref(), &hop, base_rtt, &streams, choosers)?;
    let return_link = return_link(config, base, &streams)?;
    let Flows { applications, flows, listeners } = flows(config, base_rtt, &streams)?;
    let with_pep: Vec<u32> = (0..flows.len() as u32).filter(|&flow| flows[flow as usize].pep.is_some()).collect();

    let mut agenda = Agenda::default();
    let shared =
        [Role::Deliver, Role::Deliver, Role::Frame, Role::Deliver, Role::Deliver, Role::Sample, Role::HandOver];
    let own = std::iter::repeat_n(Role::Act, 3 * flows.len() + 2 * with_pep.len());
    for role in shared {
        agenda.add_frequent(role.phase());
    }
    for role in own {
        agenda.add(role.phase());
    }
    let places = [DOWN, LINK, RETURN_LINK, UP, TERRESTRIAL, SAMPLER, SERVICE].map(|machine| machine.0);
    debug_assert_eq!((places, FIRST_FLOW), ([0, 1, 2, 3, 4, 5, 6], 7));
    let record = &config.record;
    let series = record.series.then(|| Series::new(record.interval, record.most_samples(flows.len()), flows.len()));
    let warnings = path.warnings.iter().cloned().chain(model.warnings(u64::from(config.users()))).collect();
    let mut world = World {
        agenda,
        now: Time::ZERO,
        packets: Packets::default(),
        path,
        hop,
        carrier: config.channel.entry().carrier(),
        reference_snr: model.reference_snr(),
        down: Pipe::default(),
        link,
        return_link,
        up: Pipe::default(),
        terrestrial: Pipe::default(),
        recorder: Recorder::new(listeners.into_iter(), series),
        applications,
        flows,
        with_pep,
        warnings,
    };
    world.arm_at_rest();
    Ok(world)
}

/// Reads the files that a scenario names and checks what follows from its values together, without building a world.
pub(crate) fn check(config: &ScenarioConfig, base: &Path) -> Result<(), ScenarioError> {
    let path = long_path(config, base, &Streams::new(config.seed))?;
    let (_, hop) = radio(config, base, &path)?;
    let base_rtt = base_rtt(config, &path, &hop);
    config.last_hop.check(base_rtt, config.users() as usize).map_err(|error| error.within("last_hop"))?;
    return_link(config, base, &Streams::new(config.seed))?;
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
pub fn last_link(config: &ScenarioConfig, base: &Path) -> Result<(Box<dyn ChannelModel>, Propagation), ScenarioError> {
    radio(config, base, &long_path(config, base, &Streams::new(config.seed))?)
}

fn radio(
    config: &ScenarioConfig,
    base: &Path,
    path: &LongPath,
) -> Result<(Box<dyn ChannelModel>, Propagation), ScenarioError> {
    Ok((load_channel(&config.channel, base, path.geometry().as_ref())?, propagation(config, path)?))
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
    base: &Path,
    geometry: Option<&Arc<Geometry>>,
) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    config.entry().load(base, geometry).map_err(|error| error.within("channel"))
}

/// Random streams for one channel.
pub fn channel_streams(streams: Streams, user: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    move |purpose| Box::new(streams.stream(&format!("channel.{purpose}"), user))
}

/// Random streams for what chance decides on the last hop.
pub fn last_hop_streams(streams: Streams) -> impl FnMut(&'static str, u64) -> Box<dyn Rng + Send> {
    move |purpose, number| Box::new(streams.stream(&format!("last_hop.{purpose}"), number))
}

fn long_path(config: &ScenarioConfig, base: &Path, streams: &Streams) -> Result<LongPath, ScenarioError> {
    let mut warnings = Vec::new();
    let trace = match &config.path {
        PathConfig::Fixed(fixed) => DelayTrace::fixed(fixed.delay),
        PathConfig::Constellation(path) => {
            let within = |error: ScenarioError| error.within("path");
            path.check().map_err(within)?;
            let read = crate::files::reader(base);
            let sky = path.constellation.sky(&read).map_err(within)?;
            let start = path.start.as_secs_f64();
            warnings.extend(sky.warning(start, start + config.duration.as_secs_f64()));
            let trace = path.trace_over(sky, config.duration, &read).map_err(within)?;
            warnings.extend(trace.warnings().iter().cloned());
            trace
        }
        PathConfig::Trace(trace) => {
            let file = base.join(&trace.file);
            let refuse = |message: String| ScenarioError::new("path.file", format!("{}: {message}", file.display()));
            let text = std::fs::read_to_string(&file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
            trace.parse(&text).map_err(|error| refuse(error.to_string()))?
        }
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
    base: &Path,
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
    let link = ReturnLink::new(access, &weights, base, &mut own).map_err(|error| error.within("access"))?;
    Ok(Some(Box::new(link)))
}

/// Who sends what.
#[derive(Default)]
struct Flows {
    applications: Vec<Application>,
    /// In the order of the applications.
    flows: Vec<Flow>,
    /// Who listens to each flow.
    listeners: Vec<Option<Listener>>,
}

/// The flows in the order of the scenario.
fn flows(config: &ScenarioConfig, base_rtt: Duration, streams: &Streams) -> Result<Flows, ScenarioError> {
    let mut made = Flows::default();
    let mut peps = 0..;
    let mut before: u64 = 0;
    for ((i, kind), users) in config.flows.iter().enumerate().zip(config.users_of_flows()) {
        let satellite = transport(config, kind.satellite_transport());
        let class = config.class_of(kind).map_err(|error| error.within(&format!("flows.{i}")))?;
        let pep = kind.pep.as_ref().map(|pep| pep_settings(config, i, kind, pep, base_rtt)).transpose()?;
        // Drawn from even when the spread is zero: another spread moves no other draw.
        let share = |place| streams.stream("flow.start", before + place).random::<f64>();
        let offsets: Vec<Duration> =
            (0..u64::from(kind.count)).map(|place| kind.start_spread.mul_f64(share(place))).collect();
        let mut own = |purpose: &'static str, place: u32| -> Box<dyn Rng + Send> {
            Box::new(streams.stream(purpose, before + u64::from(place)))
        };
        for traffic::UserSource { user, source } in kind.traffic.build(&offsets, config.duration, &mut own) {
            let application = made.applications.len() as u32;
            let connections = source.connections();
            let listens = kind.traffic.needs() == Needs::Exchange;
            made.applications.push(Application { source, listens, first_flow: made.flows.len() as u32 });
            for _ in 0..connections {
                let id = made.flows.len() as u64;
                let entropy = |purpose| {
                    let mut rng = streams.stream(purpose, id);
                    [rng.next_u64(), rng.next_u64()]
                };
                let pep = pep.as_ref().map(|(delay, settings)| {
                    let terrestrial = TcpEnds::with_held_reads(Arc::clone(settings), entropy("flow.pep"));
                    let number = peps.next().expect("endless");
                    Box::new(Pep::new(terrestrial, settings.congestion.kind(), *delay, number))
                });
                made.flows.push(Flow {
                    user: users.start + user,
                    application,
                    upward: kind.direction == FlowDirection::Up,
                    class,
                    traffic: kind.traffic.kind(),
                    transport: satellite.kind(),
                    congestion: satellite.congestion(),
                    satellite: satellite.ends(entropy("flow.congestion")),
                    pep,
                });
                made.listeners.push(kind.traffic.listener());
            }
        }
        before += u64::from(kind.count);
    }
    Ok(made)
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
