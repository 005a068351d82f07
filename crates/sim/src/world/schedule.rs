//! The machines of a world, and which of them wakes next.

use engine::{Agenda, Livelock, MachineId};
use units::Time;

use crate::packet::{EndpointId, Way};

/// A machine of a world; those of a place are named with the index of the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// The service of a place: handovers and gaps.
    Service(u32),
    /// The pipe from the gateway to the serving satellite.
    Downlink(u32),
    LastHop(u32),
    /// The pipe from the users to the gateway.
    Uplink(u32),
    /// The pipe between servers and the gateway, both ways.
    Terrestrial,
    Application(u32),
    /// The endpoint of a connection whose packets go forward, and the other.
    Forward(u32),
    Backward(u32),
    ReturnLink(u32),
    /// Packets that the path of a place will lose.
    PendingLosses(u32),
    Sampler,
}

impl Machine {
    /// That of an endpoint.
    pub(super) fn of(EndpointId { connection, way }: EndpointId) -> Machine {
        match way {
            Way::Forward => Machine::Forward(connection),
            Way::Backward => Machine::Backward(connection),
        }
    }

    /// Of the machines that wake at the same instant, those of the lower phase go first; within a phase, those that
    /// were added first.
    fn phase(self) -> u8 {
        match self {
            Machine::Service(_) | Machine::PendingLosses(_) => 0,
            Machine::Downlink(_) | Machine::LastHop(_) | Machine::Uplink(_) | Machine::Terrestrial => 1,
            Machine::Application(_) | Machine::Forward(_) | Machine::Backward(_) => 2,
            // A frame begins with all that came until then.
            Machine::ReturnLink(_) => 3,
            Machine::Sampler => 4,
        }
    }

    /// Whether it is a link or a pipe, which nearly every packet wakes.
    fn carries_packets(self) -> bool {
        self.phase() == 1
    }
}

/// The wake-ups of all machines. A machine's owner keeps the handle that [`Schedule::add`] gives.
#[derive(Default)]
pub(super) struct Schedule {
    agenda: Agenda,
    /// The machine of each handle.
    machines: Vec<Machine>,
}

impl Schedule {
    /// Adds a machine that is not to be woken yet. Machines that wake for nearly every packet must be added first:
    /// later ones have ordinary wake-ups.
    pub(super) fn add(&mut self, machine: Machine) -> MachineId {
        self.machines.push(machine);
        if machine.carries_packets() {
            self.agenda.add_frequent(machine.phase())
        } else {
            self.agenda.add(machine.phase())
        }
    }

    /// Sets when a machine is woken; `None` for not at all.
    #[inline]
    pub(super) fn wake_at(&mut self, machine: MachineId, at: Option<Time>) {
        self.agenda.wake_at(machine, at);
    }

    /// The wake-ups that are known before a run are all set.
    pub(super) fn begin(&mut self) {
        self.agenda.sort();
    }

    /// As [`Schedule::wake_at`]; [`Time::MAX`] for not at all.
    #[inline]
    pub(super) fn wake_next(&mut self, machine: MachineId, at: Time) {
        self.agenda.wake_next(machine, at);
    }

    /// The instant of the wake-up that was taken last.
    #[inline]
    pub(super) fn now(&self) -> Time {
        self.agenda.now()
    }

    /// The next wake-up at or before `until`; the machine then has none until it is given one.
    ///
    /// # Errors
    /// Time does not move.
    #[inline]
    pub(super) fn next_until(&mut self, until: Time) -> Result<Option<(Time, Machine)>, Livelock> {
        let next = self.agenda.next_until(until)?;
        Ok(next.map(|(at, id)| (at, self.machines[id.0 as usize])))
    }

    /// As [`Schedule::wake_next`], and takes that wake-up at once if it is by `until` and certain to be the next, with
    /// no other at the same instant. Returns whether it did.
    #[inline]
    pub(super) fn take_alone(&mut self, machine: MachineId, at: Time, until: Time) -> bool {
        self.agenda.take_alone(machine, at, until)
    }

    /// No machine wakes before this instant, after [`Schedule::next_until`] gave none; `None` if none is armed.
    pub(super) fn quiet_until(&mut self) -> Option<Time> {
        self.agenda.quiet_until()
    }
}
