/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * The state of a connection is in its socket's storage, whose look-up costs more than the
 * algorithm. An algorithm that defines FW_PLAIN keeps the state for plain ACKs (fw_plain.h) in the
 * socket itself, and looks up the storage only for other ACKs and events. While this part is marked
 * as plain, its values are valid; all other values are always those of the storage.
 */
#ifndef FW_HOT_H
#define FW_HOT_H

#include "fw_kernel.h"

#ifdef FW_PLAIN
#include "fw_plain.h"

/* The algorithm's part: at most 36 bytes, and no 64-bit fields, which would need padding. A program
 * defines it and these functions. Times are nanoseconds, `heard` that of the last ACK. */
static int fw_inner_plain_of(struct fw_inner_plain *plain, const struct fw_law *law, u64 heard);
static void fw_inner_plain_back(const struct fw_inner_plain *plain, struct fw_law *law, u64 heard);
static int fw_inner_plain_takes(const struct fw_inner_plain *plain, const struct fw_ack *ack,
				u64 heard);
static void fw_inner_plain_on_ack(struct fw_inner_plain *plain, u32 mss, const struct fw_ack *ack,
				  u64 heard);
static u32 fw_inner_plain_cwnd(const struct fw_inner_plain *plain);

struct fw_hot {
	u64 heard_us;
	struct fw_plain_echo echo;
	struct fw_inner_plain law;
	struct fw_plain watch; /* its count of notes includes FW_IS_PLAIN */
	u32 snd_una;
	u32 troubles; /* tp->lost + tp->total_retrans; neither decreases */
};

#define FW_IS_PLAIN 0x8000

_Static_assert(sizeof(struct fw_hot) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv),
	       "the kernel has 104 bytes");

FW_INLINE struct fw_hot *fw_hot_of(struct tcp_sock *tp)
{
	return (struct fw_hot *)&tp->inet_conn.icsk_ca_priv;
}

/* Marks the values in the storage as valid. */
FW_INLINE void fw_hot_forget(struct tcp_sock *tp)
{
	fw_hot_of(tp)->watch.notes = 0;
}

/* Copies the plain state back into the storage. */
FW_INLINE void fw_hot_back(struct fw_connection *c, struct tcp_sock *tp)
{
	struct fw_hot *hot = fw_hot_of(tp);
	u16 notes = hot->watch.notes;

	if (!notes)
		return;
	hot->watch.notes = 0;
	c->una += hot->snd_una - c->snd_una;
	c->snd_una = hot->snd_una;
	c->heard_us = hot->heard_us;
	fw_plain_back(&hot->watch, &c->law.watch, c->una);
	fw_plain_echo_back(&hot->echo, notes & ~FW_IS_PLAIN, &c->law.echo);
	fw_inner_plain_back(&hot->law, &c->law, c->heard_us * 1000);
	c->window_bytes = 0;
}

/* Copies the state for plain ACKs into the socket, if the next ACK may be plain. */
FW_INLINE void fw_hot_keep(const struct fw_connection *c, struct tcp_sock *tp)
{
	struct fw_hot *hot = fw_hot_of(tp);

	if (c->retrans_out || c->mss != c->law.watch.mss ||
	    !fw_plain_of(&hot->watch, &c->law.watch, c->una) ||
	    !fw_inner_plain_of(&hot->law, &c->law, c->heard_us * 1000))
		return;
	hot->heard_us = c->heard_us;
	hot->snd_una = c->snd_una;
	hot->troubles = c->lost + c->retransmissions;
	hot->watch.window = 0;
	fw_plain_echo_of(&hot->echo, &c->law.echo);
	hot->watch.notes = (c->law.echo.end - c->law.echo.begin) | FW_IS_PLAIN;
}

/* Whether the connection has any disturbance besides the echo. An ACK that crosses half of the
 * sequence space counts as one, so that the storage sees each wrap of the sequence numbers. */
FW_INLINE int fw_hot_disturbed(const struct fw_hot *hot, const struct tcp_sock *tp)
{
	return !hot->watch.notes || tp->mss_cache != hot->watch.mss ||
	       tp->lost + tp->total_retrans != hot->troubles || tp->retrans_out || tp->sacked_out ||
	       tp->snd_una == hot->snd_una || (tp->snd_una ^ hot->snd_una) >> 31 ||
	       fw_ca_state(tp) != TCP_CA_Open || !FW_BITS(tp, rx_opt.saw_tstamp) ||
	       !tp->rx_opt.rcv_tsecr;
}

/* The event of an ACK, without the offsets in the stream, which are not needed. */
FW_INLINE struct fw_ack fw_hot_ack(const struct fw_hot *hot, const struct tcp_sock *tp, s32 rtt_us)
{
	struct fw_ack ack = {
		.now = tp->tcp_mstamp * 1000,
		.acked = tp->snd_una - hot->snd_una,
		.has_rtt = rtt_us >= 0,
		.rtt = rtt_us >= 0 ? (u64)rtt_us * 1000 : 0,
		.cwnd_limited = fw_cwnd_limited(tp),
		.has_echo_gap = 1,
	};

	return ack;
}

/* Handles the echo of an ACK and notes the data sent; zero if this needs the array of notes. */
FW_INLINE int fw_hot_hear(struct fw_echo *echo, const struct fw_hot *hot, const struct tcp_sock *tp)
{
	u32 next = tp->snd_nxt;

	fw_plain_echo_back(&hot->echo, hot->watch.notes & ~FW_IS_PLAIN, echo);
	if (!fw_plain_heard(echo, hot->snd_una, tp->snd_una, tp->rx_opt.rcv_tsecr))
		return 0;
	return fw_echo_noted(echo, next) ||
	       fw_plain_note(echo, next,
			     fw_echo_tick(echo, fw_last_sent(tp), fw_tick_length(tp)));
}

/* The window in segments; unchanged while its bytes are `before`, and stored if it fits. */
FW_INLINE u32 fw_hot_window(struct fw_hot *hot, u32 before)
{
	u32 cwnd = fw_inner_plain_cwnd(&hot->law), window = hot->watch.window;

	if (cwnd == before && window)
		return window;
	window = fw_max32(cwnd / hot->watch.mss, 1);
	hot->watch.window = window <= 0xffff ? window : 0;
	return window;
}

/* Handles an ACK if it is plain. Nothing is written before this is certain. */
FW_INLINE int fw_hot_on_ack(struct tcp_sock *tp, s32 rtt_us)
{
	struct fw_hot *hot = fw_hot_of(tp);
	u32 una = tp->snd_una, before = fw_inner_plain_cwnd(&hot->law);
	u64 heard = hot->heard_us * 1000;
	struct fw_echo echo;
	struct fw_ack ack;

	if (fw_hot_disturbed(hot, tp))
		return 0;
	ack = fw_hot_ack(hot, tp, rtt_us);
	if (!fw_plain_takes(&hot->watch, &ack) || !fw_inner_plain_takes(&hot->law, &ack, heard) ||
	    !fw_hot_hear(&echo, hot, tp))
		return 0;
	fw_plain_echo_of(&hot->echo, &echo);
	hot->watch.notes = (echo.end - echo.begin) | FW_IS_PLAIN;
	fw_inner_plain_on_ack(&hot->law, hot->watch.mss, &ack, heard);
	fw_plain_on_ack(&hot->watch, &ack, una, tp->snd_nxt);
	hot->snd_una = una;
	hot->heard_us = tp->tcp_mstamp;
	tp->snd_cwnd = fw_min32(fw_hot_window(hot, before), tp->snd_cwnd_clamp);
	return 1;
}

#else

FW_INLINE void fw_hot_forget(struct tcp_sock *tp) {}
FW_INLINE void fw_hot_back(struct fw_connection *c, struct tcp_sock *tp) {}
FW_INLINE void fw_hot_keep(const struct fw_connection *c, struct tcp_sock *tp) {}
FW_INLINE int fw_hot_on_ack(struct tcp_sock *tp, s32 rtt_us) { return 0; }

#endif
#endif
