/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * State of a connection for user space: values of the kernel and of the algorithm. */
#ifndef FW_LINE_H
#define FW_LINE_H

#include "fw_addresses.h"
#include "fw_status.h"

/* The caller has set the line to zero. */
static inline void fw_line_of(struct fw_line *line, const struct fw_seen *seen,
			      const struct tcp_sock *tp, const struct sock_common *common)
{
	line->seen = *seen;
	line->now_us = tp->tcp_mstamp;
	line->bytes_acked = tp->bytes_acked;
	line->cookie = common->skc_cookie.counter;
	line->net = common->skc_net.net->ns.inum;
	line->cwnd = tp->snd_cwnd;
	line->ssthresh = tp->snd_ssthresh;
	line->mss = tp->mss_cache;
	line->srtt_us = tp->srtt_us >> 3;
	line->family = common->skc_family;
	line->state = common->skc_state;
	line->ca_state = FW_BITS((const struct inet_connection_sock *)tp, icsk_ca_state);
	/* skc_num is zero after a connection was closed. */
	line->local_port = __builtin_bswap16(((const struct inet_sock *)tp)->inet_sport);
	line->remote_port = __builtin_bswap16(common->skc_dport);
	fw_addresses(line->local, line->remote, common);
}

#endif
