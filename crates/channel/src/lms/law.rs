//! The law of the mutual information of the transmissions of one packet.

use std::f64::consts::PI;

use units::{Db, Duration, Time};

use super::series::{DIRECT_DOPPLER, Motion, Rays, gain_db};
use super::shadowing::Shadowing;
use super::shared::Phasor;
use super::states::Track;
use crate::level::Snr;
use crate::normal::Normals;
use crate::{ERASED, Geometry, TransmissionLaw, qpsk};

/// Probabilities are then exact to 0.3 %.
const ROWS: usize = 32_768;

/// The quantities that change along the course.
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
    let mixing = cholesky(transmissions, |lag| libm::j0(2.0 * PI * motion.doppler_hz * spacing_s * lag as f64));
    let mut samples = Vec::with_capacity(ROWS * transmissions);
    let (mut rays, half) = (Rays::default(), 0.5_f64.sqrt());
    let mut independent = vec![[0.0; 2]; transmissions];
    let phasor = |i: usize| Phasor::after(motion.doppler_hz * DIRECT_DOPPLER * (spacing_s * i as f64));
    let phasors: Vec<Phasor> = (0..transmissions).map(phasor).collect();
    let mut level = along.snr.cursor();
    let mut starts = along.geometry.map(|geometry| geometry.served(ROWS));
    for _ in 0..ROWS {
        let start = starts.as_mut().and_then(Iterator::next).unwrap_or(Time::ZERO);
        let start_m = motion.speed_mps * start.as_secs_f64();
        if level.constant().is_none() {
            level = along.snr.cursor();
        }
        track.restart(start_m);
        shadowing.restart(motion.speed_mps * spacing_s, (along.shadowing_correlation_m)(start_m));
        independent.as_flattened_mut().iter_mut().for_each(|part| *part = half * f64::from(normals.draw()));
        for (i, weights) in mixing.iter().enumerate() {
            let elapsed = spacing_s * i as f64;
            let (loo, _) = track.at(start_m + motion.speed_mps * elapsed);
            let mut multipath = [0.0; 2];
            for (weight, part) in weights.iter().zip(&independent) {
                multipath[0] += weight * part[0];
                multipath[1] += weight * part[1];
            }
            let multipath = multipath.map(|part| part as f32);
            let gain = gain_db(rays.amplitudes(loo, shadowing.step()), multipath, phasors[i]);
            let snr = (level.at(start + spacing * i as u64) + gain).max(ERASED.get());
            samples.push(qpsk::mutual_information(Db::new(snr)) as f32);
        }
    }
    TransmissionLaw { transmissions, samples }
}

/// The lower triangle L with `L L^T` = the matrix of `correlation(|i - j|)`: L times independent numbers has this
/// correlation. Where the matrix is singular to within rounding (a spacing of almost nothing) the new part of a number
/// is 0.
fn cholesky(size: usize, correlation: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
    for i in 0..size {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for (j, other) in rows.iter().enumerate() {
            let known: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            row.push(if other[j] > 1e-6 { (correlation(i - j) - known) / other[j] } else { 0.0 });
        }
        let known: f64 = row.iter().map(|a| a * a).sum();
        row.push((1.0 - known).max(0.0).sqrt());
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
