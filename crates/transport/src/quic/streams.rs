//! The streams of an end: what the application has written and read, and what packets carry of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use noq_proto::StreamId;
use units::Time;

use super::frames::{Acknowledgment, Packet, PacketKind, Visitor};
use super::lifetime::Resume;
use super::packet::{Answered, Content};
use super::received::Received;

/// The first stream, of which each direction is the byte stream of a flow.
pub(super) const FIRST: u64 = 0;

/// Bits of an offset in [`position`]: streams up to 4 TiB, and a million of them.
const OFFSET_BITS: u32 = 42;

/// One number for a position in one of the streams of a connection: the stream's number above, the offset below.
fn position(stream: u64, offset: u64) -> u64 {
    stream << OFFSET_BITS | offset
}

/// The stream and the offset of a [`position`].
pub(super) fn stream_and_offset(position: u64) -> (u64, u64) {
    (position >> OFFSET_BITS, position & ((1 << OFFSET_BITS) - 1))
}

/// The application's writes and reads of one stream, at this end.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub id: Option<StreamId>,
    /// Bytes that the library has not taken yet, and those that it has in this connection.
    pub unwritten: u64,
    pub written: u64,
    /// Where in the stream those of this connection begin.
    pub from: u64,
    pub for_ever: bool,
    pub closes: bool,
    pub closed: bool,
    /// The other end will answer what this end writes.
    pub asks: bool,
    /// The other end has confirmed that all of the streams has arrived.
    pub finished: bool,
    /// All that the other end sends on its streams has arrived.
    pub ended: bool,
    /// Bytes of the streams that have arrived here in order.
    pub delivered: u64,
    /// Where in the stream they end, and where those of this connection begin.
    pub has: u64,
    pub reads: u64,
    /// The bytes that the library has handed out in this connection, or has dropped and we count as handed out.
    pub taken: Received,
    /// Of the pieces that have arrived in this connection, those that do not wait in the library for one that is
    /// missing.
    pub settled: u64,
    /// So many have waited that what arrives is taken from the library at once, in any order.
    pub takes_at_once: bool,
    /// Where what the application had read ended when it wrote last.
    pub answered: u64,
}

impl Stream {
    /// Whether the application has something for the library.
    pub fn waits(&self) -> bool {
        self.for_ever || self.unwritten > 0 || self.closes && !self.closed
    }

    /// Whether it is over for the client's application: all has arrived here, or there, where nobody answers.
    pub fn is_done(&self) -> bool {
        self.ended || self.finished && self.closes && !self.asks
    }

    /// The application writes more.
    pub fn write(&mut self, bytes: u64) {
        self.unwritten += bytes;
        self.answered = self.has;
    }

    /// Returns how far this end has answered.
    pub fn answers(&self) -> Answered {
        Answered { written: if self.for_ever { u64::MAX } else { self.end() }, read: self.answered }
    }

    /// Whether all that the application has written is answered, and the answer has arrived, where the other end has
    /// answered so far.
    pub fn is_answered(&self, far: Answered) -> bool {
        let asks = self.end() > 0 && !self.waits();
        asks && far.read >= self.end() && far.written > 0 && self.has >= far.written
    }

    /// Returns the offset after the bytes that the application has written.
    pub fn end(&self) -> u64 {
        self.from + self.written + self.unwritten
    }

    /// Whether all that was written has arrived, or nothing was.
    pub fn is_sent(&self) -> bool {
        self.finished || self.end() == 0
    }

    /// After the library has handed out bytes: how many more are there in order.
    pub fn read(&mut self) -> u64 {
        let new = (self.reads + self.taken.in_order()).saturating_sub(self.has);
        self.has += new;
        self.delivered += new;
        new
    }

    /// A connection begins in which what is sent begins at `from`, and what arrives at `reads`.
    pub fn carry_on(&mut self, from: u64, reads: u64) {
        self.unwritten = if self.for_ever { 0 } else { self.end().saturating_sub(from) };
        (self.id, self.written, self.from) = (None, 0, from);
        (self.closed, self.finished) = (false, false);
        (self.reads, self.taken) = (reads, Received::default());
        (self.settled, self.takes_at_once) = (0, false);
        self.has = self.has.max(reads);
    }
}

/// The ends of the data that were sent, by which retransmissions are recognised.
#[derive(Debug, Default)]
pub(super) struct SentStreams {
    /// By stream, the end of the data that were sent.
    ends: BTreeMap<u64, u64>,
    /// How often the data at a position were retransmitted.
    retransmissions: BTreeMap<u64, u32>,
    /// Where the streams of this connection begin, if not at their beginnings.
    pub from: BTreeMap<u64, u64>,
    /// The number of the first datagram in `written`.
    next: u64,
    /// When the application wrote each datagram that has not left.
    written: VecDeque<Time>,
}

impl SentStreams {
    /// The application writes a datagram.
    pub fn write_datagram(&mut self, now: Time) {
        self.written.push_back(now);
    }

    /// Drops what the ended connection had taken and not sent. The last `kept`, which it had not taken, stay.
    pub fn forget_datagrams(&mut self, kept: usize) {
        let forgotten = self.written.len() - kept;
        self.written.drain(..forgotten);
        self.next += forgotten as u64;
    }
}

/// A QUIC packet that is being sent, of which frames are read.
pub(super) struct Outgoing<'a> {
    pub sending: &'a mut SentStreams,
    pub names: Option<&'a Resume>,
    pub content: Content,
    /// How often its data were sent before: 0 in the first transmission.
    pub sent_before: u32,
    pub data_bytes: u64,
    /// By space of numbers, the packets that it holds.
    pub packets: [Option<Packet>; 3],
}

impl<'a> Outgoing<'a> {
    pub fn new(sending: &'a mut SentStreams, names: Option<&'a Arc<Resume>>) -> Outgoing<'a> {
        Outgoing {
            sending,
            names: names.map(|names| &**names),
            content: Content::None,
            sent_before: 0,
            data_bytes: 0,
            packets: [None; 3],
        }
    }
}

impl Visitor for Outgoing<'_> {
    fn stream(&mut self, id: u64, offset: u64, len: u64) {
        self.data_bytes += len;
        if len == 0 {
            return;
        }
        let id = stream_of(self.names, id);
        let offset = offset + self.sending.from.get(&id).copied().unwrap_or(0);
        let at = position(id, offset);
        let end = self.sending.ends.entry(id).or_default();
        let again = offset < *end;
        *end = (*end).max(offset + len);
        let sent_before = again.then(|| {
            let retransmissions = self.sending.retransmissions.entry(at).or_default();
            *retransmissions += 1;
            *retransmissions
        });
        // New data of one stream may stand before those of another that are sent again.
        if self.content == Content::None || self.sent_before == 0 && again {
            self.content = Content::Stream(at);
            self.sent_before = sent_before.unwrap_or(0);
        }
    }

    fn packet(&mut self, packet: Packet) {
        self.packets[packet.kind.space()] = Some(packet);
    }

    fn datagram(&mut self) {
        let first = self.sending.next;
        let at = self.sending.written.pop_front().expect("it was written");
        self.sending.next += 1;
        match &mut self.content {
            Content::Datagrams { written, .. } => written.push(at),
            content => *content = Content::Datagrams { first, written: vec![at] },
        }
    }
}

/// Data that have arrived in any order, over all connections.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub streams: BTreeMap<u64, Received>,
    /// Where what the other end sends in this connection begins, if not at the streams' beginnings.
    pub from: BTreeMap<u64, u64>,
}

/// A QUIC packet that arrives, of which frames are read.
pub(super) struct Incoming<'a> {
    pub arrived: &'a mut Arrived,
    pub names: Option<&'a Resume>,
    pub marked: Option<u64>,
    /// By space of numbers.
    pub acknowledgments: [Option<Acknowledgment>; 3],
    space: usize,
    /// Of which kinds of packets the data count, and whether those of the packet do.
    data: fn(PacketKind) -> bool,
    counts: bool,
}

impl<'a> Incoming<'a> {
    pub fn new(arrived: &'a mut Arrived, names: Option<&'a Resume>, data: fn(PacketKind) -> bool) -> Incoming<'a> {
        Incoming { arrived, names, marked: None, acknowledgments: [None; 3], space: 0, data, counts: false }
    }

    /// What has arrived of the stream that has `id` in this connection, and an offset of it counted over all of them.
    fn place(&mut self, id: u64, offset: u64) -> (&mut Received, u64) {
        let id = stream_of(self.names, id);
        let from = self.arrived.from.get(&id).copied().unwrap_or(0);
        (self.arrived.streams.entry(id).or_default(), from + offset)
    }
}

impl Visitor for Incoming<'_> {
    fn stream(&mut self, id: u64, offset: u64, len: u64) {
        if self.counts {
            let (received, start) = self.place(id, offset);
            received.add(start, start + len);
        }
    }

    fn fin(&mut self, id: u64, offset: u64) {
        if self.counts {
            let (received, end) = self.place(id, offset);
            received.last = Some(end);
        }
    }

    fn datagram(&mut self) {}

    fn packet(&mut self, packet: Packet) {
        self.space = packet.kind.space();
        self.counts = (self.data)(packet.kind);
    }

    fn acknowledgment(&mut self, acknowledgment: Acknowledgment) {
        self.acknowledgments[self.space] = Some(acknowledgment);
    }

    fn marks(&mut self, marked: u64) {
        self.marked = Some(marked);
    }
}

/// The stream that `id` stands for: itself in the first connection, or the first where the server opens it.
pub(super) fn stream_of(names: Option<&Resume>, id: u64) -> u64 {
    names.map_or_else(|| if id & 1 == 1 { FIRST } else { id }, |names| names.stream(id))
}

/// The identifier of the stream with this number, of those that the client opens (RFC 9000 section 2.1).
pub(super) fn id_of(number: u32) -> u64 {
    u64::from(number) * 4
}
