//! `fairwave dccp`: datagrams with congestion control on real networks.

use crate::report::{
    COLUMNS, ConnectionOutput, DccpOutput, SampleOutput, Watched, line, row, shown, summary,
};
use crate::{Addressee, EndpointEvent, Error, Host, HostEvent, Over, PORT, Peer, Request, Traffic};
use clap::{Args, Subcommand};
use fairwave_console::peer::resolve;
use fairwave_console::{Console, Failure, Listening};
use fairwave_dccp::Ccid;
use fairwave_linux::become_ordinary_user;
use fairwave_units::{BitRate, Duration};
use fairwave_wire::dccp::UDP_PORT;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave dccp serve                                    on one host, as root
  fairwave dccp send laptop.lan --for '30 s'             on another: TFRC, as fast as it goes
  fairwave dccp send 192.0.2.7 --ccid 2 --json           TCP-like congestion control
  fairwave dccp send 2001:db8::7 --rate '2 Mbps' --size 172 --ccid 4
  fairwave dccp serve --udp                              inside UDP, where nobody needs root
  fairwave dccp send nas.lan --udp --csv rate.csv

Packets are those of protocol 33 of IP, over a raw socket, which needs root or CAP_NET_RAW until it
is open; with --udp they are inside UDP (RFC 6773). The other end may be Linux's own DCCP (up to
6.15), or anything else that speaks RFC 4340. docs/dccp.md has more.

Exit code 1: no connection, or one that did not end in good order; 2: the options are wrong.";

/// Options of `fairwave dccp`.
#[derive(Args, Debug)]
pub struct Dccp {
    /// The command.
    #[command(subcommand)]
    pub task: Task,
}

/// Commands of `fairwave dccp`.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Accept connections and receive their datagrams, until interrupted
    Serve(Serve),
    /// Connect to a host and send datagrams
    Send(Send),
}

/// Options of both ends.
#[derive(Args, Debug)]
pub struct Ends {
    /// The server's port of DCCP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The service code, requested and offered: four letters, or a number
    #[arg(long, value_name = "CODE", default_value = "FWAV", value_parser = service)]
    pub service: u32,
    /// Put the packets into UDP (RFC 6773) instead of IP
    #[arg(long)]
    pub udp: bool,
    /// The server's port of UDP, with --udp
    #[arg(long, value_name = "PORT", default_value_t = UDP_PORT, requires = "udp")]
    pub udp_port: u16,
    /// Mark the packets sent (SO_MARK), for firewall rules that exclude the kernel's own DCCP
    #[arg(long, value_name = "NUMBER", conflicts_with = "udp")]
    pub mark: Option<u32>,
    /// Interval between reports
    #[arg(long, value_name = "DURATION", default_value = "1 s")]
    pub interval: Duration,
    /// Write a line for each report to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// Options of `fairwave dccp serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Options of both ends.
    #[command(flatten)]
    pub ends: Ends,
    /// Listen at this address of the host [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// Congestion controls that the server accepts, in order of preference: 2 (TCP-like), 3 (TFRC),
    /// 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [3, 2, 4])]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: Vec<u8>,
    /// End after the first connection
    #[arg(long, short = '1')]
    pub once: bool,
}

/// Options of `fairwave dccp send`.
#[derive(Args, Debug)]
pub struct Send {
    /// Name or address of the host that runs `fairwave dccp serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Options of both ends.
    #[command(flatten)]
    pub ends: Ends,
    /// Speak IPv4 only
    #[arg(short = '4', conflicts_with = "six")]
    pub four: bool,
    /// Speak IPv6 only
    #[arg(short = '6')]
    pub six: bool,
    /// Congestion control: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    pub ccid: u8,
    /// Length of the transmission
    #[arg(long = "for", short = 't', value_name = "DURATION", default_value = "10 s")]
    pub time: Duration,
    /// Application data of each datagram in bytes
    #[arg(long, short = 'l', value_name = "BYTES", default_value_t = 1_400)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_400))]
    pub size: u32,
    /// Send at this rate [default: as much as congestion control allows]
    #[arg(long, short = 'b', value_name = "RATE", value_parser = BitRate::above_zero)]
    pub rate: Option<BitRate>,
}

/// Parses a service code: four printable letters (RFC 4340 section 8.1.2), or a number.
fn service(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match <[u8; 4]>::try_from(text.as_bytes()) {
        Ok(letters) if letters.iter().all(u8::is_ascii_graphic) => Ok(u32::from_be_bytes(letters)),
        _ => Err("four letters or a number are needed".to_owned()),
    }
}

/// Serves or sends.
///
/// # Errors
/// If the options are wrong, or a connection fails.
pub fn run(console: &dyn Console, dccp: &Dccp) -> Result<(), Failure> {
    match &dccp.task {
        Task::Serve(serve) => run_server(console, serve),
        Task::Send(send) => run_client(console, send),
    }
}

fn run_server(console: &dyn Console, serve: &Serve) -> Result<(), Failure> {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let address = SocketAddr::new(serve.listen.unwrap_or(any), serve.ends.port);
    let request = request(&serve.ends, Addressee::Anybody(address), &serve.ccid);
    let session = Session::new(console, &serve.ends, None)?;
    let (host, stop) = open(console, &request)?;
    // Over IP the port is that of DCCP, and inside UDP that of UDP.
    let port = if serve.ends.udp { serve.ends.udp_port } else { address.port() };
    let at = SocketAddr::new(address.ip(), port);
    Listening::at("dccp serve", &[at]).print(console)?;
    console.inform(&format!("Listening at {address}{}\n", behind(&serve.ends)))?;
    session.run(host, Duration::ZERO, serve.once, &stop)
}

fn run_client(console: &dyn Console, send: &Send) -> Result<(), Failure> {
    if send.time.is_zero() {
        return Err(Failure::Usage("--for has to be more than 0".to_owned()));
    }
    let server = resolve(&send.host, send.ends.port, send.four, send.six)?;
    let traffic = Traffic { bytes: send.size, rate: send.rate };
    let request = request(&send.ends, Addressee::Server(server, traffic), &[send.ccid]);
    let session = Session::new(console, &send.ends, Some(send.size))?;
    let (host, stop) = open(console, &request)?;
    console.inform(&format!("Connecting to {server}{}\n", behind(&send.ends)))?;
    session.run(host, send.time, true, &stop)
}

/// The encapsulation of the packets, in words.
fn behind(ends: &Ends) -> String {
    match ends.udp {
        true => format!(", inside UDP at port {}", ends.udp_port),
        false => ", protocol 33 of IP".to_owned(),
    }
}

fn request(ends: &Ends, with: Addressee, ccids: &[u8]) -> Request {
    Request {
        over: if ends.udp { Over::Udp } else { Over::Ip },
        udp_port: ends.udp_port,
        ccids: ccids.iter().map(|number| Ccid(*number)).collect(),
        service: ends.service,
        mark: ends.mark,
        ..Request::new(with)
    }
}

/// Opens the socket, then drops the privileges that this required.
fn open(console: &dyn Console, request: &Request) -> Result<(Host, Arc<AtomicBool>), Failure> {
    let stop = console.stop()?;
    let host = Host::open(request).map_err(Failure::run)?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    Ok((host, stop))
}

/// Reports of a run: their outputs and the connections' state.
struct Session<'a> {
    console: &'a dyn Console,
    ends: &'a Ends,
    /// Application data of a datagram, for a sender.
    size: Option<u32>,
    csv: Option<File>,
    watched: BTreeMap<Peer, Watched>,
    done: Vec<ConnectionOutput>,
    /// Reason why the most recent attempt failed to establish a connection.
    refused: Option<String>,
    /// First error in writing a report.
    failed: Option<Failure>,
}

impl<'a> Session<'a> {
    /// Opens the output file. This happens before privileges are dropped.
    fn new(console: &'a dyn Console, ends: &'a Ends, size: Option<u32>) -> Result<Self, Failure> {
        if ends.interval.is_zero() {
            return Err(Failure::Usage("--interval has to be more than 0".to_owned()));
        }
        let csv = ends.csv.as_deref().map(created).transpose()?;
        let (watched, done) = (BTreeMap::new(), Vec::new());
        Ok(Self { console, ends, size, csv, watched, done, refused: None, failed: None })
    }

    fn run(
        mut self,
        mut host: Host,
        time: Duration,
        is_once: bool,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        // Set by the reports below; the two closures cannot share a plain variable.
        let over = AtomicBool::new(false);
        let is_over = || stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let ran = host.run(time, self.ends.interval, is_over, |reported| {
            self.report(reported);
            let is_done = !self.done.is_empty() || self.refused.is_some();
            over.fetch_or(is_once && is_done, Ordering::Relaxed);
        });
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let ended_badly = self.done.iter().find(|one| !one.is_good);
        let error = match (ran, ended_badly) {
            (Err(Error::Io(error)), _) => Some(format!("the socket failed: {error}")),
            (Err(error), _) => Some(error.to_string()),
            (Ok(()), Some(bad)) => Some(format!("{}: {}", bad.peer, bad.ended)),
            (Ok(()), None) => self.refused,
        };
        let (counts, ignored) = (host.counts(), host.ignored());
        let printed = DccpOutput {
            role: if self.size.is_some() { "sender" } else { "receiver" }.to_owned(),
            over: if self.ends.udp { "udp" } else { "ip" }.to_owned(),
            connections: self.done,
            ignored: ignored.broken + ignored.foreign + ignored.turned_away + counts.unreadable,
            dropped_here: counts.dropped_here,
            refused: counts.refused,
            error,
        };
        if self.console.is_json() {
            self.console.print_json(&json!(printed))?;
        }
        // A server continues after a failed connection, which does not affect other clients.
        match printed.error {
            Some(error) if self.size.is_some() || is_once => Err(Failure::Run(error)),
            _ => Ok(()),
        }
    }

    fn report(&mut self, reported: HostEvent) {
        let text = match reported {
            HostEvent::Endpoint(now, EndpointEvent::Established(peer)) => {
                self.watched.insert(peer, Watched::new(peer, now, self.size));
                format!("{}: established\n", shown(peer))
            }
            HostEvent::Sample(now, peer, account) => {
                let Some(watched) = self.watched.get_mut(&peer) else { return };
                let sample = watched.sample(now, &account);
                self.keep(peer, &sample);
                line(peer, &sample)
            }
            HostEvent::Endpoint(now, EndpointEvent::Ended(peer, end, account)) => {
                let Some(watched) = self.watched.remove(&peer) else {
                    self.refused = Some(format!("{}, no connection: {end}", shown(peer)));
                    return;
                };
                let ended = watched.ended(now, &account, &end.to_string());
                let words = summary(&ended, self.size.is_some());
                self.done.push(ended);
                words
            }
        };
        if !self.console.is_json()
            && let Err(error) = self.console.print(&text)
        {
            self.failed.get_or_insert(error);
        }
    }

    fn keep(&mut self, peer: Peer, sample: &SampleOutput) {
        let Some(file) = &mut self.csv else { return };
        if let Err(error) = file.write_all(row(peer, sample).as_bytes()) {
            self.failed.get_or_insert(Failure::Run(format!("--csv: {error}")));
        }
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

    /// RFC 4340 section 8.1.2 gives 1886613874 for "pstr".
    #[test]
    fn a_service_is_four_letters_or_a_number() {
        assert_eq!(service("pstr"), Ok(0x7073_7472));
        assert_eq!(service("7"), Ok(7));
        assert!(service("five5").is_err() && service("a b").is_err());
    }
}
