//! What the users of a thread share: working memory, which is free between two calls.

use std::cell::RefCell;
use std::f64::consts::PI;

use super::fft::Complexes;

/// Of the direct ray, after some turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(super) sin: f64,
    pub(super) cos: f64,
}

impl Direction {
    pub(crate) fn after(turns: f64) -> Direction {
        // Turns are not negative: cutting them off is their floor, without a call.
        let (sin, cos) = libm::sincos(2.0 * PI * (turns - turns as u64 as f64));
        Direction { sin, cos }
    }
}

struct Shared {
    spectra: (Complexes, Complexes),
    /// Turns, and the direction after them.
    last: (f64, Direction),
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::new(Shared {
        spectra: (Complexes::zeros(0), Complexes::zeros(0)),
        last: (0.0, Direction::after(0.0)),
    });
}

/// Lends two spectra of any size and content.
pub(super) fn with_spectra<T>(work: impl FnOnce(&mut (Complexes, Complexes)) -> T) -> T {
    SHARED.with_borrow_mut(|shared| work(&mut shared.spectra))
}

/// As [`Direction::after`]: users mostly move alike and are asked one after the other at an instant, so it was often
/// computed just before.
#[inline]
pub(super) fn direction(turns: f64) -> Direction {
    SHARED.with_borrow_mut(|Shared { last, .. }| {
        if last.0 != turns {
            *last = (turns, Direction::after(turns));
        }
        last.1
    })
}
