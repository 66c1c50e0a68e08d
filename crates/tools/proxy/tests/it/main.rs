//! The proxy between real sockets, over loopback.
#![cfg(target_os = "linux")]

mod carrying;
mod opening;
mod targets;

use fairwave_proxy::{Config, Event, Limits, Relay, Report, Targets};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

/// A proxy on a thread of its own, which ends with the value.
struct Proxy {
    at: [SocketAddr; 2],
    reported: Receiver<(Report, Vec<Event>)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Report>>,
}

const FOUR: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SIX: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn config() -> Config {
    Config {
        listen: vec![SocketAddr::new(FOUR, 0), SocketAddr::new(SIX, 0)],
        transparent: None,
        allow: Vec::new(),
        users: None,
        targets: Targets::default(),
        file: None,
        limits: Limits { flows: Some(100), ..Limits::default() },
        congestion: None,
    }
}

impl Proxy {
    fn start(config: Config) -> Self {
        let relay = Relay::open(config, None).expect("it listens");
        let at = relay.addresses().try_into().expect("two addresses");
        let (push_event, reported) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // A test that has heard enough does not listen any more.
            let receive = |report: &Report, events| drop(push_event.send((report.clone(), events)));
            relay.run(&flag, receive).expect("it runs")
        });
        Self { at, reported, stop, thread: Some(thread) }
    }

    /// The first report that is as wanted, with what was told until then.
    fn until(&self, mut wanted: impl FnMut(&Report, &[Event]) -> bool) -> (Report, Vec<Event>) {
        self.reported.iter().find(|(report, events)| wanted(report, events)).expect("it still runs")
    }

    /// Ends it.
    fn end(mut self) -> Report {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at[0]).expect("it listens")
    }

    /// A connection to a server by SOCKS5.
    fn socks(&self, server: SocketAddr) -> TcpStream {
        let mut client =
            TcpStream::connect(self.at[usize::from(server.is_ipv6())]).expect("it listens");
        assert_eq!(ask_socks(&mut client, 1, server), 0, "it is granted");
        client
    }

    /// A connection to a server by HTTP CONNECT.
    fn http(&self, server: &str) -> TcpStream {
        let mut client = self.connect();
        write!(client, "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").expect("it reads");
        let head = read_head(&mut client);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        client
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The reply's code to a SOCKS5 request (RFC 1928 sections 3 to 6).
fn ask_socks(client: &mut TcpStream, command: u8, server: SocketAddr) -> u8 {
    client.write_all(&[5, 1, 0]).expect("it reads");
    let mut method = [0; 2];
    client.read_exact(&mut method).expect("it answers");
    assert_eq!(method, [5, 0]);
    let mut request = vec![5, command, 0];
    match server.ip() {
        IpAddr::V4(four) => request.extend([&[1], &four.octets()[..]].concat()),
        IpAddr::V6(six) => request.extend([&[4], &six.octets()[..]].concat()),
    }
    request.extend(server.port().to_be_bytes());
    client.write_all(&request).expect("it reads");
    let mut reply = [0; 4];
    client.read_exact(&mut reply).expect("it answers");
    let rest = if reply[3] == 1 { 6 } else { 18 };
    client.read_exact(&mut [0; 18][..rest]).expect("it says where");
    reply[1]
}

/// The head of an answer of HTTP, without what follows.
fn read_head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if client.read(&mut byte).expect("it answers") == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("text")
}

/// A server that handles one connection.
fn server<T: Send + 'static>(
    at: IpAddr,
    handle: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((at, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    let served = thread::spawn(move || handle(listener.accept().expect("a client").0));
    (address, served)
}

/// Bytes in which pieces that are lost, repeated or exchanged are noticed.
fn pattern(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}
