//! A channel without fading.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError, Files, Frequency, Time};

use crate::level::{Cursor, Level, LineOfSight, Sight, Snr};
use crate::link_budget::LinkBudget;
use crate::{CLEAR, Channel, ChannelModel, ERASED, Geometry, Kind, LawRequest, MakeRng, TransmissionLaw, qpsk};

/// An unobstructed line of sight: no fading, and no noise unless a signal-to-noise ratio or a link budget is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Clear {
    /// Es/N0 of every burst; without it and without a link budget there is no noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_snr: Option<Db>,
    /// The link budget from which Es/N0 is computed, in place of `reference_snr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_budget: Option<LinkBudget>,
    /// Carrier frequency; the link budget needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Frequency>,
}

impl Clear {
    fn sight(&self) -> Sight<'_> {
        let (reference_snr, link_budget) = (self.reference_snr, self.link_budget.as_ref());
        Sight { reference_snr, link_budget, carrier: self.carrier, elevation: None }
    }
}

impl Kind for Clear {
    fn check(&self) -> Result<(), FieldError> {
        self.sight().check()
    }

    fn load(
        &self,
        files: &mut dyn Files,
        geometry: Option<&Arc<Geometry>>,
    ) -> Result<Box<dyn ChannelModel>, FieldError> {
        self.check()?;
        Ok(Box::new(ClearModel { sight: self.sight().load(files, geometry)? }))
    }

    fn follows_orbit(&self) -> bool {
        self.sight().follows_orbit()
    }

    fn carrier(&self) -> Option<Frequency> {
        self.carrier
    }

    fn symbol_rate(&self) -> Option<Frequency> {
        Some(self.link_budget.as_ref()?.symbol_rate)
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.link_budget.as_mut().map(LinkBudget::files_mut).unwrap_or_default()
    }
}

#[derive(Debug)]
struct ClearModel {
    sight: LineOfSight,
}

impl ChannelModel for ClearModel {
    fn build(&self, _user: u64, _streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        match &self.sight.snr {
            Snr::Fixed(snr) => Box::new(ClearChannel { level: *snr }),
            Snr::Over(levels) => Box::new(ClearChannel { level: Cursor::new(levels) }),
        }
    }

    /// One row if Es/N0 is constant; else packets sent at equal intervals of the time in which a satellite serves.
    fn transmission_law(&self, request: LawRequest, _streams: &mut MakeRng<'_>) -> TransmissionLaw {
        const ROWS: usize = 4096;
        let LawRequest { read, spacing, .. } = request;
        let (Snr::Over(_), Some(geometry)) = (&self.sight.snr, &self.sight.geometry) else {
            let information = qpsk::mutual_information(self.sight.snr.mean()) as f32;
            return TransmissionLaw { transmissions: read, samples: vec![information; read] };
        };
        let mut samples = Vec::with_capacity(ROWS * read);
        for start in geometry.served(ROWS) {
            let mut level = self.sight.snr.cursor();
            let mut snr = |i: usize| Db::new(level.at(start + spacing * i as u64).max(ERASED.get()));
            samples.extend((0..read).map(|i| qpsk::mutual_information(snr(i)) as f32));
        }
        TransmissionLaw { transmissions: read, samples }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        None
    }

    fn warnings(&self, _users: u64) -> Vec<String> {
        self.sight.warnings.clone()
    }

    fn reference_snr(&self) -> Option<Db> {
        Some(self.sight.snr.mean()).filter(|&snr| snr < CLEAR)
    }

    fn reference_varies(&self) -> bool {
        self.sight.snr.varies()
    }
}

struct ClearChannel<L> {
    level: L,
}

impl<L: Level> Channel for ClearChannel<L> {
    fn burst_snr(&mut self, now: Time) -> Db {
        Db::new(self.level.at(now).max(ERASED.get()))
    }

    fn is_clear(&self) -> bool {
        self.level.constant().is_some_and(|snr| snr >= CLEAR)
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        Some(Db::new(0.0))
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.burst_snr(now)
    }
}
