//! Attackers on the path of a connection, in virtual time.
//!
//! RFC 4340 section 18 protects against attackers who have to guess sequence numbers. One that sees
//! the packets can end a connection, stall it, change its data and its rate, and add data of its
//! own. Promised are bounds: an end that is stalled is over in time, with an error unless a forged
//! Close told the server otherwise, and its memory stays bounded. [`super::attack`] has those
//! connections whose path the attacker is not on.

use super::attack::{Change, forged, meddling};
use super::*;
use fairwave_units::Seed;

/// Beginning and end of the attacks.
const BEGIN: u64 = 300;
const OVER: u64 = 10_300;
/// Time in which the ends of a stalled connection are over: 150 s without packets, and the longest
/// time between two packets of TFRC, 64 s (RFC 5348 section 4.3).
const BOUND: u64 = 215_000;
/// Time after which a server drops an incomplete handshake: four maximum segment lifetimes.
const INCOMPLETE: u64 = 480_000;
/// Types of packets.
const DATA: u8 = 2;
const DATA_ACK: u8 = 4;
const CLOSE: u8 = 6;
const RESET: u8 = 7;
/// Forged packets of an attacker that pushes the sequence window ahead, and their distance, which
/// is within it.
const PUSHES: u64 = 30;
const AHEAD: u64 = 70;

/// The attackers, for the way to the server and the way back.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Drops the packets of the ways that are marked.
    Silence([bool; 2]),
    /// Forges data with numbers ahead of an end's, so that its own packets lie below the window.
    Push([bool; 2]),
    /// Ends the connection by a packet of this type to the server or to the client.
    Finish([bool; 2], u8),
    /// Changes, repeats, delays and forges packets of either way.
    Meddle(u8),
}

impl Attack {
    fn all() -> Vec<Self> {
        let ways = [[true, false], [false, true], [true, true]];
        let of_ways = ways.into_iter().flat_map(|ways| {
            [
                Self::Silence(ways),
                Self::Push(ways),
                Self::Finish(ways, CLOSE),
                Self::Finish(ways, RESET),
            ]
        });
        of_ways.chain((0..12).map(Self::Meddle)).collect()
    }

    /// Its change of the packets from an end.
    fn change(self, end: usize) -> Change {
        match self {
            Self::Silence(ways) if ways[end] => Box::new(|_| Vec::new()),
            Self::Push(ways) if ways[end] => push(),
            Self::Finish(ways, kind) if ways[end] => finish(kind),
            Self::Meddle(seed) => meddling(seed, ["up", "down"][end]),
            _ => Box::new(|packet| vec![packet.to_vec()]),
        }
    }
}

fn ports(packet: &[u8]) -> [u16; 2] {
    [0, 2].map(|at| u16::from_be_bytes([packet[at], packet[at + 1]]))
}

fn number(packet: &[u8]) -> u64 {
    u64::from_be_bytes(packet[8..16].try_into().expect("8 bytes")) & ((1 << 48) - 1)
}

fn push() -> Change {
    let mut random = Seed(3).stream("push");
    let mut forgeries = 0;
    Box::new(move |packet| {
        let mut out = vec![packet.to_vec()];
        if forgeries < PUSHES {
            forgeries += 1;
            let ahead = number(packet) + forgeries * AHEAD;
            out.push(forged(&mut random, ports(packet), DATA, ahead, &[]));
        }
        out
    })
}

/// Forges one packet behind an acknowledgement, whose number it needs. A Reset is "Aborted".
fn finish(kind: u8) -> Change {
    let mut is_done = false;
    Box::new(move |packet| {
        let mut out = vec![packet.to_vec()];
        let has_ack = matches!(packet[8] >> 1, 3 | DATA_ACK);
        if has_ack && !is_done {
            is_done = true;
            let mut last = packet[..24].to_vec();
            (last[4], last[8]) = (if kind == RESET { 7 } else { 6 }, kind << 1 | 1);
            last[10..16].copy_from_slice(&(number(packet) + 1).to_be_bytes()[2..]);
            last.extend_from_slice(if kind == RESET { &[2, 0, 0, 0] } else { &[] });
            out.push(last);
        }
        out
    })
}

/// Runs a connection until the attack is over, and checks the memory of both ends.
fn attacked(attack: Attack, ccid: u8, begin: u64) -> Pair {
    let mut pair = Pair::new(Over::Udp, false, ccid);
    let mut settings = settings(Over::Udp, pair.addresses, ccid, true);
    settings.connection.give_up = Duration::from_secs(15);
    settings.connection.queue.datagrams = 64;
    pair.ends[0] = Connections::new(settings);
    pair.report(0, Fact::Start);
    pair.run_until(at(begin));
    let mut changes = [0, 1].map(|end| attack.change(end));
    let step = Duration::from_millis(1);
    while pair.now < at(OVER) {
        pair.run_until(pair.now + step);
        // Each packet is changed once: within the millisecond after it was sent.
        let new = pair.now + ONE_WAY - step..pair.now + ONE_WAY;
        for (arrives, end, datagram) in std::mem::take(&mut pair.under_way) {
            let changed = match new.contains(&arrives) {
                true => changes[1 - end](&datagram.bytes),
                false => vec![datagram.bytes.clone()],
            };
            for bytes in changed {
                pair.under_way.push_back((arrives, end, Incoming { bytes, ..datagram.clone() }));
            }
        }
        let queued = pair.open().and_then(|id| pair.ends[0].queued(id));
        assert!(queued <= Some(64), "{queued:?}");
        assert!(pair.ends[1].kept() <= 16 && pair.ends[1].cookies().half_open_max <= 8);
    }
    pair
}

fn delivered(pair: &Pair) -> usize {
    pair.count(1, |event| matches!(event, PortEvent::Data(..)))
}

/// How a client's connection ended, if it is over.
fn end(pair: &Pair) -> Option<End> {
    pair.events[0].iter().find_map(|event| match event {
        PortEvent::Ended(_, end, _) => Some(*end),
        _ => None,
    })
}

/// Once the attacker is gone the connection works, or both ends are over within the bound.
#[test]
fn a_victim_works_or_is_over_in_time_with_an_error() {
    let (mut works, mut over) = (0, 0);
    for ccid in [2, 3] {
        for (attack, begin) in Attack::all().into_iter().flat_map(|it| [(it, BEGIN), (it, 0)]) {
            let case = format!("{attack:?} from {begin} ms on, CCID {ccid}");
            let mut pair = attacked(attack, ccid, begin);
            pair.pace = Some(Duration::from_millis(500));
            pair.run_until(at(OVER + BOUND));
            let before = delivered(&pair);
            pair.run_until(at(OVER + BOUND + INCOMPLETE));
            match end(&pair) {
                None => assert!(delivered(&pair) > before + 100, "{case}: it is stalled"),
                Some(end) => {
                    assert_ne!(end, End::Closed, "{case}");
                    assert!(pair.ends.iter().all(Connections::is_empty), "{case}");
                }
            }
            works += u32::from(end(&pair).is_none());
            over += u32::from(end(&pair).is_some());
        }
    }
    assert!(works > 10 && over > 20, "{works} work, {over} are over");
}

/// The server refuses all packets of its client and answers with Syncs, which acknowledge nothing.
#[test]
fn a_client_whose_packets_are_all_refused_is_over_after_a_silence() {
    for ccid in [2, 3] {
        let mut pair = attacked(Attack::Push([true, false]), ccid, BEGIN);
        assert_eq!(end(&pair), None, "{ccid}");
        pair.run_until(at(BEGIN + 17_000));
        assert_eq!(end(&pair), Some(End::TimedOut), "{ccid}");
        assert!(pair.ends[1].is_empty(), "{ccid}");
    }
}
