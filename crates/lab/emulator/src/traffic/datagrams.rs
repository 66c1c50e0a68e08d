//! A flow of UDP datagrams through the kernel.

use super::carrier::{Carrier, Common, Host, KernelFlow, Role};
use super::socket::Sockets;
use super::spec::{Load, Spec};
use super::stamp::{self, Stamp};
use fairwave_linux::arrival::{Beside, arrival, receive};
use fairwave_linux::tcp_info::Version;
use fairwave_sim::{Delays, Reception, Spread};
use fairwave_trace::FlowSample;
use fairwave_traffic::{Emission, Emissions};
use fairwave_units::{Duration, Instant};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Maximum number of datagrams that are sent or received before other flows get their turn.
const TURN: usize = 64;

/// A source of datagrams, and their receiver.
pub(super) struct DatagramFlow {
    common: Common,
    /// The next datagram; `None` if there are no more.
    next: Option<Emission>,
    emissions: Emissions,
    echo: bool,
    has_started: bool,
    source: Option<OwnedFd>,
    sink: Option<OwnedFd>,
    sent: u64,
    refused: u64,
    received: Received,
    echoed: Echoed,
    beside: Beside,
}

/// Measurements of the receiver.
#[derive(Debug, Default)]
struct Received {
    reception: Reception,
    delays: Delays,
    /// Datagrams since the start.
    all: u64,
    /// The highest number received.
    highest: Option<u32>,
    reordered: u64,
    /// Time at which the socket was last empty: datagrams that are read later have arrived after
    /// it.
    emptied: Instant,
}

impl Received {
    /// Time of arrival of a datagram that is read at `now` after having `waited`.
    fn arrival(&self, stamp: Stamp, now: Instant, waited: Duration) -> Instant {
        arrival(now, waited, self.emptied.max(stamp.sent))
    }

    fn take(&mut self, stamp: Stamp, arrived: Instant) {
        self.all += 1;
        let behind = |highest: u32| highest.wrapping_sub(stamp.sequence);
        match self.highest {
            Some(highest) if (1..1 << 31).contains(&behind(highest)) => self.reordered += 1,
            _ => self.highest = Some(stamp.sequence),
        }
        self.reception.take(stamp.sequence, stamp.sent, arrived, &mut self.delays);
    }
}

/// Measurements of the source, from datagrams that return.
#[derive(Debug, Default)]
struct Echoed {
    round_trips: Spread,
    /// Time at which the socket was last empty: datagrams that are read later have arrived after
    /// it.
    emptied: Instant,
}

impl Echoed {
    /// Handles an echo that is read at `now` after having `waited`.
    fn take(&mut self, stamp: Stamp, now: Instant, waited: Duration) {
        let arrived = arrival(now, waited, self.emptied.max(stamp.sent));
        self.round_trips.add(arrived.since(stamp.sent));
    }
}

impl DatagramFlow {
    pub(super) fn new(sockets: Sockets, spec: Spec) -> Self {
        let Load::Datagrams(load) = &spec.load else { unreachable!("it sends no datagrams") };
        let mut emissions = load.source.emissions(load.random.clone());
        Self {
            next: emissions.next(),
            emissions,
            echo: load.echo,
            has_started: false,
            source: Some(sockets.source),
            sink: Some(sockets.sink),
            sent: 0,
            refused: 0,
            received: Received::default(),
            echoed: Echoed::default(),
            beside: Beside::default(),
            common: Common::new(spec),
        }
    }

    fn fail(&mut self, host: &Host<'_>, what: &'static str, cause: Errno) {
        self.common.fail(host.now, what, cause);
        self.close(host.version);
    }

    fn start(&mut self, host: &Host<'_>) {
        self.has_started = true;
        let sockets = [(&self.source, Role::Source), (&self.sink, Role::Sink)];
        let watched = sockets.into_iter().try_for_each(|(socket, role)| {
            socket.as_ref().map_or(Ok(()), |socket| host.watch(socket, role, EventFlags::IN))
        });
        if let Err(cause) = watched {
            self.fail(host, "wait for its sockets", cause);
        }
    }

    /// Time at which the next datagram is due.
    fn due(&self) -> Option<Instant> {
        self.next.map(|emission| self.common.spec.start + emission.at)
    }

    /// Sends the datagrams that are due, for a turn.
    fn send_due(&mut self, host: &mut Host<'_>) {
        for _ in 0..TURN {
            let Some((due, emission)) = self.due().zip(self.next) else { return };
            if due > host.now {
                return;
            }
            self.send(due, emission.bytes as usize, host);
            self.next = self.emissions.next();
        }
    }

    fn send(&mut self, due: Instant, bytes: usize, host: &mut Host<'_>) {
        let Some(source) = &self.source else { return };
        let bytes = bytes.clamp(stamp::LEN, host.outgoing.len());
        let payload = &mut host.outgoing[..bytes];
        let now = host.clock.now();
        Stamp { sequence: self.sent as u32, sent: now }.write(payload);
        self.sent += 1;
        host.lateness.add(now.since(due));
        let sent = send(source, payload, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        payload[..stamp::LEN].fill(0);
        // The kernel reports the ICMP error of an earlier datagram at the next send. The flow
        // continues, as the route may return.
        self.refused += u64::from(sent.is_err());
    }

    fn sink_ready(&mut self, host: &mut Host<'_>) {
        for _ in 0..TURN {
            let Some(sink) = &self.sink else { return };
            let datagram = match receive(sink, host.incoming, &mut self.beside) {
                Ok(Some(datagram)) => datagram,
                Ok(None) => {
                    self.received.emptied = host.now;
                    return;
                }
                Err(_) => continue,
            };
            let payload = &host.incoming[..datagram.len];
            if self.echo {
                // An echo that does not fit into the send buffer is lost, as if on its way.
                let _ = send(sink, payload, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            }
            let Some(stamp) = Stamp::read(payload) else { continue };
            let arrived = self.received.arrival(stamp, host.clock.now(), datagram.waited);
            self.received.take(stamp, arrived);
            let delivery = &mut self.common.delivery;
            delivery.take(datagram.len as u32, arrived.max(delivery.last));
        }
    }

    fn source_ready(&mut self, host: &mut Host<'_>) {
        for _ in 0..TURN {
            let Some(source) = &self.source else { return };
            let datagram = match receive(source, host.incoming, &mut self.beside) {
                Ok(Some(datagram)) => datagram,
                Ok(None) => {
                    self.echoed.emptied = host.now;
                    return;
                }
                Err(_) => continue,
            };
            let Some(stamp) = Stamp::read(&host.incoming[..datagram.len]) else { continue };
            self.echoed.take(stamp, host.clock.now(), datagram.waited);
        }
    }
}

impl Carrier for DatagramFlow {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn deadline(&self) -> Option<Instant> {
        let start = (!self.has_started).then_some(self.common.spec.start);
        let stop = self.common.spec.stop.filter(|_| self.next.is_some());
        start.or_else(|| self.due()).into_iter().chain(stop).min()
    }

    fn wake(&mut self, host: &mut Host<'_>) {
        if self.common.has_stopped(host.now) {
            self.next = None;
        }
        if !self.has_started {
            self.start(host);
        }
        self.send_due(host);
    }

    fn ready(&mut self, role: Role, _: EventFlags, host: &mut Host<'_>) {
        match role {
            Role::Source => self.source_ready(host),
            Role::Listener | Role::Sink => self.sink_ready(host),
        }
    }

    fn sample(&mut self, _: Version) -> FlowSample {
        FlowSample {
            delivered_bytes: self.common.delivery.bytes,
            sent_packets: self.sent,
            ..FlowSample::default()
        }
    }

    fn restart(&mut self) {
        self.received.reception.restart();
        self.received.delays.restart();
        self.received.reordered = 0;
        self.echoed.round_trips.restart();
    }

    /// A missing datagram may still arrive.
    fn is_over(&self) -> bool {
        self.source.is_none() || self.next.is_none() && self.received.all >= self.sent
    }

    fn close(&mut self, _: Version) {
        (self.source, self.sink) = (None, None);
        self.next = None;
        self.has_started = true;
    }

    fn fill(&self, flow: &mut KernelFlow) {
        flow.outcome.datagrams = Some(self.received.reception.outcome());
        flow.outcome.delay = self.received.delays.times();
        (flow.refused, flow.reordered) = (self.refused, self.received.reordered);
        flow.echoes = self.echoed.round_trips.times();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_datagram_behind_a_later_one_is_reordered() {
        let mut received = Received::default();
        for sequence in [u32::MAX - 1, 0, u32::MAX, 1, 1] {
            received.take(Stamp { sequence, sent: at(0) }, at(1));
        }
        assert_eq!((received.reordered, received.highest, received.all), (1, Some(1), 5));
    }

    /// The wall clock, by which the kernel stamps arrivals, was set forward by an hour.
    #[test]
    fn no_datagram_arrived_before_the_socket_was_empty() {
        let received = Received { emptied: at(5), ..Received::default() };
        let arrival =
            |sent, waited| received.arrival(Stamp { sequence: 0, sent: at(sent) }, at(10), waited);
        assert_eq!(arrival(2, Duration::from_millis(1)), at(9));
        assert_eq!(arrival(2, Duration::from_secs(3600)), at(5));
        assert_eq!(arrival(7, Duration::from_secs(3600)), at(7));
    }
    /// The source's socket was empty at 5 ms, and two echoes are read at 10 ms.
    #[test]
    fn a_step_of_the_wall_clock_moves_a_round_trip_by_no_more_than_the_wait() {
        let round_trip = |sent, waited| {
            let mut echoed = Echoed { emptied: at(5), ..Echoed::default() };
            echoed.take(Stamp { sequence: 0, sent: at(sent) }, at(10), waited);
            echoed.round_trips.times().map(|times| times.most)
        };
        assert_eq!(round_trip(2, Duration::from_millis(1)), Some(Duration::from_millis(7)));
        assert_eq!(round_trip(2, Duration::from_secs(3600)), Some(Duration::from_millis(3)));
        assert_eq!(round_trip(7, Duration::from_secs(3600)), Some(Duration::ZERO));
    }
}
