//! Bytes to values and back. A value that exists is legal, and can be written.
//!
//! Each format is a module with a plain value type, a `parse` that takes hostile bytes, and a
//! `write` into a growing buffer. Nothing here keeps state or allocates beyond the buffer.

pub mod datagram;
pub mod tcp;
