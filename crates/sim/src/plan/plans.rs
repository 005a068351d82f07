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
    /// The last one comes first.
    kept: Mutex<VecDeque<KeptPlan>>,
}

#[derive(Debug)]
struct KeptPlan {
    plan: Arc<Plan>,
    /// The scenario as it was written when the plan was asked for last: the same text need not be checked again.
    asked: Scenario,
    /// The same with every default filled in: two that are written in different ways may be one.
    resolved: ScenarioConfig,
}

impl Plans {
    /// The plan of a scenario, made anew unless that of the same values and files is kept.
    ///
    /// # Errors
    /// As [`Scenario::plan`].
    pub fn plan(&self, scenario: &Scenario) -> Result<Arc<Plan>, ScenarioError> {
        if let Some(plan) = self.find(scenario, |kept| kept.asked == *scenario) {
            return Ok(plan);
        }
        let config = scenario.known_config()?;
        let resolved = config.resolved(&mut str::to_owned);
        if let Some(plan) = self.find(scenario, |kept| kept.resolved == resolved) {
            return Ok(plan);
        }
        let plan = Arc::new(Plan::new(scenario, config, &self.laws)?);
        self.keep(KeptPlan { plan: Arc::clone(&plan), asked: scenario.clone(), resolved });
        Ok(plan)
    }

    /// The first plan of the same files that is `like` the scenario's; it comes first from now on.
    fn find(&self, scenario: &Scenario, like: impl Fn(&KeptPlan) -> bool) -> Option<Arc<Plan>> {
        let mut kept_plans = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept_plans.iter().position(|kept| like(kept) && kept.plan.is_of(scenario))?;
        let mut found = kept_plans.remove(place)?;
        let plan = Arc::clone(&found.plan);
        if found.asked != *scenario {
            found.asked = scenario.clone();
        }
        kept_plans.push_front(found);
        Some(plan)
    }

    fn keep(&self, made: KeptPlan) {
        let mut kept_plans = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept_plans.push_front(made);
        let bytes = kept_plans.iter().scan(0, |bytes, kept| {
            *bytes += kept.plan.bytes();
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
