//! The making of packets: what an endpoint has written becomes a packet, and the recorder is told that it is sent.

use transport::Outline;
use units::Time;

use super::network::Site;
use crate::packet::{EndpointId, Head, Link, Payload, Slot, Way, digest_word};
use crate::record::recorder::Recorder;

/// A packet whose payload an endpoint has written.
#[derive(Clone, Copy)]
pub(super) struct Written {
    /// Where the payload is.
    pub(super) slot: u32,
    /// How often its data were sent before: 0 in the first transmission.
    pub(super) sent_before: u32,
    /// Whether it stands in the slot of a packet of the same connection, whose head it takes over.
    pub(super) answers: bool,
    /// Whether the endpoint sends no other at this instant. Otherwise `Underlay::schedule_link` is to be called.
    pub(super) last: bool,
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
            // A connection keeps them from its opening to its end.
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
