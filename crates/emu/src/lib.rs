//! The real-time host: real packets travel through a simulated world, by the wall clock.
//!
//! A real node of a world is an end: a file descriptor that gives and takes whole IP packets, such
//! as a TUN device. Virtual time is the time of `CLOCK_MONOTONIC` since the start.
#![cfg(target_os = "linux")]

pub mod clock;
