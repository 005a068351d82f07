//! A UDP datagram of QUIC, with its bytes.

use std::sync::Arc;

use units::{Ecn, IPV4_UDP_HEADER_BYTES, Time};

use super::lifetime::Resume;

/// A UDP datagram that carries QUIC packets. Unlike a segment it has its bytes: only the protocol can read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicPacket {
    /// UDP datagrams that the sender sent before this packet.
    pub number: u64,
    /// The congestion mark of its IP header.
    pub ecn: Ecn,
    /// The number of the user's address that it comes from or goes to: how often the address has changed before.
    pub address: u32,
    /// The application's data that the packet carries.
    pub(crate) content: Content,
    /// The client's request when it opened this connection, if it is not the first.
    pub resume: Option<Arc<Resume>>,
    /// The answers of an end so far, where the client may open another connection.
    pub answered: Answered,
    /// The UDP payload.
    pub bytes: Arc<[u8]>,
}

/// How far an end has answered on the first stream. A client would read it in the headers of an answer, which give its
/// length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The offset after the bytes that the application has written.
    pub(super) written: u64,
    /// The offset up to which the application had read when it last wrote.
    pub(super) read: u64,
}

/// The application's data in a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(target_family = "wasm", expect(dead_code))] // A page has no QUIC.
pub enum Content {
    /// Nothing.
    #[default]
    None,
    /// Data of streams: where the first of them begin, in one number with the stream.
    Stream(u64),
    /// Datagrams (RFC 9221), numbered in the order of the writes.
    Datagrams {
        /// The first of them.
        first: u64,
        /// When the application wrote each of the datagrams.
        written: Vec<Time>,
    },
}

impl QuicPacket {
    /// Bytes of the whole IP packet.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        IPV4_UDP_HEADER_BYTES + self.bytes.len() as u32
    }

    /// Whether the packet carries data of the application.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.content != Content::None
    }

    /// Returns the offset of its first data, the number of its first datagram, or its own number if it carries neither.
    #[inline]
    pub fn sequence(&self) -> u64 {
        match &self.content {
            Content::None => self.number,
            Content::Stream(position) => *position,
            Content::Datagrams { first, .. } => *first,
        }
    }

    /// Returns the offset of its first data on streams; `None` if it carries none.
    #[inline]
    pub fn stream_offset(&self) -> Option<u64> {
        match self.content {
            Content::Stream(position) => Some(position),
            Content::None | Content::Datagrams { .. } => None,
        }
    }

    /// The number of its connection among those of the flow.
    pub fn connection(&self) -> u32 {
        self.resume.as_ref().map_or(0, |resume| resume.connection)
    }

    /// The numbers of its datagrams.
    pub fn datagrams(&self) -> std::ops::Range<u64> {
        match &self.content {
            Content::Datagrams { first, written } => *first..first + written.len() as u64,
            Content::None | Content::Stream(_) => 0..0,
        }
    }

    /// When the application wrote datagram `number`; `None` if the packet does not carry it.
    pub fn written(&self, number: u64) -> Option<Time> {
        match &self.content {
            Content::Datagrams { first, written } => written.get(number.checked_sub(*first)? as usize).copied(),
            Content::None | Content::Stream(_) => None,
        }
    }
}
