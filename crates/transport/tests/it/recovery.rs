//! Loss recovery, told packet by packet: RFC 6675, RFC 6582, RFC 3042, RFC 6298.

use crate::util::{Script, in_flight, ms, no_sack, settings};
use transport::{CongestionState, Flags, RtoFloor, RtoRestart, Segment, Settings};

const NOTHING: [&str; 0] = [];

/// A client that has sent its first ten segments, 100 ms after the SYN.
fn ten_sent(settings: Settings, bytes: u64) -> Script {
    let mut script = Script::sender(settings, ms(100), bytes);
    let sent = script.sends();
    assert_eq!((sent.len(), sent[0].as_str(), sent[9].as_str()), (10, "1:1001", "9001:10001"));
    script.after(100);
    script
}

/// RFC 3042, then RFC 6675 section 5: two new segments, the head, and more when the pipe has drained to the halved
/// window.
#[test]
fn fast_retransmit_with_sack() {
    let mut script = ten_sent(settings(), 100_000);
    assert_eq!(script.ack(1, &[(1001, 2001)]), ["10001:11001"]);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Disorder);
    assert_eq!(script.ack(1, &[(1001, 3001)]), ["11001:12001"]);
    assert_eq!(script.ack(1, &[(1001, 4001)]), ["1:1001 again"]);
    let info = script.connection.info();
    assert_eq!((info.congestion_state, info.lost, in_flight(&info)), (CongestionState::Recovery, 1, 9));
    assert_eq!((info.window, info.slow_start_threshold), (5, Some(5)));
    for end in [5001, 6001, 7001, 8001] {
        assert_eq!(script.ack(1, &[(1001, end)]), NOTHING);
    }
    assert_eq!(script.ack(1, &[(1001, 9001)]), ["12001:13001"]);
    assert_eq!(script.ack(1, &[(1001, 10_001)]), ["13001:14001"]);
    assert_eq!(script.ack(10_001, &[]), ["14001:15001"]);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Recovery, "12001 is the recovery point");
    assert_eq!(script.ack(12_001, &[]).len(), 2);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Open);
    assert_eq!((script.window(), script.connection.counters().dupack_events), (5.0, 1));
}

/// RFC 6937 section 3.1, what it tells of RFC 6675, with the FlightSize of RFC 5681, which leaves out limited transmit:
/// a silence of half a window, then one for one.
#[test]
fn the_silence_of_rfc_6675() {
    let mut script = Script::sender(Settings { initial_window: 20, ..settings() }, ms(100), 100_000);
    assert_eq!(script.count(), 20);
    let mut pattern = String::new();
    for number in 1..20 {
        let sent = script.ack(1, &[(1001, 1001 + 1000 * number)]);
        pattern += match sent.as_slice() {
            [] => ".",
            [one] if one.ends_with("again") => "R",
            [_] => "N",
            more => panic!("{more:?}"),
        };
    }
    assert_eq!(pattern, "NNR.........NNNNNNN");
}

/// RFC 6937 section 3.1, second example: fifteen lost. The halved window is filled at once.
#[test]
fn the_burst_of_rfc_6675() {
    let mut script = Script::sender(Settings { initial_window: 20, ..settings() }, ms(100), 100_000);
    assert_eq!(script.count(), 20);
    assert_eq!(script.ack(1, &[(15_001, 16_001)]), ["20001:21001"]);
    assert_eq!(script.ack(1, &[(15_001, 17_001)]), ["21001:22001"]);
    let burst = script.ack(1, &[(15_001, 18_001)]);
    let expected: Vec<String> = (0..6).map(|n| format!("{}:{} again", 1 + 1000 * n, 1001 + 1000 * n)).collect();
    assert_eq!(burst, expected);
    assert_eq!(script.ack(1, &[(15_001, 19_001)]), ["6001:7001 again"]);
    assert_eq!(script.ack(1, &[(15_001, 20_001)]), ["7001:8001 again"]);
}

#[test]
fn without_limited_transmit_the_window_stays_shut() {
    for settings in [settings(), no_sack()] {
        let told = usize::from(settings.sack); // how many blocks the peer tells
        let mut script = ten_sent(Settings { limited_transmit: false, ..settings }, 100_000);
        assert_eq!(script.ack(1, &[(1001, 2001)][..told]), NOTHING);
        assert_eq!(script.ack(1, &[(1001, 3001)][..told]), NOTHING);
        assert_eq!(script.ack(1, &[(1001, 4001)][..told]), ["1:1001 again"]);
    }
}

/// RFC 6675 NextSeg rule 3: nothing lost, nothing new, but room.
#[test]
fn room_without_new_data_is_used_for_what_may_be_lost() {
    let mut script = ten_sent(settings(), 10_000);
    script.ack(1, &[(1001, 2001)]);
    script.ack(1, &[(1001, 3001)]);
    assert_eq!(script.ack(1, &[(1001, 4001)]), ["1:1001 again"]);
    assert_eq!(script.ack(1, &[(8001, 9001), (1001, 4001)]), NOTHING);
    assert_eq!(script.ack(1, &[(8001, 10_001), (1001, 4001)]), NOTHING);
    assert_eq!(script.ack(4001, &[(8001, 10_001)]), ["4001:5001 again"]);
}

/// RFC 6675 NextSeg rule 4: one rescue for each recovery.
#[test]
fn a_lost_tail_is_rescued_once() {
    let mut script = ten_sent(settings(), 10_000);
    script.ack(1, &[(1001, 2001)]);
    script.ack(1, &[(1001, 3001)]);
    assert_eq!(script.ack(1, &[(1001, 4001)]), ["1:1001 again"]);
    assert_eq!(script.ack(1, &[(5001, 6001), (1001, 4001)]), NOTHING);
    assert_eq!(script.ack(1, &[(5001, 7001), (1001, 4001)]), NOTHING);
    assert_eq!(script.ack(1, &[(5001, 8001), (1001, 4001)]), ["4001:5001 again", "9001:10001 again"]);
    assert_eq!(script.ack(4001, &[(5001, 8001)]), NOTHING);
    assert_eq!(script.ack(8001, &[]), NOTHING);
    assert_eq!(script.ack(8001, &[(9001, 10_001)]), ["8001:9001 again"], "the rescue shows what is missing: rule 3");
}

/// RFC 9937: proportional rate reduction says how much is sent, and RFC 6675 what.
#[test]
fn a_lost_tail_is_rescued_with_proportional_rate_reduction() {
    let mut script = ten_sent(Settings { prr: true, ..settings() }, 10_000);
    script.ack(1, &[(1001, 2001)]);
    script.ack(1, &[(1001, 3001)]);
    assert_eq!(script.ack(1, &[(1001, 4001)]), ["1:1001 again"]);
    let rest: Vec<_> = [6001, 7001, 8001].map(|end| script.ack(1, &[(5001, end), (1001, 4001)])).concat();
    assert_eq!(rest, ["4001:5001 again", "9001:10001 again"]);
}

/// RFC 6937: the reduction is from FlightSize, as the threshold is (RFC 5681 equation (4)), where the window is larger.
#[test]
fn proportional_rate_reduction_is_from_flight_size() {
    let mut script = Script::sender(Settings { initial_window: 80, prr: true, ..settings() }, ms(100), 40_000);
    assert_eq!(script.count(), 40);
    let sent: Vec<usize> = (6..40).map(|number| script.ack(1, &[(5001, 1 + 1000 * number)]).len()).collect();
    assert_eq!(script.connection.info().slow_start_threshold, Some(20));
    assert_eq!(sent[..12], [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0], "one for two that were delivered");
}

/// RFC 6582: dupacks inflate the window, each partial acknowledgment repairs one hole and deflates it.
#[test]
fn newreno_repairs_one_hole_per_partial_acknowledgment() {
    // 1, 2001 and 4001 are lost: seven duplicates and two of limited transmit
    let mut script = ten_sent(no_sack(), 100_000);
    assert_eq!(script.ack(1, &[]), ["10001:11001"]);
    assert_eq!(script.ack(1, &[]), ["11001:12001"]);
    assert_eq!(script.ack(1, &[]), ["1:1001 again"]);
    assert_eq!(script.window(), 5.0);
    for _ in 4..8 {
        assert_eq!(script.ack(1, &[]), NOTHING);
    }
    assert_eq!(script.ack(1, &[]), ["12001:13001"]);
    assert_eq!(script.ack(1, &[]), ["13001:14001"]);
    assert_eq!(script.ack(2001, &[]), ["2001:3001 again", "14001:15001"]);
    assert_eq!(script.ack(2001, &[]), ["15001:16001"]);
    assert_eq!(script.ack(4001, &[]), ["4001:5001 again", "16001:17001"]);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Recovery);
    assert_eq!(script.ack(14_001, &[]).len(), 2, "the window of five, three of them in flight");
    assert_eq!((script.connection.info().congestion_state, script.window()), (CongestionState::Open, 5.0));
    assert_eq!(script.connection.counters().dupack_events, 1);
}

/// RFC 6582 section 4: slow but steady, as Linux; each partial acknowledgment restarts the timer.
#[test]
fn newreno_is_slow_but_steady() {
    let mut script = ten_sent(no_sack(), 100_000);
    (0..3).for_each(|_| drop(script.ack(1, &[])));
    for ack in [1001, 2001, 3001] {
        assert_eq!(script.after(100).ack(ack, &[])[0], format!("{ack}:{} again", ack + 1000));
        assert_eq!(script.connection.poll_timeout().unwrap().since(script.now), ms(300));
    }
}

/// RFC 6582 section 3.2 step 1: duplicates of what was retransmitted after a time-out are no loss.
#[test]
fn newreno_does_not_retransmit_twice_below_recover() {
    let mut script = ten_sent(no_sack(), 100_000);
    assert_eq!(script.timeout().1, ["1:1001 again"]);
    script.after(100);
    assert_eq!(script.ack(6001, &[]).len(), 2);
    for _ in 0..6 {
        assert_eq!(script.ack(6001, &[]), NOTHING);
    }
    script.ack(10_001, &[]);
    (0..6).for_each(|_| drop(script.ack(10_001, &[])));
    let counters = script.connection.counters();
    assert_eq!((counters.dupack_events, counters.rto_events), (0, 1));
}

/// RFC 6298 (5.5), (5.6): the timer doubles up to a minute. ssthresh falls once.
#[test]
fn the_timer_backs_off() {
    let mut script = ten_sent(settings(), 100_000);
    let mut waits = vec![];
    for _ in 0..10 {
        let (wait, sent) = script.timeout();
        assert_eq!(sent, ["1:1001 again"]);
        waits.push(wait);
    }
    // the handshake measured 100 ms: SRTT 100, RTTVAR 50, and 100 ms of the first wait have passed
    assert_eq!(waits, [200, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000]);
    let info = script.connection.info();
    assert_eq!((info.slow_start_threshold, script.window()), (Some(5), 1.0));
    assert_eq!(script.connection.counters().rto_events, 10);
}

/// RFC 6298 (2.3): the variance counts at least as a tick of the clock.
#[test]
fn a_coarse_clock_is_in_the_time_out() {
    let mut script = Script::sender(
        Settings { rto_floor: RtoFloor::Total, min_rto: ms(100), timer_tick: ms(100), ..settings() },
        ms(150),
        0,
    );
    for number in 1..40 {
        script.write(1000);
        assert_eq!(script.count(), 1);
        script.after(150).ack(1 + 1000 * number, &[]);
    }
    assert_eq!(script.connection.info().rto, ms(300));
}

/// Karn: what was sent twice measures nothing, and the back-off stays until something does.
#[test]
fn karn() {
    let mut script = ten_sent(settings(), 100_000);
    script.timeout();
    let samples = script.connection.counters().rtt_samples;
    assert_eq!(script.after(50).ack(1001, &[]), ["1001:2001 again", "2001:3001 again"]);
    assert_eq!(script.connection.counters().rtt_samples, samples);
    assert_eq!(script.connection.info().rto, ms(600));
    script.after(50).ack(10_001, &[]);
    assert_eq!(script.connection.info().rto, ms(600));
    script.after(100).ack(11_001, &[]);
    assert_eq!(script.connection.counters().rtt_samples, samples + 1);
    assert_eq!(script.connection.info().rto, ms(300));
}

/// A retransmission that is SACKed measures nothing either.
#[test]
fn karn_with_sack() {
    let mut script = ten_sent(settings(), 10_000); // 1 and 2001 are lost
    script.ack(1, &[(1001, 2001)]);
    script.ack(1, &[(3001, 4001), (1001, 2001)]);
    script.ack(1, &[(3001, 8001), (1001, 2001)]);
    assert_eq!(script.ack(1, &[(3001, 10_001), (1001, 2001)]), NOTHING);
    assert_eq!(script.connection.counters().retransmitted_segments, 3, "the two and a rescue");
    let samples = script.connection.counters().rtt_samples;
    script.after(60).ack(1, &[(1001, 10_001)]);
    assert_eq!(script.connection.counters().rtt_samples, samples);
    assert_eq!(script.connection.info().min_rtt, Some(ms(100)));
}

/// RFC 5681 section 2: an update of the window is no duplicate acknowledgment.
#[test]
fn window_updates_are_no_duplicates() {
    let mut script = ten_sent(no_sack(), 100_000);
    for window in [60_000, 50_000, 40_000, 30_000, 65_000] {
        assert_eq!(script.ack_with_window(1, &[], window), NOTHING);
    }
    assert_eq!(script.connection.info().congestion_state, CongestionState::Open);
}

/// RFC 7323 section 4.1: only an acknowledgment of new data measures by its echo.
#[test]
fn an_echo_on_a_duplicate_measures_nothing() {
    let mut script = ten_sent(Settings { timestamps: true, ..settings() }, 100_000);
    let samples = script.connection.counters().rtt_samples;
    let ack = Segment { seq: 1, ack: 1, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
    script.after(50).handle(Segment { timestamps: Some((2, 1)), ..ack });
    assert_eq!(script.connection.counters().rtt_samples, samples);
}

/// RFC 7323 section 4.1: an echoed timestamp measures retransmissions as well.
#[test]
fn timestamps_measure_retransmissions() {
    let mut script = ten_sent(Settings { timestamps: true, mss: 1000, ..settings() }, 100_000);
    script.timeout();
    let (value, _) = script.last.unwrap().timestamps.unwrap();
    script.after(80);
    let ack = Segment { seq: 1, ack: 1001, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
    script.handle(Segment { timestamps: Some((2, value)), ..ack });
    assert_eq!(script.connection.info().min_rtt, Some(ms(80)));
    assert!(script.connection.info().rto < ms(400), "no back-off");
}

/// RFC 6675 section 5.1: slow start retransmits what is not SACKed, and fast recovery waits for the recovery point.
#[test]
fn slow_start_after_a_time_out() {
    let mut script = ten_sent(settings(), 100_000);
    script.ack(1, &[(5001, 6001)]);
    script.ack(1, &[(5001, 7001)]);
    assert_eq!(script.timeout().1, ["1:1001 again"]);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Loss);
    assert_eq!(script.after(100).ack(1001, &[(5001, 7001)]), ["1001:2001 again", "2001:3001 again"]);
    assert_eq!(script.ack(2001, &[(5001, 7001)]), ["3001:4001 again", "4001:5001 again"]);
    assert_eq!(
        script.ack(3001, &[(5001, 7001)]),
        ["7001:8001 again", "8001:9001 again"],
        "SACKed data do not go again"
    );
    // The timer expired for nothing: everything sent before it arrives late.
    script.ack(4001, &[(7001, 9001), (5001, 7001)]);
    assert_eq!(script.connection.counters().dupack_events, 0);
    script.ack(12_001, &[]);
    assert_eq!(script.connection.info().congestion_state, CongestionState::Open);
}

/// RFC 6675 does not notice that a retransmission is lost: the timer repairs it.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    // Duplicates come for 75 ms. Under Linux' rule those of the first 30 ms hold the timer back: what they tell of was
    // sent before the retransmission. SRTT is 110 ms by then.
    for (rto_restart, wait) in [(RtoRestart::NewData, 225), (RtoRestart::Linux, 265)] {
        let mut script = ten_sent(Settings { rto_restart, ..settings() }, 100_000);
        for end in [2001, 3001, 4001] {
            script.ack(1, &[(1001, end)]);
        }
        for end in (5001..20_001).step_by(1000) {
            assert!(!script.after(5).ack(1, &[(1001, end)]).iter().any(|text| text.starts_with("1:")));
        }
        assert_eq!(script.timeout(), (wait, vec!["1:1001 again".to_owned()]));
        let counters = script.connection.counters();
        assert_eq!((counters.dupack_events, counters.rto_events, counters.retransmitted_segments), (1, 1, 2));
    }
}

/// RFC 9293 section 3.8.6.1: a closed window is probed, less and less often, and data go on when it opens.
#[test]
fn a_zero_window_is_probed() {
    let mut script = ten_sent(settings(), 30_000);
    assert_eq!(script.ack_with_window(10_001, &[], 0), NOTHING);
    assert_eq!(script.connection.info().rto, ms(300));
    for wait in [300, 600, 1200] {
        assert_eq!(script.timeout(), (wait, vec!["ack 1".to_owned()]));
        assert_eq!(script.last.unwrap().seq, 10_000, "before the window, so that it is answered");
        assert_eq!(script.ack_with_window(10_001, &[], 0), NOTHING);
    }
    assert_eq!(script.ack_with_window(10_001, &[], 2500), ["10001:11001", "11001:12001"]);
    assert_eq!(script.ack_with_window(12_001, &[], 400), NOTHING, "no silly window");
    assert_eq!(script.timeout().1, ["12001:12401"], "but the persist timer cuts a segment");
    let counters = script.connection.counters();
    assert_eq!((counters.window_probes, counters.rto_events), (3, 0));
}

/// RFC 5681 section 4.1.
#[test]
fn an_idle_connection_starts_over() {
    let mut script = ten_sent(settings(), 30_000);
    for ack in (1001..=10_001).step_by(1000) {
        script.ack(ack, &[]);
    }
    assert_eq!(script.window(), 20.0);
    assert_eq!(script.after(100).ack(30_001, &[]), NOTHING);
    assert_eq!(script.window(), 21.0, "the window was full");
    script.after(150).write(20_000); // 250 ms after the last segment, and the RTO is 300 ms
    assert_eq!(script.count(), 20);
    assert_eq!(script.after(100).ack(50_001, &[]), NOTHING);
    let before = script.window();
    script.after(250).write(40_000);
    assert_eq!(script.count(), before as usize / 2, "half after one time-out");
}

/// A window that the application does not fill does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut script = Script::sender(settings(), ms(100), 0);
    for round in 0..5 {
        script.write(3000);
        assert_eq!(script.count(), 3);
        script.after(100).ack(3001 + 3000 * round, &[]);
    }
    assert_eq!(script.window(), 10.0);
}
