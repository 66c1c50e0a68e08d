//! Congestion control algorithms in the Linux kernel: eBPF programs (`bpf/`, built into
//! `objects/`), and functions that load, watch and unload them.
//!
//! ```no_run
//! use fairwave_bpf::{Life, Store, find, load, unload};
//! # fn main() -> Result<(), fairwave_bpf::Error> {
//! let store = Store::ready(None)?;
//! let algorithm = find("fw_ackloss_reno")?;
//! load(&store, algorithm, Life::Pinned)?; // now sockets may ask for it by TCP_CONGESTION
//! unload(&store, algorithm)?;
//! # Ok(()) }
//! ```
//!
//! An algorithm is a `struct_ops` map of the type `tcp_congestion_ops`. It stays registered while
//! its link exists, which is pinned in the BPF file system or held by a process. The arithmetic is
//! that of `fairwave-cc`; a test runs both with the same events. The offsets of fields in the
//! kernel's structures are resolved when programs are loaded (CO-RE), so that one object serves
//! Linux 6.1 and later.
#![cfg(target_os = "linux")]

mod algorithms;
pub mod bench;
mod error;
mod events;
mod fields;
mod inventory;
mod kernel;
mod load;
mod object;
mod pins;
mod registered;
mod status;
mod store;
mod target;
mod trace;
mod unpinned;

pub use algorithms::{ALGORITHMS, Algorithm, find};
pub use error::Error;
pub use events::{Happened, Listener, ReportedEvent};
pub use inventory::{Listed, list, objects};
pub use load::{Held, Life, load, unload};
pub use registered::registered;
pub use status::{Connection, Totals, Watcher, totals};
pub use store::Store;
pub use target::{Aims, Owner, Target, clear_target, set_target, targets};
pub use trace::{Event, Phase, Tracer, Wanted};
