//! Messages of SHAKE over UDP, one connection over several paths: Fairwave's own format
//! (`docs/models/shake.md` has it byte by byte).
//!
//! The system is of Iida, Ishihara and Mizuno (TCP SHAKE); they simulate it and give no format. A
//! message is a head of 28 bytes, a body by kind, for data the payload, and a [seal](crate::seal)
//! over all of it. Every message has a number that its sender gives once per path and direction, so
//! that a receiver that keeps the numbers refuses replays. The two directions differ in a bit under
//! the seal, so that a message cannot be reflected to its sender.

mod blocks;
mod codec;
mod message;
pub mod record;
#[cfg(test)]
mod tests;

pub use crate::message::Error;
pub use blocks::{Block, Blocks, MAX_BLOCKS};
pub use codec::{parse, parse_unsealed};
pub use message::{
    Ack, Body, Challenge, Claim, DATA_OVERHEAD, Data, Echo, HEAD_LEN, Header, Join, Leave, MAGIC,
    MAX_LEN, Reason, SEQ_LIMIT, Side, VERSION, connection_key,
};
