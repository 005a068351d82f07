//! A channel that tells the fate of packets in place of the decoder.

use crate::common::{Run, ms, packet, uniform_block_fading};
use channel::{CLEAR, Channel, ERASED};
use link::{DropReason, Output};
use serde_json::{Value, json};
use units::{Db, Time};

/// The packet first sent in the i-th millisecond is decoded after so many transmissions.
struct Told(&'static [u32]);

impl Channel for Told {
    fn burst_snr(&mut self, _now: Time) -> Db {
        ERASED
    }

    fn attenuation(&mut self, _now: Time) -> Option<Db> {
        None
    }

    fn estimated_snr(&mut self, _now: Time) -> Db {
        CLEAR
    }

    fn decides(&self) -> bool {
        true
    }

    fn decoded_after(&mut self, now: Time) -> u32 {
        self.0[(now.as_nanos() / 1_000_000) as usize]
    }
}

/// What happens to packets that come 1 ms apart on an idle link of 10 ms: arrival in ms and number, and those lost.
fn fates(harq: Value, reordering: bool, told: &'static [u32]) -> (Vec<(u64, u32)>, Vec<u32>) {
    let settings = json!({
        "rate": "1 Gbit/s", "delay": "10 ms", "harq": harq, "reordering": { "enabled": reordering },
        "scheduler": { "kind": "droptail", "buffer": "100 packets" },
    });
    let law = uniform_block_fading(4, 1000);
    let mut run = Run::of(settings, vec![Box::new(Told(told))], Some(&law));
    for id in 0..told.len() as u32 {
        run.offer(ms(u64::from(id)), packet(id, 1000));
    }
    run.finish();
    let delivered = run.delivered().into_iter().map(|(at, id)| (at.as_nanos() / 1_000_000, id)).collect();
    let lost = run.log.iter().filter_map(|(_, output)| match output {
        Output::Dropped(packet, DropReason::Harq) => Some(packet.id),
        _ => None,
    });
    (delivered, lost.collect())
}

#[test]
fn each_scheme_decodes_after_the_transmission_that_was_told() {
    for scheme in ["selective-repeat", "chase", "incremental-redundancy", "self-decodable", "adaptive"] {
        let (delivered, lost) = fates(json!({ "kind": scheme }), false, &[1, 3, 2, 0, 1]);
        // A repetition comes 20 ms after the burst before it.
        assert_eq!(delivered, [(10, 0), (14, 4), (32, 2), (51, 1)], "{scheme}");
        assert_eq!(lost, [3], "{scheme}");
    }
}

#[test]
fn a_scheme_that_transmits_less_often_than_told_loses_the_packet() {
    let (delivered, lost) = fates(json!({ "kind": "none" }), false, &[1, 2, 1, 0]);
    assert_eq!((delivered, lost), (vec![(10, 0), (12, 2)], vec![1, 3]));
    let twice = json!({ "kind": "chase", "transmissions": 2 });
    assert_eq!(fates(twice, false, &[2, 3]), (vec![(30, 0)], vec![1]));
}

#[test]
fn go_back_n_repeats_until_the_receiver_is_ready() {
    let (delivered, lost) = fates(json!({ "kind": "go-back-n" }), false, &[2, 1, 1]);
    assert_eq!(delivered.iter().map(|&(_, id)| id).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(delivered[0].0 == 30 && lost.is_empty(), "{delivered:?} {lost:?}");
}

#[test]
fn the_buffer_waits_for_a_repetition_and_is_flushed_by_a_loss() {
    let (delivered, _) = fates(json!({ "kind": "chase", "transmissions": 4 }), true, &[1, 3, 1, 1, 0, 1]);
    // Number 1 comes after 51 ms and takes 2 and 3 with it; 5 waits until 4 is given up, at 4 + 10 + 3 * 20 ms.
    assert_eq!(delivered, [(10, 0), (51, 1), (51, 2), (51, 3), (74, 5)]);
}

#[test]
fn lost_feedback_repeats_a_packet_without_another_decision() {
    let harq = json!({ "kind": "chase", "transmissions": 4, "feedback": { "loss": "100 %" } });
    assert_eq!(fates(harq, false, &[2]), (vec![(30, 0)], vec![]));
}
