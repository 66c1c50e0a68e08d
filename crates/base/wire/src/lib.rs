//! Bytes to values and back. A value that exists is legal, and can be written; where a type cannot
//! promise that (the sum of TCP options, a payload's length), `write` refuses.
//!
//! Each format is a module with a plain value type, a `parse` that takes hostile bytes, and a
//! `write` into a growing buffer. Nothing here keeps state or allocates beyond the buffer.
//!
//! `parse` returns the value and the bytes after it: the payload of a header, trimmed to the length
//! that the header states. An error names the field and its offset from where `parse` began. A
//! `write` that fails leaves the buffer as it was.
//!
//! ```
//! use fairwave_wire::pseudo::Pseudo;
//! use fairwave_wire::udp::{self, Header};
//!
//! let pseudo = Pseudo::between("10.0.0.1".parse()?, "10.0.0.2".parse()?).expect("one family");
//! let header = Header { source_port: 4000, destination_port: 53 };
//! let mut bytes = Vec::new();
//! header.write(&mut bytes, pseudo, b"query")?;
//! bytes.extend(b"query");
//! assert_eq!(udp::parse(&bytes, pseudo)?, (header, &b"query"[..]));
//!
//! bytes[9] ^= 1;
//! assert!(udp::parse(&bytes, pseudo).is_err(), "a damaged datagram is no value");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod checksum;
mod reader;

pub mod capture;
pub mod cluster;
pub mod datagram;
pub mod dccp;
pub mod dot11;
pub mod ethernet;
pub mod fairness;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod link;
pub mod message;
pub mod multi;
pub mod patch;
pub mod pcapng;
pub mod probe;
pub mod pseudo;
pub mod radiotap;
pub mod rtp;
pub mod seal;
pub mod shake;
pub mod soc;
pub mod tcp;
pub mod tunnel;
pub mod udp;

#[cfg(test)]
mod testing;

pub use reader::Truncated;
