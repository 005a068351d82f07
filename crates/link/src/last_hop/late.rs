//! Packets that are told late: with the instant at which they came, many at once.
//!
//! What becomes of them is asked later, too, each time with its instant: [`LastHop::poll_output_by`] where bursts are
//! simulated, and [`LastHop::poll_arrived_by`] and [`LastHop::poll_lost`] where they are not.

use units::Time;

use super::LastHop;
use crate::packet::{DropReason, Output};

impl LastHop {
    /// Whether [`LastHop::handle_packet`] may be called late, with the instant at which the packet came, as long as no
    /// other call has told a later one: no script chooses packets, and waits are not noted.
    pub fn takes_late(&self) -> bool {
        !self.asks_outside && self.queued.waits.is_none()
    }

    /// Whether bursts are simulated, so that [`LastHop::poll_output_by`] is to be asked and not
    /// [`LastHop::poll_arrived_by`].
    #[inline]
    pub fn simulates_bursts(&self) -> bool {
        self.fifo.is_none()
    }

    /// As [`LastHop::handle_timeout`] and [`LastHop::poll_output`] at the instants of its events, if bursts are
    /// simulated: the next packet that leaves by `until`, and when. To be asked up to the instant of a packet before
    /// that enters; what leaves as it enters is told by the next call.
    #[inline]
    pub fn poll_output_by(&mut self, until: Time) -> Option<(Time, Output)> {
        debug_assert!(self.fifo.is_none(), "bursts are simulated");
        loop {
            while self.outputs.is_empty() {
                if self.next > until {
                    return None;
                }
                self.left_at = self.next;
                self.work_at(self.next);
                self.next = self.next_event();
            }
            if let Some(output) = self.next_output() {
                self.counters.on_output(&output);
                return Some((self.left_at, output));
            }
        }
    }

    /// As [`LastHop::handle_timeout`] and [`LastHop::poll_arrived`] at the instant at which a packet arrives next, if
    /// that is by `until`: when it arrived, and its handle. Packets that came later may have entered.
    #[inline(always)]
    pub fn poll_arrived_by(&mut self, until: Time) -> Option<(Time, u32)> {
        let (at, packet) = self.fifo.as_mut()?.pop_arrived_by(until)?;
        self.counters.on_delivered(&packet);
        Some((at, packet.id))
    }

    /// Whether [`LastHop::poll_lost`] has something to tell, if no burst is simulated.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// The packet that was dropped when it came, if no burst is simulated: its handle, and why. To be asked before the
    /// next packet comes, and after those that had arrived by then were polled.
    #[cold]
    pub fn poll_lost(&mut self) -> Option<(u32, DropReason)> {
        match self.poll_output()? {
            Output::Dropped(packet, reason) => Some((packet.id, reason)),
            Output::Delivered(packet) => unreachable!("{packet:?} was not polled"),
        }
    }
}
