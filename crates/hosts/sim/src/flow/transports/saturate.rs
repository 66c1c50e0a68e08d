//! A flow of UDP datagrams that keeps its source's interface busy.

use super::datagrams::Datagrams;
use crate::flow::description::{Description, Setup};
use crate::flow::transport::Transport;

/// UDP datagrams as fast as the source's interface takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturateFlow {
    /// UDP payload of each, in bytes.
    pub payload_bytes: u32,
}

impl Description for SaturateFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        let datagrams = match setup.paced {
            Some(source) => Datagrams::timed(source, setup),
            None => Datagrams::saturating(self.payload_bytes, setup),
        };
        Box::new(datagrams)
    }

    fn payload_bytes(&self) -> u32 {
        self.payload_bytes
    }

    fn saturates(&self) -> Option<u32> {
        Some(self.payload_bytes)
    }
}
