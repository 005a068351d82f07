//! What lies below endpoints and applications: the links, the packets on them, and the wake-ups of all machines.

use transport::Outline;
use units::Time;

use super::ledger::Ledger;
use super::network::{Network, Site};
use super::schedule::Schedule;
use crate::packet::{EndpointId, Head, Link, Payload, Slot, Way, digest_word};
use crate::record::recorder::Recorder;

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
    /// Whether it stands in the slot of a packet of the same connection, whose head it takes over.
    pub(super) answers: bool,
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

impl Written {
    /// Makes the packet in its slot, and tells the recorder that it is sent. Returns its bytes. `received`: whether its
    /// receiver has the data already, asked of retransmissions only.
    #[inline(always)]
    pub(super) fn make(
        self,
        now: Time,
        EndpointId { connection, way }: EndpointId,
        site: &Site,
        slot: Slot<'_>,
        recorder: &mut Recorder,
        received: impl FnOnce(&Payload) -> bool,
    ) -> u32 {
        let (Site { flow, user, class, .. }, link) = (*site, site.link(way));
        let Written { sent_before, answers, .. } = self;
        let (packet, Outline { bytes, .. }) = slot.make(|head, outline, number| {
            let before = if answers { *head } else { Head { flow, user, class, connection, ..Head::default() } };
            debug_assert!((flow, user, connection) == (before.flow, before.user, before.connection));
            debug_assert_eq!(class, before.class);
            let (Outline { bytes, ecn, .. }, word) = (*outline, digest_word(outline, way));
            let counts = way == Way::Forward && link != Link::Terrestrial && outline.has_data;
            *head = Head { sent: now, number, sent_before, bytes, ecn, word, way, link, counts, ..before };
        });
        recorder.sent(now, packet, received);
        bytes
    }
}
