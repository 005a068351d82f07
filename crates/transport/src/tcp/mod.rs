//! TCP, both halves of a connection (RFC 9293).
//!
//! What is simplified, and who could notice: sequence numbers are 64-bit byte stream offsets (the SYN is 0, data begin
//! at 1) that never wrap: who exports segments cuts them to 32 bits. There is no urgent data, no simultaneous open and
//! no TIME-WAIT.

mod accecn;
mod config;
mod connection;
mod fast_open;
mod info;
mod option;
mod reassembly;
mod recv;
mod segment;
mod send;

pub(crate) use config::MAX_WINDOW;
pub use config::{
    AvoidanceCounts, ByteCounting, DelayedAck, Dupthresh, EcnMode, FastOpenMode, RtoFloor, RtoRestart, Settings,
    TcpConfig, profile_table,
};
pub use connection::{Connection, Transmit};
pub use fast_open::{Cookie, FastOpenOption, PeerMemory};
pub(crate) use info::Arrival;
pub use info::{Counters, InPlace, Info, State};
pub use option::AccEcnOption;
pub(crate) use recv::shortest_wait;
pub use segment::{Flags, SackBlocks, Segment, SynOptions};
pub(crate) use send::NextFull;
