/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * From the kernel's callbacks to the events of an algorithm and back. A program defines FW_LAW (its
 * name, at most 15 characters), `struct fw_law` and the functions fw_law_*, then includes this.
 *
 * The kernel keeps loss detection, recovery (PRR), pacing and offload, as for its own Reno; the
 * algorithm computes windows. The kernel calls pkts_acked once for each ACK while data is in
 * flight, before it changes its state for that ACK: the state seen there is that before the ACK.
 */
#ifndef FW_GLUE_H
#define FW_GLUE_H

#include "fw_kernel.h"
#include "fw_reno.h"
#include "fw_tell.h"

struct fw_connection {
	struct fw_seen seen;
	u64 una; /* stream offset; its lower half is snd_una, as fw_hot.h assumes */
	u64 delivered;
	u64 heard_us; /* time of the last ACK */
	u32 snd_una;
	u32 lost; /* tp->lost */
	u32 retransmissions; /* tp->total_retrans */
	u32 retrans_out; /* tp->retrans_out */
	u32 mss;
	u32 generation; /* of the targets; only for TCP-AV */
	u32 window_bytes; /* the algorithm's window, and the same in segments */
	u32 window;
	u32 timed_out; /* whether CA_EVENT_LOSS came, until set_state follows */
	struct fw_law law;
};

struct {
	FW_UINT(type, BPF_MAP_TYPE_SK_STORAGE);
	FW_UINT(map_flags, BPF_F_NO_PREALLOC);
	int FW_TYPE(key);
	struct fw_connection FW_TYPE(value);
} fw_conns FW_SECTION(".maps");

/* Functions of an algorithm, defined by a program, or by fw_watched.h for watched algorithms. */
static void fw_law_init(struct fw_connection *c, struct tcp_sock *tp,
			const struct fw_initial *initial);
static void fw_law_on_ack(struct fw_connection *c, struct tcp_sock *tp, const struct fw_ack *ack);
static void fw_law_on_loss(struct fw_law *law, const struct fw_loss *loss);
static void fw_law_on_rto(struct fw_law *law, const struct fw_rto *rto);
static void fw_law_on_ecn(struct fw_law *law, const struct fw_loss *loss);
static void fw_law_on_spurious(struct fw_law *law);
static void fw_law_on_idle_restart(struct fw_law *law, u64 idle);
static void fw_law_set_mss(struct fw_law *law, u32 mss);
static u32 fw_law_cwnd(const struct fw_law *law);
static u32 fw_law_ssthresh(const struct fw_law *law);

/* The algorithm's window is in bytes, the kernel's in segments. */
FW_INLINE u32 fw_window(struct fw_connection *c, const struct tcp_sock *tp)
{
	u32 bytes = fw_law_cwnd(&c->law);

	if (bytes != c->window_bytes) {
		c->window_bytes = bytes;
		c->window = fw_max32(bytes / c->mss, 1);
	}
	return fw_min32(c->window, tp->snd_cwnd_clamp);
}

FW_INLINE u32 fw_threshold(const struct fw_connection *c)
{
	u32 bytes = fw_law_ssthresh(&c->law);

	return bytes == U32_MAX ? TCP_INFINITE_SSTHRESH : fw_max32(bytes / c->mss, 2);
}

/* As the kernel's tcp_is_cwnd_limited. */
FW_INLINE int fw_cwnd_limited(const struct tcp_sock *tp)
{
	if (FW_BITS(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

FW_INLINE u8 fw_ca_state(const struct tcp_sock *tp)
{
	return FW_BITS((const struct inet_connection_sock *)tp, icsk_ca_state);
}

/* An upper bound of the timestamps of all segments sent so far. A pacing qdisc (fq) gets segments
 * before they leave, together with their departure times. */
FW_INLINE u64 fw_last_sent(const struct tcp_sock *tp)
{
	u32 pacing = ((const struct sock *)tp)->sk_pacing_status;

	return pacing == SK_PACING_FQ ? tp->tcp_wstamp_ns
				      : fw_min64(tp->tcp_wstamp_ns, tp->tcp_clock_cache);
}

/* Length of a tick of the timestamps in nanoseconds. */
FW_INLINE u32 fw_tick_length(const struct tcp_sock *tp)
{
	return FW_HAS(tp, tcp_usec_ts) && FW_BITS(tp, tcp_usec_ts) ? 1000 : 1000000;
}

/* The kernel counts SACKed segments. Only the last may be short, hence the bound. */
FW_INLINE u64 fw_delivered(struct fw_connection *c, const struct tcp_sock *tp)
{
	u64 sacked = fw_min64((u64)tp->sacked_out * c->mss, tp->snd_nxt - tp->snd_una);

	c->delivered = fw_max64(c->delivered, tp->bytes_acked + sacked);
	return c->delivered;
}

/* Whether a retransmission in flight was acknowledged or lost. */
FW_INLINE int fw_covers_retransmission(struct fw_connection *c, const struct tcp_sock *tp)
{
	u32 out = tp->retrans_out, all = tp->total_retrans;
	int covers = c->retrans_out + (all - c->retransmissions) > out;

	if (out == c->retrans_out && all == c->retransmissions)
		return 0;
	c->retrans_out = out;
	c->retransmissions = all;
	return covers;
}

/* Bytes newly SACKed, from the present and the earlier total (see fw_watch_telling). */
FW_INLINE u32 fw_newly_sacked(u32 before, u32 acked, const struct fw_connection *c,
			      const struct tcp_sock *tp)
{
	if (!tp->sacked_out)
		return 0;
	return fw_sub32(fw_mul32(tp->sacked_out, c->mss), fw_sub32(before, acked));
}

#include "fw_hot.h"

/* An algorithm chosen later finds a window that has changed. RFC 6928 allows ten segments, also the
 * kernel's default; at the beginning a route's `initcwnd` applies. The SYN counts as one byte. */
FW_INLINE u32 fw_initial_window(const struct tcp_sock *tp, const struct fw_initial *initial)
{
	if (tp->bytes_acked <= 1)
		return initial->cwnd;
	return fw_min32(initial->cwnd, fw_mul32(initial->mss, 10));
}

FW_SECTION("struct_ops/fw_init") int fw_init(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct fw_totals *totals = fw_the_totals();
	/* As in the kernel's own algorithms, slow start counts all acknowledged bytes. */
	struct fw_initial initial = { .byte_counting = 1, .slow_start_segments = U32_MAX };
	struct fw_connection *c;

	fw_hot_forget(tp);
	/* fw_law_init requires zeroed storage, and new storage is zero. */
	bpf_sk_storage_delete(&fw_conns, tp);
	c = bpf_sk_storage_get(&fw_conns, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c)
		return 0;
	c->mss = fw_max32(tp->mss_cache, 1);
	c->snd_una = tp->snd_una;
	c->una = c->snd_una;
	c->lost = tp->lost;
	c->retrans_out = tp->retrans_out;
	c->retransmissions = tp->total_retrans;
	c->delivered = tp->bytes_acked;
	initial.mss = c->mss;
	initial.cwnd = fw_mul32(tp->snd_cwnd, c->mss);
	initial.initial_window = fw_initial_window(tp, &initial);
	initial.ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH
				   ? U32_MAX
				   : fw_mul32(tp->snd_ssthresh, c->mss);
	fw_law_init(c, tp, &initial);
	if (totals)
		__sync_fetch_and_add(&totals->opened, 1);
	fw_tell(tp, &c->seen, FW_BEGAN);
	return 0;
}

FW_SECTION("struct_ops/fw_release") int fw_release(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct fw_connection *c = bpf_sk_storage_get(&fw_conns, tp, 0, 0);
	struct fw_totals *totals = fw_the_totals();

	if (!c || !totals)
		return 0;
	__sync_fetch_and_add(&totals->closed, 1);
	__sync_fetch_and_add(&totals->acks_lost, c->seen.acks_lost);
	__sync_fetch_and_add(&totals->answers, c->seen.answers);
	fw_tell(tp, &c->seen, FW_ENDED);
	bpf_sk_storage_delete(&fw_conns, tp);
	return 0;
}

/* The full state of a connection. A caller that changes it must call fw_hot_keep afterwards. */
FW_INLINE struct fw_connection *fw_find(struct tcp_sock *tp)
{
	struct fw_connection *c = bpf_sk_storage_get(&fw_conns, tp, 0, 0);

	if (c)
		fw_hot_back(c, tp);
	return c;
}

FW_SECTION("struct_ops/fw_pkts_acked") int fw_pkts_acked(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct fw_connection *c;
	struct fw_ack ack = {};
	u32 una = tp->snd_una, mss = tp->mss_cache, lost = tp->lost;
	s32 rtt_us = sample->rtt_us;
	u8 state = fw_ca_state(tp);

	if (fw_hot_on_ack(tp, rtt_us))
		return 0;
	c = fw_find(tp);
	if (!c)
		return 0;
	if (mss != c->mss && mss) {
		c->mss = mss;
		c->window_bytes = 0;
		fw_law_set_mss(&c->law, mss);
	}
	ack.acked = una - c->snd_una;
	c->snd_una = una;
	c->una += ack.acked;
	ack.una = c->una;
	ack.next = c->una + (tp->snd_nxt - una);
	c->heard_us = tp->tcp_mstamp;
	ack.now = c->heard_us * 1000;
	ack.lost = fw_mul32(lost - c->lost, c->mss);
	c->lost = lost;
	ack.has_rtt = rtt_us >= 0;
	ack.rtt = (u64)(u32)rtt_us * 1000;
	ack.in_recovery = state == TCP_CA_Recovery;
	ack.cwnd_limited = fw_cwnd_limited(tp);
	ack.covers_retransmission = fw_covers_retransmission(c, tp);
	fw_law_on_ack(c, tp, &ack);
	if (state != TCP_CA_CWR && state != TCP_CA_Recovery)
		tp->snd_cwnd = fw_window(c, tp);
	fw_hot_keep(c, tp);
	return 0;
}

/* Does nothing, as fw_pkts_acked has set the window. */
FW_SECTION("struct_ops/fw_cong_avoid") int fw_cong_avoid(u64 *ctx)
{
	return 0;
}

/* The kernel calls this before the reason is known; set_state follows at once and sets ssthresh. */
FW_SECTION("struct_ops/fw_ssthresh") int fw_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];

	return tp->snd_ssthresh;
}

FW_SECTION("struct_ops/fw_set_state") int fw_set_state(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	u8 state = ctx[1], before = fw_ca_state(tp);
	struct fw_connection *c;
	struct fw_loss loss;
	struct fw_rto rto;
	u32 timed_out;

	if (state <= TCP_CA_Disorder || (state == before && state != TCP_CA_Loss))
		return 0;
	c = fw_find(tp);
	if (!c)
		return 0;
	timed_out = c->timed_out;
	c->timed_out = 0;
	/* From Open and Disorder a timeout always comes with CA_EVENT_LOSS. Without the event the
	 * kernel retransmits for another reason than congestion, and keeps its window. */
	if (state == TCP_CA_Loss && before <= TCP_CA_Disorder && !timed_out) {
		fw_hot_keep(c, tp);
		return 0;
	}
	loss.flight = tp->snd_nxt - tp->snd_una;
	loss.una = c->una;
	loss.next = c->una + (tp->snd_nxt - c->snd_una);
	if (state == TCP_CA_Loss) {
		rto.flight = fw_sub32(loss.flight, fw_mul32(tp->sacked_out, c->mss));
		rto.backoff = tp->inet_conn.icsk_retransmits + 1;
		rto.keeps_ssthresh = 0;
		fw_law_on_rto(&c->law, &rto);
	} else if (state == TCP_CA_Recovery) {
		fw_law_on_loss(&c->law, &loss);
	} else {
		fw_law_on_ecn(&c->law, &loss);
	}
	fw_hot_keep(c, tp);
	tp->snd_ssthresh = fw_threshold(c);
	return 0;
}

FW_SECTION("struct_ops/fw_undo_cwnd") int fw_undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct fw_connection *c = fw_find(tp);
	u32 window;

	if (!c)
		return tp->snd_cwnd;
	fw_law_on_spurious(&c->law);
	tp->snd_ssthresh = fw_threshold(c);
	window = fw_window(c, tp);
	fw_hot_keep(c, tp);
	return window;
}

FW_SECTION("struct_ops/fw_cwnd_event") int fw_cwnd_event(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct fw_connection *c;

	u32 event = ctx[1];

	if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_LOSS)
		return 0;
	c = fw_find(tp);
	if (!c)
		return 0;
	if (event == CA_EVENT_LOSS) {
		c->timed_out = 1;
		return 0;
	}
	fw_law_on_idle_restart(&c->law, fw_sub64(bpf_ktime_get_ns(), c->heard_us * 1000));
	fw_hot_keep(c, tp);
	return 0;
}

/* NON_RESTRICTED: sockets of processes without privileges may use the algorithm. */
FW_SECTION(".struct_ops.link")
struct tcp_congestion_ops fw_ops = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = FW_LAW,
	.init = (void *)fw_init,
	.release = (void *)fw_release,
	.ssthresh = (void *)fw_ssthresh,
	.cong_avoid = (void *)fw_cong_avoid,
	.set_state = (void *)fw_set_state,
	.cwnd_event = (void *)fw_cwnd_event,
	.undo_cwnd = (void *)fw_undo_cwnd,
	.pkts_acked = (void *)fw_pkts_acked,
};

FW_SECTION("license") char fw_licence[] = "Dual MIT/GPL";

#endif
