//! SHAKE flows: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::keys::{Kind, keys};
use crate::kinds::{self, boolean, choice, count, counted, named, text, ticks, within};
use crate::limits::{DAY, GIB};
use crate::path_list::{EXAMPLE, Via, paths};
use crate::reader::{self, Reader};
use fairwave_shake::{
    GROWTHS, LossDetection, Named, Profile, RETRANSMISSION_PATHS, RetransmissionPath, SCHEDULERS,
    TimeoutRule,
};
use fairwave_sim::world::{self, ShakeFormat};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Bytes, Duration};

keys! {
    /// One connection opened by `from` over several paths (TCP SHAKE). Defaults are those of the
    /// profile; the stated ones are those of "modern".
    pub struct Shake |r| {
        let profile = r.peek("profile", reader::choice(PROFILES)).unwrap_or(Profile::Modern);
        let (config, rules) = (profile.config(), profile.rules());
        let ssthresh = Some(config.initial_ssthresh).filter(|bytes| *bytes < u32::MAX);
        /// Amount of data to send, or "unlimited".
        size: Option<Bytes> = within(Bytes(1), Bytes(1 << 50)).or_word("unlimited").or(None);
        /// Its paths, numbered from 0: a list of tables.
        paths: Vec<SharedPath> = paths(()).required(EXAMPLE);
        /// Profile that sets the defaults of the other keys: "paper", or "modern".
        profile: Profile = choice(PROFILES).or(Profile::Modern);
        /// Format of messages: Fairwave's own in "udp" datagrams, or "tcp" segments with a header
        /// of 20 bytes and the SACK option, as in the paper.
        format: ShakeFormat = choice(FORMATS).or(ShakeFormat::Udp);
        /// Path for new data.
        scheduler: String = part(SCHEDULERS).or(rules.scheduler.name().to_owned());
        /// Growth of windows: each path for itself, or coupled.
        growth: String = part(GROWTHS).or(rules.growth.name().to_owned());
        /// Path for retransmissions.
        retransmission: RetransmissionPath = retransmissions().or(config.retransmission);
        /// Acknowledge selectively.
        sack: bool = boolean().or(config.sack_blocks > 0);
        /// Rule for the segments in flight on a path, which keep its timer running: "counts" of
        /// segments sent and acknowledgements received there, as in the paper, or "arrivals" known
        /// from any path. Counts only where the profile counts `duplicates`, and not with the
        /// scheduler "redundant".
        timeouts: TimeoutRule = choice(TIMEOUTS).or(usual_timeouts(profile, &scheduler));
        /// A timeout of one path sends again, from the first unacknowledged byte on, all that SACK
        /// has not reported, whichever path carries it. Without SACK it always does.
        timeout_rewinds: bool = boolean().or(config.timeout_rewinds);
        /// Largest segment payload; headers take 80 bytes more, 40 with `format = "tcp"`.
        mss: u32 = kinds::size(64, 2216).or(config.mss);
        /// Send buffer.
        send_buffer: u32 = kinds::size(2304, GIB).or(config.send_buffer);
        /// Receive buffer.
        receive_buffer: u32 = kinds::size(2304, GIB).or(config.receive_buffer);
        /// Window of a path at its start.
        initial_window: u32 =
            counted("segments", 1, 1000).or(config.initial_window / config.mss);
        /// Slow start threshold of a path at its start, or "unlimited".
        initial_ssthresh: Option<u32> = kinds::size(1, GIB).or_word("unlimited").or(ssthresh);
        /// Acknowledgements in a row that do not advance, over all paths, which mean a loss. Only
        /// where the profile counts them, as "paper" does.
        duplicates: Option<u32> = count(1, 255)
            .or(duplicates(profile).or_else(|| duplicates(Profile::Paper)).unwrap_or_default())
            .when(
                duplicates(profile).is_some(),
                format!("profile {:?} finds losses path by path", profile.name()),
            );
        /// Tick in which round-trip times are measured and retransmission timers expire, or "off":
        /// exactly.
        timer_tick: Option<Duration> =
            ticks().or(Some(config.tick).filter(|tick| !tick.is_zero()));
        /// Retransmit lost data on the next best path while the chosen one's window is full.
        spills: bool = boolean().or(config.retransmission_spills);
        /// Spread a path's segments over its round-trip time.
        pacing: bool = boolean().or(config.pacing);
        /// Repeat data held back by another path on one that could send.
        opportunistic: bool = boolean().or(config.opportunistic);
    }
    check Self::check;
}

keys! {
    /// A path of a flow: the way that passes a node.
    pub struct SharedPath |r| {
        /// The node that its packets go to first, in both directions, and from there on to the
        /// other end: a neighbour, an access point, a gateway.
        via: String = text().required("via = \"phone1\"");
        /// Its bandwidth as configured at `from`, or "unknown".
        bandwidth: Option<BitRate> =
            within(BitRate(1_000), BitRate::mbps(1_000_000)).or_word("unknown").or(None);
        /// Time at which `from` joins it, counted from the flow's start.
        join: Duration = within(Duration::ZERO, DAY).or(Duration::ZERO);
        /// Time at which `from` leaves it, counted from the flow's start, or "never".
        leave: Option<Duration> = within(Duration::ZERO, DAY).or_word("never").or(None);
        /// Time at which `from` joins it again after it has left it, counted from the flow's start,
        /// or "never".
        rejoin: Option<Duration> = within(Duration::ZERO, DAY).or_word("never").or(None);
    }
}

impl Via for SharedPath {
    fn via(&self) -> &str {
        &self.via
    }

    fn refused(&self) -> Option<Refusal> {
        if let Some(leave) = self.leave.filter(|leave| *leave <= self.join) {
            let message = format!("the path is left at {leave} and joined at {}", self.join);
            return Some(Refusal::new(message).help("a path is joined first"));
        }
        let rejoin = self.rejoin.filter(|rejoin| self.leave.is_none_or(|at| at >= *rejoin))?;
        let left = self.leave.map_or_else(|| "never left".to_owned(), |at| format!("left at {at}"));
        let message = format!("the path is joined again at {rejoin} and {left}");
        Some(Refusal::new(message).help("a path is left before it is joined again"))
    }
}

const PROFILES: &[(&str, Profile)] =
    &[(Profile::Paper.name(), Profile::Paper), (Profile::Modern.name(), Profile::Modern)];

const FORMATS: &[(&str, ShakeFormat)] = &[("udp", ShakeFormat::Udp), ("tcp", ShakeFormat::Tcp)];

const TIMEOUTS: &[(&str, TimeoutRule)] =
    &[("counts", TimeoutRule::Counts), ("arrivals", TimeoutRule::Arrivals)];

/// Whether a flow knows the fate of each message, so that its paths cannot count.
fn follows_messages(profile: Profile, scheduler: &str) -> Option<String> {
    let is_redundant =
        fairwave_shake::scheduler(scheduler).is_some_and(|known| known.is_redundant());
    if is_redundant {
        return Some(format!("scheduler {scheduler:?} detects losses path by path"));
    }
    let name = profile.name();
    duplicates(profile).is_none().then(|| format!("profile {name:?} detects losses path by path"))
}

/// The rule of the profile, where it can act.
fn usual_timeouts(profile: Profile, scheduler: &str) -> TimeoutRule {
    let usual = profile.config().timeouts;
    if follows_messages(profile, scheduler).is_some() { TimeoutRule::Arrivals } else { usual }
}

impl Shake {
    fn check(&self, r: &Reader<'_>) {
        let Some(why) = follows_messages(self.profile, &self.scheduler) else { return };
        if self.timeouts == TimeoutRule::Counts {
            let message = format!("counts have no meaning here: {why}");
            r.refuse("timeouts", Refusal::new(message).help("write timeouts = \"arrivals\""));
        }
    }
}

/// An entry of a list of parts, by its name.
fn part<T>(list: &'static [Named<T>]) -> Kind<String> {
    let names: Vec<&str> = list.iter().map(|known| known.name).collect();
    named(names, |written| format!("{written:?} is unknown"))
}

fn retransmissions() -> Kind<RetransmissionPath> {
    let known = |name: &str| RETRANSMISSION_PATHS.iter().find(|known| known.name == name);
    let usual = RETRANSMISSION_PATHS[0].part;
    let name = |part: &RetransmissionPath| {
        let known = RETRANSMISSION_PATHS.iter().find(|known| known.part == *part);
        known.map_or("", |known| known.name).to_owned()
    };
    part(RETRANSMISSION_PATHS).map(move |name| known(&name).map_or(usual, |known| known.part), name)
}

/// The threshold of duplicates of a profile that counts them.
fn duplicates(profile: Profile) -> Option<u32> {
    match profile.config().loss_detection {
        LossDetection::Duplicates(threshold) => Some(threshold),
        _ => None,
    }
}

impl Carrier for Shake {
    fn to_world(&self, id: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let usual = self.profile.config();
        let config = world::ShakeConfig {
            mss: self.mss,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            initial_window: self.initial_window * self.mss,
            initial_ssthresh: self.initial_ssthresh.unwrap_or(u32::MAX),
            loss_detection: self.duplicates.map_or(usual.loss_detection, LossDetection::Duplicates),
            sack_blocks: if self.sack { usual.sack_blocks } else { 0 },
            timeouts: self.timeouts,
            timeout_rewinds: self.timeout_rewinds,
            retransmission: self.retransmission,
            retransmission_spills: self.spills,
            tick: self.timer_tick.unwrap_or_default(),
            pacing: self.pacing,
            opportunistic: self.opportunistic,
            ..usual
        };
        let path = |path: &SharedPath| world::ShakePath {
            via: id(&path.via),
            nominal: path.bandwidth,
            join: path.join,
            leave: path.leave,
            rejoin: path.rejoin,
        };
        world::Traffic::Shake(world::ShakeFlow {
            config,
            format: self.format,
            scheduler: self.scheduler.clone().into(),
            growth: self.growth.clone(),
            size: self.size,
            paths: self.paths.iter().map(path).collect(),
        })
    }

    fn vias(&self) -> Vec<&str> {
        self.paths.iter().map(Via::via).collect()
    }
}
