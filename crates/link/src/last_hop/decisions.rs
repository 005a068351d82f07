//! Channels that tell the fate of packets in place of the decoder.

use std::collections::BTreeMap;

use channel::{Channel, DECIDED, ERASED};
use units::{Db, Time};

use crate::harq::Decoding;
use crate::packet::PacketRef;

/// What the channels have decided of the packets in flight, by flow and number; `None` where the decoder decides.
#[derive(Debug)]
pub(super) struct Decisions(Option<BTreeMap<(u32, u64), Decision>>);

#[derive(Debug)]
struct Decision {
    /// Transmissions so far.
    sent: u32,
    /// The transmission that decodes the packet, 0 for none.
    needed: u32,
}

impl Decisions {
    /// The decisions on packets over these channels.
    pub(super) fn of(channels: &[Box<dyn Channel>]) -> Decisions {
        Decisions(channels.iter().any(|channel| channel.decides()).then(BTreeMap::new))
    }

    /// A packet is first sent.
    #[inline]
    pub(super) fn decide(&mut self, now: Time, packet: &PacketRef, sequence: u64, channel: &mut dyn Channel) {
        if let Some(open) = &mut self.0 {
            open.insert((packet.flow, sequence), Decision { sent: 0, needed: channel.decoded_after(now) });
        }
    }

    /// What replaces the signal-to-noise ratio of a burst: [`DECIDED`] from the transmission that decodes the packet
    /// on, else [`ERASED`]; `None` where the decoder decides.
    #[inline]
    pub(super) fn snr(&mut self, packet: &PacketRef, sequence: u64) -> Option<Db> {
        let Some(decision) = self.0.as_mut()?.get_mut(&(packet.flow, sequence)) else { return Some(ERASED) };
        decision.sent += 1;
        // Later ones too: the receiver may have missed the one that decides, or not have been ready for it.
        Some(if decision.needed != 0 && decision.sent >= decision.needed { DECIDED } else { ERASED })
    }

    /// The receiver's result of a burst: once the fate of a packet is known, what is sent of it decides nothing.
    #[inline]
    pub(super) fn follow(&mut self, packet: &PacketRef, sequence: u64, decoding: Decoding) {
        if let Some(open) = &mut self.0
            && decoding != Decoding::Undecided
        {
            open.remove(&(packet.flow, sequence));
        }
    }

    /// The packets in flight are given up.
    pub(super) fn clear(&mut self) {
        if let Some(open) = &mut self.0 {
            open.clear();
        }
    }
}
