//! TCP flows. Keys missing from a flow come from the table `[tcp]`, else from the stack.

use crate::av::{self, Av};
use crate::carrier::Carrier;
use crate::flow_context::FlowContext;
use crate::keys::{Keyed, keys, table, table_in};
use crate::kinds::within;
use crate::own::OwnAlgorithms;
use crate::proxy::Proxy;
use crate::reader::{self, Problems, Reader};
use crate::stacks::{self, aimless, aims, profile};
use crate::tcp_options::Options;
use crate::value::{Table, Value};
use crate::video::Video;
use crate::web::Web;
use fairwave_cc::Chosen;
use fairwave_sim::world;
use fairwave_tcp::{Config, Profile};
use fairwave_trace::NodeId;
use fairwave_units::Bytes;

keys! {
    /// A TCP flow. Every key but `size`, `web`, `video` and `proxy` may also stand in the table
    /// `[tcp]`, as a default for all flows; the stated defaults are those of the stack "default".
    pub struct Tcp |r| (defaults: Defaults = Defaults::default()) {
        let d = defaults.of(r);
        let is_table = defaults.place == Place::Table;
        let is_flow = defaults.place == Place::Flow;
        /// Amount of data to send, or "unlimited".
        size: Option<Bytes> = within(Bytes(1), Bytes(1 << 50))
            .or_word("unlimited")
            .or(None)
            .hidden_if(is_table);
        /// A user at `to` that fetches pages from `from`: a table. Not in `[tcp]`.
        web: Option<Box<Web>> =
            table("write web = {} for its defaults").boxed().optional().hidden_if(!is_flow);
        /// Data of the application, frame by frame, instead of as much as fits: a table. Not in
        /// `[tcp]`.
        video: Option<Box<Video>> = table("write video = { rate = \"2 Mbps\" }")
            .boxed()
            .optional()
            .hidden_if(!is_flow);
        /// Stack that sets the defaults of the other keys, for both ends.
        stack: String = stacks::stack().or(d.stack.clone());
        /// The receiving end's stack, if it is another: then the keys beside it are the sender's
        /// alone.
        receiver_stack: Option<String> =
            stacks::stack().or_word("same").or(d.receiver_stack.clone());
        /// The algorithm, possibly with the remedy around it: "ack-loss+reno".
        congestion_control: Chosen =
            defaults.own.congestion_control().or(d.congestion_control.clone());
        /// Target of the algorithm `tcp-av`: a table. Without it, it is NewReno.
        av: Option<Box<Av>> = table(av::HELP)
            .boxed()
            .optional()
            .absent(d.av.clone())
            .only_if(
                aims(congestion_control.name()),
                aimless(congestion_control.name()),
                None,
            );
        /// A proxy that splits the connection on its way: a table. Not in `[tcp]`.
        proxy: Option<Box<Proxy>> =
            table_in(defaults.own.clone(), "write proxy = { at = \"proxy1\" }")
                .boxed()
                .optional()
                .hidden_if(!is_flow);
        /// Options of its connections.
        options: Config = Options { given: d.options, stack: profile(&stack) };
    }
    check Self::check;
}

/// Tables with keys of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In a TCP flow.
    #[default]
    Flow,
    /// In a flow that is a set of connections.
    Set,
    /// In the table `[tcp]`.
    Table,
}

/// Defaults of the keys of a TCP flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    /// The table `[tcp]`, over a stack.
    table: Option<Table>,
    /// The stack, where the keys do not say which.
    stack: Option<String>,
    place: Place,
    own: OwnAlgorithms,
}

impl Defaults {
    /// Of a TCP flow.
    pub(crate) fn of_flow(flow_context: &FlowContext) -> Self {
        let FlowContext { tcp, own, .. } = flow_context.clone();
        Self { table: Some(tcp), stack: None, place: Place::Flow, own }
    }

    /// Of a set of connections.
    pub(crate) fn of_set(flow_context: &FlowContext) -> Self {
        Self { place: Place::Set, ..Self::of_flow(flow_context) }
    }

    /// Of the table `[tcp]`.
    pub(crate) fn of_table(own: OwnAlgorithms) -> Self {
        Self { place: Place::Table, own, ..Self::default() }
    }

    /// Returns the defaults of the keys that `r` reads: faults of the table were reported before.
    fn of(&self, r: &Reader<'_>) -> Tcp {
        let read = |value: &Value| reader::text(value);
        let known = |name: &String| Profile::find(name).is_some();
        let written = r.peek("stack", read).filter(known);
        let stack = self.stack.clone().or(written);
        match &self.table {
            Some(table) => {
                let reported = Problems::default();
                let r = Reader::new("tcp", table, 0..0, &reported);
                let table = Self::of_table(self.own.clone());
                Tcp::keys(&r, None, &Self { stack, ..table })
            }
            None => of_stack(profile(&stack.unwrap_or_default())),
        }
    }
}

/// The choices of a stack, which says where they come from.
fn of_stack(stack: &Profile) -> Tcp {
    Tcp {
        size: None,
        web: None,
        video: None,
        av: None,
        proxy: None,
        stack: stack.name.to_owned(),
        receiver_stack: None,
        congestion_control: stack.congestion_control.into(),
        options: (stack.config)(),
    }
}

impl Tcp {
    /// Returns the value that `r` reads, for keys that depend on it; a later reader reports on it.
    pub(crate) fn quietly(r: &Reader<'_>, defaults: &Defaults) -> Self {
        r.quietly(|r| Self::keys(r, None, defaults))
    }

    fn check(&self, r: &Reader<'_>) {
        if self.web.is_some() && self.size.is_some() {
            r.meaningless(&["size"], "the sizes of pages are drawn");
        }
        if self.video.is_some() {
            r.meaningless(&["web"], "the flow sends a video");
        }
        if self.video.is_some() && self.size.is_some() {
            r.meaningless(&["size"], "the flow sends a video");
        }
        if self.web.is_some() {
            r.meaningless(&["proxy"], "the user of the web opens connections one by one");
        }
    }

    /// Names of the options whose values differ from those of the stack.
    pub fn own_options(&self) -> Vec<&'static str> {
        let usual = (profile(&self.stack).config)();
        let own = Config::KEYS.iter().filter(|option| !(option.is_same)(&self.options, &usual));
        own.map(|option| option.name).collect()
    }

    /// One connection.
    pub(crate) fn connection(&self) -> world::TcpFlow {
        let receiver = self.receiver_stack.as_ref();
        world::TcpFlow {
            sender: self.config(),
            receiver: receiver.map_or_else(|| self.config(), |name| (profile(name).config)()),
            congestion_control: self.congestion_control.clone(),
            size: self.size,
            source: self.video.as_ref().map(|video| video.to_world(self.options.mss.into())),
        }
    }

    /// The configuration of the sending end, and of the receiving one unless that has a stack of
    /// its own; without ports.
    pub fn config(&self) -> Config {
        Config { av: av::aim(self.av.as_deref()), ..self.options }
    }
}

impl Carrier for Tcp {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let flow = self.connection();
        match &self.web {
            None => world::Traffic::Tcp(flow),
            Some(web) => {
                let page = web.to_world();
                world::Traffic::Web(world::WebFlow { tcp: flow, page })
            }
        }
    }
}
