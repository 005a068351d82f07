//! Terminals that send in their granted slots.

mod categories;
mod properties;

use units::{BitRate, Db};

use super::capacity::{Avbdc, Cra, Rbdc, Vbdc};
use super::*;

const FRAME: Duration = Duration::from_millis(45);
const RTT: Duration = Duration::from_millis(500);

/// Terminals with queues, in frames that begin at time 0.
struct Link {
    ncc: Ncc,
    slots: u32,
    facts: FrameFacts,
    waiting: Vec<u64>,
    arrived: Vec<u64>,
    next_frame: u64,
    /// Slots of the last frame, and in all, for each terminal; and the slots of these with data.
    granted: Vec<u32>,
    granted_ever: Vec<u64>,
    used_ever: Vec<u64>,
    /// Bits by which a slot carries less than its nominal payload.
    padding: u64,
}

/// The queues of the terminals, as full slots.
struct Queues<'a> {
    waiting: &'a [u64],
    arrived: &'a [u64],
    slot_bits: u32,
}

impl Backlogs for Queues<'_> {
    fn wait(&self, terminal: u32) -> bool {
        self.waiting[terminal as usize] > 0
    }

    fn backlog(&self, terminal: u32) -> Backlog {
        let (bits, arrived_bits) = (self.waiting[terminal as usize], self.arrived[terminal as usize]);
        Backlog { bits, slots: bits.div_ceil(u64::from(self.slot_bits)), arrived_bits }
    }
}

fn facts() -> FrameFacts {
    let (timeslots, superframe_frames, slot_bits) = (40, 1, 920);
    FrameFacts { duration: FRAME, timeslots, superframe_frames, one_amplifier: true, slot_bits, max_slots: timeslots }
}

fn asking(capacity: Capacity) -> DedicatedConfig {
    DedicatedConfig { capacity, ..DedicatedConfig::default() }
}

fn every_capacity() -> [Capacity; 4] {
    [
        Capacity::Cra(Cra::default()),
        Capacity::Rbdc(Rbdc::default()),
        Capacity::Vbdc(Vbdc::default()),
        Capacity::Avbdc(Avbdc::default()),
    ]
}

impl Link {
    fn new(config: &DedicatedConfig, facts: FrameFacts, slots: u32, weights: &[f64]) -> Link {
        assert_eq!(config.check(), Ok(()));
        let n = weights.len();
        Link {
            ncc: Ncc::new(config, facts, weights),
            slots,
            facts,
            waiting: vec![0; n],
            arrived: vec![0; n],
            next_frame: 0,
            granted: vec![0; n],
            granted_ever: vec![0; n],
            used_ever: vec![0; n],
            padding: 0,
        }
    }

    /// The published frame, all of it dedicated, for terminals of equal weight.
    fn published(capacity: Capacity, terminals: usize) -> Link {
        Link::new(&asking(capacity), facts(), 4000, &vec![1.0; terminals])
    }

    fn arrive(&mut self, now: Time, terminal: usize, bits: u64) {
        self.waiting[terminal] += bits;
        self.arrived[terminal] += bits;
        let backlogs = Queues { waiting: &self.waiting, arrived: &self.arrived, slot_bits: self.facts.slot_bits };
        self.ncc.handle_data(now, terminal as u32, &backlogs, RTT);
    }

    /// The next frame: checks its burst time plan, then all terminals send.
    fn frame(&mut self) -> Time {
        let now = Time::ZERO + FRAME * self.next_frame;
        self.next_frame += 1;
        let backlogs = Queues { waiting: &self.waiting, arrived: &self.arrived, slot_bits: self.facts.slot_bits };
        self.ncc.handle_frame(now, self.slots, &backlogs, RTT);
        self.check_plan();
        self.granted.fill(0);
        for grant in self.ncc.burst_time_plan() {
            let number = grant.terminal as usize;
            self.granted[number] = grant.slots;
            self.granted_ever[number] += u64::from(grant.slots);
            for _ in 0..grant.slots {
                self.used_ever[number] += u64::from(self.waiting[number] > 0);
                let carried = u64::from(self.facts.slot_bits) - self.padding;
                self.waiting[number] = self.waiting[number].saturating_sub(carried);
            }
        }
        now
    }

    fn check_plan(&self) {
        let facts = self.facts;
        let mut taken = vec![false; self.slots as usize];
        let mut named = vec![false; self.waiting.len()];
        for grant in self.ncc.burst_time_plan() {
            assert!(self.ncc.is_connected(grant.terminal), "{grant:?} without connection");
            assert!(!std::mem::replace(&mut named[grant.terminal as usize], true), "{grant:?} is the second");
            assert!((1..=facts.max_slots).contains(&grant.slots), "{grant:?} is beyond the limit");
            let mut columns = vec![false; facts.timeslots as usize];
            for slot in grant.first_slot..grant.first_slot + grant.slots {
                assert!(!std::mem::replace(&mut taken[slot as usize], true), "{grant:?} overlaps");
                let twice = std::mem::replace(&mut columns[(slot % facts.timeslots) as usize], true);
                assert!(!(twice && facts.one_amplifier), "{grant:?} uses a column twice");
            }
        }
    }

    /// Frames up to the one that begins at `end`, excluding it.
    fn run_until(&mut self, end: Time) {
        while Time::ZERO + FRAME * self.next_frame < end {
            self.frame();
        }
    }

    fn frames(&mut self, count: usize) {
        for _ in 0..count {
            self.frame();
        }
    }

    /// When a terminal is next granted slots.
    fn next_grant(&mut self, terminal: usize) -> Time {
        for _ in 0..1000 {
            let now = self.frame();
            if self.granted[terminal] > 0 {
                return now;
            }
        }
        panic!("terminal {terminal} is never granted anything");
    }

    fn granted_in_frame(&self) -> u32 {
        self.granted.iter().sum()
    }
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

#[test]
fn the_first_data_are_sent_in_the_first_frame_after_a_round_trip() {
    for capacity in every_capacity() {
        let mut link = Link::published(capacity, 1);
        link.run_until(at(10.0));
        assert!(link.ncc.is_idle());
        link.arrive(at(10.0), 0, 12_000);
        assert!(!link.ncc.is_idle() && !link.ncc.is_connected(0));
        assert_eq!(link.next_grant(0), at(10.53));
        assert!(link.ncc.is_connected(0));
    }
}

#[test]
fn what_is_asked_for_when_a_frame_begins_counts_for_that_frame() {
    let mut link = Link::published(Capacity::default(), 1);
    link.arrive(at(0.4), 0, 1); // and 0.9 s is the beginning of a frame
    assert_eq!(link.next_grant(0), at(0.9));
}

#[test]
fn set_up_takes_the_round_trips_that_the_scenario_says() {
    let slow = DedicatedConfig { setup_round_trips: 2, ..DedicatedConfig::default() };
    let own = DedicatedConfig { round_trip: Some(Duration::from_millis(100)), ..DedicatedConfig::default() };
    for (config, expected) in [(slow, 1.035), (own, 0.135)] {
        let mut link = Link::new(&config, facts(), 4000, &[1.0]);
        link.arrive(at(0.0), 0, 1000);
        assert_eq!(link.next_grant(0), at(expected));
    }
}

#[test]
fn all_slots_are_shared_equally_over_time() {
    let mut link = Link::published(Capacity::default(), 150);
    (0..150).for_each(|terminal| link.arrive(at(0.0), terminal, 1 << 40));
    link.run_until(at(0.54));
    for _ in 0..100 {
        let before = link.granted_ever.clone();
        for _ in 0..3 {
            link.frame();
            assert_eq!(link.granted_in_frame(), 4000);
            assert!(link.granted.iter().all(|slots| (26..=27).contains(slots)));
        }
        assert!(link.granted_ever.iter().zip(before).all(|(now, before)| now - before == 80));
    }
}

#[test]
fn nobody_has_more_than_a_carrier_with_one_amplifier() {
    for (one_amplifier, max_slots, expected) in [(true, 4000, 40), (false, 4000, 80), (false, 60, 60), (true, 33, 33)] {
        let limited = FrameFacts { one_amplifier, max_slots, ..facts() };
        let mut link = Link::new(&DedicatedConfig::default(), limited, 4000, &[1.0; 50]);
        (0..50).for_each(|terminal| link.arrive(at(0.0), terminal, 1 << 40));
        link.next_grant(0);
        assert_eq!(link.granted, vec![expected; 50]);
    }
}

#[test]
fn a_connection_without_data_is_released() {
    let after_20_frames = DedicatedConfig { release_after: FRAME * 20, ..DedicatedConfig::default() };
    let mut link = Link::new(&after_20_frames, facts(), 4000, &[1.0]);
    link.arrive(at(0.0), 0, 100 * 920);
    assert_eq!(link.next_grant(0), at(0.54));
    link.frames(2);
    assert_eq!((link.waiting[0], link.granted_ever[0]), (0, 120));
    // CRA: the slots are granted as long as the connection exists, with or without data.
    link.frames(19);
    assert!(link.granted_in_frame() == 40 && link.ncc.is_connected(0));
    // 20 frames after the one in which data last waited, not after their arrival.
    link.frame();
    assert!(!link.ncc.is_connected(0) && link.ncc.is_idle() && link.ncc.burst_time_plan().is_empty());
    link.arrive(at(3.6), 0, 12_000);
    link.run_until(at(3.6));
    assert_eq!(link.next_grant(0), at(4.14));
}

#[test]
fn data_that_are_gone_before_a_superframe_begins_keep_a_connection_too() {
    let facts = FrameFacts { superframe_frames: 4, ..facts() };
    let config = DedicatedConfig { release_after: FRAME * 8, ..DedicatedConfig::default() };
    let mut link = Link::new(&config, facts, 4000, &[1.0]);
    link.arrive(at(0.0), 0, 920);
    link.next_grant(0);
    for _ in 0..10 {
        link.frame();
        link.arrive(Time::ZERO + FRAME * link.next_frame, 0, 920); // in the second frame of the superframe
        link.frames(3);
        assert!(link.ncc.is_connected(0) && link.waiting[0] == 0);
    }
}

#[test]
fn data_keep_a_connection() {
    for capacity in every_capacity() {
        let mut link = Link::published(capacity, 1);
        link.arrive(at(0.0), 0, 12_000);
        for second in [2.9, 5.8, 8.7] {
            link.run_until(at(second));
            link.arrive(at(second), 0, 12_000);
        }
        link.run_until(at(11.0));
        assert!(link.ncc.is_connected(0));
        link.run_until(at(12.6));
        assert!(!link.ncc.is_connected(0));
        assert_eq!(link.waiting[0], 0);
    }
}

#[test]
fn requests_of_a_former_connection_do_not_count() {
    let vbdc = asking(Capacity::Vbdc(Vbdc::default()));
    let short = DedicatedConfig { release_after: FRAME * 2, setup_round_trips: 0, ..vbdc };
    let mut link = Link::new(&short, facts(), 4000, &[1.0]);
    link.arrive(at(0.0), 0, 920);
    link.frame();
    link.arrive(at(0.02), 0, 9200); // requested at 0.045 s, in flight until 0.545 s
    link.frame();
    link.waiting[0] = 0; // sent by other means: the connection is released
    link.run_until(at(0.2));
    assert!(!link.ncc.is_connected(0));
    link.arrive(at(0.2), 0, 920);
    link.run_until(at(0.5));
    // The third connection is set up when the request of the first arrives.
    link.arrive(at(0.5), 0, 920);
    link.run_until(at(2.0));
    assert_eq!(link.granted_ever[0], 3);
}

#[test]
fn requests_take_the_round_trip_that_the_scenario_says() {
    let vbdc = asking(Capacity::Vbdc(Vbdc::default()));
    let own = DedicatedConfig { round_trip: Some(Duration::from_millis(100)), ..vbdc };
    let mut link = Link::new(&own, facts(), 4000, &[1.0]);
    link.arrive(at(0.0), 0, 920);
    assert_eq!(link.next_grant(0), at(0.135));
    link.arrive(at(0.17), 0, 920); // requested at 0.18 s
    assert_eq!(link.next_grant(0), at(0.315));
}

#[test]
fn a_rate_that_was_missed_is_not_made_up_for() {
    let rate = BitRate::from_bps(210_000); // 10.27 slots a frame
    let mut link = Link::published(Capacity::Cra(Cra { rate: Some(rate) }), 1);
    link.arrive(at(0.0), 0, 1);
    link.next_grant(0);
    link.slots = 5;
    for _ in 0..20 {
        link.frame();
        assert_eq!(link.granted[0], 5);
    }
    link.slots = 4000;
    for _ in 0..20 {
        link.frame();
        assert!((10..=11).contains(&link.granted[0]));
    }
}

#[test]
fn a_base_rate_is_met_over_several_frames() {
    let rate = BitRate::from_bps(100_000); // 4.891 slots a frame
    for capacity in [
        Capacity::Cra(Cra { rate: Some(rate) }),
        Capacity::Rbdc(Rbdc { cra: Some(rate), ..Rbdc::default() }),
        Capacity::Vbdc(Vbdc { cra: Some(rate) }),
        Capacity::Avbdc(Avbdc { cra: Some(rate) }),
    ] {
        let config = DedicatedConfig { release_after: Duration::from_secs(1000), ..asking(capacity) };
        let mut link = Link::new(&config, facts(), 4000, &[1.0; 3]);
        link.arrive(at(0.0), 0, 1);
        link.next_grant(0);
        // The requested slot, beside the base rate, is over.
        let before = link.granted_ever[0];
        for _ in 0..10 {
            link.frame();
        }
        let skipped = link.granted_ever[0] - before;
        assert!((48..=50).contains(&skipped), "{skipped}");
        for _ in 0..1000 {
            link.frame();
            assert!((4..=5).contains(&link.granted[0]));
        }
        assert!((link.granted_ever[0] - before - skipped).abs_diff(4891) <= 1);
        assert_eq!(link.granted_ever[1..], [0, 0]);
    }
}

#[test]
fn a_rate_is_limited_by_the_slots_of_a_terminal() {
    let mut link = Link::published(Capacity::Cra(Cra { rate: Some(BitRate::from_bps(1_000_000_000_000_000)) }), 2);
    link.arrive(at(0.0), 0, 1);
    link.arrive(at(0.0), 1, 1);
    link.next_grant(0);
    link.frame();
    assert_eq!(link.granted, [40, 40]);
}

/// Constant arrivals: (slots granted, slots used) of some frames after some others, and the mean backlog after a frame.
fn steady(capacity: Capacity, bits_per_frame: u64) -> (u64, u64, f64) {
    let mut link = Link::published(capacity, 1);
    let (mut before, mut waiting) = ((0, 0), 0);
    for frame in 0..1200 {
        if frame == 200 {
            before = (link.granted_ever[0], link.used_ever[0]);
        }
        let now = link.frame();
        waiting += if frame < 200 { 0 } else { link.waiting[0] };
        link.arrive(now + Duration::from_millis(20), 0, bits_per_frame);
    }
    (link.granted_ever[0] - before.0, link.used_ever[0] - before.1, waiting as f64 / 1000.0)
}

#[test]
fn requests_follow_the_rate() {
    for capacity in &every_capacity()[1..] {
        // 10.5 slots a frame: all is carried, few slots are granted in vain.
        let (granted, used, waiting) = steady(capacity.clone(), 9660);
        // With rates, some slots are not full.
        assert!((10_490..=10_710).contains(&used), "{capacity:?}: {used}");
        assert!(granted <= used + used / 20, "{capacity:?}: {granted} granted, {used} used");
        // Volumes are requested when they have arrived, a round trip (12 frames) before they are granted; a rate
        // anticipates them.
        let frames = if let Capacity::Rbdc(_) = capacity { 0.0..2.0 } else { 11.0..13.5 };
        assert!(frames.contains(&(waiting / 9660.0)), "{capacity:?}: {waiting} bits wait");
    }
}

#[test]
fn a_base_rate_saves_requests() {
    let cra = Some(BitRate::from_bps(100_000));
    for capacity in
        [Capacity::Rbdc(Rbdc { cra, ..Rbdc::default() }), Capacity::Vbdc(Vbdc { cra }), Capacity::Avbdc(Avbdc { cra })]
    {
        // 4.5 slots a frame, and the base rate sends 4.89.
        let (granted, used, waiting) = steady(capacity.clone(), 4140);
        assert!(granted <= 4900 && used >= 4490, "{capacity:?}: {granted} granted, {used} used");
        assert!(waiting < 2.0 * 4140.0, "{capacity:?}: {waiting} bits wait");
    }
}

/// The base rate sends nothing before the connection stands: the first request is for all that waits, and data that
/// slots of their own would take a frame do not take longer because there is a base rate.
#[test]
fn a_base_rate_delays_no_first_data() {
    for cra in [None, Some(BitRate::from_bps(50_000))] {
        let rbdc = Rbdc { horizon: FRAME, cra, ..Rbdc::default() };
        for capacity in [Capacity::Rbdc(rbdc), Capacity::Vbdc(Vbdc { cra }), Capacity::Avbdc(Avbdc { cra })] {
            for setup_round_trips in [0, 1, 3] {
                let config = DedicatedConfig { setup_round_trips, ..asking(capacity.clone()) };
                let mut link = Link::new(&config, facts(), 4000, &[1.0]);
                link.arrive(at(0.0), 0, 14 * 920);
                link.next_grant(0);
                assert_eq!(link.waiting[0], 0, "{config:?}");
            }
        }
    }
}

#[test]
fn rbdc_ends_with_the_data() {
    let mut link = Link::published(Capacity::Rbdc(Rbdc::default()), 1);
    for _ in 0..100 {
        let now = link.frame();
        link.arrive(now, 0, 9200);
    }
    while link.waiting[0] > 0 {
        link.frame();
    }
    let sent = link.granted_ever[0];
    link.frames(120);
    // The NCC learns of the end of the data a round trip later, and the mean rate decays within seconds.
    let in_vain = link.granted_ever[0] - sent;
    assert!((120..=120 + 222 + 10).contains(&in_vain), "{in_vain} slots in vain");
    link.frames(60);
    assert!(link.granted_ever[0] - sent - in_vain <= 1);
}

#[test]
fn rbdc_asks_for_no_more_than_its_limit() {
    let max_rate = Some(BitRate::from_bps(50_000)); // 2.446 slots a frame
    let mut link = Link::published(Capacity::Rbdc(Rbdc { max_rate, ..Rbdc::default() }), 1);
    link.arrive(at(0.0), 0, 1 << 30);
    // The first request expires before the next one can arrive.
    link.run_until(at(1.2));
    let before = link.granted_ever[0];
    link.frames(1000);
    assert!((link.granted_ever[0] - before).abs_diff(2446) <= 1);
}

#[test]
fn a_volume_is_granted_once() {
    for capacity in [Capacity::Vbdc(Vbdc::default()), Capacity::Avbdc(Avbdc::default())] {
        let mut link = Link::published(capacity, 2);
        link.arrive(at(0.0), 0, 240_000); // 30 kB are 261 slots, 40 a frame
        link.arrive(at(0.0), 1, 1);
        link.run_until(at(2.0));
        assert_eq!(link.granted_ever, [261, 1]);
        assert_eq!(link.waiting, [0, 0]);
    }
}

/// Ten terminals have 300 slots' worth each, and there are 20 a frame: no slot is unused while data wait.
#[test]
fn slots_are_not_left_unused_while_data_wait() {
    for capacity in &every_capacity()[1..] {
        let mut link = Link::new(&asking(capacity.clone()), facts(), 20, &[1.0; 10]);
        (0..10).for_each(|terminal| link.arrive(at(0.0), terminal, 300 * 920));
        link.run_until(at(0.54));
        let mut frames = 0;
        while link.waiting.iter().any(|&bits| bits > 0) {
            link.frame();
            frames += 1;
        }
        assert!(frames <= 150 + 24, "{capacity:?}: {frames} frames");
    }
}

/// Data that arrive while a connection is set up are requested in the frame in which it is ready.
#[test]
fn data_that_arrive_during_the_set_up_are_asked_for_as_soon_as_it_stands() {
    let mut link = Link::published(Capacity::Vbdc(Vbdc::default()), 1);
    link.arrive(at(0.0), 0, 920);
    link.arrive(at(0.2), 0, 9200);
    assert_eq!(link.next_grant(0), at(0.54));
    assert_eq!((link.granted[0], link.waiting[0]), (1, 9200));
    assert_eq!(link.next_grant(0), at(1.08));
    assert_eq!((link.granted[0], link.waiting[0]), (10, 0));
}

#[test]
fn free_capacity_is_what_is_left() {
    let config = DedicatedConfig { fca: true, ..asking(Capacity::Vbdc(Vbdc::default())) };
    let mut link = Link::new(&config, facts(), 50, &[1.0; 3]);
    link.arrive(at(0.0), 0, 35 * 920);
    link.arrive(at(0.0), 1, 2 * 920);
    link.next_grant(0);
    // 37 slots were requested; the other 13 go to both until the first has its 40. The third is not connected.
    assert_eq!(link.granted, [40, 10, 0]);
    link.frame();
    assert_eq!(link.granted, [25, 25, 0]);
    let without = DedicatedConfig { fca: false, ..config };
    let mut link = Link::new(&without, facts(), 50, &[1.0; 3]);
    link.arrive(at(0.0), 0, 35 * 920);
    link.arrive(at(0.0), 1, 2 * 920);
    link.next_grant(0);
    assert_eq!(link.granted, [35, 2, 0]);
}

#[test]
fn rates_come_before_requests() {
    let cra = Some(BitRate::from_bps(20_444)); // one slot a frame
    let mut link = Link::new(&asking(Capacity::Vbdc(Vbdc { cra })), facts(), 10, &[1.0; 10]);
    (0..10).for_each(|terminal| link.arrive(at(0.0), terminal, if terminal == 0 { 1 << 30 } else { 1 }));
    link.run_until(at(1.0));
    for _ in 0..50 {
        link.frame();
        assert!(link.granted[1..].iter().sum::<u32>() >= 8, "{:?}", link.granted);
    }
}

#[test]
fn connections_and_requests_count_from_the_next_superframe() {
    let facts = FrameFacts { superframe_frames: 4, ..facts() };
    for capacity in every_capacity() {
        let mut link = Link::new(&asking(capacity), facts, 4000, &[1.0; 2]);
        link.arrive(at(0.0), 0, 12_000);
        assert_eq!(link.next_grant(0), at(0.54));
        link.arrive(at(0.1), 1, 12_000); // 0.6 s, and superframes begin at 0.54 and 0.72 s
        assert_eq!(link.next_grant(1), at(0.72));
    }
}

#[test]
fn requests_keep_their_interval() {
    let config =
        DedicatedConfig { request_interval: Duration::from_millis(200), ..asking(Capacity::Vbdc(Vbdc::default())) };
    let mut link = Link::new(&config, facts(), 4000, &[1.0]);
    link.arrive(at(0.0), 0, 1);
    link.run_until(at(0.68));
    link.arrive(at(0.68), 0, 1); // requests are sent at multiples of 0.225 s
    assert_eq!(link.next_grant(0), at(1.44));
}

#[test]
fn grants_are_sent_in_the_order_of_time() {
    let order = |first_slot, slots| Grant { terminal: 0, first_slot, slots }.in_time_order(10).collect::<Vec<_>>();
    assert_eq!(order(3, 4), [3, 4, 5, 6]);
    assert_eq!(order(17, 6), [20, 21, 22, 17, 18, 19]);
    assert_eq!(order(20, 10), (20..30).collect::<Vec<_>>());
    assert_eq!(order(8, 14), [10, 20, 11, 21, 12, 13, 14, 15, 16, 17, 8, 18, 9, 19]);
}

#[test]
fn the_configuration_says_what_a_slot_carries() {
    let with = |waveform: &str, es_n0: f64| DedicatedConfig {
        waveform: waveform.into(),
        es_n0: Db::new(es_n0),
        ..DedicatedConfig::default()
    };
    assert_eq!(DedicatedConfig::default().slot_bits(), Ok(920));
    assert_eq!(DedicatedConfig { payload_bits: Some(597), ..DedicatedConfig::default() }.slot_bits(), Ok(597));
    assert_eq!(DedicatedConfig { margin: Db::new(0.6), ..DedicatedConfig::default() }.slot_bits(), Ok(864));
    assert_eq!(with("qpsk-1/3", 5.0).slot_bits(), Ok(304));
    assert_eq!((with("18", 8.6).slot_bits(), with("18", 8.6).burst_symbols()), (Ok(2840), 1616));
    let refused = |config: DedicatedConfig| config.check().unwrap_err().to_string();
    assert_eq!(refused(with("8psk-3/4", 8.6)), "es_n0: 8.6 dB is less than 9.31 dB of 8psk-3/4");
    assert_eq!(refused(with("auto", 0.0)), "es_n0: no waveform of 536 symbols decodes at 0 dB");
    assert!(
        refused(with("32apsk", 20.0))
            .starts_with("waveform: \"32apsk\" was given; auto, 3 to 22 or one of 16qam-3/4, ")
    );
    assert!(
        refused(DedicatedConfig { burst_symbols: 500, ..DedicatedConfig::default() }).starts_with("burst_symbols: 500")
    );
    assert!(
        refused(DedicatedConfig { payload_bits: Some(0), ..DedicatedConfig::default() }).starts_with("payload_bits")
    );
    let still = Capacity::Rbdc(Rbdc { horizon: Duration::ZERO, ..Rbdc::default() });
    assert!(refused(asking(still)).starts_with("capacity.horizon"));
}
