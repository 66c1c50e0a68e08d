//! Reports of comparisons: values for JSON, and text for a terminal.
//!
//! Every JSON value is a type, from which its schema is derived ([`crate::schema`]).

pub mod compare;
