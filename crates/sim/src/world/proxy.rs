//! The performance-enhancing proxy: an application at the gateway between two connections.

use transport::Act;
use units::{Bytes, Time};

use super::connection::Connections;
use crate::packet::{EndpointId, Way};

/// A performance-enhancing proxy that splits the connection at the gateway (RFC 3135 section 2.4): the connection that
/// an application opens ends there, and another one begins that carries the same bytes on. Bytes go both ways.
///
/// What the gateway holds is bounded in each direction: data that have come and that the other end of the next
/// connection has not yet acknowledged. The gateway reads from a connection only what was acknowledged on the other, so
/// the window that it offers is what is left of its buffer. Data that came in order go on at once.
///
/// What is simplified, and who could notice: the terrestrial link has a delay and neither a rate nor losses, and the
/// gateway takes no time. Who studies a congested backhaul would notice.
pub(super) struct Proxy {
    /// The congestion controller of the connection between the server and the gateway.
    pub(super) congestion: Box<str>,
    /// The gateway's endpoints: towards the server, and towards the user.
    gates: [EndpointId; 2],
    /// From each of them to the other.
    relays: [Relay; 2],
    /// The most that is held in each direction.
    buffer: Bytes,
    /// That of the endpoints which opens its connection when the other connection is open.
    opens_next: Option<EndpointId>,
}

/// The bytes that the gateway relays in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Relay {
    /// Bytes handed on, and bytes of them that were acknowledged.
    relayed: u64,
    released: u64,
    closed: bool,
    held_bytes_max: u64,
}

impl Proxy {
    /// A proxy between two connections at rest, one on the ground and one over the satellites. `of_user`: the way of
    /// what the user sends.
    pub(super) fn new(terrestrial: u32, congestion: &str, satellite: u32, of_user: Way, buffer: Bytes) -> Proxy {
        Proxy {
            congestion: congestion.into(),
            buffer,
            gates: [
                EndpointId { connection: terrestrial, way: of_user },
                EndpointId { connection: satellite, way: of_user.back() },
            ],
            relays: [Relay::default(); 2],
            opens_next: None,
        }
    }

    /// The connection between the server and the gateway.
    pub(super) fn terrestrial(&self) -> u32 {
        self.gates[0].connection
    }

    /// The endpoint of a server or user whose packets go `way`.
    pub(super) fn host(&self, way: Way) -> EndpointId {
        EndpointId { connection: self.gates[self.at(way)].connection, way }
    }

    /// Bytes that reached the gateway of what goes `way`.
    pub(super) fn relayed_bytes(&self, way: Way) -> u64 {
        self.relays[self.at(way)].relayed
    }

    /// The most that was held in one direction.
    pub(super) fn held_bytes_max(&self) -> u64 {
        self.relays[0].held_bytes_max.max(self.relays[1].held_bytes_max)
    }

    /// The index of the gate at which arrives what goes `way`.
    fn at(&self, way: Way) -> usize {
        usize::from(self.gates[0].way == way)
    }

    /// The application opens its connection at `host`. The other connection is made as well, so that the application
    /// can act at its end of it, but the gateway sends nothing there before the first is open. Returns the end that
    /// opens the first, which is to be entered then.
    pub(super) fn open(&mut self, now: Time, host: EndpointId, connections: &mut Connections) -> EndpointId {
        let mut open = |end| connections.open(now, end, Some(self.buffer));
        let first = open(host);
        self.opens_next = Some(open(self.gates[1 - self.at(host.way)]));
        first
    }

    /// Does what follows from a packet that came to `gate`, one of the proxy's endpoints: the other one, if it is to be
    /// entered then.
    pub(super) fn relay(&mut self, now: Time, gate: EndpointId, connections: &mut Connections) -> Option<EndpointId> {
        let from = usize::from(gate == self.gates[1]);
        let other = self.gates[1 - from];
        let opens = self.opens_next == Some(other) && connections.end(gate).endpoint().is_open();
        if opens {
            self.opens_next = None;
            connections.recall(other);
        }
        let handed_on = self.relays[from].hand_on(now, gate, other, connections);
        let released = self.relays[1 - from].release(now, other, gate, connections);
        (opens || handed_on || released).then_some(other)
    }
}

impl Relay {
    /// Hands on the bytes that have arrived at `from`, and the end of them, to `to`. Returns whether there was any.
    fn hand_on(&mut self, now: Time, from: EndpointId, to: EndpointId, connections: &mut Connections) -> bool {
        let end = connections.end(from);
        let (arrived, ended) = (end.delivered_bytes(), end.endpoint().has_been_closed());
        let (more, closes) = (arrived - self.relayed, ended && !self.closed);
        if more > 0 {
            connections.act(now, to, Act::Write(Bytes::new(more)));
            self.relayed = arrived;
            self.held_bytes_max = self.held_bytes_max.max(arrived - self.released);
        }
        if closes {
            self.closed = true;
            connections.act(now, to, Act::Close);
        }
        more > 0 || closes
    }

    /// Frees at `from` what was acknowledged to `to`. Returns whether there was any, so that the window may open.
    fn release(&mut self, now: Time, from: EndpointId, to: EndpointId, connections: &mut Connections) -> bool {
        let acknowledged = connections.end(to).endpoint().acknowledged_bytes();
        let more = acknowledged - self.released;
        if more > 0 {
            connections.act(now, from, Act::Read(Bytes::new(more)));
            self.released = acknowledged;
        }
        more > 0
    }
}
