//! The world of a scenario on the wall clock: IP packets of real hosts enter at network devices, cross the simulated
//! path, and leave at the device on the other side when their time has come.
//!
//! ```text
//! server's device ─► read ─► Simulation::offer ─► … ─► Simulation::poll_departure ─► write ─► user's device
//! ```
//!
//! This is the only crate that reads a clock. A packet's time is taken once, when it is read; all that follows happens
//! at instants of the simulation, so that no stage adds an error. The log of the offers makes the same run again in
//! virtual time.

mod address;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod offload;
#[cfg(target_os = "linux")]
mod session;

pub use address::{Addresses, IpHeader};
#[cfg(target_os = "linux")]
pub use device::{Device, Side, receive_devices};
#[cfg(target_os = "linux")]
pub use session::{EmulationError, Measured, Session};
