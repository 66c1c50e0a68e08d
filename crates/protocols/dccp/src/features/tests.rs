//! Negotiations of RFC 4340 section 6.5, option by option, and what section 6.6 says of disorder.

use super::*;
use Side::{Local, Remote};

/// One end: its features, and the numbers it sends.
struct EndOf {
    features: Features,
    seq: u64,
}

impl EndOf {
    fn client() -> Self {
        Self { features: Features::new(false), seq: 100 }
    }

    fn server() -> Self {
        Self { features: Features::new(true), seq: 9000 }
    }

    fn prefer(mut self, side: Side, list: &[u8]) -> Self {
        self.features.prefer(side, Feature::Ccid, list);
        self
    }

    /// What it adds to an acknowledgement at a time.
    fn sends_at(&mut self, seconds: u64) -> (Seq48, Options) {
        self.seq += 1;
        let seq = Seq48::new(self.seq);
        let now = Instant::ZERO + Duration::from_secs(seconds);
        let carrier = Carrier { now, seq, acknowledges: true, handshake: false, rtt: None };
        let mut options = Options::new();
        self.features.write(&carrier, &mut options);
        (seq, options)
    }

    fn sends(&mut self) -> (Seq48, Options) {
        self.sends_at(0)
    }

    /// Takes a packet that acknowledges everything sent so far.
    fn takes(&mut self, packet: &(Seq48, Options)) -> Result<(), Failure> {
        self.takes_acknowledging(packet, self.seq)
    }

    fn takes_acknowledging(&mut self, packet: &(Seq48, Options), ack: u64) -> Result<(), Failure> {
        let (seq, options) = packet;
        let ack = Some(Seq48::new(ack));
        for item in options.items() {
            let (mandatory, seq) = (item.mandatory, *seq);
            let flip = |side| if side == Local { Remote } else { Local };
            match item.value().unwrap() {
                Value::Change { side, feature, values } => {
                    let side = flip(side);
                    let received = Received { seq, ack, mandatory, side, feature, values };
                    self.features.on_change(&received)?;
                }
                Value::Confirm { side, feature, values } => {
                    let side = flip(side);
                    let received = Received { seq, ack, mandatory, side, feature, values };
                    self.features.on_confirm(&received)?;
                }
                other => panic!("{other:?}"),
            }
        }
        self.features.note_packet(*seq);
        Ok(())
    }

    fn ccid(&self, side: Side) -> u64 {
        self.features.value(side, Feature::Ccid)
    }

    fn is_settled(&self, side: Side) -> bool {
        self.features.is_settled(side, Feature::Ccid)
    }
}

fn bytes(packet: &(Seq48, Options)) -> &[u8] {
    packet.1.as_bytes()
}

/// A packet of the other end with these options.
fn raw(seq: u64, bytes: &[u8]) -> (Seq48, Options) {
    (Seq48::new(seq), Options::from_bytes(bytes))
}

/// "Change R(CCID, 2 3 1)", "Confirm L(CCID, 3, 3 2 1)".
#[test]
fn a_packet_without_room_leaves_nothing_that_is_due_at_once() {
    let mut client = EndOf::client().prefer(Local, &[3, 2]);
    let mut server = EndOf::server();
    client.features.negotiate(Remote, Feature::Ccid, &[2, 3], false);
    server.features.negotiate(Remote, Feature::Ccid, &[3, 2], false);
    client.takes(&server.sends()).unwrap();
    assert!(client.features.is_due(Instant::ZERO));
    client.seq += 1;
    let seq = Seq48::new(client.seq);
    let carrier =
        Carrier { now: Instant::ZERO, seq, acknowledges: true, handshake: false, rtt: None };
    let mut options = Options::new();
    while options.push(Value::InitCookie(&[7])).is_ok() {}
    let cookies = options.clone();
    client.features.write(&carrier, &mut options);
    assert_eq!(options, cookies);
    assert!(!client.features.is_due(Instant::ZERO), "it would send packets without end");
    // The Change that did not fit goes later, and the Confirm when the server asks again.
    assert!(client.features.deadline().is_some());
    for _ in 0..6 {
        let packet = client.sends_at(90);
        server.takes(&packet).unwrap();
        client.takes(&server.sends_at(90)).unwrap();
    }
    assert!(!client.features.is_changing() && !server.features.is_changing());
}

#[test]
fn the_first_example() {
    let mut client = EndOf::client();
    let mut server = EndOf::server().prefer(Local, &[3, 2, 1]);
    client.features.negotiate(Remote, Feature::Ccid, &[2, 3, 1], false);
    let change = client.sends();
    assert_eq!(bytes(&change), [34, 6, 1, 2, 3, 1]);
    assert_eq!(client.ccid(Remote), 2, "not before the Confirm");
    server.takes(&change).unwrap();
    let confirm = server.sends();
    assert_eq!(bytes(&confirm), [33, 7, 1, 3, 3, 2, 1]);
    client.takes(&confirm).unwrap();
    assert_eq!((client.ccid(Remote), server.ccid(Local)), (3, 3));
    assert!(client.is_settled(Remote) && !client.features.is_due(Instant::MAX));
    assert!(bytes(&client.sends()).is_empty() && bytes(&server.sends()).is_empty());
}

/// "Change L(CCID, 3 2 1)" is lost and sent again with the same contents.
#[test]
fn the_second_example() {
    let mut client = EndOf::client().prefer(Remote, &[2, 3, 1]);
    let mut server = EndOf::server();
    server.features.negotiate(Local, Feature::Ccid, &[3, 2, 1], false);
    let lost = server.sends();
    assert!(bytes(&server.sends()).is_empty(), "not with every packet");
    assert_eq!(server.features.deadline(), Some(Instant::ZERO + Duration::from_secs(1)));
    let again = server.sends_at(1);
    assert_eq!((bytes(&again), bytes(&lost)), (&[32, 6, 1, 3, 2, 1][..], bytes(&again)));
    assert_eq!(server.features.deadline(), Some(Instant::ZERO + Duration::from_secs(3)));
    client.takes(&again).unwrap();
    let confirm = client.sends();
    assert_eq!(bytes(&confirm), [35, 7, 1, 3, 2, 3, 1]);
    server.takes(&confirm).unwrap();
    assert_eq!((client.ccid(Remote), server.ccid(Local)), (3, 3));
    assert_eq!(server.features.deadline(), None);
}

/// "Change L(Ack Ratio, 3)", "Confirm R(Ack Ratio, 3)": nothing to negotiate.
#[test]
fn the_third_example() {
    let (mut client, mut server) = (EndOf::client(), EndOf::server());
    server.features.state(Feature::AckRatio, 3);
    let change = server.sends();
    assert_eq!(bytes(&change), [32, 5, 5, 0, 3]);
    client.takes(&change).unwrap();
    let confirm = client.sends();
    assert_eq!(bytes(&confirm), [35, 5, 5, 0, 3]);
    server.takes(&confirm).unwrap();
    assert_eq!(client.features.value(Remote, Feature::AckRatio), 3);
    assert_eq!(server.features.value(Local, Feature::AckRatio), 3);
}

/// The simultaneous negotiation.
#[test]
fn the_fourth_example() {
    let (mut client, mut server) = (EndOf::client(), EndOf::server());
    client.features.negotiate(Remote, Feature::Ccid, &[2, 3, 1], false);
    server.features.negotiate(Local, Feature::Ccid, &[3, 2, 1], false);
    let (from_client, from_server) = (client.sends(), server.sends());
    client.takes(&from_server).unwrap();
    server.takes(&from_client).unwrap();
    let (to_server, to_client) = (client.sends(), server.sends());
    assert_eq!(bytes(&to_client), [33, 7, 1, 3, 3, 2, 1]);
    assert_eq!(bytes(&to_server), [35, 7, 1, 3, 2, 3, 1]);
    client.takes(&to_client).unwrap();
    server.takes(&to_server).unwrap();
    assert_eq!((client.ccid(Remote), server.ccid(Local)), (3, 3));
    assert!(client.is_settled(Remote) && server.is_settled(Local));
}

/// RFC 4340 section 6.3.1: without a shared entry the old value stays.
#[test]
fn nothing_shared_changes_nothing() {
    let mut server = EndOf::server().prefer(Local, &[2]);
    server.takes(&raw(5, &[34, 5, 1, 7, 9])).unwrap();
    assert_eq!(bytes(&server.sends()), [33, 5, 1, 2, 2]);
    // Section 6.6.9: unless it was mandatory.
    let failed = server.takes(&raw(6, &[1, 34, 5, 1, 7, 9]));
    assert_eq!(failed, Err(Failure::Mandatory));
}

/// RFC 4340 section 6.6.7.
#[test]
fn unknown_features_are_confirmed_empty() {
    let mut server = EndOf::server();
    server.takes(&raw(5, &[32, 4, 126, 1, 34, 4, 200, 1, 35, 3, 99])).unwrap();
    let mut answers = bytes(&server.sends()).to_vec();
    answers.truncate(6);
    assert_eq!(answers, [35, 3, 126, 33, 3, 200]);
    assert_eq!(server.takes(&raw(6, &[1, 32, 4, 126, 1])), Err(Failure::Mandatory));
}

/// Linux's sender by CCID 3 demands Send Loss Event Rate of its receiver (RFC 4342 section 8.4),
/// and resets the connection of one that does not know it.
#[test]
fn the_loss_event_rate_can_be_demanded() {
    let mut server = EndOf::server();
    server.takes(&raw(5, &[1, 34, 4, 192, 1])).unwrap();
    assert_eq!(server.features.value(Local, Feature::SendLossEventRate), 1);
    assert_eq!(bytes(&server.sends())[..4], [33, 6, 192, 1]);
}

/// RFC 4340 section 6.6.8.
#[test]
fn invalid_values() {
    let mut server = EndOf::server();
    // A Sequence Window of 31, one of a wrong length, and a Change R of a stated feature.
    for (seq, option) in
        [(5, &[32, 9, 3, 0, 0, 0, 0, 0, 31][..]), (6, &[32, 4, 3, 100]), (7, &[34, 5, 5, 0, 3])]
    {
        server.takes(&raw(seq, option)).unwrap();
        let empty = [if option[0] == 32 { 35 } else { 33 }, 3, option[2]];
        assert_eq!(bytes(&server.sends()), empty, "{option:?}");
    }
    assert_eq!(server.features.value(Remote, Feature::SequenceWindow), 100);
    // A Confirm of a value that the lists do not give.
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::Ccid, &[2, 3], false);
    client.sends();
    assert_eq!(client.takes(&raw(5, &[33, 6, 1, 2, 3, 2])), Err(Failure::Option));
    // An empty one for a feature that every end must know.
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::Ccid, &[2, 3], false);
    client.sends();
    assert_eq!(client.takes(&raw(5, &[33, 3, 1])), Err(Failure::Option));
    // For another one it ends the negotiation.
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::SendNdpCount, &[1], false);
    client.sends();
    client.takes(&raw(5, &[33, 3, 7])).unwrap();
    assert!(client.features.is_settled(Remote, Feature::SendNdpCount));
    assert_eq!(client.features.value(Remote, Feature::SendNdpCount), 0);
}

/// RFC 4340 section 6.6.5: the second of two Changes is lost, and the answer to the first comes in
/// an acknowledgement of a later packet.
#[test]
fn an_answer_to_an_earlier_statement_is_not_one_to_the_latest() {
    let mut client = EndOf::client();
    for window in [200, 400] {
        client.features.state(Feature::SequenceWindow, window);
        client.sends();
    }
    client.takes(&raw(5, &[35, 9, 3, 0, 0, 0, 0, 0, 200])).unwrap();
    assert!(!client.features.is_settled(Local, Feature::SequenceWindow));
    let (_, again) = client.sends_at(100);
    assert_eq!(again.items().count(), 1, "the latest Change is repeated");
    client.takes(&raw(6, &[35, 9, 3, 0, 0, 0, 0, 1, 144])).unwrap();
    assert_eq!(client.features.value(Local, Feature::SequenceWindow), 400);
}

/// RFC 4340 section 6.6.4: in order of numbers only, and Confirms of the latest Change only.
#[test]
fn disorder_is_ignored() {
    let mut server = EndOf::server().prefer(Local, &[3, 2]);
    server.takes(&raw(7, &[34, 4, 1, 2])).unwrap();
    server.takes(&raw(6, &[34, 4, 1, 3])).unwrap();
    assert_eq!(server.ccid(Local), 2, "6 came after 7");
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::Ccid, &[3, 2], false);
    let (requested, _) = client.sends();
    let confirm = raw(5, &[33, 6, 1, 3, 3, 2]);
    client.takes_acknowledging(&confirm, requested.value() - 1).unwrap();
    assert_eq!((client.ccid(Remote), client.is_settled(Remote)), (2, false), "of an older Change");
    client.takes(&raw(6, &[33, 6, 1, 3, 3, 2])).unwrap();
    assert_eq!((client.ccid(Remote), client.is_settled(Remote)), (3, true));
}

/// RFC 4340 section 6.6.5: what a Change says that is no longer wanted decides nothing.
#[test]
fn a_changed_preference_waits_for_its_own_change() {
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::Ccid, &[3, 2], false);
    client.sends();
    client.features.negotiate(Remote, Feature::Ccid, &[4, 2], false);
    client.takes(&raw(5, &[33, 6, 1, 3, 3, 4])).unwrap();
    assert_eq!((client.ccid(Remote), client.is_settled(Remote)), (2, false));
    assert_eq!(bytes(&client.sends()), [34, 5, 1, 4, 2]);
    client.takes(&raw(6, &[33, 6, 1, 4, 3, 4])).unwrap();
    assert_eq!(client.ccid(Remote), 4);
}

/// Waits of 1, 2, 4, ... 64 s, and then 64 s again.
#[test]
fn changes_are_repeated_until_answered() {
    let mut client = EndOf::client();
    client.features.negotiate(Remote, Feature::Ccid, &[3], false);
    client.sends();
    let mut waits = Vec::new();
    let mut last = Instant::ZERO;
    for _ in 0..9 {
        let at = client.features.deadline().unwrap();
        waits.push(at.since(last).as_millis() / 1000);
        last = at;
        assert!(client.features.is_due(at));
        client.sends_at(at.as_nanos() / 1_000_000_000);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
}

/// A Confirm needs an acknowledgement number (RFC 4340 section 6.6.1).
#[test]
fn a_packet_without_number_carries_changes_only() {
    let mut client = EndOf::client();
    client.takes(&raw(5, &[32, 4, 7, 1])).unwrap();
    client.features.negotiate(Remote, Feature::SendNdpCount, &[1], true);
    let seq = Seq48::new(101);
    let carrier =
        Carrier { now: Instant::ZERO, seq, acknowledges: false, handshake: true, rtt: None };
    let mut options = Options::new();
    client.features.write(&carrier, &mut options);
    assert_eq!(options.as_bytes(), [1, 34, 4, 7, 1], "mandatory");
}
