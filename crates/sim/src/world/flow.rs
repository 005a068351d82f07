//! An application and its flows: each is carried by one connection, or two where there is a proxy.

use traffic::{Action, End, Source};
use units::{Bytes, Duration, Time};

use super::ends::{Ends, TcpEnds};
use crate::packet::{Direction, Leg, Payload, Way};

/// What writes into flows and reads from them.
pub(super) struct Application {
    pub(super) source: Box<dyn Source>,
    /// Whether it does something about what arrives.
    pub(super) listens: bool,
    /// Its flows: this one and those after it.
    pub(super) first_flow: u32,
}

/// A flow between a server and a user.
pub(super) struct Flow {
    /// Whose channel the flow crosses.
    pub(super) user: u32,
    /// Where its application stands.
    pub(super) application: u32,
    /// Whether its data go up: the server is then at the user's place.
    pub(super) upward: bool,
    /// Which class of service of the last hop it belongs to.
    pub(super) class: u32,
    pub(super) traffic: &'static str,
    pub(super) transport: &'static str,
    pub(super) congestion: Option<&'static str>,
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
    pub(super) terrestrial: TcpEnds,
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
    /// Where packets go that go `way`.
    #[inline]
    pub(super) fn direction(&self, way: Way) -> Direction {
        Direction::of(way, self.upward)
    }

    /// The connection that the application writes to.
    pub(super) fn first_leg(&self) -> Leg {
        if self.pep.is_some() { Leg::Terrestrial } else { Leg::Satellite }
    }

    /// The application does something at the ends of the connection that it uses.
    pub(super) fn act(&mut self, now: Time, end: End, action: Action) {
        match &mut self.pep {
            Some(pep) => pep.terrestrial.act(now, end, action),
            None => self.satellite.act(now, end, action),
        }
    }

    /// A packet that went `way` over `leg` arrives; how much the application there has now in order if it is more than before.
    #[inline]
    pub(super) fn handle_packet(&mut self, now: Time, leg: Leg, way: Way, payload: &Payload) -> Option<u64> {
        let (before, after) = match (leg, &mut self.pep, payload) {
            (Leg::Terrestrial, Some(pep), Payload::Tcp(segment)) => {
                let before = pep.terrestrial.delivered_bytes(way);
                pep.terrestrial.handle_segment(now, way, segment);
                (before, pep.terrestrial.delivered_bytes(way))
            }
            _ => {
                let before = self.satellite.delivered_bytes(way);
                self.satellite.handle_packet(now, way, payload);
                (before, self.satellite.delivered_bytes(way))
            }
        };
        (after > before).then_some(after)
    }

    /// One end of a connection is due: that whose packets go `way`.
    pub(super) fn handle_timeout(&mut self, now: Time, leg: Leg, way: Way) {
        match (leg, &mut self.pep) {
            (Leg::Terrestrial, Some(pep)) => pep.terrestrial.handle_timeout(now, way),
            _ => self.satellite.handle_timeout(now, way),
        }
    }

    /// What a packet that went `way` over `leg` means for the other connection of the proxy: the leg and way on which there may
    /// be something to send now.
    pub(super) fn relay(&mut self, now: Time, leg: Leg, way: Way) -> Option<(Leg, Way)> {
        let Flow { satellite: Ends::Tcp(satellite), pep: Some(pep), .. } = self else { return None };
        match (leg, way) {
            (Leg::Terrestrial, Way::Forward) => {
                pep.relay(now, satellite);
                Some((Leg::Satellite, Way::Forward))
            }
            (Leg::Satellite, Way::Backward) if pep.release(satellite) => Some((Leg::Terrestrial, Way::Backward)),
            _ => None,
        }
    }
}

impl Pep {
    pub(super) fn new(terrestrial: TcpEnds, congestion: &'static str, delay: Duration, number: u32) -> Pep {
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
    fn relay(&mut self, now: Time, satellite: &mut TcpEnds) {
        if !self.opened && self.terrestrial.has_been_opened() {
            self.opened = true;
            satellite.act(now, End::Server, Action::Open);
        }
        let arrived = self.terrestrial.delivered_bytes(Way::Forward);
        if arrived > self.relayed {
            satellite.act(now, End::Server, Action::Write(Bytes::new(arrived - self.relayed)));
            self.relayed = arrived;
            self.held_max = self.held_max.max(arrived - self.released);
        }
        if !self.closed && self.terrestrial.has_been_closed() {
            self.closed = true;
            satellite.act(now, End::Server, Action::Close);
        }
    }

    /// Frees what the user has acknowledged; whether there was any, and the window towards the server so may open.
    fn release(&mut self, satellite: &TcpEnds) -> bool {
        let acknowledged = satellite.acknowledged_bytes();
        let more = acknowledged - self.released;
        if more > 0 {
            self.terrestrial.read(more);
            self.released = acknowledged;
        }
        more > 0
    }
}
