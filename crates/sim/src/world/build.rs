//! From a checked scenario to a world at rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use access::ReturnLink;
use engine::Streams;
use link::{Choose, LastHop};
use orbit::{DelayTrace, PathConfig};
use rand::Rng;
use traffic::{Needs, TrafficConfig};
use transport::Transport;
use units::chance::unit_interval;
use units::{Duration, Time};

use super::connection::{Connections, Reader};
use super::flow::{Application, Flow, FlowKind};
use super::ledger::Ledger;
use super::network::{Network, Site};
use super::path::LongPath;
use super::place::Parts;
use super::proxy::Proxy;
use super::run::World;
use super::schedule::{Machine, Schedule};
use super::scripts::Scripts;
use super::underlay::Underlay;
use crate::packet::{Link, Packets, Way};
use crate::plan::{FlowPlan, PathPlan, PepPlan, Plan, channel_streams};
use crate::record::recorder::Recorder;
use crate::record::series::Series;
use crate::scenario::{FlowConfig, FlowDirection, ScenarioConfig, ScenarioError};

/// Finds a scheduler from elsewhere by its name.
pub type Choosers<'a> = dyn FnMut(&str) -> Option<Box<dyn Choose>> + 'a;

/// Builds the world of a plan.
///
/// # Errors
/// `scripts` does not know what the scenario names.
pub(crate) fn build(plan: &Plan, seed: u64, scripts: &mut dyn Scripts) -> Result<World, ScenarioError> {
    let config = plan.config();
    let streams = Streams::new(seed);
    let path = long_path(plan, &streams);
    let mut last_hop = last_hop(plan, streams, &mut |name| scripts.scheduler(name))?;
    if config.last_hop.rate.follows_path()
        && let Some(rates) = &path.trace().measured().rate_down
    {
        last_hop.vary_rate(Arc::clone(rates));
    }

    let mut schedule = Schedule::default();
    let parts = Parts {
        path,
        hop: plan.hop.clone(),
        carrier: config.channel.entry().carrier(),
        reference_snr: plan.model.reference_snr(),
        last_hop,
        return_link: return_link(plan, &streams),
    };
    let mut network = Network::new(vec![parts], &mut schedule);
    let sampler = schedule.add(Machine::Sampler);
    let Flows { applications, kinds, flows, connections, proxies } = flows(plan, &streams, &mut schedule, scripts)?;
    let record = &config.record;
    let most = record.most_samples(flows.len());
    let series = record.series.then(|| Series::new(record.interval, config.duration, most, flows.len()));
    let listeners = flows.iter().map(|flow| config.flows[flow.kind as usize].traffic.entry().listener());
    let recorder = Recorder::new(listeners, series);
    let places = flows.iter().filter(|flow| kinds[flow.kind as usize].transport.follows_gateways());
    let places: BTreeSet<u32> = places.map(|flow| kinds[flow.kind as usize].place).collect();
    places.into_iter().for_each(|place| network.place(place).follow_gateways());
    if let (Some(timer), [place]) = (shortest_timer_of_users(config, &kinds), network.places.as_mut_slice()) {
        place.run_late(timer);
    }
    let mut world = World {
        now: Time::ZERO,
        under: Underlay { ledger: Ledger::new(flows.len(), recorder), network, schedule },
        arrived: Packets::no_payload(),
        applications,
        kinds,
        flows,
        connections,
        proxies,
        sampler,
        offered_classes: BTreeSet::new(),
        warnings: plan.warnings().to_vec(),
    };
    world.start();
    Ok(world)
}

/// If users only take what comes and acknowledge it: how long after a packet a timer of theirs is due at the earliest;
/// [`Duration::MAX`] if they do not even acknowledge.
fn shortest_timer_of_users(config: &ScenarioConfig, kinds: &[FlowKind]) -> Option<Duration> {
    let shortest = |(entry, kind): (&FlowConfig, &FlowKind)| {
        if !entry.traffic.entry().needs().only_takes() || entry.pep.is_some() || kind.upload {
            None
        } else if kind.transport.answers() {
            kind.transport.shortest_timer()
        } else {
            Some(Duration::MAX)
        }
    };
    config.flows.iter().zip(kinds).map(shortest).try_fold(Duration::MAX, |least, timer| Some(least.min(timer?)))
}

/// Random streams for what chance decides on the last hop.
pub fn last_hop_streams(streams: Streams) -> impl Fn(&'static str, u64) -> Box<dyn Rng + Send> + Clone + use<> {
    let streams = streams.within("last_hop.");
    move |purpose, number| Box::new(streams.stream(purpose, number))
}

/// The course of a path that has one of its own in each run, drawn from the run's stream; `None` for other paths.
pub fn path_course(path: &PathConfig, streams: &Streams, duration: Duration) -> Option<DelayTrace> {
    let mut chance = streams.stream("path.course", 0);
    path.entry().realise(duration, &mut || unit_interval(chance.next_u64()))
}

fn long_path(plan: &Plan, streams: &Streams) -> LongPath {
    let path = &plan.config().path;
    let chances = |purpose| [streams.stream(purpose, 0), streams.stream(purpose, 1)];
    let jitter = path.entry().jitter().map(|jitter| (jitter.clone(), chances("path.jitter")));
    let own = path_course(path, streams, plan.config().duration);
    let course = own.map_or_else(|| Arc::clone(&plan.path), |trace| Arc::new(PathPlan::of(trace)));
    LongPath::new(path, course, jitter, chances("path.loss"))
}

fn last_hop(plan: &Plan, streams: Streams, choosers: &mut Choosers<'_>) -> Result<LastHop, ScenarioError> {
    let config = plan.config();
    let users = (0..config.users()).map(u64::from);
    let channels = users.map(|user| plan.model.build(user, &mut channel_streams(streams, user))).collect();
    let own = last_hop_streams(streams);
    let mut hop = LastHop::new(&config.last_hop, plan.hop.clone(), plan.base_rtt, channels, plan.law(), own, choosers)
        .map_err(|error| error.within("last_hop"))?;
    if config.record.queue_delays {
        hop.note_waits();
    }
    Ok(hop)
}

/// The return link, if the scenario has one.
fn return_link(plan: &Plan, streams: &Streams) -> Option<Box<ReturnLink>> {
    let (config, access) = (plan.config(), plan.access.as_ref()?);
    let mut weights = vec![1.0; config.users() as usize];
    for (flow, users) in config.flows.iter().zip(config.users_of_flows()) {
        weights[users.start as usize..users.end as usize].fill(flow.weight);
    }
    let streams = streams.within("access.");
    let mut own = |purpose: &'static str, number| -> Box<dyn Rng + Send> { Box::new(streams.stream(purpose, number)) };
    Some(Box::new(ReturnLink::new(access, &weights, &mut own)))
}

/// Applications, their flows and connections.
#[derive(Default)]
struct Flows {
    applications: Vec<Application>,
    kinds: Vec<FlowKind>,
    /// In the order of the applications.
    flows: Vec<Flow>,
    connections: Connections,
    proxies: Vec<Proxy>,
}

/// The flows in the order of the scenario.
fn flows(
    plan: &Plan,
    streams: &Streams,
    schedule: &mut Schedule,
    scripts: &mut dyn Scripts,
) -> Result<Flows, ScenarioError> {
    let config = plan.config();
    let mut made = Flows::default();
    let mut before: u64 = 0;
    let entries = (0..).zip(&config.flows).zip(&plan.flows).zip(config.users_of_flows());
    for (((number, entry), FlowPlan { class, pep }), users) in entries {
        let Supplied { transport, pep, traffic } =
            supplied(config, entry, pep.as_ref(), scripts).map_err(|error| error.within(&format!("flows.{number}")))?;
        made.kinds.push(FlowKind {
            upload: entry.direction == FlowDirection::Up,
            class: *class,
            traffic: entry.traffic.kind(),
            transport_kind: entry.satellite_transport().kind(),
            transport,
            place: 0,
        });
        // Drawn from even when the spread is zero: another spread moves no other draw.
        let share = |index| unit_interval(streams.stream("flow.start", before + index).next_u64());
        let offsets: Vec<Duration> =
            (0..u64::from(entry.count)).map(|index| entry.start_spread.mul_f64(share(index))).collect();
        let mut own = |purpose: &'static str, index: u32| -> Box<dyn Rng + Send> {
            Box::new(streams.stream(purpose, before + u64::from(index)))
        };
        for traffic::UserSource { user, source } in traffic.entry().build(&offsets, config.duration, &mut own) {
            let number = made.applications.len() as u32;
            let (connections, first_flow) = (source.connections(), made.flows.len() as u32);
            let machine = schedule.add(Machine::Application(number));
            made.applications.push(Application { source, machine, first_flow });
            let reader = match entry.traffic.entry().needs() {
                Needs::Outside => Reader::Outside,
                needs if needs.only_takes() => Reader::Sink,
                _ => Reader::Application(number),
            };
            for _ in 0..connections {
                made.add_flow(users.start + user, number, reader, pep.as_ref(), streams, schedule);
            }
        }
        before += u64::from(entry.count);
    }
    Ok(made)
}

/// What an entry of flows is made from, with the code that it names.
struct Supplied {
    transport: Arc<dyn Transport>,
    pep: Option<PepPlan>,
    traffic: TrafficConfig,
}

fn supplied(
    config: &ScenarioConfig,
    entry: &FlowConfig,
    pep: Option<&PepPlan>,
    scripts: &mut dyn Scripts,
) -> Result<Supplied, ScenarioError> {
    let mut with_code = |own: Arc<dyn Transport>| {
        let supplied = own.supplied(&mut |name| scripts.controller(name)).map_err(|error| error.within("transport"))?;
        Ok(supplied.unwrap_or(own))
    };
    let transport = with_code(entry.satellite_transport().entry().build(config.default_packet_bytes()))?;
    let of_pep = |pep: &PepPlan| Ok(PepPlan { transport: with_code(Arc::clone(&pep.transport))?, ..*pep });
    let pep = pep.map(of_pep).transpose()?;
    let mut traffic = entry.traffic.clone();
    traffic.entry_mut().supply(&mut |name| scripts.source(name)).map_err(|error| error.within("traffic"))?;
    Ok(Supplied { transport, pep, traffic })
}

impl Flows {
    /// Adds a flow of the last kind, whose ends are read by `reader`; where there is a proxy, that reads the gateway's.
    fn add_flow(
        &mut self,
        user: u32,
        application: u32,
        reader: Reader,
        proxy: Option<&PepPlan>,
        streams: &Streams,
        schedule: &mut Schedule,
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
            payload_bytes: kind.transport.payload_bytes(),
            links: [Way::Forward, Way::Backward].map(|way| Link::over_satellites(way, kind.upload)),
            delay: Duration::ZERO,
            address: 0,
            of_user: if kind.upload { Way::Forward } else { Way::Backward },
        };
        let relay = Reader::Proxy(self.proxies.len() as u32);
        // The end whose packets go `of_gateway` is the gateway's, if there is a proxy.
        let readers = |of_gateway: Way| {
            [Way::Forward, Way::Backward].map(|way| if proxy.is_some() && way == of_gateway { relay } else { reader })
        };
        let (own, satellite) = (entropy("flow.congestion", flow), readers(site.of_user.back()));
        let connection = self.connections.add(site, &kind.transport, own, satellite, schedule);
        let proxy = proxy.map(|PepPlan { delay, transport, buffer }| {
            let (delay, payload_bytes) = (*delay, transport.payload_bytes());
            let site = Site { links: [Link::Terrestrial; 2], delay, payload_bytes, ..site };
            let (own, ground) = (entropy("flow.pep", flow), readers(site.of_user));
            let terrestrial = self.connections.add(site, transport, own, ground, schedule);
            self.proxies.push(Proxy::new(
                terrestrial,
                &transport.congestion().unwrap_or_default(),
                connection,
                site.of_user,
                *buffer,
            ));
            self.proxies.len() as u32 - 1
        });
        self.flows.push(Flow { user, kind: number, application, connection, proxy });
    }
}
