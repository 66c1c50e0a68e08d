//! Streams that are over, beside new ones.

use super::*;

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

fn connected() -> Net {
    let mut net = Net::new(&[wire(20, 1, 0.0)]);
    net.ms(300);
    net
}

#[test]
fn streams_that_are_over_take_no_buffer() {
    let mut net = connected();
    net.open_short_ones(200);
    let streams = net.open();
    for (end, (session, stream)) in [(End::A, streams[0]), (End::B, streams[1])] {
        let state = net.host(end).stream(session, stream).expect("it is open");
        assert_eq!(state.send_space, 8_000_000, "{end:?}");
    }
}

#[test]
fn streams_that_are_over_take_no_place() {
    let mut net = connected();
    net.open_short_ones(1_100);
    let streams = net.open();
    assert!(net.carry(End::B, streams, b"hello", 2_000) == b"hello");
}
