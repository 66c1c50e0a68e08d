//! One door for developers: `cargo xtask <verb>`.
//!
//! `test` is what CI runs, so a green run here is a green run there. The rules of the house that
//! no compiler checks stand in `tidy`, as ordinary tests.

#![expect(clippy::print_stdout, reason = "a developer's tool speaks to a terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "steps are timed by the wall clock; nothing here is part of a simulation"
)]

mod captures;
