//! The return link of DVB-RCS2 (ETSI EN 301 545-2): from many terminals to one gateway.
//!
//! Time is divided into frames of carriers and timeslots (MF-TDMA). Some carriers are for *random access*, where terminals send
//! without asking and bursts may collide; the others are for *dedicated access*, whose slots the network control centre (NCC)
//! grants on request. [`ReturnLink`] carries datagrams over both.

pub mod analysis;
mod config;
mod division;
mod frame;
mod load;
mod method;
mod ncc;
pub mod random;
mod return_link;
mod switch;
mod terminal;
mod waveform;

pub use config::{AccessConfig, Encapsulation};
pub use frame::FrameConfig;
pub use method::{AccessMethod, Dedicated, Switch};
pub use ncc::Capacity;
pub use return_link::{Access, AccessCounts, AccessReport, Datagram, DropReason, Output, ReturnLink};
pub use switch::SwitchPolicy;
