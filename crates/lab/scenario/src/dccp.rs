//! DCCP flows: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::keys::{Flat, Kind, keys};
use crate::kinds::{choice, count, counted, list, within};
use crate::limits::{HOUR, MILLISECOND};
use crate::reader::{self, Read};
use crate::udp::Udp;
use crate::value::{Data, Value};
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::Duration;
use serde_json::json;
use std::path::PathBuf;

/// Datagrams that wait in a connection, at most.
const MAX_WAITING: u32 = 100_000;

keys! {
    /// A flow over one DCCP connection opened by `from`, whose source's datagrams wait in the
    /// connection until its congestion control lets them go.
    pub struct Dccp |r| (base: PathBuf = PathBuf::new()) {
        /// Congestion control profile: 2 (like TCP), 3 (TFRC) or 4 (TFRC for small packets).
        ccid: u32 = count(2, 4).or(3);
        /// Edition of TFRC. Not for CCID 2.
        profile: Option<world::TfrcProfile> =
            choice(PROFILES).or(world::TfrcProfile::Rfc5348).when(ccid != 2, "CCID 2 is not TFRC");
        /// Rate of the interval before the first loss: "reported" is the largest reported receive
        /// rate (RFC 5348), "measured" that of the last round trip (RFC 3448), "counted" the
        /// packets that came before the loss; "edition" follows `profile`. Not for CCID 2.
        first_interval: Option<world::FirstInterval> = choice(FIRST_INTERVALS)
            .or_word("edition")
            .or(None)
            .terse()
            .only_if(ccid != 2, "CCID 2 is not TFRC", None);
        /// Capacity for datagrams that wait in the connection; datagrams beyond it are lost. The
        /// default is that of Linux.
        send_queue: u32 = counted("packets", 1, MAX_WAITING).or(5);
        /// Datagrams that have waited longer are discarded, or "never".
        send_within: Option<Duration> = within(MILLISECOND, HOUR).or_word("never").or(None);
        /// Packets that either end may have in flight at the beginning: packets further away are
        /// not accepted (RFC 4340 section 7.5.2). It is widened to five times the packets in
        /// flight.
        sequence_window: u32 = counted("packets", 32, 1_000_000).or(1000);
        /// Reaction of the congestion control to handovers of a station at either end: "ahead" sets
        /// the rate that is free at the new access point before the station leaves, "on-arrival"
        /// when it is there; with "leave-out" the receiver is notified and leaves observations from
        /// before and during it out of its feedback, with "leave-out-sender" the sender alone
        /// ignores them; "sensitive" gives new ones more weight for a while; "restart" begins anew.
        /// Not for CCID 2.
        remedies: Vec<Remedy> =
            remedies().or(Vec::new()).terse().only_if(ccid != 2, "CCID 2 is not TFRC", Vec::new());
        /// Source of its datagrams.
        source: Udp = Flat(base.clone());
    }
}

/// Reaction of a congestion control to handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A of Otsuka, Tamura and Ishihara.
    Ahead,
    /// A', Fairwave's: the rate is set at the new access point.
    OnArrival,
    /// B.
    LeaveOut,
    /// B', Fairwave's: at the sender alone.
    LeaveOutSender,
    /// C.
    Sensitive,
    /// Fairwave's.
    Restart,
}

const REMEDIES: &[(&str, Remedy)] = &[
    ("ahead", Remedy::Ahead),
    ("on-arrival", Remedy::OnArrival),
    ("leave-out", Remedy::LeaveOut),
    ("leave-out-sender", Remedy::LeaveOutSender),
    ("sensitive", Remedy::Sensitive),
    ("restart", Remedy::Restart),
];

const PROFILES: &[(&str, world::TfrcProfile)] =
    &[("rfc5348", world::TfrcProfile::Rfc5348), ("rfc3448", world::TfrcProfile::Rfc3448)];

const FIRST_INTERVALS: &[(&str, world::FirstInterval)] = &[
    ("reported", world::FirstInterval::Reported),
    ("measured", world::FirstInterval::Measured),
    ("counted", world::FirstInterval::Counted),
];

fn remedies() -> Kind<Vec<Remedy>> {
    list(
        listed,
        |remedy| json!(reader::word(REMEDIES, remedy)),
        || {
            let words: Vec<&str> = REMEDIES.iter().map(|(word, _)| *word).collect();
            json!({ "type": "string", "enum": words })
        },
    )
}

fn listed(value: &Value) -> Read<Vec<Remedy>> {
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

impl Carrier for Dccp {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let has = |remedy| self.remedies.contains(&remedy);
        let remedies = world::Remedies {
            set_ahead: has(Remedy::Ahead),
            on_arrival: has(Remedy::OnArrival),
            notify: has(Remedy::LeaveOut),
            leave_out: has(Remedy::LeaveOutSender),
            sensitive: has(Remedy::Sensitive).then_some(world::Sensitivity::Discount(0.25)),
            restart: has(Remedy::Restart),
        };
        world::Traffic::Dccp(world::DccpFlow {
            ccid: world::Ccid(self.ccid as u8),
            profile: self.profile.unwrap_or_default(),
            first_interval: self.first_interval,
            remedies,
            source: self.source.source(),
            payload_bytes: self.source.payload.unwrap_or_default(),
            send_queue: self.send_queue,
            send_within: self.send_within,
            sequence_window: self.sequence_window.into(),
        })
    }
}
