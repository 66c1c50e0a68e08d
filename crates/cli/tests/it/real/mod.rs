//! A network of three namespaces in a row, real Linux TCP over it, and tcpdump at both ends.
//!
//! No test sleeps: each program reports on a pipe that it is ready. A final datagram ends the
//! captures, since packets of a link are captured in their order.

use crate::common::skip;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

/// Payload of the last datagram.
const LAST: &[u8] = b"fairwave: that was all";

/// Accepts connections on port 5001, one after the other or all at once, until `bytes` bytes have
/// arrived in total.
const RECEIVER: &str = "
import socket, sys, selectors
listener = socket.create_server(('0.0.0.0', 5001), backlog=64)
wanted, slow = int(sys.argv[1]), len(sys.argv) > 2
if slow: listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
print('ready', flush=True)
ready = selectors.DefaultSelector()
ready.register(listener, selectors.EVENT_READ)
open_ones = 0
done = 0
while done < wanted or open_ones:
    for key, _ in ready.select():
        if key.fileobj is listener:
            peer, _ = listener.accept()
            ready.register(peer, selectors.EVENT_READ)
            open_ones += 1
            continue
        data = key.fileobj.recv(512 if slow else 65536)
        done += len(data)
        if not data:
            ready.unregister(key.fileobj)
            key.fileobj.close()
            open_ones -= 1
";

/// Sends `bytes` over each of `connections` at once, and then the last datagram.
const SENDER: &str = "
import socket, sys, threading
connections, size = int(sys.argv[1]), int(sys.argv[2])
def send():
    with socket.create_connection(('10.77.2.2', 5001)) as peer:
        peer.sendall(b'x' * size)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(4096): pass
threads = [threading.Thread(target=send) for _ in range(connections)]
for thread in threads: thread.start()
for thread in threads: thread.join()
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'fairwave: that was all', ('10.77.2.2', 9))
";

/// The JSON that a script of this folder prints when it runs in namespaces of its own, with the
/// command and `args`; `None` where it cannot run.
#[cfg(target_os = "linux")]
pub(crate) fn in_namespaces(script: &str, args: &[&str]) -> Option<serde_json::Value> {
    if let Some(why) = missing() {
        skip(why);
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(script);
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    // `-B`: no bytecode files beside the script.
    command.args(["python3", "-B"]).arg(script).arg(env!("CARGO_BIN_EXE_fairwave")).args(args);
    let output = command.output().expect("unshare starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {err}");
    Some(serde_json::from_slice(&output.stdout).expect("it prints JSON"))
}

/// Reason why this machine cannot generate real traffic, if there is one.
pub(crate) fn missing() -> Option<String> {
    let id = Command::new("id").arg("-u").output();
    if id.is_ok_and(|output| output.stdout.trim_ascii() != b"0") {
        return Some("namespaces need root".to_owned());
    }
    let starts = |program: &str, arg: &str| {
        let output = Command::new(program).arg(arg).output();
        output.is_ok_and(|output| output.status.success())
    };
    let programs = [
        ("ip", "-V"),
        ("nft", "-v"),
        ("tcpdump", "--version"),
        ("tshark", "-v"),
        ("python3", "-V"),
    ];
    let lacking = programs.into_iter().find(|(program, arg)| !starts(program, arg));
    lacking.map(|(program, _)| format!("{program} is not there; `cargo xtask test` installs it"))
}

/// Whether a test must be skipped; then the reason is printed.
pub(crate) fn skipped() -> bool {
    let why = missing();
    if let Some(why) = &why {
        skip(why);
    }
    why.is_some()
}

/// Sender, router and receiver, which are removed when the value is dropped.
pub(crate) struct Net {
    names: [String; 3],
}

impl Net {
    /// Three namespaces in a row; segments have at most `gso_segs` times the MSS before the network
    /// card splits them.
    pub(crate) fn new(gso_segs: u32) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |role| format!("fwtrace-{}-{number}-{role}", std::process::id());
        let net = Self { names: ["send", "route", "receive"].map(name) };
        for name in &net.names {
            run("ip", &["netns", "add", name]);
        }
        let [send, route, receive] = net.names.each_ref().map(String::as_str);
        for (from, link, to, peer) in [(send, "s0", route, "r1"), (receive, "d0", route, "r2")] {
            run(
                "ip",
                &[
                    "-n", from, "link", "add", link, "type", "veth", "peer", "name", peer, "netns",
                    to,
                ],
            );
        }
        let addresses = [
            (send, "s0", "10.77.1.2/24"),
            (route, "r1", "10.77.1.1/24"),
            (route, "r2", "10.77.2.1/24"),
            (receive, "d0", "10.77.2.2/24"),
        ];
        let segs = gso_segs.to_string();
        for (at, link, address) in addresses {
            run("ip", &["-n", at, "addr", "add", address, "dev", link]);
            run("ip", &["-n", at, "link", "set", link, "gso_max_segs", &segs, "up"]);
        }
        run("ip", &["-n", send, "route", "add", "default", "via", "10.77.1.1"]);
        run("ip", &["-n", receive, "route", "add", "default", "via", "10.77.2.1"]);
        net.within(1, "sh", &["-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
        net
    }

    /// Lets the router lose `per_mille` of a thousand packets that pass `filter`.
    pub(crate) fn lose(&self, filter: &str, per_mille: u32) {
        let rules = format!(
            "table ip loss {{\n chain way {{\n type filter hook forward priority 0\n \
             {filter} numgen random mod 1000 < {per_mille} counter drop\n }}\n }}"
        );
        self.within(1, "nft", &[&rules]);
    }

    /// Number of packets that the router has lost, by its own counter.
    pub(crate) fn lost(&self) -> u64 {
        let mut nft = Command::new("ip");
        nft.args(["netns", "exec", &self.names[1], "nft", "list", "table", "ip", "loss"]);
        let output = nft.output().expect("nft starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace().skip_while(|word| *word != "packets").skip(1);
        words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }

    /// Sets a rate and a queue length in bytes for the router's link to the receiver.
    pub(crate) fn bottleneck(&self, rate: &str, queue_bytes: u32) {
        let limit = queue_bytes.to_string();
        let shape = ["root", "tbf", "rate", rate, "burst", "5000", "limit", &limit];
        self.within(1, "tc", &[&["qdisc", "add", "dev", "r2"], &shape[..]].concat());
    }

    /// Sends, and returns the captures at the sender's and at the receiver's link.
    pub(crate) fn transfer(&self, place: &Path, connections: u32, bytes: u32) -> [PathBuf; 2] {
        let captures = [(0, "s0"), (2, "d0")].map(|(at, link)| self.tcpdump(at, link));
        let all = (u64::from(connections) * u64::from(bytes)).to_string();
        let mut receiver = self.start(2, "python3", &["-c", RECEIVER, &all]);
        let mut line = String::new();
        let out = receiver.0.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("the receiver speaks");
        assert_eq!(line, "ready\n", "the receiver listens");
        let numbers = [connections, bytes].map(|number| number.to_string());
        let mut sender = self.start(0, "python3", &["-c", SENDER, &numbers[0], &numbers[1]]);
        assert!(sender.0.wait().expect("it ends").success(), "the sender failed");
        assert!(receiver.0.wait().expect("it ends").success(), "the receiver failed");
        let names = ["sent.pcap", "received.pcap"].map(|name| place.join(name));
        for (capture, path) in captures.into_iter().zip(&names) {
            fs::write(path, capture.finish()).expect("a capture is written");
        }
        names
    }

    fn tcpdump(&self, at: usize, link: &str) -> Tcpdump {
        let args =
            ["-i", link, "-n", "-U", "--immediate-mode", "-B", "65536", "-s", "128", "-w", "-"];
        let mut program = self.start(at, "tcpdump", &args);
        let errors = program.0.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(errors).lines();
        let listens =
            |line: std::io::Result<String>| line.is_ok_and(|line| line.contains("listening on"));
        assert!(lines.any(listens), "tcpdump does not listen");
        let out = program.0.stdout.take().expect("it is piped");
        let reader = std::thread::spawn(move || until_last(out));
        Tcpdump { program, reader, errors: std::thread::spawn(move || lines.count()) }
    }

    /// Runs a program in a namespace until it ends.
    fn within(&self, at: usize, program: &str, args: &[&str]) {
        run("ip", &[&["netns", "exec", &self.names[at], program], args].concat());
    }

    /// Starts a program in a namespace.
    fn start(&self, at: usize, program: &str, args: &[&str]) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[at], program]).args(args);
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
        Running(child.unwrap_or_else(|error| panic!("{program}: {error}")))
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in &self.names {
            // The namespace may never have been made. Errors are ignored, since drop cannot report
            // them.
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

/// A program that is killed with its value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Tcpdump {
    program: Running,
    reader: JoinHandle<(Vec<u8>, ChildStdout)>,
    errors: JoinHandle<usize>,
}

impl Tcpdump {
    /// Waits for the last datagram.
    fn finish(self) -> Vec<u8> {
        let (mut bytes, mut rest) = self.reader.join().expect("the reader does not panic");
        drop(self.program);
        rest.read_to_end(&mut bytes).expect("the rest of the capture");
        self.errors.join().expect("the reader does not panic");
        bytes
    }
}

/// Reads until the last datagram has been captured.
fn until_last(mut from: ChildStdout) -> (Vec<u8>, ChildStdout) {
    let mut bytes = Vec::new();
    let mut piece = [0; 65536];
    loop {
        let searched = bytes.len().saturating_sub(LAST.len());
        let len = from.read(&mut piece).expect("tcpdump writes");
        assert!(len > 0, "tcpdump ended before the traffic did");
        bytes.extend_from_slice(&piece[..len]);
        if bytes[searched..].windows(LAST.len()).any(|window| window == LAST) {
            return (bytes, from);
        }
    }
}

/// Runs a program, which must succeed.
fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
}
