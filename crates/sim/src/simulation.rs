//! A run of a scenario: its world, from rest to its record.

use std::path::Path;
use std::sync::Arc;

use engine::Livelock;
use units::{Duration, Time};

use crate::plan::Plan;
use crate::record::Record;
use crate::scenario::{PacketCapture, Scenario, ScenarioError};
use crate::world::{self, Choosers, World};

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Time did not move: a defect of the simulator.
    #[error(transparent)]
    Livelock(#[from] Livelock),
    /// Packets appeared or vanished: a defect of the simulator.
    #[error("packets are not conserved: {0}")]
    Conservation(String),
    /// The packets could not be written.
    #[error("cannot write the packets: {0}")]
    Capture(String),
}

/// A run of a scenario.
pub struct Simulation {
    plan: Arc<Plan>,
    seed: u64,
    world: World,
}

impl Simulation {
    /// Checks the scenario and builds its world at rest; `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// The first field that is wrong, or a file that cannot be read.
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Simulation, ScenarioError> {
        Simulation::with_choosers(scenario, seed, &mut |_| None)
    }

    /// As [`Simulation::new`]; `choosers` is asked for each scheduler of kind `external` by its name.
    ///
    /// # Errors
    /// As [`Simulation::new`], or no chooser has the name.
    pub fn with_choosers(
        scenario: &Scenario,
        seed: Option<u64>,
        choosers: &mut Choosers<'_>,
    ) -> Result<Simulation, ScenarioError> {
        Simulation::of(Arc::new(scenario.plan()?), seed, choosers)
    }

    /// The world of a plan at rest; `seed` replaces that of the scenario.
    ///
    /// # Errors
    /// The seed is too large, or no chooser has the name of a scheduler.
    pub fn of(plan: Arc<Plan>, seed: Option<u64>, choosers: &mut Choosers<'_>) -> Result<Simulation, ScenarioError> {
        if let Some(seed) = seed.filter(|seed| i64::try_from(*seed).is_err()) {
            return Err(ScenarioError::new("seed", format!("{seed} was given, at most {} is allowed", i64::MAX)));
        }
        let seed = seed.unwrap_or(plan.config().seed);
        let world = world::build(&plan, seed, choosers)?;
        Ok(Simulation { plan, seed, world })
    }

    /// What the run is built from.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether the scenario asks for the packets: then give a folder to [`Simulation::record_packets`].
    pub fn wants_packets(&self) -> bool {
        self.plan.config().record.packets != PacketCapture::None
    }

    /// From now on writes every packet into files in `directory`, if the scenario asks for it. Without this call
    /// nothing is written. The files are complete after [`Simulation::finish`].
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn record_packets(&mut self, directory: &Path) -> std::io::Result<()> {
        if self.wants_packets() {
            self.world.record_packets(directory, self.seed)?;
        }
        Ok(())
    }

    /// Length of the run.
    pub fn duration(&self) -> Duration {
        self.plan.config().duration
    }

    /// Simulated time that has passed.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The root of the random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs until `until`, at most to the end. How a run is cut into pieces changes nothing of its result.
    ///
    /// # Errors
    /// A livelock.
    pub fn advance(&mut self, until: Time) -> Result<(), RunError> {
        let until = until.min(Time::ZERO + self.plan.config().duration);
        self.world.run_until(until).map_err(RunError::from)
    }

    /// The result up to now; `partial` marks it as that of a run stopped before its end.
    ///
    /// # Errors
    /// If a packet appeared or vanished, or the packets could not be written.
    pub fn finish(&mut self, partial: bool) -> Result<Record, RunError> {
        self.world.complete_capture().map_err(|error| RunError::Capture(error.to_string()))?;
        self.world.record(&self.plan, self.seed, partial).map_err(RunError::Conservation)
    }
}
