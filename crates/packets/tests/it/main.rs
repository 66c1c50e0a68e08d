//! The conformance scripts of `crates/tcp`, in virtual time.

mod conformance;
