//! Hosts that are suspended, and outages of all links: streams go on, or end in bounded time.

use super::*;
use fairwave_wire::shake::Reason;

/// Datagrams that the socket of a suspended host keeps.
const SOCKET: usize = 150;

impl Net {
    fn suspend(&mut self, end: End) {
        self.asleep[end as usize] = Some(Vec::new());
    }

    /// The process goes on, and takes the oldest datagrams of its socket before its timers, as the
    /// driver does.
    fn resume(&mut self, end: End) {
        let socket = self.asleep[end as usize].take().expect("suspended");
        let now = self.time(end);
        for (route, bytes) in socket.into_iter().take(SOCKET) {
            self.host(end).handle(now, Input::Arrived(route, bytes));
        }
        self.host(end).wake(now);
        self.drain(end);
    }

    /// The machine goes on: its clock stood still, and its links were off.
    fn wake_up(&mut self, end: End, since: Instant) {
        self.asleep[end as usize] = Some(Vec::new());
        self.lag[end as usize] = self.now.since(since);
        self.resume(end);
    }

    /// An application aborts a stream and lets it go.
    fn abort(&mut self, end: End, (session, stream): (usize, usize)) {
        let now = self.time(end);
        self.host(end).abort(now, session, stream);
        self.release(end, (session, stream));
    }

    /// Reason for which a stream was reset, of a host that has not released it.
    pub(super) fn reset_of(
        &mut self,
        end: End,
        (session, stream): (usize, usize),
    ) -> Option<Reason> {
        self.host(end).stream(session, stream).expect("it is not released").reset
    }

    /// Time after which a host's stream is over; panics after `longest_s`.
    fn ends_within(&mut self, end: End, stream: (usize, usize), longest_s: u64) {
        let latest = self.now + Duration::from_secs(longest_s);
        while !self.over(end, stream) {
            assert!(self.step(latest), "not over after {longest_s} s");
        }
    }
}

/// Two links, and a stream that has carried something.
fn begun() -> (Net, [(usize, usize); 2]) {
    begun_in(Mode::Shake)
}

fn begun_in(mode: Mode) -> (Net, [(usize, usize); 2]) {
    let config = Config { mode, ..Config::new(psk()) };
    let mut net = Net::with(&[wire(20, 10, 0.0), wire(10, 20, 0.0)], &config);
    net.ms(300);
    let streams = net.open();
    assert!(net.carry(End::B, streams, &content(100_000), 2_000) == content(100_000));
    (net, streams)
}

/// Bytes that begin their way, so that much is in flight at the end of this.
pub(super) fn start(net: &mut Net, end: End, (session, stream): (usize, usize), bytes: &[u8]) {
    let now = net.time(end);
    net.host(end).write(now, session, stream, Bytes::copy_from_slice(bytes));
    net.drain(end);
    net.ms(50);
}

/// The bytes that a host reads within 20 s.
pub(super) fn rest(
    net: &mut Net,
    end: End,
    (session, stream): (usize, usize),
    len: usize,
) -> Vec<u8> {
    let (mut got, latest) = (Vec::new(), net.now + Duration::from_secs(20));
    while got.len() < len {
        while let Some(data) = net.host(end).read(session, stream, u32::MAX) {
            got.extend(data);
        }
        net.drain(end);
        if !net.step(latest) {
            break;
        }
    }
    got
}

/// The acknowledgements that waited in the socket show a round-trip time of 30 s, which does not
/// hold back the rest: 1 MB takes 0.3 s at the rate of both links.
#[test]
fn a_stream_outlives_a_pause_of_its_sender() {
    let (mut net, streams) = begun();
    let bytes = content(1_000_000);
    start(&mut net, End::A, streams[0], &bytes);
    net.suspend(End::A);
    net.ms(30_000);
    net.resume(End::A);
    let since = net.now;
    assert!(rest(&mut net, End::B, streams[1], bytes.len()) == bytes);
    assert!(net.now.since(since) < Duration::from_secs(5), "{:?}", net.now.since(since));
    assert_eq!(net.client.session(), Some(streams[0].0));
}

/// The datagrams in the socket of a receiver are echoed as late as its process was stopped, and
/// those that the socket did not take are lost. The rest, 2 MB, takes 0.5 s at the rate of both
/// links, but not another pause.
#[test]
fn a_stream_outlives_a_pause_of_its_receiver() {
    for pause_ms in [2_000, 13_000, 30_000, 50_000] {
        let (mut net, streams) = begun();
        let bytes = content(2_000_000);
        start(&mut net, End::B, streams[1], &bytes);
        net.suspend(End::A);
        net.ms(pause_ms);
        net.resume(End::A);
        let since = net.now;
        assert!(rest(&mut net, End::A, streams[0], bytes.len()) == bytes, "{pause_ms} ms");
        let taken = net.now.since(since);
        assert!(taken < Duration::from_millis(1_500), "{taken:?} after {pause_ms} ms");
    }
}

#[test]
fn a_stream_outlives_an_outage_of_all_links() {
    let (mut net, streams) = begun();
    let bytes = content(1_000_000);
    start(&mut net, End::B, streams[1], &bytes);
    net.works = vec![false; 2];
    net.ms(25_000);
    net.works = vec![true; 2];
    assert!(rest(&mut net, End::A, streams[0], bytes.len()) == bytes);
    assert_eq!(net.client.session(), Some(streams[0].0));
    // The handshake for the next session is over, too.
    net.ms(15_000);
    assert_eq!(net.server.sessions(), 1);
}

#[test]
fn a_stream_outlives_a_short_sleep_of_a_machine() {
    let (mut net, streams) = begun();
    let bytes = content(1_000_000);
    start(&mut net, End::B, streams[1], &bytes);
    let since = net.now;
    net.suspend(End::A);
    net.ms(30_000);
    net.wake_up(End::A, since);
    assert!(rest(&mut net, End::A, streams[0], bytes.len()) == bytes);
    assert_eq!(net.client.session(), Some(streams[0].0));
}

/// The server has discarded the session. The client's clock did not count the sleep.
#[test]
fn after_a_long_sleep_streams_end_and_new_ones_work() {
    let (mut net, streams) = begun();
    start(&mut net, End::B, streams[1], &content(1_000_000));
    let since = net.now;
    net.suspend(End::A);
    net.ends_within(End::B, streams[1], 120);
    net.ms(3_600_000);
    assert_eq!(net.server.sessions(), 0);
    net.wake_up(End::A, since);
    net.ends_within(End::A, streams[0], 14);
    net.ms(1_000);
    let again = net.open();
    assert!(net.carry(End::A, again, b"hello", 2_000) == b"hello");
}

#[test]
fn streams_end_when_the_server_is_suspended_for_long() {
    let (mut net, streams) = begun();
    start(&mut net, End::A, streams[0], &content(1_000_000));
    net.suspend(End::B);
    net.ends_within(End::A, streams[0], 70);
    net.ms(300_000);
    net.resume(End::B);
    net.ends_within(End::B, streams[1], 1);
    net.ms(15_000);
    assert_eq!(net.server.sessions(), 1);
    let again = net.open();
    assert!(net.carry(End::A, again, b"hello", 2_000) == b"hello");
}

/// The server ends the stream during the outage. Its reset is lost, and the client, which only
/// receives, has nothing in flight that could time out.
#[test]
fn a_receiver_learns_after_an_outage_that_its_stream_is_over() {
    for outage_ms in [70_000, 100_000, 150_000] {
        let (mut net, streams) = begun();
        start(&mut net, End::B, streams[1], &content(1_000_000));
        net.works = vec![false; 2];
        net.ms(outage_ms);
        assert!(net.over(End::B, streams[1]));
        net.release(End::B, streams[1]);
        net.works = vec![true; 2];
        net.ends_within(End::A, streams[0], 14);
        net.ms(60_000);
        assert!(net.server.stream(streams[1].0, streams[1].1).is_none(), "it is forgotten");
    }
}

/// A stream is aborted in a short outage, at either end; the other end is idle.
#[test]
fn a_lost_reset_is_repeated() {
    for mode in Mode::ALL {
        for (end, peer) in [(End::A, End::B), (End::B, End::A)] {
            let (mut net, streams) = begun_in(mode);
            net.works = vec![false; 2];
            net.abort(end, streams[end as usize]);
            net.ms(2_000);
            net.works = vec![true; 2];
            net.ends_within(peer, streams[peer as usize], 3);
            let stream = streams[peer as usize];
            assert_eq!(net.reset_of(peer, stream), Some(Reason::Abort), "{mode:?} {end:?}");
            net.release(peer, stream);
            net.ms(40_000);
            for (end, (session, stream)) in [(End::A, streams[0]), (End::B, streams[1])] {
                assert!(net.host(end).stream(session, stream).is_none(), "it is forgotten");
            }
        }
    }
}

/// A stream is aborted while all paths work.
#[test]
fn an_abort_is_reported_as_one() {
    for mode in Mode::ALL {
        for (end, peer) in [(End::A, End::B), (End::B, End::A)] {
            let (mut net, streams) = begun_in(mode);
            net.abort(end, streams[end as usize]);
            net.ends_within(peer, streams[peer as usize], 1);
            let reason = net.reset_of(peer, streams[peer as usize]);
            assert_eq!(reason, Some(Reason::Abort), "{mode:?} {end:?}");
        }
    }
}

/// A segment with RST overtakes the message that has the reason.
#[test]
fn a_reason_that_arrives_late_is_reported() {
    let (mut net, [_, (session, stream)]) = begun_in(Mode::Multi);
    let now = net.now;
    for (told, reported) in [
        (Reason::NoPath, Reason::NoPath),
        (Reason::NotReading, Reason::NotReading),
        (Reason::Abort, Reason::NotReading),
    ] {
        net.host(End::B).with(session, |open| open.take_reset(now, stream, told));
        assert_eq!(net.reset_of(End::B, (session, stream)), Some(reported));
    }
}

/// The stream has known one path alone, which does not come back.
#[test]
fn a_reset_arrives_over_a_path_that_the_stream_never_had() {
    let mut net = Net::new(&[wire(20, 10, 0.0), wire(20, 10, 0.0)]);
    net.report(End::A, Input::PathDown(1));
    net.ms(300);
    let streams = net.open();
    net.report(End::A, Input::PathDown(0));
    net.ends_within(End::A, streams[0], 62);
    net.ms(10_000);
    net.report(End::A, Input::PathUp(route(1)));
    net.ends_within(End::B, streams[1], 3);
}

#[test]
fn a_stream_that_is_opened_without_any_link_ends() {
    let (mut net, streams) = begun();
    net.report(End::A, Input::PathDown(0));
    net.report(End::A, Input::PathDown(1));
    let (session, now) = (streams[0].0, net.now);
    let stream = net.client.open(now, session).expect("room for a stream");
    net.client.finish(now, session, stream);
    net.drain(End::A);
    net.ms(59_000);
    assert!(!net.over(End::A, (session, stream)), "the links may come back");
    net.ends_within(End::A, (session, stream), 2);
}
