//! Transport protocols as machines without input or output: they are handed `now` and segments, and say what to send and
//! when to be woken.

pub mod congestion;
mod endpoint;
mod tcp;
mod udp;

pub use congestion::{CongestionConfig, CongestionController, NewRenoConfig};
pub use endpoint::{Act, Answer, Endpoint, Input, Payload, Wake};
pub use tcp::{
    ByteCounting, CongestionState, Connection, Counters, DelayedAck, Dupthresh, Flags, Info, Profile, RtoFloor,
    SackBlocks, Segment, Settings, State, SynOptions, TcpConfig, TcpEnd, Transmit, profile_table,
};
pub use udp::{Datagram, UdpConfig, UdpEnd, UdpSender};
