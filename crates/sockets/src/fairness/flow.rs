//! The ends of flows: one thread each, which counts bytes by interval.

use super::message::{Flow, Protocol};
use super::udp::Datagrams;
use crate::clock::{Clock, wait_until};
use fairwave_units::{Duration, Instant};
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion, tcp_congestion};
use rustix::net::{AddressFamily, SocketType, socket};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

nix::setsockopt_impl!(
    MaxPacingRate,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64,
    sockopt::SetStruct<u64>
);

/// The option `SO_MAX_PACING_RATE`, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct MaxPacingRate;

/// From one look at the time to the next, where nothing is sent or received.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// Bytes of one call of the kernel.
const CHUNK: usize = 128 << 10;
/// A connection that ends so long before its time is broken. The clocks of both ends agree better.
const EARLY: Duration = Duration::from_millis(250);
/// Longest name of a congestion control: the kernel would cut a longer one.
const LONGEST_LAW: usize = 15;
/// Datagrams that are due within such a time leave together.
const PACE: Duration = Duration::from_micros(500);

/// When flows are measured, by the clock of this host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) clock: Clock,
    pub(super) begin: Instant,
    pub(super) interval: Duration,
    pub(super) bins: u64,
}

impl Window {
    pub(super) fn end(&self) -> Instant {
        self.begin + Duration::from_nanos(self.interval.as_nanos() * self.bins)
    }

    fn bin(&self, now: Instant) -> Option<usize> {
        let since = now.as_nanos().checked_sub(self.begin.as_nanos())?;
        let bin = since / self.interval.as_nanos().max(1);
        (bin < self.bins).then_some(bin as usize)
    }
}

/// What the server still allows a host, in bytes.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes)))
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn take(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        // The update always gives a value.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[derive(Debug, Default)]
struct Counts {
    bytes: Vec<u64>,
    highest: Option<u32>,
    datagrams: u64,
    is_broken: bool,
}

/// What one end of a flow has counted so far.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) window: Window,
    is_up: bool,
    by_receiver: bool,
    law: Option<String>,
    is_udp: bool,
    budget: Arc<Budget>,
    counts: Mutex<Counts>,
    is_stopped: AtomicBool,
    begun: Mutex<Option<Instant>>,
}

impl Counter {
    pub(super) fn new(
        window: Window,
        (is_up, by_receiver): (bool, bool),
        (is_udp, law): (bool, Option<String>),
        budget: Arc<Budget>,
    ) -> Arc<Self> {
        let counts = Counts { bytes: vec![0; window.bins as usize], ..Counts::default() };
        Arc::new(Self {
            window,
            is_up,
            by_receiver,
            law,
            is_udp,
            budget,
            counts: Mutex::new(counts),
            is_stopped: AtomicBool::new(false),
            begun: Mutex::new(None),
        })
    }

    /// Ends the flow's thread.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// How long after its time the flow began; zero if it has not.
    pub(super) fn late(&self) -> Duration {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.map_or(Duration::ZERO, |begun| begun.since(self.window.begin))
    }

    pub(super) fn flow(&self) -> Flow {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = counts.highest.map_or(0, |highest| u64::from(highest) + 1);
        let is_counted = self.is_udp && self.by_receiver;
        Flow {
            is_up: self.is_up,
            bytes: counts.bytes.clone(),
            by_receiver: self.by_receiver,
            law: self.law.clone(),
            datagrams: is_counted.then_some(sent),
            lost: is_counted.then(|| sent.saturating_sub(counts.datagrams)),
            is_broken: counts.is_broken,
        }
    }

    fn goes_on(&self) -> bool {
        let is_over = self.window.clock.now() >= self.window.end();
        !is_over && !self.is_stopped.load(Ordering::Relaxed) && !self.budget.is_used_up()
    }

    fn count(&self, bytes: usize) {
        let now = self.window.clock.now();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bin) = self.window.bin(now) {
            counts.bytes[bin] += bytes as u64;
        }
        drop(counts);
        self.budget.take(bytes as u64);
    }

    /// Counts a datagram that arrived.
    pub(super) fn count_datagram(&self, number: u32, bytes: usize) {
        self.count(bytes);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.highest = counts.highest.max(Some(number));
        counts.datagrams += 1;
    }

    fn begin(&self) {
        wait_until(self.window.clock, self.window.begin);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = Some(self.window.clock.now());
    }

    /// Notes that the flow does not carry anything any more.
    fn break_off(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).is_broken = true;
    }

    /// Notes that the connection broke, if that was too early to be its end.
    fn ended(&self) {
        let is_early = self.window.clock.now() + EARLY < self.window.end();
        if is_early && !self.is_stopped.load(Ordering::Relaxed) {
            self.break_off();
        }
    }
}

/// Makes the connection of a flow ready. The congestion control that it has, if it is the sender's.
///
/// # Errors
/// If the kernel refuses the congestion control ([`ErrorKind::NotFound`] where it has none of
/// this name) or another option.
pub(super) fn prepare(
    stream: &TcpStream,
    protocol: &Protocol,
    is_sender: bool,
) -> io::Result<Option<String>> {
    // What is still queued when the time is over shall not be in the way of the next repetition.
    set_socket_linger(stream, Some(std::time::Duration::ZERO))?;
    stream.set_write_timeout(Some(LOOK))?;
    stream.set_read_timeout(Some(LOOK))?;
    let Protocol::Tcp { law, rate_bps } = protocol else { return Ok(None) };
    if !is_sender {
        return Ok(None);
    }
    if let Some(law) = law {
        set_law(stream, law)?;
    }
    if let Some(bps) = rate_bps {
        setsockopt(stream, MaxPacingRate, &bps.div_ceil(8))?;
    }
    Ok(tcp_congestion(stream).ok())
}

fn set_law(socket: &impl AsFd, law: &str) -> io::Result<()> {
    if law.is_empty() || law.len() > LONGEST_LAW {
        return Err(ErrorKind::NotFound.into());
    }
    Ok(set_tcp_congestion(socket, law)?)
}

/// Whether the kernel gives this user a socket with the congestion control.
pub(super) fn has_law(law: &str) -> bool {
    [AddressFamily::INET, AddressFamily::INET6]
        .into_iter()
        .filter_map(|family| socket(family, SocketType::STREAM, None).ok())
        .any(|socket| set_law(&socket, law).is_ok())
}

/// Runs one end of a flow on a thread, if it is there.
pub(super) fn spawn<T: Send + 'static>(
    counter: &Arc<Counter>,
    end: Option<T>,
    run: impl FnOnce(T, &Counter) + Send + 'static,
) {
    let Some(end) = end else { return counter.break_off() };
    let theirs = Arc::clone(counter);
    if thread::Builder::new().spawn(move || run(end, &theirs)).is_err() {
        counter.break_off();
    }
}

/// Sends until the time is over.
pub(super) fn send(mut stream: &TcpStream, counter: &Counter) {
    let chunk = vec![0; CHUNK];
    counter.begin();
    while counter.goes_on() {
        match stream.write(&chunk) {
            Ok(bytes) => counter.count(bytes),
            Err(error) if is_transient(&error) => {}
            Err(_) => return counter.ended(),
        }
    }
}

/// Receives until the time is over.
pub(super) fn receive(mut stream: &TcpStream, counter: &Counter) {
    let mut chunk = vec![0; CHUNK];
    counter.begin();
    while counter.goes_on() {
        match stream.read(&mut chunk) {
            Ok(0) => return counter.ended(),
            Ok(bytes) => counter.count(bytes),
            Err(error) if is_transient(&error) => {}
            Err(_) => return counter.ended(),
        }
    }
}

/// Sends datagrams at an even pace until the time is over.
pub(super) fn send_datagrams(datagrams: &Datagrams, rate_bps: u64, counter: &Counter) {
    counter.begin();
    let mut number = 0;
    while counter.goes_on() {
        let now = counter.window.clock.now();
        let since = now.since(counter.window.begin) + PACE;
        let due = u128::from(since.as_nanos()) * u128::from(rate_bps) / 8_000_000_000;
        while u128::from(number) * (Datagrams::BYTES as u128) < due && number < u32::MAX - 1 {
            // A datagram for which the kernel has no room is lost like any other.
            if datagrams.send(number).is_ok() {
                counter.count(Datagrams::BYTES);
            }
            number += 1;
        }
        wait_until(counter.window.clock, now + PACE);
    }
}

/// Receives datagrams until the time is over.
pub(super) fn receive_datagrams(datagrams: &mut Datagrams, counter: &Counter) {
    counter.begin();
    while counter.goes_on() {
        if let Some((number, bytes)) = datagrams.receive(LOOK) {
            counter.count_datagram(number, bytes);
        }
    }
}

/// Whether a call of the kernel only took too long.
pub(super) fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
