//! The emulator: real packets travel through a simulated world, by the wall clock.
//!
//! A real node of a world is an [`End`](drive::End): a file descriptor that gives and takes whole
//! IP packets, such as a TUN device, or whole Ethernet frames of an interface.
//! [`Drive`](drive::Drive) waits until a packet or a deadline of
//! the world is there, and puts virtual time where `CLOCK_MONOTONIC` is. [`packet`] says what the
//! world sees of a packet, [`offload`] cuts what a kernel leaves to its network card, [`meter`]
//! measures how late everything was, and [`log`] keeps what went in, so that [`replay()`] can give
//! the same run again in virtual time.
//!
//! [`traffic`] runs flows of a scenario on the kernel's own sockets, inside those nodes;
//! [`agreement`] sets what they come to beside the simulator's.
//!
//! [`emulation`] makes a whole run of it: namespaces of a scenario's real nodes, programs in them,
//! and a run directory. [`report`] has the JSON and the words about it.
#![cfg(target_os = "linux")]

pub mod address;
pub mod agreement;
pub mod drive;
pub mod emulation;
mod entrance;
mod frame;
mod icmp;
pub mod log;
pub mod machine;
pub mod meter;
pub mod offload;
pub mod packet;
mod replay;
pub mod report;
mod slab;
pub mod traffic;

pub use replay::{Error as ReplayError, Replayed, replay};
