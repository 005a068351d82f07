//! Scenario to plan to world to run to record: the only crate that knows all the stages of a run.
//!
//! A [`Scenario`] is text that can be edited; checked and with its files read it is a [`Plan`]; a [`Simulation`] builds
//! the world of one and runs it; its [`Record`] is what remains.

mod capture;
mod files;
mod offers;
mod packet;
mod plan;
mod record;
mod scenario;
mod simulation;
mod world;

pub use files::{FileSource, InputFile, InputFiles, TableReader};
/// The trait of a scheduler from elsewhere, and the view that it gets.
pub use link::{Choose, QueueState};
pub use offers::{LoggedOffer, ReplayError, offers_table};
pub use plan::inputs::KeptInput;
pub use plan::plans::Plans;
pub use plan::{Plan, channel_streams, check_users, draw_law, geometry, load_channel};
pub use record::{
    ChannelSummary, Column, Conservation, FlowSummary, Lost, PathSummary, PepSummary, REASONS, Reason, Record, Summary,
    Table, UsersSummary, columns,
};
pub use scenario::{
    Choice, ChoiceOption, FlowConfig, FlowDirection, PacketCapture, PepConfig, RecordConfig, Registered, Registry,
    Scenario, ScenarioConfig, ScenarioError, channel_from_json, constellation_from_json, positive, registries, schema,
};
pub use simulation::{RunError, Simulation};
/// The ends of a flow, and what a traffic source from elsewhere implements.
pub use traffic::{Act, Action, Acts, End, MakeProgram, Program, ProgramStart, Service};
pub use transport::CongestionState;
/// The trait of a congestion controller from elsewhere, and the view that it gets.
pub use transport::congestion;
pub use world::{Choosers, Departure, Fate, Nobody, Offer, OfferError, Scripts, last_hop_streams, path_course};
