//! `fairwave probe`: the buffer probe on real networks.

use crate::args::Common;
use crate::args::probe::{Probe, ProbeTask, Secret, Serve};
use crate::outcome::Failure;
use crate::printed_probe::ProbeOutput;
use crate::{output, show_measured, stop};
use fairwave_lab::results::write_file;
use fairwave_probe_tool::{
    Error, Loaded, News, PORT, Progress, Request, ServeConfig, Server, Way, key_of, measure,
    pairing_code,
};
use fairwave_units::BitRate;
use fairwave_wire::probe::Limits;
use fairwave_wire::seal::Key;
use serde_json::json;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::Ordering;

/// Length of the IP packets that `--max-bytes` counts.
const PACKET_BYTES: u64 = 1_500;

/// Serves, or probes a host.
pub(crate) fn run(common: &Common, probe: &Probe) -> Result<(), Failure> {
    match (&probe.task, &probe.host) {
        (Some(ProbeTask::Serve(serve)), _) => run_server(serve),
        (None, Some(host)) => run_client(common, probe, host),
        (None, None) => unreachable!("clap demands a host or a subcommand"),
    }
}

/// The key from the file or from the code.
fn key(secret: &Secret) -> Result<Option<Key>, Failure> {
    let usage =
        |what: &str, error: &dyn std::fmt::Display| Failure::Usage(format!("{what}: {error}"));
    match (&secret.key, &secret.pairing) {
        (Some(file), _) => {
            let shown = file.display().to_string();
            let bytes =
                fs::read(file).map_err(|error| Failure::Run(format!("{shown}: {error}")))?;
            key_of(&bytes).map(Some).map_err(|error| usage(&shown, &error))
        }
        (None, Some(code)) => {
            key_of(code.as_bytes()).map(Some).map_err(|error| usage("--pairing", &error))
        }
        (None, None) => Ok(None),
    }
}

/// The key of a server, and the code to show: a new one, or the word CODE if the user gave one.
pub(super) fn key_or_code(secret: &Secret) -> Result<(Key, Option<String>), Failure> {
    if let Some(key) = key(secret)? {
        return Ok((key, secret.pairing.is_some().then(|| "CODE".to_owned())));
    }
    let code = pairing_code().map_err(Failure::run)?;
    let key = key_of(code.as_bytes()).map_err(Failure::run)?;
    Ok((key, Some(code)))
}

/// The key with which a host authenticates to its server.
pub(super) fn given_key(secret: &Secret, server: &str) -> Result<Key, Failure> {
    key(secret)?.ok_or_else(|| {
        let remedy = "on the other host prints the code";
        Failure::Usage(format!("--pairing CODE or --key FILE is missing: `{server}` {remedy}"))
    })
}

fn run_server(serve: &Serve) -> Result<(), Failure> {
    let (key, code) = key_or_code(&serve.secret)?;
    let packets = u32::try_from(serve.max_bytes.0 / PACKET_BYTES).unwrap_or(u32::MAX);
    let limits = Limits { rate: serve.max_rate, packets, duration: serve.max_time };
    if limits.rate == BitRate(0) || packets == 0 || limits.duration.is_zero() {
        let least = "--max-rate, --max-time and --max-bytes have to leave at least one packet";
        return Err(Failure::Usage(least.to_owned()));
    }
    let stop = stop::on(&stop::SIGNALS)?;
    let mut server = open(serve.listen, &key, limits)?;
    let address = server.address().map_err(Failure::run)?;
    output::print(&greeting(address, code.as_deref()))?;
    let mut closed = None;
    let told = server.run(
        || stop.load(Ordering::Relaxed),
        |news| closed = output::print(&line(news)).err().or(closed.take()),
    );
    told.map_err(Failure::run)?;
    let (counts, rejected) = (server.counts(), server.rejected());
    Ok(output::print(&format!(
        "{} datagrams came, {rejected} of them from nobody with the key or of no session, {} that \
         were repeated or not agreed to; {} left. {} found no room in the socket.\n",
        counts.received,
        server.surplus(),
        counts.sent,
        counts.dropped_here
    ))?)
}

/// Opens the socket. Without an address it serves IPv6 and IPv4, or only IPv4 if the host has no
/// IPv6.
fn open(listen: Option<SocketAddr>, key: &Key, limits: Limits) -> Result<Server, Failure> {
    let at = |listen| Server::open(ServeConfig { listen, key: key.clone(), limits });
    let opened = match listen {
        Some(address) => at(address),
        None => at((Ipv6Addr::UNSPECIFIED, PORT).into())
            .or_else(|_| at((Ipv4Addr::UNSPECIFIED, PORT).into())),
    };
    opened.map_err(Failure::run)
}

/// The command for the other host. A code that the user gave is not shown again.
fn greeting(address: SocketAddr, code: Option<&str>) -> String {
    let port = match address.port() {
        PORT => String::new(),
        port => format!(" --port {port}"),
    };
    let secret = code.map_or("--key FILE".to_owned(), |code| format!("--pairing {code}"));
    format!(
        "Listening at UDP {address}. On the other host:\n  fairwave probe HOST{port} {secret}\n"
    )
}

fn line(news: News) -> String {
    match news {
        News::Agreed(who, Limits { rate, packets, duration }) => {
            format!("{who}: a session of at most {rate}, {packets} packets, {duration}\n")
        }
        News::Ended(who) => format!("{who}: the session is over\n"),
    }
}

fn run_client(common: &Common, probe: &Probe, host: &str) -> Result<(), Failure> {
    let key = given_key(&probe.secret, "fairwave probe serve")?;
    if probe.rate == BitRate(0) {
        return Err(Failure::Usage("--rate has to be more than 0".to_owned()));
    }
    let server = resolve(host, probe.port, probe.four, probe.six)?;
    // An error here should appear before the measurement, not after it.
    common.out.as_deref().map_or(Ok(()), make)?;
    let stop = stop::on(&stop::SIGNALS)?;
    let way = if probe.reverse { Way::Back } else { Way::There };
    let request = Request { server, key, rate: probe.rate, way };
    let tell = |progress| {
        if !common.quiet && !common.json {
            output::note(doing(progress));
        }
    };
    let (found, error) = measure(&request, &stop, tell);
    let knows_something = found.rate.is_some() || found.idle.ms.is_some();
    let told = error.as_ref().map(Error::to_string);
    let printed = ProbeOutput::of(server.to_string(), &found, told.clone());
    if common.json {
        output::print_json(&json!(printed))?;
    } else if knows_something {
        output::print(&show_measured::words(host, &found))?;
        printed.warnings.iter().for_each(|warning| output::warn(warning));
    }
    if knows_something {
        let page = || show_measured::page(host, &found, told.as_deref()).map_err(Failure::Run);
        if let Some(file) = &probe.page {
            keep(file, &page()?)?;
        }
        if let Some(directory) = &common.out {
            let text = serde_json::to_string_pretty(&printed).map_err(Failure::run)? + "\n";
            keep(&directory.join("probe.json"), &text)?;
            keep(&directory.join("probe.html"), &page()?)?;
        }
    }
    told.map_or(Ok(()), |told| Err(Failure::Run(told)))
}

/// Makes a directory for results.
pub(super) fn make(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory)
        .map_err(|error| Failure::Run(format!("{}: {error}", directory.display())))
}

/// Writes a text to the file that the user named.
pub(super) fn keep(file: &Path, text: &str) -> Result<(), Failure> {
    write_file(file, text.as_bytes()).map_err(Failure::run)
}

/// The first address of a host; only of IPv4 or IPv6 if requested.
pub(super) fn resolve(
    host: &str,
    port: u16,
    is_four: bool,
    is_six: bool,
) -> Result<SocketAddr, Failure> {
    if let Some((name, own)) = host.rsplit_once(':')
        && own.parse::<u16>().is_ok()
        && (!name.contains(':') || name.ends_with(']'))
    {
        let name = name.trim_matches(['[', ']']);
        return Err(Failure::Usage(format!(
            "{host}: the port has an option of its own, {name} --port {own}"
        )));
    }
    let found =
        (host, port).to_socket_addrs().map_err(|error| Failure::Run(format!("{host}: {error}")))?;
    let fits = |address: &SocketAddr| match address {
        SocketAddr::V4(_) => !is_six,
        SocketAddr::V6(_) => !is_four,
    };
    let mut fitting = found.filter(fits);
    let family = if is_six { "IPv6" } else { "IPv4" };
    fitting.next().ok_or_else(|| Failure::Run(format!("{host} has no address of {family}")))
}

fn doing(progress: Progress) -> &'static str {
    match progress {
        Progress::Idle => "Round trips on the idle path ...",
        Progress::Search(_) => "Looking for a buffer that fills ...",
        Progress::Trains => "Measuring with trains of two packet sizes ...",
        Progress::OtherWay => "What the path carries the other way ...",
        Progress::Load(Loaded::Up) => "Round trips beside an upload ...",
        Progress::Load(Loaded::Down) => "Round trips beside a download ...",
        Progress::Load(Loaded::Both) => "Round trips beside both ...",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_behind_the_host_is_no_part_of_its_name() {
        for (host, remedy) in
            [("laptop.lan:99", "laptop.lan --port 99"), ("[::1]:99", "::1 --port 99")]
        {
            let refused = resolve(host, PORT, false, false);
            assert!(
                matches!(&refused, Err(Failure::Usage(why)) if why.ends_with(remedy)),
                "{refused:?}"
            );
        }
        assert_eq!(resolve("::1", 99, false, false).unwrap(), "[::1]:99".parse().unwrap());
    }
}
