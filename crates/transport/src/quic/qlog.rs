//! The log of one end of a connection as qlog 0.3 (draft-ietf-quic-qlog-main-schema-02, -quic-events-02), which qvis
//! reads: records of JSON text sequences (RFC 7464), the first of which is the header.

use core::net::SocketAddr;

use noq_proto::Side;
use serde_json::{Value, json};
use units::{Duration, Time};

use super::frames::{self, Packet, PacketKind, Reader, Visitor};
use super::lifetime::{EndCause, Ended};

/// See the module.
pub(super) struct Qlog {
    records: Vec<u8>,
    /// The next packet number of each space that is sent, and that is expected.
    next: [[u64; 3]; 2],
    /// Packets of the handshake with acknowledgments alone: kind, number, and bytes that count in flight.
    unasked: Vec<(PacketKind, u64, usize)>,
    /// The metrics that were logged last.
    metrics: Metrics,
    state: &'static str,
}

/// The metrics of a sender's path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Metrics {
    pub latest: Duration,
    pub smoothed: Duration,
    pub min: Duration,
    pub variation: Duration,
    pub window_bytes: u64,
    pub threshold_bytes: Option<u64>,
    pub in_flight_bytes: u64,
    pub in_flight_packets: u32,
}

/// Which way a datagram goes, by the row of [`Qlog::next`].
#[derive(Clone, Copy)]
pub(super) enum Heading {
    Sent,
    Received,
}

/// How far a migration is.
#[derive(Clone, Copy)]
pub(super) enum Migration {
    /// The path's address is another one, and not validated.
    Started,
    /// Logs that the path is validated.
    Complete,
}

impl Qlog {
    /// The log of the connection that this end opens or accepts now. `addresses`: of this end and of the other.
    pub fn new(now: Time, side: Side, addresses: [SocketAddr; 2]) -> Qlog {
        let mut log = Qlog {
            records: Vec::new(),
            next: [[0; 3]; 2],
            unasked: Vec::new(),
            metrics: Metrics::default(),
            state: "slow_start",
        };
        let end = |side| if side == Side::Client { "client" } else { "server" };
        log.record(&json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": "Transorbit",
            "trace": {
                "vantage_point": { "name": end(side), "type": end(side) },
                "common_fields": { "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 0 },
            },
        }));
        log.start(now, addresses);
        log
    }

    /// Another connection begins, whose packets are numbered anew.
    pub fn start(&mut self, now: Time, addresses: [SocketAddr; 2]) {
        (self.next, self.unasked) = ([[0; 3]; 2], Vec::new());
        let [own, other] = addresses;
        let started = json!({
            "ip_version": "v4",
            "src_ip": own.ip(), "dst_ip": other.ip(), "src_port": own.port(), "dst_port": other.port(),
        });
        self.event(now, "connectivity:connection_started", started);
    }

    /// The connection is over.
    pub fn end(&mut self, ended: &Ended) {
        let owner = if ended.by_peer { "remote" } else { "local" };
        let mut data = json!({ "owner": owner, "reason": ended.words });
        let word = ended.cause.to_string().replace('-', "_");
        match ended.cause {
            EndCause::IdleTimeout | EndCause::StatelessReset | EndCause::VersionMismatch => {
                data["trigger"] = json!(word);
            }
            EndCause::Replaced | EndCause::Closed => data["trigger"] = json!("clean"),
            EndCause::NoIdentifiers | EndCause::InternalError | EndCause::Error(_) => {
                data["trigger"] = json!("error");
                data["connection_code"] = json!(word);
            }
        }
        self.event(ended.at, "connectivity:connection_closed", data);
    }

    /// The client's address changes to `address` (an event of draft-ietf-quic-qlog-quic-events-07).
    pub fn migration(&mut self, now: Time, step: Migration, address: SocketAddr) {
        let remote = json!({ "ip_v4": address.ip(), "port_v4": address.port() });
        let data = match step {
            Migration::Started => json!({ "new": "migration_started", "path_remote": remote }),
            Migration::Complete => {
                json!({ "old": "migration_started", "new": "migration_complete", "path_remote": remote })
            }
        };
        self.event(now, "connectivity:migration_state_updated", data);
    }

    /// Takes the records that were written since it was asked last.
    pub fn take(&mut self, records: &mut Vec<u8>) {
        records.append(&mut self.records);
    }

    /// Logs a UDP datagram that leaves or arrives, `number` by its sender's count.
    pub fn datagram(&mut self, now: Time, heading: Heading, number: u64, bytes: &[u8]) {
        let mut packets = Packets::default();
        frames::read(bytes, &mut packets);
        let name = match heading {
            Heading::Sent => "transport:packet_sent",
            Heading::Received => "transport:packet_received",
        };
        for (packet, frames) in packets.0 {
            let next = &mut self.next[heading as usize][packet.kind.space()];
            let full = packet.full_number(*next);
            *next = (*next).max(full + 1);
            let has = |name: &str| frames.iter().any(|frame| frame["frame_type"] == name);
            if has("handshake_done") {
                self.unasked.clear();
            } else if matches!(heading, Heading::Sent)
                && packet.kind != PacketKind::OneRtt
                && frames.iter().all(|frame| frame["frame_type"] == "ack" || frame["frame_type"] == "padding")
            {
                self.unasked.push((packet.kind, full, if has("padding") { packet.bytes } else { 0 }));
            }
            let data = json!({
                "header": { "packet_type": packet.kind.name(), "packet_number": full },
                "raw": { "length": packet.bytes },
                "datagram_id": number,
                "frames": frames,
            });
            self.event(now, name, data);
        }
    }

    /// A packet is taken for lost, of which so many bytes were in flight; `kind` is that of one that asks for an
    /// acknowledgment.
    pub fn lost(&mut self, now: Time, number: u64, bytes: u16, kind: Option<PacketKind>) {
        let of_handshake = || {
            let is_it = |&(_, sent, size): &(PacketKind, u64, usize)| (sent, size) == (number, bytes.into());
            Some(self.unasked.remove(self.unasked.iter().position(is_it)?).0)
        };
        let kind = kind.or_else(of_handshake).unwrap_or(PacketKind::OneRtt);
        let header = json!({ "packet_type": kind.name(), "packet_number": number });
        self.event(now, "recovery:packet_lost", json!({ "header": header }));
    }

    /// Logs the metrics that have changed.
    pub fn metrics(&mut self, now: Time, metrics: Metrics) {
        let known = std::mem::replace(&mut self.metrics, metrics);
        let mut data = serde_json::Map::new();
        let mut log = |name: &str, changed: bool, value: Value| {
            if changed {
                data.insert(name.to_owned(), value);
            }
        };
        log("latest_rtt", known.latest != metrics.latest, millis(metrics.latest));
        log("smoothed_rtt", known.smoothed != metrics.smoothed, millis(metrics.smoothed));
        log("min_rtt", known.min != metrics.min, millis(metrics.min));
        log("rtt_variance", known.variation != metrics.variation, millis(metrics.variation));
        log("congestion_window", known.window_bytes != metrics.window_bytes, json!(metrics.window_bytes));
        log("ssthresh", known.threshold_bytes != metrics.threshold_bytes, json!(metrics.threshold_bytes));
        log("bytes_in_flight", known.in_flight_bytes != metrics.in_flight_bytes, json!(metrics.in_flight_bytes));
        let packets = metrics.in_flight_packets;
        log("packets_in_flight", known.in_flight_packets != packets, json!(packets));
        data.retain(|_, value| !value.is_null());
        if !data.is_empty() {
            self.event(now, "recovery:metrics_updated", Value::Object(data));
        }
    }

    /// The controller is in this state.
    pub fn state(&mut self, now: Time, state: &'static str) {
        let old = std::mem::replace(&mut self.state, state);
        if old != state {
            self.event(now, "recovery:congestion_state_updated", json!({ "old": old, "new": state }));
        }
    }

    fn event(&mut self, now: Time, name: &str, data: Value) {
        self.record(&json!({ "time": millis(now.since(Time::ZERO)), "name": name, "data": data }));
    }

    fn record(&mut self, record: &Value) {
        self.records.push(0x1e);
        serde_json::to_writer(&mut self.records, record).expect("memory takes everything");
        self.records.push(b'\n');
    }
}

fn millis(duration: Duration) -> Value {
    json!(duration.as_nanos() as f64 / 1e6)
}

/// The packets of a datagram with their frames.
#[derive(Default)]
struct Packets(Vec<(Packet, Vec<Value>)>);

impl Visitor for Packets {
    fn stream(&mut self, _id: u64, _offset: u64, _len: u64) {}

    fn datagram(&mut self) {}

    fn packet(&mut self, packet: Packet) {
        self.0.push((packet, Vec::new()));
    }

    fn frame(&mut self, kind: u64, body: &[u8]) {
        let Some((_, frames)) = self.0.last_mut() else { return };
        if kind == 0 && frames.last().is_some_and(|last| last["frame_type"] == "padding") {
            return;
        }
        frames
            .push(described(kind, body).unwrap_or_else(|| json!({ "frame_type": "unknown", "raw_frame_type": kind })));
    }
}

/// A frame as an object of qlog; `body` follows its kind. `None` if it is not whole.
fn described(kind: u64, body: &[u8]) -> Option<Value> {
    let mut reader = Reader(body);
    let name = match kind {
        0x02 | 0x03 => return acknowledgment(kind, reader),
        0x06 => {
            let (offset, length) = (reader.varint()?, reader.varint()?);
            return Some(json!({ "frame_type": "crypto", "offset": offset, "length": length }));
        }
        0x08..=0x0f => {
            let stream = reader.varint()?;
            let offset = if kind & 4 != 0 { reader.varint()? } else { 0 };
            let length = if kind & 2 != 0 { reader.varint()? } else { reader.0.len() as u64 };
            return Some(json!({
                "frame_type": "stream", "stream_id": stream, "offset": offset, "length": length, "fin": kind & 1 != 0,
            }));
        }
        0x30 => return Some(json!({ "frame_type": "datagram", "length": body.len() })),
        0x31 => return Some(json!({ "frame_type": "datagram", "length": reader.varint()? })),
        0x00 => "padding",
        0x01 => "ping",
        0x04 => "reset_stream",
        0x05 => "stop_sending",
        0x07 => "new_token",
        0x10 => "max_data",
        0x11 => "max_stream_data",
        0x12 | 0x13 => "max_streams",
        0x14 => "data_blocked",
        0x15 => "stream_data_blocked",
        0x16 | 0x17 => "streams_blocked",
        0x18 => "new_connection_id",
        0x19 => "retire_connection_id",
        0x1a => "path_challenge",
        0x1b => "path_response",
        0x1c | 0x1d => "connection_close",
        0x1e => "handshake_done",
        _ => return None,
    };
    Some(json!({ "frame_type": name }))
}

/// An ACK frame (RFC 9000 section 19.3) as an object of qlog.
fn acknowledgment(kind: u64, mut reader: Reader<'_>) -> Option<Value> {
    let (mut last, delay, more) = (reader.varint()?, reader.varint()?, reader.varint()?);
    let mut first = last.checked_sub(reader.varint()?)?;
    let mut ranges = vec![[first, last]];
    for _ in 0..more {
        last = first.checked_sub(reader.varint()? + 2)?;
        first = last.checked_sub(reader.varint()?)?;
        ranges.push([first, last]);
    }
    // By the default exponent of 3 it counts in 8 microseconds.
    let mut frame = json!({ "frame_type": "ack", "ack_delay": delay as f64 * 0.008, "acked_ranges": ranges });
    if kind == 0x03 {
        for name in ["ect0", "ect1", "ce"] {
            frame[name] = json!(reader.varint()?);
        }
    }
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::library::address;

    #[test]
    fn an_error_is_logged_with_its_code_and_who_found_it() {
        for (by_peer, owner) in [(false, "local"), (true, "remote")] {
            let mut log = Qlog::new(Time::ZERO, Side::Client, [address(Side::Client, 0), address(Side::Server, 0)]);
            log.take(&mut Vec::new());
            let words = "too many gaps".to_owned();
            log.end(&Ended { at: Time::ZERO, cause: EndCause::InternalError, words, by_peer });
            let mut records = Vec::new();
            log.take(&mut records);
            let record: Value = serde_json::from_slice(&records[1..]).unwrap();
            assert_eq!(record["name"], "connectivity:connection_closed");
            let expected = json!({
                "owner": owner, "reason": "too many gaps", "trigger": "error", "connection_code": "internal_error",
            });
            assert_eq!(record["data"], expected);
        }
    }
}
