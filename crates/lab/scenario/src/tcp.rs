//! TCP flows. Keys missing from a flow come from the table `[tcp]`, else from the stack.

use crate::around::Around;
use crate::av::{self, Av};
use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, table, written};
use crate::kinds::{self, boolean, count, counted, ticks, within};
use crate::limits::{GIB, HOUR, MICROSECOND, MILLISECOND, NANOSECOND, SECOND};
use crate::proxy::Proxy;
use crate::reader::{self, Problems, Reader};
use crate::stacks::{self, aimless, aims, law, profile};
use crate::value::{Data, Table, Value};
use crate::video::Video;
use crate::web::Web;
use fairwave_sim::world;
use fairwave_tcp::{self as tcp, Config, Profile};
use fairwave_trace::NodeId;
use fairwave_units::{Bytes, Duration};
use serde_json::{Value as Json, json};

keys! {
    /// A TCP flow. Every key but `size`, `web`, `video` and `proxy` may also stand in the table
    /// `[tcp]`, as a default for all flows; the stated defaults are those of the stack "default".
    pub struct Tcp |r| (defaults: Defaults = Defaults::default()) {
        let d = defaults.of(r);
        let is_table = defaults.place == Place::Table;
        let is_flow = defaults.place == Place::Flow;
        let buffers = || kinds::size(2304, GIB);
        let timers = || within(MILLISECOND, HOUR);
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
        /// The law, possibly with the remedy around it: "ack-loss+reno".
        congestion_control: String = law().or(d.congestion_control.clone());
        /// Target of the algorithm `tcp-av`: a table. Without it, it is NewReno.
        av: Option<Box<Av>> = table(av::HELP)
            .boxed()
            .optional()
            .absent(d.av.clone())
            .only_if(aims(&congestion_control), aimless(&congestion_control), None);
        /// A proxy that splits the connection on its way: a table. Not in `[tcp]`.
        proxy: Option<Box<Proxy>> =
            table("write proxy = { at = \"proxy1\" }").boxed().optional().hidden_if(!is_flow);
        /// Largest segment payload.
        mss: u32 = kinds::size(64, 2256).or(d.mss);
        /// Send buffer.
        send_buffer: u32 = buffers().or(d.send_buffer);
        /// Lets the send buffer grow to twice the congestion window, at most to this, or "off".
        send_buffer_most: Option<u32> = buffers().or_word("off").or(d.send_buffer_most);
        /// Receive buffer; bounds the advertised window.
        receive_buffer: u32 = buffers().or(d.receive_buffer);
        /// Lets the receive buffer grow with the data read in a round trip, at most to this, or
        /// "off".
        receive_buffer_most: Option<u32> = buffers().or_word("off").or(d.receive_buffer_most);
        /// Offer window scaling (RFC 7323).
        window_scaling: bool = boolean().or(d.window_scaling);
        /// Offer timestamps (RFC 7323).
        timestamps: bool = boolean().or(d.timestamps);
        /// Tick of the timestamp clock.
        timestamp_tick: Duration = within(MICROSECOND, SECOND).or(d.timestamp_tick);
        /// Offer selective acknowledgements (RFC 2018).
        sack: bool = boolean().or(d.sack);
        /// Report data that arrived twice (RFC 2883), with `sack`.
        dsack: bool = boolean().or(d.dsack);
        /// With SACK, keep the reported ranges when the retransmission timer expires, unless the
        /// receiver dropped them (RFC 6675 section 5.1); else discard them (RFC 2018 section 8).
        keep_sacks: bool = boolean().or(d.keep_sacks);
        /// Offer explicit congestion notification (RFC 3168).
        ecn: bool = boolean().or(d.ecn);
        /// With SACK, spread the reduction of a recovery over its ACKs (RFC 6937).
        prr: bool = boolean().or(d.prr);
        /// With SACK, find losses by time, and probe for lost tails (RFC 8985).
        rack: bool = boolean().or(d.rack);
        /// With timestamps, undo timeouts and recoveries that were needless (RFC 3522, RFC 4015).
        eifel: bool = boolean().or(d.eifel);
        /// Detect by the ACKs after a timeout whether it was needless, and undo it (F-RTO, RFC
        /// 5682).
        frto: bool = boolean().or(d.frto);
        /// Delayed acknowledgements: "on", "off" or a table.
        delayed_ack: DelayedAck = delayed_acks().or(d.delayed_ack.clone());
        /// Segments acknowledged at once before ACKs are delayed, at the start, after idleness and
        /// around gaps.
        quick_acks: u32 = count(0, 64).or(d.quick_acks);
        /// Send the delayed ACK when the application has read all, if a segment with PSH or a short
        /// one came.
        ack_on_read: bool = boolean().or(d.ack_on_read);
        /// Open the advertised window by two segments for each that arrives, which is acknowledged
        /// at once with `quick_acks`, instead of as far as the buffer goes.
        gradual_window: bool = boolean().or(d.gradual_window);
        /// Set PSH on the last of the segments that leave together, too.
        push_bursts: bool = boolean().or(d.push_bursts);
        /// Hold back small segments while anything is outstanding (RFC 9293 section 3.7.4).
        nagle: bool = boolean().or(d.nagle);
        /// Initial window.
        initial_window: u32 = counted("segments", 1, 1000).or(d.initial_window);
        /// Initial slow start threshold, or "unlimited".
        initial_ssthresh: Option<u32> =
            kinds::size(1, GIB).or_word("unlimited").or(d.initial_ssthresh);
        /// Congestion avoidance counts acknowledged bytes (RFC 3465) rather than ACKs (RFC 5681
        /// equation 3).
        byte_counting: bool = boolean().or(d.byte_counting);
        /// Maximum growth by one ACK in slow start (L of RFC 3465), or "unlimited": all that it
        /// acknowledges.
        slow_start_limit: Option<u32> =
            counted("segments", 1, 1000).or_word("unlimited").or(d.slow_start_limit);
        /// In slow start, let the window grow to twice the data in flight, although it was not
        /// full.
        slow_start_headroom: bool = boolean().or(d.slow_start_headroom);
        /// A loss lowers ssthresh from the congestion window, not from FlightSize (RFC 5681
        /// equation 4).
        reduce_window: bool = boolean().or(d.reduce_window);
        /// Duplicate ACKs that mean a loss.
        duplicate_ack_threshold: u32 = count(1, 255).or(d.duplicate_ack_threshold);
        /// RTO before the first sample.
        initial_rto: Duration = timers().or(d.initial_rto);
        /// Least RTO.
        min_rto: Duration = timers().or(d.min_rto);
        /// Greatest RTO.
        max_rto: Duration = timers().or(d.max_rto);
        /// Tick in which round-trip times are measured and the retransmission timer expires, or
        /// "off": exactly.
        timer_tick: Option<Duration> = ticks().or(d.timer_tick);
        /// Expiries in a row before the connection is given up.
        max_retries: u32 = count(1, 255).or(d.max_retries);
        /// Duration of TIME-WAIT.
        time_wait: Duration = within(Duration::ZERO, HOUR).or(d.time_wait);
    }
    check Self::check;
}

/// Rule by which the receiver acknowledges (RFC 9293 section 3.8.6.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// At once, every segment.
    Off,
    /// Delayed.
    Delayed(AckDelay),
}

keys! {
    /// Rule for delayed acknowledgements.
    pub struct AckDelay [Eq] |r| {
        /// At the latest with this many segments.
        every: u32 = count(2, 64).or(Self::USUAL.every);
        /// At the latest after this time.
        timeout: Duration =
            within(NANOSECOND, Duration::from_millis(500)).or(Self::USUAL.timeout);
    }
}

impl AckDelay {
    const USUAL: Self = Self { every: 2, timeout: Duration::from_millis(200) };
}

fn delayed_acks() -> Kind<DelayedAck> {
    let read = |value: &Value| match &value.data {
        Data::Table(_) => AckDelay::nested(value, &(), "").map(DelayedAck::Delayed),
        Data::Text(text) if text == "on" => Ok(DelayedAck::Delayed(AckDelay::USUAL)),
        Data::Text(text) if text == "off" => Ok(DelayedAck::Off),
        _ => Err(Refusal::new("this must be \"on\", \"off\" or a table")
            .help("write delayed_ack = { every = 2, timeout = \"200 ms\" }")),
    };
    let write = |delayed: &DelayedAck| match delayed {
        DelayedAck::Off => json!("off"),
        DelayedAck::Delayed(delay) => Json::Object(written(delay)),
    };
    Kind::new(read, write, Json::Null).described(|definitions| {
        let words = json!({ "type": "string", "enum": ["on", "off"] });
        json!({ "anyOf": [words, reference::<AckDelay>(definitions)] })
    })
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
}

impl Defaults {
    /// Of a TCP flow.
    pub(crate) fn of_flow(around: &Around) -> Self {
        Self { table: Some(around.tcp.clone()), stack: None, place: Place::Flow }
    }

    /// Of a set of connections.
    pub(crate) fn of_set(around: &Around) -> Self {
        Self { place: Place::Set, ..Self::of_flow(around) }
    }

    /// Of the table `[tcp]`.
    pub(crate) fn of_table() -> Self {
        Self { place: Place::Table, ..Self::default() }
    }

    /// Returns the defaults of the keys that `r` reads: faults of the table were reported before.
    fn of(&self, r: &Reader<'_>) -> Tcp {
        let read = |value: &Value| reader::text(value);
        let known = |name: &String| Profile::find(name).is_some();
        let written = r.peek("stack", read).filter(known);
        let stack = self.stack.clone().or(written);
        match &self.table {
            Some(table) => {
                let told = Problems::default();
                let r = Reader::new("tcp", table, 0..0, &told);
                Tcp::keys(&r, None, &Self { stack, ..Self::of_table() })
            }
            None => of_stack(profile(&stack.unwrap_or_default())),
        }
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
        keep_sacks: c.keep_sacks,
        ecn: c.ecn,
        prr: c.prr,
        rack: c.rack,
        eifel: c.eifel,
        frto: c.frto,
        delayed_ack: if every > 1 {
            DelayedAck::Delayed(AckDelay { every, timeout })
        } else {
            DelayedAck::Off
        },
        quick_acks: c.quick_acks,
        ack_on_read: c.ack_on_read,
        gradual_window: c.gradual_window,
        push_bursts: c.push_bursts,
        nagle: c.nagle,
        initial_window: c.initial_window_segments,
        initial_ssthresh: c.initial_ssthresh,
        byte_counting: c.byte_counting,
        slow_start_limit: c.slow_start_segments,
        slow_start_headroom: c.slow_start_headroom,
        reduce_window: c.reduce_window,
        duplicate_ack_threshold: c.duplicate_ack_threshold,
        initial_rto: c.initial_rto,
        min_rto: c.min_rto,
        timer_tick: Some(c.timer_tick).filter(|tick| !tick.is_zero()),
        max_rto: c.max_rto,
        max_retries: c.max_retries,
        time_wait: c.time_wait,
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

    /// One connection.
    pub(crate) fn connection(&self) -> world::TcpFlow {
        let receiver = self.receiver_stack.as_ref();
        world::TcpFlow {
            sender: self.config(),
            receiver: receiver.map_or_else(|| self.config(), |name| (profile(name).config)()),
            congestion_control: self.congestion_control.clone(),
            size: self.size,
            source: self.video.as_ref().map(|video| video.to_world(self.mss)),
        }
    }

    /// The configuration of the sending end, and of the receiving one unless that has a stack of
    /// its own; without ports.
    pub fn config(&self) -> Config {
        let base = (profile(&self.stack).config)();
        Config {
            mss: u16::try_from(self.mss).unwrap_or(base.mss),
            send_buffer: self.send_buffer,
            send_buffer_most: self.send_buffer_most,
            receive_buffer: self.receive_buffer,
            receive_buffer_most: self.receive_buffer_most,
            window_scaling: self.window_scaling,
            timestamps: self.timestamps,
            timestamp_tick: self.timestamp_tick,
            sack: self.sack,
            dsack: self.dsack,
            keep_sacks: self.keep_sacks,
            ecn: self.ecn,
            prr: self.prr,
            rack: self.rack,
            eifel: self.eifel,
            frto: self.frto,
            quick_acks: self.quick_acks,
            ack_on_read: self.ack_on_read,
            gradual_window: self.gradual_window,
            push_bursts: self.push_bursts,
            nagle: self.nagle,
            delayed_ack: match self.delayed_ack {
                DelayedAck::Off => tcp::DelayedAck { every: 1, ..base.delayed_ack },
                DelayedAck::Delayed(AckDelay { every, timeout }) => {
                    tcp::DelayedAck { every, timeout }
                }
            },
            initial_window_segments: self.initial_window,
            initial_ssthresh: self.initial_ssthresh,
            byte_counting: self.byte_counting,
            slow_start_segments: self.slow_start_limit,
            slow_start_headroom: self.slow_start_headroom,
            reduce_window: self.reduce_window,
            av: av::aim(self.av.as_deref()),
            duplicate_ack_threshold: self.duplicate_ack_threshold,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            timer_tick: self.timer_tick.unwrap_or_default(),
            max_rto: self.max_rto,
            max_retries: self.max_retries,
            time_wait: self.time_wait,
            ..base
        }
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
