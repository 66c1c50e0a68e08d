//! The GIL around many callbacks of a run.
//!
//! A thread that takes and releases the GIL for each callback makes Python's state of the thread
//! anew each time, and wakes the threads that wait for the GIL, which then find it taken again.

use pyo3::prelude::*;
use std::cell::Cell;

/// Callbacks in a part of a run, of 16,384 events, from which on the next part keeps the GIL. With
/// fewer, the simulator takes most of the time, and other threads need not wait for it.
const MIN_CALLBACKS: u32 = 512;

thread_local! {
    /// Callbacks on this thread.
    static CALLBACKS: Cell<u32> = const { Cell::new(0) };
    /// Whether the last part of a run on this thread had many.
    static HAD_MANY: Cell<bool> = const { Cell::new(false) };
}

/// Counts a callback.
pub(super) fn count() {
    CALLBACKS.set(CALLBACKS.get().wrapping_add(1));
}

/// Simulates a part of a run, with the GIL if that has many callbacks. Other threads take turns: in
/// callbacks Python gives the GIL to them after its switch interval, and between parts it is free.
pub(super) fn around(part: &mut dyn FnMut()) {
    let before = CALLBACKS.get();
    match HAD_MANY.get() {
        true => Python::attach(|_| part()),
        false => part(),
    }
    HAD_MANY.set(CALLBACKS.get().wrapping_sub(before) >= MIN_CALLBACKS);
}
