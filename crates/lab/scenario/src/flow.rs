//! Flows.

use crate::diagnostic::Refusal;
use crate::flow_context::FlowContext;
use crate::keys::{Flat, keys, table};
use crate::kinds::{choice, name, text, within};
use crate::limits::{DAY, NANOSECOND};
use crate::reader::Reader;
use crate::transport::Transport;
use crate::video::Playout;
use fairwave_dot11::AccessCategory;
use fairwave_units::Duration;

keys! {
    /// A flow, or one flow for each node that a pattern matches.
    pub struct Flow |r| (flow_context: FlowContext = FlowContext::default()) {
        /// Its name, unique among flows. With a pattern the flows are called `name-node`.
        name: String = name(40).required("name = \"up\"");
        /// The node whose data it carries. `"sta*"` makes a flow for each node whose name begins
        /// with `sta`.
        from: String = text().required("from = \"sta*\"");
        /// The node that the data goes to; may be a pattern instead of `from`.
        to: String = text().required("to = \"server\"");
        /// Start time.
        start: Duration = within(Duration::ZERO, DAY).or(Duration::ZERO);
        /// Each flow starts up to this much later, uniformly, from a random stream of its own.
        start_spread: Duration = within(Duration::ZERO, DAY).or(Duration::ZERO);
        /// Time at which its application stops sending, or "never".
        stop: Option<Duration> = within(NANOSECOND, DAY).or_word("never").or(None);
        /// Access category of its packets in both directions, where a cell has EDCA.
        category: AccessCategory = choice(CATEGORIES).or(AccessCategory::BestEffort);
        /// Playback at the receiver: a table. It needs a source of datagrams or `video`.
        playout: Option<Playout> =
            table("write playout = {} for its defaults").optional();
        /// Transport of the flow.
        transport: Transport = Flat(flow_context.clone());
    }
    check Self::check;
}

const CATEGORIES: &[(&str, AccessCategory)] = &[
    ("background", AccessCategory::Background),
    ("best-effort", AccessCategory::BestEffort),
    ("video", AccessCategory::Video),
    ("voice", AccessCategory::Voice),
];

impl Flow {
    fn check(&self, r: &Reader<'_>) {
        if self.playout.is_some() && !self.transport.has_frames() {
            let help = "a flow with a source of datagrams can be watched, or one with `video`";
            r.refuse("playout", Refusal::new("this flow has no frames").help(help));
        }
    }
}
