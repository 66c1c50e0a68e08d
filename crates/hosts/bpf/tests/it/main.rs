//! Tests of the algorithms in the kernel and of what loads them.
#![cfg(target_os = "linux")]

mod differential;
mod echo;
mod objects;
