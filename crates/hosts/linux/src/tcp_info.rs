//! The kernel's state of a TCP connection: `TCP_INFO` (`struct tcp_info` of `linux/tcp.h`).

use core::mem::{offset_of, size_of};
use fairwave_trace::FlowSample;
use fairwave_units::Duration;
use linux_raw_sys::net::tcp_info;
use nix::sys::socket::{getsockopt, sockopt::GetStruct};
use rustix::fd::AsFd;
use rustix::system::uname;

/// Number of bytes that every kernel since 4.19 returns.
const OLD: usize = offset_of!(tcp_info, tcpi_rcv_ooopack);
/// Number of bytes that kernels since 6.7 return, which include timeout counters.
const RECENT: usize = size_of::<tcp_info>();

#[derive(Clone, Copy, Debug)]
struct OldInfo;
#[derive(Clone, Copy, Debug)]
struct RecentInfo;

nix::getsockopt_impl!(OldInfo, libc::IPPROTO_TCP, libc::TCP_INFO, [u8; OLD], GetStruct<[u8; OLD]>);
nix::getsockopt_impl!(
    RecentInfo,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u8; RECENT],
    GetStruct<[u8; RECENT]>
);

/// Extent of the state that this kernel returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Without timeouts.
    Old,
    /// All fields that are used here.
    Recent,
}

impl Version {
    /// The version of the running kernel.
    pub fn running() -> Self {
        Self::of(&uname().release().to_string_lossy())
    }

    fn of(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0_u32);
        if (next(), next()) >= (6, 7) { Self::Recent } else { Self::Old }
    }
}

/// The kernel's state of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    bytes: [u8; RECENT],
}

impl TcpInfo {
    /// The state of a socket; `None` if it has none (any more).
    pub fn of(socket: &impl AsFd, version: Version) -> Option<Self> {
        let socket = socket.as_fd();
        let mut bytes = [0; RECENT];
        match version {
            Version::Old => bytes[..OLD].copy_from_slice(&getsockopt(&socket, OldInfo).ok()?),
            Version::Recent => bytes = getsockopt(&socket, RecentInfo).ok()?,
        }
        Some(Self { bytes })
    }

    /// State of the connection: `TCP_ESTABLISHED` is 1, the others follow in `net/tcp_states.h`.
    pub fn state(&self) -> u8 {
        self.bytes[offset_of!(tcp_info, tcpi_state)]
    }

    /// Bytes that the peer has acknowledged. The SYN of an active open counts as one.
    pub fn bytes_acked(&self) -> u64 {
        let at = offset_of!(tcp_info, tcpi_bytes_acked);
        u64::from_ne_bytes(self.bytes[at..at + 8].try_into().expect("these are eight"))
    }

    fn number(&self, offset: usize) -> u32 {
        let bytes = self.bytes[offset..offset + 4].try_into().expect("these are four");
        u32::from_ne_bytes(bytes)
    }

    fn segments(&self, offset: usize) -> u32 {
        self.number(offset).saturating_mul(self.number(offset_of!(tcp_info, tcpi_snd_mss)))
    }

    /// Segments without data, cumulative: pure ACKs, and those that open and close a connection.
    pub fn pure_acks(&self) -> u64 {
        let all = self.number(offset_of!(tcp_info, tcpi_segs_out));
        u64::from(all.saturating_sub(self.number(offset_of!(tcp_info, tcpi_data_segs_out))))
    }

    /// A sample of a flow's source. The kernel does not count entries into fast recovery: it
    /// returns the present state (`tcpi_ca_state`) and, since 6.7, recoveries after timeouts
    /// (`tcpi_total_rto_recoveries`).
    pub fn sample(&self) -> FlowSample {
        let count = |offset| u64::from(self.number(offset));
        let micros = |offset| Duration::from_micros(u64::from(self.number(offset)));
        let rtt = micros(offset_of!(tcp_info, tcpi_rtt));
        let offset = offset_of!(tcp_info, tcpi_total_rto);
        let timeouts = [self.bytes[offset], self.bytes[offset + 1]];
        FlowSample {
            sent_packets: count(offset_of!(tcp_info, tcpi_segs_out)),
            retransmissions: count(offset_of!(tcp_info, tcpi_total_retrans)),
            timeouts: u64::from(u16::from_ne_bytes(timeouts)),
            cwnd: self.segments(offset_of!(tcp_info, tcpi_snd_cwnd)),
            ssthresh: self.ssthresh(),
            flight: self.flight(),
            srtt: (!rtt.is_zero()).then_some(rtt),
            rto: micros(offset_of!(tcp_info, tcpi_rto)),
            is_of_kernel: true,
            ..FlowSample::default()
        }
    }

    /// Slow start threshold in bytes. The kernel returns 2^31 - 1 segments while it is not set.
    fn ssthresh(&self) -> u32 {
        let unset = i32::MAX as u32;
        let segments = self.number(offset_of!(tcp_info, tcpi_snd_ssthresh));
        let bytes = self.segments(offset_of!(tcp_info, tcpi_snd_ssthresh));
        if segments >= unset { u32::MAX } else { bytes }
    }

    /// Bytes in flight: segments sent, minus those that have left the network, plus
    /// retransmissions.
    fn flight(&self) -> u32 {
        let number = |offset| self.number(offset);
        let left =
            number(offset_of!(tcp_info, tcpi_sacked)) + number(offset_of!(tcp_info, tcpi_lost));
        let outstanding = number(offset_of!(tcp_info, tcpi_unacked)).saturating_sub(left);
        let segments = outstanding + number(offset_of!(tcp_info, tcpi_retrans));
        segments.saturating_mul(number(offset_of!(tcp_info, tcpi_snd_mss)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(fields: &[(usize, u32)]) -> TcpInfo {
        let mut bytes = [0; RECENT];
        for &(offset, value) in fields {
            bytes[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        }
        TcpInfo { bytes }
    }

    #[test]
    fn windows_are_told_in_bytes() {
        let sample = info(&[
            (offset_of!(tcp_info, tcpi_snd_mss), 1448),
            (offset_of!(tcp_info, tcpi_snd_cwnd), 10),
            (offset_of!(tcp_info, tcpi_snd_ssthresh), i32::MAX as u32),
            (offset_of!(tcp_info, tcpi_unacked), 9),
            (offset_of!(tcp_info, tcpi_sacked), 2),
            (offset_of!(tcp_info, tcpi_lost), 3),
            (offset_of!(tcp_info, tcpi_retrans), 1),
            (offset_of!(tcp_info, tcpi_rtt), 1500),
            (offset_of!(tcp_info, tcpi_total_rto), 7),
        ])
        .sample();
        assert_eq!((sample.cwnd, sample.ssthresh, sample.flight), (14_480, u32::MAX, 5 * 1448));
        assert!(sample.is_of_kernel);
        assert_eq!((sample.srtt, sample.timeouts), (Some(Duration::from_micros(1500)), 7));
    }

    #[test]
    fn a_slow_start_threshold_is_told_in_bytes() {
        let fields = [
            (offset_of!(tcp_info, tcpi_snd_mss), 100),
            (offset_of!(tcp_info, tcpi_snd_ssthresh), 7),
        ];
        assert_eq!(info(&fields).sample().ssthresh, 700);
        assert_eq!(info(&[]).sample().srtt, None);
    }

    #[test]
    fn timeouts_are_counted_since_6_7() {
        let versions = ["6.18.44-fc-v669", "6.7.0", "6.6.9", "5.10.0-28-amd64", "7.0-rc1"];
        let (old, recent) = (Version::Old, Version::Recent);
        assert_eq!(versions.map(Version::of), [recent, recent, old, old, recent]);
    }
}
