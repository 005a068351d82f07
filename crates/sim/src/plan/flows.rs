//! The entries of `flows` as a world is built from them.

use std::sync::Arc;

use link::Limit;
use traffic::Needs;
use transport::{Transport, TransportConfig};
use units::{Bytes, Duration};

use super::path::{PathPlan, check_delay};
use crate::scenario::{FlowConfig, FlowDirection, PepConfig, ScenarioConfig, ScenarioError};

/// The references of an entry of `flows` to other parts of the scenario, resolved.
#[derive(Debug)]
pub(crate) struct FlowPlan {
    /// The class of service of the last hop, by its place.
    pub(crate) class: u32,
    pub(crate) pep: Option<PepPlan>,
}

/// A proxy between a server and the gateway.
#[derive(Debug)]
pub(crate) struct PepPlan {
    /// The one-way delay between server and gateway.
    pub(crate) delay: Duration,
    /// The transport of the server's connection.
    pub(crate) transport: Arc<dyn Transport>,
    /// What the gateway holds at most in each direction.
    pub(crate) buffer: Bytes,
}

/// Returns the plan of each entry of `flows`. `base_rtt`: the round-trip time without queueing.
///
/// # Errors
/// Names the field of the entry.
pub(super) fn flow_plans(config: &ScenarioConfig, base_rtt: Duration) -> Result<Vec<FlowPlan>, ScenarioError> {
    let plan = |(i, flow): (usize, &FlowConfig)| {
        let within = |error: ScenarioError| error.within(&format!("flows.{i}"));
        let class = config.class_of(flow).map_err(within)?;
        let pep = flow.pep.as_ref().map(|pep| pep_plan(config, flow, pep, base_rtt));
        Ok(FlowPlan { class, pep: pep.transpose().map_err(|error| within(error.within("pep")))? })
    };
    config.flows.iter().enumerate().map(plan).collect()
}

/// Returns the warnings of the flows' traffic.
pub(super) fn traffic_warnings(config: &ScenarioConfig) -> impl Iterator<Item = String> {
    let of_flow =
        |(i, flow): (usize, &FlowConfig)| Some(format!("flows.{i}.traffic.{}", flow.traffic.entry().warning()?));
    config.flows.iter().enumerate().filter_map(of_flow)
}

/// Returns a warning about weights that nothing asks for.
pub(super) fn weight_warning(config: &ScenarioConfig) -> Option<String> {
    let weighted = config.flows.iter().position(|flow| flow.weight != 1.0).filter(|_| config.access.is_none())?;
    Some(format!(
        "flows.{weighted}.weight: there is no return link, [access], whose capacity it divides: it changes nothing"
    ))
}

/// Returns warnings about flows whose packets are mostly padding on the last hop: they cost more than they carry.
pub(super) fn padding_warnings(config: &ScenarioConfig) -> Vec<String> {
    let warning = |(i, flow): (usize, &FlowConfig)| {
        let (packet, what) = downlink_packet(config, flow)?;
        let (carried, sent) = (f64::from(packet) * 8.0, config.last_hop.information_bits(packet));
        (carried < 0.5 * sent).then(|| {
            let (block, share) = (sent / 8.0, 100.0 * (1.0 - carried / sent));
            format!(
                "last_hop.harq.padding: {what} of flows.{i} have {packet} B, and each is padded to its block of \
                 {block} B: {share:.0} % of what is sent is padding; with padding = false it is not sent"
            )
        })
    };
    config.flows.iter().enumerate().filter_map(warning).collect()
}

/// A queue of fewer full packets drops most of what a window sends at once.
const FEW_PACKETS: u64 = 4;

/// Returns a warning about transfers to users whose queues hold hardly a packet: they do not fill the last hop.
/// `base_rtt`: the round-trip time without queueing.
pub(super) fn queue_warning(config: &ScenarioConfig, plans: &[FlowPlan], base_rtt: Duration) -> Option<String> {
    let (users, default) = (config.users(), config.default_packet_bytes());
    config.flows.iter().zip(plans).enumerate().find_map(|(i, (flow, plan))| {
        let sends = flow.traffic.entry().needs() == Needs::ByteStream && flow.direction == FlowDirection::Down;
        let (full, _) = flow.satellite_transport().entry().full_packet(default).filter(|_| sends)?;
        let size = config.last_hop.user_queue(plan.class, base_rtt, users as usize)?;
        let packets = match size {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes / u64::from(full),
        };
        let class = plan.class as usize;
        let of_class = if class < config.last_hop.classes.len() { format!("classes.{class}.") } else { String::new() };
        let each = if users == 1 { "the user".to_owned() } else { format!("each of {users} users") };
        (packets < FEW_PACKETS).then(|| {
            format!(
                "last_hop.{of_class}scheduler.buffer: {each} has a queue of {size}, and a full packet of flows.{i} has \
                 {full} B: most of what is sent at once is dropped, and the link may not be filled"
            )
        })
    })
}

/// Returns a warning about flows with ECN to users before whose queue nothing marks.
pub(super) fn ecn_warning(config: &ScenarioConfig, plans: &[FlowPlan]) -> Option<String> {
    let i = config.flows.iter().zip(plans).position(|(flow, plan)| {
        let may_be_marked = flow.satellite_transport().entry().sends_ect() && flow.direction == FlowDirection::Down;
        may_be_marked && !config.last_hop.marks(plan.class)
    })?;
    Some(format!(
        "flows.{i}: its packets may be marked (ECN), and no queue of the last hop marks them: give last_hop.queue a \
         manager that does"
    ))
}

/// Returns a warning about logs that no connection keeps.
pub(super) fn log_warning(config: &ScenarioConfig) -> Option<String> {
    let packet = config.default_packet_bytes();
    let keeps = |kind: &dyn transport::Kind| kind.build(packet).keeps_logs();
    let logged = !config.record.qlog || config.flows.iter().any(|flow| keeps(flow.satellite_transport().entry()));
    (!logged)
        .then(|| format!("record.qlog: no flow's transport is {}: no log is written", TransportConfig::names(keeps)))
}

/// Returns a warning about uploads that nothing limits: without a return link each user sends at once.
pub(super) fn upload_warning(config: &ScenarioConfig, path: &PathPlan) -> Option<String> {
    let uploads = config.flows.iter().any(|flow| flow.direction == FlowDirection::Up);
    let by_path = path.trace.measured().rate_up.is_some() || config.path.entry().hops().rate.is_some();
    let limited = config.access.is_some() || by_path;
    (uploads && !limited).then(|| {
        "flows go up, and nothing limits their rate or loses their packets: give a return link, [access], or a path \
         with a rate from the users"
            .to_owned()
    })
}

/// The largest packet of a flow that crosses the last hop, and what such packets are.
fn downlink_packet(config: &ScenarioConfig, flow: &FlowConfig) -> Option<(u32, &'static str)> {
    let (full, default) = (config.packet_bytes(flow), config.default_packet_bytes());
    let transport = flow.satellite_transport().entry();
    match (transport.full_packet(default), flow.traffic.entry().needs(), flow.direction) {
        (Some(_), Needs::ByteStream, FlowDirection::Up) => {
            Some((full - transport.build(default).payload_bytes(), "acknowledgments"))
        }
        (Some(_), ..) => Some((full, "full packets")),
        (None, _, FlowDirection::Down) => Some((full, "packets")),
        (None, ..) => None,
    }
}

fn pep_plan(
    config: &ScenarioConfig,
    flow: &FlowConfig,
    pep: &PepConfig,
    base_rtt: Duration,
) -> Result<PepPlan, ScenarioError> {
    let packet = config.default_packet_bytes();
    let transport = flow.transport.entry().build(packet);
    let windows = |transport: &TransportConfig, field| {
        transport.entry().build(packet).windows().ok_or_else(|| {
            let split = TransportConfig::names(|kind| kind.build(packet).windows().is_some());
            let message = format!("a proxy splits connections of {split}, and the transport is {}", transport.kind());
            ScenarioError::new(field, message)
        })
    };
    let ground = windows(&flow.transport, "")?;
    let satellite = windows(flow.satellite_transport(), "transport.kind")?;
    let (least, most) = (*ground.start().max(satellite.start()), *ground.end().min(satellite.end()));
    check_delay(pep.delay)?;
    let link = config.last_hop.facts(base_rtt, config.users() as usize);
    let bytes = match pep.buffer.resolve(&link)? {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * u64::from(transport.payload_bytes()),
    };
    if !(least..=most).contains(&bytes) {
        let message = format!("\"{}\" is {bytes} B: {least} (a segment) to {most} B are possible", pep.buffer);
        return Err(ScenarioError::new("buffer", message));
    }
    Ok(PepPlan { delay: pep.delay, transport, buffer: Bytes::new(bytes) })
}
