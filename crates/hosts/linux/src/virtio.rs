//! The header that TUN, TAP and packet sockets put before a packet, and where the former come from.

/// Device that TUN devices come from.
pub const CLONE_DEVICE: &str = "/dev/net/tun";

/// Bytes of the virtio header (`struct virtio_net_hdr`) before each packet that is read or written.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 1 | flags: 1 = the checksum is to be computed, 2 = it has been verified |
/// | 1 | 1 | GSO type: 0 none, 1 TCP over IPv4, 4 TCP over IPv6, 5 UDP; 0x80 added with ECN |
/// | 2 | 2 | length of all headers |
/// | 4 | 2 | GSO size: payload of a segment |
/// | 6 | 2 | where the checksum begins |
/// | 8 | 2 | offset of the checksum field from there |
///
/// Numbers have the byte order of the machine. Source: `linux/virtio_net.h`.
pub const VNET_HEADER_LENGTH: usize = 10;
