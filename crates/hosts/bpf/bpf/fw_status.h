/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Layouts shared by programs and user space. crates/hosts/bpf/src/status.rs reads it. */
#ifndef FW_STATUS_H
#define FW_STATUS_H

#include "fw_arith.h"

/* First in the storage of each connection, for every algorithm. */
struct fw_seen {
	u64 acks_lost; /* ACKs found lost so far */
	u64 answers; /* reductions for lost ACKs */
	u64 target; /* bits per second; zero: none */
	u64 aimed_us; /* tcp_mstamp when the target was set */
	u64 aimed_bytes; /* bytes acknowledged by then */
};

/* A line of the iterator. */
struct fw_line {
	struct fw_seen seen;
	u64 now_us; /* when the last ACK or packet was handled */
	u64 bytes_acked;
	u64 cookie; /* zero: not yet requested */
	u32 local[4]; /* addresses in network order; IPv4 in the last word */
	u32 remote[4];
	u32 net; /* inode of the network namespace */
	u32 cwnd; /* segments */
	u32 ssthresh; /* segments */
	u32 mss; /* bytes */
	u32 srtt_us;
	u16 local_port;
	u16 remote_port;
	u16 family;
	u8 state; /* TCP_ESTABLISHED is 1 */
	u8 ca_state;
};

enum fw_what { FW_BEGAN = 1, FW_ANSWERED, FW_ENDED };

/* An event of a connection in the ring buffer. */
struct fw_event {
	struct fw_line line;
	u32 what; /* enum fw_what */
	u32 unused;
};

/* Totals of all connections that an algorithm has had; lost ACKs and answers of ended ones only. */
struct fw_totals {
	u64 opened;
	u64 closed;
	u64 acks_lost;
	u64 answers;
	u64 missed; /* events for which the ring buffer had no room */
};

/* The target of a connection. */
struct fw_target {
	u64 rate; /* bits per second of payload */
	u32 cap_to_target;
	u32 floor_at_reno;
};

struct fw_destination {
	u32 prefix_bits; /* of the address; IPv4 is mapped to IPv6 */
	u8 address[16];
};

#endif
