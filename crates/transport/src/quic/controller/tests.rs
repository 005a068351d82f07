use super::*;

fn at(millis: u64) -> Time {
    Time::ZERO + units::Duration::from_millis(millis)
}

/// NewReno with 20 packets sent, one each millisecond, of which the first is lost at 100 ms.
fn reduced() -> Core {
    let config = QuicConfig {
        congestion: serde_json::from_value(serde_json::json!({ "kind": "newreno" })).expect("a kind"),
        initial_window: 20,
        ..QuicConfig::default()
    };
    let mut core = Core::new(Facts { config, mtu: 1200, entropy: 1, clock: Clock::new() });
    for number in 0..20 {
        core.sent(at(number), number);
    }
    core.packets.fill_window();
    core.lost(at(100), 0);
    core.congested(at(100), at(0), false, false);
    assert_eq!((core.window(), core.threshold(), core.reductions), (10, Some(10), 1));
    core
}

/// RFC 9002 appendix B.8.
#[test]
fn persistent_congestion_within_a_reduction_leaves_the_threshold() {
    let mut core = reduced();
    core.congested(at(200), at(15), true, false);
    assert_eq!((core.window(), core.threshold(), core.timeouts), (LEAST_WINDOW, Some(10), 1));
    assert_eq!(core.state(), CongestionState::Loss);
}
