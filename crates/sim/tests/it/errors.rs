//! A bad scenario is refused in one line that names the field, what was given and what is allowed.

use std::path::Path;

use crate::util::{LABORATORY, LEO, scenario};
use sim::Scenario;

/// With both kinds of access, so that all fields of both are looked at.
const TRANSFER: &str = include_str!("../../../../scenarios/dvbrcs2-transfer.toml");

fn complaint(base: &str, edits: &[&str]) -> String {
    scenario(base, edits).check().expect_err(&edits.join(", ")).to_string()
}

/// Each edit is refused in one line that begins with the field and says what is allowed.
fn assert_refused(base: &str, edits: &[(&str, &str, &str)]) {
    for (edit, field, says) in edits {
        let line = complaint(base, &[edit]);
        assert!(line.starts_with(&format!("{field}: ")), "{edit}: {line}");
        assert!(line.contains(says), "{edit}: {line}");
        assert!(!line.contains('\n'), "{edit}: {line}");
    }
}

#[test]
fn of_a_constellation_and_its_channel() {
    let edits = [
        ("channel.reference_snr=10 km", "channel.reference_snr", "unknown unit \"km\""),
        ("channel.reference_snr=10", "channel.reference_snr", "the unit is missing"),
        ("channel.elevation=95 deg", "channel.elevation", "95 deg"),
        ("channel.elevatoin=40 deg", "channel.elevatoin", "did you mean \"elevation\"?"),
        ("channel.kind=lmz", "channel.kind", "did you mean \"lms\"?"),
        ("last_hop.scheduler=PF", "last_hop.scheduler.kind", "did you mean \"pf\"?"),
        ("channel.speed=60 Kmh", "channel.speed", "did you mean \"60 kmh\"?"),
        ("channel.environment=intermediate-tree", "channel.environment", "intermediate-tree-shadowed"),
        ("path.constellation=leo66", "path.constellation", "leo-66"),
        ("path.user.latitude=-96.9 deg", "path.user.latitude", "90 deg"),
        ("last_hop.harq.transmissions=0", "last_hop.harq.transmissions", "0"),
        ("last_hop.harq=incremental", "last_hop.harq.kind", "adaptive"),
        ("flows.0.transport.mss=1448 B", "flows.0.transport.mss", "1115 B"),
        ("last_hop.harq.targets=[\"50 %\", \"170 %\", \"85 %\"]", "last_hop.harq.targets.1", "between 0 % and 100 %"),
        ("last_hop.harq.targets=50", "last_hop.harq.targets", "a list"),
    ];
    assert_refused(LEO, &edits);
}

#[test]
fn of_flows_and_the_last_hop() {
    let edits = [
        ("last_hop.rate=0 Mbit/s", "last_hop.rate", "at least 1 bit/s"),
        ("flows=[]", "flows", "at least 1"),
        ("flows.0.count=0", "flows.0.count", "between 1 and 100000"),
        ("flows.0.transport.congestion=cubik", "flows.0.transport.congestion.kind", "did you mean \"cubic\"?"),
        ("last_hop.reordering.capacity=1000000000000", "last_hop.reordering.capacity", "between 0 and 4294967295"),
        ("flows.0.transport.sack=maybe", "flows.0.transport.sack", "true or false"),
        ("flows.0.transport.delayed_ack=40", "flows.0.transport.delayed_ack", "or a text such as \"40 ms\""),
        ("flows.0.transport.dupthresh=three", "flows.0.transport.dupthresh", "a whole number"),
        ("flows.0.transport.dupthresh=0", "flows.0.transport.dupthresh", "between 1 and 1000"),
        ("flows.0.transport.initial_window=2.5", "flows.0.transport.initial_window", "a whole number"),
        ("flows.0.transport.delayed_ack=soon", "flows.0.transport.delayed_ack", "soon"),
        ("flows.0.transport.min_rto=0 s", "flows.0.transport.min_rto", "more than 0 s"),
        ("flows.0.transport.min_rto=61 s", "flows.0.transport.min_rto", "at most max_rto, 60 s"),
        ("last_hop.scheduler.buffer=many", "last_hop.scheduler.buffer", "1 bdp"),
        ("last_hop.scheduler.buffer=0 packets", "last_hop.scheduler.buffer", "packet"),
        ("last_hop.queue=reed", "last_hop.queue.kind", "did you mean \"red\"?"),
        ("last_hop.queue={kind=\"red\", min=\"20 packets\"}", "last_hop.queue.max", "must be more than min"),
        ("last_hop.queue={kind=\"codel\", target=\"1 s\"}", "last_hop.queue.target", "less than the interval"),
        ("last_hop.queue={kind=\"droptail\", mark_above=\"lots\"}", "last_hop.queue.mark_above", "1 bdp"),
    ];
    assert_refused(LABORATORY, &edits);
}

#[test]
fn of_path_channel_and_record() {
    let edits = [
        ("path.delay=-40 ms", "path.delay", "zero or more"),
        ("path.jitter.probability=2", "path.jitter.probability", "0"),
        ("duration=0 s", "duration", "more than 0 s"),
        ("seed=-1", "seed", "0 or more"),
        ("seed=one", "seed", "a whole number"),
        ("record.samples=1000000000", "record.samples", "between 16 and 10000000"),
        ("record.packets=pcap", "record.packets", "did you mean \"pcapng\"?"),
        ("channel={kind=\"bernoulli\", loss=\"120 %\"}", "channel.loss", "between 0 % and 100 %"),
        ("channel={kind=\"bernoulli\"}", "channel.loss", "is missing"),
        ("channel={kind=\"trace\", file=\"none.csv\", reference_snr=\"10 dB\"}", "channel.file", "none.csv"),
        ("path={kind=\"trace\", file=\"none.csv\"}", "path.file", "none.csv"),
        ("path={delay=\"40 ms\"}", "path.kind", "is missing"),
        (
            "last_hop.scheduler={buffer=\"50 packets\"}",
            "last_hop.scheduler.kind",
            "without the table it is \"droptail\"",
        ),
        ("record.interval=0 s", "record.interval", "more than 0 s"),
        ("lasthop.rate=3 Mbit/s", "lasthop", "did you mean \"last_hop\"?"),
    ];
    assert_refused(LABORATORY, &edits);
}

#[test]
fn of_what_stands_elsewhere() {
    let edits = [
        ("flows.0.duration=3 s", "flows.0.duration", "stands at the top, before the first [table]"),
        ("flows.0.congestion=bbr", "flows.0.congestion", "unknown key, but `flows.0.transport.congestion`, "),
        ("last_hop.buffer=5 MB", "last_hop.buffer", "unknown key, but `last_hop.scheduler.buffer`, "),
        ("access.capacity=cra", "access.capacity", "unknown key, but `access.dedicated.capacity` is one (allowed"),
        (
            "channel={kind=\"clear\", elevation=\"3 deg\"}",
            "channel.elevation",
            "unknown key of this kind, but one of lms, p681 (",
        ),
        ("flows.0.path=3", "flows.0.path", "[path] is a table of its own"),
        ("last_hop.flows=3", "last_hop.flows", "[[flows]] are tables of their own"),
        ("last_hop.scheduler=codel", "last_hop.scheduler.kind", "unknown here, but known to `last_hop.queue`, "),
        ("last_hop.queue=fq-codel", "last_hop.queue.kind", "unknown here, but known to `last_hop.scheduler`, "),
        ("flows.0.transport=cubic", "flows.0.transport.kind", "known to `flows.0.transport.congestion` (allowed"),
    ];
    assert_refused(LABORATORY, &edits);
}

#[test]
fn of_the_return_link() {
    let edits = [
        ("access.method=crsda", "access.method.kind", "did you mean \"crdsa\"?"),
        ("access.frame.block_slots=70", "access.frame.block_slots", "70 slots do not divide the 4000"),
        ("access.method={ kind = \"crdsa\", replicas = 41 }", "access.method.replicas", "40"),
        ("access.method={ kind = \"musca\", replicas = 101 }", "access.method.replicas", "101"),
        ("access.frame.carriers=0", "access.frame.carriers", "between 1 and 65536"),
        ("access.frame.random_carriers=0", "access.frame.random_carriers", "1 to 100 are possible"),
        ("access.frame.timeslots=0", "access.frame.timeslots", "between 1 and 65536"),
        ("access.frame.duration=0 s", "access.frame.duration", "more than 0 s"),
        ("access.frame.duration=61 min", "access.frame.duration", "at most 1 h"),
        ("access.frame.timeslots=50", "access.frame.timeslots", "a burst of 536 symbols"),
        ("access.dedicated.es_n0=-20 dB", "access.dedicated.es_n0", "no waveform"),
        ("access.dedicated.waveform=32apsk", "access.dedicated.waveform", "8psk-2/3"),
        ("access.max_rate=1 kbit/s", "access.max_rate", "less than one slot"),
        ("access.encapsulation.fragment=200 B", "access.encapsulation.fragment", "leave no room"),
        ("access.method={ kind = \"table\", plr = \"nowhere.csv\" }", "access.method.plr", "nowhere.csv"),
        ("flows.0.direction=sideways", "flows.0.direction", "down"),
        ("flows.0.weight=0", "flows.0.weight", "0.001"),
        ("flows.0.weight=nan", "flows.0.weight", "between 0.001 and 1000"),
        ("access.frame.carriers=65536", "access.frame.carriers", "at most 1000000"),
        ("access.method={ kind = \"crdsa\", symbols = 600 }", "access.frame.timeslots", "a burst of 676 symbols"),
        ("access.encapsulation.datagram=1 GB", "access.encapsulation.datagram", "at most 10 kB"),
    ];
    assert_refused(TRANSFER, &edits);
}

#[test]
fn a_missing_table_is_told_by_its_name() {
    let line = Scenario::from_toml("duration = \"1 s\"", Path::new(".")).unwrap().check().unwrap_err().to_string();
    assert!(line.contains("is missing"), "{line}");
}

#[test]
fn text_that_is_not_toml_is_told_by_line_and_column() {
    let error = Scenario::from_toml("title = 'x'\nduration = = 3", Path::new(".")).unwrap_err().to_string();
    assert!(error.starts_with("not valid TOML at line 2, column 12"), "{error}");
}

#[test]
fn a_whole_number_that_is_too_large_is_told_by_its_field() {
    let refusal = |text: &str| Scenario::from_toml(text, Path::new(".")).unwrap_err().to_string();
    // The second fits into 64 bits without a sign.
    for seed in ["18446744073709551616", "9223372036854775808"] {
        let told = format!("seed: {seed} was given: a whole number is at most 9223372036854775807");
        assert_eq!(refusal(&format!("seed = {seed}")), told);
        assert_eq!(scenario(LEO, &[]).assign(&format!("seed={seed}")).unwrap_err().to_string(), told);
    }
    let told = "flows.1.count: 0xffffffffffffffff was given: a whole number is at most 9223372036854775807";
    assert_eq!(refusal("[[flows]]\ncount = 1\n[[flows]]\ncount = 0xffff_ffff_ffff_ffff"), told);
    let told = "seed: -9223372036854775809 was given: a whole number is at least -9223372036854775808";
    assert_eq!(refusal("seed = -9_223_372_036_854_775_809"), told);
    assert!(refusal("seed = 9223372036854775808\nduration = = 3").starts_with("not valid TOML at line 2"));
}

#[test]
fn a_resolved_scenario_is_a_scenario_that_resolves_to_itself() {
    for base in [LEO, LABORATORY] {
        let resolved = scenario(base, &[]).resolved_toml().unwrap();
        let again = Scenario::from_toml(&resolved, Path::new(".")).unwrap();
        assert_eq!(again.resolved_toml().unwrap(), resolved);
    }
}

#[test]
fn the_schema_has_a_place_for_every_registry() {
    let registries = sim::registries();
    let names: Vec<_> = registries.iter().map(|r| r.name).collect();
    for name in [
        "paths",
        "constellations",
        "channels",
        "schedulers",
        "queues",
        "harq",
        "congestion",
        "profiles",
        "traffic",
        "environments",
    ] {
        let registry = &registries[names.iter().position(|n| *n == name).expect(name)];
        assert!(!registry.entries.is_empty(), "{name} is empty");
        for entry in &registry.entries {
            assert!(!entry.summary.is_empty(), "{name} {} has no summary", entry.name);
            assert!(
                entry.options.iter().all(|o| !o.description.is_empty()),
                "{name} {} has options without words",
                entry.name
            );
        }
    }
}

#[test]
fn of_a_path_whose_round_trip_is_not_counted() {
    let edits = [
        ("path.delay=201 h", "path.delay", "201 h one way was given, at most 200 h is expected"),
        ("path.delay=60000 min", "path.delay", "1000 h one way was given"),
        ("flows.0.pep={delay=\"201 h\"}", "flows.0.pep.delay", "at most 200 h is expected"),
    ];
    assert_refused(LABORATORY, &edits);
    scenario(LABORATORY, &["path.delay=200 h", "duration=10 h"]).check().expect("a delay that can be counted");
}

/// The samples of series are those of the flows that are expected, of which a user may have many.
#[test]
fn of_samples_of_very_many_flows() {
    let short = "flows.0.traffic={kind=\"short-flows\", interval=\"10 ms\"}";
    let line = complaint(LABORATORY, &[short, "record.samples=20000"]);
    assert!(line.starts_with("record.samples: 20000 for each of 2000 flows"), "{line}");
    scenario(LABORATORY, &[short, "record.samples=10000"]).check().expect("20 million samples");
}
