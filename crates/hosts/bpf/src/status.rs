//! State of an algorithm's connections, read from the sockets' storage by a BPF iterator, which
//! costs nothing between reads.

use crate::fields::{Fields, end, ssthresh_of};
use crate::object::{self, refused};
use crate::{Algorithm, Error, Store, kernel};
use fairwave_units::{BitRate, Duration};
use libbpf_rs::{Iter, MapCore, MapFlags, Object};
use std::io::Read;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Pin of the sockets' storage.
pub(crate) const CONNECTIONS: &str = "fw_conns";
/// Map of an algorithm's totals.
pub(crate) const TOTALS: &str = "fw_totals";
/// Length of `struct fw_line` of bpf/fw_status.h in bytes.
pub(crate) const LINE: usize = 128;

/// State of a connection at its last ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Inode of its network namespace.
    pub namespace: u32,
    /// `SO_COOKIE` of its socket; `None` if it was never requested.
    pub cookie: Option<u64>,
    /// TCP state, as written by `ss`.
    pub state: &'static str,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; `None` while none is set.
    pub ssthresh: Option<u32>,
    /// Maximum segment size in bytes.
    pub mss: u32,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Bytes acknowledged.
    pub acked: u64,
    /// Number of ACKs found lost.
    pub acks_lost: u64,
    /// Number of reductions for lost ACKs.
    pub answers: u64,
    /// Target rate, if there is one.
    pub target: Option<BitRate>,
    /// The mean rate of acknowledged bytes since the target was set.
    pub reached: Option<BitRate>,
}

/// Totals of all connections of an algorithm since it was loaded. Lost ACKs and answers include
/// only connections that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of connections that began to use the algorithm.
    pub opened: u64,
    /// Number of connections that ceased to use it.
    pub closed: u64,
    /// Number of ACKs found lost.
    pub acks_lost: u64,
    /// Number of reductions for lost ACKs.
    pub answers: u64,
    /// Number of events for which the ring buffer had no space ([`crate::Listener`]).
    pub missed: u64,
}

/// Reads the connections of algorithms.
#[derive(Debug)]
pub struct Watcher {
    object: Object,
}

impl Watcher {
    /// Loads the BPF iterator.
    ///
    /// # Errors
    /// Without privileges, or if the kernel refuses it.
    pub fn new() -> Result<Self, Error> {
        kernel::demand_root("looking at the connections of an algorithm")?;
        let bytes = include_bytes!("../objects/fw_status.o");
        Ok(Self { object: object::load("fw_status", bytes)? })
    }

    /// The connections of a loaded algorithm, in the order of their addresses.
    ///
    /// # Errors
    /// If it is not loaded, or the kernel refuses an operation.
    pub fn connections(
        &mut self,
        store: &Store,
        algorithm: &Algorithm,
    ) -> Result<Vec<Connection>, Error> {
        let map = store.map(algorithm, CONNECTIONS)?;
        let program = self.object.progs_mut().next().expect("the object has one program");
        let link = program.attach_iter(map.as_fd()).map_err(refused(algorithm.name))?;
        let mut bytes = Vec::new();
        let mut lines = Iter::new(&link).map_err(refused(algorithm.name))?;
        let read = lines.read_to_end(&mut bytes);
        read.map_err(|source| Error::Io { what: "the iterator of sockets".into(), source })?;
        let mut found: Vec<Connection> = bytes.chunks_exact(LINE).map(connection).collect();
        found.sort_by_key(|connection| (connection.local, connection.remote));
        Ok(found)
    }
}

/// Totals of a loaded algorithm.
///
/// # Errors
/// If it is not loaded, or without privileges.
pub fn totals(store: &Store, algorithm: &Algorithm) -> Result<Totals, Error> {
    kernel::demand_root("looking at the connections of an algorithm")?;
    totals_of(&store.map(algorithm, TOTALS)?)
}

/// Parses `struct fw_totals`.
pub(crate) fn totals_of(map: &impl MapCore) -> Result<Totals, Error> {
    let found = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused(TOTALS))?;
    let found = found.unwrap_or_default();
    let mut line = Fields::of(&found);
    Ok(Totals {
        opened: line.u64(),
        closed: line.u64(),
        acks_lost: line.u64(),
        answers: line.u64(),
        missed: line.u64(),
    })
}

/// Parses `struct fw_line`.
pub(crate) fn connection(bytes: &[u8]) -> Connection {
    let mut line = Fields::of(bytes);
    let (acks_lost, answers, target) = (line.u64(), line.u64(), line.u64());
    let (aimed_us, aimed_bytes) = (line.u64(), line.u64());
    let (now_us, acked, cookie) = (line.u64(), line.u64(), line.u64());
    let (local, remote): ([u8; 16], [u8; 16]) = (line.take(), line.take());
    let (namespace, cwnd, ssthresh) = (line.u32(), line.u32(), line.u32());
    let (mss, srtt_us) = (line.u32(), line.u32());
    let (local_port, remote_port, family) = (line.u16(), line.u16(), line.u16());
    let [state] = line.take();
    let spent = Duration::from_micros(now_us.saturating_sub(aimed_us));
    let reached = BitRate::over(acked.saturating_sub(aimed_bytes), spent);
    Connection {
        local: end(local, local_port, family),
        remote: end(remote, remote_port, family),
        namespace,
        cookie: (cookie != 0).then_some(cookie),
        state: STATES.get(usize::from(state)).copied().unwrap_or("unknown"),
        cwnd,
        ssthresh: ssthresh_of(ssthresh),
        mss,
        srtt: Duration::from_micros(u64::from(srtt_us)),
        acked,
        acks_lost,
        answers,
        target: (target != 0).then_some(BitRate(target)),
        reached: (target != 0).then_some(reached),
    }
}

/// Names of `enum` in include/net/tcp_states.h, as written by `ss`.
const STATES: [&str; 13] = [
    "unknown",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECV",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{AF_INET, NO_SSTHRESH};

    #[test]
    fn a_line_is_read_by_the_layout_of_the_program() {
        let words: [u64; 8] = [3, 2, 8_000_000, 1_000_000, 500, 3_000_000, 1_000_500, 77];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend([[0; 12].as_slice(), &[10, 0, 0, 1], &[0; 12], &[10, 0, 0, 2]].concat());
        let small: [u32; 5] = [4_026_531_840, 12, NO_SSTHRESH, 1448, 20_000];
        bytes.extend(small.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend([5201_u16, 40_000, AF_INET].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend([1, 0]);
        bytes.resize(LINE, 0);
        let read = connection(&bytes);
        assert_eq!(read.local, "10.0.0.1:5201".parse().unwrap());
        assert_eq!(read.remote, "10.0.0.2:40000".parse().unwrap());
        assert_eq!((read.cwnd, read.ssthresh, read.mss), (12, None, 1448));
        assert_eq!((read.acks_lost, read.answers, read.state), (3, 2, "ESTAB"));
        assert_eq!(read.srtt, Duration::from_millis(20));
        // A million bytes in two seconds.
        assert_eq!(read.reached, Some(BitRate::mbps(4)));
        assert_eq!((read.target, read.cookie), (Some(BitRate::mbps(8)), Some(77)));
    }
}
