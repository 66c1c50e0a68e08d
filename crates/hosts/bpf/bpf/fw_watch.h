/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Congestion control on lost ACKs: crates/protocols/cc/src/{ack_loss,stride}.rs in C, configured as
 * `ack-loss-timestamps` (timestamp echoes as evidence, full reduction, one lost ACK per round
 * suffices). For peers without timestamps the stride is learnt, as in `ack-loss`. The decision
 * falls at the end of the round. fw_literal_on_ack has `ack-loss-literal` on the same state.
 *
 * The learner computes the same weights and stride as the one in Rust, which decays 64 weights and
 * sums them at each ACK. Here only the weights that still decay are updated (bits of `active`), and
 * the sums are updated incrementally.
 */
#ifndef FW_WATCH_H
#define FW_WATCH_H

#include "fw_reno.h"

#define FW_LONGEST 64
#define FW_UNIT (1ull << 20)
#define FW_DECAY_SHIFT 8
/* A weight below this does not decay any more, as the shift gives zero. */
#define FW_LEAST_DECAYING (1ull << FW_DECAY_SHIFT)
#define FW_BOOTSTRAP 64
#define FW_DELAYED 4
#define FW_BEYOND_DELAYED 32
/* From this maximum on, three quarters of it exceed every weight that no longer decays. */
#define FW_CLEAR 1024

#define FW_MEAN_SHIFT 4
#define FW_MOST_ADVANCE (1u << 26)

#define FW_SHARE_ONE (1u << 20)
#define FW_SHARE_G_SHIFT 4

/* The fields that each ACK touches are at the beginning: the state is not in the cache when an ACK
 * arrives, and each cache line costs more than the arithmetic. */
struct fw_learner {
	u64 active; /* bit i: weights[i] still decays */
	u64 total; /* of all weights */
	u64 multiples; /* of the weights in multiples_of */
	u64 multiples_of; /* bit i: i + 1 is a multiple of the mode */
	u32 mode; /* zero: none */
	u32 seen;
	u64 weights[FW_LONGEST];
};

struct fw_round {
	u64 end;
	u64 lost;
	u64 heard;
	u32 has_end;
	u8 answered;
	u8 hold_off;
};

struct fw_watch {
	struct fw_round round;
	u32 whole; /* 16 times the mean bytes of ACKs before which none was lost */
	u32 sacked;
	u32 after_rto;
	u32 share;
	u64 total;
	u32 mss;
	struct fw_learner learner;
};

/* Index of a bit, by the upper six bits of a De Bruijn sequence shifted by that bit. */
#define FW_DE_BRUIJN 0x0218a392cd3d5dbfull
static const u8 fw_bit_of[64] = {
	0, 1, 2, 7, 3, 13, 8, 19, 4, 25, 14, 28, 9, 34, 20, 40,
	5, 17, 26, 38, 15, 46, 29, 48, 10, 31, 35, 54, 21, 50, 41, 57,
	63, 6, 12, 18, 24, 27, 33, 39, 16, 37, 45, 47, 30, 53, 49, 56,
	62, 11, 23, 32, 36, 44, 52, 55, 61, 22, 43, 51, 60, 42, 59, 58,
};

/* The index of the lowest set bit; x is not zero. BPF has no instruction for it, and a search by
 * branches would have too many paths for the verifier. */
FW_INLINE u32 fw_lowest(u64 x)
{
	return fw_bit_of[(x & -x) * FW_DE_BRUIJN >> 58];
}

/* Decays the active weights. Returns their maximum. */
FW_INLINE u64 fw_learner_decay(struct fw_learner *learner)
{
	u64 left = learner->active, most = 0;
	int i;

	for (i = 0; i < FW_LONGEST && left; i++) {
		u32 slot = fw_lowest(left) & (FW_LONGEST - 1);
		u64 weight = learner->weights[slot], lost = weight >> FW_DECAY_SHIFT;

		left &= left - 1;
		weight -= lost;
		learner->weights[slot] = weight;
		learner->total -= lost;
		if (learner->multiples_of >> slot & 1)
			learner->multiples -= lost;
		if (weight < FW_LEAST_DECAYING)
			learner->active &= ~(1ull << slot);
		most = fw_max64(most, weight);
	}
	return most;
}

/* The smallest advance whose weight is at least 3/4 of the maximum; zero without any. */
FW_INLINE u32 fw_learner_mode(const struct fw_learner *learner, u64 most)
{
	u64 left = learner->active;
	int i;

	for (i = 0; i < FW_LONGEST && left; i++) {
		u32 slot = fw_lowest(left) & (FW_LONGEST - 1);

		left &= left - 1;
		if (learner->weights[slot] * 4 >= most * 3)
			return slot + 1;
	}
	return 0;
}

/* As fw_learner_mode over all weights, for the case that few of them still decay. */
FW_CALLED u32 fw_learner_mode_of_all(const struct fw_learner *learner)
{
	u64 most = 0;
	int i;

	if (!learner)
		return 0;
	for (i = 0; i < FW_LONGEST; i++)
		most = fw_max64(most, learner->weights[i]);
	if (!most)
		return 0;
	for (i = 0; i < FW_LONGEST; i++)
		if (learner->weights[i] * 4 >= most * 3)
			return i + 1;
	return 0;
}

/* Sets a new mode, and sums the weights of its multiples. */
FW_CALLED int fw_learner_set_mode(struct fw_learner *learner, u32 mode)
{
	u64 multiples = 0, multiples_of = 0;
	u32 slot, next = mode;

	if (!learner)
		return 0;
	for (slot = 0; slot < FW_LONGEST; slot++) {
		if (slot + 1 != next)
			continue;
		multiples += learner->weights[slot];
		multiples_of |= 1ull << slot;
		next += mode;
	}
	learner->mode = mode;
	learner->multiples = multiples;
	learner->multiples_of = multiples_of;
	return 0;
}

/* Learns from an advance of `segments`; zero is ignored. */
FW_CALLED int fw_learner_observe(struct fw_learner *learner, u32 segments)
{
	u32 slot = segments - 1, mode;
	u64 most;

	if (!learner || !segments)
		return 0;
	most = fw_learner_decay(learner);
	if (slot < FW_LONGEST) {
		learner->weights[slot] += FW_UNIT;
		learner->active |= 1ull << slot;
		learner->total += FW_UNIT;
		if (learner->multiples_of >> slot & 1)
			learner->multiples += FW_UNIT;
		most = fw_max64(most, learner->weights[slot]);
	}
	if (learner->seen != U32_MAX)
		learner->seen++;
	mode = most >= FW_CLEAR ? fw_learner_mode(learner, most) : fw_learner_mode_of_all(learner);
	if (mode != learner->mode)
		fw_learner_set_mode(learner, mode);
	return 0;
}

/* Whether ACKs of single segments come from a delayed-ACK timer. */
FW_INLINE int fw_learner_delays(const struct fw_learner *learner)
{
	u64 one = learner->weights[0], two = learner->weights[1];

	return two * FW_DELAYED >= one &&
	       (learner->total - one - two) * FW_BEYOND_DELAYED <= learner->total;
}

/* The stride, or zero if the advances do not show one. */
FW_INLINE u32 fw_learner_stride(const struct fw_learner *learner)
{
	if (learner->seen < FW_BOOTSTRAP)
		return 2;
	if (learner->mode == 1 && fw_learner_delays(learner))
		return 2;
	return learner->multiples * 4 >= learner->total * 3 ? learner->mode : 0;
}

/* All other fields are zero. */
FW_INLINE void fw_watch_init(struct fw_watch *watch, const struct fw_initial *initial)
{
	watch->mss = fw_max32(initial->mss, 1);
	watch->share = FW_SHARE_ONE;
	watch->whole = fw_min32(watch->mss, FW_MOST_ADVANCE / 2) << (FW_MEAN_SHIFT + 1);
}

/* Whether the advance depends on ACKs only, and not on holes that were filled. */
FW_INLINE int fw_watch_telling(struct fw_watch *watch, const struct fw_ack *ack)
{
	u32 over_sacked = watch->sacked, first = watch->after_rto;

	if (over_sacked || ack->sacked)
		watch->sacked = fw_add32(fw_sub32(over_sacked, ack->acked), ack->sacked);
	if (!ack->acked)
		return 0;
	watch->after_rto = 0;
	return !(over_sacked || first || ack->in_recovery || ack->covers_retransmission);
}

/* `bytes` in segments, rounded to the nearest. Values of one and two need no division. */
FW_INLINE u32 fw_watch_segments(const struct fw_watch *watch, u32 bytes)
{
	if (bytes == watch->mss)
		return 1;
	if (bytes == 2 * (u64)watch->mss)
		return 2;
	return fw_add32(bytes, watch->mss / 2) / watch->mss;
}

/* Number of lost ACKs shown by a timestamp echo, for any number of segments per ACK. */
FW_INLINE u64 fw_watch_by_echo(struct fw_watch *watch, const struct fw_ack *ack)
{
	u64 sum = fw_max32(watch->whole, 1), lost;

	if (!ack->echo_gap) {
		watch->whole = watch->whole - (watch->whole >> FW_MEAN_SHIFT) +
			       fw_min32(ack->acked, FW_MOST_ADVANCE);
		return 0;
	}
	lost = (((u64)ack->echo_gap << FW_MEAN_SHIFT) + sum / 2) / sum;
	return fw_max64(lost, 1);
}

/* Number of lost ACKs shown by this advance; also updates the learner. */
FW_INLINE u64 fw_watch_infer(struct fw_watch *watch, const struct fw_ack *ack)
{
	if (ack->has_echo_gap)
		return fw_watch_by_echo(watch, ack);
	u32 segments = fw_watch_segments(watch, ack->acked);
	u32 stride = fw_learner_stride(&watch->learner);
	/* Most ACKs advance by one stride, which needs no division. */
	u32 strides = !stride		   ? 0
		      : segments <= stride ? segments > 0
					   : ((u64)segments + stride - 1) / stride;

	fw_learner_observe(&watch->learner, segments);
	return fw_sub32(strides, 1);
}

/* Updates the share of ACKs that were lost, smoothed over rounds. */
FW_INLINE void fw_watch_share(struct fw_watch *watch)
{
	u64 expected = watch->round.lost + watch->round.heard;
	u32 share;

	if (!expected)
		return;
	/* Most rounds have no loss, which needs no division. */
	share = watch->round.lost ? watch->round.lost * FW_SHARE_ONE / expected : 0;
	watch->share = watch->share - (watch->share >> FW_SHARE_G_SHIFT) +
		       (share >> FW_SHARE_G_SHIFT);
}

/* Ends the round if this ACK does. Returns whether the algorithm shall react to lost ACKs. With
 * `ours` it does not in a round with a data loss, nor in the round after a reaction. */
FW_INLINE int fw_watch_end_round(struct fw_watch *watch, const struct fw_ack *ack, int ours)
{
	struct fw_round *round = &watch->round;
	int quiet, react;

	if (!round->has_end) {
		round->has_end = 1;
		round->end = ack->next;
		return 0;
	}
	if (ack->una < round->end)
		return 0;
	fw_watch_share(watch);
	quiet = ours && (round->answered || round->hold_off || ack->in_recovery);
	react = !quiet && round->lost >= 1;
	round->end = ack->next;
	round->lost = 0;
	round->heard = 0;
	round->answered = ack->in_recovery;
	round->hold_off = ours && react;
	return react;
}

/* Called after the algorithm handled the ACK. Returns whether it shall react to lost ACKs. */
FW_INLINE int fw_watch_on_ack(struct fw_watch *watch, const struct fw_ack *ack)
{
	if (fw_watch_telling(watch, ack)) {
		u64 lost = fw_watch_infer(watch, ack);

		watch->round.heard++;
		if (lost) {
			watch->round.lost += lost;
			watch->total += lost;
		}
	}
	return fw_watch_end_round(watch, ack, 1);
}

/* As fw_watch_on_ack for `ack-loss-literal`: the paper's words, for receivers that acknowledge each
 * segment. Every advance of two segments or more counts, and its count is the advance. */
FW_INLINE int fw_literal_on_ack(struct fw_watch *watch, const struct fw_ack *ack)
{
	/* Only its notes on SACKs and timeouts are used, as nothing is excluded. */
	fw_watch_telling(watch, ack);
	if (ack->acked) {
		u32 segments = fw_watch_segments(watch, ack->acked);

		watch->round.heard++;
		if (segments >= 2) {
			watch->round.lost += segments;
			watch->total += segments;
		}
	}
	return fw_watch_end_round(watch, ack, 0);
}

/* The algorithm has reacted to a loss or a mark. */
FW_INLINE void fw_watch_on_loss(struct fw_watch *watch)
{
	watch->round.answered = 1;
}

FW_INLINE void fw_watch_on_rto(struct fw_watch *watch)
{
	watch->after_rto = 1;
	watch->sacked = 0;
	watch->round.answered = 1;
}

#endif
