//! What the users of a thread share: working memory, which is free between two calls, and the last phase of the direct
//! ray.

use std::cell::{Cell, RefCell};
use std::f64::consts::PI;

use super::fft::Complexes;

/// The sine and cosine of the direct ray's phase, after some turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phasor {
    pub(super) sin: f32,
    pub(super) cos: f32,
}

impl Phasor {
    pub(crate) fn after(turns: f64) -> Phasor {
        // Turns are not negative: cutting them off is their floor, without a call.
        let (sin, cos) = libm::sincos(2.0 * PI * (turns - turns as u64 as f64));
        Phasor { sin: sin as f32, cos: cos as f32 }
    }
}

struct Shared {
    space: RefCell<[Complexes; 3]>,
    /// Turns, and the phase after them.
    last: Cell<(f64, Phasor)>,
}

thread_local! {
    static SHARED: Shared = const {
        Shared {
            space: RefCell::new([Complexes::NONE; 3]),
            last: Cell::new((0.0, Phasor { sin: 0.0, cos: 1.0 })),
        }
    };
}

/// Lends complex numbers, as many as the caller makes them, of any content.
pub(super) fn with_space<T>(work: impl FnOnce(&mut [Complexes; 3]) -> T) -> T {
    SHARED.with(|shared| work(&mut shared.space.borrow_mut()))
}

/// As [`Phasor::after`]: users mostly move alike and are asked one after the other at an instant, so it was often
/// computed just before.
#[inline(always)]
pub(super) fn phasor(turns: f64) -> Phasor {
    SHARED.with(|shared| {
        let (known, phasor) = shared.last.get();
        if known == turns { phasor } else { another(turns, &shared.last) }
    })
}

#[inline(never)]
fn another(turns: f64, last: &Cell<(f64, Phasor)>) -> Phasor {
    let phasor = Phasor::after(turns);
    last.set((turns, phasor));
    phasor
}
