//! A client, a proxy and a server, and a line on each side of the proxy.

use bytes::Bytes;
use fairwave_cc::Initial;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_machine::{Machine, contract};
use fairwave_tcp::split::{Opening, Proxy, ProxyConfig, Side};
use fairwave_tcp::{
    BuildController, Config, Connection, DelayedAck, Event, Input, Segment, State, Virtual,
};
use fairwave_units::{BitRate, Duration, Instant, Seed, Seq32};
use fairwave_wire::tcp::{Flags, Header};
use proptest::prelude::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const CLIENT: u16 = 1;
const SERVER: u16 = 2;

fn congestion_control() -> BuildController {
    Box::new(|initial: Initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm"))
}

fn ports(config: Config, local_port: u16, remote_port: u16) -> Config {
    Config { local_port, remote_port, ..config }
}

/// The proxy of a chain whose near and far sides are configured so.
fn config(near: Config, far: Config, opening: Opening) -> ProxyConfig {
    ProxyConfig { near: ports(near, SERVER, CLIENT), far: ports(far, CLIENT, SERVER), opening }
}

/// Bytes that name their own position, so that any misplacement shows.
fn pattern(from: usize, len: usize) -> Bytes {
    (from..from + len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

/// Client and proxy are the ends A and B of the near line, proxy and server of the far one.
struct Chain {
    client: Connection<Bytes>,
    proxy: Proxy<Bytes>,
    server: Connection<Bytes>,
    near: Line<Segment<Bytes>>,
    far: Line<Segment<Bytes>>,
    now: Instant,
    events: Vec<(Side, Event)>,
    /// The most that the proxy held of each direction.
    most: [u64; 2],
}

impl Chain {
    fn new(ends: (Config, Config), config: ProxyConfig, seed: Seed, wires: [Wire; 4]) -> Self {
        let [up, down, far_up, far_down] = wires;
        let end = |config, local, remote, iss| {
            Connection::new(ports(config, local, remote), Seq32(iss), congestion_control())
        };
        Self {
            client: end(ends.0, CLIENT, SERVER, u32::MAX - 9_000),
            proxy: Proxy::new(
                config,
                (Seq32(7), Seq32(u32::MAX - 5_000)),
                (congestion_control(), congestion_control()),
            ),
            server: end(ends.1, SERVER, CLIENT, 99),
            near: Line::new(seed, up, down),
            far: Line::new(Seed(seed.0 ^ 0x5eed), far_up, far_down),
            now: Instant::ZERO,
            events: Vec::new(),
            most: [0; 2],
        }
    }

    /// The connection at an outer end: the client's is that by which data comes to the near side.
    fn end(&mut self, side: Side) -> &mut Connection<Bytes> {
        match side {
            Side::Near => &mut self.client,
            Side::Far => &mut self.server,
        }
    }

    fn open(&mut self) {
        self.input(Side::Far, Input::Listen);
        self.input(Side::Near, Input::Open);
    }

    fn input(&mut self, side: Side, input: Input<Bytes>) {
        let now = self.now;
        self.end(side).handle(now, input);
        self.drain();
    }

    /// Puts on the lines what anybody has to send.
    fn drain(&mut self) {
        let now = self.now;
        while let Some(segment) = self.client.poll(now) {
            let size = u64::from(segment.wire_len()) + 20;
            self.near.send(now, End::A, segment, size);
        }
        while let Some(segment) = self.server.poll(now) {
            let size = u64::from(segment.wire_len()) + 20;
            self.far.send(now, End::B, segment, size);
        }
        while let Some((side, segment)) = self.proxy.poll(now) {
            let size = u64::from(segment.wire_len()) + 20;
            match side {
                Side::Near => self.near.send(now, End::B, segment, size),
                Side::Far => self.far.send(now, End::A, segment, size),
            }
        }
        while let Some(event) = self.proxy.event() {
            self.events.push(event);
        }
        for (most, side) in self.most.iter_mut().zip(Side::ALL) {
            *most = (*most).max(self.proxy.held(side));
        }
    }

    /// Handles the next arrival or deadline; false if there is none.
    fn step(&mut self) -> bool {
        let deadlines = [self.client.deadline(), self.server.deadline(), self.proxy.deadline()];
        let arrivals = [self.near.next_arrival(), self.far.next_arrival()];
        let Some(at) = deadlines.into_iter().chain(arrivals).flatten().min() else { return false };
        assert!(at >= self.now, "time runs backwards");
        self.now = at;
        while let Some((end, segment)) = self.near.arrive(at) {
            match end {
                End::A => self.client.handle(at, Input::Segment(segment)),
                End::B => self.proxy.handle(at, (Side::Near, segment)),
            }
            self.drain();
        }
        while let Some((end, segment)) = self.far.arrive(at) {
            match end {
                End::A => self.proxy.handle(at, (Side::Far, segment)),
                End::B => self.server.handle(at, Input::Segment(segment)),
            }
            self.drain();
        }
        self.client.wake(at);
        self.server.wake(at);
        self.proxy.wake(at);
        self.drain();
        true
    }

    fn run_until(&mut self, end: Instant) {
        while self.now < end && self.step() {}
    }

    fn is_over(&self) -> bool {
        let over = |state| matches!(state, State::Closed | State::TimeWait);
        over(self.client.state()) && over(self.server.state()) && self.proxy.is_over()
    }
}

/// One way of a transfer.
struct Way {
    from: Side,
    total: usize,
    written: usize,
    read: Vec<u8>,
    read_chunk: u32,
    closed: bool,
}

impl Way {
    fn new(from: Side, total: usize, read_chunk: u32) -> Self {
        Self { from, total, written: 0, read: Vec::new(), read_chunk, closed: false }
    }

    fn act(&mut self, chain: &mut Chain) {
        let space = chain.end(self.from).send_space() as usize;
        let len = space.min(self.total - self.written);
        if len > 0 {
            chain.input(self.from, Input::Write(pattern(self.written, len)));
            self.written += len;
        }
        let synchronised = chain.end(self.from).stats().cwnd > 0;
        if self.written == self.total && synchronised && !self.closed {
            self.closed = true;
            chain.input(self.from, Input::Close);
        }
        if let Some(data) = chain.end(self.from.other()).read(self.read_chunk) {
            self.read.extend_from_slice(&data);
            chain.drain();
        }
    }
}

fn wire() -> impl Strategy<Value = Wire> {
    (0u64..60, 0u64..40, 0.0..0.12, 0.0..0.1, prop::option::of(1u64..20), 2usize..40).prop_map(
        |(delay, jitter, loss, duplicate, rate, queue)| Wire {
            delay: MS(delay),
            jitter: MS(jitter),
            loss,
            duplicate,
            corrupt: 0.0,
            rate: rate.map(BitRate::mbps),
            queue: Some(queue),
        },
    )
}

fn tcp() -> impl Strategy<Value = Config> {
    let flags = any::<[bool; 5]>();
    (600u32..60_000, 600u32..60_000, 200u16..1461, 1u32..4, flags).prop_map(
        |(send_buffer, receive_buffer, mss, every, [sack, timestamps, scaling, rack, nagle])| {
            Config {
                send_buffer,
                receive_buffer,
                mss,
                sack,
                timestamps,
                window_scaling: scaling,
                rack,
                nagle,
                delayed_ack: DelayedAck { every, timeout: MS(100) },
                min_rto: MS(200),
                max_rto: Duration::from_secs(4),
                max_retries: 60,
                ..Config::default()
            }
        },
    )
}

fn opening() -> impl Strategy<Value = Opening> {
    prop_oneof![Just(Opening::AfterFar), Just(Opening::AtOnce)]
}

const CASES: u32 = if cfg!(debug_assertions) { 200 } else { 2_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Whatever both lines do, every byte arrives once and in order, all four connections close,
    /// and the proxy holds no more than its buffers.
    #[test]
    fn every_byte_passes_once_and_in_order(
        seed: u64,
        ends in (tcp(), tcp()),
        sides in (tcp(), tcp(), opening()),
        wires in [wire(), wire(), wire(), wire()],
        bytes in (0usize..60_000, 0usize..20_000),
        read_chunk in 200u32..20_000,
    ) {
        let seed = Seed(seed);
        let (near, far, opening) = sides;
        let mut chain = Chain::new(ends, config(near, far, opening), seed, wires);
        let mut ways =
            [Way::new(Side::Near, bytes.0, read_chunk), Way::new(Side::Far, bytes.1, read_chunk)];
        chain.open();
        let limit = Instant::ZERO + Duration::from_secs(24 * 3600);
        loop {
            ways.iter_mut().for_each(|way| way.act(&mut chain));
            let delivered = ways.iter().all(|way| way.read.len() == way.total);
            if delivered && chain.is_over() {
                break;
            }
            prop_assert!(chain.now < limit, "seed {seed}: not done after a day: {:?}", chain.proxy);
            let unread = |way: &Way| chain.end(way.from.other()).stats().bytes_ready > 0;
            let waits = ways.iter().any(unread);
            prop_assert!(chain.step() || waits, "seed {seed}: stuck: {:?}", chain.proxy);
        }
        for way in &ways {
            prop_assert!(way.read == pattern(0, way.total), "seed {seed}: bytes are wrong");
        }
        let bounds = [near.receive_buffer + far.send_buffer, far.receive_buffer + near.send_buffer];
        for (most, bound) in chain.most.into_iter().zip(bounds) {
            prop_assert!(most <= u64::from(bound), "seed {seed}: {most} held of {bound}");
        }
    }
}

fn clean(millis: u64) -> [Wire; 4] {
    [Wire { delay: MS(millis), ..Wire::default() }; 4]
}

/// A chain whose proxy has buffers of 20 kB for each direction on each side.
fn small(opening: Opening, wires: [Wire; 4]) -> Chain {
    let side = Config { send_buffer: 20_000, receive_buffer: 20_000, ..Config::default() };
    Chain::new((Config::default(), Config::default()), config(side, side, opening), Seed(1), wires)
}

/// The server reads nothing: its window closes, the proxy's two buffers fill, and the client is
/// stopped by the window. What it was told it may send is what fits, and not a byte more.
#[test]
fn a_reader_that_stops_stops_the_sender() {
    let mut chain = small(Opening::AfterFar, clean(5));
    let server = Config { receive_buffer: 30_000, ..Config::default() };
    chain.server = Connection::new(ports(server, SERVER, CLIENT), Seq32(9), congestion_control());
    chain.open();
    chain.input(Side::Near, Input::Write(pattern(0, 200_000)));
    chain.run_until(Instant::ZERO + Duration::from_secs(30));
    assert_eq!(chain.server.stats().bytes_ready, 30_000);
    assert_eq!(chain.proxy.held(Side::Near), 40_000);
    assert_eq!(chain.client.stats().bytes_acked, 70_000);
    let mut read = Vec::new();
    while read.len() < 200_000 {
        match chain.server.read(u32::MAX) {
            Some(data) => read.extend_from_slice(&data),
            None => assert!(chain.step(), "stuck after {} bytes", read.len()),
        }
        chain.drain();
    }
    assert!(read == pattern(0, 200_000));
}

/// Round trips of 20 ms on each side: answered at once the client is established after one of
/// them, and after both otherwise.
#[test]
fn the_client_is_answered_at_once_or_when_the_server_has_accepted() {
    for (opening, millis) in [(Opening::AtOnce, 20), (Opening::AfterFar, 40)] {
        let mut chain = small(opening, clean(10));
        chain.open();
        while chain.client.state() != State::Established {
            assert!(chain.step());
        }
        assert_eq!(chain.now, Instant::ZERO + MS(millis), "{opening:?}");
    }
}

/// Nobody listens at the server: the client hears of it, at once or after it was let in.
#[test]
fn a_refusal_reaches_the_client() {
    for opening in [Opening::AtOnce, Opening::AfterFar] {
        let mut chain = small(opening, clean(10));
        chain.input(Side::Near, Input::Open);
        chain.run_until(Instant::ZERO + Duration::from_secs(5));
        let mut events = Vec::new();
        while let Some(event) = chain.client.event() {
            events.push(event);
        }
        let accepted = events.contains(&Event::Established);
        assert_eq!((accepted, events.last()), (opening == Opening::AtOnce, Some(&Event::Reset)));
        assert!(chain.is_over(), "{:?}", chain.proxy);
    }
}

/// A reset of either end reaches the other.
#[test]
fn a_reset_passes() {
    for side in Side::ALL {
        let mut chain = small(Opening::AfterFar, clean(10));
        chain.open();
        chain.run_until(Instant::ZERO + MS(100));
        assert_eq!(chain.end(side.other()).state(), State::Established);
        chain.input(side, Input::Abort);
        chain.run_until(Instant::ZERO + MS(500));
        assert_eq!(chain.end(side.other()).state(), State::Closed, "{side:?}");
        assert!(chain.proxy.is_over());
        assert!(chain.events.contains(&(side, Event::Reset)), "{:?}", chain.events);
    }
}

/// A segment of the client that carries no data.
fn control(seq: u32, flags: Flags) -> Segment<Virtual> {
    let header = Header {
        source_port: CLIENT,
        destination_port: SERVER,
        seq: Seq32(seq),
        window: 60_000,
        flags,
        ..Header::default()
    };
    Segment { header, ..Segment::default() }
}

fn syn() -> Flags {
    Flags { syn: true, ..Flags::default() }
}

fn rst() -> Flags {
    Flags { rst: true, ..Flags::default() }
}

/// The client takes its SYN back while the server has not answered, or right after the proxy has.
#[test]
fn a_client_that_gives_up_leaves_nothing_open() {
    for opening in [Opening::AtOnce, Opening::AfterFar] {
        let side = Config::default();
        let mut proxy: Proxy<Virtual> = Proxy::new(
            config(side, side, opening),
            (Seq32(1), Seq32(2)),
            (congestion_control(), congestion_control()),
        );
        for segment in [control(100, syn()), control(101, rst())] {
            proxy.handle(Instant::ZERO, (Side::Near, segment));
            while proxy.poll(Instant::ZERO).is_some() {}
        }
        assert!(proxy.is_over(), "{opening:?}: {proxy:?}");
        assert_eq!(proxy.deadline(), None, "{opening:?}");
    }
}

/// A reset before any SYN is ignored (RFC 9293 section 3.10.7.2), and so is one whose number is
/// not the next after the SYN that waits (RFC 5961 section 3.2).
#[test]
fn a_stray_reset_ends_nothing() {
    for opening in [Opening::AtOnce, Opening::AfterFar] {
        let side = Config::default();
        let mut proxy: Proxy<Virtual> = Proxy::new(
            config(side, side, opening),
            (Seq32(1), Seq32(2)),
            (congestion_control(), congestion_control()),
        );
        for segment in [control(7, rst()), control(100, syn()), control(5_000_000, rst())] {
            proxy.handle(Instant::ZERO, (Side::Near, segment));
        }
        let sent: Vec<_> = core::iter::from_fn(|| proxy.poll(Instant::ZERO)).collect();
        let asks = sent.iter().any(|(side, s)| *side == Side::Far && s.header.flags.syn);
        let refuses = sent.iter().any(|(_, s)| s.header.flags.rst);
        assert!(asks && !refuses && !proxy.is_over(), "{opening:?}: {sent:?}");
        assert!(proxy.deadline().is_some(), "{opening:?}");
    }
}

/// The refusal is lost on the way to the client, which asks again: it is refused again.
#[test]
fn a_refusal_that_was_lost_is_repeated() {
    for opening in [Opening::AtOnce, Opening::AfterFar] {
        let side = Config::default();
        let mut proxy: Proxy<Virtual> = Proxy::new(
            config(side, side, opening),
            (Seq32(1), Seq32(2)),
            (congestion_control(), congestion_control()),
        );
        let now = Instant::ZERO;
        proxy.handle(now, (Side::Near, control(100, syn())));
        while proxy.poll(now).is_some() {}
        let mut no = control(0, Flags { ack: true, ..rst() });
        no.header.ack = Seq32(3);
        proxy.handle(now, (Side::Far, no));
        while proxy.poll(now).is_some() {}
        for _ in 0..2 {
            proxy.handle(now, (Side::Near, control(100, syn())));
            let answer = proxy.poll(now).expect("an answer");
            assert!(answer.0 == Side::Near && answer.1.header.flags.rst, "{opening:?}: {answer:?}");
            assert_eq!(proxy.poll(now), None, "{opening:?}");
        }
    }
}

/// The client has said all it has to say; the server goes on.
#[test]
fn half_a_connection_stays_open() {
    let mut chain = small(Opening::AfterFar, clean(10));
    chain.open();
    chain.run_until(Instant::ZERO + MS(100));
    chain.input(Side::Near, Input::Write(pattern(0, 50_000)));
    chain.input(Side::Near, Input::Close);
    chain.run_until(Instant::ZERO + MS(2_000));
    let mut read = 0;
    while let Some(data) = chain.server.read(u32::MAX) {
        read += data.len();
        chain.drain();
        chain.run_until(chain.now + MS(500));
    }
    assert_eq!((read, chain.server.state()), (50_000, State::CloseWait));
    assert_eq!(chain.client.state(), State::FinWait2);
    chain.input(Side::Far, Input::Write(pattern(0, 5_000)));
    chain.input(Side::Far, Input::Close);
    chain.run_until(chain.now + MS(2_000));
    assert_eq!(chain.client.read(u32::MAX).map(|data| data.len()), Some(5_000));
    assert!(chain.is_over());
}

#[test]
fn a_proxy_is_a_machine() {
    let mut client: Connection<Virtual> =
        Connection::new(ports(Config::default(), CLIENT, SERVER), Seq32(5), congestion_control());
    client.handle(Instant::ZERO, Input::Open);
    let syn = client.poll(Instant::ZERO).expect("it opens");
    for opening in [Opening::AtOnce, Opening::AfterFar] {
        let side = Config::default();
        let mut proxy = Proxy::new(
            config(side, side, opening),
            (Seq32(1), Seq32(2)),
            (congestion_control(), congestion_control()),
        );
        let again = Instant::ZERO + Duration::from_secs(1);
        let inputs =
            [(Instant::ZERO, (Side::Near, syn.clone())), (again, (Side::Near, syn.clone()))];
        let end = Instant::ZERO + Duration::from_secs(3_600);
        let out = contract::check(&mut proxy, inputs, end);
        // A server that never answers: the SYN and 15 more of it. The client that waits for its
        // SYN-ACK is refused in the end; the one that has it does not answer either.
        let syns = out.iter().filter(|(_, (side, s))| *side == Side::Far && s.header.flags.syn);
        assert_eq!(syns.count(), 16, "{opening:?}");
        let resets = out.iter().filter(|(_, (side, s))| *side == Side::Near && s.header.flags.rst);
        assert_eq!(resets.count(), usize::from(opening == Opening::AfterFar), "{opening:?}");
        assert!(proxy.is_over(), "{opening:?}");
    }
}
