//! Single events and packets of a run, kept where somebody asks for them: to look at a run, not for its numbers.

use units::Time;

use super::drops::Loss;
use super::table::Table;
use crate::packet::{Packet, Payload, Way};

/// Events of a run, and the packets that were sent within a span of time. Both are bounded: what does not fit is
/// counted.
pub(crate) struct Watch {
    from: Time,
    until: Time,
    events: Vec<WatchedEvent>,
    /// Events that were not kept.
    more_events: u64,
    /// Packets sent within the span, by their numbers from `first` on.
    packets: Vec<Walk>,
    first: u32,
}

/// The most events that a watched run keeps.
const MOST_EVENTS: usize = 100_000;
/// The most packets that a watched run keeps.
const MOST_PACKETS: usize = 200_000;

struct WatchedEvent {
    at: Time,
    kind: EventKind,
    /// The flow, unless the event is one of a place.
    flow: Option<u32>,
    /// The number of the packet that was lost.
    number: Option<u32>,
}

/// The kind of an event.
#[derive(Clone, Copy)]
pub(crate) enum EventKind {
    /// Another satellite serves the users from now on.
    HandOver,
    /// No satellite serves the users from now on.
    Halt,
    /// A satellite serves the users again.
    Resume,
    /// The path begins at another gateway, and users get other addresses.
    Gateway,
    /// A timer of a flow's sender expired and it retransmits what it takes for lost.
    Timeout,
    /// A packet is lost.
    Lost(Loss),
}

/// The times, the size and the fate of a packet that is watched.
struct Walk {
    sent: Time,
    at_satellite: Time,
    ended: Time,
    sequence: u64,
    number: u32,
    flow: u32,
    bytes: u32,
    sent_before: u32,
    way: Way,
    loss: Option<Loss>,
}

impl EventKind {
    /// Returns the name of the kind, and the drop reason of a loss.
    fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            EventKind::HandOver => ("handover", None),
            EventKind::Halt => ("outage", None),
            EventKind::Resume => ("resumed", None),
            EventKind::Gateway => ("gateway", None),
            EventKind::Timeout => ("timeout", None),
            EventKind::Lost(loss) => ("lost", Some(loss.name())),
        }
    }
}

impl Watch {
    /// Keeps the packets that are sent from `from` on and before `until`.
    pub(crate) fn new(from: Time, until: Time) -> Watch {
        Watch { from, until, events: Vec::new(), more_events: 0, packets: Vec::new(), first: 0 }
    }

    pub(crate) fn event(&mut self, at: Time, kind: EventKind, flow: Option<u32>) {
        self.note(WatchedEvent { at, kind, flow, number: None });
    }

    pub(crate) fn sent(&mut self, now: Time, packet: &Packet) {
        if now < self.from || now >= self.until || self.packets.len() >= MOST_PACKETS {
            return;
        }
        if self.packets.is_empty() {
            self.first = packet.number;
        }
        debug_assert_eq!(
            packet.number.wrapping_sub(self.first) as usize,
            self.packets.len(),
            "numbered as they are sent"
        );
        let sequence = match &packet.payload {
            Payload::Tcp(segment) if packet.way == Way::Backward && segment.len == 0 => segment.ack,
            payload => payload.sequence(),
        };
        self.packets.push(Walk {
            sent: now,
            at_satellite: Time::MAX,
            ended: Time::MAX,
            sequence,
            number: packet.number,
            flow: packet.flow,
            bytes: packet.bytes,
            sent_before: packet.sent_before,
            way: packet.way,
            loss: None,
        });
    }

    /// A packet reaches the satellite that serves the users at `at`.
    pub(crate) fn at_satellite(&mut self, at: Time, packet: &Packet) {
        if let Some(walk) = self.walk(packet) {
            walk.at_satellite = at;
        }
    }

    pub(crate) fn delivered(&mut self, now: Time, packet: &Packet) {
        if let Some(walk) = self.walk(packet) {
            walk.ended = now;
        }
    }

    pub(crate) fn dropped(&mut self, now: Time, packet: &Packet, loss: Loss) {
        if let Some(walk) = self.walk(packet) {
            walk.ended = now;
            walk.loss = Some(loss);
        }
        self.note(WatchedEvent {
            at: now,
            kind: EventKind::Lost(loss),
            flow: Some(packet.flow),
            number: Some(packet.number),
        });
    }

    /// Returns the entry of a packet, if it is kept. Numbers repeat after four billion packets: the instant of sending
    /// then distinguishes two.
    fn walk(&mut self, packet: &Packet) -> Option<&mut Walk> {
        let index = packet.number.wrapping_sub(self.first) as usize;
        self.packets.get_mut(index).filter(|walk| walk.sent == packet.sent && walk.flow == packet.flow)
    }

    fn note(&mut self, event: WatchedEvent) {
        match self.events.len() < MOST_EVENTS {
            true => self.events.push(event),
            false => self.more_events += 1,
        }
    }

    /// Returns one row for each event: `time_s`, `event`, the `cause` of a loss (its drop reason), `flow` and the
    /// `number` of the packet, where there is one; and how many were not kept.
    pub(crate) fn events(&self) -> (Table, u64) {
        let mut table = Table::default();
        table.float("time_s", self.events.iter().map(|event| event.at.as_secs_f64()));
        table.text("event", self.events.iter().map(|event| Some(event.kind.names().0)));
        table.text("cause", self.events.iter().map(|event| event.kind.names().1));
        table.number("flow", self.events.iter().map(|event| event.flow.map(u64::from)));
        table.number("number", self.events.iter().map(|event| event.number.map(u64::from)));
        (table, self.more_events)
    }

    /// Returns one row for each packet: `number` in the run, `flow`, `way` ("forward", "backward"), `sequence` (of its
    /// first byte, or the one that it acknowledges), `bytes`, `transmission` of its data, `sent_s`, `satellite_s` (at
    /// the satellite that serves the users), `ended_s`, and `fate`: "delivered", "in flight", or the reason of its
    /// loss. What comes after `now` is not known yet.
    pub(crate) fn packets(&self, now: Time) -> Table {
        let seconds = |time: Time| if time > now { f64::NAN } else { time.as_secs_f64() };
        let way = |way| if way == Way::Forward { "forward" } else { "backward" };
        let fate = |walk: &Walk| match walk.loss {
            Some(loss) => loss.name(),
            None if walk.ended == Time::MAX => "in flight",
            None => "delivered",
        };
        let mut table = Table::default();
        table.count("number", self.packets.iter().map(|walk| walk.number.into()));
        table.count("flow", self.packets.iter().map(|walk| walk.flow.into()));
        table.text("way", self.packets.iter().map(|walk| Some(way(walk.way))));
        table.count("sequence", self.packets.iter().map(|walk| walk.sequence));
        table.count("bytes", self.packets.iter().map(|walk| walk.bytes.into()));
        table.count("transmission", self.packets.iter().map(|walk| u64::from(walk.sent_before) + 1));
        table.float("sent_s", self.packets.iter().map(|walk| seconds(walk.sent)));
        table.float("satellite_s", self.packets.iter().map(|walk| seconds(walk.at_satellite)));
        table.float("ended_s", self.packets.iter().map(|walk| seconds(walk.ended)));
        table.text("fate", self.packets.iter().map(|walk| Some(fate(walk))));
        table
    }
}
