//! Formats of captures that are known and not read.

/// First bytes of such formats, and their names.
const BEGINNINGS: [(&[u8], &str); 9] = [
    (b"snoop\0\0\0", "snoop (Solaris, RFC 1761)"),
    (b"btsnoop\0", "btsnoop (Bluetooth)"),
    (b"iptrace 1.0", "iptrace (AIX)"),
    (b"iptrace 2.0", "iptrace (AIX)"),
    (b"TRSNIFF data", "Sniffer (DOS)"),
    (b"XCP\0", "Sniffer (Windows, NetXRay)"),
    (b"RTSS", "Microsoft Network Monitor 1"),
    (b"GMBU", "Microsoft Network Monitor 2"),
    (b"\x7fpkt", "AiroPeek"),
];

/// Returns the name of a format by the beginning of its file.
pub(super) fn name(beginning: &[u8]) -> Option<&'static str> {
    let found = BEGINNINGS.iter().find(|(magic, _)| beginning.starts_with(magic));
    let name = found.map(|(_, name)| *name);
    name.or_else(|| is_erf(beginning).then_some("ERF (Endace)"))
}

/// Length of the header of an ERF record in bytes.
const ERF_HEADER: usize = 16;
/// Seconds since 1970 of plausible captures: 1990 to 2050.
const TIMES: core::ops::Range<u32> = 631_152_000..2_524_608_000;

/// Whether bytes begin with two plausible records of ERF, or one that fills them. The format has no
/// magic number: a time as a 64-bit fraction, type, flags, length of the record, lost packets,
/// length on the wire.
fn is_erf(beginning: &[u8]) -> bool {
    let record = |bytes: &[u8]| {
        let header: &[u8; ERF_HEADER] = bytes.first_chunk()?;
        let [_, _, _, _, a, b, c, d, kind, _, e, f, ..] = *header;
        let len = usize::from(u16::from_be_bytes([e, f]));
        let is_plausible = TIMES.contains(&u32::from_le_bytes([a, b, c, d]))
            && (1..=48).contains(&(kind & 0x7f))
            && len >= ERF_HEADER;
        is_plausible.then_some(len)
    };
    let Some(len) = record(beginning) else { return false };
    match beginning.get(len..) {
        Some([]) => true,
        Some(rest) => record(rest).is_some(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of ERF with 20 bytes of an Ethernet frame.
    fn erf(second: u32) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(second.to_le_bytes());
        bytes.extend([2, 4, 0, 36, 0, 0, 0, 60]);
        bytes.extend([0; 20]);
        bytes
    }

    #[test]
    fn foreign_formats_are_known_by_their_beginnings() {
        assert_eq!(name(b"snoop\0\0\0\0\0\0\x02"), Some("snoop (Solaris, RFC 1761)"));
        let two = [erf(1_700_000_000), erf(1_700_000_001)].concat();
        assert_eq!(name(&two), Some("ERF (Endace)"));
        assert_eq!(name(&erf(1_700_000_000)), Some("ERF (Endace)"));
        assert_eq!(name(&[erf(1_700_000_000), vec![7; 40]].concat()), None);
        assert_eq!(name(&erf(7)), None);
        assert_eq!(name(b"GIF89a, and no capture at all"), None);
        assert_eq!(name(b""), None);
    }
}
