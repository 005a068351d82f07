//! Endpoints of connections, whatever their transport: where they stand in the network, and who reads from them.

use std::sync::Arc;

use engine::MachineId;
use transport::{Act, Answer, Input, Settings, TcpEnd, UdpEnd, Wake};
use units::Time;

use super::ledger::Ledger;
use super::network::{Network, Site};
use super::schedule::{Machine, Schedule};
use crate::packet::{Packet, Route, Way};
use crate::record::series::FlowSample;

/// What carries the flows of one kind.
#[derive(Clone)]
pub(super) enum Transport {
    Tcp(Arc<Settings>),
    Udp,
}

impl Transport {
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

    /// Bytes of data in a full packet; 1 where packets are counted and not bytes.
    pub(super) fn packet_bytes(&self) -> u32 {
        match self {
            Transport::Tcp(settings) => settings.mss,
            Transport::Udp => 1,
        }
    }

    /// An end of a connection at rest. `entropy`: a number of its own.
    pub(super) fn end(&self, entropy: u64, reader: Reader) -> Box<dyn transport::Endpoint> {
        match (self, reader) {
            (Transport::Tcp(settings), Reader::Proxy { holds: true, .. }) => {
                Box::new(TcpEnd::with_held_reads(Arc::clone(settings), entropy))
            }
            (Transport::Tcp(settings), _) => Box::new(TcpEnd::new(Arc::clone(settings), entropy)),
            (Transport::Udp, _) => Box::new(UdpEnd::default()),
        }
    }
}

/// One end of a connection.
pub(super) struct Endpoint {
    protocol: Box<dyn transport::Endpoint>,
    pub(super) site: Site,
    pub(super) reader: Reader,
    /// Payload bytes that have arrived: in order, or by datagrams.
    pub(super) delivered_bytes: u64,
    /// None before it first asks to be woken.
    machine: Option<MachineId>,
}

/// Who reads from an endpoint and does something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// An application that takes what arrives, and that is all.
    Sink,
    Application(u32),
    /// `holds`: it reads only what it has room for.
    Proxy {
        number: u32,
        holds: bool,
    },
}

/// The two endpoints of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    server: u32,
    user: u32,
}

impl Connection {
    /// The endpoint whose packets go `way`.
    pub(super) fn end(&self, way: Way) -> u32 {
        match way {
            Way::Forward => self.server,
            Way::Backward => self.user,
        }
    }
}

/// What an endpoint was told when it was entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    pub(super) reader: Reader,
    /// Whether more has arrived in order than before.
    pub(super) advanced: bool,
    pub(super) answer: Answer,
}

/// All endpoints of a world.
#[derive(Default)]
pub(super) struct Endpoints(Vec<Endpoint>);

impl Endpoints {
    /// Adds both endpoints of a connection at rest, that whose packets go forward first; their sites need not know each other.
    pub(super) fn add(&mut self, transport: &Transport, entropy: [u64; 2], ends: [(Site, Reader); 2]) -> Connection {
        let first = self.0.len() as u32;
        let (server, user) = (first, first + 1);
        for (((site, reader), entropy), peer) in ends.into_iter().zip(entropy).zip([user, server]) {
            let (protocol, site) = (transport.end(entropy, reader), Site { peer, ..site });
            self.0.push(Endpoint { protocol, site, reader, delivered_bytes: 0, machine: None });
        }
        Connection { server, user }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> &Endpoint {
        &self.0[index as usize]
    }

    /// The protocol of an endpoint.
    pub(super) fn protocol(&self, index: u32) -> &dyn transport::Endpoint {
        self.get(index).protocol()
    }

    /// Opens a connection from the end whose packets go `way`.
    pub(super) fn open(&mut self, now: Time, connection: &Connection, way: Way) {
        self.act(now, connection.end(way), Act::Open);
        self.act(now, connection.end(way.back()), Act::Accept);
    }

    /// An application acts at an endpoint, which is to be entered then.
    pub(super) fn act(&mut self, now: Time, index: u32, act: Act) {
        self.0[index as usize].protocol.act(now, act);
    }

    /// Enters an endpoint, and sends what it has to send.
    #[inline]
    pub(super) fn enter(
        &mut self,
        now: Time,
        index: u32,
        input: Input<'_>,
        ledger: &mut Ledger,
        network: &mut Network,
        schedule: &mut Schedule,
    ) -> Entered {
        let peer = self.get(index).site.peer;
        let ends = self.0.get_disjoint_mut([index as usize, peer as usize]);
        let [endpoint, peer] = ends.expect("a connection has two ends");
        let Endpoint { protocol, site, .. } = endpoint;
        let mut sent = false;
        let answer = protocol.handle(now, input, &mut |payload, copy| {
            let Site { flow, user, class, peer: to, way, route, .. } = *site;
            let bytes = payload.wire_bytes();
            let packet =
                Packet { payload: *payload, sent: now, flow, user, class, to, number: 0, copy, bytes, way, route };
            let id = ledger.send(packet, || peer.protocol.has_received(payload.sequence()));
            network.send(now, id, bytes, site, ledger);
            sent = true;
        });
        let advanced = endpoint.note(now, &answer, ledger);
        if let Wake::At(at) = answer.wake {
            let machine = *endpoint.machine.get_or_insert_with(|| schedule.add(Machine::Endpoint(index)));
            schedule.wake_at(machine, at);
        }
        if sent {
            network.schedule(now, &endpoint.site, ledger, schedule);
        }
        Entered { reader: endpoint.reader, advanced, answer }
    }

    /// The state of a sender at this moment, without attenuation and delivered bytes.
    pub(super) fn sample(&self, index: u32) -> FlowSample {
        let protocol = self.protocol(index);
        let retransmitted_packets = protocol.counters().retransmitted_segments;
        let Some(info) = protocol.info().filter(|_| !protocol.has_finished()) else {
            return FlowSample { retransmitted_packets, ..FlowSample::without_window() };
        };
        let in_flight = (info.unacked + info.retransmitted).saturating_sub(info.sacked + info.lost);
        FlowSample {
            cwnd_packets: info.window as f32,
            ssthresh_packets: info.slow_start_threshold.map_or(f32::NAN, |threshold| threshold as f32),
            srtt_s: info.srtt.map_or(f32::NAN, |srtt| srtt.as_secs_f64() as f32),
            rto_s: info.rto.as_secs_f64() as f32,
            in_flight_packets: in_flight as f32,
            retransmitted_packets,
            ..FlowSample::default()
        }
    }
}

impl Endpoint {
    pub(super) fn protocol(&self) -> &dyn transport::Endpoint {
        &*self.protocol
    }

    /// Notes what the endpoint answers; whether more has arrived in order than before.
    #[inline]
    fn note(&mut self, now: Time, answer: &Answer, ledger: &mut Ledger) -> bool {
        let advanced = answer.delivered > self.delivered_bytes;
        self.delivered_bytes = answer.delivered;
        let Site { flow, way, route, .. } = self.site;
        if route == Route::Terrestrial {
            return advanced;
        }
        match (way, answer.window) {
            (Way::Forward, Some(window)) => ledger.recorder.window(now, flow, f64::from(window)),
            (Way::Backward, _) if advanced => ledger.recorder.advanced(now, flow),
            _ => {}
        }
        advanced
    }
}
