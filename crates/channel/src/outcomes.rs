//! A channel that replays the decisions of another program's link.
//!
//! What is simplified: the fate of a packet depends on the instant of its first transmission alone, not on its size,
//! its code or the time between its transmissions. Whoever replays a link with another delay, block or power than the
//! one that decided replays something else.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError, Files, RowError, Time, read_text};

use crate::held::Held;
use crate::steps::Steps;
use crate::{CLEAR, Channel, ChannelModel, ERASED, Geometry, Kind, LawRequest, MakeRng, TransmissionLaw};

/// Replays another link's decisions: after which transmission each packet is decoded, or that it is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// A CSV file of times in seconds and transmissions: the number after which a packet that is first sent then is
    /// decoded, from 1 on, or 0 for a packet that never is. The first line may be a header; lines that begin with # and
    /// columns after the second are skipped. Times increase strictly; the first one is the start of the run. A row
    /// holds until the next.
    pub file: String,
    /// The time after which the decisions repeat; by default the last row lasts as long as the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// The shift from user to user: user k starts k times this after the begin of the file, modulo the period. With
    /// zero all users meet the same decisions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: Duration,
    /// How the series goes on between packets; by default with the clock.
    #[serde(default, skip_serializing_if = "Held::holds_by_time")]
    pub held: Held,
}

fn is_zero(offset: &Duration) -> bool {
    offset.is_zero()
}

/// More than any reliability scheme transmits a packet.
const MOST: f64 = 255.0;

fn parse(text: &str) -> Result<Steps, RowError> {
    Steps::parse(text, "number of transmissions", 0.0..=MOST, |value| match value.fract() {
        0.0 => Ok(()),
        _ => Err(format!("the number of transmissions {value} is not a whole number")),
    })
}

impl Outcomes {
    fn steps(&self, text: &str) -> Result<Steps, FieldError> {
        let mut steps = parse(text).map_err(|error| FieldError::in_file(&self.file, error))?;
        if let Some(period) = self.period {
            let last = steps.starts.last().map_or(Duration::ZERO, |&start| Duration::from_nanos(start));
            if period <= last {
                let reason = format!("{period} is not after the last row of {}, {last} after the first", self.file);
                return Err(FieldError::new("period", reason));
            }
            steps.period = period.as_nanos();
        }
        Ok(steps)
    }
}

impl Kind for Outcomes {
    fn check(&self) -> Result<(), FieldError> {
        FieldError::unless_named("file", &self.file)?;
        self.held.check(false)
    }

    fn load(
        &self,
        files: &mut dyn Files,
        _geometry: Option<&Arc<Geometry>>,
    ) -> Result<Box<dyn ChannelModel>, FieldError> {
        self.check()?;
        let text = read_text(files, &self.file).map_err(|error| FieldError::in_file(&self.file, error))?;
        let model = OutcomesModel { steps: Arc::new(self.steps(&text)?), offset: self.offset };
        Ok(self.held.read(Box::new(model)))
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.file]
    }
}

/// The decisions in memory, shared by the users.
#[derive(Debug)]
struct OutcomesModel {
    steps: Arc<Steps>,
    offset: Duration,
}

impl ChannelModel for OutcomesModel {
    fn build(&self, user: u64, _streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        let start = self.steps.start_of(user, self.offset);
        Box::new(OutcomesChannel { steps: Arc::clone(&self.steps), start, row: 0 })
    }

    /// Of packets sent at equal intervals over one period: nothing until the deciding transmission, all from there on.
    fn transmission_law(&self, request: LawRequest, _streams: &mut MakeRng<'_>) -> TransmissionLaw {
        const ROWS: u64 = 32_768;
        let mut samples = Vec::with_capacity(ROWS as usize * request.read);
        for packet in 0..ROWS {
            let phase = u128::from(packet) * u128::from(self.steps.period) / u128::from(ROWS);
            let needed = self.steps.values[self.steps.row_at(phase as u64, 0)] as usize;
            samples.extend((1..=request.read).map(|sent| if needed != 0 && sent >= needed { 1.0 } else { 0.0 }));
        }
        TransmissionLaw { transmissions: request.read, samples }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.steps.shortest()
    }

    fn warnings(&self, users: u64) -> Vec<String> {
        self.steps.shared(self.offset, users)
    }
}

struct OutcomesChannel {
    steps: Arc<Steps>,
    /// Where the user starts in the steps: nanoseconds after its first row, less than the period.
    start: u64,
    /// The row of the last call.
    row: usize,
}

impl Channel for OutcomesChannel {
    /// For statistics: what a packet that is sent once meets.
    fn burst_snr(&mut self, now: Time) -> Db {
        if self.decoded_after(now) == 1 { CLEAR } else { ERASED }
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }

    fn decides(&self) -> bool {
        true
    }

    fn decoded_after(&mut self, now: Time) -> u32 {
        self.row = self.steps.row(now, self.start, self.row);
        self.steps.values[self.row] as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;

    const ROWS: &str = "time_s,transmissions\n0,1\n0.001,3\n0.002,0\n0.003,1\n";

    fn outcomes(period: Option<Duration>, offset: Duration) -> Outcomes {
        Outcomes { file: "link.csv".into(), period, offset, held: Held::Time }
    }

    fn load(text: &str, outcomes: &Outcomes) -> Result<Box<dyn ChannelModel>, FieldError> {
        let mut files = units::MemoryFiles::new();
        files.insert("link.csv".into(), text.as_bytes().into());
        outcomes.load(&mut files, None)
    }

    fn decided(model: &dyn ChannelModel, user: u64, milliseconds: &[u64]) -> Vec<u32> {
        let mut channel = model.build(user, &mut streams(1));
        milliseconds.iter().map(|&ms| channel.decoded_after(Time::from_nanos(ms * 1_000_000))).collect()
    }

    #[test]
    fn a_packet_has_the_outcome_of_the_instant_at_which_it_is_first_sent() {
        let model = load(ROWS, &outcomes(None, Duration::ZERO)).unwrap();
        assert_eq!(decided(&*model, 0, &[0, 1, 2, 3, 4, 5, 6]), [1, 3, 0, 1, 1, 3, 0]);
        let model = load(ROWS, &outcomes(Some(Duration::from_millis(10)), Duration::from_millis(1))).unwrap();
        assert_eq!(decided(&*model, 0, &[2, 3, 9, 10, 11]), [0, 1, 1, 1, 3]);
        assert_eq!(decided(&*model, 1, &[0, 1, 2, 9]), [3, 0, 1, 1]);
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        let refusal = |text: &str| load(text, &outcomes(None, Duration::ZERO)).unwrap_err().to_string();
        assert!(refusal("0,1\n1,2.5\n").contains("line 2: the number of transmissions 2.5 is not a whole number"));
        assert!(refusal("0,1\n1,-1\n").contains("line 2"), "{}", refusal("0,1\n1,-1\n"));
        assert!(refusal("0,1\n0,1\n").contains("times must increase strictly"));
        assert!(refusal("t,n\n").contains("has no rows: expected time in s, number of transmissions"));
        let short = load(ROWS, &outcomes(Some(Duration::from_millis(3)), Duration::ZERO)).unwrap_err();
        assert_eq!(short.field, "period");
    }

    #[test]
    fn the_law_has_the_shares_of_the_decisions() {
        let model = load(ROWS, &outcomes(None, Duration::ZERO)).unwrap();
        let law = model.transmission_law(LawRequest::all(3, Duration::ZERO), &mut streams(1));
        let share = |column: usize| law.samples.iter().skip(column).step_by(3).sum::<f32>() / 32_768.0;
        assert_eq!([0, 1, 2].map(share), [0.5, 0.5, 0.75]);
    }
}
