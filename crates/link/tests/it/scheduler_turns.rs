//! Schedulers that take turns: of packets, of bytes, of frames, and of flows.

use crate::common::desk::{Desk, MS, bringing, cases, serve, shares};
use crate::common::{Run, Scripted, ms, packet, rng, us};
use channel::{CLEAR, ERASED};
use link::{DropReason, Ecn, PacketRef};
use proptest::prelude::*;
use rand::Rng;
use serde_json::json;
use units::{Duration, Time};

// Turns

#[test]
fn round_robin_never_differs_by_more_than_a_packet() {
    let mut desk = Desk::new(json!({ "kind": "round-robin" }), 7);
    let mut served = [0i32; 7];
    (0..7).for_each(|user| (0..3).for_each(|_| assert!(desk.offer(user, 40 + 200 * user))));
    for _ in 0..1000 {
        let user = desk.select().unwrap().user;
        served[user as usize] += 1;
        assert!(desk.offer(user, 100));
        assert!(served.iter().max().unwrap() - served.iter().min().unwrap() <= 1, "{served:?}");
    }
}

proptest! {
    #![proptest_config(cases(100))]

    /// Shreedhar and Varghese, theorem 2: among users with always more to send the bytes sent differ by at most a
    /// quantum and a largest packet from the start, and by a quantum and two in any interval.
    #[test]
    fn drr_is_fair_in_bytes(quantum in 40u32..4000, users in 2u32..8, seed in any::<u64>()) {
        const LARGEST: u32 = 1500;
        let mut desk = Desk::new(json!({ "kind": "drr", "quantum": format!("{quantum} B") }), users as usize);
        let mut chance = rng(seed);
        let mut size = || 40 + chance.next_u64() as u32 % (LARGEST - 39);
        for user in 0..users {
            (0..3).for_each(|_| assert!(desk.offer(user, size())));
        }
        let mut sent = vec![vec![0i64; users as usize]];
        for _ in 0..400 {
            let packet = desk.select().unwrap();
            let mut now = sent.last().unwrap().clone();
            now[packet.user as usize] += i64::from(packet.size);
            sent.push(now);
            prop_assert!(desk.offer(packet.user, size()));
        }
        let spread = |from: &[i64], to: &[i64]| {
            let in_it = || to.iter().zip(from).map(|(to, from)| to - from);
            in_it().max().unwrap() - in_it().min().unwrap()
        };
        for (end, now) in sent.iter().enumerate() {
            prop_assert!(spread(&sent[0], now) <= i64::from(quantum + LARGEST));
            let start = end * (seed as usize % 97) / 97;
            prop_assert!(spread(&sent[start], now) <= i64::from(quantum + 2 * LARGEST));
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// The same bound from the instant on at which nobody is held up any more, whatever was before: users that may have
    /// one packet in flight, or none for a while, save nothing up.
    #[test]
    fn drr_gives_no_credit_for_being_held_up(quantum in 40u32..4000, users in 2u32..6, seed in any::<u64>()) {
        const LARGEST: u32 = 1500;
        let mut desk = Desk::new(json!({ "kind": "drr", "quantum": format!("{quantum} B") }), users as usize);
        let mut chance = rng(seed);
        // User 0 has small packets, so that most of its turn is left when it is held up.
        let beyond = |chance: &mut dyn Rng| chance.next_u64() as u32 % (LARGEST - 39);
        let size = |user, chance: &mut dyn Rng| 40 + if user == 0 { 0 } else { beyond(chance) };
        for user in 0..users {
            (0..3).for_each(|_| assert!(desk.offer(user, size(user, &mut chance))));
        }
        for _ in 0..2000 {
            let sent = desk.select();
            if let Some(packet) = sent {
                assert!(desk.offer(packet.user, size(packet.user, &mut chance)));
                desk.open(packet.user, packet.user == 1);
            }
            let freed = chance.next_u64() as u32 % users;
            desk.open(freed, true);
        }
        (0..users).for_each(|user| desk.open(user, true));
        let mut sent = vec![0i64; users as usize];
        for _ in 0..400 {
            let packet = desk.select().unwrap();
            sent[packet.user as usize] += i64::from(packet.size);
            prop_assert!(desk.offer(packet.user, size(packet.user, &mut chance)));
            let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            prop_assert!(spread <= i64::from(quantum + 2 * LARGEST), "{sent:?}");
        }
    }
}

#[test]
fn drr_keeps_what_it_could_not_use_only_while_packets_wait() {
    let mut desk = Desk::new(json!({ "kind": "drr", "quantum": "1000 B" }), 2);
    [900, 900].into_iter().for_each(|size| assert!(desk.offer(0, size)));
    [600, 600, 600].into_iter().for_each(|size| assert!(desk.offer(1, size)));
    // 0 sends 900 and keeps 100; 1 sends 600 and keeps 400; 0 has 1100 and sends 900; 1 has 1400 and sends 600 twice.
    let order: Vec<u32> = (0..5).map(|_| desk.select().unwrap().user).collect();
    assert_eq!(order, [0, 1, 0, 1, 1]);
    // Both left nothing: 1 does not have its 200 any more.
    [1100, 100].into_iter().for_each(|size| assert!(desk.offer(1, size)));
    assert!(desk.offer(0, 100));
    let order: Vec<u32> = (0..3).map(|_| desk.select().unwrap().user).collect();
    assert_eq!(order, [0, 1, 1]);
}

// Frames

/// Where the utility's gain is the same for all, x is in proportion to r^(1/α).
#[test]
fn frames_share_as_their_utility_says() {
    let rates: [f64; 4] = [1.0, 0.7, 0.4, 0.2];
    let snrs = bringing(&rates);
    for kind in ["bbs", "bps"] {
        for alpha in [0.5, 1.0, 2.0, 4.0] {
            let options = json!({ "kind": kind, "alpha": alpha, "window": "5 s" });
            let served = serve(options, 4, 60_000, |_, painted| painted.copy_from_slice(&snrs));
            let wanted: Vec<f64> = rates.iter().map(|&rate| libm::pow(rate, 1.0 / alpha)).collect();
            let all: f64 = wanted.iter().sum();
            for (share, wanted) in shares(&served).iter().zip(&wanted) {
                assert!((share - wanted / all).abs() < 0.01, "{kind} {alpha}: {:?} {wanted}", shares(&served));
            }
        }
        let best = serve(json!({ "kind": kind, "alpha": 0.0 }), 4, 500, |_, painted| painted.copy_from_slice(&snrs));
        assert_eq!(best, [500, 0, 0, 0]);
    }
}

/// Which users the next choices serve, in runs.
fn runs(desk: &mut Desk, choices: usize) -> Vec<(u32, usize)> {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for _ in 0..choices {
        let user = desk.select().unwrap().user;
        match runs.last_mut().filter(|run| run.0 == user) {
            Some(run) => run.1 += 1,
            None => runs.push((user, 1)),
        }
    }
    runs
}

#[test]
fn a_frame_holds_its_bits_and_counts_what_sticks_out() {
    // 20 000 coded bits; 8000 for a packet in a clear channel: 3 in the first frame, 2 beyond the 4000 that stuck out
    // in the second, and so on. The second and the third frame go to user 1, who has been sent less until then.
    let mut desk = Desk::new(json!({ "kind": "bbs", "frame": 20_000 }), 2);
    for user in 0..2 {
        (0..20).for_each(|_| assert!(desk.offer(user, 1000)));
    }
    assert_eq!(runs(&mut desk, 10), [(0, 3), (1, 5), (0, 2)]);
}

#[test]
fn a_bad_channel_fills_a_frame_with_fewer_packets() {
    let mut desk = Desk::new(json!({ "kind": "bbs", "frame": 32_000 }), 1);
    desk.paint(&bringing(&[0.5]));
    desk.wait(MS);
    (0..4).for_each(|_| assert!(desk.offer(0, 1000)));
    // Two packets are planned. A new user, who was never served, waits until they are sent.
    assert!(desk.select().is_some());
    let mut desk = Desk::new(json!({ "kind": "bbs", "frame": 32_000 }), 2);
    desk.paint(&bringing(&[0.5, 0.5]));
    desk.wait(MS);
    (0..6).for_each(|_| assert!(desk.offer(0, 1000)));
    assert_eq!(desk.select().unwrap().user, 0);
    (0..6).for_each(|_| assert!(desk.offer(1, 1000)));
    assert_eq!(runs(&mut desk, 3), [(0, 1), (1, 2)]);
}

#[test]
fn a_period_is_played_as_planned_whatever_happens() {
    // 32 000 bits in 8 ms are two frames of 32 000 at 8 Mbit/s: 4 packets of 0, then 4 of 1.
    let options = json!({ "kind": "bps", "frame": 32_000, "period": "8 ms" });
    let filled = || {
        let mut desk = Desk::new(options.clone(), 3);
        for user in 0..2 {
            (0..20).for_each(|_| assert!(desk.offer(user, 1000)));
        }
        assert_eq!(desk.select().unwrap().user, 0);
        desk
    };
    // A third user comes and the channels turn: it is served in the next period.
    let mut desk = filled();
    desk.paint(&[ERASED, ERASED, CLEAR]);
    desk.wait(MS);
    (0..20).for_each(|_| assert!(desk.offer(2, 1000)));
    assert_eq!(runs(&mut desk, 8), [(0, 3), (1, 4), (2, 1)]);
    // Who may not start is passed over, and when nothing is left of the schedule a new one is made.
    let mut desk = filled();
    desk.open(1, false);
    assert_eq!(runs(&mut desk, 8), [(0, 8)]);
    desk.open(0, false);
    assert!(desk.select().is_none());
    desk.open(1, true);
    assert_eq!(runs(&mut desk, 3), [(1, 3)]);
}

#[test]
fn frames_for_which_nothing_waits_take_what_sticks_out() {
    // Two frames of 32 000 bits again. 24 000 and another 24 000 fill the first and half of the second, and that is
    // all.
    let mut desk = Desk::new(json!({ "kind": "bps", "frame": 32_000, "period": "8 ms" }), 3);
    [1000, 1000, 1000, 3000].into_iter().for_each(|size| assert!(desk.offer(0, size)));
    assert_eq!(runs(&mut desk, 4), [(0, 4)]);
    // So the next period owes nothing: 4 packets to each of two users who were sent nothing until then.
    for user in 1..3 {
        (0..20).for_each(|_| assert!(desk.offer(user, 1000)));
    }
    assert_eq!(runs(&mut desk, 8), [(1, 4), (2, 4)]);
}

#[test]
fn planned_packets_that_are_gone_are_passed_over() {
    let mut desk = Desk::new(json!({ "kind": "bps", "frame": 32_000, "period": "8 ms", "limit": "10 ms" }), 2);
    (0..4).for_each(|_| assert!(desk.offer(0, 1000)));
    desk.wait(Duration::from_millis(5));
    (0..4).for_each(|_| assert!(desk.offer(1, 1000)));
    let first = desk.select().unwrap().user;
    desk.wait(Duration::from_millis(6));
    let order: Vec<u32> = (0..4).filter_map(|_| desk.select()).map(|packet| packet.user).collect();
    assert_eq!(order.len(), if first == 0 { 4 } else { 3 });
    assert!(order.iter().all(|&user| user == 1), "those of 0 are too old: {order:?}");
    assert!(desk.select().is_none());
}

// Flow queues

fn flow(desk: &mut Desk, now: Time, id: u32, flow: u32, size: u32) -> bool {
    let packet = PacketRef { id, flow, user: 0, class: 0, size, ecn: Ecn::NotEct };
    desk.scheduler.enqueue(now, packet).is_ok()
}

#[test]
fn a_flow_with_little_to_send_goes_first() {
    let mut desk = Desk::new(json!({ "kind": "fq-codel" }), 1);
    for id in 0..60 {
        assert!(flow(&mut desk, ms(1), id, id % 3, 1500));
    }
    (0..12).for_each(|_| assert!(desk.select().is_some())); // the three are old now
    for id in 100..105 {
        assert!(flow(&mut desk, ms(2), id, 7, 200));
        assert_eq!(desk.select().unwrap().id, id, "before all that wait");
        // It cannot stay new by sending little: its empty queue waits for its turn among the old ones.
        (0..4).for_each(|_| assert_ne!(desk.select().unwrap().flow, 7));
    }
}

#[test]
fn flows_share_by_bytes_and_not_by_packets() {
    let mut desk =
        Desk::new(json!({ "kind": "fq-codel", "quantum": "1500 B", "target": "10 s", "interval": "100 s" }), 1);
    let sizes = [1500, 500, 100];
    let mut sent = [0u32; 3];
    for id in 0..4000 {
        for (number, size) in sizes.into_iter().enumerate() {
            if id < 500 || number == 2 {
                assert!(flow(&mut desk, ms(1), 0, number as u32, size));
            }
        }
    }
    for _ in 0..2000 {
        let packet = desk.select().unwrap();
        sent[packet.flow as usize] += packet.size;
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= 1500 + 2 * 1500, "{sent:?}");
    }
}

#[test]
fn the_fattest_queue_makes_room_at_its_head() {
    let mut desk = Desk::new(json!({ "kind": "fq-codel", "buffer": "20 packets" }), 1);
    // Flow 1 has more packets, flow 0 more bytes.
    (0..8).for_each(|id| assert!(flow(&mut desk, ms(1), id, 0, 1500)));
    (8..20).for_each(|id| assert!(flow(&mut desk, ms(1), id, 1, 100)));
    assert!(desk.scheduler.poll_dropped().is_none());
    assert!(flow(&mut desk, ms(1), 20, 1, 100), "there is always room for the one that comes");
    let dropped: Vec<(u32, DropReason)> =
        std::iter::from_fn(|| desk.scheduler.poll_dropped()).map(|(packet, reason)| (packet.id, reason)).collect();
    assert_eq!(dropped, [0, 1, 2, 3].map(|id| (id, DropReason::Overflow)), "half of its packets, the oldest");
    assert_eq!(desk.scheduler.backlog().packets, 17);
    // Never more than 64 at once.
    let mut desk = Desk::new(json!({ "kind": "fq-codel", "buffer": "200 packets" }), 1);
    (0..201).for_each(|id| assert!(flow(&mut desk, ms(1), id, 0, 1500)));
    assert_eq!(desk.scheduler.backlog().packets, 201 - 64);
}

/// RFC 8290 section 4.2: a link that asks for a packet where none waits leaves no queue in a list.
#[test]
fn an_idle_link_ends_the_turns_of_flows() {
    let scheduler = json!({ "kind": "fq-codel", "quantum": "15 kB", "buffer": "3 packets" });
    let settings = json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": scheduler });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], None);
    let of = |id, flow| PacketRef { flow, ..packet(id, 1000) };
    run.offer(ms(0), of(0, 1));
    (1..4).zip([2, 2, 1]).for_each(|(id, flow)| run.offer(ms(100), of(id, flow)));
    // A packet that comes while the last one is being sent finds its flow's turn going on.
    run.offer(ms(200), of(4, 1));
    run.offer(us(200_500), of(5, 2));
    run.offer(us(200_500), of(6, 1));
    run.finish();
    assert_eq!(run.delivered_ids(), [0, 1, 2, 3, 4, 6, 5]);
}

/// What makes room for a packet does not wait beside it.
#[test]
fn no_more_packets_wait_than_fit() {
    let settings =
        json!({ "rate": "8 Mbit/s", "delay": "10 ms", "scheduler": { "kind": "fq-codel", "buffer": "3 packets" } });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], None);
    (0..10).for_each(|id| run.offer(ms(0), packet(id, 1000)));
    run.finish();
    assert_eq!(run.hop.report(Duration::from_secs(1)).queue_packets_max, 3);
}

#[test]
fn each_flow_queue_has_a_codel_of_its_own() {
    let mut desk = Desk::new(json!({ "kind": "fq-codel", "target": "5 ms", "interval": "100 ms" }), 1);
    // Flow 0 always has 40 packets more than it can send; flow 1 sends one in 20 ms.
    let (mut now, mut drops, mut id) = (ms(1), [0; 2], 0);
    for n in 0..2000u32 {
        while desk.scheduler.backlog().packets < 40 {
            assert!(flow(&mut desk, now, id, 0, 1500));
            id += 1;
        }
        if n.is_multiple_of(20) {
            assert!(flow(&mut desk, now, id, 1, 200));
            id += 1;
        }
        desk.now = now;
        desk.select().unwrap();
        while let Some((packet, reason)) = desk.scheduler.poll_dropped() {
            assert_eq!(reason, DropReason::Early);
            drops[packet.flow as usize] += 1;
        }
        now += MS;
    }
    assert!(drops[0] > 20, "{drops:?}");
    assert_eq!(drops[1], 0);
}
