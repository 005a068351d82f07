//! How a channel's series goes on between bursts: with the clock, or as another simulator read it from a file.
//!
//! What is simplified: the law by which adaptive HARQ sizes transmissions is that of a packet sent alone; with `burst`
//! other packets between its transmissions take the series further. With `block` the law is exact for two
//! transmissions; of more, all of a packet's neighbours are taken to be the same number of blocks apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError, Time};

use crate::{Channel, ChannelModel, LawRequest, MakeRng, Observation, TransmissionLaw};

/// How the series goes on between bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Held {
    /// With the clock.
    #[default]
    #[schemars(title = "time")]
    Time,
    /// By a step with each burst, as a program does that reads one line of a file for each packet of the link: the
    /// fades are held while nothing is sent. Of the channel `outcomes`: with each packet.
    #[schemars(title = "burst")]
    Burst {
        /// How much later in the series the next burst is, whenever it is sent; more than zero, at most an hour.
        step: Duration,
    },
    /// With the clock within a block of time; the next block begins a step later in the series. A step of far more than
    /// the fades' length makes blocks independent.
    #[schemars(title = "block")]
    Block {
        /// Length of a block, more than zero.
        length: Duration,
        /// How much later in the series the next block begins; no shorter than a block, at most an hour.
        step: Duration,
    },
}

const LONGEST: Duration = Duration::from_secs(3600);

impl Held {
    pub(crate) fn holds_by_time(&self) -> bool {
        *self == Held::Time
    }

    /// `follows_orbit`: whether the channel's level or parameters depend on the time of day.
    pub(crate) fn check(&self, follows_orbit: bool) -> Result<(), FieldError> {
        let range = |name: &str, value: Duration, least: Duration| match value {
            value if value.is_zero() || value < least || value > LONGEST => {
                let least = if least.is_zero() { "more than 0 s".to_owned() } else { format!("at least {least}") };
                let reason = format!("{value} is out of range: must be {least} and at most {LONGEST}");
                Err(FieldError::new(format!("held.{name}"), reason))
            }
            _ => Ok(()),
        };
        match *self {
            Held::Time => return Ok(()),
            Held::Burst { step } => range("step", step, Duration::ZERO)?,
            Held::Block { length, step } => {
                range("length", length, Duration::ZERO)?;
                range("step", step, length)?;
            }
        }
        if follows_orbit {
            let reason = "\"burst\" and \"block\" leave the clock, which a channel that follows the orbit needs: give \
                          \"time\", or a fixed elevation and range";
            return Err(FieldError::new("held.kind", reason));
        }
        Ok(())
    }

    /// `model` read in this way.
    pub(crate) fn read(self, model: Box<dyn ChannelModel>) -> Box<dyn ChannelModel> {
        match self {
            Held::Time => model,
            held => Box::new(HeldModel { model, held }),
        }
    }
}

#[derive(Debug)]
struct HeldModel {
    model: Box<dyn ChannelModel>,
    held: Held,
}

impl ChannelModel for HeldModel {
    fn build(&self, user: u64, streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        Box::new(HeldChannel { channel: self.model.build(user, streams), held: self.held, bursts: 0 })
    }

    fn transmission_law(&self, request: LawRequest, streams: &mut MakeRng<'_>) -> TransmissionLaw {
        let spacing = request.spacing;
        let mut law = |spacing| self.model.transmission_law(LawRequest { spacing, ..request }, streams);
        match self.held {
            Held::Time => law(spacing),
            Held::Burst { step } => law(step),
            Held::Block { length, step } => {
                let [fewer, more] = blocks_apart(spacing, length, step);
                let near = law(fewer);
                let share = (spacing.as_nanos() % length.as_nanos()) as f64 / length.as_nanos() as f64;
                match share > 0.0 && fewer != more {
                    true => mixed(near, &law(more), share),
                    false => near,
                }
            }
        }
    }

    fn law_identity(&self) -> Option<String> {
        self.model.law_identity().map(|identity| format!("{identity} {:?}", self.held))
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.model.sampling_interval()
    }

    fn over_time(&self) -> Option<&dyn ChannelModel> {
        Some(self.model.as_ref())
    }

    fn warnings(&self, users: u64) -> Vec<String> {
        self.model.warnings(users)
    }

    fn reference_snr(&self) -> Option<Db> {
        self.model.reference_snr()
    }

    fn reference_varies(&self) -> bool {
        self.model.reference_varies()
    }

    fn doppler_hz(&self) -> Option<f64> {
        self.model.doppler_hz()
    }

    fn speed_mps(&self) -> Option<f64> {
        self.model.speed_mps()
    }

    fn user_bytes(&self) -> u64 {
        self.model.user_bytes() + size_of::<HeldChannel>() as u64
    }
}

/// How far apart in the series two transmissions are that are sent `spacing` apart: with as many borders of blocks
/// between them as a spacing has whole lengths, and with one more. More than an hour is an hour: fades are forgotten by
/// then, and the law of a longer way takes longer to draw.
fn blocks_apart(spacing: Duration, length: Duration, step: Duration) -> [Duration; 2] {
    let [spacing, length, step] = [spacing, length, step].map(|span| u128::from(span.as_nanos()));
    [0, 1].map(|more| {
        let apart = spacing + (spacing / length + more) * (step - length);
        Duration::from_nanos(apart.min(u128::from(LONGEST.as_nanos())) as u64)
    })
}

/// Packets of two laws in turn, of which `share` are of `other`; packets are independent.
fn mixed(mut law: TransmissionLaw, other: &TransmissionLaw, share: f64) -> TransmissionLaw {
    let size = law.transmissions.max(1);
    for (row, (own, others)) in law.samples.chunks_mut(size).zip(other.samples.chunks(size)).enumerate() {
        let until = |row: usize| (row as f64 * share).floor();
        if until(row + 1) > until(row) {
            own.copy_from_slice(others);
        }
    }
    law
}

struct HeldChannel {
    channel: Box<dyn Channel>,
    held: Held,
    /// How many bursts were sent.
    bursts: u64,
}

impl HeldChannel {
    /// The position in the series of what is sent at `now`.
    fn position(&self, now: Time) -> Time {
        let times = |step: Duration, count: u64| Time::from_nanos(step.as_nanos().saturating_mul(count));
        match self.held {
            Held::Time => now,
            Held::Burst { step } => times(step, self.bursts),
            Held::Block { length, step } => {
                let (blocks, rest) = (now.as_nanos() / length.as_nanos(), now.as_nanos() % length.as_nanos());
                Time::from_nanos(times(step, blocks).as_nanos().saturating_add(rest))
            }
        }
    }

    fn count(&mut self, now: Time) -> Time {
        let position = self.position(now);
        self.bursts += 1;
        position
    }
}

impl Channel for HeldChannel {
    fn burst_snr(&mut self, now: Time) -> Db {
        let position = self.count(now);
        self.channel.burst_snr(position)
    }

    fn attenuation(&mut self, now: Time) -> Option<Db> {
        self.channel.attenuation(self.position(now))
    }

    /// The estimate for the next burst.
    fn estimated_snr(&mut self, now: Time) -> Db {
        self.channel.estimated_snr(self.position(now))
    }

    fn is_clear(&self) -> bool {
        self.channel.is_clear()
    }

    fn decides(&self) -> bool {
        self.channel.decides()
    }

    fn decoded_after(&mut self, now: Time) -> u32 {
        let position = self.count(now);
        self.channel.decoded_after(position)
    }

    fn observe(&mut self, now: Time) -> Observation {
        self.channel.observe(self.position(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;
    use crate::{Kind, Lms, Outcomes, Trace};

    /// A row each 10 ms whose attenuation is its number.
    fn trace(held: Held) -> Box<dyn ChannelModel> {
        let rows: String = (0..200).map(|row| format!("{},{row}\n", f64::from(row) / 100.0)).collect();
        let mut files = units::MemoryFiles::new();
        files.insert("fades.csv".into(), rows.as_bytes().into());
        let config = Trace { file: "fades.csv".into(), offset: Duration::ZERO, reference_snr: Db::new(0.0), held };
        config.load(&mut files, None).unwrap()
    }

    fn met(held: Held, milliseconds: &[u64]) -> Vec<f64> {
        let mut channel = trace(held).build(0, &mut streams(1));
        milliseconds.iter().map(|&ms| -channel.burst_snr(Time::from_nanos(ms * 1_000_000)).get()).collect()
    }

    #[test]
    fn a_burst_takes_the_series_a_step_further_whenever_it_is_sent() {
        let step = Duration::from_millis(30);
        assert_eq!(met(Held::Burst { step }, &[0, 1, 1, 500, 90_000]), [0.0, 3.0, 6.0, 9.0, 12.0]);
        assert_eq!(met(Held::Time, &[0, 11, 11, 500]), [0.0, 1.0, 1.0, 50.0]);
    }

    #[test]
    fn looking_does_not_take_the_series_further_and_sees_the_next_burst() {
        let mut channel = trace(Held::Burst { step: Duration::from_millis(10) }).build(0, &mut streams(1));
        for burst in 0..20 {
            let now = Time::from_nanos(burst);
            let next = -(burst as f64);
            assert_eq!(channel.estimated_snr(now).get(), next);
            assert_eq!(channel.observe(now).attenuation, Some(Db::new(-next)));
            assert_eq!(channel.attenuation(now), Some(Db::new(-next)));
            assert_eq!(channel.burst_snr(now).get(), next);
        }
    }

    #[test]
    fn a_block_goes_with_the_clock_and_the_next_one_is_a_step_later() {
        let held = Held::Block { length: Duration::from_millis(20), step: Duration::from_millis(500) };
        assert_eq!(met(held, &[0, 9, 10, 19, 20, 39, 40, 59]), [0.0, 0.0, 1.0, 1.0, 50.0, 51.0, 100.0, 101.0]);
    }

    #[test]
    fn fades_of_a_model_are_met_in_their_order_and_the_same_again() {
        let step = Duration::from_millis(20);
        let build = |held| Lms { held, ..Lms::default() }.load(&mut units::MemoryFiles::new(), None).unwrap();
        let meet = |model: &dyn ChannelModel, spacing: u64| -> Vec<f64> {
            let mut channel = model.build(0, &mut streams(3));
            (0..500).map(|burst| channel.burst_snr(Time::ZERO + Duration::from_nanos(spacing * burst)).get()).collect()
        };
        let burst = build(Held::Burst { step });
        let over_time = meet(build(Held::Time).as_ref(), step.as_nanos());
        assert_eq!(meet(burst.as_ref(), 1), over_time);
        assert_eq!(meet(burst.as_ref(), 700_000_000), over_time);
        assert!(burst.over_time().is_some() && build(Held::Time).over_time().is_none());
    }

    #[test]
    fn outcomes_are_counted_by_packets() {
        let mut files = units::MemoryFiles::new();
        files.insert("link.csv".into(), b"0,1\n0.001,2\n0.002,0\n".as_slice().into());
        let held = Held::Burst { step: Duration::from_millis(1) };
        let config = Outcomes { file: "link.csv".into(), period: None, offset: Duration::ZERO, held };
        let mut channel = config.load(&mut files, None).unwrap().build(0, &mut streams(1));
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert_eq!([0, 0, 5, 700].map(|ms| channel.decoded_after(at(ms))), [1, 2, 0, 1]);
    }

    #[test]
    fn the_law_is_of_transmissions_a_step_apart() {
        let (step, spacing) = (Duration::from_millis(7), Duration::from_millis(20));
        let build = |held| Lms { held, ..Lms::default() }.load(&mut units::MemoryFiles::new(), None).unwrap();
        let law =
            |model: &dyn ChannelModel, spacing| model.transmission_law(LawRequest::all(3, spacing), &mut streams(1));
        let (time, burst) = (build(Held::Time), build(Held::Burst { step }));
        assert_eq!(law(burst.as_ref(), spacing), law(time.as_ref(), step));
        assert_ne!(burst.law_identity(), time.law_identity());
    }

    #[test]
    fn the_law_of_blocks_is_of_transmissions_some_blocks_apart() {
        let ms = Duration::from_millis;
        let build = |held| Lms { held, ..Lms::default() }.load(&mut units::MemoryFiles::new(), None).unwrap();
        let law =
            |model: &dyn ChannelModel, spacing| model.transmission_law(LawRequest::all(3, spacing), &mut streams(1));
        let time = build(Held::Time);
        let block = |length, step| build(Held::Block { length: ms(length), step: ms(step) });
        // Twenty blocks later is twenty steps later.
        assert_eq!(law(block(1, 10_000).as_ref(), ms(20)), law(time.as_ref(), ms(200_000)));
        // Blocks that follow each other are the clock's.
        assert_eq!(law(block(30, 30).as_ref(), ms(20)), law(time.as_ref(), ms(20)));
        // Half of the packets cross a border, which takes them 960 ms further.
        let [near, far] = [20, 980].map(|apart| law(time.as_ref(), ms(apart)));
        let rows = |law: &TransmissionLaw| law.samples.chunks(3).map(<[f32]>::to_vec).collect::<Vec<_>>();
        let (mixed, near, far) = (rows(&law(block(40, 1000).as_ref(), ms(20))), rows(&near), rows(&far));
        let of = |law: &[Vec<f32>]| mixed.iter().zip(law).filter(|(row, other)| row == other).count();
        assert!(of(&near) >= mixed.len() / 2 && of(&far) >= mixed.len() / 2, "{} {}", of(&near), of(&far));
        // An hour is the most.
        assert_eq!(blocks_apart(Duration::from_secs(60), ms(1), LONGEST), [LONGEST; 2]);
    }

    /// A series of 0 dB and of a deep fade in turn, 200 ms each: both bursts of a pair meet the same or not.
    #[test]
    fn the_law_of_blocks_is_what_pairs_of_bursts_meet() {
        let rows: String =
            (0..2000).map(|row| format!("{},{}\n", f64::from(row) / 10.0, 100 * (row / 2 % 2))).collect();
        let mut files = units::MemoryFiles::new();
        files.insert("fades.csv".into(), rows.as_bytes().into());
        let ms = Duration::from_millis;
        for (length, step, spacing) in [(40, 291, 20), (40, 231, 30), (10, 71, 25), (10, 131, 20), (50, 50, 130)] {
            let held = Held::Block { length: ms(length), step: ms(step) };
            let config = Trace { file: "fades.csv".into(), offset: Duration::ZERO, reference_snr: Db::new(0.0), held };
            let model = config.load(&mut files, None).unwrap();
            let law = model.transmission_law(LawRequest::all(2, ms(spacing)), &mut streams(1));
            let alike = law.samples.chunks(2).filter(|pair| (pair[0] > 0.1) == (pair[1] > 0.1)).count();
            let expected = alike as f64 / (law.samples.len() / 2) as f64;
            let (mut channel, mut met, packets) = (model.build(0, &mut streams(1)), 0, 20_000);
            for packet in 0..packets {
                let sent = Time::ZERO + Duration::from_nanos(packet * 213_456_789);
                let first = channel.burst_snr(sent).get() > -50.0;
                met += u64::from(first == (channel.burst_snr(sent + ms(spacing)).get() > -50.0));
            }
            let share = met as f64 / packets as f64;
            assert!((share - expected).abs() < 0.015, "{length} {step} {spacing}: {share} but {expected}");
        }
    }

    #[test]
    fn a_users_memory_is_that_of_its_series() {
        let build = |held| Lms { held, ..Lms::default() }.load(&mut units::MemoryFiles::new(), None).unwrap();
        let (time, burst) = (build(Held::Time), build(Held::Burst { step: Duration::from_millis(1) }));
        assert!(time.user_bytes() > 2048 && burst.user_bytes() > time.user_bytes());
        assert!(burst.user_bytes() < time.user_bytes() + 200);
    }

    #[test]
    fn refuses_what_cannot_be_read() {
        let refusal = |held: Held, orbit| held.check(orbit).unwrap_err();
        let (second, none) = (Duration::from_secs(1), Duration::ZERO);
        assert_eq!(refusal(Held::Burst { step: none }, false).field, "held.step");
        assert_eq!(refusal(Held::Block { length: none, step: second }, false).field, "held.length");
        let short = refusal(Held::Block { length: second, step: Duration::from_millis(5) }, false);
        assert!(short.to_string().contains("5 ms is out of range: must be at least 1 s"), "{short}");
        assert_eq!(refusal(Held::Burst { step: second }, true).field, "held.kind");
        assert!(Held::Time.check(true).is_ok() && Held::Block { length: second, step: second }.check(false).is_ok());
    }
}
