//! What a scenario may write, and what it is told when it may not.

use crate::common::{self, choosers, scheduler_json, schedulers_with, streams, uniform_block_fading};
use link::{Buffer, HarqConfig, LastHop, LastHopConfig, Limit, LinkFacts, Propagation, QueueConfig, SchedulerConfig};
use serde_json::{Value, json};
use units::{BitRate, Bytes, Duration};

const RATE: BitRate = BitRate::from_bps(50_000_000);
const RTT: Duration = Duration::from_millis(160);
const DELAY: Duration = Duration::from_millis(10);
const LINK: LinkFacts = LinkFacts { rate: RATE, base_rtt: RTT, users: 100 };

fn refusal(harq: Value) -> String {
    let settings = json!({ "rate": "50 Mbit/s", "delay": "10 ms", "harq": harq });
    let config: LastHopConfig = match serde_json::from_value(settings) {
        Ok(config) => config,
        Err(error) => return error.to_string(),
    };
    let law = uniform_block_fading(8, 10);
    match LastHop::new(&config, Propagation::fixed(DELAY), RTT, Vec::new(), Some(&law), streams, &mut choosers) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_scenarios_last_hop_is_read_and_written() {
    let settings = json!({
        "rate": "50 Mbit/s",
        "delay": "10 ms",
        "scheduler": { "kind": "droptail", "buffer": "1 bdp" },
        "harq": { "kind": "adaptive", "transmissions": 4 },
        "reordering": { "enabled": true, "capacity": 125 },
    });
    let config: LastHopConfig = serde_json::from_value(settings).unwrap();
    assert_eq!((config.rate, config.delay), (RATE.into(), Duration::from_millis(10).into()));
    let written = serde_json::to_value(&config).unwrap();
    assert_eq!(written["harq"]["threshold"], "code");
    assert_eq!(written["harq"]["block"], "1115 B");
    assert_eq!(written["scheduler"]["buffer"], "1 bdp");
    assert_eq!(serde_json::from_value::<LastHopConfig>(written).unwrap(), config);
    let short: LastHopConfig = serde_json::from_value(json!({ "rate": "50 Mbit/s", "delay": "10 ms" })).unwrap();
    assert_eq!((&short.scheduler, &short.reordering), (&config.scheduler, &config.reordering));
    assert_eq!(short.harq.kind(), "none");
}

#[test]
fn unknown_keys_and_kinds_are_refused() {
    let read = |settings: Value| serde_json::from_value::<LastHopConfig>(settings).unwrap_err().to_string();
    assert!(read(json!({ "rate": "1 Mbit/s", "delay": "0 ms", "speed": 1 })).contains("unknown field `speed`"));
    assert!(read(json!({ "delay": "0 ms" })).contains("missing field `rate`"));
    assert!(read(json!({ "rate": "0 bit/s", "delay": "0 ms" })).contains("at least 1 bit/s"));
    assert!(read(json!({ "rate": "1 bit/s", "delay": "-1 ms" })).contains("zero or more"));
    assert!(refusal(json!({ "kind": "adaptiv" })).contains("unknown variant `adaptiv`, expected one of `none`, `fec`"));
    assert!(refusal(json!({ "kind": "none", "transmissions": 2 })).contains("unknown field `transmissions`"));
    // Also beside the options that schedulers share.
    for kind in SchedulerConfig::ALL {
        let mut options = scheduler_json(kind);
        (options["limit"], options["buffer"]) = (json!("50 ms"), json!("1 bdp"));
        serde_json::from_value::<SchedulerConfig>(options.clone()).expect("every kind has a buffer and a limit");
        options["limits"] = json!("50 ms");
        let refusal = serde_json::from_value::<SchedulerConfig>(options).unwrap_err().to_string();
        assert!(refusal.contains("unknown field `limits`"), "{kind}: {refusal}");
    }
}

#[test]
fn impossible_values_are_refused_with_their_path() {
    let adaptive = |key: &str, value: Value| refusal(json!({ "kind": "adaptive", key: value }));
    assert_eq!(adaptive("transmissions", json!(0)), "harq.transmissions: 0 given, 1 to 8 allowed");
    assert_eq!(adaptive("transmissions", json!(9)), "harq.transmissions: 9 given, 1 to 8 allowed");
    assert_eq!(
        adaptive("targets", json!(["50 %"])),
        "harq.targets: 1 given, one for each transmission but the last is needed: 3 for 4 transmissions"
    );
    let grow = "harq.targets: must grow, each more than 0 % and less than 100 %";
    assert_eq!(adaptive("targets", json!(["50 %", "50 %", "80 %"])), grow);
    assert_eq!(adaptive("targets", json!(["50 %", "70 %", "100 %"])), grow);
    assert_eq!(adaptive("targets", json!(["0 %", "70 %", "90 %"])), grow);
    assert_eq!(adaptive("block", json!("0 B")), "harq.block: 0 B given, 1 B to 100 kB allowed");
    assert!(adaptive("codeword_bits", json!(8919)).starts_with("harq.codeword_bits: 8919 given, 1 to 64 for each"));
    assert_eq!(
        adaptive("codeword_bits", json!(8920)),
        "harq.codeword_bits: 8920 given, even without noise it takes 9099"
    );
    assert!(adaptive("threshold", json!(0.9)).contains("no code needs less than 1"));
    assert!(adaptive("threshold", json!("codes")).contains("write \"code\" or the mutual information"));
    assert!(adaptive("threshold", json!(true)).contains("write \"code\" or the mutual information"));
    assert_eq!(adaptive("processes", json!(0)), "harq.processes: 0 given, at least 1 needed");
}

#[test]
fn buffers_are_stated_in_four_ways() {
    let resolve = |text: &str| text.parse::<Buffer>().unwrap().resolve(&LINK).unwrap();
    assert_eq!(resolve("100 packets"), Limit::Packets(100));
    assert_eq!(resolve("1 packet"), Limit::Packets(1));
    assert_eq!(resolve("64 kB"), Limit::Bytes(64_000));
    assert_eq!(resolve("64KiB"), Limit::Bytes(65_536));
    assert_eq!(resolve("20 ms"), Limit::Bytes(125_000));
    assert_eq!(resolve("1 bdp"), Limit::Bytes(1_000_000));
    assert_eq!(resolve("0.5bdp"), Limit::Bytes(500_000));
    assert_eq!(resolve(" 1e-1 bdp "), Limit::Bytes(100_000));
    // B = RTT·C/√n and B/n for 100 users.
    assert_eq!(resolve("1 bdp/sqrt(n)"), Limit::Bytes(100_000));
    assert_eq!(resolve("2bdp /sqrt(n) /n"), Limit::Bytes(2_000));
    assert_eq!(resolve("1 bdp/n"), Limit::Bytes(10_000));
}

#[test]
fn buffers_are_written_as_they_are_read() {
    for text in [
        "100 packets",
        "1 packet",
        "64 kB",
        "20 ms",
        "1 bdp",
        "0.25 bdp",
        "1 bdp/sqrt(n)",
        "1 bdp/n",
        "2 bdp/sqrt(n)/n",
    ] {
        let buffer: Buffer = text.parse().unwrap();
        assert_eq!(buffer.to_string(), text);
        assert_eq!(serde_json::from_value::<Buffer>(json!(text)).unwrap(), buffer);
        assert_eq!(serde_json::to_value(buffer).unwrap(), json!(text));
    }
}

#[test]
fn impossible_buffers_are_refused() {
    let says = |text: &str| text.parse::<Buffer>().unwrap_err().to_string();
    let allowed = "write packets, bytes, a time at the rate of the link, or bandwidth-delay products, as in \
         \"100 packets\", \"64 kB\", \"20 ms\" or \"1 bdp\", for n users also \"1 bdp/sqrt(n)\" or \"1 bdp/sqrt(n)/n\"";
    for text in ["", "100", "100 pkts", "five packets of crisps", "64 kbit", "bdp", "one bdp", "nan bdp s"] {
        assert_eq!(says(text), format!("{text:?} is not a buffer size: {allowed}"));
    }
    for text in ["2.5 packets", "-3 packets", "5000000000 packets"] {
        assert!(
            says(text).ends_with("a whole number of packets, at least 1 and at most 4294967295, is needed"),
            "{text}"
        );
    }
    for text in ["0 packets", "0 kB", "0 ms", "0 bdp"] {
        assert!(says(text).ends_with("a buffer without room lets nothing through"), "{text}");
    }
    for text in ["-1 bdp", "nan bdp", "inf bdp"] {
        assert!(says(text).ends_with("the factor must be more than 0 and finite"), "{text}");
    }
    for text in ["-1 kB", "-20 ms"] {
        assert!(says(text).contains("zero or more"), "{text}");
    }
    let resolve = |text: &str, base_rtt| {
        let link = LinkFacts { base_rtt, ..LINK };
        text.parse::<Buffer>().unwrap().resolve(&link).map_err(|error| error.to_string())
    };
    assert_eq!(
        resolve("1 bdp", Duration::ZERO).unwrap_err(),
        format!("buffer: \"1 bdp\" is no byte at all at {RATE} and a base round-trip time of 0 s")
    );
    let config: LastHopConfig = serde_json::from_value(json!({ "rate": "50 Mbit/s", "delay": "10 ms" })).unwrap();
    assert_eq!(config.check(Duration::ZERO, 1).unwrap_err().field, "scheduler.buffer");
    assert_eq!(config.check(RTT, 1), Ok(()));
    assert!(resolve("100 ns", RTT).unwrap_err().contains("no byte at all"));
    assert!(resolve("1e12 bdp", RTT).unwrap_err().contains("more than 10^15 bytes"));
    assert_eq!(resolve("1e6 MB", RTT), Ok(Limit::Bytes(1_000_000_000_000)));
    assert_eq!(Buffer::Bytes(Bytes::new(1)).resolve(&LINK), Ok(Limit::Bytes(1)));
}

/// The reference pages and `transorbit list` take summaries and options from the schema.
#[test]
fn the_schema_describes_every_kind_and_option() {
    for schema in
        [schemars::schema_for!(SchedulerConfig), schemars::schema_for!(QueueConfig), schemars::schema_for!(HarqConfig)]
    {
        let schema = serde_json::to_value(schema).unwrap();
        for kind in schema["oneOf"].as_array().unwrap() {
            assert!(kind["title"].is_string(), "{kind}");
        }
        for config in schema["$defs"].as_object().unwrap().values().filter(|config| config["type"] == "object") {
            assert!(config["description"].is_string(), "{config}");
            for option in config["properties"].as_object().into_iter().flat_map(|options| options.values()) {
                assert!(option["description"].is_string(), "{option}");
            }
        }
    }
}

#[test]
fn impossible_schedulers_are_refused_with_their_path() {
    let refusal = |scheduler: Value| {
        let config: LastHopConfig =
            common::config(json!({ "rate": "50 Mbit/s", "delay": "10 ms", "scheduler": scheduler }));
        config.check(RTT, 3).expect_err("accepted").to_string()
    };
    for kind in SchedulerConfig::ALL {
        let mut options = scheduler_json(kind);
        options["limit"] = json!("0 s");
        assert!(refusal(options).starts_with("scheduler.limit: must be more than 0 s"), "{kind}");
    }
    for kind in schedulers_with("window") {
        assert_eq!(refusal(json!({ "kind": kind, "window": "0 s" })), "scheduler.window: must be more than 0 s");
    }
    for kind in schedulers_with("deadline") {
        assert_eq!(refusal(json!({ "kind": kind, "deadline": "0 s" })), "scheduler.deadline: must be more than 0 s");
    }
    for (kind, loss) in schedulers_with("loss").into_iter().flat_map(|kind| [(kind, "0 %"), (kind, "100 %")]) {
        let said = refusal(json!({ "kind": kind, "loss": loss }));
        assert_eq!(said, "scheduler.loss: must be more than 0 % and less than 100 %");
    }
    for kind in schedulers_with("quantum") {
        let said = refusal(json!({ "kind": kind, "quantum": "39 B" }));
        assert_eq!(said, "scheduler.quantum: 39 B given, 40 B to 1 GB allowed");
    }
    for kind in schedulers_with("alpha") {
        let said = refusal(json!({ "kind": kind, "alpha": -1.0 }));
        assert_eq!(said, "scheduler.alpha: -1 given, 0 to 10 allowed");
    }
    for kind in schedulers_with("frame") {
        assert!(refusal(json!({ "kind": kind, "frame": 99 })).starts_with("scheduler.frame: 99 given, 100 to"));
    }
    assert_eq!(
        refusal(json!({ "kind": "bps", "period": "11 s" })),
        "scheduler.period: 11 s given, at most 10 s allowed"
    );
    assert_eq!(
        refusal(json!({ "kind": "bps", "period": "10 s", "frame": 100 })),
        "scheduler.period: 10 s given, which are 5000000 frames of 100 coded bits at 50 Mbit/s, at most 10000 frames \
         allowed"
    );
    assert_eq!(refusal(json!({ "kind": "fq-codel", "flows": 0 })), "scheduler.flows: 0 given, 1 to 65536 allowed");
    assert!(
        refusal(json!({ "kind": "fq-codel", "target": "1 s" })).starts_with("scheduler.target: 1 s given, less than")
    );
}

#[test]
fn a_scheduler_that_brings_its_managers_takes_no_other() {
    let check = |settings: Value| common::config(settings).check(RTT, 3).map_err(|error| error.to_string());
    let fq = json!({ "kind": "fq-codel" });
    let said = check(json!({ "rate": "1 Mbit/s", "delay": "0 s", "scheduler": fq, "queue": { "kind": "red" } }));
    let brings = "\"red\" given, but the scheduler fq-codel brings a manager for each of its queues: leave this out";
    assert_eq!(said, Err(format!("queue: {brings}")));
    let class = json!({ "name": "web", "scheduler": fq, "queue": { "kind": "red" } });
    let said = check(json!({ "rate": "1 Mbit/s", "delay": "0 s", "classes": [class] }));
    assert_eq!(said, Err(format!("classes.0.queue: {brings}")));
    assert_eq!(check(json!({ "rate": "1 Mbit/s", "delay": "0 s", "scheduler": fq })), Ok(()));
}

#[test]
fn a_script_must_register_the_scheduler_that_is_named() {
    let build = |settings: Value| {
        let built = LastHop::new(
            &common::config(settings),
            Propagation::fixed(DELAY),
            RTT,
            Vec::new(),
            None,
            streams,
            &mut choosers,
        );
        built.map(drop).map_err(|error| error.to_string())
    };
    let named = |name: &str| json!({ "kind": "external", "name": name });
    let unknown = "\"mine\" given, and no script has registered a scheduler of that name";
    let said = build(json!({ "rate": "1 Mbit/s", "delay": "0 s", "scheduler": named("mine") }));
    assert_eq!(said, Err(format!("scheduler.name: {unknown}")));
    let class = json!({ "name": "web", "scheduler": named("mine") });
    let said = build(json!({ "rate": "1 Mbit/s", "delay": "0 s", "classes": [class] }));
    assert_eq!(said, Err(format!("classes.0.scheduler.name: {unknown}")));
    assert_eq!(build(json!({ "rate": "1 Mbit/s", "delay": "0 s", "scheduler": named("dice") })), Ok(()));
}

#[test]
fn reports_in_flight_are_bounded() {
    let check = |estimate: Value| {
        let settings = json!({ "rate": "1 Gbit/s", "delay": "10 ms", "estimate": estimate });
        common::config(settings).check(RTT, 1).map_err(|error| error.to_string())
    };
    let most = "at most 1000 reports of a user in flight allowed";
    assert_eq!(check(json!({ "age": "10 s" })), Ok(()));
    assert_eq!(
        check(json!({ "age": "11 s" })),
        Err(format!("estimate.age: 11 s given, {most}: 10 s with an interval of 10 ms"))
    );
    // Reports that have an age are made no more often than each 100 us.
    assert_eq!(check(json!({ "interval": "0 s", "age": "100 ms" })), Ok(()));
    assert_eq!(
        check(json!({ "interval": "0 s", "age": "101 ms" })),
        Err(format!("estimate.age: 101 ms given, {most}: 100 ms with an interval of 0 s"))
    );
}

#[test]
fn feedback_takes_the_links_delay_both_ways_unless_the_scheme_says_otherwise() {
    let rtt = |feedback: Value| {
        let harq = json!({ "kind": "adaptive", "feedback": feedback });
        let config = common::config(json!({ "rate": "1 Mbit/s", "delay": "10 ms", "harq": harq }));
        assert_eq!(config.law_request(DELAY).unwrap().spacing, config.feedback_rtt(DELAY));
        config.feedback_rtt(DELAY)
    };
    assert_eq!(rtt(json!({})), Duration::from_millis(20));
    assert_eq!(rtt(json!({ "delay": "25 ms" })), Duration::from_millis(35));
    let none = common::config(json!({ "rate": "1 Mbit/s", "delay": "10 ms" }));
    assert_eq!(none.feedback_rtt(DELAY), Duration::from_millis(20));
}
