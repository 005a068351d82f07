//! The return link as a whole: what becomes of datagrams, and when.

use access::{Access, AccessConfig, AccessReport, Datagram, DropReason, Output, ReturnLink};
use proptest::prelude::*;
use rand::Rng;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use units::{Duration, MemoryFiles, Time};

const ROUND_TRIP: Duration = Duration::from_millis(500);

/// The published frame, with sizes that are those of the datagrams themselves.
fn config(more: &str) -> AccessConfig {
    let mut config: serde_json::Value = serde_json::json!({
        "encapsulation": { "datagram": "0 B", "fragment": "0 B" },
        "whole_frames": true,
    });
    let more: serde_json::Value = serde_json::from_str(more).unwrap();
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(config).unwrap()
}

fn link(config: &AccessConfig, terminals: usize) -> ReturnLink {
    let mut streams = |purpose: &'static str, number: u64| -> Box<dyn Rng + Send> {
        let key = purpose.bytes().fold(number, |key, byte| key.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        Box::new(Xoshiro256PlusPlus::seed_from_u64(key))
    };
    let plan = config.plan(&mut MemoryFiles::new()).unwrap();
    ReturnLink::new(&plan, &vec![1.0; terminals], &mut streams)
}

/// Hands over datagrams (when, terminal, bytes), numbered in their order; what became of each.
fn run(link: &mut ReturnLink, arrivals: &[(f64, u32, u32)], until: f64) -> Vec<(u32, Output)> {
    let (mut done, mut next) = (Vec::new(), 0);
    let mut positions = std::collections::BTreeMap::new();
    loop {
        let arrival = arrivals.get(next).map(|&(at, _, _)| Time::from_secs_f64(at));
        let frame = link.poll_timeout();
        let Some(now) = [arrival, frame].into_iter().flatten().min().filter(|now| *now <= Time::from_secs_f64(until))
        else {
            return done;
        };
        if frame == Some(now) {
            link.handle_timeout(now, Some(ROUND_TRIP));
        } else {
            let (_, terminal, bytes) = arrivals[next];
            let position = positions.entry(terminal).or_insert(0);
            let datagram = Datagram { id: next as u32, terminal, bytes };
            link.handle_datagram(now, datagram, || *position, || Some(ROUND_TRIP));
            *position += 1;
            next += 1;
        }
        while let Some(output) = link.poll_output() {
            let (Output::Sent { id, .. } | Output::Dropped { id, .. }) = output;
            done.push((id, output));
        }
        let due = link.poll_timeout();
        assert!(due.is_none_or(|next| next > now || (next == now && frame != Some(now))), "stays due");
    }
}

/// When a datagram left, in s, and how.
fn sent_at(outputs: &[(u32, Output)], id: u32) -> (f64, Access) {
    match outputs.iter().find(|(other, _)| *other == id) {
        Some((_, Output::Sent { at, access, .. })) => ((at.as_secs_f64() * 1e9).round() / 1e9, *access),
        other => panic!("{id}: {other:?}"),
    }
}

/// A packet of IRSA may have eight replicas, but most have fewer: the timeslots are the limit.
#[test]
fn irregular_repetition_fills_the_timeslots() {
    let report = backlogged(&config(r#"{ "method": { "kind": "irsa" } }"#), 1);
    assert!(report.offered_bursts > 45 * 36, "{report:?}");
    // A packet that found no room keeps its number: 3.6 replicas in the mean, as the distribution has.
    let report = backlogged(&config(r#"{ "method": { "kind": "irsa" } }"#), 40);
    let mean = report.offered_bursts as f64 / (report.decoded_packets + report.lost_packets) as f64;
    assert!((mean - 3.6).abs() < 0.06, "{mean}");
}

/// A request tells the slots that datagrams fill, so all of them have left a request's round trip later, each in a slot
/// of its own as well as packed.
#[test]
fn slots_are_requested_as_datagrams_fill_them() {
    for packing in ["true", "false"] {
        let config = config(&format!(
            r#"{{ "method": {{ "kind": "dedicated" }}, "dedicated": {{ "capacity": {{ "kind": "vbdc" }} }},
                 "encapsulation": {{ "datagram": "2 B", "fragment": "2 B", "packing": {packing} }} }}"#
        ));
        // The first one sets the connection up; 20 of 78 B follow once it is connected.
        let arrivals = [vec![(10.0, 0, 78)], vec![(11.0, 0, 78); 20]].concat();
        let outputs = run(&mut link(&config, 1), &arrivals, 20.0);
        let last = (1..=20).map(|id| sent_at(&outputs, id).0).fold(0.0, f64::max);
        // Requested in the frame that begins at 11.025 s, granted in that at 11.565 s, over at 11.61 s.
        assert_eq!(last, 11.61, "packing {packing}");
    }
}

/// A connection request tells of all that has arrived at its instant.
#[test]
fn a_burst_that_sets_a_connection_up_is_requested_whole() {
    for capacity in ["vbdc", "avbdc"] {
        let config = config(&format!(
            r#"{{ "method": {{ "kind": "dedicated" }}, "dedicated": {{ "capacity": {{ "kind": "{capacity}" }} }} }}"#
        ));
        let outputs = run(&mut link(&config, 1), &[(10.0, 0, 460); 9], 20.0);
        let last = (0..9).map(|id| sent_at(&outputs, id).0).fold(0.0, f64::max);
        // 36 slots of 920 bits: one frame, the first after a round trip.
        assert_eq!(last, 10.575, "{capacity}");
    }
}

/// 13 packets of 597 bits are less than a datagram of 1,500 B, so it takes two frames: from 10.035 to 10.125 s.
/// Reception 250 ms later is the 10.375 s of table 3.
#[test]
fn random_access_sends_at_the_next_frame() {
    let mut link = link(&config(r#"{ "method": { "kind": "crdsa" } }"#), 1);
    let outputs = run(&mut link, &[(10.0, 0, 1500), (10.0, 0, 1500)], 20.0);
    assert_eq!(sent_at(&outputs, 0), (10.125, Access::Random));
    // The second begins in the slots that the first leaves free: 24,000 bits need 41 packets, four frames of 13.
    assert_eq!(sent_at(&outputs, 1), (10.215, Access::Random));
}

/// The request takes 0.5 s, the next frame begins at 10.53 s; reception 250 ms after its end is the 10.825 s of table
/// 3.
#[test]
fn dedicated_access_waits_for_the_plan() {
    let mut link = link(&config(r#"{ "method": { "kind": "dedicated" } }"#), 1);
    let outputs = run(&mut link, &[(10.0, 0, 1500), (12.0, 0, 1500), (19.0, 0, 1500)], 30.0);
    assert_eq!(sent_at(&outputs, 0), (10.575, Access::Dedicated));
    // Connected by now: the next frame begins at 12.015 s. After 3 s without data the connection is set up anew.
    assert_eq!(sent_at(&outputs, 1), (12.06, Access::Dedicated));
    assert_eq!(sent_at(&outputs, 2), (19.575, Access::Dedicated));
}

#[test]
fn a_datagram_leaves_with_its_last_slot_unless_frames_are_whole() {
    let mut whole = link(&config(r#"{ "method": { "kind": "dedicated" } }"#), 1);
    let mut slots = link(&config(r#"{ "method": { "kind": "dedicated" }, "whole_frames": false }"#), 1);
    let arrivals = [(10.0, 0, 1500)];
    // 12,000 bits are 13.04 slots of 920: the fourteenth ends after 14 times 1.125 ms.
    assert_eq!(sent_at(&run(&mut slots, &arrivals, 11.0), 0).0, 10.545_75);
    assert_eq!(sent_at(&run(&mut whole, &arrivals, 11.0), 0).0, 10.575);
}

fn backlogged(config: &AccessConfig, terminals: usize) -> AccessReport {
    let mut link = link(config, terminals);
    let arrivals: Vec<_> = (0..terminals as u32 * 100).map(|i| (0.0, i % terminals as u32, 1500)).collect();
    run(&mut link, &arrivals, 2.0);
    link.report(Time::from_secs_f64(2.0))
}

#[test]
fn one_amplifier_lets_thirteen_packets_of_three_bursts_into_a_frame() {
    let report = backlogged(&config(r#"{ "method": { "kind": "crdsa" } }"#), 1);
    assert_eq!(report.frames, 45); // the last one began at 1.98 s
    assert_eq!(report.offered_bursts, 45 * 39);
    assert_eq!(report.decoded_packets + report.lost_packets, 45 * 13);
    assert!((report.normalized_load.unwrap() - 13.0 / 4000.0).abs() < 1e-12);
    let free = backlogged(&config(r#"{ "method": { "kind": "crdsa" }, "one_amplifier": false }"#), 1);
    assert!(free.offered_bursts > 45 * 39);
}

#[test]
fn a_terminal_keeps_to_its_rate() {
    // 180 kbit/s are 8,100 bits in a frame: 13 packets; 100 kbit/s are 4,500: seven.
    for (rate, packets) in [("180 kbit/s", 13), ("100 kbit/s", 7)] {
        let more = format!(r#"{{ "method": {{ "kind": "crdsa" }}, "max_rate": "{rate}" }}"#);
        let report = backlogged(&config(&more), 1);
        assert_eq!(report.decoded_packets + report.lost_packets, 45 * packets, "{rate}");
    }
    // Dedicated: 4,500 bits are four slots of 920. The first plan that heeds the request is that of 0.54 s.
    let dedicated = backlogged(&config(r#"{ "method": { "kind": "dedicated" }, "max_rate": "100 kbit/s" }"#), 1);
    assert_eq!((dedicated.dedicated_slots_granted, dedicated.dedicated_slots_used), (33 * 4, 33 * 4));
}

#[test]
fn a_slot_takes_the_beginning_of_the_next_datagram_if_it_may() {
    // 40 B are 320 bits: a packet of 597 takes one of them and most of the next, so that 26 are 13.9 packets.
    let arrivals: Vec<_> = (0..26).map(|_| (0.001, 0, 40)).collect();
    for (packing, packets) in [(true, 14), (false, 26)] {
        let more = format!(
            r#"{{ "method": {{ "kind": "crdsa" }},
                "encapsulation": {{ "datagram": "0 B", "fragment": "0 B", "packing": {packing} }} }}"#
        );
        let mut link = link(&config(&more), 1);
        assert_eq!(sent_at(&run(&mut link, &arrivals, 1.0), 25), (0.135, Access::Random));
        assert_eq!(link.report(Time::from_secs_f64(1.0)).decoded_packets, packets);
    }
}

#[test]
fn headers_take_room() {
    let packets = |fragment: u32, datagram: u32| {
        let more = format!(
            r#"{{ "method": {{ "kind": "crdsa" }},
                "encapsulation": {{ "datagram": "{datagram} B", "fragment": "{fragment} B" }} }}"#
        );
        let mut link = link(&config(&more), 1);
        run(&mut link, &[(0.0, 0, 1500)], 1.0);
        link.report(Time::from_secs_f64(1.0)).decoded_packets
    };
    // 12,000 bits in parts of 597, or of 597 - 16, or with 700 bytes more.
    assert_eq!((packets(0, 0), packets(2, 0), packets(0, 700)), (21, 21, 30));
    assert_eq!(packets(10, 0), 24); // 12,000 / 517
}

#[test]
fn a_full_queue_refuses() {
    let mut link = link(&config(r#"{ "method": { "kind": "crdsa" }, "buffer": "3 kB" }"#), 2);
    let outputs = run(&mut link, &[(0.001, 0, 1500), (0.001, 0, 1500), (0.001, 0, 1500), (0.001, 1, 1500)], 1.0);
    let refused: Vec<u32> = outputs
        .iter()
        .filter(|(_, output)| matches!(output, Output::Dropped { reason: DropReason::Overflow, access: None, .. }))
        .map(|(id, _)| *id)
        .collect();
    assert_eq!((refused, outputs.len()), (vec![2], 4));
}

/// As at the last hop. A datagram of 300 B takes 302 of encapsulation.
#[test]
fn an_empty_queue_takes_a_datagram_of_any_size() {
    let mut link = link(&config(r#"{ "method": { "kind": "crdsa" }, "buffer": "300 B" }"#), 1);
    let outputs = run(&mut link, &[(0.001, 0, 300), (0.001, 0, 300), (0.9, 0, 300)], 2.0);
    let sent = outputs.iter().filter(|(_, output)| matches!(output, Output::Sent { .. })).map(|(id, _)| *id);
    assert_eq!(sent.collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_datagram_is_lost_with_any_of_its_parts() {
    // Slotted ALOHA, two terminals on a block of two slots each frame: packets collide half of the time.
    let more = r#"{ "method": { "kind": "aloha" }, "frame": { "timeslots": 2, "carriers": 1, "block_slots": 2 } }"#;
    let mut link = link(&config(more), 2);
    let arrivals: Vec<_> = (0..2000).map(|i| (0.0, i % 2, 300)).collect(); // 2,400 bits: five packets
    let outputs = run(&mut link, &arrivals, 10_000.0);
    let report = link.report(Time::from_secs_f64(10_000.0));
    let lost = outputs.iter().filter(|(_, output)| matches!(output, Output::Dropped { .. })).count() as f64;
    assert_eq!(outputs.len(), 2000);
    // Two packets a terminal and frame take both slots: with both terminals at it, all collide. A datagram alone never
    // does.
    assert!(report.lost_packets > 0 && lost > 0.0);
    assert_eq!(report.collided_bursts, report.lost_packets);
    let parts = report.decoded_packets + report.lost_packets;
    assert!(lost / 2000.0 >= report.lost_packets as f64 / parts as f64, "{lost}: {report:?}");
}

#[test]
fn a_switch_sends_the_first_datagrams_at_random_and_the_rest_in_slots_of_their_own() {
    let policy = |kind: &str| {
        format!(r#"{{ "method": {{ "kind": "switch", "policy": {kind} }}, "frame": {{ "random_carriers": 50 }} }}"#)
    };
    let sequence = config(&policy(r#"{ "kind": "sequence", "after": 2 }"#));
    let arrivals: Vec<_> = (0..6).map(|i| (10.0 + 0.1 * f64::from(i), 0, 500)).collect();
    let outputs = run(&mut link(&sequence, 1), &arrivals, 20.0);
    let kinds: Vec<Access> = (0..6).map(|id| sent_at(&outputs, id).1).collect();
    assert_eq!(kinds[..2], [Access::Random; 2]);
    assert_eq!(kinds[2..], [Access::Dedicated; 4]);
    // The third, at 10.2 s, asks: the first plan that heeds it is that of 10.71 s.
    assert_eq!((sent_at(&outputs, 0).0, sent_at(&outputs, 2).0), (10.08, 10.755));

    let granted = config(&policy(r#"{ "kind": "granted" }"#));
    let outputs = run(&mut link(&granted, 1), &arrivals, 20.0);
    let kinds: Vec<Access> = (0..6).map(|id| sent_at(&outputs, id).1).collect();
    // The connection stands from the frame of 10.53 s on; the sixth arrives at 10.5 s, and a free slot takes it.
    assert_eq!(kinds[..5], [Access::Random; 5]);
    assert_eq!(sent_at(&outputs, 5), (10.575, Access::Dedicated));
}

/// Asking early pays where a connection has slots without further requests, and costs no more than a frame elsewhere.
#[test]
fn asking_early_pays_or_costs_little() {
    for capacity in ["cra", "rbdc", "vbdc", "avbdc"] {
        let second = |policy: &str| {
            let more = format!(
                r#"{{ "method": {{ "kind": "switch", "policy": {policy} }}, "frame": {{ "random_carriers": 50 }},
                    "dedicated": {{ "capacity": {{ "kind": "{capacity}" }} }} }}"#
            );
            sent_at(&run(&mut link(&config(&more), 1), &[(0.001, 0, 500), (0.6, 0, 500)], 5.0), 1)
        };
        let (early, late) = (
            second(r#"{ "kind": "sequence", "after": 1, "ask_after": 0 }"#),
            second(r#"{ "kind": "sequence", "after": 1 }"#),
        );
        assert_eq!((early.1, late.1), (Access::Dedicated, Access::Dedicated));
        // A connected terminal asks when a frame begins, one without connection at once.
        assert!(early.0 < late.0 + 0.046, "{capacity}: {early:?} {late:?}");
        if capacity == "cra" {
            assert!(early.0 < 0.68 && late.0 > 1.1, "{early:?} {late:?}");
        }
        // Who leaves random access only for slots that are there is served at once.
        let granted = second(r#"{ "kind": "granted" }"#);
        assert!(granted.0 < 0.72, "{capacity}: {granted:?}");
    }
}

/// Slots that take what waits for random access are filled as any others: two datagrams of 416 bits and a part of a
/// third.
#[test]
fn slots_for_what_would_go_at_random_are_packed_too() {
    let more =
        r#"{ "method": { "kind": "switch", "policy": { "kind": "granted" } }, "frame": { "random_carriers": 50 } }"#;
    let mut link = link(&config(more), 1);
    let mut arrivals = vec![(0.001, 0, 52)];
    arrivals.extend((0..80).map(|_| (1.001, 0, 52)));
    let outputs = run(&mut link, &arrivals, 3.0);
    assert_eq!((1..=80).filter(|&id| sent_at(&outputs, id) == (1.08, Access::Dedicated)).count(), 80);
    // 33,280 bits in slots of 920, all in one frame of 40.
    assert_eq!(link.report(Time::from_secs_f64(3.0)).dedicated_slots_used, 37);
}

/// The carriers at the start keep to the division, and what cannot be is named by its own field.
#[test]
fn carriers_keep_to_the_division_from_the_start() {
    let with = |division: &str, frame: &str| {
        config(&format!(
            r#"{{ "method": {{ "kind": "switch", "policy": {{ "kind": "granted" }} }}, "frame": {{ {frame} }},
                "division": {{ "kind": "by-load", {division} }} }}"#
        ))
    };
    let start = |division: &str| with(division, "").resolved().frame.random_carriers;
    assert_eq!([start(r#""most": 20"#), start(r#""least": 80"#)], [Some(20), Some(80)]);
    let says = |division: &str, frame: &str| with(division, frame).check().unwrap_err().to_string();
    assert!(says(r#""most": 7"#, "").starts_with("division.most: 7 was given"));
    assert!(says(r#""most": 0"#, "").starts_with("division.most: 0 was given"));
    assert!(says(r#""least": 93"#, "").starts_with("division.least: 93 was given"));
    let given = says(r#""most": 20"#, r#""random_carriers": 50"#);
    assert!(given.starts_with("frame.random_carriers: 50 was given") && given.ends_with("20 would be"), "{given}");
}

/// What room is left in a granted slot takes a datagram for random access only if that ends in the slots of the frame:
/// what is left of it would wait for a request of its own.
#[test]
fn slots_take_from_random_access_what_ends_in_them() {
    let more = r#"{ "method": { "kind": "switch", "policy": { "kind": "sequence", "after": 1 } },
        "dedicated": { "capacity": { "kind": "vbdc" } } }"#;
    for (bytes, access) in [(15, Access::Dedicated), (16, Access::Random), (100, Access::Random)] {
        let mut link = link(&config(more), 1);
        let mut offer = |id, at, bytes, position| {
            let now = Time::from_secs_f64(at);
            while let Some(due) = link.poll_timeout().filter(|due| *due <= now) {
                link.handle_timeout(due, Some(ROUND_TRIP));
            }
            link.handle_datagram(now, Datagram { id, terminal: 0, bytes }, || position, || Some(ROUND_TRIP));
        };
        // The first has one slot of 920 bits in the frame at 10.53 s.
        offer(0, 10.0, 100, 5);
        offer(1, 10.5, bytes, 0);
        let outputs = run(&mut link, &[], 20.0);
        assert_eq!(sent_at(&outputs, 0), (10.575, Access::Dedicated));
        assert_eq!(sent_at(&outputs, 1), (10.575, access), "{bytes} B");
    }
}

/// A terminal may be granted every timeslot while the rest of a datagram waits that began at random: slots that it does
/// not use leave its one amplifier free. 971 B are 7,768 bits, seven more than 13 packets of random access carry.
#[test]
fn what_began_at_random_ends_so_although_all_timeslots_are_granted() {
    let more = r#"{ "method": { "kind": "switch", "policy": { "kind": "granted" } }, "frame": { "carriers": 10 } }"#;
    let mut link = link(&config(more), 1);
    let outputs = run(&mut link, &[(18.75, 0, 1), (19.2, 0, 971), (19.2, 0, 100)], 60.0);
    // Connected from the frame at 19.26 s on, in which the second ends and the third has slots.
    assert_eq!(sent_at(&outputs, 1), (19.305, Access::Random));
    assert_eq!(sent_at(&outputs, 2), (19.305, Access::Dedicated));
}

/// Without a route terminals hear nothing, so they neither send nor ask; what waits goes when there is one again.
#[test]
fn an_outage_stops_everything() {
    for (kind, first) in [("crdsa", 5.04 + 0.045), ("dedicated", 5.04 + 0.54)] {
        let mut link = link(&config(&format!(r#"{{ "method": {{ "kind": "{kind}" }} }}"#)), 1);
        let outage = |now: Time| (now >= Time::from_secs_f64(5.0)).then_some(ROUND_TRIP);
        let at = Time::from_secs_f64(3.0);
        link.handle_datagram(at, Datagram { id: 0, terminal: 0, bytes: 500 }, || 0, || outage(at));
        let mut sent = None;
        while sent.is_none() {
            let now = link.poll_timeout().expect("something waits");
            link.handle_timeout(now, outage(now));
            sent = link.poll_output();
        }
        let Some(Output::Sent { at, .. }) = sent else { panic!("{kind}: {sent:?}") };
        assert!((at.as_secs_f64() - first).abs() < 0.05, "{kind}: {at}");
        assert_eq!(link.report(at).frames, at.as_nanos() / 45_000_000 + 1);
    }
}

/// The slots for random access are those of the frames that have begun, whether anything is sent in them or not.
#[test]
fn slots_of_random_access_are_counted_frame_by_frame() {
    let mut link = link(&config(r#"{ "method": { "kind": "crdsa" } }"#), 1);
    run(&mut link, &[(0.2, 0, 50), (0.4, 0, 50)], 0.5);
    let at = |frame: u64| Time::from_nanos(frame * 45_000_000);
    let counted = (12..16).map(|frame| link.counts(at(frame)).random_slots / 4_000);
    assert_eq!(counted.collect::<Vec<_>>(), [13, 14, 15, 16]);
    let just_before = Time::from_nanos(at(13).as_nanos() - 1);
    assert_eq!((link.counts(just_before).random_slots, link.report(just_before).frames), (13 * 4_000, 13));
    link.handle_datagram(at(20), Datagram { id: 2, terminal: 0, bytes: 50 }, || 2, || Some(ROUND_TRIP));
    link.handle_timeout(at(20), Some(ROUND_TRIP));
    assert_eq!(link.counts(at(20)).random_slots, 21 * 4_000);
}

#[test]
fn nothing_is_looked_at_while_nobody_sends() {
    let mut link = link(&config(r#"{ "method": { "kind": "crdsa" } }"#), 1);
    run(&mut link, &[(10.0, 0, 40)], 20.0);
    assert_eq!(link.poll_timeout(), None);
    let report = link.report(Time::from_secs_f64(20.0));
    assert_eq!((report.frames, report.decoded_packets), (445, 1));
    assert!((report.normalized_load.unwrap() - 1.0 / (445.0 * 4000.0)).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each datagram is sent once or lost once, whatever the method; dedicated access loses nothing; time does not run
    /// backwards.
    #[test]
    fn every_datagram_meets_one_fate(
        kind in prop::sample::select(vec![
            r#"{ "kind": "dedicated" }"#,
            r#"{ "kind": "aloha" }"#,
            r#"{ "kind": "dsa" }"#,
            r#"{ "kind": "crdsa" }"#,
            r#"{ "kind": "irsa" }"#,
            r#"{ "kind": "musca" }"#,
            r#"{ "kind": "switch" }"#,
            r#"{ "kind": "switch", "policy": { "kind": "granted" } }"#,
            r#"{ "kind": "switch", "policy": { "kind": "queue" } }"#,
            r#"{ "kind": "switch", "policy": { "kind": "load" } }"#,
        ]),
        capacity in prop::sample::select(vec!["cra", "rbdc", "vbdc", "avbdc"]),
        fca in any::<bool>(),
        superframe in 1u32..4,
        by_load in any::<bool>(),
        mut arrivals in prop::collection::vec((0.0..20.0f64, 0u32..8, 1u32..3000), 1..200),
    ) {
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        let division = if by_load { "by-load" } else { "fixed" };
        let config = config(&format!(
            r#"{{ "method": {kind}, "frame": {{ "carriers": 10, "superframe_frames": {superframe} }},
                "dedicated": {{ "capacity": {{ "kind": "{capacity}" }}, "fca": {fca} }},
                "division": {{ "kind": "{division}" }} }}"#
        ));
        let mut link = link(&config, 8);
        let outputs = run(&mut link, &arrivals, 600.0);
        let mut ids: Vec<u32> = outputs.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..arrivals.len() as u32).collect::<Vec<_>>());
        prop_assert_eq!(link.in_flight(), 0);
        for (id, output) in &outputs {
            let arrived = Time::from_secs_f64(arrivals[*id as usize].0);
            match output {
                Output::Sent { at, .. } => prop_assert!(*at > arrived),
                Output::Dropped { access, .. } => prop_assert_eq!(*access, Some(Access::Random)),
            }
        }
        let report = link.report(Time::from_secs_f64(600.0));
        prop_assert!(report.dedicated_slots_used <= report.dedicated_slots_granted);
        prop_assert!(report.collided_bursts <= report.offered_bursts);
    }
}
