//! The capacity categories: the requests of terminals, and the slots that the network control centre derives from them.

use units::{BitRate, FieldError};

use super::facts::FrameFacts;

units::registry! {
    /// The capacity categories of DVB-RCS and DVB-RCS2 (EN 301 790 section 6.4.1).
    pub enum Capacity: dyn Kind {
        #[default] "cra" => Cra(Cra) in cra,
        "rbdc" => Rbdc(Rbdc) in rbdc,
        "vbdc" => Vbdc(Vbdc) in vbdc,
        "avbdc" => Avbdc(Avbdc) in avbdc,
    }
}

/// The options of a capacity category.
pub trait Kind {
    /// Checks the values.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// The rate that a connected terminal has without a request, if one is given.
    fn base_rate(&self) -> Option<BitRate>;

    /// Whether connected terminals without a base rate have equal shares of all slots, and not none.
    fn shares_slots(&self) -> bool {
        false
    }

    /// The requests; `None` without any. `request_frames`: frames between two requests of a terminal.
    fn build(&self, frame: FrameFacts, request_frames: u64, terminals: usize) -> Option<Box<dyn Demand>>;
}

/// A capacity category, with the state of each terminal at the terminal and at the NCC.
pub trait Demand: Send {
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
pub struct Need {
    /// Slots for the waiting data, beyond those of this frame.
    pub slots: u64,
    /// Data that have arrived since the start of the run, in bits.
    pub arrived_bits: u64,
    /// Data that its base rate sends in a frame, in bits.
    pub base_bits: f64,
    /// Data that its base rate sends until a request takes effect, in bits: none before the terminal is connected.
    pub base_until_effect_bits: f64,
    /// Frames until a request takes effect.
    pub frames_until_effect: f64,
}
