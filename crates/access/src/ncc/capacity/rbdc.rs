//! Rate-based dynamic capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, FieldError};

use super::{Demand, Kind, Need};
use crate::ncc::facts::{BILLION, FrameFacts, billionths_of_frame};

/// Rate-based dynamic capacity: a terminal requests a rate, and a new request replaces the former.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rbdc {
    /// The terminal requests the rate of arrivals, plus the rate that sends within this time the data that will still
    /// wait when the request takes effect.
    pub horizon: Duration,
    /// Time over which the rate of arrivals is averaged (exponentially).
    pub averaging: Duration,
    /// The highest rate that a terminal may request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<BitRate>,
    /// The number of superframes after which a request expires; never before the next one could take effect.
    #[schemars(range(min = 1, max = 1000))]
    pub expiry_superframes: u32,
    /// The rate that a connected terminal has without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cra: Option<BitRate>,
}

impl Default for Rbdc {
    /// The time-out of EN 301 790 section 6.4.1.2. Horizon and averaging are this project's.
    fn default() -> Rbdc {
        Rbdc {
            horizon: Duration::from_millis(100),
            averaging: Duration::from_secs(1),
            max_rate: None,
            expiry_superframes: 2,
            cra: None,
        }
    }
}

impl Kind for Rbdc {
    fn check(&self) -> Result<(), FieldError> {
        if self.horizon.is_zero() {
            return Err(FieldError::new("horizon", "must be more than 0 s"));
        }
        if self.averaging.is_zero() {
            return Err(FieldError::new("averaging", "must be more than 0 s"));
        }
        if !(1..=1000).contains(&self.expiry_superframes) {
            let message = format!("{} was given, 1 to 1000 are allowed", self.expiry_superframes);
            return Err(FieldError::new("expiry_superframes", message));
        }
        Ok(())
    }

    fn base_rate(&self) -> Option<BitRate> {
        self.cra
    }

    fn build(&self, frame: FrameFacts, request_frames: u64, terminals: usize) -> Option<Box<dyn Demand>> {
        Some(Box::new(RateRequests::new(self, frame, request_frames, terminals)))
    }
}

/// RBDC: the terminal requests a rate, which holds until the next request or until it expires (EN 301 790 section
/// 6.4.1.2).
///
/// The standard leaves the algorithm of the requests to the terminal. This one requests the mean rate of arrivals, plus
/// the rate that sends, within the horizon, the data that will still wait when the request takes effect: the data that
/// wait now or arrive by then, less what earlier requests and the base rate will have sent. Of earlier requests it
/// expects the share that it was granted of the one in force.
struct RateRequests {
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
    // The share by which the burst time plan fell short of the rate in force, 0 to 1.
    shortfall: f64,
    // At the NCC: the rate, the number of frames for which the terminal counts on it, its expiry, and fractions of a
    // slot.
    rate: u64,
    planned_frames: u64,
    frames_left: u64,
    credit: u64,
}

impl RateRequests {
    fn new(config: &Rbdc, frame: FrameFacts, request_frames: u64, terminals: usize) -> RateRequests {
        let interval_s = frame.duration.as_secs_f64() * request_frames as f64;
        let carried = u64::from(frame.max_slots) * u64::from(frame.slot_bits);
        let most_bits = config.max_rate.map_or(carried, |rate| billionths_of_frame(rate, frame) / BILLION);
        let expiry_frames = u64::from(config.expiry_superframes) * u64::from(frame.superframe_frames);
        RateRequests {
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

impl Demand for RateRequests {
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
        let growth = terminal.arrival * need.frames_until_effect - need.base_until_effect_bits;
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
