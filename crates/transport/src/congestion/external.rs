//! A controller that calls a user's code: a script, or code outside of this crate.
//!
//! It keeps the [`Window`], in whole segments as the sender counts them and as the number that the code has given, and
//! calls a [`Control`] for each sample and event. What a window may not do is held here, whatever the code says: a
//! controller that does not drive moves it by no acknowledgment in recovery, and no threshold is above what it reduces
//! from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::plugin::{self, Supplied};
use units::{BitRate, Ecn, FieldError, Time};

use super::{
    AckSample, Answer, Congestion, CongestionController, Control, Event, FindControl, Growth, Kind, MOST_SEGMENTS,
    MakeControl, Needs, Start, View, Window, window_share,
};

/// A controller that a script has registered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalConfig {
    /// The name under which the script has registered its controller.
    pub name: String,
    /// Of a controller that takes the count of congestion marks and decides itself on reductions (`ack.marked`): the
    /// codepoint of its data, `"ect0"` as DCTCP has it or `"ect1"` as L4S. By default `"none"`: a mark is a reduction.
    pub marks: Codepoint,
    /// The maker of the controller; [`Kind::supply`] puts it here.
    #[serde(skip)]
    #[schemars(skip)]
    maker: Supplied<MakeControl>,
}

/// The codepoint of data whose congestion marks a controller counts (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Codepoint {
    /// The controller does not count marks.
    #[default]
    None,
    /// ECT(0).
    Ect0,
    /// ECT(1): of scalable controllers (RFC 9331).
    Ect1,
}

impl ExternalConfig {
    /// The controller of this name.
    pub fn named(name: &str) -> ExternalConfig {
        ExternalConfig { name: name.to_owned(), ..ExternalConfig::default() }
    }
}

impl Kind for ExternalConfig {
    fn check(&self) -> Result<(), FieldError> {
        plugin::check_given("controller", &self.name)
    }

    fn check_registered(&self, registered: &[String]) -> Result<(), FieldError> {
        plugin::check_registered("controller", &self.name, registered)
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn supply(&mut self, find: &mut FindControl<'_>) -> Result<(), FieldError> {
        self.maker.supply("controller", &self.name, find)
    }

    /// A user's controller promises nothing of its growth.
    fn growth(&self) -> Growth {
        Growth::Delay
    }

    /// A user's controller may set a timer.
    fn has_timer(&self) -> bool {
        true
    }

    fn marks(&self) -> Option<Ecn> {
        match self.marks {
            Codepoint::None => None,
            Codepoint::Ect0 => Some(Ecn::Ect0),
            Codepoint::Ect1 => Some(Ecn::Ect1),
        }
    }

    /// # Panics
    /// If the maker was not supplied.
    fn build(&self, start: Start) -> Box<dyn CongestionController> {
        let make = self.maker.get();
        Box::new(External::new(make(&start), start))
    }
}

/// See [`ExternalConfig`].
pub struct External {
    control: Box<dyn Control>,
    needs: Needs,
    window: Window,
    /// The window that the registered code answered last.
    answered: f64,
    pacing_rate: Option<BitRate>,
    timeout: Option<Time>,
}

impl External {
    /// A controller at the start of a connection.
    pub fn new(control: Box<dyn Control>, start: Start) -> External {
        let window = start.window();
        let needs = Needs { probes: false, ..control.needs() };
        External { needs, control, answered: f64::from(window.size), window, pacing_rate: None, timeout: None }
    }

    fn view(&self) -> View {
        let Window { size, threshold, .. } = self.window;
        View {
            window: if self.answered as u32 == size { self.answered } else { f64::from(size) },
            threshold: if threshold == Window::NO_THRESHOLD { f64::INFINITY } else { f64::from(threshold) },
        }
    }

    fn follow(&mut self, answer: &Answer, may_move: bool) {
        (self.pacing_rate, self.timeout) = (answer.pacing_rate, answer.timeout);
        if !may_move {
            return;
        }
        if let Some(threshold) = answer.threshold {
            let none = threshold >= f64::from(Window::NO_THRESHOLD);
            self.window.threshold = if none { Window::NO_THRESHOLD } else { (threshold as u32).max(2) };
        }
        if let Some(window) = answer.window.filter(|window| !window.is_nan()) {
            self.answered = window.clamp(1.0, MOST_SEGMENTS);
            self.window.size = self.answered as u32;
        }
    }

    fn reduce(&mut self, congestion: &Congestion, answer: &Answer) {
        let half = window_share(congestion.from, 0.5);
        let most = congestion.from.max(2);
        let threshold = answer.threshold.map_or(half, |threshold| (threshold as u32).clamp(2, most));
        if !self.needs.drives {
            self.window.threshold = threshold;
        }
        // A controller that does not drive closes the window by its threshold alone.
        self.follow(&Answer { threshold: None, ..*answer }, self.needs.drives);
    }
}

impl CongestionController for External {
    #[inline]
    fn window(&self) -> &Window {
        &self.window
    }

    #[inline]
    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        let answer = self.control.on_ack(sample, self.view());
        self.follow(&answer, sample.may_grow || self.needs.drives);
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        let answer = self.control.on_event(now, event, self.view());
        match event {
            Event::Congestion(congestion) => self.reduce(congestion, &answer),
            _ => self.follow(&answer, true),
        }
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timeout
    }
}
