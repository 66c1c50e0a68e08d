//! The machine of a stream: a SHAKE connection, or a set of TCP connections.

use super::path::MESSAGE_HEAD;
use bytes::Bytes;
use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_shake::multi::{self, Dial, Multi, Split};
use fairwave_shake::{self as shake, Connection, Priority, Segment};
use fairwave_tcp::{self as tcp, Profile};
use fairwave_units::{BitRate, Instant, Seq32, Stream as Draws};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::multi::HEADER_LEN;
use fairwave_wire::pseudo::Pseudo;
use fairwave_wire::shake::{Reason, Side};
use std::net::Ipv4Addr;

/// Longest header of TCP.
const MAX_TCP_HEADER: u16 = 60;
/// Octets that a segment of a set has more than a message of SHAKE's data, before their payloads:
/// TCP's header and the set's id, instead of the message's head.
pub(super) const MORE_HEAD: u16 = MAX_TCP_HEADER + 8 - MESSAGE_HEAD as u16;
/// First port of the opener's connections of a set, and of the acceptor's.
const PORTS: [u16; 2] = [1_000, 2_000];
/// The addresses that TCP's checksum covers: those of paths change.
const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::UNSPECIFIED, destination: Ipv4Addr::UNSPECIFIED };

/// Something to send on a path.
#[derive(Debug)]
pub(super) enum Piece {
    /// A message of a SHAKE connection.
    Message(Segment<Bytes>),
    /// A segment of a set's connection for this path.
    Tcp(u8, tcp::Segment<Bytes>),
}

/// The machine of a stream.
#[derive(Debug)]
pub(super) enum Carrier {
    /// One connection over all paths.
    Shake(Box<Connection<Bytes>>),
    /// A connection for each path.
    Multi(Box<Multi<Bytes>>),
}

/// Settings of a set of TCP connections ([`Mode::Multi`](super::Mode::Multi)).
#[derive(Clone, Debug)]
pub struct SetConfig {
    /// Settings of each connection, but for its ports. Its MSS is a maximum.
    pub tcp: tcp::Config,
    /// Congestion control algorithm, by its name in [`fairwave_cc`].
    pub congestion_control: String,
    /// Rule by which blocks are spread.
    pub split: Split,
    /// Weights of the paths, by id, of a set that this end opens. `None` derives them from
    /// the bandwidths.
    pub weights: Option<Vec<u32>>,
    /// Bytes of a block.
    pub block: u16,
    /// Bytes that either end keeps outside its connections. This and the buffers of TCP are smaller
    /// in a session with many streams ([`Config::max_buffered`](super::Config::max_buffered)).
    pub buffer: u32,
}

impl Default for SetConfig {
    fn default() -> Self {
        let profile = Profile::find("linux-6").expect("a listed profile");
        Self {
            tcp: tcp::Config { mss: u16::MAX, ..(profile.config)() },
            congestion_control: profile.congestion_control.to_owned(),
            split: Split::Weighted,
            weights: None,
            block: 1_400,
            buffer: 4_000_000,
        }
    }
}

impl SetConfig {
    /// Maximum bytes that a set with so many connections buffers in one direction, theirs included.
    pub(super) fn max_buffered(&self, connections: usize) -> u32 {
        let of = |first: u32, max: Option<u32>| u64::from(max.unwrap_or(0).max(first));
        let send = of(self.tcp.send_buffer, self.tcp.send_buffer_max);
        let receive = of(self.tcp.receive_buffer, self.tcp.receive_buffer_max);
        let all = u64::from(self.buffer) + connections as u64 * send.max(receive);
        all.try_into().unwrap_or(u32::MAX)
    }

    /// The same settings, with smaller buffers where a set with so many connections could buffer
    /// more than `bound` bytes in one direction.
    pub(super) fn within(&self, bound: u32, connections: usize) -> Self {
        if self.max_buffered(connections) <= bound {
            return self.clone();
        }
        // A block has to fit, with its header and with what the window of a full buffer hides.
        let min = 2 * (u32::from(self.block) + HEADER_LEN as u32);
        let part = (bound / (connections as u32 + 1)).max(min);
        let tcp = tcp::Config {
            send_buffer: self.tcp.send_buffer.min(part),
            send_buffer_max: self.tcp.send_buffer_max.map(|max| max.min(part)),
            receive_buffer: self.tcp.receive_buffer.min(part),
            receive_buffer_max: self.tcp.receive_buffer_max.map(|max| max.min(part)),
            ..self.tcp
        };
        Self { tcp, buffer: self.buffer.min(part), ..self.clone() }
    }
}

/// A set with a connection for each path, which begin or wait; segments have `mss` bytes at most.
pub(super) fn set(
    now: Instant,
    settings: &SetConfig,
    side: Side,
    id: u64,
    mss: u16,
    weights: &[u32],
    draws: &mut Draws,
) -> Carrier {
    let [local, remote] = if side == Side::Opener { PORTS } else { [PORTS[1], PORTS[0]] };
    let mut dial = |leg: u16| {
        let algorithm = settings.congestion_control.clone();
        Dial {
            config: tcp::Config {
                local_port: local + leg,
                remote_port: remote + leg,
                mss: settings.tcp.mss.min(mss - MORE_HEAD),
                ..settings.tcp
            },
            iss: Seq32(draws.next_u64() as u32),
            algorithm: Box::new(move |initial: Initial| {
                fairwave_cc::build(&algorithm, initial).expect("a listed algorithm")
            }),
        }
    };
    let dials: Vec<_> = (0..weights.len() as u16).map(&mut dial).collect();
    let config = multi::Config {
        split: settings.split,
        weights: weights.to_vec(),
        block: settings.block,
        send_buffer: settings.buffer,
        receive_buffer: settings.buffer,
    };
    let built = match side {
        Side::Opener => Multi::opener(&config, id, dials),
        Side::Acceptor => Multi::acceptor(&config, dials),
    };
    let mut set = built.expect("weights that were checked");
    set.handle(now, multi::Input::Start);
    Carrier::Multi(Box::new(set))
}

/// Weights of a set's connections by the bandwidths of their paths, as small as they can be: those
/// of the paper's 64, 32 and 32 kbps are 2:1:1 (section 3.2.4). One that was not stated counts as
/// the least of the others.
pub(super) fn weights(rates: &[Option<BitRate>]) -> Vec<u32> {
    /// Steps in which the least one is counted: 300 and 80 Mbps are 15:4.
    const STEPS: u64 = 4;
    let known = || rates.iter().flatten().map(|rate| rate.0);
    let Some(least) = known().min() else { return vec![1; rates.len()] };
    let weight = |rate: &Option<BitRate>| {
        let bps = rate.map_or(least, |rate| rate.0);
        ((bps * STEPS + least / 2) / least.max(1)).clamp(1, MAX_WEIGHT.into()) as u32
    };
    let weights: Vec<u32> = rates.iter().map(weight).collect();
    let common = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
    weights.iter().map(|weight| weight / common).collect()
}

/// Maximum weight of a connection.
pub(super) const MAX_WEIGHT: u32 = 1_000_000;

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Appends the octets of a segment; `None` if it is longer than IP carries.
pub(super) fn write_tcp(segment: &tcp::Segment<Bytes>, out: &mut Vec<u8>) -> Option<()> {
    segment.header.write(out, PSEUDO, &segment.payload).ok()
}

/// Reads a segment.
pub(super) fn read_tcp(bytes: &Bytes) -> Option<tcp::Segment<Bytes>> {
    let (header, payload) = fairwave_wire::tcp::parse(bytes, PSEUDO).ok()?;
    Some(tcp::Segment { header, ecn: Ecn::NotEct, payload: bytes.slice_ref(payload) })
}

/// State and counts of a stream's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CarrierReport {
    /// Those of a SHAKE connection.
    Shake {
        /// Its counts.
        stats: shake::Stats,
        /// The paths that it has joined.
        paths: Vec<shake::PathReport>,
    },
    /// Those of a set's connections, one for each path.
    Multi(Vec<multi::ConnectionReport>),
}

/// Events of a stream, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Happened {
    /// Whether there was any event.
    pub(super) any: bool,
    /// Why it is over before its end.
    pub(super) reset: Option<Reason>,
}

impl Carrier {
    /// A path is there; a set has had its connections from the beginning.
    pub(super) fn join(&mut self, now: Instant, path: u8, nominal: Option<BitRate>) {
        if let Self::Shake(connection) = self {
            connection.handle(now, shake::Input::Join { path, nominal });
        }
    }

    /// A path is gone; a set's connection waits for it.
    pub(super) fn leave(&mut self, now: Instant, path: u8) {
        if let Self::Shake(connection) = self {
            connection.handle(now, shake::Input::Leave { path });
        }
    }

    /// A path has this priority; the blocks of a set go where its weights say.
    pub(super) fn prioritize(&mut self, now: Instant, path: u8, priority: Priority) {
        if let Self::Shake(connection) = self {
            connection.handle(now, shake::Input::Prioritize { path, priority });
        }
    }

    /// Bytes in flight on each path that it has joined. A set does not count them.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (u8, u32)> {
        let paths = match self {
            Self::Shake(connection) => Some(connection.paths()),
            Self::Multi(_) => None,
        };
        paths.into_iter().flatten().map(|path| (path.id, path.flight))
    }

    /// Bytes written that were never sent. A set does not count them.
    pub(super) fn unsent(&self) -> u64 {
        match self {
            Self::Shake(connection) => connection.unsent(),
            Self::Multi(_) => 0,
        }
    }

    pub(super) fn send_space(&self) -> u32 {
        match self {
            Self::Shake(connection) => connection.send_space(),
            Self::Multi(set) => set.send_space(),
        }
    }

    pub(super) fn write(&mut self, now: Instant, data: Bytes) {
        match self {
            Self::Shake(connection) => connection.handle(now, shake::Input::Write(data)),
            Self::Multi(set) => set.handle(now, multi::Input::Write(data)),
        }
    }

    pub(super) fn read(&mut self, max: u32) -> Option<Bytes> {
        match self {
            Self::Shake(connection) => connection.read(max),
            Self::Multi(set) => set.read(max),
        }
    }

    pub(super) fn finish(&mut self, now: Instant) {
        match self {
            Self::Shake(connection) => connection.handle(now, shake::Input::Finish),
            Self::Multi(set) => set.handle(now, multi::Input::Close),
        }
    }

    /// The application reads no more; bytes already written are still delivered.
    pub(super) fn release(&mut self, now: Instant) {
        match self {
            Self::Shake(connection) => connection.handle(now, shake::Input::Close),
            Self::Multi(set) => set.handle(now, multi::Input::Release),
        }
    }

    pub(super) fn abort(&mut self, now: Instant) {
        match self {
            Self::Shake(connection) => connection.handle(now, shake::Input::Abort),
            Self::Multi(set) => set.handle(now, multi::Input::Abort),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Shake(connection) => connection.is_over(),
            Self::Multi(set) => set.is_over(),
        }
    }

    /// Whether the peer may have missed that the stream was reset.
    pub(super) fn has_reset(&self) -> bool {
        match self {
            Self::Shake(connection) => connection.has_reset(),
            Self::Multi(set) => set.broken().is_some(),
        }
    }

    /// Frees the buffers of a stream that is over and has no reader; returns whether they are empty
    /// for good. Those of a set are so when both ends have closed its connections, or they were
    /// reset: a peer could fill the buffers of others.
    pub(super) fn discard(&mut self) -> bool {
        match self {
            Self::Shake(connection) => {
                connection.discard();
                true
            }
            Self::Multi(set) => set.discard(),
        }
    }

    pub(super) fn is_read_to_the_end(&self) -> bool {
        match self {
            Self::Shake(connection) => connection.is_read_to_the_end(),
            Self::Multi(set) => set.is_read_to_the_end(),
        }
    }

    pub(super) fn wake(&mut self, now: Instant) {
        match self {
            Self::Shake(connection) => connection.wake(now),
            Self::Multi(set) => set.wake(now),
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Shake(connection) => connection.deadline(),
            Self::Multi(set) => set.deadline(),
        }
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Piece> {
        match self {
            Self::Shake(connection) => connection.poll(now).map(Piece::Message),
            Self::Multi(set) => set.poll(now).map(|(leg, segment)| Piece::Tcp(leg, segment)),
        }
    }

    /// State and counts.
    pub(super) fn report(&self) -> CarrierReport {
        match self {
            Self::Shake(connection) => CarrierReport::Shake {
                stats: connection.stats(),
                paths: connection.paths().collect(),
            },
            Self::Multi(set) => CarrierReport::Multi(set.connections().collect()),
        }
    }

    /// Takes the events.
    pub(super) fn happened(&mut self) -> Happened {
        let mut happened = Happened::default();
        match self {
            Self::Shake(connection) => {
                while let Some(event) = connection.event() {
                    happened.any = true;
                    if let shake::Event::Reset { reason, .. } = event {
                        happened.reset = Some(reason);
                    }
                }
            }
            Self::Multi(set) => {
                while let Some(event) = set.event() {
                    happened.any = true;
                    if event == multi::Event::Broken {
                        happened.reset = set.broken();
                    }
                }
            }
        }
        happened
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::MAX_PATHS;

    #[test]
    fn a_set_buffers_no_more_than_its_share() {
        let config = SetConfig::default();
        for connections in 1..=MAX_PATHS {
            let small = config.within(64 << 10, connections);
            assert!(small.max_buffered(connections) <= 64 << 10, "{connections}");
            let set = multi::Config {
                split: Split::Weighted,
                weights: vec![1; connections],
                block: small.block,
                send_buffer: small.buffer,
                receive_buffer: small.buffer,
            };
            assert_eq!(set.check(&vec![small.tcp; connections]), Ok(()));
        }
        let whole = config.within(config.max_buffered(2), 2);
        assert_eq!((whole.tcp, whole.buffer), (config.tcp, config.buffer), "it fits");
    }

    #[test]
    fn weights_follow_bandwidths() {
        let of = |kbps: &[u64]| {
            let rates: Vec<_> = kbps.iter().map(|kbps| BitRate(kbps * 1_000)).collect();
            let stated = |rate: &BitRate| (rate.0 > 0).then_some(*rate);
            weights(&rates.iter().map(stated).collect::<Vec<_>>())
        };
        assert_eq!(of(&[64, 32, 32]), [2, 1, 1]);
        assert_eq!(of(&[300_000, 80_000]), [15, 4]);
        assert_eq!(of(&[0, 0]), [1, 1], "none is known");
        assert_eq!(of(&[0, 100, 200]), [1, 1, 2]);
    }
}
