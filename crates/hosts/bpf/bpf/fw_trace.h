/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Layouts shared by the tracer and user space. crates/hosts/bpf/src/trace.rs reads it. */
#ifndef FW_TRACE_H
#define FW_TRACE_H

#include "fw_arith.h"

#define FW_MOST_PORTS 16

/* Filter of the traced connections. */
struct fw_wanted {
	u32 net; /* inode of the network namespace; zero: all */
	u32 ports; /* number of entries of `port`; zero: all ports */
	u16 port[FW_MOST_PORTS]; /* of either end */
};

/* State of a connection when a segment arrived, before the kernel handled it. */
struct fw_event {
	u64 now_ns; /* CLOCK_MONOTONIC */
	u64 bytes_acked;
	u64 pacing; /* bytes per second */
	u32 local[4]; /* addresses in network order; IPv4 in the last word */
	u32 remote[4];
	u32 net; /* inode of the network namespace */
	u32 mss; /* bytes */
	u32 cwnd; /* segments */
	u32 ssthresh; /* segments */
	u32 snd_wnd; /* bytes */
	u32 srtt_us;
	u32 unacked; /* bytes between SND.UNA and SND.NXT */
	u32 in_flight; /* segments neither SACKed nor considered lost */
	u32 retransmitted; /* segments so far */
	u32 lost; /* segments considered lost so far */
	u16 local_port;
	u16 remote_port;
	u16 family;
	u8 ca_state;
	u8 unused;
};

#endif
