/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Finds the bytes that lost ACKs covered, from the timestamp that an ACK echoes.
 *
 * A receiver echoes the timestamp of the first segment since its last ACK (RFC 7323 section 4.3).
 * If the first unacknowledged segment has an earlier timestamp, an ACK in between was lost. The
 * kernel does not show the timestamps of segments to an algorithm. At each ACK it shows the end and
 * the time of the data sent so far: no byte before that end has a later timestamp. These notes are
 * kept until their bytes are acknowledged. An echo later than a note thus shows a gap up to the
 * note at least. Bytes sent between two notes, or in one clock tick, cannot be distinguished: the
 * method finds no false gaps, but misses those of ACKs lost within a tick.
 */
#ifndef FW_ECHO_H
#define FW_ECHO_H

#include "fw_arith.h"

/* Notes of a quarter of a second, with one per millisecond. */
#define FW_NOTES 256
/* Maximum number of notes that one ACK consumes: the verifier requires a bound. */
#define FW_NOTES_AN_ACK 64

struct fw_note {
	u32 next; /* sequence number of the first byte not yet sent */
	u32 stamp; /* latest timestamp of the bytes before it */
};

/* Ring of notes. The indices `begin` (oldest) and `end` (after the newest) increase without bound.
 * The oldest and the newest note have copies here, so that most ACKs read nothing else. */
struct fw_echo {
	u64 tick_from; /* nanoseconds */
	u32 tick;
	u32 begin;
	u32 end;
	struct fw_note oldest;
	struct fw_note newest;
};

/* The notes, at their index modulo FW_NOTES. The newest is written when another replaces it. */
struct fw_notes {
	struct fw_note at[FW_NOTES];
};

/* Returns the tick of a time. It is mostly the last tick or the next, which avoids a division. */
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

/* Whether the newest note ends at `next`: no new data was sent since. */
FW_INLINE int fw_echo_noted(const struct fw_echo *echo, u32 next)
{
	return echo->begin != echo->end && echo->newest.next == next;
}

/* Whether a note with `stamp` is added after the newest note, instead of extending that note. */
FW_INLINE int fw_echo_puts_away(const struct fw_echo *echo, u32 stamp)
{
	u32 count = echo->end - echo->begin;

	return count && echo->newest.stamp != stamp && count < FW_NOTES;
}

/* Replaces the newest note. */
FW_INLINE void fw_echo_write(struct fw_echo *echo, u32 next, u32 stamp)
{
	if (echo->begin == echo->end)
		echo->end++;
	echo->newest.next = next;
	echo->newest.stamp = stamp;
	if (echo->end - echo->begin == 1)
		echo->oldest = echo->newest;
}

/* Notes the data sent before an ACK, unless it is noted already. */
FW_INLINE void fw_echo_note(struct fw_echo *echo, struct fw_notes *notes, u32 next, u32 stamp)
{
	if (fw_echo_puts_away(echo, stamp)) {
		notes->at[(echo->end - 1) % FW_NOTES] = echo->newest;
		echo->end++;
	}
	fw_echo_write(echo, next, stamp);
}

/* Whether an ACK up to `una` reaches the end of a note. */
FW_INLINE int fw_echo_reached(const struct fw_echo *echo, u32 una)
{
	return echo->begin != echo->end && (s32)(una - echo->oldest.next) >= 0;
}

/* The gap that an acknowledged note shows, or zero. */
FW_INLINE u32 fw_echo_shown(struct fw_note note, u32 before, u32 stamp)
{
	s32 gap = note.next - before;

	return (s32)(stamp - note.stamp) > 0 && gap > 0 ? gap : 0;
}

/* Removes the notes of acknowledged data. Returns the gap that they show. */
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

/* Bytes after `before`, the end of the last ACK, that lost ACKs covered. This ACK ends at `una`
 * and echoes `stamp`. Most ACKs reach the end of no note, or on a short path the end of the only
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
