//! The laws of channels, from which last hops plan.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use channel::{ChannelModel, LawRequest, TransmissionLaw};
use engine::Streams;

use super::channel::channel_streams;

/// Laws are the scenario's, not the run's: they come from streams that no seed changes.
const LAW_SEED: u64 = 0;

/// The most laws that are kept, each of some hundred kilobytes. The points of a sweep come one after the other with all
/// their seeds.
const KEPT: usize = 16;

/// A law that is drawn when it is first asked for: drawing takes as long as some ten thousand packets.
pub(super) type LawCell = Arc<OnceLock<TransmissionLaw>>;

/// The laws of the last channels that were planned: plans of the same channel share one.
#[derive(Debug, Default)]
pub(super) struct Laws {
    /// Laws by channel and request, the one that was asked for last first.
    kept: Mutex<VecDeque<(String, LawRequest, LawCell)>>,
}

impl Laws {
    /// Returns the cell in which the law of this channel is, or will be.
    pub(super) fn cell(&self, model: &dyn ChannelModel, request: LawRequest) -> LawCell {
        let Some(identity) = model.law_identity() else { return LawCell::default() };
        let mut kept_laws = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept_laws.iter().position(|(of, asked, _)| *of == identity && *asked == request);
        let kept_law = place.and_then(|place| kept_laws.remove(place));
        let (identity, request, cell) = kept_law.unwrap_or_else(|| (identity, request, LawCell::default()));
        kept_laws.truncate(KEPT - 1);
        kept_laws.push_front((identity, request, Arc::clone(&cell)));
        cell
    }
}

/// Draws the law of a channel.
pub fn draw_law(model: &dyn ChannelModel, request: LawRequest) -> TransmissionLaw {
    let mut streams = channel_streams(Streams::new(LAW_SEED), 0);
    model.transmission_law(request, &mut streams)
}

#[cfg(test)]
mod tests {
    use channel::ChannelConfig;
    use units::{Duration, MemoryFiles};

    use super::*;

    fn model(text: &str) -> Box<dyn ChannelModel> {
        let config: ChannelConfig = toml::from_str(text).expect(text);
        config.entry().load(&mut MemoryFiles::new(), None).expect(text)
    }

    /// A law that is kept is that which would be drawn, whatever else was asked for in between.
    #[test]
    fn laws_are_those_that_would_be_drawn() {
        let request = |transmissions, millis| LawRequest::all(transmissions, Duration::from_millis(millis));
        let fewer_read = LawRequest { read: 2, ..request(3, 20) };
        let lms = |more: &str| model(&format!("kind = 'lms'\n{more}"));
        let models = [
            lms(""),
            lms("speed = '50 km/h'"),
            lms("environment = 'open'"),
            lms("environment = 'open'\nelevation = '60 deg'"),
            lms("reference_snr = '9 dB'"),
            lms("carrier = '2 GHz'"),
            model("kind = 'clear'\nreference_snr = '7 dB'"),
            model("kind = 'bernoulli'\nloss = 0.1"),
        ];
        let laws = Laws::default();
        for _ in 0..2 {
            for model in &models {
                for request in [request(3, 20), request(2, 20), fewer_read, request(3, 30)] {
                    let cell = laws.cell(model.as_ref(), request);
                    let kept = cell.get_or_init(|| draw_law(model.as_ref(), request));
                    assert!(*kept == draw_law(model.as_ref(), request), "{model:?} {request:?}");
                }
            }
        }
        // The one asked for last is still there, a channel loaded anew included; the first has made room.
        let anew = lms("environment = 'open'");
        let (one, other) = (laws.cell(models[2].as_ref(), request(3, 30)), laws.cell(anew.as_ref(), request(3, 30)));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(laws.kept.lock().unwrap().len() <= KEPT);
    }
}
