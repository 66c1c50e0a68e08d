//! Tests that need what the crate keeps to itself.

mod acks;
mod codel;
mod fairness;
mod fluid;
mod hfsc;
mod links;
mod properties;
mod switching;
mod weights;
