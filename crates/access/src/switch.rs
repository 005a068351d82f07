//! The choice between random and dedicated access for each datagram of a terminal that has both.
//!
//! Random access sends at once, but its losses grow with the load; dedicated access needs a round trip, is then free of
//! losses and carries more. Kuhn and others, "Improving web experience on DVB-RCS2 links", section 7, propose to begin
//! with random access and to change to dedicated access by the sequence number (`switchAleaDet_`) and by the load of
//! the network. These two policies are here, and two more by the terminal's own state: its granted slots, and its
//! backlog.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, FieldError, Probability};

use crate::return_link::Access;

units::registry! {
    /// The choice of access for each datagram.
    pub enum SwitchPolicy {
        "sequence" => Sequence(BySequence),
        "granted" => Granted(Granted),
        "queue" => Queue(ByQueue),
        "load" => Load(ByLoad),
    }
}

/// The state when a datagram arrives at a terminal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchView {
    /// The datagram's index in its flow.
    pub position: u64,
    /// The terminal's backlog, in bits.
    pub queue_bits: u64,
    /// Packets in each random access block, from the network control centre's last broadcast: smoothed, and a round
    /// trip old.
    pub random_load: f64,
}

/// The state of a policy at a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchState {
    /// Whether its last datagram took dedicated access.
    dedicated: bool,
}

impl SwitchPolicy {
    /// Checks the values, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn check(&self) -> Result<(), FieldError> {
        match self {
            SwitchPolicy::Sequence(policy) => policy.check(),
            SwitchPolicy::Granted(_) => Ok(()),
            SwitchPolicy::Queue(policy) => policy.check(),
            SwitchPolicy::Load(policy) => policy.check(),
        }
    }

    /// The access of a datagram.
    pub fn choose(&self, state: &mut SwitchState, view: &SwitchView) -> Access {
        state.dedicated = match self {
            SwitchPolicy::Sequence(policy) => view.position >= policy.after,
            SwitchPolicy::Granted(_) => false,
            SwitchPolicy::Queue(policy) => policy.is_dedicated(state.dedicated, view.queue_bits),
            SwitchPolicy::Load(policy) => policy.is_dedicated(state.dedicated, view.random_load),
        };
        if state.dedicated { Access::Dedicated } else { Access::Random }
    }

    /// Whether a terminal requests slots although the datagram goes by random access.
    pub fn requests_slots(&self, view: &SwitchView) -> bool {
        match self {
            SwitchPolicy::Sequence(policy) => policy.ask_after.is_some_and(|after| view.position >= after),
            SwitchPolicy::Granted(policy) => view.position >= policy.ask_after,
            SwitchPolicy::Queue(_) | SwitchPolicy::Load(_) => false,
        }
    }
}

impl SwitchPolicy {
    /// Whether no datagram begins by random access in a frame in which the terminal has slots of its own.
    pub fn prefers_slots(&self) -> bool {
        matches!(self, SwitchPolicy::Granted(_))
    }

    /// Whether a terminal requests slots for datagrams that go by random access.
    pub fn requests_early(&self) -> bool {
        match self {
            SwitchPolicy::Sequence(policy) => policy.ask_after.is_some(),
            SwitchPolicy::Granted(_) => true,
            SwitchPolicy::Queue(_) | SwitchPolicy::Load(_) => false,
        }
    }
}

impl Default for SwitchPolicy {
    fn default() -> SwitchPolicy {
        SwitchPolicy::Sequence(BySequence::default())
    }
}

/// The first datagrams of a flow take random access, the others dedicated access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BySequence {
    /// The number of datagrams that take random access (`switchAleaDet_`).
    pub after: u64,
    /// The datagram after which the terminal requests a connection, so that it is ready, or nearly so, when it is
    /// needed. By default it requests one when it is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_after: Option<u64>,
}

impl Default for BySequence {
    fn default() -> BySequence {
        BySequence { after: 3, ask_after: None }
    }
}

impl BySequence {
    fn check(&self) -> Result<(), FieldError> {
        match self.ask_after {
            Some(ask) if ask > self.after => {
                let message = format!("{ask} was given, more than `after`, which is {}", self.after);
                Err(FieldError::new("ask_after", message))
            }
            _ => Ok(()),
        }
    }
}

/// Datagrams take dedicated access in frames in which the terminal has slots, and random access in the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Granted {
    /// The datagram of a flow after which the terminal requests a connection: shorter flows do without.
    pub ask_after: u64,
}

/// Datagrams take dedicated access while the terminal's backlog is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByQueue {
    /// The backlog at which the terminal changes to dedicated access.
    pub threshold: Bytes,
    /// The backlog at which it changes back to random access.
    pub back: Bytes,
}

impl Default for ByQueue {
    /// About thirteen packets of random access, the most that a terminal sends in a frame of 40 timeslots with three
    /// replicas; back when nothing waits.
    fn default() -> ByQueue {
        ByQueue { threshold: Bytes::new(1000), back: Bytes::new(0) }
    }
}

impl ByQueue {
    fn check(&self) -> Result<(), FieldError> {
        if self.back <= self.threshold {
            return Ok(());
        }
        let message = format!("{} was given, more than the threshold of {}", self.back, self.threshold);
        Err(FieldError::new("back", message))
    }

    fn is_dedicated(&self, before: bool, queue_bits: u64) -> bool {
        queue_bits > if before { self.back.bits() } else { self.threshold.bits() }
    }
}

/// Datagrams take dedicated access while random access is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByLoad {
    /// Packets in each random access block at which terminals change to dedicated access.
    pub threshold: f64,
    /// The share by which the load must be below the threshold before they change back.
    pub hysteresis: Probability,
}

impl Default for ByLoad {
    /// CRDSA with three replicas is free of loss up to 30 packets in each block of 100 slots.
    fn default() -> ByLoad {
        ByLoad { threshold: 30.0, hysteresis: Probability::new(0.2) }
    }
}

impl ByLoad {
    fn check(&self) -> Result<(), FieldError> {
        if self.threshold.is_finite() && self.threshold >= 0.0 {
            return Ok(());
        }
        Err(FieldError::new("threshold", format!("{} was given, 0 or more packets are allowed", self.threshold)))
    }

    fn is_dedicated(&self, before: bool, load: f64) -> bool {
        let back = self.threshold * (1.0 - self.hysteresis.get());
        load > if before { back } else { self.threshold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Dedicated, Random};

    const VIEW: SwitchView = SwitchView { position: 0, queue_bits: 0, random_load: 0.0 };

    fn choices<T>(
        policy: &SwitchPolicy,
        values: impl IntoIterator<Item = T>,
        view: impl Fn(T) -> SwitchView,
    ) -> Vec<Access> {
        let mut state = SwitchState::default();
        values.into_iter().map(|value| policy.choose(&mut state, &view(value))).collect()
    }

    #[test]
    fn the_first_datagrams_of_a_flow_take_random_access() {
        let policy = SwitchPolicy::default();
        let at = |position| SwitchView { position, ..VIEW };
        assert_eq!(choices(&policy, [0, 2, 3, 9, 1], at), [Random, Random, Dedicated, Dedicated, Random]);
        assert!(!policy.requests_slots(&at(2)));
        let early = SwitchPolicy::Sequence(BySequence { after: 3, ask_after: Some(1) });
        assert_eq!([0, 1, 2].map(|position| early.requests_slots(&at(position))), [false, true, true]);
        // The published values: 0 is dedicated access alone.
        let never = SwitchPolicy::Sequence(BySequence { after: 0, ask_after: None });
        assert_eq!(choices(&never, [0, 1], at), [Dedicated, Dedicated]);
    }

    #[test]
    fn who_prefers_slots_begins_at_random_and_asks() {
        let policy = SwitchPolicy::Granted(Granted { ask_after: 2 });
        let at = |position| SwitchView { position, ..VIEW };
        assert_eq!(choices(&policy, [0, 7], at), [Random, Random]);
        assert_eq!([1, 2].map(|position| policy.requests_slots(&at(position))), [false, true]);
        assert!(policy.prefers_slots() && policy.requests_early() && !SwitchPolicy::default().prefers_slots());
    }

    #[test]
    fn a_long_queue_takes_dedicated_access_until_it_is_short() {
        let policy = SwitchPolicy::Queue(ByQueue { threshold: Bytes::new(1000), back: Bytes::new(200) });
        let at = |bytes: u64| SwitchView { queue_bits: 8 * bytes, ..VIEW };
        let expected = [Random, Random, Dedicated, Dedicated, Dedicated, Random, Random];
        assert_eq!(choices(&policy, [0, 1000, 1001, 500, 201, 200, 900], at), expected);
        assert!(!policy.requests_slots(&at(500)));
    }

    #[test]
    fn a_loaded_network_takes_dedicated_access_until_it_is_well_below() {
        let policy = SwitchPolicy::Load(ByLoad::default());
        let at = |random_load| SwitchView { random_load, ..VIEW };
        let expected = [Random, Random, Dedicated, Dedicated, Random, Random];
        assert_eq!(choices(&policy, [0.0, 30.0, 30.1, 24.1, 24.0, 29.0], at), expected);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let late = SwitchPolicy::Sequence(BySequence { after: 3, ask_after: Some(4) });
        assert_eq!(late.check().unwrap_err().to_string(), "ask_after: 4 was given, more than `after`, which is 3");
        let back = SwitchPolicy::Queue(ByQueue { threshold: Bytes::new(1), back: Bytes::new(2) });
        assert_eq!(back.check().unwrap_err().field, "back");
        let load = SwitchPolicy::Load(ByLoad { threshold: f64::NAN, ..ByLoad::default() });
        assert_eq!(load.check().unwrap_err().field, "threshold");
        assert_eq!(SwitchPolicy::ALL, ["sequence", "granted", "queue", "load"]);
    }
}
