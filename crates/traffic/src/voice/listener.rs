//! The listener: plays the packets that arrive in time and rates the call.

use units::{Duration, Time};

use super::emodel::{self, Parameters};
use super::losses::LossPattern;
use super::playout::{Buffer, Playout};

/// The receiving end of a voice flow: a play-out buffer, and the E-model over what was played. It remembers no packet
/// for longer than 1 024 others.
#[derive(Debug)]
pub struct Listener {
    /// The time between packets of one talk-spurt.
    interval: Duration,
    /// The codec's delay.
    coding_delay: Duration,
    buffer: Box<dyn Buffer>,
    current: Option<TalkSpurt>,
    previous: Option<TalkSpurt>,
    /// The last sent packet among those that arrived, and when it was sent.
    newest: (u64, Time),
    talk_spurts: u64,
    received: u64,
    lost: u64,
    late: u64,
    pattern: LossPattern,
    /// Sum over the played packets of the time from sending to playing.
    played_delay: Duration,
    parameters: Parameters,
}

/// Packets that are played at the intervals at which they were sent.
#[derive(Clone, Copy, Debug)]
struct TalkSpurt {
    /// The earliest known packet of the talk-spurt, and when it was sent.
    first: u64,
    sent: Time,
    /// The time from sending to playing.
    delay: Duration,
}

units::report! {
    /// The listener's experience of a call.
    #[derive(Copy)]
    pub struct VoiceQuality {
        /// Packets that arrived, the late ones included: those of the flow; of datagrams in QUIC, of which one of its
        /// packets may carry several, the datagrams.
        received_packets: u64,
        /// Packets that arrived after they should have been played: `lost_late` of the flow.
        late_packets: u64,
        /// Packets that did not arrive.
        lost_packets: u64,
        /// Share of packets not played: lost on the way or late.
        loss_ratio: f64,
        /// Mean length of runs of packets not played, over that of random loss of the same share (G.107's BurstR); 1 if
        /// none was lost.
        (units::report::NEVER_NEGATIVE) burst_ratio: f64,
        /// Talk-spurts heard.
        talk_spurts: u64,
        /// Mean time from the application's write of a packet to playing it; `null` if none was played.
        playout_delay_s: Option<f64>,
        /// This delay, with that of codec and packet: Ta of the E-model.
        mouth_to_ear_s: Option<f64>,
        /// Rating R of the E-model (ITU-T G.107), from which `mos` follows: 93.2 is an ideal narrowband call, before
        /// the advantage factor; 0 if nothing was played.
        r_factor: f64,
        /// [Mean opinion score](models/voice-quality.md) of the conversation, 1 to 4.5: that of the flow.
        ([1.0, 4.5]) mos: f64,
    }
}

impl Listener {
    pub(crate) fn new(
        interval: Duration,
        coding_delay: Duration,
        playout: &Playout,
        parameters: Parameters,
    ) -> Listener {
        Listener {
            interval,
            coding_delay,
            buffer: playout.entry().build(),
            current: None,
            previous: None,
            newest: (0, Time::ZERO),
            talk_spurts: 0,
            received: 0,
            lost: 0,
            late: 0,
            pattern: LossPattern::default(),
            played_delay: Duration::ZERO,
            parameters,
        }
    }

    /// Packet number `sequence` of the flow (from 0), sent at `sent`, has arrived at `now`. Numbers may come in any
    /// order, each once.
    pub fn handle_packet(&mut self, sequence: u64, sent: Time, now: Time) {
        let delay = now.since(sent);
        self.buffer.handle_packet(delay);
        self.received += 1;
        let allowed = self.playout_delay(sequence, sent);
        if delay > allowed || !self.pattern.play(sequence) {
            self.late += 1;
            self.pattern.pass(sequence);
        } else {
            self.played_delay += allowed;
        }
    }

    /// The network lost packet number `sequence`.
    pub fn handle_loss(&mut self, sequence: u64) {
        self.lost += 1;
        self.pattern.lose(sequence);
    }

    /// Packet number `sequence` is in flight at the end of the run.
    pub fn leave_out(&mut self, sequence: u64) {
        self.pattern.leave_out(sequence);
    }

    /// The quality of the call; `None` if no packet arrived or was lost.
    ///
    /// Packets in flight are neither lost nor received ([`Listener::leave_out`]).
    pub fn quality(&self) -> Option<VoiceQuality> {
        let accounted = self.received + self.lost;
        if accounted == 0 {
            return None;
        }
        let played = self.received - self.late;
        let loss_ratio = (self.lost + self.late) as f64 / accounted as f64;
        let burst_ratio = self.pattern.burst_ratio();
        let playout_delay_s = (played > 0).then(|| self.played_delay.as_secs_f64() / played as f64);
        let mouth_to_ear_s = playout_delay_s.map(|delay| delay + self.coding_delay.as_secs_f64());
        let delay_ms = mouth_to_ear_s.unwrap_or(0.0) * 1e3;
        // Without a played packet there is no delay to rate, and the loss alone would give a wrong rating: R is 0.
        let nothing = played == 0;
        let r_factor = if nothing {
            0.0
        } else {
            emodel::r_factor(&Parameters {
                delay_ms,
                echo_delay_ms: delay_ms,
                loop_delay_ms: 2.0 * delay_ms,
                loss_percent: loss_ratio * 100.0,
                burst_ratio: burst_ratio.max(1.0), // G.107 has none below
                ..self.parameters
            })
        };
        Some(VoiceQuality {
            received_packets: self.received,
            late_packets: self.late,
            lost_packets: self.lost,
            loss_ratio,
            burst_ratio,
            talk_spurts: self.talk_spurts,
            playout_delay_s,
            mouth_to_ear_s,
            r_factor,
            mos: emodel::mos(r_factor),
        })
    }

    /// The time from sending to playing of this packet.
    fn playout_delay(&mut self, sequence: u64, sent: Time) -> Duration {
        let Some(current) = self.current else {
            return self.begin_talk_spurt(sequence, sent);
        };
        let (newest, newest_sent) = self.newest;
        if sequence > newest {
            if self.is_pause(sent.since(newest_sent), sequence - newest) {
                return self.begin_talk_spurt(sequence, sent);
            }
            self.newest = (sequence, sent);
            return current.delay;
        }
        if sequence >= current.first {
            return current.delay;
        }
        // The packet was overtaken by the first one of the talk-spurt; it belongs to the same talk-spurt or to the one
        // before.
        if self.is_pause(current.sent.since(sent), current.first - sequence) {
            return self.previous.unwrap_or(current).delay;
        }
        self.current = Some(TalkSpurt { first: sequence, sent, ..current });
        current.delay
    }

    fn begin_talk_spurt(&mut self, first: u64, sent: Time) -> Duration {
        let delay = self.buffer.spurt_delay();
        self.previous = self.current.replace(TalkSpurt { first, sent, delay });
        self.newest = (first, sent);
        self.talk_spurts += 1;
        delay
    }

    /// Whether there is a pause between packets that were sent `gap` apart and whose numbers differ by `steps`.
    fn is_pause(&self, gap: Duration, steps: u64) -> bool {
        gap > self.interval * steps + self.interval / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AdaptivePlayout, FixedPlayout};
    use proptest::prelude::*;

    const INTERVAL: u64 = 20;

    fn fixed(delay_ms: u64) -> Listener {
        listener(&Playout::Fixed(FixedPlayout { delay: Duration::from_millis(delay_ms) }))
    }

    fn adaptive(config: AdaptivePlayout) -> Listener {
        listener(&Playout::Adaptive(config))
    }

    fn listener(playout: &Playout) -> Listener {
        let interval = Duration::from_millis(INTERVAL);
        Listener::new(interval, interval, playout, Parameters { loss_robustness: 25.1, ..Parameters::default() })
    }

    /// Packet `sequence`, sent at `sent` ms, arrives after `delay` ms.
    fn arrive(listener: &mut Listener, sequence: u64, sent: u64, delay: u64) {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        listener.handle_packet(sequence, at(sent), at(sent + delay));
    }

    fn steady(listener: &mut Listener, sequences: std::ops::Range<u64>, delay: u64) {
        sequences.for_each(|sequence| arrive(listener, sequence, sequence * INTERVAL, delay));
    }

    #[test]
    fn a_steady_call_is_heard_after_network_buffer_and_packet() {
        let mut listener = fixed(60);
        steady(&mut listener, 0..500, 80);
        let quality = listener.quality().unwrap();
        assert_eq!((quality.received_packets, quality.late_packets, quality.talk_spurts), (500, 0, 1));
        assert_eq!((quality.loss_ratio, quality.burst_ratio), (0.0, 1.0));
        assert!((quality.playout_delay_s.unwrap() - 0.140).abs() < 1e-12);
        assert!((quality.mouth_to_ear_s.unwrap() - 0.160).abs() < 1e-12);
        let r = emodel::r_factor(&Parameters {
            delay_ms: 160.0,
            echo_delay_ms: 160.0,
            loop_delay_ms: 320.0,
            ..Parameters::default()
        });
        assert!((quality.r_factor - r).abs() < 1e-9 && quality.mos == emodel::mos(quality.r_factor));
    }

    #[test]
    fn what_comes_at_the_last_moment_is_played_and_a_millisecond_later_is_not() {
        let mut listener = fixed(60);
        arrive(&mut listener, 0, 0, 80);
        arrive(&mut listener, 1, 20, 140);
        assert_eq!(listener.quality().unwrap().late_packets, 0);
        arrive(&mut listener, 2, 40, 141);
        listener.handle_loss(3);
        let quality = listener.quality().unwrap();
        assert_eq!((quality.late_packets, quality.loss_ratio), (1, 0.5));
    }

    #[test]
    fn the_first_packet_of_the_call_sets_the_fixed_buffer_for_good() {
        let mut listener = fixed(20);
        arrive(&mut listener, 0, 0, 110); // repaired by HARQ
        arrive(&mut listener, 1, 20, 50);
        arrive(&mut listener, 2, 5000, 130); // a new talk-spurt
        arrive(&mut listener, 3, 5020, 131);
        let quality = listener.quality().unwrap();
        assert_eq!((quality.talk_spurts, quality.late_packets), (2, 1));
        assert!((quality.playout_delay_s.unwrap() - 0.130).abs() < 1e-12);
    }

    #[test]
    fn the_adaptive_buffer_follows_mean_and_deviation_at_talk_spurts_only() {
        let config = AdaptivePlayout { initial: Duration::from_millis(40), memory: 0.5, deviations: 4.0 };
        let mut listener = adaptive(config);
        // By hand: mean 100, deviation 10; then 60 gives mean 80, deviation (10 + 20)/2 = 15; then 80 gives 80 and 7.5.
        arrive(&mut listener, 0, 0, 100);
        arrive(&mut listener, 1, 20, 60);
        assert_eq!(listener.current.unwrap().delay, Duration::from_millis(140));
        // A packet 30 ms or less after the last belongs to the same talk-spurt, a later one to a new talk-spurt.
        arrive(&mut listener, 2, 50, 80);
        assert_eq!((listener.talk_spurts, listener.current.unwrap().delay), (1, Duration::from_millis(140)));
        // 80: mean 80, deviation 3.75: 80 + 4 · 3.75 = 95.
        arrive(&mut listener, 3, 81, 80);
        assert_eq!((listener.talk_spurts, listener.current.unwrap().delay), (2, Duration::from_millis(95)));
    }

    #[test]
    fn lost_packets_are_no_pause() {
        let mut listener = fixed(60);
        arrive(&mut listener, 0, 0, 80);
        arrive(&mut listener, 6, 120, 80);
        assert_eq!(listener.quality().unwrap().talk_spurts, 1);
        arrive(&mut listener, 9, 1000, 80);
        assert_eq!(listener.quality().unwrap().talk_spurts, 2);
    }

    #[test]
    fn an_overtaken_packet_is_played_with_its_own_talk_spurt() {
        let mut listener =
            adaptive(AdaptivePlayout { initial: Duration::from_millis(100), memory: 0.0, deviations: 4.0 });
        arrive(&mut listener, 0, 0, 50); // played 150 ms after it was sent
        arrive(&mut listener, 2, 40, 50);
        // The second talk-spurt begins with packet 4; packet 5 arrives first: 50 ms, no deviation.
        arrive(&mut listener, 5, 520, 50);
        assert_eq!((listener.talk_spurts, listener.current.unwrap().delay), (2, Duration::from_millis(50)));
        arrive(&mut listener, 1, 20, 150); // of the first talk-spurt, in time
        assert_eq!(listener.late, 0);
        arrive(&mut listener, 4, 500, 51); // of the second talk-spurt, late
        assert_eq!((listener.late, listener.talk_spurts), (1, 2));
        assert_eq!(listener.current.unwrap().first, 4);
    }

    #[test]
    fn losses_in_a_burst_weigh_more_than_the_same_number_apart() {
        let quality = |lost: fn(u64) -> bool| {
            let mut listener = fixed(60);
            (0..1000).for_each(|i| match lost(i) {
                true => listener.handle_loss(i),
                false => arrive(&mut listener, i, i * INTERVAL, 80),
            });
            listener.quality().unwrap()
        };
        let apart = quality(|i| i % 10 == 5);
        let bursts = quality(|i| i % 100 >= 40 && i % 100 < 50);
        let end = quality(|i| i >= 900);
        assert_eq!((apart.loss_ratio, bursts.loss_ratio), (0.1, 0.1));
        assert!((apart.burst_ratio - 0.9).abs() < 1e-12 && (bursts.burst_ratio - 9.0).abs() < 1e-12);
        assert!(end.loss_ratio == 0.1 && (end.burst_ratio - 90.0).abs() < 1e-12);
        // Ie,eff with Bpl 25.1; a burst ratio below 1 counts as 1.
        let difference = 95.0 * (10.0 / (10.0 / 9.0 + 25.1) - 10.0 / (10.0 + 25.1));
        assert!((apart.r_factor - bursts.r_factor - difference).abs() < 1e-9);
    }

    #[test]
    fn a_dead_line_is_judged_and_an_unused_one_is_not() {
        assert_eq!(fixed(60).quality(), None);
        let mut dead = fixed(60);
        (0..10).for_each(|sequence| dead.handle_loss(sequence));
        let quality = dead.quality().unwrap();
        assert_eq!((quality.loss_ratio, quality.mouth_to_ear_s), (1.0, None));
        assert!(quality.mos < 1.2, "{}", quality.mos);
    }

    #[test]
    fn a_million_packets_take_no_more_memory_than_one() {
        let mut listener = fixed(60);
        steady(&mut listener, 0..1_000_000, 80);
        assert_eq!(listener.quality().unwrap().received_packets, 1_000_000);
        assert!(size_of::<Listener>() <= 640, "{} bytes", size_of::<Listener>());
    }

    proptest! {
        /// Compared with the definition: with a continuous speaker each packet has one deadline, whatever the order of
        /// arrivals.
        #[test]
        fn a_packet_is_late_exactly_after_its_deadline(
            delays in proptest::collection::vec(proptest::option::weighted(0.9, 50u64..200), 2..300),
            held in 0u64..120,
        ) {
            let mut arrivals: Vec<(u64, u64, u64)> = delays.iter().enumerate()
                .filter_map(|(i, delay)| delay.map(|delay| (i as u64 * INTERVAL + delay, i as u64, delay)))
                .collect();
            arrivals.sort_unstable();
            prop_assume!(!arrivals.is_empty());
            let deadline = arrivals[0].2 + held;
            let mut listener = fixed(held);
            let lost = (0..delays.len() as u64).filter(|&sequence| delays[sequence as usize].is_none());
            lost.for_each(|sequence| listener.handle_loss(sequence));
            for &(_, sequence, delay) in &arrivals {
                arrive(&mut listener, sequence, sequence * INTERVAL, delay);
            }
            let lost = (delays.len() - arrivals.len()) as u64;
            let quality = listener.quality().unwrap();
            let late = arrivals.iter().filter(|arrival| arrival.2 > deadline).count() as u64;
            prop_assert_eq!(quality.late_packets, late);
            prop_assert_eq!(quality.talk_spurts, 1);
            prop_assert!((quality.loss_ratio - (lost + late) as f64 / delays.len() as f64).abs() < 1e-12);
        }
    }
}
