//! Scenario to world to run to record: the only crate that knows all the others.
//!
//! A [`Scenario`] is text that can be edited; checking it gives a [`ScenarioConfig`]; a [`Simulation`] builds the world of
//! one and runs it; its [`Record`] is what remains.

mod capacity;
mod capture;
mod packet;
mod record;
mod scenario;
mod tools;
mod world;

pub use capacity::{CapacityOptions, CapacityReport, CapacityRow, CapacityStudy};
/// What a scheduler from elsewhere implements, and what it is shown.
pub use link::{Choose, QueueState};
pub use record::{Column, Conservation, FlowSummary, PathSummary, PepSummary, Record, Summary, Table};
pub use scenario::{
    Choice, ChoiceOption, FlowConfig, PacketCapture, PepConfig, RecordConfig, Registry, Scenario, ScenarioConfig,
    ScenarioError, TransportConfig, registries, schema,
};
pub use tools::{ChannelTool, constellation_delay};
pub use world::{Choosers, RunError, Simulation};
