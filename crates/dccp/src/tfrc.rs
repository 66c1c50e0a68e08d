//! TCP Friendly Rate Control (RFC 5348): a rate as smooth as an application may wish, and over
//! seconds as much as a TCP connection would take.
//!
//! [`equation`] says what TCP would take at a loss event rate and a round-trip time.

pub mod equation;
