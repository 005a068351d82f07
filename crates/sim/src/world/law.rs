//! The law of a channel, for who plans from it: kept for other runs that have the same channel.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use channel::{ChannelModel, TransmissionLaw};
use engine::Streams;
use link::LawRequest;

use super::channel_streams;

/// Laws are the scenario's, not the run's: they come from streams that no seed changes.
const LAW_SEED: u64 = 0;

/// So many are kept, each of half a megabyte: enough for a sweep, whose points come one after the other with all their seeds.
const KEPT: usize = 16;

type Kept = VecDeque<(String, LawRequest, Arc<TransmissionLaw>)>;

/// Drawing takes as long as some ten thousand packets, and the runs of a sweep ask for the same few. The last ones come first.
static LAWS: Mutex<Kept> = Mutex::new(VecDeque::new());

/// The law of a channel.
pub fn law(model: &dyn ChannelModel, request: LawRequest) -> Arc<TransmissionLaw> {
    let draw = || {
        let mut streams = channel_streams(Streams::new(LAW_SEED), 0);
        Arc::new(model.transmission_law(request.spacing, request.transmissions, &mut streams))
    };
    let Some(identity) = model.law_identity() else { return draw() };
    if let Some(law) = find(&mut LAWS.lock().unwrap_or_else(PoisonError::into_inner), &identity, request) {
        return law;
    }
    let law = draw();
    let mut kept = LAWS.lock().unwrap_or_else(PoisonError::into_inner);
    kept.truncate(KEPT - 1);
    kept.push_front((identity, request, Arc::clone(&law)));
    law
}

fn find(kept: &mut Kept, identity: &str, request: LawRequest) -> Option<Arc<TransmissionLaw>> {
    let place = kept.iter().position(|(of, asked, _)| of == identity && *asked == request)?;
    let found = kept.remove(place)?;
    let law = Arc::clone(&found.2);
    kept.push_front(found);
    Some(law)
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
        let request = |transmissions, millis| LawRequest { transmissions, spacing: Duration::from_millis(millis) };
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
        for _ in 0..2 {
            for model in &models {
                for request in [request(3, 20), request(2, 20), request(3, 30)] {
                    let mut streams = channel_streams(Streams::new(LAW_SEED), 0);
                    let drawn = model.transmission_law(request.spacing, request.transmissions, &mut streams);
                    assert!(*law(model.as_ref(), request) == drawn, "{model:?} {request:?}");
                }
            }
        }
        // The one asked for last is still there, a channel loaded anew included; the first has made room.
        let (one, other) =
            (law(models[2].as_ref(), request(3, 30)), law(lms("environment = 'open'").as_ref(), request(3, 30)));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(LAWS.lock().unwrap().len() <= KEPT);
    }
}
