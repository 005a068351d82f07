//! Delays over time in the file formats of other programs, read and written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Time};

use crate::csv::{Header, Line, Row, rows};
use crate::path::table_file;
use crate::path::trace::DelayTrace;

/// The format of a file with the delay over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// A comma-separated table whose header names quantities and units, as `time_s,rtt_ms,rate_down_mbps,loss_percent`.
    /// An empty delay begins an outage.
    #[default]
    Csv,
    /// The format of Hypatia's analysis: rows `time_ns,rtt_ns` without a header. The one-way delay is half of the round
    /// trip; 0 is an outage.
    Hypatia,
    /// A one-way delay in milliseconds on each line, one for every `interval`, as scripts feed link emulators. `nan` is
    /// an outage. A first line `# one every 100 ms` gives the interval where the scenario does not.
    Milliseconds,
    /// A log of `ping -D`, with or without `-O`, as LENS publishes them: lines `[timestamp] … icmp_seq=… time=… ms`.
    /// The one-way delay is half of the round trip; from a probe without an answer to the next with one there is an
    /// outage. Without timestamps there is a probe every `interval`.
    Ping,
}

/// The time between two values, in formats without timestamps.
const INTERVAL: Duration = Duration::from_secs(1);
const MOST_SECONDS: f64 = 3.2e9;
/// The begin of the comment that gives the interval.
const ONE_EVERY: &str = "# one every ";

impl TraceFormat {
    /// All formats, in the order of the documentation.
    pub const ALL: [TraceFormat; 4] =
        [TraceFormat::Csv, TraceFormat::Hypatia, TraceFormat::Milliseconds, TraceFormat::Ping];

    /// Checks an interval for this format.
    pub(crate) fn check_interval(self, interval: Duration) -> Result<(), String> {
        match self {
            TraceFormat::Csv | TraceFormat::Hypatia => {
                Err("is for \"milliseconds\" and \"ping\": this format tells the times".to_owned())
            }
            _ if interval.is_zero() => Err("must be more than 0 s".to_owned()),
            TraceFormat::Milliseconds | TraceFormat::Ping => Ok(()),
        }
    }
}

impl DelayTrace {
    /// Reads a trace. `interval` is the time between two values in formats without timestamps; by default the value in
    /// the file's first line, or 1 s.
    ///
    /// # Errors
    /// Names the line and what is wrong with it.
    pub fn parse(text: &str, format: TraceFormat, interval: Option<Duration>) -> Result<DelayTrace, FieldError> {
        match format {
            TraceFormat::Csv => DelayTrace::from_csv(text),
            TraceFormat::Hypatia => hypatia(text),
            TraceFormat::Milliseconds => {
                let in_file = interval_in(text)?;
                milliseconds(text, interval.or(in_file).unwrap_or(INTERVAL))
            }
            TraceFormat::Ping => ping(text, interval.unwrap_or(INTERVAL)),
        }
    }

    /// Reads a comma-separated table whose header names its quantities and units; without one, rows of time and one-way
    /// delay in seconds. An empty delay begins an outage, which ends at the next row with a delay.
    ///
    /// # Errors
    /// Names line and column, and what is wrong there.
    pub fn from_csv(text: &str) -> Result<DelayTrace, FieldError> {
        table_file::read(text, &BTreeMap::new(), None)
    }

    /// Writes the trace on a grid: every `step` (more than zero) from the start of the run to the trace's end. Changes
    /// between two instants of the grid are lost; a jump becomes a slope.
    pub fn write(&self, format: TraceFormat, step: Duration) -> String {
        let end = self.points().last().map_or(Time::ZERO, |point| point.0);
        let instants = std::iter::successors(Some(Time::ZERO), |&now| (now < end).then(|| now + step));
        let mut text = match format {
            TraceFormat::Csv => "time_s,one_way_delay_s\n".to_owned(),
            TraceFormat::Milliseconds => format!("{ONE_EVERY}{step}\n"),
            TraceFormat::Hypatia | TraceFormat::Ping => String::new(),
        };
        for (now, number) in instants.take_while(|&now| now <= end).zip(1u64..) {
            let nanos = self.delay(now).map(Duration::as_nanos);
            match format {
                TraceFormat::Csv => {
                    let delay = nanos.map(|nanos| decimal(nanos, 9)).unwrap_or_default();
                    writeln!(text, "{},{delay}", decimal(now.as_nanos(), 9))
                }
                TraceFormat::Hypatia => writeln!(text, "{},{}.0000000000", now.as_nanos(), nanos.unwrap_or(0) * 2),
                TraceFormat::Milliseconds => match nanos {
                    Some(nanos) => writeln!(text, "{}", decimal(nanos, 6)),
                    None => writeln!(text, "nan"),
                },
                TraceFormat::Ping => match nanos {
                    Some(nanos) => {
                        let (back, took) = (decimal(now.as_nanos() + 2 * nanos, 9), decimal(2 * nanos, 6));
                        let number = number % 65_536;
                        writeln!(text, "[{back}] 64 bytes from 0.0.0.0: icmp_seq={number} ttl=64 time={took} ms")
                    }
                    None => {
                        let noticed = decimal((now + step).as_nanos(), 9);
                        writeln!(text, "[{noticed}] no answer yet for icmp_seq={}", number % 65_536)
                    }
                },
            }
            .expect("a string takes what is written");
        }
        text
    }
}

/// Returns a whole number of nanoseconds with the decimal point `digits` digits from the right.
fn decimal(nanos: u64, digits: u32) -> String {
    let unit = 10u64.pow(digits);
    format!("{}.{:0width$}", nanos / unit, nanos % unit, width = digits as usize)
}

fn hypatia(text: &str) -> Result<DelayTrace, FieldError> {
    let header = Header::<2>::in_order(2, 2);
    let read = |line: Line| {
        let row: Row<2> = header.row(&line)?;
        let time = row.number(0, "time_ns", 0.0..=MOST_SECONDS * 1e9)?;
        let round_trip = row.number(1, "rtt_ns", 0.0..=MOST_SECONDS * 1e9)?;
        let delay = (round_trip > 0.0).then(|| Duration::from_nanos((round_trip / 2.0).round() as u64));
        Ok((line.number, Time::from_nanos(time.round() as u64), delay))
    };
    DelayTrace::from_rows("line", rows(text).map(read))
}

/// Returns the interval in the first line, if there is one.
fn interval_in(text: &str) -> Result<Option<Duration>, FieldError> {
    let first = text.strip_prefix('\u{feff}').unwrap_or(text).lines().next().unwrap_or_default();
    let Some(interval) = first.strip_prefix(ONE_EVERY) else { return Ok(None) };
    match interval.trim().parse::<Duration>() {
        Ok(interval) if !interval.is_zero() => Ok(Some(interval)),
        _ => {
            let message = format!("one every \"{}\" must be a time as 100 ms", interval.trim());
            Err(FieldError::new("line 1", message))
        }
    }
}

fn milliseconds(text: &str, interval: Duration) -> Result<DelayTrace, FieldError> {
    let header = Header::<1>::in_order(1, 1);
    let read = |(number, line): (u64, Line)| {
        let row = header.row(&line)?;
        let delay = match row.cell(0) {
            "nan" | "NaN" => None,
            _ => Some(Duration::from_secs_f64(row.number(0, "delay", 0.0..=MOST_SECONDS)? * 1e-3)),
        };
        Ok((line.number, Time::from_nanos(interval.as_nanos().saturating_mul(number)), delay))
    };
    DelayTrace::from_rows("line", (0..).zip(rows(text)).map(read))
}

/// One probe of a log.
#[derive(Clone, Copy, Debug)]
struct Probe {
    line: usize,
    /// When it was sent and its round-trip time, in seconds; `None` if it was not answered.
    answer: Option<(f64, f64)>,
}

fn ping(text: &str, interval: Duration) -> Result<DelayTrace, FieldError> {
    let probes = probes(text, interval)?;
    let answered: Vec<(i64, f64)> =
        probes.iter().filter_map(|(&number, probe)| probe.answer.map(|(sent, _)| (number, sent))).collect();
    let (Some(&first), Some(&last)) = (answered.first(), answered.last()) else {
        return Err(FieldError::new("", "no line tells a round trip, as \"icmp_seq=1 … time=40.0 ms\" does"));
    };
    let spacing = match last.0 > first.0 {
        true => (last.1 - first.1) / (last.0 - first.0) as f64,
        false => interval.as_secs_f64(),
    };
    // The time at which an unanswered probe was sent: interpolated between the answered ones.
    let sent = |number: i64| {
        let after = answered.partition_point(|answer| answer.0 < number);
        match (after.checked_sub(1).map(|before| answered[before]), answered.get(after)) {
            (Some(before), Some(after)) => {
                before.1 + (after.1 - before.1) * (number - before.0) as f64 / (after.0 - before.0) as f64
            }
            (Some(before), None) => before.1 + spacing * (number - before.0) as f64,
            (None, _) => first.1 + spacing * (number - first.0) as f64,
        }
    };
    let begin = probes.keys().next().map_or(0.0, |&number| sent(number));
    let mut probe_rows = Vec::with_capacity(probes.len());
    let mut before = None;
    for (&number, probe) in &probes {
        // A lost probe may have no line.
        if let Some(before) = before.filter(|&before| number > before + 1) {
            probe_rows.push((probe.line, sent(before + 1), None));
        }
        probe_rows.push((probe.line, sent(number), probe.answer.map(|(_, round_trip)| round_trip / 2.0)));
        before = Some(number);
    }
    let row = |(line, sent, delay): (usize, f64, Option<f64>)| {
        Ok((line, Time::from_secs_f64(sent - begin), delay.map(Duration::from_secs_f64)))
    };
    DelayTrace::from_rows("line", probe_rows.into_iter().map(row))
}

/// Returns the probes of a log by their numbers, which go on where the 16-bit sequence number wraps.
fn probes(text: &str, interval: Duration) -> Result<BTreeMap<i64, Probe>, FieldError> {
    let mut probes: BTreeMap<i64, Probe> = BTreeMap::new();
    let mut latest = None;
    let mut stamped = None;
    for line in rows(text) {
        let Some(number) = value_after(line.text, "icmp_seq=") else { continue };
        if line.text.ends_with("(DUP!)") {
            continue;
        }
        let number: u16 = number
            .parse()
            .map_err(|_| line.wrong(format!("icmp_seq \"{number}\" must be a number from 0 to 65535")))?;
        let number = latest
            .map_or(i64::from(number), |latest: i64| latest + i64::from((number.wrapping_sub(latest as u16)) as i16));
        latest = Some(number);
        let arrival = match value_after(line.text, "time=") {
            None => None,
            Some(took) => {
                let round_trip = positive(took)
                    .ok_or_else(|| line.wrong(format!("time \"{took}\" must be a number of milliseconds")))?
                    * 1e-3;
                let stamp = ping_timestamp(&line)?;
                if *stamped.get_or_insert(stamp.is_some()) != stamp.is_some() {
                    return Err(line.wrong("either all lines have a timestamp in brackets, or none"));
                }
                let sent = stamp.map_or(interval.as_secs_f64() * number as f64, |received| received - round_trip);
                Some((sent, round_trip))
            }
        };
        let probe = probes.entry(number).or_insert(Probe { line: line.number, answer: arrival });
        probe.answer = probe.answer.or(arrival);
    }
    Ok(probes)
}

/// Returns the seconds in brackets at the beginning of a line of ping, `None` without brackets.
fn ping_timestamp(line: &Line) -> Result<Option<f64>, FieldError> {
    let Some(after_bracket) = line.text.strip_prefix('[') else { return Ok(None) };
    let stamp = after_bracket.split(']').next().unwrap_or_default();
    let seconds = positive(stamp);
    seconds.map(Some).ok_or_else(|| line.wrong(format!("the timestamp \"{stamp}\" must be a number of seconds")))
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value| (0.0..=1e12).contains(value))
}

/// Returns the text after `key` up to the next blank.
fn value_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let begin = text.find(key)? + key.len();
    text[begin..].split_whitespace().next().or(Some(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, format: TraceFormat) -> DelayTrace {
        DelayTrace::parse(text, format, None).unwrap()
    }

    fn says(text: &str, format: TraceFormat) -> String {
        DelayTrace::parse(text, format, None).unwrap_err().to_string()
    }

    fn ms(trace: &DelayTrace, seconds: f64) -> Option<f64> {
        trace.delay(Time::from_secs_f64(seconds)).map(|delay| delay.as_nanos() as f64 * 1e-6)
    }

    #[test]
    fn rows_are_read_with_and_without_header() {
        let plain = DelayTrace::from_csv("0,0.075\n1.5, 0.08\n2,0.08\n").unwrap();
        assert_eq!(plain.delay(Time::from_secs_f64(0.75)), Some(Duration::from_micros(77_500)));
        for text in [
            "time,delay\n0,0.075\n1.5,0.08\n2,0.08",
            "\u{feff}time_s,one_way_delay_s,hops\r\n0,0.075,5\r\n1.5,0.08,5\r\n2,0.08,6\r\n",
            "# measured\n\n\"delay_s\",\"note\",\"time_s\"\n0.075,a,0\n0.08,,1.5\n# end\n0.08,\"x,y\",2\n",
        ] {
            assert_eq!(DelayTrace::from_csv(text).as_ref(), Ok(&plain), "{text}");
        }
    }

    #[test]
    fn an_empty_delay_is_an_outage() {
        let trace = DelayTrace::from_csv("time,delay\n0,0.075\n1,\n2,\n3,0.08\n4,0.09\n").unwrap();
        let delay = |seconds| trace.delay(Time::from_secs_f64(seconds)).map(|d| d.as_nanos());
        assert_eq!(delay(0.9), Some(75_000_000));
        assert_eq!((delay(1.0), delay(2.999)), (None, None));
        assert_eq!((delay(3.0), delay(3.5)), (Some(80_000_000), Some(85_000_000)));
        assert_eq!(trace.outage(), Duration::from_secs(2));
        assert_eq!(trace.mean(), Some(Duration::from_millis(80)));
    }

    #[test]
    fn says_which_row_is_wrong() {
        let says = |text| says(text, TraceFormat::Csv);
        assert_eq!(says(""), "the trace is empty: it needs at least one row of time and delay");
        assert!(says("time,delay\n").starts_with("the trace is empty"));
        assert_eq!(says("0,0.07\n\n1,fast\n"), "line 3, column 2 (delay): \"fast\" is not a number");
        assert_eq!(
            says("0,0.07\n1,-0.01\n"),
            "line 2, column 2 (delay): -0.01 s must be between 0 and 10: an empty cell is a lost packet"
        );
        assert_eq!(
            says("0,45"),
            "line 1, column 2 (delay): 45 s must be between 0 and 10: did you mean ms, one_way_delay_ms?"
        );
        assert_eq!(says("-1,0.07"), "line 1, column 1 (time): -1 s must be between 0 and 3200000000");
        assert_eq!(says("0,0.07\n,0.07"), "line 2, column 1 (time): a row needs its time");
        assert_eq!(
            says("time,delay\n1,0.07\n0.5,0.07\n"),
            "line 3, column 1 (time): time 0.5 s must be later than 1 s, the time of the row before"
        );
        assert_eq!(says("0,0.07\n1\n"), "line 2: 1 columns where 2 are expected");
        assert_eq!(says("0;0.07"), "line 1: 1 columns where 2 are expected");
        assert_eq!(says("0,0.07,9"), "line 1: 3 columns where 2 are expected");
        let unknown = says("time,latency\n0,0.07");
        assert!(unknown.starts_with("line 1: the header \"time,latency\" names no quantity of a path"), "{unknown}");
        assert_eq!(says("0,\"0.07\n"), "line 1: a double quote is not closed");
    }

    /// The rows that Hypatia's `print_routes_and_rtt` writes: `%d,%.10f`.
    #[test]
    fn half_of_hypatias_round_trip() {
        let text =
            "0,81234567.1234567890\n100000000,81234569.0\n200000000,0.0000000000\n300000000,90000000.0000000000\n";
        let trace = read(text, TraceFormat::Hypatia);
        assert_eq!(ms(&trace, 0.0), Some(40.617284));
        assert_eq!((ms(&trace, 0.2), ms(&trace, 0.29), ms(&trace, 0.3)), (None, None, Some(45.0)));
        assert_eq!(
            says("0,1\n5,-2\n", TraceFormat::Hypatia),
            "line 2: rtt_ns: -2 must be between 0 and 3200000000000000000"
        );
        assert_eq!(says("time_ns,rtt_ns\n", TraceFormat::Hypatia), "line 1: time_ns: \"time_ns\" is not a number");
    }

    #[test]
    fn a_number_for_every_interval() {
        let text = "# from the emulator\n40\n42.5\nnan\n50\n";
        let trace = DelayTrace::parse(text, TraceFormat::Milliseconds, Some(Duration::from_millis(100))).unwrap();
        assert_eq!((ms(&trace, 0.05), ms(&trace, 0.19)), (Some(41.25), Some(42.5)));
        assert_eq!((ms(&trace, 0.2), ms(&trace, 0.3)), (None, Some(50.0)));
        assert_eq!(ms(&read(text, TraceFormat::Milliseconds), 0.5), Some(41.25));
        let told = format!("# one every 200 ms\n{text}");
        assert_eq!(ms(&read(&told, TraceFormat::Milliseconds), 0.1), Some(41.25));
        let given = DelayTrace::parse(&told, TraceFormat::Milliseconds, Some(Duration::from_millis(100))).unwrap();
        assert_eq!(given, trace, "what the scenario says holds");
        assert!(
            trace
                .write(TraceFormat::Milliseconds, Duration::from_millis(100))
                .starts_with("# one every 100 ms\n40.000000\n")
        );
        for wrong in ["often", "0 s"] {
            let error = says(&format!("# one every {wrong}\n40\n"), TraceFormat::Milliseconds);
            assert_eq!(error, format!("line 1: one every \"{wrong}\" must be a time as 100 ms"));
        }
        assert_eq!(says("40\n\n-1\n", TraceFormat::Milliseconds), "line 3: delay: -1 must be between 0 and 3200000000");
        assert_eq!(says("40,3\n", TraceFormat::Milliseconds), "line 1: 2 columns where 1 are expected");
    }

    /// The log of iputils with -D and -O: the number is the probe's, the time in brackets is the line's.
    #[test]
    fn a_log_of_ping() {
        let text = "\
PING 100.64.0.1 (100.64.0.1) 56(84) bytes of data.
[1700000000.040000] 64 bytes from 100.64.0.1: icmp_seq=65534 ttl=64 time=40.0 ms
[1700000001.060000] 64 bytes from 100.64.0.1: icmp_seq=65535 ttl=64 time=60.0 ms
[1700000003.010000] no answer yet for icmp_seq=0
[1700000004.000100] no answer yet for icmp_seq=1
[1700000004.080000] 64 bytes from 100.64.0.1: icmp_seq=2 ttl=64 time=80.0 ms
[1700000004.090000] 64 bytes from 100.64.0.1: icmp_seq=2 ttl=64 time=90.0 ms (DUP!)
[1700000008.100000] 64 bytes from 100.64.0.1: icmp_seq=6 ttl=64 time=100 ms

--- 100.64.0.1 ping statistics ---
9 packets transmitted, 4 received, 55% packet loss, time 8000ms
";
        let trace = read(text, TraceFormat::Ping);
        let points: Vec<(f64, Option<f64>)> = trace
            .points()
            .map(|(at, delay)| ((at.as_secs_f64() * 1e6).round() / 1e6, delay.map(|d| d.as_nanos() as f64 * 1e-6)))
            .collect();
        assert_eq!(
            points,
            [
                (0.0, Some(20.0)),
                (1.0, Some(30.0)),
                (2.0, Some(30.0)), // the outage begins when the first lost probe was sent
                (2.0, None),
                (3.0, None),
                (4.0, Some(40.0)),
                (5.0, Some(40.0)), // probes 3 to 5 have no line at all
                (5.0, None),
                (8.0, Some(50.0)),
            ]
        );
        let unstamped = "64 bytes from a: icmp_seq=1 time=40 ms\n64 bytes from a: icmp_seq=3 time=50 ms\n";
        let trace = DelayTrace::parse(unstamped, TraceFormat::Ping, Some(Duration::from_millis(200))).unwrap();
        assert_eq!((ms(&trace, 0.1), ms(&trace, 0.2), ms(&trace, 0.4)), (Some(20.0), None, Some(25.0)));
    }

    #[test]
    fn says_what_is_wrong_with_a_log() {
        let says = |text| says(text, TraceFormat::Ping);
        assert_eq!(says("icmp_seq=1 time=x ms"), "line 1: time \"x\" must be a number of milliseconds");
        assert_eq!(says("\nicmp_seq=-1 time=4 ms"), "line 2: icmp_seq \"-1\" must be a number from 0 to 65535");
        assert_eq!(says("[noon] icmp_seq=1 time=4 ms"), "line 1: the timestamp \"noon\" must be a number of seconds");
        assert_eq!(
            says("[1.5] icmp_seq=1 time=4 ms\nicmp_seq=2 time=4 ms"),
            "line 2: either all lines have a timestamp in brackets, or none"
        );
        assert!(says("PING 1.1.1.1\nno answer yet for icmp_seq=1\n").starts_with("no line tells a round trip"));
        assert_eq!(
            says("[5.01] icmp_seq=1 time=10 ms\n[4.01] icmp_seq=2 time=10 ms"),
            "line 2: time 0 s must be later than 0 s, the time of the row before"
        );
    }

    #[test]
    fn only_formats_without_times_take_an_interval() {
        for format in TraceFormat::ALL {
            let takes = format.check_interval(Duration::from_millis(10)).is_ok();
            assert_eq!(takes, matches!(format, TraceFormat::Milliseconds | TraceFormat::Ping), "{format:?}");
            assert!(format.check_interval(Duration::ZERO).is_err());
        }
    }

    proptest! {
        /// A trace written on a grid reads back the same there, in every format, and is written again to the letter.
        #[test]
        fn every_format_reads_what_it_writes(
            values in prop::collection::vec(prop::option::weighted(0.8, 1u64..2_000_000_000), 1..40),
            millis in 20u64..5000,
        ) {
            let step = Duration::from_millis(millis);
            let at = |i: usize| Time::from_nanos(step.as_nanos() * i as u64);
            let rows = values.iter().enumerate().map(|(i, value)| Ok((i, at(i), value.map(Duration::from_nanos))));
            let trace = DelayTrace::from_rows("row", rows).unwrap();
            for format in TraceFormat::ALL {
                if format == TraceFormat::Ping && values.iter().all(Option::is_none) {
                    continue; // no timestamp of this probe
                }
                let text = trace.write(format, step);
                // The written text has the step, except for a log with a single answer.
                let interval = (format == TraceFormat::Ping).then_some(step);
                let parsed = DelayTrace::parse(&text, format, interval);
                let back = parsed.map_err(|error| TestCaseError::fail(error.to_string()))?;
                for (i, value) in values.iter().enumerate() {
                    // Probes are timed to a few nanoseconds; a thousandth of a step later is on the same side of every
                    // jump.
                    let is_ping = format == TraceFormat::Ping;
                    let late = if is_ping { Duration::from_nanos(step.as_nanos() / 1000) } else { Duration::ZERO };
                    let found = back.delay(at(i) + late);
                    match (format, value) {
                        (TraceFormat::Ping, Some(value)) => {
                            let expected = trace.delay(at(i) + late).unwrap().as_nanos();
                            let none = || TestCaseError::fail(format!("no delay of {value} at {i}"));
                            let found = found.ok_or_else(none)?;
                            prop_assert!(found.as_nanos().abs_diff(expected) < 50, "{found:?} {expected}");
                        }
                        _ => prop_assert_eq!(found.map(Duration::as_nanos), *value, "{:?} at {}: {}", format, i, text),
                    }
                }
                if format != TraceFormat::Ping {
                    prop_assert_eq!(back.write(format, step), text);
                }
            }
        }
    }
}
