//! Streams that are over, beside new ones.

use super::pauses::start;
use super::*;
use fairwave_wire::shake::Reason;

impl Net {
    /// Opens streams 5 ms apart, whose applications end them at once.
    fn open_short_ones(&mut self, count: usize) {
        let session = self.client.session().expect("connected");
        for number in 0..count {
            let now = self.now;
            let stream = self.client.open(now, session);
            let stream = stream.unwrap_or_else(|| panic!("no room for stream {number}"));
            self.release(End::A, (session, stream));
            self.ms(5);
            let accepted = |(end, event): &(End, Event)| match event {
                Event::Accepted { session, stream } if *end == End::B => Some((*session, *stream)),
                _ => None,
            };
            let accepted: Vec<_> = self.events.iter().filter_map(accepted).collect();
            self.events.clear();
            for stream in accepted {
                self.release(End::B, stream);
            }
        }
    }
}

fn connected(mode: Mode) -> Net {
    let mut net = Net::with(&[wire(20, 1, 0.0)], &Config { mode, ..Config::new(psk()) });
    net.ms(300);
    net
}

#[test]
fn streams_that_are_over_take_no_buffer() {
    for (mode, whole) in [(Mode::Shake, 8_000_000), (Mode::Multi, 4_000_000)] {
        let mut net = connected(mode);
        net.open_short_ones(200);
        let streams = net.open();
        for (end, (session, stream)) in [(End::A, streams[0]), (End::B, streams[1])] {
            let state = net.host(end).stream(session, stream).expect("it is open");
            assert_eq!(state.send_space, whole, "{mode:?} {end:?}");
        }
    }
}

/// The bytes that a released stream may buffer.
fn share(net: &mut Net, end: End, (session, stream): (usize, usize)) -> u32 {
    let mut share = 0;
    net.host(end).with(session, |open| share = open.streams[stream].share.bytes());
    share
}

/// An application lets a set go without reading all of it.
#[test]
fn a_set_that_was_not_read_takes_no_buffer() {
    let mut net = connected(Mode::Multi);
    let streams = net.open();
    start(&mut net, End::A, streams[0], b"unread");
    net.release(End::B, streams[1]);
    net.ms(100);
    assert!(share(&mut net, End::B, streams[1]) > 0, "more may come");
    net.release(End::A, streams[0]);
    net.ms(1_000);
    for (end, stream) in [(End::A, streams[0]), (End::B, streams[1])] {
        assert!(net.over(end, stream), "{end:?}");
        assert_eq!(share(&mut net, end, stream), 0, "{end:?}");
    }
    net.ms(20_000);
    assert!(net.server.stream(streams[1].0, streams[1].1).is_none(), "it is forgotten");
}

/// A cancelled download: its reader has ended its half and reads no more, and the writer goes on or
/// waits for room.
#[test]
fn data_without_a_reader_resets_a_stream() {
    for mode in Mode::ALL {
        for (reader, writer) in [(End::A, End::B), (End::B, End::A)] {
            for megabytes in [0, 20] {
                let mut net = connected(mode);
                let streams = net.open();
                for _ in 0..megabytes {
                    start(&mut net, writer, streams[writer as usize], &content(1_000_000));
                    net.ms(400);
                }
                net.release(reader, streams[reader as usize]);
                net.ms(100);
                start(&mut net, writer, streams[writer as usize], &content(1_000));
                // A closed window is probed at growing intervals.
                net.ms(20_000);
                for (end, stream) in [(End::A, streams[0]), (End::B, streams[1])] {
                    assert!(net.over(end, stream), "{mode:?} {end:?}, {megabytes} MB");
                }
                let reason = net.reset_of(writer, streams[writer as usize]);
                assert_eq!(reason, Some(Reason::NotReading), "{mode:?} {writer:?}, {megabytes} MB");
            }
        }
    }
}

/// One end gives a set up while both send. What no one has read or acknowledged is freed.
#[test]
fn a_set_that_was_reset_takes_no_buffer() {
    for end in [End::A, End::B] {
        let mut net = connected(Mode::Multi);
        let streams = net.open();
        for (from, (session, stream)) in [(End::A, streams[0]), (End::B, streams[1])] {
            let now = net.now;
            net.host(from).write(now, session, stream, Bytes::from(content(1_000_000)));
        }
        net.ms(200);
        let (now, (session, stream)) = (net.now, streams[end as usize]);
        net.host(end).abort(now, session, stream);
        net.release(End::A, streams[0]);
        net.release(End::B, streams[1]);
        net.ms(200);
        for (end, stream) in [(End::A, streams[0]), (End::B, streams[1])] {
            assert_eq!(share(&mut net, end, stream), 0, "{end:?}");
        }
    }
}

#[test]
fn streams_that_are_over_take_no_place() {
    let mut net = connected(Mode::Shake);
    net.open_short_ones(1_100);
    let streams = net.open();
    assert!(net.carry(End::B, streams, b"hello", 2_000) == b"hello");
}
