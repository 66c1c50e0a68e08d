/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Compound TCP with its usual constants: a C version of crates/protocols/cc/src/compound.rs and
 * delay.rs, function by function.
 */
#ifndef FW_COMPOUND_H
#define FW_COMPOUND_H

#include "fw_reno.h"

#define FW_COMPOUND_SAMPLES 3
#define FW_GAMMA_SEGMENTS 30
#define FW_GAMMA_LEAST_SEGMENTS 5
#define FW_GAMMA_MOST_SEGMENTS 30
#define FW_LOW_WINDOW_SEGMENTS 38

/* cc::delay::Delay. */
struct fw_delay {
	u64 base;
	u64 end;
	u64 least;
	u32 samples;
	u8 has_base;
	u8 has_end;
	u8 has_least;
};

struct fw_windows {
	u32 cwnd;
	u32 dwnd;
	u32 ssthresh;
	u32 loss_ssthresh;
	u32 gamma;
};

struct fw_compound {
	struct fw_delay delay;
	u64 reduced_until;
	u32 mss;
	u32 initial_window;
	struct fw_growth growth;
	struct fw_windows windows;
	struct fw_windows undo;
	u32 reno_diff;
	u8 has_reno_diff;
	u8 has_undo;
	u8 reduced; /* enum fw_reduced */
};

FW_INLINE void fw_delay_sample(struct fw_delay *delay, const struct fw_ack *ack)
{
	if (!ack->has_rtt)
		return;
	delay->base = delay->has_base ? fw_min64(delay->base, ack->rtt) : ack->rtt;
	delay->least = delay->has_least ? fw_min64(delay->least, ack->rtt) : ack->rtt;
	delay->has_base = 1;
	delay->has_least = 1;
	if (delay->samples != U32_MAX)
		delay->samples++;
}

FW_INLINE void fw_delay_restart(struct fw_delay *delay)
{
	delay->has_end = 0;
	delay->samples = 0;
	delay->has_least = 0;
}

/* win * (1 - base/rtt): bytes queued on the path; zero if the round-trip time is zero. */
FW_INLINE u32 fw_backlog(u32 win, u64 base, u64 rtt)
{
	return rtt ? fw_divide(fw_mul(win, fw_sub64(rtt, base)), rtt) : 0;
}

/* All other fields are zero. */
FW_INLINE void fw_compound_init(struct fw_compound *compound, const struct fw_initial *initial)
{
	compound->mss = fw_max32(initial->mss, 1);
	compound->initial_window = fw_max32(initial->initial_window, compound->mss);
	compound->growth = fw_growth_new(initial);
	compound->windows.cwnd = fw_max32(initial->cwnd, compound->mss);
	compound->windows.ssthresh = initial->ssthresh;
	compound->windows.loss_ssthresh = initial->ssthresh;
	compound->windows.gamma = fw_mul32(compound->mss, FW_GAMMA_SEGMENTS);
}

FW_INLINE u32 fw_compound_cwnd(const struct fw_compound *compound)
{
	return fw_add32(compound->windows.cwnd, compound->windows.dwnd);
}

FW_INLINE int fw_compound_in_slow_start(const struct fw_compound *compound)
{
	return compound->windows.cwnd < compound->windows.loss_ssthresh;
}

/* max(win^(3/4) / 8 - 1, 0) segments, in bytes. */
FW_INLINE u32 fw_compound_gain(u32 win, u32 mss)
{
	/* win^3 * mss in 128 bits. */
	struct fw_u128 fourth = fw_mul((u64)win * win, (u64)win * mss);

	return fw_sub32((u32)fw_fourth_root(fourth.hi, fourth.lo) / 8, mss);
}

/* Updates dwnd, once per round. */
FW_INLINE void fw_compound_steer(struct fw_compound *compound, u64 base, u64 rtt)
{
	u32 win = fw_compound_cwnd(compound);
	u32 diff = fw_backlog(win, base, rtt);
	struct fw_windows *w = &compound->windows;

	compound->reno_diff = fw_backlog(w->cwnd, base, rtt);
	compound->has_reno_diff = 1;
	if (diff >= w->gamma)
		w->dwnd = fw_sub32(w->dwnd, diff);
	else if (win >= fw_mul32(compound->mss, FW_LOW_WINDOW_SEGMENTS))
		w->dwnd = fw_add32(w->dwnd, fw_compound_gain(win, compound->mss));
}

/* Ends the reduction whose window of data is acknowledged. */
FW_INLINE void fw_compound_acknowledge(struct fw_compound *compound, u64 una)
{
	if (compound->reduced && una >= compound->reduced_until)
		compound->reduced = FW_NOT_REDUCED;
}

/* Ends the round if this ACK acknowledges its last byte. */
FW_INLINE void fw_compound_end_round(struct fw_compound *compound, const struct fw_ack *ack)
{
	struct fw_delay *delay = &compound->delay, over;

	if (delay->has_end && ack->una < delay->end)
		return;
	over = *delay;
	fw_delay_restart(delay);
	delay->has_end = 1;
	delay->end = ack->next;
	if (!over.has_end || !over.has_base)
		return;
	if (ack->in_recovery || !ack->cwnd_limited || fw_compound_in_slow_start(compound))
		return;
	if (over.samples >= FW_COMPOUND_SAMPLES)
		fw_compound_steer(compound, over.base, over.has_least ? over.least : over.base);
}

/* TUBE: gamma moves towards three quarters of the backlog that the loss window causes. */
FW_INLINE void fw_compound_tune_gamma(struct fw_compound *compound)
{
	u32 old = compound->windows.gamma, mixed;

	if (!compound->has_reno_diff)
		return;
	compound->has_reno_diff = 0;
	mixed = fw_add32(old - old / 2, (u32)((u64)compound->reno_diff * 3 / 4) / 2);
	mixed = fw_max32(mixed, fw_mul32(compound->mss, FW_GAMMA_LEAST_SEGMENTS));
	compound->windows.gamma =
		fw_min32(mixed, fw_mul32(compound->mss, FW_GAMMA_MOST_SEGMENTS));
}

/* Reduces the window and the loss window to half of each, or by `part` of that reduction. */
FW_INLINE void fw_compound_reduce(struct fw_compound *compound, struct fw_fraction part)
{
	struct fw_windows *w = &compound->windows;
	u32 win = fw_compound_cwnd(compound), least = fw_mul32(compound->mss, 2), target;

	fw_compound_tune_gamma(compound);
	target = fw_max32(fw_of_way(part, win, win - win / 2), least);
	w->cwnd = fw_max32(fw_of_way(part, w->cwnd, w->cwnd / 2), least);
	w->loss_ssthresh = w->cwnd;
	w->dwnd = fw_sub32(target, w->cwnd);
	w->ssthresh = fw_add32(w->cwnd, w->dwnd);
	compound->growth.credit = 0;
}

/* Resets all measurements except the base round-trip time. */
FW_INLINE void fw_compound_forget(struct fw_compound *compound)
{
	compound->windows.dwnd = 0;
	compound->windows.gamma = fw_mul32(compound->mss, FW_GAMMA_SEGMENTS);
	fw_delay_restart(&compound->delay);
	compound->has_reno_diff = 0;
	compound->growth.credit = 0;
}

FW_INLINE void fw_compound_on_ack(struct fw_compound *compound, const struct fw_ack *ack)
{
	struct fw_windows *w = &compound->windows;

	fw_compound_acknowledge(compound, ack->una);
	fw_delay_sample(&compound->delay, ack);
	fw_compound_end_round(compound, ack);
	if (ack->in_recovery || !ack->cwnd_limited || !ack->acked)
		return;
	if (fw_compound_in_slow_start(compound))
		w->cwnd = fw_growth_slow_start(&compound->growth, w->cwnd, w->loss_ssthresh,
					       ack->acked);
	else
		w->cwnd = fw_growth_avoidance(&compound->growth, w->cwnd,
					      fw_compound_cwnd(compound), ack->acked);
}

FW_INLINE void fw_compound_on_loss(struct fw_compound *compound, const struct fw_loss *loss)
{
	struct fw_windows *w = &compound->windows;

	fw_compound_acknowledge(compound, loss->una);
	if (compound->reduced == FW_REDUCED_BY_MARK) {
		w->cwnd = w->loss_ssthresh;
		w->dwnd = fw_sub32(w->ssthresh, w->loss_ssthresh);
	} else {
		compound->undo = *w;
		compound->has_undo = 1;
		fw_compound_reduce(compound, (struct fw_fraction){ 1, 1 });
	}
	compound->reduced = FW_REDUCED_BY_LOSS;
	compound->reduced_until = loss->next;
}

FW_INLINE void fw_compound_on_rto(struct fw_compound *compound, const struct fw_rto *rto)
{
	struct fw_windows *w = &compound->windows;

	if (fw_rto_lowers(rto)) {
		compound->undo = *w;
		compound->has_undo = 1;
		w->ssthresh = fw_max32(rto->flight / 2, fw_mul32(compound->mss, 2));
		w->loss_ssthresh = w->ssthresh;
	}
	fw_compound_forget(compound);
	w->cwnd = compound->mss;
	compound->reduced = FW_NOT_REDUCED;
}

FW_INLINE void fw_compound_on_ecn(struct fw_compound *compound, const struct fw_loss *loss)
{
	fw_compound_acknowledge(compound, loss->una);
	if (compound->reduced)
		return;
	fw_compound_on_loss(compound, loss);
	compound->has_undo = 0;
	compound->reduced = FW_REDUCED_BY_MARK;
}

FW_INLINE void fw_compound_on_spurious(struct fw_compound *compound)
{
	if (!compound->has_undo)
		return;
	compound->has_undo = 0;
	compound->reduced = FW_NOT_REDUCED;
	if (fw_add32(compound->undo.cwnd, compound->undo.dwnd) > fw_compound_cwnd(compound))
		compound->windows = compound->undo;
}

FW_INLINE void fw_compound_on_ack_loss(struct fw_compound *compound, struct fw_fraction part)
{
	struct fw_windows before = compound->windows;

	fw_compound_reduce(compound, part);
	compound->has_undo = 0;
	if (fw_compound_cwnd(compound) > fw_add32(before.cwnd, before.dwnd)) {
		compound->windows.cwnd = before.cwnd;
		compound->windows.dwnd = 0;
	}
}

FW_INLINE void fw_compound_on_idle_restart(struct fw_compound *compound)
{
	fw_compound_forget(compound);
	compound->windows.cwnd = fw_min32(compound->windows.cwnd, compound->initial_window);
}

#endif
