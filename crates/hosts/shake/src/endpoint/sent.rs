//! Messages that one end of a SHAKE connection has sent.

use bytes::Bytes;
use fairwave_shake::Segment;
use fairwave_units::Instant;
use fairwave_wire::shake::Body;

/// Messages of a SHAKE connection that this end has sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Messages with data, by path.
    pub paths: Vec<SentOnPath>,
    /// Acknowledgements.
    pub acks: u64,
    /// End of the data that was sent at least once.
    sent_up_to: u64,
    /// Ends of messages that brought new data, with the times at which they left, if they are
    /// noted.
    departures: Option<Vec<(u64, Instant)>>,
}

/// Messages with data that were sent on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentOnPath {
    /// All of them.
    pub segments: u64,
    /// Those whose first byte had been sent before, on whatever path.
    pub repeated: u64,
}

impl Sent {
    /// Nothing was sent so far.
    pub(super) fn new(notes_departures: bool) -> Self {
        Self { departures: notes_departures.then(Vec::new), ..Self::default() }
    }

    /// Takes the ends of data that left for the first time, with their times.
    pub(super) fn take_departures(&mut self) -> Vec<(u64, Instant)> {
        self.departures.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Counts a message that leaves now.
    pub(super) fn note(&mut self, now: Instant, segment: &Segment<Bytes>) {
        let Segment { header, payload } = segment;
        match header.body {
            Body::Data(data) => {
                let path = usize::from(header.path);
                if self.paths.len() <= path {
                    self.paths.resize(path + 1, SentOnPath::default());
                }
                self.paths[path].segments += 1;
                self.paths[path].repeated += u64::from(data.seq < self.sent_up_to);
                let end = data.seq + payload.len() as u64;
                if end > self.sent_up_to
                    && let Some(departures) = &mut self.departures
                {
                    departures.push((end, now));
                }
                self.sent_up_to = self.sent_up_to.max(end + u64::from(data.fin));
            }
            Body::Ack(_) => self.acks += 1,
            _ => {}
        }
    }
}
