//! Plans that are kept by whoever runs many: the runs of a sweep ask for the same few.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use units::Files;

use super::law::Laws;
use super::{Plan, Scenario, ScenarioConfig, ScenarioError};

/// Plans are kept as long as they take no more than this in all.
const MOST_BYTES: usize = 64 << 20;
/// The most plans that are kept.
const KEPT: usize = 32;

/// The last plans that were made, and the laws of their channels. Threads may share it.
#[derive(Debug, Default)]
pub struct Plans {
    laws: Laws,
    /// With the scenario that each is of, every default filled in. The last one comes first.
    kept: Mutex<VecDeque<(ScenarioConfig, Arc<Plan>)>>,
}

impl Plans {
    /// The plan of a scenario, made anew unless that of the same values and files is kept.
    ///
    /// # Errors
    /// As [`Scenario::plan`].
    pub fn plan(&self, scenario: &Scenario) -> Result<Arc<Plan>, ScenarioError> {
        let config = scenario.known_config()?;
        let resolved = config.resolved(&mut str::to_owned);
        if let Some(plan) = self.find(&resolved, scenario) {
            return Ok(plan);
        }
        let plan = Arc::new(Plan::new(scenario, config, &self.laws)?);
        self.keep(resolved, Arc::clone(&plan));
        Ok(plan)
    }

    fn find(&self, resolved: &ScenarioConfig, scenario: &Scenario) -> Option<Arc<Plan>> {
        let mut kept_plans = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept_plans.iter().position(|(of, plan)| of == resolved && plan.is_of(scenario))?;
        let config_and_plan = kept_plans.remove(place)?;
        let plan = Arc::clone(&config_and_plan.1);
        kept_plans.push_front(config_and_plan);
        Some(plan)
    }

    fn keep(&self, resolved: ScenarioConfig, plan: Arc<Plan>) {
        let mut kept_plans = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept_plans.push_front((resolved, plan));
        let bytes = kept_plans.iter().scan(0, |bytes, (_, plan)| {
            *bytes += plan.bytes();
            Some(*bytes)
        });
        let fitting = bytes.take(KEPT).take_while(|&bytes| bytes <= MOST_BYTES).count();
        kept_plans.truncate(fitting);
    }
}

impl Plan {
    /// Whether a scenario of the same values reads the same files, as they are now.
    fn is_of(&self, scenario: &Scenario) -> bool {
        let contents = self.files.contents();
        if contents.is_empty() {
            return true;
        }
        let mut now = scenario.files();
        self.scenario.leads_where(scenario)
            && contents.iter().all(|(name, before)| now.read(name).is_ok_and(|bytes| bytes == *before))
    }

    /// About how many bytes the plan takes beside its law.
    fn bytes(&self) -> usize {
        let read: usize = self.files.contents().iter().map(|(_, bytes)| bytes.len()).sum();
        // A point of the trace, how the satellite is seen there, and what channels make of it.
        2 * read + 200 * self.path.trace.points().count() + 10_000
    }
}
