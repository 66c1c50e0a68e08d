//! Wired links.

use super::diagnostic::Refusal;
use super::model::{or_off, or_unlimited};
use super::queue::{Place, Queue, queue};
use super::reader::{self, Read, Reader, within};
use super::value::{Data, Value};
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
const FASTEST: BitRate = BitRate::mbps(1_000_000);
/// Changes of a link that a scenario lists.
const MOST_CHANGES: usize = 100_000;

/// A wired, full-duplex link, or links between groups.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Its name, unique among links. Default: its ends without stars, joined with "-".
    pub name: String,
    /// The nodes at its ends. Patterns make several links: `["pc*", "switch"]` one for each node
    /// whose name begins with `pc`, `["pc*", "conv*"]` one for each pair, in order. Required.
    pub ends: [String; 2],
    /// Rate in each direction, or "unlimited". Default: "100 Mbps".
    #[serde(serialize_with = "or_unlimited")]
    #[schemars(with = "String")]
    pub rate: Option<BitRate>,
    /// Propagation delay in each direction. Default: "0 s".
    #[schemars(with = "String")]
    pub delay: Duration,
    /// The link is a dummynet pipe on a kernel clock of this tick, 1 us to 1 s: transmissions end
    /// at ticks, and the delay is rounded up to ticks. "off": a wire. Default: "off".
    #[serde(serialize_with = "or_off")]
    #[schemars(with = "String")]
    pub tick: Option<Duration>,
    /// Up to this much is added to each packet's delay, uniformly; packets may be reordered.
    /// Default: "0 s".
    #[schemars(with = "String")]
    pub jitter: Duration,
    /// Probability that a packet is lost, or a table of runs of lost packets. Default: 0.
    pub loss: Loss,
    /// The same from the second end to the first. Default: as `loss`.
    pub loss_back: Loss,
    /// The queue at each end. Default: "1000 packets".
    pub queue: Queue,
    /// What becomes of the link, in order of time. Default: none.
    pub changes: Vec<Change>,
}

/// How a link loses packets in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Loss {
    /// Each packet with this probability, whatever becomes of others.
    Rate(f64),
    /// Runs of lost packets of geometric lengths, which are counted in packets.
    Bursts {
        /// Packets lost in a row in the mean, 1 to 1 000 000; with 1 never two. Required.
        mean_burst: f64,
        /// Packets that arrive between two runs in the mean, 1 to 1 000 000 000. Required.
        mean_gap: f64,
    },
}

/// What holds of a link from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// When, up to 24 h; the changes of a link follow each other. Required.
    #[schemars(with = "String")]
    pub at: Duration,
    /// As the link's. Default: as before.
    #[serde(serialize_with = "or_unlimited")]
    #[schemars(with = "String")]
    pub rate: Option<BitRate>,
    /// As the link's. Default: as before.
    #[schemars(with = "String")]
    pub delay: Duration,
    /// As the link's. Default: as before.
    pub loss: Loss,
    /// As the link's. Default: as `loss` if that is written here, else as before.
    pub loss_back: Loss,
    /// Whether the link carries anything: what is sent on it while it does not is lost, as is what
    /// was being sent. Default: as before; at first it is up.
    pub up: bool,
}

impl Link {
    /// Whether packets ever take no time on it.
    pub(super) fn is_ever_unlimited(&self) -> bool {
        self.rate.is_none() || self.changes.iter().any(|change| change.rate.is_none())
    }

    /// The link between two nodes.
    pub(super) fn to_world(&self, ends: (NodeId, NodeId)) -> world::Link {
        world::Link {
            ends,
            rate: self.rate,
            delay: self.delay,
            tick: self.tick,
            jitter: self.jitter,
            loss: [self.loss.to_world(), self.loss_back.to_world()],
            queue: self.queue.0,
            changes: self.changes.iter().copied().map(Change::to_world).collect(),
        }
    }
}

impl Loss {
    fn to_world(self) -> world::Loss {
        match self {
            Self::Rate(p) => world::Loss::Rate(p),
            Self::Bursts { mean_burst, mean_gap } => {
                let (p, r) = (1.0 / mean_gap, 1.0 / mean_burst);
                world::Loss::Bursts(world::GilbertElliott { p, r, good: 0.0, bad: 1.0 })
            }
        }
    }
}

impl Change {
    fn to_world(self) -> world::Change {
        world::Change {
            at: Instant::ZERO + self.at,
            rate: self.rate,
            delay: self.delay,
            loss: [self.loss.to_world(), self.loss_back.to_world()],
            is_up: self.up,
        }
    }
}

pub(super) fn link(r: &Reader<'_>) -> Option<Link> {
    let ends = r.required("ends", "ends = [\"ap\", \"server\"]", reader::ends);
    let joined = ends.as_ref().map(|[a, b]| reader::joined(a, b)).unwrap_or_default();
    let (least, most) = (Duration::from_micros(1), Duration::from_secs(1));
    let rate = r.or("rate", Some(BitRate::mbps(100)), rate);
    let delay = r.or("delay", Duration::ZERO, delay);
    let loss_forth = r.or("loss", Loss::Rate(0.0), loss);
    let loss_back = r.or("loss_back", loss_forth, loss);
    let at_first =
        Change { at: Duration::ZERO, rate, delay, loss: loss_forth, loss_back, up: true };
    let link = Link {
        name: r.or("name", joined, reader::name_up_to(89)),
        ends: ends.clone().unwrap_or_default(),
        rate,
        delay,
        tick: r.or("tick", None, reader::or_word("off", within(least, most))),
        jitter: r.or("jitter", Duration::ZERO, within(Duration::ZERO, HOUR)),
        loss: loss_forth,
        loss_back,
        queue: r.or("queue", Queue(Place::Link.usual().into()), queue(Place::Link)),
        changes: r.or("changes", Vec::new(), |value| changes(value, at_first)),
    };
    if link.tick.is_some() && !link.jitter.is_zero() {
        let refusal = Refusal::new("a link with a tick has no jitter: dummynet knows none");
        r.refuse("jitter", refusal.help("remove one of the two"));
    }
    r.finish(&[]);
    ends.map(|_| link)
}

fn rate(value: &Value) -> Read<Option<BitRate>> {
    reader::or_word("unlimited", within(BitRate(1_000), FASTEST))(value)
}

fn delay(value: &Value) -> Read<Duration> {
    within(Duration::ZERO, HOUR)(value)
}

fn loss(value: &Value) -> Read<Loss> {
    let Data::Table(table) = &value.data else {
        return reader::probability(value).map(Loss::Rate);
    };
    reader::nested(table, value, |r| {
        let mean =
            |key, example, most| r.required(key, example, reader::real(1.0, most)).unwrap_or(1.0);
        Loss::Bursts {
            mean_burst: mean("mean_burst", "mean_burst = 3", 1e6),
            mean_gap: mean("mean_gap", "mean_gap = 50", 1e9),
        }
    })
}

/// Changes of a link of which `at_first` holds, each with what it leaves as it was.
fn changes(value: &Value, at_first: Change) -> Read<Vec<Change>> {
    let list = match &value.data {
        Data::List(list) if list.len() <= MOST_CHANGES => list,
        Data::List(_) => return Err(Refusal::new(format!("more than {MOST_CHANGES} changes"))),
        _ => return Err(reader::wrong_type(value, "a list").help(EXAMPLE)),
    };
    let mut changes: Vec<Change> = Vec::with_capacity(list.len());
    for value in list {
        let next = change(value, changes.last().unwrap_or(&at_first))?;
        if let Some(last) = changes.last().filter(|last| last.at >= next.at) {
            let message = format!("the change at {} follows one at {}", next.at, last.at);
            return Err(Refusal::new(message).help("write changes in order of time"));
        }
        changes.push(next);
    }
    Ok(changes)
}

const EXAMPLE: &str = "write changes = [{ at = \"10 s\", rate = \"1 Mbps\" }]";

fn change(value: &Value, before: &Change) -> Read<Change> {
    let Data::Table(table) = &value.data else {
        return Err(reader::wrong_type(value, "a table").help(EXAMPLE));
    };
    if table.0.iter().all(|entry| entry.key == "at") {
        let help = "add rate, delay, loss, loss_back or up";
        return Err(Refusal::new("this change says nothing of the link").help(help));
    }
    reader::nested(table, value, |r| {
        let at = within(Duration::ZERO, DAY);
        let written = r.optional("loss", loss);
        Change {
            at: r.required("at", "at = \"10 s\"", at).unwrap_or_default(),
            rate: r.or("rate", before.rate, rate),
            delay: r.or("delay", before.delay, delay),
            loss: written.unwrap_or(before.loss),
            loss_back: r.or("loss_back", written.unwrap_or(before.loss_back), loss),
            up: r.or("up", before.up, reader::boolean),
        }
    })
}
