//! Windows of the kernel's connections with any congestion control algorithm: one event per
//! received segment, from the tracepoint `tcp_probe`.
//!
//! This process holds the program, which is not pinned and therefore ends with the process. The
//! ring buffer between the two has a fixed size: events that do not fit are counted.

use crate::fields::{Fields, end, ssthresh_of};
use crate::object::{self, map, refused};
use crate::{Error, kernel};
use fairwave_units::{Duration, Instant};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

const EVENTS: &str = "fw_events";
const WANTED: &str = "fw_wanted";
const MISSED: &str = "fw_missed";
/// `FW_MOST_PORTS` of bpf/fw_trace.h.
const MAX_PORTS: usize = 16;

/// Filter of the traced connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Inode of their network namespace; `None` for all.
    pub namespace: Option<u32>,
    /// Ports, of which either end must have one, at most [`Wanted::MAX_PORTS`]; empty for all.
    pub ports: Vec<u16>,
}

impl Wanted {
    /// Maximum number of ports.
    pub const MAX_PORTS: usize = MAX_PORTS;

    /// Layout of `struct fw_wanted`.
    fn to_bytes(&self) -> Vec<u8> {
        let ports = &self.ports[..self.ports.len().min(MAX_PORTS)];
        let mut bytes = self.namespace.unwrap_or(0).to_ne_bytes().to_vec();
        bytes.extend((ports.len() as u32).to_ne_bytes());
        bytes.extend(ports.iter().flat_map(|port| port.to_ne_bytes()));
        bytes.resize(8 + 2 * MAX_PORTS, 0);
        bytes
    }
}

/// Phase of a sender (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No anomaly.
    Open,
    /// Segments were SACKed or ACKs duplicated, and no segment is considered lost yet.
    Disorder,
    /// The window is being reduced because of a congestion mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
    /// A phase that is unknown to this version of Fairwave.
    Unknown,
}

impl Phase {
    /// Its name, as in `ss` and in the kernel's documentation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
            Self::Unknown => "unknown",
        }
    }

    fn of(state: u8) -> Self {
        let known = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];
        known.get(usize::from(state)).copied().unwrap_or(Self::Unknown)
    }
}

/// State of a connection when a segment arrived, before the kernel handled it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time since the trace began.
    pub at: Instant,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Inode of its network namespace.
    pub namespace: u32,
    /// Maximum segment size in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; `None` while none is set.
    pub ssthresh: Option<u32>,
    /// Window that the peer advertises, in bytes.
    pub send_window: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Bytes sent and not yet acknowledged.
    pub unacknowledged: u32,
    /// Segments in flight, without those SACKed or considered lost.
    pub in_flight: u32,
    /// Bytes acknowledged since the connection began.
    pub acked: u64,
    /// Segments retransmitted since the connection began.
    pub retransmitted: u32,
    /// Segments considered lost since the connection began.
    pub lost: u32,
    /// Pacing rate in bits per second; `None` before the kernel has computed one.
    pub pacing_bps: Option<u64>,
    /// Phase of the sender.
    pub phase: Phase,
}

/// Traces connections until it is dropped.
pub struct Tracer {
    /// Declared before the link, so that it is dropped first.
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Event>>>,
    link: Option<Link>,
    object: Object,
    begun_ns: u64,
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").field("begun_ns", &self.begun_ns).finish_non_exhaustive()
    }
}

impl Tracer {
    /// Starts tracing.
    ///
    /// # Errors
    /// Without privileges, or if the kernel refuses the program.
    pub fn start(wanted: &Wanted) -> Result<Self, Error> {
        kernel::demand_root("tracing").map_err(|_| Error::MayNotTrace)?;
        let object = object::load("fw_trace", include_bytes!("../objects/fw_trace.o"));
        let mut object = object.map_err(explain_refusal)?;
        let settings = map(&mut object, WANTED);
        let written = settings.update(&0_u32.to_ne_bytes(), &wanted.to_bytes(), MapFlags::ANY);
        written.map_err(refused(WANTED))?;
        let begun_ns = kernel::now();
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let ring = ring(&mut object, Rc::clone(&arrived), begun_ns)?;
        let program = object.progs_mut().next().expect("the object has one program");
        let link = Some(program.attach().map_err(refused("tcp_probe"))?);
        Ok(Self { ring, arrived, link, object, begun_ns })
    }

    /// Time at which tracing began, in nanoseconds of CLOCK_MONOTONIC.
    pub fn begun_ns(&self) -> u64 {
        self.begun_ns
    }

    /// Time since tracing began.
    pub fn lasted(&self) -> Duration {
        Duration::from_nanos(kernel::now().saturating_sub(self.begun_ns))
    }

    /// Returns the waiting events, after at most `patience`, or earlier if many wait. A signal ends
    /// the wait.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn read(&self, patience: Duration) -> Result<Vec<Event>, Error> {
        match self.ring.poll(std::time::Duration::from_nanos(patience.as_nanos())) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(refused(EVENTS)(error)),
            _ => self.rest(),
        }
    }

    /// Ends tracing. Returns the events that were not read yet.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn stop(&mut self) -> Result<Vec<Event>, Error> {
        drop(self.link.take());
        self.rest()
    }

    /// Number of events for which the ring buffer had no space.
    ///
    /// # Errors
    /// If the kernel's counter cannot be read.
    pub fn missed(&mut self) -> Result<u64, Error> {
        let count = map(&mut self.object, MISSED);
        let count = count.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused(MISSED))?;
        Ok(Fields::of(&count.unwrap_or_default()).u64())
    }

    fn rest(&self) -> Result<Vec<Event>, Error> {
        self.ring.consume().map_err(refused(EVENTS))?;
        Ok(self.arrived.take())
    }
}

/// Adapts an error: root of a user namespace passes the check for root until the kernel refuses the
/// program.
fn explain_refusal(error: Error) -> Error {
    match &error {
        Error::Refused { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Error::MayNotTrace
        }
        _ => error,
    }
}

fn ring(
    object: &mut Object,
    into: Rc<RefCell<Vec<Event>>>,
    begun_ns: u64,
) -> Result<RingBuffer<'static>, Error> {
    let events = map(object, EVENTS);
    let mut builder = RingBufferBuilder::new();
    let arrive = move |bytes: &[u8]| {
        into.borrow_mut().push(event(bytes, begun_ns));
        0
    };
    builder.add(&events, arrive).map_err(refused(EVENTS))?;
    builder.build().map_err(refused(EVENTS))
}

/// Parses `struct fw_event`.
fn event(bytes: &[u8], begun_ns: u64) -> Event {
    let mut fields = Fields::of(bytes);
    let (now_ns, acked, pacing) = (fields.u64(), fields.u64(), fields.u64());
    let (local, remote): ([u8; 16], [u8; 16]) = (fields.take(), fields.take());
    let (namespace, mss, cwnd) = (fields.u32(), fields.u32(), fields.u32());
    let (ssthresh, send_window, srtt_us) = (fields.u32(), fields.u32(), fields.u32());
    let (unacknowledged, in_flight) = (fields.u32(), fields.u32());
    let (retransmitted, lost) = (fields.u32(), fields.u32());
    let (local_port, remote_port, family) = (fields.u16(), fields.u16(), fields.u16());
    let [state] = fields.take();
    // All bits set means no limit.
    let is_paced = !matches!(pacing, 0 | u64::MAX);
    Event {
        at: Instant::from_nanos(now_ns.saturating_sub(begun_ns)),
        local: end(local, local_port, family),
        remote: end(remote, remote_port, family),
        namespace,
        mss,
        cwnd,
        ssthresh: ssthresh_of(ssthresh),
        send_window,
        srtt: (srtt_us != 0).then(|| Duration::from_micros(u64::from(srtt_us))),
        unacknowledged,
        in_flight,
        acked,
        retransmitted,
        lost,
        pacing_bps: is_paced.then(|| pacing.saturating_mul(8)),
        phase: Phase::of(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{AF_INET, NO_SSTHRESH};

    #[test]
    fn an_event_is_read_by_the_layout_of_the_program() {
        let words: [u64; 3] = [5_000_000, 1_448_000, 2_500_000];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend([[0; 12].as_slice(), &[10, 0, 0, 1], &[0; 12], &[10, 0, 0, 2]].concat());
        let small: [u32; 10] = [77, 1448, 10, NO_SSTHRESH, 65_536, 40_000, 14_480, 9, 2, 3];
        bytes.extend(small.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend([40_000_u16, 5201, AF_INET].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend([3, 0]);
        assert_eq!(bytes.len(), 104, "sizeof(struct fw_event)");
        let read = event(&bytes, 2_000_000);
        assert_eq!(read.at, Instant::from_nanos(3_000_000));
        assert_eq!(read.local, "10.0.0.1:40000".parse().unwrap());
        assert_eq!(read.remote, "10.0.0.2:5201".parse().unwrap());
        assert_eq!((read.namespace, read.mss, read.cwnd, read.ssthresh), (77, 1448, 10, None));
        assert_eq!((read.send_window, read.srtt), (65_536, Some(Duration::from_millis(40))));
        assert_eq!((read.unacknowledged, read.in_flight), (14_480, 9));
        assert_eq!((read.retransmitted, read.lost, read.phase), (2, 3, Phase::Recovery));
        assert_eq!((read.acked, read.pacing_bps), (1_448_000, Some(20_000_000)));
    }

    #[test]
    fn what_is_wanted_is_written_by_the_layout_of_the_program() {
        let wanted = Wanted { namespace: Some(7), ports: vec![80, 443] };
        let bytes = wanted.to_bytes();
        let mut fields = Fields::of(&bytes);
        assert_eq!((fields.u32(), fields.u32()), (7, 2));
        assert_eq!((fields.u16(), fields.u16(), fields.u16()), (80, 443, 0));
        assert_eq!(bytes.len(), 40);
        assert_eq!(Wanted::default().to_bytes(), [0; 40]);
    }
}
