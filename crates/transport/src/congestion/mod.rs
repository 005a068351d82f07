//! Congestion controllers: how much may be on its way.
//!
//! A controller is told what happened in small samples and answers with a window. It never reaches into the connection,
//! which alone decides what is lost and when to enter and leave recovery. Windows are in bytes; a controller knows the
//! segment size.

mod cubic;
mod newreno;
#[cfg(test)]
mod tests;
mod window;

pub use cubic::{Cubic, CubicConfig};
pub use newreno::{NewReno, NewRenoConfig};
use units::{BitRate, Duration, FieldError, Time};

/// New data was acknowledged, cumulatively or selectively.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When the acknowledgment arrived.
    pub now: Time,
    /// Bytes by which the cumulative acknowledgment advanced.
    pub acked: u64,
    /// Bytes newly known to be delivered: newly acknowledged, cumulatively or selectively, each counted once.
    pub delivered: u64,
    /// All bytes known to be delivered since the connection opened.
    pub delivered_total: u64,
    /// Bytes on their way before this acknowledgment (RFC 6675 pipe).
    pub in_flight_before: u64,
    /// Bytes on their way after it.
    pub in_flight: u64,
    /// A round-trip time measured by this acknowledgment.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// Whether the window was full: if not, the application or the receiver limits, and the window must not grow
    /// (RFC 7661, RFC 9002 section 7.8).
    pub window_limited: bool,
    /// Whether the connection is in fast recovery: the window is then not to grow by the normal rules.
    pub in_recovery: bool,
}

/// Loss was detected, and a recovery begins.
#[derive(Clone, Copy, Debug)]
pub struct LossSample {
    /// When it was detected.
    pub now: Time,
    /// Bytes on their way just before (RFC 5681 FlightSize).
    pub in_flight: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Shortest round-trip time measured so far; zero before the first measurement.
    pub min_rtt: Duration,
}

/// The rules of a window.
pub trait CongestionController: Send {
    /// New data was acknowledged.
    fn on_ack(&mut self, sample: &AckSample);

    /// Fast recovery begins: reduces the window, once for each recovery.
    fn on_loss(&mut self, sample: &LossSample);

    /// The retransmission timer expired; `first` is false for a repeated expiry of the same data. The window becomes
    /// one segment (RFC 5681 section 3.1).
    fn on_timeout(&mut self, sample: &LossSample, first: bool);

    /// Fast recovery is over.
    fn on_recovered(&mut self, now: Time);

    /// Nothing was sent for longer than a retransmission time-out: the window falls to at most `restart` bytes
    /// (RFC 5681 section 4.1).
    fn on_idle(&mut self, now: Time, restart: u64);

    /// The congestion window in bytes, at least one segment.
    fn window(&self) -> u64;

    /// The slow start threshold in bytes; `u64::MAX` while there is none.
    fn slow_start_threshold(&self) -> u64;

    /// The rate to space segments at, for controllers that pace.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}

/// What a controller is built for.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Payload bytes of a full segment.
    pub segment: u64,
    /// Initial window in bytes.
    pub window: u64,
}

units::registry! {
    /// How the congestion window moves.
    pub enum CongestionConfig {
        "cubic" => Cubic(CubicConfig),
        "newreno" => NewReno(NewRenoConfig),
        "reno" => Reno(NewRenoConfig),
    }
}

impl CongestionConfig {
    /// Whether the options make sense.
    ///
    /// # Errors
    ///
    /// The first option that does not, and why.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            CongestionConfig::Cubic(config) => config.check(),
            CongestionConfig::NewReno(config) | CongestionConfig::Reno(config) => config.check(),
        }
    }

    /// A controller at the start of a connection.
    pub fn build(&self, start: Start) -> Box<dyn CongestionController> {
        match self {
            CongestionConfig::Cubic(config) => Box::new(Cubic::new(config, start)),
            CongestionConfig::NewReno(config) | CongestionConfig::Reno(config) => Box::new(NewReno::new(config, start)),
        }
    }
}
