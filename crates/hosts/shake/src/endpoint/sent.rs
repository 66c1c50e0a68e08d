//! Messages that one end of a SHAKE connection has sent.

use bytes::Bytes;
use fairwave_shake::Segment;
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
    /// Counts a message.
    pub(super) fn note(&mut self, Segment { header, payload }: &Segment<Bytes>) {
        match header.body {
            Body::Data(data) => {
                let path = usize::from(header.path);
                if self.paths.len() <= path {
                    self.paths.resize(path + 1, SentOnPath::default());
                }
                self.paths[path].segments += 1;
                self.paths[path].repeated += u64::from(data.seq < self.sent_up_to);
                let end = data.seq + payload.len() as u64 + u64::from(data.fin);
                self.sent_up_to = self.sent_up_to.max(end);
            }
            Body::Ack(_) => self.acks += 1,
            _ => {}
        }
    }
}
