/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * TCP-AV: a C version of crates/protocols/cc/src/tcp_av.rs and tcp_av/{account,severity}.rs.
 */
#ifndef FW_AV_H
#define FW_AV_H

#include "fw_reno.h"

/* Nanobits in a byte. */
#define FW_NANOBITS 8000000000ull
#define FW_PARTS 64
#define FW_V_UNIT (1u << 16)
#define FW_MOST_FLIGHT (1ull << 40)

/* cc::TcpAvConfig; times in nanoseconds, a target of zero is none. */
struct fw_aim {
	u64 target;
	u64 horizon;
	u64 catch_up;
	struct fw_fraction margin;
	struct fw_fraction most;
	struct fw_fraction severe;
	u32 cap_to_target;
	u32 floor_at_reno;
};

/* Shortfall of the delivered data relative to the target, in billionths of a bit. */
struct fw_account {
	struct fw_u128 owed;
	u64 at;
	u64 delivered;
	u32 has_last;
};

struct fw_severity {
	u64 since;
	u64 delivered;
	u64 lost;
	u64 sent;
	u8 has_since;
	u8 has_delivered;
};

struct fw_climb {
	struct fw_growth growth;
	u32 window;
	u32 acked;
	u32 step;
	u32 given;
};

struct fw_av {
	struct fw_reno reno;
	struct fw_aim aim;
	u64 rate; /* the target with its margin; zero: Reno */
	u64 srtt;
	struct fw_account account;
	struct fw_severity severity;
	struct fw_climb climb;
	u32 fallback;
	u32 has_srtt;
};

/* Billionths of a bit that `rate` bits per second deliver in a time, at most 2^127 - 1. */
FW_INLINE struct fw_u128 fw_account_brought(u64 rate, u64 nanoseconds)
{
	struct fw_u128 bits = fw_mul(rate, nanoseconds);

	if (bits.hi >> 63) {
		bits.hi = U64_MAX >> 1;
		bits.lo = U64_MAX;
	}
	return bits;
}

/* Accounts for an ACK; `delivered` counts the bytes delivered since the connection began. */
FW_INLINE void fw_account_note(struct fw_av *av, u64 now, u64 delivered)
{
	struct fw_account *account = &av->account;

	if (account->has_last) {
		struct fw_u128 most = fw_account_brought(av->rate, av->aim.horizon);
		struct fw_u128 least = fw_negative(most);
		struct fw_u128 due = fw_account_brought(av->rate, fw_sub64(now, account->at));
		u64 arrived = fw_sub64(delivered, account->delivered);
		struct fw_u128 owed = fw_add(account->owed, due);

		/* The sum of two positive numbers became negative: it exceeds 127 bits. */
		if ((s64)account->owed.hi >= 0 && (s64)owed.hi < 0)
			owed = (struct fw_u128){ U64_MAX >> 1, U64_MAX };
		owed = fw_add(owed, fw_negative(fw_mul(arrived, FW_NANOBITS)));
		account->owed = fw_less(most, owed) ? most : fw_less(owed, least) ? least : owed;
	}
	account->has_last = 1;
	account->at = now;
	account->delivered = delivered;
}

/* Lets both counts decay over the horizon. */
FW_INLINE void fw_severity_decay(struct fw_severity *severity, u64 horizon, u64 now)
{
	u64 part = fw_max64(horizon / FW_PARTS, 1), parts, passed;
	int i;

	if (!severity->has_since) {
		severity->has_since = 1;
		severity->since = now;
	}
	passed = fw_sub64(now, severity->since);
	if (passed < part)
		return;
	parts = passed / part;
	severity->since += parts * part;
	if (parts > 16 * FW_PARTS) {
		severity->lost = 0;
		severity->sent = 0;
		return;
	}
	for (i = 0; i < 16 * FW_PARTS && i < (int)parts; i++) {
		severity->lost -= severity->lost / FW_PARTS;
		severity->sent -= severity->sent / FW_PARTS;
	}
}

FW_INLINE void fw_severity_count(struct fw_severity *severity, u64 arrived, u64 lost)
{
	severity->lost = fw_add64(severity->lost, lost);
	severity->sent = fw_add64(severity->sent, arrived + lost);
}

FW_INLINE void fw_severity_note(struct fw_av *av, u64 now, u64 delivered, u32 lost)
{
	struct fw_severity *severity = &av->severity;
	u64 before = severity->has_delivered ? severity->delivered : delivered;

	fw_severity_decay(severity, av->aim.horizon, now);
	severity->delivered = delivered;
	severity->has_delivered = 1;
	fw_severity_count(severity, fw_min64(fw_sub64(delivered, before), FW_MOST_FLIGHT), lost);
}

/* v: zero without losses, one if losses are at least as severe as configured. `lost` is below 2^48,
 * which takes half an hour at a terabit per second, and the horizon is seconds. */
FW_INLINE struct fw_fraction fw_av_v(const struct fw_av *av)
{
	struct fw_fraction severe = av->aim.severe, whole = { 1, 1 };
	u64 lost = av->severity.lost, units;
	struct fw_u128 share, bound;

	if (!lost)
		return (struct fw_fraction){ 0, 1 };
	share = fw_mul(lost * FW_V_UNIT, severe.den ? severe.den : 1);
	bound = fw_mul(av->severity.sent, severe.num);
	if (bound.hi || !bound.lo)
		return whole;
	units = fw_divide(share, bound.lo);
	return units < FW_V_UNIT ? (struct fw_fraction){ units, FW_V_UNIT } : whole;
}

/* Bytes in flight at `rate` bits per second and this round-trip time. */
FW_INLINE u32 fw_av_in_flight(u64 rate, u64 rtt)
{
	return fw_clip32(fw_divide(fw_mul(rate, rtt), FW_NANOBITS));
}

/* B': the rate that makes up for the shortfall within the catch-up time. */
FW_INLINE u64 fw_av_wanted_rate(const struct fw_av *av)
{
	u64 most = fw_of64(av->aim.most, av->rate), time = fw_max64(av->aim.catch_up, 1);
	struct fw_u128 owed = av->account.owed;

	if ((s64)owed.hi < 0)
		return fw_min64(fw_sub64(av->rate, fw_divide(fw_negative(owed), time)), most);
	return fw_min64(fw_add64(av->rate, fw_divide(owed, time)), most);
}

/* W_T in bytes; zero before the first round-trip time was measured. */
FW_INLINE u32 fw_av_target_window(const struct fw_av *av)
{
	if (!av->has_srtt)
		return 0;
	return fw_max32(fw_av_in_flight(fw_av_wanted_rate(av), av->srtt),
			fw_mul32(av->reno.mss, 2));
}

/* The window after a loss, from a window `w`. */
FW_INLINE u32 fw_av_after_loss(const struct fw_av *av, u32 w)
{
	u32 limit = fw_min32(fw_of_way(fw_av_v(av), w, w / 2), fw_sub32(w, av->reno.mss));
	u32 wanted = av->has_srtt ? fw_min32(fw_av_target_window(av), limit) : limit;

	return av->aim.floor_at_reno ? fw_max32(wanted, w / 2) : wanted;
}

/* The growth of the window in one round of congestion avoidance. */
FW_INLINE u32 fw_av_step(const struct fw_av *av, u32 cwnd)
{
	u32 target = fw_av_target_window(av);

	if (cwnd >= target && av->aim.cap_to_target && (s64)av->account.owed.hi < 0)
		return 0;
	return fw_max32(fw_of_way(fw_av_v(av), fw_sub32(target, cwnd) / 2, 0), av->reno.mss);
}

/* cwnd after an ACK of `acked` bytes. A round that begins now grows by the present step. */
FW_INLINE u32 fw_av_climb(struct fw_av *av, u32 cwnd, u32 acked)
{
	struct fw_climb *climb = &av->climb;
	u32 due, grown;

	if (!climb->window) {
		climb->window = cwnd;
		climb->step = fw_av_step(av, cwnd);
		climb->given = 0;
	}
	climb->acked = fw_add32(climb->acked, fw_growth_counted(&climb->growth, acked));
	due = (u64)fw_min32(climb->acked, climb->window) * climb->step / climb->window;
	grown = fw_add32(cwnd, fw_sub32(due, climb->given));
	climb->given = due;
	if (climb->acked >= climb->window) {
		climb->acked = fw_min32(climb->acked - climb->window, climb->window);
		climb->window = 0;
	}
	return grown;
}

FW_INLINE void fw_climb_restart(struct fw_climb *climb)
{
	climb->window = 0;
	climb->acked = 0;
}

/* Whether the target or its options differ from the present ones. */
FW_INLINE int fw_av_differs(const struct fw_av *av, const struct fw_aim *aim)
{
	return av->aim.target != aim->target || av->aim.cap_to_target != aim->cap_to_target ||
	       av->aim.floor_at_reno != aim->floor_at_reno;
}

/* Sets a new target: the shortfall is zero again, and the window stays. */
FW_INLINE void fw_av_aim(struct fw_av *av, const struct fw_aim *aim)
{
	av->aim = *aim;
	av->rate = fw_of64(aim->margin, aim->target);
	av->account.owed = (struct fw_u128){ 0, 0 };
	av->account.has_last = 0;
	fw_climb_restart(&av->climb);
}

/* All other fields are zero. */
FW_INLINE void fw_av_init(struct fw_av *av, const struct fw_initial *initial,
			  const struct fw_aim *aim)
{
	fw_reno_init(&av->reno, initial);
	av->climb.growth = fw_growth_new(initial);
	av->fallback = U32_MAX;
	fw_av_aim(av, aim);
}

/* Returns the lowered window; growth begins anew. */
FW_INLINE u32 fw_av_lowers(struct fw_av *av, u32 flight)
{
	fw_climb_restart(&av->climb);
	return fw_av_after_loss(av, fw_min32(av->reno.cwnd, flight));
}

/* Handles the measurements of an ACK. */
FW_INLINE void fw_av_observe(struct fw_av *av, const struct fw_ack *ack)
{
	fw_account_note(av, ack->now, ack->delivered);
	fw_severity_note(av, ack->now, ack->delivered, ack->lost);
	if (!ack->has_rtt)
		return;
	if (av->has_srtt) {
		/* srtt * 7 + rtt fits into 64 bits, as round-trip times are below 73 years. */
		av->srtt = (av->srtt * 7 + ack->rtt) / 8;
		return;
	}
	av->srtt = ack->rtt;
	av->has_srtt = 1;
	fw_reno_limit_ssthresh(&av->reno, fw_av_in_flight(av->rate, ack->rtt));
}

FW_INLINE void fw_av_on_ack(struct fw_av *av, const struct fw_ack *ack)
{
	if (!av->rate) {
		fw_reno_on_ack(&av->reno, ack);
		return;
	}
	fw_av_observe(av, ack);
	if (!fw_reno_may_grow(&av->reno, ack))
		return;
	if (fw_reno_in_slow_start(&av->reno))
		fw_reno_slow_start(&av->reno, ack->acked);
	else
		fw_reno_set_cwnd(&av->reno, fw_av_climb(av, av->reno.cwnd, ack->acked));
}

FW_INLINE void fw_av_on_loss(struct fw_av *av, const struct fw_loss *loss)
{
	u32 half = loss->flight / 2;

	if (fw_reno_loss_to(&av->reno, loss, av->rate ? fw_av_lowers(av, loss->flight) : half))
		av->fallback = half;
}

FW_INLINE void fw_av_on_rto(struct fw_av *av, const struct fw_rto *rto)
{
	u32 target = 0;

	if (!av->rate) {
		fw_reno_on_rto(&av->reno, rto);
		return;
	}
	fw_severity_count(&av->severity, 0, av->reno.mss);
	if (fw_rto_lowers(rto)) {
		av->fallback = rto->flight / 2;
		target = fw_av_lowers(av, rto->flight);
	}
	fw_reno_timeout_to(&av->reno, rto, target);
	if (rto->backoff > 1) {
		fw_reno_limit_ssthresh(&av->reno, av->fallback);
		av->account.owed = (struct fw_u128){ 0, 0 };
	}
}

FW_INLINE void fw_av_on_ecn(struct fw_av *av, const struct fw_loss *loss)
{
	u32 half = loss->flight / 2;

	if (fw_reno_mark_to(&av->reno, loss, av->rate ? fw_av_lowers(av, loss->flight) : half))
		av->fallback = half;
}

FW_INLINE void fw_av_on_ack_loss(struct fw_av *av, struct fw_fraction part)
{
	u32 cwnd = av->reno.cwnd;

	fw_reno_ack_loss_to(&av->reno,
			    fw_of_way(part, cwnd, av->rate ? fw_av_lowers(av, cwnd) : cwnd / 2));
}

FW_INLINE void fw_av_on_idle_restart(struct fw_av *av)
{
	if (av->rate) {
		av->account.has_last = 0;
		fw_climb_restart(&av->climb);
	}
	fw_reno_on_idle_restart(&av->reno);
}

#endif
