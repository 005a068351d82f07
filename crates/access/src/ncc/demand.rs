//! What terminals ask for, and what the network control centre makes of it: the categories with requests.

use super::config::{Capacity, Rbdc};
use super::{BILLION, FrameFacts, billionths_of_frame};

/// A category by which terminals ask, with what both sides remember of each terminal.
pub(super) trait Demand: Send {
    /// A terminal begins anew; so much had arrived at it and been sent before, in bits.
    fn forget(&mut self, terminal: usize, arrived_bits: u64);

    /// What a terminal's request says, if it sends one now.
    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64>;

    /// A request has come through. `granted_since`: slots that the terminal was granted since it was sent.
    fn heed(&mut self, terminal: usize, asked: u64, granted_since: u64);

    /// Slots that a terminal is to have in this frame. Asked once for a frame.
    fn wanted(&mut self, terminal: usize) -> u64;

    /// So many of these it has. Told once for a frame.
    fn on_granted(&mut self, terminal: usize, slots: u32);
}

/// What a terminal knows when it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Slots for what waits, beyond those of this frame.
    pub(super) slots: u64,
    /// What has arrived since the start of the run, in bits.
    pub(super) arrived_bits: u64,
    /// What its base rate sends in a frame, in bits.
    pub(super) base_bits: f64,
    /// Frames until a request is heeded.
    pub(super) round_trip_frames: f64,
}

/// The category of `capacity`, if it is one with requests. `request_frames`: between two requests of a terminal.
pub(super) fn of(
    capacity: &Capacity,
    frame: FrameFacts,
    request_frames: u64,
    terminals: usize,
) -> Option<Box<dyn Demand>> {
    let slot_bits = u64::from(frame.slot_bits);
    match capacity {
        Capacity::Cra(_) => None,
        Capacity::Rbdc(config) => Some(Box::new(Rates::new(config, frame, request_frames, terminals))),
        Capacity::Vbdc(_) => {
            let terminals = vec![Volume::default(); terminals];
            Some(Box::new(Volumes { slot_bits, terminals }))
        }
        Capacity::Avbdc(_) => Some(Box::new(AbsoluteVolumes { terminals: vec![Absolute::default(); terminals] })),
    }
}

/// RBDC: the terminal asks for a rate, which holds until the next request or until it expires (EN 301 790 section 6.4.1.2).
///
/// How a terminal makes its request is left to it. Ours asks for the mean rate at which data arrive, and in addition for what
/// sends, within the horizon, those data that would still wait when the request is heeded: what waits now and will have arrived
/// by then, less what earlier requests and the base rate will have sent. Of earlier requests it expects as much as it was
/// granted of the one in force.
struct Rates {
    slot_bits: u64,
    request_frames: u64,
    /// Share of the uncovered backlog that a request asks for.
    urgency: f64,
    /// How much the arrivals since the last request count in their mean.
    weight: f64,
    /// The highest rate.
    most_bits: u64,
    expiry_frames: u64,
    terminals: Vec<Rate>,
}

/// Rates are in bits a frame.
#[derive(Clone, Debug, Default)]
struct Rate {
    // What the terminal remembers: arrivals before its last request, what that said, and bits asked for that have neither been
    // due nor been replaced.
    arrived_bits: u64,
    asked: u64,
    outstanding: u64,
    // Mean arrivals.
    arrival: f64,
    // By how much the plan fell short of the rate in force, 0 to 1.
    shortfall: f64,
    // What the NCC remembers: the rate, how many frames the terminal counts on it, and when it expires; parts of a slot.
    rate: u64,
    planned_frames: u64,
    frames_left: u64,
    credit: u64,
}

impl Rates {
    fn new(config: &Rbdc, frame: FrameFacts, request_frames: u64, terminals: usize) -> Rates {
        let interval_s = frame.duration.as_secs_f64() * request_frames as f64;
        let carried = u64::from(frame.max_slots) * u64::from(frame.slot_bits);
        let most_bits = config.max_rate.map_or(carried, |rate| billionths_of_frame(rate, frame) / BILLION);
        let expiry_frames = u64::from(config.expiry_superframes) * u64::from(frame.superframe_frames);
        Rates {
            slot_bits: u64::from(frame.slot_bits),
            request_frames,
            urgency: (interval_s / config.horizon.as_secs_f64()).min(1.0),
            weight: 1.0 - libm::exp(-interval_s / config.averaging.as_secs_f64()),
            most_bits: most_bits.max(1),
            expiry_frames: expiry_frames.max(request_frames),
            terminals: vec![Rate::default(); terminals],
        }
    }
}

impl Demand for Rates {
    fn forget(&mut self, terminal: usize, arrived_bits: u64) {
        self.terminals[terminal] = Rate { arrived_bits, ..Rate::default() };
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let arrived = (need.arrived_bits - terminal.arrived_bits) as f64;
        terminal.arrived_bits = need.arrived_bits;
        let frames = self.request_frames as f64;
        terminal.arrival += self.weight * (arrived / frames - terminal.arrival);
        let expected = terminal.outstanding as f64 * (1.0 - terminal.shortfall);
        let growth = (terminal.arrival - need.base_bits) * need.round_trip_frames;
        let uncovered = (need.slots * self.slot_bits) as f64 + growth - expected;
        let urgency = if uncovered > 0.0 { self.urgency } else { 1.0 };
        let bits = terminal.arrival + urgency * uncovered / frames - need.base_bits;
        // In whole slots, rounded up: the remainder of a backlog does not wait for a fraction of a slot to grow.
        let slots = (bits / self.slot_bits as f64).ceil().max(0.0) as u64;
        let asked = (slots * self.slot_bits).min(self.most_bits);
        if asked == 0 && terminal.asked == 0 {
            return None;
        }
        terminal.asked = asked;
        terminal.outstanding += asked * self.request_frames;
        Some(asked)
    }

    fn heed(&mut self, terminal: usize, asked: u64, _granted_since: u64) {
        let terminal = &mut self.terminals[terminal];
        terminal.outstanding -= terminal.rate * terminal.planned_frames;
        terminal.rate = asked;
        terminal.planned_frames = self.request_frames;
        terminal.frames_left = self.expiry_frames;
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        let terminal = &mut self.terminals[terminal];
        if terminal.frames_left == 0 {
            return 0;
        }
        terminal.credit += terminal.rate;
        terminal.credit / self.slot_bits
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        let terminal = &mut self.terminals[terminal];
        if terminal.frames_left == 0 {
            return;
        }
        terminal.frames_left -= 1;
        if terminal.planned_frames > 0 {
            terminal.planned_frames -= 1;
            terminal.outstanding -= terminal.rate;
        }
        let missed = terminal.credit - u64::from(slots) * self.slot_bits;
        // Slots that there were not are not made up for: the terminal sees them in its backlog.
        terminal.credit = missed.min(self.slot_bits - 1);
        if terminal.rate > 0 {
            terminal.shortfall = ((missed - terminal.credit) as f64 / terminal.rate as f64).min(1.0);
        }
    }
}

/// VBDC: requests add up (EN 301 790 section 6.4.1.3).
///
/// The terminal asks for what waits beyond the slots that it has asked for and not got, and beyond what its base rate sends in
/// a round trip. So nothing is asked for twice, and slots that data were sent in by other means are not asked for again.
struct Volumes {
    slot_bits: u64,
    terminals: Vec<Volume>,
}

/// In slots.
#[derive(Clone, Debug, Default)]
struct Volume {
    /// What the terminal has asked for and not got.
    outstanding: u64,
    /// What the NCC has been asked for and has not given.
    volume: u64,
}

impl Demand for Volumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Volume::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let by_rate = (need.base_bits * need.round_trip_frames / self.slot_bits as f64) as u64;
        let asked = need.slots.saturating_sub(terminal.outstanding + by_rate);
        terminal.outstanding += asked;
        (asked > 0).then_some(asked)
    }

    fn heed(&mut self, terminal: usize, asked: u64, _granted_since: u64) {
        self.terminals[terminal].volume += asked;
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        self.terminals[terminal].volume
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        let terminal = &mut self.terminals[terminal];
        terminal.volume -= u64::from(slots);
        terminal.outstanding -= u64::from(slots);
    }
}

/// AVBDC: a request says all that waits and replaces the former (EN 301 790 section 6.4.1.4).
///
/// What was granted while the request was under way has been for the same data: the NCC, which knows its own plans, takes it
/// off.
struct AbsoluteVolumes {
    terminals: Vec<Absolute>,
}

/// In slots.
#[derive(Clone, Debug, Default)]
struct Absolute {
    /// What the terminal asked for last.
    asked: u64,
    /// What the NCC has been asked for and has not given.
    volume: u64,
}

impl Demand for AbsoluteVolumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Absolute::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let before = std::mem::replace(&mut terminal.asked, need.slots);
        (need.slots > 0 || before > 0).then_some(need.slots)
    }

    fn heed(&mut self, terminal: usize, asked: u64, granted_since: u64) {
        self.terminals[terminal].volume = asked.saturating_sub(granted_since);
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        self.terminals[terminal].volume
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        self.terminals[terminal].volume -= u64::from(slots);
    }
}
