//! Silence of a peer: what it has not answered, and when a connection ends for it.

use bytes::Bytes;
use fairwave_dccp::Packet;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::Kind;

/// Time after which an end closes a connection whose peer acknowledges no data.
const SILENCE: Duration = Duration::from_secs(15);
/// Number of data packets that the peer may acknowledge together.
const TOGETHER: u32 = 4;
/// Time without packets after which an end that sends no data closes a connection: more than twice
/// the longest time between two packets of TFRC (RFC 5348 section 4.3).
const IDLE: Duration = Duration::from_secs(150);
/// Time for which packets are unanswered before an end believes ICMP errors, which anybody can
/// forge, and which Linux sends for a raw socket whose buffer is full. Also the least time for an
/// answer to the last of [`TOGETHER`] data packets.
const DOUBT: Duration = Duration::from_secs(5);

/// Time from which on two data packets have acknowledgements of their own, at round-trip times of
/// less.
const APART: Duration = Duration::from_secs(1);

/// Packets of this end since the peer's last one that was no Sync. Acknowledgements are not among
/// them: they have no answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// Arrival of the peer's last packet.
    since: Instant,
    /// Number of data packets, and the time of the first.
    data: u32,
    first: Option<Instant>,
    /// Time of one that the peer does not acknowledge together with the first: a single
    /// acknowledgement may be lost.
    second: Option<Instant>,
    /// Time of the one with which an answer is due.
    due: Option<Instant>,
    /// Time of the first Sync.
    sync: Option<Instant>,
}

impl Silence {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { since: now, data: 0, first: None, second: None, due: None, sync: None }
    }

    /// A packet of the peer arrived. A Sync acknowledges no data (RFC 4340 section 5.7).
    pub(crate) fn note_received(&mut self, now: Instant, is_sync: bool) {
        *self = if is_sync { Self { since: now, ..*self } } else { Self::new(now) };
    }

    /// A packet is sent.
    pub(crate) fn note_sent(&mut self, now: Instant, packet: &Packet<Bytes>) {
        let kind = packet.header.kind;
        if matches!(kind, Kind::Sync { .. }) {
            self.sync.get_or_insert(now);
        }
        // A probe of the path has padding, which is no data.
        if packet.payload.is_some() && kind.is_data_packet() {
            self.data = self.data.saturating_add(1);
            let first = *self.first.get_or_insert(now);
            self.second = self.second.or((now.since(first) >= APART).then_some(now));
            self.due = self.due.or((self.data == TOGETHER).then_some(now));
        }
    }

    /// Time at which it has lasted too long.
    pub(crate) fn ends_at(&self) -> Instant {
        let idle = self.since + IDLE;
        let Some((first, due)) = self.first.zip(self.due) else { return idle };
        // The first may be old, and its acknowledgement lost, when others follow it.
        (first + SILENCE).max(due + DOUBT).min(idle)
    }

    /// Whether answers are due for so long that ICMP errors are believed.
    pub(crate) fn is_doubtful(&self, now: Instant) -> bool {
        let asked = [self.second, self.sync].into_iter().flatten().min();
        asked.is_some_and(|at| now.since(at) >= DOUBT)
    }
}
