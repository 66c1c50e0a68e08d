//! Items for tests.

use crate::{FlowKey, Item, Segment};
use fairwave_wire::tcp;

/// A packet as a test wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) id: u64,
    pub(crate) bytes: u32,
    pub(crate) receiver: u32,
    /// Stands for all of the key.
    pub(crate) flow: u16,
    pub(crate) tcp: Option<(tcp::Header, u32)>,
    pub(crate) ecn: bool,
    pub(crate) marked: bool,
}

impl Item for Thing {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        FlowKey { source_port: self.flow, destination_port: 80, ..FlowKey::default() }
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        self.tcp.as_ref().map(|(header, len)| Segment { header, payload_len: *len })
    }

    fn clamp_window(&mut self, most: u16) {
        if let Some((header, _)) = &mut self.tcp {
            header.window = header.window.min(most);
        }
    }

    fn mark_ce(&mut self) -> bool {
        self.marked |= self.ecn;
        self.ecn
    }
}
