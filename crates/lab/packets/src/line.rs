//! Real packets of one namespace: packets written to its TUN device arrive at the kernel, and those
//! that the kernel sends are read there.

use crate::world::Played;
use fairwave_linux::clock::Clock;
use fairwave_netns::{Namespaces, VNET_HEADER_LENGTH};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ipv4::{self, Ecn, PROTOCOL_TCP};
use fairwave_wire::pseudo::Pseudo;
use fairwave_wire::tcp::{self, Header};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::Ipv4Addr;

/// Room for the largest packet.
const ROOM: usize = 1 << 16;
/// Tolerated earliness: a tick of the kernel's clock (250 Hz).
const TICK: Duration = Duration::from_millis(4);
/// Tolerated lateness between the kernel and a waiting thread.
const PROMPT: Duration = Duration::from_millis(12);

/// The device of a namespace while one script uses it.
pub(crate) struct Line<'n> {
    namespaces: &'n Namespaces,
    node: usize,
    clock: Clock,
    /// How late this thread has been at most when it woke.
    lateness: Duration,
    buffer: Vec<u8>,
}

/// A TCP segment that was read.
pub(crate) struct Packet {
    pub(crate) at: Instant,
    pub(crate) to: Ipv4Addr,
    pub(crate) from: Ipv4Addr,
    pub(crate) ecn: Ecn,
    pub(crate) header: Header,
    pub(crate) payload: Vec<u8>,
}

impl<'n> Line<'n> {
    pub(crate) fn new(namespaces: &'n Namespaces, node: usize) -> Played<Self> {
        let buffer = vec![0; ROOM];
        let clock = Clock::start();
        let mut line = Self { namespaces, node, clock, lateness: Duration::ZERO, buffer };
        // What a script before this one has left behind.
        while line.read()?.is_some() {}
        line.clock = Clock::start();
        Ok(line)
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    fn read(&mut self) -> Played<Option<usize>> {
        self.namespaces.tun(self.node).receive(&mut self.buffer).map_err(|error| error.to_string())
    }

    /// The next TCP segment that waits, its checksums tested. Other packets are passed over.
    pub(crate) fn receive(&mut self) -> Played<Option<Packet>> {
        while let Some(length) = self.read()? {
            let at = self.clock.now();
            let (ip, rest) = match ipv4::parse(&self.buffer[VNET_HEADER_LENGTH..length]) {
                Ok((ip, rest)) if ip.protocol == PROTOCOL_TCP => (ip, rest),
                Ok(_) => continue,
                Err(ipv4::Error::Version { .. }) => continue,
                Err(error) => return Err(format!("a broken packet left: {error}")),
            };
            let (to, from) = (ip.destination, ip.source);
            let parsed = tcp::parse(rest, Pseudo::V4 { source: from, destination: to });
            let (header, payload) = parsed.map_err(|e| format!("a broken segment left: {e}"))?;
            let (ecn, payload) = (Ecn::of(ip.tos), payload.to_vec());
            return Ok(Some(Packet { at, to, from, ecn, header, payload }));
        }
        Ok(None)
    }

    /// Waits until a packet can be read, or until `until`. Whether one can be read.
    pub(crate) fn wait(&mut self, until: Instant) -> Played<bool> {
        let left = until.since(self.clock.now().min(until));
        let (seconds, nanos) = (left.as_nanos() / 1_000_000_000, left.as_nanos() % 1_000_000_000);
        let maximum = Timespec { tv_sec: seconds as i64, tv_nsec: nanos as i64 };
        let device = self.namespaces.tun_fd(self.node);
        let mut waits = [PollFd::new(&device, PollFlags::IN)];
        let ready = poll(&mut waits, Some(&maximum)).map_err(|error| error.to_string())? > 0;
        if !ready {
            let now = self.clock.now();
            self.lateness = self.lateness.max(now.since(until.min(now)));
        }
        Ok(ready)
    }

    /// Writes a segment.
    pub(crate) fn send(
        &self,
        from: Ipv4Addr,
        to: Ipv4Addr,
        ecn: Ecn,
        header: &Header,
        payload: &[u8],
    ) -> Played<()> {
        let payload_len = (header.wire_len() + payload.len()) as u32;
        let ip = ipv4::Header {
            source: from,
            destination: to,
            id: 0,
            ttl: 64,
            tos: ecn.put(0),
            dont_fragment: true,
            protocol: PROTOCOL_TCP,
            payload_len,
        };
        let mut packet = vec![0; VNET_HEADER_LENGTH];
        ip.write(&mut packet).map_err(|error| error.to_string())?;
        let pseudo = Pseudo::V4 { source: from, destination: to };
        header.write(&mut packet, pseudo, payload).map_err(|error| error.to_string())?;
        let sent = self.namespaces.tun(self.node).send(&packet).map_err(|error| error.to_string());
        if sent? { Ok(()) } else { Err("the kernel had no room for a packet".to_owned()) }
    }

    /// How much earlier and later something may be that has waited for so long: timers of Linux
    /// round up by an eighth at most (`kernel/time/timer.c`).
    pub(crate) fn slack(&self, waited: Duration) -> (Duration, Duration) {
        let late = PROMPT + waited / 8 + self.lateness;
        (TICK + self.lateness, late)
    }
}

/// Timestamps of an end whose clock is not that of the script.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// The value at the script's beginning.
    base: Option<u32>,
    /// Expected timestamp and the one sent.
    noted: Vec<(u32, u32)>,
}

impl Stamps {
    /// Milliseconds of script time that stand for `value`, which left at `at`.
    pub(crate) fn relative(&mut self, at: Instant, value: u32) -> u32 {
        let now = (at.as_nanos() / 1_000_000) as u32;
        value.wrapping_sub(*self.base.get_or_insert(value.wrapping_sub(now)))
    }

    pub(crate) fn note(&mut self, nominal: u32, actual: u32) {
        self.noted.push((nominal, actual));
    }

    /// The timestamp that stands for what the script expected at `nominal`.
    pub(crate) fn echo(&self, nominal: u32) -> u32 {
        let noted = self.noted.iter().rev().find(|(expected, _)| *expected == nominal);
        let relative = noted.map_or(nominal, |(_, actual)| *actual);
        self.base.unwrap_or(0).wrapping_add(relative)
    }
}

/// Bytes of a stream from `offset` on: each says where it belongs.
pub(crate) fn stream(offset: u64, len: u32) -> Vec<u8> {
    (offset..offset + u64::from(len)).map(|at| (at % 251) as u8).collect()
}

/// Whether `payload` is what belongs at `seq`, where data begins at 1.
pub(crate) fn is_stream(seq: u32, payload: &[u8]) -> bool {
    payload.is_empty() || payload == stream(u64::from(seq) - 1, payload.len() as u32)
}
