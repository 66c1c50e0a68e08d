//! 802.11 PHY tables, error models and the distributed coordination function.
//!
//! [`channel::Channel`] is one sans-IO machine for everything on one radio channel; [`Phy`]
//! holds the standard's numbers, [`success`] and [`path_loss`] the physics.

pub mod channel;
mod error_model;
mod phy;
mod propagation;

pub use error_model::success;
pub use phy::{
    ACK_BYTES, BEACON_BYTES, DATA_OVERHEAD_BYTES, Modulation, Phy, Preamble, RTS_BYTES, Standard,
};
pub use propagation::{noise, path_loss};
