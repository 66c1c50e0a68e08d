//! `fairwave proxy`: TCP connections on their way to a server, with target rates.

use crate::report::{self, ProxyOutput};
use crate::targets::{Beyond, Direction, Rule, Targets};
use crate::{Config, Error, Event, IpNet, Limits, Relay, Report, TargetControl, Users};
use clap::Args;
use fairwave_console::peer::prefix;
use fairwave_console::{Console, Failure, Listening};
use fairwave_linux::{
    Capability, Interception, InterceptionPlan, become_ordinary_user, congestion, has_ipv6,
};
use fairwave_units::{BitRate, Duration};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Default port for clients' requests: the port of SOCKS.
const PORT: u16 = 1080;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave proxy --target 5M
  curl --proxy socks5h://127.0.0.1:1080 -T video.mp4 https://upload.example.org/
  fairwave proxy --listen 192.0.2.1:1080 --allow 192.0.2.0/24 --target 5M --capacity 20M
  sudo fairwave proxy --transparent wlan0 --targets targets.toml --prometheus 127.0.0.1:9437
  fairwave proxy --target '5 Mbps' --for 120s --json

Clients ask for servers by SOCKS5 or HTTP CONNECT, on the same port; with --transparent they know
of nothing. Where `fairwave cc load fw_tcp_av` has loaded the algorithm, it steers the connections
to servers; elsewhere they are paced. Only --transparent and the algorithm need root, which is given
up once they are set up. The file of targets is described in docs/proxy.md.

Exit code 1: an address cannot be listened at, or the kernel refuses a step; 2: the options, or the
file of targets at the start, are wrong.";

/// Options of `fairwave proxy`.
#[derive(Args, Debug)]
pub struct Proxy {
    /// Address for clients' SOCKS5 and HTTP CONNECT requests; may be repeated [default: port 1080
    /// of 127.0.0.1 and ::1, and none with --transparent]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// With SOCKS5 and HTTP CONNECT: also serve clients with these addresses; may be repeated
    /// [default: those of this host]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub allow: Vec<IpNet>,
    /// With SOCKS5 and HTTP CONNECT: only serve clients that authenticate with a name and a
    /// password of this file, which has a line NAME:PASSWORD for each user
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,
    /// Redirect connections that arrive at this interface through the proxy, which keeps the
    /// client's address and port; may be repeated (needs root)
    #[arg(long, value_name = "INTERFACE")]
    pub transparent: Vec<String>,
    /// With --transparent: only redirect connections to this server port; may be repeated
    #[arg(long, value_name = "PORT", requires = "transparent")]
    pub server_port: Vec<u16>,
    /// With --transparent: the proxy's own port
    #[arg(long, value_name = "PORT", requires = "transparent", default_value_t = 17_990)]
    pub port: u16,
    /// Target rate of every connection: payload that its receiver acknowledges, such as 5M
    #[arg(long, short = 'b', value_name = "RATE", value_parser = BitRate::above_zero)]
    pub target: Option<BitRate>,
    /// With --target: direction of that payload, to the server (up) or to the client (down)
    #[arg(long, value_name = "DIRECTION", requires = "target", default_value = "up")]
    pub direction: Direction,
    /// A file with targets of flows and hosts, which is read again after each change
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "capacity", "refuse"])]
    pub targets: Option<PathBuf>,
    /// With --target: maximum sum of all targets
    #[arg(long, value_name = "RATE", value_parser = BitRate::above_zero, requires = "target")]
    pub capacity: Option<BitRate>,
    /// Refuse connections if no capacity is left for their target, instead of relaying them without
    /// a target
    #[arg(long, requires = "capacity")]
    pub refuse: bool,
    /// Pace connections, even if fw_tcp_av is loaded
    #[arg(long)]
    pub pace: bool,
    /// Directory where fw_tcp_av is pinned, if it was loaded with `fairwave cc --pin`
    #[cfg(feature = "kernel-cc")]
    #[arg(long, value_name = "DIR")]
    pub pin: Option<PathBuf>,
    /// Congestion control towards servers for paced connections [default: the kernel's]
    #[arg(long, short = 'C', value_name = "NAME")]
    pub congestion: Option<String>,
    /// Length of the intervals for which it is determined whether targets were reached
    #[arg(long, value_name = "DURATION", default_value = "5 s")]
    pub interval: Duration,
    /// Maximum number of simultaneous connections [default: 16384, or as many as the limit of open
    /// files allows]
    #[arg(long, value_name = "N")]
    pub max_flows: Option<usize>,
    /// Close connections that have carried no data for this time
    #[arg(long, value_name = "DURATION", default_value = "2 h")]
    pub idle: Duration,
    /// Timeout for a client's request, and for a server's answer to the connection attempt
    #[arg(long, value_name = "DURATION", default_value = "30 s")]
    pub connect_timeout: Duration,
    /// Serve metrics at this address, under /metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub prometheus: Option<SocketAddr>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION")]
    pub lasts: Option<Duration>,
}

/// Relays until it is interrupted.
///
/// # Errors
/// If the options are wrong, or the kernel refuses a step.
pub fn run(console: impl Console + Copy + Send + 'static, proxy: &Proxy) -> Result<(), Failure> {
    check(proxy)?;
    let config = config(proxy)?;
    if let (Some(excess), false) = (config.targets.excess(), console.is_quiet()) {
        console.warn(&excess);
    }
    let stop = console.stop()?;
    let target_control = target_control(proxy)?;
    let steered_by = target_control
        .as_ref()
        .map_or("pacing", |target_control| target_control.kernel_target())
        .to_owned();
    let relay = Relay::open(config, target_control)?;
    // Rules and sockets need root, so they precede the drop of privileges.
    let leading = lead(proxy)?;
    // Each new transparent socket towards a server needs CAP_NET_RAW.
    let kept: &[Capability] = if leading.is_some() { &[Capability::NetRaw] } else { &[] };
    become_ordinary_user(kept).map_err(Failure::run)?;
    check_congestion(proxy)?;
    let greeting = report::greeting(&relay.addresses(), &proxy.transparent, &steered_by);
    let interfaces = proxy.transparent.clone();
    Listening { interfaces, ..Listening::at("proxy", &relay.addresses()) }.print(&console)?;
    greet(&console, proxy, &greeting)?;
    let counted = serve(console, proxy, relay, &stop)?;
    // The redirection rules are removed before the results are printed.
    drop(leading);
    let printed = ProxyOutput::of(&counted, &steered_by, proxy.interval.as_secs_f64());
    console.show(&json!(printed), &report::summary(&printed))
}

/// Refuses options that cannot be intended.
fn check(proxy: &Proxy) -> Result<(), Failure> {
    let is_open = |at: &SocketAddr| !at.ip().is_loopback();
    if let (Some(at), true) = (proxy.listen.iter().find(|at| is_open(at)), proxy.allow.is_empty()) {
        let remedy = "name its clients, such as --allow 192.0.2.0/24";
        return Err(Failure::Usage(format!("--listen {at}: others reach this address; {remedy}")));
    }
    let zero = [
        ("--interval", proxy.interval.as_millis() < 1_000),
        ("--idle", proxy.idle.as_millis() < 1_000),
        ("--connect-timeout", proxy.connect_timeout.as_millis() < 1_000),
        ("--for", proxy.lasts.is_some_and(|lasts| lasts.as_millis() < 1_000)),
        ("--max-flows", proxy.max_flows == Some(0)),
    ];
    match zero.iter().find(|(_, is_too_small)| *is_too_small) {
        Some(("--max-flows", _)) => Err(Failure::Usage("--max-flows has to be 1 or more".into())),
        Some((name, _)) => Err(Failure::Usage(format!("{name} has to be one second or more"))),
        None => Ok(()),
    }
}

/// Refuses an algorithm that the kernel does not offer to the user that the proxy has become.
fn check_congestion(proxy: &Proxy) -> Result<(), Failure> {
    match &proxy.congestion {
        Some(name) if !congestion::is_available(name) => Err(Failure::Usage(format!(
            "no congestion control {name:?} for the proxy's user on this host; there are {}",
            congestion::names()
        ))),
        _ => Ok(()),
    }
}

fn config(proxy: &Proxy) -> Result<Config, Failure> {
    let targets = match (&proxy.targets, proxy.target) {
        (Some(file), _) => crate::read(file)?,
        (None, rate) => Targets {
            capacity: proxy.capacity,
            beyond: if proxy.refuse { Beyond::Refuse } else { Beyond::BestEffort },
            rules: rate.map(|rate| Rule::for_all(rate, proxy.direction)).into_iter().collect(),
        },
    };
    Ok(Config {
        listen: listen(proxy),
        transparent: (!proxy.transparent.is_empty()).then_some(proxy.port),
        allow: proxy.allow.clone(),
        users: proxy.users.as_deref().map(Users::read).transpose()?,
        targets,
        file: proxy.targets.clone(),
        limits: Limits {
            flows: proxy.max_flows,
            opening: proxy.connect_timeout,
            idle: proxy.idle,
            bin: proxy.interval,
        },
        congestion: proxy.congestion.clone(),
    })
}

fn listen(proxy: &Proxy) -> Vec<SocketAddr> {
    let six: Option<IpAddr> = has_ipv6().then_some(Ipv6Addr::LOCALHOST.into());
    let own = [Some(Ipv4Addr::LOCALHOST.into()), six].into_iter().flatten();
    match (&proxy.listen[..], &proxy.transparent[..]) {
        ([], []) => own.map(|address| SocketAddr::new(address, PORT)).collect(),
        (given, _) => given.to_vec(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::NotValid { .. } | Error::Files { .. } => Self::Usage(error.to_string()),
            _ => Self::run(error),
        }
    }
}

/// The algorithm with target rates, if it is loaded and wanted.
#[cfg(feature = "kernel-cc")]
fn target_control(proxy: &Proxy) -> Result<Option<Box<dyn TargetControl>>, Failure> {
    if proxy.pace || proxy.congestion.is_some() {
        return Ok(None);
    }
    crate::kernel_target::loaded(proxy.pin.as_deref())
}

/// Always `None`: this build cannot control the kernel's algorithm.
#[cfg(not(feature = "kernel-cc"))]
fn target_control(_: &Proxy) -> Result<Option<Box<dyn TargetControl>>, Failure> {
    Ok(None)
}

/// Redirects connections to the proxy, if requested.
fn lead(proxy: &Proxy) -> Result<Option<Interception>, Failure> {
    if proxy.transparent.is_empty() {
        return Ok(None);
    }
    let plan = InterceptionPlan {
        interfaces: proxy.transparent.clone(),
        server_ports: proxy.server_port.clone(),
        port: proxy.port,
        ..InterceptionPlan::default()
    };
    Interception::start(&plan).map(Some).map_err(Failure::run)
}

/// Prints a message: to standard error if standard output is reserved for JSON.
fn greet(console: &dyn Console, proxy: &Proxy, text: &str) -> Result<(), Failure> {
    let bare = proxy.target.is_none() && proxy.targets.is_none();
    if bare && !console.is_quiet() {
        console.warn("without --target or --targets, connections are relayed as they are");
    }
    if console.is_json() {
        console.note(text.trim_end());
        return Ok(());
    }
    console.print(text)
}

fn serve(
    console: impl Console + Copy + Send + 'static,
    proxy: &Proxy,
    relay: Relay,
    stop: &Arc<AtomicBool>,
) -> Result<Report, Failure> {
    let page = report::start(console, proxy.prometheus)?;
    let follow = |report: &Report, events: Vec<Event>| {
        if !console.is_quiet() {
            events.iter().for_each(|event| note(&console, event));
        }
        page.show(report);
        if proxy.lasts.is_some_and(|lasts| report.lasted_s >= lasts.as_secs_f64()) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    Ok(relay.run(stop, follow)?)
}

fn note(console: &dyn Console, event: &Event) {
    match event {
        Event::Reloaded => console.note("targets: read again"),
        Event::NotReloaded(why) => console.warn(&format!("targets stay as they were: {why}")),
        Event::BeyondCapacity(what) => console.warn(what),
        Event::NoCongestionControl(why) => {
            console.warn(&format!("paced instead of steered by the algorithm: {why}"));
        }
        Event::DefaultCongestion(why) => {
            console.warn(&format!("the kernel's default congestion control instead: {why}"));
        }
    }
}
