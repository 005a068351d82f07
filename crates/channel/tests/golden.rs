//! What the fading channels draw, bit by bit: every published result rests on it.

#[path = "../src/testing.rs"]
mod testing;

use channel::{ChannelConfig, ChannelModel};
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
    [0xbb79_9fb9_dd39_44e4, 0x3229_17a7_7852_66f9, 0x4919_626e_1102_6521],
    [0x9fec_8e80_547b_542a, 0x7bb2_3854_a3eb_2dee, 0x7394_09b0_e5ee_c008],
    [0x8e3d_d1f7_01df_0956, 0x45ce_8ed4_98ec_125c, 0xb138_1bf6_71bd_dff5],
    [0x689d_7ca2_32de_98d5, 0x4671_e032_4e44_0c85, 0xb6e2_c1f3_f07c_f64e],
    [0xd1c6_6bd7_108a_55c7, 0xe8bf_5d87_8d51_370c, 0x26df_8ea3_3151_2495],
    [0x21d5_e82f_e741_f49d, 0x6450_a28b_9a08_c9d1, 0x6092_4325_1eee_ef6c],
    [0x901a_cf71_f474_5068, 0x6855_6eb9_8863_f0ca, 0xe376_9f4a_27eb_08a3],
    [0xd554_6d23_6de5_2d83, 0x1a17_7883_936b_d720, 0x18ed_71be_26d0_f74e],
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
    let law = model.transmission_law(Duration::from_millis(20), 3, &mut streams(7));
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
