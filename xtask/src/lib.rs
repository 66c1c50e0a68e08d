//! Parts of the developers' tasks that the drivers in `benches` need too: running programs, the
//! workspace, packages of the system, and pages of studies.
//!
//! They are a library so that `cargo xtask test` compiles none of the drivers, and no helper stands
//! twice.

#![expect(clippy::print_stdout, reason = "a developer's tool speaks to a terminal")]

pub mod compare;
pub mod drivers;
pub mod pages;
pub mod shell;
pub mod system;
pub mod workspace;
