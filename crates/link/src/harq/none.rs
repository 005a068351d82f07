//! No coding, no repetition: a packet with a bit error is lost.

use channel::TransmissionLaw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, FieldError, Time};

use super::chance::Chance;
use super::{Burst, Coded, Decoding, FeedbackMessage, Harq, HarqCounters, Kind, Reception, UserStreams};
use crate::buffer::Backlog;
use crate::packet::PacketRef;

/// Sends each packet once, as uncoded QPSK of its own size; a single bit error loses it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UncodedConfig {}

impl Kind for UncodedConfig {
    fn sends_uncoded(&self) -> bool {
        true
    }

    fn build(&self, _law: Option<&TransmissionLaw>, streams: UserStreams) -> Result<Box<dyn Harq>, FieldError> {
        Ok(Box::new(Uncoded::new(streams)))
    }
}

/// See [`UncodedConfig`].
pub struct Uncoded {
    chance: Chance,
    counters: HarqCounters,
}

impl Uncoded {
    /// `streams` draw the bit errors: one draw for each packet, also where it cannot change the outcome.
    pub fn new(streams: UserStreams) -> Uncoded {
        Uncoded { chance: Chance::new(streams), counters: HarqCounters::new(1) }
    }

    /// Coded bits of a byte: there is no code.
    pub(crate) const BITS_PER_BYTE: u32 = 8;

    /// The burst of a packet.
    #[inline]
    pub(crate) fn coded(packet: &PacketRef) -> Coded {
        Coded { process: 0, bits: packet.size * Uncoded::BITS_PER_BYTE, tag: 0 }
    }
}

impl Harq for Uncoded {
    fn sends_uncoded(&self) -> bool {
        true
    }

    fn may_start(&self, _user: u32) -> bool {
        true
    }

    fn start(&mut self, _now: Time, packet: &PacketRef, _sequence: u64, _estimate: Option<f64>) -> Coded {
        self.counters.started += 1;
        Uncoded::coded(packet)
    }

    fn poll_burst(&mut self, _now: Time) -> Option<Burst> {
        None
    }

    fn has_burst(&self) -> bool {
        false
    }

    fn receive(&mut self, _now: Time, burst: &Burst, snr: Db) -> Reception {
        let draw = self.chance.draw(burst.packet.user);
        self.counters.on_burst(burst.coded.bits);
        let decoding = if draw < loss_probability(snr, burst.coded.bits) {
            self.counters.on_failed(u64::from(burst.coded.bits));
            Decoding::Failed
        } else {
            self.counters.on_decoded(1, &burst.packet, u64::from(burst.coded.bits));
            Decoding::Decoded
        };
        Reception { decoding, feedback: None }
    }

    fn count_clear(&mut self, started: u64, arrived: Backlog) {
        self.counters.on_clear(started, arrived);
    }

    fn sends_feedback(&self) -> bool {
        false
    }

    fn handle_feedback(&mut self, _now: Time, message: FeedbackMessage) -> bool {
        unreachable!("nobody said {message:?}");
    }

    /// A packet is decided when its only burst arrives.
    fn reset(&mut self, in_flight: &[Burst], lost: &mut Vec<(PacketRef, u64)>) {
        lost.extend(in_flight.iter().map(|burst| (burst.packet, burst.sequence)));
        self.counters.on_reset(in_flight.len());
    }

    fn undecided(&self) -> usize {
        self.counters.undecided()
    }

    fn counters(&self) -> &HarqCounters {
        &self.counters
    }
}

/// The probability that at least one of `bits` independent bits is wrong: 1 - (1 - BER)^bits.
pub fn loss_probability(snr: Db, bits: u32) -> f64 {
    if snr >= channel::CLEAR {
        0.0
    } else if snr <= channel::ERASED {
        1.0
    } else {
        -libm::expm1(f64::from(bits) * libm::log1p(-channel::qpsk::bit_error_rate(snr)))
    }
}
