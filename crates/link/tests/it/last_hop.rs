//! Packet conversations with the last hop: when bursts leave, arrive, are decoded and repeated.

use crate::common::{Run, Scripted, config, ms, packet, uniform_block_fading, us, user_streams};
use channel::{CLEAR, ERASED, LawRequest};
use link::reordering::Reordering;
use link::scheduler::View;
use link::{
    Backlog, DropReason, EstimateConfig, Estimates, HarqConfig, LastHop, Output, PacketRef, Propagation,
    ReorderingConfig, Scheduler,
};
use serde_json::json;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Db, Duration, Time};

/// 50 Mbit/s, 10 ms: a coded bit takes 20 ns.
fn adaptive() -> serde_json::Value {
    json!({
        "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "droptail", "buffer": "1000 packets" },
        "harq": { "kind": "adaptive", "threshold": 1.0 }, "reordering": { "enabled": false },
    })
}

const SIZES: [u64; 4] = [8_920, 8_920, 17_840, 17_840];

/// A law of packets that meet the same information at each transmission and need 1, 2, 4 or 8 times 8920 bits; the plan
/// is [`SIZES`], and the second burst alone would decode a packet whose first was erased.
fn stepped_law() -> channel::TransmissionLaw {
    let rows = [(1.0, 55), (0.5, 18), (0.25, 18), (0.125, 9)];
    let samples = rows.into_iter().flat_map(|(per_bit, packets)| std::iter::repeat_n(per_bit, 4 * packets)).collect();
    channel::TransmissionLaw { transmissions: 4, samples }
}

fn uncoded() -> serde_json::Value {
    json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "droptail", "buffer": "1000 packets" } })
}

#[test]
fn an_uncoded_packet_takes_its_bits_and_the_delay() {
    let mut run = Run::of(uncoded(), vec![Scripted::constant(CLEAR)], None);
    run.offer(ms(5), packet(7, 1000));
    run.offer(ms(5), packet(8, 500));
    run.finish();
    assert_eq!(run.delivered(), [(ms(16), 7), (us(16_500), 8)]);
}

#[test]
fn a_packet_is_decoded_10_30_50_or_70_ms_after_its_first_sending() {
    let law = stepped_law();
    for failures in 0..4 {
        let (channel, asked) = Scripted::new(&vec![ERASED; failures], CLEAR);
        let mut run = Run::of(adaptive(), vec![channel], Some(&law));
        run.offer(ms(100), packet(1, 1115));
        run.finish();
        let sending: u64 = SIZES[..=failures].iter().map(|bits| bits * 20).sum();
        let flights = 2 * failures as u64 + 1;
        let decoded_at = Time::from_nanos(100_000_000 + sending + flights * 10_000_000);
        assert_eq!(run.delivered(), [(decoded_at, 1)], "after {failures} failures");
        let starts: Vec<u64> = asked.lock().unwrap().iter().map(|start| start.as_nanos()).collect();
        let mut expected = vec![100_000_000];
        for bits in &SIZES[..failures] {
            expected.push(expected.last().unwrap() + bits * 20 + 20_000_000);
        }
        assert_eq!(starts, expected, "each repetition starts when the NACK is back");
        let counters = run.hop.harq();
        assert_eq!(counters.decoded_after.iter().position(|&count| count == 1), Some(failures));
        assert_eq!((counters.acks, counters.nacks), (1, failures as u64));
        assert_eq!(counters.finished_bits, SIZES[..=failures].iter().sum::<u64>());
        assert_eq!(counters.finished_bits, run.hop.coded_bits());
        assert_eq!(counters.useful_bits, 8920);
    }
}

#[test]
fn a_packet_that_four_transmissions_do_not_carry_is_lost_to_harq() {
    let law = stepped_law();
    let mut run = Run::of(adaptive(), vec![Scripted::constant(ERASED)], Some(&law));
    run.offer(ms(0), packet(1, 1115));
    run.finish();
    let lost_at = Time::from_nanos(53_520 * 20 + 70_000_000);
    assert_eq!(run.log, [(lost_at, Output::Dropped(packet(1, 1115), DropReason::Harq))]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.harq.failed, report.harq.nacks, report.dropped[DropReason::Harq]), (1, 4, 1));
    assert_eq!(report.harq.bits_per_packet_mean, Some(53_520.0));
    assert_eq!(report.coded_bps, 53_520.0);
    assert_eq!(report.useful_bps, 0.0);
}

#[test]
fn a_short_packet_costs_a_whole_block_and_counts_its_own_bits() {
    let law = stepped_law();
    let mut settings = adaptive();
    settings["harq"]["padding"] = true.into();
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], Some(&law));
    run.offer(ms(0), packet(1, 210));
    run.finish();
    assert_eq!(run.hop.coded_bits(), 8920);
    assert_eq!(run.hop.harq().useful_bits, 1680);
}

#[test]
fn repetitions_go_before_new_packets() {
    let law = stepped_law();
    let (channel, _) = Scripted::new(&[ERASED], CLEAR);
    let mut run = Run::of(adaptive(), vec![channel], Some(&law));
    // 178.4 us each. The NACK of the first is back at 20.1784 ms, while 113 is sent, until 20.3376 ms.
    for id in 0..400 {
        run.offer(ms(0), packet(id, 1115));
    }
    run.finish();
    let delivered = run.delivered();
    let at = |id: u32| delivered.iter().find(|entry| entry.1 == id).unwrap().0.as_nanos();
    assert_eq!(at(113), 30_337_600);
    assert_eq!(at(0), 30_516_000);
    assert_eq!(at(114), 30_694_400);
}

#[test]
fn new_packets_wait_in_the_queue_while_all_processes_are_taken() {
    let law = stepped_law();
    let mut settings = adaptive();
    settings["harq"]["processes"] = json!(2);
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], Some(&law));
    for id in 0..4 {
        run.offer(ms(0), packet(id, 1115));
    }
    assert_eq!(run.hop.queue(), Backlog { packets: 3, bytes: 3345 });
    run.run_until(ms(15));
    assert_eq!(run.hop.queue(), Backlog { packets: 2, bytes: 2230 });
    run.finish();
    // The ACK of the first is back at 20.1784 ms, that of the second at 20.3568 ms.
    let at = Time::from_nanos;
    let expected = [(at(10_178_400), 0), (at(10_356_800), 1), (at(30_356_800), 2), (at(30_535_200), 3)];
    assert_eq!(run.delivered(), expected);
    assert_eq!(run.hop.harq().processes_max, 2);
}

#[test]
fn the_buffer_drops_what_finds_it_full() {
    let mut settings = uncoded();
    settings["scheduler"]["buffer"] = json!("2500 B");
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], None);
    for id in 0..5 {
        run.offer(ms(0), packet(id, 1000));
    }
    run.offer(ms(0), packet(5, 500));
    run.finish();
    // 0 is being sent, 1 and 2 wait, 3 and 4 find 500 bytes of room, 5 fits.
    assert_eq!(run.delivered_ids(), [0, 1, 2, 5]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.offered_packets, report.dropped[DropReason::Overflow], report.delivered_packets), (6, 2, 4));
    assert_eq!((report.offered_bytes, report.delivered_bytes), (5500, 3500));
}

#[test]
fn utilisation_and_rates_count_what_was_sent_by_the_end() {
    let mut run = Run::of(uncoded(), vec![Scripted::constant(CLEAR)], None);
    for id in 0..100 {
        run.offer(ms(0), packet(id, 1000));
    }
    run.run_until(us(50_500));
    let report = run.hop.report(Duration::from_micros(50_500));
    assert!((report.utilisation - 1.0).abs() < 1e-9, "{report:?}");
    assert!((report.coded_bps - 8e6).abs() < 1.0, "the half-sent packet counts half: {report:?}");
    run.finish();
    let report = run.hop.report(Duration::from_millis(200));
    assert!((report.utilisation - 0.5).abs() < 1e-9);
    assert!((report.useful_bps - 4e6).abs() < 1e-3);
}

#[test]
fn a_late_wake_up_delays_outputs_and_not_the_transmitter() {
    let law = stepped_law();
    let run = |late: bool| {
        let (channel, asked) = Scripted::new(&[ERASED, CLEAR, ERASED], CLEAR);
        let mut run = Run::of(adaptive(), vec![channel], Some(&law));
        for id in 0..20 {
            if late {
                run.hop.handle_packet(ms(u64::from(id)), packet(id, 1115));
            } else {
                run.offer(ms(u64::from(id)), packet(id, 1115));
            }
        }
        if late {
            run.hop.handle_timeout(ms(1000));
        } else {
            run.finish();
        }
        let bursts = asked.lock().unwrap().clone();
        (bursts, run.hop.harq().into_owned())
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn order_is_restored_and_a_loss_empties_the_terminal() {
    let law = stepped_law();
    let mut settings = adaptive();
    settings["reordering"] = json!({ "enabled": true, "capacity": 125 });
    let (channel, _) = Scripted::new(&[ERASED], CLEAR);
    let mut run = Run::of(settings.clone(), vec![channel], Some(&law));
    for id in 0..50 {
        run.offer(ms(u64::from(id)), packet(id, 1115));
    }
    run.finish();
    assert!(run.delivered_ids().is_sorted());
    // The NACK of 0 is back at 20.1784 ms, when 20 is sent; 0 is decoded at 30.3568 ms. 1 to 20 came before, each 1 ms
    // later.
    assert_eq!(run.delivered()[20].0, Time::from_nanos(30_356_800));
    let held = run.hop.reordering();
    assert_eq!((held.held_packets, held.flushed_full, held.flushed_failed, held.late_packets), (20, 0, 0, 0));
    assert_eq!(held.wait, Duration::from_nanos((20_178_400 - 10_500_000) * 20));
    let mean = run.hop.report(Duration::from_secs(1)).reordering.wait_mean_s;
    assert_eq!(mean, Some(held.wait.as_secs_f64() / 20.0));

    // A buffer without room holds nothing.
    settings["reordering"]["capacity"] = json!(0);
    let (channel, _) = Scripted::new(&[ERASED], CLEAR);
    let mut full = Run::of(settings.clone(), vec![channel], Some(&law));
    (0..50).for_each(|id| full.offer(ms(u64::from(id)), packet(id, 1115)));
    full.finish();
    let report = full.hop.report(Duration::from_secs(1)).reordering;
    assert_eq!((full.hop.reordering().flushed_full, report.wait_mean_s), (1, None));
    settings["reordering"]["capacity"] = json!(125);

    // Transmissions of packet 0 alone: its four bursts are erased, those of the other user are clear.
    let lost = Run::of(settings, vec![Scripted::constant(ERASED), Scripted::constant(CLEAR)], Some(&law));
    let mut run = lost;
    run.offer(ms(0), packet(0, 1115));
    run.offer(ms(0), PacketRef { user: 1, flow: 1, ..packet(1, 1115) });
    run.finish();
    assert_eq!(run.delivered_ids(), [1]);
    assert_eq!(run.hop.reordering().flushed_failed, 0, "nothing waited in the terminal of the failed packet");
}

#[test]
fn uncoded_loss_follows_the_bit_error_rate() {
    // QPSK has Q(sqrt(Es/N0)) wrong bits: 7.827e-4 at 10 dB, 3.430e-5 at 12 dB. Of 1000 bits at least one is wrong with
    // probability 1 - (1 - BER)^1000.
    for (snr, probability) in [(10.0, 0.5430), (12.0, 0.03372)] {
        let mut run = Run::of(uncoded(), vec![Scripted::constant(Db::new(snr))], None);
        for id in 0..20_000 {
            run.offer(ms(u64::from(id)), packet(id, 125));
        }
        run.finish();
        let lost = run.hop.harq().failed as f64 / 20_000.0;
        let deviation = (probability * (1.0 - probability) / 20_000.0f64).sqrt();
        assert!((lost - probability).abs() < 3.0 * deviation, "{snr} dB: {lost}");
    }
}

#[test]
fn the_uncoded_scheme_draws_even_where_chance_has_no_say() {
    let fates = |first: Db| {
        let (channel, _) = Scripted::new(&[first; 50], Db::new(10.0));
        let mut run = Run::of(uncoded(), vec![channel], None);
        for id in 0..400 {
            run.offer(ms(u64::from(id)), packet(id, 125));
        }
        run.finish();
        let delivered = run.delivered_ids();
        (0..400).map(|id| delivered.contains(&id)).collect::<Vec<_>>()
    };
    let (clear, erased, noisy) = (fates(CLEAR), fates(ERASED), fates(Db::new(10.0)));
    assert!(clear[..50].iter().all(|&delivered| delivered) && erased[..50].iter().all(|&delivered| !delivered));
    assert_eq!(clear[50..], erased[50..]);
    assert_eq!(clear[50..], noisy[50..]);
}

/// Gives up packets that waited 3 ms, at the moment when the transmitter asks.
struct Impatient(VecDeque<(Time, PacketRef)>, VecDeque<PacketRef>);

impl Scheduler for Impatient {
    fn enqueue(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        self.0.push_back((now, packet));
        Ok(())
    }

    fn select(&mut self, now: Time, _view: &mut View<'_>) -> Option<PacketRef> {
        while let Some((since, packet)) = self.0.pop_front() {
            if now.since(since) <= Duration::from_millis(3) {
                return Some(packet);
            }
            self.1.push_back(packet);
        }
        None
    }

    fn gives_up(&self) -> bool {
        true
    }

    fn poll_dropped(&mut self) -> Option<(PacketRef, DropReason)> {
        Some((self.1.pop_front()?, DropReason::Timeout))
    }

    fn drain(&mut self, _now: Time, lost: &mut Vec<PacketRef>) {
        lost.extend(self.0.drain(..).map(|(_, packet)| packet));
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.0.iter().map(|entry| u64::from(entry.1.size)).sum();
        Backlog { packets: self.0.len(), bytes }
    }
}

#[test]
fn a_packet_given_up_in_the_queue_is_reported_and_leaves_no_hole() {
    let harq = HarqConfig::default().entry().build(None, user_streams(1)).unwrap();
    let reordering = Reordering::new(ReorderingConfig::default(), 1);
    let scheduler = Box::new(Impatient(VecDeque::new(), VecDeque::new()));
    let rate = BitRate::from_bps(8_000_000);
    let channels: Vec<Box<dyn channel::Channel>> = vec![Scripted::constant(CLEAR)];
    let estimates = Estimates::new(&EstimateConfig::default(), 1);
    let hop =
        LastHop::from_parts(rate, Propagation::fixed(Duration::ZERO), scheduler, harq, reordering, estimates, channels);
    let mut run = Run::new(hop);
    for id in 0..10 {
        run.offer(ms(0), packet(id, 1000));
    }
    run.offer(ms(6), packet(10, 1000));
    run.finish();
    assert_eq!(run.delivered_ids(), [0, 1, 2, 3, 10]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!(report.dropped[DropReason::Timeout], 6);
    assert_eq!(report.reordering.held_packets, 0);
}

#[test]
fn what_a_report_looks_like_in_json() {
    let law = uniform_block_fading(4, 100);
    let run = Run::of(adaptive(), vec![Scripted::constant(CLEAR)], Some(&law));
    let report = serde_json::to_value(run.hop.report(Duration::from_secs(1))).unwrap();
    for key in ["offered_packets", "dropped_overflow", "dropped_timeout", "coded_bps", "useful_bps", "utilisation"] {
        assert!(report[key].is_number(), "{key}");
    }
    assert_eq!(report["harq"]["decoded_after"], json!([0, 0, 0, 0]));
    assert_eq!(report["harq"]["failed"], 0);
    assert!(report["harq"].as_object().unwrap().contains_key("bits_per_packet_mean"));
    for key in ["held_packets", "flushed_full", "flushed_failed"] {
        assert_eq!(report["reordering"][key], 0, "{key}");
    }
    assert!(report["reordering"].as_object().unwrap().contains_key("wait_mean_s"));
}

#[test]
fn what_the_last_hop_asks_of_its_surroundings() {
    let settings = config(adaptive());
    let request = LawRequest { drawn: 4, read: 3, spacing: Duration::from_millis(20) };
    assert_eq!(settings.law_request(Duration::from_millis(10)), Some(request));
    assert_eq!(settings.max_packet_bytes(), Some(1115));
    assert_eq!(config(uncoded()).law_request(Duration::ZERO), None);
    assert_eq!(config(uncoded()).max_packet_bytes(), None);
    assert_eq!(Bytes::new(1115), link::harq::adaptive::AdaptiveConfig::default().block);
}

/// A hop that may have one packet in flight rests for a round trip after each, and says so.
#[test]
fn resting_while_packets_wait_is_told() {
    let settings = |processes: u32| {
        json!({
            "rate": "8.92 Mbit/s", "delay": "10 ms",
            "harq": { "kind": "adaptive", "processes": processes, "threshold": 1.0 },
        })
    };
    let stalled = |processes: u32| {
        let law = uniform_block_fading(4, 200);
        let mut run = Run::of(settings(processes), vec![Scripted::constant(CLEAR)], Some(&law));
        (0..40).for_each(|id| run.offer(ms(0), packet(id, 1115)));
        run.finish();
        let busy = run.hop.sending_until().since(Time::ZERO);
        let report = run.hop.report(busy);
        assert!((report.utilisation + report.stalled_ratio - 1.0).abs() < 1e-9, "{report:?}");
        report.stalled_ratio
    };
    assert_eq!(stalled(100), 0.0);
    // 40 packets in turn; between two of them 20 ms for the feedback.
    assert!(stalled(1) > 0.8, "{}", stalled(1));
}

/// GSE: 1,500 B are two fragments of a block of 1,115 B, and both have to arrive.
#[test]
fn a_packet_longer_than_a_block_is_cut_and_put_together() {
    let settings = json!({
        "rate": "8.92 Mbit/s", "delay": "10 ms", "segmentation": {},
        "harq": { "kind": "fec", "code_rate": 0.5, "threshold": 1.0, "padding": true },
    });
    assert_eq!(config(settings.clone()).max_packet_bytes(), None);
    // Two blocks of 17,840 coded bits, 2 ms each.
    let mut run = Run::of(settings.clone(), vec![Scripted::constant(CLEAR)], None);
    run.offer(ms(0), packet(1, 1500));
    run.offer(ms(0), packet(2, 40));
    run.finish();
    let (first, second) = (Output::Delivered(packet(1, 1500)), Output::Delivered(packet(2, 40)));
    assert_eq!(run.log, [(ms(14), first), (ms(16), second)]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!((report.cut_packets, report.harq.started), (Some(1), 3));
    assert_eq!(report.useful_bps, 8.0 * 1540.0);
    for index in 0..2 {
        let mut answers = [CLEAR; 2];
        answers[index] = ERASED;
        let mut run = Run::of(settings.clone(), vec![Scripted::new(&answers, CLEAR).0], None);
        run.offer(ms(0), packet(1, 1500));
        run.finish();
        assert_eq!(run.log, [(ms(14), Output::Dropped(packet(1, 1500), DropReason::Harq))], "fragment {index} is lost");
    }
}

#[test]
fn a_segmentation_without_blocks_or_room_is_refused() {
    let refusal = |harq: serde_json::Value, segmentation: serde_json::Value| {
        let settings = json!({ "rate": "1 Mbit/s", "delay": "10 ms", "harq": harq, "segmentation": segmentation });
        config(settings).check(Duration::from_millis(160), 1).unwrap_err().to_string()
    };
    let fec = |block: &str| json!({ "kind": "fec", "block": block });
    assert_eq!(
        refusal(json!({ "kind": "none" }), json!({})),
        "segmentation: given, but harq none has no blocks that packets could be too long for: leave this out"
    );
    assert_eq!(
        refusal(fec("50 B"), json!({ "fragment": "60 B" })),
        "segmentation.fragment: 60 B was given, which leaves no room in a block of 50 B"
    );
    assert_eq!(
        refusal(fec("500 B"), json!({ "datagram": "65 B" })),
        "segmentation.datagram: 65 B was given, at most 64 B is allowed"
    );
}
