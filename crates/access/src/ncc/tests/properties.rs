//! Invariants under all arrivals.

use proptest::prelude::*;

use super::*;

fn capacities() -> impl Strategy<Value = Capacity> {
    let rate = prop::option::of((1_000u64..200_000).prop_map(BitRate::from_bps));
    (0usize..4, rate, 1u64..400).prop_map(|(kind, cra, horizon)| match kind {
        0 => Capacity::Cra(Cra { rate: cra }),
        1 => Capacity::Rbdc(Rbdc { horizon: Duration::from_millis(horizon), cra, ..Rbdc::default() }),
        2 => Capacity::Vbdc(Vbdc { cra }),
        _ => Capacity::Avbdc(Avbdc { cra }),
    })
}

/// Random scenarios.
fn scenarios() -> impl Strategy<Value = (DedicatedConfig, FrameFacts)> {
    let dedicated = (capacities(), any::<bool>(), 50u64..2000, 0u32..3, 0u64..400);
    let frame = (1u32..5, 1u32..50, any::<bool>(), 1u32..60);
    (dedicated, frame).prop_map(
        |((capacity, fca, release, setup, interval), (superframe, timeslots, one_amplifier, max))| {
            let config = DedicatedConfig {
                capacity,
                fca,
                release_after: Duration::from_millis(release),
                setup_round_trips: setup,
                request_interval: Duration::from_millis(interval),
                ..DedicatedConfig::default()
            };
            let max_slots = if one_amplifier { max.min(timeslots) } else { max };
            let slot_bits = 920;
            (
                config,
                FrameFacts {
                    duration: FRAME,
                    timeslots,
                    superframe_frames: superframe,
                    one_amplifier,
                    slot_bits,
                    max_slots,
                },
            )
        },
    )
}

/// Arrivals: terminal, bits, and milliseconds since the arrival before.
fn arrivals() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    let apart = prop_oneof![4 => 0u64..60, 1 => 0u64..3000];
    prop::collection::vec((0usize..6, 1u64..40_000, apart), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Under all arrivals the burst time plan holds (checked in each frame), and the queues become empty although a
    /// slot carries less than its nominal payload. Then connections are released.
    #[test]
    fn what_arrives_is_sent(
        (config, facts) in scenarios(),
        arrivals in arrivals(),
        slots in 1u32..200,
        padding in 0u64..300,
        weights in prop::collection::vec(0.1..10.0f64, 6),
    ) {
        let mut link = Link::new(&config, facts, slots, &weights);
        link.padding = padding;
        let mut now = Time::ZERO;
        for (terminal, bits, apart) in arrivals {
            now += Duration::from_millis(apart);
            link.run_until(now);
            link.arrive(now, terminal, bits);
        }
        // The most bits are 60 times 40 000, of which a frame takes 620 at least; a base rate of 1 kbit/s takes 45.
        let mut frames = 0;
        while link.waiting.iter().any(|&bits| bits > 0) {
            link.frame();
            frames += 1;
            prop_assert!(frames < 60_000, "what is left: {:?}", link.waiting);
        }
        link.run_until(Time::ZERO + FRAME * link.next_frame + config.release_after + RTT * 3 + FRAME * 10);
        prop_assert!(link.ncc.is_idle());
    }

    /// Under overload all slots are granted and used, and divided by weight.
    #[test]
    fn overload_is_divided_by_weight(
        capacity in capacities(),
        slots in 5u32..100,
        weights in prop::collection::vec(0.1..10.0f64, 2..12),
    ) {
        prop_assume!(!matches!(capacity, Capacity::Cra(Cra { rate: Some(_) })));
        // Only one category at a time: base rates are divided separately.
        let capacity = match capacity {
            Capacity::Rbdc(rbdc) => Capacity::Rbdc(Rbdc { cra: None, ..rbdc }),
            Capacity::Vbdc(_) => Capacity::Vbdc(Vbdc::default()),
            Capacity::Avbdc(_) => Capacity::Avbdc(Avbdc::default()),
            cra => cra,
        };
        let facts = FrameFacts { timeslots: 1000, max_slots: 1000, ..facts() };
        let mut link = Link::new(&asking(capacity), facts, slots, &weights);
        (0..weights.len()).for_each(|terminal| link.arrive(at(0.0), terminal, 1 << 40));
        link.run_until(at(1.2));
        let before = link.granted_ever.clone();
        let total: f64 = weights.iter().sum();
        for _ in 0..500 {
            link.frame();
            prop_assert_eq!(link.granted_in_frame(), slots);
            for (&granted, weight) in link.granted.iter().zip(&weights) {
                prop_assert!((f64::from(granted) - f64::from(slots) * weight / total).abs() < 1.0);
            }
        }
        prop_assert_eq!(&link.granted_ever, &link.used_ever);
        for (terminal, weight) in weights.iter().enumerate() {
            let share = 500.0 * f64::from(slots) * weight / total;
            let got = (link.granted_ever[terminal] - before[terminal]) as f64;
            prop_assert!((got - share).abs() <= 2.0, "terminal {} got {} of {}", terminal, got, share);
        }
    }

    /// The sum of VBDC's grants is at most the sum of its requests: none is in vain while slots carry their nominal
    /// payload.
    #[test]
    fn volumes_are_granted_no_more_than_asked(arrivals in arrivals(), slots in 1u32..200) {
        let mut link = Link::new(&asking(Capacity::Vbdc(Vbdc::default())), facts(), slots, &[1.0; 6]);
        let mut now = Time::ZERO;
        for (terminal, bits, apart) in arrivals {
            now += Duration::from_millis(apart);
            link.run_until(now);
            link.arrive(now, terminal, bits.div_ceil(920) * 920);
        }
        link.run_until(now + Duration::from_secs(200));
        prop_assert_eq!(&link.granted_ever, &link.used_ever);
        prop_assert!(link.granted_ever.iter().zip(&link.arrived).all(|(granted, bits)| granted * 920 == *bits));
    }

    /// A terminal with a whole share gets it, whichever terminals are behind.
    #[test]
    fn whole_shares_are_given_whole(
        weights in prop::collection::vec(1u32..5, 2..8),
        frames in prop::collection::vec(0u32..60, 1..30),
    ) {
        let sum: u32 = weights.iter().sum();
        let mut share = Share::new(weights.len());
        for available in frames {
            let candidates = weights.iter().zip(0..).map(|(&weight, index)| (index, 1000, f64::from(weight)));
            for (&(_, granted), weight) in share.divide(available, candidates).iter().zip(&weights) {
                let due = available * weight;
                prop_assert!(granted >= due / sum && granted <= due.div_ceil(sum));
            }
        }
    }

    /// Weighted max-min fairness, compared with a search for the level.
    #[test]
    fn shares_are_max_min_fair(
        wanted in prop::collection::vec((0u32..60, 0.1..10.0f64), 1..30),
        available in 0u32..600,
    ) {
        let mut share = Share::new(wanted.len());
        let candidates = || (0..).zip(&wanted).map(|(terminal, &(wanted, weight))| (terminal as u32, wanted, weight));
        let granted: Vec<u32> = share.divide(available, candidates()).iter().map(|&(_, granted)| granted).collect();
        let sum: u32 = wanted.iter().map(|(wanted, _)| wanted).sum();
        prop_assert_eq!(granted.iter().sum::<u32>(), sum.min(available));
        let (mut low, mut high) = (0.0, 1e5);
        for _ in 0..200 {
            let level = 0.5 * (low + high);
            let filled: f64 = wanted.iter().map(|&(wanted, weight)| f64::from(wanted).min(level * weight)).sum();
            if filled < f64::from(available) { low = level } else { high = level }
        }
        for (&(wanted, weight), granted) in wanted.iter().zip(granted) {
            let fair = f64::from(wanted).min(low * weight);
            prop_assert!((f64::from(granted) - fair).abs() < 1.0 + 1e-6, "{} of {}, fair is {}", granted, wanted, fair);
        }
    }
}
