//! The plan of a run, from which its world is built: a checked scenario, its files read, its path traced, its channel
//! loaded. A plan holds for every seed.

mod channel;
mod flows;
pub(crate) mod inputs;
mod law;
mod path;
pub(crate) mod plans;

use std::sync::Arc;

use access::{AccessConfig, AccessPlan};
pub use channel::{channel_streams, check_users, load_channel};
use channel::{delay_warning, propagation, speed_warning, symbol_rate_warning, uncoded_warning};
pub(crate) use flows::{FlowPlan, PepPlan};
use flows::{
    ecn_warning, flow_plans, log_warning, padding_warnings, queue_warning, traffic_warnings, upload_warning,
    weight_warning,
};
pub use law::draw_law;
use law::{LawCell, Laws};
use link::Propagation;
pub(crate) use path::PathPlan;
use path::follow_rate;
pub use path::geometry;
use units::Duration;

use crate::files::{InputFile, InputFiles};
use crate::scenario::{Scenario, ScenarioConfig, ScenarioError};

/// See the module. Two runs of one plan with the same seed are the same.
#[derive(Debug)]
pub struct Plan {
    scenario: Scenario,
    config: ScenarioConfig,
    files: InputFiles,
    pub(crate) inputs: Vec<InputFile>,
    pub(crate) path: Arc<PathPlan>,
    /// The channel.
    pub model: Box<dyn ::channel::ChannelModel>,
    /// The delay between the serving satellite and the users.
    pub hop: Propagation,
    /// The round-trip time without queueing, from which buffers in bandwidth-delay products follow.
    pub(crate) base_rtt: Duration,
    law: Option<(::channel::LawRequest, LawCell)>,
    pub(crate) access: Option<AccessPlan>,
    /// The plan of each entry of `flows`.
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    fn new(scenario: &Scenario, mut config: ScenarioConfig, laws: &Laws) -> Result<Plan, ScenarioError> {
        let mut files = scenario.files();
        config.path.entry_mut().prepare(&mut files).map_err(|error| error.within("path"))?;
        let (path, path_warnings) = PathPlan::new(&config.path, config.duration, &mut files)?;
        let of_rate = follow_rate(&mut config, &path)?;
        let model = load_channel(&config.channel, &mut files, geometry(&path.trace).as_ref())?;
        check_users(model.as_ref(), config.users())?;
        let hop = propagation(&config, &path)?;
        let of_delay = delay_warning(&config, &path);
        let of_speed = speed_warning(&config, model.as_ref(), &mut files)?;
        let base_rtt = path.mean_round_trip(config.duration) + hop.mean() * 2;
        config.last_hop.check(base_rtt, config.users() as usize).map_err(|error| error.within("last_hop"))?;
        let access = config.access.as_ref().map(|access: &AccessConfig| access.plan(&mut files)).transpose();
        let flows = flow_plans(&config, base_rtt)?;
        let request = config.last_hop.law_request(hop.mean());
        let inputs = files.described();
        let changed = scenario.changed(&inputs);
        let of_channel = model.warnings(u64::from(config.users()));
        Ok(Plan {
            law: request.map(|request| (request, laws.cell(model.as_ref(), request))),
            access: access.map_err(|error| error.within("access"))?,
            warnings: changed
                .into_iter()
                .chain(path_warnings)
                .chain(of_rate)
                .chain(of_delay)
                .chain(of_speed)
                .chain(symbol_rate_warning(&config))
                .chain(of_channel)
                .chain(uncoded_warning(&config, model.as_ref()))
                .chain(traffic_warnings(&config))
                .chain(weight_warning(&config))
                .chain(padding_warnings(&config))
                .chain(queue_warning(&config, &flows, base_rtt))
                .chain(ecn_warning(&config, &flows))
                .chain(upload_warning(&config, &path))
                .chain(log_warning(&config))
                .collect(),
            scenario: scenario.clone(),
            config,
            files,
            inputs,
            path: Arc::new(path),
            model,
            hop,
            base_rtt,
            flows,
        })
    }

    /// The scenario with every default filled in.
    pub fn config(&self) -> &ScenarioConfig {
        &self.config
    }

    /// The files that were read, in the order of reading.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    /// The delay of the path over time, and its routes.
    pub fn trace(&self) -> &orbit::DelayTrace {
        &self.path.trace
    }

    /// The files of the scenario, those that it names read already.
    pub fn files(&self) -> InputFiles {
        self.files.clone()
    }

    /// Returns the warnings: what to check before trusting a result.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The law of the channel that the last hop plans from, if it does; drawn at the first call.
    pub fn law(&self) -> Option<&::channel::TransmissionLaw> {
        let (request, cell) = self.law.as_ref()?;
        Some(cell.get_or_init(|| draw_law(self.model.as_ref(), *request)))
    }

    /// The scenario as TOML with every default filled in and files named from the root.
    pub fn resolved_toml(&self) -> String {
        let resolved = self.config.resolved(&mut |name| self.scenario.source().absolute(name));
        toml::to_string_pretty(&resolved).expect("a scenario is TOML")
    }
}

impl Scenario {
    /// The plan of its runs.
    ///
    /// # Errors
    /// The first field that is wrong, or a file that cannot be read.
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        Plan::new(self, self.known_config()?, &Laws::default())
    }

    /// Checks everything that can be known without running, and reads the files that it names.
    ///
    /// # Errors
    /// As [`Scenario::plan`].
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.plan().map(drop)
    }

    /// The scenario as TOML with every default filled in and files named from the root.
    ///
    /// # Errors
    /// As [`Scenario::plan`].
    pub fn resolved_toml(&self) -> Result<String, ScenarioError> {
        self.plan().map(|plan| plan.resolved_toml())
    }
}
