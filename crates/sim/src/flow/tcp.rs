//! A flow over one TCP connection: an application that writes as much as fits, one that reads.

use super::feed::Feed;
use super::screen::Screen;
use super::{Delivery, End, ports};
use crate::Error;
use crate::world::TcpFlow;
use fairwave_cc as cc;
use fairwave_machine::Machine;
use fairwave_tcp::{BuildController, Config, Connection, Event, Input, Virtual};
use fairwave_trace::FlowId;
use fairwave_units::{Bytes, Instant, Seq32, Stream};

/// A TCP flow: two connections, and an application that writes as much as fits, or what its source
/// gives as soon as it fits.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(super) source: Connection<Virtual>,
    pub(super) sink: Connection<Virtual>,
    /// What the application still has to write; `None` never ends.
    unwritten: Option<u64>,
    /// Where more comes from.
    feed: Option<Box<Feed>>,
    size: Option<Bytes>,
    connected: bool,
    closing: bool,
}

/// Refuses a law that there is not.
pub(crate) fn check_law(flow: &str, law: &str) -> Result<(), Error> {
    let initial = cc::Initial {
        mss: 1,
        cwnd: 1,
        ssthresh: 1,
        byte_counting: true,
        av: cc::TcpAvConfig::DEFAULT,
    };
    let built = cc::build(law, initial).map(drop);
    built.map_err(|unknown| Error::Invalid(format!("flow {flow}: {unknown}")))
}

/// A closed connection between two ports. `law` has been checked.
pub(super) fn connection(
    mut config: Config,
    (local_port, remote_port): (u16, u16),
    law: &str,
    isn: &mut Stream,
) -> Connection<Virtual> {
    (config.local_port, config.remote_port) = (local_port, remote_port);
    let law = self::law(law);
    Connection::new(config, Seq32(isn.next_u64() as u32), law)
}

/// Makes the law called `name`, which has been checked.
pub(crate) fn law(name: &str) -> BuildController {
    let name = name.to_owned();
    Box::new(move |initial| cc::build(&name, initial).expect("checked before"))
}

impl Tcp {
    pub(super) fn new(id: FlowId, tcp: &TcpFlow, feed: Option<Feed>, mut isn: Stream) -> Self {
        let (client, server) = ports(id);
        let law = &tcp.congestion_control;
        Self {
            source: connection(tcp.sender, (client, server), law, &mut isn),
            sink: connection(tcp.receiver, (server, client), law, &mut isn),
            unwritten: feed.as_ref().map_or(tcp.size.map(|size| size.0), |_| Some(0)),
            feed: feed.map(Box::new),
            size: tcp.size,
            connected: false,
            closing: false,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.sink.handle(now, Input::Listen);
        self.source.handle(now, Input::Open);
    }

    /// The application writes no more.
    pub(super) fn stop(&mut self) {
        self.unwritten = Some(0);
        self.feed = None;
    }

    /// Takes what the source has by now.
    pub(super) fn feed(&mut self, now: Instant, mut screen: Option<&mut Screen>) {
        while let Some(feed) = &mut self.feed
            && let Some(bytes) = feed.next_bytes(now, screen.as_deref_mut())
        {
            self.unwritten = self.unwritten.map(|left| left + bytes);
        }
    }

    /// When the source has more.
    pub(super) fn feed_deadline(&self) -> Option<Instant> {
        self.feed.as_ref()?.deadline()
    }

    pub(super) fn end(&mut self, end: End) -> &mut Connection<Virtual> {
        match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        }
    }

    /// Lets the application at `end` write or read, after its connection heard something. The
    /// receiving one closes when the sending one has.
    pub(super) fn run_application(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        let mut remote_closed = false;
        while let Some(event) = self.end(end).event() {
            remote_closed |= event == Event::RemoteClosed;
            self.connected |= event == Event::Established && end == End::Source;
        }
        match end {
            End::Source if self.connected => self.write(now),
            End::Source => {}
            End::Sink => self.read(delivery, now),
        }
        if remote_closed {
            self.end(end).handle(now, Input::Close);
        }
    }

    fn write(&mut self, now: Instant) {
        let space = self.source.send_space();
        let bytes =
            self.unwritten.map_or(space, |left| space.min(left.try_into().unwrap_or(space)));
        if bytes > 0 {
            self.source.handle(now, Input::Write(Virtual(bytes)));
            self.unwritten = self.unwritten.map(|left| left - u64::from(bytes));
        }
        let is_over = self.feed.as_ref().is_none_or(|feed| feed.deadline().is_none());
        if self.unwritten == Some(0) && is_over && !self.closing {
            self.closing = true;
            self.source.handle(now, Input::Close);
        }
    }

    fn read(&mut self, delivery: &mut Delivery, now: Instant) {
        while let Some(Virtual(bytes)) = self.sink.read(u32::MAX) {
            delivery.take(bytes, now);
        }
        if self.size.is_some_and(|size| delivery.bytes >= size.0) {
            delivery.completed.get_or_insert(now);
        }
    }
}
