//! Parsing of C structures from BPF programs, field by field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Linux's number of the address family of IPv4.
pub(crate) const AF_INET: u16 = 2;
/// The kernel's `TCP_INFINITE_SSTHRESH`.
pub(crate) const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// The successive fields of a C structure; zero after its end.
pub(crate) struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Fields<'b> {
    /// Starts at the first of these bytes.
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = self.bytes.get(self.at..self.at + N).and_then(|bytes| bytes.try_into().ok());
        self.at += N;
        field.unwrap_or([0; N])
    }

    /// Returns the next number.
    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    /// Returns the next number.
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    /// Returns the next number.
    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
}

/// An end of a connection; an IPv4 address is in the last word of `address`.
pub(crate) fn end(address: [u8; 16], port: u16, family: u16) -> SocketAddr {
    let ip = match family {
        AF_INET => {
            let [.., a, b, c, d] = address;
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => IpAddr::V6(Ipv6Addr::from(address)).to_canonical(),
    };
    SocketAddr::new(ip, port)
}

/// A slow start threshold in segments; `None` while none is set.
pub(crate) fn ssthresh_of(segments: u32) -> Option<u32> {
    (segments < NO_SSTHRESH).then_some(segments)
}
