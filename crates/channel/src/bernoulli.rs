//! Independent erasures.

use std::sync::Arc;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::unit_interval;
use units::{Db, Duration, FieldError, Files, Probability, Time};

use crate::{CLEAR, Channel, ChannelModel, ERASED, Geometry, Kind, LawRequest, MakeRng, TransmissionLaw};

/// Each burst is erased with the same probability, independently of the others; all others arrive without noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// The probability that a burst is erased.
    pub loss: Probability,
}

impl Kind for Bernoulli {
    fn check(&self) -> Result<(), FieldError> {
        let loss = self.loss.get();
        if (0.0..=1.0).contains(&loss) {
            return Ok(());
        }
        Err(FieldError::new("loss", format!("{loss} is not a probability: must be between 0 % and 100 %")))
    }

    fn load(
        &self,
        _files: &mut dyn Files,
        _geometry: Option<&Arc<Geometry>>,
    ) -> Result<Box<dyn ChannelModel>, FieldError> {
        self.check()?;
        Ok(Box::new(self.clone()))
    }
}

impl ChannelModel for Bernoulli {
    fn build(&self, _user: u64, streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        Box::new(BernoulliChannel { loss: self.loss.get(), rng: streams("erasures") })
    }

    fn transmission_law(&self, request: LawRequest, streams: &mut MakeRng<'_>) -> TransmissionLaw {
        const ROWS: usize = 32_768;
        let LawRequest { drawn, read, .. } = request;
        let mut rng = streams("law-erasures");
        let mut burst = || if unit_interval(rng.next_u64()) < self.loss.get() { 0.0 } else { 1.0 };
        let bursts = (0..ROWS * drawn).map(|i| (i % drawn, burst()));
        let samples = bursts.filter(|&(transmission, _)| transmission < read).map(|(_, burst)| burst).collect();
        TransmissionLaw { transmissions: read, samples }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        None
    }
}

struct BernoulliChannel {
    loss: f64,
    rng: Box<dyn Rng + Send>,
}

impl Channel for BernoulliChannel {
    fn burst_snr(&mut self, _now: Time) -> Db {
        // Drawn at every burst, so that another probability shifts no other draw.
        if unit_interval(self.rng.next_u64()) < self.loss { ERASED } else { CLEAR }
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    fn lost(loss: f64, seed: u64) -> Vec<bool> {
        let mut channel = Bernoulli { loss: Probability::new(loss) }.build(0, &mut streams(seed));
        (0..100_000).map(|i| channel.burst_snr(Time::from_nanos(i)) == ERASED).collect()
    }

    #[test]
    fn erases_at_the_given_rate_and_independently() {
        let bursts = lost(0.3, 1);
        let n = bursts.len() as f64;
        let rate = bursts.iter().filter(|&&b| b).count() as f64 / n;
        let pairs = bursts.windows(2).filter(|w| w[0] && w[1]).count() as f64 / n;
        assert!((rate - 0.3).abs() < 5.0 * (0.21_f64 / n).sqrt(), "{rate}");
        assert!((pairs - 0.09).abs() < 0.006, "{pairs}");
        assert!(lost(0.0, 1).iter().all(|&b| !b) && lost(1.0, 1).iter().all(|&b| b));
    }

    #[test]
    fn a_higher_loss_erases_the_same_bursts_and_more() {
        let (few, many) = (lost(0.01, 7), lost(0.02, 7));
        assert!(few.iter().zip(&many).all(|(&few, &many)| !few || many));
    }

    #[test]
    fn the_law_has_the_same_rate_in_each_transmission() {
        let asked = LawRequest::all(3, Duration::ZERO);
        let law = Bernoulli { loss: Probability::new(0.2) }.transmission_law(asked, &mut streams(1));
        for column in 0..3 {
            let values: Vec<_> = law.samples.iter().skip(column).step_by(3).collect();
            let mean = values.iter().map(|&&v| f64::from(v)).sum::<f64>() / values.len() as f64;
            assert!((mean - 0.8).abs() < 0.011, "{mean}");
        }
    }
}
