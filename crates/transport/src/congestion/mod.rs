//! Congestion controllers: how much may be on its way.
//!
//! A controller owns its [`Window`]: it opens it, says how far a loss closes it, and may take over altogether
//! ([`Needs::drives`]). It is told what happened in small samples and events, and never reaches into the connection.
//! The sender decides what is lost and when a reduction begins, ends and is undone; what these do to the window
//! (proportional rate reduction, a time-out) it writes there. Windows count segments.

mod filter;
mod hystart;
mod scalable;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

pub use hystart::HyStart;
use units::{BitRate, Duration, Ecn, FieldError, Time};
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

    /// How the window moves between losses.
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

    /// Its name, where it is not that of its kind.
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

    /// Of a controller that takes the count of marks ([`AckSample::marked`]) and decides itself on reductions: the
    /// codepoint of its data. It asks for accurate feedback; without it, marks come as to any other ([`Cause::Mark`]).
    fn marks(&self) -> Option<Ecn> {
        None
    }

    /// Whether it has dummy segments sent ([`Needs::probes`]), which not every transport has.
    fn sends_probes(&self) -> bool {
        false
    }

    /// Which of the standard algorithms it is, if it is one that libraries have too.
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
    /// It opens by at most what is acknowledged (RFC 5681 section 3.1).
    Acknowledged,
    /// It opens by more.
    Faster,
    /// It opens and closes with the delay of the path.
    Delay,
}

impl CongestionConfig {
    /// The same with nothing left open: what is not given is as the profile's stack has it.
    #[must_use]
    pub fn resolved(&self, profile: Profile) -> CongestionConfig {
        let mut config = self.clone();
        config.entry_mut().resolve(profile);
        config
    }
}

/// An acknowledgment brought news. All counts are in segments.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly known to be delivered, cumulatively or selectively, each counted once.
    pub delivered: u32,
    /// Segments newly taken for lost.
    pub lost: u32,
    /// All segments known to be delivered since the connection opened.
    pub delivered_total: u64,
    /// All segments ever taken for lost.
    pub lost_total: u64,
    /// Segments on their way before this acknowledgment.
    pub in_flight_before: u32,
    /// Segments on their way after it.
    pub in_flight: u32,
    /// SND.UNA and SND.NXT after it, as stream offsets: for controllers that count round trips by sequence.
    pub una: u64,
    /// See `una`.
    pub nxt: u64,
    /// A round-trip time measured by this acknowledgment, of the newest segment that it tells of.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// The delivery rate measured by it, for controllers that ask ([`Needs::rates`]).
    pub rate: Option<RateSample>,
    /// Whether it acknowledged data while the window may grow: neither in fast recovery nor in a reduction for a mark.
    /// Otherwise a controller that does not drive only measures.
    pub may_grow: bool,
    /// Whether the window was full: if not, the application or the receiver limits, and the window must not grow (RFC
    /// 7661).
    pub window_limited: bool,
    /// What the sender thinks of the path after this acknowledgment.
    pub state: CongestionState,
    /// It echoes a congestion mark (RFC 3168 ECE), or tells of one a controller that does not take the count.
    pub ece: bool,
    /// Segments newly known to be delivered with a congestion mark, as accurate feedback tells (RFC 9768).
    pub marked: u32,
    /// Their payload bytes.
    pub marked_bytes: u64,
    /// Segments are spaced by the sender, not by acknowledgments alone.
    pub paced: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// A delivery rate (draft-cheng-iccrg-delivery-rate-estimation). All counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered between the sending of the newest segment that the acknowledgment tells of and now.
    pub delivered: u32,
    /// Segments taken for lost in the same time.
    pub lost: u32,
    /// [`AckSample::delivered_total`] when that segment was sent: a round trip ends when it reaches that of the round's
    /// start.
    pub prior_delivered: u64,
    /// Segments on their way when that segment had been sent, it included.
    pub tx_in_flight: u32,
    /// The longer of the times it took to send them and to have them acknowledged; `None` where neither can be told
    /// (shorter than the shortest round-trip time).
    pub interval: Option<Duration>,
    /// Whether the application left the path idle in that time: the rate may then be too low.
    pub app_limited: bool,
    /// Whether that segment was a retransmission.
    pub retransmitted: bool,
}

/// A segment that is taken for lost, for controllers that ask for rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// Segments on their way when it had been sent, it included.
    pub tx_in_flight: u32,
    /// Segments taken for lost since it was sent, it included.
    pub lost_since: u32,
    /// Whether the application left the path idle when it was sent.
    pub app_limited: bool,
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A segment is lost: a fast recovery begins, or a tail loss probe repaired the loss.
    Loss,
    /// A congestion mark was echoed.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// A reduction begins, once for each loss event.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Why.
    pub cause: Cause,
    /// The segments to reduce from: the window as Linux does, or FlightSize as RFC 5681 equation (4), as the profile
    /// says.
    pub from: u32,
    /// Segments on their way.
    pub in_flight: u32,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// What else happens to a sender.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The connection is established, and no data have been sent yet: the initial window may be set.
    Established {
        /// The round-trip time of the handshake, zero if it was not measured.
        srtt: Duration,
    },
    /// A segment goes out after nothing was on its way.
    Starts {
        /// The application, not the window, had left it so; or nothing was delivered yet.
        app_limited: bool,
        /// When a segment was sent before it.
        last_sent: Option<Time>,
    },
    /// New data or a retransmission went out, for controllers that ask ([`Needs::sent`]).
    Sent {
        /// Segments on their way, it included.
        in_flight: u32,
    },
    /// A segment is taken for lost, for controllers that ask ([`Needs::rates`]).
    Lost(LostSegment),
    /// A reduction begins: the controller sets the slow start threshold, at least 2, and the sender takes the window
    /// there.
    Congestion(Congestion),
    /// The retransmission timer expired and the sender took the window down. [`Event::Congestion`] came before if this
    /// is a new loss event.
    TimedOut,
    /// A reduction is over: the window is at the threshold.
    Recovered,
    /// A reduction was undone: the loss was none.
    Undone,
    /// Nothing was sent for longer than a retransmission time-out, and the window fell to the restart window (RFC 5681
    /// section 4.1).
    Restarted,
    /// A probe was acknowledged.
    ProbeAcked {
        /// The state of loss recovery.
        state: CongestionState,
    },
    /// The time of [`CongestionController::poll_timeout`] is reached.
    Timeout {
        /// Segments on their way.
        in_flight: u32,
    },
}

/// What a controller needs of its sender: asked once, when it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It alone moves the window, also in recovery: the sender neither reduces it nor spreads a reduction (it only
    /// takes it to the segments on their way, and one more, when the retransmission timer expires).
    pub drives: bool,
    /// Samples carry delivery rates, and [`Event::Lost`] tells of each lost segment.
    pub rates: bool,
    /// [`Event::Sent`] tells of each segment sent.
    pub sent: bool,
    /// It sets a rate ([`CongestionController::pacing_rate`]).
    pub paces: bool,
    /// It keeps time ([`CongestionController::poll_timeout`]).
    pub timer: bool,
    /// It has probes sent ([`CongestionController::poll_probes`]) instead of a slow start.
    pub probes: bool,
}

/// The rules of a window.
pub trait CongestionController: Send {
    /// The window and the slow start threshold.
    fn window(&self) -> &Window;

    /// The same, for what loss recovery does to them.
    fn window_mut(&mut self) -> &mut Window;

    /// An acknowledgment with news.
    fn on_ack(&mut self, sample: &AckSample);

    /// Something else happened. At [`Event::Congestion`] the threshold is to be set.
    fn on_event(&mut self, now: Time, event: &Event);

    /// What it needs of the sender.
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

    /// What changes of the probes to be sent: asked after each sample and event.
    fn poll_probes(&mut self) -> ProbeRequest {
        ProbeRequest::default()
    }
}

/// What a controller is built for.
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
    pub of_2007: bool,
    /// Round-trip times are those of echoed timestamps.
    pub timestamps: bool,
}

impl Start {
    /// The window at the start.
    pub fn window(&self) -> Window {
        let window = Window::new(self.window, self.counting_limit);
        window.by_acknowledgment(self.by_acknowledgment).of_2007(self.of_2007)
    }
}

/// Makes a user's controller at the start of a connection.
pub type MakeControl = Arc<dyn Fn(&Start) -> Box<dyn Control> + Send + Sync>;

/// Finds what makes the controller of a name.
pub type FindControl<'a> = dyn FnMut(&str) -> Option<MakeControl> + 'a;

/// A user's controller.
pub trait Control: Send {
    /// What it needs of the sender: asked once. [`Needs::probes`] is not for it.
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

/// What a user's controller says.
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

impl Event {
    /// In a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Established { .. } => "established",
            Event::Starts { .. } => "starts",
            Event::Sent { .. } => "sent",
            Event::Lost(_) => "lost",
            Event::Congestion(_) => "congestion",
            Event::TimedOut => "timed-out",
            Event::Recovered => "recovered",
            Event::Undone => "undone",
            Event::Restarted => "restarted",
            Event::ProbeAcked { .. } => "probe-acked",
            Event::Timeout { .. } => "timeout",
        }
    }
}

impl Cause {
    /// In a word.
    pub fn name(self) -> &'static str {
        ["loss", "mark", "timeout"][self as usize]
    }
}

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

/// The whole segments in a share of a window, at least 2.
fn share(segments: u32, beta: f64) -> u32 {
    ((f64::from(segments) * beta) as u32).max(2)
}

/// At least 1 bit/s.
fn bit_rate(bits_per_second: f64) -> BitRate {
    BitRate::from_bps((bits_per_second as u64).max(1))
}
