//! What a scenario says about the return link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, FieldError};

use crate::division::Division;
use crate::frame::FrameConfig;
use crate::method::AccessMethod;
use crate::ncc::DedicatedConfig;
use crate::random::{RandomConfig, RandomLayout};

/// The return link of DVB-RCS2, by which users send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessConfig {
    /// How terminals get at the channel.
    pub method: AccessMethod,
    /// How time and carriers are divided.
    pub frame: FrameConfig,
    /// What all schemes of random access share.
    pub random: RandomConfig,
    /// What dedicated access offers, and how it is asked for.
    pub dedicated: DedicatedConfig,
    /// Which carriers are for random access, where there are both.
    pub division: Division,
    /// Headers of the link layer around datagrams.
    pub encapsulation: Encapsulation,
    /// The most that a terminal sends; without it, what its slots carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<BitRate>,
    /// What a terminal holds at most, in its queue; without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// A terminal has one amplifier, so it sends on one carrier at a time. Without this limit it has one for each carrier.
    pub one_amplifier: bool,
    /// Datagrams leave the gateway when the frame is over that brought their last part, as a module does that works frame by
    /// frame; without it, when the slot is over. Random access blocks are decoded at the end of the frame in any case.
    pub whole_frames: bool,
}

impl Default for AccessConfig {
    fn default() -> AccessConfig {
        AccessConfig {
            method: AccessMethod::default(),
            frame: FrameConfig::default(),
            random: RandomConfig::default(),
            dedicated: DedicatedConfig::default(),
            division: Division::default(),
            encapsulation: Encapsulation::default(),
            max_rate: None,
            buffer: None,
            one_amplifier: true,
            whole_frames: false,
        }
    }
}

/// Headers of the return link encapsulation (EN 301 545-2 section 7.2.3, RLE).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Encapsulation {
    /// Around a datagram: its length, protocol and end.
    pub datagram: Bytes,
    /// Around each part of a datagram that goes in a slot.
    pub fragment: Bytes,
    /// A slot that a datagram does not fill takes the beginning of the next one too.
    pub packing: bool,
}

impl Default for Encapsulation {
    fn default() -> Encapsulation {
        Encapsulation { datagram: Bytes::new(2), fragment: Bytes::new(2), packing: true }
    }
}

/// Symbols of a burst of random access that carry no coded bits: 536 of which 460 do (Kuhn et al. 2015, section 4.4.1).
const PREAMBLE: u32 = 536 - 460;

impl Encapsulation {
    fn check(&self) -> Result<(), FieldError> {
        for (field, bytes) in [("datagram", self.datagram), ("fragment", self.fragment)] {
            if bytes > MOST_HEADER {
                return Err(FieldError::new(field, format!("{bytes} was given, at most {MOST_HEADER} is allowed")));
            }
        }
        Ok(())
    }
}

/// More would be no header.
const MOST_HEADER: Bytes = Bytes::new(10_000);

impl AccessConfig {
    /// Whether the values make sense, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        let random_burst =
            self.method.random().and_then(|random| random.symbols()).map_or(0, |symbols| symbols + PREAMBLE);
        let burst = self.dedicated.burst_symbols().max(random_burst);
        self.frame.check(burst).map_err(|error| error.within("frame"))?;
        self.encapsulation.check().map_err(|error| error.within("encapsulation"))?;
        // Also what the method does not use, so that another one can be tried.
        self.random.check().map_err(|error| error.within("random"))?;
        self.dedicated.check().map_err(|error| error.within("dedicated"))?;
        let random_carriers = self.random_carriers();
        if let Some(random) = self.method.random() {
            if random_carriers == 0 {
                return Err(self.no_carriers(random_carriers));
            }
            self.frame.blocks(random_carriers).map_err(|error| error.within("frame"))?;
            random.check(&self.layout()).map_err(|error| error.within(self.method.random_path()))?;
            let payload = random.payload_bits();
            self.check_overhead(payload)?;
            self.check_rate(payload)?;
        }
        if self.method.is_dedicated() {
            if random_carriers == self.frame.carriers {
                return Err(self.no_carriers(random_carriers));
            }
            let payload = self.dedicated.slot_bits().map_err(|error| error.within("dedicated"))?;
            self.check_overhead(payload)?;
            self.check_rate(payload)?;
        }
        if let AccessMethod::Switch(switch) = &self.method {
            switch.policy.check().map_err(|error| error.within("method.policy"))?;
            let division = self.division.check(self.frame.carriers, self.frame.carrier_step());
            division.map_err(|error| error.within("division"))?;
        }
        Ok(())
    }

    /// What to say if a method that knows one kind of access leaves the other's carriers idle.
    pub fn idle_carriers(&self) -> Option<String> {
        let (method, carriers, random) = (self.method.kind(), self.frame.carriers, self.random_carriers());
        let (idle, kind) = match (&self.method, self.method.random()) {
            (_, None) => (random, "random"),
            (AccessMethod::Switch(_), _) => (0, ""),
            _ => (carriers - random, "dedicated"),
        };
        let message = || {
            format!(
                "{idle} of {carriers} carriers of the return link are for {kind} access, which {method} does not use"
            )
        };
        (idle > 0).then(message)
    }

    /// The files that it names, from the root.
    pub fn resolved(&self) -> AccessConfig {
        let mut resolved = self.clone();
        resolved.frame.random_carriers = Some(self.random_carriers());
        resolved
    }

    /// The name of the file that it needs.
    pub fn file_mut(&mut self) -> Option<&mut String> {
        self.method.file_mut()
    }

    /// Carriers for random access at the start of a run.
    pub(crate) fn random_carriers(&self) -> u32 {
        let FrameConfig { carriers, random_carriers, .. } = self.frame;
        random_carriers.unwrap_or_else(|| match (&self.method, self.method.random()) {
            (_, None) => 0,
            (AccessMethod::Switch(_), _) => carriers / 2 / self.frame.carrier_step() * self.frame.carrier_step(),
            _ => carriers,
        })
    }

    /// Where bursts of random access may go.
    pub(crate) fn layout(&self) -> RandomLayout {
        let FrameConfig { timeslots, block_slots, .. } = self.frame;
        RandomLayout { timeslots, block_slots, one_amplifier: self.one_amplifier }
    }

    /// The most bits that a terminal sends in a frame.
    pub(crate) fn frame_bits(&self) -> u64 {
        let bits = |rate: BitRate| (rate.as_bps() as f64 * self.frame.duration.as_secs_f64()) as u64;
        self.max_rate.map_or(u64::MAX, bits)
    }

    fn check_overhead(&self, payload: u32) -> Result<(), FieldError> {
        let overhead = self.encapsulation.fragment.bits();
        if overhead + 8 <= u64::from(payload) {
            return Ok(());
        }
        let message = format!("{} in each slot leave no room in its {payload} bits", self.encapsulation.fragment);
        Err(FieldError::new("encapsulation.fragment", message))
    }

    fn check_rate(&self, payload: u32) -> Result<(), FieldError> {
        match self.max_rate {
            Some(rate) if self.frame_bits() < u64::from(payload) => {
                let message =
                    format!("{rate} is less than one slot of {payload} bits in a frame of {}", self.frame.duration);
                Err(FieldError::new("max_rate", message))
            }
            _ => Ok(()),
        }
    }

    fn no_carriers(&self, random: u32) -> FieldError {
        let (method, carriers) = (&self.method, self.frame.carriers);
        let (least, most) = match method {
            AccessMethod::Switch(_) => (1, carriers - 1),
            _ if random == 0 => (1, carriers),
            _ => (0, carriers - 1),
        };
        let message =
            format!("{random} of {carriers} carriers leave none for {}: {least} to {most} are possible", method.kind());
        FieldError::new("frame.random_carriers", message)
    }
}
