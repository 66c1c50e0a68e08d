/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Kernel structures as seen by the programs, with only the used fields. The offsets of fields are
 * resolved when a program is loaded (CO-RE), so that order and padding here have no meaning.
 */
#ifndef FW_KERNEL_H
#define FW_KERNEL_H

#include "fw_arith.h"

#define FW_SECTION(name) __attribute__((section(name), used))
#define FW_UINT(name, value) int(*name)[value]
#define FW_TYPE(name) *name

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

typedef struct {
	s64 counter;
} atomic64_t;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_sock {
	struct sock sk;
	u16 inet_sport;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
	u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	u16 saw_tstamp : 1;
	u32 rcv_tsecr;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u64 tcp_mstamp;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u64 bytes_acked;
	u32 mss_cache;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 max_packets_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 lost;
	u32 srtt_us;
	u8 is_cwnd_limited : 1;
	u8 tcp_usec_ts : 1; /* since 6.7 */
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
};

struct tcp_congestion_ops {
	u32 flags;
	char name[16];
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_map;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

#define SK_PACING_FQ 2
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_INFINITE_SSTHRESH 0x7fffffff
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define AF_INET 2
#define AF_INET6 10

/* Kinds of maps and flags, of linux/bpf.h. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LPM_TRIE 11
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47

/* Helpers by their numbers in linux/bpf.h. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_setsockopt)(void *sk, int level, int option, void *value, int length) =
	(void *)49;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) =
	(void *)107;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static long (*const bpf_seq_write)(struct seq_file *seq, const void *data, u32 length) =
	(void *)127;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

/* Whether this kernel has a field. */
#define FW_HAS(from, field) __builtin_preserve_field_info((from)->field, 2)

/* A bit field: all of its bytes are read at once, then its bits are extracted. */
#define FW_BITS(from, field)                                                                   \
	({                                                                                     \
		const void *fw_at = (const void *)(from) +                                     \
				    __builtin_preserve_field_info((from)->field, 0);           \
		u64 fw_word = 0;                                                               \
		switch (__builtin_preserve_field_info((from)->field, 1)) {                     \
		case 1: fw_word = *(const volatile u8 *)fw_at; break;                          \
		case 2: fw_word = *(const volatile u16 *)fw_at; break;                         \
		case 4: fw_word = *(const volatile u32 *)fw_at; break;                         \
		case 8: fw_word = *(const volatile u64 *)fw_at; break;                         \
		}                                                                              \
		fw_word << __builtin_preserve_field_info((from)->field, 4) >>                  \
			__builtin_preserve_field_info((from)->field, 5);                       \
	})

#endif
