//! The Datagram Congestion Control Protocol (RFC 4340): datagrams with congestion control.
//!
//! [`tfrc`] is the rate control of CCID 3 and 4, usable without a connection.

pub mod ccid;
pub mod tfrc;
