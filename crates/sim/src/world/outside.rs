//! The packets of external ends: how they enter the world, and what became of them.

use transport::{Act, Input, Payload};
use units::Time;

use super::connection::Reader;
use super::departure::{Departure, Offer, OfferError};
use super::flow::Flow;
use super::run::World;
use crate::packet::{EndpointId, Way};

impl World {
    /// A packet enters now. `classes`: of the last hop; `most`: bytes of the longest packet that fits it.
    ///
    /// # Errors
    /// There is no such flow or class, its ends are inside, or the packet does not fit.
    pub(crate) fn offer(&mut self, offer: &Offer<'_>, classes: usize, most: u32) -> Result<(), OfferError> {
        let Offer { flow, bytes, ecn, ticket, .. } = *offer;
        let flows = self.flows.len();
        let connection = self.flows.get(flow as usize).ok_or(OfferError::NoFlow { flow, flows })?.connection;
        let endpoint = EndpointId { connection, way: Way::of(offer.from) };
        if self.connections.end(endpoint).reader() != Reader::Outside {
            return Err(OfferError::NotExternal(flow));
        }
        if !(20..=most).contains(&bytes) {
            return Err(OfferError::Bytes { bytes, most });
        }
        let class = match offer.class {
            Some(class) if class as usize >= classes => return Err(OfferError::NoClass { class, classes }),
            Some(class) => class,
            None => self.kinds[self.flows[flow as usize].kind as usize].class,
        };
        self.under.ledger.recorder.flows[flow as usize].opened_at.get_or_insert(self.now);
        if let Some(capture) = self.under.ledger.recorder.capture() {
            capture.keep_header(ticket, offer.header);
        }
        self.offered_classes.insert(class);
        self.connections.set_class(connection, class);
        self.connections.act(self.now, endpoint, Act::Offer { bytes, ticket, ecn });
        self.connections.enter(self.now, endpoint, Input::Acted, &mut self.under);
        Ok(())
    }

    /// The flows whose ends are outside, each with its user.
    pub(crate) fn external_flows(&self) -> Vec<(u32, u32)> {
        let outside = |flow: &Flow| {
            let server = EndpointId { connection: flow.connection, way: Way::Forward };
            self.connections.end(server).reader() == Reader::Outside
        };
        let flows = (0..).zip(&self.flows).filter(|(_, flow)| outside(flow));
        flows.map(|(number, flow)| (number, flow.user)).collect()
    }

    /// The next packet that left, in the order of leaving.
    pub(crate) fn poll_departure(&mut self) -> Option<Departure> {
        let departure = self.under.ledger.departures.pop()?;
        if let Some(capture) = self.under.ledger.recorder.capture() {
            capture.forget_header(departure.ticket);
        }
        Some(departure)
    }

    /// Nothing happens before this instant, if nothing is offered; `None` if nothing is to happen at all.
    pub(crate) fn quiet_until(&mut self) -> Option<Time> {
        self.under.schedule.quiet_until()
    }

    /// The packet that has arrived last came to an external end.
    pub(super) fn leave(&mut self, now: Time, endpoint: EndpointId) {
        if let Payload::External(external) = &self.arrived {
            let flow = self.connections.site(endpoint.connection).flow;
            self.under.ledger.departures.delivered(now, flow, endpoint.way, external);
        }
    }
}
