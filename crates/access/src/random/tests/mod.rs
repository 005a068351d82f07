//! Random access compared with published results for its schemes.

mod curves;
mod decoding;
mod placement;
mod powers;
mod words;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use units::MemoryFiles;

use super::{Columns, RandomAccess, RandomConfig, RandomFrame, RandomLayout, Scheme};

/// The generator of a stream.
pub(super) type Stream = Xoshiro256PlusPlus;

pub(super) fn rng(seed: u64) -> Stream {
    Stream::seed_from_u64(seed)
}

/// A block whose slots are all in different columns, so that one amplifier is no limit.
pub(super) fn free(block_slots: u32) -> RandomLayout {
    RandomLayout { timeslots: block_slots, block_slots, one_amplifier: true }
}

pub(super) fn parse(config: &Value) -> RandomAccess {
    serde_json::from_value(config.clone()).unwrap()
}

pub(super) fn load(config: &Value, random: &RandomConfig) -> Scheme {
    random.check().unwrap();
    parse(config).load(random, &mut MemoryFiles::new()).unwrap()
}

pub(super) fn scheme(config: &Value) -> Scheme {
    load(config, &RandomConfig::default())
}

pub(super) fn musca(margin: f64) -> Value {
    json!({ "kind": "musca", "margin": margin })
}

pub(super) fn crdsa(replicas: u32) -> Value {
    json!({ "kind": "crdsa", "replicas": replicas })
}

/// Lost packets of each of `blocks` blocks with `packets` packets of as many terminals.
pub(super) fn losses(scheme: Scheme, layout: RandomLayout, packets: u32, blocks: u32, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    let mut frame = RandomFrame::new(scheme, layout);
    let mut columns = Columns::new(layout.timeslots);
    (0..blocks)
        .map(|_| {
            frame.begin(1);
            for _ in 0..packets {
                columns.clear();
                assert!(frame.add(&mut columns, &mut rng));
            }
            frame.decode(&mut rng);
            (0..frame.packets()).filter(|&packet| !frame.decoded(packet)).count() as f64
        })
        .collect()
}

/// Mean and variance of a sample.
pub(super) fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    (mean, sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

/// The packet loss rate and its standard deviation, from the differences between blocks.
pub(super) fn loss_rate(scheme: Scheme, layout: RandomLayout, packets: u32, blocks: u32, seed: u64) -> (f64, f64) {
    let (mean, variance) = moments(&losses(scheme, layout, packets, blocks, seed));
    (mean / f64::from(packets), (variance / f64::from(blocks)).sqrt() / f64::from(packets))
}
