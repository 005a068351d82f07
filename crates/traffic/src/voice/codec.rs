//! Codecs: their packets, and the impairment of the voice by losses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration};

/// RTP (12 bytes), UDP (8) and IPv4 (20).
const HEADER_BYTES: u64 = 40;

/// A codec at its usual packet of 20 ms of speech.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// G.711 (64 kbit/s) with packet loss concealment (Appendix I): 200-byte packets, Ie 0, Bpl 25.1.
    #[default]
    G711,
    /// G.711 without concealment: 200-byte packets, Ie 0, Bpl 4.3.
    #[serde(rename = "g711-no-plc")]
    G711NoPlc,
    /// G.729A (8 kbit/s): 60-byte packets, Ie 11, Bpl 19.
    G729,
    /// Opus at 24 kbit/s in speech mode: 100-byte packets; no Ie and Bpl are published, here 0 and 20.
    Opus,
}

impl Codec {
    /// Bit rate of the coded speech.
    fn speech_bps(self) -> u64 {
        match self {
            Codec::G711 | Codec::G711NoPlc => 64_000,
            Codec::G729 => 8_000,
            Codec::Opus => 24_000,
        }
    }

    /// Time between packets, which is also the speech in each.
    pub(crate) fn interval(self) -> Duration {
        Duration::from_millis(20)
    }

    /// A packet with its headers.
    pub(crate) fn packet(self) -> Bytes {
        let payload = self.speech_bps() * self.interval().as_nanos() / 8_000_000_000;
        Bytes::new(payload + HEADER_BYTES)
    }

    /// Rate of the packets with their headers.
    pub(crate) fn rate(self) -> BitRate {
        BitRate::from_bps(self.packet().bits() * 1_000_000_000 / self.interval().as_nanos())
    }

    /// The length of speech that coding or concealment needs beyond the packet.
    pub(crate) fn lookahead(self) -> Duration {
        match self {
            Codec::G711 => Duration::from_micros(3_750),
            Codec::G711NoPlc => Duration::ZERO,
            Codec::G729 => Duration::from_millis(5),
            Codec::Opus => Duration::from_micros(6_500),
        }
    }

    /// Ie.
    pub(crate) fn equipment_impairment(self) -> f64 {
        match self {
            Codec::G711 | Codec::G711NoPlc | Codec::Opus => 0.0,
            Codec::G729 => 11.0,
        }
    }

    /// Bpl.
    pub(crate) fn loss_robustness(self) -> f64 {
        match self {
            Codec::G711 => 25.1,
            Codec::G711NoPlc => 4.3,
            Codec::G729 => 19.0,
            Codec::Opus => 20.0,
        }
    }
}
