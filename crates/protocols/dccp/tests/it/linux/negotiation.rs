//! Handshakes with a model of Linux's feature negotiation: the options that it sends, and those
//! that it answers with a Reset. The rules are those of `net/dccp/feat.c` in 6.1; a test compares
//! the options with a Request of Linux's.

use super::{SERVICE, at, config_by, packet};
use Side::{Local, Remote};
use bytes::Bytes;
use fairwave_dccp::{Config, Connection, Event, Feature, Input, Packet, Standard, State};
use fairwave_machine::Machine;
use fairwave_wire::dccp::{Header, Kind, Options, ResetCode, Seq48, Side, Value};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::seal::Key;
use std::collections::BTreeMap;

const CCID: u8 = 1;
const SHORT_SEQNOS: u8 = 2;
const ECN_INCAPABLE: u8 = 4;
const ACK_RATIO: u8 = 5;
const ACK_VECTOR: u8 = 6;
const NDP_COUNT: u8 = 7;
const LOSS_EVENT_RATE: u8 = 192;
/// Features that Linux knows.
const KNOWN: [u8; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, LOSS_EVENT_RATE];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The Change was not sent yet.
    Initialising,
    Changing,
    Stable,
}

/// A feature that Linux has an opinion of, or owes an answer about.
#[derive(Clone, Debug)]
struct Entry {
    list: Vec<u8>,
    stage: Stage,
    mandatory: bool,
    owes_confirm: bool,
    is_empty: bool,
}

/// Linux's half of a negotiation in the handshake.
#[derive(Debug)]
struct Linux {
    is_server: bool,
    entries: BTreeMap<(u8, u8), Entry>,
}

const fn other(side: Side) -> Side {
    match side {
        Local => Remote,
        Remote => Local,
    }
}

/// The first entry of the server's list that the client's has too.
fn shared(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|value| client.contains(value))
}

impl Linux {
    /// A socket with these congestion control profiles in both directions.
    fn new(is_server: bool, ccids: &[u8]) -> Self {
        let mut linux = Self { is_server, entries: BTreeMap::new() };
        linux.want(SHORT_SEQNOS, Local, &[0], true);
        linux.want(ECN_INCAPABLE, Local, &[1], true);
        linux.want(CCID, Local, ccids, false);
        linux.want(CCID, Remote, ccids, false);
        // With several profiles the dependent features are left to the server.
        if let [ccid] = ccids {
            linux.depend(*ccid, Local);
            linux.depend(*ccid, Remote);
        }
        linux
    }

    fn want(&mut self, feature: u8, side: Side, list: &[u8], mandatory: bool) {
        let entry = Entry {
            list: list.to_vec(),
            stage: Stage::Initialising,
            mandatory,
            owes_confirm: false,
            is_empty: false,
        };
        self.entries.insert((feature, side as u8), entry);
    }

    /// Features that go with a profile of the data that `side` sends.
    fn depend(&mut self, ccid: u8, side: Side) {
        match (ccid, side) {
            (2, side) => self.want(ACK_VECTOR, other(side), &[1], true),
            (3, Local) => {
                self.want(ACK_VECTOR, Remote, &[0], false);
                self.want(LOSS_EVENT_RATE, Remote, &[1], true);
                self.want(ACK_RATIO, Local, &[0, 0], false);
                self.want(NDP_COUNT, Local, &[1], false);
            }
            (3, Remote) => {
                self.want(ACK_VECTOR, Local, &[0], false);
                self.want(LOSS_EVENT_RATE, Local, &[1], true);
                self.want(NDP_COUNT, Remote, &[1], true);
            }
            _ => panic!("Linux has no CCID {ccid}"),
        }
    }

    /// A server resolves the dependent features when it makes its Response.
    fn depend_on_agreed(&mut self) {
        for side in [Remote, Local] {
            let ccid = self.entries.get(&(CCID, side as u8)).map_or(2, |entry| entry.list[0]);
            self.depend(ccid, side);
        }
    }

    fn write(&mut self) -> Options {
        let mut options = Options::new();
        for ((feature, side), entry) in &mut self.entries {
            let (feature, side) = (*feature, if *side == Local as u8 { Local } else { Remote });
            let mut values = entry.list.clone();
            let value = if entry.owes_confirm {
                if feature != ACK_RATIO && !entry.is_empty {
                    values.insert(0, entry.list[0]);
                }
                Value::Confirm { side, feature, values: &values }
            } else {
                Value::Change { side, feature, values: &values }
            };
            let pushed =
                if entry.mandatory { options.push_mandatory(value) } else { options.push(value) };
            pushed.expect("there is room");
            if entry.stage == Stage::Initialising {
                entry.stage = Stage::Changing;
            }
        }
        self.entries.retain(|_, entry| !entry.owes_confirm || !entry.is_empty);
        options
    }

    /// Reads the options of a handshake's packet; the code of the Reset if it is refused.
    fn read(&mut self, options: &Options) -> Result<(), ResetCode> {
        for item in options.items() {
            match item.value().expect("legal options") {
                Value::Change { side, feature, values } => {
                    self.on_change((feature, other(side)), values, item.mandatory)?;
                }
                Value::Confirm { side, feature, values } => {
                    self.on_confirm((feature, other(side)), values)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn on_change(
        &mut self,
        (feature, side): (u8, Side),
        values: &[u8],
        mandatory: bool,
    ) -> Result<(), ResetCode> {
        let key = (feature, side as u8);
        let is_stated = matches!(feature, 3 | ACK_RATIO);
        let answer = |list: &[u8]| Entry {
            list: list.to_vec(),
            stage: Stage::Stable,
            mandatory: false,
            owes_confirm: true,
            is_empty: list.is_empty(),
        };
        if !KNOWN.contains(&feature) || (is_stated && side == Local) {
            if mandatory {
                return Err(ResetCode::MANDATORY_ERROR);
            }
            self.entries.insert(key, answer(&[]));
            return Ok(());
        }
        let server = self.is_server;
        let Some(entry) = self.entries.get_mut(&key).filter(|_| !is_stated) else {
            let len = if is_stated { values.len() } else { 1 };
            self.entries.insert(key, answer(&values[..len]));
            return Ok(());
        };
        let ours = entry.list.clone();
        let agreed = if server { shared(&ours, values) } else { shared(values, &ours) };
        match agreed {
            Some(value) => prefer(&mut entry.list, value),
            None if mandatory => return Err(ResetCode::MANDATORY_ERROR),
            None if entry.stage == Stage::Initialising => {
                // An empty Confirm saves the connection where the initial value will do.
                let initial = if feature == CCID { 2 } else { 0 };
                if !ours.contains(&initial) {
                    return Err(ResetCode::OPTION_ERROR);
                }
                entry.is_empty = true;
            }
            None => {}
        }
        (entry.owes_confirm, entry.mandatory, entry.stage) = (true, false, Stage::Stable);
        Ok(())
    }

    fn on_confirm(&mut self, (feature, side): (u8, Side), values: &[u8]) -> Result<(), ResetCode> {
        let server = self.is_server;
        let key = (feature, side as u8);
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(()) };
        if entry.stage != Stage::Changing {
            return Ok(());
        }
        let Some((&value, list)) = values.split_first() else {
            // Every end has to know CCID, short numbers and the Sequence Window.
            if feature <= 3 {
                return Err(ResetCode::OPTION_ERROR);
            }
            self.entries.remove(&key);
            return Ok(());
        };
        if feature == ACK_RATIO {
            if values != entry.list {
                return Err(ResetCode::OPTION_ERROR);
            }
        } else {
            let list = if list.is_empty() { values } else { list };
            let ours = &entry.list;
            let agreed = if server { shared(ours, list) } else { shared(list, ours) };
            if agreed != Some(value) {
                return Err(ResetCode::OPTION_ERROR);
            }
            prefer(&mut entry.list, value);
        }
        entry.stage = Stage::Stable;
        Ok(())
    }

    /// Reads the answer to its packet. Linux resets a connection, "Mandatory Error", if one of its
    /// Changes is not answered in the handshake.
    fn answered(&mut self, packet: &Packet<Bytes>) -> Result<(), String> {
        self.read(&packet.options).map_err(|code| format!("{code:?} for {packet:?}"))?;
        let open = self.entries.iter().filter(|(_, entry)| entry.stage != Stage::Stable);
        let open: Vec<_> = open.map(|(key, _)| *key).collect();
        let is_whole = open.is_empty();
        is_whole.then_some(()).ok_or(format!("{open:?} not answered by {packet:?}"))
    }
}

/// Moves a value to the front.
fn prefer(list: &mut [u8], value: u8) {
    if let Some(at) = list.iter().position(|other| *other == value) {
        list.swap(0, at);
    }
}

/// A packet of Linux's, from its port to ours.
fn sent(seq: u64, kind: Kind, options: Options) -> Packet<Bytes> {
    let ports = match kind {
        Kind::Response { .. } => (5001, 0xe80d),
        _ => (0x93ee, 5001),
    };
    let header = Header {
        source_port: ports.0,
        destination_port: ports.1,
        ccval: 0,
        coverage: 0,
        seq: Seq48::new(seq),
        short: false,
        kind,
        options_words: options.words(),
    };
    Packet { header, options, ecn: Ecn::NotEct, payload: None }
}

fn connection(config: Config) -> Connection<Bytes> {
    Connection::new(config, Seq48::new(0x45cf_c8f2_52e2), Box::new(Standard::default()))
}

/// Profiles of our end and of Linux's, and the one that they agree on: the server's first.
fn pairs() -> Vec<(&'static [u8], &'static [u8])> {
    let ours: [&[u8]; 4] = [&[2], &[3], &[3, 2], &[2, 3]];
    let theirs: [&[u8]; 3] = [&[2], &[3], &[2, 3]];
    let all = ours.into_iter().flat_map(|ours| theirs.map(|theirs| (ours, theirs)));
    all.filter(|(ours, theirs)| shared(ours, theirs).is_some()).collect()
}

/// Features of both sides at our end: the profile, and whether there are Ack Vectors.
fn features(connection: &Connection<Bytes>) -> [[u64; 2]; 2] {
    [Feature::Ccid, Feature::SendAckVector]
        .map(|feature| [Local, Remote].map(|side| connection.feature(side, feature)))
}

/// The same as it should be by a profile.
fn by(ccid: u8) -> [[u64; 2]; 2] {
    [[u64::from(ccid); 2], [u64::from(ccid == 2); 2]]
}

#[test]
fn the_model_asks_what_linux_asked() {
    let listed = |options: &Options| {
        let mut items: Vec<_> = options
            .items()
            .filter(|item| matches!(item.value(), Ok(Value::Change { .. })))
            .map(|item| (item.kind, item.data.to_vec(), item.mandatory))
            .collect();
        items.sort();
        items
    };
    let asked = Linux::new(false, &[3]).write();
    assert_eq!(listed(&asked), listed(&packet(super::REQUEST).options));
}

/// A handshake of Linux's client with our listener. Returns the features at its end, unless one of
/// the ends resets the connection.
fn as_client(ours: &[u8], theirs: &[u8], cookie: Option<Key>) -> Result<[[u64; 2]; 2], String> {
    let is_stateless = cookie.is_some();
    let mut linux = Linux::new(false, theirs);
    let mut server = connection(Config { local_port: 5001, cookie, ..config_by(ours) });
    server.handle(at(0), Input::Listen);
    let request = sent(900, Kind::Request { service: SERVICE }, linux.write());
    server.handle(at(1), Input::Packet(request));
    let response = server.poll(at(1)).ok_or("no Response")?;
    linux.answered(&response)?;
    if is_stateless {
        // Linux returns no cookies.
        return Ok(by(shared(ours, theirs).ok_or("nothing shared")?));
    }
    let ack = Kind::Ack { ack: response.header.seq };
    server.handle(at(40), Input::Packet(sent(901, ack, linux.write())));
    outcome(&mut server, State::Open)
}

/// A handshake of our client with Linux's listener.
fn as_server(ours: &[u8], theirs: &[u8]) -> Result<[[u64; 2]; 2], String> {
    let mut linux = Linux::new(true, theirs);
    let ports = Config { local_port: 0xe80d, remote_port: 5001, ..config_by(ours) };
    let mut client = connection(ports);
    client.handle(at(0), Input::Open);
    let request = client.poll(at(0)).ok_or("no Request")?;
    linux.read(&request.options).map_err(|code| format!("{code:?} for {request:?}"))?;
    linux.depend_on_agreed();
    let kind = Kind::Response { ack: request.header.seq, service: SERVICE };
    client.handle(at(40), Input::Packet(sent(700, kind, linux.write())));
    let ack = client.poll(at(40)).ok_or("no Ack")?;
    linux.answered(&ack)?;
    outcome(&mut client, State::PartOpen)
}

fn outcome(end: &mut Connection<Bytes>, state: State) -> Result<[[u64; 2]; 2], String> {
    let failures: Vec<_> = std::iter::from_fn(|| end.event())
        .filter(|event| !matches!(event, Event::Established))
        .collect();
    match failures.is_empty() && end.state() == state {
        true => Ok(features(end)),
        false => Err(format!("{failures:?} in {:?}", end.state())),
    }
}

/// Pairs of profiles with another outcome than the server's choice.
fn faults(
    we_serve: bool,
    run: impl Fn(&[u8], &[u8]) -> Result<[[u64; 2]; 2], String>,
) -> Vec<String> {
    let judge = |(ours, theirs): (&[u8], &[u8])| {
        let found = run(ours, theirs);
        let agreed = if we_serve { shared(ours, theirs) } else { shared(theirs, ours) };
        let wanted = by(agreed?);
        let is_right = match (&found, ours) {
            (Ok(found), [_]) => *found == wanted,
            // With several profiles of ours Ack Vectors are asked for before one is agreed.
            (Ok(found), _) => found[0] == wanted[0],
            (Err(_), _) => false,
        };
        (!is_right).then(|| format!("ours {ours:?}, Linux's {theirs:?}: {found:?}"))
    };
    pairs().into_iter().filter_map(judge).collect()
}

/// Its Request asks for CCID 3 without Ack Vectors; Ack Vectors asked for in the Response had it
/// reset the connection.
#[test]
fn linux_as_a_client_goes_through_the_handshake() {
    assert_eq!(faults(true, |ours, theirs| as_client(ours, theirs, None)), [""; 0]);
}

#[test]
fn linux_as_a_client_of_a_listener_without_state_is_not_reset() {
    let key = Key::new(b"sixteen bytes it").expect("long enough");
    assert_eq!(faults(true, |ours, theirs| as_client(ours, theirs, Some(key.clone()))), [""; 0]);
}

#[test]
fn linux_as_a_server_goes_through_the_handshake() {
    assert_eq!(faults(false, as_server), [""; 0]);
}

/// The feature by which an end heeds notices of handovers: Fairwave's, which Linux does not know.
const HEED_HANDOVERS: u8 = 248;

/// An end by CCID 3 that asks for that feature.
fn notifying(local_port: u16, remote_port: u16) -> Connection<Bytes> {
    let mut profiles = Standard::default();
    profiles.tfrc_sender.remedies.notify = true;
    let config = Config { local_port, remote_port, ..config_by(&[3]) };
    Connection::new(config, Seq48::new(0x45cf_c8f2_52e2), Box::new(profiles))
}

fn asks(packet: &Packet<Bytes>) -> bool {
    let is_question =
        |value| matches!(value, Value::Change { side: Remote, feature: HEED_HANDOVERS, .. });
    packet.options.values().any(is_question)
}

/// Whether an end asks for the feature within a minute in which nothing arrives.
fn asks_again(end: &mut Connection<Bytes>, since: u64) -> bool {
    let mut asked = false;
    while let Some(next) = end.deadline().filter(|next| *next <= at(since + 60_000)) {
        end.wake(next);
        asked |= std::iter::from_fn(|| end.poll(next)).any(|packet| asks(&packet));
    }
    asked
}

/// Linux's answer to the question. It comes once the profile is agreed, when Linux's connection is
/// established: there Linux reads no features with preferences, and confirms an unknown one empty,
/// but as the other end's (`Confirm R`). The question is repeated, at most 64 s apart.
fn survives(end: &mut Connection<Bytes>, question: &Packet<Bytes>, seq: u64) {
    assert!(asks(question), "{question:?}");
    let mut options = Options::new();
    let confirm = Value::Confirm { side: Remote, feature: HEED_HANDOVERS, values: &[] };
    options.push(confirm).expect("there is room");
    let header = question.header;
    let mut answer = sent(seq, Kind::Ack { ack: header.seq }, options);
    answer.header.source_port = header.destination_port;
    answer.header.destination_port = header.source_port;
    end.handle(at(80), Input::Packet(answer));
    assert_eq!(outcome(end, State::Open), Ok(by(3)));
    assert!(asks_again(end, 80));
    assert_eq!(end.feature(Remote, Feature::HeedHandovers), 0);
    assert_eq!(outcome(end, State::Open), Ok(by(3)));
}

#[test]
fn linux_as_a_client_does_not_know_our_feature() {
    let mut linux = Linux::new(false, &[3]);
    let mut server = notifying(5001, 0);
    server.handle(at(0), Input::Listen);
    let request = sent(900, Kind::Request { service: SERVICE }, linux.write());
    server.handle(at(1), Input::Packet(request));
    let response = server.poll(at(1)).expect("a Response");
    linux.answered(&response).expect("it is not refused");
    let ack = Kind::Ack { ack: response.header.seq };
    server.handle(at(40), Input::Packet(sent(901, ack, linux.write())));
    let question = server.poll(at(40)).expect("an Ack");
    survives(&mut server, &question, 902);
}

#[test]
fn linux_as_a_server_does_not_know_our_feature() {
    let mut linux = Linux::new(true, &[3]);
    let mut client = notifying(0xe80d, 5001);
    client.handle(at(0), Input::Open);
    let request = client.poll(at(0)).expect("a Request");
    linux.read(&request.options).expect("it is not refused");
    linux.depend_on_agreed();
    let kind = Kind::Response { ack: request.header.seq, service: SERVICE };
    client.handle(at(40), Input::Packet(sent(700, kind, linux.write())));
    let question = client.poll(at(40)).expect("an Ack");
    survives(&mut client, &question, 701);
}
