//! The loop between devices and world.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use hdrhistogram::Histogram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;
use sim::{Departure, End, Fate, LoggedOffer, Offer, RunError, Simulation};
use units::{Duration, Ecn, Time};

use crate::address::{Addresses, IpHeader};
use crate::device::{Device, Side};

/// Packets that are read from a device before the others have their turn.
const BATCH: usize = 32;
/// The longest packet that a device hands over.
const LONGEST: usize = 65_535;
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

/// What a session has counted and measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Packets that entered at the servers and at the users.
    pub entered: [u64; 2],
    /// Packets that left to the users and to the servers.
    pub left: [u64; 2],
    /// Packets that the path lost.
    pub lost: u64,
    /// Packets for an address that nobody has, without an IP header, or too long for the last hop.
    pub refused: u64,
    /// Packets that a device did not take.
    pub untaken: u64,
    /// How late packets left, in nanoseconds after their time: median, 95 %, 99 %, 99.9 % and most.
    pub late_ns: [u64; 5],
}

/// A running emulation: what stands between the devices and a [`Simulation`], which is handed in at each call.
pub struct Session {
    devices: Vec<Device>,
    addresses: Addresses,
    /// The device of each flow's user, by its place.
    users: BTreeMap<u32, usize>,
    /// Waiting less than this is done by looking at the clock.
    spin: Duration,
    start: Option<Instant>,
    /// The bytes of the packets under way, by ticket.
    kept: Vec<Vec<u8>>,
    free: Vec<u32>,
    buffer: Box<[u8]>,
    log: Vec<u8>,
    measured: Measured,
    late: Histogram<u32>,
}

impl Session {
    /// `devices`: that of the servers first; `addresses`: of the users. Waits shorter than `spin` are spent looking at the
    /// clock, which is more exact than sleeping.
    ///
    /// # Panics
    /// If the first device is not that of the servers.
    pub fn new(devices: Vec<Device>, addresses: Addresses, spin: Duration) -> Session {
        assert_eq!(devices.first().map(Device::side), Some(Side::Servers), "the servers' device");
        let users = (0..).zip(&devices).filter_map(|(place, device)| Some((device.side().flow()?, place))).collect();
        let late = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds of a histogram");
        Session {
            devices,
            addresses,
            users,
            spin,
            start: None,
            kept: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; LONGEST].into_boxed_slice(),
            log: Vec::new(),
            measured: Measured::default(),
            late,
        }
    }

    /// Runs `simulation` until the end of its scenario, or until one of `stops` can be read. Whether the end is reached.
    ///
    /// # Errors
    /// A device fails, or the run does.
    #[allow(clippy::disallowed_methods, reason = "the clock is what this crate is for")]
    pub fn run(&mut self, simulation: &mut Simulation, stops: &[BorrowedFd<'_>]) -> Result<bool, EmulationError> {
        let start = *self.start.get_or_insert_with(Instant::now);
        let end = Time::ZERO + simulation.duration();
        loop {
            let now = since(start).min(end);
            simulation.advance(now)?;
            self.release(simulation, start);
            if now == end {
                return Ok(true);
            }
            let next = simulation.poll_timeout().unwrap_or(end).min(end);
            let wait = next.since(since(start).min(next));
            let timeout = wait.as_nanos().saturating_sub(self.spin.as_nanos());
            let ready = self.wait(timeout, stops)?;
            if ready.stop {
                return Ok(false);
            }
            for device in ready.devices {
                self.take(simulation, device, start, end)?;
            }
        }
    }

    /// Waits until a device or a stop can be read, at most for `timeout` nanoseconds.
    fn wait(&self, timeout: u64, stops: &[BorrowedFd<'_>]) -> io::Result<Ready> {
        let devices = self.devices.iter().map(AsFd::as_fd);
        let mut fds: Vec<PollFd<'_>> =
            devices.chain(stops.iter().copied()).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: (timeout / 1_000_000_000) as i64, tv_nsec: (timeout % 1_000_000_000) as i64 };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let (devices, stops) = fds.split_at(self.devices.len());
        let devices = (0..).zip(devices).filter(|(_, fd)| !fd.revents().is_empty()).map(|(device, _)| device).collect();
        Ok(Ready { devices, stop: stops.iter().any(|fd| !fd.revents().is_empty()) })
    }

    /// Reads packets from a device into the world.
    fn take(
        &mut self,
        simulation: &mut Simulation,
        device: usize,
        start: Instant,
        end: Time,
    ) -> Result<(), EmulationError> {
        for _ in 0..BATCH {
            let read = match rustix::io::read(&self.devices[device], &mut self.buffer[..]) {
                Ok(read) => read,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            let now = since(start);
            if now >= end {
                break;
            }
            simulation.advance(now)?;
            if self.enter(simulation, now, self.devices[device].side().end(), read).is_none() {
                self.measured.refused += 1;
            }
        }
        Ok(())
    }

    /// Offers the packet in the buffer; `None` if it cannot enter.
    fn enter(&mut self, simulation: &mut Simulation, now: Time, from: End, bytes: usize) -> Option<()> {
        let header = IpHeader::read(&self.buffer[..bytes])?;
        let user = match from {
            End::Server => header.destination,
            End::User => header.source,
        };
        let flow = self.addresses.flow(user)?;
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.kept.push(Vec::new());
            self.kept.len() as u32 - 1
        });
        let class = self.addresses.class(header.dscp);
        let offer = LoggedOffer { at: now, flow, from, bytes: bytes as u32, ecn: header.ecn, class };
        let shown = &self.buffer[..bytes.min(SHOWN)];
        if simulation.offer(&Offer { ticket, header: shown, ..offer.offer() }).is_err() {
            self.free.push(ticket);
            return None;
        }
        let kept = &mut self.kept[ticket as usize];
        kept.clear();
        kept.extend_from_slice(&self.buffer[..bytes]);
        self.log.extend_from_slice(&offer.to_bytes());
        self.measured.entered[from as usize] += 1;
        Some(())
    }

    /// Writes what has left the world to the devices.
    fn release(&mut self, simulation: &mut Simulation, start: Instant) {
        while let Some(Departure { at, flow, from, ticket, fate }) = simulation.poll_departure() {
            self.free.push(ticket);
            let Fate::Delivered(ecn) = fate else {
                self.measured.lost += 1;
                continue;
            };
            let packet = &mut self.kept[ticket as usize];
            if ecn == Ecn::Ce {
                IpHeader::mark(packet);
            }
            let device = match from {
                End::Server => self.users[&flow],
                End::User => 0,
            };
            match rustix::io::write(&self.devices[device], packet) {
                Ok(_) => self.measured.left[from as usize] += 1,
                Err(_) => self.measured.untaken += 1,
            }
            self.late.saturating_record(since(start).since(at).as_nanos());
        }
    }

    /// The offers since the last call, as [`LoggedOffer::to_bytes`] writes them.
    pub fn take_log(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.log)
    }

    /// What was counted and measured so far.
    pub fn measured(&self) -> Measured {
        let late_ns = [0.5, 0.95, 0.99, 0.999, 1.0].map(|share| self.late.value_at_quantile(share));
        Measured { late_ns, ..self.measured.clone() }
    }
}

/// What can be read.
struct Ready {
    devices: Vec<usize>,
    stop: bool,
}

/// The time that has passed, as the simulation counts it.
#[allow(clippy::disallowed_methods, reason = "the clock is what this crate is for")]
fn since(start: Instant) -> Time {
    Time::from_nanos(start.elapsed().as_nanos() as u64)
}
