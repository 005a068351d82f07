//! Reports: structs of results whose fields are keys of a run's summary, each with its line of documentation.

/// A key of the summary or a column of a table: what documentation, labels and lists of columns are made from.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The key, which ends in its unit.
    pub name: &'static str,
    /// The label in figures, without the unit; the words of the name if there is none.
    pub label: Option<&'static str>,
    /// The meaning, as Markdown. Line breaks do not count.
    pub meaning: &'static str,
    /// The keys below, of a report within a report.
    pub below: fn() -> Vec<Line>,
}

/// The endings of names that are units.
pub const UNITS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("pps", "packets/s"),
    ("s", "s"),
    ("ms", "ms"),
    ("db", "dB"),
    ("hz", "Hz"),
    ("deg", "deg"),
    ("km", "km"),
    ("bytes", "B"),
    ("packets", "packets"),
    ("percent", "%"),
];

impl Line {
    /// A key without keys below.
    pub const fn new(name: &'static str, label: Option<&'static str>, meaning: &'static str) -> Line {
        Line { name, label, meaning, below: Vec::new }
    }

    /// The unit that the name ends in.
    pub fn unit(&self) -> Option<&'static str> {
        let ending = self.name.rsplit_once('_')?.1;
        UNITS.iter().find(|(end, _)| *end == ending).map(|&(_, unit)| unit)
    }
}

/// A value of a report, and the keys that it consists of.
pub trait Reported {
    /// Whether it is a number.
    const IS_NUMBER: bool = false;

    /// The keys of a report; none of a number or a text.
    fn lines() -> Vec<Line> {
        Vec::new()
    }

    /// The value of a number; NaN where there is none.
    fn number(&self) -> f64 {
        f64::NAN
    }

    /// The keys of a report that are numbers, with their values.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

macro_rules! plain {
    ($($type:ty),+) => { $(impl Reported for $type {})+ };
}
plain!(bool, String, &'static str);

macro_rules! plain_number {
    ($($type:ty),+) => {
        $(impl Reported for $type {
            const IS_NUMBER: bool = true;

            fn number(&self) -> f64 {
                *self as f64
            }
        })+
    };
}
plain_number!(u32, u64, usize, f64);

impl<T: Reported> Reported for Option<T> {
    const IS_NUMBER: bool = T::IS_NUMBER;

    fn lines() -> Vec<Line> {
        T::lines()
    }

    fn number(&self) -> f64 {
        self.as_ref().map_or(f64::NAN, T::number)
    }
}

impl<T: Reported> Reported for Box<T> {
    fn lines() -> Vec<Line> {
        T::lines()
    }
}

impl<T: Reported> Reported for Vec<T> {
    fn lines() -> Vec<Line> {
        T::lines()
    }
}

impl<K, V: Reported> Reported for std::collections::BTreeMap<K, V> {}

/// Declares a report: a struct with `Serialize` whose fields are keys, each with its meaning as documentation comment,
/// perhaps a label before the name, and before that how it is written:
///
/// - `optional`: left out where there is none;
/// - `flat`: its keys are among those of the report.
///
/// A field without documentation does not compile.
#[macro_export]
macro_rules! report {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $([$how:ident])? $($label:literal)? $field:ident: $type:ty),+ $(,)?
    }) => {
        $crate::__report_struct! { [$(#[$meta])* $name] [] $([$($doc)+] [$($how)?] $field $type;)+ }

        impl $crate::report::Reported for $name {
            fn lines() -> Vec<$crate::report::Line> {
                let mut lines = Vec::new();
                $($crate::__report_line!(
                    lines, [$($how)?], stringify!($field), [$($label)?], concat!($($doc),+), $type
                );)+
                lines
            }

            fn numbers(&self) -> Vec<(&'static str, f64)> {
                let mut numbers = Vec::new();
                $($crate::__report_number!(numbers, [$($how)?], stringify!($field), self.$field, $type);)+
                numbers
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __report_struct {
    ([$(#[$meta:meta])* $name:ident] [$($done:tt)*]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, $crate::__private::serde::Serialize)]
        #[serde(crate = "units::__private::serde")]
        pub struct $name { $($done)* }
    };
    ($head:tt [$($done:tt)*] [$($doc:literal)+] [] $field:ident $type:ty; $($rest:tt)*) => {
        $crate::__report_struct! { $head [$($done)* $(#[doc = $doc])+ pub $field: $type,] $($rest)* }
    };
    ($head:tt [$($done:tt)*] [$($doc:literal)+] [optional] $field:ident $type:ty; $($rest:tt)*) => {
        $crate::__report_struct! { $head [$($done)*
            $(#[doc = $doc])+ #[serde(skip_serializing_if = "Option::is_none")] pub $field: $type,] $($rest)* }
    };
    ($head:tt [$($done:tt)*] [$($doc:literal)+] [flat] $field:ident $type:ty; $($rest:tt)*) => {
        $crate::__report_struct! { $head [$($done)* $(#[doc = $doc])+ #[serde(flatten)] pub $field: $type,] $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __report_line {
    ($lines:ident, [flat], $name:expr, [], $meaning:expr, $type:ty) => {
        $lines.extend(<$type as $crate::report::Reported>::lines());
    };
    ($lines:ident, [$($how:ident)?], $name:expr, [], $meaning:expr, $type:ty) => {
        $lines.push($crate::report::Line {
            name: $name,
            label: None,
            meaning: $meaning,
            below: <$type as $crate::report::Reported>::lines,
        });
    };
    ($lines:ident, [$($how:ident)?], $name:expr, [$label:literal], $meaning:expr, $type:ty) => {
        $lines.push($crate::report::Line {
            name: $name,
            label: Some($label),
            meaning: $meaning,
            below: <$type as $crate::report::Reported>::lines,
        });
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __report_number {
    ($numbers:ident, [flat], $name:expr, $value:expr, $type:ty) => {
        $numbers.extend($crate::report::Reported::numbers(&$value));
    };
    ($numbers:ident, [$($how:ident)?], $name:expr, $value:expr, $type:ty) => {
        if <$type as $crate::report::Reported>::IS_NUMBER {
            $numbers.push(($name, $crate::report::Reported::number(&$value)));
        }
    };
}
