//! A channel that replays an attenuation series from a file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Db, Duration, FieldError, Files, RowError, Time, read_text};

use crate::held::Held;
use crate::steps::Steps;
use crate::{Channel, ChannelModel, ERASED, Geometry, Kind, LawRequest, MakeRng, TransmissionLaw, qpsk};

/// Replays a measured or generated attenuation series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// A CSV file of times in seconds and attenuations in decibels relative to a line of sight. The first line may be a
    /// header; lines that begin with # and columns after the second are skipped. Times increase strictly; the first one
    /// is the start of the run. A row holds until the next; the last row lasts as long as the one before it, then the
    /// series repeats.
    pub file: String,
    /// The shift of the series from user to user: user k starts k times this after the begin of the series, modulo the
    /// period. With zero all users have the same channel.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: Duration,
    /// Es/N0 where the attenuation is 0 dB.
    #[serde(default = "ten_db")]
    pub reference_snr: Db,
    /// How the series goes on between bursts; by default with the clock.
    #[serde(default, skip_serializing_if = "Held::holds_by_time")]
    pub held: Held,
}

fn is_zero(offset: &Duration) -> bool {
    offset.is_zero()
}

fn ten_db() -> Db {
    Db::new(10.0)
}

impl Kind for Trace {
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
        let steps = read_text(files, &self.file).and_then(|text| parse(&text));
        let steps = steps.map_err(|error| FieldError::in_file(&self.file, error))?;
        let model = TraceModel { steps: Arc::new(steps), offset: self.offset, reference_snr: self.reference_snr };
        Ok(self.held.read(Box::new(model)))
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.file]
    }
}

/// A trace in memory, shared by its users.
#[derive(Debug)]
struct TraceModel {
    steps: Arc<Steps>,
    offset: Duration,
    reference_snr: Db,
}

impl ChannelModel for TraceModel {
    fn build(&self, user: u64, _streams: &mut MakeRng<'_>) -> Box<dyn Channel> {
        let start = self.steps.start_of(user, self.offset);
        let steps = Arc::clone(&self.steps);
        Box::new(TraceChannel { steps, start, reference_snr: self.reference_snr, row: 0 })
    }

    /// Packets sent at equal intervals over one period of the trace.
    fn transmission_law(&self, request: LawRequest, _streams: &mut MakeRng<'_>) -> TransmissionLaw {
        const ROWS: u64 = 32_768;
        let LawRequest { read, spacing, .. } = request;
        let mut samples = Vec::with_capacity(ROWS as usize * read);
        let period = u128::from(self.steps.period);
        for packet in 0..ROWS {
            let start = (u128::from(packet) * period / u128::from(ROWS)) as u64;
            for i in 0..read {
                let phase = (u128::from(start) + u128::from(spacing.as_nanos()) * i as u128) % period;
                let row = self.steps.row_at(phase as u64, 0);
                let snr = snr(self.reference_snr, self.steps.values[row]);
                samples.push(qpsk::mutual_information(snr) as f32);
            }
        }
        TransmissionLaw { transmissions: read, samples }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.steps.shortest()
    }

    fn warnings(&self, users: u64) -> Vec<String> {
        self.steps.shared(self.offset, users)
    }

    fn reference_snr(&self) -> Option<Db> {
        Some(self.reference_snr)
    }
}

struct TraceChannel {
    steps: Arc<Steps>,
    /// The user's begin in the steps, in nanoseconds below the period.
    start: u64,
    reference_snr: Db,
    /// The row of the last call.
    row: usize,
}

impl TraceChannel {
    fn attenuation_db(&mut self, now: Time) -> f64 {
        self.row = self.steps.row(now, self.start, self.row);
        self.steps.values[self.row]
    }
}

impl Channel for TraceChannel {
    fn burst_snr(&mut self, now: Time) -> Db {
        snr(self.reference_snr, self.attenuation_db(now))
    }

    fn attenuation(&mut self, now: Time) -> Option<Db> {
        Some(Db::new(self.attenuation_db(now)))
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.burst_snr(now)
    }
}

fn parse(text: &str) -> Result<Steps, RowError> {
    Steps::parse(text, "attenuation in dB", -300.0..=300.0, |_| Ok(()))
}

fn snr(reference: Db, attenuation_db: f64) -> Db {
    Db::new((reference.get() - attenuation_db).max(ERASED.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::streams;
    use proptest::prelude::*;

    fn refusal(text: &str) -> (Option<usize>, String) {
        parse(text).unwrap_err()
    }

    fn channel(text: &str) -> TraceChannel {
        TraceChannel { steps: Arc::new(parse(text).unwrap()), start: 0, reference_snr: Db::new(10.0), row: 0 }
    }

    #[test]
    fn a_row_holds_until_the_next_and_the_series_repeats() {
        let mut channel = channel("time_s,attenuation_db\n# a comment\n5.0, 0\n5.5, 20.5\n\n6.5, -1\n");
        let snr = |seconds: f64, channel: &mut TraceChannel| channel.burst_snr(Time::from_secs_f64(seconds)).get();
        let expected = [(0.0, 10.0), (0.499, 10.0), (0.5, -10.5), (1.4, -10.5), (1.5, 11.0), (2.4, 11.0), (2.5, 10.0)];
        for (seconds, expected) in expected {
            assert_eq!(snr(seconds, &mut channel), expected, "at {seconds} s");
        }
        assert_eq!(snr(2.5 * 1000.0 + 1.0, &mut channel), -10.5);
        assert_eq!(channel.attenuation(Time::from_secs_f64(2501.0)), Some(Db::new(20.5)));
    }

    #[test]
    fn reads_what_tools_write() {
        let plain = parse("0,1\n1,2\n").unwrap();
        for text in [
            "\u{feff}0;1\r\n1;2\r\n",
            "0 1\n1 2",
            "t\ta\n0\t1\n1\t2",
            "0.0,1.0,extra,7\n1e0,2e0,,\n",
            "\"time\",x\n0,1\n1,2",
        ] {
            assert_eq!(parse(text).unwrap(), plain, "{text:?}");
        }
        assert_eq!(channel("0, 3").burst_snr(Time::MAX), Db::new(7.0));
    }

    #[test]
    fn says_which_line_is_wrong_and_why() {
        assert_eq!(refusal("").0, None);
        assert_eq!(refusal("time,attenuation\n").0, None);
        assert_eq!(
            refusal("0,1\n1,2\n1,3\n"),
            (Some(3), "time 1 s after 1 s: times must increase strictly".to_owned())
        );
        assert_eq!(refusal("0,1\n0.5\n").0, Some(2));
        assert!(refusal("0,1\n0.5\n").1.contains("attenuation in dB is missing"));
        assert_eq!(refusal("0,1\n2,x\n"), (Some(2), "the attenuation in dB \"x\" is not a number".to_owned()));
        assert!(refusal("0,1\n2,nan\n").1.contains("not between"));
        assert_eq!(refusal("0,1\ninf,2\n").0, Some(2));
        assert_eq!(refusal("1.2.3,4\n").0, Some(1), "a broken number is not a header");
        assert_eq!(refusal("t,a\nu,b\n").0, Some(2), "one header only");
        assert!(refusal("0,1\n1e-12,1\n").1.contains("less than a nanosecond"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let config = Trace {
            file: "no/such.csv".into(),
            offset: Duration::ZERO,
            reference_snr: Db::new(10.0),
            held: Held::Time,
        };
        let error = config.load(&mut units::MemoryFiles::new(), None).unwrap_err();
        assert_eq!(error.field, "file");
        assert!(error.message.starts_with("no/such.csv: cannot be read"), "{error}");
    }

    fn model(text: &str, offset: f64) -> TraceModel {
        let (steps, offset) = (Arc::new(parse(text).unwrap()), Duration::from_secs_f64(offset));
        TraceModel { steps, offset, reference_snr: Db::new(10.0) }
    }

    #[test]
    fn each_user_starts_an_offset_later_in_the_series() {
        const ROWS: &str = "0,0\n1,1\n2,2\n4,4\n"; // a period of 6 s
        let heard = |offset: f64, user: u64, seconds: f64| {
            let mut channel = model(ROWS, offset).build(user, &mut streams(1));
            channel.attenuation(Time::from_secs_f64(seconds)).unwrap().get()
        };
        for (user, expected) in [(0, [0.0, 2.0, 4.0]), (1, [2.0, 2.0, 0.0]), (2, [4.0, 4.0, 2.0]), (6, [4.0, 0.0, 2.0])]
        {
            assert_eq!([0.5, 2.0, 4.5].map(|seconds| heard(1.75, user, seconds)), expected, "user {user}");
        }
        for user in 0..20 {
            assert_eq!(heard(0.0, user, 2.5), 2.0);
            assert_eq!(heard(1.75, user, 2.5), heard(0.0, 0, 2.5 + 1.75 * user as f64), "user {user}");
        }
        assert_eq!(heard(1e9, u64::MAX, 1.0), heard(0.0, 0, 1.0 + (u64::MAX % 6 * 4) as f64), "1e9 s are 4 s");
        let mut channel = model(ROWS, 5.0).build(1, &mut streams(1));
        let series: Vec<f64> =
            (0..60).map(|i| channel.attenuation(Time::from_secs_f64(0.1 * f64::from(i))).unwrap().get()).collect();
        let expected = (0..60).map(|i| [0.0, 1.0, 2.0, 2.0, 4.0, 4.0][(i / 10 + 5) % 6]);
        assert!(series.into_iter().eq(expected));
    }

    #[test]
    fn users_with_the_same_channel_are_reported() {
        const ROWS: &str = "0,0\n1,1\n2,2\n4,4\n"; // a period of 6 s
        let warnings = |offset: f64, users: u64| model(ROWS, offset).warnings(users).concat();
        assert_eq!(warnings(0.0, 1), "");
        assert_eq!(warnings(0.0, 2), "all users have the same channel: the trace has no `offset`");
        assert_eq!(
            warnings(12.0, 2),
            "all users have the same channel: the offset of 12 s is a whole number of periods of the trace (6 s)"
        );
        assert_eq!(warnings(4.0, 3), "");
        assert_eq!(
            warnings(4.0, 4),
            "users share channels: steps of 4 s through a trace of 6 s lead to 3 positions, there are 4 users"
        );
        assert_eq!(warnings(1.234567891, 1_000_000), "");
        assert!(model("0,3\n", 0.0).warnings(200).is_empty(), "a constant");
    }

    #[test]
    fn a_scenario_may_give_an_offset() {
        let read = |text: &str| serde_json::from_str::<Trace>(text).unwrap();
        let trace = read(r#"{ "file": "a.csv", "offset": "30 s" }"#);
        assert_eq!(trace.offset, Duration::from_secs(30));
        assert_eq!(read(&serde_json::to_string(&trace).unwrap()), trace);
        let without = read(r#"{ "file": "a.csv" }"#);
        assert!(without.offset.is_zero() && !serde_json::to_string(&without).unwrap().contains("offset"));
        assert!(serde_json::from_str::<Trace>(r#"{ "file": "a.csv", "offset": "-1 s" }"#).is_err());
    }

    #[test]
    fn the_law_weighs_rows_by_their_time() {
        let steps = Arc::new(parse("0,0\n0.75,100\n1,100\n").unwrap()); // 0.75 s of 1.25 s are clear
        let model = TraceModel { steps, offset: Duration::ZERO, reference_snr: Db::new(30.0) };
        let law = model.transmission_law(LawRequest::all(2, Duration::from_millis(250)), &mut streams(1));
        let share = |first: bool, second: bool| {
            let wanted = |row: &&[f32]| (row[0] > 0.5) == first && (row[1] > 0.5) == second;
            law.samples.chunks(2).filter(wanted).count() as f64 / (law.samples.len() / 2) as f64
        };
        for (first, second, expected) in
            [(true, true, 0.4), (true, false, 0.2), (false, true, 0.2), (false, false, 0.2)]
        {
            assert!((share(first, second) - expected).abs() < 1e-3);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            values in prop::collection::vec((1u64..5_000_000_000, -50.0f64..50.0), 2..50),
            hint in 0usize..60,
        ) {
            let mut time = 0;
            let mut text = String::new();
            let mut rows = Vec::new();
            for (gap, attenuation) in values {
                text += &format!("{}.{:09},{attenuation}\n", time / 1_000_000_000, time % 1_000_000_000);
                rows.push((time, attenuation));
                time += gap;
            }
            let steps = parse(&text).unwrap();
            for (row, &(start, attenuation)) in rows.iter().enumerate() {
                prop_assert_eq!((steps.starts[row], steps.values[row]), (start, attenuation));
                prop_assert_eq!(steps.row_at(start, hint), row);
                prop_assert!(start == 0 || steps.row_at(start - 1, hint) == row - 1);
            }
        }
    }
}
