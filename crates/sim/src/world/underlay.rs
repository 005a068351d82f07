//! What lies below endpoints and applications: the links, the packets on them, and the wake-ups of all machines.

use transport::Outline;
use units::Time;

use super::ledger::Ledger;
use super::network::{Network, Site};
use super::schedule::Schedule;
use crate::packet::{EndpointId, Head, Link, Payload, Way, digest_word};
use crate::record::drops::{Loss, PathLoss};

/// See the module.
pub(super) struct Underlay {
    pub(super) ledger: Ledger,
    pub(super) network: Network,
    pub(super) schedule: Schedule,
}

/// A packet whose payload an endpoint has written.
#[derive(Clone, Copy)]
pub(super) struct Written {
    /// Where the payload is.
    pub(super) slot: u32,
    /// How often its data were sent before: 0 in the first transmission.
    pub(super) sent_before: u32,
    /// Whether the endpoint sends no other at this instant; otherwise [`Underlay::schedule_link`] is to be called.
    pub(super) last: bool,
}

impl Underlay {
    /// A packet is made of what was written, and enters its link. `received`: whether its receiver has the data
    /// already, asked of retransmissions only.
    #[inline(always)]
    pub(super) fn launch(
        &mut self,
        now: Time,
        EndpointId { connection, way }: EndpointId,
        site: &Site,
        Written { slot, sent_before, last }: Written,
        received: impl FnOnce(&Payload) -> bool,
    ) {
        let Underlay { ledger, network, schedule } = self;
        let (Site { flow, user, class, .. }, link) = (*site, site.link(way));
        let Outline { bytes, .. } = ledger.send(now, slot, received, |outline, number| {
            let (Outline { bytes, ecn, .. }, word) = (*outline, digest_word(outline, way));
            let counts = way == Way::Forward && link != Link::Terrestrial && outline.has_data;
            Head { sent: now, flow, user, class, connection, number, sent_before, bytes, ecn, word, way, link, counts }
        });
        let moved = site.address > 0 && link == Link::Downlink;
        if moved && ledger.packets.get(slot).payload.address() != site.address {
            ledger.lose(now, slot, Loss::Path(PathLoss::Address));
        } else {
            network.send(now, slot, bytes, link, site, ledger, schedule, last);
        }
    }

    /// After an endpoint at `site` sent packets that go `way`: schedules the link that they entered.
    #[inline(always)]
    pub(super) fn schedule_link(&mut self, now: Time, site: &Site, way: Way) {
        self.network.schedule(now, site.link(way), site.place, &mut self.ledger, &mut self.schedule);
    }
}
