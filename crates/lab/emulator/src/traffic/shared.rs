//! Description of a flow over several paths that Fairwave's own code carries.

use super::place::Place;
use fairwave_shake::{GROWTHS, SCHEDULERS};
use fairwave_shake_host::{Config, Mode, Psk, SetConfig};
use fairwave_sim::shared_key;
use fairwave_sim::world::{MultiTcpFlow, ShakeFlow};
use fairwave_trace::NodeId;
use fairwave_units::{Bytes, Duration, Seed};

/// A stream of SHAKE, or of a set of TCP connections, in a session of [`fairwave_shake_host`] over
/// UDP sockets of the kernel.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Settings of the end at the source.
    pub source: Config,
    /// Settings of the end at the sink.
    pub sink: Config,
    /// Its paths, by their ids.
    pub ways: Vec<Way>,
    /// Amount of data to send; `None` sends until the flow stops.
    pub size: Option<Bytes>,
}

/// A path of such a flow. Times count from the flow's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Name of the node that its packets pass.
    pub name: String,
    /// Place of the source's socket for it.
    pub place: Place,
    /// Time at which the source joins it.
    pub join: Duration,
    /// Time at which the source leaves it.
    pub leave: Option<Duration>,
    /// Time at which the source joins it again after it has left, if it does.
    pub rejoin: Option<Duration>,
}

impl Shared {
    /// The flow `shake` of a run with this seed; `way` has the name and place of a path by the node
    /// that it passes.
    pub(super) fn of_shake(
        shake: &ShakeFlow,
        seed: Seed,
        way: impl Fn(NodeId) -> Option<(String, Place)>,
    ) -> Option<Self> {
        let rate = |path: &fairwave_sim::world::ShakePath| path.nominal;
        let config = Config {
            mode: Mode::Shake,
            rates: shake.paths.iter().map(rate).collect(),
            shake: shake.config,
            max_mss: u16::try_from(shake.config.mss).unwrap_or(u16::MAX),
            scheduler: SCHEDULERS.iter().find(|known| known.name == shake.scheduler.name())?.part,
            growth: GROWTHS.iter().find(|known| known.name == shake.growth)?.part,
            notes_departures: true,
            ..Config::new(Psk::of(&shared_key(seed)))
        };
        let ways = shake.paths.iter().map(|path| {
            let (name, place) = way(path.via)?;
            Some(Way { name, place, join: path.join, leave: path.leave, rejoin: path.rejoin })
        });
        let ways = ways.collect::<Option<_>>()?;
        Some(Self { source: config.clone(), sink: config, ways, size: shake.size })
    }

    /// The flow `multi`, likewise.
    pub(super) fn of_set(
        multi: &MultiTcpFlow,
        seed: Seed,
        way: impl Fn(NodeId) -> Option<(String, Place)>,
    ) -> Option<Self> {
        let config = |tcp| Config {
            mode: Mode::Multi,
            set: SetConfig {
                tcp,
                congestion_control: multi.tcp.congestion_control.name().to_owned(),
                split: multi.split,
                weights: Some(multi.paths.iter().map(|path| path.weight).collect()),
                block: multi.block,
                buffer: multi.buffer,
            },
            // The buffers are those of the scenario.
            max_buffered: u64::MAX,
            max_buffered_in_all: u64::MAX,
            ..Config::new(Psk::of(&shared_key(seed)))
        };
        let ways = multi.paths.iter().map(|path| {
            let (name, place) = way(path.via)?;
            Some(Way { name, place, join: Duration::ZERO, leave: None, rejoin: None })
        });
        let ways = ways.collect::<Option<_>>()?;
        let (source, sink) = (config(multi.tcp.sender), config(multi.tcp.receiver));
        Some(Self { source, sink, ways, size: multi.tcp.size })
    }
}
