//! Functions that JavaScript calls, with bytes in the memory of the module.
//!
//! JavaScript asks for room by `fairwave_input`, writes a request as JSON there, and calls
//! `fairwave_plan`, `fairwave_run` or `fairwave_means`. The answer lies at `fairwave_output`. After
//! a run, `fairwave_file` puts the file with a number, in the order of the answer's `files`, in its
//! place. The import `fairwave.progress` gets the finished fraction of a run; the run goes on while
//! it returns a number other than 0.

#![expect(unsafe_code, reason = "exported names and imports are unsafe; no pointer is followed")]

use fairwave_lab::results::take_files;
use fairwave_show::laboratory;
use std::cell::RefCell;
use std::path::Path;

/// Directory of a run, in memory.
const PLACE: &str = "run";

/// Input, output and files between two calls.
#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    files: Vec<Vec<u8>>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

#[link(wasm_import_module = "fairwave")]
unsafe extern "C" {
    safe fn progress(fraction: f64) -> i32;
}

/// Makes room for a request of this many bytes. Returns its place.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_input(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(bytes, 0);
        state.input.as_mut_ptr()
    })
}

/// Reads the scenario of the request. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_plan() -> usize {
    STATE.with_borrow_mut(|state| {
        state.output = laboratory::plan(&state.input);
        state.output.len()
    })
}

/// Makes the run of the request. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_run() -> usize {
    let input = STATE.with_borrow_mut(|state| std::mem::take(&mut state.input));
    let place = Path::new(PLACE);
    let output = laboratory::run(&input, place, &mut |fraction| progress(fraction) != 0);
    let files = take_files(place).into_values().collect();
    STATE.with_borrow_mut(|state| {
        *state = State { input: Vec::new(), output, files };
        state.output.len()
    })
}

/// Computes the means over the runs of the request. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_means() -> usize {
    STATE.with_borrow_mut(|state| {
        state.output = laboratory::means(&state.input);
        state.output.len()
    })
}

/// Makes the file with this number the output, and returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_file(number: usize) -> usize {
    STATE.with_borrow_mut(|state| {
        state.output = state.files.get_mut(number).map(std::mem::take).unwrap_or_default();
        state.output.len()
    })
}

/// Place of the output.
#[unsafe(no_mangle)]
pub extern "C" fn fairwave_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}
