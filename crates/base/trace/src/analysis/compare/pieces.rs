//! The segments of the wire that a packet stands for.

use fairwave_wire::datagram::UDP_HEADER_LEN;
use fairwave_wire::ip;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its IP identification: pieces are numbered one by one.
    pub(super) id: u32,
    /// Its length from the IP header on, in bytes.
    pub(super) len: u32,
    /// Offset of its payload within that of the packet.
    pub(super) offset: u32,
    /// Whether it is the last, which alone has a FIN.
    pub(super) is_last: bool,
}

/// The segments of a packet, in the order of the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    /// The identification of the first, and whether there are such.
    id: u32,
    headers: u32,
    payload: u32,
    piece: u32,
    next: u32,
    count: u32,
}

impl Pieces {
    /// A packet as it was on the wire. A first fragment stands for its whole datagram, which may
    /// not be in fragments at the other place.
    pub(super) const fn whole(packet: &ip::Packet<'_>) -> Self {
        let ip::Packet { id, mut len, .. } = *packet;
        if let (Some(_), ip::Transport::Udp(datagram)) = (packet.fragment, &packet.transport) {
            len = len - packet.body_len + UDP_HEADER_LEN + datagram.payload_len;
        }
        Self { id, headers: len, payload: 0, piece: 1, next: 0, count: 1 }
    }

    /// A packet whose payload was sent, or came, in pieces of this number of bytes.
    pub(super) fn of(packet: &ip::Packet<'_>, payload: u32, piece: u32) -> Self {
        let headers = packet.len.saturating_sub(payload);
        let (piece, id) = (piece.max(1), packet.id);
        Self { id, headers, payload, piece, next: 0, count: payload.div_ceil(piece).max(1) }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.next == self.count {
            return None;
        }
        let offset = self.next * self.piece;
        // Without an identification, or with that of IPv6 fragments, none is made up.
        let numbered = self.id != 0 && self.id <= 0xffff && self.next > 0;
        let id = if numbered { (self.id + self.next) & 0xffff } else { self.id };
        self.next += 1;
        let is_last = self.next == self.count;
        let len = self.headers + (self.payload - offset).min(self.piece);
        Some(Piece { id, len, offset, is_last })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Pieces {}
