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
    bbr.state = Bbr3State::Up;
    bbr.cycle.is_probe_sample = true;
    bbr.window.size = longterm;
    bbr.model.longterm = longterm;
}

/// An acknowledgment at so many milliseconds, of a segment that was sent 100 ms before.
fn on_ack(bbr: &mut Bbr3, ms: u64, delivered_total: u64, state: CongestionState) {
    on_lossy_ack(bbr, ms, delivered_total, state, 0);
}

/// As [`on_ack`], with so many losses in a hundred, of which this acknowledgment tells one.
fn on_lossy_ack(bbr: &mut Bbr3, ms: u64, delivered_total: u64, state: CongestionState, lost: u32) {
    let rate = RateSample {
        delivered: 100,
        lost,
        prior_delivered: delivered_total - 100,
        tx_in_flight: 100,
        interval: Some(RTT),
        app_limited: false,
        retransmitted: false,
    };
    let now = Time::ZERO + Duration::from_millis(ms);
    let lost = lost.min(1);
    bbr.on_ack(&AckSample { delivered_total, lost, in_flight: 150, rate: Some(rate), state, ..sample(now, 1, RTT) });
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
    assert_eq!(bbr.state, Bbr3State::Down);
    assert!(bbr.model.longterm < 200, "{}", bbr.model.longterm);
    reduce(&mut bbr, 101);
    // Each round trip of the recovery has losses of its own.
    for (ms, delivered) in [(101, 101), (202, 202), (303, 303)] {
        on_ack(&mut bbr, ms, delivered, CongestionState::Recovery);
        lose(&mut bbr, ms, 1);
    }
    bbr.on_event(Time::ZERO + Duration::from_millis(304), &Event::Undone);
    assert_eq!((bbr.state, bbr.model.longterm), (Bbr3State::Refill, 200));
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
        assert_eq!((bbr.state, bbr.model.longterm), (Bbr3State::Refill, 150));
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
    assert_eq!((bbr.state, bbr.model.longterm), (Bbr3State::Down, lowered));
}

/// "Exiting Startup Based on Packet Loss": at the first acknowledgment of what was sent in recovery, not at the round
/// trip's end that comes first. TCP's recovery begins before an acknowledgment and goes on. QUIC's begins after one and
/// ends with that of the first packet that was sent in it.
#[test]
fn startup_ends_after_a_whole_round_trip_of_recovery() {
    for quic in [false, true] {
        let mut bbr = Bbr3::new(start(10));
        on_ack(&mut bbr, 100, 100, CongestionState::Open); // a round trip ends, and the next at 200
        if quic {
            on_ack(&mut bbr, 190, 190, CongestionState::Open);
            reduce(&mut bbr, 190);
        } else {
            reduce(&mut bbr, 190);
            on_lossy_ack(&mut bbr, 190, 190, CongestionState::Recovery, 10);
        }
        for ms in 191..290 {
            on_lossy_ack(&mut bbr, ms, ms, CongestionState::Recovery, 10);
            assert_eq!(bbr.state, Bbr3State::Startup, "{ms}");
        }
        on_lossy_ack(&mut bbr, 290, 290, if quic { CongestionState::Open } else { CongestionState::Recovery }, 10);
        assert_eq!((bbr.state, bbr.model.longterm), (Bbr3State::Drain, 100));
    }
}

/// A recovery that ended, or was undone, within a round trip counts for nothing in the next.
#[test]
fn a_short_recovery_does_not_end_startup() {
    for undone in [false, true] {
        let mut bbr = Bbr3::new(start(10));
        on_ack(&mut bbr, 100, 100, CongestionState::Open);
        reduce(&mut bbr, 190);
        for ms in 190..250 {
            on_lossy_ack(&mut bbr, ms, ms, CongestionState::Recovery, 10);
        }
        if undone {
            bbr.on_event(Time::ZERO + Duration::from_millis(250), &Event::Undone);
        } else {
            on_lossy_ack(&mut bbr, 250, 250, CongestionState::Open, 10);
        }
        reduce(&mut bbr, 251);
        for ms in 251..351 {
            on_lossy_ack(&mut bbr, ms, ms, CongestionState::Recovery, 10);
            assert_eq!(bbr.state, Bbr3State::Startup, "{ms}");
        }
        on_lossy_ack(&mut bbr, 351, 351, CongestionState::Recovery, 10);
        assert_eq!(bbr.state, Bbr3State::Drain);
    }
}

/// Fewer acknowledgments than six with losses are one burst.
#[test]
fn a_burst_of_losses_does_not_end_startup() {
    let mut bbr = Bbr3::new(start(10));
    on_ack(&mut bbr, 100, 100, CongestionState::Open);
    reduce(&mut bbr, 190);
    for ms in 190..291 {
        on_lossy_ack(&mut bbr, ms, ms, CongestionState::Recovery, if ms < 194 || ms == 290 { 10 } else { 0 });
    }
    assert_eq!(bbr.state, Bbr3State::Startup);
}

/// CheckProbeRTT: SaveCwnd() comes after EnterProbeRTT(), where it keeps the larger window.
#[test]
fn a_probe_of_the_round_trip_time_keeps_the_best_window_known() {
    let mut bbr = probing();
    bbr.before.window = 300;
    on_ack(&mut bbr, 5200, 300, CongestionState::Open);
    assert_eq!((bbr.state, bbr.before.window), (Bbr3State::ProbeRtt, 300));
}

/// The cycle begins with the loss, not with the acknowledgment before.
#[test]
fn a_cycle_begins_with_the_loss_that_ends_a_probe() {
    let mut bbr = probing();
    lose(&mut bbr, 150, 10);
    assert_eq!((bbr.state, bbr.cycle.since), (Bbr3State::Down, Time::ZERO + Duration::from_millis(150)));
}
