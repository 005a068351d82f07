//! Each category with requests by itself.

use super::*;

/// The slots that a category requests in successive frames, all of which are granted.
fn frames(demand: &mut dyn Demand, count: usize) -> Vec<u64> {
    let mut frame = || {
        let wanted = demand.wanted(0);
        demand.on_granted(0, wanted as u32);
        wanted
    };
    (0..count).map(|_| frame()).collect()
}

fn need(slots: u64, arrived_slots: u64) -> Need {
    let arrived_bits = 920 * arrived_slots;
    Need { slots, arrived_bits, base_bits: 0.0, base_until_effect_bits: 0.0, frames_until_effect: 0.0 }
}

/// RBDC that requests the latest arrivals and the whole uncovered backlog.
fn at_once() -> Rbdc {
    Rbdc { horizon: FRAME, averaging: Duration::from_nanos(1), ..Rbdc::default() }
}

#[test]
fn a_rate_expires_unless_it_is_asked_for_again() {
    let facts = FrameFacts { superframe_frames: 2, ..facts() };
    let mut rates = Capacity::Rbdc(at_once()).entry().build(facts, 2, 1).unwrap();
    assert_eq!(frames(&mut *rates, 1), [0]);
    assert_eq!(rates.request(0, &need(10, 0)), Some(5 * 920)); // a request every two frames
    rates.handle_request(0, 5 * 920, 0);
    assert_eq!(frames(&mut *rates, 6), [5, 5, 5, 5, 0, 0]);
    assert_eq!(rates.request(0, &need(2, 0)), Some(920));
    rates.handle_request(0, 920, 0);
    assert_eq!(frames(&mut *rates, 1), [1]);
}

#[test]
fn a_new_rate_replaces_the_former() {
    let mut rates = Capacity::Rbdc(at_once()).entry().build(facts(), 1, 1).unwrap();
    let requested: Vec<_> = [5, 8, 8, 15, 15, 15].into_iter().map(|slots| rates.request(0, &need(slots, 0))).collect();
    assert_eq!(requested, [Some(5 * 920), Some(3 * 920), Some(0), Some(7 * 920), Some(0), None]);
    let mut seen = Vec::new();
    for requested in requested.into_iter().flatten() {
        rates.handle_request(0, requested, 0);
        seen.append(&mut frames(&mut *rates, 1));
    }
    assert_eq!(seen, [5, 3, 0, 7, 0]);
}

#[test]
fn a_rate_is_that_of_arrivals_and_part_of_what_will_wait_uncovered() {
    let rates = |rbdc: Rbdc| Capacity::Rbdc(rbdc).entry().build(facts(), 1, 1).unwrap();
    // A tenth of the uncovered backlog in each frame.
    let mut slow = rates(Rbdc { horizon: FRAME * 10, ..at_once() });
    assert_eq!(slow.request(0, &need(20, 0)), Some(2 * 920));
    assert_eq!(slow.request(0, &need(22, 0)), Some(2 * 920)); // two of 22 are in flight
    // Five arrive in a frame, and five more before the request of the frame before takes effect.
    let growing = |slots, arrived| Need { frames_until_effect: 1.0, ..need(slots, arrived) };
    let mut steady = rates(at_once());
    assert_eq!(steady.request(0, &growing(0, 5)), Some((5 + 5) * 920));
    assert_eq!(steady.request(0, &growing(5, 10)), Some(5 * 920)); // ten wait or arrive, ten are in flight
    // After 22 frames the mean over 22 frames has 1 - 1/e of a rate; with so long a horizon the backlog hardly counts.
    let mut mean = rates(Rbdc { horizon: Duration::from_secs(1_000_000_000), averaging: FRAME * 22, ..at_once() });
    let requested = (1..=220).map(|frame| mean.request(0, &need(10_000, 10 * frame)).unwrap() / 920);
    let requested: Vec<u64> = requested.collect();
    assert_eq!([requested[0], requested[21], requested[219]], [1, 7, 10]); // 0.44, 6.3 and 10.0 slots, rounded up
    // The base rate sends 2 of the 5 slots that arrive in a frame, and of those of the round trip.
    let sent = |frames| Need {
        base_bits: 2.0 * 920.0,
        base_until_effect_bits: frames * 2.0 * 920.0,
        frames_until_effect: 6.0,
        ..need(0, 5)
    };
    assert_eq!(rates(at_once()).request(0, &sent(6.0)), Some((3 + 6 * 3) * 920));
    // Before the connection stands it sends nothing.
    assert_eq!(rates(at_once()).request(0, &sent(0.0)), Some((3 + 6 * 5) * 920));
    // A burst time plan that granted half of the last request is expected to do so again: 5 of the 10 in flight.
    let mut short = rates(at_once());
    for waiting in [10, 20] {
        assert_eq!(short.request(0, &need(waiting, 0)), Some(10 * 920));
    }
    short.handle_request(0, 10 * 920, 0);
    assert_eq!(short.wanted(0), 10);
    short.on_granted(0, 5);
    assert_eq!(short.request(0, &need(15, 0)), Some(10 * 920));
}

#[test]
fn volumes_add_up_and_absolute_ones_replace() {
    let heeded = |capacity: Capacity| {
        let mut demand = capacity.entry().build(facts(), 1, 1).unwrap();
        let first = demand.request(0, &need(10, 10)).unwrap();
        demand.handle_request(0, first, 0);
        let second = demand.request(0, &need(13, 13)).unwrap();
        demand.handle_request(0, second, 2);
        (first, second, demand.wanted(0))
    };
    assert_eq!(heeded(Capacity::Vbdc(Vbdc::default())), (10, 3, 13));
    assert_eq!(heeded(Capacity::Avbdc(Avbdc::default())), (10, 13, 11));
}

#[test]
fn a_rate_that_is_replaced_early_is_not_expected_any_more() {
    let mut rates = Capacity::Rbdc(at_once()).entry().build(facts(), 1, 1).unwrap();
    for waiting in [10, 20] {
        assert_eq!(rates.request(0, &need(waiting, 0)), Some(10 * 920));
    }
    rates.handle_request(0, 10 * 920, 0);
    rates.handle_request(0, 10 * 920, 0); // the path has become shorter: both requests arrive at once
    assert_eq!(rates.request(0, &need(20, 0)), Some(10 * 920));
}

#[test]
fn a_rate_holds_until_the_next_request_can_come() {
    let mut rates = Capacity::Rbdc(at_once()).entry().build(facts(), 5, 1).unwrap();
    assert_eq!(rates.request(0, &need(5, 0)), Some(920));
    rates.handle_request(0, 920, 0);
    assert_eq!(frames(&mut *rates, 6), [1, 1, 1, 1, 1, 0]);
}

#[test]
fn an_absolute_volume_is_taken_back_and_forgotten() {
    let mut volumes = Capacity::Avbdc(Avbdc::default()).entry().build(facts(), 1, 1).unwrap();
    let requested = [10, 0, 0].map(|slots| volumes.request(0, &need(slots, 10)));
    assert_eq!(requested, [Some(10), Some(0), None]);
    volumes.handle_request(0, 10, 0);
    volumes.handle_request(0, 0, 0);
    assert_eq!(volumes.wanted(0), 0);
    volumes.handle_request(0, 10, 0);
    volumes.forget(0, 0);
    assert_eq!(volumes.wanted(0), 0);
}
