//! Proportional rate reduction (RFC 6937, with the refinement of RFC 9937): a reduction spread over a round trip.

#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// What the reduction is from: RecoverFS.
    from: u32,
    /// Segments delivered and sent since it began.
    delivered: u32,
    out: u32,
}

/// An acknowledgment as a reduction sees it, in segments.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::send) struct Step {
    pub delivered: u32,
    pub lost: u32,
    /// The acknowledgment advanced SND.UNA.
    pub advanced: bool,
    /// Segments in flight after it.
    pub in_flight: u32,
}

impl Prr {
    /// At the begin of a reduction from so many segments.
    pub fn new(from: u32) -> Prr {
        Prr { from, delivered: 0, out: 0 }
    }

    #[inline]
    pub fn on_sent(&mut self) {
        self.out += 1;
    }

    /// The window after an acknowledgment, on the way to `threshold`.
    pub fn window(&mut self, step: Step, threshold: u32) -> u32 {
        self.delivered += step.delivered;
        let out = i64::from(self.out);
        let send = if step.in_flight > threshold {
            let share = u64::from(threshold) * u64::from(self.delivered);
            share.div_ceil(u64::from(self.from.max(1))) as i64 - out
        } else {
            let mut send = (i64::from(self.delivered) - out).max(i64::from(step.delivered));
            send += i64::from(step.advanced && step.lost == 0);
            send.min(i64::from(threshold - step.in_flight))
        };
        // The fast retransmission goes in any case.
        let least = i64::from(self.out == 0);
        ((i64::from(step.in_flight) + send.max(least)) as u32).max(1)
    }
}
