//! The return link of DVB-RCS2 (ETSI EN 301 545-2): from many terminals to one gateway.
//!
//! Time is divided into frames of carriers and timeslots (MF-TDMA). On carriers for *random access* terminals send
//! without a request and bursts may collide; the slots of the other carriers, for *dedicated access*, are granted on
//! request by the network control centre (NCC). [`ReturnLink`] carries datagrams over both.

pub mod closed_form;
mod config;
mod datagram;
mod division;
mod frame;
mod load;
mod method;
mod ncc;
mod plan;
mod policy;
pub mod random;
mod return_link;
mod terminal;
mod waveform;

pub use config::{AccessConfig, Encapsulation};
pub use datagram::{Access, Datagram, DropReason, Output};
pub use frame::FrameConfig;
pub use method::{AccessMethod, Dedicated, Switch};
pub use ncc::Capacity;
pub use plan::AccessPlan;
pub use policy::SwitchPolicy;
pub use return_link::{AccessCounts, AccessReport, ReturnLink};
