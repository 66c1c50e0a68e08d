//! A transfer of 1 MB between two connections over a link of one's own: 20 ms in each direction,
//! 10 Mbps, and every hundredth segment of the sender is lost.
//!
//! The program is the host: it has the time, carries segments, and wakes the machines.
//!
//! `cargo run -p fairwave-tcp --example own_link`

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use fairwave_machine::Machine;
use fairwave_tcp::{Config, Connection, Input, Segment, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use std::collections::VecDeque;

/// Propagation in one direction.
const DELAY: Duration = Duration::from_millis(20);
/// Data of the transfer, of which the machine knows the length alone.
const BYTES: u32 = 1_000_000;

/// Segments on their way in one direction, in order, each with its time of arrival.
#[derive(Default)]
struct Line {
    under_way: VecDeque<(Instant, Segment<Virtual>)>,
    free_at: Instant,
    carried: u64,
}

impl Line {
    /// Carries all that `end` has to send; every `lost`th segment is lost.
    fn carry(&mut self, now: Instant, end: &mut Connection<Virtual>, lost: Option<u64>) {
        while let Some(segment) = end.poll(now) {
            // A byte takes 800 ns at 10 Mbps.
            let time = Duration::from_nanos(800 * u64::from(segment.wire_len()));
            self.free_at = self.free_at.max(now) + time;
            self.carried += 1;
            if !lost.is_some_and(|lost| self.carried.is_multiple_of(lost)) {
                self.under_way.push_back((self.free_at + DELAY, segment));
            }
        }
        while end.event().is_some() {}
    }

    fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// Hands over what has arrived.
    fn deliver(&mut self, now: Instant, end: &mut Connection<Virtual>) {
        while let Some((_, segment)) = self.under_way.pop_front_if(|(at, _)| *at <= now) {
            end.handle(now, Input::Segment(segment));
        }
    }
}

fn end(iss: u32) -> Connection<Virtual> {
    let cubic = |initial| fairwave_cc::build("cubic", initial).expect("it is one of the list");
    Connection::new(Config::default(), Seq32(iss), Box::new(cubic))
}

/// Transfers the data; returns the time it takes and the retransmitted segments.
fn transfer() -> (Instant, u64) {
    let (mut client, mut server) = (end(1), end(2));
    let (mut there, mut back) = (Line::default(), Line::default());
    let (mut now, mut read) = (Instant::ZERO, 0);
    server.handle(now, Input::Listen);
    client.handle(now, Input::Open);
    client.handle(now, Input::Write(Virtual(BYTES)));
    while read < BYTES {
        there.carry(now, &mut client, Some(100));
        back.carry(now, &mut server, None);
        let times = [client.deadline(), server.deadline(), there.next(), back.next()];
        now = times.into_iter().flatten().min().expect("a transfer under way has a next time");
        there.deliver(now, &mut server);
        back.deliver(now, &mut client);
        client.wake(now);
        server.wake(now);
        read += server.read(u32::MAX).map_or(0, |data| data.0);
    }
    (now, client.stats().retransmissions)
}

fn main() {
    let (took, resent) = transfer();
    println!("{BYTES} bytes in {} ms, {resent} segments sent again", took.as_nanos() / 1_000_000);
}

#[test]
fn the_transfer_ends_and_loses_segments() {
    let (took, resent) = transfer();
    assert!(resent > 0 && took > Instant::ZERO + Duration::from_millis(800));
}
