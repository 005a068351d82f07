//! Schedulers against their formulas, bounds and laws.

use std::collections::{BTreeMap, VecDeque};

use crate::common::desk::{Desk, MS, bringing, cases, fade, lossless, serve, shares, uniform};
use crate::common::{Run, Scripted, ms, packet, rng, scheduler_json, schedulers_with};
use channel::{CLEAR, ERASED};
use link::{DropReason, EstimateConfig, PacketRef, SchedulerConfig};
use proptest::prelude::*;
use rand::Rng;
use serde_json::json;
use units::{Db, Duration, Time};

fn kinds() -> impl Strategy<Value = &'static str> {
    prop::sample::select(SchedulerConfig::ALL)
}

// What all of them promise

proptest! {
    #![proptest_config(cases(600))]

    /// Whatever the scheme forbids: nobody is chosen who may not start, and nobody who may waits while the transmitter
    /// rests.
    #[test]
    fn who_may_not_start_is_passed_over(kind in kinds(), seed in any::<u64>()) {
        const USERS: u32 = 6;
        let mut chance = rng(seed);
        let mut desk = Desk::new(lossless(kind), USERS as usize);
        let mut waiting: BTreeMap<u32, VecDeque<u32>> = BTreeMap::new();
        // In the order in which they came, for those with one queue for all.
        let mut order = VecDeque::new();
        for id in 0..300 {
            match chance.next_u64() % 4 {
                0 => {
                    let user = chance.next_u64() as u32 % USERS;
                    let open = desk.is_open(user);
                    desk.open(user, !open);
                }
                1 => {
                    let snrs: Vec<Db> = (0..USERS).map(|_| fade(chance.as_mut())).collect();
                    desk.paint(&snrs);
                    desk.wait(Duration::from_micros(chance.next_u64() % 30_000));
                }
                _ => {}
            }
            if chance.next_u64().is_multiple_of(2) {
                let (user, size) = (chance.next_u64() as u32 % USERS, 40 + chance.next_u64() as u32 % 1460);
                prop_assert!(desk.offer(user, size));
                waiting.entry(user).or_default().push_back(size);
                order.push_back(user);
            } else {
                match desk.select() {
                    Some(packet) => {
                        prop_assert!(desk.is_open(packet.user), "{} at {}", kind, id);
                        prop_assert_eq!(waiting.get_mut(&packet.user).and_then(VecDeque::pop_front), Some(packet.size));
                        let index = order.iter().position(|&user| user == packet.user).unwrap();
                        order.remove(index);
                    }
                    None if kind == "droptail" => prop_assert!(order.front().is_none_or(|&user| !desk.is_open(user))),
                    None => prop_assert!(order.iter().all(|&user| !desk.is_open(user)), "{} at {}", kind, id),
                }
            }
        }
    }

    /// A limit is exact: nothing older is sent, and nothing else is dropped for its age.
    #[test]
    fn nothing_is_sent_after_its_limit(kind in kinds(), limit in 1u64..30, seed in any::<u64>()) {
        const USERS: u32 = 5;
        let (limit, mut chance) = (Duration::from_millis(limit), rng(seed));
        let mut options = lossless(kind);
        options["limit"] = json!(limit);
        let mut desk = Desk::new(options, USERS as usize);
        let (mut came, mut left) = (Vec::new(), 0);
        while left < 300 || desk.scheduler.backlog().packets > 0 {
            if came.len() < 300 && chance.next_u64() % 5 < 3 {
                came.push(desk.now);
                prop_assert!(desk.offer(chance.next_u64() as u32 % USERS, 1000));
            } else if let Some(packet) = desk.select() {
                prop_assert!(desk.now.since(came[packet.id as usize]) <= limit, "{}", kind);
                left += 1;
            }
            while let Some((packet, reason)) = desk.scheduler.poll_dropped() {
                prop_assert_eq!(reason, DropReason::Timeout);
                prop_assert!(desk.now.since(came[packet.id as usize]) > limit, "{}", kind);
                left += 1;
            }
            desk.wait(Duration::from_micros(chance.next_u64() % 3_000));
        }
        prop_assert_eq!((left, came.len()), (300, 300));
    }
}

/// Little's law holds packet by packet, and with packets of one size no order changes the sum of the waits: what one
/// gains another loses (the conservation law of work-conserving queues).
#[test]
fn the_waits_add_up_to_the_same_under_all() {
    const USERS: u32 = 6;
    let total_wait = |kind: &str| {
        let settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": scheduler_json(kind) });
        let channels = (0..USERS).map(|_| Scripted::constant(CLEAR) as Box<dyn channel::Channel>).collect();
        let (mut run, mut chance) = (Run::of(settings, channels, None), rng(11));
        let (mut came, mut at, mut area, mut seen) = (Vec::new(), 0.0, 0u128, Time::ZERO);
        for id in 0..2000 {
            at += -libm::log(1.0 - uniform(chance.as_mut())) / 850.0; // 85 % of 1000 packets in a second
            let now = Time::from_secs_f64(at);
            while let Some(next) = run.hop.next_step().filter(|&next| next <= now) {
                area += run.hop.queue().packets as u128 * u128::from(next.since(seen).as_nanos());
                seen = next;
                run.step_to(next);
            }
            area += run.hop.queue().packets as u128 * u128::from(now.since(seen).as_nanos());
            seen = now;
            let user = chance.next_u64() as u32 % USERS;
            run.offer(now, PacketRef { user, flow: user, ..packet(id, 1000) });
            came.push(now);
        }
        while let Some(next) = run.hop.next_step() {
            area += run.hop.queue().packets as u128 * u128::from(next.since(seen).as_nanos());
            seen = next;
            run.step_to(next);
        }
        // A packet is delivered 1 ms of sending and 10 ms of flight after its wait.
        let waited = |&(at, id): &(Time, u32)| u128::from((at.since(came[id as usize])).as_nanos()) - 11_000_000;
        let waits: u128 = run.delivered().iter().map(waited).sum();
        assert_eq!(run.delivered().len(), 2000);
        assert_eq!(waits, area, "{kind}");
        waits
    };
    let waits: Vec<u128> = SchedulerConfig::ALL.iter().map(|kind| total_wait(kind)).collect();
    assert!(waits.iter().all(|&wait| wait == waits[0]), "{waits:?}");
    // M/D/1 at 85 %: 0.85 / (2 · 0.15) packet times on average.
    let mean = waits[0] as f64 / 2000.0 / 1e6;
    assert!((2.0..4.0).contains(&mean), "{mean} packet times");
}

// Formulas

/// What was sent to each user, smoothed, kept as the definition says: in bits now.
struct Smoothed {
    window_s: f64,
    bits: Vec<f64>,
}

impl Smoothed {
    fn fade(&mut self, seconds: f64) {
        self.bits.iter_mut().for_each(|bits| *bits *= libm::exp(-seconds / self.window_s));
    }
}

/// The score of a user by the paper's formula: information, what it was served, wait and mean wait in seconds.
type Formula = fn(f64, f64, f64, f64) -> f64;

/// -log10(0.5 %) / 100 ms.
const URGENCY: f64 = 23.010_299_956_639_81;

const FORMULAS: [(&str, Formula); 6] = [
    ("pf", |rate, served, _, _| rate / served),
    ("codes", |rate, served, _, _| rate / served),
    ("max-rate", |rate, _, _, _| (rate * 100.0).round()),
    ("m-lwdf", |rate, served, wait, _| URGENCY * wait * rate / served),
    ("exp-pf", |rate, served, wait, mean| {
        let mean = URGENCY * mean;
        libm::exp((URGENCY * wait - mean) / (1.0 + mean.sqrt())) * rate / served
    }),
    ("ubmt", |rate, served, wait, _| rate / served * (wait / 0.1).max(1.0)),
];

proptest! {
    #![proptest_config(cases(150))]

    /// Who is served has the highest score, computed anew from the definitions at each choice.
    #[test]
    fn who_is_served_has_the_highest_score(
        (kind, formula) in prop::sample::select(&FORMULAS[..]), users in 1usize..80, window in 20u64..3000,
        seed in any::<u64>()
    ) {
        let mut options = json!({ "kind": kind, "buffer": "100000 packets" });
        if kind != "max-rate" {
            options["window"] = json!(format!("{window} ms"));
        }
        if kind == "codes" {
            options["limit"] = json!("1000 s");
        }
        let (mut desk, mut chance) = (Desk::new(options, users), rng(seed));
        let window_s = window as f64 / 1e3;
        // As if one bit had been sent before the start; the desk's clock begins after it.
        let mut served = Smoothed { window_s, bits: vec![1.0; users] };
        served.fade(desk.now.as_secs_f64());
        let mut came: Vec<VecDeque<Time>> = vec![VecDeque::new(); users];
        for _ in 0..200 {
            let pause = Duration::from_micros(1 + chance.next_u64() % 5000);
            desk.paint(&(0..users).map(|_| fade(chance.as_mut())).collect::<Vec<_>>());
            desk.wait(pause);
            served.fade(pause.as_secs_f64());
            for _ in 0..chance.next_u64() % 4 {
                let user = chance.next_u64() as usize % users;
                prop_assert!(desk.offer(user as u32, 100 + chance.next_u64() as u32 % 1000));
                came[user].push_back(desk.now);
            }
            let waits = |user: usize| came[user].front().map(|&since| desk.now.since(since).as_secs_f64());
            let waiting: Vec<(usize, f64)> = (0..users).filter_map(|user| Some((user, waits(user)?))).collect();
            let mean = waiting.iter().map(|(_, wait)| wait).sum::<f64>() / waiting.len().max(1) as f64;
            let score = |&(user, wait): &(usize, f64)| formula(desk.information(user), served.bits[user], wait, mean);
            let highest = waiting.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
            let scores: BTreeMap<usize, f64> = waiting.iter().map(|entry| (entry.0, score(entry))).collect();
            match desk.select() {
                Some(packet) => {
                    let chosen = scores[&(packet.user as usize)];
                    prop_assert!(chosen >= highest * (1.0 - 1e-9), "{}: {} instead of {}", kind, chosen, highest);
                    served.bits[packet.user as usize] += f64::from(packet.size) * 8.0;
                    came[packet.user as usize].pop_front();
                }
                None => prop_assert!(waiting.is_empty()),
            }
        }
    }

    /// With equal channels, nothing served before and one deadline M-LWDF is longest wait first.
    #[test]
    fn m_lwdf_begins_with_the_longest_wait(users in 2u32..40, seed in any::<u64>()) {
        let (mut desk, mut chance) = (Desk::new(json!({ "kind": "m-lwdf" }), users as usize), rng(seed));
        let mut order: Vec<u32> = (0..users).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, chance.next_u64() as usize % (last + 1));
        }
        for &user in &order {
            prop_assert!(desk.offer(user, 1000));
            desk.wait(Duration::from_micros(1 + chance.next_u64() % 1000));
        }
        let served: Vec<u32> = (0..users).map(|_| desk.select().unwrap().user).collect();
        prop_assert_eq!(served, order);
    }

    /// When all have waited as long, the exponential is the same for all: EXP-PF chooses as PF does.
    #[test]
    fn exp_pf_is_pf_while_waits_are_equal(users in 1u32..30, seed in any::<u64>()) {
        let order = |kind: &str| {
            let (mut desk, mut chance) = (Desk::new(json!({ "kind": kind }), users as usize), rng(seed));
            for _ in 0..8 {
                (0..users).for_each(|user| assert!(desk.offer(user, 1000)));
            }
            let mut order = Vec::new();
            for _ in 0..8 * users {
                desk.paint(&(0..users).map(|_| fade(chance.as_mut())).collect::<Vec<_>>());
                desk.wait(MS);
                order.push(desk.select().unwrap().user);
            }
            order
        };
        prop_assert_eq!(order("exp-pf"), order("pf"));
    }
}

#[test]
fn exp_pf_serves_a_bad_channel_that_has_waited() {
    // The worst channel at its deadline against fresh packets in the best: exp(2.3) outweighs no factor of 1000 …
    let first = |wait_ms: u64| {
        let mut desk = Desk::new(json!({ "kind": "exp-pf" }), 2);
        desk.paint(&bringing(&[0.02, 0.99]));
        assert!(desk.offer(0, 1000));
        desk.wait(Duration::from_millis(wait_ms));
        assert!(desk.offer(1, 1000));
        desk.select().unwrap().user
    };
    // … but the wait grows: with m the mean, (aW - m) / (1 + √m) reaches ln(0.99 / 0.02) = 3.9 more than the other's.
    let gain = |wait_s: f64| URGENCY * wait_s / (1.0 + (URGENCY * wait_s / 2.0).sqrt());
    assert!(gain(0.8) > 3.91 && gain(0.4) < 3.89, "{} {}", gain(0.8), gain(0.4));
    assert_eq!((first(800), first(400)), (0, 1));
}

// Proportional fairness

proptest! {
    #![proptest_config(cases(60))]

    /// The bound on starvation that the documentation of proportional fairness derives, for any channels.
    #[test]
    fn nobody_starves_under_pf(users in 2usize..7, window in 50u64..2000, mode in 0..3, seed in any::<u64>()) {
        longest_wait(users, window, 3000, |n, chance, snrs| match mode {
            // All fade; one is lost for ever and the others are clear; the best is taken away from who was served.
            0 => snrs.iter_mut().for_each(|snr| *snr = fade(chance)),
            1 => (0..snrs.len()).for_each(|user| snrs[user] = if user == 0 { ERASED } else { CLEAR }),
            _ => {
                snrs.iter_mut().for_each(|snr| *snr = fade(chance));
                let served = n % snrs.len();
                snrs[served] = ERASED;
            }
        }, seed);
    }
}

/// Serves users with always more packets under PF and checks each wait against the bound; the longest wait of user 0,
/// and the lowest bound that it had, in packets.
fn longest_wait(
    users: usize,
    window_ms: u64,
    packets: usize,
    mut paint: impl FnMut(usize, &mut dyn Rng, &mut Vec<Db>),
    seed: u64,
) -> (f64, f64) {
    let mut chance = rng(seed);
    let windows = 1.0 / window_ms as f64; // a packet lasts this part of a window
    let growth = libm::exp(windows);
    let packet_bits = 8000.0;
    // Of each user: what it had been sent, smoothed, when it was last served, and the packet at which that was.
    let mut smoothed = vec![1.0f64; users];
    let mut last = vec![(1.0f64, 0usize); users];
    let mut first = (0.0f64, f64::INFINITY);
    let served = std::cell::RefCell::new(Vec::new());
    let mut desk = Desk::new(json!({ "kind": "pf", "window": format!("{window_ms} ms") }), users);
    for _ in 0..4 {
        (0..users as u32).for_each(|user| assert!(desk.offer(user, 1000)));
    }
    let mut snrs = vec![CLEAR; users];
    for n in 1..=packets {
        paint(n, chance.as_mut(), &mut snrs);
        desk.paint(&snrs);
        desk.wait(MS);
        smoothed.iter_mut().for_each(|bits| *bits /= growth);
        let user = desk.select().unwrap().user as usize;
        served.borrow_mut().push(user);
        for other in (0..users).filter(|&other| other != user) {
            let (had, since) = last[other];
            let others = (users - 1) as f64;
            let rounds = growth / (growth - 1.0);
            let bound = libm::log((others * 1000.0 * had / packet_bits + rounds) / (rounds - others)) / windows;
            let wait = (n - since) as f64;
            assert!(wait <= bound + 1e-6, "user {other} has waited for {wait} packets, {bound} allowed");
            if other == 0 && wait > first.0 {
                first = (wait, bound);
            }
        }
        smoothed[user] += packet_bits;
        last[user] = (smoothed[user], n);
        assert!(desk.offer(user as u32, 1000));
    }
    first
}

/// The bound is not idle: in a channel that is lost for ever against clear ones the wait comes near it.
#[test]
fn a_lost_channel_waits_about_as_long_as_pf_allows() {
    let lost = |_: usize, _: &mut dyn Rng, snrs: &mut Vec<Db>| snrs[0] = ERASED;
    let (wait, bound) = longest_wait(4, 200, 20_000, lost, 1);
    assert!(wait > 0.9 * bound, "{wait} of {bound}");
}

#[test]
fn pf_gives_equal_shares_in_equal_channels() {
    let mut chance = rng(5);
    let served = serve(json!({ "kind": "pf" }), 8, 100_000, |_, snrs| {
        snrs.iter_mut().for_each(|snr| *snr = fade(chance.as_mut()));
    });
    assert!(shares(&served).iter().all(|share| (share * 8.0 - 1.0).abs() < 0.01), "{served:?}");
}

#[test]
fn pf_gives_shares_in_proportion_to_the_rates() {
    let rates = [1.0, 0.8, 0.5, 0.25, 0.1];
    let snrs = bringing(&rates);
    let served = serve(json!({ "kind": "pf" }), 5, 50_000, |_, painted| painted.copy_from_slice(&snrs));
    for (share, rate) in shares(&served).iter().zip(rates) {
        assert!((share / (rate / 2.65) - 1.0).abs() < 0.02, "{rate}: {share}");
    }
}

/// Serving who is good now is worth more than taking turns: the gain of many users that fade apart.
#[test]
fn pf_serves_better_channels_than_turns_do_and_max_rate_the_best() {
    let mean_rate = |kind: &str| {
        let (mut chance, mut rates) = (rng(5), Vec::new());
        let mut desk = Desk::new(json!({ "kind": kind }), 10);
        (0..10).for_each(|user| assert!(desk.offer(user, 1000)));
        for _ in 0..5000 {
            desk.paint(&(0..10).map(|_| fade(chance.as_mut())).collect::<Vec<_>>());
            desk.wait(MS);
            let user = desk.select().unwrap().user;
            let best = (0..10).map(|user| desk.information(user)).fold(0.0, f64::max);
            rates.push((desk.information(user as usize), best));
            assert!(desk.offer(user, 1000));
        }
        if kind == "max-rate" {
            // Channels are told apart by hundredths.
            assert!(rates.iter().all(|(rate, best)| best - rate <= 0.01));
        }
        rates.iter().map(|(rate, _)| rate).sum::<f64>() / rates.len() as f64
    };
    let (turns, pf, best) = (mean_rate("round-robin"), mean_rate("pf"), mean_rate("max-rate"));
    assert!(turns < 0.65 && pf > 0.9 && best > 0.98, "{turns} {pf} {best}");
}

#[test]
fn max_rate_shares_among_equals_and_starves_the_others() {
    let snrs = [CLEAR, CLEAR, Db::new(5.0), CLEAR];
    let served = serve(json!({ "kind": "max-rate" }), 4, 3000, |_, painted| painted.copy_from_slice(&snrs));
    assert_eq!(served[2], 0);
    assert!([0, 1, 3].iter().all(|&user| (999..=1001).contains(&served[user])), "{served:?}");
}

#[test]
fn an_old_estimate_serves_who_was_good() {
    let estimate = EstimateConfig { interval: Duration::from_millis(10), age: Duration::from_millis(50) };
    let mut desk = Desk::new(json!({ "kind": "max-rate" }), 2).estimating(&estimate);
    let mut chosen = Vec::new();
    for n in 0..200u32 {
        // User 0 is good until 100 ms, user 1 from then on.
        let good_is_first = n < 100;
        desk.paint(&if good_is_first { [CLEAR, ERASED] } else { [ERASED, CLEAR] });
        desk.wait(MS);
        if n >= 60 {
            (0..2).for_each(|user| assert!(desk.offer(user, 1000)));
            chosen.push((desk.now, desk.select().unwrap().user));
        }
    }
    // The report of 110 ms is the first to tell (that of 100 ms was made 1 ms before), and is known at 160 ms.
    let turned = chosen.iter().position(|(_, user)| *user == 1).unwrap();
    assert!(chosen[..turned].iter().all(|(_, user)| *user == 0) && chosen[turned..].iter().all(|(_, user)| *user == 1));
    assert!((ms(155)..=ms(161)).contains(&chosen[turned].0), "{}", chosen[turned].0);
}

/// The sums behind the averages are scaled anew once in a hundred windows: nobody notices, also while no report comes.
#[test]
fn a_long_run_without_reports_stays_fair() {
    let by_frames = schedulers_with("frame");
    for kind in schedulers_with("window").into_iter().filter(|kind| !by_frames.contains(kind)) {
        let estimate = EstimateConfig { interval: Duration::from_secs(10_000), age: Duration::ZERO };
        let options = json!({ "kind": kind, "window": "5 ms", "buffer": "1000 packets" });
        let mut desk = Desk::new(options, 3).estimating(&estimate);
        (0..3).for_each(|user| (0..3).for_each(|_| assert!(desk.offer(user, 1000))));
        let mut last = [0; 3];
        for n in 1..20_000 {
            desk.wait(MS);
            let user = desk.select().unwrap().user as usize;
            assert!(n - last[user] <= 4, "{kind}: user {user} at {n} after {}", last[user]);
            last[user] = n;
            assert!(desk.offer(user as u32, 1000));
        }
        assert!(last.iter().all(|&last| last > 19_990), "{kind}: {last:?}");
    }
}
