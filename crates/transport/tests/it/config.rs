//! Options as a scenario gives them.

use serde_json::json;
use transport::{ByteCounting, DelayedAck, Dupthresh, Profile, RtoFloor, TcpConfig, profile_table};
use units::Duration;

fn config(text: &str) -> TcpConfig {
    toml::from_str(text).unwrap()
}

#[test]
fn defaults_are_the_classic_profile() {
    let settings = TcpConfig::default().resolve(1115);
    assert_eq!((settings.mss, settings.sack, settings.timestamps), (1115 - 52, true, true));
    assert_eq!((settings.dupthresh, settings.initial_window), (Dupthresh::Fixed(3), 10));
    assert_eq!((settings.min_rto, settings.max_rto), (Duration::from_millis(200), Duration::from_secs(60)));
    for modern in [settings.dsack, settings.rack, settings.tlp, settings.prr, settings.frto, settings.eifel] {
        assert!(!modern);
    }
    assert_eq!(settings.congestion.kind(), "cubic");
    assert_eq!(config("").resolve(1115), settings);
}

#[test]
fn a_full_packet_fills_the_default_packet() {
    for (text, bytes) in [
        ("", 1115),
        ("timestamps = false", 1115),
        ("mss = '1448 B'", 1500),
        ("mss = '1460 B'\ntimestamps = false", 1500),
    ] {
        assert_eq!(config(text).packet_bytes(1115), bytes, "{text}");
    }
}

#[test]
fn a_resolved_configuration_is_complete_and_means_the_same() {
    for text in ["", "sack = false\ndelayed_ack = '40 ms'\nmss = '536 B'\ninitial_window = 4\nreceive_buffer = '1 MB'"]
    {
        let given = config(text);
        let resolved = given.resolved(1115);
        assert_eq!(resolved.resolve(9000), given.resolve(1115), "{text}");
        let keys = serde_json::to_value(&resolved).unwrap().as_object().unwrap().len();
        assert_eq!(keys, 3 + profile_table().len());
        let again: TcpConfig = toml::from_str(&toml::to_string(&resolved).unwrap()).unwrap();
        assert_eq!(again, resolved);
    }
}

/// What a result folder keeps must be read again: also where the profile switches on what another option forbids.
#[test]
fn a_resolved_configuration_is_accepted() {
    let switches = ["sack", "timestamps", "rack", "tlp", "dsack", "fack", "eifel"];
    let mut accepted = 0;
    for profile in Profile::ALL {
        for bits in 0..3_u32.pow(switches.len() as u32) {
            let lines = switches.iter().enumerate().map(|(index, name)| match bits / 3_u32.pow(index as u32) % 3 {
                0 => String::new(),
                state => format!("{name} = {}\n", state == 1),
            });
            let text = format!("profile = '{}'\n{}", profile.name(), lines.collect::<String>());
            let given = config(&text);
            if given.check().is_err() {
                continue;
            }
            accepted += 1;
            let resolved = given.resolved(1115);
            assert!(resolved.check().is_ok(), "{text}: {:?}", resolved.check());
            assert_eq!(resolved.resolve(1115), given.resolve(1115), "{text}");
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn delayed_ack_is_a_switch_or_a_duration() {
    let delay = |text: &str| config(&format!("delayed_ack = {text}")).delayed_ack;
    assert_eq!(delay("false"), Some(DelayedAck::Off));
    assert_eq!(delay("true"), Some(DelayedAck::After(Duration::from_millis(40))));
    assert_eq!(delay("'100 ms'"), Some(DelayedAck::After(Duration::from_millis(100))));
    assert_eq!(json!(DelayedAck::Off), json!(false));
    assert_eq!(json!(DelayedAck::After(Duration::from_millis(40))), json!("40 ms"));
    let schema = schemars::schema_for!(TcpConfig);
    assert!(schema.as_value()["properties"]["delayed_ack"].to_string().contains("#/$defs/DelayedAck"));
}

#[test]
fn impossible_values_are_refused_by_name() {
    let cases = [
        ("mss = '8 B'", "mss"),
        ("mss = '70 kB'", "mss"),
        ("initial_window = 0", "initial_window"),
        ("min_rto = '0 s'", "min_rto"),
        ("min_rto = '61 s'", "min_rto"),
        ("delayed_ack = '1 s'", "delayed_ack"),
        ("receive_buffer = '1 kB'", "receive_buffer"),
        ("mss = '9000 B'\nreceive_buffer = '8 kB'", "receive_buffer"),
        ("receive_buffer = '2 GB'", "receive_buffer"),
        ("quick_acks = 1001", "quick_acks"),
        ("timer_tick = '1 s'", "timer_tick"),
        ("max_rto = '0 s'", "max_rto"),
        ("sack = false\nrack = true", "rack"),
        ("timestamps = false\neifel = true", "eifel"),
        ("profile = 'linux'\nfack = true", "fack"),
        ("[congestion]\nkind = 'newreno'\nbeta = 2.0", "congestion.beta"),
    ];
    for (text, field) in cases {
        assert_eq!(config(text).check().unwrap_err().field, field, "{text}");
    }
    assert_eq!(config("").check(), Ok(()));
    assert_eq!(config("profile = 'linux'\nsack = false").check(), Ok(()), "what the profile sets is simply off");
    assert!(toml::from_str::<TcpConfig>("delayed_ack = 40").is_err(), "a number has no unit");
    assert!(toml::from_str::<TcpConfig>("dupack = 3").is_err(), "an unknown key");
}

#[test]
fn numbers_or_words() {
    assert_eq!(config("dupthresh = 5").dupthresh, Some(Dupthresh::Fixed(5)));
    assert_eq!(config("dupthresh = 'adaptive'").dupthresh, Some(Dupthresh::Adaptive));
    assert_eq!(config("abc = 'all'").abc, Some(ByteCounting::All));
    for (text, told) in [
        ("dupthresh = 0", "0 is not from 1 to 1000, nor \"adaptive\""),
        ("dupthresh = 'often'", "\"often\" is neither a number from 1 to 1000 nor \"adaptive\""),
        ("abc = -1", "-1 is less than 1"),
    ] {
        let error = toml::from_str::<TcpConfig>(text).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// The table is what a profile resolves to, and each column differs from the one before.
#[test]
fn the_table_of_profiles_is_what_they_resolve_to() {
    let table = profile_table();
    for (column, profile) in Profile::ALL.into_iter().enumerate() {
        let resolved = config(&format!("profile = '{}'", profile.name())).resolved(1115);
        let resolved = serde_json::to_value(&resolved).unwrap();
        for (name, row) in &table {
            assert_eq!(resolved[name].to_string(), row[column], "{name}, {}", profile.name());
        }
    }
    assert!(table.iter().any(|(_, row)| row[0] != row[1]) && table.iter().any(|(_, row)| row[1] != row[2]));
    let ns2 = config("profile = 'ns2-linux'").resolve(1115);
    assert_eq!((ns2.mss, ns2.fack, ns2.rto_floor), (1000, true, RtoFloor::Total));
}
