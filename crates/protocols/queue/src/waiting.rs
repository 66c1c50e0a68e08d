//! Packets that know since when they have waited.

use crate::{FlowKey, Item, Segment};
use fairwave_units::Instant;

/// A packet, and since when it has waited.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) item: T,
    pub(crate) since: Instant,
}

impl<T: Item> Item for Waiting<T> {
    fn bytes(&self) -> u32 {
        self.item.bytes()
    }

    fn receiver(&self) -> u32 {
        self.item.receiver()
    }

    fn flow(&self) -> FlowKey {
        self.item.flow()
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        self.item.tcp()
    }

    fn clamp_window(&mut self, max: u16) {
        self.item.clamp_window(max);
    }

    fn mark_ce(&mut self) -> bool {
        self.item.mark_ce()
    }
}
