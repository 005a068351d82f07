//! A flow: its application, and the one or two connections that carry it.

use traffic::Source;
use units::{Duration, Time};

use super::ends::Ends;
use crate::packet::Leg;

/// A flow from a server to a user.
pub(super) struct Flow {
    /// Whose channel the flow crosses.
    pub(super) user: u32,
    pub(super) congestion: &'static str,
    pub(super) source: Box<dyn Source>,
    /// The connection over the satellites: from the server, or from the gateway if there is a proxy.
    pub(super) satellite: Ends,
    pub(super) pep: Option<Box<Pep>>,
}

/// A performance-enhancing proxy that splits the connection at the gateway (RFC 3135 section 2.4): the server's connection
/// ends there, and another one begins that carries the same bytes to the user.
///
/// What the gateway holds for a flow is bounded: data that came from the server and that the user has not yet acknowledged.
/// The gateway reads from the server's connection only what the user has acknowledged, so the window that it offers the
/// server is what is left of the buffer. Data that came in order go on at once.
///
/// What is simplified, and who could notice: the terrestrial leg has a delay and neither a rate nor losses, and the gateway
/// takes no time. Who studies a congested backhaul would notice.
pub(super) struct Pep {
    /// The connection from the server to the gateway.
    pub(super) terrestrial: Ends,
    pub(super) congestion: &'static str,
    /// Between server and gateway, one way.
    pub(super) delay: Duration,
    /// Its place among the flows with a proxy.
    pub(super) number: u32,
    /// Bytes handed on to the satellites, and bytes of them that the user has acknowledged.
    relayed: u64,
    released: u64,
    opened: bool,
    closed: bool,
    pub(super) held_max: u64,
}

impl Flow {
    /// The connection that the application writes to.
    pub(super) fn first_leg(&self) -> Leg {
        if self.pep.is_some() { Leg::Terrestrial } else { Leg::Satellite }
    }

    #[inline]
    pub(super) fn ends_mut(&mut self, leg: Leg) -> &mut Ends {
        match (leg, &mut self.pep) {
            (Leg::Terrestrial, Some(pep)) => &mut pep.terrestrial,
            _ => &mut self.satellite,
        }
    }
}

impl Pep {
    pub(super) fn new(terrestrial: Ends, congestion: &'static str, delay: Duration, number: u32) -> Pep {
        Pep {
            terrestrial,
            congestion,
            delay,
            number,
            relayed: 0,
            released: 0,
            opened: false,
            closed: false,
            held_max: 0,
        }
    }

    /// Hands on what came from the server; the satellite's connection may have something to send then.
    pub(super) fn relay(&mut self, now: Time, satellite: &mut Ends) {
        if !self.opened && self.terrestrial.has_been_opened() {
            self.opened = true;
            satellite.open(now);
        }
        let arrived = self.terrestrial.delivered_bytes();
        if arrived > self.relayed {
            let more = units::Bytes::new(arrived - self.relayed);
            satellite.act(now, traffic::Action::Write(more));
            self.relayed = arrived;
            self.held_max = self.held_max.max(arrived - self.released);
        }
        if !self.closed && self.terrestrial.has_been_closed() {
            self.closed = true;
            satellite.act(now, traffic::Action::Close);
        }
    }

    /// Frees what the user has acknowledged; whether there was any, and the window towards the server so may open.
    pub(super) fn release(&mut self, satellite: &Ends) -> bool {
        let acknowledged = satellite.acknowledged_bytes();
        let more = acknowledged - self.released;
        if more > 0 {
            self.terrestrial.read(more);
            self.released = acknowledged;
        }
        more > 0
    }
}
