//! Results as columns.

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
    /// Texts; nothing where there is none.
    Text(Vec<Option<String>>),
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

    /// Adds a column of texts, each given or not.
    pub fn text<T: Into<Option<String>>>(&mut self, name: &'static str, values: impl IntoIterator<Item = T>) {
        self.columns.push((name, Column::Text(values.into_iter().map(Into::into).collect())));
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

impl Column {
    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Column::Float(values) => values.len(),
            Column::Count(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
