//! The record of one flow while it runs.

use traffic::Listener;
use units::{Duration, Time};

use super::distribution::Distribution;
use super::drops::{Drops, Loss, Lost};
use super::order::OrderCounter;
use super::spurious::SpuriousCounter;
use crate::packet::{Head, Payload, Way};

/// Counts and averages of one flow; its size does not grow with time. What many flows never need is made when they do.
/// The fields stand in the order of memory, those that each packet touches first: a line of a processor's cache for
/// what is sent and acknowledged, one for delays, one for the rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowRecord {
    pub(crate) order: OrderCounter,
    pub(crate) sent_packets: u64,
    pub(crate) received_packets: u64,
    pub(crate) delay: DelayRecord,
    /// From the first loss or retransmission on.
    spurious: Option<Box<SpuriousCounter>>,
    pub(crate) first_delivery: Option<Time>,
    pub(crate) last_delivery: Time,
    pub(crate) window: TimeAverage,
    pub(crate) opened_at: Option<Time>,
    lost: Option<Box<Drops>>,
    pub(crate) marked_packets: u64,
    /// Datagrams of the application that were lost, forward and backward: a QUIC packet may have several.
    pub(crate) lost_datagrams: [u32; 2],
    /// From the first packet on whose wait in the queue of the last hop is noted.
    pub(crate) queue: Option<Box<QueueRecord>>,
    /// The listener to a voice.
    pub(crate) listener: Option<Box<Listener>>,
    /// Which kinds of [`access::Access`] its packets used.
    pub(crate) accessed: [bool; 2],
    /// Packets that were lost, with data or without, both ways.
    pub(crate) lost_of_all: u32,
}

impl FlowRecord {
    pub(crate) fn new(listener: Option<Listener>) -> FlowRecord {
        FlowRecord {
            sent_packets: 0,
            received_packets: 0,
            lost: None,
            marked_packets: 0,
            lost_datagrams: [0; 2],
            opened_at: None,
            first_delivery: None,
            last_delivery: Time::ZERO,
            accessed: [false; 2],
            lost_of_all: 0,
            delay: DelayRecord::default(),
            queue: None,
            window: TimeAverage::default(),
            spurious: None,
            order: OrderCounter::default(),
            listener: listener.map(Box::new),
        }
    }

    /// The segment at `sequence` is retransmitted: its data were sent `sent_before` times before. `received`: whether
    /// the receiver has them.
    pub(crate) fn on_retransmission(&mut self, sequence: u64, sent_before: u32, received: bool) {
        self.spurious.get_or_insert_default().on_retransmission(sequence, sent_before, received);
    }

    /// Whether a retransmitted segment is followed, so that arrivals must be told.
    #[inline(always)]
    pub(crate) fn follows(&self) -> bool {
        self.spurious.as_ref().is_some_and(|spurious| spurious.follows())
    }

    /// The segment at `sequence` arrives, whose data were sent `sent_before` times before. `received`: whether the
    /// receiver has had the data at a sequence before.
    pub(crate) fn on_segment(&mut self, sequence: u64, sent_before: u32, received: &dyn Fn(u64) -> bool) {
        if let Some(spurious) = &mut self.spurious {
            spurious.on_arrival(sequence, sent_before, received);
        }
    }

    /// The run ends; `received`: whether the receiver has the data at a sequence.
    pub(crate) fn end(&mut self, received: &dyn Fn(u64) -> bool) {
        if let Some(spurious) = &mut self.spurious {
            spurious.look(received);
        }
    }

    /// A packet is lost; of a segment also where its data stand and how often they were sent before.
    pub(crate) fn on_loss(&mut self, loss: Loss, segment: Option<(u64, u32)>) {
        self.lost.get_or_insert_default().count(loss);
        if let Some((sequence, sent_before)) = segment {
            self.spurious.get_or_insert_default().on_loss(sequence, sent_before);
        }
    }

    /// The datagrams in a packet are read: those of a voice are heard.
    pub(crate) fn on_datagrams(&mut self, now: Time, head: &Head, payload: &Payload) {
        if let Some(listener) = self.listener.as_mut().filter(|_| head.way == Way::Forward) {
            for number in payload.datagrams() {
                listener.handle_packet(number, payload.written(number, head.sent), now);
            }
        }
    }

    /// The datagrams in a packet are lost.
    pub(crate) fn on_lost_datagrams(&mut self, way: Way, payload: &Payload) {
        self.lost_datagrams[way as usize] += payload.datagrams().count() as u32;
        if let Some(listener) = self.listener.as_mut().filter(|_| way == Way::Forward) {
            payload.datagrams().for_each(|number| listener.handle_loss(number));
        }
    }

    /// Returns the number of the flow's packets that were lost.
    pub(crate) fn lost_packets(&self) -> u64 {
        self.lost.as_ref().map_or(0, |lost| lost.total())
    }

    /// Returns the flow's lost packets by column.
    pub(crate) fn lost(&self) -> Lost {
        self.lost.as_ref().map_or_else(Lost::default, |lost| lost.by_column())
    }

    /// The flow's retransmissions that were spurious.
    pub(crate) fn spurious(&self) -> u64 {
        self.spurious.as_ref().map_or(0, |spurious| spurious.count())
    }
}

/// One-way delays of the packets of a flow, in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct DelayRecord {
    /// From the first packet on for which there is no place in `early`.
    distribution: Option<Box<Distribution>>,
    /// Until then: the delays of the first packets in microseconds, each with 1 added, and 0 for none.
    early: [u32; EARLY],
    sum_s: f64,
    previous_s: f64,
    changes: Changes,
}

/// Differences between the delays of packets that arrive one after the other.
#[derive(Debug, Default)]
struct Changes {
    sum_s: f64,
    /// The interarrival jitter of RFC 3550 after the last packet, and its values added up.
    interarrival_s: f64,
    interarrival_sum_s: f64,
}

impl Changes {
    /// A delay differs by so much from the one before.
    #[inline(always)]
    fn add(&mut self, change_s: f64) {
        self.sum_s += change_s;
        self.interarrival_s += (change_s - self.interarrival_s) / 16.0;
        self.interarrival_sum_s += self.interarrival_s;
    }
}

/// Short flows have no more packets. Of fewer than 20 delays the 95th percentile is the greatest.
const EARLY: usize = 4;

impl DelayRecord {
    /// A packet sent at `sent` arrives at `now`.
    #[inline]
    pub(crate) fn add(&mut self, sent: Time, now: Time) {
        let delay = now.minus(sent); // it was sent before it came
        let seconds = delay.as_short_secs_f64();
        self.sum_s += seconds;
        let previous = std::mem::replace(&mut self.previous_s, seconds);
        let (micros, change) = (delay.as_nanos() / 1000, (seconds - previous).abs());
        if let Some(distribution) = &mut self.distribution {
            self.changes.add(change);
            distribution.add(micros);
        } else {
            self.add_early(micros, change);
        }
    }

    /// Adds a delay, and its `change` from the one before, while there is no distribution.
    #[inline(never)]
    fn add_early(&mut self, micros: u64, change: f64) {
        let known = self.early().count();
        if known > 0 {
            self.changes.add(change);
        }
        match (self.early.get_mut(known), u32::try_from(micros + 1)) {
            (Some(place), Ok(micros)) => *place = micros,
            _ => {
                let mut distribution = Box::<Distribution>::default();
                self.early().chain([micros]).for_each(|micros| distribution.add(micros));
                self.distribution = Some(distribution);
            }
        }
    }

    /// The delays of the first packets in microseconds.
    fn early(&self) -> impl Iterator<Item = u64> + use<> {
        self.early.into_iter().take_while(|&micros| micros > 0).map(|micros| u64::from(micros - 1))
    }

    fn packets(&self) -> u64 {
        self.distribution.as_ref().map_or_else(|| self.early().count() as u64, |distribution| distribution.len())
    }

    pub(crate) fn mean_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 0).then(|| self.sum_s / packets as f64)
    }

    /// Returns the 95th and the 99th percentile.
    pub(crate) fn percentiles_s(&self) -> [Option<f64>; 2] {
        let micros = match &self.distribution {
            Some(distribution) => distribution.percentiles([0.95, 0.99]),
            None => [self.early().max(); 2],
        };
        micros.map(|micros| Some(micros? as f64 / 1e6))
    }

    /// Mean of the absolute difference between the delays of packets that arrive one after the other.
    pub(crate) fn jitter_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 1).then(|| self.changes.sum_s / (packets - 1) as f64)
    }

    /// The interarrival jitter of RFC 3550 section 6.4.1, J += (|D| - J) / 16, mean over the packets.
    pub(crate) fn interarrival_jitter_s(&self) -> Option<f64> {
        let packets = self.packets();
        (packets > 1).then(|| self.changes.interarrival_sum_s / (packets - 1) as f64)
    }
}

/// How long packets of a flow waited in the queue of the last hop.
#[derive(Debug, Default)]
pub(crate) struct QueueRecord {
    distribution: Distribution,
    sum: Duration,
    last: Duration,
}

impl QueueRecord {
    pub(crate) fn add(&mut self, waited: Duration) {
        self.distribution.add(waited.as_nanos() / 1000);
        self.sum += waited;
        self.last = waited;
    }

    pub(crate) fn mean_s(&self) -> f64 {
        self.sum.as_secs_f64() / self.distribution.len().max(1) as f64
    }

    /// Returns the wait that this share of the packets did not exceed, to three digits.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        self.distribution.quantile(share).map(|micros| micros as f64 * 1e-6)
    }

    /// Returns the wait of the packet that left last, in seconds.
    pub(crate) fn last_s(&self) -> f64 {
        self.last.as_secs_f64()
    }
}

/// The average over time of a value that holds until it changes.
#[derive(Debug)]
pub(crate) struct TimeAverage {
    /// When it had its first value; [`Time::MAX`] before.
    since: Time,
    value: f64,
    value_from: Time,
    integral: f64,
}

impl Default for TimeAverage {
    fn default() -> TimeAverage {
        TimeAverage { since: Time::MAX, value: 0.0, value_from: Time::ZERO, integral: 0.0 }
    }
}

impl TimeAverage {
    /// The quantity is `value` from `now` on.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, value: f64) {
        if self.since == Time::MAX {
            self.since = now;
        } else if value == self.value {
            return;
        } else {
            self.integral += self.value * now.since(self.value_from).as_secs_f64();
        }
        (self.value, self.value_from) = (value, now);
    }

    /// Since when the averaged quantity has its value.
    pub(crate) fn value_from(&self) -> Time {
        self.value_from
    }

    /// The average until `now`, which is not before [`TimeAverage::value_from`]; `None` before the first value.
    pub(crate) fn mean(&self, now: Time) -> Option<f64> {
        if self.since == Time::MAX {
            return None;
        }
        let seconds = now.since(self.since).as_secs_f64();
        let integral = self.integral + self.value * now.since(self.value_from).as_secs_f64();
        Some(if seconds > 0.0 { integral / seconds } else { self.value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_that_arrived_last_is_looked_at_when_the_run_ends() {
        for (taken, spurious) in [(true, 1), (false, 0)] {
            let mut record = FlowRecord::new(None);
            record.on_retransmission(1, 1, false);
            record.on_segment(1, 0, &|_| unreachable!("nothing has arrived before"));
            record.end(&|_| taken);
            assert_eq!(record.spurious(), spurious);
        }
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn a_time_average_weighs_values_by_how_long_they_held() {
        let mut average = TimeAverage::default();
        assert_eq!(average.mean(at(1.0)), None);
        average.set(at(1.0), 10.0);
        average.set(at(2.0), 40.0);
        average.set(at(3.0), 40.0);
        assert_eq!(average.mean(at(4.0)), Some(30.0));
    }

    #[test]
    fn jitter_is_the_mean_change_between_arrivals() {
        let mut delays = DelayRecord::default();
        for (sent, arrived) in [(0.0, 0.1), (1.0, 1.3), (2.0, 2.1)] {
            delays.add(at(sent), at(arrived));
        }
        assert!((delays.jitter_s().unwrap() - 0.2).abs() < 1e-12);
        // Changes of 0.2 s twice: J is 0.2 / 16, then 0.2 / 16 more of what is missing.
        let first = 0.2 / 16.0;
        let second = first + (0.2 - first) / 16.0;
        assert!((delays.interarrival_jitter_s().unwrap() - (first + second) / 2.0).abs() < 1e-12);
        assert!((delays.mean_s().unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert!((delays.percentiles_s()[0].unwrap() - 0.3).abs() < 1e-3);
    }

    #[test]
    fn an_idle_flow_costs_little() {
        assert!(size_of::<FlowRecord>() <= 256, "{} bytes", size_of::<FlowRecord>());
    }
}
