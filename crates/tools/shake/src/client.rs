//! The loop of `fairwave shake connect`.

use crate::association::Associations;
use crate::board::Board;
use crate::monitor::Monitor;
use crate::report::{DatagramOutput, PathOutput, ShakeOutput, words};
use crate::risk::Risks;
use crate::tasks::{Tally, on_runtime, until_stopped};
use crate::transparent;
use crate::tunnel;
use crate::via::{Borrowed, Turned, Vias};
use fairwave_console::{Console, Failure, Listening};
use fairwave_linux::prepare_relayed;
use fairwave_shake_host::endpoint::{DatagramStats, PathStats, Priority};
use fairwave_shake_host::noise::Psk;
use fairwave_shake_host::{Config, Host, Session};
use fairwave_share_host::{At, Link};
use fairwave_units::{BitRate, Duration};
use fast_socks5::util::target_addr::TargetAddr;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

/// Period of the account and of the figures.
const LOOK: time::Duration = time::Duration::from_millis(250);
/// Time for the answers of lenders before the session is opened without them: a search for a name
/// takes up to 4 s.
const BORROWING: time::Duration = time::Duration::from_secs(6);
/// Time without accepting clients after the process has run out of descriptors.
const BREATHER: time::Duration = time::Duration::from_millis(50);

/// Options of a client.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) server: SocketAddr,
    /// Interfaces, one for each path.
    pub(crate) via: Vec<String>,
    /// Their priorities.
    pub(crate) priorities: Vec<Priority>,
    /// Lenders, each with the secret that it shares with this host, for the paths behind.
    pub(crate) borrow: Vec<(At, Psk)>,
    pub(crate) socks: TcpListener,
    pub(crate) forwards: Vec<(TcpListener, TargetAddr)>,
    /// Sockets that accept connections to any address.
    pub(crate) transparent: Vec<TcpListener>,
    /// Time after which a datagram of UDP is of no use.
    pub(crate) deadline: Duration,
    /// Time for the first answer.
    pub(crate) timeout: Duration,
    pub(crate) interval: Option<Duration>,
    pub(crate) lasts: Option<Duration>,
    /// Level of a radio's signal below which a link may be at risk.
    pub(crate) weak_dbm: f64,
    /// Place for the figures.
    pub(crate) board: Board,
    /// Whether the terminal shows the figures, so that nothing else may be printed on it.
    pub(crate) is_live: bool,
}

/// Where the target of an application's connection is from.
#[derive(Clone, Debug)]
enum Asked {
    /// SOCKS5.
    Socks,
    /// The option `--forward`.
    Forward(Rc<TargetAddr>),
    /// The address to which it went; the port is that of the socket itself.
    Transparent(u16),
}

/// State of a client's loop.
struct Client<'a> {
    console: &'a dyn Console,
    host: Rc<Host>,
    vias: RefCell<Vias>,
    tally: Rc<Tally>,
    associations: Rc<Associations>,
    account: RefCell<Account>,
    risks: Risks,
    board: Board,
    is_live: bool,
    /// Bandwidths of the paths, where they are known at set-up.
    rates: Vec<Option<BitRate>>,
}

/// Counts of the paths, over all sessions.
#[derive(Debug, Default)]
struct Account {
    sessions: u64,
    /// Number of the latest session, and its counts.
    latest: Option<(usize, Vec<PathStats>)>,
    /// Counts of the sessions before.
    before: Vec<PathStats>,
    /// The same of datagrams.
    datagrams: [DatagramStats; 2],
}

impl Account {
    fn note(&mut self, session: &Session) {
        let now = (session.number(), session.paths());
        let is_other = self.latest.as_ref().is_none_or(|(number, _)| *number != now.0);
        if is_other {
            self.sessions += 1;
            self.before = self.paths();
            self.datagrams[0] = self.datagrams[1].after(&self.datagrams[0]);
        }
        self.datagrams[1] = session.datagrams();
        self.latest = Some(now);
    }

    /// There is no session: no path carries anything.
    fn note_none(&mut self) {
        for stats in self.latest.iter_mut().flat_map(|(_, paths)| paths) {
            (stats.is_up, stats.in_flight) = (false, 0);
        }
    }

    /// Sums of all sessions by path, with the latest state. A session has no counts of a path
    /// without a route.
    fn paths(&self) -> Vec<PathStats> {
        let latest = self.latest.as_ref().map_or(&[][..], |(_, paths)| paths);
        let ids: BTreeSet<u8> = latest.iter().chain(&self.before).map(|stats| stats.path).collect();
        let of = |all: &[PathStats], path: u8| {
            let known = all.iter().find(|stats| stats.path == path).copied();
            known.unwrap_or(PathStats { path, ..PathStats::default() })
        };
        ids.into_iter().map(|path| of(latest, path).after(&of(&self.before, path))).collect()
    }
}

/// Carries connections until `stop` is set.
///
/// # Errors
/// If there is no session, or the loop cannot run.
pub(crate) fn run(
    console: &dyn Console,
    plan: Plan,
    stop: &AtomicBool,
) -> Result<ShakeOutput, Failure> {
    on_runtime(async {
        let borrowed = borrow(&plan, stop).await?;
        let mut config = plan.config.clone();
        config.rates.extend(borrowed.iter().map(Borrowed::rate));
        let rates = config.rates.clone();
        let host = Host::client(config).map_err(Failure::run)?;
        for (path, priority) in (0..).zip(&plan.priorities) {
            host.prioritize(path, *priority);
        }
        let client = Client {
            console,
            host: Rc::new(host),
            vias: RefCell::new(Vias::new(plan.server, &plan.via, borrowed)),
            tally: Rc::new(Tally::default()),
            associations: Rc::new(Associations::new(plan.deadline)),
            account: RefCell::new(Account::default()),
            risks: Risks::new(&plan.via, &plan.priorities, plan.weak_dbm),
            board: plan.board.clone(),
            is_live: plan.is_live,
            rates,
        };
        let result = client.serve(plan, stop).await;
        // Tasks of applications end with the runtime; the peer is told now.
        client.host.close().await;
        client.vias.into_inner().close().await;
        result
    })
}

/// Borrows the lenders' uplinks, and waits for their answers: their bandwidths are those of the
/// paths at set-up.
async fn borrow(plan: &Plan, stop: &AtomicBool) -> Result<Vec<Borrowed>, Failure> {
    let mut borrowed = Vec::new();
    for (at, psk) in &plan.borrow {
        let link = Link::new(psk.clone(), at.clone(), plan.server).map_err(Failure::run)?;
        borrowed.push(Borrowed::new(at.to_string(), link));
    }
    let settled = async {
        for one in &borrowed {
            one.settled().await;
        }
    };
    tokio::select! {
        // A lender that comes later is a path from then on.
        _ = timeout(BORROWING, settled) => {}
        () = until_stopped(stop, None) => {}
    }
    Ok(borrowed)
}

impl Client<'_> {
    async fn serve(&self, plan: Plan, stop: &AtomicBool) -> Result<ShakeOutput, Failure> {
        self.look();
        self.look_at_lenders();
        let began = Instant::now();
        let connected = tokio::select! {
            connected = self.host.connect(plan.timeout) => Some(connected),
            () = self.watch() => None,
            () = until_stopped(stop, plan.lasts) => None,
        };
        let Some(connected) = connected else {
            let why = if stop.load(Ordering::Relaxed) { "interrupted" } else { "--for ended" };
            return Err(Failure::Run(format!("{why} before a session was open")));
        };
        let session = connected.map_err(|error| self.unreachable(&plan, &error.to_string()))?;
        self.account.borrow_mut().note(&session);
        let at = plan.socks.local_addr().map_err(Failure::run)?;
        Listening { interfaces: plan.via.clone(), ..Listening::at("shake connect", &[at]) }
            .print(self.console)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let opened = format!("Session with {} after {ms:.0} ms; SOCKS5 at {at}", plan.server);
        match self.is_live {
            true => self.board.note(&opened),
            false => self.console.inform(&format!("{opened}\n"))?,
        }
        let started = Instant::now();
        for (listener, target) in plan.forwards {
            self.accept(listener, Asked::Forward(Rc::new(target)))?;
        }
        for listener in plan.transparent {
            let own = listener.local_addr().map_err(Failure::run)?.port();
            self.accept(listener, Asked::Transparent(own))?;
        }
        self.accept(plan.socks, Asked::Socks)?;
        let mode = plan.config.mode.name();
        let output = || self.output(plan.server, mode, started);
        let publish = async {
            loop {
                self.board.show(output());
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = self.watch() => {}
            () = publish => {}
            () = self.print(plan.interval, &output) => {}
            () = until_stopped(stop, plan.lasts) => {}
        }
        self.keep_account();
        Ok(output())
    }

    /// The failure to open a session, with the interfaces that could not be used.
    fn unreachable(&self, plan: &Plan, why: &str) -> Failure {
        let down = self.vias.borrow().down();
        let hint = match (down.len(), plan.via.len() + plan.borrow.len()) {
            (0, _) => String::new(),
            (some, all) if some == all => {
                return Failure::Run(format!(
                    "{}: no interface or lender works that has a way to it: {}",
                    plan.server,
                    down.join(", ")
                ));
            }
            _ => format!("; without {}, which cannot be used", down.join(", ")),
        };
        Failure::Run(format!("{}: {why}{hint}", plan.server))
    }

    fn look(&self) {
        let turned = self.vias.borrow_mut().look(&self.host);
        self.note_all(turned);
    }

    fn look_at_lenders(&self) {
        let turned = self.vias.borrow_mut().look_at_lenders(&self.host);
        self.note_all(turned);
    }

    fn note_all(&self, turned: Vec<Turned>) {
        for turned in turned {
            if !self.console.is_quiet() {
                let state = if turned.is_up { "can be used" } else { "cannot be used" };
                let why = if turned.why.is_empty() { "" } else { ": " };
                self.note(&format!("{} {state}{why}{}", turned.name, turned.why));
            }
        }
    }

    /// Prints a note, or adds it to those of the live table.
    fn note(&self, text: &str) {
        match self.is_live {
            true => self.board.note(text),
            false => self.console.note(text),
        }
    }

    fn keep_account(&self) {
        let mut account = self.account.borrow_mut();
        match self.host.session() {
            Some(session) => account.note(&session),
            None => account.note_none(),
        }
    }

    /// Looks after the interfaces and the account.
    async fn watch(&self) {
        let monitor = Monitor::open();
        let look = async {
            loop {
                monitor.changed().await;
                self.look();
            }
        };
        let account = async {
            loop {
                sleep(LOOK).await;
                self.look_at_lenders();
                self.keep_account();
            }
        };
        tokio::join!(look, account, self.risks.watch(&self.host, |text| self.note(text)));
    }

    /// Prints the paths in an interval, if there is one.
    async fn print(&self, interval: Option<Duration>, output: &impl Fn() -> ShakeOutput) {
        let Some(interval) = interval else { return std::future::pending().await };
        loop {
            sleep(time::Duration::from_nanos(interval.as_nanos())).await;
            self.console.note(words(&output()).trim_end());
        }
    }

    /// Accepts connections of applications.
    fn accept(&self, listener: TcpListener, asked: Asked) -> Result<(), Failure> {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::run)?;
        let (host, tally) = (Rc::clone(&self.host), Rc::clone(&self.tally));
        let associations = Rc::clone(&self.associations);
        spawn_local(async move {
            loop {
                let Ok((connection, _)) = listener.accept().await else {
                    sleep(BREATHER).await;
                    continue;
                };
                let (host, all) = (Rc::clone(&host), Rc::clone(&associations));
                let carried = carried(host, connection, asked.clone(), all);
                let tally = Rc::clone(&tally);
                spawn_local(async move { tally.count(carried).await });
            }
        });
        Ok(())
    }

    fn output(&self, server: SocketAddr, mode: &str, started: Instant) -> ShakeOutput {
        let seconds = started.elapsed().as_secs_f64();
        let (account, vias) = (self.account.borrow(), self.vias.borrow());
        let of = |stats: &PathStats| {
            let rate = self.rates.get(usize::from(stats.path)).copied().flatten();
            let radio = self.risks.radio(stats.path);
            PathOutput { radio, ..PathOutput::of(vias.name(stats.path), rate, stats, seconds) }
        };
        ShakeOutput {
            server: server.to_string(),
            mode: mode.to_owned(),
            seconds,
            connections: self.tally.connections.get(),
            failed: self.tally.failed.get(),
            sessions: account.sessions,
            unsent: self.host.session().map_or(0, |session| session.unsent()),
            datagrams: DatagramOutput::of(account.datagrams[1].after(&account.datagrams[0])),
            paths: vias.all(&account.paths()).iter().map(of).collect(),
        }
    }
}

/// Carries one connection in a stream of the present session.
async fn carried(
    host: Rc<Host>,
    connection: TcpStream,
    asked: Asked,
    associations: Rc<Associations>,
) -> std::io::Result<()> {
    prepare_relayed(&connection)?;
    let opened = host.session().and_then(|session| session.open().ok().map(|it| (session, it)));
    let Some((session, stream)) = opened else {
        connection.set_zero_linger()?;
        return Err(std::io::ErrorKind::NotConnected.into());
    };
    match asked {
        Asked::Socks => tunnel::from_socks(connection, session, stream, &associations).await,
        Asked::Forward(target) => tunnel::to_target(connection, stream, &target).await,
        Asked::Transparent(own) => {
            let target = connection.local_addr()?;
            // One that was not led here would come back through the server for ever.
            if target.port() == own && transparent::is_of_this_host(target) {
                connection.set_zero_linger()?;
                return Err(std::io::ErrorKind::ConnectionRefused.into());
            }
            let target = SocketAddr::new(target.ip().to_canonical(), target.port());
            tunnel::to_target(connection, stream, &TargetAddr::Ip(target)).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_session_no_path_is_up() {
        let path = PathStats { is_up: true, in_flight: 9, bytes_sent: 5, ..PathStats::default() };
        let mut account = Account { latest: Some((2, vec![path])), ..Account::default() };
        account.note_none();
        let expected = PathStats { is_up: false, in_flight: 0, ..path };
        assert_eq!(account.paths(), [expected]);
    }

    #[test]
    fn counts_of_a_session_without_a_path_are_added_to_those_of_the_same_paths() {
        let of = |path, bytes_sent| PathStats { path, bytes_sent, ..PathStats::default() };
        let account = Account {
            before: vec![of(0, 100), of(1, 5)],
            latest: Some((2, vec![of(1, 7)])),
            ..Account::default()
        };
        let sums: Vec<_> =
            account.paths().iter().map(|stats| (stats.path, stats.bytes_sent)).collect();
        assert_eq!(sums, [(0, 100), (1, 12)]);
    }
}
