//! Reports: structs of results whose fields are keys of a run's summary, each with its line of documentation.

use std::borrow::Cow;

/// A key of the summary or a column of a table: what documentation, labels and lists of columns are made from.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The key, which ends in its unit.
    pub name: &'static str,
    /// The label in figures, without the unit; the words of the name if there is none.
    pub label: Option<&'static str>,
    /// The meaning, as Markdown. Line breaks do not count.
    pub meaning: &'static str,
    /// The ends of its scale, infinite where there is none; see [`Line::scale`] for `None`.
    pub scale: Option<[f64; 2]>,
    /// The keys below, of a report within a report.
    pub below: fn() -> Vec<Line>,
}

/// The endings of names that are units.
pub const UNITS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("pps", "packets/s"),
    ("hz_per_s", "Hz/s"),
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

/// The scales of values whose names end so.
const SCALES: &[(&[&str], [f64; 2])] = &[
    (&["ratio", "share"], [0.0, 1.0]),
    (&["bps", "kbps", "mbps", "pps", "s", "ms", "bytes", "packets"], NEVER_NEGATIVE),
];

/// The scale of amounts: 0 or more.
pub const NEVER_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];

impl Line {
    /// A key without keys below.
    pub const fn new(name: &'static str, label: Option<&'static str>, meaning: &'static str) -> Line {
        Line { name, label, meaning, scale: None, below: Vec::new }
    }

    /// A count without keys below.
    pub const fn count(name: &'static str, label: Option<&'static str>, meaning: &'static str) -> Line {
        Line { scale: Some(NEVER_NEGATIVE), ..Line::new(name, label, meaning) }
    }

    /// The unit that the name ends in.
    pub fn unit(&self) -> Option<&'static str> {
        UNITS.iter().find(|(ending, _)| ends_in(self.name, ending)).map(|&(_, unit)| unit)
    }

    /// The ends of the scale on which it is: no value lies beyond. Where none are declared, those of the name's ending.
    pub fn scale(&self) -> [f64; 2] {
        let by_name = || {
            let (_, scale) = SCALES.iter().find(|(endings, _)| endings.iter().any(|end| ends_in(self.name, end)))?;
            Some(*scale)
        };
        self.scale.or_else(by_name).unwrap_or([f64::NEG_INFINITY, f64::INFINITY])
    }
}

fn ends_in(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).is_some_and(|before| before.ends_with('_'))
}

/// A value of a report, and the keys that it consists of.
pub trait Reported {
    /// Whether values of this type are numbers.
    const IS_NUMBER: bool = false;

    /// The ends of the scale, if they are known from the type.
    const SCALE: Option<[f64; 2]> = None;

    /// The keys of a report; none of a number or a text.
    fn lines() -> Vec<Line> {
        Vec::new()
    }

    /// The value of a number; NaN where there is none.
    fn number(&self) -> f64 {
        f64::NAN
    }

    /// The number under a key of a report; NaN where there is none.
    fn number_of(&self, _key: &str) -> f64 {
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
plain!(bool, String, &'static str, Cow<'static, str>);

macro_rules! plain_number {
    ($scale:expr, $($type:ty),+) => {
        $(impl Reported for $type {
            const IS_NUMBER: bool = true;
            const SCALE: Option<[f64; 2]> = $scale;

            fn number(&self) -> f64 {
                *self as f64
            }
        })+
    };
}
plain_number!(Some(NEVER_NEGATIVE), u32, u64, usize);
plain_number!(None, f64);

impl<T: Reported> Reported for Option<T> {
    const IS_NUMBER: bool = T::IS_NUMBER;
    const SCALE: Option<[f64; 2]> = T::SCALE;

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
/// perhaps a label before the name, before that its scale, as `([1.0, 5.0])`, where it is not that of its type or name,
/// and before that how it is written:
///
/// - `optional`: left out where there is none;
/// - `flat`: its keys are among those of the report.
///
/// A field without documentation does not compile.
#[macro_export]
macro_rules! report {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $([$how:ident])? $(($scale:expr))? $($label:literal)? $field:ident: $type:ty),+
            $(,)?
    }) => {
        $crate::__report_struct! { [$(#[$meta])* $name] [] $([$($doc)+] [$($how)?] $field $type;)+ }

        impl $crate::report::Reported for $name {
            fn lines() -> Vec<$crate::report::Line> {
                let mut lines = Vec::new();
                $($crate::__report_line!(
                    lines, [$($how)?], [$($scale)?], stringify!($field), [$($label)?], concat!($($doc),+), $type
                );)+
                lines
            }

            fn number_of(&self, key: &str) -> f64 {
                $(if key == stringify!($field) {
                    return $crate::report::Reported::number(&self.$field);
                })+
                f64::NAN
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
    ($lines:ident, [flat], [], $name:expr, [], $meaning:expr, $type:ty) => {
        $lines.extend(<$type as $crate::report::Reported>::lines());
    };
    (
        $lines:ident, [$($how:ident)?], [$($scale:expr)?], $name:expr, [$($label:literal)?], $meaning:expr,
        $type:ty
    ) => {
        $lines.push($crate::report::Line {
            name: $name,
            label: None$(.or(Some($label)))?,
            meaning: $meaning,
            scale: None$(.or(Some($scale)))?.or(<$type as $crate::report::Reported>::SCALE),
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
