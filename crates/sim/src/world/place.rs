//! A place: its users, their last hop and return link, and the path between them and their gateway.

use access::ReturnLink;
use engine::MachineId;
use link::{LastHop, Output, PacketRef, Propagation};
use units::{Db, Duration, Ecn, Frequency, Time};

use super::ledger::Ledger;
use super::path::{Event, LongPath};
use super::pending_losses::{PendingLoss, PendingLosses};
use super::pipe::Pipe;
use super::schedule::{Machine, Schedule};
use crate::record::drops::Loss;
use crate::record::recorder::Recorder;
use crate::record::series::{FlowSample, HopSample, LookSample};
use crate::record::watch::EventKind;

/// See the module. Packets enter it at the gateway ([`Place::send_downlink`]) or at a user ([`Place::send_uplink`]).
/// They leave it by [`Place::poll_last_hop`] and [`Place::poll_arrived`], or late by [`Place::poll_simulated`] and
/// [`Place::poll_late`], and by [`Place::poll_uplink`].
pub(super) struct Place {
    pub(super) path: LongPath,
    /// The delay between the serving satellite and the users.
    hop: Propagation,
    /// Of the channel, if it has one.
    pub(super) carrier: Option<Frequency>,
    /// Es/N0 of an unobstructed line of sight, if there is noise.
    pub(super) reference_snr: Option<Db>,
    /// From the gateway to the serving satellite.
    downlink: Pipe,
    pub(super) last_hop: LastHop,
    /// Access to the channel of the uplink; without one each packet leaves its user at once.
    pub(super) return_link: Option<Box<ReturnLink>>,
    /// From the users to the gateway.
    uplink: Pipe,
    /// Packets of both directions that the path will lose.
    pending_losses: PendingLosses,
    machines: Machines,
    /// Packets enter and leave the last hop late: see [`Place::run_late`].
    pub(super) late: Option<Late>,
}

/// The limits of packets that pass the last hop late: many at one wake-up, each with its own time.
#[derive(Clone, Copy)]
pub(super) struct Late {
    /// The longest time from the first of them to the wake-up: until then no answer to it has come to the gateway, and
    /// no timer that it sets is due. `None` where nothing answers.
    within: Option<Duration>,
    /// The time after which a packet reaches its user at the earliest, and an answer of the user the gateway.
    pub(super) reach: Duration,
    /// The last hop is to be woken.
    armed: bool,
}

/// So many packets enter a last hop at once that they enter late.
const AT_ONCE: usize = 64;

/// The handles of a place's machines.
struct Machines {
    service: MachineId,
    downlink: MachineId,
    last_hop: MachineId,
    return_link: MachineId,
    uplink: MachineId,
    pending_losses: MachineId,
}

/// The parts of a place at rest.
pub(super) struct Parts {
    pub(super) path: LongPath,
    pub(super) hop: Propagation,
    pub(super) carrier: Option<Frequency>,
    pub(super) reference_snr: Option<Db>,
    pub(super) last_hop: LastHop,
    pub(super) return_link: Option<Box<ReturnLink>>,
}

impl Place {
    /// The place of this index.
    pub(super) fn new(index: u32, parts: Parts, schedule: &mut Schedule) -> Place {
        let machines = Machines {
            downlink: schedule.add(Machine::Downlink(index)),
            last_hop: schedule.add(Machine::LastHop(index)),
            uplink: schedule.add(Machine::Uplink(index)),
            service: schedule.add(Machine::Service(index)),
            return_link: schedule.add(Machine::ReturnLink(index)),
            pending_losses: schedule.add(Machine::PendingLosses(index)),
        };
        let Parts { path, hop, carrier, reference_snr, last_hop, return_link } = parts;
        let (downlink, uplink, pending_losses) = (Pipe::default(), Pipe::default(), PendingLosses::default());
        Place {
            path,
            hop,
            carrier,
            reference_snr,
            downlink,
            last_hop,
            return_link,
            uplink,
            pending_losses,
            machines,
            late: None,
        }
    }

    /// For a place whose users do nothing but take what comes and acknowledge it, where no timer of theirs is due
    /// sooner than `timer` after a packet ([`Duration::MAX`] if they do not even acknowledge): as long as nobody looks
    /// at it, and if path and last hop allow it, neither the pipe between them nor the last hop wakes for a packet.
    /// [`Place::poll_late`], or [`Place::poll_simulated`], tells later what became of many, each at its own instant.
    pub(super) fn run_late(&mut self, timer: Duration) {
        let least = self.path.least_delay().filter(|delay| !delay.is_zero() && self.last_hop.takes_late());
        let Some(delay) = least else { return };
        let reach = delay + self.hop.least();
        if timer == Duration::MAX {
            self.late = Some(Late { within: None, reach, armed: false });
        } else if self.return_link.is_none() {
            self.late = Some(Late { within: Some(timer.min(reach)), reach, armed: false });
        }
    }

    /// Whether packets enter and leave the last hop late.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        self.late.is_some()
    }

    /// From now on packets enter and leave the last hop when they do. What became of them until now has been told.
    pub(super) fn run_in_time(&mut self, schedule: &mut Schedule) {
        if self.late.take().is_some() {
            self.schedule_downlink(schedule);
            schedule.wake_next(self.machines.last_hop, self.last_hop.next_due());
        }
    }

    /// The packets that came by `now` enter the last hop, up to one that finds no room. Returns when that came.
    #[inline(always)]
    pub(super) fn enter_late(&mut self, now: Time, ledger: &Ledger) -> Option<Time> {
        loop {
            let comes = self.downlink.next();
            let id = self.downlink.pop_due(now)?;
            self.enter(comes, id, ledger);
            if self.last_hop.has_lost() {
                return Some(comes);
            }
        }
    }

    /// Whether packets that are late come from [`Place::poll_simulated`].
    #[inline]
    pub(super) fn simulates_bursts(&self) -> bool {
        self.last_hop.simulates_bursts()
    }

    /// The next packet that the last hop delivers to a user by `now`, and when, where bursts are simulated. The packets
    /// that came by then enter it.
    #[inline(always)]
    pub(super) fn poll_simulated(&mut self, now: Time, ledger: &mut Ledger) -> Option<(Time, u32)> {
        loop {
            let comes = self.downlink.next();
            while let Some((at, output)) = self.last_hop.poll_output_by(comes.min(now)) {
                if let Some(id) = leave(at, output, ledger) {
                    return Some((at, id));
                }
            }
            let id = self.downlink.pop_due(now)?;
            self.enter(comes, id, ledger);
        }
    }

    /// The next packet that the last hop has delivered to a user by `until`, and when, of those that have entered it.
    #[inline(always)]
    pub(super) fn poll_late(&mut self, until: Time) -> Option<(Time, u32)> {
        self.last_hop.poll_arrived_by(until)
    }

    /// The packet that entered the last hop last, at `came`, found no room. [`Place::poll_late`] has told what was
    /// delivered by then.
    #[cold]
    pub(super) fn lose_late(&mut self, came: Time, ledger: &mut Ledger) {
        while let Some((id, reason)) = self.last_hop.poll_lost() {
            ledger.lose(came, id, Loss::LastHop(reason));
        }
    }

    /// When packets enter and leave the last hop late, it is woken when a number of them have come, or before an answer
    /// to the first of them can reach the gateway.
    #[inline(never)]
    pub(super) fn schedule_late(&mut self, schedule: &mut Schedule) {
        let Some(late) = self.late else { return };
        let mut at = self.downlink.arrival(AT_ONCE - 1);
        if let Some(within) = late.within {
            let first = self.last_hop.next_due().min(self.downlink.next());
            if first < Time::MAX {
                // A packet that is sent from now on may overtake those on a longer path, and those that wait for
                // feedback, and the last hop is not scheduled again for it.
                let overtakes = self.simulates_bursts() || self.path.constant_delay().is_none();
                let overtaking = if overtakes { schedule.now() + late.reach } else { first };
                at = at.min(first.min(overtaking) + within);
            }
        }
        self.late = Some(Late { armed: at < Time::MAX, ..late });
        schedule.wake_next(self.machines.last_hop, at);
    }

    /// A packet enters the path at the gateway.
    #[inline(always)]
    pub(super) fn send_downlink(
        &mut self,
        now: Time,
        id: u32,
        bytes: u32,
        ledger: &mut Ledger,
        schedule: &mut Schedule,
    ) {
        match self.path.constant_delay() {
            // `Place::schedule_downlink` is called, which knows whether the last hop is late.
            Some(delay) => _ = self.downlink.push(now + delay, id),
            None => self.send_to_satellites(now, id, bytes, ledger, schedule),
        }
    }

    /// The same where the delay of the path is not constant.
    #[inline(never)]
    fn send_to_satellites(&mut self, now: Time, id: u32, bytes: u32, ledger: &mut Ledger, schedule: &mut Schedule) {
        match self.path.downlink(now, bytes) {
            Ok(arrival) => _ = self.downlink.push(arrival, id),
            Err(lost) => self.lose(now, id, lost, ledger, schedule),
        }
    }

    /// The path loses a packet, now or later.
    #[cold]
    fn lose(&mut self, now: Time, id: u32, lost: PendingLoss, ledger: &mut Ledger, schedule: &mut Schedule) {
        if lost.at <= now {
            debug_assert!(self.late.is_none(), "a path that loses what enters it is not late");
            return ledger.lose(now, id, Loss::Path(lost.reason));
        }
        self.pending_losses.push(lost, id);
        schedule.wake_at(self.machines.pending_losses, self.pending_losses.poll_timeout());
    }

    /// The packets are lost that the path loses by `now`.
    pub(super) fn lose_pending(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) {
        while let Some((id, reason)) = self.pending_losses.pop_due(now) {
            ledger.lose(now, id, Loss::Path(reason));
        }
        schedule.wake_at(self.machines.pending_losses, self.pending_losses.poll_timeout());
    }

    /// A packet is offered to the return link, or leaves its user at once where there is none.
    #[allow(clippy::too_many_arguments)] // a packet, and where it goes
    #[inline(always)]
    pub(super) fn send_uplink(
        &mut self,
        now: Time,
        id: u32,
        bytes: u32,
        payload_bytes: u32,
        ledger: &mut Ledger,
        schedule: &mut Schedule,
    ) {
        match self.return_link {
            None => self.leave_user(now, now, id, bytes, ledger, schedule),
            Some(_) => self.offer(now, id, payload_bytes, ledger),
        }
    }

    /// A packet is offered to the return link.
    #[inline(never)]
    fn offer(&mut self, now: Time, id: u32, payload_bytes: u32, ledger: &mut Ledger) {
        let Place { path, hop, return_link: Some(link), .. } = self else { return };
        let packet = ledger.packets.get(id);
        let datagram = access::Datagram { id, terminal: packet.user, bytes: packet.bytes };
        link.handle_datagram(now, datagram, || packet.position(payload_bytes), || round_trip(path, hop, now));
    }

    /// After packets were sent by [`Place::send_downlink`].
    #[inline]
    pub(super) fn schedule_downlink(&mut self, schedule: &mut Schedule) {
        match self.late {
            None => schedule.wake_next(self.machines.downlink, self.downlink.next()),
            Some(Late { armed: true, .. }) => {}
            Some(Late { within, .. }) => {
                if within.is_some() || self.downlink.len() >= AT_ONCE {
                    self.schedule_late(schedule);
                }
            }
        }
    }

    /// After packets were sent by [`Place::send_uplink`]: what leaves the return link at once. The pipe to the gateway
    /// is scheduled with the first packet in it.
    #[inline]
    pub(super) fn serve_return_link(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) {
        if self.return_link.is_some() {
            self.leave_return_link(now, ledger, schedule);
        }
    }

    /// A frame of the return link begins.
    pub(super) fn begin_frame(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) {
        let round_trip = round_trip(&self.path, &mut self.hop, now);
        if let Some(link) = &mut self.return_link {
            link.handle_timeout(now, round_trip);
        }
        self.serve_return_link(now, ledger, schedule);
    }

    #[inline(never)]
    fn leave_return_link(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) {
        while let Some(output) = self.return_link.as_mut().and_then(|link| link.poll_output()) {
            match output {
                access::Output::Sent { id, at, access } => {
                    ledger.recorder.accessed(ledger.packets.get(id), access);
                    let bytes = ledger.packets.get(id).bytes;
                    self.leave_user(now, at, id, bytes, ledger, schedule);
                }
                access::Output::Dropped { id, reason, access } => {
                    if let Some(access) = access {
                        ledger.recorder.accessed(ledger.packets.get(id), access);
                    }
                    ledger.lose(now, id, Loss::ReturnLink(reason));
                }
            }
        }
        schedule.wake_at(self.machines.return_link, self.return_link.as_ref().and_then(|link| link.poll_timeout()));
    }

    /// A packet of `bytes` leaves its user at `at`.
    #[inline(always)]
    fn leave_user(&mut self, now: Time, at: Time, id: u32, bytes: u32, ledger: &mut Ledger, schedule: &mut Schedule) {
        match self.path.constant_delay() {
            Some(delay) => {
                let at_satellite = at + self.hop.delay(at);
                self.push_uplink(at_satellite, at_satellite + delay, id, ledger, schedule);
            }
            None => self.leave_to_satellites(now, at, id, bytes, ledger, schedule),
        }
    }

    /// The same where the delay of the path is not constant.
    #[inline(never)]
    fn leave_to_satellites(
        &mut self,
        now: Time,
        at: Time,
        id: u32,
        bytes: u32,
        ledger: &mut Ledger,
        schedule: &mut Schedule,
    ) {
        match self.path.uplink(at, bytes, &mut self.hop) {
            Ok((at_satellite, arrival)) => self.push_uplink(at_satellite, arrival, id, ledger, schedule),
            Err(lost) => self.lose(now, id, lost, ledger, schedule),
        }
    }

    /// A packet is in flight to the gateway: the pipe is scheduled for the first.
    #[inline(always)]
    fn push_uplink(
        &mut self,
        at_satellite: Time,
        arrival: Time,
        id: u32,
        ledger: &mut Ledger,
        schedule: &mut Schedule,
    ) {
        ledger.recorder.uplink_at_satellite(at_satellite, || ledger.packets.get(id));
        if self.uplink.push(arrival, id) {
            schedule.wake_next(self.machines.uplink, arrival);
        }
    }

    /// The packets that have come to the serving satellite by `now` enter the last hop, up to one with which a packet
    /// leaves it or is lost. Returns whether there was one; without one last hop and pipe are scheduled for what comes
    /// next.
    #[inline]
    pub(super) fn enter_last_hop(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) -> bool {
        while let Some(id) = self.downlink.pop_due(now) {
            ledger.recorder.downlink_at_satellite(now, || ledger.packets.get(id));
            self.enter(now, id, ledger);
            if !self.rest_last_hop(schedule) {
                return true;
            }
        }
        self.schedule_downlink(schedule);
        false
    }

    /// A packet enters the last hop, to which it came at `at`.
    #[inline(always)]
    fn enter(&mut self, at: Time, id: u32, ledger: &Ledger) {
        let packet = ledger.packets.get(id);
        let (flow, user, class, size) = (packet.flow, packet.user, packet.class, packet.bytes);
        let reference = PacketRef { id, flow, user, class, size, ecn: packet.ecn };
        if self.last_hop.wants_numbers() {
            self.last_hop.handle_numbered(at, reference, packet.numbers());
        } else {
            self.last_hop.handle_packet(at, reference);
        }
    }

    /// Handles the events of the last hop up to `now`.
    #[inline]
    pub(super) fn work_last_hop(&mut self, now: Time) {
        self.last_hop.handle_timeout(now);
    }

    /// The last hop works up to `now`, so that counters and waits are those of now; it is not asked what leaves it.
    pub(super) fn settle_last_hop(&mut self, now: Time, ledger: &mut Ledger) {
        self.last_hop.handle_timeout(now);
        self.tell_waits(ledger);
    }

    #[inline]
    fn tell_waits(&mut self, ledger: &mut Ledger) {
        while let Some((packet, waited)) = self.last_hop.poll_wait() {
            ledger.recorder.waited(ledger.packets.get(packet.id), waited);
        }
    }

    /// The next packet that the last hop delivers to a user, of those that were neither dropped nor marked there.
    /// [`Place::poll_last_hop`] is to be asked for the others.
    #[inline]
    pub(super) fn poll_arrived(&mut self) -> Option<u32> {
        self.last_hop.poll_arrived()
    }

    /// Schedules the last hop if it has nothing to tell. Returns whether it is so.
    #[inline(always)]
    pub(super) fn rest_last_hop(&self, schedule: &mut Schedule) -> bool {
        let silent = self.last_hop.is_silent();
        if silent {
            schedule.wake_next(self.machines.last_hop, self.last_hop.next_due());
        }
        silent
    }

    /// The next packet that the last hop delivers to a user. Without one the last hop is scheduled.
    #[inline]
    pub(super) fn poll_last_hop(&mut self, now: Time, ledger: &mut Ledger, schedule: &mut Schedule) -> Option<u32> {
        self.tell_waits(ledger);
        while let Some(output) = self.last_hop.poll_output() {
            let delivered = leave(now, output, ledger);
            if delivered.is_some() {
                return delivered;
            }
        }
        schedule.wake_next(self.machines.last_hop, self.last_hop.next_due());
        None
    }

    /// The next packet that has come to the gateway by `now`. Without one [`Place::rest_uplink`] or
    /// [`Place::go_on_uplink`] is to be called.
    #[inline]
    pub(super) fn poll_uplink(&mut self, now: Time) -> Option<u32> {
        self.uplink.pop_due(now)
    }

    /// Schedules the pipe to the gateway for the packet that comes next.
    #[inline]
    pub(super) fn rest_uplink(&self, schedule: &mut Schedule) {
        schedule.wake_next(self.machines.uplink, self.uplink.next());
    }

    /// The next instant up to `until` at which a packet comes to the gateway, if nothing else is due by then; otherwise
    /// the pipe is scheduled for it.
    #[inline]
    pub(super) fn go_on_uplink(&self, until: Time, schedule: &mut Schedule) -> Option<Time> {
        let next = self.uplink.next();
        schedule.take_alone(self.machines.uplink, next, until).then_some(next)
    }

    /// From now on [`Place::hand_over`] tells of other gateways, too.
    pub(super) fn follow_gateways(&mut self) {
        self.path.follow_gateways();
    }

    /// Hands the events of the path's service that are due to the last hop and to the recorder. Returns whether the
    /// path begins at another gateway from now on.
    pub(super) fn hand_over(&mut self, now: Time, recorder: &mut Recorder) -> bool {
        let mut has_moved = false;
        while let Some(event) = self.path.service.poll_event(now) {
            let kind = match event {
                Event::HandOver { resume, transfer } => {
                    self.last_hop.hand_over(now, resume, transfer);
                    EventKind::HandOver
                }
                Event::Halt => {
                    self.last_hop.halt(now);
                    EventKind::Halt
                }
                Event::Resume => {
                    self.last_hop.resume(now);
                    EventKind::Resume
                }
                Event::Gateway => {
                    has_moved = true;
                    EventKind::Gateway
                }
            };
            recorder.happened(now, kind, None);
        }
        has_moved
    }

    /// Schedules the next handover.
    pub(super) fn schedule_service(&self, schedule: &mut Schedule) {
        schedule.wake_at(self.machines.service, self.path.service.poll_timeout());
    }

    /// The packets inside.
    pub(super) fn in_flight(&self) -> usize {
        let return_link = self.return_link.as_ref().map_or(0, |link| link.in_flight());
        self.downlink.len() + self.last_hop.in_flight() + self.uplink.len() + self.pending_losses.len() + return_link
    }

    /// Counters and delays at this moment, up to which the last hop has worked.
    pub(super) fn sample(&mut self, now: Time) -> HopSample {
        let look = self.path.trace().look(now).map(|look| LookSample {
            elevation_deg: look.elevation_deg as f32,
            doppler_hz: self.carrier.map_or(f32::NAN, |carrier| look.doppler_shift(carrier) as f32),
        });
        let harq = self.last_hop.harq();
        let mut hop = HopSample {
            queue_packets: self.last_hop.queue().packets as u32,
            reordering_packets: self.last_hop.reordering().stored as u32,
            path_delay_s: self.path.whole_delay(now).map_or(f32::NAN, |delay| delay.as_secs_f64() as f32),
            coded_bits: self.last_hop.coded_bits_by(now) as u64,
            harq_failed: harq.failed,
            access: self.return_link.as_ref().map(|link| link.counts(now)),
            queue_delays: self.last_hop.notes_waits(),
            look,
            ..HopSample::default()
        };
        let decoded_after = &harq.decoded_after;
        for (counter, &decoded) in hop.decoded_after.iter_mut().zip(decoded_after) {
            *counter = decoded;
        }
        hop.decoded_later = decoded_after.iter().skip(hop.decoded_after.len()).sum();
        hop
    }

    /// Adds the attenuation of a user's channel to the sample of a flow; after [`Place::sample`] of the same instant.
    pub(super) fn attenuate(&mut self, now: Time, user: u32, sample: FlowSample) -> FlowSample {
        let attenuation = self.last_hop.attenuation(now, user);
        FlowSample { attenuation_db: attenuation.map_or(f32::NAN, |attenuation| attenuation.get() as f32), ..sample }
    }
}

/// A packet leaves the last hop at `now`: to its user, or it is lost.
#[inline(always)]
fn leave(now: Time, output: Output, ledger: &mut Ledger) -> Option<u32> {
    match output {
        Output::Delivered(PacketRef { id, ecn, .. }) => {
            if ecn == Ecn::Ce {
                ledger.mark(now, id);
            }
            Some(id)
        }
        Output::Dropped(PacketRef { id, .. }, reason) => {
            ledger.lose(now, id, Loss::LastHop(reason));
            None
        }
    }
}

/// The round-trip time between users and the gateway while nothing waits; none without a route, or while a handover
/// interrupts the users.
fn round_trip(path: &LongPath, hop: &mut Propagation, now: Time) -> Option<Duration> {
    if path.interrupts(now) {
        return None;
    }
    Some(path.round_trip(now)? + hop.delay(now) * 2)
}
