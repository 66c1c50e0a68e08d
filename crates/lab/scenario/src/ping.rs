//! Flows of ping: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::keys::keys;
use crate::kinds::{size, within};
use crate::limits::{HOUR, MICROSECOND};
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::Duration;

keys! {
    /// Echo requests of `from`, which `to` answers. Round-trip times and losses are in the flow's
    /// summary.
    pub struct Ping [Copy, Eq] |r| {
        /// UDP payload of each request and of each reply.
        payload: u32 = size(1, 2268).or(56);
        /// Time between requests.
        interval: Duration = within(MICROSECOND, HOUR).or(Duration::from_millis(200));
    }
}

impl Carrier for Ping {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let Self { payload, interval } = *self;
        world::Traffic::Ping(world::PingFlow { payload_bytes: payload, interval })
    }
}
