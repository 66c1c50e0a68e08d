/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Controller events and Reno (RFC 5681): crates/protocols/cc/src/{controller,growth,reno}.rs in C.
 * Windows are in bytes, times in nanoseconds; `una` and `next` are stream offsets.
 */
#ifndef FW_RENO_H
#define FW_RENO_H

#include "fw_arith.h"

/* cc::Initial, without TCP-AV's aims. */
struct fw_initial {
	u32 mss;
	u32 cwnd;
	u32 ssthresh;
	u32 byte_counting;
	u32 slow_start_segments;
	u32 initial_window; /* that of the connection: `cwnd`, unless the algorithm came later */
};

/* cc::AckEvent, with the fields that these algorithms read. */
struct fw_ack {
	u64 now;
	u64 una;
	u64 next;
	u64 delivered;
	u64 rtt; /* if has_rtt */
	u32 acked;
	u32 sacked;
	u32 lost;
	u8 has_rtt;
	u8 in_recovery;
	u8 cwnd_limited;
	u8 covers_retransmission;
	u8 has_echo_gap;
	u32 echo_gap; /* if has_echo_gap */
};

/* cc::LossEvent. */
struct fw_loss {
	u64 una;
	u64 next;
	u32 flight;
};

/* cc::RtoEvent. */
struct fw_rto {
	u32 flight;
	u32 backoff;
	u32 keeps_ssthresh;
};

/* Whether ssthresh is lowered. */
FW_INLINE int fw_rto_lowers(const struct fw_rto *rto)
{
	return rto->backoff <= 1 && !rto->keeps_ssthresh;
}

/* cc::growth::Growth; mss, byte_counting and the limit belong to the connection. */
struct fw_growth {
	u32 mss;
	u32 limit_segments;
	u32 byte_counting;
	u32 credit;
};

enum fw_reduced { FW_NOT_REDUCED, FW_REDUCED_BY_LOSS, FW_REDUCED_BY_MARK };

struct fw_reno {
	u64 reduced_until;
	u32 mss;
	u32 initial_window;
	u32 cwnd;
	u32 ssthresh;
	struct fw_growth growth;
	u32 undo_cwnd;
	u32 undo_ssthresh;
	u32 has_undo;
	u32 reduced; /* enum fw_reduced */
};

FW_INLINE struct fw_growth fw_growth_new(const struct fw_initial *initial)
{
	struct fw_growth growth = {
		.mss = fw_max32(initial->mss, 1),
		.limit_segments = initial->slow_start_segments,
		.byte_counting = initial->byte_counting,
	};
	return growth;
}

/* The part of `acked` that congestion avoidance counts. */
FW_INLINE u32 fw_growth_counted(const struct fw_growth *growth, u32 acked)
{
	return growth->byte_counting ? acked : fw_min32(acked, growth->mss);
}

FW_INLINE u32 fw_growth_slow_start(const struct fw_growth *growth, u32 cwnd, u32 ssthresh, u32 acked)
{
	u32 one = fw_add32(cwnd, fw_min32(acked, growth->mss));
	u32 all = fw_min32(acked, fw_mul32(growth->mss, growth->limit_segments));

	return fw_min32(fw_add32(cwnd, all), fw_max32(ssthresh, one));
}

/* cwnd after `acked` bytes in congestion avoidance; `window` bytes add one segment. */
FW_INLINE u32 fw_growth_avoidance(struct fw_growth *growth, u32 cwnd, u32 window, u32 acked)
{
	growth->credit = fw_add32(growth->credit, fw_growth_counted(growth, acked));
	if (growth->credit < window)
		return cwnd;
	growth->credit -= window;
	return fw_add32(cwnd, growth->mss);
}

FW_INLINE void fw_reno_init(struct fw_reno *reno, const struct fw_initial *initial)
{
	u32 mss = fw_max32(initial->mss, 1);
	u32 cwnd = fw_max32(initial->cwnd, mss);

	reno->mss = mss;
	reno->initial_window = fw_max32(initial->initial_window, mss);
	reno->cwnd = cwnd;
	reno->ssthresh = initial->ssthresh;
	reno->growth = fw_growth_new(initial);
	reno->undo_cwnd = 0;
	reno->undo_ssthresh = 0;
	reno->has_undo = 0;
	reno->reduced = FW_NOT_REDUCED;
	reno->reduced_until = 0;
}

/* Stores the state for an undo, and sets ssthresh to `target`, at least 2 segments. */
FW_INLINE void fw_reno_lower(struct fw_reno *reno, u32 target)
{
	reno->undo_cwnd = reno->cwnd;
	reno->undo_ssthresh = reno->ssthresh;
	reno->has_undo = 1;
	reno->ssthresh = fw_max32(target, fw_mul32(reno->mss, 2));
	reno->growth.credit = 0;
}

/* Ends the reduction whose window of data is acknowledged. */
FW_INLINE void fw_reno_acknowledge(struct fw_reno *reno, u64 una)
{
	if (reno->reduced && una >= reno->reduced_until)
		reno->reduced = FW_NOT_REDUCED;
}

/* Whether this ACK may increase the window. */
FW_INLINE int fw_reno_may_grow(struct fw_reno *reno, const struct fw_ack *ack)
{
	fw_reno_acknowledge(reno, ack->una);
	return !ack->in_recovery && ack->cwnd_limited && ack->acked > 0;
}

FW_INLINE int fw_reno_in_slow_start(const struct fw_reno *reno)
{
	return reno->cwnd < reno->ssthresh;
}

FW_INLINE void fw_reno_slow_start(struct fw_reno *reno, u32 acked)
{
	reno->cwnd = fw_growth_slow_start(&reno->growth, reno->cwnd, reno->ssthresh, acked);
}

FW_INLINE void fw_reno_set_cwnd(struct fw_reno *reno, u32 cwnd)
{
	reno->cwnd = fw_max32(cwnd, reno->mss);
}

FW_INLINE void fw_reno_limit_ssthresh(struct fw_reno *reno, u32 most)
{
	most = fw_max32(most, fw_mul32(reno->mss, 2));
	reno->ssthresh = fw_min32(reno->ssthresh, most);
}

/* Handles a loss with the new window `target`. Returns whether the window was reduced for it. */
FW_INLINE int fw_reno_loss_to(struct fw_reno *reno, const struct fw_loss *loss, u32 target)
{
	int lowers;

	fw_reno_acknowledge(reno, loss->una);
	lowers = reno->reduced != FW_REDUCED_BY_MARK;
	if (lowers)
		fw_reno_lower(reno, target);
	reno->reduced = FW_REDUCED_BY_LOSS;
	reno->reduced_until = loss->next;
	reno->cwnd = reno->ssthresh;
	return lowers;
}

/* As fw_reno_loss_to for a CE mark, which has no effect in a window that was already reduced. */
FW_INLINE int fw_reno_mark_to(struct fw_reno *reno, const struct fw_loss *loss, u32 target)
{
	fw_reno_acknowledge(reno, loss->una);
	if (reno->reduced)
		return 0;
	fw_reno_loss_to(reno, loss, target);
	reno->has_undo = 0;
	reno->reduced = FW_REDUCED_BY_MARK;
	return 1;
}

/* Handles a timeout with the new ssthresh `target`, which applies at its first expiry only,
 * unless a recovery has set ssthresh for that window. */
FW_INLINE int fw_reno_timeout_to(struct fw_reno *reno, const struct fw_rto *rto, u32 target)
{
	int lowers = fw_rto_lowers(rto);

	if (lowers)
		fw_reno_lower(reno, target);
	reno->growth.credit = 0;
	reno->reduced = FW_NOT_REDUCED;
	reno->cwnd = reno->mss;
	return lowers;
}

/* Reduces the window for lost ACKs to `target`; never increases it. */
FW_INLINE void fw_reno_ack_loss_to(struct fw_reno *reno, u32 target)
{
	fw_reno_lower(reno, target);
	reno->has_undo = 0;
	reno->cwnd = fw_min32(reno->cwnd, reno->ssthresh);
}

FW_INLINE void fw_reno_on_ack(struct fw_reno *reno, const struct fw_ack *ack)
{
	if (!fw_reno_may_grow(reno, ack))
		return;
	if (fw_reno_in_slow_start(reno))
		fw_reno_slow_start(reno, ack->acked);
	else
		reno->cwnd =
			fw_growth_avoidance(&reno->growth, reno->cwnd, reno->cwnd, ack->acked);
}

FW_INLINE void fw_reno_on_loss(struct fw_reno *reno, const struct fw_loss *loss)
{
	fw_reno_loss_to(reno, loss, loss->flight / 2);
}

FW_INLINE void fw_reno_on_rto(struct fw_reno *reno, const struct fw_rto *rto)
{
	fw_reno_timeout_to(reno, rto, rto->flight / 2);
}

FW_INLINE void fw_reno_on_ecn(struct fw_reno *reno, const struct fw_loss *loss)
{
	fw_reno_mark_to(reno, loss, loss->flight / 2);
}

FW_INLINE void fw_reno_on_spurious(struct fw_reno *reno)
{
	if (!reno->has_undo)
		return;
	reno->has_undo = 0;
	reno->cwnd = fw_max32(reno->cwnd, reno->undo_cwnd);
	reno->ssthresh = fw_max32(reno->ssthresh, reno->undo_ssthresh);
	reno->reduced = FW_NOT_REDUCED;
}

FW_INLINE void fw_reno_on_ack_loss(struct fw_reno *reno, struct fw_fraction part)
{
	fw_reno_ack_loss_to(reno, fw_of_way(part, reno->cwnd, reno->cwnd / 2));
}

FW_INLINE void fw_reno_on_idle_restart(struct fw_reno *reno)
{
	reno->cwnd = fw_min32(reno->cwnd, reno->initial_window);
	reno->growth.credit = 0;
}

#endif
