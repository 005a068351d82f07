use super::adaptation::{Bola, BufferBased, Fixed, RateBased};
use super::*;
use crate::tests::{run, streams};
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn actions(source: &mut DashSource, now: Time) -> Vec<(End, Action)> {
    std::iter::from_fn(|| source.poll_action(now)).map(|act| (act.end, act.action)).collect()
}

fn video(source: &DashSource, now: Time) -> VideoReport {
    match source.experience(now, [0; 2]) {
        Some(Experience::Video(report)) => report,
        other => panic!("{other:?}"),
    }
}

const REQUEST: (End, Action) = (End::User, Action::Write(Bytes::new(350)));

#[test]
fn segments_as_a_conversation() {
    let dash = Dash { length: Some(Duration::from_secs(7)), buffer: Duration::from_secs(4), ..Dash::default() };
    let mut source = dash.source(Duration::ZERO, &mut streams(1));
    assert_eq!((source.poll_timeout(), source.experience(at(0), [0; 2])), (Some(at(0)), None));
    assert_eq!(actions(&mut source, at(0)), [(End::User, Action::Open), REQUEST]);
    source.handle_delivered(at(50), 0, End::Server, 349);
    assert_eq!((source.poll_timeout(), actions(&mut source, at(50))), (None, vec![]));
    // 300 kbit/s for 4 s.
    source.handle_delivered(at(51), 0, End::Server, 350);
    source.handle_delivered(at(51), 0, End::Server, 350);
    assert_eq!(actions(&mut source, at(51)), [(End::Server, Action::Write(Bytes::new(150_000)))]);
    source.handle_delivered(at(999), 0, End::User, 149_999);
    assert_eq!(video(&source, at(999)).startup_s, None);
    source.handle_delivered(at(1_000), 0, End::User, 150_000);
    assert_eq!(video(&source, at(1_000)).startup_s, Some(1.0));
    // The buffer holds one segment: the next is asked for when it has been played, too late for no stall.
    assert_eq!(source.poll_timeout(), Some(at(5_000)));
    assert_eq!(actions(&mut source, at(4_999)), []);
    assert_eq!(actions(&mut source, at(5_000)), [REQUEST]);
    source.handle_delivered(at(5_050), 0, End::Server, 700);
    assert_eq!(actions(&mut source, at(5_050)).len(), 1);
    source.handle_delivered(at(5_500), 0, End::User, 300_000);
    // 7 s are two segments: the user closes first.
    assert_eq!(actions(&mut source, at(5_500)), [(End::User, Action::Close), (End::Server, Action::Close)]);
    assert_eq!(source.poll_timeout(), None);
    let report = video(&source, at(60_000));
    assert_eq!((report.played_s, report.rebuffers, report.rebuffer_s), (8.0, 1, 0.5));
    assert_eq!((report.segments, report.played_segments, report.switches), (2, 2, 0));
    assert_eq!((report.bitrate_mean_bps, report.buffer_s), (Some(300_000.0), 0.0));
    // (0.3 + 0.3 − 4.3 (0.5 + 1.0)) / 2
    assert!((report.qoe.unwrap() - (0.6 - 4.3 * 1.5) / 2.0).abs() < 1e-12);
}

/// A source over a link of `bps` without delay, for so long: what the viewer got.
fn over(dash: &Dash, bps: u64, seconds: u64) -> (DashSource, VideoReport) {
    let mut source = dash.source(Duration::ZERO, &mut streams(1));
    let end = at(1_000 * seconds);
    let (mut sent, mut arrivals) = ([0u64; 2], VecDeque::<(Time, End, u64)>::new());
    let mut free = Time::ZERO;
    while let Some(now) = [source.poll_timeout(), arrivals.front().map(|arrival| arrival.0)]
        .into_iter()
        .flatten()
        .min()
        .filter(|now| *now <= end)
    {
        while let Some((_, to, bytes)) = arrivals.pop_front_if(|arrival| arrival.0 <= now) {
            source.handle_delivered(now, 0, to, bytes);
        }
        for (from, action) in actions(&mut source, now) {
            let Action::Write(size) = action else { continue };
            let index = usize::from(from == End::User);
            sent[index] += size.get();
            let (to, when) = match from {
                End::User => (End::Server, now),
                End::Server => {
                    free = free.max(now) + BitRate::from_bps(bps).tx_time(size.bits());
                    (End::User, free)
                }
            };
            arrivals.push_back((when, to, sent[index]));
        }
        check_bounds(&source, now);
    }
    let report = video(&source, end);
    (source, report)
}

fn check_bounds(source: &DashSource, now: Time) {
    if source.opened.is_some() {
        let player = source.player.at(now);
        assert!(player.buffer() <= source.config.buffer, "{:?} in the buffer", player.buffer());
        let arrived = source.config.segment * source.downloads.len() as u64;
        assert_eq!(player.played() + player.buffer(), arrived, "played and waiting is what has arrived");
    }
}

/// A ladder of one bit rate.
fn constant(kbps: u64) -> Dash {
    Dash { ladder: vec![BitRate::from_bps(1_000 * kbps)], adaptation: Fixed::default().into(), ..Dash::default() }
}

#[test]
fn a_link_below_the_bit_rate_stalls_as_computed() {
    // Segments of 4 s at 1 Mbit/s take 5 s at 800 kbit/s: the first picture after 5 s, then after each segment a stall
    // of 1 s. At 62 s: segments arrive at 5, 10, …, 60; stalls begin at 9, 14, …, 59 and take 1 s; segment 12 plays.
    let (_, report) = over(&constant(1_000), 800_000, 62);
    assert_eq!(report.startup_s, Some(5.0));
    assert_eq!((report.rebuffers, report.rebuffer_s, report.played_s), (11, 11.0, 46.0));
    assert_eq!((report.segments, report.throughput_bps), (12, Some(800_000.0)));
    assert_eq!(report.rebuffer_ratio, Some(11.0 / 57.0));
    assert!((report.qoe.unwrap() - (12.0 - 11.0 - 5.0) / 12.0).abs() < 1e-12);
    // With 8 s to go on, every second one: 10 s for two segments, after 8 s of playing.
    let patient = Dash { resume: Duration::from_secs(8), ..constant(1_000) };
    let (_, report) = over(&patient, 800_000, 62);
    // Dry at 9, on at 15 (2 segments), dry at 23, on at 25 and so on: by hand 15 to 23, 25 to 33, …
    assert_eq!(report.startup_s, Some(5.0));
    assert!(report.rebuffers < 11, "{}", report.rebuffers);
}

#[test]
fn a_link_above_the_bit_rate_never_stalls() {
    // Each segment takes 3.2 s; the buffer gains 0.8 s with each until 60 s are full.
    let (source, report) = over(&constant(1_000), 1_250_000, 400);
    assert_eq!((report.startup_s, report.rebuffers, report.rebuffer_s), (Some(3.2), 0, 0.0));
    assert_eq!(report.played_s, 400.0 - 3.2);
    assert!(source.player.at(at(400_000)).buffer() > Duration::from_secs(52));
    assert_eq!(report.mos, Some(5.0));
}

#[test]
fn every_rule_fills_a_link_of_constant_rate_and_none_stalls() {
    let rules: [Adaptation; 3] =
        [BufferBased::default().into(), Bola::default().into(), RateBased { safety: 1.0, ..Default::default() }.into()];
    for rule in rules {
        let name = rule.kind();
        let dash = Dash { adaptation: rule, ..Dash::default() };
        // Between 1,850 and 2,850 kbit/s.
        let (_, report) = over(&dash, 2_400_000, 1_200);
        assert_eq!(report.rebuffers, 0, "{name}");
        let mean = report.bitrate_mean_bps.unwrap();
        assert!((1_700_000.0..=2_400_000.0).contains(&mean), "{name}: {mean}");
    }
}

#[test]
fn variable_sizes_have_the_mean_of_the_bit_rate() {
    let dash = Dash { variation: 0.4, ..constant(1_000) };
    let mut source = dash.source(Duration::ZERO, &mut streams(3));
    let sizes: Vec<f64> = (0..40_000).map(|_| source.next_sizes()[0].get() as f64 / 500_000.0).collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let sd = (sizes.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / sizes.len() as f64).sqrt();
    // Standard errors 0.4/200, and about 0.4 √(κ − 1)/(2 · 200) with kurtosis κ = 6 of this law.
    assert!((mean - 1.0).abs() < 0.008 && (sd - 0.4).abs() < 0.012, "{mean}, {sd}");
}

#[test]
fn the_same_scene_is_large_at_every_bit_rate_and_sizes_move_with_no_option() {
    let sizes = |dash: Dash, seed| dash.source(Duration::ZERO, &mut streams(seed)).next_sizes();
    let dash = Dash { variation: 0.4, ..Dash::default() };
    let first = sizes(dash.clone(), 1);
    let share = first[0].get() as f64 / 150_000.0;
    assert!((first[5].get() as f64 / 2_150_000.0 - share).abs() < 1e-4 && (share - 1.0).abs() > 1e-3);
    assert_eq!(first, sizes(Dash { adaptation: Bola::default().into(), ..dash.clone() }, 1));
    assert_ne!(first, sizes(dash, 2));
}

#[test]
fn what_cannot_be_is_refused_with_its_name() {
    let refused = |dash: Dash| dash.check().unwrap_err().to_string();
    let base = Dash::default();
    assert_eq!(refused(Dash { ladder: vec![], ..base.clone() }), "ladder: 0 bit rates were given: must be 1 to 64");
    let twice = vec![BitRate::from_bps(1_000_000); 2];
    assert_eq!(
        refused(Dash { ladder: twice, ..base.clone() }),
        "ladder: 1 Mbit/s after 1 Mbit/s was given: each must be more than the one before"
    );
    assert_eq!(
        refused(Dash { startup: Duration::from_secs(5), buffer: Duration::from_secs(7), ..base.clone() }),
        "startup: 5 s was given: the buffer of 7 s holds 4 s of whole segments"
    );
    assert_eq!(
        refused(Dash { adaptation: Fixed { level: 6 }.into(), ..base }),
        "adaptation.level: 6 was given: must be from 0 to 5"
    );
}

proptest! {
    /// Whatever the link does, time is accounted for, the buffer keeps its bound, and a finite video is played whole.
    #[test]
    fn a_video_over_any_link(
        kbps in 100u64..10_000, rule in 0usize..4, buffer in 4u64..80, length in 1u64..200, variation in 0.0f64..1.0)
    {
        let rules: [Adaptation; 4] = [
            BufferBased::default().into(), Bola { low: Duration::from_secs(2), high: None }.into(),
            RateBased::default().into(), Fixed { level: 3 }.into(),
        ];
        let dash = Dash {
            adaptation: rules[rule].clone(), buffer: Duration::from_secs(buffer),
            length: Some(Duration::from_secs(length)), variation, ..Dash::default()
        };
        prop_assert_eq!(dash.check(), Ok(()));
        let (source, report) = over(&dash, 1_000 * kbps, 100_000);
        prop_assert_eq!(report.segments, length.div_ceil(4));
        prop_assert_eq!(report.played_s, 4.0 * report.segments as f64);
        prop_assert_eq!(report.buffer_s, 0.0);
        let bytes: u64 = source.downloads.iter().map(|download| download.size.get()).sum();
        prop_assert_eq!(bytes, source.received);
        prop_assert!(report.mos.unwrap() > 1.5 - 1e-12 && report.mos.unwrap() <= 5.0);
        prop_assert!(report.qoe.unwrap() <= 4.3);
        prop_assert!(report.rebuffers < report.segments);
    }
}

#[test]
fn an_ideal_network_gives_each_request_a_round_trip() {
    let dash = Dash { length: Some(Duration::from_secs(40)), ..Dash::default() };
    let mut source = dash.source(Duration::ZERO, &mut streams(1));
    let done = run(&mut source, Duration::from_millis(100));
    let requests = done.iter().filter(|(_, act)| (act.end, act.action) == REQUEST).count();
    assert_eq!(requests, 10);
    let report = video(&source, at(100_000));
    assert_eq!((report.startup_s, report.rebuffers, report.played_s), (Some(0.2), 0, 40.0));
}
