//! A user at a flow's sink that fetches pages from its source.
//!
//! The user's connections are opened by the sink, page by page. Their number is bounded by the
//! browser's: when a page begins, its connections take the places of the last page's, whose
//! counters are kept.

use super::tcp::{TcpFlow, connection};
use crate::flow::departures::Departures;
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End, segment};
use crate::flow::ports::{FIRST_CLIENT_PORT, PORTS};
use crate::flow::transport::{Host, Transport};
use crate::outcome::{FlowOutcome, WebOutcome};
use crate::packet::Packet;
use crate::spread::Spread;
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Event, Input, Segment, Virtual};
use fairwave_trace::FlowSample;
pub use fairwave_traffic::Page;
use fairwave_traffic::{self as traffic, Browser, Fetch, Progress};
use fairwave_units::{Instant, Stream};

/// A flow of web pages.
#[derive(Clone, Debug)]
pub struct WebFlow {
    /// The connections: `sender` is the server's end, `receiver` the user's; `size` is not used.
    pub tcp: TcpFlow,
    /// Model of the pages.
    pub page: Page,
}

/// The connection of one place, with the tasks of its ends.
#[derive(Debug)]
struct Place {
    server: Connection<Virtual>,
    client: Connection<Virtual>,
    client_port: u16,
    departures: Departures,
    /// Bytes of the request that the server has not read.
    request: u64,
    /// Bytes of the object that the server will write once it has the request.
    response: u64,
    /// Bytes of the object that the user has not got.
    awaited: u64,
}

/// A user and a server.
#[derive(Debug)]
struct Web {
    flow: WebFlow,
    browser: Browser,
    isn: Stream,
    ports: Both<u16>,
    opened: u32,
    places: Vec<Option<Place>>,
    /// Counters of connections that are gone.
    gone: FlowSample,
    objects: Spread,
    pages: Spread,
    lost: u64,
}

impl Description for WebFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Web::new(self, setup))
    }

    fn check(&self) -> Result<(), String> {
        if !self.page.is_sound() {
            return Err("its objects have no size".to_owned());
        }
        self.tcp.check()
    }

    fn payload_bytes(&self) -> u32 {
        self.tcp.sender.mss.into()
    }

    fn datagram_bytes(&self) -> Option<u32> {
        None
    }
}

impl Place {
    fn end(&mut self, end: End) -> &mut Connection<Virtual> {
        match end {
            End::Source => &mut self.server,
            End::Sink => &mut self.client,
        }
    }

    /// The next segment of `end`.
    fn poll(&mut self, end: End, now: Instant) -> Option<Segment<Virtual>> {
        let segment = self.end(end).poll(now)?;
        if end == End::Source {
            self.departures.note_segment(&segment, now);
        }
        Some(segment)
    }

    /// Drains the events of both ends; whether the connection is of no more use.
    fn broke(&mut self, now: Instant) -> bool {
        let mut broke = false;
        for end in [End::Source, End::Sink] {
            while let Some(event) = self.end(end).event() {
                broke |= matches!(event, Event::Reset | Event::TimedOut | Event::Closed);
                if event == Event::RemoteClosed {
                    self.end(end).handle(now, Input::Close);
                }
            }
        }
        broke
    }

    /// The server reads the request and answers it.
    fn serve(&mut self, now: Instant) {
        while let Some(Virtual(bytes)) = self.server.read(u32::MAX) {
            self.request = self.request.saturating_sub(u64::from(bytes));
        }
        if self.request == 0 && self.response > 0 {
            let space = self.server.send_space();
            let bytes = u64::from(space).min(self.response);
            if bytes > 0 {
                self.response -= bytes;
                self.server.handle(now, Input::Write(Virtual(bytes as u32)));
            }
        }
    }

    /// The user reads; whether the object is there.
    fn read(&mut self, host: &mut Host<'_>) -> bool {
        let before = self.awaited;
        while let Some(Virtual(bytes)) = self.client.read(u32::MAX) {
            host.deliver_from(&mut self.departures, bytes);
            self.awaited = self.awaited.saturating_sub(u64::from(bytes));
        }
        before > 0 && self.awaited == 0
    }

    fn counters(&self) -> FlowSample {
        let (server, client) = (self.server.stats(), self.client.stats());
        FlowSample {
            sent_packets: server.segments_sent,
            retransmissions: server.retransmissions,
            timeouts: server.timeouts,
            fast_recoveries: server.fast_recoveries,
            acks_sent: client.acks_sent,
            acks_lost_inferred: server.acks_lost,
            ..FlowSample::default()
        }
    }
}

fn add(sum: &mut FlowSample, more: &FlowSample) {
    sum.sent_packets += more.sent_packets;
    sum.retransmissions += more.retransmissions;
    sum.timeouts += more.timeouts;
    sum.fast_recoveries += more.fast_recoveries;
    sum.acks_sent += more.acks_sent;
    sum.acks_lost_inferred += more.acks_lost_inferred;
}

impl Web {
    fn new(flow: &WebFlow, setup: &Setup<'_>) -> Self {
        Self {
            browser: Browser::new(flow.page, setup.stream("web")),
            isn: setup.stream("isn"),
            ports: setup.ports(),
            opened: 0,
            places: (0..flow.page.connections.max(1)).map(|_| None).collect(),
            gone: FlowSample::default(),
            objects: Spread::default(),
            pages: Spread::default(),
            lost: 0,
            flow: flow.clone(),
        }
    }

    /// Lets both ends of a connection read and write after an event of one.
    fn run_applications(&mut self, index: usize, host: &mut Host<'_>) {
        let Some(place) = &mut self.places[index] else { return };
        let now = host.now;
        let broke = place.broke(now);
        place.serve(now);
        let arrived = place.read(host);
        let broke = broke && place.awaited > 0;
        if broke {
            place.awaited = 0;
        }
        let connection = index as u32;
        if arrived {
            self.browser.handle(now, traffic::Input::Arrived(connection));
        } else if broke {
            self.browser.handle(now, traffic::Input::Broken(connection));
        }
        if arrived || broke {
            self.follow_browser(now);
        }
    }

    /// Carries out the browser's requests, and records its observations.
    fn follow_browser(&mut self, now: Instant) {
        while let Some(fetch) = self.browser.poll(now) {
            self.fetch(fetch, now);
        }
        while let Some(progress) = self.browser.event() {
            match progress {
                Progress::Object(took) => self.objects.add(took),
                Progress::Lost => self.lost += 1,
                Progress::Page(took) => {
                    self.pages.add(took);
                    for place in self.places.iter_mut().flatten() {
                        place.client.handle(now, Input::Close);
                    }
                }
            }
        }
    }

    fn fetch(&mut self, fetch: Fetch, now: Instant) {
        let index = fetch.connection as usize;
        if fetch.opens {
            let new = self.open(now);
            if let Some(old) = self.places[index].replace(new) {
                add(&mut self.gone, &old.counters());
            }
        }
        let place = self.places[index].as_mut().expect("opened by the first fetch of a page");
        let request = self.flow.page.request_bytes.max(1);
        place.request = u64::from(request);
        (place.response, place.awaited) = (fetch.bytes, fetch.bytes);
        place.client.handle(now, Input::Write(Virtual(request)));
    }

    fn open(&mut self, now: Instant) -> Place {
        let offset = u32::from(self.ports.source - FIRST_CLIENT_PORT) + self.opened;
        let client_port = FIRST_CLIENT_PORT + (offset % PORTS) as u16;
        self.opened = (self.opened + 1) % PORTS;
        let (tcp, server_port) = (&self.flow.tcp, self.ports.sink);
        let algorithm = &tcp.congestion_control;
        let mut client =
            connection(tcp.receiver, client_port, server_port, algorithm, &mut self.isn);
        let mut server = connection(tcp.sender, server_port, client_port, algorithm, &mut self.isn);
        server.handle(now, Input::Listen);
        client.handle(now, Input::Open);
        let departures = Departures::default();
        Place { server, client, client_port, departures, request: 0, response: 0, awaited: 0 }
    }
}

impl Transport for Web {
    fn start(&mut self, host: &mut Host<'_>) {
        self.browser.handle(host.now, traffic::Input::Start);
        self.follow_browser(host.now);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.browser.handle(host.now, traffic::Input::Stop);
    }

    fn step(&mut self, host: &mut Host<'_>) {
        self.browser.wake(host.now);
        self.follow_browser(host.now);
    }

    /// Time of the user's next action of its own.
    fn source_deadline(&self) -> Option<Instant> {
        self.browser.deadline()
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let mut places = self.places.iter_mut().flatten();
        let segment = places.find_map(|place| place.poll(end, host.now))?;
        Some(host.tcp(end, &segment))
    }

    /// A segment of a closed connection is dropped.
    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        let Some(segment) = segment(packet) else { return };
        let client_port = match end {
            End::Source => segment.header.source_port,
            End::Sink => segment.header.destination_port,
        };
        let belongs = |p: &Option<Place>| p.as_ref().is_some_and(|p| p.client_port == client_port);
        if let Some(index) = self.places.iter().position(belongs) {
            let place = self.places[index].as_mut().expect("found by its port");
            place.end(end).handle(host.now, Input::Segment(segment));
            self.run_applications(index, host);
        }
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        for index in 0..self.places.len() {
            if let Some(place) = &mut self.places[index]
                && place.end(end).deadline().is_some_and(|at| at <= host.now)
            {
                place.end(end).wake(host.now);
                self.run_applications(index, host);
            }
        }
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        let places = self.places.iter().flatten();
        let deadline = |place: &Place| match end {
            End::Source => place.server.deadline(),
            End::Sink => place.client.deadline(),
        };
        places.filter_map(deadline).min()
    }

    /// The user's requests let the server send, and arrivals let the user ask for more.
    fn is_entangled(&self) -> bool {
        true
    }

    fn sample(&self) -> FlowSample {
        let mut sum = self.gone;
        self.places.iter().flatten().for_each(|place| add(&mut sum, &place.counters()));
        sum
    }

    fn restart_statistics(&mut self) {
        self.objects.restart();
        self.pages.restart();
        self.lost = 0;
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        let (pages, objects) = (self.pages.times(), self.objects.times());
        outcome.web = Some(WebOutcome { pages, objects, objects_lost: self.lost });
    }
}
