//! What applications ask of the transport: sources that open, write and close.
//!
//! A source is a machine without input or output of its own: it is asked at its wake-ups what the application does now.

mod bulk;

pub use bulk::Bulk;
use units::{Bytes, Time};

/// What an application does to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens the connection.
    Open,
    /// Hands over this much to send.
    Write(Bytes),
    /// Has always more to send.
    WriteForEver,
    /// Has nothing more to send.
    Close,
}

/// The application at the sending end of one flow.
pub trait Source: Send {
    /// The next thing that is due at `now`; call until `None`.
    fn poll_action(&mut self, now: Time) -> Option<Action>;

    /// When the application acts next; `None` for never again.
    fn poll_timeout(&self) -> Option<Time>;
}

units::registry! {
    /// What a flow carries.
    pub enum TrafficConfig {
        "bulk" => Bulk(Bulk),
    }
}

impl TrafficConfig {
    /// The application of one flow, started `offset` later than its `start`.
    pub fn build(&self, offset: units::Duration) -> Box<dyn Source> {
        match self {
            TrafficConfig::Bulk(bulk) => Box::new(bulk.build(offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    /// What every source must hold to, whatever it carries.
    #[test]
    fn every_source_opens_first_and_acts_only_when_due() {
        for kind in TrafficConfig::ALL {
            let config: TrafficConfig = match *kind {
                "bulk" => TrafficConfig::Bulk(Bulk { size: Some(Bytes::new(30_000)), ..Bulk::default() }),
                other => panic!("no example of traffic {other}"),
            };
            let mut source = config.build(Duration::from_secs(2));
            assert_eq!(source.poll_action(Time::ZERO), None, "{kind} acts before its start");
            let (mut opened, mut closed) = (false, false);
            while let Some(now) = source.poll_timeout() {
                while let Some(action) = source.poll_action(now) {
                    assert!(!closed, "{kind} acts after closing");
                    assert_eq!(!opened, action == Action::Open, "{kind} does not open once and first");
                    opened = true;
                    closed = action == Action::Close;
                }
                assert!(source.poll_timeout().is_none_or(|next| next > now), "{kind} stays due");
            }
            assert!(opened);
        }
    }
}
