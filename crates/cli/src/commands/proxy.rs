//! `fairwave proxy`: TCP connections on their way to a server, with target rates.

#[cfg(feature = "kernel-laws")]
mod law;
#[cfg(feature = "metrics")]
mod prometheus;
mod words;

use crate::args::Common;
use crate::args::proxy::Proxy;
use crate::outcome::Failure;
use crate::printed_proxy::ProxyOutput;
use crate::{output, stop};
use fairwave_linux::{Capability, Interception, InterceptionPlan, become_ordinary_user};
use fairwave_proxy::{Aim, Beyond, Config, Error, Limits, News, Relay, Report, Rule, Targets};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Default port for clients' requests: the port of SOCKS.
const PORT: u16 = 1080;

/// Relays until it is interrupted.
pub(crate) fn run(common: &Common, proxy: &Proxy) -> Result<(), Failure> {
    check(proxy)?;
    let config = config(proxy)?;
    let stop = stop::on(&stop::SIGNALS)?;
    let aim = aim(proxy)?;
    let steered_by = aim.as_ref().map_or("pacing", |aim| aim.law()).to_owned();
    let relay = Relay::open(config, aim).map_err(failure)?;
    // Rules and sockets need root, so they precede the drop of privileges.
    let leading = lead(proxy)?;
    // Each new transparent socket towards a server needs CAP_NET_RAW.
    let kept: &[Capability] = if leading.is_some() { &[Capability::NetRaw] } else { &[] };
    become_ordinary_user(kept).map_err(Failure::run)?;
    greet(common, proxy, &words::greeting(&relay.addresses(), &proxy.transparent, &steered_by))?;
    let report = serve(common, proxy, relay, &stop)?;
    // The redirection rules are removed before the results are printed.
    drop(leading);
    let printed = ProxyOutput::of(&report, &steered_by, proxy.bin.as_secs_f64());
    if common.json {
        return Ok(output::print_json(&json!(printed))?);
    }
    Ok(output::print(&words::summary(&printed))?)
}

/// Refuses options that cannot be intended.
fn check(proxy: &Proxy) -> Result<(), Failure> {
    let is_open = |at: &SocketAddr| !at.ip().is_loopback();
    if let (Some(at), true) = (proxy.listen.iter().find(|at| is_open(at)), proxy.allow.is_empty()) {
        let remedy = "say who may use it, such as --allow 192.0.2.0/24";
        return Err(Failure::Usage(format!("--listen {at}: others reach this address; {remedy}")));
    }
    let zero = [
        ("--bin", proxy.bin.as_millis() < 1_000),
        ("--idle", proxy.idle.as_millis() < 1_000),
        ("--opening", proxy.opening.as_millis() < 1_000),
        ("--max-flows", proxy.max_flows == Some(0)),
    ];
    match zero.iter().find(|(_, is_too_small)| *is_too_small) {
        Some(("--max-flows", _)) => Err(Failure::Usage("--max-flows has to be 1 or more".into())),
        Some((name, _)) => Err(Failure::Usage(format!("{name} has to be one second or more"))),
        None => Ok(()),
    }
}

fn config(proxy: &Proxy) -> Result<Config, Failure> {
    let targets = match (&proxy.targets, proxy.target) {
        (Some(file), _) => fairwave_proxy::read(file).map_err(failure)?,
        (None, rate) => Targets {
            capacity: proxy.capacity,
            beyond: if proxy.refuse { Beyond::Refuse } else { Beyond::BestEffort },
            rules: rate.map(Rule::for_all).into_iter().collect(),
        },
    };
    Ok(Config {
        listen: listen(proxy),
        transparent: (!proxy.transparent.is_empty()).then_some(proxy.port),
        allow: proxy.allow.clone(),
        targets,
        file: proxy.targets.clone(),
        limits: Limits {
            flows: proxy.max_flows,
            opening: proxy.opening,
            idle: proxy.idle,
            bin: proxy.bin,
        },
        congestion: proxy.congestion.clone(),
    })
}

fn listen(proxy: &Proxy) -> Vec<SocketAddr> {
    let own: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    match (&proxy.listen[..], &proxy.transparent[..]) {
        ([], []) => own.map(|address| SocketAddr::new(address, PORT)).to_vec(),
        (given, _) => given.to_vec(),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Targets { .. } | Error::Files { .. } => Failure::Usage(error.to_string()),
        _ => Failure::run(error),
    }
}

/// The algorithm with target rates, if it is loaded and wanted.
#[cfg(feature = "kernel-laws")]
fn aim(proxy: &Proxy) -> Result<Option<Box<dyn Aim>>, Failure> {
    if proxy.pace || proxy.congestion.is_some() {
        return Ok(None);
    }
    law::loaded(proxy.pin.as_deref())
}

/// Always `None`: this build cannot control the kernel's algorithm.
#[cfg(not(feature = "kernel-laws"))]
fn aim(_: &Proxy) -> Result<Option<Box<dyn Aim>>, Failure> {
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
fn greet(common: &Common, proxy: &Proxy, text: &str) -> Result<(), Failure> {
    let bare = proxy.target.is_none() && proxy.targets.is_none();
    if bare && !common.quiet {
        output::warn("without --target or --targets, connections are relayed as they are");
    }
    match common.json {
        true => output::note(text.trim_end()),
        false => output::print(text)?,
    }
    Ok(())
}

fn serve(
    common: &Common,
    proxy: &Proxy,
    relay: Relay,
    stop: &Arc<AtomicBool>,
) -> Result<Report, Failure> {
    #[cfg(feature = "metrics")]
    let page = prometheus::start(proxy.prometheus)?;
    let hear = |report: &Report, news: Vec<News>| {
        if !common.quiet {
            news.iter().for_each(tell);
        }
        #[cfg(feature = "metrics")]
        page.show(report);
        if proxy.lasts.is_some_and(|lasts| report.lasted_s >= lasts.as_secs_f64()) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    relay.run(stop, hear).map_err(failure)
}

fn tell(news: &News) {
    match news {
        News::Reloaded => output::note("targets: read again"),
        News::NotReloaded(why) => output::warn(&format!("targets stay as they were: {why}")),
        News::NoLaw(why) => output::warn(&format!("paced instead of steered by the law: {why}")),
    }
}
