use super::*;
use crate::live::catch_up::{Never, Seek, Speed};
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(at: u64) -> Time {
    Time::ZERO + ms(at)
}

/// Ten frames a second, each of one packet, shown 500 ms after their capture.
fn plain() -> Live {
    Live {
        length: Some(Duration::from_secs(4)),
        rate: BitRate::from_bps(40_000),
        fps: 10,
        paced: false,
        latency: ms(500),
        resume: Duration::ZERO,
        catch_up: Never {}.into(),
        ..Live::default()
    }
}

/// Which way what is written arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Datagrams,
    /// In order: nothing before what was written before it.
    Stream,
}

/// Runs a stream whose packet number n takes `delay(n)` ms, or is lost: the source at its end, and what was got.
fn run(live: &Live, over: Over, delay: impl Fn(u64) -> Option<u64>) -> (LiveSource, LiveReport) {
    assert_eq!(live.check(), Ok(()));
    let mut source = live.source(Duration::ZERO);
    let mut arrivals: Vec<(Time, u64, u64)> = Vec::new();
    let (mut written, mut bytes, mut last) = (0, 0, Time::ZERO);
    let mut end = Time::ZERO;
    while let Some(now) =
        [source.poll_timeout(), arrivals.iter().map(|arrival| arrival.0).min()].into_iter().flatten().min()
    {
        end = now;
        let due: Vec<(Time, u64, u64)> = arrivals.extract_if(.., |arrival| arrival.0 <= now).collect();
        for (_, number, total) in due {
            match over {
                Over::Datagrams => source.handle_datagram(now, 0, End::User, number, Time::ZERO),
                Over::Stream => source.handle_delivered(now, 0, End::User, total),
            }
        }
        while let Some(act) = source.poll_action(now) {
            let Action::Write(size) = act.action else { continue };
            bytes += size.get();
            if let Some(delay) = delay(written) {
                let arrives = if over == Over::Stream { last.max(now + ms(delay)) } else { now + ms(delay) };
                last = arrives;
                arrivals.push((arrives, written, bytes));
            }
            written += 1;
        }
        assert!(source.poll_timeout().is_none_or(|next| next > now), "stays due");
        let log = source.viewer.log(now);
        if let Some(started) = log.started.filter(|_| source.viewer.state(now) != (None, None)) {
            assert_eq!(log.shown_time + log.frozen + log.stalled, now.since(started), "at {now:?}: {log:?}");
        }
    }
    let Some(Experience::Live(report)) = source.experience(end, [0; 2]) else { panic!("it has begun") };
    check_sums(&source, end, &report);
    (source, report)
}

/// Every frame has one fate, and every moment is spent once.
fn check_sums(source: &LiveSource, end: Time, report: &LiveReport) {
    let log = &source.viewer.log;
    assert_eq!(log.shown + log.skipped + log.jumped, log.sent, "{log:?}");
    assert!(report.late_frames <= report.skipped_frames);
    if let Some(started) = log.started {
        let spent = log.shown_time + log.frozen + log.stalled;
        assert!(spent <= end.since(started), "{spent} of {}: {log:?}", end.since(started));
    }
    let least = report.latency_p50_s.unwrap_or(f64::MAX);
    assert!(least >= source.config.latency.as_secs_f64() - 1e-6, "shown before its time: {least}");
}

#[test]
fn a_steady_path_shows_every_frame_at_its_age() {
    for over in [Over::Datagrams, Over::Stream] {
        let (_, report) = run(&plain(), over, |_| Some(80));
        assert_eq!((report.sent_frames, report.shown_frames, report.skipped_frames), (40, 40, 0));
        assert_eq!((report.startup_s, report.rebuffers, report.played_s), (Some(0.5), 0, 4.0));
        assert_eq!((report.latency_mean_s, report.latency_p95_s, report.mos), (Some(0.5), Some(0.5), Some(5.0)));
    }
}

#[test]
fn what_comes_at_the_last_moment_is_shown_and_a_millisecond_later_is_not() {
    // A datagram that is late is skipped, for a later one is there.
    let late = |delay| move |number| Some(if number == 10 { delay } else { 80 });
    let (_, report) = run(&plain(), Over::Datagrams, late(500));
    assert_eq!((report.skipped_frames, report.late_frames, report.frozen_s), (0, 0, 0.0));
    let (_, report) = run(&plain(), Over::Datagrams, late(501));
    assert_eq!((report.skipped_frames, report.late_frames, report.frozen_s), (1, 1, 0.1));
    assert_eq!((report.rebuffers, report.latency_p99_s, report.late_ratio), (0, Some(0.5), Some(1.0 / 40.0)));
}

#[test]
fn a_stall_of_a_byte_stream_adds_to_the_latency_by_hand() {
    // Frame 10, captured at 1.0 s, comes at 1.8 s instead of 1.5 s, and those behind it with it.
    let outage = |number| Some(if number == 10 { 800 } else { 80 });
    let (_, report) = run(&plain(), Over::Stream, outage);
    assert_eq!((report.rebuffers, report.skipped_frames, report.shown_frames), (1, 0, 40));
    assert!((report.rebuffer_s - 0.3).abs() < 1e-9);
    // Ten frames are 500 ms old, thirty 800 ms: nobody catches up.
    assert!((report.latency_mean_s.unwrap() - (10.0 * 0.5 + 30.0 * 0.8) / 40.0).abs() < 1e-6);
    assert_eq!((report.latency_p50_s, report.latency_max_s), (Some(0.8), Some(0.8)));
    // 4.3 s watched.
    assert!((report.rebuffer_ratio.unwrap() - 0.3 / 4.3).abs() < 1e-9);
    // One that seeks beyond 200 ms leaves out three frames.
    let seeks = Live { catch_up: Seek { drift: ms(200) }.into(), ..plain() };
    let (_, report) = run(&seeks, Over::Stream, outage);
    assert_eq!((report.jumped_frames, report.latency_p50_s, report.rebuffers), (3, Some(0.5), 1));
    // One that plays faster comes back bit by bit.
    let faster = Live { catch_up: Speed { most: 0.5 }.into(), ..plain() };
    let (source, report) = run(&faster, Over::Stream, outage);
    assert_eq!((report.shown_frames, report.rebuffers), (40, 1));
    let last = *source.viewer.log.latencies.last().unwrap();
    assert!((500_000..520_000).contains(&last), "{last}");
}

#[test]
fn an_outage_of_datagrams_is_one_stall_and_leaves_no_delay() {
    // Frames 10 to 19 are lost: from 1.5 s, when the first should be shown, to 2.5 s.
    let (_, report) = run(&plain(), Over::Datagrams, |number| (!(10..20).contains(&number)).then_some(80));
    assert_eq!((report.skipped_frames, report.late_frames, report.shown_frames), (10, 0, 30));
    // At 1.5 s frame 14 would be there; nothing is until frame 20, captured at 2 s, comes at 2.08 s.
    assert_eq!(report.rebuffers, 1);
    assert!((report.rebuffer_s - 1.0).abs() < 1e-9, "{}", report.rebuffer_s);
    assert_eq!((report.latency_max_s, report.frozen_s), (Some(0.5), 0.0));
}

#[test]
fn a_stall_ends_with_media_that_are_there_by_hand() {
    // Frames 10 to 19 and frame 21 are lost: from 1.5 s on nothing is there. Frames 20 and 22, captured at
    // 2.0 and 2.2 s, are 200 ms of media at 2.28 s, so frame 20 is shown when it is 500 ms old.
    let lost = |number| (10..20).contains(&number) || number == 21;
    let resumes = |resume| Live { resume: ms(resume), ..plain() };
    let (_, report) = run(&resumes(200), Over::Datagrams, |number| (!lost(number)).then_some(80));
    assert_eq!((report.rebuffers, report.skipped_frames), (1, 11));
    assert!((report.rebuffer_s - 1.0).abs() < 1e-9, "{}", report.rebuffer_s);
    // 400 ms are there with frame 24, at 2.48 s, and 500 ms with frame 25, at 2.58 s.
    for (resume, stalled_s) in [(400, 1.0), (500, 1.08)] {
        let (_, report) = run(&resumes(resume), Over::Datagrams, |number| (!lost(number)).then_some(80));
        assert!((report.rebuffer_s - stalled_s).abs() < 1e-9, "{resume} ms: {}", report.rebuffer_s);
    }
}

#[test]
fn a_frame_that_was_skipped_ends_no_stall() {
    // Frames 10 to 29 are lost but for 20, and 12, which comes at 2.8 s.
    let delay = |number| match number {
        12 => Some(1_600),
        10..30 if number != 20 => None,
        _ => Some(80),
    };
    let (_, report) = run(&plain(), Over::Datagrams, delay);
    assert_eq!((report.rebuffers, report.late_frames), (2, 1));
    // From 1.5 to 2.5 s, when frame 20 is due, and from 2.6 to 3.5 s, when 30 is.
    assert!((report.rebuffer_s - 1.9).abs() < 1e-9, "{}", report.rebuffer_s);
}

#[test]
fn what_is_there_is_shown_although_the_last_frame_is_lost() {
    let live = Live { resume: ms(500), ..plain() };
    // After frame 29 come 35 and 36 only: 200 ms are less than `resume`, and nothing comes after them.
    let delay = |number| (number < 30 || number == 35 || number == 36).then_some(80);
    let (_, report) = run(&live, Over::Datagrams, delay);
    assert_eq!((report.shown_frames, report.skipped_frames), (32, 8));
    // The picture stood still for those before frame 35, a stall, and for the three after frame 36.
    assert_eq!((report.rebuffers, report.frozen_s), (1, 0.3));
}

#[test]
fn the_first_frame_may_come_after_others_until_it_is_due() {
    let first = |delay| move |number| Some(if number == 0 { delay } else { 80 });
    for (delay, shown, startup_s) in [(300, 40, 0.5), (500, 40, 0.5), (501, 39, 0.6)] {
        let (source, report) = run(&plain(), Over::Datagrams, first(delay));
        assert_eq!((report.shown_frames, report.late_frames), (shown, 40 - shown), "{delay} ms");
        assert_eq!(source.viewer.log.started, Some(Time::ZERO + Duration::from_secs_f64(startup_s)), "{delay} ms");
    }
}

#[test]
fn what_depends_on_a_missing_frame_is_impaired_until_the_next_group() {
    let live = Live { gop: Some(10), key_size: 1.0, ..plain() };
    let lost = |frame: u64| move |number| (number != frame).then_some(80);
    assert_eq!(run(&live, Over::Datagrams, lost(12)).1.impaired_frames, 7);
    assert_eq!(run(&live, Over::Datagrams, lost(20)).1.impaired_frames, 9);
    assert_eq!(run(&plain(), Over::Datagrams, lost(12)).1.impaired_frames, 0);
}

#[test]
fn frames_have_the_rate_of_the_stream() {
    let live = Live { gop: Some(50), ..Live::default() };
    let second: u64 = (0..50).map(|frame| live.size(frame)).sum();
    assert!(second.abs_diff(2 * 4_000_000 / 8) <= 50, "{second} B in two seconds");
    assert!((live.size(0) as f64 / live.size(1) as f64 - 4.0).abs() < 1e-3);
    // Paced: 21 packets of a frame of 20,000 B over 40 ms; a chunk of 5 is handed over when its last frame is there.
    let mut source = Live { chunk: 5, ..Live::default() }.source(Duration::ZERO);
    assert_eq!(source.poll_action(at(0)).map(|act| act.action), Some(Action::Open));
    assert_eq!(source.poll_timeout(), Some(at(160)));
    let mut times = Vec::new();
    while let Some(now) = source.poll_timeout().filter(|now| *now < at(360)) {
        while let Some(act) = source.poll_action(now) {
            let Action::Write(size) = act.action else { panic!("{act:?}") };
            times.push((now, size.get()));
        }
    }
    assert_eq!((times.len(), times.iter().map(|time| time.1).sum::<u64>()), (105, 100_000));
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_nanos()).collect();
    assert!(gaps.iter().all(|gap| gap.abs_diff(200_000_000 / 105) <= 1), "{gaps:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_name() {
    let refused = |live: Live| live.check().unwrap_err().to_string();
    assert_eq!(
        refused(Live { latency: ms(100), chunk: 5, ..Live::default() }),
        "latency: 100 ms was given: must be the time of a chunk at least, 200 ms"
    );
    assert_eq!(
        refused(Live { resume: ms(1_100), ..Live::default() }),
        "resume: 1.1 s was given: must be at most `latency`, 1 s"
    );
    let line = refused(Live { rate: BitRate::from_bps(1_000_000_000_000), ..Live::default() });
    assert!(line.starts_with("rate: 1000 Gbit/s was given: a chunk has up to "), "{line}");
}

proptest! {
    /// Over any path, each frame has one fate and each moment is spent once ([`check_sums`]); in order none is skipped.
    #[test]
    fn a_stream_over_any_path(
        delays in proptest::collection::vec(proptest::option::weighted(0.9, 0u64..3_000), 40), stream in any::<bool>(),
        rule in 0usize..3, gop in proptest::option::of(1u32..20), resume in 0u64..500)
    {
        let rules: [CatchUp; 3] = [Never {}.into(), Seek { drift: ms(200) }.into(), Speed { most: 0.3 }.into()];
        let live = Live { catch_up: rules[rule].clone(), gop, key_size: 1.0, resume: ms(resume), ..plain() };
        let over = if stream { Over::Stream } else { Over::Datagrams };
        let delay = |number: u64| delays[number as usize].or(stream.then_some(100));
        let (_, report) = run(&live, over, delay);
        if stream {
            prop_assert_eq!(report.skipped_frames, 0);
            prop_assert_eq!(report.shown_frames + report.jumped_frames, 40);
        }
        prop_assert!(report.impaired_frames <= report.shown_frames);
    }
}
