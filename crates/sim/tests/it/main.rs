//! Integration tests in one program, which is built once.

mod access;
mod applications;
mod capture;
mod chapter4;
mod chapter6;
mod ecn;
mod errors;
mod external;
mod inputs;
mod l4s;
mod oracles;
mod pep;
mod qlog;
mod quic;
mod quic_life;
mod runs;
mod sky;
mod snapshots;
mod tables;
mod users;
mod util;
