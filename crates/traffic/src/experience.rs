//! What applications tell of their users: a report at the end, by the kind of traffic, and a state over time.

use serde::Serialize;
use units::report::{Line, Reported};

/// Declares the reports, one line each: `"key" => Variant(Report) in module` with the meaning of the key.
macro_rules! experiences {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $key:literal => $variant:ident($report:ident) in $($module:ident)::+),+ $(,)?
    }) => {
        $(use crate::$($module)::+::$report;)+

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $key)] $variant($report)),+
        }

        impl $name {
            /// The keys under which a flow's summary has them.
            pub const KEYS: &'static [&'static str] = &[$($key),+];

            /// Whether a report has this key.
            pub fn has_key(key: &str) -> bool {
                [$($report::lines),+].iter().any(|lines| lines().iter().any(|line| line.name == key))
            }

            /// The key of this one.
            pub fn key(&self) -> &'static str {
                match self { $(Self::$variant(_) => $key),+ }
            }
        }

        /// The keys are among those of a flow.
        impl Reported for $name {
            fn lines() -> Vec<Line> {
                vec![$(Line { below: $report::lines, ..Line::new($key, None, concat!($($doc),+)) }),+]
            }

            fn number_of(&self, key: &str) -> f64 {
                match self { $(Self::$variant(report) => report.number_of(key)),+ }
            }

            fn numbers(&self) -> Vec<(&'static str, f64)> {
                match self { $(Self::$variant(report) => report.numbers()),+ }
            }
        }
    };
}

experiences! {
    /// The experience of an application's user, as the report of its kind of traffic: at the first flow of an
    /// application that has several.
    pub enum Experience {
        /// How the score of a call comes about; only for voice.
        "voice" => Voice(VoiceQuality) in voice::listener,
        /// The measurements of web traffic; with several connections, at the first flow of an application.
        "web" => Web(WebReport) in web,
        /// The viewer's experience of adaptive video.
        "video" => Video(VideoReport) in dash,
        /// The viewer's experience of live video.
        "live" => Live(LiveReport) in live,
        /// The player's experience of a game.
        "game" => Game(GameReport) in game,
    }
}

/// Declares the states that applications may have, each a column of the series: meaning, label, name with its unit.
macro_rules! app_sample {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[doc = $doc:literal])+ $label:literal $field:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: f32),+ }

        impl $name {
            /// The sample of an application that has no such state.
            pub const NONE: $name = $name { $($field: f32::NAN),+ };

            /// The states, and how each is read from a sample.
            pub const STATES: &'static [(Line, fn(&$name) -> f32)] =
                &[$((Line::new(stringify!($field), Some($label), concat!($($doc),+)), |sample| sample.$field)),+];
        }
    };
}

app_sample! {
    /// The state of an application at an instant; NaN for what it does not have.
    pub struct AppSample {
        /// Media in the buffer of a video's player; only with video.
        "Buffer of the player" buffer_s,
        /// Bit rate of what adaptive video plays; null while it plays nothing. Only with adaptive video that plays.
        "Bit rate of the video" bitrate_bps,
        /// Latency to live: how old the picture is; only with live video.
        "Latency to live" latency_s,
        /// One-way delay of the last update that reached the player of a game; only with games, from then on.
        "Delay of updates" down_delay_s,
        /// One-way delay of the last command that reached the server of a game; likewise.
        "Delay of commands" up_delay_s,
    }
}

impl AppSample {
    /// Whether the sample has any value.
    pub fn is_known(&self) -> bool {
        Self::STATES.iter().any(|(_, state)| !state(self).is_nan())
    }
}
