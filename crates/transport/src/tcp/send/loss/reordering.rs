//! How far data come out of order without being lost.

use crate::tcp::config::Dupthresh;
use crate::tcp::send::scoreboard::Scoreboard;

/// Linux lets the reordering degree grow to so many segments.
const MAX: u32 = 300;
/// RFC 5681 section 3.2: three duplicates are taken for a loss.
const DUPTHRESH: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Reordering {
    adaptive: bool,
    initial: u32,
    degree: u32,
    seen: u32,
}

impl Reordering {
    pub fn new(dupthresh: Dupthresh) -> Reordering {
        let (adaptive, initial) = match dupthresh {
            Dupthresh::Fixed(segments) => (false, segments),
            Dupthresh::Adaptive => (true, DUPTHRESH),
        };
        Reordering { adaptive, initial, degree: initial, seen: 0 }
    }

    /// Segments by which data may come out of order without being taken for lost.
    #[inline]
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Returns how often data came out of order.
    #[inline]
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Whether more is tolerated than at the start.
    #[inline]
    pub fn has_grown(&self) -> bool {
        self.degree > self.initial
    }

    /// Data from `seq` on came after data sent later.
    pub fn note(&mut self, seq: u64, board: &Scoreboard, mss: u64) {
        let forward = board.forward();
        if seq >= forward {
            return;
        }
        let degree = (forward - seq).div_ceil(mss) as u32;
        if self.adaptive && degree > self.degree {
            self.degree = degree.min(MAX);
        }
        self.seen += 1;
    }

    /// More duplicate acknowledgments came than `segments` can have caused in order.
    pub fn exceed(&mut self, segments: u32) {
        if self.adaptive {
            self.degree = segments.min(MAX);
        }
        self.seen += 1;
    }

    /// The retransmission timer expired although so many segments were known to have arrived.
    pub fn distrust(&mut self, sacked: u32) {
        if self.adaptive && sacked >= DUPTHRESH {
            self.degree = self.degree.min(DUPTHRESH);
        }
    }
}
