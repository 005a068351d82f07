//! Transport protocols as machines without input or output: they are handed `now` and segments, and say what to send
//! and when to be woken.

pub mod congestion;
mod endpoint;
mod external;
mod probes;
mod profile;
mod quic;
mod state;
mod tcp;
mod udp;

pub use congestion::{CongestionConfig, CongestionController, NewRenoConfig};
pub use endpoint::external::ExternalConfig;
pub use endpoint::quic::QuicConfig;
pub use endpoint::tcp::{TcpConfig, TcpEnd};
pub use endpoint::udp::UdpConfig;
pub use endpoint::{
    Act, Answer, EndOptions, Endpoint, Input, Kind, Outline, Payload, Prompt, Reply, SendPacket, Service, Transport,
    TransportConfig, Wake,
};
pub use external::ExternalPacket;
pub use profile::Profile;
pub use quic::{Answered, Client, Controllers, EndCause, Ended, HandshakeMode, Lifetime, QuicPacket, Resume};
pub use state::{CongestionState, SenderSample};
pub use tcp::{
    AccEcnOption, AvoidanceCounts, ByteCounting, Connection, Cookie, Counters, DelayedAck, Dupthresh, EcnMode,
    FastOpenMode, FastOpenOption, Flags, Info, PeerMemory, RtoFloor, RtoRestart, SackBlocks, Segment, Settings, State,
    SynOptions, Transmit, profile_table,
};
pub use udp::Datagram;
