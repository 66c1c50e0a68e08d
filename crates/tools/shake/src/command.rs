//! `fairwave shake`: connections of applications over all links of a host.

use crate::board::Board;
use crate::client::{self, Plan};
use crate::live::Live;
use crate::meter::Test;
use crate::preset::Preset;
use crate::prometheus;
use crate::report::{serve_words, words};
use crate::transparent::{self, Place, Transparent};
use crate::{PORT, diagnose, diagnosis, server};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use fairwave_console::live::LiveSocket;
use fairwave_console::peer::{Family, Pair, Secret, listen, prefix, resolve};
use fairwave_console::{Console, Failure};
use fairwave_linux::{allow_open_files, become_ordinary_user};
use fairwave_shake_host::endpoint::{MAX_PATHS, Priority};
use fairwave_shake_host::noise::Protocol;
use fairwave_shake_host::{Config, Mode, Psk, Udp};
use fairwave_share_host::At;
use fairwave_units::{BitRate, Duration};
use fast_socks5::util::target_addr::TargetAddr;
use ipnet::IpNet;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave shake pair --key shake.key                     on one host; prints the code for the other
  fairwave shake pair --key shake.key --code CODE         on the other
  fairwave shake serve --key shake.key                    on a host with a public address
  fairwave shake connect vps.example --key shake.key --via wlan0 --via usb0
  curl --proxy socks5h://127.0.0.1:1080 -O https://example.org/large.iso
  fairwave shake connect 192.0.2.7 --key shake.key --via wlan0 --via usb0 --mode redundant
  fairwave shake connect 192.0.2.7 --key shake.key --via wlan0=20M --via usb0=10M --mode multi
  fairwave shake connect vps --key shake.key --via wlan0,usb0 --preset cheapest --metered usb0
  fairwave shake connect vps --key shake.key --via wlan0,usb0 --tproxy 1081 --tproxy-for 10.7.0.9
  fairwave shake diagnose vps --key shake.key --via wlan0,usb0
  fairwave shake connect vps.example --key shake.key --via wlan0,usb0 --forward 2222=nas.lan:22
  fairwave shake connect vps.example --key shake.key --via wlan0 --borrow phone --borrow-key s.key

Applications reach `connect` by SOCKS5 or a forwarded port, other hosts by --tproxy. Each of their
TCP connections is a SHAKE connection over all interfaces to `serve`, which opens the connection to
the target; datagrams of UDP (SOCKS5's UDP ASSOCIATE) go over the interface that is expected to
deliver them first. All of it is encrypted (Noise). docs/shake.md has more.

Exit code 1: no session, or a socket that cannot be opened; 2: the options are wrong.";

/// Files that either end may have open: a socket for each connection.
const OPEN_FILES: u64 = 16_384;
/// Longest deadline of a datagram.
const MAX_DEADLINE: Duration = Duration::from_secs(10);

/// Options of `fairwave shake`.
#[derive(Args, Debug)]
pub struct Shake {
    /// The command.
    #[command(subcommand)]
    pub task: Task,
}

/// Commands of `fairwave shake`.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Accept sessions, and open their connections to targets, until interrupted
    Serve(Serve),
    /// Open a session over several interfaces, and carry applications' connections
    Connect(Box<Connect>),
    /// Measure each interface alone and all together, and name the cause that limits their sum
    Diagnose(Diagnose),
    /// Make a key file for two hosts
    Pair(Pair),
}

/// Options of `fairwave shake serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Port of UDP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// Listen at this address of the host [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// The secret.
    #[command(flatten)]
    pub secret: Secret,
    /// Open connections only to targets in this prefix; may be repeated [default: to all]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub allow: Vec<IpNet>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION")]
    pub lasts: Option<Duration>,
}

/// Options of `fairwave shake connect`.
#[derive(Args, Debug)]
pub struct Connect {
    /// Name or address of the host that runs `fairwave shake serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// The server's port of UDP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The secret.
    #[command(flatten)]
    pub secret: Secret,
    /// Use this interface, with its bandwidth if it is known: IF=RATE; may be repeated
    #[arg(long, value_name = "IF", required_unless_present = "borrow", num_args = 1..)]
    #[arg(value_delimiter = ',', value_parser = via)]
    pub via: Vec<Via>,
    /// Also use the uplink of a host near by that runs `fairwave share lend`; may be repeated
    #[arg(long, value_name = "NAME|ADDRESS:PORT", value_parser = lender)]
    #[arg(requires = "borrow_key")]
    pub borrow: Vec<At>,
    /// Key file of the lenders: one for all, or one for each `--borrow`
    #[arg(long, value_name = "FILE", requires = "borrow")]
    pub borrow_key: Vec<PathBuf>,
    /// Accept SOCKS5 clients at this address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1080")]
    pub socks: SocketAddr,
    /// Carry connections to this local port, or address and port, to a target; may be repeated
    #[arg(long, value_name = "LOCAL=HOST:PORT", value_parser = forward)]
    pub forward: Vec<Forward>,
    /// Carry connections of other hosts that pass through this one: lead them to this port. Needs
    /// root and nft
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = transparent::place)]
    #[arg(requires = "tproxy_for")]
    pub tproxy: Option<Place>,
    /// With --tproxy: of hosts with addresses in this prefix; may be repeated
    #[arg(long, value_name = "PREFIX", value_parser = prefix, requires = "tproxy")]
    pub tproxy_for: Vec<IpNet>,
    /// Use of the paths: `shake` adds up their rates; `multi` spreads blocks over a TCP connection
    /// for each, by their bandwidths (the predecessor of TCP SHAKE); `redundant` sends everything
    /// on each
    #[arg(long, value_name = "MODE", default_value = Mode::Shake.name(), value_parser = mode())]
    pub mode: Mode,
    /// Use of the paths by its purpose, instead of --mode
    #[arg(long, value_name = "PRESET", conflicts_with = "mode")]
    pub preset: Option<Preset>,
    /// With --preset cheapest: traffic on this interface costs money; may be repeated
    #[arg(long, value_name = "IF", value_delimiter = ',')]
    pub metered: Vec<String>,
    /// Signal in dBm below which a Wi-Fi link with a falling signal is at risk: it carries copies
    /// alone while another works
    #[arg(long, value_name = "DBM", default_value_t = -75, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i8).range(-120..=0))]
    pub weak: i8,
    /// Serve the figures of the paths to Prometheus at this address, under /metrics
    #[arg(long, value_name = "ADDRESS:PORT", visible_alias = "metrics")]
    pub prometheus: Option<SocketAddr>,
    /// The version of IP.
    #[command(flatten)]
    pub family: Family,
    /// Drop a datagram of UDP that would arrive later than this after it was sent
    #[arg(long, value_name = "DURATION", default_value = "500 ms")]
    pub deadline: Duration,
    /// Time for the server's first answer
    #[arg(long, value_name = "DURATION", default_value = "10 s")]
    pub timeout: Duration,
    /// Print the paths in this interval [default: a live table on a terminal]
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<Duration>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION")]
    pub lasts: Option<Duration>,
}

/// Options of `fairwave shake diagnose`.
#[derive(Args, Debug)]
pub struct Diagnose {
    /// Name or address of the host that runs `fairwave shake serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// The server's port of UDP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The secret.
    #[command(flatten)]
    pub secret: Secret,
    /// Measure this interface; may be repeated
    #[arg(long, value_name = "IF", required = true, num_args = 1.., value_delimiter = ',')]
    #[arg(value_parser = via)]
    pub via: Vec<Via>,
    /// Time of each run: one for each interface, and one for all
    #[arg(long, value_name = "DURATION", default_value = "4 s")]
    pub time: Duration,
    /// Measure towards the server instead of from it
    #[arg(long)]
    pub upload: bool,
    /// The version of IP.
    #[command(flatten)]
    pub family: Family,
    /// Time for the server's first answer
    #[arg(long, value_name = "DURATION", default_value = "5 s")]
    pub timeout: Duration,
}

/// An interface to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// Its name.
    pub name: String,
    /// Its bandwidth, if it is known.
    pub rate: Option<BitRate>,
}

/// A local address whose connections go to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The local address.
    pub local: SocketAddr,
    /// Host of the target.
    pub host: String,
    /// Port of the target.
    pub port: u16,
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::name)).map(|name| {
        let named = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        named.expect("one of the names")
    })
}

fn via(text: &str) -> Result<Via, String> {
    let (name, rate) = match text.split_once('=') {
        Some((name, rate)) => (name, Some(BitRate::above_zero(rate)?)),
        None => (text, None),
    };
    // `IFNAMSIZ` of Linux, with the zero at its end.
    if name.is_empty() || name.len() > 15 {
        return Err("expected the name of an interface, such as wlan0 or wlan0=20M".to_owned());
    }
    Ok(Via { name: name.to_owned(), rate })
}

fn lender(text: &str) -> Result<At, String> {
    let at_port = |ip: IpAddr| SocketAddr::new(ip, fairwave_share_host::PORT);
    let address = text.parse().or_else(|_| text.parse::<IpAddr>().map(at_port));
    match address {
        Ok(address) => Ok(At::Address(address)),
        Err(_) if text.is_empty() => Err("expected a lender's name or address".to_owned()),
        Err(_) => Ok(At::Name(text.to_owned())),
    }
}

fn forward(text: &str) -> Result<Forward, String> {
    const EXPECTED: &str = "expected LOCAL=HOST:PORT, such as 2222=nas.lan:22";
    let (local, target) = text.split_once('=').ok_or(EXPECTED)?;
    let at_port = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let local = local.parse().map(at_port).or_else(|_| local.parse()).map_err(|_| EXPECTED)?;
    let (host, port) = target.rsplit_once(':').ok_or(EXPECTED)?;
    let host = host.trim_matches(['[', ']']).to_owned();
    if host.is_empty() || host.len() > 255 {
        return Err(EXPECTED.to_owned());
    }
    Ok(Forward { local, host, port: port.parse().map_err(|_| EXPECTED)? })
}

impl Forward {
    /// The target in the form of SOCKS.
    fn target(&self) -> TargetAddr {
        match self.host.parse::<IpAddr>() {
            Ok(address) => TargetAddr::Ip(SocketAddr::new(address, self.port)),
            Err(_) => TargetAddr::Domain(self.host.clone(), self.port),
        }
    }
}

/// Serves, connects or makes a key.
///
/// # Errors
/// If the options are wrong, there is no session, or the kernel refuses a step.
pub fn run(console: impl Console + Copy + Send + 'static, shake: &Shake) -> Result<(), Failure> {
    allow_open_files(OPEN_FILES);
    match &shake.task {
        Task::Serve(serve) => run_server(&console, serve),
        Task::Connect(connect) => run_client(console, connect),
        Task::Diagnose(diagnose) => run_diagnosis(&console, diagnose),
        Task::Pair(pair) => pair.make(&console, "fairwave shake"),
    }
}

fn run_server(console: &dyn Console, serve: &Serve) -> Result<(), Failure> {
    let (key, code) = serve.secret.of_server()?;
    let stop = console.stop()?;
    let address = serve.listen.map(|address| SocketAddr::new(address, serve.port));
    let open = |address| {
        Udp::bind(address).map_err(|error| Failure::Run(format!("UDP at {address}: {error}")))
    };
    let socket = listen(address, serve.port, open)?;
    let at = socket.address().map_err(Failure::run)?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    serve.secret.announce(console, "shake serve", at, PORT, code, |port, secret| {
        format!(
            "Listening at UDP {at}. On the other host:\n  fairwave shake connect HOST{port} \
             {secret} --via IF --via IF\n"
        )
    })?;
    let config = Config::new(Psk::of(&key));
    let output = server::run(console, config, socket, &serve.allow, serve.lasts, &stop)?;
    console.show(&json!(output), &serve_words(&output))
}

fn run_client(
    console: impl Console + Copy + Send + 'static,
    connect: &Connect,
) -> Result<(), Failure> {
    check(connect)?;
    let borrow = lenders(connect)?;
    let key = connect.secret.of_client("fairwave shake serve")?;
    let server = resolve(&connect.host, connect.port, connect.family)?;
    let stop = console.stop()?;
    let mut forwards = Vec::new();
    for forward in &connect.forward {
        forwards.push((listener("--forward", forward.local)?, forward.target()));
    }
    let socks = listener("--socks", connect.socks)?;
    if !console.is_quiet() {
        warnings(connect).iter().for_each(|text| console.warn(text));
    }
    let led = connect.tproxy.map(|place| transparent::lead(place, &connect.tproxy_for));
    let (transparent, rules) = match led.transpose()? {
        Some(Transparent { listeners, rules }) => (listeners, Some(rules)),
        None => (Vec::new(), None),
    };
    let socket = LiveSocket::open("shake connect");
    become_ordinary_user(&[]).map_err(Failure::run)?;
    let board = Board::default();
    publish(console, connect.prometheus, socket, &board)?;
    let is_silent = console.is_json() || console.is_quiet() || connect.interval.is_some();
    let is_live = !is_silent && std::io::stdout().is_terminal();
    let plan = Plan {
        config: Config {
            mode: connect.preset.map_or(connect.mode, Preset::mode),
            rates: connect.via.iter().map(|via| via.rate).collect(),
            ..Config::new(Psk::of(&key))
        },
        server,
        via: connect.via.iter().map(|via| via.name.clone()).collect(),
        priorities: priorities(connect),
        borrow,
        socks,
        forwards,
        transparent,
        deadline: connect.deadline,
        timeout: connect.timeout,
        interval: connect.interval,
        lasts: connect.lasts,
        weak_dbm: connect.weak.into(),
        board: board.clone(),
        is_live,
    };
    let live = is_live.then(|| Live::start(board, Arc::clone(&stop))).transpose();
    let live = live.map_err(Failure::run)?;
    let output = client::run(&console, plan, &stop);
    // The terminal is restored, and the rules are removed, before anything is printed.
    drop((live, rules));
    let output = output?;
    console.show(&json!(output), &words(&output))
}

/// Gives the figures of `board` to other programs: as metrics, and to those of the same user.
fn publish(
    console: impl Console + Send + 'static,
    metrics: Option<SocketAddr>,
    socket: Option<LiveSocket>,
    board: &Board,
) -> Result<(), Failure> {
    if let Some(at) = metrics {
        prometheus::start(console, at, board.clone())?;
    }
    let board = board.clone();
    let figures = move || json!(board.shown().output);
    socket.map_or(Ok(()), |socket| socket.publish(figures)).map_err(Failure::run)
}

/// Priorities of the interfaces, in their order.
fn priorities(connect: &Connect) -> Vec<Priority> {
    let preset = connect.preset.unwrap_or(Preset::Fastest);
    let priority = |via: &Via| preset.priority(connect.metered.contains(&via.name));
    connect.via.iter().map(priority).collect()
}

fn check(connect: &Connect) -> Result<(), Failure> {
    let interval = [("--interval", connect.interval), ("--for", connect.lasts)];
    if let Some((name, _)) = interval.iter().find(|(_, time)| time.is_some_and(Duration::is_zero)) {
        return Err(Failure::Usage(format!("{name} has to be more than 0")));
    }
    if connect.deadline < Duration::from_millis(1) || connect.deadline > MAX_DEADLINE {
        return Err(Failure::Usage("--deadline: between 1 ms and 10 s".to_owned()));
    }
    if connect.via.len() + connect.borrow.len() > MAX_PATHS {
        return Err(Failure::Usage(format!("--via and --borrow: at most {MAX_PATHS} paths")));
    }
    let via = connect.via.iter().map(|via| via.name.clone());
    once(via.chain(connect.borrow.iter().map(At::to_string)))?;
    let is_used = |name: &&String| connect.via.iter().any(|via| via.name == **name);
    if let Some(name) = connect.metered.iter().find(|name| !is_used(name)) {
        return Err(Failure::Usage(format!("--metered {name}: it is not among those of --via")));
    }
    Ok(())
}

/// Refuses a path that is given twice: the figures of two paths with one name would be mixed up,
/// and a link is no faster for being used twice.
fn once(paths: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    match paths.into_iter().find(|path| !known.insert(path.clone())) {
        Some(path) => Err(Failure::Usage(format!("{path} is given twice"))),
        None => Ok(()),
    }
}

/// Options without an effect, and those with one that may be unwanted.
fn warnings(connect: &Connect) -> Vec<String> {
    let mut found = Vec::new();
    let is_partly_known = connect.via.iter().any(|via| via.rate.is_some())
        && connect.via.iter().any(|via| via.rate.is_none());
    if connect.mode == Mode::Multi && is_partly_known {
        found.push("--mode multi: an interface without a bandwidth counts as the slowest".into());
    }
    match (connect.preset, connect.metered.is_empty()) {
        (Some(Preset::Cheapest), true) => found
            .push("--preset cheapest: without --metered IF it does the same as fastest".to_owned()),
        (None | Some(Preset::Fastest | Preset::Redundant), false) => {
            found.push("--metered has an effect with --preset cheapest alone".to_owned());
        }
        _ => {}
    }
    if !connect.socks.ip().is_loopback() {
        found.push(format!("--socks {}: others reach this address", connect.socks));
    }
    found
}

fn run_diagnosis(console: &dyn Console, options: &Diagnose) -> Result<(), Failure> {
    if options.time < Duration::from_secs(1) || options.time > Duration::from_secs(60) {
        return Err(Failure::Usage("--time: between 1 s and 60 s".to_owned()));
    }
    let via: Vec<String> = options.via.iter().map(|via| via.name.clone()).collect();
    if via.len() > MAX_PATHS {
        return Err(Failure::Usage(format!("--via: at most {MAX_PATHS} interfaces")));
    }
    once(via.iter().cloned())?;
    let key = options.secret.of_client("fairwave shake serve")?;
    let plan = diagnose::Plan {
        config: Config::new(Psk::of(&key)),
        server: resolve(&options.host, options.port, options.family)?,
        via,
        time: options.time,
        timeout: options.timeout,
        test: if options.upload { Test::Sink } else { Test::Source },
    };
    let stop = console.stop()?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    let output = diagnose::run(console, &plan, &stop)?;
    console.show(&json!(output), &diagnosis::words(&output))
}

/// The lenders, each with its secret.
fn lenders(connect: &Connect) -> Result<Vec<(At, Psk)>, Failure> {
    let (lenders, files) = (&connect.borrow, &connect.borrow_key);
    if files.len() > 1 && files.len() != lenders.len() {
        let (files, lenders) = (files.len(), lenders.len());
        return Err(Failure::Usage(format!(
            "--borrow-key: {files} files for {lenders} lenders, give one for all or one for each"
        )));
    }
    let mut psks = Vec::new();
    for file in files {
        let secret = Secret { key: Some(file.clone()), pairing: None };
        psks.push(Psk::new(&secret.of_client("fairwave share pair")?, Protocol::Share));
    }
    let keys = psks.iter().cycle().cloned();
    Ok(lenders.iter().cloned().zip(keys).collect())
}

fn listener(option: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    let opened = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    opened.map_err(|error| Failure::Run(format!("{option} {address}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_has_a_local_port_and_a_target() {
        let of = |text: &str| forward(text).unwrap();
        let nas = of("2222=nas.lan:22");
        assert_eq!((nas.local, nas.port), ("127.0.0.1:2222".parse().unwrap(), 22));
        assert_eq!(nas.target(), TargetAddr::Domain("nas.lan".to_owned(), 22));
        let six = of("[::1]:80=[2001:db8::1]:443");
        assert_eq!(six.target(), TargetAddr::Ip("[2001:db8::1]:443".parse().unwrap()));
        for wrong in ["2222", "2222=nas.lan", "x=nas.lan:22", "2222=:22", "2222=nas.lan:99999"] {
            assert!(forward(wrong).is_err(), "{wrong}");
        }
    }
}
