//! Reliability schemes joined in a last hop: when bursts go, and the textbook's throughputs.

use crate::common::schemes::schemes_with;
use crate::common::{Run, Scripted, ms, packet, rng, uniform_block_fading};
use channel::{CLEAR, Channel, ERASED, qpsk};
use link::harq::sizes::{Block, Threshold};
use link::{DropReason, HarqConfig, Output, PacketRef};
use rand::Rng;
use serde_json::{Value, json};
use units::chance::unit_interval;
use units::{Db, Duration, Time};

/// A burst of 17 840 coded bits, a full block at rate 1/2, takes 1 ms.
const RATE: &str = "17.84 Mbit/s";

fn settings(delay: &str, harq: Value) -> Value {
    json!({
        "rate": RATE, "delay": delay, "harq": harq, "reordering": { "enabled": false },
        "scheduler": { "kind": "droptail", "buffer": "30000 packets" },
    })
}

fn starts_ms(asked: &std::sync::Mutex<Vec<Time>>) -> Vec<f64> {
    asked.lock().unwrap().iter().map(|start| start.as_nanos() as f64 / 1e6).collect()
}

/// Bursts are erased independently with this probability.
struct Erasures(f64, Box<dyn Rng + Send>);

impl Channel for Erasures {
    fn burst_snr(&mut self, _now: Time) -> Db {
        if unit_interval(self.1.next_u64()) < self.0 { ERASED } else { CLEAR }
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }
}

/// Packets delivered in the time of one transmission, of a sender that always has one.
fn efficiency(harq: Value, loss: f64, packets: u32) -> f64 {
    let mut run = Run::of(settings("5 ms", harq.clone()), vec![Box::new(Erasures(loss, rng(3)))], None);
    for id in 0..packets {
        run.offer(Time::ZERO, packet(id, 1115));
    }
    run.finish();
    assert_eq!(run.delivered().len(), packets as usize, "{harq}: 32 transmissions are enough");
    f64::from(packets) / (run.hop.sending_until().as_nanos() as f64 / 1e6)
}

/// `slots`: mean and variance of the time that a packet takes, in transmissions; four standard errors are allowed.
fn assert_efficiency(harq: Value, loss: f64, packets: u32, (mean, variance): (f64, f64)) {
    let measured = efficiency(harq.clone(), loss, packets);
    let error = 4.0 * (variance / f64::from(packets)).sqrt() / mean + 20.0 / f64::from(packets);
    assert!((measured * mean - 1.0).abs() < error, "{harq} at {loss}: {measured} against {}", 1.0 / mean);
}

fn scheme(kind: &str, lost_feedback: &str) -> Value {
    json!({ "kind": kind, "transmissions": 32, "code_rate": 0.5, "feedback": { "loss": lost_feedback } })
}

/// With a delay of 5 ms each way feedback comes N = 11 transmissions after the begin of a burst. A packet needs
/// 1/(1-p) transmissions on average; each failure costs 1 of selective repeat, N of go-back-N; stop-and-wait takes N
/// for each (Lin and Costello, Error Control Coding, section 22.1): throughputs 1-p, (1-p)/(1-p+Np) and (1-p)/N.
#[test]
fn throughput_is_that_of_the_textbook() {
    const N: f64 = 11.0;
    for p in [0.0, 0.01, 0.1, 0.3] {
        let failures = (p / (1.0 - p), p / ((1.0 - p) * (1.0 - p)));
        assert_efficiency(scheme("selective-repeat", "0 %"), p, 20_000, (1.0 + failures.0, failures.1));
        assert_efficiency(scheme("go-back-n", "0 %"), p, 20_000, (1.0 + N * failures.0, N * N * failures.1));
        assert_efficiency(scheme("stop-and-wait", "0 %"), p, 4000, (N * (1.0 + failures.0), N * N * failures.1));
    }
}

/// Lost feedback costs another transmission, even of a packet that arrived: 1/(1-p) to arrive, q/(1-q) to be believed.
#[test]
fn lost_feedback_costs_what_it_must() {
    let (p, q) = (0.1, 0.3);
    let mean = 1.0 / (1.0 - p) + q / (1.0 - q);
    let variance = p / ((1.0 - p) * (1.0 - p)) + q / ((1.0 - q) * (1.0 - q));
    assert_efficiency(scheme("selective-repeat", "30 %"), p, 20_000, (mean, variance));
    assert_efficiency(scheme("stop-and-wait", "30 %"), p, 4000, (11.0 * mean, 121.0 * variance));
    // Go-back-N: never worse than if what was acknowledged in vain had failed, for acknowledgments are cumulative.
    let formula = |p: f64| (1.0 - p) / (1.0 - p + 11.0 * p);
    let measured = efficiency(scheme("go-back-n", "30 %"), p, 20_000);
    assert!(measured > 1.02 * formula(1.0 - (1.0 - p) * (1.0 - q)) && measured < 0.98 * formula(p), "{measured}");
}

/// What the receiver holds counts for it: combining needs fewer bursts than asking again.
#[test]
fn combining_outruns_repeat_request_in_noise() {
    let run = |kind: &str| {
        let harq = json!({ "kind": kind, "code_rate": 0.8, "transmissions": 8 });
        let mut run = Run::of(settings("5 ms", harq), vec![Scripted::constant(Db::new(1.0))], None);
        for id in 0..1000 {
            run.offer(Time::ZERO, packet(id, 1115));
        }
        run.finish();
        (run.delivered().len(), run.hop.harq().bursts)
    };
    assert_eq!(run("selective-repeat"), (0, 8000));
    assert_eq!(run("chase"), (1000, 3000));
    assert_eq!(run("incremental-redundancy"), (1000, 2000));
}

#[test]
fn feedback_acts_after_its_own_delay() {
    for kind in schemes_with(&["code_rate", "feedback"]) {
        for (delay, loss, gap) in [("10 ms", "0 %", 14.0), ("10 ms", "100 %", 14.0), ("0 s", "0 %", 4.0)] {
            let harq = json!({ "kind": kind, "code_rate": 0.5, "feedback": { "delay": delay, "loss": loss } });
            let (channel, asked) = Scripted::new(&[], ERASED);
            let mut run = Run::of(settings("3 ms", harq), vec![channel], None);
            run.offer(ms(0), packet(0, 1115));
            run.finish();
            assert_eq!(starts_ms(&asked), [0.0, gap, 2.0 * gap, 3.0 * gap], "{kind} {delay} {loss}");
            assert_eq!(run.log.len(), 1);
            assert!(matches!(run.log[0].1, Output::Dropped(_, DropReason::Harq)));
        }
    }
    let config: HarqConfig =
        serde_json::from_value(json!({ "kind": "adaptive", "feedback": { "delay": "25 ms" } })).unwrap();
    assert_eq!(config.entry().feedback_delay(), Some(Duration::from_millis(25)));
    let law = uniform_block_fading(4, 200);
    let (channel, asked) = Scripted::new(&[], ERASED);
    let mut run = Run::of(settings("3 ms", serde_json::to_value(config).unwrap()), vec![channel], Some(&law));
    run.offer(ms(0), packet(0, 1115));
    run.finish();
    assert!(asked.lock().unwrap().windows(2).all(|pair| pair[1].since(pair[0]) > Duration::from_millis(28)));
}

/// A burst takes 1 ms and its feedback comes 4 ms after its end. What was sent in the meantime is repeated, in order.
#[test]
fn go_back_n_begins_anew_at_the_packet_that_failed() {
    let harq = json!({ "kind": "go-back-n", "code_rate": 0.5, "processes": 8 });
    let (channel, asked) = Scripted::new(&[CLEAR, ERASED], CLEAR);
    let mut run = Run::of(settings("2 ms", harq), vec![channel], None);
    for id in 0..8 {
        run.offer(ms(0), packet(id, 1115));
    }
    run.finish();
    // 0 to 5 go at 0 to 5 ms; at 6 ms it is known that 1 failed; 1 to 5 go again, then 6 and 7.
    assert_eq!(starts_ms(&asked).len(), 8 + 5);
    let expected = [(3, 0), (9, 1), (10, 2), (11, 3), (12, 4), (13, 5), (14, 6), (15, 7)];
    assert_eq!(run.delivered(), expected.map(|(at, id)| (ms(at), id)));
    assert_eq!(run.hop.harq().decoded_after, [7, 1, 0, 0], "the receiver was ready for 2 to 5 only once");
}

/// When a packet has failed as often as it may, both ends go on with the next, for which nobody goes back.
#[test]
fn go_back_n_goes_on_when_a_packet_is_given_up() {
    let harq = json!({ "kind": "go-back-n", "code_rate": 0.5, "transmissions": 2 });
    let (channel, asked) = Scripted::new(&[CLEAR, ERASED, CLEAR, CLEAR, CLEAR, CLEAR, ERASED], CLEAR);
    let mut run = Run::of(settings("2 ms", harq), vec![channel], None);
    for id in 0..7 {
        run.offer(ms(0), packet(id, 1115));
    }
    run.finish();
    // 1 fails at 1 ms and at 6 ms; what follows it the second time is taken.
    assert_eq!(starts_ms(&asked).len(), 6 + 6);
    let expected = [(3, 0), (10, 2), (11, 3), (12, 4), (13, 5), (14, 6)];
    assert_eq!(run.delivered(), expected.map(|(at, id)| (ms(at), id)));
    assert!(run.log.contains(&(ms(9), Output::Dropped(packet(1, 1115), DropReason::Harq))));
}

/// Each user's repetitions go on with their own window; those of two users alternate.
#[test]
fn go_back_n_goes_back_for_one_user_alone() {
    let harq = json!({ "kind": "go-back-n", "code_rate": 0.5 });
    let (bad, bad_asked) = Scripted::new(&[ERASED], CLEAR);
    let (good, good_asked) = Scripted::new(&[], CLEAR);
    let mut run = Run::of(settings("2 ms", harq), vec![bad, good], None);
    for id in 0..8 {
        run.offer(ms(0), PacketRef { user: id % 2, flow: id % 2, ..packet(id, 1115) });
    }
    run.finish();
    // At 5 ms it is known that 0 failed: 0, 2 and 4 go again; 5, 6 and 7 follow.
    assert_eq!(starts_ms(&bad_asked), [0.0, 2.0, 4.0, 5.0, 6.0, 7.0, 9.0]);
    assert_eq!(starts_ms(&good_asked), [1.0, 3.0, 8.0, 10.0]);
}

/// Over a geostationary link 32 processes with feedback wait most of the time, and blind repetitions never do.
#[test]
fn blind_repetitions_never_wait_for_feedback() {
    let run = |harq: Value| {
        let mut run = Run::of(settings("260 ms", harq), vec![Scripted::constant(CLEAR)], None);
        for id in 0..320 {
            run.offer(ms(0), packet(id, 1115));
        }
        run.finish();
        assert_eq!(run.delivered().len(), 320);
        run.hop.sending_until().since(Time::ZERO).as_secs_f64() * 1e3
    };
    let burst = 0.625; // ms, at rate 0.8
    let near = |measured: f64, expected: f64| assert!((measured - expected).abs() < 0.01, "{measured} {expected}");
    let round_trip = burst + 520.0;
    let with_feedback = json!({ "kind": "incremental-redundancy", "processes": 32 });
    near(run(with_feedback), 9.0 * round_trip + 32.0 * burst);
    near(run(json!({ "kind": "nr-ntn" })), 4.0 * 320.0 * burst);
    near(run(json!({ "kind": "nr-ntn", "repetitions": 2 })), 2.0 * 320.0 * burst);
    let chase = json!({ "kind": "chase", "feedback": { "enabled": false }, "transmissions": 3, "processes": 1 });
    near(run(chase), 3.0 * 320.0 * burst);
}

/// The repetitions of a packet follow one another; it is given up as soon as it is decoded.
#[test]
fn blind_repetitions_are_back_to_back() {
    let (channel, asked) = Scripted::new(&[CLEAR, CLEAR, CLEAR, CLEAR, ERASED, ERASED], CLEAR);
    let mut run = Run::of(settings("10 ms", json!({ "kind": "nr-ntn", "code_rate": 0.5 })), vec![channel], None);
    run.offer(ms(0), packet(0, 1115));
    run.offer(ms(0), packet(1, 1115));
    run.finish();
    assert_eq!(starts_ms(&asked), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(run.delivered(), [(ms(11), 0), (ms(17), 1)]);
    assert_eq!(run.hop.harq().decoded_after, [1, 0, 1, 0]);
    let counters = run.hop.harq();
    assert_eq!((counters.finished_bits, counters.coded_bits), (8 * 17_840, 8 * 17_840));
    assert_eq!((counters.acks, counters.nacks, counters.processes_max), (0, 0, 1));
}

/// A channel of 3 dB until 100 ms, and of -3 dB from there on.
struct Step;

fn step(now: Time) -> Db {
    Db::new(if now < ms(100) { 3.0 } else { -3.0 })
}

impl Channel for Step {
    fn burst_snr(&mut self, now: Time) -> Db {
        step(now)
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        step(now)
    }
}

/// One packet of adaptive HARQ that follows the estimate, and the coded bits sent with each of its transmissions.
struct Estimated {
    run: Run,
    sums: Vec<u64>,
}

fn estimated(age: &str, at: u64, lost_feedback: &str) -> Estimated {
    let harq = json!({ "kind": "adaptive", "sizing": "estimate", "feedback": { "loss": lost_feedback } });
    let mut settings = settings("10 ms", harq);
    settings["estimate"] = json!({ "interval": "1 ms", "age": age });
    one_packet(settings, Box::new(Step), at)
}

fn one_packet(settings: Value, channel: Box<dyn Channel>, at: u64) -> Estimated {
    let mut run = Run::of(settings, vec![channel], None);
    run.offer(ms(at), packet(0, 1115));
    let mut sums = vec![run.hop.coded_bits()];
    while let Some(at) = run.hop.next_step() {
        run.step_to(at);
        sums.push(run.hop.coded_bits());
    }
    sums.dedup();
    assert_eq!(run.log.len(), 1);
    Estimated { run, sums }
}

/// The least bits that decode a block at this ratio, by trying.
fn enough(snr: f64, sent: u32, information: f64) -> u32 {
    let block = Block { data_bits: 8920, coded_bits: 53_520, threshold: Threshold::Code };
    let per_bit = qpsk::mutual_information(Db::new(snr));
    let decodes = |more: u32| block.decodes(f64::from(sent + more), information + f64::from(more) * per_bit);
    (0..).find(|&more| decodes(more)).unwrap()
}

#[test]
fn a_fresh_estimate_sizes_the_first_transmission_to_be_enough() {
    for (at, snr) in [(50, 3.0), (150, -3.0)] {
        for age in ["0 s", "20 ms"] {
            let run = estimated(age, at, "0 %");
            assert_eq!(run.run.hop.harq().decoded_after, [1, 0, 0, 0]);
            assert_eq!(run.sums, [u64::from(enough(snr, 0, 0.0))], "{age}");
        }
    }
}

/// 10 ms after the channel fell, one who knows it at once sends enough; one who knows it 20 ms later sends what would
/// have been enough before, and then, each time, what would have been missing at the ratio it believes in.
#[test]
fn an_old_estimate_costs_transmissions() {
    assert_eq!(estimated("0 s", 110, "0 %").run.hop.harq().decoded_after, [1, 0, 0, 0]);
    let late = estimated("20 ms", 110, "0 %");
    assert_eq!(late.run.hop.harq().decoded_after, [0, 0, 0, 1]);
    let per_bit = qpsk::mutual_information(Db::new(-3.0));
    let mut expected = vec![enough(3.0, 0, 0.0)];
    for _ in 0..2 {
        let sent = *expected.last().unwrap();
        expected.push(sent + enough(3.0, sent, f64::from(sent) * per_bit));
    }
    expected.push(53_520); // the last carries all that is left
    assert_eq!(late.sums, expected.into_iter().map(u64::from).collect::<Vec<_>>());
}

/// Lost feedback leaves the sender with what it heard before: it sends what would be missing if the burst had brought
/// nothing.
#[test]
fn lost_feedback_leaves_the_sender_with_what_it_knew() {
    let lost = estimated("20 ms", 110, "100 %");
    let first = enough(3.0, 0, 0.0);
    assert_eq!(lost.sums[..2], [u64::from(first), u64::from(first + enough(3.0, first, 0.0))]);
}

/// If the whole codeword would not do, the estimate says nothing: equal shares.
#[test]
fn a_hopeless_estimate_shares_the_codeword_evenly() {
    struct Dark;
    impl Channel for Dark {
        fn burst_snr(&mut self, _now: Time) -> Db {
            Db::new(-20.0)
        }
        fn attenuation(&mut self, _now: Time) -> Option<Db> {
            None
        }
        fn estimated_snr(&mut self, _now: Time) -> Db {
            Db::new(-20.0)
        }
    }
    let settings = settings("10 ms", json!({ "kind": "adaptive", "sizing": "estimate" }));
    let dark = one_packet(settings, Box::new(Dark), 0);
    assert_eq!(dark.sums, [13_380, 26_760, 40_140, 53_520]);
    assert_eq!(dark.run.hop.harq().failed, 1);
}

/// Without padding voice costs what it carries: 210 of 1115 bytes.
#[test]
fn adaptive_harq_without_padding_scales_its_plan() {
    let law = uniform_block_fading(4, 200);
    let run = |padding: bool, size| {
        let harq = json!({ "kind": "adaptive", "padding": padding });
        let mut run = Run::of(settings("10 ms", harq), vec![Scripted::constant(ERASED)], Some(&law));
        run.offer(ms(0), packet(0, size));
        run.finish();
        (run.hop.harq().bursts, run.hop.coded_bits())
    };
    assert_eq!(run(true, 210), (4, 53_520));
    assert_eq!(run(false, 1115), (4, 53_520));
    assert_eq!(run(false, 210), (4, 10_080));
}
