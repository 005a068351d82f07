use super::*;
use crate::tests::streams;
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(at: u64) -> Time {
    Time::ZERO + ms(at)
}

/// Constant ticks: an update each 50 ms, a command each 20 ms.
fn steady() -> Game {
    let none = (ms(0), Bytes::new(0));
    Game {
        length: Some(Duration::from_secs(10)),
        down: Updates { interval: ms(50), interval_scale: none.0, size: Bytes::new(100), size_scale: none.1 },
        up: Commands { interval: ms(20), interval_scale: none.0, size: Bytes::new(40), size_scale: none.1 },
        ..Game::default()
    }
}

/// Plays over a path that takes `delay(end, number)` ms to that end, or loses the packet.
fn play(game: &Game, seed: u64, delay: impl Fn(End, u64) -> Option<u64>) -> (GameSource, GameReport) {
    assert_eq!(game.check(), Ok(()));
    let mut source = game.source(Duration::ZERO, &mut streams(seed));
    let mut arrivals: Vec<(Time, End, u64, Time)> = Vec::new();
    let (mut sent, mut lost) = ([0u64; 2], [0u64; 2]);
    while let Some(now) = [source.poll_timeout(), arrivals.iter().map(|a| a.0).min()].into_iter().flatten().min() {
        for (_, end, number, when) in arrivals.extract_if(.., |arrival| arrival.0 <= now).collect::<Vec<_>>() {
            source.handle_datagram(now, 0, end, number, when);
        }
        while let Some(act) = source.poll_action(now) {
            let Action::Write(_) = act.action else { continue };
            let (index, to) = if act.end == End::Server { (0, End::User) } else { (1, End::Server) };
            match delay(to, sent[index]) {
                Some(delay) => arrivals.push((now + ms(delay), to, sent[index], now)),
                None => lost[index] += 1,
            }
            sent[index] += 1;
        }
    }
    let Some(Experience::Game(report)) = source.experience(at(20_000), lost) else { panic!("it has begun") };
    (source, report)
}

#[test]
fn a_path_of_constant_delay_by_hand() {
    let (_, report) = play(&steady(), 1, |end, _| Some(if end == End::User { 30 } else { 70 }));
    assert_eq!((report.up_sent, report.up_received, report.up_loss_ratio), (500, 500, Some(0.0)));
    assert!((199..=200).contains(&report.down_sent) && report.down_received == report.down_sent);
    assert_eq!([report.down_delay_p50_s, report.down_delay_p95_s, report.down_delay_p99_s], [Some(0.03); 3]);
    assert_eq!([report.up_delay_p50_s, report.up_delay_p99_s], [Some(0.07); 2]);
    assert_eq!((report.late_ratio, report.jitter_s), (Some(0.0), Some(0.0)));
    assert!((report.ping_s.unwrap() - 0.1).abs() < 1e-9);
    // The newest command waits less than a command's interval for the next update.
    let [least, most] = [report.response_p50_s, report.response_p99_s].map(Option::unwrap);
    assert!(least >= 0.1 && most < 0.12, "{least} to {most}");
    assert!((report.mos.unwrap() - 3.328).abs() < 1e-3);
}

#[test]
fn the_late_and_the_lost_are_counted_each_way() {
    let lossy = |end, number: u64| match end {
        End::User if number % 10 == 3 => None,
        End::User if number % 10 == 4 => Some(101),
        End::User => Some(100),
        End::Server if number % 4 == 1 => None,
        End::Server => Some(50),
    };
    let (_, report) = play(&steady(), 1, lossy);
    assert_eq!((report.up_loss_ratio, report.up_received), (Some(0.25), 375));
    let lost_down = report.down_sent - report.down_received;
    assert!((19..=20).contains(&lost_down));
    let late = (0..report.down_sent).filter(|number| number % 10 == 4).count() as u64;
    let expected = (125 + lost_down + late) as f64 / (500 + report.down_sent) as f64;
    assert!((report.late_ratio.unwrap() - expected).abs() < 1e-12);
    // A command whose first update is lost is seen with the next one.
    assert!(report.response_p99_s.unwrap() > 0.19);
}

#[test]
fn intervals_and_sizes_follow_their_law() {
    // Mean a + 0.5772 b, standard deviation π b/√6.
    let mut source = Game::default().source(Duration::ZERO, &mut streams(5));
    let Ticker { law, intervals, sizes } = &mut source.tickers[0];
    let n = 40_000;
    let times: Vec<f64> = (0..n).map(|_| 1e3 * law.draw_interval(&mut **intervals).as_secs_f64()).collect();
    let bytes: Vec<f64> = (0..n).map(|_| law.draw_size(&mut **sizes).get() as f64).collect();
    for (values, a, b) in [(&times, 55.0, 6.0), (&bytes, 120.0, 36.0)] {
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let sd = 1.2825 * b;
        assert!((mean - (a + 0.5772 * b)).abs() < 4.0 * sd / f64::from(n).sqrt(), "{mean}");
        let below = values.iter().filter(|value| **value <= a).count() as f64 / f64::from(n);
        // e^−1 are at most a; whole bytes add half a byte's density at most, 0.37/36 · 0.5.
        assert!((below - 0.3679).abs() < 0.01 + 0.0052, "{below}");
    }
}

proptest! {
    /// What is sent is received or lost, and quantiles rise.
    #[test]
    fn nothing_appears_or_vanishes(seed in 0u64..1_000, period in 2u64..20, spread in 1u64..200) {
        let delay = |_, number: u64| (!number.is_multiple_of(period)).then(|| 20 + number * 7919 % spread);
        let game = Game { length: Some(Duration::from_secs(4)), ..Game::default() };
        let (source, report) = play(&game, seed, delay);
        prop_assert_eq!(source.written, [report.down_sent, report.up_sent]);
        let lost = |sent: u64| sent.div_ceil(period);
        prop_assert_eq!(report.down_received + lost(report.down_sent), report.down_sent);
        prop_assert_eq!(report.up_received + lost(report.up_sent), report.up_sent);
        prop_assert!(report.up_delay_p50_s <= report.up_delay_p95_s && report.up_delay_p95_s <= report.up_delay_p99_s);
        prop_assert!(report.response_p50_s.unwrap_or(1.0) >= 0.040);
        prop_assert!((0.0..=1.0).contains(&report.late_ratio.unwrap()));
        let (_, again) = play(&game, seed, delay);
        prop_assert_eq!(report, again);
    }
}

#[test]
fn the_option_that_makes_packets_large_is_named() {
    let option = |game: &Game| game.needs().packet().map(|(_, option)| option);
    assert_eq!(option(&steady()), Some("down.size"));
    let mut game = steady();
    game.up.size = Bytes::new(101);
    assert_eq!(option(&game), Some("up.size"));
    game.up.size_scale = Bytes::new(6);
    assert_eq!((option(&game), game.needs().packet().unwrap().0), (Some("up.size_scale"), 101 + 20 * 6 + 28));
    game.down.size_scale = Bytes::new(10);
    assert_eq!(option(&game), Some("down.size_scale"));
}
