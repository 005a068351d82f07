//! Congestion controllers: how much may be in flight.
//!
//! A controller owns its [`Window`]: it opens it, says how far a loss closes it, and may take over altogether
//! ([`Needs::drives`]). The sender reports to it in small samples and events; it never reaches into the connection. The
//! sender decides what is lost and when a reduction begins, ends and is undone; what these do to the window
//! (proportional rate reduction, a time-out) it writes there. Windows count segments.

mod bbr_both;
mod filter;
mod hystart;
mod marked_fraction;
mod signals;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

pub use hystart::HyStart;
pub use signals::{AckSample, Cause, Congestion, Event, LostSegment, RateSample};
use units::{BitRate, Ecn, FieldError, Time};
pub use window::Window;

pub use crate::probes::{ProbeRequest, Spread};
use crate::profile::Profile;
use crate::state::CongestionState;

units::registry! {
    /// How the congestion window moves.
    pub enum CongestionConfig: dyn Kind {
        #[default] "cubic" => Cubic(CubicConfig) in cubic,
        "newreno" => NewReno(NewRenoConfig) in newreno,
        "reno" => Reno(NewRenoConfig),
        "hybla" => Hybla(HyblaConfig) in hybla,
        "westwood" => Westwood(WestwoodConfig) in westwood,
        "vegas" => Vegas(VegasConfig) in vegas,
        "bbr" => Bbr(BbrConfig) in bbr,
        "bbr3" => Bbr3(Bbr3Config) in bbr3,
        "peach" => Peach(PeachConfig) in peach,
        "prague" => Prague(PragueConfig) in prague,
        "dctcp" => Dctcp(DctcpConfig) in dctcp,
        "noordwijk" => Noordwijk(NoordwijkConfig) in noordwijk,
        "external" => External(ExternalConfig) in external,
    }
}

/// The options of a controller: what its line in the registry refers to.
pub trait Kind {
    /// Whether the options make sense.
    ///
    /// # Errors
    /// The first option that does not, and why.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Fills in what is not given and differs between profiles.
    fn resolve(&mut self, _profile: Profile) {}

    /// Whether its controllers may have a timer of their own ([`Needs::timer`]).
    fn has_timer(&self) -> bool {
        false
    }

    /// Returns how the window moves between losses.
    fn growth(&self) -> Growth {
        Growth::Acknowledged
    }

    /// Whether the code that it names, if any, is among what scripts have registered.
    ///
    /// # Errors
    /// Nobody has registered it.
    fn check_registered(&self, _registered: &[String]) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns the controller's name, where it is not that of its kind.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Takes what makes the controllers of the code that it names, if any: to be called before [`Kind::build`].
    ///
    /// # Errors
    /// `find` knows none.
    fn supply(&mut self, _find: &mut FindControl<'_>) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns the codepoint of its data, if the controller takes the count of marks ([`AckSample::marked`]) and
    /// decides itself on reductions. It then asks for accurate feedback; without it, marks come as to any other
    /// ([`Cause::Mark`]).
    fn marks(&self) -> Option<Ecn> {
        None
    }

    /// Whether it has dummy segments sent ([`Needs::probes`]), which not every transport has.
    fn sends_probes(&self) -> bool {
        false
    }

    /// Returns the standard algorithm that it is, if libraries have that one too.
    fn standard(&self) -> Option<Standard> {
        None
    }

    /// A controller at the start of a connection; what is not given is that of the classic profile.
    fn build(&self, start: Start) -> Box<dyn CongestionController>;
}

/// The algorithms that libraries of transports have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// RFC 5681, with the recovery of its transport.
    NewReno,
    /// RFC 9438.
    Cubic,
}

/// How a window moves between losses, unless the controller drives: the conformance test holds each kind to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The window opens by at most what is acknowledged (RFC 5681 section 3.1).
    Acknowledged,
    /// The window opens by more.
    Faster,
    /// The window opens and closes with the delay of the path.
    Delay,
}

impl CongestionConfig {
    /// Whether the code that it names, if any, is among what scripts have registered.
    ///
    /// # Errors
    /// Nobody has registered it: the path begins with `congestion`.
    pub fn check_registered(&self, registered: &[String]) -> Result<(), FieldError> {
        self.entry().check_registered(registered).map_err(|error| error.within("congestion"))
    }

    /// Returns the configuration with the maker of the user's code that it names, if any.
    ///
    /// # Errors
    /// `find` knows none: the path begins with `congestion`.
    pub fn supplied(&self, find: &mut FindControl<'_>) -> Result<CongestionConfig, FieldError> {
        let mut config = self.clone();
        config.entry_mut().supply(find).map_err(|error| error.within("congestion"))?;
        Ok(config)
    }

    /// Returns the configuration with every default filled in, as the profile's stack has it.
    #[must_use]
    pub fn resolved(&self, profile: Profile) -> CongestionConfig {
        let mut config = self.clone();
        config.entry_mut().resolve(profile);
        config
    }
}

/// A controller's needs of its sender: asked once, when it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The controller alone moves the window, also in recovery: the sender neither reduces it nor spreads a reduction
    /// (it only takes it to the segments in flight, and one more, when the retransmission timer expires).
    pub drives: bool,
    /// Samples carry delivery rates, and each lost segment is reported as [`Event::Lost`].
    pub rates: bool,
    /// Each segment sent is reported as [`Event::Sent`].
    pub sent: bool,
    /// The controller sets a rate ([`CongestionController::pacing_rate`]).
    pub paces: bool,
    /// The controller keeps time ([`CongestionController::poll_timeout`]).
    pub timer: bool,
    /// The controller has probes sent ([`CongestionController::poll_probes`]) instead of a slow start.
    pub probes: bool,
    /// An acknowledgment that acknowledges nothing cumulatively, and lets nothing grow, changes nothing at the
    /// controller. Under ns-2's rules it is not told of such, unless it has [`Needs::rates`] or
    /// [`Needs::probes`].
    pub advances_only: bool,
}

/// The rules of a window.
pub trait CongestionController: Send {
    /// The window and the slow start threshold.
    fn window(&self) -> &Window;

    /// Returns the window, for loss recovery to change.
    fn window_mut(&mut self) -> &mut Window;

    /// An acknowledgment with news.
    fn on_ack(&mut self, sample: &AckSample);

    /// Something else happened. At [`Event::Congestion`] the threshold is to be set.
    fn on_event(&mut self, now: Time, event: &Event);

    /// Returns the controller's needs of the sender.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The window in a recovery of Linux 2.6.22, where a ceiling beside it halves the rate: half the threshold, as Reno
    /// has it.
    fn floor(&self) -> u32 {
        (self.window().threshold / 2).max(1)
    }

    /// The rate to space segments at, for a controller that sets one; the sender then paces whatever the profile says.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// When [`Event::Timeout`] is to come.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Returns the changes of the probes to be sent: asked after each sample and event.
    fn poll_probes(&mut self) -> ProbeRequest {
        ProbeRequest::default()
    }
}

/// The facts for which a controller is built.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The initial window in segments.
    pub window: u32,
    /// RFC 3465 L: the segments that one acknowledgment may count for in slow start; [`u32::MAX`] counts all that is
    /// acknowledged.
    pub counting_limit: u32,
    /// A number that differs between connections of one run, for controllers with a random phase.
    pub entropy: u64,
    /// Congestion avoidance counts acknowledgments (RFC 5681 equation (3)), not what they acknowledge (RFC 3465).
    pub by_acknowledgment: bool,
    /// The window opens by the rules of Linux 2.6.22, as ns-2 has them.
    pub of_linux_2_6_22: bool,
    /// Round-trip times are those of echoed timestamps.
    pub timestamps: bool,
}

impl Start {
    /// The window at the start.
    pub fn window(&self) -> Window {
        let window = Window::new(self.window, self.counting_limit);
        window.by_acknowledgment(self.by_acknowledgment).of_linux_2_6_22(self.of_linux_2_6_22)
    }
}

/// Makes a user's controller at the start of a connection.
pub type MakeControl = Arc<dyn Fn(&Start) -> Box<dyn Control> + Send + Sync>;

/// Finds what makes the controller of a name.
pub type FindControl<'a> = dyn FnMut(&str) -> Option<MakeControl> + 'a;

/// A user's controller.
pub trait Control: Send {
    /// Returns the controller's needs of the sender: asked once. [`Needs::probes`] is not for it.
    fn needs(&self) -> Needs;

    /// An acknowledgment with news.
    fn on_ack(&mut self, sample: &AckSample, view: View) -> Answer;

    /// Something else happened. At [`Event::Congestion`] the answer's threshold is where the window goes.
    /// Without one it is half (RFC 5681 section 3.1).
    fn on_event(&mut self, now: Time, event: &Event, view: View) -> Answer;
}

/// The window as a user's controller sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The window in segments: what was answered last, with its fraction, unless the sender has moved it since.
    pub window: f64,
    /// The slow start threshold in segments; infinite while there is none.
    pub threshold: f64,
}

/// The answer of a user's controller.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// The window in segments, at least 1; the sender uses the whole ones. `None` leaves it.
    pub window: Option<f64>,
    /// The slow start threshold in segments, at least 2. `None` leaves it.
    pub threshold: Option<f64>,
    /// See [`CongestionController::pacing_rate`]; for those that ask for rates.
    pub pacing_rate: Option<BitRate>,
    /// See [`CongestionController::poll_timeout`].
    pub timeout: Option<Time>,
}

/// The largest window, in segments: more than any path holds.
pub const MOST_SEGMENTS: f64 = 1e9;

/// Refuses a share of the window that is not a reduction.
fn check_beta(beta: f64) -> Result<(), FieldError> {
    if beta > 0.0 && beta < 1.0 {
        return Ok(());
    }
    Err(FieldError::new(
        "beta",
        format!("{beta} is the share of the window kept on loss: must be between 0 and 1, exclusive"),
    ))
}

/// Returns the whole segments in a share of a window, at least 2.
fn window_share(segments: u32, beta: f64) -> u32 {
    ((f64::from(segments) * beta) as u32).max(2)
}

/// Returns the bit rate, at least 1 bit/s.
fn bit_rate(bits_per_second: f64) -> BitRate {
    BitRate::from_bps((bits_per_second as u64).max(1))
}
