// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Writes a line for each connection of an algorithm: values of the kernel and of the algorithm. */
#include "fw_line.h"

FW_SECTION("iter/bpf_sk_storage_map") int fw_status(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	const struct fw_seen *seen = ctx->value;
	struct sock *sk = ctx->sk;
	struct fw_line line = {};
	struct tcp_sock *tp;

	if (!sk || !seen)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	fw_line_of(&line, seen, tp, &sk->__sk_common);
	bpf_seq_write(seq, &line, sizeof(line));
	return 0;
}

FW_SECTION("license") char fw_licence[] = "Dual MIT/GPL";
