//! Memory of a server with several sessions.

use super::super::config::LEAST_SHARE;
use super::*;

impl Net {
    /// Bytes that the streams of a session of the server may buffer beyond the minimum shares.
    fn extra(&mut self, session: usize) -> u64 {
        let mut sum = 0;
        let of = |stream: &session::Stream| u64::from(stream.share.bytes());
        self.server.with(session, |open| {
            sum = open.streams.iter().map(|(_, stream)| of(stream) - LEAST_SHARE).sum();
        });
        sum
    }
}

/// Two clients that open streams and do not read.
#[test]
fn streams_of_two_sessions_stay_within_the_memory_of_the_server() {
    let max = 1 << 20;
    let config = Config { max_buffered_in_all: max, ..Config::new(psk()) };
    let mut net = Net::with(&[wire(20, 1, 0.0)], &config);
    for session in 0..2 {
        if session == 1 {
            net.client = Endpoint::new(config.clone(), Seed(3));
            net.report(End::A, Input::PathUp(route(0)));
            net.report(End::A, Input::Connect);
        }
        net.ms(300);
        for _ in 0..20 {
            net.open();
        }
    }
    assert_eq!(net.server.sessions(), 2);
    let [one, other] = [0, 1].map(|session| net.extra(session));
    assert!(one > 0 && other > 0 && one + other <= max, "{one} {other}");
}
