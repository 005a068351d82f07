//! Network devices without link layer (TUN), as another process hands them over.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use sim::End;

/// The hosts behind a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// All servers.
    Servers,
    /// The user of a flow.
    User(u32),
}

/// See the module.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    side: Side,
}

impl Side {
    /// The end of the flows that is behind the device.
    pub(crate) fn end(self) -> End {
        match self {
            Side::Servers => End::Server,
            Side::User(_) => End::User,
        }
    }

    /// The flow, of a user's device.
    pub(crate) fn flow(self) -> Option<u32> {
        match self {
            Side::Servers => None,
            Side::User(flow) => Some(flow),
        }
    }
}

impl Device {
    /// The device of this descriptor, which is read and written without waiting from now on.
    ///
    /// # Errors
    /// The device cannot be made non-blocking.
    pub fn new(fd: OwnedFd, side: Side) -> io::Result<Device> {
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(Device { fd, side })
    }

    pub(crate) fn side(&self) -> Side {
        self.side
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Takes a device for each of `sides`, in this order, from the process at the other end of a socket.
///
/// # Errors
/// The other process ends before, or what it sends is no device.
pub fn receive_devices(socket: &UnixStream, sides: &[Side]) -> io::Result<Vec<Device>> {
    let mut devices = Vec::with_capacity(sides.len());
    while let Some(&side) = sides.get(devices.len()) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let received = recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        if received.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                for fd in fds {
                    devices.push(Device::new(fd, side)?);
                }
            }
        }
    }
    Ok(devices)
}
