//! Packet queues: their limits, what they drop, and who is served next.
//!
//! A [`Discipline`] holds items that describe themselves ([`Item`]). It knows neither a clock nor
//! a link: the host says what time it is, and takes an item whenever it can send one. A queue may
//! drop any item it holds, at any call; what it dropped comes out of [`Discipline::dropped`].
//! [`Spec`] says which discipline with which parameters.

mod discipline;
mod drop_tail;
mod fifo;
mod item;
mod slab;
mod spec;
#[cfg(test)]
mod testing;

pub use discipline::Discipline;
pub use drop_tail::DropTail;
pub use item::{FlowKey, Item, Segment};
pub use spec::{Limit, Spec};
