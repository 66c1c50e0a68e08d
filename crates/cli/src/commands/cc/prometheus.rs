//! `fairwave cc status --prometheus`: connections and totals as text, by HTTP.
//!
//! Requests are answered one after the other. A request may have so many bytes, and come in so few
//! pieces, that nobody holds up the others for longer than some seconds.

use super::show::connections;
use crate::outcome::Failure;
use crate::output;
use crate::printed_cc::CcConnection;
use fairwave_live::{LAWS, Store, Totals, Watcher, totals};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The longest request that is read, in bytes.
const MOST_REQUEST: u64 = 8192;
/// Pieces that a request may come in.
const MOST_PIECES: u32 = 8;
/// How long a client may take for a piece, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers requests until it is interrupted.
pub(crate) fn serve(store: &Store, at: SocketAddr) -> Result<(), Failure> {
    let mut watcher = Watcher::new()?;
    let listener = TcpListener::bind(at).map_err(|error| Failure::Run(format!("{at}: {error}")))?;
    let bound = listener.local_addr().map_err(Failure::run)?;
    output::note(&format!("http://{bound}/metrics"));
    for client in listener.incoming() {
        // A client that goes away harms nobody else.
        let _ = client.and_then(|client| answer(client, || page(store, &mut watcher)));
    }
    Ok(())
}

/// Reads so often and no more.
struct Pieces<R> {
    from: R,
    left: u32,
}

impl<R: Read> Read for Pieces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.left = self.left.checked_sub(1).ok_or(std::io::ErrorKind::TimedOut)?;
        self.from.read(buffer)
    }
}

fn answer(
    mut client: TcpStream,
    page: impl FnOnce() -> Result<String, Failure>,
) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let pieces = Pieces { from: Read::by_ref(&mut client), left: MOST_PIECES };
    let mut request = BufReader::new(pieces.take(MOST_REQUEST));
    let mut line = String::new();
    request.read_line(&mut line)?;
    let mut header = String::new();
    while request.read_line(&mut header)? > 0 && !header.trim().is_empty() {
        header.clear();
    }
    let (status, body) = match line.split_ascii_whitespace().take(2).collect::<Vec<_>>()[..] {
        ["GET", "/metrics" | "/"] => match page() {
            Ok(page) => ("200 OK", page),
            Err(_) => ("500 Internal Server Error", "the kernel refused\n".to_owned()),
        },
        _ => ("404 Not Found", "GET /metrics\n".to_owned()),
    };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
        Connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn page(store: &Store, watcher: &mut Watcher) -> Result<String, Failure> {
    let found = connections(store, watcher)?;
    let counted = LAWS.iter().filter_map(|law| Some((law.name, totals(store, law).ok()?)));
    Ok(text(&found, &counted.collect::<Vec<_>>()))
}

/// A metric of connections: its name, its help, and its value.
type Gauge = (&'static str, &'static str, fn(&CcConnection) -> Option<f64>);

const GAUGES: [Gauge; 7] = [
    ("cwnd_segments", "Congestion window", |one| Some(one.cwnd_segments.into())),
    ("ssthresh_segments", "Slow start threshold", |one| one.ssthresh_segments.map(f64::from)),
    ("srtt_seconds", "Smoothed round-trip time", |one| Some(one.srtt_us as f64 / 1e6)),
    ("acks_lost", "ACKs found lost", |one| Some(one.acks_lost as f64)),
    ("acked_bytes", "Bytes acknowledged", |one| Some(one.acked_bytes as f64)),
    ("target_bits_per_second", "Rate to reach", |one| one.target_bps.map(|rate| rate as f64)),
    ("reached_bits_per_second", "Mean rate since the target was set", |one| {
        one.reached_bps.map(|rate| rate as f64)
    }),
];

/// A metric of a law: its name, its help, and its value.
type Counter = (&'static str, &'static str, fn(&Totals) -> u64);

/// The text format of Prometheus.
fn text(found: &[CcConnection], counted: &[(&str, Totals)]) -> String {
    let mut text = String::new();
    for (name, help, value) in GAUGES {
        let _ = writeln!(text, "# HELP fairwave_cc_{name} {help}.");
        let _ = writeln!(text, "# TYPE fairwave_cc_{name} gauge");
        for one in found {
            let Some(value) = value(one) else { continue };
            let CcConnection { law, local, remote, namespace, .. } = one;
            let _ = writeln!(
                text,
                "fairwave_cc_{name}{{law=\"{law}\",local=\"{local}\",remote=\"{remote}\",\
                namespace=\"{namespace}\"}} {value}"
            );
        }
    }
    let counters: [Counter; 4] = [
        ("connections_opened_total", "Connections that began to use the law", |all| all.opened),
        ("connections_closed_total", "Connections that ceased to", |all| all.closed),
        ("acks_lost_total", "ACKs found lost by connections that ended", |all| all.acks_lost),
        ("answers_total", "Reductions for lost ACKs by connections that ended", |all| all.answers),
    ];
    for (name, help, value) in counters {
        let _ = writeln!(text, "# HELP fairwave_cc_{name} {help}.");
        let _ = writeln!(text, "# TYPE fairwave_cc_{name} counter");
        for (law, totals) in counted {
            let _ = writeln!(text, "fairwave_cc_{name}{{law=\"{law}\"}} {}", value(totals));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_counters_of_their_law() {
        let totals = Totals { opened: 3, closed: 1, acks_lost: 7, answers: 2 };
        let text = text(&[], &[("fw_compound", totals)]);
        let counts = [
            ("connections_opened", 3),
            ("connections_closed", 1),
            ("acks_lost", 7),
            ("answers", 2),
        ];
        for (name, value) in counts {
            let line = format!("\nfairwave_cc_{name}_total{{law=\"fw_compound\"}} {value}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
        assert!(text.contains("# TYPE fairwave_cc_srtt_seconds gauge\n"));
        assert!(!text.contains("fairwave_cc_srtt_seconds{"));
    }

    /// What a client hears that sends these pieces and waits for each to be read.
    fn told(pieces: &[&[u8]], page: Result<String, Failure>) -> Option<String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("its address"));
        let client = client.as_mut().expect("a connection");
        client.set_nodelay(true).expect("an option");
        let (server, _) = listener.accept().expect("the connection");
        std::thread::scope(|scope| {
            let answered = scope.spawn(move || answer(server, || page));
            // The server may have turned away by then.
            let _ = pieces.iter().try_for_each(|piece| client.write_all(piece));
            let _ = client.shutdown(std::net::Shutdown::Write);
            let mut text = String::new();
            let _ = client.read_to_string(&mut text);
            answered.join().expect("it does not panic").is_ok().then_some(text)
        })
    }

    #[test]
    fn only_the_page_is_to_be_had() {
        let page = || Ok("a 1\n".to_owned());
        let get = told(&[b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"], page()).expect("an answer");
        assert!(get.starts_with("HTTP/1.1 200 OK\r\n") && get.ends_with("\r\n\r\na 1\n"), "{get}");
        let other = told(&[b"POST /metrics HTTP/1.1\r\n\r\n"], page()).expect("an answer");
        assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
        let refused = told(&[b"GET / HTTP/1.1\r\n\r\n"], Err(Failure::Run("no".into())));
        assert!(refused.expect("an answer").starts_with("HTTP/1.1 500 "));
    }

    #[test]
    fn a_request_in_crumbs_is_given_up() {
        let mut pieces = Pieces { from: Crumbs, left: MOST_PIECES };
        let mut line = Vec::new();
        assert!(pieces.read_to_end(&mut line).is_err());
        assert_eq!(line.len(), MOST_PIECES as usize);
    }

    /// A byte a read, without end.
    struct Crumbs;

    impl Read for Crumbs {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer[0] = b'x';
            Ok(1)
        }
    }
}
