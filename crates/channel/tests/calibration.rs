//! The channel under Adaptive HARQ: does it decode as often as the published calibration?
//!
//! The reference is an independent implementation of the same models in numpy, which makes its series as a whole with
//! one long transform: intermediate tree shadowing, 40 degrees, 60 km/h, four transmissions 20 ms apart, decoding
//! threshold 1.22 - 0.20 R, sized on their joint law for 50, 70 and 85 % decoded after the first three, all that is
//! left in the fourth.

#[path = "../src/testing.rs"]
mod testing;

use channel::{ChannelConfig, ChannelModel, LawRequest, Lms, TransmissionLaw, code, qpsk};
use units::{Db, Duration, Time};

const DATA_BITS: f64 = 8_920.0;
const CODED_BITS: f64 = 53_520.0;
const SPACING: Duration = Duration::from_millis(20);
const SECONDS: u64 = 600;
const RUNS: u64 = 20;
/// The reference over 100 runs of 600 s at 7 to 13 dB: success in percent, its standard deviation from run to run; mean
/// coded bits of a packet, their standard deviation.
const REFERENCE: [(f64, f64, f64, f64); 7] = [
    (94.757, 0.331, 25_638.0, 440.0),
    (96.741, 0.218, 23_245.0, 426.0),
    (97.805, 0.150, 21_408.0, 415.0),
    (98.477, 0.106, 19_939.0, 401.0),
    (98.892, 0.078, 18_850.0, 389.0),
    (99.179, 0.059, 17_989.0, 375.0),
    (99.365, 0.046, 17_379.0, 362.0),
];

#[test]
fn adaptive_harq_decodes_as_often_as_calibrated() {
    // Means of 20 runs are compared with means of 100: three standard deviations of the difference.
    let chance = 3.0 * (1.0 / RUNS as f64 + 1.0 / 100.0).sqrt();
    let gains: Vec<Vec<f64>> = (0..RUNS).map(gains_db).collect();
    for (step, (success, success_deviation, bits, bits_deviation)) in REFERENCE.into_iter().enumerate() {
        let snr = 7.0 + step as f64;
        let law = model(snr).transmission_law(LawRequest::all(4, SPACING), &mut testing::streams(1));
        let ours = decode(&gains, snr, transmission_sizes(&law));
        println!("{snr} dB: {ours:.2?}");
        assert!((ours.success - success).abs() < chance * success_deviation, "{snr} dB: {ours:?} against {success} %");
        assert!((ours.bits - bits).abs() < chance * bits_deviation, "{snr} dB: {ours:?} against {bits}");
        // What the sizes aim for: 50, 20 and 15 % of all packets.
        for (share, aim) in ours.decoded_after.into_iter().zip([50.0, 20.0, 15.0]) {
            assert!((share - aim).abs() < 1.5, "{snr} dB: {ours:?}");
        }
    }
}

fn model(reference: f64) -> Box<dyn ChannelModel> {
    let config = Lms { reference_snr: Some(Db::new(reference)), ..Lms::default() };
    ChannelConfig::Lms(config).entry().load(&mut units::MemoryFiles::new(), None).unwrap()
}

/// A sample each millisecond.
fn gains_db(run: u64) -> Vec<f64> {
    let mut channel = model(0.0).build(0, &mut testing::streams(1000 + run));
    (0..SECONDS * 1000).map(|ms| channel.burst_snr(Time::from_nanos(ms * 1_000_000)).get()).collect()
}

/// Sizes of the four transmissions in bits.
fn transmission_sizes(law: &TransmissionLaw) -> [f64; 4] {
    let rows: Vec<&[f32]> = law.samples.chunks(4).collect();
    let mut received = vec![0.0; rows.len()];
    let mut sizes = [0.0; 4];
    for (i, target) in [0.50, 0.70, 0.85].into_iter().enumerate() {
        let sent: f64 = sizes.iter().sum();
        let mut needs: Vec<f64> =
            rows.iter().zip(&received).map(|(row, &received)| need(received, sent, row[i].into())).collect();
        needs.sort_by(f64::total_cmp);
        sizes[i] = needs[(target * needs.len() as f64) as usize].clamp(0.0, CODED_BITS - sent);
        for (row, received) in rows.iter().zip(&mut received) {
            *received += sizes[i] * f64::from(row[i]);
        }
    }
    sizes[3] = CODED_BITS - sizes.iter().sum::<f64>();
    sizes
}

/// Bits to send at `information` per bit after `sent` bits brought `received`; the threshold depends on the answer.
fn need(received: f64, sent: f64, information: f64) -> f64 {
    let mut bits = f64::INFINITY;
    for _ in 0..40 {
        bits = (threshold(sent + bits) - received).max(0.0) / information.max(1e-9);
    }
    bits
}

fn threshold(sent: f64) -> f64 {
    code::threshold(DATA_BITS / sent.max(1.0)) * DATA_BITS
}

#[derive(Debug)]
struct Decoding {
    /// Percentage of the packets, in all and after each transmission.
    success: f64,
    decoded_after: [f64; 4],
    /// Mean coded bits sent for a packet.
    bits: f64,
}

/// A packet each millisecond.
fn decode(gains: &[Vec<f64>], snr: f64, sizes: [f64; 4]) -> Decoding {
    let (mut packets, mut decoded, mut bits) = (0u64, [0u64; 4], 0.0);
    let sent = [1, 2, 3, 4].map(|transmissions| sizes[..transmissions].iter().sum::<f64>());
    let thresholds = sent.map(threshold);
    for run in gains {
        let information: Vec<f64> = run.iter().map(|gain| qpsk::mutual_information(Db::new(snr + gain))).collect();
        for start in 0..information.len() - 60 {
            let mut received = 0.0;
            let after = (0..4).find(|&i| {
                received += sizes[i] * information[start + 20 * i];
                received >= thresholds[i]
            });
            packets += 1;
            bits += sent[after.unwrap_or(3)];
            if let Some(after) = after {
                decoded[after] += 1;
            }
        }
    }
    let percent = |count: u64| 100.0 * count as f64 / packets as f64;
    Decoding {
        success: percent(decoded.iter().sum()),
        decoded_after: decoded.map(percent),
        bits: bits / packets as f64,
    }
}
