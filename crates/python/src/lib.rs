//! The native module `transorbit._core`: conversions between the simulator and Python, and nothing else.

mod access;
mod ask;
mod capacity;
mod controller;
#[cfg(target_os = "linux")]
mod emulation;
mod find;
mod gym;
mod plans;
mod refused;
mod routes;
mod scenario;
mod scheduler;
mod script;
mod simulation;
mod source;
mod table;

use pyo3::prelude::*;

/// The simulator; use it through the package `transorbit`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::access::{PlrStudy, access_analysis};
    #[pymodule_export]
    use super::ask::ask;
    #[pymodule_export]
    use super::capacity::Capacity;
    #[pymodule_export]
    use super::controller::{Ack, Connection, Event};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::emulation::Emulation;
    #[pymodule_export]
    use super::gym::{Steering, Weights};
    #[pymodule_export]
    use super::plans::Plans;
    #[pymodule_export]
    use super::refused::ScenarioError;
    #[pymodule_export]
    use super::routes::RoutesStudy;
    #[pymodule_export]
    use super::scenario::{Scenario, columns_json, registries_json, schema_json, version};
    #[pymodule_export]
    use super::scheduler::Queue;
    #[pymodule_export]
    use super::simulation::{Record, Simulation, SimulationError};
    #[pymodule_export]
    use super::source::App;
    #[pymodule_export]
    use super::table::ArrowTable;
}
