//! Runs that the tests interrupt, kill and audit. Not for users.
//!
//! `netns-run TASK [ARGUMENT]` prints its observations and exits with 0 where all is as it should
//! be.

#[cfg(target_os = "linux")]
mod tasks;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    tasks::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
