//! Datagrams, the access by which they are sent, and their fate.

use units::Time;

/// A datagram that a terminal is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The caller's number of the datagram, returned in [`Output`].
    pub id: u32,
    /// The terminal, from 0.
    pub terminal: u32,
    /// The size in bytes.
    pub bytes: u32,
}

/// The access by which a datagram is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By random access.
    Random,
    /// In granted slots.
    Dedicated,
}

/// Why a datagram is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A part of it was not decoded, because of other bursts in its slots.
    Collision,
    /// The terminal's queue was full.
    Overflow,
}

/// The fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Its last part leaves the terminal at `at`, which may be some slots later, and the datagram will be decoded.
    Sent {
        /// The datagram's number.
        id: u32,
        /// When the datagram's last part leaves the terminal.
        at: Time,
        /// The access, random or dedicated, by which the datagram was sent.
        access: Access,
    },
    /// It is dropped.
    Dropped {
        /// The datagram's number.
        id: u32,
        /// The reason.
        reason: DropReason,
        /// The access by which it was sent; `None` if it was not.
        access: Option<Access>,
    },
}
