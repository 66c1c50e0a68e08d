//! The emulator: real packets travel through a simulated world in real time.
//!
//! A real node of a world has an [`End`](drive::End): a file descriptor of whole IP packets, such
//! as a TUN device, or of Ethernet frames of an interface. [`Drive`](drive::Drive) waits for
//! packets and deadlines of the world, and keeps virtual time equal to `CLOCK_MONOTONIC`.
//! [`packet`] describes a packet to the world, [`offload`] divides segments that a kernel leaves to
//! its network card, and [`meter`] measures lateness. [`log`] records the packets that enter, with
//! which [`replay()`] repeats the run in virtual time.
//!
//! [`traffic`] runs flows of a scenario on the kernel's own sockets inside those nodes;
//! [`agreement`] compares their outcomes with the simulator's.
//!
//! [`emulation`] combines these into a run: namespaces of a scenario's real nodes, programs in
//! them, and a run directory. [`report`] prints its outcome as JSON and in words.
//!
//! The emulator has no model of its own: contention, queues and links are those of `fairwave-sim`.
//! It needs privileges for namespaces and devices, and refuses what the machine cannot carry in
//! real time. Nodes are known by their addresses, which follow from their numbers:
//!
//! ```
//! use fairwave_emulator::address;
//! use fairwave_trace::NodeId;
//!
//! let station = NodeId(3);
//! assert_eq!(address::node(address::v4(station).into()), Some(station));
//! assert_eq!(address::node(address::v6(station).into()), Some(station));
//! assert!(address::is_multicast("224.0.0.251".parse()?));
//! # Ok::<(), std::net::AddrParseError>(())
//! ```
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
