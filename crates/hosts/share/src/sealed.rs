//! The keys of one session, with the numbers of its records.

use fairwave_machine::Replay;
use fairwave_shake_host::noise::{Channel, TAG_LEN};
use fairwave_wire::cluster::Frame;
use fairwave_wire::shake::record::{Datagram, RECORD_HEAD_LEN, Record};
use std::num::NonZeroU64;

/// Sessions have one path.
const PATH: u8 = 0;

/// One end of a session that has keys.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Index of the session at the other end.
    remote: u32,
    channel: Channel,
    seen: Replay,
    next: NonZeroU64,
    frame: Vec<u8>,
}

impl Sealed {
    pub(crate) fn new(remote: u32, channel: Channel) -> Self {
        let (seen, next) = (Replay::default(), NonZeroU64::MIN);
        Self { remote, channel, seen, next, frame: Vec::new() }
    }

    /// The datagram with a frame; `None` if it is too long, as around one of IPv6's longest.
    pub(crate) fn seal(&mut self, frame: &Frame<'_>) -> Option<Vec<u8>> {
        self.frame.clear();
        frame.write(&mut self.frame);
        let number = self.next;
        self.next = number.checked_add(1).expect("2^64 records");
        let mut bytes = Vec::with_capacity(RECORD_HEAD_LEN + self.frame.len() + TAG_LEN);
        let head = Record { to: self.remote, path: PATH, number, sealed: &[] };
        Datagram::Record(head).write(&mut bytes);
        self.channel.seal(PATH, number, &self.frame, &mut bytes)?;
        Some(bytes)
    }

    /// The octets of a frame that the other end sealed and that did not come before.
    pub(crate) fn open(&mut self, record: &Record<'_>) -> Option<Vec<u8>> {
        if record.path != PATH { None } else { self.channel.open(record, &mut self.seen) }
    }
}
