//! What the fading channels draw, bit by bit: every published result rests on it.

#[path = "../src/testing.rs"]
mod testing;

use channel::{ChannelConfig, ChannelModel, LawRequest};
use testing::streams;
use units::{Duration, Time};

/// Each model at two speeds and more, so that the transform has lengths that are powers of four and such that are not.
const MODELS: [(&str, &str); 8] = [
    ("lms, 60 km/h", r#"{ "kind": "lms" }"#),
    ("lms, 3 km/h", r#"{ "kind": "lms", "environment": "suburban", "speed": "3 km/h" }"#),
    ("lms, coarse", r#"{ "kind": "lms", "environment": "urban", "sampling_interval": "2 ms" }"#),
    ("lms, fine", r#"{ "kind": "lms", "environment": "open", "sampling_interval": "10 us" }"#),
    ("p681, 60 km/h", r#"{ "kind": "p681" }"#),
    ("p681, 30 km/h", r#"{ "kind": "p681", "environment": "village", "elevation": "45 deg", "speed": "30 km/h" }"#),
    ("p681, 5 km/h", r#"{ "kind": "p681", "environment": "urban", "elevation": "60 deg", "speed": "5 km/h" }"#),
    ("p681, 250 km/h", r#"{ "kind": "p681", "environment": "rural-wooded", "speed": "250 km/h" }"#),
];

/// For each of [`MODELS`]: every sample of the first 100 000; the few that a user reads who sleeps now and then; the
/// law. Recorded; a change is a change of every run.
const DIGESTS: [[u64; 3]; 8] = [
    [0x6442_0b89_92c3_5f57, 0x13e3_b6cb_7074_f93f, 0xb660_abcc_6039_1a27],
    [0x28f8_d96e_f0c0_9fdb, 0xf0c2_dc98_3ceb_f262, 0x5f9a_8b4d_cc8e_1f1a],
    [0xb5ab_0db4_362e_01c9, 0x9ec4_2719_6fb8_0ace, 0x457f_687e_abc4_1dac],
    [0xf979_ee2c_336f_8cde, 0xae39_560a_faf5_9d7f, 0x9c0d_9d03_4f39_8da0],
    [0xf623_9e8b_8404_0a3a, 0x2a30_72fb_9c3e_fab7, 0xfedd_4049_b424_6014],
    [0x672c_696f_56e9_040c, 0xe7e8_b8a3_52ad_e4f9, 0x4be0_2549_5023_db0c],
    [0xed72_007a_7f14_6eb6, 0x3f96_ffbd_0055_0466, 0xf2a6_824e_35cf_1390],
    [0x0066_e067_43e5_87c3, 0x10c8_accc_520a_1562, 0x9c20_d244_c303_2871],
];

#[test]
fn every_bit_stays_what_it_is() {
    for ((name, text), expected) in MODELS.iter().zip(DIGESTS) {
        let model = load(text);
        let found = [digest_of_all(&*model), digest_of_some(&*model), digest_of_law(&*model)];
        assert_eq!(found, expected, "{name}: {found:#018x?}");
    }
}

fn load(text: &str) -> Box<dyn ChannelModel> {
    serde_json::from_str::<ChannelConfig>(text).unwrap().entry().load(&mut units::MemoryFiles::new(), None).unwrap()
}

fn digest_of_all(model: &dyn ChannelModel) -> u64 {
    read(model, (0..100_000).collect())
}

/// Twenty steps apart, with pauses of many blocks.
fn digest_of_some(model: &dyn ChannelModel) -> u64 {
    read(model, (0..3_000).map(|i| 20 * i + i / 500 * 700_001).collect())
}

fn read(model: &dyn ChannelModel, indices: Vec<u64>) -> u64 {
    let step = model.sampling_interval().unwrap();
    let mut channel = model.build(0, &mut streams(7));
    let mut hash = Hash::default();
    for index in indices {
        let now = Time::ZERO + step * index;
        hash.add(channel.burst_snr(now).get());
        let seen = channel.observe(now);
        hash.add(seen.attenuation.unwrap().get());
        hash.add(seen.shadowing.unwrap());
        seen.multipath.unwrap().into_iter().for_each(|part| hash.add(part));
        seen.state.unwrap().bytes().for_each(|byte| hash.add(f64::from(byte)));
    }
    hash.0
}

fn digest_of_law(model: &dyn ChannelModel) -> u64 {
    let mut hash = Hash::default();
    let law = model.transmission_law(LawRequest::all(3, Duration::from_millis(20)), &mut streams(7));
    law.samples.iter().for_each(|&sample| hash.add(f64::from(sample)));
    hash.0
}

/// FNV-1a over words, stirred.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, value: f64) {
        self.0 = (self.0 ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
}
