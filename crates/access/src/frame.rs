//! The frame: the division of time and carriers (EN 301 545-2 section 7.5.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, FieldError, Frequency, Time, greatest_common_divisor};

/// The frame of the return link: timeslots by carriers, repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameConfig {
    /// Duration of a frame (T_F).
    pub duration: Duration,
    /// Timeslots of a carrier in a frame (N_S).
    #[schemars(range(min = 1, max = 65_536))]
    pub timeslots: u32,
    /// Carriers of a frame (F_R + F_D).
    #[schemars(range(min = 1, max = 65_536))]
    pub carriers: u32,
    /// Carriers for random access (F_R); the others are for dedicated access. By default all for a method that knows
    /// only one of the two, and half of them for `switch`, or the nearest number to that which the division allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_carriers: Option<u32>,
    /// Slots of a random access block (N_ra): the bursts of a packet are spread over one block. Blocks follow each
    /// other carrier by carrier, so that one may take two and a half.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub block_slots: u32,
    /// Frames of a superframe: the network control centre divides slots and carriers anew for each superframe.
    #[schemars(range(min = 1, max = 1000))]
    pub superframe_frames: u32,
    /// Symbols per second of a carrier.
    pub symbol_rate: Frequency,
    /// Time between two bursts that is left free.
    pub guard: Duration,
}

impl Default for FrameConfig {
    fn default() -> FrameConfig {
        FrameConfig {
            duration: Duration::from_millis(45),
            timeslots: 40,
            carriers: 100,
            random_carriers: None,
            block_slots: 100,
            superframe_frames: 1,
            symbol_rate: Frequency::from_hz(492_000.0),
            guard: Duration::from_micros(35),
        }
    }
}

/// The most slots of a frame.
const MOST_SLOTS: u64 = 1_000_000;
/// The longest frame. Its timeslots are multiples of its nanoseconds, which 64 bits have to hold.
const LONGEST: Duration = Duration::from_secs(3600);

impl FrameConfig {
    /// Checks the values of the frame alone; `burst_symbols`: the longest burst, preamble included.
    pub(crate) fn check(&self, burst_symbols: u32) -> Result<(), FieldError> {
        if self.duration.is_zero() {
            return Err(FieldError::new("duration", "must be more than 0 s"));
        }
        if self.duration > LONGEST {
            return Err(FieldError::new(
                "duration",
                format!("{} was given, at most {LONGEST} is possible", self.duration),
            ));
        }
        let slot = self.duration / u64::from(self.timeslots);
        let burst = Duration::from_secs_f64(f64::from(burst_symbols) / self.symbol_rate.as_hz());
        if burst + self.guard > slot {
            let message = format!(
                "{} in {} timeslots leave {slot} each: a burst of {burst_symbols} symbols at {} takes {burst}, and the \
                 guard time {}",
                self.duration, self.timeslots, self.symbol_rate, self.guard
            );
            return Err(FieldError::new("timeslots", message));
        }
        let slots = u64::from(self.carriers) * u64::from(self.timeslots);
        if slots > MOST_SLOTS {
            let message = format!(
                "{} carriers of {} timeslots are {slots} slots, at most {MOST_SLOTS} are possible",
                self.carriers, self.timeslots
            );
            return Err(FieldError::new("carriers", message));
        }
        if let Some(random) = self.random_carriers.filter(|&random| random > self.carriers) {
            let message = format!("{random} was given, of {} carriers", self.carriers);
            return Err(FieldError::new("random_carriers", message));
        }
        Ok(())
    }

    /// The number of random access blocks on so many carriers.
    ///
    /// # Errors
    /// It is not a whole number.
    pub(crate) fn blocks(&self, random_carriers: u32) -> Result<u32, FieldError> {
        let slots = u64::from(random_carriers) * u64::from(self.timeslots);
        let block = u64::from(self.block_slots);
        if slots.is_multiple_of(block) {
            return Ok((slots / block) as u32); // at most the number of slots
        }
        let message = format!(
            "{block} slots do not divide the {slots} of random access ({random_carriers} carriers of {} timeslots)",
            self.timeslots
        );
        Err(FieldError::new("block_slots", message))
    }

    /// The least number of carriers that hold a whole number of random access blocks.
    pub(crate) fn carrier_step(&self) -> u32 {
        let common = greatest_common_divisor(u64::from(self.block_slots), u64::from(self.timeslots));
        self.block_slots / common as u32
    }

    /// The first frame that begins at `now` or later.
    #[inline]
    pub(crate) fn next(&self, now: Time) -> u64 {
        now.as_nanos().div_ceil(self.duration.as_nanos())
    }

    /// How many frames have begun, one that begins at `now` included.
    pub(crate) fn begun(&self, now: Time) -> u64 {
        now.as_nanos() / self.duration.as_nanos() + 1
    }

    /// The instant at which a frame begins.
    #[inline]
    pub(crate) fn start(&self, frame: u64) -> Time {
        Time::from_nanos(frame * self.duration.as_nanos())
    }

    /// The time from the beginning of a frame to that of a timeslot; the timeslot after the last is the end of the
    /// frame.
    pub(crate) fn offset(&self, timeslot: u32) -> Duration {
        Duration::from_nanos(self.duration.as_nanos() * u64::from(timeslot) / u64::from(self.timeslots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_frame_holds_forty_blocks() {
        let frame = FrameConfig::default();
        assert_eq!(frame.check(536), Ok(()));
        assert_eq!(frame.blocks(100), Ok(40));
        assert_eq!(frame.carrier_step(), 5); // two blocks of two and a half carriers
        assert_eq!(frame.offset(40), frame.duration);
        assert_eq!(frame.offset(1), Duration::from_micros(1125));
    }

    #[test]
    fn frames_begin_every_45_ms() {
        let frame = FrameConfig::default();
        assert_eq!(frame.next(Time::ZERO), 0);
        assert_eq!(frame.start(frame.next(Time::from_secs_f64(10.0))), Time::from_secs_f64(10.035));
        assert_eq!(frame.next(frame.start(7)), 7);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        let refused = |frame: FrameConfig| frame.check(536).unwrap_err().to_string();
        let fast = FrameConfig { timeslots: 41, ..FrameConfig::default() };
        assert!(refused(fast).starts_with("timeslots: 45 ms in 41 timeslots leave"));
        let many = FrameConfig { carriers: 65_536, ..FrameConfig::default() };
        assert_eq!(
            refused(many),
            "carriers: 65536 carriers of 40 timeslots are 2621440 slots, at most 1000000 are possible"
        );
        let beyond = FrameConfig { random_carriers: Some(101), ..FrameConfig::default() };
        assert_eq!(refused(beyond), "random_carriers: 101 was given, of 100 carriers");
        let odd = FrameConfig::default().blocks(33).unwrap_err().to_string();
        assert_eq!(odd, "block_slots: 100 slots do not divide the 1320 of random access (33 carriers of 40 timeslots)");
    }
}
