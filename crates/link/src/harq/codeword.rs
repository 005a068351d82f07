//! The parts of a packet's codeword that each transmission carries, and the receiver's decoding of all it has received.
//!
//! The codeword is cut into parts such that a transmission carries a part in full or not at all. Copies of a part
//! are combined optimally (maximum-ratio: their signal-to-noise ratios add); different parts have different
//! bits, so their mutual information adds. Chase combining is one part sent repeatedly; incremental redundancy is
//! parts sent once each; a circular buffer that wraps, and self-decodable repetitions, lie between.
//!
//! After Cheng, "Coding performance of hybrid ARQ schemes", IEEE Trans. Commun. 54(6), 2006, and Frenger, Parkvall,
//! Dahlman, "Performance comparison of HARQ with chase combining and incremental redundancy for HSDPA", VTC 2001.

use std::ops::Range;

use channel::qpsk;
use units::{Bytes, Db, FieldError};

use super::sizes::{Block, Threshold};

/// More parts than any scheme makes of 8 transmissions.
const PARTS_MAX: usize = 16;

/// The coding and the transmissions of a block. Sizes are those of a full block; a shorter packet's are in proportion.
#[derive(Clone, Debug)]
pub(crate) struct Codeword {
    block: Block,
    /// Whether a packet shorter than the code block is padded to it.
    padding: bool,
    /// Whether the receiver keeps bursts that it could not decode.
    combining: bool,
    /// Where the parts begin, and where the last ends, in bits of the codeword.
    bounds: Box<[u32]>,
    /// The parts that each transmission carries, one bit for each.
    carried: Box<[u32]>,
}

/// The options of a scheme with a fixed code rate.
pub(crate) struct FixedRate {
    pub(crate) block: Bytes,
    pub(crate) code_rate: f64,
    pub(crate) threshold: Threshold,
    pub(crate) padding: bool,
}

impl FixedRate {
    /// The same coded bits in each transmission; `combining` is whether the receiver combines them.
    pub(crate) fn repeated(&self, transmissions: u8, combining: bool) -> Result<Codeword, FieldError> {
        let (block, bits) = self.resolve(None)?;
        let whole: Range<u32> = 0..bits;
        Ok(Codeword { combining, ..self.codeword(block, vec![vec![whole]; usize::from(transmissions)]) })
    }

    /// New bits in each transmission, from a circular buffer of `codeword_bits`; transmission i begins at `start(i)`.
    pub(crate) fn circular(
        &self,
        transmissions: u8,
        codeword_bits: u32,
        start: impl Fn(u8, u32) -> u64,
    ) -> Result<Codeword, FieldError> {
        let (block, bits) = self.resolve(Some(codeword_bits))?;
        let arcs = (0..transmissions).map(|i| arc(0..codeword_bits, start(i, bits), bits)).collect();
        Ok(self.codeword(block, arcs))
    }

    /// All data bits in each transmission, and parity bits from a circular buffer of the codeword's.
    pub(crate) fn systematic(&self, transmissions: u8, codeword_bits: u32) -> Result<Codeword, FieldError> {
        let (block, bits) = self.resolve(Some(codeword_bits))?;
        let parity = bits - block.data_bits;
        let ranges = (0..transmissions).map(|i| {
            let mut ranges = arc(block.data_bits..codeword_bits, u64::from(i) * u64::from(parity), parity);
            ranges.push(0..block.data_bits);
            ranges
        });
        Ok(self.codeword(block, ranges.collect()))
    }

    /// The block, and the coded bits of one transmission.
    fn resolve(&self, codeword_bits: Option<u32>) -> Result<(Block, u32), FieldError> {
        let data_bits = data_bits(self.block)?;
        check_threshold(self.threshold)?;
        if !(self.code_rate >= 1.0 / 64.0 && self.code_rate <= 1.0) {
            let reason = format!("{} given, 1/64 to 1 data bit for each coded bit allowed", self.code_rate);
            return Err(FieldError::new("code_rate", reason));
        }
        let bits = (f64::from(data_bits) / self.code_rate).ceil() as u32;
        if let Some(codeword_bits) = codeword_bits {
            check_codeword_bits(codeword_bits, data_bits)?;
            if bits > codeword_bits {
                let reason = format!("{} given, a block has no more than {codeword_bits} coded bits", self.code_rate);
                return Err(FieldError::new("code_rate", format!("{reason} and this takes {bits}")));
            }
        }
        let block = Block { data_bits, coded_bits: codeword_bits.unwrap_or(bits), threshold: self.threshold };
        if !block.decodes(f64::from(bits), f64::from(bits)) {
            let least = block.needed(f64::from(bits)).ceil();
            let reason = format!("{} given, so {bits} coded bits; even without noise it takes {least}", self.code_rate);
            return Err(FieldError::new("code_rate", reason));
        }
        Ok((block, bits))
    }

    fn codeword(&self, block: Block, transmissions: Vec<Vec<Range<u32>>>) -> Codeword {
        let mut bounds: Vec<u32> = transmissions.iter().flatten().flat_map(|range| [range.start, range.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        assert!(bounds.len() <= PARTS_MAX + 1, "{} parts", bounds.len() - 1);
        let carries = |ranges: &Vec<Range<u32>>| {
            let inside = |start: &u32| ranges.iter().any(|range| range.contains(start));
            let starts = bounds[..bounds.len() - 1].iter().enumerate();
            starts.filter(|(_, start)| inside(start)).fold(0, |mask, (part, _)| mask | 1u32 << part)
        };
        let carried = transmissions.iter().map(carries).collect();
        Codeword { block, padding: self.padding, combining: true, bounds: bounds.into(), carried }
    }
}

impl Codeword {
    /// The most transmissions of a packet.
    pub(crate) fn transmissions(&self) -> usize {
        self.carried.len()
    }

    pub(crate) fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The data bits of a packet's block.
    pub(crate) fn data_bits(&self, packet_bytes: u32) -> u32 {
        assert!(packet_bytes <= self.block.data_bits / 8, "{packet_bytes} bytes do not fit a block");
        if self.padding { self.block.data_bits } else { packet_bytes * 8 }
    }

    /// The coded bits of a transmission, numbered from 0.
    pub(crate) fn bits(&self, transmission: usize, data_bits: u32) -> u32 {
        let carried = self.carried[transmission];
        (0..self.parts()).filter(|part| carried >> part & 1 == 1).map(|s| self.length(s, data_bits)).sum()
    }

    /// A transmission arrives. `gains`: the signal-to-noise ratio that each part of the packet has so far, 0 at
    /// first.
    pub(crate) fn receive(&self, gains: &mut [f64], transmission: usize, snr: Db) {
        if !self.combining {
            gains.fill(0.0);
        }
        let gain = libm::exp10(snr.get() / 10.0);
        for (part, sum) in gains.iter_mut().enumerate() {
            if self.carried[transmission] >> part & 1 == 1 {
                *sum += gain;
            }
        }
    }

    /// Whether a packet with these `gains` is decoded.
    ///
    /// A decoder may leave out bits with little information, so that the code counts as one of a higher rate: the best
    /// parts are added one after the other until they suffice. A share of a part need not be tried, because
    /// information grows linearly within a part and the needed information less and less.
    pub(crate) fn decodes(&self, gains: &[f64], data_bits: u32) -> bool {
        let block = Block { data_bits, ..self.block };
        let mut order = [(0.0, 0u8); PARTS_MAX];
        let mut received = 0;
        for (part, &gain) in gains.iter().enumerate().filter(|(_, gain)| **gain > 0.0) {
            order[received] = (gain, part as u8);
            received += 1;
        }
        order[..received].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut sent, mut information) = (0.0, 0.0);
        order[..received].iter().any(|&(gain, part)| {
            let bits = f64::from(self.length(usize::from(part), data_bits));
            sent += bits;
            information += bits * qpsk::mutual_information(Db::new(10.0 * libm::log10(gain)));
            block.decodes(sent, information)
        })
    }

    fn length(&self, part: usize, data_bits: u32) -> u32 {
        self.bound(part + 1, data_bits) - self.bound(part, data_bits)
    }

    #[inline]
    fn bound(&self, index: usize, data_bits: u32) -> u32 {
        let full = self.bounds[index];
        if data_bits == self.block.data_bits { full } else { scaled(full, data_bits, self.block.data_bits) }
    }
}

/// `bits` of a block of `of` data bits, in proportion for `data_bits`, rounded up.
pub(crate) fn scaled(bits: u32, data_bits: u32, of: u32) -> u32 {
    (u64::from(bits) * u64::from(data_bits)).div_ceil(u64::from(of)) as u32
}

/// `length` bits of a circular buffer from `start` on, counted from the buffer's begin.
fn arc(buffer: Range<u32>, start: u64, length: u32) -> Vec<Range<u32>> {
    let size = buffer.end - buffer.start;
    let start = buffer.start + (start % u64::from(size)) as u32;
    let before_the_end = length.min(buffer.end - start);
    let mut ranges = vec![start..start + before_the_end, buffer.start..buffer.start + (length - before_the_end)];
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// The data bits of a block.
pub(crate) fn data_bits(block: Bytes) -> Result<u32, FieldError> {
    match block.get() {
        bytes @ 1..=100_000 => Ok(bytes as u32 * 8),
        _ => Err(FieldError::new("block", format!("{block} given, 1 B to 100 kB allowed"))),
    }
}

pub(crate) fn check_codeword_bits(codeword_bits: u32, data_bits: u32) -> Result<(), FieldError> {
    // Compared in 64 bits, because the block may be large.
    if (u64::from(data_bits)..=u64::from(data_bits) * 64).contains(&u64::from(codeword_bits)) {
        return Ok(());
    }
    let reason = format!("{codeword_bits} given, 1 to 64 for each of the {data_bits} data bits allowed");
    Err(FieldError::new("codeword_bits", reason))
}

pub(crate) fn check_threshold(threshold: Threshold) -> Result<(), FieldError> {
    match threshold {
        Threshold::Constant(value) if !(1.0..=6.0).contains(&value) => {
            let reason = format!("{value} given, \"code\" or 1 to 6 allowed: no code needs less than 1");
            Err(FieldError::new("threshold", reason))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_transmissions(given: u8, most: u8) -> Result<(), FieldError> {
    if (1..=most).contains(&given) {
        return Ok(());
    }
    Err(FieldError::new("transmissions", format!("{given} given, 1 to {most} allowed")))
}

pub(crate) fn check_processes(given: u32) -> Result<(), FieldError> {
    if given > 0 { Ok(()) } else { Err(FieldError::new("processes", "0 given, at least 1 needed")) }
}
