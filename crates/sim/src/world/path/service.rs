//! Which satellite serves the users, when another takes over, and what that does to packets in flight.

use link::Transfer;
use orbit::{AtHandover, AtHandoverPackets, RouteInterval};
use units::{Duration, Time};

/// The users' satellites over time.
pub(in crate::world) struct Service {
    events: Vec<(Time, Event)>,
    next: usize,
    /// The instants of handovers, and what becomes of packets that come to the satellite left behind.
    handovers: Vec<(Time, Transfer)>,
    /// When nothing is sent to the users or by them: from, until. Those that touch are one.
    interruptions: Vec<(Time, Time)>,
    /// The handovers up to the instant last asked about.
    passed: usize,
}

/// What happens to the last hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum Event {
    /// Another satellite serves the users from now on, and sends from `resume`.
    HandOver { resume: Time, transfer: Transfer },
    /// No satellite serves the users from now on.
    Halt,
    /// The same satellite as before serves them again.
    Resume,
    /// The path begins at another gateway from now on: only after [`Service::follow_gateways`].
    Gateway,
}

/// The fate of a packet at the satellite that served the users when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// The satellite still serves them, or delivers as if it did.
    Served,
    /// The satellite forwards the packet to the one that serves them now, with this delay.
    Forwarded(Duration),
    /// The packet is lost at the satellite that was left, when it comes there.
    Lost(Time),
}

impl Service {
    pub(super) fn new(intervals: &[RouteInterval], at_handover: AtHandover) -> Service {
        let mut events = Vec::new();
        let mut handovers = Vec::new();
        let mut interruptions: Vec<(Time, Time)> = Vec::new();
        let mut last = None;
        let mut halted = false;
        for interval in intervals {
            match (last, interval.user_satellite) {
                (_, None) => {
                    if !halted {
                        events.push((interval.from, Event::Halt));
                    }
                    halted = true;
                    continue;
                }
                (Some(before), Some(now)) if before != now => {
                    let transfer = transfer(at_handover.packets, interval.forwarding);
                    let resume = interval.from + at_handover.interruption;
                    events.push((interval.from, Event::HandOver { resume, transfer }));
                    handovers.push((interval.from, transfer));
                    match interruptions.last_mut() {
                        Some(before) if before.1 >= interval.from => before.1 = resume,
                        _ if resume > interval.from => interruptions.push((interval.from, resume)),
                        _ => {}
                    }
                }
                _ if halted => events.push((interval.from, Event::Resume)),
                _ => {}
            }
            halted = false;
            last = interval.user_satellite;
        }
        Service { events, next: 0, handovers, interruptions, passed: 0 }
    }

    /// Tells of each instant, too, at which the path begins at another gateway than it did last.
    pub(in crate::world) fn follow_gateways(&mut self, intervals: &[RouteInterval]) {
        let mut last = None;
        for interval in intervals {
            if let (Some(before), Some(now)) = (last, interval.gateway)
                && before != now
            {
                self.events.push((interval.from, Event::Gateway));
            }
            last = interval.gateway.or(last);
        }
        self.events.sort_by_key(|event| event.0);
    }

    /// When something happens next.
    #[inline]
    pub(in crate::world) fn poll_timeout(&self) -> Option<Time> {
        self.events.get(self.next).map(|event| event.0)
    }

    /// What happens by `now`.
    pub(in crate::world) fn poll_event(&mut self, now: Time) -> Option<Event> {
        let &(_, event) = self.events.get(self.next).filter(|event| event.0 <= now)?;
        self.next += 1;
        Some(event)
    }

    /// What becomes of a packet that is sent towards the users at `sent` and reaches the satellite that served them
    /// then at `arrival`. Sending instants never go back.
    #[inline]
    pub(super) fn crossing(&mut self, sent: Time, arrival: Time) -> Crossing {
        let next = self.handovers.get(self.passed);
        if next.is_none_or(|next| arrival < next.0) { Crossing::Served } else { self.crossing_handovers(sent, arrival) }
    }

    #[inline(never)]
    fn crossing_handovers(&mut self, sent: Time, arrival: Time) -> Crossing {
        while self.handovers.get(self.passed).is_some_and(|handover| handover.0 <= sent) {
            self.passed += 1;
        }
        let mut arrival = arrival;
        let mut forwarded = Duration::ZERO;
        // While it is sent on another may take over again.
        for (at, transfer) in &self.handovers[self.passed..] {
            if *at > arrival {
                break;
            }
            match transfer {
                Transfer::Keep => {}
                Transfer::Forward { delay } => {
                    arrival += *delay;
                    forwarded += *delay;
                }
                Transfer::Lose => return Crossing::Lost(arrival),
            }
        }
        if forwarded.is_zero() { Crossing::Served } else { Crossing::Forwarded(forwarded) }
    }

    /// Whether a handover ever interrupts the users.
    pub(super) fn has_interruptions(&self) -> bool {
        !self.interruptions.is_empty()
    }

    /// Whether a handover interrupts the users at `now`.
    #[inline]
    pub(super) fn interrupts(&self, now: Time) -> bool {
        self.has_interruptions() && self.served_from(now) > now
    }

    /// From when on a user that wants to send at `at` can: after the interruption of a handover.
    #[inline]
    pub(super) fn served_from(&self, at: Time) -> Time {
        let started = self.interruptions.partition_point(|&(from, _)| from <= at);
        started.checked_sub(1).map_or(at, |last| at.max(self.interruptions[last].1))
    }
}

/// What the satellite left behind does with packets: without a way to the new one it cannot send them on.
fn transfer(packets: AtHandoverPackets, forwarding: Option<Duration>) -> Transfer {
    match (packets, forwarding) {
        (AtHandoverPackets::Deliver, _) => Transfer::Keep,
        (AtHandoverPackets::Forward, Some(delay)) => Transfer::Forward { delay },
        (AtHandoverPackets::Forward, None) | (AtHandoverPackets::Lose, _) => Transfer::Lose,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbit::Change;

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn service(packets: AtHandoverPackets, intervals: &[(u64, Option<u32>, Option<u64>)]) -> Service {
        let interval = |&(from, satellite, forwarding): &(u64, Option<u32>, Option<u64>)| RouteInterval {
            from: at(from),
            hops: satellite.map(|_| 3),
            gateway_satellite: Some(1),
            user_satellite: satellite,
            gateway: satellite.map(|_| 0),
            forwarding: forwarding.map(ms),
            change: Change::default(),
        };
        let intervals: Vec<RouteInterval> = intervals.iter().map(interval).collect();
        Service::new(&intervals, AtHandover { interruption: ms(50), packets })
    }

    /// Satellite 5, 6 from 1 s, none from 2 s, 6 again from 3 s, none from 4 s, 7 (not linked to it) from 5 s.
    const LEGS: [(u64, Option<u32>, Option<u64>); 7] = [
        (0, Some(5), None),
        (500, Some(5), None),
        (1000, Some(6), Some(8)),
        (2000, None, None),
        (3000, Some(6), None),
        (4000, None, None),
        (5000, Some(7), None),
    ];

    fn events(service: &mut Service) -> Vec<(Time, Event)> {
        let mut found = Vec::new();
        while let Some(due) = service.poll_timeout() {
            let before = due - Duration::from_nanos(1);
            assert!(before == due || service.poll_event(before).is_none());
            found.push((due, service.poll_event(due).unwrap()));
        }
        found
    }

    #[test]
    fn tells_who_takes_over() {
        let hand_over = |from: u64, transfer| (at(from), Event::HandOver { resume: at(from + 50), transfer });
        let between = [(at(2000), Event::Halt), (at(3000), Event::Resume), (at(4000), Event::Halt)];
        let forward = Transfer::Forward { delay: ms(8) };
        for (packets, first, last) in [
            (AtHandoverPackets::Deliver, Transfer::Keep, Transfer::Keep),
            (AtHandoverPackets::Forward, forward, Transfer::Lose),
            (AtHandoverPackets::Lose, Transfer::Lose, Transfer::Lose),
        ] {
            let expected = [&[hand_over(1000, first)], &between[..], &[hand_over(5000, last)]].concat();
            assert_eq!(events(&mut service(packets, &LEGS)), expected, "{packets:?}");
        }
        let late = [(0, None, None), (700, Some(3), None)];
        let expected = [(at(0), Event::Halt), (at(700), Event::Resume)];
        assert_eq!(events(&mut service(AtHandoverPackets::Lose, &late)), expected);
    }

    #[test]
    fn tells_of_other_gateways_where_asked() {
        let gateways = [Some(0), Some(0), Some(1), None, Some(1), None, Some(0)];
        let interval = |(from, gateway)| RouteInterval {
            from: at(from),
            hops: Some(0),
            gateway_satellite: Some(1),
            user_satellite: Some(5),
            gateway,
            forwarding: None,
            change: Change::default(),
        };
        let intervals: Vec<RouteInterval> = (0..).step_by(1000).zip(gateways).map(interval).collect();
        let mut service = Service::new(&intervals, AtHandover::default());
        assert_eq!(service.poll_timeout(), None);
        service.follow_gateways(&intervals);
        assert_eq!(events(&mut service), [2000, 6000].map(|from| (at(from), Event::Gateway)));
    }

    #[test]
    fn packets_in_flight_are_forwarded_or_lost() {
        let fate = |packets, sent, arrival| service(packets, &LEGS).crossing(at(sent), at(arrival));
        use AtHandoverPackets::{Deliver, Forward, Lose};
        for packets in [Deliver, Forward, Lose] {
            assert_eq!(fate(packets, 100, 999), Crossing::Served);
            assert_eq!(fate(packets, 1000, 1080), Crossing::Served, "sent to the new one");
        }
        assert_eq!(fate(Deliver, 990, 1000), Crossing::Served);
        assert_eq!(fate(Forward, 990, 1000), Crossing::Forwarded(ms(8)));
        assert_eq!(fate(Lose, 990, 1000), Crossing::Lost(at(1000)));
        assert_eq!(fate(Forward, 4990, 5070), Crossing::Lost(at(5070)), "no way between the two");
        let twice = [(0, Some(5), None), (1000, Some(6), Some(8)), (1005, Some(7), Some(3))];
        let mut service = service(Forward, &twice);
        assert_eq!(service.crossing(at(990), at(1000)), Crossing::Forwarded(ms(11)));
        assert_eq!(service.crossing(at(1000), at(1004)), Crossing::Served);
    }

    #[test]
    fn nobody_sends_during_the_interruption() {
        let service = service(AtHandoverPackets::Deliver, &LEGS);
        for (wanted, sent) in [(0, 0), (999, 999), (1000, 1050), (1049, 1050), (1050, 1050), (3010, 3010), (5001, 5050)]
        {
            assert_eq!(service.served_from(at(wanted)), at(sent));
        }
        // Another handover within the interruption: until the end of the later one.
        let twice = [(0, Some(5), None), (1000, Some(6), None), (1030, Some(7), None), (1080, Some(5), None)];
        let service = super::tests::service(AtHandoverPackets::Lose, &twice);
        assert_eq!(
            [999, 1000, 1129, 1130].map(|wanted| service.served_from(at(wanted))),
            [999, 1130, 1130, 1130].map(at)
        );
    }
}
