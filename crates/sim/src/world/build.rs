//! From a checked scenario to a world at rest.

use std::path::Path;
use std::sync::Arc;

use channel::{ChannelConfig, ChannelModel};
use engine::{Agenda, Streams};
use link::{LastHop, Limit};
use orbit::{DelayTrace, PathConfig};
use rand::{Rng, RngExt};
use transport::Settings;
use units::{Bytes, Duration, Time};

use super::ends::Ends;
use super::flow::Pep;
use super::path::LongPath;
use super::{BACKWARD, FIRST_FLOW, FORWARD, Flow, LINK, Packets, Pipe, Role, SAMPLER, TERRESTRIAL, World};
use crate::record::recorder::Recorder;
use crate::record::series::Series;
use crate::scenario::{FlowConfig, PepConfig, ScenarioConfig, ScenarioError, TransportConfig};

/// Laws of the channel are the scenario's, not the run's: they come from streams that no seed changes.
const LAW_SEED: u64 = 0;

/// Builds the world of a scenario; relative file names start from `base`.
pub(super) fn build(config: &ScenarioConfig, base: &Path, seed: u64) -> Result<World, ScenarioError> {
    let streams = Streams::new(seed);
    let path = long_path(config, base, &streams)?;
    let users = config.flows.iter().map(|flow| flow.count).sum::<u32>();
    let model = load_channel(&config.channel, base)?;
    let base_rtt = base_rtt(config, &path);
    let link = last_hop(config, model.as_ref(), users, base_rtt, &streams)?;
    let flows = flows(config, base_rtt, &streams)?;
    let with_pep: Vec<u32> = (0..users).filter(|&flow| flows[flow as usize].pep.is_some()).collect();

    let mut agenda = Agenda::default();
    let shared = [Role::Deliver, Role::Deliver, Role::Deliver, Role::Deliver, Role::Sample];
    let own = std::iter::repeat_n(Role::Act, 3 * flows.len() + 2 * with_pep.len());
    for role in shared.into_iter().chain(own) {
        agenda.add(role.phase());
    }
    let places = [FORWARD, LINK, BACKWARD, TERRESTRIAL, SAMPLER].map(|machine| machine.0);
    debug_assert_eq!((places, FIRST_FLOW), ([0, 1, 2, 3, 4], 5));
    let record = &config.record;
    let series = record.series.then(|| Series::new(record.interval, record.samples as usize, flows.len()));
    let mut world = World {
        agenda,
        now: Time::ZERO,
        packets: Packets::default(),
        path,
        hop_delay: config.last_hop.delay,
        forward: Pipe::default(),
        link,
        backward: Pipe::default(),
        terrestrial: Pipe::default(),
        recorder: Recorder::new(flows.len(), series),
        flows,
        with_pep,
        warnings: model.warnings(),
    };
    world.arm_at_rest();
    Ok(world)
}

/// Reads the files that a scenario names and checks what follows from its values together, without building a world.
pub(crate) fn check(config: &ScenarioConfig, base: &Path) -> Result<(), ScenarioError> {
    let path = long_path(config, base, &Streams::new(config.seed))?;
    load_channel(&config.channel, base)?;
    let base_rtt = base_rtt(config, &path);
    config.last_hop.check(base_rtt).map_err(|error| error.within("last_hop"))?;
    let with_pep = config.flows.iter().enumerate().filter_map(|(i, flow)| Some((i, flow, flow.pep.as_ref()?)));
    with_pep.into_iter().try_for_each(|(i, flow, pep)| pep_buffer(config, i, flow, pep, base_rtt).map(drop))
}

/// The round-trip time without queueing, from which buffers in bandwidth-delay products follow.
fn base_rtt(config: &ScenarioConfig, path: &LongPath) -> Duration {
    (path.mean(config.duration) + config.last_hop.delay) * 2
}

/// A channel as the scenario names it, its files read.
pub(crate) fn load_channel(config: &ChannelConfig, base: &Path) -> Result<Box<dyn ChannelModel>, ScenarioError> {
    config.load(base).map_err(|error| ScenarioError::from(error).within("channel"))
}

/// Random streams for one channel.
pub(crate) fn channel_streams(streams: Streams, user: u64) -> impl FnMut(&'static str) -> Box<dyn Rng + Send> {
    move |purpose| Box::new(streams.stream(&format!("channel.{purpose}"), user))
}

fn long_path(config: &ScenarioConfig, base: &Path, streams: &Streams) -> Result<LongPath, ScenarioError> {
    let trace = match &config.path {
        PathConfig::Fixed(fixed) => DelayTrace::fixed(fixed.delay),
        PathConfig::Constellation(constellation) => {
            constellation.trace(config.duration).map_err(|error| error.within("path"))?
        }
        PathConfig::Trace(trace) => {
            let file = base.join(&trace.file);
            let refuse = |message: String| ScenarioError::new("path.file", format!("{}: {message}", file.display()));
            let text = std::fs::read_to_string(&file).map_err(|error| refuse(format!("cannot be read: {error}")))?;
            DelayTrace::from_csv(&text).map_err(|error| refuse(error.to_string()))?
        }
    };
    let jitter = match &config.path {
        PathConfig::Fixed(fixed) => fixed.jitter.clone().map(|jitter| (jitter, streams.stream("path.jitter", 0))),
        _ => None,
    };
    Ok(LongPath::new(trace, jitter))
}

fn last_hop(
    config: &ScenarioConfig,
    model: &dyn ChannelModel,
    users: u32,
    base_rtt: Duration,
    streams: &Streams,
) -> Result<LastHop, ScenarioError> {
    let law = config.last_hop.law_request().map(|request| {
        let mut streams = channel_streams(Streams::new(LAW_SEED), 0);
        model.transmission_law(request.spacing, request.transmissions, &mut streams)
    });
    let channels = (0..users).map(|user| model.build(&mut channel_streams(*streams, u64::from(user)))).collect();
    let mut streams = |purpose: &'static str, number| -> Box<dyn Rng + Send> {
        Box::new(streams.stream(&format!("last_hop.{purpose}"), number))
    };
    LastHop::new(&config.last_hop, base_rtt, channels, law.as_ref(), &mut streams)
        .map_err(|error| error.within("last_hop"))
}

/// The flows in the order of the scenario, each to a user of its own.
fn flows(config: &ScenarioConfig, base_rtt: Duration, streams: &Streams) -> Result<Vec<Flow>, ScenarioError> {
    let count = config.flows.iter().map(|kind| kind.count as usize).sum();
    let mut flows: Vec<Flow> = Vec::with_capacity(count);
    let mut peps = 0..;
    for (i, kind) in config.flows.iter().enumerate() {
        let satellite = settings(config, kind.satellite_transport());
        let pep = kind.pep.as_ref().map(|pep| -> Result<_, ScenarioError> {
            let buffer = pep_buffer(config, i, kind, pep, base_rtt)?;
            let terrestrial = settings(config, &kind.transport);
            Ok((pep.delay, Arc::new(Settings { receive_buffer: buffer, ..(*terrestrial).clone() })))
        });
        let pep = pep.transpose()?;
        for _ in 0..kind.count {
            let id = flows.len() as u64;
            // Drawn from even when the spread is zero: another spread moves no other draw.
            let share: f64 = streams.stream("flow.start", id).random();
            let source = kind.traffic.build(kind.start_spread.mul_f64(share));
            let entropy = |purpose| {
                let mut rng = streams.stream(purpose, id);
                [rng.next_u64(), rng.next_u64()]
            };
            let pep = pep.as_ref().map(|(delay, settings)| {
                let terrestrial = Ends::with_held_reads(Arc::clone(settings), entropy("flow.pep"));
                let number = peps.next().expect("endless");
                Box::new(Pep::new(terrestrial, settings.congestion.kind(), *delay, number))
            });
            flows.push(Flow {
                user: id as u32,
                congestion: satellite.congestion.kind(),
                source,
                satellite: Ends::new(Arc::clone(&satellite), entropy("flow.congestion")),
                pep,
            });
        }
    }
    Ok(flows)
}

fn settings(config: &ScenarioConfig, transport: &TransportConfig) -> Arc<Settings> {
    let TransportConfig::Tcp(tcp) = transport;
    Arc::new(tcp.resolve(config.default_packet_bytes()))
}

/// What the gateway holds at most of a flow of the `index`-th kind.
fn pep_buffer(
    config: &ScenarioConfig,
    index: usize,
    flow: &FlowConfig,
    pep: &PepConfig,
    base_rtt: Duration,
) -> Result<Bytes, ScenarioError> {
    let section = format!("flows.{index}.pep");
    let segment = u64::from(settings(config, &flow.transport).mss);
    let limit = pep.buffer.resolve(config.last_hop.rate, base_rtt).map_err(|error| error.within(&section))?;
    let bytes = match limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * segment,
    };
    // It is the window of the server's connection: at least a segment, at most what can be offered (RFC 7323 section 2.3).
    if !(segment..=MAX_WINDOW).contains(&bytes) {
        let message = format!("\"{}\" is {bytes} B: {segment} (a segment) to {MAX_WINDOW} B are possible", pep.buffer);
        return Err(ScenarioError::new("buffer", message).within(&section));
    }
    Ok(Bytes::new(bytes))
}

/// 65,535 bytes scaled by the largest shift.
const MAX_WINDOW: u64 = 65_535 << 14;
