//! The integration tests of this crate, in one binary: each further binary would have to be linked.

mod capture;
#[cfg(all(target_os = "linux", feature = "kernel-cc"))]
mod cc;
mod common;
#[cfg(target_os = "linux")]
mod dccp;
mod determinism;
mod edges;
#[cfg(target_os = "linux")]
mod emulate;
mod emulate_control;
mod exit_codes;
mod fairness;
mod figures;
mod maps;
#[cfg(target_os = "linux")]
mod matrix;
mod output;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod peers;
mod places;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
#[path = "../../../lab/scenario/tests/it/python.rs"]
mod python;
mod readme;
mod real;
mod real_traffic;
mod repairs;
mod schemas;
#[cfg(target_os = "linux")]
mod serving;
#[cfg(target_os = "linux")]
mod shake;
#[cfg(target_os = "linux")]
mod share;
#[cfg(unix)]
mod show;
mod signals;
mod soc;
mod store;
mod sweeps;
#[cfg(target_os = "linux")]
mod systemd;
mod trace;
mod trace_captures;
mod trace_golden;
mod tutorial;
mod views;
mod warnings;
#[cfg(target_os = "linux")]
mod web;
mod wireshark;
