//! Packets from outside: what is offered leaves once, and a log of the offers gives the same run again.

use proptest::prelude::*;
use sim::{Departure, End, Fate, LoggedOffer, Offer, OfferError, ReplayError, Scenario, Simulation, offers_table};
use units::{Ecn, Time};

/// A faded last hop with HARQ and simulated cross traffic; `access`: a return link.
fn scenario(access: bool) -> Scenario {
    let access = if access { "[access]\nmethod = \"crdsa\"\n" } else { "" };
    let text = format!(
        r#"
        duration = "3 s"
        [path]
        kind = "fixed"
        delay = "20 ms"
        [channel]
        kind = "lms"
        reference_snr = "10 dB"
        [last_hop]
        rate = "5 Mbit/s"
        delay = "5 ms"
        scheduler = {{ kind = "drr", buffer = "30 packets" }}
        harq = {{ kind = "adaptive" }}
        [[last_hop.classes]]
        name = "voice"
        {access}
        [[flows]]
        count = 2
        transport = {{ kind = "external" }}
        traffic = {{ kind = "external" }}
        [[flows]]
        transport = {{ kind = "tcp" }}
        traffic = {{ kind = "bulk" }}
        "#
    );
    Scenario::from_toml(&text, std::path::Path::new(".")).expect("a scenario")
}

fn log() -> impl Strategy<Value = Vec<LoggedOffer>> {
    let from = prop_oneof![Just(End::Server), Just(End::User)];
    let class = prop_oneof![Just(None), Just(Some(0))];
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let one = (0u64..3_000_000_000, 0u32..2, from, 20u32..1100, ecn, class).prop_map(
        |(at, flow, from, bytes, ecn, class)| LoggedOffer { at: Time::from_nanos(at), flow, from, bytes, ecn, class },
    );
    prop::collection::vec(one, 0..300).prop_map(|mut log| {
        log.sort_by_key(|logged| logged.at);
        log
    })
}

/// Runs a log; `steps`: instants at which the run stops without need.
fn offer_all(scenario: &Scenario, log: &[LoggedOffer], steps: &[u64]) -> (String, Vec<Departure>) {
    let mut simulation = Simulation::new(scenario, None).expect("a world");
    let mut departures = Vec::new();
    let mut steps = steps.iter().map(|&step| Time::from_nanos(step)).peekable();
    for (ticket, logged) in (0..).zip(log) {
        while let Some(step) = steps.next_if(|&step| step <= logged.at) {
            simulation.advance(step).expect("time moves");
            departures.extend(std::iter::from_fn(|| simulation.poll_departure()));
        }
        simulation.advance(logged.at).expect("time moves");
        simulation.offer(&Offer { ticket, ..logged.offer() }).expect("it fits");
    }
    simulation.advance(Time::MAX).expect("time moves");
    departures.extend(std::iter::from_fn(|| simulation.poll_departure()));
    let summary = simulation.finish(false).expect("packets are conserved").summary;
    (summary.digest, departures)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_log_gives_the_same_run_however_it_is_stepped(
        log in log(), access: bool, mut steps in prop::collection::vec(0u64..3_000_000_000, 0..200)
    ) {
        steps.sort_unstable();
        let scenario = scenario(access);
        let (digest, departures) = offer_all(&scenario, &log, &[]);
        let (stepped, same) = offer_all(&scenario, &log, &steps);
        prop_assert_eq!(&digest, &stepped);
        // The log as bytes, from which another world makes the same run.
        let bytes: Vec<u8> = log.iter().flat_map(LoggedOffer::to_bytes).collect();
        let lines = bytes.as_chunks().0;
        prop_assert_eq!(&lines.iter().map(LoggedOffer::from_bytes).collect::<Option<Vec<_>>>(), &Some(log.clone()));
        prop_assert_eq!(offers_table(&bytes).rows(), log.len());
        let mut again = Simulation::new(&scenario, None).expect("a world");
        again.replay(&bytes).expect("its own log");
        again.advance(Time::MAX).expect("time moves");
        prop_assert_eq!(&digest, &again.finish(false).expect("packets are conserved").summary.digest);
        prop_assert_eq!(&departures, &same);
        prop_assert!(departures.is_sorted_by_key(|departure| departure.at));
        let mut tickets: Vec<u32> = departures.iter().map(|departure| departure.ticket).collect();
        tickets.sort_unstable();
        let left = tickets.len();
        tickets.dedup();
        prop_assert_eq!(tickets.len(), left, "a packet leaves once");
        for departure in departures {
            let logged = log[departure.ticket as usize];
            prop_assert_eq!((departure.flow, departure.from), (logged.flow, logged.from));
            prop_assert!(departure.at >= logged.at);
        }
    }
}

#[test]
fn a_packet_that_cannot_enter_is_refused_and_says_why() {
    let mut simulation = Simulation::new(&scenario(false), None).expect("a world");
    let offer = Offer { flow: 0, from: End::User, bytes: 100, ecn: Ecn::NotEct, class: None, ticket: 1, header: &[] };
    assert_eq!(simulation.offer(&Offer { flow: 3, ..offer }), Err(OfferError::NoFlow { flow: 3, flows: 3 }));
    assert_eq!(simulation.offer(&Offer { flow: 2, ..offer }), Err(OfferError::NotExternal(2)));
    assert_eq!(simulation.offer(&Offer { class: Some(1), ..offer }), Err(OfferError::NoClass { class: 1, classes: 1 }));
    assert_eq!(simulation.offer(&Offer { bytes: 1116, ..offer }), Err(OfferError::Bytes { bytes: 1116, most: 1115 }));
    assert_eq!(simulation.offer(&offer), Ok(()));
    simulation.advance(Time::MAX).expect("time moves");
    let departure = simulation.poll_departure().expect("it arrives");
    assert_eq!((departure.ticket, departure.fate), (1, Fate::Delivered(Ecn::NotEct)));
    assert_eq!(simulation.poll_departure(), None);
    let flow = &simulation.finish(false).expect("packets are conserved").summary.flows[0];
    assert_eq!((flow.transport, flow.traffic), ("external", "external"));
}

#[test]
fn a_class_to_which_only_packets_from_outside_belong_is_not_without_flows() {
    let warnings = |class| {
        let mut simulation = Simulation::new(&scenario(false), None).expect("a world");
        let offer = Offer { flow: 0, from: End::User, bytes: 100, ecn: Ecn::NotEct, class, ticket: 1, header: &[] };
        simulation.offer(&offer).expect("it fits");
        simulation.advance(Time::MAX).expect("time moves");
        simulation.finish(false).expect("packets are conserved").summary.warnings.concat()
    };
    assert!(warnings(None).contains("no flow belongs to the class \"voice\""));
    assert!(!warnings(Some(0)).contains("no flow belongs"));
}

#[test]
fn packets_from_outside_have_no_direction_of_their_data() {
    let error = scenario(false).assign("flows.0.direction=up").and_then(|up| up.check()).unwrap_err().to_string();
    assert!(error.starts_with("flows.0.direction: \"up\" was given: packets from outside go both ways"), "{error}");
}

#[test]
fn what_is_no_log_of_the_scenario_is_refused_with_its_line() {
    let refusal = |log: &[u8]| Simulation::new(&scenario(false), None).expect("a world").replay(log);
    let at = |millis: u64, flow: u32| {
        let (at, from) = (Time::from_nanos(millis * 1_000_000), End::Server);
        LoggedOffer { at, flow, from, bytes: 100, ecn: Ecn::NotEct, class: None }.to_bytes()
    };
    assert_eq!(refusal(&[at(1, 0), at(2, 1)].concat()), Ok(()));
    assert_eq!(refusal(&[at(2, 0), at(1, 0)].concat()), Err(ReplayError::TimeRunsBack(1)));
    assert_eq!(refusal(&at(1, 2)), Err(ReplayError::Refused(0, OfferError::NotExternal(2))));
    assert_eq!(refusal(&at(1, 0)[1..]), Err(ReplayError::NotALog(0)));
    let mut no_end = at(1, 0);
    no_end[20] = 2;
    assert_eq!(refusal(&no_end), Err(ReplayError::NotALog(0)));
}
