//! Our endpoint behind a real TUN device, by the wall clock. Both ends write their packets to the
//! device, and the kernel forwards them to the other: it drops what is no legal packet of IP.

use crate::line::{Line, Packet, Stamps, is_stream, stream};
use crate::parse::Shape;
use crate::report;
use crate::segment::{Exactness, Seen};
use crate::settings::Settings;
use crate::simulated::{NUMBERS, connection};
use crate::world::{Answer, Call, Played, World};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Event, Input, Segment};
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

pub(crate) struct Endpoint<'n> {
    line: Line<'n>,
    own: Ipv4Addr,
    peer: Ipv4Addr,
    end: Connection<Bytes>,
    sent: VecDeque<Seen>,
    stamps: Stamps,
    written: u64,
    last_event: Option<Event>,
}

impl<'n> Endpoint<'n> {
    pub(crate) fn new(line: Line<'n>, settings: &Settings, own: Ipv4Addr, peer: Ipv4Addr) -> Self {
        Self {
            line,
            own,
            peer,
            end: connection(settings),
            sent: VecDeque::new(),
            stamps: Stamps::default(),
            written: 0,
            last_event: None,
        }
    }

    /// Hands the endpoint's packets to the device, and takes what comes out of it.
    fn drain(&mut self) -> Played<()> {
        while let Some(segment) = self.end.poll(self.line.now()) {
            let Segment { header, ecn, payload } = &segment;
            self.line.send(self.own, self.peer, *ecn, header, payload)?;
        }
        while let Some(event) = self.end.event() {
            self.last_event = Some(event);
        }
        Ok(())
    }

    fn input(&mut self, input: Input<Bytes>) -> Played<()> {
        self.end.handle(self.line.now(), input);
        self.drain()
    }

    /// Everything that can be read now.
    fn receive(&mut self) -> Played<()> {
        while let Some(packet) = self.line.receive()? {
            let Packet { at, to, from, ecn, header, payload } = packet;
            if (from, to) == (self.peer, self.own) {
                let payload = Bytes::from(payload);
                self.input(Input::Segment(Segment { header, ecn, payload }))?;
            } else if (from, to) == (self.own, self.peer) {
                let mut seen = NUMBERS.seen(at, &header, ecn, payload.len() as u32);
                if let Some((value, _)) = &mut seen.options.timestamps {
                    *value = self.stamps.relative(at, *value);
                }
                if !is_stream(seen.seq, &payload) {
                    return Err("payload left that belongs elsewhere in the stream".to_owned());
                }
                self.sent.push_back(seen);
            }
        }
        Ok(())
    }

    fn wake(&mut self) -> Played<()> {
        let now = self.line.now();
        if self.end.deadline().is_some_and(|at| at <= now) {
            self.end.wake(now);
            self.drain()?;
        }
        Ok(())
    }
}

impl World for Endpoint<'_> {
    fn departure(&mut self, until: Instant) -> Played<Option<Seen>> {
        loop {
            self.wake()?;
            self.receive()?;
            if let Some(seen) = self.sent.pop_front() {
                return Ok(Some(seen));
            }
            if self.line.now() >= until {
                return Ok(None);
            }
            let next = self.end.deadline().map_or(until, |at| at.min(until));
            self.line.wait(next)?;
        }
    }

    fn call(&mut self, call: Call) -> Played<()> {
        match call {
            Call::Open => self.input(Input::Open),
            Call::Listen => self.input(Input::Listen),
            Call::Write(bytes) => {
                let data = Bytes::from(stream(self.written, bytes.min(self.end.send_space())));
                self.written += data.len() as u64;
                self.input(Input::Write(data))
            }
            Call::Close => self.input(Input::Close),
            Call::Abort => self.input(Input::Abort),
            Call::Read(bytes) => {
                self.end.read(bytes);
                self.drain()
            }
        }
    }

    fn arrive(&mut self, shape: &Shape) -> Played<()> {
        let header = NUMBERS.header(shape, |echo| self.stamps.echo(echo));
        let payload = stream(u64::from(shape.seq.max(1)) - 1, shape.len);
        let ecn = shape.ecn.unwrap_or_default();
        self.line.send(self.peer, self.own, ecn, &header, &payload)?;
        self.receive()
    }

    fn answer(&mut self, key: &str) -> Played<Answer> {
        let reported = report::answer(&self.end, self.last_event, key)?;
        Ok(match (key, reported.parse()) {
            ("srtt" | "rto", Ok(millis)) => Answer::Nearly(millis),
            _ => Answer::Exactly(reported),
        })
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
