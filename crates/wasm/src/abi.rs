//! The C interface of [`Host`]. A page (one thread) makes a host, asks for room for a request, writes it there, calls,
//! and reads the answer; no pointer is used after the next call with its host.
//!
//! The only unsafe code of the crate: the page hands back a pointer that it was given.
#![allow(unsafe_code, reason = "a C interface: names that others link to, and pointers that they hand back")]

use crate::Host;

/// A new host, until [`host_drop`].
#[unsafe(no_mangle)]
pub extern "C" fn host_new() -> *mut Host {
    Box::into_raw(Box::default())
}

/// Ends a host.
///
/// # Safety
/// `host` is of [`host_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_drop(host: *mut Host) {
    // SAFETY: it was a box.
    drop(unsafe { Box::from_raw(host) });
}

/// Room for a request of `len` bytes.
///
/// # Safety
/// `host` is of [`host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_room(host: *mut Host, len: usize) -> *mut u8 {
    // SAFETY: it is a host, and nothing else refers to it.
    unsafe { &mut *host }.room(len).as_mut_ptr()
}

/// Answers the request in the host's room, whose first `head` bytes are its JSON: 0, or 1 where it is refused.
///
/// # Safety
/// `host` is of [`host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_call(host: *mut Host, head: usize) -> u32 {
    // SAFETY: it is a host, and nothing else refers to it.
    u32::from(!unsafe { &mut *host }.call(head))
}

/// The answer to the last call.
///
/// # Safety
/// `host` is of [`host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_answer(host: *const Host) -> *const u8 {
    // SAFETY: it is a host, and nobody changes it.
    unsafe { &*host }.answer().as_ptr()
}

/// The bytes of that answer.
///
/// # Safety
/// `host` is of [`host_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_answer_len(host: *const Host) -> usize {
    // SAFETY: it is a host, and nobody changes it.
    unsafe { &*host }.answer().len()
}
