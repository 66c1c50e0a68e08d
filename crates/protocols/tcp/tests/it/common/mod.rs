//! Two connections over a test line.
use bytes::Bytes;
use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_tcp::{
    BuildController, Config, Connection, Event, Input, Payload, Segment, State, Virtual,
};
use fairwave_units::{BitRate, Duration, Instant, Seed, Seq32};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::pseudo::Pseudo;
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// A controller by its name in the list of algorithms.
pub(crate) fn congestion_control(name: &'static str) -> BuildController {
    Box::new(move |initial: Initial| fairwave_cc::build(name, initial).expect("a listed algorithm"))
}

/// Turns segments into what travels on the line, and back; `None` if damage was detected.
pub(crate) trait Codec<P> {
    type Item: Clone;
    fn encode(&self, segment: Segment<P>) -> Self::Item;
    fn decode(&self, item: Self::Item) -> Option<Segment<P>>;
}

/// Segments as values.
pub(crate) struct Plain;

impl<P: Payload> Codec<P> for Plain {
    type Item = Segment<P>;
    fn encode(&self, segment: Segment<P>) -> Segment<P> {
        segment
    }
    fn decode(&self, item: Segment<P>) -> Option<Segment<P>> {
        Some(item)
    }
}

/// Segments as bytes with a checksum, so that damage is found as on a real line.
pub(crate) struct OnTheWire;

const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

impl Codec<Bytes> for OnTheWire {
    type Item = Vec<u8>;
    fn encode(&self, segment: Segment<Bytes>) -> Vec<u8> {
        // In front the ECN field, which routers mark now and then.
        let marked = segment.ecn.is_capable() && segment.header.seq.0.is_multiple_of(7);
        let ecn = if marked { Ecn::Ce } else { segment.ecn };
        let mut bytes = Vec::new();
        let written = segment.header.write(&mut bytes, PSEUDO, &segment.payload);
        written.expect("a connection sends legal headers");
        assert_eq!(bytes.len() as u32, segment.wire_len());
        bytes.insert(0, ecn.put(0));
        bytes
    }
    fn decode(&self, bytes: Vec<u8>) -> Option<Segment<Bytes>> {
        let (header, payload) = fairwave_wire::tcp::parse(&bytes[1..], PSEUDO).ok()?;
        let ecn = Ecn::of(bytes[0]);
        Some(Segment { header, ecn, payload: Bytes::copy_from_slice(payload) })
    }
}

/// Two ends, their line, and the time.
pub(crate) struct Pair<P: Payload, C: Codec<P>> {
    pub(crate) a: Connection<P>,
    pub(crate) b: Connection<P>,
    pub(crate) line: Line<C::Item>,
    pub(crate) codec: C,
    pub(crate) now: Instant,
    pub(crate) events: Vec<(End, Event)>,
}

impl<P: Payload, C: Codec<P>> Pair<P, C> {
    pub(crate) fn new(
        configs: (Config, Config),
        algorithms: (BuildController, BuildController),
        iss: (u32, u32),
        line: Line<C::Item>,
        codec: C,
    ) -> Self {
        Self {
            a: Connection::new(
                Config { local_port: 1, remote_port: 2, ..configs.0 },
                Seq32(iss.0),
                algorithms.0,
            ),
            b: Connection::new(
                Config { local_port: 2, remote_port: 1, ..configs.1 },
                Seq32(iss.1),
                algorithms.1,
            ),
            line,
            codec,
            now: Instant::ZERO,
            events: Vec::new(),
        }
    }

    pub(crate) fn end(&mut self, end: End) -> &mut Connection<P> {
        match end {
            End::A => &mut self.a,
            End::B => &mut self.b,
        }
    }

    pub(crate) fn input(&mut self, end: End, input: Input<P>) {
        let now = self.now;
        self.end(end).handle(now, input);
        self.drain(end);
    }

    /// Puts what `end` has to send on the line and keeps its events.
    pub(crate) fn drain(&mut self, end: End) {
        let now = self.now;
        while let Some(segment) = self.end(end).poll(now) {
            let size = u64::from(segment.wire_len()) + 20;
            let item = self.codec.encode(segment);
            self.line.send(now, end, item, size);
        }
        while let Some(event) = self.end(end).event() {
            self.events.push((end, event));
        }
    }

    /// Moves to the next arrival or deadline and handles it; false if there is none.
    pub(crate) fn step(&mut self) -> bool {
        let times = [self.line.next_arrival(), self.a.deadline(), self.b.deadline()];
        let Some(at) = times.into_iter().flatten().min() else { return false };
        assert!(at >= self.now, "time runs backwards");
        self.now = at;
        while let Some((end, item)) = self.line.arrive(at) {
            if let Some(segment) = self.codec.decode(item) {
                self.end(end).handle(at, Input::Segment(segment));
            }
            self.drain(end);
        }
        for end in [End::A, End::B] {
            if self.end(end).deadline().is_some_and(|d| d <= at) {
                self.end(end).wake(at);
                self.drain(end);
            }
        }
        true
    }
}

/// Two ends that run NewReno over `wires`: A opens a connection and writes `bytes`.
pub(crate) fn sending<C: Codec<Virtual>>(
    seed: Seed,
    wires: (Wire, Wire),
    config: Config,
    codec: C,
    bytes: u32,
) -> Pair<Virtual, C> {
    let line = Line::new(seed, wires.0, wires.1);
    let algorithms = (congestion_control("newreno"), congestion_control("newreno"));
    let mut pair = Pair::new((config, config), algorithms, (1, 1), line, codec);
    pair.input(End::B, Input::Listen);
    pair.input(End::A, Input::Open);
    pair.input(End::A, Input::Write(Virtual(bytes)));
    pair
}

/// Wires with short queues that lose and duplicate so many segments at most. Without jitter and
/// rate a whole flight arrives at once.
pub(crate) fn wire(most_loss: f64, most_duplicate: f64) -> impl Strategy<Value = Wire> {
    let jitter = prop_oneof![Just(0), 1u64..10];
    let faults = (0.0..=most_loss, 0.0..=most_duplicate);
    (1u64..40, jitter, faults, prop::option::of(1u64..50), 5usize..60).prop_map(
        |(delay, jitter, (loss, duplicate), rate, queue)| Wire {
            delay: MS(delay),
            jitter: MS(jitter),
            loss,
            duplicate,
            rate: rate.map(BitRate::mbps),
            queue: Some(queue),
            ..Wire::default()
        },
    )
}

/// Whether a connection needs nothing more to close.
pub(crate) fn is_over<P: Payload>(connection: &Connection<P>) -> bool {
    matches!(connection.state(), State::Closed | State::TimeWait)
}

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// Bytes that name their own position, so that any misplacement shows.
pub(crate) fn pattern(from: usize, len: usize) -> Bytes {
    (from..from + len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

impl<P: Payload, C: Codec<P>> std::fmt::Debug for Pair<P, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = &self.events[self.events.len().saturating_sub(8)..];
        write!(f, "at {}:\nA {:?}\nB {:?}\n{last:?}", self.now, self.a.stats(), self.b.stats())
    }
}
