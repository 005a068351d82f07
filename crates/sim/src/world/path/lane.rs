//! One direction of the path: the room in which packets wait for a route, and the links that they cross one after the
//! other.

use orbit::{HopConfig, PathConfig};
use units::{BitRate, Bytes, Time};

use super::super::pending_losses::PendingLoss;
use crate::record::drops::PathLoss;

/// See the module.
pub(super) struct Lane {
    /// How much may wait for a route; nothing does if they are dropped.
    room: Option<Bytes>,
    /// When the route comes back for which packets wait, and how many bytes they have.
    waiting: (Time, u64),
    rate: Option<BitRate>,
    buffer: Option<Bytes>,
    /// When each link, by its index on the route, has sent what it has to send.
    free_at: Vec<Time>,
}

impl Lane {
    pub(super) fn new(config: &PathConfig) -> Lane {
        let HopConfig { rate, buffer, .. } = config.entry().hops();
        let room = config.entry().no_route().entry().buffer();
        Lane { room, waiting: (Time::ZERO, 0), rate, buffer, free_at: Vec::new() }
    }

    /// Whether links take time to send a packet.
    #[inline]
    pub(super) fn has_queues(&self) -> bool {
        self.rate.is_some()
    }

    /// Whether the buffers of the links have an end.
    pub(super) fn has_buffers(&self) -> bool {
        self.buffer.is_some()
    }

    /// A packet waits for the route that comes back at `resumes`.
    ///
    /// # Errors
    /// There is no room.
    pub(super) fn wait(&mut self, resumes: Time, bytes: u32) -> Result<(), PathLoss> {
        let Some(room) = self.room else { return Err(PathLoss::NoRoute) };
        if self.waiting.0 != resumes {
            self.waiting = (resumes, 0);
        }
        let together = self.waiting.1 + u64::from(bytes);
        if together > room.get() {
            return Err(PathLoss::NoRoute);
        }
        self.waiting.1 = together;
        Ok(())
    }

    /// When a packet that enters at `now` has been sent by the last of `links` links, their propagation aside: each
    /// sends one packet after the other, in the order in which they enter the path.
    ///
    /// # Errors
    /// More waits before one of the links than may.
    pub(super) fn cross(&mut self, now: Time, bytes: u32, links: usize) -> Result<Time, PendingLoss> {
        let Some(rate) = self.rate else { return Ok(now) };
        if self.free_at.len() < links {
            self.free_at.resize(links, Time::ZERO);
        }
        let takes = rate.tx_time(u64::from(bytes) * 8);
        let mut at = now;
        for free_at in &mut self.free_at[..links] {
            let wait = free_at.since(at);
            let waiting = wait.as_secs_f64() * rate.as_bps() as f64 / 8.0;
            if self.buffer.is_some_and(|buffer| waiting + f64::from(bytes) > buffer.get() as f64 + 0.5) {
                return Err(PendingLoss { at, reason: PathLoss::Overflow });
            }
            at = at + wait + takes;
            *free_at = at;
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Duration;

    fn lane(toml: &str) -> Lane {
        let text = format!(
            "kind = \"constellation\"\nconstellation = \"leo-66\"\n\
             source = {{ latitude = \"0 deg\", longitude = \"0 deg\" }}\n\
             user = {{ latitude = \"0 deg\", longitude = \"90 deg\" }}\n{toml}"
        );
        let config: PathConfig = toml::from_str(&text).unwrap();
        config.entry().check().unwrap();
        Lane::new(&config)
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn each_link_sends_a_packet_after_the_one_before() {
        // 1000 B at 8 Mbit/s take a millisecond.
        let mut lane = lane("hops = { rate = \"8 Mbit/s\" }");
        assert_eq!(lane.cross(at(0), 1000, 3), Ok(at(3000)), "three links");
        assert_eq!(lane.cross(at(0), 1000, 3), Ok(at(4000)), "waits before the first alone");
        assert_eq!(lane.cross(at(0), 2000, 3), Ok(at(8000)));
        // Behind a large one a small one waits at every link: 4 to 5, until 6 to 6.5, until 8 to 8.5.
        assert_eq!(lane.cross(at(0), 500, 3), Ok(at(8500)));
        assert_eq!(lane.cross(at(20_000), 1000, 1), Ok(at(21_000)));
    }

    #[test]
    fn what_finds_the_buffer_full_is_lost() {
        let mut lane = lane("hops = { rate = \"8 Mbit/s\", buffer = \"3000 B\" }");
        let fates: Vec<_> = (0..5).map(|_| lane.cross(at(0), 1000, 1)).collect();
        let full = Err(PendingLoss { at: at(0), reason: PathLoss::Overflow });
        let expected = [Ok(at(1000)), Ok(at(2000)), Ok(at(3000)), full, full];
        assert_eq!(fates, expected);
        assert_eq!(lane.cross(at(1000), 1000, 1), Ok(at(4000)), "a place is free");
        // A long packet holds the second of three links, which the short ones behind it fill.
        let mut lane = self::lane("hops = { rate = \"8 Mbit/s\", buffer = \"3000 B\" }");
        lane.free_at = vec![at(0), at(3500), at(0)];
        let full = PendingLoss { at: at(1000), reason: PathLoss::Overflow };
        assert_eq!(lane.cross(at(0), 1000, 3), Err(full), "when it has been sent by the first");
    }

    #[test]
    fn waits_for_a_route_if_there_is_room() {
        assert_eq!(lane("").wait(at(5), 1), Err(PathLoss::NoRoute));
        let mut lane = lane("no_route = { kind = \"queue\", buffer = \"1500 B\" }");
        assert_eq!(lane.wait(at(5), 1000), Ok(()));
        assert_eq!(lane.wait(at(5), 501), Err(PathLoss::NoRoute));
        assert_eq!(lane.wait(at(5), 500), Ok(()));
        assert_eq!(lane.wait(at(9), 1500), Ok(()), "another outage");
    }

    proptest! {
        /// Lindley's recursion, link by link.
        #[test]
        fn is_a_tandem_of_queues(
            packets in prop::collection::vec((0u64..5_000, 40u32..1500), 1..60),
            links in 1usize..5,
        ) {
            let mut lane = lane("hops = { rate = \"3 Mbit/s\" }");
            let rate = lane.rate.unwrap();
            let mut now = 0;
            let mut entries = Vec::new();
            let mut left = Vec::new();
            for &(gap, bytes) in &packets {
                now += gap;
                entries.push(at(now));
                left.push(lane.cross(at(now), bytes, links).unwrap());
            }
            let mut times = entries;
            for _ in 0..links {
                let mut free = Time::ZERO;
                for (time, &(_, bytes)) in times.iter_mut().zip(&packets) {
                    free = free.max(*time) + rate.tx_time(u64::from(bytes) * 8);
                    *time = free;
                }
            }
            prop_assert_eq!(left, times);
        }
    }
}
