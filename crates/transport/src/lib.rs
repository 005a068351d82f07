//! Transport protocols as machines without input or output: they are handed `now` and segments, and say what to send and
//! when to be woken.

pub mod congestion;
mod tcp;

pub use congestion::{CongestionConfig, CongestionController, NewRenoConfig};
pub use tcp::{
    CongestionState, Connection, Counters, DelayedAck, Flags, Info, Profile, SackBlocks, Segment, Settings, State,
    SynOptions, TcpConfig, Transmit,
};
