//! Emulations: scenarios with real nodes, in which programs run, and their run directories.
//!
//! [`run`] builds a namespace for each real node of a scenario, and drives the scenario's world in
//! real time with the packets of those namespaces. It starts and ends programs, and writes a run
//! directory as a simulation does, together with the lateness of the emulator.

mod bridge;
mod control;
mod drops;
mod fit;
mod flows;
mod inert;
mod links;
mod live;
pub mod live_view;
pub mod matrix;
mod options;
mod plan;
mod programs;
mod proxies;
mod replay;
mod run;
mod summary;
mod timely;
mod windows;

pub use crate::agreement::{Agreement, Difference, Disagreement, Figures, Row, Tolerance};
pub use crate::drive::Turn;
pub use bridge::Between;
pub use control::{SOCKET, ask};
pub(crate) use fit::{NO_MPTCP, has_mptcp};
pub use fit::{absent, available_congestion_controls, kernel_release, misfit};
pub(crate) use inert::settings as inert_settings;
pub use live::{Live, Newest, NodeState, State};
pub use options::{ProgramOption, Uplink, add_programs, check_shell, check_uplinks};
pub use programs::{LOGS, log_name};
pub use replay::{Repeated, Replay, replay};
pub use run::{Emulated, Error, RECORD, Request, run};
pub use timely::{Manner, Timely, TimelyError, completed, late, timely};
pub use windows::{NoWindows, Windows, check_windows};
