//! The choice between random and dedicated access for each datagram of a terminal that has both.
//!
//! Random access sends at once, but its losses grow with the load; dedicated access needs a round trip, is then free of
//! losses and carries more. Kuhn and others, "Improving web experience on DVB-RCS2 links", section 7, propose to begin
//! with random access and to change to dedicated access by the sequence number (`switchAleaDet_`) and by the load of
//! the network. These two policies are here, and two more by the terminal's own state: its granted slots, and its
//! backlog.

use units::FieldError;

use crate::datagram::Access;

units::registry! {
    /// The choice of access for each datagram.
    pub enum SwitchPolicy: dyn Kind {
        #[default] "sequence" => Sequence(BySequence) in sequence,
        "granted" => Granted(Granted) in granted,
        "queue" => Queue(ByQueue) in queue,
        "load" => Load(ByLoad) in load,
    }
}

/// The options of a policy, and its rule.
pub trait Kind {
    /// Checks the values, each and together.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Whether a datagram takes dedicated access. `before`: whether the terminal's last one did.
    fn is_dedicated(&self, before: bool, view: &SwitchView) -> bool;

    /// Whether a terminal requests slots although the datagram goes by random access.
    fn requests_slots(&self, _view: &SwitchView) -> bool {
        false
    }

    /// Whether terminals request slots for datagrams that go by random access: whether [`Kind::requests_slots`] is ever
    /// true.
    fn requests_early(&self) -> bool {
        false
    }

    /// Whether no datagram begins by random access in a frame in which the terminal has slots of its own.
    fn prefers_slots(&self) -> bool {
        false
    }
}

/// The state when a datagram arrives at a terminal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchView {
    /// How many full packets of data go before it in its flow; of UDP and QUIC, how many datagrams.
    pub position: u64,
    /// The terminal's backlog, in bits.
    pub queue_bits: u64,
    /// Packets in each random access block, from the network control centre's last broadcast: smoothed, and a round
    /// trip old.
    pub random_load: f64,
}

/// What the switch between random and dedicated access keeps of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchState {
    /// Whether the terminal's last datagram took dedicated access.
    dedicated: bool,
}

impl SwitchPolicy {
    /// The access of a datagram.
    pub fn choose(&self, state: &mut SwitchState, view: &SwitchView) -> Access {
        state.dedicated = self.entry().is_dedicated(state.dedicated, view);
        if state.dedicated { Access::Dedicated } else { Access::Random }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

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
        assert!(!policy.entry().requests_slots(&at(2)));
        let early = SwitchPolicy::Sequence(BySequence { after: 3, ask_after: Some(1) });
        assert_eq!([0, 1, 2].map(|position| early.entry().requests_slots(&at(position))), [false, true, true]);
        // The published values: 0 is dedicated access alone.
        let never = SwitchPolicy::Sequence(BySequence { after: 0, ask_after: None });
        assert_eq!(choices(&never, [0, 1], at), [Dedicated, Dedicated]);
    }

    #[test]
    fn who_prefers_slots_begins_at_random_and_asks() {
        let policy = SwitchPolicy::Granted(Granted { ask_after: 2 });
        let at = |position| SwitchView { position, ..VIEW };
        assert_eq!(choices(&policy, [0, 7], at), [Random, Random]);
        assert_eq!([1, 2].map(|position| policy.entry().requests_slots(&at(position))), [false, true]);
        assert!(
            policy.entry().prefers_slots()
                && policy.entry().requests_early()
                && !SwitchPolicy::default().entry().prefers_slots()
        );
    }

    #[test]
    fn a_long_queue_takes_dedicated_access_until_it_is_short() {
        let policy = SwitchPolicy::Queue(ByQueue { threshold: Bytes::new(1000), back: Bytes::new(200) });
        let at = |bytes: u64| SwitchView { queue_bits: 8 * bytes, ..VIEW };
        let expected = [Random, Random, Dedicated, Dedicated, Dedicated, Random, Random];
        assert_eq!(choices(&policy, [0, 1000, 1001, 500, 201, 200, 900], at), expected);
        assert!(!policy.entry().requests_slots(&at(500)));
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
        assert_eq!(
            late.entry().check().unwrap_err().to_string(),
            "ask_after: 4 was given, more than `after`, which is 3"
        );
        let back = SwitchPolicy::Queue(ByQueue { threshold: Bytes::new(1), back: Bytes::new(2) });
        assert_eq!(back.entry().check().unwrap_err().field, "back");
        let load = SwitchPolicy::Load(ByLoad { threshold: f64::NAN, ..ByLoad::default() });
        assert_eq!(load.entry().check().unwrap_err().field, "threshold");
    }
}
