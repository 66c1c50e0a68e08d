/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * CUBIC (RFC 9438) with HyStart++ (RFC 9406): a C version of crates/protocols/cc/src/cubic.rs and
 * hystart.rs, function by function.
 */
#ifndef FW_CUBIC_H
#define FW_CUBIC_H

#include "fw_reno.h"

#define FW_FARTHEST_US (1u << 30)
/* C = 0.4 segments per cubic second: mss * d^3 / FW_CUBE_UNIT bytes for d microseconds. */
#define FW_CUBE_UNIT 2500000000000000000ull
/* 2^61 / FW_CUBE_UNIT, in units of 2^-31, rounded down. */
#define FW_CUBE_RECIPROCAL 1980704062ull

#define FW_LEAST_INCREASE_NS 4000000ull
#define FW_MOST_INCREASE_NS 16000000ull
#define FW_HYSTART_SAMPLES 8
#define FW_CONSERVATIVE_DIVISOR 4
#define FW_CONSERVATIVE_ROUNDS 5
#define FW_HYSTART_LIMIT_SEGMENTS 8

struct fw_hystart {
	u64 last;
	u64 current;
	u64 end;
	u64 baseline;
	u32 samples;
	u32 rounds;
	u32 most; /* maximum that an ACK adds */
	u8 on; /* during the first slow start */
	u8 has_last;
	u8 has_current;
	u8 has_end;
	u8 conservative;
};

struct fw_curve {
	u64 k_us;
	u32 w_max;
};

struct fw_epoch {
	u64 elapsed;
	u64 carry;
	struct fw_curve curve;
	u32 w_est;
};

/* State to restore after a spurious loss, besides cwnd and ssthresh. */
struct fw_memory {
	struct fw_epoch epoch;
	struct fw_growth growth;
	u32 w_max;
	u32 cwnd_prior;
	u32 has_epoch;
};

struct fw_cubic {
	struct fw_reno reno;
	struct fw_hystart first;
	struct fw_memory memory;
	struct fw_memory undo;
	u64 srtt;
	u64 heard;
	u8 has_undo;
	u8 has_srtt;
	u8 has_heard;
};

/* The growth of the window for an ACK of `acked` bytes. */
FW_INLINE u32 fw_hystart_growth(const struct fw_hystart *first, u32 acked)
{
	u32 counted = fw_min32(acked, first->most);

	return first->conservative ? counted / FW_CONSERVATIVE_DIVISOR : counted;
}

/* RttThresh: the minimum increase over `last` that counts. */
FW_INLINE u64 fw_hystart_increase(u64 last)
{
	return fw_min64(fw_max64(last / 8, FW_LEAST_INCREASE_NS), FW_MOST_INCREASE_NS);
}

/* Enters conservative slow start when the delay has grown; leaves it when the delay has fallen. */
FW_INLINE void fw_hystart_judge(struct fw_hystart *first)
{
	if (!first->has_current || first->samples < FW_HYSTART_SAMPLES)
		return;
	if (first->conservative) {
		first->conservative = first->current >= first->baseline;
	} else if (first->has_last &&
		   first->current >= first->last + fw_hystart_increase(first->last)) {
		first->conservative = 1;
		first->baseline = first->current;
		first->rounds = 0;
	}
}

/* Begins the next round. Returns whether conservative slow start has lasted long enough. */
FW_INLINE int fw_hystart_end_round(struct fw_hystart *first)
{
	first->last = first->current;
	first->has_last = first->has_current;
	first->has_current = 0;
	first->samples = 0;
	if (!first->conservative)
		return 0;
	return ++first->rounds >= FW_CONSERVATIVE_ROUNDS;
}

/* Handles an ACK's round-trip sample. Returns whether slow start has ended. */
FW_INLINE int fw_hystart_is_over(struct fw_hystart *first, const struct fw_ack *ack)
{
	int ended;

	if (ack->has_rtt) {
		first->current =
			first->has_current ? fw_min64(first->current, ack->rtt) : ack->rtt;
		first->has_current = 1;
		if (first->samples != U32_MAX)
			first->samples++;
	}
	fw_hystart_judge(first);
	ended = first->has_end && ack->una >= first->end;
	if (!ended && first->has_end)
		return 0;
	first->has_end = 1;
	first->end = ack->next;
	return ended && fw_hystart_end_round(first);
}

/* The curve that has the value `cwnd` now and its plateau at `w_max`, or its plateau now. */
FW_INLINE struct fw_curve fw_curve_through(u32 cwnd, u32 w_max, u32 mss)
{
	struct fw_u128 cubed = fw_mul(fw_sub32(w_max, cwnd), 5000000000000000000ull);
	u64 divisor = (u64)mss * 2;
	u64 high = cubed.hi / divisor;
	u64 low = fw_divide((struct fw_u128){ cubed.hi % divisor, cubed.lo }, divisor);
	struct fw_curve curve = {
		.k_us = w_max > cwnd ? fw_cube_root(high, low) : 0,
		.w_max = fw_max32(w_max, cwnd),
	};

	return curve;
}

/* mss * distance^3 / FW_CUBE_UNIT, rounded down, or up if `up`; at most U32_MAX.
 *
 * The product's upper bits times the reciprocal are at most six below the quotient. The remainder
 * is then below 2^64, so that the product's lower word suffices to correct it. */
FW_INLINE u32 fw_curve_offset(u32 mss, u32 distance, int up)
{
	u64 square = (u64)distance * distance, quotient, rest;
	struct fw_u128 cube = fw_mul(square, distance);
	struct fw_u128 product = fw_mul(cube.lo, mss);

	product.hi += cube.hi * mss;
	if (product.hi >> 29)
		return U32_MAX;
	quotient = (product.hi << 3 | product.lo >> 61) * FW_CUBE_RECIPROCAL >> 31;
	rest = product.lo - quotient * FW_CUBE_UNIT;
	quotient += rest / FW_CUBE_UNIT;
	if (up && rest % FW_CUBE_UNIT)
		quotient++;
	return fw_clip32(quotient);
}

/* W_cubic at `at` nanoseconds, in bytes, rounded down. */
FW_INLINE u32 fw_curve_window(const struct fw_curve *curve, u32 mss, u64 at)
{
	u64 t = at / 1000, k = curve->k_us;

	if (t < k)
		return fw_sub32(curve->w_max,
				fw_curve_offset(mss, fw_min64(k - t, FW_FARTHEST_US), 1));
	return fw_add32(curve->w_max, fw_curve_offset(mss, fw_min64(t - k, FW_FARTHEST_US), 0));
}

FW_INLINE u32 fw_cubic_beta(u32 window)
{
	return (u64)window * 7 / 10;
}

/* All other fields are zero. */
FW_INLINE void fw_cubic_init(struct fw_cubic *cubic, const struct fw_initial *initial)
{
	fw_reno_init(&cubic->reno, initial);
	cubic->first.on = initial->ssthresh == U32_MAX;
	cubic->first.most = fw_mul32(cubic->reno.mss, fw_max32(initial->slow_start_segments,
							       FW_HYSTART_LIMIT_SEGMENTS));
	cubic->memory.growth = fw_growth_new(initial);
}

FW_INLINE void fw_cubic_slow_start(struct fw_cubic *cubic, const struct fw_ack *ack)
{
	struct fw_reno *reno = &cubic->reno;

	if (!cubic->first.on) {
		fw_reno_slow_start(reno, ack->acked);
		return;
	}
	fw_reno_set_cwnd(reno,
			 fw_add32(reno->cwnd, fw_hystart_growth(&cubic->first, ack->acked)));
	if (fw_hystart_is_over(&cubic->first, ack)) {
		cubic->first.on = 0;
		reno->ssthresh = fw_min32(reno->ssthresh, reno->cwnd);
	}
}

/* Handles the round-trip sample. Returns the nanoseconds since the last ACK. */
FW_INLINE u64 fw_cubic_observe(struct fw_cubic *cubic, const struct fw_ack *ack)
{
	u64 since = cubic->has_heard ? fw_sub64(ack->now, cubic->heard) : 0;

	if (ack->has_rtt) {
		cubic->srtt = cubic->has_srtt
				      ? cubic->srtt - cubic->srtt / 8 + ack->rtt / 8
				      : ack->rtt;
		cubic->has_srtt = 1;
	}
	cubic->heard = ack->now;
	cubic->has_heard = 1;
	return since;
}

/* Advances the epoch by `since`, or begins a new one. */
FW_INLINE void fw_memory_run(struct fw_memory *memory, u32 cwnd, u32 mss, u64 since)
{
	struct fw_epoch *epoch = &memory->epoch;

	if (memory->has_epoch) {
		epoch->elapsed = fw_add64(epoch->elapsed, since);
	} else {
		memory->has_epoch = 1;
		epoch->elapsed = 0;
		epoch->curve = fw_curve_through(cwnd, memory->w_max, mss);
		epoch->w_est = cwnd;
		epoch->carry = 0;
	}
	memory->w_max = epoch->curve.w_max;
}

/* Updates W_est for an ACK. */
FW_INLINE u32 fw_memory_estimate(struct fw_memory *memory, u32 cwnd, u32 acked)
{
	struct fw_epoch *epoch = &memory->epoch;
	u32 window = cwnd;

	if (epoch->w_est < memory->cwnd_prior)
		window = fw_clip32((u64)cwnd * 17 / 9);
	epoch->w_est = fw_growth_avoidance(&memory->growth, epoch->w_est, window, acked);
	return epoch->w_est;
}

/* cwnd after an ACK, on the way to `target`. */
FW_INLINE u32 fw_memory_approach(struct fw_memory *memory, u32 cwnd, u32 target, u32 acked)
{
	struct fw_epoch *epoch = &memory->epoch;
	u32 counted = fw_min32(fw_growth_counted(&memory->growth, acked), cwnd);
	u64 earned = (u64)(target - cwnd) * counted + epoch->carry, step;

	if (earned < cwnd) {
		epoch->carry = earned;
		return cwnd;
	}
	step = earned / cwnd;
	epoch->carry = earned - step * cwnd;
	return fw_add32(cwnd, fw_clip32(step));
}

/* Congestion avoidance for an ACK that arrived `since` nanoseconds after the last one. */
FW_INLINE void fw_cubic_avoid(struct fw_cubic *cubic, u32 acked, u64 since)
{
	struct fw_memory *memory = &cubic->memory;
	u32 cwnd = cubic->reno.cwnd, mss = cubic->reno.mss, now, ahead, w_est, most;
	u64 srtt = cubic->has_srtt ? cubic->srtt : 0;

	fw_memory_run(memory, cwnd, mss, since);
	now = fw_curve_window(&memory->epoch.curve, mss, memory->epoch.elapsed);
	w_est = fw_memory_estimate(memory, cwnd, acked);
	if (now < w_est) {
		fw_reno_set_cwnd(&cubic->reno, fw_max32(cwnd, w_est));
		return;
	}
	ahead = fw_curve_window(&memory->epoch.curve, mss, fw_add64(memory->epoch.elapsed, srtt));
	most = fw_clip32((u64)cwnd + cwnd / 2);
	ahead = fw_min32(fw_max32(ahead, cwnd), most);
	fw_reno_set_cwnd(&cubic->reno, fw_memory_approach(memory, cwnd, ahead, acked));
}

/* Ends the epoch when a window of `cwnd` is reduced. */
FW_INLINE void fw_cubic_reduced(struct fw_cubic *cubic, u32 cwnd)
{
	struct fw_memory *memory = &cubic->memory;

	cubic->first.on = 0;
	cubic->undo = *memory;
	cubic->has_undo = 1;
	memory->w_max = cwnd < memory->w_max ? (u32)((u64)cwnd * 17 / 20) : cwnd;
	memory->cwnd_prior = cwnd;
	memory->has_epoch = 0;
	memory->growth.credit = 0;
}

FW_INLINE void fw_cubic_on_ack(struct fw_cubic *cubic, const struct fw_ack *ack)
{
	u64 since = fw_cubic_observe(cubic, ack);

	if (!fw_reno_may_grow(&cubic->reno, ack))
		return;
	if (fw_reno_in_slow_start(&cubic->reno))
		fw_cubic_slow_start(cubic, ack);
	else
		fw_cubic_avoid(cubic, ack->acked, since);
}

FW_INLINE void fw_cubic_on_loss(struct fw_cubic *cubic, const struct fw_loss *loss)
{
	u32 before = cubic->reno.cwnd;

	if (fw_reno_loss_to(&cubic->reno, loss, fw_cubic_beta(loss->flight)))
		fw_cubic_reduced(cubic, before);
}

FW_INLINE void fw_cubic_on_rto(struct fw_cubic *cubic, const struct fw_rto *rto)
{
	u32 before = cubic->reno.cwnd;

	if (fw_reno_timeout_to(&cubic->reno, rto, fw_cubic_beta(rto->flight)))
		fw_cubic_reduced(cubic, before);
	cubic->memory.w_max = 0;
	cubic->memory.has_epoch = 0;
}

FW_INLINE void fw_cubic_on_ecn(struct fw_cubic *cubic, const struct fw_loss *loss)
{
	u32 before = cubic->reno.cwnd;

	if (fw_reno_mark_to(&cubic->reno, loss, fw_cubic_beta(loss->flight))) {
		fw_cubic_reduced(cubic, before);
		cubic->has_undo = 0;
	}
}

FW_INLINE void fw_cubic_on_spurious(struct fw_cubic *cubic)
{
	u32 before = cubic->reno.cwnd;

	fw_reno_on_spurious(&cubic->reno);
	if (cubic->has_undo && cubic->reno.cwnd > before)
		cubic->memory = cubic->undo;
	cubic->has_undo = 0;
}

FW_INLINE void fw_cubic_on_ack_loss(struct fw_cubic *cubic, struct fw_fraction part)
{
	u32 before = cubic->reno.cwnd;

	fw_reno_ack_loss_to(&cubic->reno, fw_of_way(part, before, fw_cubic_beta(before)));
	fw_cubic_reduced(cubic, before);
	cubic->has_undo = 0;
}

FW_INLINE void fw_cubic_on_idle_restart(struct fw_cubic *cubic, u64 idle)
{
	struct fw_memory *memory = &cubic->memory;

	cubic->heard += cubic->has_heard ? idle : 0;
	fw_reno_on_idle_restart(&cubic->reno);
	if (memory->has_epoch)
		memory->epoch.w_est = fw_min32(memory->epoch.w_est, cubic->reno.cwnd);
}

#endif
