//! The loop between devices and world.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;
use sim::{Departure, End, Fate, LoggedOffer, Offer, RunError, Simulation};
use units::{Duration, Ecn, Time};

use crate::address::{Addresses, IpHeader};
use crate::device::{Device, Side};
use crate::offload::{Frame, Joined, Packet};

/// Reads from a device before the others have their turn.
const BATCH: usize = 32;
/// More than a device hands over at once.
const LONGEST: usize = 1 << 17;
/// Bytes of a packet that captures show.
const SHOWN: usize = 80;

/// Why an emulation ends before its time.
#[derive(Debug, thiserror::Error)]
pub enum EmulationError {
    /// A device, or waiting for it, fails.
    #[error("a network device: {0}")]
    Device(#[from] io::Error),
    /// The run itself fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The devices have not come.
    #[error("no network device has come")]
    NoDevices,
}

/// The counts and measurements of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Packets that entered at the servers and at the users.
    pub entered: [u64; 2],
    /// Packets that left to the users and to the servers.
    pub left: [u64; 2],
    /// Packets of real hosts that the simulated path lost.
    pub lost: u64,
    /// Packets for an address that nobody has, without an IP header, or too long for the last hop.
    pub refused: u64,
    /// Packets to all who listen (multicast), which hosts send by themselves: there is no way for them.
    pub multicast: u64,
    /// Packets that a device did not take.
    pub untaken: u64,
    /// How late packets were handed to a device, in nanoseconds after their time: median, 95 %, 99 %, 99.9 % and most.
    pub late_ns: [u64; 5],
}

/// A running emulation: what stands between the devices and a [`Simulation`], which is handed in at each call.
pub struct Session {
    devices: Arc<[Device]>,
    addresses: Addresses,
    /// The device of each flow's user, by its place.
    users: BTreeMap<u32, usize>,
    /// Waiting less than this is done by looking at the clock.
    spin: Duration,
    start: Option<Instant>,
    /// The packets in flight, by ticket.
    kept: Vec<Packet>,
    free: Vec<u32>,
    /// The buffer into which devices are read.
    buffer: Box<[u8]>,
    /// The packets that are about to be written, and to which device.
    joined: Joined,
    to: usize,
    log: Vec<u8>,
    measured: Measured,
    late: Histogram<u32>,
}

impl Session {
    /// `devices`: that of the servers first; `addresses`: of the users. Waits shorter than `spin` are spent looking at
    /// the clock, which is more exact than sleeping.
    ///
    /// # Panics
    /// If the first device is not that of the servers.
    pub fn new(devices: Vec<Device>, addresses: Addresses, spin: Duration) -> Session {
        assert_eq!(devices.first().map(Device::side), Some(Side::Servers), "the servers' device");
        let users = (0..).zip(&devices).filter_map(|(place, device)| Some((device.side().flow()?, place))).collect();
        let late = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds of a histogram");
        Session {
            devices: devices.into(),
            addresses,
            users,
            spin,
            start: None,
            kept: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; LONGEST].into_boxed_slice(),
            joined: Joined::default(),
            to: 0,
            log: Vec::new(),
            measured: Measured::default(),
            late,
        }
    }

    /// Runs `simulation` until the end of its scenario, or until one of `stops` can be read. Whether the end is
    /// reached.
    ///
    /// # Errors
    /// A device fails, or the run does.
    #[allow(clippy::disallowed_methods, reason = "the clock is what this crate is for")]
    pub fn run(&mut self, simulation: &mut Simulation, stops: &[BorrowedFd<'_>]) -> Result<bool, EmulationError> {
        let start = *self.start.get_or_insert_with(Instant::now);
        let end = Time::ZERO + simulation.duration();
        let devices = Arc::clone(&self.devices);
        let watched = devices.iter().map(AsFd::as_fd).chain(stops.iter().copied());
        let mut fds: Vec<PollFd<'_>> = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        loop {
            let now = since(start).min(end);
            simulation.advance(now)?;
            self.release(simulation, start);
            if now == end {
                return Ok(true);
            }
            let next = simulation.poll_timeout().unwrap_or(end).min(end);
            let wait = next.since(since(start).min(next));
            self.wait(wait, &mut fds)?;
            let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
            if fds[devices.len()..].iter().any(ready) {
                return Ok(false);
            }
            for device in (0..devices.len()).filter(|&device| ready(&fds[device])) {
                self.take(simulation, device, start, end)?;
            }
        }
    }

    /// Waits until one of `fds` can be read, at most for `wait`, less what is spent looking at the clock.
    fn wait(&self, wait: Duration, fds: &mut [PollFd<'_>]) -> io::Result<()> {
        let nanos = wait.as_nanos().saturating_sub(self.spin.as_nanos());
        let timeout = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        match poll(fds, Some(&timeout)) {
            Ok(_) => Ok(()),
            Err(Errno::INTR) => {
                fds.iter_mut().for_each(PollFd::clear_revents);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads from a device into the world. What is due meanwhile leaves.
    fn take(
        &mut self,
        simulation: &mut Simulation,
        device: usize,
        start: Instant,
        end: Time,
    ) -> Result<(), EmulationError> {
        let from = self.devices[device].side().end();
        let mut buffer = std::mem::take(&mut self.buffer);
        let batch_read = (|| {
            for _ in 0..BATCH {
                let read = match rustix::io::read(&self.devices[device], &mut buffer[..]) {
                    Ok(read) => read,
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(io::Error::from(error).into()),
                };
                let now = since(start);
                if now >= end {
                    break;
                }
                simulation.advance(now)?;
                self.release(simulation, start);
                match Frame::read(&buffer[..read]) {
                    Some(frame) => self.enter(simulation, now, from, &frame),
                    None => self.measured.refused += 1,
                }
            }
            Ok(())
        })();
        self.buffer = buffer;
        batch_read
    }

    /// Offers the packets of a frame, one after the other.
    fn enter(&mut self, simulation: &mut Simulation, now: Time, from: End, frame: &Frame<'_>) {
        for number in 0..frame.packets() {
            let ticket = self.free.pop().unwrap_or_else(|| {
                self.kept.push(Packet::default());
                self.kept.len() as u32 - 1
            });
            let mut packet = std::mem::take(&mut self.kept[ticket as usize]);
            frame.write(number, &mut packet);
            if !self.offer(simulation, now, from, ticket, &packet.bytes) {
                self.free.push(ticket);
            }
            self.kept[ticket as usize] = packet;
        }
    }

    /// Offers a host's packet to the simulation. Returns whether it has entered.
    fn offer(&mut self, simulation: &mut Simulation, now: Time, from: End, ticket: u32, packet: &[u8]) -> bool {
        let header = IpHeader::read(packet);
        if header.is_some_and(|header| header.destination.is_multicast()) {
            self.measured.multicast += 1;
            return false;
        }
        let user = |header: IpHeader| match from {
            End::Server => header.destination,
            End::User => header.source,
        };
        let header_and_flow = header.and_then(|header| Some((header, self.addresses.flow(user(header))?)));
        let entered = header_and_flow.and_then(|(header, flow)| {
            let class = self.addresses.class(header.dscp);
            let offer = LoggedOffer { at: now, flow, from, bytes: packet.len() as u32, ecn: header.ecn, class };
            let shown = &packet[..packet.len().min(SHOWN)];
            simulation.offer(&Offer { ticket, header: shown, ..offer.offer() }).ok()?;
            Some(offer)
        });
        match entered {
            Some(offer) => {
                self.log.extend_from_slice(&offer.to_bytes());
                self.measured.entered[from as usize] += 1;
            }
            None => self.measured.refused += 1,
        }
        entered.is_some()
    }

    /// Writes what has left the world to the devices.
    fn release(&mut self, simulation: &mut Simulation, start: Instant) {
        while let Some(Departure { at, flow, from, ticket, fate }) = simulation.poll_departure() {
            self.free.push(ticket);
            let Fate::Delivered(ecn) = fate else {
                self.measured.lost += 1;
                continue;
            };
            let device = match from {
                End::Server => self.users[&flow],
                End::User => 0,
            };
            if device != self.to {
                self.write();
                self.to = device;
            }
            if ecn == Ecn::Ce {
                IpHeader::mark(&mut self.kept[ticket as usize].bytes);
            }
            if !self.joined.push(&self.kept[ticket as usize]) {
                self.write();
                self.joined.push(&self.kept[ticket as usize]);
            }
            self.late.saturating_record(since(start).since(at).as_nanos());
        }
        self.write();
    }

    /// Writes the joined packets to their device.
    fn write(&mut self) {
        let device = &self.devices[self.to];
        let left = &mut self.measured.left[1 - device.side().end() as usize];
        let (frame, packets) = self.joined.take();
        if packets > 0 {
            match rustix::io::write(device, frame) {
                Ok(_) => *left += packets,
                Err(_) => self.measured.untaken += packets,
            }
        }
    }

    /// The offers since the last call, as [`LoggedOffer::to_bytes`] writes them.
    pub fn take_log(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.log)
    }

    /// Returns the session's counts and measurements so far.
    pub fn measured(&self) -> Measured {
        let late_ns = [0.5, 0.95, 0.99, 0.999, 1.0].map(|share| self.late.value_at_quantile(share));
        Measured { late_ns, ..self.measured.clone() }
    }
}

/// The time that has passed, as the simulation counts it.
#[allow(clippy::disallowed_methods, reason = "the clock is what this crate is for")]
fn since(start: Instant) -> Time {
    Time::from_nanos(start.elapsed().as_nanos() as u64)
}
