// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Writes a line for each connection of a law: what the kernel knows, and what the law saw. */
#include "fw_addresses.h"
#include "fw_status.h"

FW_SECTION("iter/bpf_sk_storage_map") int fw_status(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	const struct fw_seen *seen = ctx->value;
	struct sock *sk = ctx->sk;
	const struct sock_common *common;
	struct fw_line line = {};
	struct tcp_sock *tp;

	if (!sk || !seen)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	common = &sk->__sk_common;
	line.seen = *seen;
	line.now_us = tp->tcp_mstamp;
	line.bytes_acked = tp->bytes_acked;
	line.cookie = common->skc_cookie.counter;
	line.net = common->skc_net.net->ns.inum;
	line.cwnd = tp->snd_cwnd;
	line.ssthresh = tp->snd_ssthresh;
	line.mss = tp->mss_cache;
	line.srtt_us = tp->srtt_us >> 3;
	line.family = common->skc_family;
	line.state = common->skc_state;
	line.ca_state = FW_BITS((const struct inet_connection_sock *)tp, icsk_ca_state);
	line.local_port = common->skc_num;
	line.remote_port = __builtin_bswap16(common->skc_dport);
	fw_addresses(line.local, line.remote, common);
	bpf_seq_write(seq, &line, sizeof(line));
	return 0;
}

FW_SECTION("license") char fw_licence[] = "Dual MIT/GPL";
