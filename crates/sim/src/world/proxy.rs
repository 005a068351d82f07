//! The performance-enhancing proxy: an application at the gateway between two connections.

use transport::{Act, Answer};
use units::{Bytes, Time};

use super::endpoint::{Connection, Endpoints};
use crate::packet::Way;

/// A performance-enhancing proxy that splits the connection at the gateway (RFC 3135 section 2.4): the server's connection
/// ends there, and another one begins that carries the same bytes to the user.
///
/// What the gateway holds for a flow is bounded: data that came from the server and that the user has not yet acknowledged.
/// The gateway reads from the server's connection only what the user has acknowledged, so the window that it offers the
/// server is what is left of the buffer. Data that came in order go on at once.
///
/// What is simplified, and who could notice: the terrestrial route has a delay and neither a rate nor losses, and the gateway
/// takes no time. Who studies a congested backhaul would notice.
pub(super) struct Proxy {
    /// Between the server and the gateway.
    pub(super) terrestrial: Connection,
    /// The congestion controller there.
    pub(super) congestion: &'static str,
    /// Between the gateway and the user.
    satellite: Connection,
    /// The gateway's endpoint towards the server: it holds what the user has not acknowledged.
    near: u32,
    /// Bytes handed on to the user's connection, and bytes of them that the user has acknowledged.
    relayed: u64,
    released: u64,
    opened: bool,
    closed: bool,
    pub(super) held_bytes_max: u64,
}

impl Proxy {
    /// A proxy between two connections at rest.
    pub(super) fn new(terrestrial: Connection, congestion: &'static str, satellite: Connection) -> Proxy {
        Proxy {
            near: terrestrial.end(Way::Backward),
            terrestrial,
            congestion,
            satellite,
            relayed: 0,
            released: 0,
            opened: false,
            closed: false,
            held_bytes_max: 0,
        }
    }

    /// The gateway's endpoint towards the server.
    pub(super) fn near(&self) -> u32 {
        self.near
    }

    /// Does what follows from a packet that came to `endpoint`, one of the proxy's, which answered so: the endpoint that may have
    /// something to send.
    pub(super) fn relay(
        &mut self,
        now: Time,
        endpoint: u32,
        answer: &Answer,
        endpoints: &mut Endpoints,
    ) -> Option<u32> {
        if endpoint == self.near {
            self.hand_on(now, answer.delivered, endpoints);
            return Some(self.satellite.end(Way::Forward));
        }
        self.release(now, answer.acknowledged, endpoints).then_some(self.near)
    }

    /// Hands on the bytes that have arrived from the server; opens and closes the connection to the user as the server did its own.
    fn hand_on(&mut self, now: Time, arrived: u64, endpoints: &mut Endpoints) {
        if !self.opened && endpoints.protocol(self.near).is_open() {
            self.opened = true;
            endpoints.open(now, &self.satellite, Way::Forward);
        }
        let far = self.satellite.end(Way::Forward);
        if arrived > self.relayed {
            endpoints.act(now, far, Act::Write(Bytes::new(arrived - self.relayed)));
            self.relayed = arrived;
            self.held_bytes_max = self.held_bytes_max.max(arrived - self.released);
        }
        if !self.closed && endpoints.protocol(self.near).has_been_closed() {
            self.closed = true;
            endpoints.act(now, far, Act::Close);
        }
    }

    /// Frees what the user has acknowledged; whether there was any, so that the window towards the server may open.
    fn release(&mut self, now: Time, acknowledged: u64, endpoints: &mut Endpoints) -> bool {
        let more = acknowledged - self.released;
        if more > 0 {
            endpoints.act(now, self.near, Act::Read(Bytes::new(more)));
            self.released = acknowledged;
        }
        more > 0
    }
}
