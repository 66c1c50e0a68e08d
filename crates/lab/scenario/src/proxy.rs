//! Proxies that flows pass.

use crate::av::{self, Av};
use crate::keys::{keys, table};
use crate::kinds::{choice, size, text};
use crate::limits::GIB;
use crate::own::OwnAlgorithms;
use crate::stacks::{aimless, aims, profile, stack};
use fairwave_cc::Chosen;
use fairwave_sim::world::{self, Opening};
use fairwave_tcp::Profile;
use fairwave_trace::NodeId;

const OPENINGS: &[(&str, Opening)] =
    &[("after-far", Opening::AfterFar), ("at-once", Opening::AtOnce)];

keys! {
    /// A proxy that splits a TCP flow's connection on its way.
    pub struct Proxy |r| (own: OwnAlgorithms = OwnAlgorithms::default()) {
        /// The node where it is, on the flow's way. Of a flow for each node of a group,
        /// `"proxy*"` puts the first's at the first node of that group, and so on.
        at: String = text().required("at = \"proxy1\"");
        /// Stack that sets the defaults of its two connections.
        stack: String = stack().or(Profile::ALL[0].name.to_owned());
        /// The algorithm of both, as usual with the stack.
        congestion_control: Chosen =
            own.congestion_control().or(profile(&stack).congestion_control.into());
        /// Send and receive buffer of each of both.
        buffer: u32 = size(2304, GIB).or(64 << 10);
        /// Whether `from` is accepted once `to` has accepted, or at once.
        opening: Opening = choice(OPENINGS).or(Opening::AfterFar);
        /// Its target, where its congestion control algorithm is `tcp-av`.
        av: Option<Av> = table(av::HELP)
            .optional()
            .only_if(
                aims(congestion_control.name()),
                aimless(congestion_control.name()),
                None,
            );
    }
}

impl Proxy {
    /// The same for the simulator, at the node `at`.
    pub(crate) fn to_world(&self, at: NodeId) -> Option<world::Proxy> {
        let side = fairwave_tcp::Config {
            send_buffer: self.buffer,
            send_buffer_max: None,
            receive_buffer: self.buffer,
            receive_buffer_max: None,
            av: av::aim(self.av.as_ref()),
            ..(Profile::find(&self.stack)?.config)()
        };
        let (congestion_control, opening) = (self.congestion_control.clone(), self.opening);
        Some(world::Proxy { at, near: side, far: side, congestion_control, opening })
    }
}
