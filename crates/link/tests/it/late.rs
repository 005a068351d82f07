//! Packets that are told late, each with its instant: the same leaves at the same instants as by wake-ups.

use crate::common::{Run, choosers, config, packet, rng, scheduler_json, streams, uniform_block_fading, wild_snr};
use channel::Channel;
use link::{
    HarqConfig, LastHop, LastHopConfig, LastHopReport, Output, PacketRef, Propagation, QueueConfig, SchedulerConfig,
};
use proptest::prelude::*;
use rand::Rng;
use serde_json::{Value, json};
use units::{Db, Duration, Time};

const USERS: u32 = 3;
const RTT: Duration = Duration::from_millis(160);
const END: Time = Time::from_nanos(60_000_000_000);

/// A signal-to-noise ratio that depends on the instant alone, however often it is read; time never goes back.
struct Rough {
    seed: u64,
    read: Time,
}

impl Channel for Rough {
    fn burst_snr(&mut self, now: Time) -> Db {
        assert!(now >= self.read, "read at {now} after {}", self.read);
        self.read = now;
        wild_snr(rng(self.seed ^ now.as_nanos()).next_u64())
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, now: Time) -> Db {
        self.burst_snr(now)
    }
}

fn run(json: Value, seed: u64) -> Run {
    let rough = |user| Box::new(Rough { seed: seed << 40 | user << 50, read: Time::ZERO }) as Box<dyn Channel>;
    let law = config(json.clone()).law_request(RTT).map(|request| uniform_block_fading(request.read, 200));
    Run::of(json, (0..u64::from(USERS)).map(rough).collect(), law.as_ref())
}

/// What leaves while packets come, each some microseconds after the one before.
fn course(mut run: Run, packets: &[(u64, PacketRef)], late: bool) -> (Vec<(Time, Output)>, LastHopReport) {
    let mut now = Time::ZERO;
    assert!(run.hop.takes_late() && run.hop.simulates_bursts());
    for &(gap, packet) in packets {
        now += Duration::from_micros(gap);
        if late {
            run.log.extend(std::iter::from_fn(|| run.hop.poll_output_by(now)));
            run.hop.handle_packet(now, packet);
        } else {
            run.offer(now, packet);
        }
    }
    if late {
        run.log.extend(std::iter::from_fn(|| run.hop.poll_output_by(END)));
    } else {
        run.run_until(END);
    }
    (run.log, run.hop.report(END.since(Time::ZERO)))
}

fn packets() -> impl Strategy<Value = Vec<(u64, PacketRef)>> {
    // Often at the instant at which a burst ends or arrives: 1,000 bits take a millisecond.
    let gap = prop_oneof![0u64..20_000, (0u64..20).prop_map(|millis| millis * 1000), Just(0)];
    let packets = prop::collection::vec((gap, 0..USERS, 40u32..1115), 1..100);
    packets.prop_map(|packets| {
        let numbered = (0..).zip(packets);
        numbered.map(|(id, (gap, user, size))| (gap, PacketRef { user, flow: user, ..packet(id, size) })).collect()
    })
}

proptest! {
    #[test]
    fn nothing_shows_whether_packets_are_told_late(
        packets in packets(),
        scheduler in prop::sample::select(SchedulerConfig::ALL),
        harq in prop::sample::select(HarqConfig::ALL),
        queue in prop::sample::select(QueueConfig::ALL),
        limit in prop::option::of(1u64..100),
        ordered in any::<bool>(),
        cut in any::<bool>(),
        estimate in prop_oneof![Just(json!({})), Just(json!({ "interval": "5 ms", "age": "7 ms" }))],
        seed in 0u64..1000,
    ) {
        let mut json = json!({
            "rate": "1 Mbit/s",
            "delay": "7 ms",
            "scheduler": scheduler_json(scheduler),
            "harq": { "kind": harq },
            "queue": { "kind": queue },
            "reordering": { "enabled": ordered },
            "estimate": estimate,
        });
        if let Some(limit) = limit {
            json["scheduler"]["limit"] = json!(Duration::from_millis(limit));
        }
        if cut {
            json["segmentation"] = json!({});
        }
        // Not every scheduler has a limit, nor can every scheme be given fragments.
        let read = serde_json::from_value::<LastHopConfig>(json.clone());
        prop_assume!(read.is_ok_and(|config| config.check(RTT, USERS as usize).is_ok()) && scheduler != "external");
        let (late, in_time) = (run(json.clone(), seed), run(json, seed));
        prop_assert_eq!(course(late, &packets, true), course(in_time, &packets, false));
    }
}

#[test]
fn who_is_asked_or_looks_at_waits_is_not_told_late() {
    let hop = |scheduler: &str| {
        let json = json!({ "rate": "1 Mbit/s", "delay": "7 ms", "scheduler": scheduler_json(scheduler) });
        let propagation = Propagation::fixed(Duration::from_millis(7));
        LastHop::new(&config(json), propagation, RTT, Vec::new(), None, streams, &mut choosers).unwrap()
    };
    assert!(!hop("external").takes_late());
    let mut noted = hop("pf");
    assert!(noted.takes_late());
    noted.note_waits();
    assert!(!noted.takes_late());
}
