//! The loops of `fairwave dccp serve` and `send`.

use crate::open::{Opened, open, with_line};
use crate::options::{Ends, Send, Serve};
use crate::report::{
    COLUMNS, ConnectionOutput, DccpOutput, HandoverOutput, LeftOutOutput, LiveConnection,
    LiveOutput, SampleOutput, Watched, line, row, summary,
};
use crate::source::Traffic;
use crate::tasks::{on_runtime, std_of, stopped};
use fairwave_console::live::{Latest, LiveSocket};
use fairwave_console::peer::resolve;
use fairwave_console::{Console, Failure, Listening};
use fairwave_dccp::Ccid;
use fairwave_dccp_host::{Addressee, ConnectError, Connection, End, Endpoint, Over, Request};
use fairwave_units::Duration;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval_at, sleep, timeout};

/// Maximum time for a connection to close.
const CLOSING: time::Duration = time::Duration::from_secs(6);

/// Maximum number of connections in an output.
const CONNECTIONS: usize = 1_000;
/// Maximum number of samples in an output.
const SAMPLES: usize = 100_000;

/// Receives from clients until interrupted.
///
/// # Errors
/// If the options are wrong, or the socket fails.
pub(crate) fn serve(console: &dyn Console, serve: &Serve) -> Result<(), Failure> {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let address = SocketAddr::new(serve.listen.unwrap_or(any), serve.ends.port);
    let request = request(&serve.ends, Addressee::Anybody(address), &serve.ccid);
    let mut session = Session::new(console, &serve.ends, None)?;
    session.sends = serve.both;
    let stop = console.stop()?;
    let (opened, live) = open(console, request, || Ok(LiveSocket::open("dccp serve")))?;
    session.publish(live)?;
    // Over IP the port is that of DCCP, and inside UDP that of UDP.
    let port = if serve.ends.udp { serve.ends.udp_port } else { address.port() };
    let at = SocketAddr::new(address.ip(), port);
    Listening::at("dccp serve", &[at]).print(console)?;
    console.inform(&format!("Listening at {address}{}\n", behind(&serve.ends)))?;
    on_runtime(session.run(opened, Duration::ZERO, serve.once, &stop))
}

/// Sends to a server.
///
/// # Errors
/// If the options are wrong, or the connection fails.
pub(crate) fn send(console: &dyn Console, send: &Send) -> Result<(), Failure> {
    if send.time.is_zero() {
        return Err(Failure::Usage("--for has to be more than 0".to_owned()));
    }
    let server = resolve(&send.host, send.ends.port, send.family)?;
    let request = request(&send.ends, Addressee::Server(server), &[send.ccid]);
    let session = Session::new(console, &send.ends, Some(server))?;
    let stop = console.stop()?;
    let (opened, live) = open(console, request, || Ok(LiveSocket::open("dccp send")))?;
    session.publish(live)?;
    console.inform(&format!("Connecting to {server}{}\n", behind(&send.ends)))?;
    on_runtime(session.run(opened, send.time, true, &stop))
}

/// The encapsulation of the packets, in words.
fn behind(ends: &Ends) -> String {
    match ends.udp {
        true => format!(", inside UDP at port {}", ends.udp_port),
        false => ", protocol 33 of IP".to_owned(),
    }
}

fn request(ends: &Ends, with: Addressee, ccids: &[u8]) -> Request {
    let mut request = Request {
        over: if ends.udp { Over::Udp } else { Over::Ip },
        udp_port: ends.udp_port,
        ccids: ccids.iter().map(|number| Ccid(*number)).collect(),
        mark: ends.mark,
        ..with_line(Request::new(with), &ends.line)
    };
    request.profiles.segment_bytes = f64::from(ends.size);
    request
}

/// A connection that is open, and its figures so far.
struct Open {
    connection: Connection,
    watched: Watched,
    unsent: Rc<Cell<u64>>,
}

/// The connections that are over. A text has no list of them, and a list in JSON has its limits: a
/// server may run for any time.
#[derive(Default)]
struct Done {
    count: usize,
    kept: Vec<ConnectionOutput>,
    left_out: LeftOutOutput,
    /// Connections and samples that may still be kept.
    room: (usize, usize),
    /// The first connection that did not end in good order, and why.
    ended_badly: Option<String>,
}

impl Done {
    fn new(is_json: bool) -> Self {
        let room = if is_json { (CONNECTIONS, SAMPLES) } else { (0, 0) };
        Self { room, ..Self::default() }
    }

    /// Adds a sample to those of its connection, if there is room.
    fn sample(&mut self, samples: &mut Vec<SampleOutput>, sample: SampleOutput) {
        if self.room.1 == 0 {
            self.left_out.samples += 1;
            return;
        }
        self.room.1 -= 1;
        samples.push(sample);
    }

    fn add(&mut self, ended: ConnectionOutput) {
        self.count += 1;
        if !ended.is_good && self.ended_badly.is_none() {
            self.ended_badly = Some(format!("{}: {}", ended.peer, ended.ended));
        }
        if self.room.0 == 0 {
            self.left_out.connections += 1;
            self.left_out.samples += ended.samples.len() as u64;
            self.room.1 += ended.samples.len();
            return;
        }
        self.room.0 -= 1;
        self.kept.push(ended);
    }
}

/// Reports of a run: their outputs and the connections' state.
struct Session<'a> {
    console: &'a dyn Console,
    ends: &'a Ends,
    /// The server, for a client.
    server: Option<SocketAddr>,
    sends: bool,
    csv: Option<File>,
    open: BTreeMap<usize, Open>,
    done: Done,
    /// Reason why there was no connection.
    refused: Option<String>,
    /// Figures for other programs.
    latest: Latest,
}

impl<'a> Session<'a> {
    /// Opens the output file. This happens before privileges are dropped.
    fn new(
        console: &'a dyn Console,
        ends: &'a Ends,
        server: Option<SocketAddr>,
    ) -> Result<Self, Failure> {
        if ends.interval.is_zero() {
            return Err(Failure::Usage("--interval has to be more than 0".to_owned()));
        }
        let csv = ends.csv.as_deref().map(created).transpose()?;
        let (open, done) = (BTreeMap::new(), Done::new(console.is_json()));
        let (sends, refused) = (server.is_some(), None);
        let latest = Latest::default();
        let session = Self { console, ends, server, sends, csv, open, done, refused, latest };
        session.show(Vec::new());
        Ok(session)
    }

    /// Answers requests of other programs with the latest figures.
    fn publish(&self, socket: Option<LiveSocket>) -> Result<(), Failure> {
        let latest = self.latest.clone();
        let figures = move || latest.get();
        socket.map_or(Ok(()), |socket| socket.publish(figures)).map_err(Failure::run)
    }

    /// Shows connections to other programs.
    fn show(&self, connections: Vec<LiveConnection>) {
        let (role, over) = (self.role(), self.over());
        self.latest.set(json!(LiveOutput { role, over, connections, ended: self.done.count }));
    }

    async fn run(
        mut self,
        opened: Opened,
        time: Duration,
        is_once: bool,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let endpoint = Endpoint::new(opened.port).map_err(Failure::run)?;
        let carried = match self.server {
            Some(server) => self.as_client(&endpoint, server, time, stop).await,
            None => self.as_server(&endpoint, is_once, stop).await,
        };
        carried?;
        let (is_client, role, over) = (self.is_client(), self.role(), self.over());
        let closed = endpoint.close().await;
        self.collect(&endpoint)?;
        let (counts, ignored) = endpoint.counts();
        let error = match (closed, self.done.ended_badly) {
            (Err(error), _) => Some(format!("the socket failed: {error}")),
            (Ok(()), Some(bad)) => Some(bad),
            (Ok(()), None) => self.refused,
        };
        let printed = DccpOutput {
            role: role.to_owned(),
            over: over.to_owned(),
            connections: self.done.kept,
            left_out: self.done.left_out,
            ignored: ignored.broken + ignored.foreign + ignored.turned_away + counts.unreadable,
            dropped_here: counts.dropped_here,
            refused: counts.refused,
            cookies: endpoint.cookies().into(),
            error,
        };
        if self.console.is_json() {
            self.console.print_json(&json!(printed))?;
        }
        // A server continues after a failed connection, which does not affect other clients.
        match printed.error {
            Some(error) if is_client || is_once => Err(Failure::Run(error)),
            _ => Ok(()),
        }
    }

    async fn as_client(
        &mut self,
        endpoint: &Endpoint,
        server: SocketAddr,
        time: Duration,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let connected = tokio::select! {
            connected = endpoint.connect() => connected,
            () = stopped(stop) => return Ok(()),
        };
        let connection = match connected {
            Ok(connection) => connection,
            Err(error) => {
                self.refused = Some(match error {
                    ConnectError::Refused(error) => error.to_string(),
                    other => format!("{server}, {other}"),
                });
                return Ok(());
            }
        };
        self.add(endpoint, connection.clone())?;
        let mut ticks = self.ticks();
        let (over, ended) = (sleep(std_of(time)), connection.closed());
        tokio::pin!(over, ended);
        loop {
            tokio::select! {
                _ = &mut ended => return Ok(()),
                () = &mut over => break,
                () = stopped(stop) => break,
                _ = ticks.tick() => self.sample(endpoint)?,
            }
        }
        connection.close();
        // One that does not close in time is dropped with the endpoint.
        let _ = timeout(CLOSING, ended).await;
        Ok(())
    }

    async fn as_server(
        &mut self,
        endpoint: &Endpoint,
        is_once: bool,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut ticks = self.ticks();
        let mut ends = JoinSet::new();
        loop {
            tokio::select! {
                accepted = endpoint.accept() => {
                    // An endpoint that is over has failed.
                    let Some(connection) = accepted else { return Ok(()) };
                    self.add(endpoint, connection.clone())?;
                    ends.spawn(async move { connection.closed().await });
                }
                Some(_) = ends.join_next() => {
                    self.collect(endpoint)?;
                    if is_once {
                        return Ok(());
                    }
                }
                _ = ticks.tick() => self.sample(endpoint)?,
                () = stopped(stop) => return Ok(()),
            }
        }
    }

    const fn is_client(&self) -> bool {
        self.server.is_some()
    }

    const fn role(&self) -> &'static str {
        if self.is_client() { "sender" } else { "receiver" }
    }

    const fn over(&self) -> &'static str {
        if self.ends.udp { "udp" } else { "ip" }
    }

    fn ticks(&self) -> tokio::time::Interval {
        let interval = std_of(self.ends.interval);
        let mut ticks = interval_at(tokio::time::Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// Begins to carry a connection's data, and to report it.
    fn add(&mut self, endpoint: &Endpoint, connection: Connection) -> Result<(), Failure> {
        let (peer, unsent) = (connection.peer().to_string(), Rc::new(Cell::new(0)));
        let receiving = connection.clone();
        spawn_local(async move { while receiving.recv().await.is_some() {} });
        if self.sends {
            let traffic = Traffic { bytes: self.ends.size, rate: self.ends.rate };
            spawn_local(traffic.send(connection.clone(), Rc::clone(&unsent)));
        }
        let text = format!("{peer}: established\n");
        let watched = Watched::new(peer, endpoint.now(), self.is_client(), self.ends.size);
        let number = self.done.count + self.open.len();
        self.open.insert(number, Open { connection, watched, unsent });
        self.print(&text)
    }

    fn sample(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let now = endpoint.now();
        let (mut texts, mut shown) = (Vec::new(), Vec::new());
        for open in self.open.values_mut() {
            let Some(account) = open.connection.account() else { continue };
            let sample = open.watched.sample(now, &account);
            self.done.sample(&mut open.watched.samples, sample);
            if let Some(file) = &mut self.csv {
                let written = file.write_all(row(&open.watched.peer, &sample).as_bytes());
                written.map_err(|error| Failure::Run(format!("--csv: {error}")))?;
            }
            texts.push(line(&open.watched.peer, &sample));
            shown.push(LiveConnection { peer: open.watched.peer.clone(), sample });
        }
        self.show(shown);
        texts.iter().try_for_each(|text| self.print(text))
    }

    /// Takes the connections that are over.
    fn collect(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let is_over = |open: &Open| open.connection.ended();
        let over = self.open.iter().filter_map(|(number, open)| Some((*number, is_over(open)?)));
        let over: Vec<_> = over.collect();
        for (number, (end, account)) in over {
            let Some(open) = self.open.remove(&number) else { continue };
            let began = account.established.unwrap_or_default();
            let host = open.connection.peer().address.ip();
            let mut ended = open.watched.ended(endpoint.now(), &account, &end.to_string());
            ended.is_good = end == End::Closed;
            ended.unsent += open.unsent.get();
            let notices = endpoint.notices(0);
            let of_peer = notices.iter().filter(|notice| notice.host == host && notice.at >= began);
            ended.handovers = of_peer.map(|notice| HandoverOutput::of(notice, began)).collect();
            self.print(&summary(&ended, self.is_client()))?;
            self.done.add(ended);
        }
        Ok(())
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        if self.console.is_json() { Ok(()) } else { self.console.print(text) }
    }
}

fn created(path: &Path) -> Result<File, Failure> {
    let opened = File::create(path).and_then(|mut file| {
        file.write_all(COLUMNS.as_bytes())?;
        Ok(file)
    });
    opened.map_err(Failure::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::KnownOutput;

    const SAMPLE: SampleOutput = SampleOutput {
        at_s: 0.0,
        rate_mbps: 0.0,
        back_mbps: 0.0,
        known: KnownOutput {
            loss_event_rate: None,
            rtt_ms: None,
            allowed_mbps: None,
            receive_mbps: None,
            equation_mbps: None,
            cwnd: None,
            congestion_events: None,
        },
    };

    /// Connections of 200 samples each, of which one ends badly.
    fn after(connections: usize, is_json: bool) -> Done {
        let mut done = Done::new(is_json);
        for number in 0..connections {
            let mut samples = Vec::new();
            for _ in 0..200 {
                done.sample(&mut samples, SAMPLE);
            }
            let is_good = number != 2;
            done.add(ConnectionOutput {
                peer: number.to_string(),
                ccid: 3,
                peer_ccid: 3,
                ended: "an end".to_owned(),
                is_good,
                seconds: 0.0,
                datagrams: 0,
                bytes: 0,
                rate_mbps: 0.0,
                back_datagrams: 0,
                back_bytes: 0,
                back_mbps: 0.0,
                unsent: 0,
                missing: 0,
                known: SAMPLE.known,
                restored: 0,
                path_bytes: None,
                handovers: Vec::new(),
                samples,
            });
        }
        done
    }

    #[test]
    fn a_text_keeps_the_verdict_alone() {
        let done = after(5, false);
        assert_eq!((done.count, done.kept.len()), (5, 0));
        assert_eq!(done.ended_badly.as_deref(), Some("2: an end"));
    }

    #[test]
    fn lists_in_json_have_limits_and_tell_what_they_leave_out() {
        let done = after(1_001, true);
        let samples: usize = done.kept.iter().map(|one| one.samples.len()).sum();
        assert_eq!((done.count, done.kept.len(), samples), (1_001, 1_000, 100_000));
        assert_eq!(done.left_out, LeftOutOutput { connections: 1, samples: 501 * 200 });
        assert_eq!(after(3, true).left_out, LeftOutOutput::default());
    }
}
