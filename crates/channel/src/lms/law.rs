//! The law of the mutual information of the transmissions of one packet.

use std::array::from_fn;
use std::f64::consts::PI;

use multiversion::multiversion;
use units::{Db, Duration, Time};

use super::series::{DIRECT_DOPPLER, Motion, amplitude, gain_db};
use super::shadowing::Shadowing;
use super::shared::Phasor;
use super::states::Track;
use crate::level::Snr;
use crate::normal::Normals;
use crate::{ERASED, Geometry, TransmissionLaw, qpsk};

/// Probabilities are then exact to 0.3 %.
const ROWS: usize = 32_768;

/// The quantities of a transmission law that change along the course.
pub(crate) struct Along<'a> {
    pub(crate) snr: &'a Snr,
    /// When packets are sent, if the law depends on it.
    pub(crate) geometry: Option<&'a Geometry>,
    /// The correlation distance at so many metres.
    pub(crate) shadowing_correlation_m: &'a dyn Fn(f64) -> f64,
}

/// Draws packets sent at independent, stationary positions; where the satellite moves, at equal intervals of the time
/// in which one serves: the mixture by share of time that Recommendation ITU-R P.681 prescribes for non-geostationary
/// satellites.
///
/// A row needs the processes only at the instants of its transmissions, whose joint law is known. So rows are drawn
/// from that law and not cut out of a series, whose neighbouring rows are nearly equal (a series of 300 s has only 800
/// state frames). `shadowing` has a step of one spacing.
pub(crate) fn draw(
    mut track: impl Track,
    mut shadowing: Shadowing,
    mut normals: Normals,
    motion: Motion,
    along: Along<'_>,
    (spacing, transmissions): (Duration, usize),
) -> TransmissionLaw {
    let spacing_s = spacing.as_secs_f64();
    let phasor = |i: usize| Phasor::after(motion.doppler_hz * DIRECT_DOPPLER * (spacing_s * i as f64));
    let mut packets = Packets {
        mixing: cholesky(transmissions, |lag| libm::j0(2.0 * PI * motion.doppler_hz * spacing_s * lag as f64)),
        phasors: (0..transmissions).map(phasor).collect(),
        independent: vec![[[0.0; SIDE]; 2]; transmissions],
        rays_db: vec![[[0.0; SIDE]; 2]; transmissions],
        gains_db: vec![[0.0; SIDE]; transmissions],
    };
    let mut samples = Vec::with_capacity(ROWS * transmissions);
    // The last number of the shadowing is drawn and not used: the law stays that of its stream.
    let (mut shadows, mut parts) = (vec![0.0; transmissions + 1], vec![0.0; 2 * transmissions]);
    let half = 0.5_f64.sqrt();
    let mut level = along.snr.cursor();
    let constant = level.constant();
    let mut served = along.geometry.map(|geometry| geometry.served(ROWS));
    for _ in 0..ROWS / SIDE {
        let starts: [Time; SIDE] = from_fn(|_| served.as_mut().and_then(Iterator::next).unwrap_or(Time::ZERO));
        for (packet, start) in starts.into_iter().enumerate() {
            let start_m = motion.speed_mps * start.as_secs_f64();
            track.restart(start_m);
            let correlation_m = (along.shadowing_correlation_m)(start_m);
            shadowing.walk_anew(motion.speed_mps * spacing_s, correlation_m, &mut shadows);
            normals.fill(&mut parts);
            for (independent, part) in packets.independent.as_flattened_mut().iter_mut().zip(&parts) {
                independent[packet] = half * f64::from(*part);
            }
            for (i, [direct_db, diffuse_db]) in packets.rays_db.iter_mut().enumerate() {
                let (loo, _) = track.at(start_m + motion.speed_mps * (spacing_s * i as f64));
                direct_db[packet] = loo.direct_db(shadows[i]);
                diffuse_db[packet] = loo.multipath_db as f32;
            }
        }
        packets.find_gains();
        for (packet, start) in starts.into_iter().enumerate() {
            if constant.is_none() {
                level = along.snr.cursor();
            }
            for (i, gains_db) in packets.gains_db.iter().enumerate() {
                let line_of_sight = constant.map_or_else(|| level.at(start + spacing * i as u64), Db::get);
                let snr = (line_of_sight + f64::from(gains_db[packet])).max(ERASED.get());
                samples.push(qpsk::mutual_information(Db::new(snr)) as f32);
            }
        }
    }
    TransmissionLaw { transmissions, samples }
}

/// Packets whose gains are computed side by side, in registers as wide as the processor has them.
const SIDE: usize = 64;
const _: () = assert!(ROWS.is_multiple_of(SIDE));

/// The processes of [`SIDE`] packets, for each of their transmissions.
struct Packets {
    /// The multipath at a transmission is the sum of the independent numbers up to its own, with these weights.
    mixing: Vec<Vec<f64>>,
    /// The phase of the direct ray.
    phasors: Vec<Phasor>,
    /// Complex normal numbers: real and imaginary parts.
    independent: Vec<[[f64; SIDE]; 2]>,
    /// The powers of the direct ray with its shadowing, and of the multipath, in decibels.
    rays_db: Vec<[[f32; SIDE]; 2]>,
    /// Power gains relative to a line of sight, in decibels.
    gains_db: Vec<[f32; SIDE]>,
}

impl Packets {
    fn find_gains(&mut self) {
        for (i, (weights, phasor)) in self.mixing.iter().zip(&self.phasors).enumerate() {
            gains_db(weights, &self.independent, &self.rays_db[i], *phasor, &mut self.gains_db[i]);
        }
    }
}

/// The gains of packets at one transmission. The rounding is the same in registers of any width.
#[multiversion(targets("x86_64+avx2"))]
fn gains_db(
    weights: &[f64],
    independent: &[[[f64; SIDE]; 2]],
    [direct_db, diffuse_db]: &[[f32; SIDE]; 2],
    phasor: Phasor,
    gains_db: &mut [f32; SIDE],
) {
    let mut multipath = [[0.0; SIDE]; 2];
    for (weight, parts) in weights.iter().zip(independent) {
        for (sum, part) in multipath.as_flattened_mut().iter_mut().zip(parts.as_flattened()) {
            *sum += weight * part;
        }
    }
    for packet in 0..SIDE {
        let amplitudes = (amplitude(direct_db[packet]), amplitude(diffuse_db[packet]));
        let multipath = [multipath[0][packet] as f32, multipath[1][packet] as f32];
        gains_db[packet] = gain_db(amplitudes, multipath, phasor);
    }
}

/// The lower triangle L with `L L^T` = the matrix of `correlation(|i - j|)`: L times independent numbers has this
/// correlation. Where the matrix is singular to within rounding (a spacing of almost nothing) the new part of a number
/// is 0.
fn cholesky(size: usize, correlation: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
    for i in 0..size {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for (j, other) in rows.iter().enumerate() {
            let explained: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            row.push(if other[j] > 1e-6 { (correlation(i - j) - explained) / other[j] } else { 0.0 });
        }
        let explained: f64 = row.iter().map(|a| a * a).sum();
        row.push((1.0 - explained).max(0.0).sqrt());
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_gives_the_correlation_back() {
        for step in [0.0, 1e-9, 1e-3, 0.1, 2.0, 15.4] {
            let correlation = |lag: usize| libm::j0(step * lag as f64);
            let rows = cholesky(8, correlation);
            for i in 0..8 {
                for j in 0..=i {
                    let product: f64 = rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum();
                    assert!((product - correlation(i - j)).abs() < 1e-4, "step {step}, {i} {j}: {product}");
                }
            }
        }
    }
}
