//! What the entries of `flows` are built from.

use std::sync::Arc;

use link::Limit;
use transport::{Settings, TcpConfig};
use units::{Bytes, Duration};

use crate::scenario::{FlowConfig, PepConfig, ScenarioConfig, ScenarioError, TransportConfig};

/// What an entry of `flows` refers to elsewhere in the scenario, resolved.
#[derive(Debug)]
pub(crate) struct FlowPlan {
    /// The class of service of the last hop, by its place.
    pub(crate) class: u32,
    pub(crate) pep: Option<PepPlan>,
}

/// A proxy between a server and the gateway.
#[derive(Debug)]
pub(crate) struct PepPlan {
    /// One way between them.
    pub(crate) delay: Duration,
    /// The transport of the server's connection; its receive buffer is that of the proxy.
    pub(crate) settings: Arc<Settings>,
}

/// Of each entry of `flows`. `base_rtt`: the round-trip time without queueing.
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

/// The settings of a connection.
pub(crate) fn settings(config: &ScenarioConfig, tcp: &TcpConfig) -> Arc<Settings> {
    Arc::new(tcp.resolve(config.default_packet_bytes()))
}

fn pep_plan(
    config: &ScenarioConfig,
    flow: &FlowConfig,
    pep: &PepConfig,
    base_rtt: Duration,
) -> Result<PepPlan, ScenarioError> {
    let TransportConfig::Tcp(tcp) = &flow.transport else {
        let message = format!("splits connections of tcp, and the transport is {}", flow.transport.kind());
        return Err(ScenarioError::new("", message));
    };
    let settings = settings(config, tcp);
    let segment = u64::from(settings.mss);
    let link = config.last_hop.facts(base_rtt, config.users() as usize);
    let bytes = match pep.buffer.resolve(&link)? {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * segment,
    };
    // It is the window of the server's connection: at least a segment, at most what RFC 7323 section 2.3 can offer.
    if !(segment..=MAX_WINDOW).contains(&bytes) {
        let message = format!("\"{}\" is {bytes} B: {segment} (a segment) to {MAX_WINDOW} B are possible", pep.buffer);
        return Err(ScenarioError::new("buffer", message));
    }
    let settings = Arc::new(Settings { receive_buffer: Bytes::new(bytes), ..(*settings).clone() });
    Ok(PepPlan { delay: pep.delay, settings })
}

/// 65,535 bytes scaled by the largest shift.
const MAX_WINDOW: u64 = 65_535 << 14;
