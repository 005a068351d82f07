//! The law of the mutual information of the transmissions of one packet.

use std::array::from_fn;
use std::f64::consts::PI;

use multiversion::multiversion;
use units::{Db, Time};

use super::series::{DIRECT_DOPPLER, Motion, amplitude, gain_db};
use super::shadowing::Shadowing;
use super::shared::Phasor;
use super::states::Track;
use crate::level::Snr;
use crate::normal::Normals;
use crate::{ERASED, Geometry, LawRequest, TransmissionLaw, qpsk};

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
    LawRequest { drawn, read, spacing }: LawRequest,
) -> TransmissionLaw {
    assert!((1..=drawn).contains(&read), "{read} of {drawn} transmissions");
    let spacing_s = spacing.as_secs_f64();
    let distance_m = |i: usize| motion.speed_mps * (spacing_s * i as f64);
    let mixing = cholesky(read, |lag| libm::j0(2.0 * PI * motion.doppler_hz * spacing_s * lag as f64));
    let level = along.snr.cursor().constant();
    let transmission = |(i, mixing)| Transmission {
        distance_m: distance_m(i),
        mixing,
        phasor: Phasor::after(motion.doppler_hz * DIRECT_DOPPLER * (spacing_s * i as f64)),
        independent: [[0.0; SIDE]; 2],
        rays_db: [[0.0; SIDE]; 2],
        line_of_sight_db: [level.map_or(0.0, Db::get); SIDE],
    };
    let mut transmissions: Vec<Transmission> = mixing.into_iter().enumerate().map(transmission).collect();
    let mut samples = vec![0.0; ROWS * read];
    // All processes draw for the transmissions that are not read, too, so that the law does not depend on how many are
    // read. One more number of the shadowing is drawn.
    let (mut shadows, mut parts) = (vec![0.0; SIDE * (drawn + 1)], vec![0.0; SIDE * 2 * drawn]);
    let mut served = along.geometry.map(|geometry| geometry.served(ROWS));
    let mut starts = Starts::new([Time::ZERO; SIDE], motion, &along);
    for rows in samples.chunks_exact_mut(SIDE * read) {
        if let Some(served) = &mut served {
            starts = Starts::new(from_fn(|_| served.next().unwrap_or(Time::ZERO)), motion, &along);
        }
        normals.fill(&mut parts);
        shadowing.walk_anew(motion.speed_mps * spacing_s, &starts.correlations_m, &mut shadows, read);
        let draws = shadows.chunks_exact(drawn + 1).zip(parts.as_chunks::<2>().0.chunks_exact(drawn));
        for ((packet, &start_m), (shadows, parts)) in starts.metres.iter().enumerate().zip(draws) {
            track.restart(start_m);
            for (transmission, (shadow, part)) in transmissions.iter_mut().zip(shadows.iter().zip(parts)) {
                let loo = track.parameters_at(start_m + transmission.distance_m);
                transmission.rays_db[0][packet] = loo.direct_db(*shadow);
                transmission.rays_db[1][packet] = loo.multipath_db as f32;
                transmission.independent[0][packet] = part[0];
                transmission.independent[1][packet] = part[1];
            }
            track.parameters_at(start_m + distance_m(drawn - 1));
        }
        if level.is_none() {
            for (packet, &start) in starts.at.iter().enumerate() {
                let mut cursor = along.snr.cursor();
                for (i, transmission) in transmissions.iter_mut().enumerate() {
                    transmission.line_of_sight_db[packet] = cursor.at(start + spacing * i as u64);
                }
            }
        }
        let (mut snrs_db, mut information) = ([0.0; SIDE], [0.0; SIDE]);
        for i in 0..read {
            find_snrs(&transmissions[i], &transmissions[..=i], &mut snrs_db);
            qpsk::mutual_information_of_many(&snrs_db, &mut information);
            for (row, information) in rows.chunks_exact_mut(read).zip(&information) {
                row[i] = *information;
            }
        }
    }
    TransmissionLaw { transmissions: read, samples }
}

/// The instants and distances at which packets are first sent, and the correlation distances of the shadowing there.
struct Starts {
    at: [Time; SIDE],
    metres: [f64; SIDE],
    correlations_m: [f64; SIDE],
}

impl Starts {
    fn new(at: [Time; SIDE], motion: Motion, along: &Along<'_>) -> Starts {
        let metres = at.map(|start| motion.speed_mps * start.as_secs_f64());
        Starts { at, metres, correlations_m: metres.map(along.shadowing_correlation_m) }
    }
}

/// Packets whose gains are computed side by side, in registers as wide as the processor has them.
const SIDE: usize = 64;
const _: () = assert!(ROWS.is_multiple_of(SIDE));

/// The processes of [`SIDE`] packets at one of their transmissions.
struct Transmission {
    /// The distance from the first transmission.
    distance_m: f64,
    /// The multipath is the sum of the independent numbers of the transmissions up to this one, with these weights.
    mixing: Vec<f64>,
    /// The phase of the direct ray.
    phasor: Phasor,
    /// Real and imaginary parts of the independent numbers, standard normal.
    independent: [[f32; SIDE]; 2],
    /// The powers of the direct ray with its shadowing, and of the multipath, in decibels.
    rays_db: [[f32; SIDE]; 2],
    /// Es/N0 of the line of sight, in decibels.
    line_of_sight_db: [f64; SIDE],
}

/// Es/N0 of packets at a transmission, in decibels; `up_to_it` are those up to it. The rounding is the same in
/// registers of any width.
#[multiversion(targets("x86_64+avx2"))]
fn find_snrs(transmission: &Transmission, up_to_it: &[Transmission], snrs_db: &mut [f64; SIDE]) {
    let Transmission { mixing, phasor, rays_db: [direct_db, diffuse_db], line_of_sight_db, .. } = transmission;
    // Each part of a complex number of variance 1 has a variance of a half.
    let deviation = 0.5_f64.sqrt();
    let mut multipath = [[0.0; SIDE]; 2];
    for (weight, Transmission { independent, .. }) in mixing.iter().zip(up_to_it) {
        for (sum, part) in multipath.as_flattened_mut().iter_mut().zip(independent.as_flattened()) {
            *sum += weight * (deviation * f64::from(*part));
        }
    }
    for packet in 0..SIDE {
        let amplitudes = (amplitude(direct_db[packet]), amplitude(diffuse_db[packet]));
        let multipath = [multipath[0][packet] as f32, multipath[1][packet] as f32];
        let gain_db = f64::from(gain_db(amplitudes, multipath, *phasor));
        snrs_db[packet] = (line_of_sight_db[packet] + gain_db).max(ERASED.get());
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
