// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Sends user space the window of each traced connection whenever a segment arrives for it. */
#include "fw_addresses.h"
#include "fw_trace.h"

#define BPF_RB_AVAIL_DATA 0
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2

static u64 (*const bpf_ringbuf_query)(void *map, u64 flags) = (void *)134;

/* Fields that no algorithm uses; CO-RE ignores the part of a name after ___. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___traced {
	unsigned long sk_pacing_rate;
};

struct tcp_sock___traced {
	u32 snd_wnd;
	u32 packets_out;
	u32 lost_out;
};

#pragma clang attribute pop

/* User space is woken at this number of waiting bytes, and polls several times a second anyway. */
#define FW_MANY_BYTES (1 << 20)

struct {
	FW_UINT(type, BPF_MAP_TYPE_RINGBUF);
	FW_UINT(max_entries, 8 << 20);
} fw_events FW_SECTION(".maps");

struct {
	FW_UINT(type, BPF_MAP_TYPE_ARRAY);
	FW_UINT(max_entries, 1);
	u32 FW_TYPE(key);
	struct fw_wanted FW_TYPE(value);
} fw_wanted FW_SECTION(".maps");

/* Number of events for which the ring buffer had no space. */
struct {
	FW_UINT(type, BPF_MAP_TYPE_ARRAY);
	FW_UINT(max_entries, 1);
	u32 FW_TYPE(key);
	u64 FW_TYPE(value);
} fw_missed FW_SECTION(".maps");

static inline int fw_is_wanted(const struct fw_wanted *wanted, u32 net, u16 local, u16 remote)
{
	if (wanted->net && wanted->net != net)
		return 0;
	if (!wanted->ports)
		return 1;
	for (u32 i = 0; i < FW_MOST_PORTS; i++) {
		if (i < wanted->ports && (wanted->port[i] == local || wanted->port[i] == remote))
			return 1;
	}
	return 0;
}

static inline void fw_fill(struct fw_event *event, const struct tcp_sock *tp)
{
	const struct tcp_sock___traced *also = (const void *)tp;
	const struct sock___traced *sk = (const void *)tp;

	event->now_ns = bpf_ktime_get_ns();
	event->bytes_acked = tp->bytes_acked;
	event->pacing = sk->sk_pacing_rate;
	event->mss = tp->mss_cache;
	event->cwnd = tp->snd_cwnd;
	event->ssthresh = tp->snd_ssthresh;
	event->snd_wnd = also->snd_wnd;
	event->srtt_us = tp->srtt_us >> 3;
	event->unacked = tp->snd_nxt - tp->snd_una;
	/* As the kernel's tcp_packets_in_flight. */
	event->in_flight = also->packets_out - tp->sacked_out - also->lost_out + tp->retrans_out;
	event->retransmitted = tp->total_retrans;
	event->lost = tp->lost;
	event->ca_state = FW_BITS((const struct inet_connection_sock *)tp, icsk_ca_state);
}

FW_SECTION("tp_btf/tcp_probe") int fw_trace(u64 *ctx)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)ctx[0]);
	const struct sock_common *common;
	const struct fw_wanted *wanted;
	struct fw_event *event;
	u16 local, remote;
	u32 key = 0, net;
	u64 *missed, waits;

	wanted = bpf_map_lookup_elem(&fw_wanted, &key);
	if (!tp || !wanted)
		return 0;
	common = &((const struct sock *)tp)->__sk_common;
	net = common->skc_net.net->ns.inum;
	local = common->skc_num;
	remote = __builtin_bswap16(common->skc_dport);
	if (!fw_is_wanted(wanted, net, local, remote))
		return 0;
	event = bpf_ringbuf_reserve(&fw_events, sizeof(*event), 0);
	if (!event) {
		missed = bpf_map_lookup_elem(&fw_missed, &key);
		if (missed)
			__sync_fetch_and_add(missed, 1);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->net = net;
	event->local_port = local;
	event->remote_port = remote;
	event->family = common->skc_family;
	fw_addresses(event->local, event->remote, common);
	fw_fill(event, tp);
	waits = bpf_ringbuf_query(&fw_events, BPF_RB_AVAIL_DATA);
	bpf_ringbuf_submit(event, waits > FW_MANY_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

FW_SECTION("license") char fw_licence[] = "Dual MIT/GPL";
