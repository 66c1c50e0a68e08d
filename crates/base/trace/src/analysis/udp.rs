//! Numbers in datagrams: which were lost, late or doubled before the capture.

use super::jitter::{Jitter, Meter};
use super::{Numbering, Numbers};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Captured, UDP_PORT};
use fairwave_wire::{ip, probe, shake};
use sequence::Sequence;
use times::Times;
use trial::{Believed, Numbered, Proof, Trial};

mod sequence;
mod times;
mod trial;

/// Maximum number of sources, of RTP (SSRC) or paths of SHAKE, that are followed in one direction
/// of a stream.
const SOURCES_MAX: usize = 16;

/// Looks for numbers at each known place, and follows the places whose numbers behave.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    trials: [Trial; Numbering::TRIED.len()],
    found: Option<Found>,
    /// Sources, each with numbers of its own. In WebRTC several of RTP share a pair of ports (RFC
    /// 3550 section 5.1), as do paths of SHAKE that differ elsewhere.
    sources: Vec<Source>,
    /// The last train of a probe.
    train: Train,
    /// All datagrams, and those with a header of RTP.
    datagrams: u64,
    rtp: u64,
}

/// Numbers of a stream that has one source: those of iperf, of a probe and of DCCP.
#[derive(Clone, Debug)]
struct Found {
    numbering: Numbering,
    sequence: Sequence,
    /// Times of iperf's sender, which stand beside its numbers.
    times: Option<Times>,
}

/// A source of datagrams that carry its id, a number and a time.
#[derive(Clone, Debug)]
struct Source {
    of: (Numbering, u64),
    trial: Trial,
    sequence: Option<Sequence>,
    meter: Meter,
}

/// Fields of one of its datagrams.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    of: (Numbering, u64),
    number: u64,
    /// In ticks of the sender.
    time: u32,
    /// Ticks in a second, if they are known.
    clock_hz: Option<u32>,
}

/// A train of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Train {
    session: u64,
    number: u16,
}

impl Train {
    /// Whether its session had sent all of it when `other` began. Numbers wrap.
    const fn is_before(self, other: Self) -> bool {
        let behind = other.number.wrapping_sub(self.number);
        self.session == other.session && behind != 0 && behind < 1 << 15
    }
}

/// Train and number of a probe's data (docs/models/probe.md); no key is asked for.
fn probe_data(payload: &[u8]) -> Option<(Train, u32)> {
    const DATA: u8 = 5;
    let head = probe::Head::read(payload).ok().filter(|head| head.kind == DATA);
    let body = payload.get(probe::HEAD_LEN..probe::HEAD_LEN + 6)?;
    let session = head?.session;
    let [a, b, c, d, e, f] = body.try_into().ok()?;
    let train = Train { session, number: u16::from_be_bytes([a, b]) };
    Some((train, u32::from_be_bytes([c, d, e, f])))
}

impl Numbering {
    /// Layouts that must behave before they are believed, the rarer first: iperf 3's time in
    /// seconds looks like a number where there is a datagram a second.
    const TRIED: [Self; 3] = [Self::Iperf3, Self::Iperf3Long, Self::Leading];

    /// The number in a payload.
    fn read(self, payload: &[u8]) -> Option<u64> {
        let word = |at: usize| payload.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        match self {
            // iperf 2 negates the number of its last datagrams.
            Self::Leading => word(0).map(|word| u64::from(word.cast_signed().unsigned_abs())),
            Self::Iperf3 => word(8).map(u64::from),
            Self::Iperf3Long => {
                let long = payload.get(8..16)?.try_into().ok().map(u64::from_be_bytes);
                long.filter(|number| *number < 1 << 48)
            }
            Self::Probe => probe_data(payload).map(|(_, number)| u64::from(number)),
            Self::Rtp | Self::Shake => stamped(payload).map(|stamped| stamped.number),
            Self::Dccp => None,
        }
    }

    /// Evidence in a payload that its number at this place is one.
    fn proof(self, payload: &[u8]) -> Proof {
        match self {
            Self::Leading => Proof::TimeOrOnes(time_us(payload, 4)),
            Self::Iperf3 | Self::Iperf3Long => Proof::Time(time_us(payload, 0)),
            Self::Rtp | Self::Shake | Self::Probe | Self::Dccp => Proof::Format,
        }
    }

    /// Whether the format of a datagram alone shows that it has such a number. Other numbers must
    /// explain most of the datagrams.
    const fn is_certain(self) -> bool {
        matches!(self, Self::Probe | Self::Shake | Self::Dccp)
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Leading | Self::Iperf3 | Self::Probe => 32,
            Self::Iperf3Long | Self::Shake => 48,
            Self::Rtp => 16,
            // The low ones of 48, which a short header has.
            Self::Dccp => 24,
        }
    }
}

/// Time of an iperf datagram in microseconds: seconds and microseconds at this offset.
fn time_us(payload: &[u8], at: usize) -> Option<u64> {
    let [a, b, c, d, e, f, g, h] = *payload.get(at..)?.first_chunk()?;
    let seconds = u64::from(u32::from_be_bytes([a, b, c, d]));
    let micros = u64::from(u32::from_be_bytes([e, f, g, h]));
    (micros < 1_000_000).then_some(seconds * 1_000_000 + micros)
}

/// Fields of a datagram of RTP or of SHAKE.
fn stamped(payload: &[u8]) -> Option<Stamped> {
    shake(payload).or_else(|| rtp(payload))
}

/// Of RTP. RTCP on the same ports is none (RFC 5761 section 4).
fn rtp(payload: &[u8]) -> Option<Stamped> {
    let (&head, _) = payload.split_first_chunk::<12>()?;
    let [first, kind, high, low, t, i, m, e, a, b, c, d] = head;
    let is_rtcp = (192..=223).contains(&kind);
    (first >> 6 == 2 && !is_rtcp).then(|| Stamped {
        of: (Numbering::Rtp, u32::from_be_bytes([a, b, c, d]).into()),
        number: u16::from_be_bytes([high, low]).into(),
        time: u32::from_be_bytes([t, i, m, e]),
        clock_hz: clock_hz(kind & 0x7f),
    })
}

/// The clock of a static payload type (RFC 3551 tables 4 and 5).
const fn clock_hz(payload_type: u8) -> Option<u32> {
    match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8_000),
        6 => Some(16_000),
        10 | 11 => Some(44_100),
        16 => Some(11_025),
        17 => Some(22_050),
        14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
        _ => None,
    }
}

/// Of SHAKE (docs/models/shake.md); no key is asked for. Each path has numbers of its own.
fn shake(payload: &[u8]) -> Option<Stamped> {
    let rest = payload.strip_prefix(&shake::MAGIC)?;
    let (&[version, _, _, path], rest) = rest.split_first_chunk()?;
    let (connection, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (time, _) = rest.split_first_chunk()?;
    let id = u64::from_be_bytes(*connection) ^ u64::from(path);
    let number = u64::from_be_bytes(*number);
    (version == shake::VERSION && number < 1 << 48).then(|| Stamped {
        of: (Numbering::Shake, id),
        number,
        time: u32::from_be_bytes(*time),
        clock_hz: Some(1_000_000),
    })
}

impl Finder {
    /// Takes a datagram that came at `at`, perhaps one with a DCCP packet in it (RFC 6773).
    pub(super) fn udp(&mut self, at: Instant, datagram: &ip::Datagram<'_>) {
        let ip::Datagram { source_port, destination_port, payload, payload_len } = *datagram;
        match Captured::read(payload, payload_len) {
            Some(packet) if [source_port, destination_port].contains(&UDP_PORT) => {
                self.dccp(at, &packet);
            }
            _ => self.datagram(at, payload),
        }
    }

    /// Takes a DCCP packet. Each has the next number (RFC 4340 section 7), those of short headers
    /// and of others alike.
    pub(super) fn dccp(&mut self, at: Instant, packet: &Captured) {
        let (number, bits) = (packet.number, Numbering::Dccp.bits());
        match &mut self.found {
            Some(Found { numbering: Numbering::Dccp, sequence, .. }) => {
                sequence.number(at, number, bits);
            }
            _ => {
                let mut sequence = Sequence::begin(number, at);
                sequence.number(at, number, bits);
                self.found = Some(Found { numbering: Numbering::Dccp, sequence, times: None });
            }
        }
    }

    /// Takes the captured payload of a datagram that came at `at`.
    fn datagram(&mut self, at: Instant, payload: &[u8]) {
        self.datagrams += 1;
        if let Some((train, number)) = probe_data(payload) {
            self.probe(at, train, number.into());
            return;
        }
        if let Some(found) = &mut self.found {
            found.datagram(at, payload);
            return;
        }
        if let Some(stamped) = stamped(payload) {
            self.rtp += u64::from(stamped.of.0 == Numbering::Rtp);
            self.stamped(at, stamped);
        }
        if self.sources.iter().any(|source| source.sequence.is_some()) {
            return;
        }
        for (numbering, trial) in Numbering::TRIED.into_iter().zip(&mut self.trials) {
            // Datagrams that are too short for a number, as in iperf 3's handshake, are skipped.
            let Some(number) = numbering.read(payload) else { continue };
            let (bits, proof) = (numbering.bits(), numbering.proof(payload));
            let believed = trial.step(Numbered { at, number, bits, proof });
            if let Some(Believed { sequence, times }) = believed {
                self.found = Some(Found { numbering, sequence, times });
                return;
            }
        }
    }

    /// Takes the number and the time of a source.
    fn stamped(&mut self, at: Instant, stamped: Stamped) {
        let Stamped { of, number, time, clock_hz } = stamped;
        let found = self.sources.iter().position(|source| source.of == of);
        let index = found.unwrap_or_else(|| {
            // What looks like RTP may be anything: sources that did not behave make room.
            if self.sources.len() >= SOURCES_MAX {
                self.sources.retain(|source| source.sequence.is_some());
            }
            self.sources.truncate(SOURCES_MAX - 1);
            let (trial, meter) = (Trial::default(), Meter::new(clock_hz));
            self.sources.push(Source { of, trial, sequence: None, meter });
            self.sources.len() - 1
        });
        let source = &mut self.sources[index];
        source.meter.packet(at, time);
        match &mut source.sequence {
            Some(sequence) => sequence.number(at, number, of.0.bits()),
            None => {
                let (bits, proof) = (of.0.bits(), Proof::Format);
                let believed = source.trial.step(Numbered { at, number, bits, proof });
                source.sequence = believed.map(|believed| believed.sequence);
            }
        }
    }

    /// Takes the number of a probe's datagram: every train begins with 0.
    fn probe(&mut self, at: Instant, train: Train, number: u64) {
        match &mut self.found {
            Some(Found { numbering: Numbering::Probe, sequence, .. }) => {
                // The last datagrams of a train may come behind the first ones of the next.
                if train.is_before(self.train) {
                    return sequence.overtaken();
                }
                if self.train != train {
                    sequence.restart(0);
                }
                sequence.number(at, number, Numbering::Probe.bits());
            }
            _ => {
                let mut sequence = Sequence::begin(0, at);
                sequence.number(at, number, Numbering::Probe.bits());
                self.found = Some(Found { numbering: Numbering::Probe, sequence, times: None });
            }
        }
        self.train = train;
    }

    /// Returns the findings; of several sources all together. Numbers that do not fit most of the
    /// datagrams are those of something else.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let sources = self.sources.iter().filter_map(Source::numbers);
        let found = self.found.as_ref().and_then(Found::numbers);
        let sum = |(a, b): (Numbers, u64), (c, d): (Numbers, u64)| (a.with(c), b + d);
        let (numbers, explained) = sources.reduce(sum).or(found)?;
        let explains = match numbers.numbering {
            // RTCP, STUN and DTLS share the ports of a call (RFC 7983).
            Numbering::Rtp => explained * 2 > self.rtp && explained * 4 > self.datagrams,
            numbering => numbering.is_certain() || explained * 2 > self.datagrams,
        };
        explains.then_some(numbers)
    }
}

impl Found {
    /// Takes the payload of a further datagram. Where times stand beside numbers, a datagram
    /// without a time has no number either.
    fn datagram(&mut self, at: Instant, payload: &[u8]) {
        let Self { numbering, sequence, times } = self;
        let Some(number) = numbering.read(payload) else { return };
        if *numbering == Numbering::Probe {
            return;
        }
        if let Some(times) = times {
            let Some(time) = numbering.proof(payload).time() else { return };
            // iperf 2 negates the number of its last datagram, sends it some 30 ms after the time
            // in it, and leaves it out of its own report.
            let is_last = *numbering == Numbering::Leading
                && payload.first().is_some_and(|byte| byte & 0x80 != 0);
            if !is_last {
                times.packet(at, time);
            }
        }
        sequence.number(at, number, numbering.bits());
    }

    /// Its numbers, and how many datagrams they explain; `None` if the times do not pass as those
    /// of the capture do.
    fn numbers(&self) -> Option<(Numbers, u64)> {
        let Self { numbering, sequence, times } = self;
        let fit = times.as_ref().is_none_or(Times::have_passed);
        let jitter = times.as_ref().and_then(Times::jitter);
        let numbers = Numbers { jitter, ..sequence.numbers(*numbering) };
        fit.then_some((numbers, sequence.explained()))
    }
}

impl Source {
    /// Its numbers, and how many datagrams they explain.
    fn numbers(&self) -> Option<(Numbers, u64)> {
        let sequence = self.sequence.as_ref()?;
        let numbers = sequence.numbers(self.of.0);
        Some((Numbers { jitter: self.meter.jitter(), ..numbers }, sequence.explained()))
    }
}

impl Numbers {
    /// Sums of two sources, with the jitter of the worse.
    fn with(self, other: Self) -> Self {
        let jitter = self.jitter.into_iter().chain(other.jitter);
        Self {
            jitter: jitter.max_by_key(|jitter: &Jitter| jitter.mean),
            numbering: self.numbering,
            lost: self.lost + other.lost,
            reordered: self.reordered + other.reordered,
            duplicates: self.duplicates + other.duplicates,
            range: (self.range.0.min(other.range.0), self.range.1.max(other.range.1)),
        }
    }
}

#[cfg(test)]
mod tests;
