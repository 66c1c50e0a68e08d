//! The loop of `fairwave dccp relay`.

use crate::PORT;
use crate::open::{open, with_line};
use crate::options::Relay;
use crate::place::Place;
use crate::rates::{Listening as RateListening, Rates};
use crate::report::{
    CountOutput, HandoverOutput, KnownOutput, LostOutput, RateLine, RelayOutput, mbps, relay_words,
};
use crate::tasks::{on_runtime, std_of, stopped};
use crate::udp::{Application, Bound};
use bytes::Bytes;
use fairwave_console::live::{Latest, LiveSocket};
use fairwave_console::peer::{Family, resolve};
use fairwave_console::{Console, Failure, Listening};
use fairwave_dccp::ccid::SenderStats;
use fairwave_dccp::{Ccid, QueueLimits, WhenFull};
use fairwave_dccp_host::{
    Account, Addressee, ConnectError, Connection, End, Endpoint, Over, Request, SendError,
};
use fairwave_units::Instant;
use serde_json::json;
use std::collections::VecDeque;
use std::mem::take;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

/// Interval at which the encoder is told its rate.
const RATES: Duration = Duration::from_millis(200);
/// Maximum number of datagrams that wait to be sent.
const QUEUE: usize = 512;
/// Maximum application data of a datagram: what UDP takes beside the headers of DCCP.
const MAX_PAYLOAD: u32 = 65_000;
/// Datagrams of the application that are taken before others have their turn.
const TOGETHER: usize = 64;

/// Carries a stream until interrupted, or until the other relay ends.
///
/// # Errors
/// If the options are wrong, a socket fails, or the other relay is lost.
pub(crate) fn run(console: &dyn Console, relay: &Relay) -> Result<(), Failure> {
    let (with, application) = match (&relay.from, &relay.to) {
        (Place::Udp(at), Place::Dccp { host: Some(host), port }) => {
            let server = resolve(host, port.unwrap_or(PORT), Family::default())?;
            (Addressee::Server(server), *at)
        }
        (Place::Dccp { host, port }, Place::Udp(to)) => {
            let at = Place::listening(host.as_deref(), *port).map_err(Failure::Usage)?;
            (Addressee::Anybody(at), *to)
        }
        _ => return Err(Failure::Usage(WRONG_PLACES.to_owned())),
    };
    if relay.deadline.is_zero() {
        return Err(Failure::Usage("--deadline has to be more than 0".to_owned()));
    }
    let stop = console.stop()?;
    let (opened, (bound, rates, live)) = open(console, request(relay, with), || {
        let bound = match with {
            Addressee::Server(_) => Bound::listening(application, relay.rtcp)?,
            Addressee::Anybody(_) => Bound::towards(application, relay.rtcp)?,
        };
        let rates = relay.rate_socket.as_deref().map(RateListening::open).transpose()?;
        Ok((bound, rates, LiveSocket::open("dccp relay")))
    })?;
    let latest = Latest::default();
    let figures = latest.clone();
    live.map_or(Ok(()), |live| live.publish(move || figures.get())).map_err(Failure::run)?;
    let at = match with {
        Addressee::Server(_) => application,
        Addressee::Anybody(at) if relay.encapsulate => SocketAddr::new(at.ip(), relay.udp_port),
        Addressee::Anybody(at) => at,
    };
    let output = on_runtime(async {
        let endpoint = Endpoint::new(opened.port).map_err(Failure::run)?;
        let mut under_way = UnderWay {
            console,
            relay,
            application: Application::new(bound).map_err(Failure::run)?,
            rates: rates.map(Rates::new).transpose().map_err(Failure::run)?,
            latest,
            connection: None,
            early: VecDeque::new(),
            ticks: ticks(),
            figures: Figures::new(endpoint.now()),
            endpoint: Rc::new(endpoint),
        };
        Listening::at("dccp relay", &[at]).print(console)?;
        console.inform(&format!("Relaying from {} to {}\n", relay.from, relay.to))?;
        let error = match with {
            Addressee::Server(server) => under_way.as_client(server, &stop).await,
            Addressee::Anybody(_) => under_way.as_server(&stop).await,
        };
        under_way.finish(error.err()).await
    })?;
    drop(opened.silence);
    console.show(&json!(output), &relay_words(&output))?;
    output.error.map_or(Ok(()), |error| Err(Failure::Run(error)))
}

const WRONG_PLACES: &str = "one of --from and --to is udp:ADDRESS:PORT, the other one dccp: at the \
    sender --from udp:127.0.0.1:5004 --to dccp:HOST, at the receiver --from dccp:17983 --to \
    udp:127.0.0.1:5004";

fn request(relay: &Relay, with: Addressee) -> Request {
    Request {
        over: if relay.encapsulate { Over::Udp } else { Over::Ip },
        udp_port: relay.udp_port,
        ccids: vec![Ccid(relay.ccid)],
        mark: relay.mark,
        queue: QueueLimits { datagrams: QUEUE, when_full: WhenFull::DropOldest, age: None },
        max_payload: MAX_PAYLOAD,
        reconnect: Some(relay.reconnect),
        ..with_line(Request::new(with), &relay.line)
    }
}

/// Counters of a relay.
#[derive(Debug)]
struct Figures {
    began: Instant,
    r#in: CountOutput,
    out: CountOutput,
    connections: u64,
    peer: Option<String>,
    /// Of the connections that are over.
    totals: Totals,
    ended: Option<End>,
    /// Time, and bytes sent and received, at the line before; notices of handovers so far.
    before: (Instant, [u64; 2]),
    noticed: usize,
}

/// Sums over connections, and the state of the latest one.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sent: CountOutput,
    received: CountOutput,
    restored: u64,
    lost: LostOutput,
    sending: KnownOutput,
    receiving: KnownOutput,
}

/// A relay under way.
struct UnderWay<'a> {
    console: &'a dyn Console,
    relay: &'a Relay,
    endpoint: Rc<Endpoint>,
    application: Application,
    rates: Option<Rates>,
    latest: Latest,
    connection: Option<Connection>,
    /// Datagrams from before the first connection, and their arrival.
    early: VecDeque<(Instant, Bytes)>,
    ticks: Interval,
    figures: Figures,
}

impl UnderWay<'_> {
    async fn as_client(&mut self, server: SocketAddr, stop: &AtomicBool) -> Result<(), String> {
        let endpoint = Rc::clone(&self.endpoint);
        let connected = async {
            tokio::select! {
                connected = endpoint.connect() => Some(connected),
                () = stopped(stop) => None,
            }
        };
        let Some(connected) = self.meanwhile(connected).await else { return Ok(()) };
        let connection = connected.map_err(|error| {
            let remedy = "is `fairwave dccp relay --from dccp:PORT` running there";
            let same = match self.relay.encapsulate {
                true => ", with --encapsulate",
                false => ", without --encapsulate",
            };
            match error {
                ConnectError::Refused(error) => format!("{error}; {remedy}{same}?"),
                other => format!("{server}: {other}; {remedy}{same}?"),
            }
        })?;
        self.take_up(connection);
        self.carry(false, stop).await
    }

    async fn as_server(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let endpoint = Rc::clone(&self.endpoint);
        let accepted = async {
            tokio::select! {
                accepted = endpoint.accept() => {
                    accepted.map(Some).ok_or_else(|| "the socket failed".to_owned())
                }
                () = stopped(stop) => Ok(None),
            }
        };
        let Some(connection) = self.meanwhile(accepted).await? else { return Ok(()) };
        self.take_up(connection);
        self.carry(true, stop).await
    }

    /// Waits for a connection, and meanwhile takes the application's datagrams, which would be too
    /// old later, and goes on with the figures.
    async fn meanwhile<T>(&mut self, connected: impl Future<Output = T>) -> T {
        tokio::pin!(connected);
        loop {
            tokio::select! {
                connected = &mut connected => return connected,
                () = self.application.readable() => self.forward(),
                _ = self.ticks.tick() => self.tell(),
            }
        }
    }

    /// Has another connection take the place of the present one.
    fn take_up(&mut self, connection: Connection) {
        self.let_go();
        let peer = connection.peer().to_string();
        if !self.console.is_quiet() {
            self.console.note(&format!("connected with {peer}"));
        }
        self.figures.peer = Some(peer);
        self.figures.connections += 1;
        let now = self.endpoint.now();
        self.expire(now);
        for (at, data) in take(&mut self.early) {
            let rest = self.relay.deadline.saturating_sub(now.since(at));
            self.figures.totals.lost.note(connection.send(data, Some(rest)));
        }
        self.connection = Some(connection);
    }

    /// Keeps the account of the present connection, and ends it: a peer that connects again has
    /// lost it.
    fn let_go(&mut self) {
        if let Some(before) = self.connection.take() {
            before.account().iter().for_each(|account| self.figures.totals.add(account));
            self.figures.totals.lost.not_taken += before.not_taken();
            before.abort();
        }
    }

    /// Carries datagrams both ways until the end.
    async fn carry(&mut self, accepts: bool, stop: &AtomicBool) -> Result<(), String> {
        loop {
            let connection = self.connection.clone();
            tokio::select! {
                () = self.application.readable() => self.forward(),
                data = received(connection.as_ref()) => self.deliver(&data),
                Some(next) = accepted(&self.endpoint, accepts) => self.take_up(next),
                end = ended(connection.as_ref()) => {
                    self.figures.ended = Some(end);
                    self.let_go();
                    if !end.is_loss() {
                        return match end {
                            End::Closed | End::ClosedEarly => Ok(()),
                            other => Err(other.to_string()),
                        };
                    }
                    if !accepts {
                        return Err(self.lost(end));
                    }
                    self.console.note(&format!("{end}; waiting for it"));
                    self.wait_again(stop, end).await?;
                }
                _ = self.ticks.tick() => self.tell(),
                () = stopped(stop) => return Ok(()),
            }
            if self.connection.is_none() {
                return Ok(());
            }
        }
    }

    /// Waits for a client that was lost.
    async fn wait_again(&mut self, stop: &AtomicBool, end: End) -> Result<(), String> {
        let (endpoint, lost) = (Rc::clone(&self.endpoint), self.lost(end));
        let patience = std_of(self.relay.reconnect);
        let accepted = async {
            tokio::select! {
                accepted = endpoint.accept() => Ok(accepted),
                () = sleep(patience) => Err(lost),
                () = stopped(stop) => Ok(None),
            }
        };
        self.meanwhile(accepted).await?.into_iter().for_each(|next| self.take_up(next));
        Ok(())
    }

    fn lost(&self, end: End) -> String {
        format!("{end}, and did not come back within {}", self.relay.reconnect)
    }

    /// Drops datagrams that have waited for the first connection for too long, or are too many.
    fn expire(&mut self, now: Instant) {
        let is_late = |(at, _): &(Instant, Bytes)| now.since(*at) >= self.relay.deadline;
        while self.early.len() > QUEUE || self.early.front().is_some_and(is_late) {
            self.early.pop_front();
            self.figures.totals.lost.no_connection += 1;
        }
    }

    /// Sends the application's datagrams to the other relay. Those without a connection are
    /// dropped; before the first one, they wait for it until their deadline.
    fn forward(&mut self) {
        for _ in 0..TOGETHER {
            let Some(data) = self.application.take() else { return };
            self.figures.r#in.add(data.len());
            let data = Bytes::copy_from_slice(data);
            match &self.connection {
                Some(connection) => {
                    self.figures.totals.lost.note(connection.send(data, Some(self.relay.deadline)));
                }
                None if self.figures.connections == 0 => {
                    let now = self.endpoint.now();
                    self.early.push_back((now, data));
                    self.expire(now);
                }
                None => self.figures.totals.lost.no_connection += 1,
            }
        }
    }

    fn deliver(&mut self, data: &[u8]) {
        match self.application.deliver(data) {
            Ok(()) => self.figures.out.add(data.len()),
            Err(error) if error.kind() == std::io::ErrorKind::NotConnected => {
                self.figures.totals.lost.no_application += 1;
            }
            Err(_) => self.figures.totals.lost.not_taken += 1,
        }
    }

    /// Sends the encoder its rate, and other programs all figures.
    fn tell(&mut self) {
        self.expire(self.endpoint.now());
        let line = self.line();
        for one in &line.handovers {
            if !self.console.is_quiet() {
                self.console.note(&format!("{:.1} s: way to the peer {}", one.at_s, one.change));
            }
        }
        if let Some(bps) = line.rate_bps {
            self.application.limit(bps);
        }
        if let Some(rates) = &self.rates {
            rates.publish(&line);
        }
        self.latest.set(json!(line));
    }

    fn line(&mut self) -> RateLine {
        let now = self.endpoint.now();
        let account = self.connection.as_ref().and_then(Connection::account);
        let output = self.output(None);
        let notices = self.endpoint.notices(self.figures.noticed);
        self.figures.noticed += notices.len();
        let (before, bytes) = self.figures.before;
        let carried = [output.sent.bytes, output.received.bytes];
        let seconds = now.since(before).as_secs_f64().max(1e-9);
        let rate = |of: usize| mbps((carried[of] - bytes[of]) as f64 / seconds);
        self.figures.before = (now, carried);
        let known = account.as_ref().map(known).unwrap_or_default();
        let lost = output.dropped;
        RateLine {
            at_s: output.seconds,
            // Of CCID 2 the rate is that of a window each round-trip time.
            rate_bps: known.rate.map(|rate| (rate * 8.0) as u64),
            allowed_mbps: known.rate.map(mbps),
            receive_mbps: known.receive_rate.map(mbps),
            loss_event_rate: known.loss_event_rate,
            rtt_ms: known.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            sent_mbps: rate(0),
            received_mbps: rate(1),
            queued: account.map_or(0, |account| account.stats.queued as u64),
            dropped: lost.too_old + lost.queue_full + lost.too_long + lost.no_connection,
            handovers: notices
                .iter()
                .map(|notice| HandoverOutput::of(notice, self.figures.began))
                .collect(),
        }
    }

    /// Figures so far.
    fn output(&self, error: Option<String>) -> RelayOutput {
        let figures = &self.figures;
        let mut totals = figures.totals;
        if let Some(present) = &self.connection {
            present.account().iter().for_each(|account| totals.add(account));
            totals.lost.not_taken += present.not_taken();
        }
        RelayOutput {
            from: self.relay.from.to_string(),
            to: self.relay.to.to_string(),
            over: if self.relay.encapsulate { "udp" } else { "ip" }.to_owned(),
            peer: figures.peer.clone(),
            seconds: self.endpoint.now().since(figures.began).as_secs_f64(),
            connections: figures.connections,
            restored: totals.restored,
            r#in: figures.r#in,
            sent: totals.sent,
            received: totals.received,
            out: figures.out,
            dropped: totals.lost,
            sending: totals.sending,
            receiving: totals.receiving,
            handovers: Vec::new(),
            ended: figures.ended.map(|end| end.to_string()),
            error,
        }
    }

    /// Closes the connection, and sums up.
    async fn finish(mut self, error: Option<String>) -> Result<RelayOutput, Failure> {
        if let Some(connection) = self.connection.clone() {
            connection.close();
            self.endpoint.close().await.map_err(Failure::run)?;
            self.figures.ended = connection.ended().map(|(end, _)| end);
        } else {
            self.endpoint.close().await.map_err(Failure::run)?;
        }
        self.figures.totals.lost.no_connection += self.early.len() as u64;
        let mut output = self.output(error);
        let notices = self.endpoint.notices(0);
        let handovers = notices.iter().map(|it| HandoverOutput::of(it, self.figures.began));
        output.handovers = handovers.collect();
        Ok(output)
    }
}

impl LostOutput {
    /// Counts a datagram that its connection did not accept.
    const fn note(&mut self, sent: Result<(), SendError>) {
        match sent {
            Ok(()) => {}
            Err(SendError::TooLong) => self.too_long += 1,
            Err(SendError::Full | SendError::Late) => self.queue_full += 1,
            Err(SendError::Closed) => self.no_connection += 1,
        }
    }
}

impl Totals {
    /// Adds a connection, the latest one last.
    fn add(&mut self, account: &Account) {
        let stats = &account.stats;
        self.sent.datagrams += stats.data_packets_sent;
        self.sent.bytes += stats.data_bytes_sent;
        self.received.datagrams += stats.data_packets_delivered;
        self.received.bytes += stats.data_bytes_delivered;
        self.restored += account.restored;
        self.lost.too_old += account.dropped.too_old;
        self.lost.queue_full += account.dropped.queue_full;
        self.lost.too_long += account.dropped.too_long;
        self.lost.no_connection += account.dropped.closed;
        let mean = self.sent.bytes.checked_div(self.sent.datagrams).unwrap_or(0);
        self.sending = KnownOutput::of_sender(&stats.sender.unwrap_or_default(), mean as u32);
        self.receiving = KnownOutput::of_receiver(&stats.receiver.unwrap_or_default());
    }
}

impl Figures {
    fn new(now: Instant) -> Self {
        Self {
            began: now,
            r#in: CountOutput::default(),
            out: CountOutput::default(),
            connections: 0,
            peer: None,
            totals: Totals::default(),
            ended: None,
            before: (now, [0; 2]),
            noticed: 0,
        }
    }
}

/// State of congestion control of a connection; nothing while it reopens, as its rate and path are
/// those of a connection that is gone.
fn known(account: &Account) -> SenderStats {
    account.stats.sender.filter(|_| !account.is_reopening).unwrap_or_default()
}

/// Times at which the encoder is told its rate.
fn ticks() -> Interval {
    let mut ticks = interval(RATES);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// A datagram of a connection that is there and not over.
async fn received(connection: Option<&Connection>) -> Bytes {
    match connection {
        Some(connection) => match connection.recv().await {
            Some(data) => data,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// The end of a connection, once all its datagrams were taken.
async fn ended(connection: Option<&Connection>) -> End {
    let Some(connection) = connection else { return std::future::pending().await };
    match connection.closed().await {
        Some((end, _)) if connection.available() == 0 => end,
        Some(_) => std::future::pending().await,
        None => End::TimedOut,
    }
}

/// The next client of a listener.
async fn accepted(endpoint: &Endpoint, accepts: bool) -> Option<Connection> {
    if accepts { endpoint.accept().await } else { std::future::pending().await }
}

#[cfg(test)]
mod tests;
