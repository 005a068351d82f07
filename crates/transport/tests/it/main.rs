//! Integration tests in one program, which is built once.

mod accecn;
mod config;
mod datagrams;
mod endpoint;
mod fast_open;
mod handshake;
mod hostile;
mod last_segment;
mod linux;
mod ns2;
mod pair;
mod receiver;
mod recovery;
mod syn;
mod util;
