//! A two-ended test line: under construction.
