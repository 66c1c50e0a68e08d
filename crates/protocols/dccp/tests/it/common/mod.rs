//! Two connections over a test line that carries bytes.
use bytes::Bytes;
use fairwave_dccp::ccid::{Arrived, Feedback, Permit, Receiver, Sender, SenderStats, Sent};
use fairwave_dccp::{Ccid, Config, Connection, Event, Input, Packet, Profiles, State};
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{self, Options, Seq48};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::pseudo::Pseudo;
use std::net::Ipv4Addr;

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;
pub(crate) const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

/// A profile without congestion control: everything may go, every other packet is acknowledged.
/// It answers to any number, so that negotiation can be tested apart from profiles.
#[derive(Debug, Default)]
pub(crate) struct Anything;

#[derive(Debug)]
struct AnySender {
    ccid: Ccid,
}

impl Sender for AnySender {
    fn ccid(&self) -> Ccid {
        self.ccid
    }
    fn permit(&mut self, _: Instant, _: u32) -> Permit {
        Permit::Now
    }
    fn on_sent(&mut self, _: Instant, _: &Sent) {}
    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}
    fn wake(&mut self, _: Instant) {}
    fn deadline(&self) -> Option<Instant> {
        None
    }
    fn stats(&self) -> SenderStats {
        SenderStats::default()
    }
}

#[derive(Debug)]
struct AnyReceiver {
    ccid: Ccid,
    owed: u32,
}

impl Receiver for AnyReceiver {
    fn ccid(&self) -> Ccid {
        self.ccid
    }
    fn on_packet(&mut self, _: Instant, arrived: &Arrived<'_>) {
        self.owed += u32::from(arrived.data.is_some());
    }
    fn is_due(&self, _: Instant) -> bool {
        self.owed >= 2
    }
    fn acknowledge(&mut self, _: Instant, _: Seq48, _: &mut Options) {
        self.owed = 0;
    }
    fn wake(&mut self, _: Instant) {}
    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Profiles for Anything {
    fn sender(&mut self, ccid: Ccid, _: Instant) -> Option<Box<dyn Sender>> {
        Some(Box::new(AnySender { ccid }))
    }
    fn receiver(&mut self, ccid: Ccid, _: Instant) -> Option<Box<dyn Receiver>> {
        Some(Box::new(AnyReceiver { ccid, owed: 0 }))
    }
}

/// The packet as bytes; in front the ECN field.
pub(crate) fn encode(packet: &Packet<Bytes>) -> Vec<u8> {
    let payload = packet.payload.clone().unwrap_or_default();
    let mut bytes = Vec::new();
    let written = packet.header.write(&mut bytes, PSEUDO, &packet.options, &payload);
    written.expect("a connection sends legal packets");
    assert_eq!(bytes.len() as u32, packet.wire_len());
    bytes.insert(0, packet.ecn.put(0));
    bytes
}

/// The packet of these bytes; `None` if damage was detected.
pub(crate) fn decode(bytes: &[u8]) -> Option<Packet<Bytes>> {
    let read = dccp::parse(&bytes[1..], PSEUDO).ok()?;
    let kind = read.header.kind;
    let has_data = match kind {
        dccp::Kind::Data | dccp::Kind::DataAck { .. } => true,
        _ => kind.is_data_packet() && !read.payload.is_empty(),
    };
    Some(Packet {
        header: read.header,
        options: Options::from_bytes(read.options),
        ecn: Ecn::of(bytes[0]),
        payload: has_data.then(|| Bytes::copy_from_slice(read.payload)),
    })
}

/// Two ends, their line, and the time. A is the client.
pub(crate) struct Pair {
    pub(crate) a: Connection<Bytes>,
    pub(crate) b: Connection<Bytes>,
    pub(crate) line: Line<Vec<u8>>,
    pub(crate) now: Instant,
    pub(crate) events: Vec<(End, Event<Bytes>)>,
    /// Every packet that was sent, with its time.
    pub(crate) sent: Vec<(Instant, End, Packet<Bytes>)>,
}

impl Pair {
    pub(crate) fn new(configs: [Config; 2], iss: [u64; 2], line: Line<Vec<u8>>) -> Self {
        Self::with_profiles(configs, iss, line, [Box::new(Anything), Box::new(Anything)])
    }

    pub(crate) fn with_profiles(
        configs: [Config; 2],
        iss: [u64; 2],
        line: Line<Vec<u8>>,
        profiles: [Box<dyn Profiles>; 2],
    ) -> Self {
        let [a, b] = configs;
        let [of_a, of_b] = profiles;
        let a = Config { local_port: 1, remote_port: 2, ..a };
        let b = Config { local_port: 2, remote_port: 0, ..b };
        Self {
            a: Connection::new(a, Seq48::new(iss[0]), of_a),
            b: Connection::new(b, Seq48::new(iss[1]), of_b),
            line,
            now: Instant::ZERO,
            events: Vec::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn end(&mut self, end: End) -> &mut Connection<Bytes> {
        match end {
            End::A => &mut self.a,
            End::B => &mut self.b,
        }
    }

    pub(crate) fn open(&mut self) {
        self.input(End::B, Input::Listen);
        self.input(End::A, Input::Open);
    }

    pub(crate) fn input(&mut self, end: End, input: Input<Bytes>) {
        let now = self.now;
        self.end(end).handle(now, input);
        self.drain(end);
    }

    /// Puts what `end` has to send on the line and keeps its events.
    pub(crate) fn drain(&mut self, end: End) {
        let now = self.now;
        while let Some(packet) = self.end(end).poll(now) {
            let bytes = encode(&packet);
            let size = bytes.len() as u64 + 19;
            self.line.send(now, end, bytes, size);
            self.sent.push((now, end, packet));
        }
        while let Some(event) = self.end(end).event() {
            self.events.push((end, event));
        }
        let deadline = self.end(end).deadline();
        assert!(deadline.is_none_or(|at| at >= now), "{end:?} at {now}: {deadline:?}");
    }

    /// Moves to the next arrival or deadline and handles it; false if there is none by `until`.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let times = [self.line.next_arrival(), self.a.deadline(), self.b.deadline()];
        let Some(at) = times.into_iter().flatten().min().filter(|at| *at <= until) else {
            return false;
        };
        assert!(at >= self.now, "time runs backwards");
        self.now = at;
        while let Some((end, bytes)) = self.line.arrive(at) {
            if let Some(packet) = decode(&bytes) {
                self.end(end).handle(at, Input::Packet(packet));
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

    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Numbers of the data that `end` has got, in order of arrival.
    pub(crate) fn got(&self, end: End) -> Vec<Bytes> {
        let data = self.events.iter().filter_map(|(at, event)| match event {
            Event::Data { payload, .. } if *at == end => Some(payload.clone()),
            _ => None,
        });
        data.collect()
    }

    pub(crate) fn states(&self) -> [State; 2] {
        [self.a.state(), self.b.state()]
    }
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = &self.events[self.events.len().saturating_sub(8)..];
        write!(f, "at {}:\nA {:?}\nB {:?}\n{last:?}", self.now, self.a.stats(), self.b.stats())
    }
}
