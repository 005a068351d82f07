//! The links between endpoints: the places of users, and what they share.

use engine::MachineId;
use units::{Duration, Time};

use super::ledger::Ledger;
use super::pipe::Pipe;
use super::place::{Parts, Place};
use super::schedule::{Machine, Schedule};
use crate::packet::{Link, Way};
use crate::record::drops::{Loss, PathLoss};

/// See the module.
pub(super) struct Network {
    pub(super) places: Vec<Place>,
    /// Between servers and the gateway, both ways.
    terrestrial: Pipe,
    terrestrial_machine: MachineId,
}

/// Where the two endpoints of a connection stand in the network: what all its packets have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) flow: u32,
    pub(super) user: u32,
    pub(super) place: u32,
    /// The class of service on the last hop.
    pub(super) class: u32,
    /// Bytes of data in a full packet.
    pub(super) payload_bytes: u32,
    /// The links of packets that go forward and back.
    pub(super) links: [Link; 2],
    /// The delay of a terrestrial link.
    pub(super) delay: Duration,
    /// How often the user's address has changed.
    pub(super) address: u32,
    /// The way of the packets that the user sends, or the gateway instead of it.
    pub(super) of_user: Way,
}

impl Site {
    /// The link of packets that go `way`.
    #[inline]
    pub(super) fn link(&self, way: Way) -> Link {
        self.links[way as usize]
    }
}

impl Network {
    /// `places`: in the order in which their machines name them.
    pub(super) fn new(places: Vec<Parts>, schedule: &mut Schedule) -> Network {
        let terrestrial_machine = schedule.add(Machine::Terrestrial);
        let places = (0..).zip(places).map(|(index, parts)| Place::new(index, parts, schedule)).collect();
        Network { places, terrestrial: Pipe::default(), terrestrial_machine }
    }

    #[inline]
    pub(super) fn place(&mut self, index: u32) -> &mut Place {
        &mut self.places[index as usize]
    }

    /// A packet of `bytes` enters `link`, which is scheduled if it is the `last` at this instant. One to an address
    /// that its user has left is lost.
    #[allow(clippy::too_many_arguments)] // a packet, and where it goes
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        now: Time,
        id: u32,
        bytes: u32,
        link: Link,
        site: &Site,
        ledger: &mut Ledger,
        schedule: &mut Schedule,
        last: bool,
    ) {
        match link {
            Link::Downlink => {
                if site.address > 0 && ledger.packets.get(id).payload.address() != site.address {
                    return ledger.lose(now, id, Loss::Path(PathLoss::Address));
                }
                let place = self.place(site.place);
                place.send_downlink(now, id, bytes, ledger, schedule);
                if last {
                    place.schedule_downlink(schedule);
                }
            }
            Link::Uplink => {
                let place = self.place(site.place);
                place.send_uplink(now, id, bytes, site.payload_bytes, ledger, schedule);
                if last {
                    place.serve_return_link(now, ledger, schedule);
                }
            }
            Link::Terrestrial => {
                self.terrestrial.push(now + site.delay, id);
                if last {
                    schedule.wake_next(self.terrestrial_machine, self.terrestrial.next());
                }
            }
        }
    }

    /// After packets were sent over `link`: schedules it.
    #[inline(always)]
    pub(super) fn schedule(&mut self, now: Time, link: Link, place: u32, ledger: &mut Ledger, schedule: &mut Schedule) {
        match link {
            Link::Downlink => self.place(place).schedule_downlink(schedule),
            Link::Uplink => self.place(place).serve_return_link(now, ledger, schedule),
            Link::Terrestrial => schedule.wake_next(self.terrestrial_machine, self.terrestrial.next()),
        }
    }

    /// The next packet that has come to the gateway or to its server by `now`. Without one the pipe is scheduled for
    /// the packet after it.
    pub(super) fn poll_terrestrial(&mut self, now: Time, schedule: &mut Schedule) -> Option<u32> {
        let id = self.terrestrial.pop_due(now);
        if id.is_none() {
            schedule.wake_next(self.terrestrial_machine, self.terrestrial.next());
        }
        id
    }

    /// The packets inside.
    pub(super) fn in_flight(&self) -> usize {
        self.terrestrial.len() + self.places.iter().map(Place::in_flight).sum::<usize>()
    }
}
