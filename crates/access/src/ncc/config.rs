//! The configuration of dedicated access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError};

use super::capacity::Capacity;
use crate::waveform::{self, Waveform};

/// The slots of dedicated access, and how terminals request them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedicatedConfig {
    /// Es/N0 of bursts in granted slots, by which the waveform is chosen.
    pub es_n0: Db,
    /// The margin by which Es/N0 must exceed the waveform's threshold.
    pub margin: Db,
    /// The waveform of granted slots: `auto`, the one with the largest payload for Es/N0; a modulation and a code rate,
    /// as `8psk-2/3`; or a number of the standard's table.
    pub waveform: String,
    /// Symbols of a burst, preamble and pilots included: 536 or 1616 (where the waveform is given by its number, its
    /// own).
    pub burst_symbols: u32,
    /// Bits of a slot, in place of the waveform's payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bits: Option<u32>,
    /// The capacity category of the requests.
    pub capacity: Capacity,
    /// Whether slots that were not requested are divided among connected terminals (free capacity assignment, FCA).
    pub fca: bool,
    /// The time without data after which a terminal's connection is released.
    pub release_after: Duration,
    /// The time from a request to the burst time plan that includes it; by default the path's round trip at the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// Round trips to set up a terminal's connection. Its first capacity request is part of the set-up.
    #[schemars(range(max = 100))]
    pub setup_round_trips: u32,
    /// The least time between two requests of a connected terminal. Requests are sent at the beginning of a superframe.
    pub request_interval: Duration,
}

impl Default for DedicatedConfig {
    fn default() -> DedicatedConfig {
        DedicatedConfig {
            es_n0: Db::new(8.6),
            margin: Db::new(0.0),
            waveform: "auto".to_owned(),
            burst_symbols: 536,
            payload_bits: None,
            capacity: Capacity::default(),
            fca: false,
            release_after: Duration::from_secs(3),
            round_trip: None,
            setup_round_trips: 1,
            request_interval: Duration::ZERO,
        }
    }
}

impl DedicatedConfig {
    /// Checks the values, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        self.slot_bits()?;
        if self.setup_round_trips > 100 {
            let message = format!("{} was given, 0 to 100 are allowed", self.setup_round_trips);
            return Err(FieldError::new("setup_round_trips", message));
        }
        self.capacity.entry().check().map_err(|error| error.within("capacity"))
    }

    /// Symbols of a burst, preamble and pilots included.
    pub fn burst_symbols(&self) -> u32 {
        let by_number = self.waveform.parse().ok().and_then(waveform::by_id);
        by_number.map_or(self.burst_symbols, |waveform| waveform.burst_symbols)
    }

    /// Bits of a slot.
    ///
    /// # Errors
    /// Es/N0 is too low for the waveform, or there is no such waveform.
    pub fn slot_bits(&self) -> Result<u32, FieldError> {
        match self.payload_bits {
            Some(0) => Err(FieldError::new("payload_bits", "must be more than 0")),
            Some(bits) => Ok(bits),
            None => self.waveform().map(Waveform::payload_bits),
        }
    }

    /// The waveform of granted slots.
    ///
    /// # Errors
    /// As [`DedicatedConfig::slot_bits`].
    pub fn waveform(&self) -> Result<&'static Waveform, FieldError> {
        let best = Db::new(self.es_n0.get() - self.margin.get());
        if self.waveform == "auto" {
            if !waveform::all().iter().any(|waveform| waveform.burst_symbols == self.burst_symbols) {
                let message = format!("{} was given, 536 or 1616 are possible", self.burst_symbols);
                return Err(FieldError::new("burst_symbols", message));
            }
            return waveform::for_es_n0(best, self.burst_symbols).ok_or_else(|| {
                let message = format!("no waveform of {} symbols decodes at {best}", self.burst_symbols);
                FieldError::new("es_n0", message)
            });
        }
        let named_waveform = match self.waveform.parse() {
            Ok(id) => waveform::by_id(id),
            Err(_) => waveform::by_name(&self.waveform, self.burst_symbols),
        };
        let waveform = named_waveform.ok_or_else(|| FieldError::new("waveform", self.no_such_waveform()))?;
        if waveform.es_n0.get() > best.get() {
            let message = format!("{best} is less than {} of {}", waveform.es_n0, waveform.name());
            return Err(FieldError::new("es_n0", message));
        }
        Ok(waveform)
    }

    fn no_such_waveform(&self) -> String {
        let mut names: Vec<String> = waveform::all().iter().map(Waveform::name).collect();
        names.sort_unstable();
        names.dedup();
        let (first, last) = (waveform::all()[0].id, waveform::all()[waveform::all().len() - 1].id);
        format!("\"{}\" was given; auto, {first} to {last} or one of {} are possible", self.waveform, names.join(", "))
    }
}
