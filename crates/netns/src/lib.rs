//! Skeleton.
#![cfg(target_os = "linux")]

pub mod between;
mod error;
pub mod keeper;
mod namespaces;
mod plan;
mod program;
mod support;
mod tun;

pub use error::Error;
pub use namespaces::Namespaces;
pub use plan::{KeeperCommand, NodePlan, Offload, Plan, Prefix, Route, UplinkPlan};
pub use program::{Invocation, Program, ProgramPlan};
pub use support::{Lack, Missing, Standing, become_root_inside, support};
pub use tun::{Tun, VNET_HEADER_LENGTH};
