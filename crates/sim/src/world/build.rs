//! From a checked scenario to a world at rest.

use std::path::Path;

use channel::{ChannelConfig, ChannelModel};
use engine::{Agenda, Digest, Streams};
use link::LastHop;
use orbit::{DelayTrace, PathConfig};
use rand::{Rng, RngExt};
use units::{Duration, Time};

use super::path::LongPath;
use super::{BACKWARD, Drops, FIRST_FLOW, FORWARD, Flow, LINK, Packets, Pipe, Role, SAMPLER, World};
use crate::record::series::Series;
use crate::scenario::{ScenarioConfig, ScenarioError, TransportConfig};

/// Laws of the channel are the scenario's, not the run's: they come from streams that no seed changes.
const LAW_SEED: u64 = 0;

/// Builds the world of a scenario; relative file names start from `base`.
pub(super) fn build(config: &ScenarioConfig, base: &Path, seed: u64) -> Result<World, ScenarioError> {
    let streams = Streams::new(seed);
    let path = long_path(config, base, &streams)?;
    let users = config.flows.iter().map(|flow| flow.count).sum::<u32>();
    let model = load_channel(&config.channel, base)?;
    let link = last_hop(config, model.as_ref(), users, base_rtt(config, &path), &streams)?;
    let flows = flows(config, &streams);

    let mut agenda = Agenda::default();
    let phases = [Role::Deliver; 3].into_iter().chain([Role::Sample]);
    for role in phases.chain(flows.iter().flat_map(|_| [Role::Source, Role::Sender, Role::Receiver])) {
        agenda.add(role.phase());
    }
    debug_assert_eq!((FORWARD.0, LINK.0, BACKWARD.0, SAMPLER.0, FIRST_FLOW), (0, 1, 2, 3, 4));
    let record = &config.record;
    let series = record.series.then(|| Series::new(record.interval, record.samples as usize, flows.len()));
    let mut world = World {
        agenda,
        digest: Digest::default(),
        now: Time::ZERO,
        packets: Packets::default(),
        path,
        hop_delay: config.last_hop.delay,
        forward: Pipe::default(),
        link,
        backward: Pipe::default(),
        flows,
        delivered: 0,
        drops: Drops::default(),
        series,
        warnings: model.warnings(),
    };
    world.arm_at_rest();
    Ok(world)
}

/// Reads the files that a scenario names and checks what follows from its values together, without building a world.
pub(crate) fn check(config: &ScenarioConfig, base: &Path) -> Result<(), ScenarioError> {
    let path = long_path(config, base, &Streams::new(config.seed))?;
    load_channel(&config.channel, base)?;
    config.last_hop.check(base_rtt(config, &path)).map_err(|error| error.within("last_hop"))
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
    let rng = Box::new(streams.stream("last_hop.harq", 0));
    LastHop::new(&config.last_hop, base_rtt, channels, law.as_ref(), rng).map_err(|error| error.within("last_hop"))
}

/// The flows in the order of the scenario, each to a user of its own.
fn flows(config: &ScenarioConfig, streams: &Streams) -> Vec<Flow> {
    let packet = config.default_packet_bytes();
    let kinds = config.flows.iter().flat_map(|flow| std::iter::repeat_n(flow, flow.count as usize));
    let flow = |(id, kind): (usize, &crate::scenario::FlowConfig)| {
        let TransportConfig::Tcp(tcp) = &kind.transport;
        // Drawn from even when the spread is zero: another spread moves no other draw.
        let share: f64 = streams.stream("flow.start", id as u64).random();
        let source = kind.traffic.build(kind.start_spread.mul_f64(share));
        Flow::new(id as u32, tcp.resolve(packet), tcp.congestion.kind(), source)
    };
    kinds.enumerate().map(flow).collect()
}
