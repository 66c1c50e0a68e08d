//! The kernel's TCP on a socket in a namespace, whose peer is played through the TUN device.

use crate::line::{Line, Packet, Stamps, is_stream, stream};
use crate::parse::Shape;
use crate::segment::{Exactness, Numbers, Seen};
use crate::settings::{PORTS, Settings};
use crate::socket;
use crate::world::{Answer, Call, Played, World};
use fairwave_linux::tcp_info::{TcpInfo, Version};
use fairwave_netns::Namespaces;
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::Header;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

/// Initial sequence number of the peer.
const IRS: Seq32 = Seq32(7_000);

pub(crate) struct Kernel<'n> {
    line: Line<'n>,
    namespaces: &'n Namespaces,
    node: usize,
    settings: Settings,
    own: Ipv4Addr,
    peer: Ipv4Addr,
    numbers: Numbers,
    stamps: Stamps,
    listener: Option<OwnedFd>,
    socket: Option<OwnedFd>,
    sent: VecDeque<Seen>,
    written: u64,
    closed: bool,
}

impl<'n> Kernel<'n> {
    pub(crate) fn new(
        line: Line<'n>,
        namespaces: &'n Namespaces,
        node: usize,
        settings: &Settings,
        own: Ipv4Addr,
        peer: Ipv4Addr,
    ) -> Self {
        Self {
            line,
            namespaces,
            node,
            settings: settings.clone(),
            own,
            peer,
            numbers: Numbers { iss: Seq32(0), irs: IRS },
            stamps: Stamps::default(),
            listener: None,
            socket: None,
            sent: VecDeque::new(),
            written: 0,
            closed: false,
        }
    }

    fn receive(&mut self) -> Played<()> {
        while let Some(packet) = self.line.receive()? {
            let Packet { at, to, from, ecn, header, payload } = packet;
            if (from, to) != (self.own, self.peer) {
                continue;
            }
            if header.flags.syn {
                self.numbers.iss = header.seq;
            }
            let mut seen = self.numbers.seen(at, &header, ecn, payload.len() as u32);
            if let Some((value, _)) = &mut seen.options.timestamps {
                *value = self.stamps.relative(at, *value);
            }
            if !is_stream(seen.seq, &payload) {
                return Err("payload left that belongs elsewhere in the stream".to_owned());
            }
            self.sent.push_back(seen);
        }
        Ok(())
    }

    fn open(&mut self, passive: bool) -> Played<()> {
        let settings = self.settings.clone();
        let own = SocketAddr::from((self.own, PORTS.0));
        let peer = (!passive).then(|| SocketAddr::from((self.peer, PORTS.1)));
        let opened = self.namespaces.within(self.node, move || socket::open(&settings, own, peer));
        let socket = opened.map_err(|error| error.to_string())??;
        *(if passive { &mut self.listener } else { &mut self.socket }) = Some(socket);
        Ok(())
    }

    /// The socket of the connection. A listener may not have it yet.
    fn connection(&mut self) -> Played<Option<&OwnedFd>> {
        if let (None, Some(listener)) = (&self.socket, &self.listener) {
            self.socket = socket::accept(listener)?;
        }
        Ok(self.socket.as_ref())
    }

    fn connected(&mut self) -> Played<&OwnedFd> {
        self.connection()?.ok_or_else(|| "there is no connection yet".to_owned())
    }

    /// Asks for delayed ACKs once there is a connection, where the script has no quick ones. The
    /// kernel forgets it when a delayed ACK leaves.
    fn calm(&mut self) -> Played<()> {
        let wanted = self.settings.config.quick_acks == 0;
        let Some(socket) = self.connection()?.filter(|_| wanted) else { return Ok(()) };
        let info = TcpInfo::of(socket, Version::running());
        if info.is_some_and(|info| RECEIVES.contains(&info.state())) {
            sockopt::set_tcp_quickack(socket, false).map_err(refused("switch quick ACKs off"))?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: u32) -> Played<()> {
        let data = stream(self.written, bytes);
        let sent = send(self.connected()?, &data, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        match sent {
            Ok(sent) => self.written += sent as u64,
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(refused("write")(errno)),
        }
        Ok(())
    }

    fn read(&mut self, bytes: u32) -> Played<()> {
        let mut data = vec![0; bytes as usize];
        match recv(self.connected()?, &mut data[..], RecvFlags::DONTWAIT) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(errno) => Err(refused("read")(errno)),
        }
    }

    fn abort(&mut self) -> Played<()> {
        if let Some(socket) = self.socket.take() {
            let linger = Some(std::time::Duration::ZERO);
            sockopt::set_socket_linger(&socket, linger).map_err(refused("abort"))?;
        }
        self.closed = true;
        Ok(())
    }

    fn header(&self, shape: &Shape) -> Header {
        self.numbers.header(shape, |echo| self.stamps.echo(echo))
    }
}

/// `TCP_ESTABLISHED`, `TCP_FIN_WAIT1`, `TCP_FIN_WAIT2` of `net/tcp_states.h`, and `TCP_CLOSE`.
const RECEIVES: [u8; 3] = [1, 4, 5];
const CLOSE: u8 = 7;

/// The names of RFC 9293, in the kernel's order.
const STATES: [&str; 12] = [
    "ESTABLISHED",
    "SYN-SENT",
    "SYN-RECEIVED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECEIVED",
];

fn refused(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("the kernel refused to {what}: {errno}")
}

impl World for Kernel<'_> {
    fn departure(&mut self, until: Instant) -> Played<Option<Seen>> {
        loop {
            self.receive()?;
            if let Some(seen) = self.sent.pop_front() {
                return Ok(Some(seen));
            }
            if self.line.now() >= until {
                return Ok(None);
            }
            self.line.wait(until)?;
        }
    }

    fn call(&mut self, call: Call) -> Played<()> {
        self.calm()?;
        match call {
            Call::Open => self.open(false),
            Call::Listen => self.open(true),
            Call::Write(bytes) => self.write(bytes),
            Call::Read(bytes) => self.read(bytes),
            Call::Abort => self.abort(),
            Call::Close => {
                self.closed = true;
                shutdown(self.connected()?, Shutdown::Write).map_err(refused("close"))
            }
        }
    }

    fn arrive(&mut self, shape: &Shape) -> Played<()> {
        self.calm()?;
        let payload = stream(u64::from(shape.seq.max(1)) - 1, shape.len);
        let ecn = shape.ecn.unwrap_or_default();
        self.line.send(self.peer, self.own, ecn, &self.header(shape), &payload)
    }

    fn answer(&mut self, key: &str) -> Played<Answer> {
        let (closed, active) = (self.closed, self.listener.is_none());
        let Some(socket) = self.connection()? else { return Ok(Answer::Hidden) };
        let Some(info) = TcpInfo::of(socket, Version::running()) else { return Ok(Answer::Hidden) };
        let sample = info.sample();
        let number = |value: u64| Ok(Answer::Exactly(value.to_string()));
        match key {
            // The socket of a connection in TIME-WAIT is closed already.
            "state" if closed && info.state() == CLOSE => Ok(Answer::Hidden),
            "state" => {
                let name = STATES.get(usize::from(info.state()).wrapping_sub(1));
                Ok(Answer::Exactly(name.copied().unwrap_or("unknown").to_owned()))
            }
            "srtt" => {
                Ok(sample.srtt.map_or(Answer::Hidden, |srtt| Answer::Nearly(srtt.as_millis())))
            }
            "rto" => Ok(Answer::Nearly(sample.rto.as_millis())),
            "ready" => number(ioctl_fionread(socket).map_err(refused("tell what can be read"))?),
            // The SYN of an active open counts.
            "acked" => number(info.bytes_acked().saturating_sub(u64::from(active))),
            "ssthresh" => number(u64::from(sample.ssthresh)),
            "retransmissions" => number(sample.retransmissions),
            "timeouts" => number(sample.timeouts),
            _ => Ok(Answer::Hidden),
        }
    }

    fn note_stamp(&mut self, nominal: u32, actual: u32) {
        self.stamps.note(nominal, actual);
    }

    fn exactness(&self) -> Exactness {
        Exactness::Wire
    }

    fn slack(&self, waited: Duration) -> (Duration, Duration) {
        self.line.slack(waited)
    }
}

impl Drop for Kernel<'_> {
    /// The next script in this namespace finds no connection that still sends.
    fn drop(&mut self) {
        self.listener = None;
        let _ = self.abort();
    }
}
