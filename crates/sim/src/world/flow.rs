//! Flows, and the applications that write and read them.

use std::sync::Arc;

use traffic::Source;
use transport::Transport;

use super::proxy::Proxy;
use crate::packet::{EndpointId, Way};

/// An application at both ends of its flows.
pub(super) struct Application {
    pub(super) source: Box<dyn Source>,
    pub(super) machine: engine::MachineId,
    /// Its flows: this one and those after it.
    pub(super) first_flow: u32,
}

/// What the flows of one entry of the scenario have in common.
pub(super) struct FlowKind {
    /// The user sends the data.
    pub(super) upload: bool,
    /// The class of service on the last hop.
    pub(super) class: u32,
    pub(super) traffic: &'static str,
    /// Of the connection over the satellites: the name in a scenario, and what its ends are made from.
    pub(super) transport_kind: &'static str,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) place: u32,
}

/// A flow between a server and a user.
pub(super) struct Flow {
    pub(super) user: u32,
    /// The [`FlowKind`], by the index of its entry in the scenario.
    pub(super) kind: u32,
    pub(super) application: u32,
    /// The connection over the satellites: between the user and the server, or the gateway if there is a proxy.
    pub(super) connection: u32,
    pub(super) proxy: Option<u32>,
}

impl Flow {
    /// The endpoint of the application whose packets go `way`.
    #[inline]
    pub(super) fn host(&self, way: Way, proxies: &[Proxy]) -> EndpointId {
        match self.proxy {
            Some(proxy) => proxies[proxy as usize].host(way),
            None => EndpointId { connection: self.connection, way },
        }
    }
}
