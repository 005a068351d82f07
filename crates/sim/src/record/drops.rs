//! Lost packets, counted by cause.

use std::collections::BTreeMap;

/// Lost packets by cause.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    link: [u64; LINK_REASONS.len()],
    return_link: [u64; RETURN_LINK_REASONS.len()],
    path: [u64; PATH_REASONS.len()],
}

/// Why a packet is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// The last hop lost it.
    LastHop(link::DropReason),
    /// The return link lost it.
    ReturnLink(access::DropReason),
    /// The long path lost it.
    Path(PathLoss),
}

/// Why the long path loses a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathLoss {
    /// There was no route to the user, or back, and no room to wait for one.
    NoRoute,
    /// There was no room before one of the links.
    Overflow,
    /// Another satellite served the user when it came to the one that it was sent to.
    Handover,
}

/// The reasons of the last hop in their order, and their names in the summary.
const LINK_REASONS: [(link::DropReason, &str); 5] = [
    (link::DropReason::Overflow, "overflow"),
    (link::DropReason::Early, "early"),
    (link::DropReason::Timeout, "timeout"),
    (link::DropReason::Harq, "harq"),
    (link::DropReason::Handover, "handover"),
];

/// Those of the return link.
const RETURN_LINK_REASONS: [(access::DropReason, &str); 2] =
    [(access::DropReason::Collision, "collision"), (access::DropReason::Overflow, "return_overflow")];

/// Those of the long path.
const PATH_REASONS: [(PathLoss, &str); 3] =
    [(PathLoss::NoRoute, "no_route"), (PathLoss::Overflow, "path_overflow"), (PathLoss::Handover, "path_handover")];

impl Drops {
    /// A packet is lost.
    pub(crate) fn count(&mut self, loss: Loss) {
        match loss {
            Loss::Path(reason) => self.path[reason as usize] += 1,
            Loss::LastHop(reason) => self.link[reason as usize] += 1,
            Loss::ReturnLink(reason) => self.return_link[reason as usize] += 1,
        }
    }

    /// Packets that the last hop lost for this reason.
    pub(crate) fn by_link(&self, reason: link::DropReason) -> u64 {
        self.link[reason as usize]
    }

    /// Packets that the return link lost for this reason.
    pub(crate) fn by_return_link(&self, reason: access::DropReason) -> u64 {
        self.return_link[reason as usize]
    }

    /// Packets that the long path lost for this reason.
    pub(crate) fn by_path(&self, reason: PathLoss) -> u64 {
        self.path[reason as usize]
    }

    /// All lost packets.
    pub(crate) fn total(&self) -> u64 {
        self.link.iter().chain(&self.return_link).chain(&self.path).sum()
    }

    /// The counts by name.
    pub(crate) fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        let link = LINK_REASONS.iter().zip(self.link).map(|((_, name), count)| (*name, count));
        let back = RETURN_LINK_REASONS.iter().zip(self.return_link).map(|((_, name), count)| (*name, count));
        let path = PATH_REASONS.iter().zip(self.path).map(|((_, name), count)| (*name, count));
        link.chain(back).chain(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let mut drops = Drops::default();
        let links = LINK_REASONS.iter().map(|&(reason, _)| (reason as usize, Loss::LastHop(reason)));
        let back = RETURN_LINK_REASONS.iter().map(|&(reason, _)| (reason as usize, Loss::ReturnLink(reason)));
        let path = PATH_REASONS.iter().map(|&(reason, _)| (reason as usize, Loss::Path(reason)));
        for (place, (number, _)) in
            links.clone().enumerate().chain(back.clone().enumerate()).chain(path.clone().enumerate())
        {
            assert_eq!(place, number);
        }
        links.chain(back).chain(path).for_each(|(_, loss)| drops.count(loss));
        let names: Vec<_> = drops.by_reason().into_iter().collect();
        let expected = [
            "collision",
            "early",
            "handover",
            "harq",
            "no_route",
            "overflow",
            "path_handover",
            "path_overflow",
            "return_overflow",
            "timeout",
        ];
        assert_eq!(names, expected.map(|name| (name, 1)));
        assert_eq!(drops.total(), 10);
    }
}
