//! Steps over time: values each of which holds until the next, as files have them.

use std::ops::RangeInclusive;

use units::{Duration, RowError, Time, greatest_common_divisor, number_rows};

#[derive(Debug, PartialEq)]
pub(crate) struct Steps {
    /// Nanoseconds from the first row; the first is 0.
    pub(crate) starts: Vec<u64>,
    pub(crate) values: Vec<f64>,
    /// Nanoseconds after which the steps repeat.
    pub(crate) period: u64,
}

impl Steps {
    /// The row that holds at `phase` (below the period); found in constant time if it is near the row `hint`.
    pub(crate) fn row_at(&self, phase: u64, hint: usize) -> usize {
        let holds = |row: usize| {
            self.starts.get(row).is_some_and(|&start| start <= phase)
                && self.starts.get(row + 1).is_none_or(|&next| phase < next)
        };
        match [hint, hint + 1].into_iter().find(|&row| holds(row)) {
            Some(row) => row,
            None => self.starts.partition_point(|&start| start <= phase) - 1,
        }
    }

    /// The row that holds at `now` for whoever begins `start` after the first; `hint` as in [`Steps::row_at`].
    pub(crate) fn row(&self, now: Time, start: u64, hint: usize) -> usize {
        // Both parts are below the period, which the range of times keeps far from overflow.
        let phase = now.as_nanos() % self.period + start;
        self.row_at(if phase < self.period { phase } else { phase - self.period }, hint)
    }

    /// The shortest step; `None` if there is but one.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let shortest = self.starts.windows(2).map(|pair| pair[1] - pair[0]).min()?;
        Some(Duration::from_nanos(shortest))
    }

    /// Where a user begins who is `offset` later than the user before, in nanoseconds below the period.
    pub(crate) fn start_of(&self, user: u64, offset: Duration) -> u64 {
        (u128::from(user) * u128::from(offset.as_nanos()) % u128::from(self.period)) as u64
    }

    /// A warning if some of `users` users, each `offset` later than the one before, meet the same.
    pub(crate) fn shared(&self, offset: Duration, users: u64) -> Vec<String> {
        let period = Duration::from_nanos(self.period);
        let starts = period.as_nanos() / greatest_common_divisor(period.as_nanos(), offset.as_nanos());
        // A single row is the same at every offset.
        if starts >= users || self.starts.len() == 1 {
            return Vec::new();
        }
        if starts > 1 {
            let positions = format!("steps of {offset} through a trace of {period} lead to {starts} positions");
            return vec![format!("users share channels: {positions}, there are {users} users")];
        }
        let reason = match offset.is_zero() {
            true => "the trace has no `offset`".to_owned(),
            false => format!("the offset of {offset} is a whole number of periods of the trace ({period})"),
        };
        vec![format!("all users have the same channel: {reason}")]
    }

    /// Reads rows of a time in seconds and a value, which is called `name` and lies within `range`; `check` may refuse
    /// more.
    pub(crate) fn parse(
        text: &str,
        name: &'static str,
        range: RangeInclusive<f64>,
        check: impl Fn(f64) -> Result<(), String>,
    ) -> Result<Steps, RowError> {
        let (mut starts, mut values) = (Vec::new(), Vec::new());
        let (mut origin, mut before) = (0.0, f64::NEG_INFINITY);
        for mut row in number_rows(text) {
            let time = row.next("time in s", -1e9..=1e9)?;
            let value = row.next(name, range.clone())?;
            check(value).map_err(|reason| row.wrong(reason))?;
            if starts.is_empty() {
                origin = time;
            }
            if time <= before {
                return Err(row.wrong(format!("time {time} s after {before} s: times must increase strictly")));
            }
            let start = Duration::from_secs_f64(time - origin).as_nanos();
            if starts.last().is_some_and(|&last| start <= last) {
                return Err(row.wrong(format!("time {time} s is less than a nanosecond after {before} s")));
            }
            before = time;
            starts.push(start);
            values.push(value);
        }
        let period = match *starts.as_slice() {
            [] => return Err((None, format!("has no rows: expected time in s, {name}"))),
            [only] => only + 1,
            [.., before, last] => last + (last - before),
        };
        Ok(Steps { starts, values, period })
    }
}
