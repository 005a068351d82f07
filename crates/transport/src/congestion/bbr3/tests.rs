//! Single steps of the controller, with acknowledgments written out.

use super::*;
use crate::congestion::tests::{RTT, sample, start};
use crate::congestion::{Congestion, RateSample};

/// A controller in ProbeBW_UP: 1000 segments per second, 100 ms, and a safe volume of 200 segments, all in flight.
fn probing() -> Bbr3 {
    let mut bbr = Bbr3::new(start(10));
    on_ack(&mut bbr, 100, 100, CongestionState::Open);
    bbr.full_reached = true;
    probe_upward(&mut bbr, 200);
    bbr
}

fn probe_upward(bbr: &mut Bbr3, longterm: u32) {
    bbr.state = State::Up;
    bbr.cycle.is_probe_sample = true;
    bbr.window.size = longterm;
    bbr.model.longterm = longterm;
}

/// An acknowledgment at so many milliseconds, of a segment that was sent 100 ms before.
fn on_ack(bbr: &mut Bbr3, ms: u64, delivered_total: u64, state: CongestionState) {
    let rate = RateSample {
        delivered: 100,
        lost: 0,
        prior_delivered: delivered_total - 100,
        tx_in_flight: 100,
        interval: Some(RTT),
        app_limited: false,
        retransmitted: false,
    };
    let now = Time::ZERO + Duration::from_millis(ms);
    bbr.on_ack(&AckSample { delivered_total, in_flight: 150, rate: Some(rate), state, ..sample(now, 1, RTT) });
}

/// So many segments of a full window are lost at once.
fn lose(bbr: &mut Bbr3, ms: u64, lost: u32) {
    let tx_in_flight = bbr.window.size;
    for lost_since in 1..=lost {
        let lost = LostSegment { tx_in_flight, lost_since, app_limited: false };
        bbr.on_event(Time::ZERO + Duration::from_millis(ms), &Event::Lost(lost));
    }
}

fn reduce(bbr: &mut Bbr3, ms: u64) {
    let now = Time::ZERO + Duration::from_millis(ms);
    let congestion =
        Congestion { now, cause: Cause::Loss, from: 200, in_flight: 150, srtt: RTT, min_rtt: RTT, mss: 1000 };
    bbr.on_event(now, &Event::Congestion(congestion));
}

/// "Handling Spurious Fast Recovery": the probe that its losses ended is begun anew, with the safe volume of before.
#[test]
fn a_probe_that_a_spurious_recovery_ended_is_begun_anew() {
    let mut bbr = probing();
    // The fifth of 200 is more than 2 %.
    lose(&mut bbr, 101, 10);
    assert_eq!(bbr.state, State::Down);
    assert!(bbr.model.longterm < 200, "{}", bbr.model.longterm);
    reduce(&mut bbr, 101);
    // Each round trip of the recovery has losses of its own.
    for (ms, delivered) in [(101, 101), (202, 202), (303, 303)] {
        on_ack(&mut bbr, ms, delivered, CongestionState::Recovery);
        lose(&mut bbr, ms, 1);
    }
    bbr.on_event(Time::ZERO + Duration::from_millis(304), &Event::Undone);
    assert_eq!((bbr.state, bbr.model.longterm), (State::Refill, 200));
}

/// The state before the second episode is kept, not that before the first. Losses come before an acknowledgment (TCP)
/// or after it (QUIC).
#[test]
fn each_episode_of_losses_has_its_own_state_before() {
    for quic in [false, true] {
        let mut bbr = probing();
        for longterm in [200, 150] {
            probe_upward(&mut bbr, longterm);
            let at = u64::from(300 - longterm);
            if quic {
                on_ack(&mut bbr, at, at, CongestionState::Open);
            }
            probe_upward(&mut bbr, longterm);
            lose(&mut bbr, at, 10);
            reduce(&mut bbr, at);
            assert_eq!(bbr.before_loss.longterm, longterm);
            on_ack(&mut bbr, at + 10, at + 10, CongestionState::Recovery);
            on_ack(&mut bbr, at + 20, at + 20, CongestionState::Open);
        }
        bbr.on_event(Time::ZERO + Duration::from_millis(300), &Event::Undone);
        assert_eq!((bbr.state, bbr.model.longterm), (State::Refill, 150));
    }
}

/// A second reduction in one and the same recovery, such as a time-out's, is an episode of its own.
#[test]
fn a_reduction_within_a_recovery_is_an_episode_of_its_own() {
    let mut bbr = probing();
    lose(&mut bbr, 101, 10);
    reduce(&mut bbr, 101);
    let lowered = bbr.model.longterm;
    reduce(&mut bbr, 102);
    bbr.on_event(Time::ZERO + Duration::from_millis(103), &Event::Undone);
    assert_eq!((bbr.state, bbr.model.longterm), (State::Down, lowered));
}
