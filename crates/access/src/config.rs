//! The `access` table of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, FieldError};

use crate::division::Division;
use crate::frame::FrameConfig;
use crate::method::AccessMethod;
use crate::ncc::DedicatedConfig;
use crate::random::{RandomAccess, RandomConfig, RandomLayout};

/// The return link of DVB-RCS2, by which users send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessConfig {
    /// The access method of the terminals.
    pub method: AccessMethod,
    /// How time and carriers are divided.
    pub frame: FrameConfig,
    /// The options that all schemes of random access share.
    pub random: RandomConfig,
    /// The slots of dedicated access, and how terminals request them.
    pub dedicated: DedicatedConfig,
    /// Which carriers are for random access, where there are both.
    pub division: Division,
    /// Headers of the link layer around datagrams.
    pub encapsulation: Encapsulation,
    /// The highest bit rate of a terminal; without it, its slots are the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<BitRate>,
    /// The capacity of a terminal's queue; without it there is no limit. An empty queue takes one datagram of any size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// A terminal has one amplifier, so it sends on one carrier at a time. Without this limit it has one for each
    /// carrier.
    pub one_amplifier: bool,
    /// Datagrams leave the gateway when the frame is over that brought their last part, as a module does that works
    /// frame by frame; without it, when the slot is over. Random access blocks are decoded at the end of the frame in
    /// any case.
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
            self.random().and_then(|random| random.entry().symbols()).map_or(0, |symbols| symbols + PREAMBLE);
        let burst = self.dedicated.burst_symbols().max(random_burst);
        self.frame.check(burst).map_err(|error| error.within("frame"))?;
        self.encapsulation.check().map_err(|error| error.within("encapsulation"))?;
        // Options that the method does not use are checked too, so that another method can be tried.
        self.random.check().map_err(|error| error.within("random"))?;
        self.dedicated.check().map_err(|error| error.within("dedicated"))?;
        let (carriers, step) = (self.frame.carriers, self.frame.carrier_step());
        let division = self.has_both().then(|| self.division.entry());
        if let Some(division) = division {
            division.check(carriers, step).map_err(|error| error.within("division"))?;
        }
        let random_carriers = self.random_carriers();
        if let Some(random) = self.random() {
            if random_carriers == 0 {
                return Err(self.no_carriers(random_carriers));
            }
            self.frame.blocks(random_carriers).map_err(|error| error.within("frame"))?;
            random.entry().check(&self.layout()).map_err(|error| error.within(self.method.random_path()))?;
            let payload = random.entry().payload_bits();
            self.check_overhead(payload)?;
            self.check_rate(payload)?;
        }
        if self.method.entry().has_dedicated() {
            if random_carriers == self.frame.carriers {
                return Err(self.no_carriers(random_carriers));
            }
            let payload = self.dedicated.slot_bits().map_err(|error| error.within("dedicated"))?;
            self.check_overhead(payload)?;
            self.check_rate(payload)?;
        }
        if let Some(policy) = self.method.entry().policy() {
            policy.entry().check().map_err(|error| error.within("method.policy"))?;
        }
        let allowed = division.map(|division| division.at_start(carriers, random_carriers, step));
        if let Some(allowed) = allowed.filter(|&allowed| allowed != random_carriers) {
            let message =
                format!("{random_carriers} was given, not between least and most of the division: {allowed} would be");
            return Err(FieldError::new("frame.random_carriers", message));
        }
        Ok(())
    }

    /// A warning if a method with one kind of access leaves the carriers of the other idle.
    pub fn idle_carriers(&self) -> Option<String> {
        let (method, carriers, random) = (self.method.kind(), self.frame.carriers, self.random_carriers());
        let (idle, kind) = match self.random() {
            None => (random, "random"),
            Some(_) if self.has_both() => (0, ""),
            Some(_) => (carriers - random, "dedicated"),
        };
        let message = || {
            format!(
                "{idle} of {carriers} carriers of the return link are for {kind} access, which {method} does not use"
            )
        };
        (idle > 0).then(message)
    }

    /// The same with the carriers of random access written out.
    pub fn resolved(&self) -> AccessConfig {
        let mut resolved = self.clone();
        resolved.frame.random_carriers = Some(self.random_carriers());
        resolved
    }

    /// The names of the files that it needs.
    pub fn files_mut(&mut self) -> Vec<&mut String> {
        self.method.entry_mut().files_mut()
    }

    /// The scheme of random access, if the method has one.
    pub(crate) fn random(&self) -> Option<&RandomAccess> {
        self.method.entry().random()
    }

    /// Whether there are random and dedicated access.
    fn has_both(&self) -> bool {
        self.random().is_some() && self.method.entry().has_dedicated()
    }

    /// Carriers for random access at the start of a run.
    pub(crate) fn random_carriers(&self) -> u32 {
        let FrameConfig { carriers, random_carriers, .. } = self.frame;
        random_carriers.unwrap_or_else(|| match self.random() {
            None => 0,
            Some(_) if self.has_both() => {
                let step = self.frame.carrier_step();
                self.division.entry().at_start(carriers, carriers / 2 / step * step, step)
            }
            Some(_) => carriers,
        })
    }

    /// Where bursts of random access may go.
    pub(crate) fn layout(&self) -> RandomLayout {
        let FrameConfig { timeslots, block_slots, .. } = self.frame;
        RandomLayout { timeslots, block_slots, one_amplifier: self.one_amplifier }
    }

    /// The most bits that a terminal of the return link sends in a frame.
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
        let (least, most) = match random {
            _ if self.has_both() => (1, carriers - 1),
            0 => (1, carriers),
            _ => (0, carriers - 1),
        };
        let message =
            format!("{random} of {carriers} carriers leave none for {}: {least} to {most} are possible", method.kind());
        FieldError::new("frame.random_carriers", message)
    }
}
