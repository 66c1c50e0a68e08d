//! The two ends of a flow and the application behind each.
//!
//! [`state`] holds the flow as the engine sees it: it starts and stops the application and lends
//! the transport the common parts of flows. [`transport`] defines the trait that every transport
//! implements, [`description`] the trait by which the world describes one, and [`transports`] lists
//! them all, with a file for each. The other modules help several transports. No module imports
//! from its parent.

mod backlog;
mod carried;
mod delays;
mod delivery;
mod departures;
mod description;
mod ends;
mod feed;
mod ports;
mod reception;
pub(crate) mod screen;
mod state;
mod transport;
pub(crate) mod transports;

pub use delays::Delays;
pub use delivery::Delivery;
pub use departures::Departures;
pub(crate) use description::Description;
pub(crate) use ends::End;
pub use ports::ports;
pub use reception::Reception;
pub(crate) use state::FlowState;
pub(crate) use transport::Notice;
pub(crate) use transports::controller;
