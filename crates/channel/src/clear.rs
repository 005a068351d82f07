//! A channel without fading.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError, Time};

use crate::registry::{Entry, LoadError};
use crate::{CLEAR, Channel, ChannelModel, Streams, TransmissionLaw, qpsk};

/// An unobstructed line of sight: no fading, and no noise unless a signal-to-noise ratio is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Clear {
    /// Es/N0 of every burst; without it there is no noise at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_snr: Option<Db>,
}

impl Entry for Clear {
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    fn load(&self, _base_dir: &Path) -> Result<Box<dyn ChannelModel>, LoadError> {
        Ok(Box::new(self.clone()))
    }
}

impl ChannelModel for Clear {
    fn build(&self, _user: u64, _streams: &mut Streams<'_>) -> Box<dyn Channel> {
        Box::new(ClearChannel { snr: self.reference_snr.unwrap_or(CLEAR) })
    }

    /// One row: every packet meets the same.
    fn transmission_law(
        &self,
        _spacing: Duration,
        transmissions: usize,
        _streams: &mut Streams<'_>,
    ) -> TransmissionLaw {
        let information = qpsk::mutual_information(self.reference_snr.unwrap_or(CLEAR)) as f32;
        TransmissionLaw { transmissions, samples: vec![information; transmissions] }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        None
    }

    fn reference_snr(&self) -> Option<Db> {
        self.reference_snr
    }
}

struct ClearChannel {
    snr: Db,
}

impl Channel for ClearChannel {
    fn burst_snr(&mut self, _now: Time) -> Db {
        self.snr
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        Some(Db::new(0.0))
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        self.snr
    }
}
