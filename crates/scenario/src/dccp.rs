//! DCCP flows: their keys, and from those to what the simulator runs.

use super::diagnostic::Refusal;
use super::model::or_never;
use super::reader::{self, Reader};
use super::traffic::{self, TRAFFIC_KEYS, Udp};
use super::value::{Data, Value};
use fairwave_sim::world;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::path::Path;

const HOUR: Duration = Duration::from_secs(3600);
/// Datagrams that wait in a connection, at most.
const MOST_WAITING: u32 = 100_000;

/// Keys of DCCP flows that are not keys of all flows, beside those of sources.
pub(super) const OWN_KEYS: &[&str] =
    &["ccid", "profile", "send_queue", "send_within", "sequence_window", "remedies"];

/// A flow over one DCCP connection opened by `from`, whose source's datagrams wait in the
/// connection until its congestion control lets them go.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dccp {
    /// Congestion control profile: 2 (like TCP), 3 (TFRC) or 4 (TFRC for small packets). Default:
    /// 3.
    pub ccid: u32,
    /// Edition of TFRC, "rfc5348" or "rfc3448". Not for CCID 2. Default: "rfc5348".
    #[serde(serialize_with = "profile", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["rfc5348", "rfc3448"]))]
    pub profile: Option<world::TfrcProfile>,
    /// Datagrams that wait in the connection, up to 100 000; those that find no room are lost.
    /// Default: "5 packets", as in Linux.
    #[serde(serialize_with = "packets")]
    #[schemars(with = "String")]
    pub send_queue: u32,
    /// Datagrams that have waited longer are not sent any more, 1 ms to 1 h, or "never". Default:
    /// "never".
    #[serde(serialize_with = "or_never")]
    #[schemars(with = "String")]
    pub send_within: Option<Duration>,
    /// Packets that either end may have in flight at the beginning, 32 to 1 000 000: what is
    /// further away is not believed (RFC 4340 section 7.5.2). It is widened to five times what is
    /// under way. Default: "1000 packets".
    #[serde(serialize_with = "packets")]
    #[schemars(with = "String")]
    pub sequence_window: u32,
    /// What the congestion control does about handovers of a station at either end, of which it is
    /// not told otherwise: "ahead" takes over the rate that is free at the new access point,
    /// "leave-out" ignores what was observed before and meanwhile, "sensitive" weighs the new for a
    /// while, "restart" begins anew. Not for CCID 2. Default: none.
    #[serde(serialize_with = "remedies")]
    #[schemars(with = "Vec<String>")]
    pub remedies: Vec<Remedy>,
    /// Where its datagrams come from.
    #[serde(flatten)]
    pub source: Udp,
}

/// What a congestion control does about handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A of Otsuka, Tamura and Ishihara.
    Ahead,
    /// B.
    LeaveOut,
    /// C.
    Sensitive,
    /// Fairwave's.
    Restart,
}

const REMEDIES: &[(&str, Remedy)] = &[
    ("ahead", Remedy::Ahead),
    ("leave-out", Remedy::LeaveOut),
    ("sensitive", Remedy::Sensitive),
    ("restart", Remedy::Restart),
];

const PROFILES: &[(&str, world::TfrcProfile)] =
    &[("rfc5348", world::TfrcProfile::Rfc5348), ("rfc3448", world::TfrcProfile::Rfc3448)];

fn profile<S: Serializer>(value: &Option<world::TfrcProfile>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(value.as_ref().map_or("", |profile| reader::word(PROFILES, profile)))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn packets<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&format!("{value} packets"))
}

fn remedies<S: Serializer>(value: &[Remedy], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(value.iter().map(|remedy| reader::word(REMEDIES, remedy)))
}

fn listed(value: &Value) -> reader::Read<Vec<Remedy>> {
    let Data::List(values) = &value.data else {
        return Err(reader::wrong_type(value, "a list such as [\"leave-out\"]"));
    };
    let read = reader::choice(REMEDIES);
    let mut list = Vec::new();
    for value in values {
        let remedy = read(value)?;
        if list.contains(&remedy) {
            let word = reader::word(REMEDIES, &remedy);
            return Err(Refusal::new(format!("{word:?} stands twice")));
        }
        list.push(remedy);
    }
    Ok(list)
}

/// Reads a DCCP flow; files are sought from `base`.
pub(super) fn dccp(r: &Reader<'_>, base: &Path) -> Option<Dccp> {
    let ccid = r.or("ccid", 3, reader::count(2, 4));
    let is_tfrc = ccid != 2;
    if !is_tfrc {
        r.meaningless(&["profile", "remedies"], "CCID 2 is not TFRC");
        r.know(&["profile", "remedies"]);
    }
    let profile =
        is_tfrc.then(|| r.or("profile", world::TfrcProfile::Rfc5348, reader::choice(PROFILES)));
    let remedies = if is_tfrc { r.or("remedies", Vec::new(), listed) } else { Vec::new() };
    let waiting = reader::counted("packets", 1, MOST_WAITING);
    let within = reader::within(Duration::from_millis(1), HOUR);
    let send_queue = r.or("send_queue", 5, waiting);
    let send_within = r.or("send_within", None, reader::or_word("never", within));
    let window = reader::counted("packets", 32, 1_000_000);
    let sequence_window = r.or("sequence_window", 1000, window);
    let source = traffic::udp(r, base)?;
    Some(Dccp { ccid, profile, send_queue, send_within, sequence_window, remedies, source })
}

/// Every key of DCCP flows that is not one of all flows.
pub(super) fn keys() -> Vec<&'static str> {
    [OWN_KEYS, TRAFFIC_KEYS].concat()
}

impl Dccp {
    pub(super) fn to_world(&self) -> world::Traffic {
        let has = |remedy| self.remedies.contains(&remedy);
        let remedies = world::Remedies {
            set_ahead: has(Remedy::Ahead),
            leave_out: has(Remedy::LeaveOut),
            sensitive: has(Remedy::Sensitive).then_some(world::Sensitivity::Discount(0.25)),
            restart: has(Remedy::Restart),
        };
        let source = match self.source.to_world() {
            world::Traffic::Datagrams(source) => Some(source),
            _ => None,
        };
        world::Traffic::Dccp(world::DccpFlow {
            ccid: world::Ccid(self.ccid as u8),
            profile: self.profile.unwrap_or_default(),
            remedies,
            source,
            payload_bytes: self.source.payload.unwrap_or_default(),
            send_queue: self.send_queue,
            send_within: self.send_within,
            sequence_window: self.sequence_window.into(),
        })
    }
}
