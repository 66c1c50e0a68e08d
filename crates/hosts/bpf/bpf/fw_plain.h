/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Plain ACKs of watched algorithms: ACKs of a connection that has timestamps, and no disturbance in
 * this round trip. Their state fits into the 104 bytes that the kernel's socket reserves for a
 * congestion control algorithm, so that no look-up is needed.
 *
 * The arithmetic is that of fw_reno.h, fw_watch.h and fw_echo.h. A state is plain if each omitted
 * field has one fixed value, written here, and each shortened field fits: no information is lost.
 */
#ifndef FW_PLAIN_H
#define FW_PLAIN_H

#include "fw_echo.h"
#include "fw_reno.h"
#include "fw_watch.h"

/* Fields of struct fw_watch and of the glue. */
struct fw_plain {
	u32 round_end; /* its lower half */
	u32 whole;
	u32 share;
	u16 heard; /* ACKs in this round */
	u16 mss;
	u16 window; /* of the glue, in segments; zero: unknown */
	u16 notes; /* number of notes in struct fw_echo */
};

/* Fields of struct fw_reno. */
struct fw_plain_reno {
	u32 cwnd;
	u32 ssthresh;
	u32 credit;
};

/* Fields of struct fw_echo. Notes between the oldest and the newest stay in the storage. */
struct fw_plain_echo {
	u64 tick_from;
	u32 tick;
	u32 begin;
	struct fw_note oldest;
	struct fw_note newest;
};

/* Represents the offset of an ACK where only differences matter. */
#define FW_PLAIN_UNA (1ull << 32)

/* The offset with this lower half that is nearest to `una`. */
FW_INLINE u64 fw_plain_offset(u32 lower, u64 una)
{
	return una + (s64)(s32)(lower - (u32)una);
}

FW_INLINE int fw_plain_growth(const struct fw_growth *growth, u32 mss)
{
	return growth->mss == mss && growth->byte_counting == 1 &&
	       growth->limit_segments == U32_MAX;
}

/* Extracts the plain state at `una`. Returns whether the state is plain. */
FW_INLINE int fw_plain_of(struct fw_plain *plain, const struct fw_watch *watch, u64 una)
{
	const struct fw_round *round = &watch->round;

	if (!round->has_end || round->answered || round->hold_off || round->lost ||
	    watch->sacked || watch->after_rto)
		return 0;
	plain->round_end = round->end;
	plain->heard = round->heard;
	plain->whole = watch->whole;
	plain->share = watch->share;
	plain->mss = watch->mss;
	return plain->heard == round->heard && plain->mss == watch->mss &&
	       fw_plain_offset(plain->round_end, una) == round->end;
}

/* Copies the values that plain ACKs change back into the full state. */
FW_INLINE void fw_plain_back(const struct fw_plain *plain, struct fw_watch *watch, u64 una)
{
	watch->round.end = fw_plain_offset(plain->round_end, una);
	watch->round.heard = plain->heard;
	watch->whole = plain->whole;
	watch->share = plain->share;
}

/* Whether an ACK is plain for a plain state. */
FW_INLINE int fw_plain_takes(const struct fw_plain *plain, const struct fw_ack *ack)
{
	return ack->has_echo_gap && !ack->echo_gap && !ack->sacked && !ack->in_recovery &&
	       !ack->covers_retransmission && plain->heard < 0xffff;
}

/* As fw_watch_on_ack after the algorithm handled the ACK, which ends at `una`; no reduction can
 * follow. The compiler removes code for fields that are constant here. */
FW_INLINE void fw_plain_on_ack(struct fw_plain *plain, const struct fw_ack *ack, u32 una, u32 next)
{
	struct fw_watch watch = { .mss = plain->mss, .round.has_end = 1 };
	struct fw_ack near = *ack;

	near.una = FW_PLAIN_UNA | una;
	near.next = near.una + (next - una);
	fw_plain_back(plain, &watch, near.una);
	fw_watch_on_ack(&watch, &near);
	plain->round_end = watch.round.end;
	plain->heard = watch.round.heard;
	plain->whole = watch.whole;
	plain->share = watch.share;
}

/* As fw_plain_of, for Reno. */
FW_INLINE int fw_plain_reno_of(struct fw_plain_reno *plain, const struct fw_reno *reno)
{
	plain->cwnd = reno->cwnd;
	plain->ssthresh = reno->ssthresh;
	plain->credit = reno->growth.credit;
	return !reno->reduced && fw_plain_growth(&reno->growth, reno->mss);
}

FW_INLINE void fw_plain_reno_back(const struct fw_plain_reno *plain, struct fw_reno *reno)
{
	reno->cwnd = plain->cwnd;
	reno->ssthresh = plain->ssthresh;
	reno->growth.credit = plain->credit;
}

/* As fw_reno_on_ack. */
FW_INLINE void fw_plain_reno_on_ack(struct fw_plain_reno *plain, u32 mss, const struct fw_ack *ack)
{
	struct fw_reno reno = {
		.mss = mss,
		.growth = { .mss = mss, .limit_segments = U32_MAX, .byte_counting = 1 },
	};

	fw_plain_reno_back(plain, &reno);
	fw_reno_on_ack(&reno, ack);
	plain->cwnd = reno.cwnd;
	plain->credit = reno.growth.credit;
}

/* Extracts the state of the notes; their number is kept in struct fw_plain. */
FW_INLINE void fw_plain_echo_of(struct fw_plain_echo *plain, const struct fw_echo *echo)
{
	plain->tick_from = echo->tick_from;
	plain->tick = echo->tick;
	plain->begin = echo->begin;
	plain->oldest = echo->oldest;
	plain->newest = echo->newest;
}

FW_INLINE void fw_plain_echo_back(const struct fw_plain_echo *plain, u16 count, struct fw_echo *echo)
{
	echo->tick_from = plain->tick_from;
	echo->tick = plain->tick;
	echo->begin = plain->begin;
	echo->end = plain->begin + count;
	echo->oldest = plain->oldest;
	echo->newest = plain->newest;
}

/* As fw_echo_gap. Returns zero if a gap is shown or the array of notes is needed. */
FW_INLINE int fw_plain_heard(struct fw_echo *echo, u32 before, u32 una, u32 stamp)
{
	if (!fw_echo_reached(echo, una))
		return 1;
	if (echo->begin + 1 != echo->end || fw_echo_shown(echo->oldest, before, stamp))
		return 0;
	echo->begin++;
	return 1;
}

/* As fw_echo_note. Returns zero if the array of notes is needed. */
FW_INLINE int fw_plain_note(struct fw_echo *echo, u32 next, u32 stamp)
{
	if (fw_echo_puts_away(echo, stamp))
		return 0;
	fw_echo_write(echo, next, stamp);
	return 1;
}

#endif
