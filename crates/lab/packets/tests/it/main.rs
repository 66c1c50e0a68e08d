//! The conformance scripts of `crates/protocols/tcp`, in virtual time.

mod conformance;
