//! The door to the Linux kernel: system calls, netlink, traffic control, radios, privileges, clock.
//!
//! [`kernel`] has the system calls that no crate offers in a safe form. [`Shaper`] shares an
//! interface by weights of HTB or HFSC classes, [`Egress`] leads what leaves an interface through
//! this program, and [`Ingress`] has frames arrive there. [`Interception`] leads connections to a
//! transparent proxy. The [`keeper`], a process of its own that outlives this one, undoes what they
//! change. [`radio`] asks nl80211 and hostapd, [`EtherSocket`] exchanges frames of one EtherType,
//! [`congestion`] selects algorithms of TCP sockets, [`clock`] reads the monotonic clock.
//!
//! ```
//! use fairwave_linux::clock::Clock;
//!
//! let clock = Clock::start();
//! let before = clock.now();
//! assert!(clock.now() >= before, "the monotonic clock does not go back");
//! ```
#![cfg(target_os = "linux")]

pub mod arrival;
mod changes;
mod classify;
pub mod clock;
mod clsact;
pub mod congestion;
mod dump;
mod egress;
pub mod error;
mod ether;
mod forwarding;
mod ingress;
mod intercept;
pub mod keeper;
pub mod kernel;
mod leaf;
mod limits;
pub mod mounts;
pub mod netlink;
mod place;
mod plan;
mod presence;
mod privileges;
pub mod radio;
pub mod random;
pub mod realtime;
mod relayed;
mod replace;
mod requested;
mod shaper;
mod silence;
mod tc;
pub mod tcp_info;
pub mod terminal;
pub mod tools;
pub mod undo;
pub mod virtio;
mod way;

pub use changes::Changes;
pub use classify::Traffic;
pub use clock::Clock;
pub use egress::{Egress, Pieces, egress_obstacle, may_lead_egress};
pub use error::{Error, Lack, Missing};
pub use ether::{EtherSocket, link_address};
pub use forwarding::Forwarding;
pub use ingress::Ingress;
pub use intercept::{Interception, InterceptionPlan, any_addresses, has_ipv6, listen_transparent};
pub use keeper::Watchdog;
pub use leaf::Leaf;
pub use limits::allow_open_files;
pub use plan::{COMMAND, KeeperCommand, Prefix, set_own_program};
pub use presence::Presence;
pub use privileges::{Capability, become_ordinary_user, is_trusted, peer_user};
pub use realtime::{OwnProcessor, Processors, become_realtime, may_become_realtime};
pub use relayed::{keep_on_close, prepare_relayed, reset_on_close};
pub use replace::foreign_qdisc;
pub use shaper::{ClassCount, Foreign, Shapeable, Shaper, ShaperPlan, max_stations, shapeable};
pub use silence::Silence;
pub use tc::Discipline;
pub use virtio::VNET_HEADER_LENGTH;
pub use way::Way;
