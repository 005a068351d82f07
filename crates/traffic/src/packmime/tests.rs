use std::collections::BTreeMap;

use super::laws::{SizeLaw, objects, pages, persists, server_delay};
use super::*;
use crate::tests::{entry_streams, run, streams, web_report};
use crate::{Act, Action, End, Source};
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean over sequences, and its standard error from their spread.
fn settled(values: &[f64]) -> (f64, f64) {
    let (average, n) = (mean(values), values.len() as f64);
    let variance = values.iter().map(|x| (x - average) * (x - average)).sum::<f64>() / (n - 1.0);
    (average, libm::sqrt(variance / n))
}

#[test]
fn sizes_have_the_quantiles_of_the_model() {
    // Computed with the distributed implementation.
    let laws = size_laws();
    let check = |law: &SizeLaw, points: &[(f64, f64)]| {
        for &(percent, size) in points {
            let found = law.quantile(1.0 - percent / 100.0);
            assert!((found - size).abs() < 0.008 * size + 1.0, "{percent} %: {found} B for {size} B");
        }
    };
    let request = [(1.0, 122.0), (5.0, 216.0), (10.0, 279.0), (25.0, 351.0), (50.0, 422.0), (75.0, 514.0)];
    check(&laws.request, &request);
    check(&laws.request, &[(90.0, 869.0), (95.0, 1061.0), (99.0, 3074.0)]);
    check(&laws.validation, &[(5.0, 64.0), (25.0, 119.0), (50.0, 141.0), (75.0, 197.0), (95.0, 267.0)]);
    let download = [(5.0, 325.0), (25.0, 691.0), (50.0, 2_254.0), (75.0, 8_886.0), (90.0, 20_343.0)];
    check(&laws.download, &download);
    check(&laws.download, &[(95.0, 35_885.0), (99.0, 92_574.0)]);
}

#[test]
fn request_sizes_have_their_law_and_their_mean() {
    for rate in [1.0, 500.0] {
        let mut sizes = RequestSizes::new(rate, 0.0, f64::INFINITY, streams(3)("requests"));
        let sample: Vec<f64> = (0..200_000).map(|_| sizes.draw() as f64).collect();
        let share = |from: f64, to: f64| {
            sample.iter().filter(|size| (from..=to).contains(*size)).count() as f64 / sample.len() as f64
        };
        // At a rate of 1 memory is strong, so shares converge slowly.
        let tolerance = if rate > 1.0 { 0.004 } else { 0.05 };
        assert!((share(150.0, 650.0) - 0.81).abs() < tolerance, "{} within", share(150.0, 650.0));
        assert!((share(0.0, 149.0) - 0.016).abs() < tolerance, "{} below", share(0.0, 149.0));
        if rate > 1.0 {
            // A Pareto tail of exponent 1.48: the mean of this many is known to a few per cent.
            assert!((mean(&sample) / 580.0 - 1.0).abs() < 0.03, "mean {}", mean(&sample));
        }
    }
}

#[test]
fn limits_give_the_conditional_law_and_keep_the_memory() {
    let law = &size_laws().request;
    let (low, high) = (law.beyond(150.0), law.beyond(650.0));
    let mut sizes = RequestSizes::new(500.0, 150.0, 650.0, streams(4)("requests"));
    let n = 100_000;
    let sample: Vec<f64> = (0..n).map(|_| sizes.draw() as f64).collect();
    assert!(sample.iter().all(|size| (150.0..=650.0).contains(size)));
    // The law is met half a byte off, because sizes are whole bytes.
    let beyond = |size: f64| ((law.beyond(size + 0.5) - high) / (low - high)).clamp(0.0, 1.0);
    let mut counts = BTreeMap::new();
    sample.iter().for_each(|size| *counts.entry(*size as u64).or_insert(0.0) += 1.0 / f64::from(n));
    let mut share = 0.0;
    for (size, count) in counts {
        share += count;
        let expected = 1.0 - beyond(size as f64);
        assert!((share - expected).abs() < 2.5 / libm::sqrt(f64::from(n)), "up to {size} B: {share} for {expected}");
    }
    // Limits keep the random draws: sizes keep their rank.
    let (mut free, mut limited) = (
        RequestSizes::new(5.0, 0.0, f64::INFINITY, streams(5)("requests")),
        RequestSizes::new(5.0, 150.0, 650.0, streams(5)("requests")),
    );
    let mut pairs: Vec<(u64, u64)> = (0..1_000).map(|_| (free.draw(), limited.draw())).collect();
    pairs.sort_unstable();
    assert!(pairs.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[0].1 <= pair[1].1));
}

#[test]
fn large_requests_follow_large_ones_as_the_memory_says() {
    // The indicator that a Gaussian value is above its median has correlation 2/π asin ρ.
    let mut strength = Vec::new();
    for rate in [1.0f64, 10.0, 500.0] {
        let sequence = |seed| -> Vec<f64> {
            let mut sizes = RequestSizes::new(rate, 0.0, f64::INFINITY, streams(seed)("requests"));
            (0..20_000).map(|_| if sizes.draw() > 422 { 1.0 } else { -1.0 }).collect()
        };
        let sequences: Vec<Vec<f64>> = (0..32).map(sequence).collect();
        let white_share = 1.0 / (1.0 + libm::exp(-0.123 - 0.494 * libm::log2(rate)));
        for lag in [1, 2, 10, 100] {
            let rho = fractional::theory::correlation(0.31, white_share, lag as u64);
            let expected = libm::asin(rho) * 2.0 / std::f64::consts::PI;
            let of = |sides: &Vec<f64>| mean(&sides.iter().zip(&sides[lag..]).map(|(a, b)| a * b).collect::<Vec<_>>());
            let (found, error) = settled(&sequences.iter().map(of).collect::<Vec<_>>());
            assert!((found - expected).abs() < 4.0 * error, "rate {rate}, {lag}: {found} ± {error} for {expected}");
            if lag == 1 {
                strength.push(expected);
            }
        }
    }
    assert!(strength[0] > 0.2 && strength[2] < 0.01, "{strength:?}");
}

/// Times between arrivals in multiples of their mean, in sequences of 20,000.
fn gaps(rate: f64) -> Vec<Vec<f64>> {
    let sequence = |seed| -> Vec<f64> {
        let mut arrivals = Arrivals::new(rate, streams(seed)("arrivals"));
        (0..20_000).map(|_| arrivals.draw().as_secs_f64() * rate).collect()
    };
    (0..32).map(sequence).collect()
}

/// The quantile that a share `beyond` exceeds, of a Weibull law with mean 1.
fn weibull_quantile(shape: f64, beyond: f64) -> f64 {
    libm::pow(-libm::log(beyond), 1.0 / shape) / libm::tgamma(1.0 + 1.0 / shape)
}

/// The shapes that the logistic model gives for rates.
const SHAPES: [(f64, f64); 4] = [(1.0, 0.587), (10.0, 0.838), (100.0, 0.949), (500.0, 0.979)];

#[test]
fn arrivals_have_the_weibull_law_of_their_rate() {
    for (rate, shape) in SHAPES {
        let model = Arrivals::new(rate, streams(6)("arrivals")).shape;
        assert!((model - shape).abs() < 0.0006, "rate {rate}: shape {model}");
        let sequences = gaps(rate);
        for beyond in [0.95, 0.75, 0.5, 0.25, 0.1, 0.01] {
            let limit = weibull_quantile(model, beyond);
            let share = |gaps: &Vec<f64>| gaps.iter().filter(|gap| **gap > limit).count() as f64 / gaps.len() as f64;
            let (found, error) = settled(&sequences.iter().map(share).collect::<Vec<_>>());
            assert!((found - beyond).abs() < 4.0 * error, "rate {rate}: {found} ± {error} for {beyond}");
        }
        let (found, error) = settled(&sequences.iter().map(|gaps| mean(gaps)).collect::<Vec<_>>());
        assert!((found - 1.0).abs() < 4.0 * error && error < 0.04, "rate {rate}: a mean of {found} ± {error}");
    }
}

/// Variance of the time that `count` connections take, over that of a Poisson process: a correlation ρ of Gaussian
/// values becomes Σ cₖ²/k! ρᵏ after the mapping, with cₖ the mean of the mapped value times the k-th Hermite
/// polynomial.
fn dispersion(rate: f64, shape: f64, count: u64) -> f64 {
    let (mut c, step) = ([0.0; 5], 1e-3);
    for z in (-8_000..8_000).map(|i| (f64::from(i) + 0.5) * step) {
        let density = libm::exp(-0.5 * z * z) / libm::sqrt(std::f64::consts::TAU) * step;
        let value = weibull_quantile(shape, units::chance::normal_cdf(-z)) * density;
        let (z2, z4) = (z * z, z * z * z * z);
        let hermite = [1.0, z, z2 - 1.0, z * (z2 - 3.0), z4 - 6.0 * z2 + 3.0];
        (0..5).for_each(|k| c[k] += value * hermite[k]);
    }
    let white_share = 1.0 / (1.0 + libm::exp(-0.333 - 0.414 * libm::log2(rate)));
    let covariance = |lag: u64| {
        let rho = fractional::theory::correlation(0.33, white_share, lag);
        c[1] * c[1] * rho
            + c[2] * c[2] / 2.0 * libm::pow(rho, 2.0)
            + c[3] * c[3] / 6.0 * libm::pow(rho, 3.0)
            + c[4] * c[4] / 24.0 * libm::pow(rho, 4.0)
    };
    let mean = libm::tgamma(1.0 + 1.0 / shape);
    let variance = libm::tgamma(1.0 + 2.0 / shape) / (mean * mean) - 1.0;
    let lags = (1..count).map(|lag| 2.0 * (1.0 - lag as f64 / count as f64) * covariance(lag));
    variance + lags.sum::<f64>()
}

#[test]
fn memory_fades_with_the_rate_until_arrivals_are_all_but_poisson() {
    for ((rate, shape), expected) in SHAPES.into_iter().zip([23.10, 5.50, 2.06, 1.40]) {
        let sequences = gaps(rate);
        for count in [1, 2, 10, 100] {
            let theory = dispersion(rate, Arrivals::new(rate, streams(1)("arrivals")).shape, count as u64);
            let of = |gaps: &Vec<f64>| {
                let times = gaps.chunks_exact(count).map(|chunk| chunk.iter().sum::<f64>() - count as f64);
                times.map(|time| time * time).sum::<f64>() / gaps.len() as f64
            };
            let (found, error) = settled(&sequences.iter().map(of).collect::<Vec<_>>());
            assert!((found - theory).abs() < 4.0 * error, "rate {rate}, {count}: {found} ± {error} for {theory}");
            assert!(error < 0.1 * theory, "rate {rate}, {count}: an error of {error} tells nothing");
            if count == 100 {
                assert!((theory / expected - 1.0).abs() < 0.01, "rate {rate}, shape {shape}: {theory}");
            }
        }
    }
    // At 500 a second, the shares of long gaps are those of the exponential law within 1 %.
    for limit in [0.1, 0.5, 1.0, 2.0, 3.0] {
        let shape = 0.979;
        let beyond = libm::exp(-libm::pow(limit * libm::tgamma(1.0 + 1.0 / shape), shape));
        assert!((beyond - libm::exp(-limit)).abs() < 0.01, "beyond {limit}: {beyond}");
    }
}

#[test]
fn responses_come_in_runs_of_downloads_and_validations() {
    let mut sizes = ResponseSizes::new(500.0, streams(8)("responses"));
    let sample: Vec<(u64, bool)> = (0..400_000).map(|_| sizes.draw()).collect();
    assert!(sample[0].1, "downloads begin");
    let runs: Vec<(bool, f64)> = sample.chunk_by(|a, b| a.1 == b.1).map(|run| (run[0].1, run.len() as f64)).collect();
    // The mean of a Weibull law rounded up is the sum of what is beyond 0, 1, 2 …
    let rounded_up =
        |scale: f64, shape: f64| -> f64 { (0..500).map(|k| libm::exp(-libm::pow(f64::from(k) / scale, shape))).sum() };
    let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    let octaves = libm::log2(500.0);
    let expected = [(false, 0.775, logistic(0.718 + 0.357 * octaves)), (true, 3.11, logistic(1.293 + 0.316 * octaves))];
    for (downloads, scale, shape) in expected {
        let lengths: Vec<f64> = runs.iter().filter(|run| run.0 == downloads).map(|run| run.1).collect();
        let expected = rounded_up(scale, shape);
        assert!((mean(&lengths) / expected - 1.0).abs() < 0.02, "{downloads}: runs of {}", mean(&lengths));
    }
    let downloads: Vec<f64> = sample.iter().filter(|response| response.1).map(|response| response.0 as f64).collect();
    let share = downloads.len() as f64 / sample.len() as f64;
    assert!((share - 0.725).abs() < 0.005, "{share} of responses are downloads");
    assert!(downloads.iter().all(|size| *size >= 275.0));
    assert!(sample.iter().all(|response| response.1 || (4..=272).contains(&response.0)));
    // An exponent of 1.23 leaves the mean uncertain; the median is not.
    let at_most = |limit: f64| downloads.iter().filter(|size| **size <= limit).count() as f64 / downloads.len() as f64;
    assert!((at_most(2_254.0) - 0.5).abs() < 0.005 && (at_most(35_885.0) - 0.95).abs() < 0.003);
}

#[test]
fn servers_think_as_long_as_in_the_model() {
    let mut rng = streams(9)("delay");
    let mut delays: Vec<f64> = (0..200_000).map(|_| server_delay(&mut *rng).as_secs_f64()).collect();
    delays.sort_by(f64::total_cmp);
    assert!((delays[100_000] - 0.0059).abs() < 0.0001, "median {}", delays[100_000]);
    assert!((mean(&delays) - 0.022).abs() < 0.0005, "mean {}", mean(&delays));
    let longest = delays.iter().filter(|delay| **delay == 0.1).count() as f64 / 200_000.0;
    let expected = 1.0 - libm::exp(-libm::pow(10.0 / 305.0, 0.63));
    assert!((longest - expected).abs() < 0.003, "{longest} at the limit for {expected}");
}

#[test]
fn counts_of_persistent_connections_have_their_laws() {
    let mut rng = streams(10)("counts");
    let n = 200_000;
    let share = |values: &[u64], value: u64| values.iter().filter(|v| **v == value).count() as f64 / f64::from(n);
    let persistent: Vec<u64> = (0..n).map(|_| u64::from(persists(&mut *rng))).collect();
    assert!((share(&persistent, 1) - 0.09).abs() < 0.003);
    // P(W ≤ 1) of the rounded law is the probability of two.
    let pages: Vec<u64> = (0..n).map(|_| pages(&mut *rng)).collect();
    assert!((share(&pages, 1) - 0.82).abs() < 0.004);
    assert!((share(&pages, 2) - 0.18 * (1.0 - libm::exp(-1.0 / 0.417))).abs() < 0.004);
    let alone: Vec<u64> = (0..n).map(|_| objects(&mut *rng, 1)).collect();
    assert!((share(&alone, 2) - (1.0 - libm::exp(-1.0 / 1.578))).abs() < 0.005 && share(&alone, 1) == 0.0);
    let among: Vec<u64> = (0..n).map(|_| objects(&mut *rng, 3)).collect();
    assert!((share(&among, 1) - 0.69).abs() < 0.005);
}

#[test]
fn gaps_and_responses_of_a_connection_are_more_alike_than_those_of_two() {
    // The variance of the logarithms is that of the location between connections, and that of the error (mean scale 1)
    // within one.
    for (law, seed) in [(laws::OBJECT_GAP, 1), (laws::PAGE_GAP, 2), (laws::RESPONSE, 3)] {
        let mut rng = streams(seed)("hierarchy");
        let (mut means, mut within, connections, values) = (Vec::new(), Vec::new(), 4_000, 20);
        for _ in 0..connections {
            let connection = law.connection(&mut *rng);
            let logs: Vec<f64> = (0..values).map(|_| libm::log2(connection.draw(&mut *rng))).collect();
            let average = mean(&logs);
            within.push(logs.iter().map(|x| (x - average) * (x - average)).sum::<f64>() / f64::from(values - 1));
            means.push(average);
        }
        let (location, variance) = law.location;
        let error = libm::sqrt((variance + law.error / f64::from(values)) / f64::from(connections));
        assert!((mean(&means) - location).abs() < 4.0 * error, "location {} for {location}", mean(&means));
        assert!((mean(&within) / law.error - 1.0).abs() < 0.06, "error {} for {}", mean(&within), law.error);
        let deviations: Vec<f64> = means.iter().map(|x| (x - location) * (x - location)).collect();
        let expected = variance + law.error / f64::from(values);
        assert!((mean(&deviations) / expected - 1.0).abs() < 0.1, "between {} for {expected}", mean(&deviations));
    }
}

/// The paper's case: 2,000 requests of 150 to 650 bytes at 500 a second.
fn paper() -> PackMime {
    PackMime {
        rate: 500.0,
        requests: Some(2_000),
        request_min: Some(Bytes::new(150)),
        request_max: Some(Bytes::new(650)),
        ..PackMime::default()
    }
}

fn build(packmime: &PackMime, offsets: &[u64], seconds: u64, seed: u64) -> Vec<UserSource> {
    let offsets: Vec<Duration> = offsets.iter().map(|ms| Duration::from_millis(*ms)).collect();
    packmime.build(&offsets, Duration::from_secs(seconds), &mut entry_streams(seed))
}

/// A user, the start of one of its connections, and all actions on it over a network with a delay of 250 ms.
type Outline = (u32, Time, Vec<(Time, Act)>);

fn outline(applications: Vec<UserSource>) -> Vec<Outline> {
    let outline = |mut application: UserSource| {
        let start = application.source.poll_timeout().unwrap();
        (application.user, start, run(&mut *application.source, Duration::from_millis(250)))
    };
    applications.into_iter().map(outline).collect()
}

#[test]
fn users_take_connections_in_turn() {
    let connections = outline(build(&paper(), &[0; 150], 60, 1));
    assert_eq!(connections.len(), 2_000);
    assert!(connections.iter().enumerate().all(|(i, connection)| connection.0 == i as u32 % 150));
    assert!(connections.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    // 2,000 at 500 a second.
    let last = connections[1_999].1.as_secs_f64();
    assert!((last - 4.0).abs() < 0.4, "the last one comes at {last} s");
    for (_, start, done) in connections {
        let what: Vec<Act> = done.iter().map(|(_, act)| *act).collect();
        let [open, ask, answer, server, user] = what[..] else { panic!("{what:?}") };
        assert_eq!((done[0].0, open), (start, Act::on_first(End::User, Action::Open)));
        let Action::Write(request) = ask.action else { panic!("{ask:?}") };
        assert!((150..=650).contains(&request.get()) && ask.end == End::User);
        assert!(matches!(answer, Act { end: End::Server, action: Action::Write(_), .. }));
        assert_eq!(server, Act::on_first(End::Server, Action::Close));
        assert_eq!(user, Act::on_first(End::User, Action::Close));
    }
}

#[test]
fn a_longer_run_begins_with_the_same_connections_and_options_move_no_other_draw() {
    let unlimited = PackMime { requests: None, ..paper() };
    let (short, long) = (outline(build(&unlimited, &[0; 7], 2, 3)), outline(build(&unlimited, &[0; 7], 4, 3)));
    assert!(short.len() > 800 && long.len() > 1_700);
    assert_eq!(short, long[..short.len()]);
    assert_ne!(short, outline(build(&unlimited, &[0; 7], 2, 4)));
    // Fewer requests, other limits and persistence do not change arrivals.
    let starts = |packmime: &PackMime| -> Vec<Time> {
        build(packmime, &[0; 7], 2, 3).iter().map(|application| application.source.poll_timeout().unwrap()).collect()
    };
    let other = PackMime { requests: Some(500), request_min: None, persistent: true, ..paper() };
    assert_eq!(starts(&other), starts(&unlimited)[..500]);
}

#[test]
fn arrivals_keep_to_their_time_and_to_their_users_offsets() {
    let packmime =
        PackMime { start: Duration::from_secs(10), stop: Some(Duration::from_secs(12)), requests: None, ..paper() };
    let connections = outline(build(&packmime, &[0, 0], 60, 1));
    assert!((900..1_100).contains(&connections.len()), "{} connections", connections.len());
    assert!(connections.iter().all(|connection| connection.1 > at(10_000) && connection.1 < at(12_000)));
    let later = outline(build(&packmime, &[0, 300], 60, 1));
    let expected = |&(user, start, _): &Outline| (user, start + Duration::from_millis(300) * u64::from(user));
    let expected: Vec<(u32, Time)> =
        connections.iter().map(expected).filter(|(_, start)| *start < at(12_000)).collect();
    assert_eq!(later.iter().map(|&(user, start, _)| (user, start)).collect::<Vec<_>>(), expected);
    assert!(build(&packmime, &[0, 0], 9, 1).is_empty() && build(&packmime, &[], 60, 1).is_empty());
    assert_eq!(packmime.expected_flows(1, Duration::from_secs(60)), 1_000.0);
    assert_eq!(packmime.expected_flows(1, Duration::from_secs(11)), 500.0);
    assert_eq!(PackMime { requests: Some(7), ..packmime }.expected_flows(1, Duration::from_secs(60)), 7.0);
}

#[test]
fn a_connection_as_a_conversation() {
    let exchange = |request, response, delay, gap| Exchange {
        request: Bytes::new(request),
        response: Bytes::new(response),
        delay: Duration::from_millis(delay),
        gap: Duration::from_millis(gap),
    };
    let exchanges = vec![exchange(400, 5_000, 6, 0), exchange(400, 200, 10, 50)];
    let mut source = HttpSource::new(at(1_000), exchanges);
    let actions = |source: &mut HttpSource, ms| -> Vec<(End, Action)> {
        std::iter::from_fn(|| source.poll_action(at(ms))).map(|act| (act.end, act.action)).collect()
    };
    let write = |end, bytes| (end, Action::Write(Bytes::new(bytes)));
    assert_eq!(actions(&mut source, 999), []);
    assert_eq!(actions(&mut source, 1_000), [(End::User, Action::Open), write(End::User, 400)]);
    assert_eq!(source.poll_timeout(), None);
    // The server does not react to a part of a request.
    source.handle_delivered(at(1_500), 0, End::Server, 399);
    assert_eq!(source.poll_timeout(), None);
    source.handle_delivered(at(1_600), 0, End::Server, 400);
    assert_eq!(source.poll_timeout(), Some(at(1_606)));
    assert_eq!(actions(&mut source, 1_605), []);
    assert_eq!(actions(&mut source, 1_606), [write(End::Server, 5_000)]);
    source.handle_delivered(at(1_900), 0, End::User, 4_999);
    assert_eq!(source.poll_timeout(), None);
    source.handle_delivered(at(2_000), 0, End::User, 5_000);
    assert_eq!(source.poll_timeout(), Some(at(2_050)));
    // The second request waits for its gap, without a handshake; the server closes with its last response.
    assert_eq!(actions(&mut source, 2_050), [write(End::User, 400)]);
    source.handle_delivered(at(2_300), 0, End::Server, 800);
    assert_eq!(actions(&mut source, 2_310), [write(End::Server, 200), (End::Server, Action::Close)]);
    source.handle_delivered(at(2_450), 0, End::User, 5_200);
    assert_eq!(actions(&mut source, 2_450), [(End::User, Action::Close)]);
    assert_eq!(source.poll_timeout(), None);
    let report = web_report(&source);
    assert_eq!((report.pages, report.clicks, report.load_mean_s), (0, 0, None));
    assert_eq!((report.requests, report.responses), (2, 2));
    let ms = |times: [Option<f64>; 4]| times.map(|time| (time.unwrap() * 1e3).round() as u64);
    let requests = [report.request_min_s, report.request_median_s, report.request_mean_s, report.request_max_s];
    assert_eq!(ms(requests), [250, 250, 425, 600]);
    let responses = [report.response_min_s, report.response_median_s, report.response_mean_s, report.response_max_s];
    assert_eq!(ms(responses), [400, 400, 700, 1_000]);
}

#[test]
fn requests_take_one_way_and_responses_two_and_the_server() {
    let mut responses = Vec::new();
    let mut applications = build(&paper(), &[0; 10], 60, 2);
    for application in &mut applications {
        run(&mut *application.source, Duration::from_millis(250));
        let report = web_report(&*application.source);
        assert_eq!((report.requests, report.responses, report.pages), (1, 1, 0));
        assert_eq!(report.request_max_s, Some(0.25));
        responses.push(report.response_max_s.unwrap());
    }
    responses.sort_by(f64::total_cmp);
    assert_eq!(responses.len(), 2_000);
    // The median of the server's delay on top, and its limit.
    assert!((responses[999] - 0.5059).abs() < 0.0006, "{}", responses[999]);
    assert!((responses[1_999] - 0.6).abs() < 1e-9);
}

#[test]
fn some_connections_persist_over_http_1_1() {
    let packmime = PackMime { persistent: true, requests: Some(20_000), ..paper() };
    let (mut persistent, mut validations, mut later) = (0, 0, Vec::new());
    for (_, _, done) in outline(build(&packmime, &[0; 10], 60, 5)) {
        let sizes = |end: End| -> Vec<u64> {
            let writes = done.iter().filter(|(_, act)| act.end == end).filter_map(|(_, act)| match act.action {
                Action::Write(size) => Some(size.get()),
                _ => None,
            });
            writes.collect()
        };
        let (requests, responses) = (sizes(End::User), sizes(End::Server));
        assert_eq!(requests.len(), responses.len());
        assert!(requests.iter().all(|size| *size == requests[0]), "requests of a connection are alike");
        if requests.len() == 1 {
            continue;
        }
        persistent += 1;
        if responses[0] <= 272 {
            validations += 1;
            assert!(responses.iter().all(|size| *size == responses[0]), "validations of a connection are alike");
        } else {
            later.extend(responses[1..].iter().map(|size| libm::log2(*size as f64)));
        }
    }
    assert!((f64::from(persistent) / 20_000.0 - 0.09).abs() < 0.006, "{persistent} connections persist");
    assert!((f64::from(validations) / f64::from(persistent) - 0.275).abs() < 0.04, "{validations} of validations");
    assert!((mean(&later) - 10.62).abs() < 0.15, "later responses of 2^{} B", mean(&later));
}

#[test]
fn what_cannot_be_is_refused_with_its_name() {
    let refused = |packmime: PackMime| packmime.check().unwrap_err().to_string();
    let size = |bytes| Some(Bytes::new(bytes));
    assert!(refused(PackMime { rate: 0.0, ..paper() }).starts_with("rate: 0 was given: must be from 1 to"));
    assert!(refused(PackMime { rate: 0.99, ..paper() }).starts_with("rate: 0.99"));
    assert!(refused(PackMime { rate: f64::NAN, ..paper() }).starts_with("rate: NaN"));
    assert!(refused(PackMime { requests: Some(0), ..paper() }).starts_with("requests: 0"));
    assert!(
        refused(PackMime { stop: Some(Duration::ZERO), ..paper() }).starts_with("stop: 0 s was given: must be after")
    );
    assert!(
        refused(PackMime { request_max: size(100), ..paper() }).starts_with("request_max: the limits leave 0.000 %")
    );
    let none = PackMime { request_min: size(1_000_000), request_max: None, ..paper() };
    assert!(refused(none).starts_with("request_min: the limits leave 0.0"));
}

proptest! {
    #[test]
    fn quantiles_and_shares_are_inverse(beyond in 1e-9f64..1.0, more in 1.000_01f64..2.0) {
        let laws = size_laws();
        for law in [&laws.request, &laws.validation, &laws.download] {
            let size = law.quantile(beyond);
            prop_assert!((law.beyond(size) / beyond - 1.0).abs() < 1e-6, "{beyond}: {size}");
            prop_assert!(law.quantile(beyond / more) >= size);
        }
    }
}
