//! Memory and time of many connections of one endpoint inside UDP over the loopback: each is
//! opened from a socket of its own, carries 500 bytes, and the same bytes back.
//!
//! `serve COUNT` prints its address and, once all are open, the figures. `open COUNT ADDRESS` has
//! clients, which close when standard input ends.
//!
//! `cargo xtask bench-dccp --connections 10000` runs both.

#![allow(clippy::print_stdout, reason = "a program of its own")]

#[cfg(target_os = "linux")]
mod run {
    use bytes::Bytes;
    use fairwave_dccp_host::{Addressee, Connection, Endpoint, Over, Port, Request};
    use std::error::Error;
    use std::io::{Read, stdin};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::{env, fs};
    use tokio::runtime::Builder;
    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    /// Handshakes of a process at one time.
    const TOGETHER: usize = 16;
    /// The server's port of DCCP.
    const PORT: u16 = 17_983;

    type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

    pub(crate) fn main() -> Outcome<()> {
        let words: Vec<String> = env::args().skip(1).collect();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        match &words[..] {
            [mode, count] if mode == "serve" => runtime.block_on(serve(count.parse()?)),
            [mode, count, to] if mode == "open" => {
                runtime.block_on(open(count.parse()?, to.parse()?))
            }
            _ => Err("usage: connections serve COUNT | open COUNT ADDRESS".into()),
        }
    }

    fn inside_udp(with: Addressee, udp_port: u16) -> Request {
        Request { over: Over::Udp, udp_port, ..Request::new(with) }
    }

    /// Resident memory of this process in bytes.
    fn resident() -> Outcome<usize> {
        let status = fs::read_to_string("/proc/self/status")?;
        let figure = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = figure.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("no figure")?;
        Ok(kib.parse::<usize>()? * 1_024)
    }

    /// Returns the first data to their sender; the connection stays open.
    async fn echo(connection: Connection) -> Outcome<Connection> {
        let data = connection.recv().await.ok_or("no data")?;
        connection.send_wait(data, None).await?;
        Ok(connection)
    }

    async fn serve(count: usize) -> Outcome<()> {
        let at = SocketAddr::from(([127, 0, 0, 1], PORT));
        let (max_connections, max_half_open) = (count, 1_000);
        let request = inside_udp(Addressee::Anybody(at), 0);
        let port = Port::open(&Request { max_connections, max_half_open, ..request })?;
        let to = port.address()?;
        let server = Endpoint::new(port)?;
        let (mut echoes, mut began) = (JoinSet::new(), None);
        let (before, clock) = (resident()?, server.now());
        println!("{to}");
        for _ in 0..count {
            let accepted = server.accept().await.ok_or("the endpoint is over")?;
            began.get_or_insert(server.now());
            echoes.spawn(echo(accepted));
        }
        let mut open = Vec::with_capacity(count);
        while let Some(echoed) = echoes.join_next().await {
            open.push(echoed??);
        }
        let took = server.now().since(began.unwrap_or(clock));
        let each = resident()?.saturating_sub(before) / count.max(1);
        let seconds = took.as_nanos() as f64 / 1e9;
        println!(
            "{} connections open, {each} bytes each, in {seconds:.1} s from the first; {:?}, {:?}",
            server.connections(),
            server.cookies(),
            server.counts(),
        );
        Ok(())
    }

    async fn client(to: SocketAddr, turn: Arc<Semaphore>) -> Outcome<(Endpoint, Connection)> {
        let _turn = turn.acquire().await?;
        let server = Addressee::Server(SocketAddr::new(to.ip(), PORT));
        let endpoint = Endpoint::new(Port::open(&inside_udp(server, to.port()))?)?;
        let connection = endpoint.connect().await?;
        connection.send(Bytes::from(vec![7; 500]), None)?;
        connection.recv().await.ok_or("no answer")?;
        Ok((endpoint, connection))
    }

    /// Opens connections, and keeps them until standard input ends.
    async fn open(count: usize, to: SocketAddr) -> Outcome<()> {
        let turn = Arc::new(Semaphore::new(TOGETHER));
        let clients: JoinSet<_> = (0..count).map(|_| client(to, Arc::clone(&turn))).collect();
        let open = clients.join_all().await.into_iter().collect::<Outcome<Vec<_>>>()?;
        let ended = tokio::task::spawn_blocking(|| stdin().read_to_end(&mut Vec::new()));
        ended.await??;
        drop(open);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
