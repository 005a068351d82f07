//! The code of a scheme with a receiver: its options, and the threshold that follows from them.

use channel::qpsk::BITS_PER_SYMBOL;
use units::{FieldError, Files};

use super::Kind;
use super::check::no_payload;
use super::config::RandomConfig;
use super::layout::RandomLayout;
use super::replica_count::ReplicaCount;
use super::scheme::{Decoding, Receiver};

/// The code of a packet of random access: its bits, symbols and margin.
pub(super) struct Coding {
    pub(super) payload_bits: u32,
    pub(super) packet_bits: u32,
    pub(super) symbols: u32,
    pub(super) margin: f64,
    /// Bursts over which the codeword extends.
    pub(super) bursts: u32,
}

impl Coding {
    /// The receiver that decodes each packet by its best burst, or by all where its codeword extends over them, and
    /// subtracts it from its slots.
    pub(super) fn receiver(&self, random: &RandomConfig) -> Receiver {
        let &RandomConfig { es_n0, power_spread, iterations } = random;
        Receiver { es_n0, power_spread, required: self.required(), joint: self.is_joint(), iterations }
    }

    /// Whether the packet's codeword extends over all its bursts.
    fn is_joint(&self) -> bool {
        self.bursts > 1
    }

    /// Mutual information per coded bit at which a packet is decoded, 0 to 1: of its best burst, or the mean of those
    /// over which its codeword extends.
    fn required(&self) -> f64 {
        let symbols = f64::from(self.symbols) * f64::from(self.bursts);
        f64::from(self.packet_bits) * (1.0 + self.margin) / (symbols * BITS_PER_SYMBOL)
    }

    /// Refuses a code by which no packet could be decoded.
    pub(super) fn check(&self) -> Result<(), FieldError> {
        let &Coding { payload_bits, packet_bits, symbols, margin, bursts } = self;
        if payload_bits == 0 {
            return Err(no_payload());
        }
        if packet_bits < payload_bits {
            let message = format!("{packet_bits} bits with header are fewer than the payload_bits, {payload_bits}");
            return Err(FieldError::new("packet_bits", message));
        }
        if symbols == 0 {
            return Err(FieldError::new("symbols", "0 symbols carry nothing: at least 1"));
        }
        if !(0.0..=10.0).contains(&margin) {
            return Err(FieldError::new("margin", format!("{margin} is not between 0 and 10")));
        }
        // A MuSCA packet without bursts is refused for that.
        if bursts > 0 && self.required() > 1.0 {
            let most = f64::from(symbols) * f64::from(bursts) * BITS_PER_SYMBOL / (1.0 + margin);
            let message = format!(
                "{packet_bits} bits can never be decoded: {bursts} burst(s) of {symbols} symbols of QPSK, with the \
                 margin {margin}, carry at most {most}"
            );
            return Err(FieldError::new("packet_bits", message));
        }
        Ok(())
    }
}

/// A scheme with a code, and what such schemes differ in.
pub(super) trait Coded {
    fn code(&self) -> Coding;
    fn replicas(&self) -> ReplicaCount;
    /// Whether so many replicas fit a block.
    fn check_replicas(&self, layout: &RandomLayout) -> Result<(), FieldError>;

    fn receiver(&self, random: &RandomConfig) -> Receiver {
        self.code().receiver(random)
    }
}

impl<S: Coded> Kind for S {
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        self.code().check()?;
        self.check_replicas(layout)
    }

    fn payload_bits(&self) -> u32 {
        self.code().payload_bits
    }

    fn symbols(&self) -> Option<u32> {
        Some(self.code().symbols)
    }

    fn is_joint(&self) -> bool {
        self.code().is_joint()
    }

    fn replicas(&self) -> ReplicaCount {
        Coded::replicas(self)
    }

    fn decoding(&self, random: &RandomConfig, _files: &mut dyn Files) -> Result<Decoding, FieldError> {
        Ok(Decoding::Receiver(self.receiver(random)))
    }
}

/// Declares a scheme with a code: its own options, each with its default, and those of the code.
macro_rules! coded_scheme {
    (
        $(#[$meta:meta])* pub struct $name:ident {
            $($(#[$option:meta])* pub $field:ident: $type:ty = $default:expr,)*
        }
        payload_bits: $payload:literal, packet_bits: $packet:literal, margin: $margin:literal
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$option])* pub $field: $type,)*
            /// Useful bits of a packet (N_data).
            pub payload_bits: u32,
            /// Bits of a packet with its header: what the code protects.
            pub packet_bits: u32,
            /// QPSK symbols of one burst that carry coded bits; preamble, pilots and guard time come on top.
            pub symbols: u32,
            /// How much more mutual information than `packet_bits` the code needs, as a share of it: 0 for an ideal
            /// code.
            pub margin: f64,
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: $default,)*
                    payload_bits: $payload, packet_bits: $packet, symbols: 460, margin: $margin,
                }
            }
        }

        impl $name {
            fn coding(&self) -> $crate::random::coding::Coding {
                let &$name { payload_bits, packet_bits, symbols, margin, .. } = self;
                $crate::random::coding::Coding { payload_bits, packet_bits, symbols, margin, bursts: 1 }
            }
        }
    };
}
pub(super) use coded_scheme;
