//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod categories;
mod channel;
mod common;
mod contents;
mod converters;
mod dccp;
mod ecn;
mod golden;
mod handovers;
mod laws;
mod monitors;
mod multi_tcp;
mod outside;
mod probe;
mod properties;
mod proxies;
mod queues;
mod rtc;
mod services;
mod shake;
mod soc;
mod sources;
mod under_way;
mod validation;
mod video;
mod ways;
