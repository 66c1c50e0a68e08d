//! Fields of a DCCP packet for the analysis of captures, which may have cut it.

/// Ports, number and payload of a DCCP packet. Nothing else of it is looked at, no sum is asked
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Its sequence number, or the low bits of it.
    pub number: u64,
    /// Number of bits: 48, or 24 in a short header (RFC 4340 section 5.1).
    pub number_bits: u32,
    /// Bytes of application data on the wire; zero for types that ignore the payload.
    pub payload_len: u32,
}

/// Data offset, in words of four bytes.
const OFFSET_AT: usize = 4;
/// Type, and whether the number has 48 bits.
const TYPE_AT: usize = 8;
const SHORT_AT: usize = 9;
const LONG_AT: usize = 10;
/// The types that carry application data: Request, Response, Data and DataAck.
const WITH_DATA: [u8; 4] = [0, 1, 2, 4];

impl Captured {
    /// Reads a packet of which `len` bytes were on the wire; `None` if its number was not captured
    /// or its data offset lies behind it.
    pub fn read(bytes: &[u8], len: u32) -> Option<Self> {
        let at = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let kind = *bytes.get(TYPE_AT)?;
        let (number_bits, digits) = match kind & 1 {
            0 => (24, bytes.get(SHORT_AT..SHORT_AT + 3)?),
            _ => (48, bytes.get(LONG_AT..LONG_AT + 6)?),
        };
        let number = digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit));
        let header_len = u32::from(*bytes.get(OFFSET_AT)?) * 4;
        let carried = len.checked_sub(header_len)?;
        let payload_len = if WITH_DATA.contains(&(kind >> 1 & 0xf)) { carried } else { 0 };
        let (source_port, destination_port) = (at(0)?, at(2)?);
        Some(Self { source_port, destination_port, number, number_bits, payload_len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dccp::{Header, Kind, Options, Seq48};
    use crate::pseudo::Pseudo;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_both_lengths_and_data_are_read() {
        let pseudo = Pseudo::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        let ack = Seq48::new(9);
        let number = 0xa1_b2c3;
        for (kind, is_short, payload_len) in [
            (Kind::Data, true, 5),
            (Kind::Data, false, 5),
            (Kind::DataAck { ack }, false, 5),
            (Kind::Ack { ack }, false, 0),
        ] {
            let header = Header {
                source_port: 7,
                destination_port: 9,
                seq: Seq48::new(number),
                kind,
                short: is_short,
                ccval: 0,
                coverage: 0,
                options_words: 0,
            };
            let mut bytes = Vec::new();
            let payload = &b"hello"[..];
            header.write(&mut bytes, pseudo, &Options::default(), payload).unwrap();
            let read = Captured::read(&bytes[..16], bytes.len() as u32).unwrap();
            let number_bits = if is_short { 24 } else { 48 };
            let expected =
                Captured { source_port: 7, destination_port: 9, number, number_bits, payload_len };
            assert_eq!(read, expected, "{kind:?}");
            assert_eq!(Captured::read(&bytes[..11], bytes.len() as u32), None);
            assert_eq!(Captured::read(&bytes, 8), None, "the header is longer");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            len in any::<u32>(),
        ) {
            if let Some(read) = Captured::read(&bytes, len) {
                prop_assert!(read.number < 1 << read.number_bits && read.payload_len <= len);
            }
        }
    }
}
