//! Transport protocols as machines without input or output: they are handed `now` and segments, and say what to send and
//! when to be woken.

pub mod congestion;
mod endpoint;
mod probes;
mod profile;
mod state;
mod tcp;
mod udp;

pub use congestion::{CongestionConfig, CongestionController, NewRenoConfig};
pub use endpoint::{Act, Answer, Endpoint, Input, Payload, TcpEnd, UdpEnd, Wake};
pub use profile::Profile;
pub use state::CongestionState;
pub use tcp::{
    ByteCounting, Connection, Counters, DelayedAck, Dupthresh, Flags, Info, RtoFloor, SackBlocks, Segment, Settings,
    State, SynOptions, TcpConfig, Transmit, profile_table,
};
pub use udp::{Datagram, UdpConfig, UdpSender};
