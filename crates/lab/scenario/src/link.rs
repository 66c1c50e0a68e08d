//! Wired links.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, keys, reference, written};
use crate::kinds::{boolean, choice, name, real, ticks, within};
use crate::limits::{DAY, HOUR};
use crate::own::OwnAlgorithms;
use crate::queue::{Place, Queue, queue};
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use fairwave_sim::world::{self, DelayDistribution};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration, Instant};
use serde_json::{Value as Json, json};

const FASTEST: BitRate = BitRate::mbps(1_000_000);
/// Changes of a link that a scenario lists.
const MAX_CHANGES: usize = 100_000;

keys! {
    /// A wired, full-duplex link, or links between groups.
    pub struct Link |r| (own: OwnAlgorithms = OwnAlgorithms::default()) {
        let joined = r.peek("ends", reader::ends).map(|[a, b]| reader::joined(&a, &b));
        /// Its name, unique among links.
        name: String = name(89)
            .or(joined.unwrap_or_default())
            .phrase("its ends without stars, joined with \"-\"");
        /// The nodes at its ends. Patterns make several links: `["pc*", "switch"]` one for each
        /// node whose name begins with `pc`, `["pc*", "conv*"]` one for each pair, in order.
        ends: [String; 2] = ends().required("ends = [\"ap\", \"server\"]");
        /// Rate in each direction, or "unlimited".
        rate: Option<BitRate> = rates().or(Some(BitRate::mbps(100)));
        /// The same from the second end to the first. Of a home's line, whose first end is the
        /// provider's, `rate` is the downlink and this the uplink.
        rate_back: Option<BitRate> = rates().or(rate).phrase("as `rate`");
        /// Propagation delay in each direction.
        delay: Duration = delays().or(Duration::ZERO);
        /// The same from the second end to the first.
        delay_back: Duration = delays().or(delay).phrase("as `delay`");
        /// Distribution of each packet's delay, with the mean `delay`: "fixed", "uniform" from zero
        /// to twice the mean, or "exponential". Packets of a direction keep their order.
        delay_distribution: DelayDistribution =
            choice(DISTRIBUTIONS).or(DelayDistribution::Fixed);
        /// The link is a dummynet pipe on a kernel clock of this tick: transmissions end at ticks,
        /// and the delay is rounded up to ticks. "off": a wire.
        tick: Option<Duration> = ticks().or(None);
        /// Up to this much is added to each packet's delay, uniformly; packets may be reordered.
        jitter: Duration = delays().or(Duration::ZERO);
        /// Probability that a packet is lost, or a table of runs of lost packets.
        loss: Loss = losses().or(Loss::Rate(0.0));
        /// The same from the second end to the first.
        loss_back: Loss = losses().or(loss).phrase("as `loss`");
        /// The queue at each end.
        queue: Queue = queue(Place::Link, own.clone()).or(Queue(Place::Link.usual().into()));
        /// The queue at the second end.
        queue_back: Queue =
            self::queue(Place::Link, own.clone()).or(queue.clone()).phrase("as `queue`");
        /// Changes of the link, in order of time.
        changes: Vec<Change> = changes(Change {
            at: Duration::ZERO,
            rate,
            rate_back,
            delay,
            delay_back,
            loss,
            loss_back,
            up: true,
        })
        .or(Vec::new());
    }
    check Self::check;
}

/// Packet losses of a link in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet with this probability, whatever becomes of others.
    Rate(f64),
    /// Runs of lost packets.
    Bursts(LossBursts),
}

keys! {
    /// Runs of lost packets of geometric lengths, which are counted in packets.
    pub struct LossBursts [Copy] |r| {
        /// Packets lost in a row in the mean; with 1 never two.
        mean_burst: f64 = real(1.0, 1e6).required("mean_burst = 3");
        /// Packets that arrive between two runs in the mean.
        mean_gap: f64 = real(1.0, 1e9).required("mean_gap = 50");
    }
}

keys! {
    /// State of a link from a time on.
    pub struct Change [Copy] |r| (before: Change = Change::FIRST) {
        /// Time of the change; the changes of a link follow each other.
        at: Duration = within(Duration::ZERO, DAY).required("at = \"10 s\"");
        /// As the link's.
        rate: Option<BitRate> = rates().or(before.rate).phrase(AS_BEFORE);
        /// As the link's.
        rate_back: Option<BitRate> = rates()
            .or(if r.has("rate") { rate } else { before.rate_back })
            .phrase("as `rate` if that is written here, else as before");
        /// As the link's.
        delay: Duration = delays().or(before.delay).phrase(AS_BEFORE);
        /// As the link's.
        delay_back: Duration = delays()
            .or(if r.has("delay") { delay } else { before.delay_back })
            .phrase("as `delay` if that is written here, else as before");
        /// As the link's.
        loss: Loss = losses().or(before.loss).phrase(AS_BEFORE);
        /// As the link's.
        loss_back: Loss = losses()
            .or(if r.has("loss") { loss } else { before.loss_back })
            .phrase("as `loss` if that is written here, else as before");
        /// Whether the link carries anything. Packets sent while it does not are lost, as is a
        /// packet in transmission.
        up: bool = boolean().or(before.up).phrase("as before; at first it is up");
    }
}

const DISTRIBUTIONS: &[(&str, DelayDistribution)] = &[
    ("fixed", DelayDistribution::Fixed),
    ("uniform", DelayDistribution::Uniform),
    ("exponential", DelayDistribution::Exponential),
];

const AS_BEFORE: &str = "as before";

fn rates() -> Kind<Option<BitRate>> {
    within(BitRate(1_000), FASTEST).or_word("unlimited")
}

fn delays() -> Kind<Duration> {
    within(Duration::ZERO, HOUR)
}

fn ends() -> Kind<[String; 2]> {
    let schema = |_: &_| {
        let item = json!({ "type": "string" });
        json!({ "type": "array", "items": item, "minItems": 2, "maxItems": 2 })
    };
    Kind::new(reader::ends, |ends| json!(ends), schema)
}

fn losses() -> Kind<Loss> {
    let read = |value: &Value| match &value.data {
        Data::Table(_) => LossBursts::nested(value, &(), "").map(Loss::Bursts),
        _ => reader::probability(value).map(Loss::Rate),
    };
    let write = |loss: &Loss| match loss {
        Loss::Rate(p) => json!(p),
        Loss::Bursts(table) => Json::Object(written(table)),
    };
    Kind::new(read, write, |definitions| {
        let number = json!({ "type": "number", "minimum": 0, "maximum": 1 });
        json!({ "anyOf": [number, reference::<LossBursts>(definitions)] })
    })
}

/// Changes of a link of which `at_first` holds, each with the parts that it leaves as they were.
fn changes(at_first: Change) -> Kind<Vec<Change>> {
    let write = |changes: &Vec<Change>| {
        changes.iter().map(|change| Json::Object(written(change))).collect()
    };
    Kind::new(
        move |value| read_changes(value, at_first),
        write,
        |definitions| json!({ "type": "array", "items": reference::<Change>(definitions) }),
    )
}

impl Change {
    /// Defaults of a link.
    const FIRST: Self = Self {
        at: Duration::ZERO,
        rate: None,
        rate_back: None,
        delay: Duration::ZERO,
        delay_back: Duration::ZERO,
        loss: Loss::Rate(0.0),
        loss_back: Loss::Rate(0.0),
        up: true,
    };
}

impl Link {
    fn check(&self, r: &Reader<'_>) {
        if self.tick.is_some() && !self.jitter.is_zero() {
            let refusal = Refusal::new("a link with a tick has no jitter: dummynet knows none");
            r.refuse("jitter", refusal.help("remove one of the two"));
        }
        if self.delay_distribution == DelayDistribution::Fixed {
            return;
        }
        let other = match (self.tick.is_some(), self.jitter.is_zero()) {
            (true, _) => "a tick has a fixed delay: dummynet knows no other",
            (_, false) => "jitter has a fixed delay: jitter lets packets overtake, draws do not",
            _ => return,
        };
        let refusal = Refusal::new(format!("a link with {other}"));
        r.refuse("delay_distribution", refusal.help("remove one of the two"));
    }

    /// State of the link before its first change.
    pub(crate) fn at_first(&self) -> Change {
        let &Self { rate, rate_back, delay, delay_back, loss, loss_back, .. } = self;
        let at = Duration::ZERO;
        Change { at, rate, rate_back, delay, delay_back, loss, loss_back, up: true }
    }

    /// Whether packets ever take no time on it, from its second end if `back`.
    pub(super) fn is_ever_unlimited(&self, back: bool) -> bool {
        let of = |change: &Change| if back { change.rate_back } else { change.rate };
        let first = if back { self.rate_back } else { self.rate };
        first.is_none() || self.changes.iter().any(|change| of(change).is_none())
    }

    /// The link between two nodes.
    pub(super) fn to_world(&self, ends: (NodeId, NodeId)) -> world::Link {
        world::Link {
            ends,
            rate: self.rate,
            delay: self.delay,
            distribution: self.delay_distribution,
            tick: self.tick,
            jitter: self.jitter,
            loss: [self.loss.to_world(), self.loss_back.to_world()],
            queue: self.queue.0.clone(),
            back: Some(world::Back {
                pace: world::Pace { rate: self.rate_back, delay: self.delay_back },
                queue: self.queue_back.0.clone(),
            }),
            changes: self.changes.iter().copied().map(Change::to_world).collect(),
        }
    }
}

impl Loss {
    fn to_world(self) -> world::Loss {
        match self {
            Self::Rate(p) => world::Loss::Rate(p),
            Self::Bursts(LossBursts { mean_burst, mean_gap }) => {
                let (p, r) = (1.0 / mean_gap, 1.0 / mean_burst);
                world::Loss::Bursts(world::GilbertElliott { p, r, good: 0.0, bad: 1.0 })
            }
        }
    }
}

impl Change {
    pub(crate) fn to_world(self) -> world::Change {
        world::Change {
            at: Instant::ZERO + self.at,
            rate: self.rate,
            delay: self.delay,
            back: Some(world::Pace { rate: self.rate_back, delay: self.delay_back }),
            loss: [self.loss.to_world(), self.loss_back.to_world()],
            is_up: self.up,
        }
    }
}

fn read_changes(value: &Value, at_first: Change) -> Read<Vec<Change>> {
    let list = match &value.data {
        Data::List(list) if list.len() <= MAX_CHANGES => list,
        Data::List(_) => return Err(Refusal::new(format!("more than {MAX_CHANGES} changes"))),
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
        let help = "add rate, delay, loss or up";
        return Err(Refusal::new("this change says nothing of the link").help(help));
    }
    Change::nested(value, before, EXAMPLE)
}
