//! The common part of the land mobile satellite models: from parameters and motion to channels.

use std::fmt;
use std::sync::Arc;

use rand::Rng;
use units::{Angle, Db, Duration, FieldError, Files, Frequency, OrOrbit, SPEED_OF_LIGHT, Speed, Time};

use super::course::{Course, Published};
use super::law;
use super::multipath::{BandTables, Multipath};
use super::series::{Motion, SampleTimes, Series};
use super::shadowing::Shadowing;
use super::states::Track;
use crate::held::Held;
use crate::level::{Cursor, Level, LineOfSight, Sight, Snr};
use crate::link_budget::LinkBudget;
use crate::normal::Normals;
use crate::{Channel, ChannelModel, ERASED, Geometry, Kind, LawRequest, MakeRng, Observation, TransmissionLaw};

/// An environment's published parameters at one elevation.
pub(crate) trait Site: fmt::Debug + Sized + Sync + 'static {
    type Track: Track + 'static;

    fn track(course: Course<Self>, rng: Box<dyn Rng + Send>) -> Self::Track;
    fn state_name(&'static self, state: usize) -> &'static str;
    /// Distance after which the shadowing has a correlation of 1/e.
    fn shadowing_correlation_m(&self) -> f64;
    /// The carriers in hertz for which the parameters hold.
    fn band_hz(&self) -> std::ops::RangeInclusive<f64>;
    /// Warnings about the parameters of these sites, which may repeat.
    fn warnings(sites: &[&'static Self]) -> Vec<String>;
}

/// The configuration of a channel with published parameters. Two such channels differ only in these.
pub(crate) trait Fading {
    type Site: Site;

    fn published(&self) -> Published<Self::Site>;
    fn motion(&self) -> Result<Motion, FieldError>;
    fn carrier(&self) -> Frequency;
    fn elevation(&self) -> OrOrbit<Angle>;
    fn held(&self) -> Held;
    /// Es/N0, or the link budget from which it is computed.
    fn line_of_sight(&self) -> (Option<Db>, Option<&LinkBudget>);
    fn link_budget_mut(&mut self) -> Option<&mut LinkBudget>;

    fn sight(&self) -> Sight<'_> {
        let (reference_snr, link_budget) = self.line_of_sight();
        Sight { reference_snr, link_budget, carrier: Some(self.carrier()), elevation: Some(self.elevation()) }
    }
}

/// Declares the methods of [`Fading`] that only hand out options, whose names all such channels share.
macro_rules! fading_options {
    () => {
        fn motion(&self) -> Result<$crate::lms::Motion, units::FieldError> {
            $crate::lms::Motion::new(self.speed, self.carrier, self.sampling_interval)
        }

        fn carrier(&self) -> units::Frequency {
            self.carrier
        }

        fn elevation(&self) -> units::OrOrbit<units::Angle> {
            self.elevation
        }

        fn held(&self) -> $crate::held::Held {
            self.held
        }

        fn line_of_sight(&self) -> (Option<units::Db>, Option<&$crate::link_budget::LinkBudget>) {
            (self.reference_snr, self.link_budget.as_ref())
        }

        fn link_budget_mut(&mut self) -> Option<&mut $crate::link_budget::LinkBudget> {
            self.link_budget.as_mut()
        }
    };
}
pub(crate) use fading_options;

/// The default of Es/N0 of an unobstructed line of sight.
pub(crate) const REFERENCE_SNR: Db = Db::new(10.0);

/// Deserializes a channel whose `reference_snr` has a default only without a link budget.
macro_rules! default_reference_snr {
    ($channel:ident) => {
        impl<'de> serde::Deserialize<'de> for $channel {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut channel = $channel::deserialize(deserializer)?;
                if channel.link_budget.is_none() {
                    channel.reference_snr.get_or_insert($crate::lms::model::REFERENCE_SNR);
                }
                Ok(channel)
            }
        }

        impl serde::Serialize for $channel {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $channel::serialize(self, serializer)
            }
        }
    };
}
pub(crate) use default_reference_snr;

impl<F: Fading> Kind for F {
    fn check(&self) -> Result<(), FieldError> {
        self.published().check(self.elevation())?;
        self.motion()?;
        self.sight().check()?;
        self.held().check(self.sight().follows_orbit())
    }

    fn load(
        &self,
        files: &mut dyn Files,
        geometry: Option<&Arc<Geometry>>,
    ) -> Result<Box<dyn ChannelModel>, FieldError> {
        self.check()?;
        let (published, motion) = (self.published(), self.motion()?);
        let sight = self.sight().load(files, geometry)?;
        let course = published.course(self.elevation(), sight.geometry.as_deref(), motion.speed_mps)?;
        Ok(self.held().read(Box::new(FadingModel::new(course, motion, sight, Fading::carrier(self)))))
    }

    fn follows_orbit(&self) -> bool {
        self.sight().follows_orbit()
    }

    fn carrier(&self) -> Option<Frequency> {
        Some(Fading::carrier(self))
    }

    fn symbol_rate(&self) -> Option<Frequency> {
        Some(self.line_of_sight().1?.symbol_rate)
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        self.link_budget_mut().map(LinkBudget::files_mut).unwrap_or_default()
    }
}

/// The parameters along a user's course, and its motion.
#[derive(Debug)]
pub(crate) struct FadingModel<S: 'static> {
    course: Course<S>,
    motion: Motion,
    sight: LineOfSight,
    carrier: Frequency,
    multipath: Arc<BandTables>,
}

impl<S: Site> FadingModel<S> {
    pub(crate) fn new(course: Course<S>, motion: Motion, sight: LineOfSight, carrier: Frequency) -> FadingModel<S> {
        FadingModel { course, motion, sight, carrier, multipath: Arc::new(BandTables::new(motion.cycles())) }
    }

    /// The parameters of the first leg: all legs have the same state names.
    fn site(&self) -> &'static S {
        self.course.legs()[0].1
    }

    fn channel<L: Level>(&self, level: L, streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        let track = S::track(self.course.clone(), streams("states"));
        let step_m = self.motion.step_m();
        let mut shadowing = Shadowing::new(step_m, self.site().shadowing_correlation_m(), streams("shadowing"));
        for &(from_m, site) in &self.course.legs()[1..] {
            shadowing.change((from_m / step_m).ceil() as u64, step_m, site.shadowing_correlation_m());
        }
        let multipath = Multipath::new(Arc::clone(&self.multipath), streams("multipath"));
        Box::new(FadingChannel {
            series: Series::new(track, shadowing, multipath, self.motion),
            samples: SampleTimes::new(self.motion.step),
            level,
            site: self.site(),
            held: (Time::MAX, 0.0),
        })
    }
}

impl<S: Site> ChannelModel for FadingModel<S> {
    fn build(&self, _user: u64, streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        match &self.sight.snr {
            Snr::Fixed(snr) => self.channel(*snr, streams),
            Snr::Over(levels) => self.channel(Cursor::new(levels), streams),
        }
    }

    fn transmission_law(&self, request: LawRequest, streams: &mut MakeRng<'_>) -> TransmissionLaw {
        let step_m = self.motion.speed_mps * request.spacing.as_secs_f64();
        let correlations = |metres| self.course.legs()[self.course.leg_at(metres)].1.shadowing_correlation_m();
        let changes = self.course.legs().len() > 1 || matches!(self.sight.snr, Snr::Over(_));
        law::draw(
            S::track(self.course.clone(), streams("law-states")),
            Shadowing::new(step_m, self.site().shadowing_correlation_m(), streams("law-shadowing")),
            Normals::new(streams("law-multipath")),
            self.motion,
            law::Along {
                snr: &self.sight.snr,
                geometry: self.sight.geometry.as_deref().filter(|_| changes),
                shadowing_correlation_m: &correlations,
            },
            request,
        )
    }

    fn law_identity(&self) -> Option<String> {
        // With several legs, or with a level that follows the satellite, the text would be as long as the course.
        let (&[(_, site)], Snr::Fixed(snr)) = (self.course.legs(), &self.sight.snr) else { return None };
        let Motion { speed_mps, doppler_hz, step } = self.motion;
        // Parameter sets are constants, so the address identifies one.
        Some(format!("{site:p} {speed_mps:?} {doppler_hz:?} {} {:?}", step.as_nanos(), snr.get()))
    }

    fn sampling_interval(&self) -> Option<Duration> {
        Some(self.motion.step)
    }

    fn warnings(&self, _users: u64) -> Vec<String> {
        let mut warnings = [self.course.warnings(), &self.sight.warnings].concat();
        let sites: Vec<&'static S> = self.course.legs().iter().map(|leg| leg.1).collect();
        warnings.extend(S::warnings(&sites));
        let band = self.site().band_hz();
        if !band.contains(&self.carrier.as_hz()) {
            let (low, high) = (Frequency::from_hz(*band.start()), Frequency::from_hz(*band.end()));
            warnings
                .push(format!("the fading parameters hold from {low} to {high}, the carrier is at {}", self.carrier));
        }
        warnings
    }

    fn reference_snr(&self) -> Option<Db> {
        Some(self.sight.snr.mean())
    }

    fn reference_varies(&self) -> bool {
        self.sight.snr.varies()
    }

    fn doppler_hz(&self) -> Option<f64> {
        Some(self.motion.doppler_hz)
    }

    fn speed_mps(&self) -> Option<f64> {
        Some(self.motion.speed_mps)
    }

    fn user_bytes(&self) -> u64 {
        2048 + self.multipath.user_bytes()
    }
}

struct FadingChannel<S: Site, L> {
    series: Series<S::Track>,
    samples: SampleTimes,
    level: L,
    site: &'static S,
    /// The gain that was read last, in decibels, and when its sample begins.
    held: (Time, f64),
}

impl<S: Site, L> FadingChannel<S, L> {
    /// The power gain relative to a line of sight, in decibels.
    #[inline(always)]
    fn gain_db(&mut self, now: Time) -> f64 {
        let (begin, gain_db) = self.held;
        if now >= begin && now.since(begin) < self.samples.step() { gain_db } else { self.another_gain_db(now) }
    }

    #[inline(never)]
    fn another_gain_db(&mut self, now: Time) -> f64 {
        self.sampled_gain_db(now)
    }

    /// As [`FadingChannel::gain_db`], of a sample that was probably not read last.
    #[inline(always)]
    fn sampled_gain_db(&mut self, now: Time) -> f64 {
        let number = self.samples.at(now);
        let gain_db = self.series.sample(number).gain_db;
        self.held = (self.samples.begin(number), gain_db);
        gain_db
    }
}

impl<S: Site, L: Level> Channel for FadingChannel<S, L> {
    fn burst_snr(&mut self, now: Time) -> Db {
        Db::new((self.level.at(now) + self.gain_db(now)).max(ERASED.get()))
    }

    fn attenuation(&mut self, now: Time) -> Option<Db> {
        Some(Db::new(-self.gain_db(now)))
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        // By default some milliseconds after the reading before.
        Db::new((self.level.at(now) + self.sampled_gain_db(now)).max(ERASED.get()))
    }

    fn observe(&mut self, now: Time) -> Observation {
        // A sample may be read again.
        let sample = self.series.sample(self.samples.at(now));
        Observation {
            attenuation: Some(Db::new(-sample.gain_db)),
            state: Some(self.site.state_name(sample.state)),
            shadowing: Some(sample.shadowing.into()),
            multipath: Some(sample.multipath.map(f64::from)),
        }
    }
}

/// The largest Doppler shift: a period of it has eight samples a nanosecond apart.
const MOST_DOPPLER_HZ: f64 = 125e6;
/// The user moves, an aircraft perhaps: 3600 km/h.
const MOST_SPEED: Speed = Speed::from_mps(1000.0);

impl Motion {
    /// The motion of a user; the sampling interval is checked if given and chosen if not.
    pub(crate) fn new(
        speed: Speed,
        carrier: Frequency,
        sampling_interval: Option<Duration>,
    ) -> Result<Motion, FieldError> {
        if speed.as_mps() <= 0.0 {
            return Err(FieldError::new("speed", format!("{speed} is out of range: must be more than 0 km/h")));
        }
        if speed > MOST_SPEED {
            let reason = format!("{speed} is out of range: a user moves at {MOST_SPEED} at most");
            return Err(FieldError::new("speed", reason));
        }
        let doppler_hz = speed.as_mps() * carrier.as_hz() / SPEED_OF_LIGHT;
        if doppler_hz > MOST_DOPPLER_HZ {
            let [doppler, most] = [doppler_hz, MOST_DOPPLER_HZ].map(Frequency::from_hz);
            let message = format!("{speed} at {carrier} is a Doppler shift of {doppler}: at most {most} are sampled");
            return Err(FieldError::new("speed", message));
        }
        // Whole nanoseconds; between 4 and 10 000 samples for a Doppler period.
        let bound = |samples: f64| Duration::from_secs_f64((1.0 / (samples * doppler_hz)).clamp(1e-9, 1e9));
        let (shortest, longest) = (bound(10_000.0), bound(4.0));
        let step = match sampling_interval {
            None => round_down(bound(8.0)).clamp(shortest, Duration::from_millis(10).max(shortest)),
            Some(step) if (shortest..=longest).contains(&step) => step,
            Some(step) => {
                let allowed = format!("must be between {shortest} and {longest} at {speed}");
                return Err(FieldError::new("sampling_interval", format!("{step} is out of range: {allowed}")));
            }
        };
        Ok(Motion { speed_mps: speed.as_mps(), doppler_hz, step })
    }
}

/// To 1, 2 or 5 times a power of ten nanoseconds.
fn round_down(step: Duration) -> Duration {
    let mut decade = 1;
    while decade * 10 <= step.as_nanos() {
        decade *= 10;
    }
    let digit = [5, 2, 1].into_iter().find(|digit| digit * decade <= step.as_nanos()).unwrap_or(1);
    Duration::from_nanos(digit * decade)
}
