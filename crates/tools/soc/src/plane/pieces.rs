//! Length on the wire of a frame that the link carries in several packets.

/// Bytes of the virtio header before a frame.
pub(super) const HEAD: usize = fairwave_linux::VNET_HEADER_LENGTH;

/// Total length of the packets into which a frame is cut later, Ethernet headers included; its own
/// length if it is not cut. `head` is laid out as [`fairwave_linux::VNET_HEADER_LENGTH`] describes.
pub(super) fn on_the_wire(head: [u8; HEAD], frame: &[u8]) -> u32 {
    let half = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let (is_cut, payload) = (head[1] != 0, half(4));
    let length = frame.len();
    if !is_cut || payload == 0 {
        return length as u32;
    }
    // The TCP checksum starts with the TCP header, whose length is in the upper half of byte 12
    // (RFC 9293 section 3.1), in words of four bytes.
    let begin = half(6);
    let words = frame.get(begin + 12).map_or(5, |byte| usize::from(byte >> 4));
    let headers = begin + 4 * words;
    let packets = length.saturating_sub(headers).div_ceil(payload).max(1);
    (length + (packets - 1) * headers) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u8, payload: u16, begin: u16) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        (head[0], head[1]) = (1, kind);
        head[4..6].copy_from_slice(&payload.to_ne_bytes());
        head[6..8].copy_from_slice(&begin.to_ne_bytes());
        head
    }

    /// Ethernet, IPv4 and TCP with timestamps have 14 + 20 + 32 = 66 bytes. 14,480 bytes of data
    /// are ten packets of 1448, and one more byte is an eleventh.
    #[test]
    fn a_piece_counts_as_its_packets() {
        let mut frame = vec![0; 66 + 14_480];
        frame[34 + 12] = 8 << 4;
        assert_eq!(on_the_wire(head(1, 1448, 34), &frame), 14_480 + 10 * 66);
        frame.push(0);
        assert_eq!(on_the_wire(head(1, 1448, 34), &frame), 14_481 + 11 * 66);
        assert_eq!(on_the_wire(head(0, 0, 34), &frame), 66 + 14_481);
    }

    /// Values that the kernel never sends cause no failure.
    #[test]
    fn a_header_that_makes_no_sense_counts_as_the_frame() {
        let frame = [0; 60];
        assert_eq!(on_the_wire(head(1, 0, 34), &frame), 60);
        assert_eq!(on_the_wire(head(1, 1448, u16::MAX), &frame), 60);
        assert_eq!(on_the_wire([0xff; HEAD], &[]), 0);
    }
}
