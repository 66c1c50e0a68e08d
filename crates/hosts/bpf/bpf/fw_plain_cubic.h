/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Plain ACKs of CUBIC (see fw_plain.h): ACKs in an epoch of congestion avoidance, and ACKs that
 * find the window not full, which only update times. The kernel's times are microseconds; a state
 * with other times, or times that do not fit, is not plain.
 */
#ifndef FW_PLAIN_CUBIC_H
#define FW_PLAIN_CUBIC_H

#include "fw_cubic.h"
#include "fw_plain.h"

#define FW_NO_EPOCH U32_MAX

/* Fields of struct fw_cubic; its `heard` is that of the glue. */
struct fw_plain_cubic {
	u32 cwnd;
	u32 srtt; /* nanoseconds */
	u32 elapsed_us;
	u32 carry; /* FW_NO_EPOCH: the window cannot grow */
	u32 k_us;
	u32 w_max;
	u32 w_est;
	u32 credit;
	u32 cwnd_prior;
};

/* Copies back the values that plain ACKs change; the last ACK arrived at `heard` nanoseconds. */
FW_INLINE void fw_plain_cubic_back(const struct fw_plain_cubic *plain, struct fw_cubic *cubic,
				   u64 heard)
{
	struct fw_memory *memory = &cubic->memory;

	cubic->reno.cwnd = plain->cwnd;
	cubic->srtt = plain->srtt;
	cubic->heard = heard;
	if (plain->carry == FW_NO_EPOCH)
		return;
	memory->epoch.elapsed = plain->elapsed_us * 1000ull;
	memory->epoch.carry = plain->carry;
	memory->epoch.w_est = plain->w_est;
	memory->growth.credit = plain->credit;
}

/* Extracts an epoch of congestion avoidance. Returns whether there is one that fits. */
FW_INLINE int fw_plain_epoch_of(struct fw_plain_cubic *plain, const struct fw_cubic *cubic)
{
	const struct fw_memory *memory = &cubic->memory;
	const struct fw_epoch *epoch = &memory->epoch;

	if (cubic->reno.cwnd < cubic->reno.ssthresh || !memory->has_epoch ||
	    memory->w_max != epoch->curve.w_max ||
	    !fw_plain_growth(&memory->growth, cubic->reno.mss))
		return 0;
	plain->elapsed_us = epoch->elapsed / 1000;
	plain->carry = epoch->carry;
	plain->k_us = epoch->curve.k_us;
	plain->w_max = memory->w_max;
	plain->w_est = epoch->w_est;
	plain->credit = memory->growth.credit;
	plain->cwnd_prior = memory->cwnd_prior;
	return plain->elapsed_us * 1000ull == epoch->elapsed && plain->carry == epoch->carry &&
	       plain->carry != FW_NO_EPOCH && plain->k_us == epoch->curve.k_us;
}

/* Extracts the plain state. Returns whether the state is plain. */
FW_INLINE int fw_plain_cubic_of(struct fw_plain_cubic *plain, const struct fw_cubic *cubic, u64 heard)
{
	if (cubic->reno.reduced || !cubic->has_srtt || !cubic->has_heard)
		return 0;
	if (!fw_plain_epoch_of(plain, cubic))
		plain->carry = FW_NO_EPOCH;
	plain->cwnd = cubic->reno.cwnd;
	plain->srtt = cubic->srtt;
	return plain->srtt == cubic->srtt && cubic->heard == heard;
}

/* Whether the state after this ACK fits; the previous ACK was at `heard`. srtt fits if rtt does. */
FW_INLINE int fw_plain_cubic_takes(const struct fw_plain_cubic *plain, const struct fw_ack *ack,
				   u64 heard)
{
	if (plain->carry == FW_NO_EPOCH)
		return !ack->cwnd_limited && ack->rtt <= U32_MAX;
	return ack->now - heard <= (u64)(U32_MAX - plain->elapsed_us) * 1000 && ack->rtt <= U32_MAX;
}

/* As fw_cubic_on_ack after an ACK at `heard`; all times are whole microseconds, in nanoseconds. */
FW_INLINE void fw_plain_cubic_on_ack(struct fw_plain_cubic *plain, u32 mss, const struct fw_ack *ack,
				     u64 heard)
{
	struct fw_cubic cubic = { .has_srtt = 1, .has_heard = 1 };
	struct fw_memory *memory = &cubic.memory;
	struct fw_growth growth = { .mss = mss, .limit_segments = U32_MAX, .byte_counting = 1 };

	cubic.reno.mss = mss;
	memory->growth = growth;
	memory->has_epoch = 1;
	memory->w_max = plain->w_max;
	memory->cwnd_prior = plain->cwnd_prior;
	memory->epoch.curve.w_max = plain->w_max;
	memory->epoch.curve.k_us = plain->k_us;
	fw_plain_cubic_back(plain, &cubic, heard);
	fw_cubic_on_ack(&cubic, ack);
	plain->srtt = cubic.srtt;
	if (plain->carry == FW_NO_EPOCH)
		return;
	plain->cwnd = cubic.reno.cwnd;
	/* The elapsed time advances only on ACKs for which the window may grow. */
	if (memory->epoch.elapsed != plain->elapsed_us * 1000ull)
		plain->elapsed_us += (u32)((ack->now - heard) / 1000);
	plain->carry = memory->epoch.carry;
	plain->w_est = memory->epoch.w_est;
	plain->credit = memory->growth.credit;
}

#endif
