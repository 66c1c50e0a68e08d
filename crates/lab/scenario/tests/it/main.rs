//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod corpus;
mod foreign;
mod inert;
mod python;
mod resolved;
mod scenario;
mod scenario_air;
mod scenario_errors;
mod scenario_multi;
mod scenario_shake;
mod scenario_soc;
