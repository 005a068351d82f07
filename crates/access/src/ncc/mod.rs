//! The network control centre (NCC): it assigns the slots of dedicated access.
//!
//! A terminal that has data and no connection requests one, and slots for what has arrived at that instant. A round
//! trip later it is connected: the burst time plan may then grant it slots, and it requests more by the capacity
//! category of the scenario, so what arrives in between waits for another round trip. Each request takes effect a round
//! trip after it was sent, at the beginning of a superframe. A connection without data for some time is released.
//!
//! Sources: the categories, EN 301 790 section 6.4.1, which EN 301 545-2 takes over; dedicated access and its burst
//! time plan, EN 301 545-2 sections 7.2.6 and 6.2.2.8 (TBTP2); equal shares of all slots among the connected terminals,
//! no more than N_S each, the terminal's limit, and the time-out of connections (`cutConnect_`), Kuhn and others,
//! "Improving web experience on DVB-RCS2 links", sections 2.1.2, 4.1, 4.2 and 5.1.
//!
//! The slots of a frame are granted first for rates (CRA, the base rate of the others), then for requests (RBDC, VBDC
//! or AVBDC), and then, with FCA, the rest to all connected terminals. In each step, demand beyond the available slots
//! is divided fairly by weight (water filling).
//!
//! What is simplified, and who could notice:
//! * Requests are never lost and take no capacity: they are sent in headers or in slots of their own that are not
//!   counted. A study of signalling would notice.
//! * All terminals use the same category. A study of service classes would notice.
//! * The burst time plan of a superframe is computed frame by frame, from the state at its beginning; the result is
//!   the same.

mod capacity;
mod config;
mod facts;
mod share;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub use capacity::Capacity;
use capacity::{Demand, Need};
pub use config::DedicatedConfig;
pub use facts::FrameFacts;
use facts::{BILLION, billionths_of_frame};
use share::Share;
use units::{Duration, Time};

/// The backlog of a terminal for dedicated slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting data, in bits.
    pub bits: u64,
    /// Slots that these data fill, each with what datagrams take of it.
    pub slots: u64,
    /// Data that have arrived since the start of the run, in bits.
    pub arrived_bits: u64,
}

/// What terminals tell of their data for dedicated slots.
pub trait Backlogs {
    /// Whether data wait at a terminal.
    fn wait(&self, terminal: u32) -> bool;

    /// Returns the data that wait at a terminal.
    fn backlog(&self, terminal: u32) -> Backlog;
}

/// An entry of the burst time plan: consecutive slots, numbered carrier by carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The terminal that may send.
    pub terminal: u32,
    /// The first slot.
    pub first_slot: u32,
    /// The number of slots.
    pub slots: u32,
}

impl Grant {
    /// The slots in the order of time. A grant that extends into the next carrier begins there.
    pub fn in_time_order(self, timeslots: u32) -> impl Iterator<Item = u32> {
        let Grant { first_slot, slots, .. } = self;
        let first_column = first_slot % timeslots;
        (0..timeslots).flat_map(move |column| {
            let ahead = (column + timeslots - first_column) % timeslots;
            (ahead..slots).step_by(timeslots as usize).map(move |offset| first_slot + offset)
        })
    }
}

/// See the module.
pub struct Ncc {
    frame: FrameFacts,
    fca: bool,
    release_after: Duration,
    round_trip: Option<Duration>,
    setup_round_trips: u32,
    /// Frames between two requests of a terminal.
    request_frames: u64,
    base: Base,
    demand: Option<Box<dyn Demand>>,
    terminals: Vec<Terminal>,
    /// Connected terminals in the order of their connection.
    connected: Vec<u32>,
    /// Connections that were requested, with the instant at which they are set up.
    setups: BinaryHeap<Reverse<(Time, u32)>>,
    requests: VecDeque<Request>,
    shares: [Share; 3],
    burst_time_plan: Vec<Grant>,
}

/// The slots that a connected terminal has without a request.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// A rate, in billionths of a bit in a frame.
    Rate(u64),
    /// A share of all slots.
    Share,
}

/// The state of a terminal.
#[derive(Clone, Debug)]
struct Terminal {
    weight: f64,
    state: TerminalState,
    /// The number of its connections so far; requests of former connections do not count.
    connection: u32,
    /// The last instant at which it had data.
    last_data: Time,
    /// When it requested a connection last.
    asked_at: Time,
    /// The capacity request in its connection request.
    first_request: Option<u64>,
    /// The part of its base rate that is not granted yet, in billionths of a bit.
    credit: u64,
    /// Slots in this frame, and since the start.
    granted: u32,
    granted_ever: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TerminalState {
    Idle,
    Asked,
    Connected,
}

/// A request of a connected terminal, in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    due: Time,
    terminal: u32,
    connection: u32,
    requested: u64,
    /// Slots granted before it was sent, since the start.
    granted_before: u64,
}

/// An index of [`Ncc::shares`].
const RATES: usize = 0;
const REQUESTS: usize = 1;
const FREE: usize = 2;

impl Ncc {
    /// No terminal is connected. `weights`: of the terminals, in their order, each more than 0. The configuration has
    /// passed its check.
    ///
    /// # Panics
    /// A weight is not a positive number.
    pub fn new(config: &DedicatedConfig, frame: FrameFacts, weights: &[f64]) -> Ncc {
        assert!(weights.iter().all(|&weight| weight.is_finite() && weight > 0.0), "weights are positive");
        let max_slots = if frame.one_amplifier { frame.max_slots.min(frame.timeslots) } else { frame.max_slots };
        let frame = FrameFacts { max_slots, ..frame };
        let superframe = frame.duration * u64::from(frame.superframe_frames);
        let superframes = config.request_interval.as_nanos().div_ceil(superframe.as_nanos()).max(1);
        let request_frames = superframes * u64::from(frame.superframe_frames);
        let capacity = config.capacity.entry();
        let base = match capacity.base_rate() {
            Some(rate) => Base::Rate(billionths_of_frame(rate, frame)),
            None if capacity.shares_slots() => Base::Share,
            None => Base::Rate(0),
        };
        let terminal = |&weight: &f64| Terminal {
            weight,
            state: TerminalState::Idle,
            connection: 0,
            last_data: Time::ZERO,
            asked_at: Time::ZERO,
            first_request: None,
            credit: 0,
            granted: 0,
            granted_ever: 0,
        };
        Ncc {
            frame,
            fca: config.fca,
            release_after: config.release_after,
            round_trip: config.round_trip,
            setup_round_trips: config.setup_round_trips,
            request_frames,
            base,
            demand: capacity.build(frame, request_frames, weights.len()),
            terminals: weights.iter().map(terminal).collect(),
            connected: Vec::new(),
            setups: BinaryHeap::new(),
            requests: VecDeque::new(),
            shares: std::array::from_fn(|_| Share::new(weights.len())),
            burst_time_plan: Vec::new(),
        }
    }

    /// Data for dedicated access have arrived at a terminal and are part of its backlog now: without a connection it
    /// requests one at once, and in the same request slots for all that has arrived at this instant. `round_trip`:
    /// between terminals and NCC.
    pub fn handle_data(&mut self, now: Time, terminal: u32, backlogs: &impl Backlogs, round_trip: Duration) {
        let round_trip = self.round_trip.unwrap_or(round_trip);
        let number = terminal as usize;
        let of_terminal = &mut self.terminals[number];
        of_terminal.last_data = now;
        match of_terminal.state {
            TerminalState::Idle => {
                (of_terminal.state, of_terminal.asked_at) = (TerminalState::Asked, now);
                self.setups.push(Reverse((now + round_trip * u64::from(self.setup_round_trips), terminal)));
            }
            TerminalState::Asked if of_terminal.asked_at == now => {}
            TerminalState::Asked | TerminalState::Connected => return,
        }
        if self.demand.is_some() {
            let backlog = backlogs.backlog(terminal);
            let need = self.need(number, backlog, round_trip * u64::from(self.setup_round_trips));
            self.terminals[number].first_request = self.demand.as_mut().and_then(|demand| {
                demand.forget(number, backlog.arrived_bits - backlog.bits);
                demand.request(number, &need)
            });
        }
    }

    /// A frame with so many dedicated `slots` begins: requests that have arrived take effect, idle connections are
    /// released, the slots are divided, and the terminals request what they need beyond their slots in it. Frames may
    /// be left out while [`Ncc::is_idle`].
    pub fn handle_frame(&mut self, now: Time, slots: u32, backlogs: &impl Backlogs, round_trip: Duration) {
        let round_trip = self.round_trip.unwrap_or(round_trip);
        let frame = now.as_nanos() / self.frame.duration.as_nanos();
        if frame.is_multiple_of(u64::from(self.frame.superframe_frames)) {
            self.release(now, backlogs);
            self.connect(now);
            self.handle_requests(now);
        }
        self.divide(slots);
        self.make_burst_time_plan();
        if frame.is_multiple_of(self.request_frames) {
            self.make_requests(now, backlogs, round_trip);
        }
    }

    /// The burst time plan of this frame. Each terminal has at most one entry; no slot is in two.
    pub fn burst_time_plan(&self) -> &[Grant] {
        &self.burst_time_plan
    }

    /// Whether a terminal has a connection.
    #[cfg(test)]
    pub fn is_connected(&self, terminal: u32) -> bool {
        self.terminals[terminal as usize].state == TerminalState::Connected
    }

    /// Whether a terminal has slots in this frame.
    pub fn has_slots(&self, terminal: u32) -> bool {
        let Terminal { state, granted, .. } = &self.terminals[terminal as usize];
        *state == TerminalState::Connected && *granted > 0
    }

    /// Whether no terminal is connected or requests a connection: no frame need be handled then.
    pub fn is_idle(&self) -> bool {
        self.connected.is_empty() && self.setups.is_empty()
    }

    /// Releases connections that had no data for long.
    fn release(&mut self, now: Time, backlogs: &impl Backlogs) {
        let (terminals, release_after) = (&mut self.terminals, self.release_after);
        self.connected.retain(|&number| {
            let terminal = &mut terminals[number as usize];
            if backlogs.wait(number) {
                terminal.last_data = now;
            } else if now.since(terminal.last_data) >= release_after {
                terminal.state = TerminalState::Idle;
            }
            terminal.state == TerminalState::Connected
        });
    }

    /// Sets up the connections that were requested a round trip ago.
    fn connect(&mut self, now: Time) {
        while let Some(&Reverse((due, number))) = self.setups.peek()
            && due <= now
        {
            self.setups.pop();
            let terminal = &mut self.terminals[number as usize];
            terminal.state = TerminalState::Connected;
            terminal.connection += 1;
            terminal.last_data = now;
            terminal.credit = 0;
            self.connected.push(number);
            self.shares.iter_mut().for_each(|share| share.forget(number as usize));
            if let (Some(demand), Some(requested)) = (&mut self.demand, terminal.first_request.take()) {
                demand.handle_request(number as usize, requested, 0);
            }
        }
    }

    /// Applies the requests that were sent a round trip ago.
    fn handle_requests(&mut self, now: Time) {
        let Some(demand) = &mut self.demand else { return };
        while let Some(request) = self.requests.pop_front_if(|request| request.due <= now) {
            let terminal = &self.terminals[request.terminal as usize];
            if terminal.state == TerminalState::Connected && terminal.connection == request.connection {
                let granted_since = terminal.granted_ever - request.granted_before;
                demand.handle_request(request.terminal as usize, request.requested, granted_since);
            }
        }
    }

    /// Divides the slots of a frame: rates, requests, then the rest.
    fn divide(&mut self, slots: u32) {
        let mut left = slots;
        let max_slots = self.frame.max_slots;
        for &number in &self.connected {
            self.terminals[number as usize].granted = 0;
        }
        left -= match self.base {
            Base::Rate(0) => 0,
            Base::Rate(billionths) => self.divide_rates(billionths, left),
            Base::Share => self.divide_equally(RATES, left),
        };
        if let Some(demand) = &mut self.demand {
            let candidates = self.connected.iter().map(|&number| {
                let terminal = &self.terminals[number as usize];
                let room = max_slots - terminal.granted;
                (number, demand.wanted(number as usize).min(u64::from(room)) as u32, terminal.weight)
            });
            for &(number, granted) in self.shares[REQUESTS].divide(left, candidates) {
                self.terminals[number as usize].granted += granted;
                demand.on_granted(number as usize, granted);
                left -= granted;
            }
        }
        if self.fca {
            self.divide_equally(FREE, left);
        }
        for &number in &self.connected {
            let terminal = &mut self.terminals[number as usize];
            terminal.granted_ever += u64::from(terminal.granted);
        }
    }

    /// Grants each connected terminal the slots of its base rate and returns their number. A rate that is not a whole
    /// number of slots in a frame is met over several frames. Slots that could not be granted are not made up for.
    fn divide_rates(&mut self, billionths: u64, available: u32) -> u32 {
        let slot = u64::from(self.frame.slot_bits) * BILLION;
        let (terminals, max_slots) = (&mut self.terminals, u64::from(self.frame.max_slots));
        let candidates = self.connected.iter().map(|&number| {
            let terminal = &mut terminals[number as usize];
            terminal.credit += billionths;
            (number, (terminal.credit / slot).min(max_slots) as u32, terminal.weight)
        });
        let mut sum = 0;
        for &(number, granted) in self.shares[RATES].divide(available, candidates) {
            let terminal = &mut self.terminals[number as usize];
            terminal.granted += granted;
            terminal.credit = (terminal.credit - u64::from(granted) * slot).min(slot - 1);
            sum += granted;
        }
        sum
    }

    /// Divides the available slots among all connected terminals, within their limits, and returns the number of
    /// granted slots.
    fn divide_equally(&mut self, share: usize, available: u32) -> u32 {
        let (terminals, max_slots) = (&self.terminals, self.frame.max_slots);
        let candidates = self.connected.iter().map(|&number| {
            let terminal = &terminals[number as usize];
            (number, max_slots - terminal.granted, terminal.weight)
        });
        let mut sum = 0;
        for &(number, granted) in self.shares[share].divide(available, candidates) {
            self.terminals[number as usize].granted += granted;
            sum += granted;
        }
        sum
    }

    /// Assigns consecutive slots to each terminal: no column twice, because a terminal (with one amplifier) has no more
    /// slots than a carrier has timeslots.
    fn make_burst_time_plan(&mut self) {
        self.burst_time_plan.clear();
        let mut first_slot = 0;
        for &terminal in &self.connected {
            let slots = self.terminals[terminal as usize].granted;
            if slots > 0 {
                self.burst_time_plan.push(Grant { terminal, first_slot, slots });
                first_slot += slots;
            }
        }
    }

    /// Connected terminals request what they need beyond this frame's slots.
    fn make_requests(&mut self, now: Time, backlogs: &impl Backlogs, round_trip: Duration) {
        let Some(mut demand) = self.demand.take() else { return };
        // A request does not overtake an earlier one when the path becomes shorter.
        let due = self.requests.back().map_or(Time::ZERO, |last| last.due).max(now + round_trip);
        for index in 0..self.connected.len() {
            let terminal = self.connected[index];
            let number = terminal as usize;
            let need = self.need(number, backlogs.backlog(terminal), round_trip);
            if let Some(requested) = demand.request(number, &need) {
                let Terminal { connection, granted_ever: granted_before, .. } = self.terminals[number];
                self.requests.push_back(Request { due, terminal, connection, requested, granted_before });
            }
        }
        self.demand = Some(demand);
    }

    /// The state of a terminal whose request takes effect after `delay`.
    fn need(&self, terminal: usize, backlog: Backlog, delay: Duration) -> Need {
        let base_bits = match self.base {
            Base::Rate(billionths) => billionths as f64 / BILLION as f64,
            Base::Share => 0.0,
        };
        let frames_until_effect = delay.as_secs_f64() / self.frame.duration.as_secs_f64();
        let (granted, base_until_effect_bits) = match self.terminals[terminal].state {
            TerminalState::Connected => (u64::from(self.terminals[terminal].granted), base_bits * frames_until_effect),
            TerminalState::Idle | TerminalState::Asked => (0, 0.0),
        };
        Need {
            slots: backlog.slots.saturating_sub(granted),
            arrived_bits: backlog.arrived_bits,
            base_bits,
            base_until_effect_bits,
            frames_until_effect,
        }
    }
}
