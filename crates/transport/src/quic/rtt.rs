//! Round-trip times (RFC 9002 section 5): from sending the largest packet that an acknowledgment is the first to
//! acknowledge, whatever that packet carries, to the acknowledgment.

use std::collections::VecDeque;

use units::{Duration, Time};

use super::frames::{Acknowledgment, Packet};

/// The delays of acknowledgments are told in units of 2³ microseconds (RFC 9000 section 18.2).
const ACK_DELAY_UNIT: Duration = Duration::from_micros(8);

/// The estimate of the round-trip time, and what its next samples are made of.
#[derive(Debug, Default)]
pub(super) struct Rtt {
    pub smoothed: Option<Duration>,
    pub variation: Duration,
    pub min: Option<Duration>,
    pub latest: Duration,
    pub samples: u64,
    pub sum: Duration,
    /// The most that an acknowledgment may have been delayed.
    max_ack_delay: Duration,
    spaces: [Space; 3],
    /// Acknowledgments with a new largest packet, in the datagram that the library is reading.
    read: Vec<(u64, Time, Duration)>,
}

/// The packets of a space of numbers (RFC 9000 section 12.3).
#[derive(Debug, Default)]
struct Space {
    next: u64,
    largest: Option<u64>,
    /// Those above the largest that was acknowledged, and when they were sent.
    sent: VecDeque<(u64, Time)>,
}

impl Rtt {
    pub fn new(max_ack_delay: Duration) -> Rtt {
        Rtt { max_ack_delay, ..Rtt::default() }
    }

    /// Goes on counting the samples of the connection before.
    pub fn follow(&mut self, before: &Rtt) {
        (self.samples, self.sum) = (before.samples, before.sum);
    }

    /// Estimates anew: what was sent before went over another path (RFC 9000 section 9.4).
    pub fn begin_anew(&mut self) {
        let Rtt { samples, sum, max_ack_delay, spaces, .. } = std::mem::take(self);
        *self = Rtt { samples, sum, max_ack_delay, spaces, ..Rtt::default() };
        self.spaces.iter_mut().for_each(|space| space.sent.clear());
    }

    /// A packet goes out.
    pub fn send(&mut self, now: Time, packet: &Packet) {
        let space = &mut self.spaces[packet.kind.space()];
        let number = packet.full_number(space.next);
        space.next = number + 1;
        space.sent.push_back((number, now));
    }

    /// A datagram arrives with these acknowledgments, one for each space of numbers that has one.
    pub fn read(&mut self, acknowledgments: &[Option<Acknowledgment>; 3]) {
        self.read.clear();
        for ((index, space), acknowledgment) in self.spaces.iter_mut().enumerate().zip(acknowledgments) {
            let Some(Acknowledgment { largest, delay }) = *acknowledgment else { continue };
            if space.largest.is_some_and(|known| largest <= known) {
                continue;
            }
            space.largest = Some(largest);
            let settled = space.sent.partition_point(|&(number, _)| number <= largest);
            let last = space.sent.drain(..settled).next_back();
            // Acknowledgments of the handshake are not delayed.
            let delay = if index < 2 { Duration::ZERO } else { (ACK_DELAY_UNIT * delay).min(self.max_ack_delay) };
            self.read.extend(last.filter(|&(number, _)| number == largest).map(|(number, at)| (number, at, delay)));
        }
    }

    /// The library has settled an acknowledgment after which `largest` is the largest of its space, and of which
    /// packets were new that ask for one. Returns the sample, if it gives one.
    pub fn sample(&mut self, now: Time, largest: Option<u64>) -> Option<Duration> {
        let index = self.read.iter().position(|&(number, ..)| Some(number) == largest)?;
        let (_, sent, delay) = self.read.drain(..=index).next_back()?;
        let sample = now.since(sent);
        self.add(sample, delay);
        Some(sample)
    }

    /// Takes a sample, whose acknowledgment was delayed by `delay` (RFC 9002 section 5.3).
    fn add(&mut self, sample: Duration, delay: Duration) {
        self.latest = sample;
        self.samples += 1;
        self.sum += sample;
        let min = self.min.map_or(sample, |min| min.min(sample));
        self.min = Some(min);
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.variation) = (Some(sample), sample / 2);
            return;
        };
        let adjusted = if sample >= min + delay { sample.saturating_sub(delay) } else { sample };
        let deviation = smoothed.max(adjusted).saturating_sub(smoothed.min(adjusted));
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = Some((smoothed * 7 + adjusted) / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::PacketKind;
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn acknowledge(rtt: &mut Rtt, millis: u64, largest: u64, delay_ms: u64) -> Option<u64> {
        rtt.read(&[None, None, Some(Acknowledgment { largest, delay: delay_ms * 125 })]);
        rtt.sample(at(millis), Some(largest)).map(|sample| sample.as_nanos() / 1_000_000)
    }

    fn send(rtt: &mut Rtt, millis: u64, number: u64) {
        rtt.send(at(millis), &Packet::numbered(PacketKind::OneRtt, number, 0));
    }

    #[test]
    fn the_largest_packet_is_timed_and_only_once() {
        let mut rtt = Rtt::new(Duration::from_millis(25));
        for (millis, number) in [(0, 0), (10, 1), (20, 2)] {
            send(&mut rtt, millis, number);
        }
        assert_eq!(acknowledge(&mut rtt, 100, 1, 0), Some(90));
        assert_eq!(acknowledge(&mut rtt, 110, 1, 0), None, "it tells of packet 0");
        rtt.read(&[None, None, Some(Acknowledgment { largest: 2, delay: 0 })]);
        rtt.read(&[None; 3]);
        assert_eq!(rtt.sample(at(130), Some(2)), None, "the next datagram has no acknowledgment");
        assert_eq!((rtt.samples, rtt.latest), (1, Duration::from_millis(90)));
    }

    /// Packets of the handshake have numbers of their own, and their acknowledgments no delay.
    #[test]
    fn each_space_of_numbers_gives_its_own_samples() {
        let mut rtt = Rtt::new(Duration::from_millis(25));
        rtt.send(at(0), &Packet::numbered(PacketKind::Initial, 0, 0));
        rtt.send(at(30), &Packet::numbered(PacketKind::Handshake, 0, 0));
        let acknowledgment = Some(Acknowledgment { largest: 0, delay: 1250 });
        rtt.read(&[acknowledgment, acknowledgment, None]);
        assert_eq!(rtt.sample(at(100), Some(0)), Some(Duration::from_millis(100)));
        assert_eq!(rtt.sample(at(100), Some(0)), Some(Duration::from_millis(70)));
        assert_eq!((rtt.sample(at(100), Some(0)), rtt.smoothed), (None, Some(Duration::from_micros(96_250))));
    }

    /// RFC 9002 section 5.3, by hand.
    #[test]
    fn the_acknowledgments_delay_is_taken_from_what_is_smoothed() {
        let mut rtt = Rtt::new(Duration::from_millis(25));
        let millis = |duration: Duration| duration.as_nanos() as f64 / 1e6;
        for (number, (sent, arrived, delay)) in
            [(0, 40, 25), (100, 150, 10), (200, 280, 60), (300, 345, 10)].into_iter().enumerate()
        {
            send(&mut rtt, sent, number as u64);
            acknowledge(&mut rtt, arrived, number as u64, delay);
        }
        // 40; 50 − 10; 80 − 25, the most; 45, from which 10 would leave less than the least.
        let (mut smoothed, mut variation) = (40.0, 20.0);
        for adjusted in [40.0, 55.0, 45.0] {
            variation = 0.75 * variation + 0.25 * f64::abs(smoothed - adjusted);
            smoothed = 0.875 * smoothed + 0.125 * adjusted;
        }
        assert!((millis(rtt.smoothed.unwrap()) - smoothed).abs() < 1e-5, "{rtt:?}");
        assert!((millis(rtt.variation) - variation).abs() < 1e-5, "{rtt:?}");
        assert_eq!((rtt.min, millis(rtt.sum)), (Some(Duration::from_millis(40)), 215.0));
    }

    #[test]
    fn packets_of_the_path_before_give_no_sample() {
        let mut rtt = Rtt::new(Duration::from_millis(25));
        send(&mut rtt, 0, 0);
        rtt.begin_anew();
        send(&mut rtt, 10, 1);
        assert_eq!(acknowledge(&mut rtt, 100, 0, 0), None);
        assert_eq!(acknowledge(&mut rtt, 110, 1, 0), Some(100));
    }
}
