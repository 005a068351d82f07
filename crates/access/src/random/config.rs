//! The schemes that a scenario can name, and the step from its words to a [`Scheme`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, FieldError, Files};

use super::plr_table::PlrTable;
use super::scheme::{Decoding, Degrees, Receiver, Scheme};
use super::{RandomLayout, frame};

/// Hands the schemes of random access, a line each as `units::registry!` takes them, to the macro `then`.
macro_rules! random_access_schemes {
    ($then:ident) => {
        $then! {
            "aloha" => Aloha($crate::random::Aloha),
            "dsa" => Dsa($crate::random::Dsa),
            "crdsa" => Crdsa($crate::random::Crdsa),
            "irsa" => Irsa($crate::random::Irsa),
            "musca" => Musca($crate::random::Musca),
            "table" => Table($crate::random::Table),
        }
    };
}
pub(crate) use random_access_schemes;

macro_rules! registry {
    ($($lines:tt)*) => {
        units::registry! {
            /// The schemes of random access.
            pub enum RandomAccess { $($lines)* }
        }
    };
}
random_access_schemes!(registry);

impl Default for RandomAccess {
    fn default() -> RandomAccess {
        RandomAccess::Crdsa(Crdsa::default())
    }
}

impl RandomAccess {
    /// Whether the values can be used together, in blocks of this layout. Reads no file.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        match self.coding() {
            Some(coding) => coding.check()?,
            None if self.payload_bits() == 0 => return Err(no_payload()),
            None => {}
        }
        match self {
            Self::Aloha(_) => check_bursts("", 1, 1, layout),
            Self::Dsa(Dsa { replicas, .. })
            | Self::Crdsa(Crdsa { replicas, .. })
            | Self::Musca(Musca { replicas, .. }) => check_bursts("replicas", *replicas, 2, layout),
            Self::Irsa(config) => config.check(layout),
            Self::Table(config) => {
                if config.plr.is_empty() {
                    return Err(FieldError::new("plr", "the name is empty: give the path of a CSV file"));
                }
                check_bursts("replicas", config.replicas, 1, layout)
            }
        }
    }

    /// The scheme, with its thresholds found or its file read. For values that [`RandomAccess::check`] and
    /// [`RandomConfig::check`] accept.
    ///
    /// # Errors
    /// Says which line of a file cannot be used.
    pub fn load(&self, random: &RandomConfig, files: &mut dyn Files) -> Result<Scheme, FieldError> {
        let decoding = match self.coding() {
            Some(coding) => Decoding::Receiver(Receiver {
                es_n0: random.es_n0,
                power_spread: random.power_spread,
                required: coding.required(),
                joint: matches!(self, Self::Musca(_)),
                iterations: match self {
                    Self::Aloha(_) | Self::Dsa(_) => 1,
                    _ => random.iterations,
                },
            }),
            None => {
                let Self::Table(config) = self else { unreachable!("all others have a code") };
                let table = PlrTable::read(files, &config.plr);
                Decoding::Table(table.map_err(|message| FieldError::new("plr", message))?)
            }
        };
        let degrees = match self {
            Self::Irsa(config) => {
                let pairs = config.distribution.iter().map(|choice| (choice.replicas, choice.probability));
                Degrees::distributed(&pairs.collect::<Vec<_>>())
            }
            _ => Degrees::Fixed(self.planned_bursts()),
        };
        Ok(Scheme { payload_bits: self.payload_bits(), degrees, decoding })
    }

    /// The largest number of bursts that a packet may take.
    pub fn planned_bursts(&self) -> u32 {
        match self {
            Self::Aloha(_) => 1,
            Self::Dsa(Dsa { replicas, .. })
            | Self::Crdsa(Crdsa { replicas, .. })
            | Self::Musca(Musca { replicas, .. })
            | Self::Table(Table { replicas, .. }) => *replicas,
            Self::Irsa(config) => config.distribution.iter().map(|choice| choice.replicas).max().unwrap_or(0),
        }
    }

    /// Bursts of a packet on average.
    pub fn mean_bursts(&self) -> f64 {
        match self {
            Self::Irsa(config) => {
                config.distribution.iter().map(|choice| f64::from(choice.replicas) * choice.probability).sum()
            }
            _ => f64::from(self.planned_bursts()),
        }
    }

    /// Useful bits of a packet (N_data).
    pub fn payload_bits(&self) -> u32 {
        match self {
            Self::Table(config) => config.payload_bits,
            _ => self.coding().expect("all others have a code").payload_bits,
        }
    }

    /// Symbols of a burst that carry coded bits, where they are known.
    pub fn symbols(&self) -> Option<u32> {
        self.coding().map(|coding| coding.symbols)
    }

    fn coding(&self) -> Option<Coding> {
        match self {
            Self::Aloha(config) => Some(config.coding()),
            Self::Dsa(config) => Some(config.coding()),
            Self::Crdsa(config) => Some(config.coding()),
            Self::Irsa(config) => Some(config.coding()),
            Self::Musca(config) => Some(Coding { bursts: config.replicas, ..config.coding() }),
            Self::Table(_) => None,
        }
    }
}

/// What all schemes of random access share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomConfig {
    /// Es/N0 of a burst without interference; with `power_spread` its median.
    pub es_n0: Db,
    /// Standard deviation of the received power of packets, which is lognormal; all bursts of a packet have the same. At
    /// most 10 dB.
    pub power_spread: Db,
    /// Iterations of interference cancellation, at most; 1 is none. Each decodes all packets that can be decoded at its
    /// beginning.
    pub iterations: u32,
}

impl Default for RandomConfig {
    fn default() -> RandomConfig {
        RandomConfig { es_n0: Db::new(5.0), power_spread: Db::new(0.0), iterations: 50 }
    }
}

impl RandomConfig {
    /// Whether the values can be used.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, message: String| Err(FieldError::new(field, message));
        if !(-40.0..=60.0).contains(&self.es_n0.get()) {
            return refuse("es_n0", format!("{} is not between -40 dB and 60 dB", self.es_n0));
        }
        if !(0.0..=frame::MAX_POWER_SPREAD_DB).contains(&self.power_spread.get()) {
            let highest = frame::MAX_POWER_SPREAD_DB;
            return refuse("power_spread", format!("{} is not between 0 dB and {highest} dB", self.power_spread));
        }
        if self.iterations == 0 {
            return refuse("iterations", "0 iterations decode nothing: at least 1".to_owned());
        }
        Ok(())
    }
}

/// How a packet is coded.
struct Coding {
    payload_bits: u32,
    packet_bits: u32,
    symbols: u32,
    margin: f64,
    /// Bursts over which the code word extends.
    bursts: u32,
}

/// Bits of a QPSK symbol.
const BITS_PER_SYMBOL: f64 = 2.0;

impl Coding {
    /// Mutual information per coded bit at which a packet is decoded, 0 to 1: of its best burst, or the mean of those over
    /// which its code word extends.
    fn required(&self) -> f64 {
        let symbols = f64::from(self.symbols) * f64::from(self.bursts);
        f64::from(self.packet_bits) * (1.0 + self.margin) / (symbols * BITS_PER_SYMBOL)
    }

    fn check(&self) -> Result<(), FieldError> {
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
                "{packet_bits} bits can never be decoded: {bursts} burst(s) of {symbols} symbols of QPSK, with the margin \
                 {margin}, carry at most {most}"
            );
            return Err(FieldError::new("packet_bits", message));
        }
        Ok(())
    }
}

fn no_payload() -> FieldError {
    FieldError::new("payload_bits", "0 bits: a packet carries at least 1")
}

fn check_bursts(field: &str, bursts: u32, least: u32, layout: &RandomLayout) -> Result<(), FieldError> {
    let refuse = |message: String| Err(FieldError::new(field, message));
    if bursts < least {
        return refuse(format!("{bursts} burst(s) for a packet: at least {least}"));
    }
    if bursts > layout.block_slots {
        return refuse(format!("{bursts} bursts for a packet, but an RA block has {} slots", layout.block_slots));
    }
    if bursts > layout.most_bursts() {
        let columns = layout.timeslots;
        return refuse(format!(
            "{bursts} bursts for a packet, but a frame has {columns} timeslots and the terminal one amplifier"
        ));
    }
    Ok(())
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
            /// How much more mutual information than `packet_bits` the code needs, as a share of it: 0 for an ideal code.
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
            fn coding(&self) -> Coding {
                let &$name { payload_bits, packet_bits, symbols, margin, .. } = self;
                Coding { payload_bits, packet_bits, symbols, margin, bursts: 1 }
            }
        }
    };
}

coded_scheme! {
    /// Slotted ALOHA: one burst for a packet, lost when it collides, unless it is strong enough to be heard all the same
    /// (capture, with `power_spread` or a code of low rate).
    ///
    /// Abramson 1970.
    pub struct Aloha {}
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

coded_scheme! {
    /// Diversity slotted ALOHA: several copies of a packet, of which one has to arrive; nothing is cancelled.
    ///
    /// Choudhury and Rappaport 1983.
    pub struct Dsa {
        /// Copies of a packet, at least 2.
        pub replicas: u32 = 2,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

coded_scheme! {
    /// Contention resolution diversity slotted ALOHA: several copies of a packet; those of decoded packets are subtracted
    /// from their slots.
    ///
    /// Casini, De Gaudenzi, del Rio Herrero 2007 (with 2 copies); EN 301 545-2, section 7.2.5.2. The default is CRDSA-3 with
    /// QPSK 2/3 of Kuhn et al. 2015, section 4.4.2: 613 bits in 920 coded bits.
    pub struct Crdsa {
        /// Copies of a packet, at least 2.
        pub replicas: u32 = 3,
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

coded_scheme! {
    /// Irregular repetition slotted ALOHA: as CRDSA, with a number of copies that is drawn for each packet.
    ///
    /// Liva 2011, "Graph-based analysis and optimization of contention resolution diversity slotted ALOHA", IEEE Trans.
    /// Commun. 59(2).
    pub struct Irsa {
        /// Numbers of copies and their probabilities, which add up to 1. The default is `0.5 x^2 + 0.28 x^3 + 0.22 x^8`
        /// (Liva 2011), whose losses vanish in large blocks below 0.938 packets per slot.
        pub distribution: Vec<Repetition> = liva(),
    }
    payload_bits: 597, packet_bits: 613, margin: 0.0
}

/// A number of copies, and how likely it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repetition {
    /// Copies of a packet.
    pub replicas: u32,
    /// Its probability.
    pub probability: f64,
}

fn liva() -> Vec<Repetition> {
    [(2, 0.5), (3, 0.28), (8, 0.22)].map(|(replicas, probability)| Repetition { replicas, probability }).to_vec()
}

impl Irsa {
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        let refuse = |message: String| Err(FieldError::new("distribution", message));
        let mut sum = 0.0;
        for (place, &Repetition { replicas, probability }) in self.distribution.iter().enumerate() {
            let field = |name: &str| format!("distribution.{place}.{name}");
            check_bursts(&field("replicas"), replicas, 1, layout)?;
            if !(0.0..=1.0).contains(&probability) {
                return Err(FieldError::new(field("probability"), format!("{probability} is not between 0 and 1")));
            }
            if self.distribution[..place].iter().any(|other| other.replicas == replicas) {
                return Err(FieldError::new(
                    field("replicas"),
                    format!("{replicas} copies have a probability already"),
                ));
            }
            sum += probability;
        }
        if (sum - 1.0).abs() > 1e-6 {
            return refuse(format!("the probabilities add up to {sum}, not to 1"));
        }
        Ok(())
    }
}

coded_scheme! {
    /// Multi-slot coded ALOHA: the parts of one code word go into several bursts and are decoded together, collided or not;
    /// decoded packets are subtracted.
    ///
    /// Bui, Lacan, Boucheret 2012, "An enhanced multiple random access scheme for satellite communications". The default is
    /// that of Kuhn et al. 2015, section 4.4.2: 680 bits in 2,760 coded bits, QPSK, 3 bursts. A packet is decoded when the
    /// mutual information, averaged over its bursts, reaches the code rate. The headers are taken to be read: a condition on
    /// the best burst changed no loss rate in the range where packets are decoded at all.
    pub struct Musca {
        /// Bursts into which the code word is split (N_block), at least 2.
        pub replicas: u32 = 3,
    }
    payload_bits: 594, packet_bits: 680, margin: 0.05
}

/// Packet loss from a measured or simulated curve over the packets of a block, instead of a receiver.
///
/// Each packet of a block is lost with the probability that the curve gives for the number of packets in the block,
/// independently of the others; `es_n0`, `power_spread` and `iterations` are those of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// A CSV file of the packets of a block and the packet loss rate (0 to 1), by increasing packets; columns are separated by
    /// commas, semicolons, tabs or spaces. The first line may be a header; lines that begin with # and columns after the second
    /// are passed over. Linear between rows; before the first and after the last row it keeps their rates.
    pub plr: String,
    /// Bursts that a packet takes.
    #[serde(default = "three")]
    pub replicas: u32,
    /// Useful bits of a packet (N_data).
    #[serde(default = "crdsa_payload")]
    pub payload_bits: u32,
}

fn three() -> u32 {
    3
}

fn crdsa_payload() -> u32 {
    Crdsa::default().payload_bits
}
