//! Reductions without a sender: ten segments in flight, NewReno.

use super::*;
use crate::congestion::{CongestionConfig, NewRenoConfig};
use crate::profile::Profile;
use crate::tcp::config::TcpConfig;
use crate::tcp::send::scoreboard::Order;

/// A full window of ten segments, nothing of which has arrived.
fn ten() -> (CongestionWindow, Scoreboard, Rtt) {
    let congestion = CongestionConfig::NewReno(NewRenoConfig::default());
    let settings = Arc::new(TcpConfig { congestion, profile: Profile::Linux, ..TcpConfig::default() }.resolve(1500));
    let mut board = Scoreboard::new(1, 1000, Order::Unknown, false);
    for _ in 0..10 {
        board.send(Time::ZERO, 1000, false, 0);
    }
    (CongestionWindow::new(&settings, 1000, 10, 0), board, Rtt::new(&settings))
}

/// RFC 6937 section 3: half as many segments go as are delivered, until no more are in flight than the threshold; then
/// as many as are delivered. At the end the window is at the threshold.
#[test]
fn a_reduction_is_spread_over_what_is_delivered() {
    let (mut cwnd, board, rtt) = ten();
    assert!(cwnd.enter_recovery(Time::ZERO, false, &board, &rtt));
    let mut in_flight = 9; // one is lost
    let mut sent = Vec::new();
    for _ in 0..9 {
        in_flight -= 1;
        cwnd.reduce(Step { delivered: 1, lost: 0, advanced: false, in_flight });
        sent.push(cwnd.window().size - in_flight);
        for _ in in_flight..cwnd.window().size {
            cwnd.on_sent();
        }
        in_flight = cwnd.window().size;
    }
    assert_eq!(sent, [1, 0, 1, 0, 1, 0, 0, 1, 1]);
    cwnd.end_reduction(Time::ZERO, false);
    assert_eq!((cwnd.window().size, cwnd.window().threshold, cwnd.state()), (5, 5, CongestionState::Open));
}

#[test]
fn a_loss_after_a_mark_reduces_nothing_more_and_is_not_undone() {
    let (mut cwnd, board, rtt) = ten();
    assert!(cwnd.enter_cwr(Time::ZERO, &board, &rtt));
    assert!(!cwnd.enter_cwr(Time::ZERO, &board, &rtt));
    assert!(!cwnd.enter_recovery(Time::ZERO, false, &board, &rtt));
    assert_eq!(cwnd.window().threshold, 5);
    cwnd.undo(Time::ZERO);
    assert_eq!(cwnd.window().threshold, 5);
}

#[test]
fn a_spurious_time_out_is_taken_back() {
    let (mut cwnd, board, rtt) = ten();
    cwnd.enter_loss(Time::ZERO, true, &board, &rtt);
    assert_eq!((cwnd.window().threshold, cwnd.state()), (5, CongestionState::Loss));
    cwnd.collapse(Time::ZERO, 1);
    cwnd.undo(Time::ZERO);
    assert_eq!((cwnd.window().size, cwnd.window().threshold), (10, Window::NO_THRESHOLD));
}

/// Linux's is_cwnd_limited and tcp_is_cwnd_limited: slow start goes on with half the window, which is not full.
#[test]
fn half_a_window_limits_slow_start_and_is_not_full() {
    let (mut cwnd, board, rtt) = ten();
    cwnd.control.window_mut().size = 19;
    assert!(!cwnd.validate(Time::ZERO, false, &board, &rtt));
    assert!(cwnd.is_window_limited() && !cwnd.is_full());
    assert!(!cwnd.validate(Time::ZERO, true, &board, &rtt));
    assert!(cwnd.is_window_limited() && cwnd.is_full());
}
