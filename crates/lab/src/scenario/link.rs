//! Wired links.

use super::diagnostic::Refusal;
use super::model::{or_off, or_unlimited};
use super::queue::{Place, Queue, queue};
use super::reader::{self, Reader, within};
use fairwave_units::{BitRate, Duration};
use schemars::JsonSchema;
use serde::Serialize;

const HOUR: Duration = Duration::from_secs(3600);
const FASTEST: BitRate = BitRate::mbps(1_000_000);

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
    /// Probability that a packet is lost. Default: 0.
    pub loss: f64,
    /// The queue at each end. Default: "1000 packets".
    pub queue: Queue,
}

pub(super) fn link(r: &Reader<'_>) -> Option<Link> {
    let ends = r.required("ends", "ends = [\"ap\", \"server\"]", reader::ends);
    let joined = ends.as_ref().map(|[a, b]| reader::joined(a, b)).unwrap_or_default();
    let (least, most) = (Duration::from_micros(1), Duration::from_secs(1));
    let rate = reader::or_word("unlimited", within(BitRate(1_000), FASTEST));
    let link = Link {
        name: r.or("name", joined, reader::name_up_to(89)),
        ends: ends.clone().unwrap_or_default(),
        rate: r.or("rate", Some(BitRate::mbps(100)), rate),
        delay: r.or("delay", Duration::ZERO, within(Duration::ZERO, HOUR)),
        tick: r.or("tick", None, reader::or_word("off", within(least, most))),
        jitter: r.or("jitter", Duration::ZERO, within(Duration::ZERO, HOUR)),
        loss: r.or("loss", 0.0, reader::probability),
        queue: r.or("queue", Queue(Place::Link.usual().into()), queue(Place::Link)),
    };
    if link.tick.is_some() && !link.jitter.is_zero() {
        let refusal = Refusal::new("a link with a tick has no jitter: dummynet knows none");
        r.refuse("jitter", refusal.help("remove one of the two"));
    }
    r.finish(&[]);
    ends.map(|_| link)
}
