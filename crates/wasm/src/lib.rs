//! The module `fairwave.wasm`: scenarios are checked, planned and run in a browser or in Node.
//!
//! A request and its answer are JSON (`fairwave_show::laboratory`); the files of a run are bytes,
//! the same as in a run directory of the command. Files are in memory: the module has no file
//! system, no clock and no network. On other targets the crate is empty.

#[cfg(target_arch = "wasm32")]
mod exports;
