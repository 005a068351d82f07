//! QUIC (RFC 9000, RFC 9002): a connection of noq-proto in simulated time.
//!
//! The protocol is the library's: streams, acknowledgments, loss detection, flow control, pacing. Ours is what
//! surrounds it: the handshake without cryptography (`handshake`), the clock (`clock`), the congestion controllers of
//! [`crate::congestion`] behind its trait (`controller`), and what the record wants to know of packets (`frames`).
//!
//! What is simplified, and who could notice: nothing is encrypted and no time is spent on it, the certificates have one
//! size, and there is neither a Retry nor discovery of the path's MTU, which is known. A study of handshakes under
//! attack, or of paths with an unknown MTU, would notice.
//!
//! A page has no QUIC: there the library wants a clock and random numbers of the browser.

#[cfg(not(target_family = "wasm"))]
mod clock;
mod config;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod connection;
#[cfg(not(target_family = "wasm"))]
mod controller;
#[cfg(not(target_family = "wasm"))]
mod frames;
#[cfg(not(target_family = "wasm"))]
mod handshake;
#[cfg(not(target_family = "wasm"))]
mod identifiers;
#[cfg(all(test, not(target_family = "wasm")))]
mod interop;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod library;
mod lifetime;
mod packet;
#[cfg(not(target_family = "wasm"))]
mod qlog;
#[cfg(not(target_family = "wasm"))]
mod rate;
#[cfg(not(target_family = "wasm"))]
mod received;
#[cfg(not(target_family = "wasm"))]
mod rtt;
#[cfg(not(target_family = "wasm"))]
mod streams;
#[cfg(not(target_family = "wasm"))]
mod usage;

pub(crate) use config::LEAST_PACKET;
pub use config::{Client, Controllers, HandshakeMode, QuicConfig};
pub use lifetime::{EndCause, Ended, Lifetime, Resume};
pub use packet::{Answered, QuicPacket};
