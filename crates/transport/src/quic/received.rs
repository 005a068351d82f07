//! Which bytes of a stream have arrived.

use std::collections::BTreeMap;

/// The bytes of one stream that have arrived: all below an offset, and ranges beyond it.
#[derive(Debug, Default)]
pub(super) struct Received {
    next: u64,
    /// Ranges beyond `next` by their first bytes; they neither touch nor overlap.
    ahead: BTreeMap<u64, u64>,
    /// How many pieces of the stream have arrived of which not all was there in order.
    pub pieces: u64,
    /// Where the stream ends, once that is known.
    pub last: Option<u64>,
}

impl Received {
    /// These bytes arrive.
    pub fn add(&mut self, mut start: u64, mut end: u64) {
        if end <= self.next || start >= end {
            return;
        }
        self.pieces += 1;
        if start <= self.next && self.ahead.is_empty() {
            self.next = end;
            return;
        }
        while let Some((&first, &last)) = self.ahead.range(..=end).next_back().filter(|(_, last)| **last >= start) {
            (start, end) = (start.min(first), end.max(last));
            self.ahead.remove(&first);
        }
        if start <= self.next {
            self.next = end;
        } else {
            self.ahead.insert(start, end);
        }
    }

    /// One past the last byte that has arrived.
    pub fn end(&self) -> u64 {
        self.ahead.last_key_value().map_or(self.next, |(_, end)| *end)
    }

    /// How many bytes have arrived before the first that has not.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// Whether all of the stream has arrived.
    pub fn is_whole(&self) -> bool {
        self.last.is_some_and(|last| last == self.next)
    }

    /// Whether the byte at `offset` has arrived.
    pub fn has(&self, offset: u64) -> bool {
        let beyond = || self.ahead.range(..=offset).next_back().is_some_and(|(_, end)| offset < *end);
        offset < self.next || beyond()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_each_byte_as_a_set_of_bytes_does(ranges in prop::collection::vec((0u64..60, 0u64..9), 0..40)) {
            let (mut received, mut bytes) = (Received::default(), BTreeSet::new());
            for (start, len) in ranges {
                received.add(start, start + len);
                bytes.extend(start..start + len);
                for offset in 0..70 {
                    prop_assert_eq!(received.has(offset), bytes.contains(&offset), "byte {}", offset);
                }
            }
            prop_assert_eq!(received.end(), bytes.last().map_or(0, |last| last + 1));
            prop_assert_eq!(received.in_order(), (0..).find(|byte| !bytes.contains(byte)).unwrap_or(0));
            prop_assert!(received.ahead.keys().all(|start| *start > received.next));
        }
    }
}
