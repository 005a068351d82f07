//! The capacity categories with requests: the requests of terminals, and the slots that the network control centre
//! derives from them.

use super::config::{Capacity, Rbdc};
use super::{BILLION, FrameFacts, billionths_of_frame};

/// A capacity category, with the state of each terminal at the terminal and at the NCC.
pub(super) trait Demand: Send {
    /// Resets a terminal; `arrived_bits` have arrived at it and were sent before.
    fn forget(&mut self, terminal: usize, arrived_bits: u64);

    /// The content of a terminal's request; `None` if it sends none now.
    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64>;

    /// A request has arrived. `granted_since`: slots that the terminal was granted since it was sent.
    fn handle_request(&mut self, terminal: usize, requested: u64, granted_since: u64);

    /// Slots that a terminal is to have in this frame. Called once for a frame.
    fn wanted(&mut self, terminal: usize) -> u64;

    /// The slots that a terminal was granted of these. Called once for a frame.
    fn on_granted(&mut self, terminal: usize, slots: u32);
}

/// The state of a terminal when it sends a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Slots for the waiting data, beyond those of this frame.
    pub(super) slots: u64,
    /// Data that have arrived since the start of the run, in bits.
    pub(super) arrived_bits: u64,
    /// Data that its base rate sends in a frame, in bits.
    pub(super) base_bits: f64,
    /// Frames until a request takes effect.
    pub(super) round_trip_frames: f64,
}

/// The category of `capacity`; `None` without requests. `request_frames`: frames between two requests of a terminal.
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

/// RBDC: the terminal requests a rate, which holds until the next request or until it expires (EN 301 790 section
/// 6.4.1.2).
///
/// The standard leaves the algorithm of the requests to the terminal. This one requests the mean rate of arrivals, plus
/// the rate that sends, within the horizon, the data that will still wait when the request takes effect: the data that
/// wait now or arrive by then, less what earlier requests and the base rate will have sent. Of earlier requests it
/// expects the share that it was granted of the one in force.
struct Rates {
    slot_bits: u64,
    request_frames: u64,
    /// The share of the uncovered backlog that a request includes.
    urgency: f64,
    /// The weight in the mean of the arrivals since the last request.
    weight: f64,
    /// The highest rate.
    most_bits: u64,
    expiry_frames: u64,
    terminals: Vec<Rate>,
}

/// The state of a terminal. Rates are in bits a frame.
#[derive(Clone, Debug, Default)]
struct Rate {
    // At the terminal: the arrivals before its last request, the rate it requested, and requested bits that have
    // neither been due nor been replaced.
    arrived_bits: u64,
    requested: u64,
    outstanding: u64,
    // The mean of the arrivals.
    arrival: f64,
    // The share by which the plan fell short of the rate in force, 0 to 1.
    shortfall: f64,
    // At the NCC: the rate, the number of frames for which the terminal counts on it, its expiry, and fractions of a
    // slot.
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
        // In whole slots, rounded up, so that the rest of a backlog does not wait for a fraction of a slot to grow.
        let slots = (bits / self.slot_bits as f64).ceil().max(0.0) as u64;
        let requested = (slots * self.slot_bits).min(self.most_bits);
        if requested == 0 && terminal.requested == 0 {
            return None;
        }
        terminal.requested = requested;
        terminal.outstanding += requested * self.request_frames;
        Some(requested)
    }

    fn handle_request(&mut self, terminal: usize, requested: u64, _granted_since: u64) {
        let terminal = &mut self.terminals[terminal];
        terminal.outstanding -= terminal.rate * terminal.planned_frames;
        terminal.rate = requested;
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
        // Slots that could not be granted are not made up for: the terminal sees the data in its backlog.
        terminal.credit = missed.min(self.slot_bits - 1);
        if terminal.rate > 0 {
            terminal.shortfall = ((missed - terminal.credit) as f64 / terminal.rate as f64).min(1.0);
        }
    }
}

/// VBDC: requests add up (EN 301 790 section 6.4.1.3).
///
/// The terminal requests slots for the waiting data beyond the slots that it requested and did not get, and beyond what
/// its base rate sends in a round trip. So no slot is requested twice, and data that were sent by other means are not
/// requested again.
struct Volumes {
    slot_bits: u64,
    terminals: Vec<Volume>,
}

/// The state of a terminal, in slots.
#[derive(Clone, Debug, Default)]
struct Volume {
    /// Slots that the terminal has requested and not got.
    outstanding: u64,
    /// Slots that were requested at the NCC and not granted.
    volume: u64,
}

impl Demand for Volumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Volume::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let by_rate = (need.base_bits * need.round_trip_frames / self.slot_bits as f64) as u64;
        let requested = need.slots.saturating_sub(terminal.outstanding + by_rate);
        terminal.outstanding += requested;
        (requested > 0).then_some(requested)
    }

    fn handle_request(&mut self, terminal: usize, requested: u64, _granted_since: u64) {
        self.terminals[terminal].volume += requested;
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

/// AVBDC: a request has the whole backlog and replaces the former (EN 301 790 section 6.4.1.4).
///
/// Slots that were granted while the request was in flight were for the same data: the NCC, which knows its plans,
/// subtracts them.
struct AbsoluteVolumes {
    terminals: Vec<Absolute>,
}

/// The state of a terminal, in slots.
#[derive(Clone, Debug, Default)]
struct Absolute {
    /// The last request of the terminal.
    requested: u64,
    /// Slots that were requested at the NCC and not granted.
    volume: u64,
}

impl Demand for AbsoluteVolumes {
    fn forget(&mut self, terminal: usize, _arrived_bits: u64) {
        self.terminals[terminal] = Absolute::default();
    }

    fn request(&mut self, terminal: usize, need: &Need) -> Option<u64> {
        let terminal = &mut self.terminals[terminal];
        let before = std::mem::replace(&mut terminal.requested, need.slots);
        (need.slots > 0 || before > 0).then_some(need.slots)
    }

    fn handle_request(&mut self, terminal: usize, requested: u64, granted_since: u64) {
        self.terminals[terminal].volume = requested.saturating_sub(granted_since);
    }

    fn wanted(&mut self, terminal: usize) -> u64 {
        self.terminals[terminal].volume
    }

    fn on_granted(&mut self, terminal: usize, slots: u32) {
        self.terminals[terminal].volume -= u64::from(slots);
    }
}
