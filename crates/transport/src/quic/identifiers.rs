//! The random values of a connection of the library: its identifiers, and the time of its tokens.

use std::time::UNIX_EPOCH;

use noq_proto::{ConnectionId, ConnectionIdGenerator, TimeSource};

use super::frames::CID_LEN;

/// The numbers of connection identifiers, of an end.
#[derive(Debug)]
pub(super) struct Identifiers {
    pub next: u64,
}

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next = mix(self.next);
        ConnectionId::new(&self.next.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        CID_LEN
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// A permutation of 64 bits without short cycles that matter (the finalizer of SplitMix64, after its increment).
pub(super) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Tokens carry the time of day; it is that of the beginning.
pub(super) struct NoTime;

impl TimeSource for NoTime {
    fn now(&self) -> std::time::SystemTime {
        UNIX_EPOCH
    }
}
