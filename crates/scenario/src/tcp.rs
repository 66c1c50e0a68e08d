//! The keys of a TCP flow: a stack's choices, the table `[tcp]` over them, the flow's own last.

use super::decode::{NANOSECOND, span};
use super::diagnostic::Refusal;
use super::model::{DelayedAck, Tcp};
use super::proxy;
use super::reader::{self, Problems, Read, Reader};
use super::traffic;
use super::value::{Data, Table, Value};
use super::video;
use fairwave_tcp::{Config, Profile};
use fairwave_units::{Bytes, Duration};

const GIB: u32 = 1 << 30;

/// Every key of a TCP flow.
pub(super) const KEYS: &[&str] = &[
    "size",
    "web",
    "video",
    "stack",
    "receiver_stack",
    "congestion_control",
    "av",
    "proxy",
    "mss",
    "send_buffer",
    "send_buffer_most",
    "receive_buffer",
    "receive_buffer_most",
    "window_scaling",
    "timestamps",
    "timestamp_tick",
    "sack",
    "dsack",
    "ecn",
    "prr",
    "rack",
    "eifel",
    "frto",
    "delayed_ack",
    "quick_acks",
    "nagle",
    "initial_window",
    "initial_ssthresh",
    "byte_counting",
    "duplicate_ack_threshold",
    "initial_rto",
    "min_rto",
    "max_rto",
    "max_retries",
    "time_wait",
];

/// What the keys of TCP flows default to.
pub(super) struct Defaults<'a> {
    table: &'a Table,
    /// For a flow that names no stack.
    keys: Tcp,
}

impl<'a> Defaults<'a> {
    /// Reads the table `[tcp]` of `root`; `empty` stands for one that is not there.
    pub(super) fn new(top: &Reader<'a>, root: &'a Table, empty: &'a Table) -> Self {
        let r = top.table("tcp", empty);
        let stack = r.optional("stack", stack).unwrap_or(&Profile::ALL[0]);
        let keys = keys(&r, &of_stack(stack));
        r.finish(&[]);
        let table = match root.get("tcp").map(|value| &value.data) {
            Some(Data::Table(table)) => table,
            _ => empty,
        };
        Self { table, keys }
    }

    /// The table over another stack than its own. What is wrong with it was told before.
    fn over(&self, stack: &Profile) -> Tcp {
        let told = Problems::default();
        keys(&Reader::new("tcp", self.table, 0..0, &told), &of_stack(stack))
    }

    /// The keys of a flow.
    pub(super) fn flow(&self, r: &Reader<'_>) -> Tcp {
        let most = reader::within(Bytes(1), Bytes(1 << 50));
        let size = r.or("size", None, reader::or_word("unlimited", most));
        let web = r.optional("web", traffic::web).map(Box::new);
        if web.is_some() && size.is_some() {
            r.meaningless(&["size"], "the sizes of pages are drawn");
        }
        let video = r.optional("video", video::table).map(Box::new);
        if video.is_some() {
            r.meaningless(&["web"], "the flow sends a video");
        }
        if video.is_some() && size.is_some() {
            r.meaningless(&["size"], "the flow sends a video");
        }
        let proxy = r.optional("proxy", proxy::proxy).map(Box::new);
        if web.is_some() {
            r.meaningless(&["proxy"], "the user of the web opens connections one by one");
        }
        let keys = match r.optional("stack", stack) {
            Some(stack) => keys(r, &self.over(stack)),
            None => keys(r, &self.keys),
        };
        Tcp { size, web, video, proxy, ..keys }
    }
}

/// The keys that a flow shares with the table `[tcp]`.
fn keys(r: &Reader<'_>, d: &Tcp) -> Tcp {
    let segments = reader::counted("segments", 1, 1000);
    let ssthresh = reader::or_word("unlimited", reader::size(1, GIB));
    let buffer = || reader::size(2304, GIB);
    let growth = || reader::or_word("off", reader::size(2304, GIB));
    let timer = || span(Duration::from_millis(1), Duration::from_secs(3600));
    let tick = span(Duration::from_micros(1), Duration::from_secs(1));
    let named = |value: &Value| stack(value).map(|stack| stack.name.to_owned());
    let receiver = reader::or_word("same", named);
    let flag = |key, default| r.or(key, default, reader::boolean);
    let law = r.or("congestion_control", d.congestion_control.clone(), law);
    Tcp {
        size: None,
        web: None,
        video: None,
        stack: d.stack.clone(),
        receiver_stack: r.or("receiver_stack", d.receiver_stack.clone(), receiver),
        av: proxy::aimed(r, &law, d.av.as_deref()).map(Box::new),
        congestion_control: law,
        proxy: None,
        mss: r.or("mss", d.mss, reader::size(64, 2256)),
        send_buffer: r.or("send_buffer", d.send_buffer, buffer()),
        send_buffer_most: r.or("send_buffer_most", d.send_buffer_most, growth()),
        receive_buffer: r.or("receive_buffer", d.receive_buffer, buffer()),
        receive_buffer_most: r.or("receive_buffer_most", d.receive_buffer_most, growth()),
        window_scaling: flag("window_scaling", d.window_scaling),
        timestamps: flag("timestamps", d.timestamps),
        timestamp_tick: r.or("timestamp_tick", d.timestamp_tick, tick),
        sack: flag("sack", d.sack),
        dsack: flag("dsack", d.dsack),
        ecn: flag("ecn", d.ecn),
        prr: flag("prr", d.prr),
        rack: flag("rack", d.rack),
        eifel: flag("eifel", d.eifel),
        frto: flag("frto", d.frto),
        delayed_ack: r.or("delayed_ack", d.delayed_ack.clone(), delayed_ack),
        quick_acks: r.or("quick_acks", d.quick_acks, reader::count(0, 64)),
        nagle: flag("nagle", d.nagle),
        initial_window: r.or("initial_window", d.initial_window, segments),
        initial_ssthresh: r.or("initial_ssthresh", d.initial_ssthresh, ssthresh),
        byte_counting: flag("byte_counting", d.byte_counting),
        duplicate_ack_threshold: r.or(
            "duplicate_ack_threshold",
            d.duplicate_ack_threshold,
            reader::count(1, 255),
        ),
        initial_rto: r.or("initial_rto", d.initial_rto, timer()),
        min_rto: r.or("min_rto", d.min_rto, timer()),
        max_rto: r.or("max_rto", d.max_rto, timer()),
        max_retries: r.or("max_retries", d.max_retries, reader::count(1, 255)),
        time_wait: r.or("time_wait", d.time_wait, span(Duration::ZERO, Duration::from_secs(3600))),
    }
}

/// The choices of a stack, which says where they come from.
fn of_stack(stack: &Profile) -> Tcp {
    let c: Config = (stack.config)();
    let fairwave_tcp::DelayedAck { every, timeout } = c.delayed_ack;
    Tcp {
        size: None,
        web: None,
        video: None,
        av: None,
        proxy: None,
        stack: stack.name.to_owned(),
        receiver_stack: None,
        congestion_control: stack.congestion_control.to_owned(),
        mss: u32::from(c.mss),
        send_buffer: c.send_buffer,
        send_buffer_most: c.send_buffer_most,
        receive_buffer: c.receive_buffer,
        receive_buffer_most: c.receive_buffer_most,
        window_scaling: c.window_scaling,
        timestamps: c.timestamps,
        timestamp_tick: c.timestamp_tick,
        sack: c.sack,
        dsack: c.dsack,
        ecn: c.ecn,
        prr: c.prr,
        rack: c.rack,
        eifel: c.eifel,
        frto: c.frto,
        delayed_ack: if every > 1 {
            DelayedAck::Delayed { every, timeout }
        } else {
            DelayedAck::Off
        },
        quick_acks: c.quick_acks,
        nagle: c.nagle,
        initial_window: c.initial_window_segments,
        initial_ssthresh: c.initial_ssthresh,
        byte_counting: c.byte_counting,
        duplicate_ack_threshold: c.duplicate_ack_threshold,
        initial_rto: c.initial_rto,
        min_rto: c.min_rto,
        max_rto: c.max_rto,
        max_retries: c.max_retries,
        time_wait: c.time_wait,
    }
}

/// Every stack's name, for messages and the schema.
pub(super) fn stacks() -> Vec<&'static str> {
    Profile::ALL.iter().map(|stack| stack.name).collect()
}

pub(super) fn stack(value: &Value) -> Read<&'static Profile> {
    let name = reader::text(value)?;
    Profile::find(&name).ok_or_else(|| {
        Refusal::new(format!("there is no stack called {name:?}")).among(&name, &stacks())
    })
}

const DELAYED: DelayedAck = DelayedAck::Delayed { every: 2, timeout: Duration::from_millis(200) };

fn delayed_ack(value: &Value) -> Read<DelayedAck> {
    let longest = Duration::from_millis(500);
    match &value.data {
        Data::Table(table) => reader::nested(table, value, |r| DelayedAck::Delayed {
            every: r.or("every", 2, reader::count(2, 64)),
            timeout: r.or("timeout", Duration::from_millis(200), span(NANOSECOND, longest)),
        }),
        Data::Text(text) if text == "on" => Ok(DELAYED),
        Data::Text(text) if text == "off" => Ok(DelayedAck::Off),
        _ => Err(Refusal::new("this must be \"on\", \"off\" or a table")
            .help("write delayed_ack = { every = 2, timeout = \"200 ms\" }")),
    }
}

pub(super) fn law(value: &Value) -> Read<String> {
    let name = reader::text(value)?;
    if super::laws::exists(&name) {
        return Ok(name);
    }
    let message = format!("there is no congestion control called {name:?}");
    Err(Refusal::new(message).among(&name, &super::laws::names()))
}
