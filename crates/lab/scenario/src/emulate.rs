//! Inputs of the emulator beside the simulated scenario: the tables `[emulate]` and
//! `[[program]]`.

use crate::diagnostic::Refusal;
use crate::keys::{Kind, keys};
use crate::kinds::{self, boolean, choice, list, pattern, size, text, within};
use crate::limits::{DAY, MICROSECOND, MILLISECOND, NANOSECOND, SECOND};
use crate::reader::{self, Read, Reader, wrong_type};
use crate::value::{Data, Value};
use fairwave_units::Duration;
use serde_json::json;

/// The maximum length of a congestion control's name in the kernel (`TCP_CA_NAME_MAX` less its
/// final zero).
const MAX_CONGESTION_CONTROL: usize = 15;

keys! {
    /// Settings of `fairwave emulate`. Nothing here changes a simulation.
    pub struct Emulate [Eq] |r| {
        /// Nodes that become network namespaces, whose packets are those of real programs;
        /// patterns such as `"sta*"` may be among them. `"*"` stands for all stations and hosts.
        nodes: Vec<String> = kinds::nodes().or(vec!["*".to_owned()]);
        /// Flows that sockets of the kernel carry instead of the simulated ones; patterns such as
        /// `"up*"` may be among them, and `"*"` stands for all flows. They are TCP, UDP, buffer
        /// probes, DCCP as of `fairwave dccp`, SHAKE or multi-connection SHAKE as of
        /// `fairwave shake`.
        kernel_flows: Vec<String> = kinds::nodes().or(Vec::new());
        /// Congestion control algorithms of the machine's kernel for flows that its sockets carry,
        /// by the kernel's names and instead of the counterparts of the scenario's, as in
        /// `"up*=bbr"`. Of several for one flow the last counts.
        kernel_congestion_control: Vec<String> = kernel_congestion_control().or(Vec::new());
        /// Whether the kernel's MPTCP (RFC 8684) carries the flows of SHAKE among `kernel_flows`
        /// over their paths, and the kernel's TCP those of a single path, instead of Fairwave's own
        /// code. Their algorithm is "reno" if `kernel_congestion_control` names no other.
        mptcp: bool = boolean().or(false);
        /// Whether the run ends as soon as all of `kernel_flows` have ended, if that is before its
        /// duration: flows with a size end when it has been delivered.
        ends_when_idle: bool = boolean().or(false);
        /// State of a real station's device while the station is between two access points:
        /// "no-carrier", and the kernel drops what its programs send; "dormant", where programs see
        /// as well that the device does not run, but their packets pass, and wait in the station's
        /// queue; or "up": programs see nothing.
        away: Away = choice(AWAY).or(Away::NoCarrier);
        /// MTU of the devices, which are called `fw0`.
        mtu: u32 = size(1280, 9000).or(1500);
        /// Whether the kernel may hand over segments larger than the MTU, which are cut as a
        /// network card would, and may leave checksums to that. Faster; on the air nothing changes.
        offload: bool = boolean().or(true);
        /// Stay awake for this long before each event and after each packet, or "off".
        /// It makes the emulator more punctual and takes a whole processor.
        busy_wait: Option<Duration> =
            within(NANOSECOND, MILLISECOND * 10).or_word("off").or(None);
        /// The run is invalid if one event or packet in a hundred is later than this.
        lateness_limit: Duration = within(MICROSECOND, SECOND).or(MILLISECOND);
        /// Settings of the kernel in each namespace, as in
        /// `"net.ipv4.tcp_rmem=4096 131072 6291456"`.
        sysctls: Vec<String> = sysctls().or(Vec::new());
    }
}

keys! {
    /// A program that `fairwave emulate` starts in a node's namespace. It ends with the run at the
    /// latest; the run fails if it ends by itself with another status than 0.
    pub struct Program [Eq] |r| {
        /// The node, or a pattern such as `"sta*"`: then each of them has one.
        node: String = pattern().required("node = \"sta1\"");
        /// Command for a shell there. Names of nodes resolve to their addresses.
        command: String = text().required("command = \"iperf3 -c server\"");
        /// Start time.
        start: Duration = within(Duration::ZERO, DAY).or(Duration::ZERO);
        /// Time at which it is ended, or "never": then it ends with the run.
        stop: Option<Duration> = within(NANOSECOND, DAY).or_word("never").or(None);
    }
    check Self::check;
}

/// State of a station's device while the station has no access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// It has no carrier.
    NoCarrier,
    /// It is dormant (RFC 2863).
    Dormant,
    /// It runs.
    Up,
}

const AWAY: &[(&str, Away)] =
    &[("no-carrier", Away::NoCarrier), ("dormant", Away::Dormant), ("up", Away::Up)];

impl Emulate {
    /// [`Self::kernel_congestion_control`] as pattern of flows and algorithm.
    pub fn algorithms(&self) -> impl Iterator<Item = (&str, &str)> {
        let split = self.kernel_congestion_control.iter().filter_map(|text| text.split_once('='));
        split.map(|(flow, algorithm)| (flow.trim(), algorithm.trim()))
    }
}

impl Program {
    fn check(&self, r: &Reader<'_>) {
        if self.command.trim().is_empty() {
            r.refuse("command", Refusal::new("there is nothing to run"));
        }
        if self.stop.is_some_and(|stop| stop <= self.start) {
            let message = format!("it is not after the start at {}", self.start);
            r.refuse("stop", Refusal::new(message));
        }
    }
}

/// A list of `FLOW=ALGORITHM`.
fn kernel_congestion_control() -> Kind<Vec<String>> {
    let read = |value: &Value| -> Read<Vec<String>> {
        match &value.data {
            Data::List(list) => list.iter().map(flows_and_algorithm).collect(),
            _ => Err(wrong_type(value, "a list such as [\"up*=bbr\"]")),
        }
    };
    list(read, |algorithm| json!(algorithm), || json!({ "type": "string" }))
}

/// `FLOW=ALGORITHM`, with a name that the kernel can have.
fn flows_and_algorithm(value: &Value) -> Read<String> {
    let text = reader::text(value)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = |algorithm: &str| {
        !algorithm.is_empty()
            && algorithm.len() <= MAX_CONGESTION_CONTROL
            && algorithm.chars().all(plain)
    };
    match text.split_once('=') {
        Some((flow, algorithm)) if !flow.trim().is_empty() && is_name(algorithm.trim()) => Ok(text),
        _ => {
            let help = "as in \"up*=bbr\"; the kernel's names have at most 15 characters";
            Err(Refusal::new(format!("{text:?} gives no flow an algorithm of the kernel"))
                .help(help))
        }
    }
}

/// A list of `key=value`, with keys of the kernel's network settings.
fn sysctls() -> Kind<Vec<String>> {
    let read = |value: &Value| -> Read<Vec<String>> {
        match &value.data {
            Data::List(list) => list.iter().map(sysctl).collect(),
            _ => Err(wrong_type(value, "a list such as [\"net.ipv4.tcp_sack=0\"]")),
        }
    };
    list(read, |setting| json!(setting), || json!({ "type": "string" }))
}

/// `net.KEY=VALUE`. A namespace has settings of its own below `net` alone.
fn sysctl(value: &Value) -> Read<String> {
    let setting = reader::text(value)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let is_key =
        |key: &str| key.starts_with("net.") && key.chars().all(plain) && !key.contains("..");
    match setting.split_once('=') {
        Some((key, value)) if is_key(key.trim()) && !value.trim().is_empty() => Ok(setting),
        _ => {
            let help = "as in \"net.ipv4.tcp_sack=0\"; a namespace has none but those of `net`";
            Err(Refusal::new(format!("{setting:?} is no setting of a namespace")).help(help))
        }
    }
}
