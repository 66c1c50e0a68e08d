/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * From the timestamp that an ACK echoes to the bytes that ACKs before it, which were lost, stood for.
 *
 * A receiver echoes the timestamp of the first segment since its last ACK (RFC 7323 section 4.3).
 * Where the first segment that was unacknowledged bears an earlier one, an ACK in between was lost.
 * The kernel shows no timestamps of single segments to a law, but at each ACK how far it has sent and
 * when last: nothing sent so far bears a later timestamp. Such notes are kept until what they speak of
 * is acknowledged. An echo later than a note therefore shows a gap up to the note at least; what was
 * sent between two notes, or within one tick of the clock, cannot be told apart. So a gap is never
 * found where none is, and those of ACKs that were lost within a tick are not found.
 */
#ifndef FW_ECHO_H
#define FW_ECHO_H

#include "fw_arith.h"

/* A quarter of a second of milliseconds. */
#define FW_NOTES 256
/* Notes that one ACK may use up: the verifier wants a bound. */
#define FW_NOTES_AN_ACK 64

struct fw_note {
	u32 next; /* sequence number of the first byte not sent */
	u32 stamp; /* no byte before it was sent later */
};

/* Where the notes are. They count on for ever, the oldest from `begin`, the newest before `end`. Both
 * have a copy here, so that most ACKs touch nothing but this. */
struct fw_echo {
	u64 tick_from; /* nanoseconds */
	u32 tick;
	u32 begin;
	u32 end;
	struct fw_note oldest;
	struct fw_note newest;
};

/* The notes, each at its number modulo FW_NOTES. The newest is written when it no longer is. */
struct fw_notes {
	struct fw_note at[FW_NOTES];
};

/* The tick in which a time lies. Divisions are rare: it is mostly the last one or the next. */
FW_INLINE u32 fw_echo_tick(struct fw_echo *echo, u64 time, u32 length)
{
	u64 since = time - echo->tick_from;

	if (since < length)
		return echo->tick;
	if (since < 2ull * length) {
		echo->tick_from += length;
		return ++echo->tick;
	}
	since = time / length;
	echo->tick = since;
	echo->tick_from = since * length;
	return echo->tick;
}

/* Whether a note reaches to `next`: since then nothing new was sent. */
FW_INLINE int fw_echo_noted(const struct fw_echo *echo, u32 next)
{
	return echo->begin != echo->end && echo->newest.next == next;
}

/* Whether a note of `stamp` is a further one, which takes the place of the newest. */
FW_INLINE int fw_echo_puts_away(const struct fw_echo *echo, u32 stamp)
{
	u32 count = echo->end - echo->begin;

	return count && echo->newest.stamp != stamp && count < FW_NOTES;
}

/* Makes the newest note this one. */
FW_INLINE void fw_echo_write(struct fw_echo *echo, u32 next, u32 stamp)
{
	if (echo->begin == echo->end)
		echo->end++;
	echo->newest.next = next;
	echo->newest.stamp = stamp;
	if (echo->end - echo->begin == 1)
		echo->oldest = echo->newest;
}

/* Notes what was sent before an ACK is answered, unless it is noted. */
FW_INLINE void fw_echo_note(struct fw_echo *echo, struct fw_notes *notes, u32 next, u32 stamp)
{
	if (fw_echo_puts_away(echo, stamp)) {
		notes->at[(echo->end - 1) % FW_NOTES] = echo->newest;
		echo->end++;
	}
	fw_echo_write(echo, next, stamp);
}

/* Whether an ACK that ends at `una` reaches the end of a note. */
FW_INLINE int fw_echo_reached(const struct fw_echo *echo, u32 una)
{
	return echo->begin != echo->end && (s32)(una - echo->oldest.next) >= 0;
}

/* The gap that a note shows which is acknowledged, or zero. */
FW_INLINE u32 fw_echo_shown(struct fw_note note, u32 before, u32 stamp)
{
	s32 gap = note.next - before;

	return (s32)(stamp - note.stamp) > 0 && gap > 0 ? gap : 0;
}

/* Uses up the notes of what is acknowledged; the gap that they show. */
FW_CALLED u32 fw_echo_use(struct fw_echo *echo, const struct fw_notes *notes, u32 before, u32 una,
			  u32 stamp)
{
	u32 gap = 0;
	int i;

	if (!echo || !notes)
		return 0;
	for (i = 0; i < FW_NOTES_AN_ACK && echo->begin != echo->end; i++) {
		struct fw_note note = echo->oldest;

		if ((s32)(una - note.next) < 0)
			break;
		gap = fw_max32(gap, fw_echo_shown(note, before, stamp));
		echo->begin++;
		echo->oldest = echo->end - echo->begin > 1 ? notes->at[echo->begin % FW_NOTES]
							   : echo->newest;
	}
	return gap;
}

/* Bytes from `before`, where the last ACK ended, that ACKs stood for which were lost. This one ends
 * at `una` and echoes `stamp`. Most ACKs reach the end of no note, or on a short path of the only
 * one. */
FW_INLINE u32 fw_echo_gap(struct fw_echo *echo, const struct fw_notes *notes, u32 before, u32 una,
			  u32 stamp)
{
	if (!fw_echo_reached(echo, una))
		return 0;
	if (echo->begin + 1 == echo->end) {
		echo->begin++;
		return fw_echo_shown(echo->oldest, before, stamp);
	}
	return fw_echo_use(echo, notes, before, una, stamp);
}

#endif
