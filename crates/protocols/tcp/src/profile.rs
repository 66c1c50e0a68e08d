//! TCP as certain systems shipped it: a name for each set of choices.

use crate::{Config, DelayedAck, ReductionBound};
use fairwave_units::Duration;

/// A stack as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its spelling in scenarios and on the command line.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Sources of its numbers.
    pub source: &'static str,
    /// Its usual algorithm, in [`fairwave_cc::ALL`]'s spelling.
    pub congestion_control: &'static str,
    /// Its choices; ports are for the host to set.
    pub config: fn() -> Config,
}

impl Profile {
    /// Every profile, in the order in which it is listed.
    pub const ALL: &'static [Profile] = &[
        Profile {
            name: "default",
            summary: "the standards as they are, large buffers, nothing of one system's own",
            source: "RFC 9293, 5681, 6298, 3390",
            congestion_control: "reno",
            config: Config::default,
        },
        Profile {
            name: "bsd-reno",
            summary: "4.3BSD-Reno: no SACK, coarse timers, an initial window of one segment",
            source: "Wright, Stevens, TCP/IP Illustrated vol. 2, 1995; Fall, Floyd 1996",
            congestion_control: "reno",
            config: bsd_reno,
        },
        Profile {
            name: "linux-2.4",
            summary: "SACK and D-SACK, timestamps, quick ACKs, a least RTO of 200 ms",
            source: "Sarolahti, Kuznetsov, Congestion Control in Linux TCP, USENIX 2002",
            congestion_control: "newreno",
            config: linux_2_4,
        },
        Profile {
            name: "linux-2.4-64k",
            summary: "linux-2.4 with socket buffers set to 64 KiB, as by `iperf -w 64K`",
            source: "Linux 2.4: net/core/sock.c (SO_RCVBUF), tcp_adv_win_scale = 2",
            congestion_control: "newreno",
            config: linux_2_4_sockets_of_64k,
        },
        Profile {
            name: "windows-xp",
            summary: "SACK, a window of 17,520 bytes, retransmits at the second duplicate ACK",
            source: "Microsoft, TCP/IP and NBT configuration for Windows XP, KB 314053",
            congestion_control: "reno",
            config: windows_xp,
        },
        Profile {
            name: "linux-6",
            summary: "initial window of ten, RACK-TLP, PRR, quick ACKs, buffers that grow",
            source: "Linux 6: net/ipv4, Documentation/networking/ip-sysctl.rst; RFC 6928, 9438",
            congestion_control: "cubic",
            config: linux_6,
        },
        Profile {
            name: "ns-2",
            summary: "one-way agents: 1000-byte segments, an ACK each, a least RTO of 200 ms",
            source: "ns-2.35: tcl/lib/ns-default.tcl, tcp/tcp.cc, tcp/tcp-sink.cc",
            congestion_control: "newreno",
            config: ns_2,
        },
    ];

    /// The profile called `name`.
    pub fn find(name: &str) -> Option<&'static Profile> {
        Self::ALL.iter().find(|profile| profile.name == name)
    }
}

const MS: fn(u64) -> Duration = Duration::from_millis;

/// TCP of Net/3, without later additions to 4.3BSD-Reno: timers count ticks of 500 ms, here by the
/// granularity of the RTO, with a minimum of two and a maximum of 128; the first RTO is 6 s, twelve
/// retransmissions, MSL 30 s; sockets have 8 KiB each way.
fn bsd_reno() -> Config {
    Config {
        send_buffer: 8 << 10,
        receive_buffer: 8 << 10,
        window_scaling: false,
        sack: false,
        timestamp_tick: MS(500),
        delayed_ack: DelayedAck { every: 2, timeout: MS(200) },
        nagle: true,
        initial_window_segments: 1,
        byte_counting: false,
        initial_rto: MS(6_000),
        min_rto: MS(1_000),
        max_rto: MS(64_000),
        max_retries: 12,
        time_wait: MS(60_000),
        ..Config::default()
    }
}

/// `tcp_wmem` 16 KiB to 128 KiB, and the window that `tcp_rmem` of 87,380 bytes gives; a clock of
/// 100 Hz; ACKs wait for 40 ms (`TCP_DELACK_MIN`) to 200 ms, here for the minimum.
fn linux_2_4() -> Config {
    Config {
        send_buffer: 16 << 10,
        send_buffer_max: Some(128 << 10),
        receive_buffer: 65_535,
        timestamps: true,
        timestamp_tick: MS(10),
        dsack: true,
        keep_sacks: true,
        delayed_ack: DelayedAck { every: 2, timeout: MS(40) },
        quick_acks: 16,
        nagle: true,
        initial_window_segments: 2,
        byte_counting: false,
        initial_rto: MS(3_000),
        min_rto: MS(200),
        max_rto: MS(120_000),
        max_retries: 15,
        ..Config::default()
    }
}

/// The kernel doubles a program's request by `SO_RCVBUF` and `SO_SNDBUF`, and of a receive buffer
/// keeps a quarter for bookkeeping (`tcp_adv_win_scale` = 2): of 64 KiB asked for, 96 KiB are
/// window. A send buffer counts bookkeeping too, some 2.3 KiB for each segment of 1460 bytes, so
/// that of its 128 KiB about 80 KiB are data. Buffers that were set do not grow.
fn linux_2_4_sockets_of_64k() -> Config {
    Config { send_buffer: 80 << 10, send_buffer_max: None, receive_buffer: 96 << 10, ..linux_2_4() }
}

/// `Agent/TCP/Newreno` and `Agent/TCPSink`: segments of `packetSize_` 1000 bytes and a header of
/// 40, each acknowledged by itself; `windowInit_` 2, `rtxcur_init_` 3 s, `minrto_` 0.2 s,
/// `maxrto_` 60 s, ticks of 10 ms; an ACK adds 1/cwnd. Agents never give up. The window of the
/// receiver is `window_`, 20 segments.
fn ns_2() -> Config {
    Config {
        mss: 1000,
        receive_buffer: 20_000,
        window_scaling: true,
        sack: false,
        delayed_ack: DelayedAck { every: 1, timeout: MS(100) },
        initial_window_segments: 2,
        byte_counting: false,
        initial_rto: MS(3_000),
        min_rto: MS(200),
        max_rto: MS(60_000),
        timer_tick: MS(10),
        max_retries: 255,
        ..Config::default()
    }
}

/// `TcpWindowSize` on Ethernet is twelve segments; `Tcp1323Opts` offers neither scale nor
/// timestamps by default; `TcpMaxDupAcks` is 2, `TcpInitialRtt` 3 s, `TcpMaxDataRetransmissions`
/// 5, `TcpTimedWaitDelay` 240 s. The send buffer is the application's, here 64 KiB.
fn windows_xp() -> Config {
    Config {
        send_buffer: 64 << 10,
        receive_buffer: 17_520,
        window_scaling: false,
        delayed_ack: DelayedAck { every: 2, timeout: MS(200) },
        nagle: true,
        initial_window_segments: 2,
        byte_counting: false,
        duplicate_ack_threshold: 2,
        initial_rto: MS(3_000),
        min_rto: MS(300),
        max_rto: MS(120_000),
        max_retries: 5,
        time_wait: MS(240_000),
        ..Config::default()
    }
}

/// `tcp_wmem` 16 KiB to 4 MiB; half of `tcp_rmem`, 128 KiB to 6 MiB, is window. `tcp_ecn` is 2:
/// marks are answered where the other end asks for it, so that two such ends have none.
fn linux_6() -> Config {
    Config {
        send_buffer: 16 << 10,
        send_buffer_max: Some(4 << 20),
        receive_buffer: 64 << 10,
        receive_buffer_max: Some(3 << 20),
        timestamps: true,
        keep_sacks: true,
        dsack: true,
        ack_cwr: true,
        prr: true,
        prr_bound: ReductionBound::SafeAck,
        rack: true,
        eifel: true,
        frto: true,
        delayed_ack: DelayedAck { every: 2, timeout: MS(40) },
        quick_acks: 16,
        ack_on_read: true,
        rcv_ssthresh: true,
        psh_each_burst: true,
        nagle: true,
        initial_window_segments: 10,
        slow_start_segments: None,
        slow_start_headroom: true,
        reduce_window: true,
        initial_rto: MS(1_000),
        min_rto: MS(200),
        min_rto_over_srtt: true,
        linear_syn_timeouts: 4,
        tolerant_handshake: true,
        max_rto: MS(120_000),
        max_retries: 15,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_its_profile_and_an_algorithm_that_exists() {
        for profile in Profile::ALL {
            assert_eq!(Profile::find(profile.name).map(|p| p.summary), Some(profile.summary));
            let algorithm = profile.congestion_control;
            assert!(fairwave_cc::names().iter().any(|name| name == algorithm), "{algorithm}");
            let config = (profile.config)();
            let mss = if profile.name == "ns-2" { 1000 } else { 1460 };
            assert!(config.min_rto <= config.max_rto && config.mss == mss, "{}", profile.name);
        }
        assert!(Profile::find("linux").is_none());
    }
}
