//! A division that follows the load of random access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Probability};

use super::{Divide, Kind};

/// As many carriers for random access as keep its load at a target, as far as dedicated access does not need them.
///
/// When the load is too high, random access takes as many carriers as it needs. When it is low, it gives carriers back
/// step by step, and only while data wait for dedicated access: otherwise more carriers make collisions rarer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByLoad {
    /// The target: packets in each random access block.
    pub target: f64,
    /// The share by which the load, on the carriers that would remain, must be below the target before carriers are
    /// given back.
    pub hysteresis: Probability,
    /// The least carriers for random access; by default the fewest that hold whole blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<u32>,
    /// The most carriers for random access; by default all but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Superframes between two changes, so that the effect of a change is measured before the next one.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hold_superframes: u32,
}

impl Default for ByLoad {
    /// At about this target CRDSA with three replicas is still free of loss in blocks of 100 slots.
    fn default() -> ByLoad {
        ByLoad { target: 30.0, hysteresis: Probability::new(0.2), least: None, most: None, hold_superframes: 12 }
    }
}

impl Kind for ByLoad {
    fn check(&self, carriers: u32, step: u32) -> Result<(), FieldError> {
        if !(self.target.is_finite() && self.target > 0.0) {
            return Err(FieldError::new(
                "target",
                format!("{} was given, more than 0 packets are allowed", self.target),
            ));
        }
        if self.hysteresis.get() >= 1.0 {
            return Err(FieldError::new(
                "hysteresis",
                format!("{} was given, less than 100 % is allowed", self.hysteresis),
            ));
        }
        if self.hold_superframes == 0 {
            return Err(FieldError::new("hold_superframes", "must be at least 1"));
        }
        if step >= carriers {
            let message =
                format!("random access blocks need {step} carriers, and there are {carriers} for both accesses");
            return Err(FieldError::new("", message));
        }
        let (least, most) = self.bounds(carriers, step);
        for (field, given) in [("least", self.least), ("most", self.most)] {
            if let Some(given) = given.filter(|given| !(step..carriers).contains(given) || !given.is_multiple_of(step))
            {
                let message = format!(
                    "{given} was given; a multiple of {step} that leaves one of {carriers} carriers is allowed"
                );
                return Err(FieldError::new(field, message));
            }
        }
        if least > most {
            return Err(FieldError::new("least", format!("{least} was given, more than the most, {most}")));
        }
        Ok(())
    }

    fn at_start(&self, carriers: u32, random_carriers: u32, step: u32) -> u32 {
        let (least, most) = self.bounds(carriers, step);
        random_carriers.max(least).min(most)
    }

    fn build(&self, carriers: u32, random_carriers: u32, step: u32) -> Box<dyn Divide> {
        Box::new(Divider { by_load: self.clone(), carriers, random_carriers, step, since: 0 })
    }
}

impl ByLoad {
    fn bounds(&self, carriers: u32, step: u32) -> (u32, u32) {
        (self.least.unwrap_or(step), self.most.unwrap_or((carriers - 1) / step * step))
    }
}

/// The carriers of a frame as they are divided now between random and dedicated access.
struct Divider {
    by_load: ByLoad,
    carriers: u32,
    random_carriers: u32,
    step: u32,
    /// The superframe after the one at whose beginning the division changed last; 0 before the first change.
    since: u64,
}

impl Divide for Divider {
    fn handle_superframe(&mut self, superframe: u64, random_load: f64, dedicated_backlog_slots: u64) -> u32 {
        let by_load = &self.by_load;
        let carriers_now = self.random_carriers;
        let (least, most) = by_load.bounds(self.carriers, self.step);
        // The number of carriers on which the present packets have the load `load`.
        let packets = random_load * f64::from(carriers_now);
        let needed =
            |load: f64| (packets / load / f64::from(self.step)).ceil().min(f64::from(self.carriers)) as u32 * self.step;
        let wanted_carriers = if random_load > by_load.target {
            needed(by_load.target)
        } else if dedicated_backlog_slots > 0
            && needed(by_load.target * (1.0 - by_load.hysteresis.get())) < carriers_now
        {
            carriers_now - self.step
        } else {
            carriers_now
        };
        let wanted_carriers = wanted_carriers.clamp(least, most);
        let next = superframe + 1;
        if wanted_carriers != carriers_now && next - self.since >= u64::from(by_load.hold_superframes) {
            self.random_carriers = wanted_carriers;
            self.since = next;
        }
        self.random_carriers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divider(by_load: ByLoad, random: u32) -> Box<dyn Divide> {
        assert_eq!(by_load.check(100, 5), Ok(()));
        by_load.build(100, random, 5)
    }

    fn prompt() -> ByLoad {
        ByLoad { hold_superframes: 1, ..ByLoad::default() }
    }

    #[test]
    fn a_high_load_takes_the_carriers_that_it_needs() {
        // 20 carriers with 45 packets a block are 30 carriers with 30.
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 45.0, 1000), 30);
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 46.0, 0), 35);
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 30.0, 0), 20);
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 1e9, 0), 95);
    }

    #[test]
    fn a_low_load_gives_carriers_back_only_if_they_are_wanted() {
        let mut divider = divider(prompt(), 50);
        assert_eq!(divider.handle_superframe(0, 1.0, 0), 50);
        let given: Vec<u32> = (1..13).map(|superframe| divider.handle_superframe(superframe, 1.0, 7)).collect();
        assert_eq!(given, [45, 40, 35, 30, 25, 20, 15, 10, 5, 5, 5, 5]);
    }

    #[test]
    fn what_was_given_back_is_not_taken_at_once() {
        // 25 packets a block on 20 carriers would be 33 on 15; 18 would be 24, which is 20 % below the target.
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 25.0, 7), 20);
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 18.1, 7), 20);
        assert_eq!(divider(prompt(), 20).handle_superframe(0, 18.0, 7), 15);
    }

    #[test]
    fn the_start_lies_between_least_and_most() {
        let start = |least, most| ByLoad { least, most, ..ByLoad::default() }.at_start(100, 50, 5);
        assert_eq!([start(None, None), start(None, Some(20)), start(Some(80), None)], [50, 20, 80]);
    }

    #[test]
    fn a_change_is_held() {
        let mut divider = divider(ByLoad { hold_superframes: 3, ..ByLoad::default() }, 20);
        let given: Vec<u32> = (0..7).map(|superframe| divider.handle_superframe(superframe, 0.0, 7)).collect();
        assert_eq!(given, [20, 20, 15, 15, 15, 10, 10]);
        // Superframes in which nobody has anything to send are superframes, too.
        assert_eq!(divider.handle_superframe(1_000, 0.0, 7), 5);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |by_load: ByLoad| by_load.check(100, 5).unwrap_err().to_string();
        let with = |least, most| ByLoad { least, most, ..ByLoad::default() };
        let multiple = "7 was given; a multiple of 5 that leaves one of 100 carriers is allowed";
        assert_eq!(refused(with(Some(7), None)), format!("least: {multiple}"));
        assert!(refused(with(None, Some(100))).starts_with("most: 100 was given"));
        assert_eq!(refused(with(Some(50), Some(40))), "least: 50 was given, more than the most, 40");
        assert!(refused(ByLoad { target: 0.0, ..ByLoad::default() }).starts_with("target: 0 was given"));
        assert!(refused(ByLoad { hysteresis: Probability::new(1.0), ..ByLoad::default() }).starts_with("hysteresis"));
        assert!(ByLoad::default().check(5, 5).is_err());
        assert!(ByLoad::default().check(6, 5).is_ok());
    }

    proptest! {
        /// Under every load, blocks are whole and both accesses have carriers.
        #[test]
        fn both_accesses_always_have_carriers(
            seen in prop::collection::vec((0.0..200.0f64, 0..3u64), 1..50),
            steps in 1u32..20,
            step in 1u32..8,
        ) {
            let carriers = step * steps + 1;
            prop_assert_eq!(prompt().check(carriers, step), Ok(()));
            let mut divider = prompt().build(carriers, step * steps.div_ceil(2), step);
            for (superframe, (load, backlog)) in seen.into_iter().enumerate() {
                let random = divider.handle_superframe(superframe as u64, load, backlog);
                prop_assert!(random >= step && random < carriers && random.is_multiple_of(step));
            }
        }

        /// Under a constant load the number of carriers converges.
        #[test]
        fn a_constant_load_settles(packets in 1.0..2000.0f64) {
            let mut divider = divider(prompt(), 50);
            let mut random = 50;
            for superframe in 0..40 {
                random = divider.handle_superframe(superframe, packets / f64::from(random), 7);
            }
            let load = packets / f64::from(random);
            prop_assert!(load <= 30.0 || random == 95);
            for superframe in 40..50 {
                prop_assert_eq!(divider.handle_superframe(superframe, packets / f64::from(random), 7), random);
            }
        }
    }
}
