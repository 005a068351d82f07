//! The recorder, to which the world reports all events of a run. It changes nothing in the world.

use access::Access;
use engine::Digest;
use traffic::Listener;
use units::{Duration, Ecn, Time};

use super::drops::{Drops, Loss};
use super::flow::FlowRecord;
use super::series::Series;
use super::watch::{EventKind, Watch};
use crate::capture::Capture;
use crate::packet::{Head, LINKS, Link, Packet, Payload, Way};

/// Takes note of every event of a run.
pub(crate) struct Recorder {
    /// What applications and timers do.
    done: Digest,
    /// The packets that were sent, and what became of them, by link: each apart, because what happens at a place where
    /// packets come late is told late.
    sent: [Digest; LINKS],
    became: [Digest; LINKS],
    /// Events of the run that are no packet's beginning or end.
    others: u64,
    /// The record of each flow's connection over the satellites.
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) delivered: u64,
    pub(crate) drops: Drops,
    pub(crate) series: Option<Series>,
    /// The other observers of each packet, if there are any.
    pub(crate) taps: Option<Box<Taps>>,
}

/// Observers of each packet in flight.
#[derive(Default)]
pub(crate) struct Taps {
    pub(crate) capture: Option<Capture>,
    pub(crate) watch: Option<Watch>,
}

/// Kinds of events in the digest.
#[derive(Clone, Copy)]
enum DigestEvent {
    Sent,
    Delivered,
    Dropped,
    Acted,
    TimedOut,
    Marked,
}

/// The bit of a flow's number in the digest that is set for events of the terrestrial link.
const ON_THE_GROUND: u32 = 1 << 31;

impl Recorder {
    /// `listeners`: of each flow, who listens to it.
    pub(crate) fn new(listeners: impl Iterator<Item = Option<Listener>>, series: Option<Series>) -> Recorder {
        Recorder {
            done: Digest::default(),
            sent: [Digest::default(); LINKS],
            became: [Digest::default(); LINKS],
            others: 0,
            flows: listeners.map(FlowRecord::new).collect(),
            delivered: 0,
            drops: Drops::default(),
            series,
            taps: None,
        }
    }

    /// The digest: the hash over all events of the run.
    pub(crate) fn digest(&self) -> Digest {
        self.sent.into_iter().chain(self.became).fold(self.done, Digest::beside)
    }

    /// How many events there were, with so many packets sent.
    pub(crate) fn events(&self, sent: u64) -> u64 {
        sent + self.delivered + self.drops.total() + self.others
    }

    /// The application of a flow acts, other than by a datagram that is sent at once.
    pub(crate) fn acted(&mut self, now: Time, flow: u32, opens: bool) {
        self.others += 1;
        self.done.event(now, DigestEvent::Acted as u8, flow, 0);
        if opens {
            self.flows[flow as usize].opened_at = Some(now);
        }
    }

    /// A timer of one end of a connection is due.
    pub(crate) fn timed_out(&mut self, now: Time, flow: u32, link: Link, way: Way) {
        let side = u64::from(way == Way::Backward);
        self.others += 1;
        self.done.event(now, DigestEvent::TimedOut as u8, whose(flow, link), side);
    }

    /// An event of the users' satellite or of a flow, for the watch alone: the digest has it from elsewhere.
    pub(crate) fn happened(&mut self, now: Time, kind: EventKind, flow: Option<u32>) {
        if let Some(watch) = self.watch() {
            watch.event(now, kind, flow);
        }
    }

    /// Returns the capture to which packets are written, if there is one.
    pub(crate) fn capture(&mut self) -> Option<&mut Capture> {
        self.taps.as_mut()?.capture.as_mut()
    }

    /// Returns the watch that keeps events and packets, if there is one.
    pub(crate) fn watch(&mut self) -> Option<&mut Watch> {
        self.taps.as_mut()?.watch.as_mut()
    }

    /// A packet is sent; `received`: whether the other end already has its data, asked of retransmissions only.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, packet: &Packet, received: impl FnOnce(&Payload) -> bool) {
        self.sent[packet.link as usize].event(now, DigestEvent::Sent as u8, packet.flow, packet.word);
        if packet.counts {
            let record = &mut self.flows[packet.flow as usize];
            record.sent_packets += 1;
            if let Payload::Tcp(segment) = &packet.payload {
                record.order.on_sent(segment);
            }
            if packet.sent_before > 0 {
                record.on_retransmission(packet.payload.sequence(), packet.sent_before, received(&packet.payload));
            }
        }
        if let Some(taps) = &mut self.taps {
            taps.sent(now, packet);
        }
    }

    /// The window of a flow's sender changed or stayed.
    #[inline]
    pub(crate) fn window(&mut self, now: Time, flow: u32, packets: f64) {
        self.flows[flow as usize].window.set(now, packets);
    }

    /// A packet on the uplink will reach its satellite at `at`.
    #[inline]
    pub(crate) fn uplink_at_satellite<'a>(&mut self, at: Time, packet: impl FnOnce() -> &'a Packet) {
        if let Some(taps) = &mut self.taps {
            taps.uplink_at_satellite(at, packet());
        }
    }

    /// A packet got at the return link's channel this way.
    #[inline]
    pub(crate) fn accessed(&mut self, packet: &Packet, access: Access) {
        self.flows[packet.flow as usize].accessed[access as usize] = true;
    }

    /// A packet on the downlink reaches the serving satellite.
    #[inline]
    pub(crate) fn downlink_at_satellite<'a>(&mut self, now: Time, packet: impl FnOnce() -> &'a Packet) {
        if let Some(taps) = &mut self.taps {
            taps.downlink_at_satellite(now, packet());
        }
    }

    /// A packet leaves the queue of the last hop, where it `waited`: of those with data it is noted.
    pub(crate) fn waited(&mut self, packet: &Packet, waited: Duration) {
        if packet.counts {
            self.flows[packet.flow as usize].queue.get_or_insert_default().add(waited);
        }
    }

    /// A packet leaves the last hop with a mark that it had not when it came; `packet` has it already.
    pub(crate) fn marked(&mut self, now: Time, packet: &Packet) {
        debug_assert_eq!(packet.payload.ecn(), Ecn::Ce);
        self.others += 1;
        self.became[packet.link as usize].event(now, DigestEvent::Marked as u8, packet.flow, packet.word);
        if packet.counts {
            self.flows[packet.flow as usize].marked_packets += 1;
        }
    }

    /// A packet is lost.
    pub(crate) fn dropped(&mut self, now: Time, packet: &Packet, loss: Loss) {
        self.became[packet.link as usize].event(now, DigestEvent::Dropped as u8, packet.flow, packet.word);
        self.drops.count(loss);
        if let Some(watch) = self.watch() {
            watch.dropped(now, packet, loss);
        }
        let record = &mut self.flows[packet.flow as usize];
        record.lost_of_all += 1;
        if packet.counts {
            record.on_loss(loss, packet.payload.stream_offset().map(|offset| (offset, packet.sent_before)));
        }
        if packet.counts || packet.way == Way::Backward {
            record.on_lost_datagrams(packet.way, &packet.payload);
        }
    }

    /// A packet is in flight at the end of the run.
    pub(crate) fn in_flight(&mut self, packet: &Packet) {
        if packet.counts
            && let Some(listener) = &mut self.flows[packet.flow as usize].listener
        {
            packet.payload.datagrams().for_each(|number| listener.leave_out(number));
        }
    }

    /// A packet arrives at the other end; `received`: whether that has had the data at a sequence before, asked of few
    /// segments that arrived before this one.
    #[inline(always)]
    pub(crate) fn delivered(&mut self, now: Time, packet: &Packet, received: impl Fn(&Packet, u64) -> bool) {
        self.delivered += 1;
        self.became[packet.link as usize].event(now, DigestEvent::Delivered as u8, packet.flow, packet.word);
        if packet.counts {
            let record = &mut self.flows[packet.flow as usize];
            record.received_packets += 1;
            record.delay.add(packet.sent, now);
            if let Payload::Tcp(segment) = &packet.payload {
                record.order.on_arrival(segment.end(), packet.sent_before);
                if record.follows() {
                    record.on_segment(segment.seq, packet.sent_before, &|sequence| received(packet, sequence));
                }
            } else {
                record.order.on_arrival(packet.word + 1, packet.sent_before);
                if let Some(offset) = packet.payload.stream_offset() {
                    record.on_segment(offset, packet.sent_before, &|sequence| received(packet, sequence));
                }
                if let Payload::Udp(datagram) = &packet.payload
                    && let Some(listener) = &mut record.listener
                {
                    listener.handle_packet(datagram.number, packet.sent, now);
                }
            }
            if record.first_delivery.is_none() {
                record.first_delivery = Some(now);
            }
        } else if let Payload::Tcp(segment) = &packet.payload
            && packet.way == Way::Backward
            && packet.link != Link::Terrestrial
        {
            self.flows[packet.flow as usize].order.on_answer(segment);
        }
        if let Some(taps) = &mut self.taps {
            taps.delivered(now, packet);
        }
    }

    /// A packet that has arrived was read, with the datagrams in it, or discarded.
    pub(crate) fn datagrams(&mut self, now: Time, head: &Head, payload: &Payload, is_read: bool) {
        let record = &mut self.flows[head.flow as usize];
        if is_read {
            record.on_datagrams(now, head, payload);
        } else {
            record.on_lost_datagrams(head.way, payload);
        }
    }

    /// The user of a flow, or the server of an upload, has more data in order than before.
    #[inline]
    pub(crate) fn advanced(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].last_delivery = now;
    }
}

impl Taps {
    fn sent(&mut self, now: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.sent(now, packet);
        }
        if let Some(watch) = &mut self.watch {
            watch.sent(now, packet);
        }
    }

    fn uplink_at_satellite(&mut self, at: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.uplink_at_satellite(at, packet);
        }
        if let Some(watch) = &mut self.watch {
            watch.at_satellite(at, packet);
        }
    }

    fn downlink_at_satellite(&mut self, now: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.downlink_at_satellite(now, packet);
        }
        if let Some(watch) = &mut self.watch {
            watch.at_satellite(now, packet);
        }
    }

    fn delivered(&mut self, now: Time, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.delivered(now, packet);
        }
        if let Some(watch) = &mut self.watch {
            watch.delivered(now, packet);
        }
    }
}

#[inline]
fn whose(flow: u32, link: Link) -> u32 {
    if link == Link::Terrestrial { flow | ON_THE_GROUND } else { flow }
}
