//! Reports of emulations and matrices: values for JSON, text for a terminal, and warnings.

mod agreement;
mod emulation;
mod matrix;
mod real_time;

pub use emulation::{EmulateOutput, Fault, no_realtime, text, warnings};
pub use matrix::{MatrixOutput, ahead};
