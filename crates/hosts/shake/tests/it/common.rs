//! Hosts on loopback, and an honest stream between them.

use fairwave_shake_host::{Config, Host, Psk, Stream, Udp};
use fairwave_units::Duration;
use fairwave_wire::seal::Key;
use std::future::Future;
use std::net::SocketAddr;
use std::time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Time after which a test has failed.
const PATIENCE: time::Duration = time::Duration::from_secs(120);

/// The hosts' secret.
pub(crate) fn psk() -> Psk {
    Psk::of(&Key::new(b"a secret of the two ends").expect("long enough"))
}

/// Runs a test on a thread.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let timed = async { tokio::time::timeout(PATIENCE, test).await.expect("it takes too long") };
    runtime.expect("a runtime").block_on(timed)
}

/// A server on loopback.
pub(crate) fn server(config: Config) -> Host {
    let socket = Udp::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket");
    Host::server(config, socket).expect("a server")
}

/// A client with a path to each address.
pub(crate) fn client(config: Config, at: &[SocketAddr]) -> Host {
    let client = Host::client(config).expect("a client");
    for (path, at) in (0..).zip(at) {
        client.path_up(path, Udp::over("lo", *at).expect("a socket"), *at);
    }
    client
}

/// Bytes of a stream.
pub(crate) fn content(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + n / 251) as u8 ^ seed).collect()
}

/// A stream from the client, and the server's end of it.
pub(crate) async fn streams(client: &Host, server: &Host) -> (Stream, Stream) {
    let session = client.connect(Duration::from_secs(60)).await.expect("a session");
    let mut here = session.open().expect("a stream");
    here.write_all(b"?").await.expect("an open stream");
    let mut there = server.accept().await;
    let mut first = [0];
    there.read_exact(&mut first).await.expect("an open stream");
    assert_eq!(first, *b"?");
    (here, there)
}

/// Carries bytes both ways at once; `look` is called again and again meanwhile. They arrive whole.
pub(crate) async fn exchange(here: &mut Stream, there: &mut Stream, len: usize, look: impl Fn()) {
    let (up, down) = (content(len, 1), content(len, 2));
    let one = transfer(here, &up, down.len(), &look);
    let other = transfer(there, &down, up.len(), &look);
    let (got_down, got_up) = tokio::join!(one, other);
    assert!(got_up == up && got_down == down, "bytes were changed");
}

async fn transfer(stream: &mut Stream, bytes: &[u8], len: usize, look: &impl Fn()) -> Vec<u8> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let write = async {
        writer.write_all(bytes).await.expect("the stream goes on");
    };
    let read = async {
        let mut got = vec![0; len];
        let mut at = 0;
        while at < len {
            at += reader.read(&mut got[at..]).await.expect("the stream goes on");
            look();
        }
        got
    };
    tokio::join!(write, read).1
}
