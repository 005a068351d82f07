//! The option of accurate ECN feedback (RFC 9768 section 3.2.3).

/// The option counts modulo 2^24.
pub(super) const BYTES_MASK: u32 = (1 << 24) - 1;
/// The indices of its counts.
pub(super) const ECT0: usize = 0;
pub(super) const CE: usize = 1;
pub(super) const ECT1: usize = 2;

/// The AccECN option (section 3.2.3): counts of payload bytes modulo 2^24, as many as it has room and reason for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    /// The order of its fields: ECT(1), CE, ECT(0) of kind 174 if set, else ECT(0), CE, ECT(1) of kind 172.
    pub ect1_first: bool,
    fields: u8,
    counts: [[u8; 3]; 3],
}

impl AccEcnOption {
    pub(super) fn new(counts: [u32; 3], ect1_first: bool, fields: u8) -> AccEcnOption {
        let order = if ect1_first { [ECT1, CE, ECT0] } else { [ECT0, CE, ECT1] };
        let bytes = |index: usize| {
            let [_, high, middle, low] = (counts[index] & BYTES_MASK).to_be_bytes();
            [high, middle, low]
        };
        AccEcnOption { ect1_first, fields, counts: order.map(bytes) }
    }

    /// Returns the option's kind.
    pub fn kind(&self) -> u8 {
        if self.ect1_first { 174 } else { 172 }
    }

    /// Returns the option's fields in order.
    pub fn fields(&self) -> &[[u8; 3]] {
        &self.counts[..usize::from(self.fields)]
    }

    /// Bytes in a header: kind, length and fields, padded to four.
    pub fn padded_bytes(&self) -> u32 {
        (2 + 3 * u32::from(self.fields)).next_multiple_of(4)
    }

    /// Returns the marked bytes modulo 2^24, if the option has them.
    pub(super) fn marked(&self) -> Option<u32> {
        let &[high, middle, low] = self.fields().get(1)?;
        Some(u32::from_be_bytes([0, high, middle, low]))
    }
}
