use super::*;
use crate::tests::streams;
use crate::{ExponentialOnOff, ParetoOnOff};
use proptest::prelude::*;

/// The source of the papers: 64 kbit/s in packets of 210 bytes, bursts of 500 ms and pauses of 50 ms.
fn papers() -> Voice {
    Voice {
        activity: Activity::Pareto(ParetoOnOff::default()),
        rate: Some(BitRate::from_bps(64_000)),
        packet: Some(Bytes::new(210)),
        ..Voice::default()
    }
}

/// The instants of packets sent before `end`.
fn sent(voice: &Voice, seed: u64, end: Time) -> Vec<Time> {
    let mut source = voice.source(Duration::ZERO, &mut streams(seed));
    let mut times = Vec::new();
    while let Some(now) = source.poll_timeout().filter(|now| *now < end) {
        while let Some(Act { end, action, .. }) = source.poll_action(now) {
            assert_eq!(end, End::Server);
            if let Action::Write(payload) = action {
                assert_eq!(payload.get(), voice.packets().packet.get() - 28);
                times.push(now);
            }
        }
    }
    times
}

/// Lengths of bursts (in packets) and of pauses (in seconds), the unfinished last burst left out.
fn periods(times: &[Time], interval: Duration) -> (Vec<f64>, Vec<f64>) {
    let (mut bursts, mut pauses, mut packets) = (Vec::new(), Vec::new(), 1.0);
    for pair in times.windows(2) {
        let gap = pair[1].since(pair[0]);
        if gap > interval {
            bursts.push(packets);
            pauses.push(gap.saturating_sub(interval).as_secs_f64());
            packets = 0.0;
        }
        packets += 1.0;
    }
    (bursts, pauses)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn codecs_send_what_their_standards_say() {
    let packets = |codec| Voice { codec, ..Voice::default() }.packets();
    for (codec, packet, bps) in [
        (Codec::G711, 200, 80_000),
        (Codec::G711NoPlc, 200, 80_000),
        (Codec::G729, 60, 24_000),
        (Codec::Opus, 100, 40_000),
    ] {
        let packets = packets(codec);
        assert_eq!((packets.packet.get(), packets.interval), (packet, Duration::from_millis(20)), "{codec:?}");
        assert_eq!(codec.rate().as_bps(), bps, "{codec:?}");
    }
}

#[test]
fn the_papers_source_sends_every_26_ms() {
    let packets = papers().packets();
    assert_eq!((packets.packet, packets.interval), (Bytes::new(210), Duration::from_micros(26_250)));
}

#[test]
fn a_continuous_call_is_a_clock() {
    let voice = Voice { length: Some(Duration::from_millis(100)), ..Voice::default() };
    let ms = |ms| Time::ZERO + Duration::from_millis(ms);
    assert_eq!(sent(&voice, 1, Time::MAX), [0, 20, 40, 60, 80].map(ms));
    let mut source = voice.source(Duration::from_secs(1), &mut streams(1));
    assert_eq!(source.poll_timeout(), Some(ms(1000)));
    let last = std::iter::from_fn(|| source.poll_action(Time::MAX)).last();
    assert_eq!((last, source.poll_timeout()), (Some(Act::on_first(End::Server, Action::Close)), None));
}

#[test]
fn bursts_and_pauses_have_the_pareto_law() {
    let voice = papers();
    let interval = voice.packets().interval;
    let times = sent(&voice, 5, Time::from_secs_f64(20_000.0));
    let (bursts, pauses) = periods(&times, interval);
    let n = pauses.len() as f64;
    // The mean of a law with infinite variance converges too slowly for a test; its distribution does not: P(X > x) =
    // (k/x)^1.5.
    let least = 0.050 / 3.0;
    assert!(pauses.iter().all(|pause| *pause >= least - 1e-9));
    for factor in [1.5, 3.0, 10.0, 30.0] {
        let expected = libm::pow(factor, -1.5);
        let share = pauses.iter().filter(|pause| **pause > factor * least).count() as f64 / n;
        assert!((share - expected).abs() < 4.0 * (expected / n).sqrt(), "beyond {factor}: {share} for {expected}");
    }
    let least = 0.5 / 0.02625 / 3.0;
    for packets in [8.0, 20.0, 100.0] {
        let expected = libm::pow((packets + 0.5) / least, -1.5); // more than that after rounding
        let share = bursts.iter().filter(|burst| **burst > packets).count() as f64 / bursts.len() as f64;
        assert!((share - expected).abs() < 4.0 * (expected / n).sqrt(), "beyond {packets}: {share} for {expected}");
    }
}

#[test]
fn conversational_speech_is_active_39_percent_of_the_time() {
    // ITU-T P.59: talk-spurts of 1.004 s and pauses of 1.587 s.
    let voice = Voice { activity: Activity::Exponential(ExponentialOnOff::default()), ..Voice::default() };
    let times = sent(&voice, 5, Time::from_secs_f64(50_000.0));
    let (bursts, pauses) = periods(&times, voice.packets().interval);
    let n = (pauses.len() as f64).sqrt();
    assert!((mean(&pauses) / 1.587 - 1.0).abs() < 4.0 / n, "pauses of {} s", mean(&pauses));
    assert!((mean(&bursts) * 0.020 / 1.004 - 1.0).abs() < 4.0 / n, "bursts of {} packets", mean(&bursts));
    let activity = times.len() as f64 * 0.020 / 50_000.0;
    assert!((activity - 0.3875).abs() < 0.3875 * 6.0 / n, "activity {activity}");
}

#[test]
fn a_mean_of_finite_variance_is_met() {
    let law = ParetoOnOff { shape: 3.0, ..ParetoOnOff::default() };
    let voice = Voice { activity: Activity::Pareto(law), ..papers() };
    let times = sent(&voice, 9, Time::from_secs_f64(20_000.0));
    let (bursts, pauses) = periods(&times, voice.packets().interval);
    // Standard deviation over mean: 1/sqrt(a (a − 2)) = 0.58.
    let confidence = 4.0 * 0.58 / (pauses.len() as f64).sqrt();
    assert!((mean(&pauses) / 0.050 - 1.0).abs() < confidence, "pauses of {} s", mean(&pauses));
    assert!((mean(&bursts) * 0.02625 / 0.5 - 1.0).abs() < confidence + 0.003, "bursts of {} packets", mean(&bursts));
}

#[test]
fn calls_of_many_users_start_out_of_step() {
    let first = |seed| sent(&papers(), seed, Time::from_secs_f64(5.0))[0];
    let mut starts: Vec<Time> = (0..50).map(first).collect();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 50);
}

#[test]
fn a_source_is_small() {
    assert!(size_of::<VoiceSource>() <= 80, "{} bytes", size_of::<VoiceSource>());
    assert!(size_of::<Periods>() <= 96, "{} bytes", size_of::<Periods>());
}

#[test]
fn what_cannot_be_is_refused_with_its_name() {
    let refused = |voice: Voice| voice.check().unwrap_err().to_string();
    let cases = [
        (Voice { packet: Some(Bytes::new(40)), ..papers() }, "packet: 40 B was given: must be more than its headers"),
        (Voice { rate: Some(BitRate::from_bps(1)), ..papers() }, "rate: 1 bit/s sends a packet of 210 B each 1680 s"),
        (Voice { advantage: 30.0, ..papers() }, "advantage: 30 was given: must be between 0 and 20"),
        (Voice { loss_robustness: Some(0.0), ..papers() }, "loss_robustness: 0 was given: must be between 1 and 100"),
        (
            Voice { activity: Activity::Pareto(ParetoOnOff { shape: 1.0, ..ParetoOnOff::default() }), ..papers() },
            "activity.shape: 1 was given: must be more than 1",
        ),
        (
            Voice { playout: Playout::Fixed(playout::FixedPlayout { delay: Duration::from_secs(6) }), ..papers() },
            "playout.delay: 6 s was given: must be at most 5 s",
        ),
    ];
    for (voice, message) in cases {
        let error = refused(voice);
        assert!(error.starts_with(message), "{error}");
    }
    assert_eq!(papers().check(), Ok(()));
}

#[test]
fn the_listener_takes_the_codec_and_what_overrides_it() {
    let quality = |voice: &Voice| {
        let mut listener = voice.listener().unwrap();
        listener.handle_packet(0, Time::ZERO, Time::ZERO + Duration::from_millis(80));
        listener.quality().unwrap()
    };
    let g729 = Voice { codec: Codec::G729, advantage: 0.0, ..Voice::default() };
    // 80 ms network, 60 ms buffer, 20 ms packet, 5 ms look-ahead.
    assert!((quality(&g729).mouth_to_ear_s.unwrap() - 0.165).abs() < 1e-12);
    let better = Voice { equipment_impairment: Some(1.0), ..g729.clone() };
    assert!((quality(&better).r_factor - quality(&g729).r_factor - 10.0).abs() < 1e-9);
    let forgiving = Voice { advantage: 20.0, ..g729.clone() };
    assert!((quality(&forgiving).r_factor - quality(&g729).r_factor - 20.0).abs() < 1e-9);
}

proptest! {
    /// Under every law, packets of a talk-spurt are an interval apart, and a pause is added between talk-spurts.
    #[test]
    fn packets_are_never_closer_than_an_interval(
        seed: u64,
        burst in 1u64..500,
        idle in 1u64..500,
        shape in 1.1f64..5.0,
        exponential: bool,
    ) {
        let (burst, idle) = (Duration::from_millis(burst), Duration::from_millis(idle));
        let activity = if exponential {
            Activity::Exponential(ExponentialOnOff { burst, idle })
        } else {
            Activity::Pareto(ParetoOnOff { burst, idle, shape })
        };
        let voice = Voice { activity, ..papers() };
        let times = sent(&voice, seed, Time::from_secs_f64(20.0));
        prop_assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) >= voice.packets().interval));
        prop_assert_eq!(times, sent(&voice, seed, Time::from_secs_f64(20.0)));
    }
}
