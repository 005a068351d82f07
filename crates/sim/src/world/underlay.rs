//! What lies below endpoints and applications: the links, the packets on them, and the wake-ups of all machines.

use units::Time;

use super::ledger::Ledger;
use super::network::{Network, Site};
use super::schedule::Schedule;
use super::written::Written;
use crate::packet::{EndpointId, Payload, Way};

/// See the module.
pub(super) struct Underlay {
    pub(super) ledger: Ledger,
    pub(super) network: Network,
    pub(super) schedule: Schedule,
}

impl Underlay {
    /// A packet is made of what was written, and enters its link. `received`: whether its receiver has the data
    /// already, asked of retransmissions only.
    #[inline(always)]
    pub(super) fn launch(
        &mut self,
        now: Time,
        id: EndpointId,
        site: &Site,
        written: Written,
        received: impl FnOnce(&Payload) -> bool,
    ) {
        let Ledger { packets, recorder, .. } = &mut self.ledger;
        let bytes = written.make(now, id, site, packets.slot(written.slot), recorder, received);
        self.carry(now, id.way, site, written, bytes);
    }

    /// The packet of [`Written::make`], of so many `bytes`, enters its link.
    #[inline(always)]
    pub(super) fn carry(&mut self, now: Time, way: Way, site: &Site, Written { slot, last, .. }: Written, bytes: u32) {
        let Underlay { ledger, network, schedule } = self;
        network.send(now, slot, bytes, site.link(way), site, ledger, schedule, last);
    }

    /// After an endpoint at `site` sent packets that go `way`: schedules the link that they entered.
    #[inline(always)]
    pub(super) fn schedule_link(&mut self, now: Time, site: &Site, way: Way) {
        self.network.schedule(now, site.link(way), site.place, &mut self.ledger, &mut self.schedule);
    }
}
