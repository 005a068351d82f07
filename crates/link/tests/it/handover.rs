//! Packet conversations while satellites change: what waits, what is in flight, and what is repeated when.

use std::sync::{Arc, Mutex};

use crate::common::{Run, Scripted, config, ms, packet, uniform_block_fading, us};
use channel::{CLEAR, Channel, ERASED};
use link::{DropReason, Output, Propagation, Transfer};
use serde_json::{Value, json};
use units::{Db, Duration, Time};

const KEEP: Transfer = Transfer::Keep;
const LOSE: Transfer = Transfer::Lose;

fn forward(millis: u64) -> Transfer {
    Transfer::Forward { delay: Duration::from_millis(millis) }
}

/// A full block at rate 1/2 takes 1 ms, and 5 ms to the user; only these bursts meet something else than a clear
/// channel.
fn hop(harq: &str, first: &[Db]) -> (Run, Arc<Mutex<Vec<Time>>>) {
    with(json!({ "harq": { "kind": harq } }), first)
}

fn with(mut settings: Value, first: &[Db]) -> (Run, Arc<Mutex<Vec<Time>>>) {
    (settings["rate"], settings["delay"]) = (json!("17.84 Mbit/s"), json!("5 ms"));
    let (channel, begun) = Scripted::new(first, CLEAR);
    (Run::of(settings, vec![channel], Some(&uniform_block_fading(4, 200))), begun)
}

/// Packets of a full block arrive at once.
fn offer(run: &mut Run, count: u32) {
    let first = run.offered as u32;
    (first..first + count).for_each(|id| run.offer(run.now, packet(id, 1115)));
}

fn begun_at(begun: &Mutex<Vec<Time>>) -> Vec<u64> {
    begun.lock().unwrap().iter().map(|at| at.as_nanos() / 1000).collect()
}

fn delivered_at(run: &Run) -> Vec<(u64, u32)> {
    run.delivered().into_iter().map(|(at, id)| (at.as_nanos() / 1000, id)).collect()
}

fn dropped(run: &Run, why: DropReason) -> Vec<u32> {
    let of = |(_, output): &(Time, Output)| match output {
        Output::Dropped(packet, reason) if *reason == why => Some(packet.id),
        _ => None,
    };
    run.log.iter().filter_map(of).collect()
}

#[test]
fn an_interruption_lets_the_burst_on_the_air_go_on_and_begins_no_other() {
    let (mut run, begun) = hop("fec", &[]);
    offer(&mut run, 3);
    run.hand_over(us(400), ms(3), KEEP);
    assert_eq!(run.hop.sending_until(), ms(1));
    run.finish();
    assert_eq!(begun_at(&begun), [0, 3000, 4000]);
    assert_eq!(delivered_at(&run), [(6000, 0), (9000, 1), (10_000, 2)]);
    let report = run.hop.report(Duration::from_millis(10));
    assert_eq!((report.handovers, report.dropped[DropReason::Handover], report.utilisation), (1, 0, 0.3));
}

/// A clear channel that notes when reports on it are made.
struct Reporting(Arc<Mutex<Vec<Time>>>);

impl Channel for Reporting {
    fn burst_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.0.lock().unwrap().push(now);
        CLEAR
    }
}

/// The report that is made at the instant of a handover goes to the satellite that serves until then, and is lost with
/// it: the next one is made an interval later.
#[test]
fn the_report_of_a_handovers_instant_is_that_of_the_old_satellite() {
    let made: Arc<Mutex<Vec<Time>>> = Arc::default();
    let settings = json!({
        "rate": "17.84 Mbit/s", "delay": "5 ms", "scheduler": { "kind": "pf" },
        "estimate": { "interval": "10 ms", "age": "15 ms" },
    });
    let channel = Reporting(Arc::clone(&made));
    let mut run = Run::of(settings, vec![Box::new(channel)], Some(&uniform_block_fading(4, 200)));
    run.hand_over(ms(20), ms(20), LOSE);
    assert_eq!(begun_at(&made), [0, 10_000, 20_000]);
    run.run_until(ms(30));
    run.hop.halt(ms(30));
    assert_eq!(begun_at(&made), [0, 10_000, 20_000, 30_000]);
}

#[test]
fn what_found_nobody_is_repeated_when_the_feedback_would_have_been_forwarded() {
    let (mut run, begun) = hop("stop-and-wait", &[]);
    offer(&mut run, 1);
    run.hand_over(ms(3), ms(4), forward(2));
    run.finish();
    // Received 6 ms, heard of 5 ms later, and 2 ms from one satellite to the other.
    assert_eq!((begun_at(&begun), delivered_at(&run)), (vec![0, 13_000], vec![(19_000, 0)]));
    assert_eq!((run.hop.harq().decoded_after[1], run.hop.harq().lost_feedback), (1, 1));
    assert_eq!(run.hop.harq().coded_bits, run.hop.coded_bits());
}

#[test]
fn feedback_in_flight_is_forwarded() {
    let (mut run, begun) = hop("stop-and-wait", &[]);
    offer(&mut run, 2);
    run.hand_over(ms(8), ms(8), forward(2));
    run.finish();
    assert_eq!(begun_at(&begun), [0, 13_000]);
    // Forwarded twice: 11 ms, and 2 ms and 4 ms later.
    let (mut run, begun) = hop("stop-and-wait", &[]);
    offer(&mut run, 2);
    run.hand_over(ms(8), ms(8), forward(2));
    run.hand_over(ms(9), ms(9), forward(4));
    run.finish();
    assert_eq!(begun_at(&begun), [0, 17_000]);
}

#[test]
fn a_burst_that_is_cut_off_counts_as_sent_but_takes_no_more_time() {
    let (mut run, begun) = hop("stop-and-wait", &[]);
    offer(&mut run, 1);
    run.hand_over(us(400), us(400), forward(0));
    assert_eq!(run.hop.sending_until(), us(400));
    run.finish();
    // Its end would have arrived at 5.4 ms.
    assert_eq!((begun_at(&begun), delivered_at(&run)), (vec![0, 10_400], vec![(16_400, 0)]));
    assert_eq!(run.hop.coded_bits(), 2 * 17_840);
    assert!((run.hop.report(Duration::from_millis(14)).utilisation - 0.1).abs() < 1e-12);
}

#[test]
fn the_last_transmission_that_found_nobody_was_the_last() {
    let (mut run, _) = with(json!({ "harq": { "kind": "fec" } }), &[]);
    offer(&mut run, 3);
    run.hand_over(us(1500), us(1500), forward(1));
    run.finish();
    assert_eq!((dropped(&run, DropReason::Harq), run.delivered_ids()), (vec![0, 1], vec![2]));
    assert_eq!(run.log[0].0, ms(6), "when it would have arrived");
}

#[test]
fn what_waits_is_forwarded_with_the_state() {
    let (mut run, begun) = hop("fec", &[]);
    offer(&mut run, 2);
    run.hand_over(us(1000), us(1000), forward(7));
    assert_eq!(run.hop.queue().packets, 1, "it begins no burst at that instant");
    run.finish();
    assert_eq!(begun_at(&begun), [0, 8000]);
}

#[test]
fn a_loss_is_told_at_once_and_nobody_waits_for_what_is_gone() {
    let (mut run, begun) = with(json!({ "harq": { "kind": "chase", "code_rate": 0.5 } }), &[ERASED]);
    offer(&mut run, 12);
    run.hand_over(us(8500), ms(10), LOSE);
    assert!(run.log.iter().all(|(at, _)| *at == us(8500)), "{:?}", run.log);
    // Those that were begun first, then those that waited; 1 and 2 were decoded and held for 0.
    assert_eq!(dropped(&run, DropReason::Handover), [0, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!((run.delivered_ids(), run.hop.in_flight(), run.hop.poll_timeout()), (vec![1, 2], 0, None));
    offer(&mut run, 2);
    run.finish();
    assert_eq!(begun_at(&begun)[9..], [10_000, 11_000]);
    assert_eq!(delivered_at(&run)[2..], [(16_000, 12), (17_000, 13)]);
    let report = run.hop.report(Duration::from_millis(20));
    assert_eq!((report.dropped[DropReason::Handover], report.harq.abandoned, report.harq.failed), (10, 7, 0));
    assert_eq!((report.reordering.late_packets, report.utilisation), (0, 0.525));
}

/// Three of four transmissions bring what is needed, two do not; the second finds nobody.
#[test]
fn the_receivers_information_outlives_forwarding_and_not_a_loss() {
    let half = json!({ "harq": { "kind": "incremental-redundancy", "code_rate": 1.0, "threshold": 1.0 } });
    let planned = json!({ "harq": { "kind": "adaptive", "threshold": 1.0, "targets": ["30 %", "50 %", "70 %"] } });
    for settings in [half, planned] {
        for (transfer, decoded) in [(forward(1), 1), (LOSE, 0)] {
            let (mut run, begun) = with(settings.clone(), &[Db::new(0.0); 4]);
            offer(&mut run, 1);
            let second = loop {
                run.step_to(run.hop.next_step().unwrap());
                if let Some(&second) = begun.lock().unwrap().get(1) {
                    break second;
                }
            };
            run.hand_over(second + Duration::from_micros(1), second + Duration::from_micros(1), transfer);
            run.finish();
            assert_eq!(run.hop.harq().decoded(), decoded, "{settings} {transfer:?}: {:?}", run.hop.harq());
            assert_eq!(dropped(&run, DropReason::Handover).len(), 1 - decoded as usize);
            assert_eq!(run.hop.harq().decoded_after[..2], [0, 0]);
        }
    }
}

#[test]
fn while_none_serves_all_waits_but_what_may_not() {
    let scheduler = json!({ "kind": "droptail", "buffer": "100 packets", "limit": "20 ms" });
    let (mut run, begun) = with(json!({ "harq": { "kind": "fec" }, "scheduler": scheduler }), &[]);
    offer(&mut run, 3);
    run.halt(us(500));
    assert_eq!((run.hop.sending_until(), run.hop.queue().packets), (us(500), 2));
    run.halt(ms(3));
    run.offer(ms(15), packet(3, 1115));
    assert!(dropped(&run, DropReason::Timeout).is_empty());
    run.offer(ms(21), packet(4, 1115));
    assert_eq!(dropped(&run, DropReason::Timeout), [1, 2], "when another comes");
    run.resume(ms(30));
    run.resume(ms(30));
    run.finish();
    assert_eq!(begun_at(&begun), [0, 30_000, 31_000]);
    assert_eq!((run.delivered_ids(), dropped(&run, DropReason::Harq)), (vec![3, 4], vec![0]));
    assert_eq!(run.hop.report(Duration::from_millis(40)).stalled_ratio, 0.0, "no scheme holds anybody up");
}

#[test]
fn another_satellite_ends_a_halt() {
    let (mut run, begun) = hop("fec", &[]);
    offer(&mut run, 2);
    run.halt(ms(1));
    run.hand_over(ms(9), ms(12), KEEP);
    run.finish();
    assert_eq!(begun_at(&begun), [0, 12_000]);
}

/// Neither a second handover nor a halt and its end shorten it.
#[test]
fn an_interruption_lasts_until_its_end() {
    let (mut run, begun) = hop("fec", &[]);
    offer(&mut run, 2);
    run.hand_over(us(100), ms(20), KEEP);
    run.hand_over(ms(5), ms(6), KEEP);
    run.halt(ms(7));
    run.resume(ms(8));
    run.finish();
    assert_eq!(begun_at(&begun), [0, 20_000]);
    assert_eq!(delivered_at(&run), [(6000, 0), (26_000, 1)]);
}

/// The first burst has 20 ms to go and the second 2 ms.
#[test]
fn a_burst_from_a_closer_satellite_overtakes() {
    let near = |millis| (us(1000), Duration::from_millis(millis));
    let propagation = Propagation::over(vec![(us(0), Duration::from_millis(20)), near(20), near(2)]);
    for (enabled, expected) in [(false, [(4000, 1), (21_000, 0)]), (true, [(21_000, 0), (21_000, 1)])] {
        let settings = json!({
            "rate": "17.84 Mbit/s", "delay": "orbit", "harq": { "kind": "fec" }, "reordering": { "enabled": enabled },
        });
        let mut run = Run::over(config(settings), propagation.clone(), vec![Scripted::constant(CLEAR)], None);
        offer(&mut run, 2);
        run.finish();
        assert_eq!(delivered_at(&run), expected);
    }
}
