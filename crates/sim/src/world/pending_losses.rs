//! Packets on the long path that it will lose: each is in flight until the instant of its loss.

use std::collections::VecDeque;

use units::Time;

use crate::record::drops::PathLoss;

/// A packet that the path loses: when, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingLoss {
    pub(super) at: Time,
    pub(super) reason: PathLoss,
}

/// See the module.
#[derive(Default)]
pub(super) struct PendingLosses {
    /// By the instant at which they are lost; those of the same instant in the order in which they entered.
    packets: VecDeque<(PendingLoss, u32)>,
}

impl PendingLosses {
    /// Takes a packet that will be lost.
    pub(super) fn push(&mut self, lost: PendingLoss, packet: u32) {
        let after = self.packets.iter().rev().take_while(|(other, _)| other.at > lost.at).count();
        self.packets.insert(self.packets.len() - after, (lost, packet));
    }

    /// The next packet that is lost by `now`, and why.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(u32, PathLoss)> {
        self.packets.pop_front_if(|(lost, _)| lost.at <= now).map(|(lost, packet)| (packet, lost.reason))
    }

    /// When the next one is lost.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.packets.front().map(|(lost, _)| lost.at)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_lost_at_their_instants_in_the_order_in_which_they_entered() {
        let mut pending_losses = PendingLosses::default();
        for (packet, at) in [(0, 5), (1, 3), (2, 5), (3, 4)] {
            pending_losses.push(PendingLoss { at: Time::from_nanos(at), reason: PathLoss::Measured }, packet);
        }
        assert_eq!((pending_losses.poll_timeout(), pending_losses.len()), (Some(Time::from_nanos(3)), 4));
        assert_eq!(pending_losses.pop_due(Time::from_nanos(2)), None);
        let lost: Vec<u32> =
            std::iter::from_fn(|| pending_losses.pop_due(Time::from_nanos(9))).map(|lost| lost.0).collect();
        assert_eq!(lost, [1, 3, 0, 2]);
        assert_eq!(pending_losses.poll_timeout(), None);
    }
}
