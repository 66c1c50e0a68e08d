//! What packets of flows carry beside their lengths, as bytes for captures.
//!
//! Nothing of this is done in a run that captures nothing.

use fairwave_shake::Segment;
use fairwave_shake::multi::Mark;
use fairwave_tcp::Virtual;
use fairwave_units::Seq32;
use fairwave_wire::datagram::{Contents, Piece, patterned};
use fairwave_wire::multi::Header;
use fairwave_wire::rtp;
use fairwave_wire::seal::{Key, TAG_LEN};
use fairwave_wire::tcp;
use std::collections::VecDeque;
use std::ops::Range;

/// A message of SHAKE, sealed. Its payload is the pattern at its place in the stream, so that
/// every copy of a byte is the same.
pub(super) fn shake(segment: &Segment<Virtual>, key: &Key) -> Option<Contents> {
    let Segment { header, payload: Virtual(len) } = segment;
    let position = match header.body {
        fairwave_wire::shake::Body::Data(data) => data.seq as u32,
        _ => 0,
    };
    let payload: Vec<u8> = patterned(position, *len).collect();
    let mut bytes = Vec::new();
    header.write(&payload, key, &mut bytes).ok()?;
    if *len == 0 {
        return Some(Contents::bytes(bytes));
    }
    let seal = bytes.split_off(bytes.len() - TAG_LEN);
    bytes.truncate(bytes.len() - payload.len());
    let payload = Piece::Pattern { position, len: *len };
    Some(Contents::Payload(vec![Piece::Bytes(bytes), payload, Piece::Bytes(seal)]))
}

/// An RTP packet: its header, and the pattern where the datagram with this identification has it.
pub(super) fn media(header: &rtp::Header, payload_bytes: u32, id: u16) -> Contents {
    let position = (u32::from(id) << 16) + rtp::HEADER_LEN as u32;
    let payload = Piece::Pattern { position, len: payload_bytes };
    Contents::Payload(vec![Piece::Bytes(header.bytes().to_vec()), payload])
}

/// What is on the stream of a TCP connection of a set: marks, and behind each its block. Of blocks
/// there is the pattern at their place in the application's stream.
#[derive(Debug, Default)]
pub(super) struct MarkedStream {
    /// Number of its first byte, once the SYN has been sent.
    first: Option<Seq32>,
    /// Marks by their place, from one on that is not all acknowledged.
    marks: VecDeque<(u64, Mark)>,
    /// Where the next mark will be.
    end: u64,
}

impl MarkedStream {
    /// The next mark has been written.
    pub(super) fn write(&mut self, mark: Mark) {
        self.marks.push_back((self.end, mark));
        self.end = behind(self.end, &mark).end;
    }

    /// What a segment carries of it; the peer has acknowledged `acked` bytes.
    pub(super) fn segment(
        &mut self,
        header: &tcp::Header,
        len: u32,
        acked: u64,
    ) -> Option<Contents> {
        if header.flags.syn {
            self.first = Some(header.seq + 1);
        }
        while self.marks.get(1).is_some_and(|(at, _)| *at <= acked) {
            self.marks.pop_front();
        }
        let first = self.first? + acked as u32;
        let ahead = header.seq.0.wrapping_sub(first.0).cast_signed();
        let from = acked.checked_add_signed(ahead.into())?;
        let whole = from..from + u64::from(len);
        let is_kept = self.marks.front().is_some_and(|(at, _)| *at <= from);
        (len > 0 && is_kept && whole.end <= self.end).then(|| Contents::Payload(self.cut(&whole)))
    }

    fn cut(&self, whole: &Range<u64>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (at, mark) in &self.marks {
            let own = within(*at..*at + u64::from(mark.wire_len()), whole);
            if !own.is_empty() {
                let place = (own.start - at) as usize..(own.end - at) as usize;
                pieces.push(Piece::Bytes(bytes(mark)[place].to_vec()));
            }
            let block = behind(*at, mark);
            let own = within(block.clone(), whole);
            if let (false, Mark::Header(Header::Block { offset, .. })) = (own.is_empty(), mark) {
                let position = (offset + (own.start - block.start)) as u32;
                pieces.push(Piece::Pattern { position, len: (own.end - own.start) as u32 });
            }
        }
        pieces
    }
}

/// Where the block behind a mark at `at` is.
fn behind(at: u64, mark: &Mark) -> Range<u64> {
    let start = at + u64::from(mark.wire_len());
    let len = match mark {
        Mark::Header(Header::Block { len, .. }) => len.get(),
        Mark::Header(Header::End { .. }) | Mark::Preface(_) => 0,
    };
    start..start + u64::from(len)
}

fn within(part: Range<u64>, whole: &Range<u64>) -> Range<u64> {
    part.start.max(whole.start)..part.end.min(whole.end)
}

fn bytes(mark: &Mark) -> Vec<u8> {
    let mut out = Vec::new();
    match mark {
        Mark::Preface(preface) => preface.write(&mut out),
        Mark::Header(header) => header.write(&mut out),
    }
    .expect("a set numbers its connections, and no stream gets to 2^62");
    out
}
