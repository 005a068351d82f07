//! The performance-enhancing proxy: an application at the gateway between two connections.

use transport::Act;
use units::{Bytes, Time};

use super::connection::Connections;
use crate::packet::{EndpointId, Way};

/// A performance-enhancing proxy that splits the connection at the gateway (RFC 3135 section 2.4): the server's
/// connection ends there, and another one begins that carries the same bytes to the user.
///
/// What the gateway holds for a flow is bounded: data that came from the server and that the user has not yet
/// acknowledged. The gateway reads from the server's connection only what the user has acknowledged, so the window that
/// it offers the server is what is left of the buffer. Data that came in order go on at once.
///
/// What is simplified, and who could notice: the terrestrial link has a delay and neither a rate nor losses, and the
/// gateway takes no time. Who studies a congested backhaul would notice.
pub(super) struct Proxy {
    /// The connection between the server and the gateway.
    pub(super) terrestrial: u32,
    /// The congestion controller there.
    pub(super) congestion: Box<str>,
    /// The connection between the gateway and the user.
    satellite: u32,
    /// Bytes handed on to the user's connection, and bytes of them that the user has acknowledged.
    relayed: u64,
    released: u64,
    opened: bool,
    closed: bool,
    pub(super) held_bytes_max: u64,
}

impl Proxy {
    /// A proxy between two connections at rest.
    pub(super) fn new(terrestrial: u32, congestion: &str, satellite: u32) -> Proxy {
        Proxy {
            terrestrial,
            congestion: congestion.into(),
            satellite,
            relayed: 0,
            released: 0,
            opened: false,
            closed: false,
            held_bytes_max: 0,
        }
    }

    /// The gateway's endpoint towards the server: it holds what the user has not acknowledged.
    pub(super) fn near(&self) -> EndpointId {
        EndpointId { connection: self.terrestrial, way: Way::Backward }
    }

    /// The gateway's endpoint towards the user.
    fn far(&self) -> EndpointId {
        EndpointId { connection: self.satellite, way: Way::Forward }
    }

    /// Does what follows from a packet that came to `endpoint`, one of the proxy's: the endpoint that may have
    /// something to send.
    pub(super) fn relay(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        connections: &mut Connections,
    ) -> Option<EndpointId> {
        if endpoint == self.near() {
            self.hand_on(now, connections);
            return Some(self.far());
        }
        self.release(now, connections).then_some(self.near())
    }

    /// Hands on the bytes that have arrived from the server; opens and closes the connection to the user as the server
    /// did its own.
    fn hand_on(&mut self, now: Time, connections: &mut Connections) {
        let near = connections.end(self.terrestrial, Way::Backward);
        let (heard, arrived, ended) =
            (near.protocol().is_open(), near.delivered_bytes(), near.protocol().has_been_closed());
        if heard && !self.opened {
            self.opened = true;
            connections.open(now, self.satellite, Way::Forward);
        }
        if arrived > self.relayed {
            connections.act(now, self.far(), Act::Write(Bytes::new(arrived - self.relayed)));
            self.relayed = arrived;
            self.held_bytes_max = self.held_bytes_max.max(arrived - self.released);
        }
        if ended && !self.closed {
            self.closed = true;
            connections.act(now, self.far(), Act::Close);
        }
    }

    /// Frees what the user has acknowledged; whether there was any, so that the window towards the server may open.
    fn release(&mut self, now: Time, connections: &mut Connections) -> bool {
        let acknowledged = connections.end(self.satellite, Way::Forward).acknowledged_bytes();
        let more = acknowledged - self.released;
        if more > 0 {
            connections.act(now, self.near(), Act::Read(Bytes::new(more)));
            self.released = acknowledged;
        }
        more > 0
    }
}
