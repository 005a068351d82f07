//! L4S on the last hop: Prague and CUBIC through the coupled queues of RFC 9332, with accurate feedback.

use crate::util::{LABORATORY, run};
use link::{DropReason, SchedulerConfig};
use sim::Summary;

const DUALPI2: &str = "last_hop.queue=dualpi2";
const ROOMY: &str = "last_hop.scheduler.buffer=250 ms";
const NOTED: &str = "record.queue_delays=true";

/// One flow of each kind at once, over 20 Mbit/s and 40 ms without a queue.
fn beside(others: &[&str], edits: &[&str]) -> Summary {
    let flow = |congestion: &str| {
        format!(
            "{{ transport = {{ kind = \"tcp\", congestion = \"{congestion}\" }}, traffic = {{ kind = \"bulk\" }} }}"
        )
    };
    let flows = format!("flows=[{}]", others.iter().map(|other| flow(other)).collect::<Vec<_>>().join(", "));
    let path = ["path.delay=15 ms", "last_hop.delay=5 ms", "last_hop.rate=20 Mbit/s", "duration=60 s"];
    let fixed = [flows.as_str(), ROOMY, NOTED, "record.series=false"];
    run(LABORATORY, &[&path[..], &fixed[..], edits].concat()).summary
}

/// RFC 9332 section 2.1: with k = 2 flows of both kinds have about the same rate at the same round-trip time, while one
/// waits a millisecond and the others the target. (Beside Reno alone it is twice the rate: the mean of a square exceeds
/// the square of the mean, and one sawtooth moves p' most.)
#[test]
fn prague_and_classic_flows_share_alike_and_prague_does_not_wait() {
    for classic in [&["cubic"][..], &["cubic", "reno"]] {
        let summary = beside(&[&["prague"], classic].concat(), &[DUALPI2]);
        let (prague, others) = summary.flows.split_first().expect("flows");
        let wait = (prague.queue_delay_p50_s.unwrap(), prague.queue_delay_p99_s.unwrap());
        // All are marked from 1.2 ms on; a packet being sent takes 0.6 ms.
        assert!(wait.1 < 0.002, "{wait:?}");
        assert!(prague.marked_packets > 100);
        assert_eq!(prague.retransmitted_packets, 0, "nothing of low latency is lost");
        for other in others {
            let ratio = prague.goodput_bps / other.goodput_bps;
            let waits = (other.queue_delay_p50_s.unwrap(), other.queue_delay_p99_s.unwrap());
            println!("{:?}: ratio {ratio:.2}, waits {wait:?} {waits:?}", other.congestion);
            assert!((0.5..2.0).contains(&ratio), "{:?}: {ratio}", other.congestion);
            assert!((0.010..0.020).contains(&waits.0), "about the target of 15 ms, {waits:?}");
            assert_eq!(other.marked_packets, 0, "it is not ECT");
        }
        let all: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
        assert!(all > 0.85 * 20e6, "{all}");
    }
}

/// The same flows through one queue: what L4S is for.
#[test]
fn without_a_second_queue_both_wait() {
    let summary = beside(&["prague", "cubic"], &["last_hop.queue=droptail"]);
    let waits: Vec<f64> = summary.flows.iter().map(|flow| flow.queue_delay_p50_s.unwrap()).collect();
    println!("{waits:?}");
    assert!(waits.iter().all(|&wait| wait > 0.05), "{waits:?}");
}

/// A Prague flow alone keeps the link busy with a queue of about a packet.
#[test]
fn prague_alone_fills_the_link_without_a_queue() {
    let summary = beside(&["prague"], &[DUALPI2]);
    let flow = &summary.flows[0];
    println!("{:.3} Mbit/s, {:?}", flow.goodput_bps / 1e6, flow.queue_delay_p99_s);
    assert!(flow.goodput_bps > 0.85 * 20e6, "{}", flow.goodput_bps);
    assert!(flow.queue_delay_p99_s.unwrap() < 0.002);
    assert_eq!(summary.conservation.dropped, 0);
}

/// Every mark that the manager makes arrives, and every drop is counted as its own.
#[test]
fn marks_and_drops_add_up() {
    let summary = beside(&["prague", "cubic", "reno"], &[DUALPI2]);
    let (made, arrived) =
        (summary.last_hop.marked_packets, summary.flows.iter().map(|flow| flow.marked_packets).sum::<u64>());
    assert!(arrived <= made && made - arrived <= summary.last_hop.in_flight as u64, "{arrived} of {made}");
    assert!(summary.last_hop.dropped[DropReason::Early] > 0);
    assert_eq!(summary.conservation.dropped, summary.last_hop.dropped[DropReason::Early]);
}

/// Under every scheduler that takes a manager, with several users.
#[test]
fn every_scheduler_serves_two_queues() {
    for scheduler in SchedulerConfig::ALL {
        let config = SchedulerConfig::with_defaults(scheduler);
        if config.entry().manages_queues() || config.entry().check_chooser(&[]).is_err() {
            continue; // it takes no manager, or asks a user's code
        }
        let own = format!("last_hop.scheduler={{kind=\"{scheduler}\", buffer=\"250 ms\"}}");
        let edits =
            [own.as_str(), DUALPI2, NOTED, "flows.0.count=3", "flows.0.transport.congestion=prague", "duration=8 s"];
        let summary = run(LABORATORY, &edits).summary;
        let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
        println!("{scheduler}: {goodput:.0}");
        assert!(goodput > 0.6 * 10e6, "{scheduler}: {goodput}");
        assert!(summary.last_hop.marked_packets > 0, "{scheduler}");
    }
}

/// What is noted steers nothing, also where the last hop would not simulate bursts.
#[test]
fn notes_of_waits_do_not_steer() {
    for edits in [&[][..], &[DUALPI2, "flows.0.transport.congestion=prague"], &["last_hop.queue=codel"]] {
        let digest = |more: &[&str]| run(LABORATORY, &[edits, more].concat()).summary.digest;
        assert_eq!(digest(&[]), digest(&[NOTED]), "{edits:?}");
    }
    let flow = &run(LABORATORY, &[NOTED]).summary.flows[0];
    let unnoted = &run(LABORATORY, &[]).summary.flows[0];
    assert!(unnoted.queue_delay_p50_s.is_none());
    // One way: 30 ms, 10 ms, a packet of 1500 B at 10 Mbit/s, and the wait.
    let expected = flow.one_way_delay_mean_s.unwrap() - 0.0412;
    assert!((flow.queue_delay_mean_s.unwrap() - expected).abs() < 1e-4, "{expected} {:?}", flow.queue_delay_mean_s);
}

/// DCTCP over its own kind of queue: a threshold that marks.
#[test]
fn dctcp_keeps_a_queue_at_its_threshold() {
    let threshold = "last_hop.queue={kind=\"droptail\", mark_above=\"5 ms\"}";
    let edits = [threshold, ROOMY, NOTED, "flows.0.transport.congestion=dctcp", "duration=30 s"];
    let summary = run(LABORATORY, &edits).summary;
    let flow = &summary.flows[0];
    println!("{:.0} {:?} {:?}", flow.goodput_bps, flow.queue_delay_p50_s, flow.queue_delay_p99_s);
    assert!(flow.goodput_bps > 0.85 * 10e6, "{}", flow.goodput_bps);
    assert!(flow.queue_delay_p50_s.unwrap() < 0.010, "{:?}", flow.queue_delay_p50_s);
    assert_eq!(summary.conservation.dropped, 0);
}

/// What the application or the peer's window holds back is not held back by the congestion window, also where pacing
/// delays it: the window grows to about twice what is in flight in slow start, as that of a classic controller.
#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    let mean = |congestion: &str, edit: &str| {
        let transport = format!("flows.0.transport={{kind=\"tcp\", congestion=\"{congestion}\", pacing=true}}");
        let edits = [&transport, "path.delay=40 ms", "last_hop.scheduler.buffer=1500 kB", "duration=30 s", edit];
        run(LABORATORY, &edits).summary.flows[0].cwnd_mean_packets.unwrap()
    };
    // 76 segments at most.
    let by_peer = "flows.0.transport.receive_buffer=80 kB";
    let by_application = "flows.0.traffic={kind=\"live\", rate=\"5 Mbit/s\"}";
    let classic = mean("reno", by_application);
    for congestion in ["prague", "dctcp"] {
        let window = mean(congestion, by_peer);
        assert!((76.0..154.0).contains(&window), "{congestion}: {window}");
        let window = mean(congestion, by_application);
        assert!((0.5..1.5).contains(&(window / classic)), "{congestion}: {window}, {classic}");
    }
}
