//! A peer with the secret that plays games with windows, numbers and streams: its streams end with
//! an error or wait within their bounds, and the session of another peer is not harmed.

use crate::common::{client, exchange, psk, run, server, streams};
use bytes::Bytes;
use fairwave_machine::Replay;
use fairwave_shake_host::noise::{Channel, Initiator};
use fairwave_shake_host::{Config, DatagramError, Host, Mode, Stream};
use fairwave_units::{Duration, Seed, Seq32, Stream as Draws};
use fairwave_wire::pseudo::Pseudo;
use fairwave_wire::shake::record::{self, Counts, Datagram, Frame, Priority, Record};
use fairwave_wire::shake::{
    Ack, Block, Blocks, Body, Data, Echo, Header, Join, Leave, Reason, SEQ_LIMIT, Side,
};
use fairwave_wire::tcp;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;

/// Streams that a session may have.
const MAX_STREAMS: usize = 16;
/// Bytes that the streams of a session may buffer in each direction.
const MAX_BUFFERED: u64 = 8 << 20;
/// Time after which a stream without a path that works is over.
const GIVE_UP: Duration = Duration::from_secs(2);
const LEN: usize = 1_000_000;
/// MTU of Ethernet, in bytes: no segment and no datagram is longer.
const MAX_MTU: usize = 1_500;
/// The addresses that the checksum of a set's segments covers.
const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::UNSPECIFIED, destination: Ipv4Addr::UNSPECIFIED };

/// A session of the insider, over one path.
struct Insider {
    socket: UdpSocket,
    channel: Channel,
    /// Index of the session at the server.
    remote: u32,
    /// Numbers of the last record and of the last message.
    records: u64,
    messages: u64,
    seen: Replay,
}

impl Insider {
    async fn connect(server: SocketAddr) -> Self {
        Self::connect_in(Mode::Shake, server).await
    }

    /// Opens a session of this mode, with one path.
    async fn connect_in(mode: Mode, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.connect(server).await.expect("connected");
        let (mut initiator, noise) = Initiator::new(&psk(), &[mode as u8, 0, 0, 0, 1]);
        let mut first = Vec::new();
        Datagram::Initiation { from: 7, noise: &noise }.write(&mut first);
        socket.send(&first).await.expect("sent");
        let mut bytes = [0; 2_048];
        let len = socket.recv(&mut bytes).await.expect("an answer");
        let Ok(Datagram::Answer { to: 7, from, noise }) = Datagram::parse(&bytes[..len]) else {
            panic!("no answer")
        };
        let channel = initiator.finish(noise).expect("the server's answer");
        Self { socket, channel, remote: from, records: 0, messages: 0, seen: Replay::default() }
    }

    async fn send(&mut self, frame: &Frame<'_>) {
        let mut octets = Vec::new();
        frame.write(&mut octets).expect("a frame");
        self.send_octets(&octets).await;
    }

    async fn send_octets(&mut self, octets: &[u8]) {
        self.records += 1;
        let number = NonZeroU64::new(self.records).expect("counted from one on");
        let mut bytes = Vec::new();
        let head = Record { to: self.remote, path: 0, number, sealed: &[] };
        Datagram::Record(head).write(&mut bytes);
        self.channel.seal(0, number, octets, &mut bytes).expect("a short frame");
        // A full socket is a loss.
        let _ = self.socket.send(&bytes).await;
    }

    async fn say(&mut self, connection: u64, body: Body, payload: &[u8]) {
        self.messages += 1;
        let number = NonZeroU64::new(self.messages).expect("counted from one on");
        let header = Header { connection, from: Side::Opener, path: 0, number, sent_us: 0, body };
        self.send(&Frame::Message(header, payload)).await;
    }

    /// Claims that its paths take segments of the largest size, and waits for the answer.
    async fn claim_the_largest_mss(&mut self) {
        let (mss, priority) = (u16::MAX, Priority::default());
        let echo = record::Echo { token: 5, counts: Counts::default(), mss, priority, padding: 0 };
        self.send(&Frame::Ping(echo)).await;
        loop {
            if let Ok(Frame::Pong(_)) = Frame::parse(&self.frame().await) {
                return;
            }
        }
    }

    /// The next frame of the server.
    async fn frame(&mut self) -> Vec<u8> {
        let mut bytes = [0; 2_048];
        loop {
            let len = self.socket.recv(&mut bytes).await.expect("a datagram");
            let Ok(Datagram::Record(record)) = Datagram::parse(&bytes[..len]) else { continue };
            if let Some(frame) = self.channel.open(&record, &mut self.seen) {
                return frame;
            }
        }
    }

    /// The next message of the server.
    async fn hear(&mut self) -> Header {
        loop {
            match Frame::parse(&self.frame().await) {
                Ok(Frame::Message(header, _)) => return header,
                Ok(Frame::Bundle(mut messages)) => {
                    if let Some(Ok(header)) = messages.next() {
                        return header;
                    }
                }
                _ => {}
            }
        }
    }

    /// Opens a stream by its rules.
    async fn open(&mut self, connection: u64) {
        self.say(connection, Body::Join(Join { open: true, nonce: 1, window: 60_000 }), &[]).await;
        loop {
            let header = self.hear().await;
            if let Body::Challenge(challenge) = header.body
                && header.connection == connection
            {
                let answers = challenge.nonce;
                self.say(connection, Body::Response { answers }, &[]).await;
                return;
            }
        }
    }
}

/// A number that is mostly near the beginning.
fn number(draws: &mut Draws) -> u64 {
    match draws.next_u64() % 4 {
        0 => draws.next_u64() % SEQ_LIMIT,
        1 => draws.next_u64() % (1 << 33),
        _ => draws.next_u64() % 200_000,
    }
}

/// A message of a kind and with numbers by chance, and the length of its payload.
fn game(draws: &mut Draws) -> (Body, usize) {
    let part = |n: u64| NonZeroU32::new(n as u32).unwrap_or(NonZeroU32::MIN);
    let len = 1 + (draws.next_u64() % 1_300) as usize;
    match draws.next_u64() % 9 {
        0..3 => {
            let block = Block { offset: part(number(draws)), len: part(number(draws)) };
            let blocks: Blocks = (0..draws.next_u64() % 4).map(|_| block).collect();
            let echo = NonZeroU64::new(number(draws)).map(|number| Echo { number, sent_us: 9 });
            let window = [0, 1, u32::MAX, number(draws) as u32][draws.next_u64() as usize % 4];
            (Body::Ack(Ack { cumulative: number(draws), window, echo, blocks }), 0)
        }
        3..6 => {
            (Body::Data(Data { seq: number(draws), fin: draws.next_u64().is_multiple_of(16) }), len)
        }
        6 => {
            let window = number(draws) as u32;
            (Body::Join(Join { open: draws.next_u64().is_multiple_of(2), nonce: 5, window }), 0)
        }
        7 => (Body::Response { answers: draws.next_u64() }, 0),
        _ => (Body::Leave(Leave { path: draws.next_u64() as u8, last: number(draws) }), 0),
    }
}

/// The server's application writes to each stream as much as it takes, and reads it to its end.
async fn serve(mut stream: Stream) -> ErrorKind {
    let bytes = vec![7; 64 << 10];
    let mut into = vec![0; 64 << 10];
    loop {
        let (mut reader, mut writer) = tokio::io::split(&mut stream);
        let result = tokio::select! {
            read = reader.read(&mut into) => read.map(|len| len > 0),
            written = writer.write(&bytes) => written.map(|_| true),
        };
        match result {
            Ok(true) => {}
            Ok(false) => return ErrorKind::UnexpectedEof,
            Err(error) => return error.kind(),
        }
    }
}

fn bounded() -> Config {
    let config = Config::new(psk());
    let shake = fairwave_shake::Config { give_up: GIVE_UP, ..config.shake };
    Config { shake, max_streams: MAX_STREAMS, max_buffered: MAX_BUFFERED, ..config }
}

fn is_bounded(server: &Host, stream: &Stream) {
    let session = server.session_of(stream);
    let in_flight = session.paths().iter().map(|path| path.in_flight).sum::<u64>();
    let all = in_flight + session.unsent();
    assert!(all <= MAX_BUFFERED, "{all}");
}

/// Plays games by chance on as many streams as it can open, beside an honest session.
fn plays(seed: Seed) {
    run(async {
        let server = Rc::new(server(bounded()));
        let at = server.address().expect("a server's");
        let honest = client(Config::new(psk()), &[at]);
        let (mut here, mut there) = streams(&honest, &server).await;
        let mut insider = Insider::connect(at).await;
        let mut opened = Vec::new();
        for connection in 1..=MAX_STREAMS as u64 {
            insider.open(connection).await;
            opened.push(tokio::spawn(serve(server.accept().await)));
        }
        // There is no answer to one more.
        let join = Body::Join(Join { open: true, nonce: 1, window: 60_000 });
        for connection in 100..2_000 {
            insider.say(connection, join, &[]).await;
        }
        let attack = async {
            let mut draws = seed.stream("games");
            for turn in 0..6_000_u64 {
                let (body, len) = game(&mut draws);
                insider.say(1 + turn % MAX_STREAMS as u64, body, &vec![3; len]).await;
                if turn.is_multiple_of(16) {
                    let octets: Vec<u8> = (0..turn % 90).map(|_| draws.next_u64() as u8).collect();
                    insider.send_octets(&octets).await;
                    tokio::task::yield_now().await;
                }
            }
        };
        let look = || assert_eq!(server.counts().0, 2);
        tokio::join!(attack, exchange(&mut here, &mut there, LEN, look));
        is_bounded(&server, &there);
        // None of its streams goes on without a peer that keeps the rules.
        for stream in opened {
            let kind = stream.await.expect("no panic");
            let ends = [ErrorKind::TimedOut, ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof];
            assert!(ends.contains(&kind), "{kind:?}");
        }
        exchange(&mut here, &mut there, LEN, || {}).await;
        honest.close().await;
        server.close().await;
    });
}

#[test]
fn games_of_a_peer_harm_no_other_session() {
    for seed in 1..=3 {
        plays(Seed(seed));
    }
}

/// The peer acknowledges what was never sent, with a window that shrinks and grows, and sends data
/// beyond the server's window: nothing of it is believed, so that the stream times out.
#[test]
fn a_stream_of_which_nothing_is_acknowledged_ends_with_an_error() {
    run(async {
        let server = server(bounded());
        let at = server.address().expect("a server's");
        let mut insider = Insider::connect(at).await;
        insider.open(1).await;
        let mut stream = server.accept().await;
        stream.write_all(&[7; 50_000]).await.expect("room");
        for turn in 0..200_u64 {
            let echo = NonZeroU64::new(1 << 40).map(|number| Echo { number, sent_us: 0 });
            let window = if turn.is_multiple_of(2) { u32::MAX } else { 0 };
            let ack = Ack { cumulative: 50_001 + turn, window, echo, blocks: Blocks::default() };
            insider.say(1, Body::Ack(ack), &[]).await;
            insider
                .say(1, Body::Data(Data { seq: MAX_BUFFERED + turn, fin: false }), &[3; 900])
                .await;
        }
        let error = stream.read_u8().await.expect_err("nothing was sent in order");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        is_bounded(&server, &stream);
        server.close().await;
    });
}

#[test]
fn a_reset_ends_one_stream_alone() {
    run(async {
        let server = server(bounded());
        let mut insider = Insider::connect(server.address().expect("a server's")).await;
        insider.open(1).await;
        let mut one = server.accept().await;
        insider.open(2).await;
        let mut other = server.accept().await;
        insider.say(1, Body::Reset { reason: Reason::Abort }, &[]).await;
        let error = one.read_u8().await.expect_err("it was reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        insider.say(2, Body::Data(Data { seq: 0, fin: false }), &[3]).await;
        assert_eq!(other.read_u8().await.expect("it goes on"), 3);
        server.close().await;
    });
}

/// A datagram that is as long as the peer's claim allows does not fit into a record.
#[test]
fn a_claim_of_the_largest_mss_makes_no_datagram_longer_than_a_packet() {
    run(async {
        let server = server(bounded());
        let at = server.address().expect("a server's");
        let honest = client(Config::new(psk()), &[at]);
        let (mut here, mut there) = streams(&honest, &server).await;
        let mut insider = Insider::connect(at).await;
        insider.open(1).await;
        let session = server.session_of(&server.accept().await);
        insider.claim_the_largest_mss().await;
        let datagram = Bytes::from(vec![0; 65_517]);
        let sent = session.send_datagram(1, datagram, Duration::from_secs(1));
        let Err(DatagramError::TooLong { max }) = sent else { panic!("{sent:?}") };
        assert!(max < MAX_MTU, "{max}");
        session.send_datagram(1, vec![0; max].into(), Duration::from_secs(1)).expect("room");
        exchange(&mut here, &mut there, LEN, || {}).await;
        honest.close().await;
        server.close().await;
    });
}

/// A set's connection sends segments as long as the smaller MSS of both ends.
#[test]
fn a_claim_of_the_largest_mss_makes_no_segment_of_tcp_longer_than_a_packet() {
    run(async {
        let server = server(bounded());
        let at = server.address().expect("a server's");
        let honest = client(Config::new(psk()), &[at]);
        let (mut here, mut there) = streams(&honest, &server).await;
        let mut insider = Insider::connect_in(Mode::Multi, at).await;
        insider.claim_the_largest_mss().await;
        let mut syn = tcp::Header {
            source_port: 1_000,
            destination_port: 2_000,
            seq: Seq32(1),
            window: u16::MAX,
            ..tcp::Header::default()
        };
        syn.flags.syn = true;
        syn.options.mss = Some(u16::MAX);
        let mut octets = Vec::new();
        syn.write(&mut octets, PSEUDO, &[]).expect("a segment");
        insider.send(&Frame::Segment { set: 1, tcp: &octets }).await;
        let mss = loop {
            let frame = insider.frame().await;
            if let Ok(Frame::Segment { tcp: segment, .. }) = Frame::parse(&frame) {
                let (header, _) = tcp::parse(segment, PSEUDO).expect("a segment");
                break header.options.mss.expect("that of a SYN");
            }
        };
        assert!(usize::from(mss) < MAX_MTU, "{mss}");
        exchange(&mut here, &mut there, LEN, || {}).await;
        honest.close().await;
        server.close().await;
    });
}
