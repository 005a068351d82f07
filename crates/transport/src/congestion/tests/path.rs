//! One bottleneck: a queue before a link, and a delay. The sender of this model finds losses by three later deliveries.

use std::collections::VecDeque;

use super::super::{LostSegment, RateSample};
use super::*;

/// A segment in flight.
#[derive(Clone, Copy)]
struct Packet {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    tx_in_flight: u32,
    app_limited: bool,
    /// When its acknowledgment comes; `None` if it was dropped.
    acked: Option<Time>,
    dummy: bool,
}

/// A path with a sender that has data as `app_limit` allows.
pub(super) struct Path {
    pub rig: Rig,
    pub now: Time,
    /// Segments per second of the bottleneck, its queue in segments, and the delay of the rest.
    pub rate: f64,
    pub capacity: u32,
    pub rtt: Duration,
    /// Dummies are dropped while so many segments wait.
    pub dummy_capacity: u32,
    /// Each so many-th segment is lost on the way.
    pub loss_period: Option<u64>,
    /// Segments per second of the application.
    pub app_limit: Option<f64>,
    /// Acknowledgments of so many segments arrive together.
    pub aggregate: u32,
    pub losses: u64,
    pub sent: u64,
    pub dummies: u64,
    pub timeouts: u64,
    pub state: CongestionState,
    /// Each segment delivered, with the window then.
    pub log: Vec<(Time, u32)>,
    packets: VecDeque<Packet>,
    busy: Time,
    pace: Time,
    last_sent: Time,
    delivered: u64,
    lost_total: u64,
    delivered_at: Time,
    first_sent_at: Time,
    in_flight: u32,
    /// The recovery ends when what was sent before is delivered.
    recovery: u64,
    srtt: Duration,
    min_rtt: Duration,
    entropy: u64,
    mark_limited: u64,
    /// The window was full until what was sent by then is delivered.
    full_until: u64,
}

impl Path {
    /// A bottleneck of `rate` segments per second with a queue of `capacity`, on a path of `rtt` milliseconds.
    pub(super) fn new(config: &dyn Kind, rate: u32, rtt: u64, capacity: u32) -> Path {
        let rtt = Duration::from_millis(rtt);
        let mut path = Path {
            rig: Rig::new(config.build(start(10))),
            now: Time::ZERO + rtt,
            rate: f64::from(rate),
            capacity,
            rtt,
            dummy_capacity: 4,
            loss_period: None,
            app_limit: None,
            aggregate: 1,
            losses: 0,
            sent: 0,
            dummies: 0,
            timeouts: 0,
            state: CongestionState::Open,
            log: Vec::new(),
            packets: VecDeque::new(),
            busy: Time::ZERO,
            pace: Time::ZERO,
            last_sent: Time::ZERO,
            delivered: 0,
            lost_total: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            in_flight: 0,
            recovery: 0,
            srtt: rtt,
            min_rtt: rtt,
            entropy: 0,
            mark_limited: 0,
            full_until: 0,
        };
        path.rig.tell(path.now, Event::Established { srtt: rtt });
        path
    }

    pub(super) fn run(&mut self, until: f64) {
        let end = Time::from_secs_f64(until);
        loop {
            self.transmit();
            let ack = self.next_ack().unwrap_or(Time::MAX);
            let timer = self.rig.timer().unwrap_or(Time::MAX);
            let waits = self.in_flight < self.window().size && !self.window().holds;
            let pace = if waits { self.pace.max(self.data_at()) } else { Time::MAX };
            // Everything in flight is lost: the retransmission timer.
            let silent = self.packets.iter().all(|packet| packet.acked.is_none()) && self.in_flight > 0;
            let rto = if silent { self.delivered_at + Duration::from_secs(1) } else { Time::MAX };
            let next = ack.min(timer).min(pace).min(rto);
            if next > end {
                self.now = end;
                return;
            }
            assert!(next >= self.now || next == pace, "time goes on");
            self.now = self.now.max(next);
            if timer <= self.now {
                self.rig.handle_timeout(self.now, self.in_flight);
            }
            if ack <= self.now {
                self.receive();
            } else if rto <= self.now {
                self.time_out();
            }
        }
    }

    pub(super) fn window(&self) -> Window {
        self.rig.window()
    }

    fn tell(&mut self, event: Event) {
        self.rig.tell(self.now, event);
    }

    /// Segments waiting in the queue now.
    pub(super) fn queue(&self) -> u32 {
        (self.busy.since(self.now).as_secs_f64() * self.rate).round() as u32
    }

    /// Segments delivered per second from `since` seconds on.
    pub(super) fn rate_since(&self, since: f64) -> f64 {
        let from = Time::from_secs_f64(since);
        let count = self.log.iter().filter(|(at, _)| *at >= from).count();
        count as f64 / self.now.since(from).as_secs_f64()
    }

    /// Segments lost for each sent.
    pub(super) fn loss_rate(&self) -> f64 {
        self.losses as f64 / self.sent as f64
    }

    fn data_at(&self) -> Time {
        self.app_limit.map_or(self.now, |rate| self.last_sent + Duration::from_secs_f64(1.0 / rate))
    }

    fn transmit(&mut self) {
        while self.in_flight < self.window().size && !self.window().holds {
            if self.data_at() > self.now {
                self.mark_limited = self.delivered + u64::from(self.in_flight.max(1));
                break;
            }
            if self.rig.controller.pacing_rate().is_some() && self.pace > self.now {
                break;
            }
            self.send(false);
        }
        if self.in_flight >= self.window().size {
            self.full_until = self.delivered + u64::from(self.in_flight);
        }
        while self.rig.probes.take() {
            self.dummies += 1;
            self.send(true);
        }
    }

    fn send(&mut self, dummy: bool) {
        let backlog = self.queue();
        let random = self.loss_period.is_some_and(|period| {
            self.entropy += 1;
            self.entropy.is_multiple_of(period)
        });
        // Dummies find room where less waits.
        let dropped = random || backlog >= if dummy { self.dummy_capacity } else { self.capacity };
        let mut acked = None;
        if !dropped {
            self.busy = self.busy.max(self.now) + Duration::from_secs_f64(1.0 / self.rate);
            acked = Some(self.busy + self.rtt);
        }
        if !dummy {
            if self.in_flight == 0 {
                self.tell(Event::Starts { app_limited: true, last_sent: None });
                (self.first_sent_at, self.delivered_at) = (self.now, self.now);
            }
            self.in_flight += 1;
            self.sent += 1;
            self.last_sent = self.now;
            self.losses += u64::from(dropped);
            if let Some(rate) = self.rig.controller.pacing_rate() {
                self.pace = self.pace.max(self.now) + rate.tx_time(u64::from(MSS) * 8);
            }
        }
        self.packets.push_back(Packet {
            sent: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost_total,
            tx_in_flight: self.in_flight,
            app_limited: self.delivered < self.mark_limited,
            acked,
            dummy,
        });
        if !dummy {
            self.tell(Event::Sent { in_flight: self.in_flight });
        }
    }

    fn next_ack(&self) -> Option<Time> {
        let mut acks = self.packets.iter().filter_map(|packet| packet.acked);
        let first = acks.next()?;
        Some(acks.take(self.aggregate as usize - 1).last().unwrap_or(first).max(first))
    }

    /// What has arrived by now, a segment for each acknowledgment unless they are aggregated.
    fn receive(&mut self) {
        let before = self.in_flight;
        let (mut delivered, mut newest) = (0, None);
        let mut dropped = VecDeque::new();
        while let Some(packet) = self.packets.pop_front() {
            match packet.acked {
                None => dropped.push_back(packet),
                Some(at) if at > self.now => {
                    self.packets.push_front(packet);
                    break;
                }
                Some(_) if packet.dummy => {
                    self.tell(Event::ProbeAcked { state: self.state });
                    break;
                }
                Some(_) => {
                    delivered += 1;
                    newest = Some(packet);
                    if delivered >= self.aggregate {
                        break;
                    }
                }
            }
        }
        // Dropped segments before what has arrived: lost once three later ones were delivered.
        let threshold = self.delivered + u64::from(delivered);
        let (mut lost, mut waiting) = (0, VecDeque::new());
        for packet in dropped {
            if packet.dummy {
                continue;
            }
            if newest.is_none() {
                waiting.push_back(packet);
            } else if threshold >= packet.delivered + u64::from(packet.tx_in_flight) + 2 || delivered >= 3 {
                lost += self.lose(packet);
            } else {
                waiting.push_back(packet);
            }
        }
        while let Some(packet) = waiting.pop_back() {
            self.packets.push_front(packet);
        }
        if let Some(newest) = newest {
            self.acknowledge(before, delivered, lost, newest);
        }
    }

    fn lose(&mut self, packet: Packet) -> u32 {
        self.lost_total += 1;
        self.in_flight -= 1;
        let lost_since = (self.lost_total - packet.lost) as u32;
        let lost = LostSegment { tx_in_flight: packet.tx_in_flight, lost_since, app_limited: packet.app_limited };
        self.tell(Event::Lost(lost));
        1
    }

    fn acknowledge(&mut self, before: u32, delivered: u32, lost: u32, newest: Packet) {
        self.delivered += u64::from(delivered);
        self.in_flight -= delivered;
        (0..delivered).for_each(|_| self.log.push((self.now, self.window().size)));
        let rtt = self.now.since(newest.sent);
        self.srtt = self.srtt.mul_f64(0.875) + rtt.mul_f64(0.125);
        self.min_rtt = self.min_rtt.min(rtt);
        let interval = newest.sent.since(newest.first_sent_at).max(self.now.since(newest.delivered_at));
        self.delivered_at = self.now;
        self.first_sent_at = newest.sent;
        let rate = RateSample {
            delivered: (self.delivered - newest.delivered) as u32,
            lost: (self.lost_total - newest.lost) as u32,
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            interval: (interval >= self.min_rtt).then_some(interval),
            app_limited: newest.app_limited,
            retransmitted: false,
        };
        self.move_state(lost);
        let half_full = self.window().size < before.saturating_mul(2);
        let sample = AckSample {
            lost,
            delivered_total: self.delivered,
            lost_total: self.lost_total,
            in_flight_before: before,
            in_flight: self.in_flight,
            una: self.delivered * u64::from(MSS) + 1,
            nxt: (self.delivered + u64::from(self.in_flight)) * u64::from(MSS) + 1,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            rate: Some(rate),
            window_limited: before >= self.window().size || self.window().in_slow_start() && half_full,
            window_full: self.delivered - u64::from(delivered) < self.full_until,
            state: self.state,
            may_grow: self.state == CongestionState::Open,
            ..sample(self.now, delivered, rtt)
        };
        self.rig.acknowledge(&sample);
        assert!(self.window().size >= 1);
    }

    fn move_state(&mut self, lost: u32) {
        if self.state != CongestionState::Open && self.delivered >= self.recovery {
            self.state = CongestionState::Open;
            if !self.rig.needs.drives {
                self.rig.window_mut().size = self.window().threshold;
                self.tell(Event::Recovered);
            }
        }
        if lost > 0 && self.state == CongestionState::Open {
            self.begin(Cause::Loss);
            self.state = CongestionState::Recovery;
        }
    }

    fn begin(&mut self, cause: Cause) {
        let congestion = Congestion {
            now: self.now,
            cause,
            from: self.window().size,
            in_flight: self.in_flight,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            mss: MSS,
        };
        self.rig.reduce(congestion);
        self.recovery = self.delivered + u64::from(self.in_flight);
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        self.begin(Cause::Timeout);
        let lost: Vec<Packet> = self.packets.drain(..).filter(|packet| !packet.dummy).collect();
        for packet in lost {
            self.lose(packet);
        }
        self.state = CongestionState::Loss;
        self.recovery = self.delivered + 1;
        self.delivered_at = self.now;
        self.rig.collapse(self.now);
    }
}
