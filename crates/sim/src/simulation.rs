//! A run of a scenario: its world, from rest to its record.

use std::path::Path;
use std::sync::Arc;

use engine::Livelock;
use units::{Duration, Time};

use crate::plan::Plan;
use crate::record::Record;
use crate::scenario::{PacketCapture, Registered, Scenario, ScenarioError};
use crate::world::{self, Departure, Nobody, Offer, OfferError, Scripts, World};

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
        let plan = scenario.with_registered(Registered::default()).plan()?;
        Simulation::of(Arc::new(plan), seed, &mut Nobody)
    }

    /// The world of a plan at rest; `seed` replaces that of the scenario. `scripts` is asked for the code that the
    /// scenario names.
    ///
    /// # Errors
    /// The seed is too large, or no script has registered what is named.
    pub fn of(plan: Arc<Plan>, seed: Option<u64>, scripts: &mut dyn Scripts) -> Result<Simulation, ScenarioError> {
        if let Some(seed) = seed.filter(|seed| i64::try_from(*seed).is_err()) {
            return Err(ScenarioError::new("seed", format!("{seed} was given, at most {} is allowed", i64::MAX)));
        }
        let seed = seed.unwrap_or(plan.config().seed);
        let world = world::build(&plan, seed, scripts)?;
        Ok(Simulation { plan, seed, world })
    }

    /// Returns the plan from which the run is built.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether the scenario asks for the packets, or for logs of connections: then give a folder to
    /// [`Simulation::record_packets`].
    pub fn wants_packets(&self) -> bool {
        let record = &self.plan.config().record;
        record.packets != PacketCapture::None || record.qlog
    }

    /// From now on writes every packet into files in `directory`, and logs of connections into its folder `qlog`, as
    /// far as the scenario asks for them. Without this call nothing is written. The files are complete after
    /// [`Simulation::finish`].
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn record_packets(&mut self, directory: &Path) -> std::io::Result<()> {
        let (packets, qlog) = (self.plan.config().record.packets, self.plan.config().record.qlog);
        if qlog {
            self.world.keep_logs(&directory.join("qlog"))?;
        }
        if packets != PacketCapture::None {
            self.world.record_packets(directory, self.seed)?;
        }
        Ok(())
    }

    /// From now on keeps events (handovers, time-outs, losses), and each packet that is sent from `from` on and before
    /// `until`, for [`Record::events`] and [`Record::packets`]. It changes nothing else of the result. At most 100,000
    /// events and 200,000 packets are kept.
    pub fn watch(&mut self, from: Time, until: Time) {
        self.world.watch(from, until);
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

    /// A packet from outside enters now, at an end of a flow whose transport is `external`.
    ///
    /// # Errors
    /// The flow or class does not exist, the flow's ends are inside, or the packet does not fit the last hop.
    pub fn offer(&mut self, offer: &Offer<'_>) -> Result<(), OfferError> {
        let classes = self.plan.config().last_hop.classes.len();
        self.world.offer(offer, classes, self.longest_packet())
    }

    /// The flows whose ends are outside, each with its user.
    pub fn external_flows(&self) -> Vec<(u32, u32)> {
        self.world.external_flows()
    }

    /// Bytes of the longest packet that the last hop carries.
    pub fn longest_packet(&self) -> u32 {
        self.plan.config().last_hop.max_packet_bytes().unwrap_or(u32::from(u16::MAX))
    }

    /// The next packet from outside that left, in the order of leaving.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.world.poll_departure()
    }

    /// After [`Simulation::advance`]: no packet leaves and nothing is sent before this instant, unless something is
    /// offered; `None` if nothing is to be sent at all. What becomes of packets that no one looks at may be told later.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        self.world.quiet_until()
    }

    /// Ends the run: its result up to now. `partial` marks it as that of a run stopped before its end.
    ///
    /// # Errors
    /// If a packet appeared or vanished, or the packets could not be written.
    pub fn finish(mut self, partial: bool) -> Result<Record, RunError> {
        self.world.complete_capture().map_err(|error| RunError::Capture(error.to_string()))?;
        self.world.record(&self.plan, self.seed, partial).map_err(RunError::Conservation)
    }
}
