//! Lost packets, counted by cause.

use std::collections::BTreeMap;

use link::DropReason;

/// Lost packets by cause.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    link: [u64; LINK_REASONS.len()],
    pub(crate) no_route: u64,
}

/// Why a packet is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// The last hop lost it.
    LastHop(DropReason),
    /// There was no route to the user, or back.
    NoRoute,
}

/// The reasons of the last hop in their order, and their names in the summary.
const LINK_REASONS: [(DropReason, &str); 4] = [
    (DropReason::Overflow, "overflow"),
    (DropReason::Early, "early"),
    (DropReason::Timeout, "timeout"),
    (DropReason::Harq, "harq"),
];

impl Drops {
    /// A packet is lost.
    pub(crate) fn count(&mut self, loss: Loss) {
        match loss {
            Loss::NoRoute => self.no_route += 1,
            Loss::LastHop(reason) => self.link[reason as usize] += 1,
        }
    }

    /// Packets that the last hop lost for this reason.
    pub(crate) fn by_link(&self, reason: DropReason) -> u64 {
        self.link[reason as usize]
    }

    /// All lost packets.
    pub(crate) fn total(&self) -> u64 {
        self.link.iter().sum::<u64>() + self.no_route
    }

    /// The counts by name.
    pub(crate) fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        let link = LINK_REASONS.iter().zip(self.link).map(|((_, name), count)| (*name, count));
        link.chain([("no_route", self.no_route)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_of_the_last_hop_has_a_name_of_its_own() {
        let mut drops = Drops::default();
        assert!(LINK_REASONS.iter().enumerate().all(|(place, &(reason, _))| reason as usize == place));
        for reason in [DropReason::Overflow, DropReason::Early, DropReason::Timeout, DropReason::Harq] {
            drops.count(Loss::LastHop(reason));
        }
        drops.count(Loss::NoRoute);
        let names: Vec<_> = drops.by_reason().into_iter().collect();
        assert_eq!(names, [("early", 1), ("harq", 1), ("no_route", 1), ("overflow", 1), ("timeout", 1)]);
    }
}
