//! Packet loss against load, by simulation.

use rand::Rng;
use serde::Serialize;

use super::columns::Columns;
use super::frame::RandomFrame;
use super::layout::RandomLayout;
use super::scheme::Scheme;

/// Simulates the packet loss rate of a scheme at one load after the other, block by block, each packet from a terminal
/// of its own.
pub struct PlrStudy {
    frame: RandomFrame,
    columns: Columns,
    block_slots: u32,
    bursts_per_point: u64,
    rng: Box<dyn Rng + Send>,
    points: Vec<LossTally>,
    /// The current point.
    current: usize,
}

/// A point of a loss curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlrPoint {
    /// Packets in each block.
    pub packets_per_block: u32,
    /// Normalized load: packets per slot.
    pub load: f64,
    /// Blocks simulated.
    pub blocks: u64,
    /// Packets in them.
    pub packets: u64,
    /// Bursts in them.
    pub bursts: u64,
    /// Packets that were not decoded.
    pub lost_packets: u64,
    /// Share of lost packets; 0 if there were none.
    pub plr: f64,
    /// Lower end of the 95 % confidence interval of the packet loss rate.
    ///
    /// Wilson's interval (1927). Losses within a block are correlated, so the number of packets is divided by the
    /// variance between blocks over that of independent losses (Kish 1965, design effect). Without any loss, blocks are
    /// counted.
    pub plr_low: f64,
    /// Upper end of that interval.
    pub plr_high: f64,
    /// Decoded packets per slot.
    pub throughput: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct LossTally {
    packets_per_block: u32,
    blocks: u64,
    packets: u64,
    bursts: u64,
    lost: u64,
    /// Sum over blocks of the squared number of lost packets.
    lost_squared: f64,
    is_complete: bool,
}

impl PlrStudy {
    /// A study of `loads` (packets of a block), each until `bursts_per_point` bursts were sent. Blocks have the
    /// layout's slots; the scheme has been checked against it. All points draw from `rng`, one after the other.
    pub fn new(
        scheme: Scheme,
        layout: RandomLayout,
        loads: Vec<u32>,
        bursts_per_point: u64,
        rng: Box<dyn Rng + Send>,
    ) -> PlrStudy {
        let points = loads
            .into_iter()
            .map(|packets_per_block| LossTally { packets_per_block, ..LossTally::default() })
            .collect();
        PlrStudy {
            frame: RandomFrame::new(scheme, layout),
            columns: Columns::new(layout.timeslots),
            block_slots: layout.block_slots,
            bursts_per_point,
            rng,
            points,
            current: 0,
        }
    }

    /// Simulates until at least `max_bursts` more bursts were sent (whole blocks), or all points are complete; returns
    /// false once they are.
    pub fn advance(&mut self, max_bursts: u64) -> bool {
        let mut sent = 0;
        while let Some(point) = self.points.get_mut(self.current) {
            // A load of no packets is complete at once.
            if point.bursts >= self.bursts_per_point || point.packets_per_block == 0 {
                point.is_complete = true;
                self.current += 1;
                continue;
            }
            if sent >= max_bursts {
                return true;
            }
            sent += point.simulate_block(&mut self.frame, &mut self.columns, &mut *self.rng);
        }
        false
    }

    /// The share of the study that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let share = |point: &LossTally| match point.is_complete || self.bursts_per_point == 0 {
            true => 1.0,
            false => (point.bursts as f64 / self.bursts_per_point as f64).min(1.0),
        };
        if self.points.is_empty() { 1.0 } else { self.points.iter().map(share).sum::<f64>() / self.points.len() as f64 }
    }

    /// The points that are complete, in the order of the loads.
    pub fn points(&self) -> Vec<PlrPoint> {
        self.points[..self.current].iter().map(|point| point.summary(self.block_slots)).collect()
    }
}

impl LossTally {
    /// Simulates a block and returns the number of its bursts.
    fn simulate_block(&mut self, frame: &mut RandomFrame, columns: &mut Columns, rng: &mut dyn Rng) -> u64 {
        let before = frame.counters();
        frame.begin(1);
        for _ in 0..self.packets_per_block {
            columns.clear();
            let added = frame.add(columns, rng);
            assert!(added, "the scheme was checked against the layout");
        }
        frame.decode(rng);
        let after = frame.counters();
        let lost = after.lost_packets - before.lost_packets;
        let bursts = after.offered_bursts - before.offered_bursts;
        self.blocks += 1;
        self.packets += u64::from(self.packets_per_block);
        self.bursts += bursts;
        self.lost += lost;
        self.lost_squared += (lost * lost) as f64;
        bursts
    }

    fn summary(&self, block_slots: u32) -> PlrPoint {
        let plr = if self.packets == 0 { 0.0 } else { self.lost as f64 / self.packets as f64 };
        let (plr_low, plr_high) = wilson(plr, self.packets as f64 / self.design_effect());
        let slots = self.blocks as f64 * f64::from(block_slots);
        PlrPoint {
            packets_per_block: self.packets_per_block,
            load: f64::from(self.packets_per_block) / f64::from(block_slots),
            blocks: self.blocks,
            packets: self.packets,
            bursts: self.bursts,
            lost_packets: self.lost,
            plr,
            plr_low,
            plr_high,
            throughput: if self.blocks == 0 { 0.0 } else { (self.packets - self.lost) as f64 / slots },
        }
    }

    /// The variance of the losses of a block, divided by that of independent losses; at least 1. Where the losses of
    /// all blocks are equal, the packets of a block: whole blocks may be lost.
    fn design_effect(&self) -> f64 {
        if self.blocks < 2 || self.lost == 0 || self.lost == self.packets {
            return f64::from(self.packets_per_block).max(1.0);
        }
        let blocks = self.blocks as f64;
        let mean = self.lost as f64 / blocks;
        let variance = (self.lost_squared - blocks * mean * mean) / (blocks - 1.0);
        let plr = self.lost as f64 / self.packets as f64;
        (variance / (f64::from(self.packets_per_block) * plr * (1.0 - plr))).max(1.0)
    }
}

/// The 95 % confidence interval of a probability of which `trials` independent trials found the share `observed`.
fn wilson(observed: f64, trials: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0.0 {
        return (0.0, 1.0);
    }
    let scale = 1.0 + Z * Z / trials;
    let centre = (observed + Z * Z / (2.0 * trials)) / scale;
    let half = Z / scale * (observed * (1.0 - observed) / trials + Z * Z / (4.0 * trials * trials)).sqrt();
    // Exactly 0 and 1 at the ends, in spite of rounding.
    let low = if observed == 0.0 { 0.0 } else { centre - half };
    let high = if observed == 1.0 { 1.0 } else { centre + half };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
    #[test]
    fn wilson_intervals_are_as_published() {
        for (found, trials, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let interval = wilson(found / trials, trials);
            assert!((interval.0 - low).abs() < 5e-5 && (interval.1 - high).abs() < 5e-5, "{interval:?}");
        }
        assert_eq!(wilson(1.0, 29.0).1, 1.0);
    }
}
