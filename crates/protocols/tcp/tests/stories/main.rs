//! Packet scripts: one end of a connection against a peer that the test plays by hand.
//!
//! Segments are numbered from zero and 1000 bytes long, so that windows read as segments.

mod bursts;
mod closing;
mod corners;
mod ecn;
mod eifel;
mod frto;
mod opening;
mod prr;
mod rack;
mod receiving;
mod recovery;
mod sack;
mod script;
mod timers;
mod timestamps;
