//! What the users of a thread share: working memory, which is free between two calls, and the last phase of the direct
//! ray.

use std::cell::{Cell, RefCell};

use super::fft::Complexes;
use crate::elementary::sine_and_cosine_after;

/// The sine and cosine of the direct ray's phase, after some turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phasor {
    pub(super) sin: f32,
    pub(super) cos: f32,
}

impl Phasor {
    pub(crate) fn after(turns: f64) -> Phasor {
        let (sin, cos) = sine_and_cosine_after(turns);
        Phasor { sin, cos }
    }
}

thread_local! {
    static SPACE: RefCell<[Complexes; 3]> = const { RefCell::new([Complexes::NONE; 3]) };
    /// Turns, and the phase after them. It stands apart from `SPACE`, because a value without a destructor is read
    /// without a check.
    static LAST: Cell<(f64, Phasor)> = const { Cell::new((0.0, Phasor { sin: 0.0, cos: 1.0 })) };
}

/// Lends complex numbers, as many as the caller makes them, of any content.
pub(super) fn with_space<T>(work: impl FnOnce(&mut [Complexes; 3]) -> T) -> T {
    SPACE.with(|space| work(&mut space.borrow_mut()))
}

/// As [`Phasor::after`]: users mostly move alike and are asked one after the other at an instant, so it was often
/// computed just before.
#[inline(always)]
pub(super) fn phasor(turns: f64) -> Phasor {
    LAST.with(|last| {
        let (known, phasor) = last.get();
        if known == turns { phasor } else { another(turns, last) }
    })
}

#[inline(never)]
fn another(turns: f64, last: &Cell<(f64, Phasor)>) -> Phasor {
    let phasor = Phasor::after(turns);
    last.set((turns, phasor));
    phasor
}
