//! `fairwave dccp`: datagrams with congestion control on real networks.

use super::probe::resolve;
use crate::args::Common;
use crate::args::dccp::{Dccp, Ends, Send, Serve, Task};
use crate::outcome::Failure;
use crate::printed_dccp::{
    ConnectionOutput, DccpOutput, KnownOutput, SampleOutput, Watched, shown,
};
use crate::{output, stop};
use fairwave_dccp::Ccid;
use fairwave_dccp_tool::{Addressee, Error, Host, News, Over, Peer, Request, Told, Traffic};
use fairwave_linux::become_ordinary_user;
use fairwave_units::{BitRate, Duration};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first line of a file of samples.
const COLUMNS: &str = "peer,at_s,rate_mbps,loss_event_rate,rtt_ms,allowed_mbps,receive_mbps,cwnd\n";

/// Serves or sends.
pub(crate) fn run(common: &Common, dccp: &Dccp) -> Result<(), Failure> {
    match &dccp.task {
        Task::Serve(serve) => run_server(common, serve),
        Task::Send(send) => run_client(common, send),
    }
}

fn run_server(common: &Common, serve: &Serve) -> Result<(), Failure> {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let address = SocketAddr::new(serve.listen.unwrap_or(any), serve.ends.port);
    let request = request(&serve.ends, Addressee::Anybody(address), &serve.ccid);
    let mut session = Session::new(common, &serve.ends, None)?;
    let (host, stop) = open(&request)?;
    session.greet(&format!("Listening at {address}{}\n", behind(&serve.ends)))?;
    session.run(host, Duration::ZERO, serve.once, &stop)
}

fn run_client(common: &Common, send: &Send) -> Result<(), Failure> {
    if send.rate == Some(BitRate(0)) || send.time.is_zero() {
        return Err(Failure::Usage("--rate and --for have to be more than 0".to_owned()));
    }
    let server = resolve(&send.host, send.ends.port, send.four, send.six)?;
    let traffic = Traffic { bytes: send.size, rate: send.rate };
    let request = request(&send.ends, Addressee::Server(server, traffic), &[send.ccid]);
    let mut session = Session::new(common, &send.ends, Some(send.size))?;
    let (host, stop) = open(&request)?;
    session.greet(&format!("Connecting to {server}{}\n", behind(&send.ends)))?;
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
fn open(request: &Request) -> Result<(Host, std::sync::Arc<AtomicBool>), Failure> {
    let stop = stop::on(&stop::SIGNALS)?;
    let host = Host::open(request).map_err(Failure::run)?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    Ok((host, stop))
}

/// Reports of a run: their outputs and the connections' state.
struct Session<'a> {
    common: &'a Common,
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
    fn new(common: &'a Common, ends: &'a Ends, size: Option<u32>) -> Result<Self, Failure> {
        if ends.interval.is_zero() {
            return Err(Failure::Usage("--interval has to be more than 0".to_owned()));
        }
        let csv = ends.csv.as_deref().map(created).transpose()?;
        let (watched, done) = (BTreeMap::new(), Vec::new());
        Ok(Self { common, ends, size, csv, watched, done, refused: None, failed: None })
    }

    /// Prints a message: to standard error if standard output is reserved for JSON.
    fn greet(&mut self, text: &str) -> Result<(), Failure> {
        match self.common.json {
            true if self.common.quiet => {}
            true => output::note(text.trim_end()),
            false => output::print(text)?,
        }
        Ok(())
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
        let told = host.run(time, self.ends.interval, is_over, |told| {
            self.hear(told);
            let is_done = !self.done.is_empty() || self.refused.is_some();
            over.fetch_or(is_once && is_done, Ordering::Relaxed);
        });
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let ended_badly = self.done.iter().find(|one| !one.is_good);
        let error = match (told, ended_badly) {
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
        if self.common.json {
            output::print_json(&json!(printed))?;
        }
        // A server continues after a failed connection, which does not affect other clients.
        match printed.error {
            Some(error) if self.size.is_some() || is_once => Err(Failure::Run(error)),
            _ => Ok(()),
        }
    }

    fn hear(&mut self, told: Told) {
        let said = match told {
            Told::News(now, News::Established(peer)) => {
                self.watched.insert(peer, Watched::new(peer, now, self.size));
                format!("{}: established\n", shown(peer))
            }
            Told::Sample(now, peer, account) => {
                let Some(watched) = self.watched.get_mut(&peer) else { return };
                let sample = watched.sample(now, &account);
                self.keep(peer, &sample);
                line(peer, &sample)
            }
            Told::News(now, News::Ended(peer, end, account)) => {
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
        if !self.common.json
            && let Err(error) = output::print(&said)
        {
            self.failed.get_or_insert(error.into());
        }
    }

    fn keep(&mut self, peer: Peer, sample: &SampleOutput) {
        let Some(file) = &mut self.csv else { return };
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let KnownOutput { loss_event_rate, rtt_ms, allowed_mbps, receive_mbps, cwnd, .. } =
            sample.known;
        let known = [loss_event_rate, rtt_ms, allowed_mbps, receive_mbps, cwnd.map(f64::from)];
        let known = known.map(number).join(",");
        let row = format!("{},{},{},{known}\n", shown(peer), sample.at_s, sample.rate_mbps);
        if let Err(error) = file.write_all(row.as_bytes()) {
            self.failed.get_or_insert(Failure::Run(format!("--csv: {error}")));
        }
    }
}

fn created(path: &Path) -> Result<File, Failure> {
    let opened = File::create(path).and_then(|mut file| {
        file.write_all(COLUMNS.as_bytes())?;
        Ok(file)
    });
    opened.map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

/// A sample as a line.
fn line(peer: Peer, sample: &SampleOutput) -> String {
    let SampleOutput { at_s, rate_mbps, known } = sample;
    format!("{} {at_s:.1} s: {rate_mbps:.3} Mbps{}\n", shown(peer), words(known))
}

/// The known values of congestion control, in words.
fn words(known: &KnownOutput) -> String {
    let rate = |name: &str, rate: Option<f64>| {
        rate.map_or(String::new(), |rate| format!(", {name} {rate:.3} Mbps"))
    };
    let mut text = rate("X", known.allowed_mbps) + &rate("X_recv", known.receive_mbps);
    text += &rate("equation", known.equation_mbps);
    text += &known.rtt_ms.map_or(String::new(), |rtt| format!(", rtt {rtt:.2} ms"));
    text += &known.loss_event_rate.map_or(String::new(), |p| format!(", p {p:.5}"));
    text + &known.cwnd.map_or(String::new(), |cwnd| format!(", cwnd {cwnd} packets"))
}

fn summary(ended: &ConnectionOutput, is_sender: bool) -> String {
    let ConnectionOutput { peer, ccid, ccid_there, datagrams, bytes, seconds, .. } = ended;
    let (what, ccid) = if is_sender { ("sent", ccid) } else { ("received", ccid_there) };
    let lost = match is_sender {
        true => format!("{} not sent for want of room in the queue", ended.unsent),
        false => format!("{} packets missing", ended.missing),
    };
    format!(
        "{peer}: {what} {datagrams} datagrams, {bytes} bytes in {seconds:.2} s by CCID {ccid}: \
         {:.3} Mbps, {lost}; {}\n{peer}: at the end{}\n",
        ended.rate_mbps,
        ended.ended,
        words(&ended.known)
    )
}
