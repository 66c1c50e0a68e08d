//! Real packets through worlds, without a kernel's devices: ends are socket pairs, and flows on
//! sockets use the loopback interface.

mod allocation;
mod common;
mod dccp;
mod drive;
mod multipath;
mod record;
mod shared;
mod traffic;
