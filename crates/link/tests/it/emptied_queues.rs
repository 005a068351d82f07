//! A queue that becomes empty because what waited was given up, and not because it was sent: its manager is told.

use std::sync::{Arc, Mutex};

use crate::common::{ms, packet, rng, us};
use link::queue::codel::{Codel, CodelConfig};
use link::queue::pie::{Pie, PieConfig};
use link::queue::red::{Red, RedConfig};
use link::queue::{Decision, QueueManager};
use link::{Backlog, DropReason, Limit, LinkFacts, PacketRef, Queue};
use serde_json::json;
use units::{BitRate, Duration, Time};

/// A manager that a test can look into.
struct Shared<M>(Arc<Mutex<M>>);

impl<M: QueueManager> QueueManager for Shared<M> {
    fn on_arrival(&mut self, now: Time, packet: &PacketRef, waiting: Backlog) -> Decision {
        self.0.lock().unwrap().on_arrival(now, packet, waiting)
    }

    fn on_departure(&mut self, now: Time, packet: &PacketRef, waited: Duration, left: Backlog) -> Decision {
        self.0.lock().unwrap().on_departure(now, packet, waited, left)
    }

    fn on_emptied(&mut self, at: Time) {
        self.0.lock().unwrap().on_emptied(at);
    }

    fn reset(&mut self, now: Time) {
        self.0.lock().unwrap().reset(now);
    }
}

/// A queue under `manager` in which packets may wait for `limit`.
fn queue<M: QueueManager + 'static>(manager: M, limit: Duration) -> (Queue, Arc<Mutex<M>>) {
    let manager = Arc::new(Mutex::new(manager));
    let queue = Queue::new(Limit::Packets(1000), Some(Box::new(Shared(Arc::clone(&manager)))));
    (queue.with_max_wait(Some(limit)), manager)
}

fn drain(queue: &mut Queue) -> Vec<DropReason> {
    std::iter::from_fn(|| queue.poll_dropped()).map(|(_, reason)| reason).collect()
}

#[test]
fn the_average_of_red_forgets_from_when_the_last_packet_waited_too_long() {
    // 1000 B in a millisecond.
    let link = LinkFacts { rate: BitRate::from_bps(8_000_000), base_rtt: Duration::from_millis(160), users: 1 };
    let config: RedConfig = serde_json::from_value(json!({ "min": "50 packets", "max": "90 packets" })).unwrap();
    let (mut queue, red) = queue(Red::new(&config, &link, rng(5)).unwrap(), Duration::from_secs(2));
    for id in 0..40 {
        queue.push(ms(1000), packet(id, 1000)).unwrap();
    }
    let before = red.lock().unwrap().average();
    assert!(before > 0.5, "{before}");
    // All wait until 3 s, which is noticed 4 ms later; at 3.01 s 10 typical packets could have left.
    assert!(queue.expire(ms(3004)));
    assert_eq!(queue.backlog().packets, 0);
    queue.push(ms(3010), packet(40, 1000)).unwrap();
    let (after, expected) = (red.lock().unwrap().average(), before * libm::pow(1.0 - 0.002, 10.0));
    assert!((after - expected).abs() < 1e-9, "{after}, {expected} expected of {before}");
}

#[test]
fn the_wait_of_pie_ends_when_the_last_packet_waited_too_long() {
    let config = PieConfig { burst: Duration::ZERO, ..PieConfig::default() };
    let (mut queue, pie) = queue(Pie::new(&config, rng(5)), Duration::from_millis(100));
    // 60 packets leave after 60 ms each; then nothing leaves, and 60 more wait in vain.
    let mut id = 0;
    for millis in 0..180 {
        if millis < 120 {
            let _ = queue.push(ms(millis), packet(id, 1000));
            id += 1;
        }
        if (60..120).contains(&millis) {
            queue.pop(ms(millis));
        }
        queue.expire(ms(millis));
    }
    assert!(queue.backlog().packets > 0);
    assert!(queue.expire(ms(10_000)));
    assert_eq!(queue.backlog().packets, 0);
    let at_end = pie.lock().unwrap().probability();
    assert!(at_end > 0.0, "it rose while the queue stood");
    // Empty for almost ten seconds: the probability has gone back to nothing.
    queue.push(ms(10_000), packet(id, 1000)).unwrap();
    assert_eq!(pie.lock().unwrap().probability(), 0.0, "{at_end} at the end");
}

/// Also where a scheduler gives packets up to make room.
#[test]
fn codel_begins_its_interval_anew_after_packets_were_given_up() {
    for shed in [false, true] {
        let (mut queue, _) = queue(Codel::new(CodelConfig::default()), Duration::from_millis(50));
        (0..20).for_each(|id| queue.push(ms(0), packet(id, 1000)).unwrap());
        // The first has waited longer than the target: from now on it is an interval until it acts.
        assert!(queue.pop(ms(20)).is_some());
        if shed {
            (0..19).for_each(|_| queue.shed(ms(21)));
            assert_eq!(drain(&mut queue), [DropReason::Overflow; 19]);
        } else {
            assert!(queue.expire(ms(51)));
            assert_eq!(drain(&mut queue), [DropReason::Timeout; 19]);
        }
        assert_eq!(queue.backlog(), Backlog::default());
        // A second later packets wait 10 ms each, for less than an interval.
        (20..70).for_each(|id| queue.push(ms(1000), packet(id, 1000)).unwrap());
        for n in 0..30 {
            assert!(queue.pop(us(1_010_000 + 1000 * n)).is_some(), "shed: {shed}, the {n}-th is dropped");
        }
        assert!(drain(&mut queue).is_empty());
    }
}

/// Another satellite's queue knows nothing of the one before: its managers begin at rest, at once.
#[test]
fn a_drained_queue_begins_anew() {
    let link = LinkFacts { rate: BitRate::from_bps(8_000_000), base_rtt: Duration::from_millis(160), users: 1 };
    let config: RedConfig = serde_json::from_value(json!({ "min": "50 packets", "max": "90 packets" })).unwrap();
    let (mut red_queue, red) = queue(Red::new(&config, &link, rng(5)).unwrap(), Duration::from_secs(2));
    let config = PieConfig { burst: Duration::ZERO, ..PieConfig::default() };
    let (mut pie_queue, pie) = queue(Pie::new(&config, rng(5)), Duration::from_secs(2));
    for millis in 0..120 {
        red_queue.push(ms(millis), packet(millis as u32, 1000)).unwrap();
        let _ = pie_queue.push(ms(millis), packet(millis as u32, 1000));
        if millis >= 60 {
            pie_queue.pop(ms(millis));
        }
    }
    assert!(red.lock().unwrap().average() > 0.0 && pie.lock().unwrap().probability() > 0.0);
    assert!(red_queue.drain(ms(120)).map(|packet| packet.id).eq(0..120));
    assert!(pie_queue.drain(ms(120)).count() > 30);
    assert_eq!((red_queue.backlog(), pie_queue.backlog()), (Backlog::default(), Backlog::default()));
    assert!(drain(&mut red_queue).is_empty(), "nothing was dropped");
    assert_eq!((red.lock().unwrap().average(), pie.lock().unwrap().probability()), (0.0, 0.0));
    // CoDel, which would signal the next packet at once, waits for an interval again.
    let config = CodelConfig { ecn: false, ..CodelConfig::default() };
    for drained in [false, true] {
        let (mut queue, _) = queue(Codel::new(config.clone()), Duration::from_secs(2));
        (0..20).for_each(|id| queue.push(ms(0), packet(id, 1000)).unwrap());
        assert!(queue.pop(ms(20)).is_some());
        if drained {
            assert_eq!(queue.drain(ms(30)).count(), 19);
        }
        (20..40).for_each(|id| queue.push(ms(40), packet(id, 1000)).unwrap());
        assert_eq!(queue.pop(ms(121)).is_some(), drained);
    }
}
