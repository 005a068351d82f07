//! The long way between the ground and the satellite that serves the users: when a packet that enters it arrives, or
//! why not.
//!
//! The sky's future is known before the run, so what becomes of a packet is known when it enters: where it waits, how
//! long it takes, and whether another satellite serves the users by the time it arrives. The record is told when it
//! happens.
//!
//! Simplified, and who could notice: a handover of a gateway costs nothing (it has antennas for both satellites), only
//! one of the users does; a packet keeps the delay of the route that it began on, and finds the queues of that route's
//! links by their order on the way, so where a route changes under load the first packets on the new one wait behind
//! those of the old; a packet that finds the buffer of a link full is told lost without the propagation to that link.

mod lane;
mod rated;
mod service;

use std::sync::Arc;

use engine::Generator;
use lane::Lane;
use link::Propagation;
use orbit::{DelayTrace, Jitter, PathConfig, Stretch};
use rand::RngExt;
use rated::RatedUplink;
use service::{Crossing, Service};
use units::{Duration, Time};

pub(super) use service::Event;

use super::pending_losses::PendingLoss;
use crate::plan::PathPlan;
use crate::record::drops::PathLoss;

/// The delay of a trace, and that to the serving satellite.
type Delays = (Duration, Duration);

/// A direction over the satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Downlink,
    Uplink,
}

/// One-way delays between the ground and the serving satellite, and what packets meet on the way.
pub(super) struct LongPath {
    plan: Arc<PathPlan>,
    /// With random numbers by [`Direction`].
    jitter: Option<(Jitter, [Generator; 2])>,
    /// One value for ever and without jitter, for the common case.
    constant: Option<Duration>,
    /// By [`Direction`]: whether [`LongPath::enter`] depends on the trace alone while there is a route.
    traced: [bool; 2],
    /// By [`Direction`]: where in the trace of its delays the last packet was sent.
    stretches: [Stretch; 2],
    /// By [`Direction`].
    lanes: [Lane; 2],
    /// What decides on losses, by [`Direction`]; nothing where there is none.
    chances: Option<[Generator; 2]>,
    /// The rate at which users send, where the path has one.
    rated: Option<RatedUplink>,
    /// Who serves the users.
    pub(super) service: Service,
    /// Packets that wait for a route which does not come back.
    pub(super) stranded: u64,
}

impl LongPath {
    /// `config` is what `plan` is made from. `chances`: random numbers for the losses that the path may have.
    pub(super) fn new(
        config: &PathConfig,
        plan: Arc<PathPlan>,
        jitter: Option<(Jitter, [Generator; 2])>,
        chances: [Generator; 2],
    ) -> LongPath {
        let measured = plan.trace.measured();
        let loses = measured.loss_down.is_some() || measured.loss_up.is_some();
        let rates = measured.rate_up.clone();
        let service = Service::new(plan.trace.intervals(), config.entry().at_handover());
        let lanes = [Lane::new(config), Lane::new(config)];
        let traced = !loses && !lanes[0].has_queues();
        let as_downlink = rates.is_none() && !service.has_interruptions() && std::ptr::eq(plan.uplink(), &*plan);
        LongPath {
            constant: plan.constant.filter(|_| jitter.is_none()),
            traced: [traced, traced && as_downlink],
            jitter,
            stretches: [&*plan, plan.uplink()].map(|plan| plan.trace.stretch(Time::ZERO)),
            lanes,
            chances: loses.then_some(chances),
            rated: rates.map(|rates| RatedUplink::new(rates, config.entry().uplink_buffer())),
            service,
            stranded: 0,
            plan,
        }
    }

    /// When a packet of `bytes` arrives that enters at `now` towards the users, at their satellite; instants never go
    /// back.
    ///
    /// # Errors
    /// It does not: when it is lost, and why.
    #[inline(always)]
    pub(super) fn downlink(&mut self, now: Time, bytes: u32) -> Result<Time, PendingLoss> {
        let Some((sent, arrival)) = self.enter(Direction::Downlink, now, bytes)? else {
            return Ok(Time::MAX);
        };
        let arrival = arrival + self.extra(Direction::Downlink);
        match self.service.crossing(sent, arrival) {
            Crossing::Served => Ok(arrival),
            Crossing::Forwarded(delay) => Ok(arrival + delay),
            Crossing::Lost(at) => Err(PendingLoss { at, reason: PathLoss::Handover }),
        }
    }

    /// When a packet of `bytes` that its user wants to send at `at` reaches its satellite, and when the ground; `hop`
    /// is the delay between users and their satellite.
    ///
    /// # Errors
    /// It does not: when it is lost, and why.
    #[inline(always)]
    pub(super) fn uplink(&mut self, at: Time, bytes: u32, hop: &mut Propagation) -> Result<(Time, Time), PendingLoss> {
        let Some((sent, arrival)) = self.enter(Direction::Uplink, at, bytes)? else {
            return Ok((Time::MAX, Time::MAX));
        };
        let up = hop.delay(sent);
        Ok((sent + up, arrival + up + self.extra(Direction::Uplink)))
    }

    /// How late jitter makes the next packet.
    fn extra(&mut self, direction: Direction) -> Duration {
        let Some((jitter, chances)) = &mut self.jitter else { return Duration::ZERO };
        match chances[direction as usize].random_bool(jitter.probability.get()) {
            true => jitter.extra,
            false => Duration::ZERO,
        }
    }

    /// When a packet leaves the place where it waits for a route, and when it has passed the path; nothing if it waits
    /// to the end.
    #[inline(always)]
    fn enter(&mut self, direction: Direction, at: Time, bytes: u32) -> Result<Option<(Time, Time)>, PendingLoss> {
        if let Some(delay) = self.plan.constant {
            return Ok(Some((at, at + delay)));
        }
        let stretch = &self.stretches[direction as usize];
        if self.traced[direction as usize]
            && stretch.holds(at)
            && let Some((_, delay)) = self.plan.delays(stretch, at)
        {
            return Ok(Some((at, at + delay)));
        }
        self.enter_generally(direction, at, bytes)
    }

    /// As [`LongPath::enter`], on any path.
    #[inline(never)]
    fn enter_generally(
        &mut self,
        direction: Direction,
        at: Time,
        bytes: u32,
    ) -> Result<Option<(Time, Time)>, PendingLoss> {
        let (entered, waits, delays) = self.next_sending(direction, at);
        if waits {
            self.lanes[direction as usize].wait(entered, bytes).map_err(|reason| PendingLoss { at, reason })?;
        }
        let (sent, delays) = match direction {
            Direction::Uplink if self.rated.is_some() => self.send_at_rate(entered, bytes)?,
            _ => (entered, delays),
        };
        let Some((_, delay)) = delays else {
            self.stranded += 1;
            return Ok(None);
        };
        self.survives(direction, sent)?;
        if !self.lanes[direction as usize].has_queues() {
            return Ok(Some((sent, sent + delay)));
        }
        let links = self.plan.trace.interval_at(sent).and_then(|interval| interval.hops).unwrap_or(0) as usize + 1;
        let crossed = self.lanes[direction as usize].cross(sent, bytes, links)?;
        Ok(Some((sent, crossed + delay)))
    }

    /// The same as [`LongPath::sent`] for a packet that comes at `entered` to the queue for the uplink's rate. None
    /// begins to be sent without a route.
    fn send_at_rate(&mut self, entered: Time, bytes: u32) -> Result<(Time, Option<Delays>), PendingLoss> {
        let free = self.rated.as_ref().map_or(entered, |rated| rated.free_from(entered));
        let (start, _, delays) = self.next_sending(Direction::Uplink, free);
        let start = if delays.is_some() { start } else { Time::MAX };
        let Some(rated) = &mut self.rated else { return Ok((start, delays)) };
        let left = rated.send(entered, start, bytes).map_err(|reason| PendingLoss { at: entered, reason })?;
        let (left, _, delays) = self.next_sending(Direction::Uplink, left);
        Ok((left, delays))
    }

    /// Whether chance lets a packet pass that is sent at `now`.
    fn survives(&mut self, direction: Direction, now: Time) -> Result<(), PendingLoss> {
        let Some(chances) = &mut self.chances else { return Ok(()) };
        let measured = self.plan.trace.measured();
        let loss = if direction == Direction::Uplink { &measured.loss_up } else { &measured.loss_down };
        let probability = loss.as_ref().map_or(0.0, |loss| loss.at(now));
        match chances[direction as usize].random_bool(probability) {
            true => Err(PendingLoss { at: now, reason: PathLoss::Measured }),
            false => Ok(()),
        }
    }

    /// Returns the first instant from `at` on at which a packet can be sent: with a route and, by a user, outside of
    /// interruptions; whether it waits for a route; and the delay of the trace then, and that to the serving satellite,
    /// if a route comes.
    fn next_sending(&mut self, direction: Direction, at: Time) -> (Time, bool, Option<Delays>) {
        let (mut at, mut waits) = (at, false);
        loop {
            let served = if direction == Direction::Uplink { self.service.served_from(at) } else { at };
            if served == Time::MAX {
                return (served, waits, None);
            }
            let plan = if direction == Direction::Uplink { self.plan.uplink() } else { &self.plan };
            let stretch = &mut self.stretches[direction as usize];
            if !stretch.holds(served) {
                *stretch = plan.trace.stretch(served);
            }
            if let Some((total, delay)) = plan.delays(stretch, served) {
                // The last hop is that of the whole path.
                let apart = !std::ptr::eq(plan, &*self.plan);
                let delay = if apart { self.plan.to_serving_satellite(served, total) } else { delay };
                return (served, waits, Some((total, delay)));
            }
            at = plan.resumes(served);
            waits = true;
        }
    }

    /// The time that each packet takes, if it is the same for all.
    #[inline(always)]
    pub(super) fn constant_delay(&self) -> Option<Duration> {
        self.constant
    }

    /// The least time that a packet takes. `None` where there is no route at some time, where the ways differ, and
    /// where a packet may be lost as it enters.
    pub(super) fn least_delay(&self) -> Option<Duration> {
        let loses = self.chances.is_some() || self.rated.is_some() || self.lanes.iter().any(Lane::has_buffers);
        let is_one = std::ptr::eq(self.plan.uplink(), &*self.plan);
        let least = self.constant.or_else(|| self.plan.trace.min_before_last_link());
        least.filter(|_| is_one && !loses)
    }

    /// The propagation delay of what enters at `now` and of what is sent back then; `None` without a route.
    #[inline]
    pub(super) fn round_trip(&self, now: Time) -> Option<Duration> {
        self.plan.round_trip(now)
    }

    /// The delay of the trace at `now`, the last link included; `None` without a route.
    pub(super) fn whole_delay(&self, now: Time) -> Option<Duration> {
        let last = self.stretches[Direction::Downlink as usize];
        let stretch = if last.holds(now) { last } else { self.plan.trace.stretch(now) };
        stretch.delays(now).map(|(delay, _)| delay)
    }

    /// Whether a handover interrupts the users at `now`.
    #[inline]
    pub(super) fn interrupts(&self, now: Time) -> bool {
        self.service.interrupts(now)
    }

    /// From now on the service tells of other gateways, too.
    pub(super) fn follow_gateways(&mut self) {
        self.service.follow_gateways(self.plan.trace.intervals());
    }

    /// The delays over time, the last link included where the path knows one.
    pub(super) fn trace(&self) -> &DelayTrace {
        &self.plan.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbit::{RouteInterval, TracePath};

    const HOUR: Duration = Duration::from_secs(3600);

    fn chances() -> [Generator; 2] {
        let streams = engine::Streams::new(1);
        [streams.stream("path.loss", 0), streams.stream("path.loss", 1)]
    }

    /// Half around the world over 66 satellites, one hour, with more of a path.
    fn path(more: &str) -> LongPath {
        let text = format!(
            "kind = \"constellation\"\nconstellation = \"leo-66\"\n\
             source = {{ latitude = \"43.6 deg\", longitude = \"1.4 deg\" }}\n\
             user = {{ latitude = \"-36.9 deg\", longitude = \"174.8 deg\" }}\n{more}"
        );
        let config: PathConfig = toml::from_str(&text).unwrap();
        let constellation = config.entry().constellation().expect("a constellation");
        let trace = constellation.trace(HOUR).unwrap();
        LongPath::new(&config, Arc::new(PathPlan::of(trace)), None, chances())
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The first handover of the user, with a way from the old satellite to the new one.
    fn handover(path: &LongPath) -> RouteInterval {
        let found = path.trace().intervals().iter().find(|interval| interval.forwarding.is_some());
        *found.expect("a satellite sets within the hour")
    }

    fn at_handover(packets: &str) -> String {
        format!("at_handover = {{ interruption = \"40 ms\", packets = \"{packets}\" }}")
    }

    /// A path without losses, queues and interruptions gives the same with and without the short way.
    #[test]
    fn where_the_trace_alone_decides_packets_enter_as_everywhere() {
        let [mut shortly, mut generally] = [path(""), path("")];
        assert_eq!((shortly.traced, generally.traced), ([true; 2], [true; 2]));
        generally.traced = [false; 2];
        let [mut hop, mut other] = [(); 2].map(|()| shortly.plan.propagation().unwrap());
        for step in 0..36_000 {
            let now = Time::ZERO + ms(100) * step;
            assert_eq!(shortly.downlink(now, 1000), generally.downlink(now, 1000), "{now}");
            assert_eq!(shortly.uplink(now, 1000, &mut hop), generally.uplink(now, 1000, &mut other), "{now}");
            for asked in [now, now + ms(3000)] {
                assert_eq!(shortly.whole_delay(asked), shortly.trace().delay(asked), "{asked} at {now}");
            }
        }
        assert_eq!(path(&at_handover("lose")).traced, [true, false], "users wait after a handover");
        assert_eq!(path("hops = { rate = \"8 Mbit/s\", buffer = \"1500 B\" }").traced, [false; 2]);
    }

    #[test]
    fn no_packet_takes_less_than_the_least_delay() {
        let mut path = path("");
        let least = path.least_delay().unwrap();
        let at = |step| Time::ZERO + ms(100) * step;
        let found = (0..36_000).map(|step| path.downlink(at(step), 1000).unwrap().since(at(step))).min().unwrap();
        assert!(least <= found && found < least + ms(1), "{least} for {found}");
        // Where packets may be lost as they enter, or the ways differ, there is none.
        assert_eq!(self::path("hops = { rate = \"8 Mbit/s\" }").least_delay(), Some(least));
        assert_eq!(self::path("hops = { rate = \"8 Mbit/s\", buffer = \"1500 B\" }").least_delay(), None);
        let config = TracePath::new("measured.csv");
        for (table, least) in [
            ("time_s,delay_ms\n0,40\n9,30\n", Some(Duration::from_nanos(29_999_999))),
            ("time_s,delay_ms\n0,40\n5,\n9,30\n", None),
            ("time_s,delay_ms,loss_percent\n0,40,1\n9,30,0\n", None),
            ("time_s,delay_ms,rate_up_mbps\n0,40,1\n9,30,2\n", None),
            ("time_s,delay_down_ms,delay_up_ms\n0,40,50\n9,30,60\n", None),
        ] {
            let plan = Arc::new(PathPlan::of(config.parse(table).unwrap()));
            let path = LongPath::new(&PathConfig::Trace(config.clone()), plan, None, chances());
            assert_eq!(path.least_delay(), least, "{table}");
        }
    }

    #[test]
    fn packets_in_flight_downlink_at_a_handover_are_forwarded_or_lost() {
        let interval = handover(&path(""));
        let sent = interval.from - ms(1);
        let plain = path("").downlink(sent, 1000).unwrap();
        assert!(plain > interval.from);
        assert_eq!(path(&at_handover("deliver")).downlink(sent, 1000), Ok(plain));
        assert_eq!(path(&at_handover("forward")).downlink(sent, 1000), Ok(plain + interval.forwarding.unwrap()));
        let lost = PendingLoss { at: plain, reason: PathLoss::Handover };
        assert_eq!(path(&at_handover("lose")).downlink(sent, 1000), Err(lost), "when it comes to the satellite");
        let after = path("").downlink(interval.from, 1000);
        assert_eq!(path(&at_handover("lose")).downlink(interval.from, 1000), after);
    }

    #[test]
    fn users_wait_until_the_interruption_is_over() {
        let interval = handover(&path(""));
        let mut path = path(&at_handover("lose"));
        let mut hop = path.plan.propagation().unwrap();
        let delay =
            |path: &LongPath, hop: &mut Propagation, sent| sent + path.plan.delay(sent).unwrap() + hop.delay(sent);
        for (wanted, sent) in
            [(interval.from - ms(1), interval.from - ms(1)), (interval.from + ms(10), interval.from + ms(40))]
        {
            let expected = (sent + hop.delay(sent), delay(&path, &mut hop, sent));
            assert_eq!(path.uplink(wanted, 1000, &mut hop), Ok(expected));
        }
        assert!(hop.delay(interval.from + ms(40)) != hop.delay(interval.from - ms(1)), "another satellite");
    }

    #[test]
    fn each_direction_crosses_every_link_of_the_route() {
        // 1000 B at 8 Mbit/s take a millisecond.
        let (mut plain, mut slow) = (path(""), path("hops = { rate = \"8 Mbit/s\", buffer = \"1500 B\" }"));
        let mut hop = plain.plan.propagation().unwrap();
        let links = plain.trace().interval_at(Time::ZERO).unwrap().hops.unwrap() + 1;
        assert!(links > 4);
        let takes = ms(u64::from(links));
        let now = Time::ZERO;
        assert_eq!(slow.downlink(now, 1000), Ok(plain.downlink(now, 1000).unwrap() + takes));
        let full = PendingLoss { at: now, reason: PathLoss::Overflow };
        assert_eq!(slow.downlink(now, 1000), Err(full), "1500 B hold one");
        // Full downwards, free upwards.
        let (up, down) = plain.uplink(now, 1000, &mut hop).unwrap();
        assert_eq!(slow.uplink(now, 1000, &mut hop), Ok((up, down + takes)));
    }

    /// Satellites without links, over two ends that seldom share one; when they do after an outage, it is another.
    #[test]
    fn what_waits_for_a_route_leaves_when_the_user_may_send() {
        let text = "kind = \"constellation\"\nconstellation = \"orbcomm-og2\"\n\
             source = { latitude = \"30 deg\", longitude = \"1.4 deg\" }\n\
             user = { latitude = \"25 deg\", longitude = \"10 deg\" }\n\
             no_route = { kind = \"queue\", buffer = \"3000 B\" }\n\
             at_handover = { interruption = \"500 ms\", packets = \"lose\" }";
        let config: PathConfig = toml::from_str(text).unwrap();
        let constellation = config.entry().constellation().expect("a constellation");
        let trace = constellation.trace(HOUR * 12).unwrap();
        let mut path = LongPath::new(&config, Arc::new(PathPlan::of(trace.clone())), None, chances());
        let mut hop = path.plan.propagation().unwrap();
        let intervals = trace.intervals().windows(2);
        let back = intervals
            .filter(|intervals| intervals[0].hops.is_none() && intervals[1].hops.is_some())
            .map(|intervals| intervals[1].from);
        let back = back.skip(1).find(|&from| path.service.served_from(from) > from).expect("another satellite rises");
        let last = path.plan.outages().iter().find(|outage| outage.1 == back).unwrap().0;
        let wanted = last + ms(1);
        let down = back + path.plan.delay(back).unwrap();
        assert_eq!(path.downlink(wanted, 1000), Ok(down));
        let sent = back + ms(500);
        let expected = (sent + hop.delay(sent), sent + path.plan.delay(sent).unwrap() + hop.delay(sent));
        assert_eq!(path.uplink(wanted, 1000, &mut hop), Ok(expected));
        // In an outage the delay to the user stays what it was.
        let gap = wanted + (back.since(wanted)) / 2;
        assert_eq!(hop.delay(gap), hop.delay(wanted));
        // Three of 1000 B fit, the fourth is lost; after the last service they wait for ever.
        for _ in 0..2 {
            assert_eq!(path.downlink(wanted, 1000), Ok(down));
        }
        assert_eq!(path.downlink(wanted, 1000), Err(PendingLoss { at: wanted, reason: PathLoss::NoRoute }));
        let (from, until) = *path.plan.outages().last().unwrap();
        assert_eq!(until, Time::MAX);
        assert_eq!(path.uplink(from + ms(1), 1000, &mut hop), Ok((Time::MAX, Time::MAX)));
        assert_eq!(path.stranded, 1);
    }
}
