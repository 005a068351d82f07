//! Scenario to world to run to record: the only crate that knows all the others.
//!
//! A [`Scenario`] is text that can be edited; checking it gives a [`ScenarioConfig`]; a [`Simulation`] builds the world of
//! one and runs it; its [`Record`] is what remains.

mod access_study;
mod capacity;
mod capture;
mod packet;
mod record;
mod scenario;
mod sky;
mod tools;
mod world;

/// Random against dedicated access in closed form.
pub use access::analysis as access_analysis;
pub use access_study::{
    AnalysisOptions, AnalysisReport, MethodShare, PlrMethod, PlrOptions, PlrReport, PlrRow, PlrStudy,
    RetransmissionRow, UsersRow,
};
pub use capacity::{CapacityOptions, CapacityReport, CapacityRow, CapacityStudy};
/// What a scheduler from elsewhere implements, and what it is shown.
pub use link::{Choose, QueueState};
pub use record::{ChannelSummary, Column, Conservation, FlowSummary, PathSummary, PepSummary, Record, Summary, Table};
pub use scenario::{
    Choice, ChoiceOption, FlowConfig, FlowDirection, PacketCapture, PepConfig, RecordConfig, Registry, Scenario,
    ScenarioConfig, ScenarioError, TransportConfig, registries, schema,
};
pub use sky::{Instants, linked, look, positions, reference_epoch, sky, sky_warning, stations};
pub use tools::{
    ChannelTool, RoutesBatch, RoutesOptions, RoutesStudy, best_elevation, constellation_delay, constellation_trace,
    coverage, map, passes,
};
pub use world::{Choosers, RunError, Simulation};
