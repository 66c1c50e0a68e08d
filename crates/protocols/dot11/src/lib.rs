//! 802.11 PHY tables, error models and the distributed coordination function.
//!
//! [`channel::Channel`] is one sans-IO machine for everything on one radio channel; [`Phy`]
//! holds the standard's numbers, [`success`] and [`path_loss`] the physics.
//!
//! ```
//! use fairwave_dot11::{noise, path_loss};
//! use fairwave_units::{Db, Dbm, Hertz, Metres};
//!
//! let loss = path_loss(Hertz(5_180_000_000), 3.0, Metres(20.0));
//! let noise = noise(Hertz(20_000_000), Db(7.0));
//! let snr = 20.0 - loss.0 - noise.0;
//! assert!((27.0..29.0).contains(&snr), "20 dBm over 20 m: {snr} dB");
//! # let _: Dbm = noise;
//! ```

mod capabilities;
pub mod channel;
mod edca;
mod error_model;
mod fading;
mod gilbert_elliott;
mod mobility;
mod phy;
mod propagation;
pub mod rate_control;
mod shadowing;
mod snr_trace;

pub use capabilities::{Capabilities, TooMuch};
pub use edca::{AccessCategory, Aggregation, BlockAckRequest, Edca};
pub use error_model::{DeliverySlope, psk_success, success, table_success};
pub use fading::{Fading, FadingLink};
pub use gilbert_elliott::{BurstLink, GilbertElliott};
pub use mobility::{Path, WayPoint};
pub use phy::{
    ACK_BYTES, BEACON_BYTES, BLOCK_ACK_256_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_REQ_BYTES, Band,
    DATA_OVERHEAD_BYTES, Format, GuardInterval, InvalidMode, Mode, Modulation, Phy, Preamble,
    QOS_BYTES, RTS_BYTES, Standard, Width,
};
pub use propagation::{noise, path_loss};
pub use shadowing::{Shadowing, ShadowingLink};
pub use snr_trace::{BadTrace, Interpolation, SnrTrace};
