//! The native module `transorbit._core`: conversions between the simulator and Python, and nothing else.

mod access;
mod capacity;
mod routes;
mod scenario;
mod scheduler;
mod simulation;
mod sky;
mod table;
mod tools;
mod view;

use pyo3::prelude::*;

/// The simulator; use it through the package `transorbit`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::access::{
        PlrStudy, access_added_delay_s, access_analysis, access_break_even_users, access_datagram_loss,
        access_loss_from_retransmissions, access_retransmission_probability,
    };
    #[pymodule_export]
    use super::capacity::Capacity;
    #[pymodule_export]
    use super::routes::RoutesStudy;
    #[pymodule_export]
    use super::scenario::{Scenario, ScenarioError};
    #[pymodule_export]
    use super::scheduler::Queue;
    #[pymodule_export]
    use super::simulation::{Record, Simulation, SimulationError};
    #[pymodule_export]
    use super::sky::{
        constellation_epoch, constellation_links, constellation_look, constellation_positions, constellation_warning,
        stations,
    };
    #[pymodule_export]
    use super::table::ArrowTable;
    #[pymodule_export]
    use super::tools::{
        channel_generate, channel_stats, constellation_delay, constellation_trace, registries_json, schema_json,
        version,
    };
    #[pymodule_export]
    use super::view::{constellation_best_elevation, constellation_coverage, constellation_map, constellation_passes};
}

/// Converts the two errors in a user's input into Python exceptions.
pub(crate) fn refused(error: sim::ScenarioError) -> PyErr {
    scenario::ScenarioError::new_err(error.to_string())
}
