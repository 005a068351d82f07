//! Handover policies: how the serving satellite of a station is chosen.
//!
//! A policy answers two questions from the satellites in view at an instant: whether the serving satellite goes on
//! serving, and which one takes over. [`crate::path::follow`] asks them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Angle, Duration, FieldError};

units::registry! {
    /// How the serving satellite of an end is chosen among those in view: at or above the minimum elevation.
    pub enum HandoverPolicy: dyn Kind {
        #[default] "keep-until-mask" => KeepUntilMask(KeepUntilMask),
        "highest" => Highest(Highest),
        "longest-visibility" => LongestVisibility(LongestVisibility),
        "fixed-epochs" => FixedEpochs(FixedEpochs),
        "hysteresis" => Hysteresis(Hysteresis),
        "shortest-path" => ShortestPath(ShortestPath),
    }
}

/// An end keeps its satellite until that drops below the minimum elevation, then takes the highest one (as ns-2's
/// terminals do).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepUntilMask {}

/// The highest satellite serves at every instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Highest {}

/// An end keeps its satellite until that drops below the minimum elevation, then takes the one that stays above it for
/// the longest time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongestVisibility {}

/// At fixed instants an end takes the highest satellite and keeps it until the next; a satellite that drops below the
/// minimum elevation is replaced by the highest at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedEpochs {
    /// The interval between the instants, counted from the start of the run.
    #[serde(default = "fifteen_seconds")]
    pub every: Duration,
}

/// An end keeps its satellite until another is higher by the margin, or until it drops below the minimum elevation;
/// then it takes the highest one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hysteresis {
    /// The elevation by which another satellite must be higher, 0 to 90 deg.
    #[serde(default = "five_degrees")]
    pub margin: Angle,
}

/// At every instant the route takes the satellites in view that make it best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShortestPath {}

/// The interval of Starlink's scheduler.
fn fifteen_seconds() -> Duration {
    Duration::from_secs(15)
}

fn five_degrees() -> Angle {
    Angle::from_degrees(5.0)
}

impl Default for FixedEpochs {
    fn default() -> FixedEpochs {
        FixedEpochs { every: fifteen_seconds() }
    }
}

impl Default for Hysteresis {
    fn default() -> Hysteresis {
        Hysteresis { margin: five_degrees() }
    }
}

/// A satellite in view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InView {
    /// The satellite's number.
    pub satellite: u32,
    /// Sine of the satellite's elevation.
    pub sin_elevation: f64,
}

/// A shorter interval would put more than one handover into a step.
const SHORTEST_EPOCH: Duration = Duration::from_millis(1);

/// How an end's satellite is chosen.
pub trait Kind {
    /// Checks every value.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Whether the route chooses the satellite, so that no choice lasts.
    fn follows_route(&self) -> bool {
        false
    }

    /// The time between two instants at which the choice is made anew; `None` if it is made whenever it is needed.
    fn epoch(&self) -> Option<Duration> {
        None
    }

    /// Whether `serving`, which is in view, goes on serving with `others` (itself perhaps among them) in view.
    fn keeps(&self, serving: InView, others: &mut dyn Iterator<Item = InView>) -> bool {
        let _ = (serving, others);
        true
    }

    /// The one of `in_view` that takes over; `longest` finds the one that stays in view for longest.
    fn choose(
        &self,
        in_view: &mut dyn Iterator<Item = InView>,
        longest: &mut dyn FnMut(Vec<InView>) -> Option<u32>,
    ) -> Option<u32> {
        let _ = longest;
        highest(in_view).map(|best| best.satellite)
    }
}

impl Kind for KeepUntilMask {}

impl Kind for Highest {
    fn keeps(&self, serving: InView, others: &mut dyn Iterator<Item = InView>) -> bool {
        highest(others)
            .is_none_or(|best| best.satellite == serving.satellite || best.sin_elevation < serving.sin_elevation)
    }
}

impl Kind for LongestVisibility {
    fn choose(
        &self,
        in_view: &mut dyn Iterator<Item = InView>,
        longest: &mut dyn FnMut(Vec<InView>) -> Option<u32>,
    ) -> Option<u32> {
        longest(in_view.collect())
    }
}

impl Kind for FixedEpochs {
    fn check(&self) -> Result<(), FieldError> {
        if self.every < SHORTEST_EPOCH {
            return Err(FieldError::new("every", format!("{} must be at least {SHORTEST_EPOCH}", self.every)));
        }
        Ok(())
    }

    fn epoch(&self) -> Option<Duration> {
        Some(self.every)
    }
}

impl Kind for Hysteresis {
    fn check(&self) -> Result<(), FieldError> {
        if !(0.0..=90.0).contains(&self.margin.as_degrees()) {
            let message = format!("{} deg must be between 0 deg and 90 deg", self.margin.as_degrees());
            return Err(FieldError::new("margin", message));
        }
        Ok(())
    }

    fn keeps(&self, serving: InView, others: &mut dyn Iterator<Item = InView>) -> bool {
        highest(others).is_none_or(|best| {
            let lead = libm::asin(best.sin_elevation.min(1.0)) - libm::asin(serving.sin_elevation.min(1.0));
            best.satellite == serving.satellite || lead < self.margin.as_radians()
        })
    }
}

impl Kind for ShortestPath {
    fn follows_route(&self) -> bool {
        true
    }
}

/// The highest satellite; of equally high ones the first.
pub(crate) fn highest(in_view: impl Iterator<Item = InView>) -> Option<InView> {
    in_view.reduce(|best, other| if other.sin_elevation > best.sin_elevation { other } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Satellites by number and elevation in degrees.
    fn view(satellites: &[(u32, f64)]) -> Vec<InView> {
        let in_view =
            |&(satellite, degrees): &(u32, f64)| InView { satellite, sin_elevation: libm::sin(degrees.to_radians()) };
        satellites.iter().map(in_view).collect()
    }

    fn keeps(policy: &HandoverPolicy, serving: (u32, f64), others: &[(u32, f64)]) -> bool {
        policy.entry().keeps(view(&[serving])[0], &mut view(others).into_iter())
    }

    #[test]
    fn who_keeps_a_satellite_that_is_in_view() {
        let highest = HandoverPolicy::Highest(Highest {});
        let others = [(1, 30.0), (2, 34.9), (3, 20.0)];
        assert!(!keeps(&highest, (1, 30.0), &others) && keeps(&highest, (2, 34.9), &others));
        assert!(keeps(&highest, (1, 30.0), &[(1, 30.0)]));
        let hysteresis = |margin| HandoverPolicy::Hysteresis(Hysteresis { margin: Angle::from_degrees(margin) });
        assert!(keeps(&hysteresis(5.0), (1, 30.0), &others), "higher by 4.9");
        assert!(!keeps(&hysteresis(4.8), (1, 30.0), &others));
        assert!(keeps(&hysteresis(0.0), (2, 34.9), &others), "never against itself");
        assert!(keeps(&hysteresis(90.0), (3, 0.0), &[(4, 89.9)]));
        for policy in [
            HandoverPolicy::default(),
            HandoverPolicy::LongestVisibility(LongestVisibility {}),
            HandoverPolicy::FixedEpochs(FixedEpochs::default()),
        ] {
            assert!(keeps(&policy, (3, 20.0), &others), "{}", policy.kind());
        }
    }

    #[test]
    fn who_takes_over() {
        let in_view = [(1, 30.0), (2, 35.0), (3, 20.0), (4, 35.0)];
        for policy in [
            HandoverPolicy::default(),
            HandoverPolicy::Highest(Highest {}),
            HandoverPolicy::FixedEpochs(FixedEpochs::default()),
            HandoverPolicy::Hysteresis(Hysteresis::default()),
        ] {
            let choose = |in_view: &[(u32, f64)]| {
                policy.entry().choose(&mut view(in_view).into_iter(), &mut |_| panic!("nobody asked"))
            };
            assert_eq!(choose(&in_view), Some(2), "{}: the highest, of equals the first", policy.kind());
            assert_eq!(choose(&[]), None);
        }
        let longest = HandoverPolicy::LongestVisibility(LongestVisibility {});
        let chosen = longest
            .entry()
            .choose(&mut view(&in_view).into_iter(), &mut |all| all.iter().map(|one| one.satellite).max());
        assert_eq!(chosen, Some(4), "who stays longest is for others to find");
    }

    #[test]
    fn only_fixed_epochs_have_epochs() {
        let kinds = HandoverPolicy::ALL.iter().map(|kind| serde_json::json!({ "kind": kind }));
        for policy in kinds.map(|json| serde_json::from_value::<HandoverPolicy>(json).unwrap()) {
            assert_eq!(policy.entry().check(), Ok(()));
            let expected = (policy.kind() == "fixed-epochs").then(|| Duration::from_secs(15));
            assert_eq!(policy.entry().epoch(), expected);
        }
    }
}
