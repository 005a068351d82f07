//! The two ends of a flow, whatever its transport: the only folder of the world that speaks to one.

mod tcp;
mod udp;

use std::sync::Arc;

use traffic::{Action, End};
use transport::{Counters, Settings};
use units::Time;

use crate::packet::{Payload, Way};
use crate::record::series::FlowSample;
pub(super) use tcp::TcpEnds;
pub(super) use udp::UdpEnds;

/// What carries the flows of one kind.
#[derive(Clone)]
pub(super) enum Transport {
    Tcp(Arc<Settings>),
    Udp,
}

impl Transport {
    /// Both ends of a flow, at rest. `entropy`: two numbers of the flow's own.
    pub(super) fn ends(&self, entropy: [u64; 2]) -> Ends {
        match self {
            Transport::Tcp(settings) => Ends::Tcp(TcpEnds::new(Arc::clone(settings), entropy)),
            Transport::Udp => Ends::Udp(UdpEnds::default()),
        }
    }

    /// Its name in a scenario.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Transport::Tcp(_) => "tcp",
            Transport::Udp => "udp",
        }
    }

    /// The congestion controller, if it has one.
    pub(super) fn congestion(&self) -> Option<&'static str> {
        match self {
            Transport::Tcp(settings) => Some(settings.congestion.kind()),
            Transport::Udp => None,
        }
    }
}

/// Both ends of a flow. An end is named by the way that its packets go: the server's go forward, the user's back.
pub(super) enum Ends {
    Tcp(TcpEnds),
    Udp(UdpEnds),
}

impl Ends {
    /// The application at `end` does something.
    pub(super) fn act(&mut self, now: Time, end: End, action: Action) {
        match self {
            Ends::Tcp(ends) => ends.act(now, end, action),
            Ends::Udp(ends) => ends.act(end, action),
        }
    }

    /// A packet that went `way` arrives.
    #[inline]
    pub(super) fn handle_packet(&mut self, now: Time, way: Way, payload: &Payload) {
        match (self, payload) {
            (Ends::Tcp(ends), Payload::Tcp(segment)) => ends.handle_segment(now, way, segment),
            (Ends::Udp(ends), Payload::Udp(datagram)) => ends.handle_datagram(way, datagram),
            _ => unreachable!("a packet of another transport"),
        }
    }

    /// The end whose packets go `way` is due.
    pub(super) fn handle_timeout(&mut self, now: Time, way: Way) {
        match self {
            Ends::Tcp(ends) => ends.handle_timeout(now, way),
            Ends::Udp(_) => {}
        }
    }

    /// The next packet to be sent on this way, and which transmission of its data it is.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Time, way: Way) -> Option<(Payload, u32)> {
        match self {
            Ends::Tcp(ends) => ends.poll_transmit(now, way),
            Ends::Udp(ends) => Some((Payload::Udp(ends.poll_transmit(way)?), 0)),
        }
    }

    /// When the end whose packets go `way` is due.
    #[inline]
    pub(super) fn poll_timeout(&self, way: Way) -> Option<Time> {
        match self {
            Ends::Tcp(ends) => ends.poll_timeout(way),
            Ends::Udp(_) => None,
        }
    }

    /// Data that the application at the end of `way` has received: in order, or by datagrams.
    #[inline]
    pub(super) fn delivered_bytes(&self, way: Way) -> u64 {
        match self {
            Ends::Tcp(ends) => ends.delivered_bytes(way),
            Ends::Udp(ends) => ends.delivered_bytes(way),
        }
    }

    /// Which packet of its flow a packet is that goes `way`, counted from 0 by what it carries: full segments or datagrams before
    /// it. A bare acknowledgment counts with the segments that it acknowledges.
    pub(super) fn position(&self, payload: &Payload, way: Way) -> u64 {
        match (self, payload) {
            (Ends::Tcp(ends), Payload::Tcp(segment)) => ends.position(segment, way),
            (_, payload) => payload.sequence(),
        }
    }

    /// Whether the user has the data at `sequence`.
    #[inline]
    pub(super) fn has_received(&self, sequence: u64) -> bool {
        match self {
            Ends::Tcp(ends) => ends.has_received(sequence),
            Ends::Udp(_) => false,
        }
    }

    /// Whether the server said that nothing more comes, and all of it has arrived.
    pub(super) fn has_been_closed(&self) -> bool {
        match self {
            Ends::Tcp(ends) => ends.has_been_closed(),
            Ends::Udp(_) => false,
        }
    }

    /// Whether the server has ended the flow: it knows that all has arrived, or sends no more datagrams.
    pub(super) fn has_finished(&self) -> bool {
        match self {
            Ends::Tcp(ends) => ends.has_finished(),
            Ends::Udp(ends) => ends.has_finished(),
        }
    }

    /// What the server's end has counted.
    pub(super) fn counters(&self) -> Counters {
        match self {
            Ends::Tcp(ends) => ends.counters(),
            Ends::Udp(_) => Counters::default(),
        }
    }

    /// The server's window in packets.
    #[inline]
    pub(super) fn window_packets(&self) -> Option<f64> {
        match self {
            Ends::Tcp(ends) => ends.window_packets(),
            Ends::Udp(_) => None,
        }
    }

    /// The flow at this moment.
    pub(super) fn sample(&self, attenuation_db: f32) -> FlowSample {
        let delivered_bytes = self.delivered_bytes(Way::Forward);
        let sample = match self {
            Ends::Tcp(ends) => ends.sample(),
            Ends::Udp(_) => FlowSample::without_window(),
        };
        FlowSample { attenuation_db, delivered_bytes, ..sample }
    }
}
