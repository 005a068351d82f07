//! The user datagram protocol (RFC 768): what is written goes out at once, and nobody hears whether it arrived.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, IPV4_UDP_HEADER_BYTES};

/// UDP: each write of the application is one datagram, sent at once and never again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpConfig {}

/// A datagram without its payload's bytes, which no model looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Datagrams that the sender sent before it: what an application like RTP would number.
    pub number: u64,
    /// Bytes of payload.
    pub len: u32,
}

impl Datagram {
    /// Bytes of the whole IP packet.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        IPV4_UDP_HEADER_BYTES + self.len
    }
}

/// The sending half of UDP.
#[derive(Debug, Default)]
pub struct UdpSender {
    written: VecDeque<u32>,
    next: u64,
}

impl UdpSender {
    /// Hands over a datagram.
    ///
    /// # Panics
    /// If it is longer than an IP packet can be.
    pub fn write(&mut self, payload: Bytes) {
        self.written.push_back(length(payload));
    }

    /// The next datagram to be sent.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Datagram> {
        let len = self.written.pop_front()?;
        Some(self.number(len))
    }

    /// Hands over a datagram that is sent at once, while no other waits.
    ///
    /// # Panics
    /// If it is longer than an IP packet can be.
    #[inline]
    pub fn send_now(&mut self, payload: Bytes) -> Datagram {
        debug_assert!(self.is_idle(), "another goes first");
        self.number(length(payload))
    }

    /// Whether no datagram waits to be sent.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.written.is_empty()
    }

    #[inline]
    fn number(&mut self, len: u32) -> Datagram {
        self.next += 1;
        Datagram { number: self.next - 1, len }
    }
}

#[inline]
fn length(payload: Bytes) -> u32 {
    let len = u32::try_from(payload.get()).ok().filter(|len| len + IPV4_UDP_HEADER_BYTES <= u32::from(u16::MAX));
    len.expect("no longer than a packet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_is_a_datagram_with_a_number_of_its_own() {
        let mut sender = UdpSender::default();
        sender.write(Bytes::new(172));
        sender.write(Bytes::new(0));
        let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit()).collect();
        assert_eq!(sent, [Datagram { number: 0, len: 172 }, Datagram { number: 1, len: 0 }]);
        assert_eq!(sent[0].wire_bytes(), 200);
    }
}
