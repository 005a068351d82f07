//! Options as a scenario gives them.

use serde_json::json;
use transport::{DelayedAck, Settings, TcpConfig};
use units::Duration;

fn config(text: &str) -> TcpConfig {
    toml::from_str(text).unwrap()
}

#[test]
fn defaults_are_the_classic_profile() {
    let settings = TcpConfig::default().resolve(1115);
    let expected = Settings {
        congestion: TcpConfig::default().congestion,
        mss: 1115 - 52,
        delayed_ack: None,
        sack: true,
        timestamps: true,
        limited_transmit: true,
        dupthresh: 3,
        initial_window: 10 * 1063,
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(60),
        initial_rto: Duration::from_secs(1),
        receive_buffer: 64 << 20,
    };
    assert_eq!(settings, expected);
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
        assert_eq!(keys, 11);
        let again: TcpConfig = toml::from_str(&toml::to_string(&resolved).unwrap()).unwrap();
        assert_eq!(again, resolved);
    }
}

#[test]
fn delayed_ack_is_a_switch_or_a_duration() {
    let delay = |text: &str| config(&format!("delayed_ack = {text}")).delayed_ack;
    assert_eq!(delay("false"), DelayedAck::Off);
    assert_eq!(delay("true"), DelayedAck::After(Duration::from_millis(40)));
    assert_eq!(delay("'100 ms'"), DelayedAck::After(Duration::from_millis(100)));
    assert_eq!(json!(DelayedAck::Off), json!(false));
    assert_eq!(json!(DelayedAck::After(Duration::from_millis(40))), json!("40 ms"));
    let schema = schemars::schema_for!(TcpConfig);
    assert!(schema.as_value()["properties"]["delayed_ack"]["$ref"].is_string());
}

#[test]
fn impossible_values_are_refused_by_name() {
    let cases = [
        ("mss = '8 B'", "mss"),
        ("mss = '70 kB'", "mss"),
        ("dupthresh = 0", "dupthresh"),
        ("initial_window = 0", "initial_window"),
        ("min_rto = '0 s'", "min_rto"),
        ("min_rto = '61 s'", "min_rto"),
        ("delayed_ack = '1 s'", "delayed_ack"),
        ("receive_buffer = '1 kB'", "receive_buffer"),
        ("mss = '9000 B'\nreceive_buffer = '8 kB'", "receive_buffer"),
        ("receive_buffer = '2 GB'", "receive_buffer"),
        ("[congestion]\nkind = 'newreno'\nbeta = 2.0", "congestion.beta"),
    ];
    for (text, field) in cases {
        assert_eq!(config(text).check().unwrap_err().field, field, "{text}");
    }
    assert_eq!(config("").check(), Ok(()));
    assert!(toml::from_str::<TcpConfig>("delayed_ack = 40").is_err(), "a number has no unit");
    assert!(toml::from_str::<TcpConfig>("dupack = 3").is_err(), "an unknown key");
}
