//! Numbers by which Linux names states and limits of a connection (`tcp.h`).

use transport::CongestionState;

/// The value of an infinite slow start threshold.
pub const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Returns the number of a congestion state (`enum tcp_ca_state`).
pub const fn ca_state(state: CongestionState) -> u8 {
    match state {
        CongestionState::Open => 0,
        CongestionState::Disorder => 1,
        CongestionState::Cwr => 2,
        CongestionState::Recovery => 3,
        CongestionState::Loss => 4,
    }
}
