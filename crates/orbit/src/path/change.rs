//! Changes from one route interval to the next: the one definition of a handover, by which all counts and tables go.

/// The changes at the begin of a route interval, or since some instant. Several may happen together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The user's serving satellite is another than its last one. Losing the satellite, or getting the same one again,
    /// is no handover.
    pub user_handover: bool,
    /// The route begins at the same gateway as the last route did, by another satellite than the last one that served
    /// the gateway.
    pub gateway_handover: bool,
    /// One route replaced another without a handover: other links between the same satellites, or another gateway.
    pub route_change: bool,
    /// The route was lost.
    pub outage: bool,
    /// A route exists again, or for the first time.
    pub route_again: bool,
}

impl Change {
    /// The changes of the route that either has.
    #[must_use]
    pub fn and(self, other: Change) -> Change {
        Change {
            user_handover: self.user_handover || other.user_handover,
            gateway_handover: self.gateway_handover || other.gateway_handover,
            route_change: self.route_change || other.route_change,
            outage: self.outage || other.outage,
            route_again: self.route_again || other.route_again,
        }
    }

    /// The names of the changes, joined with `+`; empty if there is none: `user-handover`, `gateway-handover`,
    /// `route-change`, `outage`, `route-again`.
    pub fn names(&self) -> String {
        let event_names = [
            (self.user_handover, "user-handover"),
            (self.gateway_handover, "gateway-handover"),
            (self.route_change, "route-change"),
            (self.outage, "outage"),
            (self.route_again, "route-again"),
        ];
        event_names.iter().filter(|one| one.0).map(|one| one.1).collect::<Vec<_>>().join("+")
    }
}

/// The serving satellites of the route intervals before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    /// The satellite that served the user last.
    pub user: Option<u32>,
    /// The gateway where the last route began, and the satellite that served it last.
    gateway: Option<(u32, u32)>,
    /// Whether the last interval had a route; `None` before the first.
    had_route: Option<bool>,
}

impl History {
    /// The changes of an interval whose route begins at `gateway` (`None` without a route), with these satellites
    /// serving gateway and user.
    pub fn next(&mut self, gateway: Option<u32>, [gateway_satellite, user]: [Option<u32>; 2]) -> Change {
        // A single gateway has a serving satellite also where no route leads on from it.
        let of_gateway =
            gateway_satellite.map(|satellite| (gateway.or(self.gateway.map(|known| known.0)).unwrap_or(0), satellite));
        let gateway_handover =
            matches!((self.gateway, of_gateway), (Some(old), Some(new)) if old.0 == new.0 && old.1 != new.1);
        let user_handover = matches!((self.user, user), (Some(old), Some(new)) if old != new);
        let had_route = self.had_route.replace(gateway.is_some());
        self.gateway = of_gateway.or(self.gateway);
        self.user = user.or(self.user);
        Change {
            user_handover,
            gateway_handover,
            route_change: had_route == Some(true) && gateway.is_some() && !user_handover && !gateway_handover,
            outage: had_route == Some(true) && gateway.is_none(),
            route_again: had_route == Some(false) && gateway.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_handover_and_what_is_not() {
        let mut history = History::default();
        let mut next = |gateway, its_satellite, user| history.next(gateway, [its_satellite, user]).names();
        assert_eq!(next(Some(0), Some(1), Some(5)), "");
        assert_eq!(next(Some(0), Some(1), Some(5)), "route-change");
        assert_eq!(next(Some(0), Some(2), Some(6)), "user-handover+gateway-handover");
        assert_eq!(next(Some(1), Some(9), Some(6)), "route-change", "from another gateway");
        assert_eq!(next(Some(0), Some(3), Some(6)), "route-change", "and back, whatever serves it there");
        assert_eq!(next(Some(1), Some(9), Some(7)), "user-handover", "with another gateway too");
        assert_eq!(next(None, None, Some(7)), "outage");
        assert_eq!(next(None, None, Some(8)), "user-handover", "of a user that nothing reaches");
        assert_eq!(next(None, None, None), "", "still nothing");
        assert_eq!(next(Some(1), Some(4), Some(8)), "gateway-handover+route-again");
    }

    /// Rises and sets of a single satellite.
    #[test]
    fn the_same_satellite_again_is_no_handover() {
        let mut history = History::default();
        let intervals = [(None, None), (Some(0), Some(7)), (None, None), (Some(0), Some(7)), (None, Some(7))];
        let names = intervals.map(|(gateway, satellite)| history.next(gateway, [satellite; 2]).names());
        assert_eq!(names, ["", "route-again", "outage", "route-again", "outage"]);
    }

    #[test]
    fn several_changes_are_one_event() {
        let (a, b) = (Change { outage: true, ..Change::default() }, Change { route_again: true, ..Change::default() });
        assert_eq!(a.and(b).names(), "outage+route-again");
        assert_eq!(a.and(b), b.and(a));
    }
}
