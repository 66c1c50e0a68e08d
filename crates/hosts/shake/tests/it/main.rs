//! Hosts over sockets of the kernel.
#![cfg(target_os = "linux")]

mod common;
mod ends;
mod insider;
mod neighbour;
