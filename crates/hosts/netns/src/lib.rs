//! The Linux side of emulation: nodes that are network namespaces, each with a TUN device `fw0`,
//! and programs in them. Nothing here knows of simulation.
//!
//! ```no_run
//! use fairwave_netns::{Invocation, Namespaces, NodePlan, Plan, Prefix, ProgramPlan};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! fairwave_netns::become_root_inside()?; // first of all, while there is one thread
//! let mut node = NodePlan::new("sta1");
//! node.addresses = vec![Prefix::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 8)];
//! let plan = Plan { nodes: vec![node], ..Plan::default() };
//! let namespaces = Namespaces::build(&plan)?;
//! let program = namespaces.spawn(
//!     0,
//!     ProgramPlan {
//!         invocation: Invocation::Shell("ping -c 1 10.0.0.2".to_owned()),
//!         output: std::fs::File::create("sta1.log")?,
//!         environment: Vec::new(),
//!         directory: None,
//!     },
//! )?;
//! let mut packet = [0; 65536];
//! let length = namespaces.tun(0).receive(&mut packet)?;
//! # Ok(()) }
//! ```
//!
//! Nothing has a name or a file, so nothing can leak. A node is a thread that has moved into
//! namespaces of its own: network, mounts and host name. Its descriptors belong to the node, and
//! programs that it starts inherit the namespaces. When thread, programs and sockets are gone, so
//! is the node. All programs share one PID namespace, whose init is the [`keeper`].
//!
//! Inside, `/etc/hosts` names all nodes; `/proc` shows the programs of the run and `/sys/class/net`
//! the interfaces of the node, where the machine allows. The kernel sends nothing of its own
//! accord: no router solicitations, no duplicate address detection, no link-local addresses.
//!
//! A user without privileges calls [`become_root_inside`] first. [`support`] names the missing
//! parts.
#![cfg(target_os = "linux")]

pub mod between;
mod hosts;
mod mptcp;
mod namespaces;
mod node;
mod plan;
mod program;
mod support;
mod tun;
mod uplink;

pub use fairwave_linux::{Error, Lack, Missing, VNET_HEADER_LENGTH, keeper, set_own_program};
pub use namespaces::Namespaces;
pub use node::Dropped;
pub use plan::{KeeperCommand, LinkState, NodePlan, Offload, Plan, Prefix, Route, UplinkPlan};
pub use program::{Invocation, Program, ProgramPlan};
pub use support::{Standing, become_root_inside, is_administrator, support};
pub use tun::{DEVICE, Tun};
pub use uplink::lack_of_ipv6;
