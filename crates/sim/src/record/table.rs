//! Results as columns.

use std::borrow::Cow;

use serde::Serialize;
use traffic::Experience;
use units::report::Reported;

use super::drops::Lost;
use super::member::{write_member, write_members};
use super::pep_summary::PepSummary;

/// A table by columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names, with the unit at their end, and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers; NaN where there is no value.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
    /// Numbers of flows, packets and the like; nothing where there is none.
    Number(Vec<Option<u64>>),
    /// Texts; nothing where there is none.
    Text(Vec<Option<Cow<'static, str>>>),
}

impl Table {
    /// Adds a column of real numbers; NaN where there is no value.
    pub fn float(&mut self, name: &'static str, values: impl IntoIterator<Item = f64>) {
        self.columns.push((name, Column::Float(values.into_iter().collect())));
    }

    /// Adds a column of counts.
    pub fn count(&mut self, name: &'static str, values: impl IntoIterator<Item = u64>) {
        self.columns.push((name, Column::Count(values.into_iter().collect())));
    }

    /// Adds a column of numbers by which flows, packets and the like are known, each given or not.
    pub fn number(&mut self, name: &'static str, values: impl IntoIterator<Item = Option<u64>>) {
        self.columns.push((name, Column::Number(values.into_iter().collect())));
    }

    /// Adds a column of texts, each given or not.
    pub fn text<T: Into<Cow<'static, str>>>(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<Item = Option<T>>,
    ) {
        let values = values.into_iter().map(|value| value.map(Into::into));
        self.columns.push((name, Column::Text(values.collect())));
    }

    /// Adds the rows of a table with the same columns.
    pub(super) fn append(&mut self, rows: Table) {
        for ((_, column), (_, more)) in self.columns.iter_mut().zip(rows.columns) {
            match (column, more) {
                (Column::Float(values), Column::Float(more)) => values.extend(more),
                (Column::Count(values), Column::Count(more)) => values.extend(more),
                (Column::Number(values), Column::Number(more)) => values.extend(more),
                (Column::Text(values), Column::Text(more)) => values.extend(more),
                _ => unreachable!("the columns have the same types"),
            }
        }
    }

    /// Returns the number of rows of the table.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

impl Column {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Column::Float(values) => values.len(),
            Column::Count(values) => values.len(),
            Column::Number(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A value of a flow: one member of its JSON object and one column of a table, several, or none.
pub(crate) trait Cell: Sized + Serialize {
    /// Appends it to the members of the flow's JSON object, under a key as [`write_member`] takes it.
    #[inline]
    fn write(&self, text: &mut Vec<u8>, key: &str) {
        write_member(text, key, self);
    }

    /// Adds the columns of `values`, one called `name` if it is one.
    fn add<'a>(table: &mut Table, name: &'static str, values: impl Iterator<Item = &'a Self> + Clone)
    where
        Self: 'a;

    /// Returns the table of the flows that have the `report`: `flow`, their numbers, and the numbers of the report.
    /// `None` unless the column, called `name`, holds reports of that key.
    fn reports<'a>(report: &str, name: &'static str, flows: impl Iterator<Item = (u32, &'a Self)>) -> Option<Table>
    where
        Self: 'a,
    {
        let _ = (report, name, flows);
        None
    }
}

macro_rules! cells {
    ($($type:ty: $add:ident($value:pat) = $as:expr;)+) => {
        $(impl Cell for $type {
            fn add<'a>(table: &mut Table, name: &'static str, values: impl Iterator<Item = &'a Self> + Clone) {
                table.$add(name, values.map(|$value| $as));
            }
        })+
    };
}

cells! {
    u32: count(&value) = u64::from(value);
    u64: count(&value) = value;
    f64: float(&value) = value;
    Option<f64>: float(value) = value.unwrap_or(f64::NAN);
    Option<u64>: float(value) = value.map_or(f64::NAN, |count| count as f64);
    String: text(value) = Some(value.clone());
    Option<String>: text(value) = value.clone();
    Option<Cow<'static, str>>: text(value) = value.clone();
    &'static str: text(&value) = Some(value);
}

impl Cell for Lost {
    fn write(&self, text: &mut Vec<u8>, _: &str) {
        self.members().for_each(|(key, count)| write_member(text, key, &count));
    }

    fn add<'a>(table: &mut Table, _: &'static str, values: impl Iterator<Item = &'a Self> + Clone) {
        for (index, (name, _)) in Lost::default().columns().enumerate() {
            table.count(name, values.clone().map(|lost| lost.columns().nth(index).map_or(0, |(_, count)| count)));
        }
    }
}

/// Only in JSON, under the key of its kind.
impl Cell for Option<Box<Experience>> {
    fn write(&self, text: &mut Vec<u8>, _: &str) {
        if let Some(experience) = self {
            write_members(text, experience);
        }
    }

    fn add<'a>(_: &mut Table, _: &'static str, _: impl Iterator<Item = &'a Self> + Clone) {}

    fn reports<'a>(report: &str, _: &'static str, flows: impl Iterator<Item = (u32, &'a Self)>) -> Option<Table> {
        let of_kind = |experience: &&Experience| experience.key() == report;
        let reports = flows.filter_map(|(flow, given)| Some((flow, given.as_deref().filter(of_kind)?)));
        Experience::KEYS.contains(&report).then(|| of_reports(reports))
    }
}

/// Only in JSON.
impl Cell for Option<Box<PepSummary>> {
    fn add<'a>(_: &mut Table, _: &'static str, _: impl Iterator<Item = &'a Self> + Clone) {}

    fn reports<'a>(report: &str, name: &'static str, flows: impl Iterator<Item = (u32, &'a Self)>) -> Option<Table> {
        let reports = flows.filter_map(|(flow, given)| Some((flow, given.as_deref()?)));
        (report == name).then(|| of_reports(reports))
    }
}

fn of_reports<'a, T: Reported + 'a>(reports: impl Iterator<Item = (u32, &'a T)>) -> Table {
    let (mut flows, mut columns) = (Vec::new(), Vec::<(&'static str, Vec<f64>)>::new());
    for (flow, report) in reports {
        let numbers = report.numbers();
        columns.resize_with(numbers.len(), Default::default);
        for (column, (name, value)) in columns.iter_mut().zip(numbers) {
            column.0 = name;
            column.1.push(value);
        }
        flows.push(u64::from(flow));
    }
    let mut table = Table::default();
    table.count("flow", flows);
    for (name, values) in columns {
        table.float(name, values);
    }
    table
}
