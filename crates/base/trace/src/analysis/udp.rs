//! Numbers in datagrams: which were lost, late or doubled before the capture.

use super::jitter::{Jitter, Meter};
use super::{Numbering, Numbers};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Captured, UDP_PORT};
use fairwave_wire::{ip, probe, shake};

/// Datagrams in which numbers must behave before they are believed.
const TRIAL: u32 = 8;
/// Largest step between numbers while they are on trial.
const STEP_MAX: u64 = 64;
/// Range below the highest number in which a late datagram is distinguished from a duplicate.
const WINDOW: u64 = 1_024;
/// Maximum number of sources, of RTP (SSRC) or paths of SHAKE, that are followed in one direction
/// of a stream.
const SOURCES_MAX: usize = 16;

/// Looks for numbers at each known place, and follows the places whose numbers behave.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    trials: [Trial; Numbering::TRIED.len()],
    found: Option<(Numbering, Sequence)>,
    /// Sources, each with numbers of its own. In WebRTC several of RTP share a pair of ports (RFC
    /// 3550 section 5.1), as do paths of SHAKE that differ elsewhere.
    sources: Vec<Source>,
    /// The train of a probe.
    train: u16,
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

/// Train and number of a probe's data (docs/models/probe.md); no key is asked for.
fn probe_data(payload: &[u8]) -> Option<(u16, u32)> {
    const DATA: u8 = 5;
    let head = probe::Head::read(payload).ok().filter(|head| head.kind == DATA);
    let body = payload.get(probe::HEAD_LEN..probe::HEAD_LEN + 6)?;
    head?;
    let [a, b, c, d, e, f] = body.try_into().ok()?;
    Some((u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f])))
}

/// Numbers at one place, before they are believed.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Datagrams that came, the late ones among them.
    came: [u64; 2 * TRIAL as usize],
    len: usize,
    /// The highest.
    last: u64,
    steps: u32,
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
                self.dccp(&packet);
            }
            _ => self.datagram(at, payload),
        }
    }

    /// Takes a DCCP packet. Each has the next number (RFC 4340 section 7), those of short headers
    /// and of others alike.
    pub(super) fn dccp(&mut self, packet: &Captured) {
        let (number, bits) = (packet.number, Numbering::Dccp.bits());
        match &mut self.found {
            Some((Numbering::Dccp, sequence)) => sequence.number(number, bits),
            _ => {
                let mut sequence = Sequence::begin(number);
                sequence.number(number, bits);
                self.found = Some((Numbering::Dccp, sequence));
            }
        }
    }

    /// Takes the captured payload of a datagram that came at `at`.
    fn datagram(&mut self, at: Instant, payload: &[u8]) {
        if let Some((train, number)) = probe_data(payload) {
            self.probe(train, number.into());
            return;
        }
        if let Some((numbering, sequence)) = &mut self.found {
            if let (Some(number), false) = (numbering.read(payload), *numbering == Numbering::Probe)
            {
                sequence.number(number, numbering.bits());
            }
            return;
        }
        if let Some(stamped) = stamped(payload) {
            self.stamped(at, stamped);
        }
        if self.sources.iter().any(|source| source.sequence.is_some()) {
            return;
        }
        for (numbering, trial) in Numbering::TRIED.into_iter().zip(&mut self.trials) {
            if let Some(sequence) = trial.step(numbering.read(payload), numbering.bits()) {
                self.found = Some((numbering, sequence));
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
            Some(sequence) => sequence.number(number, of.0.bits()),
            None => source.sequence = source.trial.step(Some(number), of.0.bits()),
        }
    }

    /// Takes the number of a probe's datagram: every train begins with 0.
    fn probe(&mut self, train: u16, number: u64) {
        match &mut self.found {
            Some((Numbering::Probe, sequence)) => {
                if self.train != train {
                    sequence.restart();
                }
                sequence.number(number, Numbering::Probe.bits());
            }
            _ => {
                let mut sequence = Sequence::begin(0);
                sequence.number(number, Numbering::Probe.bits());
                self.found = Some((Numbering::Probe, sequence));
            }
        }
        self.train = train;
    }

    /// Returns the findings; of several sources all together.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let reported = self.sources.iter().filter_map(Source::numbers).reduce(Numbers::with);
        let found = self.found.as_ref();
        reported.or_else(|| found.map(|(numbering, sequence)| sequence.numbers(*numbering)))
    }
}

impl Source {
    fn numbers(&self) -> Option<Numbers> {
        let numbers = self.sequence.as_ref()?.numbers(self.of.0);
        Some(Numbers { jitter: self.meter.jitter(), ..numbers })
    }
}

impl Trial {
    /// Takes the number of a datagram; gives the numbers once they are believed. A datagram that
    /// is too short for one, as those of iperf 3's handshake are, says nothing; a number that does
    /// not follow the last one begins anew.
    fn step(&mut self, number: Option<u64>, bits: u32) -> Option<Sequence> {
        let number = number?;
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.last) % modulus;
        let is_late = ahead >= modulus - STEP_MAX;
        let room = self.len > 0 && self.len < self.came.len();
        match (1..=STEP_MAX).contains(&ahead) || is_late {
            true if room => {}
            _ => *self = Self::default(),
        }
        self.steps += u32::from(self.len > 0 && !is_late);
        if self.len == 0 || !is_late {
            self.last = number;
        }
        self.came[self.len] = number;
        self.len += 1;
        (self.steps >= TRIAL).then(|| self.sequence(bits))
    }

    /// The numbers so far as ones that are believed.
    fn sequence(&self, bits: u32) -> Sequence {
        let came = &self.came[..self.len];
        let mut sequence = Sequence::begin(came[0]);
        came.iter().for_each(|&number| sequence.number(number, bits));
        sequence
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

/// Numbers that are believed, unwrapped.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    first: u64,
    /// Behind the highest since the last restart.
    next: u64,
    highest: u64,
    /// Bitmap of the [`WINDOW`] numbers below `next` that came, by their remainder.
    came: [u64; (WINDOW / 64) as usize],
    lost: u64,
    reordered: u64,
    duplicates: u64,
}

impl Sequence {
    /// Numbers from `first` on.
    fn begin(first: u64) -> Self {
        let came = [!0; (WINDOW / 64) as usize];
        Self { first, next: first, highest: first, came, lost: 0, reordered: 0, duplicates: 0 }
    }

    /// Starts from 0 again: earlier numbers are not expected any more.
    fn restart(&mut self) {
        self.next = 0;
        self.came.fill(!0);
    }

    const fn numbers(&self, numbering: Numbering) -> Numbers {
        let Self { lost, reordered, duplicates, first, highest, .. } = *self;
        Numbers { numbering, lost, reordered, duplicates, range: (first, highest), jitter: None }
    }

    fn number(&mut self, number: u64, bits: u32) {
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.next) % modulus;
        if ahead < modulus / 2 {
            self.lost += ahead;
            for skipped in 0..ahead.min(WINDOW) {
                self.clear(self.next + ahead - 1 - skipped);
            }
            self.next += ahead + 1;
            self.set(self.next - 1);
            self.highest = self.highest.max(self.next - 1);
            return;
        }
        let behind = modulus - ahead;
        let late = self.next.checked_sub(behind);
        match late {
            Some(late) if behind <= WINDOW && !self.has(late) => {
                self.set(late);
                self.reordered += 1;
                self.lost = self.lost.saturating_sub(1);
            }
            _ => self.duplicates += 1,
        }
    }

    fn has(&self, number: u64) -> bool {
        self.came[(number % WINDOW / 64) as usize] >> (number % 64) & 1 == 1
    }

    fn set(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] |= 1 << (number % 64);
    }

    fn clear(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] &= !(1 << (number % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(numbers: impl IntoIterator<Item = i32>) -> Option<Numbers> {
        let mut finder = Finder::default();
        for (at, number) in numbers.into_iter().enumerate() {
            let mut payload = number.to_be_bytes().to_vec();
            // Seconds stand still, microseconds leap: neither may pass for a number.
            payload.extend(1_700_000_000u32.to_be_bytes());
            payload.extend((at as u32 * 11_200 % 1_000_000).to_be_bytes());
            finder.datagram(Instant::ZERO, &payload);
        }
        finder.numbers()
    }

    #[test]
    fn loss_lateness_and_doubles_are_told_apart() {
        // 0..20 without 5, 12 and 13; then 13 late, 19 twice, and iperf's negative last one.
        let came = (0..20).filter(|number| ![5, 12, 13].contains(number));
        let numbers = leading(came.chain([13, 19, -20])).unwrap();
        assert_eq!(numbers.numbering, Numbering::Leading);
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (2, 1, 1));
        assert_eq!(numbers.range, (0, 20));
    }

    #[test]
    fn nothing_is_made_of_payload_without_numbers() {
        assert_eq!(leading([7; 100]), None);
        assert_eq!(leading((0..100).map(|n| n * 1_000_003)), None);
    }

    #[test]
    fn rtp_wraps_at_sixteen_bits() {
        let mut finder = Finder::default();
        for number in 65_520u32..65_560 {
            let mut payload = [0x80, 96, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
            payload[2..4].copy_from_slice(&(number as u16).to_be_bytes());
            if number != 65_540 {
                finder.datagram(Instant::ZERO, &payload);
            }
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost), (Numbering::Rtp, 1));
        assert_eq!((numbers.reordered, numbers.duplicates), (0, 0));
    }

    #[test]
    fn iperf3_counts_behind_its_time() {
        let mut finder = Finder::default();
        for number in (1u32..40).filter(|number| number % 10 != 0) {
            let mut payload = 1_700_000_000u32.to_be_bytes().to_vec();
            payload.extend((number * 9_973 % 1_000_000).to_be_bytes());
            payload.extend(number.to_be_bytes());
            finder.datagram(Instant::ZERO, &payload);
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost), (Numbering::Iperf3, 3));
    }

    /// A capture of iperf 3 begins with four bytes that are no number, from either end, and its
    /// numbers may have 64 bits.
    #[test]
    fn iperf3_is_known_behind_its_handshake_and_with_long_numbers() {
        for long in [false, true] {
            let mut finder = Finder::default();
            finder.datagram(Instant::ZERO, b"9876");
            for number in (1u32..60).filter(|number| number % 10 != 0) {
                let mut payload = 1_700_000_000u32.to_be_bytes().to_vec();
                payload.extend((number * 9_973 % 1_000_000).to_be_bytes());
                if long {
                    payload.extend([0; 4]);
                }
                payload.extend(number.to_be_bytes());
                payload.extend([7; 40]);
                finder.datagram(Instant::ZERO, &payload);
            }
            let numbers = finder.numbers().unwrap();
            let numbering = if long { Numbering::Iperf3Long } else { Numbering::Iperf3 };
            assert_eq!((numbers.numbering, numbers.lost), (numbering, 5));
        }
    }

    #[test]
    fn a_gap_or_a_wrap_on_trial_is_no_reason_to_give_up() {
        let numbers = leading((0..5).chain(200..230)).unwrap();
        assert_eq!((numbers.lost, numbers.range), (0, (200, 229)));
        let mut finder = Finder::default();
        for number in (65_532u32..65_560).filter(|number| *number != 65_550) {
            let [high, low] = (number as u16).to_be_bytes();
            finder.datagram(Instant::ZERO, &[0x80, 96, high, low, 0, 0, 0, 0, 1, 2, 3, 4]);
        }
        assert_eq!(finder.numbers().unwrap().lost, 1);
    }

    #[test]
    fn a_late_one_on_trial_is_reordered_and_not_lost() {
        let numbers = leading([1, 2, 3, 5, 6, 4, 7, 8, 10, 9, 11, 12, 13, 15, 16]).unwrap();
        assert_eq!((numbers.lost, numbers.reordered, numbers.range), (1, 2, (1, 16)));
    }

    /// Sound and picture of a call on one pair of ports, and RTCP between them.
    #[test]
    fn each_source_of_rtp_has_its_own_numbers() {
        let mut finder = Finder::default();
        for round in 0..40u16 {
            let [high, low] = (7_000 + round).to_be_bytes();
            finder.datagram(Instant::ZERO, &[0x80, 111, high, low, 0, 0, 0, 0, 0, 0, 0, 1]);
            finder.datagram(Instant::ZERO, &[0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1]);
            for part in 0..3 {
                let [high, low] = (40_000 + 3 * round + part).to_be_bytes();
                if (round, part) != (20, 1) {
                    finder.datagram(Instant::ZERO, &[0x90, 96, high, low, 0, 0, 0, 0, 0, 0, 0, 2]);
                }
            }
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost, numbers.reordered), (Numbering::Rtp, 1, 0));
    }

    #[test]
    fn a_probe_counts_anew_in_every_train() {
        let mut finder = Finder::default();
        let trains = [(1u16, vec![0u32, 1, 3, 4]), (2, vec![2, 3, 3, 5, 4])];
        for (train, number) in trains.iter().flat_map(|(t, ns)| ns.iter().map(move |n| (*t, *n))) {
            let mut payload = b"FWpb\x01\x05\0\0sessions".to_vec();
            payload.extend(train.to_be_bytes());
            payload.extend(number.to_be_bytes());
            payload.resize(60, 0);
            finder.datagram(Instant::ZERO, &payload);
        }
        // Number 2 of the first train; 0 and 1 of the second, and its late 4.
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.range), (Numbering::Probe, (0, 5)));
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (3, 1, 1));
    }

    /// Both paths of a connection on one pair of ports: a datagram of each every 10 ms.
    #[test]
    fn each_path_of_shake_has_its_own_numbers_and_its_jitter() {
        let mut finder = Finder::default();
        for round in (1..40u64).filter(|round| ![9, 20].contains(round)) {
            for path in [0u8, 1] {
                let number = 1_000 * u64::from(path) + round;
                let mut payload = [&shake::MAGIC[..], &[shake::VERSION, 4, 0, path]].concat();
                payload.extend(77u64.to_be_bytes());
                payload.extend(number.to_be_bytes());
                payload.extend((round as u32 * 10_000).to_be_bytes());
                payload.resize(80, 0);
                let late = u64::from(path == 1 && round == 30) * 16_000_000;
                finder.datagram(Instant::from_nanos(round * 10_000_000 + late), &payload);
            }
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost, numbers.duplicates), (Numbering::Shake, 4, 0));
        let jitter = numbers.jitter.unwrap();
        // 16 ms / 16 at the late one, and that again at the next, which seems to be early.
        assert_eq!((jitter.clock_hz, jitter.most.as_nanos()), (1_000_000, 1_937_500));
    }

    /// Numbers with 48 bits and their low 24, over the end of those; 3 is missing, 5 late, 6 twice.
    #[test]
    fn dccps_numbers_are_followed_in_headers_of_both_lengths() {
        let mut finder = Finder::default();
        let begin = (7 << 24) - 4;
        for (n, number_bits) in [(1, 48), (2, 24), (4, 48), (6, 24), (5, 48), (6, 24), (7, 48)] {
            let number = (begin + n) & ((1 << number_bits) - 1);
            let ports = Captured {
                source_port: 9,
                destination_port: 7,
                number,
                number_bits,
                payload_len: 0,
            };
            finder.dccp(&ports);
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost), (Numbering::Dccp, 1));
        assert_eq!((numbers.reordered, numbers.duplicates), (1, 1));
    }
}
