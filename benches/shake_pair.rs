//! Two SHAKE connections joined by paths without delay or loss, for measuring the cost of a
//! segment.

use fairwave_machine::Machine;
use fairwave_shake::{Config, Connection, Input, Profile};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::Side;

/// Two connections joined by paths without delay or loss.
pub(crate) struct Pair {
    ends: [Connection<Virtual>; 2],
    now: Instant,
    /// Number of messages that the opener has sent.
    pub(crate) sent: u64,
}

impl Pair {
    pub(crate) fn new(paths: u8) -> Self {
        let profile = Profile::Modern;
        let config = Config { send_buffer: 200_000, receive_buffer: 200_000, ..profile.config() };
        let end = |side, seed| Connection::new(config, profile.rules(), side, 1, Seed(seed));
        let mut pair = Self {
            ends: [end(Side::Opener, 1), end(Side::Acceptor, 2)],
            now: Instant::ZERO,
            sent: 0,
        };
        for path in 0..paths {
            pair.ends[0].handle(Instant::ZERO, Input::Join { path, nominal: None });
        }
        pair
    }

    fn carry(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll(self.now) {
            self.ends[1 - from].handle(self.now, Input::Segment(segment));
            self.ends[1 - from].read(u32::MAX);
            while self.ends[1 - from].event().is_some() {}
            self.sent += u64::from(from == 0);
        }
    }

    /// Fills the send buffer and carries everything that both ends have to send.
    pub(crate) fn round(&mut self) {
        self.now += Duration::from_millis(1);
        let space = self.ends[0].send_space();
        self.ends[0].handle(self.now, Input::Write(Virtual(space)));
        self.carry(0);
        self.carry(1);
    }
}
