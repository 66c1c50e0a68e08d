//! 802.11 PHY tables, error models and the distributed coordination function.

mod phy;

pub use phy::{Phy, Preamble, Standard};
