//! A path over time from a table of measurements: delay, rate and loss, for each direction or both.
//!
//! What is simplified, and who could notice: between two delays the delay is linear, a rate and a share of losses hold
//! up to the next row, and losses within a row are independent of each other. Bursts within a row are therefore lost:
//! measure more often.

use std::collections::BTreeMap;
use std::sync::Arc;

use units::{Duration, FieldError, RateOverTime, Time};

use super::columns::{Column, Directions, Quantity, column, nothing_known};
use super::measured::{LossOverTime, Measured};
use super::stretch::DelayPoint;
use super::trace::DelayTrace;
use crate::csv::{Line, rows};

/// Times since 1970 are larger than this many seconds, and those since the start of a measurement smaller: three years.
const CALENDAR: f64 = 1e8;

/// The columns of a table of measurements that are read.
struct Table {
    time: Column,
    others: Vec<Column>,
    width: usize,
}

/// The rows of one quantity and direction: instant and value; nothing for an empty cell.
type Rows = Vec<(Time, Option<f64>)>;

/// Reads a table. The header says what each column holds, or `columns` does (names by what they mean). `delay` is the
/// one-way delay where the file has none. Without a header a row is time and one-way delay in seconds.
///
/// # Errors
/// Names line and column, and what is wrong there.
pub(crate) fn read(
    text: &str,
    columns: &BTreeMap<String, String>,
    delay: Option<Duration>,
) -> Result<DelayTrace, FieldError> {
    let mut lines = rows(text).peekable();
    let table = match lines.peek() {
        Some(line) if line.is_header() => Table::of(&lines.next().expect("peeked at"), columns)?,
        _ if !columns.is_empty() => {
            return Err(FieldError::new("", "columns were given, and the file has no header that they could name"));
        }
        _ => Table::in_order(),
    };
    let mut rows_of_others: Vec<Rows> = vec![Vec::new(); table.others.len()];
    let (mut first, mut before): (Option<f64>, Option<Time>) = (None, None);
    for line in lines {
        let cells = line.cells()?;
        if cells.len() != table.width {
            return Err(line.wrong(format!("{} columns where {} are expected", cells.len(), table.width)));
        }
        let value =
            |column: &Column| column.value(&cells[column.index]).map_err(|message| wrong(&line, column, message));
        let Some(seconds) = value(&table.time)? else {
            return Err(wrong(&line, &table.time, "a row needs its time".to_owned()));
        };
        let since = if *first.get_or_insert(seconds) >= CALENDAR { seconds - first.unwrap_or(0.0) } else { seconds };
        let at = Time::from_secs_f64(since.max(0.0));
        if let Some(before) = before.filter(|&before| at <= before || since < 0.0) {
            let message =
                format!("time {since} s must be later than {} s, the time of the row before", before.as_secs_f64());
            return Err(wrong(&line, &table.time, message));
        }
        before = Some(at);
        for (column, rows) in table.others.iter().zip(&mut rows_of_others) {
            rows.push((at, value(column)?));
        }
    }
    if before.is_none() {
        return Err(FieldError::new("", "the trace is empty: it needs at least one row of time and delay"));
    }
    table.path(&rows_of_others, delay)
}

fn wrong(line: &Line<'_>, column: &Column, message: String) -> FieldError {
    FieldError::new(format!("line {}, column {} ({})", line.number, column.index + 1, column.name), message)
}

impl Table {
    /// Returns the table of rows without a header.
    fn in_order() -> Table {
        let named = |name, index| column(name, index).ok().flatten().expect("a known name");
        Table { time: named("time", 0), others: vec![named("delay", 1)], width: 2 }
    }

    fn of(line: &Line<'_>, columns: &BTreeMap<String, String>) -> Result<Table, FieldError> {
        let names: Vec<String> = line.cells()?.into_iter().map(|cell| cell.into_owned()).collect();
        let found =
            if columns.is_empty() { Table::by_header(line, &names)? } else { Table::by_names(line, &names, columns)? };
        let (times, others): (Vec<Column>, Vec<Column>) =
            found.into_iter().partition(|column| column.quantity == Quantity::Time);
        if others.is_empty() {
            return Err(line.wrong(nothing_known(&names)));
        }
        for (i, one) in others.iter().enumerate() {
            if let Some(other) = others[..i].iter().find(|other| other.says_as_much_as(one)) {
                return Err(line.wrong(format!(
                    "{} and {} both tell the same: leave one out, or name one in columns",
                    other.name, one.name
                )));
            }
        }
        match <[Column; 1]>::try_from(times) {
            Ok([time]) => Ok(Table { time, others, width: names.len() }),
            Err(times) if times.is_empty() => {
                Err(line.wrong(format!("the header \"{}\" has no column time_s", names.join(","))))
            }
            Err(times) => Err(line.wrong(format!("{} and {} both tell the time", times[0].name, times[1].name))),
        }
    }

    fn by_header(line: &Line<'_>, names: &[String]) -> Result<Vec<Column>, FieldError> {
        let read = |(index, name): (usize, &String)| {
            let field = || format!("line {}, column {} ({name})", line.number, index + 1);
            column(name, index).map_err(|message| FieldError::new(field(), message)).transpose()
        };
        names.iter().enumerate().filter_map(read).collect()
    }

    fn by_names(
        line: &Line<'_>,
        names: &[String],
        columns: &BTreeMap<String, String>,
    ) -> Result<Vec<Column>, FieldError> {
        let read = |(meaning, name): (&String, &String)| {
            let index = names.iter().position(|other| other == name).ok_or_else(|| {
                line.wrong(format!("columns.{meaning}: the header \"{}\" has no column \"{name}\"", names.join(",")))
            })?;
            let column_values = column(meaning, index)
                .and_then(|column| column.ok_or_else(|| nothing_known(std::slice::from_ref(meaning))));
            let column_values = column_values.map_err(|message| line.wrong(format!("columns.{meaning}: {message}")))?;
            Ok(Column { name: name.clone(), ..column_values })
        };
        columns.iter().map(read).collect()
    }

    /// The rows of a quantity in a direction: its own, or that of both.
    fn rows<'a>(
        &self,
        all: &'a [Rows],
        quantities: &[Quantity],
        directions: Directions,
    ) -> Option<(&Column, &'a Rows)> {
        let of = |directions| {
            let index = self
                .others
                .iter()
                .position(|column| quantities.contains(&column.quantity) && column.directions == directions)?;
            Some((&self.others[index], &all[index]))
        };
        of(directions).or_else(|| of(Directions::Both))
    }

    fn path(&self, all: &[Rows], delay: Option<Duration>) -> Result<DelayTrace, FieldError> {
        let delays = |directions| {
            self.rows(all, &[Quantity::Delay, Quantity::RoundTrip], directions).map(|(column, rows)| {
                let share = if column.quantity == Quantity::RoundTrip { 0.5 } else { 1.0 };
                rows.iter()
                    .map(|&(at, value)| (at, value.map(|s| Duration::from_secs_f64(s * share))))
                    .collect::<Vec<_>>()
            })
        };
        let (down, up) = (delays(Directions::Downlink), delays(Directions::Uplink));
        let (down, up) = match (down, up, delay) {
            (Some(down), Some(up), None) => (down, Some(up)),
            (Some(one), None, None) | (None, Some(one), None) => (one, None),
            (None, None, Some(delay)) => (vec![(Time::ZERO, Some(delay))], None),
            (None, None, None) => {
                return Err(FieldError::new("", "the file has no delay: give the path one, as delay = \"20 ms\""));
            }
            (.., Some(_)) => {
                return Err(FieldError::new("", "the file has a delay, and the path was given one too: leave it out"));
            }
        };
        let steps = |quantity, directions| -> Option<Vec<(Time, f64)>> {
            let (_, rows) = self.rows(all, &[quantity], directions)?;
            Some(rows.iter().filter_map(|&(at, value)| Some((at, value?))).collect())
        };
        let rate = |directions| {
            let steps =
                steps(Quantity::Rate, directions)?.into_iter().map(|(at, bps)| (at, bps.round() as u64)).collect();
            RateOverTime::new(steps).map(Arc::new)
        };
        let loss = |directions| LossOverTime::new(steps(Quantity::Loss, directions)?);
        let measured = Measured {
            rate_down: rate(Directions::Downlink),
            rate_up: rate(Directions::Uplink),
            loss_down: loss(Directions::Downlink),
            loss_up: loss(Directions::Uplink),
            end: all.iter().filter_map(|rows| rows.last()).map(|row| row.0).max(),
        };
        let trace = |rows: Vec<(Time, Option<Duration>)>| {
            DelayTrace::from_rows("row", (1..).zip(rows).map(|(row, (at, delay))| Ok((row, at, delay))))
        };
        let up = up.filter(|up| *up != down).map(trace).transpose()?;
        Ok(trace(down)?.measured_with(measured, up))
    }
}

impl Column {
    fn says_as_much_as(&self, other: &Column) -> bool {
        let is_delay = |column: &Column| matches!(column.quantity, Quantity::Delay | Quantity::RoundTrip);
        (self.quantity == other.quantity || is_delay(self) && is_delay(other))
            && (self.directions == other.directions
                || is_delay(self) && (self.directions == Directions::Both || other.directions == Directions::Both))
    }
}

/// Copies of what happens until `period`, one after the other, until the end of a run.
struct Copies {
    period: Duration,
    count: u64,
}

impl Copies {
    fn of<V: Copy>(&self, steps: &[(Time, V)]) -> Vec<(Time, V)> {
        let within = steps.iter().filter(|step| step.0.since(Time::ZERO) < self.period);
        let copy = |number: u64| within.clone().map(move |&(at, value)| (at + self.period * number, value));
        (0..self.count).flat_map(copy).collect()
    }
}

impl DelayTrace {
    /// Returns the last instant with a value.
    pub fn end(&self) -> Time {
        let points = self.points().map(|point| point.0).max();
        points.max(self.measured().end).unwrap_or(Time::ZERO)
    }

    /// What its last row says that is never seen if it begins anew there: a rate, a share of losses or an outage.
    pub(crate) fn unseen_at_end(&self) -> Option<&'static str> {
        // A last row that says what the first one says, or the one before, only ends the file.
        fn is_unseen<V: PartialEq>(steps: &[(Time, V)], end: Time) -> bool {
            matches!(steps, [first, .., last] if last.0 == end && last.1 != first.1)
        }
        let end = self.end();
        // The delay before an outage is told at its beginning once more.
        let begins_outage = |trace: &DelayTrace| {
            let points: Vec<_> = trace.points().collect();
            matches!(points[..], [(_, Some(_)), .., (before, Some(_)), (at, None)] if before == at && at == end)
        };
        let Measured { rate_down, rate_up, loss_down, loss_up, .. } = self.measured();
        if [rate_down, rate_up].into_iter().flatten().any(|rate| is_unseen(rate.steps(), end)) {
            Some("rate")
        } else if [loss_down, loss_up].into_iter().flatten().any(|loss| is_unseen(loss.steps(), end)) {
            Some("share of losses")
        } else {
            [Some(self), self.uplink()].into_iter().flatten().any(begins_outage).then_some("outage")
        }
    }

    /// The trace, its measurements included, again and again until a run of `duration` ends. At its last instant the
    /// file begins anew: until then the delay leads to that of its last row.
    pub(crate) fn repeated(&self, duration: Duration) -> DelayTrace {
        let period = self.end().since(Time::ZERO);
        if period.is_zero() {
            return self.clone();
        }
        let copies = Copies { period, count: duration.as_nanos() / period.as_nanos() + 1 };
        let begun = |steps: Vec<(Time, Option<Duration>)>| -> Vec<(Time, Option<Duration>)> {
            let begin = steps.first().filter(|first| first.0 > Time::ZERO).map(|first| (Time::ZERO, first.1));
            let last = Time::ZERO + period - Duration::from_nanos(1);
            // An outage that begins at the end is none.
            let end = steps.iter().rev().find(|step| step.0 <= last || step.1.is_some());
            let end = end.filter(|end| end.1.is_some()).map(|end| (last, end.1));
            let within = steps.iter().copied().filter(|step| step.0 < last);
            begin.into_iter().chain(within).chain(end).collect()
        };
        let points = copies.of(&begun(self.points().collect()));
        let points = points.into_iter().map(|(at, delay)| DelayPoint { at, delay, last_link: None }).collect();
        let rate = |rates: &Option<Arc<RateOverTime>>| {
            rates.as_ref().and_then(|rates| RateOverTime::new(copies.of(rates.steps()))).map(Arc::new)
        };
        let loss =
            |loss: &Option<LossOverTime>| loss.as_ref().and_then(|loss| LossOverTime::new(copies.of(loss.steps())));
        let Measured { rate_down, rate_up, loss_down, loss_up, .. } = self.measured();
        let measured = Measured {
            rate_down: rate(rate_down),
            rate_up: rate(rate_up),
            loss_down: loss(loss_down),
            loss_up: loss(loss_up),
            end: Some(Time::ZERO + copies.period * copies.count),
        };
        let up = self.uplink().map(|up| up.repeated(duration));
        DelayTrace::build(points, Vec::new(), Vec::new()).measured_with(measured, up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Result<DelayTrace, String> {
        read(text, &BTreeMap::new(), None).map_err(|error| error.to_string())
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn a_header_tells_delay_rate_and_loss_of_each_direction() {
        let text = "time_s,rtt_ms,rate_down_mbps,rate_up_mbps,loss_percent\n0,40,100,10,0\n1,60,50,,2\n2,,80,5,\n";
        let trace = plain(text).unwrap();
        let measured = trace.measured();
        assert_eq!(trace.delay(at(0.5)), Some(Duration::from_millis(25)), "half of the round trip, linear in between");
        assert_eq!(trace.delay(at(2.5)), None, "an empty delay is an outage");
        let (down, up) = (measured.rate_down.as_ref().unwrap(), measured.rate_up.as_ref().unwrap());
        assert_eq!([0.9, 1.0, 9.0].map(|s| down.at(at(s))), [100_000_000, 50_000_000, 80_000_000]);
        assert_eq!(
            [0.9, 1.5, 9.0].map(|s| up.at(at(s))),
            [10_000_000, 10_000_000, 5_000_000],
            "an empty rate holds on"
        );
        let (loss, other) = (measured.loss_down.as_ref().unwrap(), measured.loss_up.as_ref().unwrap());
        assert_eq!(loss, other, "without a direction it is that of both");
        assert_eq!([0.5, 1.5, 9.0].map(|s| loss.at(at(s))), [0.0, 0.02, 0.02]);
    }

    #[test]
    fn delays_of_two_directions_are_two() {
        let trace = plain("time_s,delay_down_ms,delay_up_ms\n0,20,30\n10,20,40\n").unwrap();
        assert_eq!(trace.delay(at(5.0)), Some(Duration::from_millis(20)));
        assert_eq!(trace.uplink().unwrap().delay(at(5.0)), Some(Duration::from_millis(35)));
        let one = plain("time_s,delay_down_ms\n0,20\n").unwrap();
        assert!(one.uplink().is_none(), "what is told of one direction holds for both");
    }

    #[test]
    fn times_since_1970_begin_at_the_first() {
        let trace = plain("unix_time_s,rtt_ms\n1700000000.5,40\n1700000001.5,60\n").unwrap();
        assert_eq!((trace.delay(at(0.0)), trace.end()), (Some(Duration::from_millis(20)), at(1.0)));
    }

    #[test]
    fn columns_are_named_where_the_header_says_it_otherwise() {
        let columns =
            BTreeMap::from([("time_s", "t"), ("rtt_ms", "Latency")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        let trace = read("Latency,t,rtt_s\n40,0,9\n", &columns, None).unwrap();
        assert_eq!(trace.delay(at(0.0)), Some(Duration::from_millis(20)));
        let says = |text: &str| read(text, &columns, None).unwrap_err().to_string();
        assert_eq!(says("t,rtt\n0,1\n"), "line 1: columns.rtt_ms: the header \"t,rtt\" has no column \"Latency\"");
        assert!(says("0,1\n").starts_with("columns were given, and the file has no header"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place_and_its_nearest_reading() {
        let says = |text: &str| plain(text).unwrap_err();
        let header = "time_s,rtt_s,loss_percent\n0,0.04,0\n";
        let long = says(&format!("{header}1,45,0\n"));
        assert_eq!(long, "line 3, column 2 (rtt_s): 45 s must be between 0 and 20: did you mean ms, rtt_ms?");
        let lossy = says(&format!("{header}1,0.04,300\n"));
        assert_eq!(lossy, "line 3, column 3 (loss_percent): 300 % must be between 0 and 100");
        let back = says(&format!("{header}5,0.04,0\n4,0.04,0\n"));
        assert_eq!(back, "line 4, column 1 (time_s): time 4 s must be later than 5 s, the time of the row before");
        assert_eq!(says("time_s,rtt\n0,40\n"), "line 1, column 2 (rtt): has no unit: write rtt_s, rtt_ms");
        assert!(
            says("when,speed\n0,40\n").starts_with("line 1: the header \"when,speed\" names no quantity of a path")
        );
        assert_eq!(says("rtt_ms\n40\n"), "line 1: the header \"rtt_ms\" has no column time_s");
        let twice = says("time_s,rtt_ms,delay_s\n0,40,0.02\n");
        assert!(twice.starts_with("line 1: rtt_ms and delay_s both tell the same"), "{twice}");
        assert!(says("time_s,rate_down_mbps\n0,40\n").starts_with("the file has no delay: give the path one"));
    }

    #[test]
    fn a_file_that_repeats_leads_to_its_last_row_and_then_begins_anew() {
        let ms = |text: &str, times: &[f64]| -> Vec<Option<f64>> {
            let repeated = plain(text).unwrap().repeated(Duration::from_secs(60));
            times
                .iter()
                .map(|&s| repeated.delay(at(s)).map(|delay| (delay.as_secs_f64() * 1e5).round() / 100.0))
                .collect()
        };
        let times = [0.5, 1.25, 1.5, 1.75, 2.0, 3.5, 59.5];
        let expected = [15.0, 37.5, 55.0, 72.5, 10.0, 55.0, 55.0].map(Some);
        assert_eq!(ms("time_s,owd_ms\n0,10\n1,20\n2,90\n", &times), expected);
        assert_eq!(ms("time_s,owd_ms\n0,10\n10,50\n", &[5.0, 15.0]), [Some(30.0); 2]);
        // Rates go on after the last delay, which holds.
        assert_eq!(ms("time_s,owd_ms,rate_mbps\n0,10,1\n1,20,1\n", &[0.5, 1.0]), [Some(15.0), Some(10.0)]);
        // The delay before an outage holds up to it; the one at the end takes no time.
        let outage = "time_s,owd_ms\n0,10\n1,20\n2,\n";
        assert_eq!(ms(outage, &[1.5, 2.0, 3.5]), [Some(20.0), Some(10.0), Some(20.0)]);
        let inside = "time_s,owd_ms\n0,10\n1,\n3,10\n4,10\n";
        assert_eq!(ms(inside, &[0.5, 2.0, 3.5, 6.0]), [Some(10.0), None, Some(10.0), None]);
        let unseen = |text: &str| plain(text).unwrap().unseen_at_end();
        assert_eq!((unseen(outage), unseen(inside)), (Some("outage"), None));
        assert_eq!(unseen("time_s,owd_ms,rate_mbps\n0,10,8\n1,10,4\n2,10,1\n"), Some("rate"));
        for ended in ["8\n1,10,4\n2,10,4", "8\n1,10,4\n2,10,8"] {
            assert_eq!(unseen(&format!("time_s,owd_ms,rate_mbps\n0,10,{ended}\n")), None, "{ended}");
        }
        assert_eq!(unseen("time_s,delay_down_ms,delay_up_ms\n0,10,10\n2,20,\n"), Some("outage"), "of the uplink");
        for ended in ["time_s,owd_ms\n0,10\n2,\n3,\n", "time_s,owd_ms\n0,\n"] {
            assert_eq!(unseen(ended), None, "{ended}");
        }
        assert_eq!(unseen("time_s,owd_ms,loss_percent\n0,10,0\n1,10,4\n"), Some("share of losses"));
    }

    #[test]
    fn a_file_without_a_delay_takes_that_of_the_path() {
        let text = "time_s,rate_mbps\n0,8\n0.5,16\n1,8\n";
        let trace = read(text, &BTreeMap::new(), Some(Duration::from_millis(20))).unwrap();
        assert_eq!(trace.delay(at(7.0)), Some(Duration::from_millis(20)));
        let repeated = trace.repeated(Duration::from_secs(10));
        let rates = repeated.measured().rate_down.as_ref().unwrap();
        assert_eq!([0.2, 0.7, 1.2, 1.7, 9.7].map(|s| rates.at(at(s)) / 1_000_000), [8, 16, 8, 16, 16]);
        let both = read("time_s,rtt_ms\n0,8\n", &BTreeMap::new(), Some(Duration::from_millis(20)));
        assert!(both.unwrap_err().to_string().contains("leave it out"));
    }
}
