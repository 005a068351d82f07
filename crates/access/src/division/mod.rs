//! The division of carriers between random and dedicated access.
//!
//! In EN 301 545-2 the burst time plan assigns each timeslot to one access (section 6.2.2.8); the proportion is left to
//! the NCC.

use units::FieldError;

units::registry! {
    /// How carriers are divided between random and dedicated access.
    pub enum Division: dyn Kind {
        #[default] "fixed" => Fixed(Fixed) in fixed,
        "by-load" => ByLoad(ByLoad) in by_load,
    }
}

/// The options of a division. `carriers`: of a frame, of which each `step` hold a whole number of random access blocks.
pub trait Kind {
    /// Checks the values.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    fn check(&self, _carriers: u32, _step: u32) -> Result<(), FieldError> {
        Ok(())
    }

    /// The number of carriers for random access at the start: of those that the division allows the nearest to the one
    /// given.
    fn at_start(&self, _carriers: u32, random_carriers: u32, _step: u32) -> u32 {
        random_carriers
    }

    /// The division, for values that have passed their check. `random_carriers`: the number at the start.
    fn build(&self, carriers: u32, random_carriers: u32, step: u32) -> Box<dyn Divide>;
}

/// Divides the carriers, one superframe after the other.
pub trait Divide: Send {
    /// A superframe begins; returns its number of carriers for random access. Superframes are left out in whose first
    /// frame there is nothing to send, or no route. `superframe`: its number. `random_load`: packets in each block, as
    /// measured with the present carriers. `dedicated_backlog_slots`: the slots for which data wait in all terminals.
    fn handle_superframe(&mut self, superframe: u64, random_load: f64, dedicated_backlog_slots: u64) -> u32;
}
