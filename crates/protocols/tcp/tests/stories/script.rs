//! The peer's hand: what arrives, and what left.

use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_tcp::{Config, Connection, Event, Input, Segment, State, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::{Flags, Header};

/// Bytes in a segment.
pub(crate) const SEG: u32 = 1000;
/// Initial sequence numbers of the end under test and of the peer.
pub(crate) const ISS: Seq32 = Seq32(u32::MAX - 3000);
pub(crate) const IRS: Seq32 = Seq32(7_000);

pub(crate) const ACK: Flags = Flags { ack: true, ..NONE };
pub(crate) const SYN: Flags = Flags { syn: true, ..NONE };
pub(crate) const SYN_ACK: Flags = Flags { syn: true, ack: true, ..NONE };
pub(crate) const FIN_ACK: Flags = Flags { fin: true, ack: true, ..NONE };
pub(crate) const RST: Flags = Flags { rst: true, ..NONE };
pub(crate) const NONE: Flags = Flags {
    cwr: false,
    ece: false,
    urg: false,
    ack: false,
    psh: false,
    rst: false,
    syn: false,
    fin: false,
};

/// One end under test.
pub(crate) struct Script {
    pub(crate) end: Connection<Virtual>,
    pub(crate) now: Instant,
    pub(crate) events: Vec<Event>,
    pub(crate) window: u16,
    /// ECN field of what arrives.
    pub(crate) ecn: Ecn,
}

/// Segments of [`SEG`] bytes, no timestamps, no scaling, an initial window of ten.
pub(crate) fn config() -> Config {
    Config {
        local_port: 1,
        remote_port: 2,
        mss: SEG as u16,
        window_scaling: false,
        sack: false,
        initial_window_segments: 10,
        ..Config::default()
    }
}

impl Script {
    pub(crate) fn new(config: Config, congestion_control: &'static str) -> Self {
        let build = move |initial: Initial| {
            fairwave_cc::build(congestion_control, initial).expect("a listed algorithm")
        };
        Self {
            end: Connection::new(config, ISS, Box::new(build)),
            now: Instant::ZERO,
            events: Vec::new(),
            window: 60_000,
            ecn: Ecn::NotEct,
        }
    }

    /// An active open that the peer has answered 100 ms later with the same options.
    pub(crate) fn established(config: Config, congestion_control: &'static str) -> Self {
        let mut script = Self::new(config, congestion_control);
        let syn = script.input(Input::Open).remove(0).header;
        script.after(100);
        let mut answer = script.header(SYN_ACK);
        answer.seq = IRS;
        answer.options = syn.options;
        answer.flags.ece = syn.flags.ece;
        let sent = script.arrive(answer, 0);
        assert!(sent.len() == 1 && sent[0].is_pure_ack(), "{sent:?}");
        assert_eq!(script.end.state(), State::Established);
        script
    }

    /// The same with `segments` written.
    pub(crate) fn sending(
        config: Config,
        congestion_control: &'static str,
        segments: u32,
    ) -> (Self, Vec<u32>) {
        let mut script = Self::established(config, congestion_control);
        let sent = script.write(segments);
        (script, sent)
    }

    pub(crate) fn input(&mut self, input: Input<Virtual>) -> Vec<Segment<Virtual>> {
        self.end.handle(self.now, input);
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Vec<Segment<Virtual>> {
        let sent = std::iter::from_fn(|| self.end.poll(self.now)).collect();
        self.events.extend(std::iter::from_fn(|| self.end.event()));
        sent
    }

    /// Time passes; everything that timers send meanwhile, with its time in milliseconds.
    pub(crate) fn after(&mut self, millis: u64) -> Vec<(u64, Segment<Virtual>)> {
        let sent = self.until(self.now + Duration::from_millis(millis));
        sent.into_iter().map(|(at, segment)| (at.as_nanos() / 1_000_000, segment)).collect()
    }

    /// It becomes `end`; everything that timers send meanwhile.
    pub(crate) fn until(&mut self, end: Instant) -> Vec<(Instant, Segment<Virtual>)> {
        let mut sent = Vec::new();
        while let Some(at) = self.end.deadline().filter(|d| *d <= end) {
            self.now = at;
            self.end.wake(at);
            sent.extend(self.drain().into_iter().map(|segment| (at, segment)));
        }
        self.now = end;
        sent
    }

    /// A header from the peer: next in its sequence, acknowledging the SYN.
    pub(crate) fn header(&self, flags: Flags) -> Header {
        Header {
            source_port: 2,
            destination_port: 1,
            seq: IRS + 1,
            ack: ISS + 1,
            flags,
            window: self.window,
            ..Header::default()
        }
    }

    pub(crate) fn arrive(&mut self, header: Header, len: u32) -> Vec<Segment<Virtual>> {
        self.input(Input::Segment(Segment { header, ecn: self.ecn, payload: Virtual(len) }))
    }

    /// The application writes; the numbers of the segments that leave.
    pub(crate) fn write(&mut self, segments: u32) -> Vec<u32> {
        numbers(&self.input(Input::Write(Virtual(segments * SEG))))
    }

    /// An ACK of everything below segment `n`; the numbers of the segments that leave.
    pub(crate) fn ack(&mut self, n: u32) -> Vec<u32> {
        self.ack_sack(n, &[])
    }

    /// With SACK blocks `[left, right)` in segment numbers.
    pub(crate) fn ack_sack(&mut self, n: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        let mut header = self.header(ACK);
        header.ack = ISS + 1 + n * SEG;
        for (left, right) in blocks {
            header.options.sack.push(ISS + 1 + left * SEG, ISS + 1 + right * SEG);
        }
        numbers(&self.arrive(header, 0))
    }

    /// As [`Script::ack`] with ECN-Echo; the segments that leave.
    pub(crate) fn ack_ece(&mut self, n: u32) -> Vec<Segment<Virtual>> {
        let mut header = self.header(ACK);
        header.flags.ece = true;
        header.ack = ISS + 1 + n * SEG;
        self.arrive(header, 0)
    }

    /// Segment `n` of the peer arrives; what leaves.
    pub(crate) fn data(&mut self, n: u32) -> Vec<Segment<Virtual>> {
        let mut header = self.header(ACK);
        header.seq = IRS + 1 + n * SEG;
        self.arrive(header, SEG)
    }

    /// Congestion window, with inflation, in segments.
    pub(crate) fn window_segments(&self) -> u32 {
        self.end.stats().effective_window / SEG
    }

    /// Slow start threshold in segments.
    pub(crate) fn ssthresh_segments(&self) -> u32 {
        self.end.stats().ssthresh / SEG
    }
}

/// Numbers of the data segments among `sent`.
pub(crate) fn numbers(sent: &[Segment<Virtual>]) -> Vec<u32> {
    sent.iter().filter(|s| s.payload.0 > 0).map(|s| s.header.seq.distance(ISS + 1) / SEG).collect()
}

/// Number up to which `segment` acknowledges the peer's segments.
pub(crate) fn acknowledged(segment: &Segment<Virtual>) -> u32 {
    assert!(segment.is_pure_ack(), "{segment:?}");
    segment.header.ack.distance(IRS + 1) / SEG
}
