//! Many simultaneous connections through a SOCKS5 proxy of this host, to an echo server in this
//! process. `cargo xtask vm measure` runs it in a guest, where the limit of open files can be
//! raised. Not for users.
//!
//! `relay-many PROXY IDLE ACTIVE ROUNDS`: IDLE connections each exchange one piece, then ACTIVE
//! connections exchange ROUNDS pieces each, and then the idle ones exchange another piece. Every
//! byte that returns is compared.

#[cfg(target_os = "linux")]
mod run {
    #![allow(clippy::print_stdout, reason = "a command of its own")]

    use std::error::Error;
    use std::io;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::{JoinSet, LocalSet, spawn_local};

    /// Bytes of a piece.
    const PIECE: usize = 1_000;
    /// Connections that are opened at once.
    const TOGETHER: usize = 100;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [proxy, idle, active, rounds] = arguments.as_slice() else {
            return Err("usage: relay-many PROXY IDLE ACTIVE ROUNDS".into());
        };
        let (proxy, idle): (SocketAddr, usize) = (proxy.parse()?, idle.parse()?);
        let (active, rounds): (usize, u32) = (active.parse()?, rounds.parse()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let server = listener.local_addr()?;
            spawn_local(accept(listener));
            let sleeping = exchange(open(proxy, server, idle).await?, 1).await?;
            println!("{idle} connections are open, each has carried a piece");
            let working = exchange(open(proxy, server, active).await?, rounds).await?;
            println!("{active} more have carried {rounds} pieces each");
            let sleeping = exchange(sleeping, 1).await?;
            let all = sleeping.len() + working.len();
            println!("{all} are still open, and every byte came back");
            Ok(())
        })
    }

    async fn accept(listener: TcpListener) {
        while let Ok((mut peer, _)) = listener.accept().await {
            spawn_local(async move {
                let (mut from, mut to) = peer.split();
                // The client compares the bytes that return, so that a failure here need not be
                // reported.
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    }

    /// Opens `count` connections to the server by SOCKS5 (RFC 1928).
    async fn open(
        proxy: SocketAddr,
        server: SocketAddr,
        count: usize,
    ) -> io::Result<Vec<TcpStream>> {
        let mut opened = Vec::with_capacity(count);
        while opened.len() < count {
            let mut tasks = JoinSet::new();
            for _ in 0..TOGETHER.min(count - opened.len()) {
                tasks.spawn_local(ask(proxy, server));
            }
            while let Some(done) = tasks.join_next().await {
                opened.push(done.map_err(io::Error::other)??);
            }
        }
        Ok(opened)
    }

    async fn ask(proxy: SocketAddr, server: SocketAddr) -> io::Result<TcpStream> {
        let SocketAddr::V4(server) = server else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut client = TcpStream::connect(proxy).await?;
        client.write_all(&[5, 1, 0]).await?;
        client.read_exact(&mut [0; 2]).await?;
        let request = [&[5, 1, 0, 1], &server.ip().octets()[..], &server.port().to_be_bytes()];
        client.write_all(&request.concat()).await?;
        let mut reply = [0; 10];
        client.read_exact(&mut reply).await?;
        match reply[1] {
            0 => Ok(client),
            code => Err(io::Error::other(format!("SOCKS5 refuses with {code}"))),
        }
    }

    /// Lets all connections exchange pieces at the same time, for a number of rounds: each sends a
    /// piece and compares the bytes that return.
    async fn exchange(connections: Vec<TcpStream>, rounds: u32) -> io::Result<Vec<TcpStream>> {
        let mut tasks = JoinSet::new();
        for (number, mut client) in connections.into_iter().enumerate() {
            tasks.spawn_local(async move {
                for round in 0..rounds {
                    let piece = piece(number as u32, round);
                    client.write_all(&piece).await?;
                    let mut back = [0; PIECE];
                    client.read_exact(&mut back).await?;
                    if back != piece {
                        return Err(io::Error::other("other bytes came back"));
                    }
                }
                Ok(client)
            });
        }
        let mut kept = Vec::new();
        while let Some(done) = tasks.join_next().await {
            kept.push(done.map_err(io::Error::other)??);
        }
        Ok(kept)
    }

    /// Bytes in which pieces that are lost, repeated or exchanged are noticed.
    fn piece(number: u32, round: u32) -> [u8; PIECE] {
        let mut state = number.wrapping_mul(2_654_435_761) ^ round;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match run::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            let mut stderr = std::io::stderr();
            // If standard error is closed, the exit code still reports the failure.
            let _ = std::io::Write::write_fmt(&mut stderr, format_args!("relay-many: {error}\n"));
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
