/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Congestion control on lost ACKs: crates/protocols/cc/src/{ack_loss,stride}.rs in C, as `ack-loss-timestamps`
 * is configured (echoes of timestamps tell, the whole reduction is made, one lost ACK a round
 * suffices). Where a peer has no timestamps the stride is learnt, as `ack-loss` does.
 *
 * The learner gives the same weights and the same stride as the one in Rust, which shrinks 64
 * weights and sums them at each ACK. Here only the weights that still shrink are touched (bits of
 * `active`), and the sums are carried on.
 */
#ifndef FW_WATCH_H
#define FW_WATCH_H

#include "fw_reno.h"

#define FW_LONGEST 64
#define FW_UNIT (1ull << 20)
#define FW_DECAY_SHIFT 8
/* A weight below this stays as it is: nothing is left of it after the shift. */
#define FW_LEAST_DECAYING (1ull << FW_DECAY_SHIFT)
#define FW_BOOTSTRAP 64
#define FW_DELAYED 4
#define FW_BEYOND_DELAYED 32
/* Above this, three quarters of the most are more than a weight that no longer shrinks. */
#define FW_CLEAR 1024

#define FW_MEAN_SHIFT 4
#define FW_MOST_ADVANCE (1u << 26)

#define FW_SHARE_ONE (1u << 20)
#define FW_SHARE_G_SHIFT 4

/* What each ACK touches comes first: a connection's state is not in the cache when an ACK comes, and
 * each line of it costs more than the arithmetic. */
struct fw_learner {
	u64 active; /* bit i: weights[i] still shrinks */
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
	u32 whole; /* 16 times the mean advance of ACKs before which none was lost */
	u32 sacked;
	u32 after_rto;
	u32 share;
	u64 total;
	u32 mss;
	struct fw_learner learner;
};

/* Where a bit moves the upper six bits of a sequence in which every six bits are others. */
#define FW_DE_BRUIJN 0x0218a392cd3d5dbfull
static const u8 fw_bit_of[64] = {
	0, 1, 2, 7, 3, 13, 8, 19, 4, 25, 14, 28, 9, 34, 20, 40,
	5, 17, 26, 38, 15, 46, 29, 48, 10, 31, 35, 54, 21, 50, 41, 57,
	63, 6, 12, 18, 24, 27, 33, 39, 16, 37, 45, 47, 30, 53, 49, 56,
	62, 11, 23, 32, 36, 44, 52, 55, 61, 22, 43, 51, 60, 42, 59, 58,
};

/* The number of the lowest bit that is set; x is not zero. BPF has no instruction for it, and a
 * search by branches has too many ways for the verifier. */
FW_INLINE u32 fw_lowest(u64 x)
{
	return fw_bit_of[(x & -x) * FW_DE_BRUIJN >> 58];
}

/* Shrinks what still shrinks; the greatest of it. */
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

/* The least advance that is nearly the most frequent; zero if none was seen. */
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

/* As fw_learner_mode, over all weights: hardly any still shrinks. */
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

/* Sums the weights of the multiples of a new mode. */
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

/* Takes an advance of `segments`; zero is ignored. */
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

/* Whether the ACKs for single segments are those of a delayed-ACK timer. */
FW_INLINE int fw_learner_delays(const struct fw_learner *learner)
{
	u64 one = learner->weights[0], two = learner->weights[1];

	return two * FW_DELAYED >= one &&
	       (learner->total - one - two) * FW_BEYOND_DELAYED <= learner->total;
}

/* The stride, or zero where the advances do not show one. */
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

/* Whether the advance tells about ACKs only, not about holes that were filled. */
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

/* `bytes` in whole segments, to the nearest. One or two are spared the division. */
FW_INLINE u32 fw_watch_segments(const struct fw_watch *watch, u32 bytes)
{
	if (bytes == watch->mss)
		return 1;
	if (bytes == 2 * (u64)watch->mss)
		return 2;
	return fw_add32(bytes, watch->mss / 2) / watch->mss;
}

/* Lost ACKs shown by the echo of a timestamp, however many segments a receiver merges. */
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

/* Lost ACKs shown by this advance; teaches the learner. */
FW_INLINE u64 fw_watch_infer(struct fw_watch *watch, const struct fw_ack *ack)
{
	if (ack->has_echo_gap)
		return fw_watch_by_echo(watch, ack);
	u32 segments = fw_watch_segments(watch, ack->acked);
	u32 stride = fw_learner_stride(&watch->learner);
	/* Most ACKs advance by one stride: they are spared the division. */
	u32 strides = !stride		   ? 0
		      : segments <= stride ? segments > 0
					   : ((u64)segments + stride - 1) / stride;

	fw_learner_observe(&watch->learner, segments);
	return fw_sub32(strides, 1);
}

/* The share of lost ACKs, smoothed over rounds. */
FW_INLINE void fw_watch_share(struct fw_watch *watch)
{
	u64 expected = watch->round.lost + watch->round.heard;
	u32 share;

	if (!expected)
		return;
	/* Most rounds lose none: they are spared the division. */
	share = watch->round.lost ? watch->round.lost * FW_SHARE_ONE / expected : 0;
	watch->share = watch->share - (watch->share >> FW_SHARE_G_SHIFT) +
		       (share >> FW_SHARE_G_SHIFT);
}

/* Ends the round if this ACK does; whether the law is to be told of lost ACKs. */
FW_INLINE int fw_watch_end_round(struct fw_watch *watch, const struct fw_ack *ack)
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
	quiet = round->answered || round->hold_off || ack->in_recovery;
	react = !quiet && round->lost >= 1;
	round->end = ack->next;
	round->lost = 0;
	round->heard = 0;
	round->answered = ack->in_recovery;
	round->hold_off = react;
	return react;
}

/* To be called after the law took the ACK; whether the law is to be told of lost ACKs. */
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
	return fw_watch_end_round(watch, ack);
}

/* The law was told of a loss or a mark. */
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
