//! A choice made elsewhere, classes of service, and limits on the wait, in a last hop.

use crate::common::desk::{Desk, MS, bringing, fade, lossless, with_limit};
use crate::common::{Run, Scripted, ms, packet, rng, scheduler_json, us};
use channel::CLEAR;
use link::{Choose, DropReason, Ecn, Output, PacketRef, QueueState, SchedulerConfig};
use rand::Rng;
use serde_json::{Value, json};
use units::{Duration, Time};

// Somebody else's choice

struct Script<F>(F);

impl<F: FnMut(Time, &[QueueState]) -> Option<u32> + Send> Choose for Script<F> {
    fn choose(&mut self, now: Time, queues: &[QueueState]) -> Option<u32> {
        (self.0)(now, queues)
    }
}

fn scripted(users: usize, choose: impl FnMut(Time, &[QueueState]) -> Option<u32> + Send + 'static) -> Desk {
    let mut choose = Some(choose);
    let options = json!({ "kind": "external", "name": "mine" });
    Desk::with_chooser(options, users, &mut |name| {
        assert_eq!(name, "mine");
        Some(Box::new(Script(choose.take().expect("asked once"))))
    })
}

#[test]
fn a_script_sees_the_queues_that_may_start_and_is_followed() {
    let mut desk = scripted(4, |now, queues| {
        assert_eq!(now, ms(6));
        let seen: Vec<_> =
            queues.iter().map(|queue| (queue.user, queue.packets, queue.bytes, queue.head_size)).collect();
        assert_eq!(seen, [(0, 1, 500, 500), (3, 2, 1600, 700)]);
        assert_eq!(queues.iter().map(|queue| queue.head_wait).collect::<Vec<_>>(), [MS * 5, MS * 2]);
        assert!((queues[1].information - 0.5).abs() < 1e-6 && queues[0].information == 1.0);
        Some(3)
    });
    desk.open(1, false);
    desk.paint(&bringing(&[1.0, 1.0, 1.0, 0.5]));
    assert!(desk.offer(0, 500) && desk.offer(1, 100));
    desk.wait(MS * 3);
    assert!(desk.offer(3, 700) && desk.offer(3, 900));
    desk.wait(MS * 2);
    desk.paint(&[CLEAR, CLEAR, CLEAR, bringing(&[0.5])[0]]);
    assert_eq!(desk.select().map(|packet| (packet.user, packet.size)), Some((3, 700)));
    assert_eq!(desk.scheduler.overruled(), 0);
}

#[test]
fn a_script_that_chooses_nobody_is_overruled_and_counted() {
    let mut answers = [None, Some(1), Some(99), Some(2)].into_iter();
    let mut desk = scripted(3, move |_, _| answers.next().unwrap());
    for _ in 0..2 {
        assert!(desk.offer(0, 100) && desk.offer(2, 100));
    }
    // Nobody, one without packets, one who is not there: the first; then its own choice.
    let order: Vec<u32> = (0..2).map(|_| desk.select().unwrap().user).collect();
    assert_eq!((order, desk.scheduler.overruled()), (vec![0, 0], 2));
    let order: Vec<u32> = (0..2).map(|_| desk.select().unwrap().user).collect();
    assert_eq!((order, desk.scheduler.overruled()), (vec![2, 2], 3));
    assert!(desk.select().is_none(), "and it is not asked for nothing");
}

#[test]
fn a_script_can_write_pf() {
    let order = |mut desk: Desk| {
        let mut chance = rng(3);
        let mut order = Vec::new();
        for _ in 0..3 {
            (0..5).for_each(|user| assert!(desk.offer(user, 1000)));
        }
        for _ in 0..500 {
            desk.paint(&(0..5).map(|_| fade(chance.as_mut())).collect::<Vec<_>>());
            desk.wait(MS);
            let user = desk.select().unwrap().user;
            order.push(user);
            assert!(desk.offer(user, 1000));
        }
        order
    };
    let pf = scripted(5, |_, queues| {
        let score = |queue: &QueueState| queue.information.max(1e-3) / queue.served_bps;
        queues.iter().max_by(|a, b| score(a).total_cmp(&score(b)).then(b.user.cmp(&a.user))).map(|queue| queue.user)
    });
    assert_eq!(order(pf), order(Desk::new(json!({ "kind": "pf" }), 5)));
}

#[test]
fn a_report_counts_the_choices_that_were_overruled() {
    let settings = json!({ "rate": "8 Mbit/s", "delay": "1 ms", "scheduler": { "kind": "external", "name": "dice" } });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR), Scripted::constant(CLEAR)], None);
    (0..100).for_each(|id| run.offer(ms(0), PacketRef { user: id % 2, flow: id % 2, ..packet(id, 1000) }));
    run.finish();
    let report = run.hop.report(Duration::from_secs(1));
    let overruled = report.overruled_choices.unwrap();
    assert!((20..60).contains(&overruled), "two of five: {overruled}");
    assert_eq!(serde_json::to_value(&report).unwrap()["overruled_choices"], overruled);
    let settings = json!({ "rate": "8 Mbit/s", "delay": "1 ms" });
    let report = Run::of(settings, Vec::new(), None).hop.report(Duration::from_secs(1));
    assert!(serde_json::to_value(&report).unwrap().get("overruled_choices").is_none());
}

// Classes and limits in a last hop

fn class(id: u32, class: u32, user: u32, size: u32) -> PacketRef {
    PacketRef { id, flow: class * 10 + user, user, class, size, ecn: Ecn::NotEct }
}

#[test]
fn a_class_goes_before_those_after_it() {
    for kind in SchedulerConfig::ALL {
        let settings = json!({
            "rate": "8 Mbit/s", "delay": "0 s", "scheduler": lossless(kind),
            "classes": [{ "name": "voice", "scheduler": lossless(kind) }, { "name": "web" }],
        });
        let mut run = Run::of(settings, vec![Scripted::constant(CLEAR), Scripted::constant(CLEAR)], None);
        let mut chance = rng(2);
        let mut classes = Vec::new();
        for id in 0..300 {
            classes.push(chance.next_u64() as u32 % 3);
            let packet = class(id, classes[id as usize], chance.next_u64() as u32 % 2, 1000);
            run.offer(us(u64::from(id) * 700), packet);
        }
        run.finish();
        // Delivered when it has been sent, 1 ms after it was chosen: nobody of an earlier class was there then.
        for (at, id) in run.delivered() {
            let chosen = at.as_nanos() - 1_000_000;
            let earlier = |other: &(Time, u32)| {
                let came = u64::from(other.1) * 700_000;
                other.0 > at && came < chosen && classes[other.1 as usize] < classes[id as usize]
            };
            assert!(!run.delivered().iter().any(earlier), "{kind}: {id} at {at}");
        }
        assert_eq!(run.delivered().len(), 300);
    }
}

#[test]
fn a_class_keeps_its_own_queues() {
    let settings = json!({
        "rate": "8 Mbit/s", "delay": "0 s", "scheduler": { "kind": "droptail", "buffer": "2 packets" },
        "classes": [{ "name": "voice", "scheduler": { "kind": "droptail", "buffer": "3 packets", "limit": "2 ms" } }],
    });
    let mut run = Run::of(settings, vec![Scripted::constant(CLEAR)], None);
    (0..6).for_each(|id| run.offer(ms(0), class(id, 1, 0, 1000)));
    (6..12).for_each(|id| run.offer(ms(0), class(id, 0, 0, 1000)));
    run.finish();
    // 0 is being sent; 1 and 2 wait, 3 to 5 find no room; 6 to 8 wait, 9 to 11 find no room; 6 goes at 1 ms, 7 at 2 ms,
    // and 8 has waited too long at 3 ms.
    assert_eq!(run.delivered_ids(), [0, 6, 7, 1, 2]);
    let report = run.hop.report(Duration::from_secs(1));
    assert_eq!(
        (report.dropped[DropReason::Overflow], report.dropped[DropReason::Timeout], report.in_flight),
        (6, 1, 0)
    );
}

#[test]
fn the_limit_of_a_queue_manager_is_the_schedulers() {
    let log = |scheduler: Value, queue: Value| {
        let settings = json!({ "rate": "8 Mbit/s", "delay": "0 s", "scheduler": scheduler, "queue": queue });
        let channels = (0..3).map(|_| Scripted::constant(CLEAR) as Box<dyn channel::Channel>).collect();
        let mut run = Run::of(settings, channels, None);
        let mut chance = rng(4);
        for id in 0..500 {
            let user = chance.next_u64() as u32 % 3;
            run.offer(us(u64::from(id) * 800), PacketRef { user, flow: user, ..packet(id, 1000) });
        }
        run.finish();
        let late = |entry: &&(Time, Output)| matches!(entry.1, Output::Dropped(_, DropReason::Timeout));
        let report = run.hop.report(Duration::from_secs(1));
        assert!(report.dropped[DropReason::Timeout] > 50, "{report:?}");
        assert_eq!(report.dropped[DropReason::Timeout], run.log.iter().filter(late).count() as u64);
        run.log
    };
    for kind in SchedulerConfig::ALL {
        let config = SchedulerConfig::with_defaults(kind);
        if config.entry().manages_queues() {
            continue;
        }
        let both = log(with_limit(kind, MS * 9), json!({ "kind": "droptail" }));
        let options = serde_json::to_value(&config).expect("a table");
        if options["limit"].is_null() {
            assert_eq!(log(scheduler_json(kind), json!({ "kind": "time-limit", "limit": "9 ms" })), both, "{kind}");
        }
        let shorter = log(with_limit(kind, MS * 9), json!({ "kind": "time-limit", "limit": "30 ms" }));
        assert_eq!(shorter, both, "{kind}");
    }
}
