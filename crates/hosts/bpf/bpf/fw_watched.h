/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * An algorithm (fw_inner_*) whose ACKs are watched: cc's AckLoss. `struct fw_law` has `echo`,
 * `watch` and `notes`, in this order after the algorithm's own fields; with FW_LITERAL, which
 * reads no timestamps, `watch` alone.
 */
#ifndef FW_WATCHED_H
#define FW_WATCHED_H

#include "fw_echo.h"
#include "fw_glue.h"
#include "fw_watch.h"

static void fw_inner_init(struct fw_law *law, const struct fw_initial *initial);
static void fw_inner_on_ack(struct fw_law *law, const struct fw_ack *ack);
static void fw_inner_on_ack_loss(struct fw_law *law);
static void fw_inner_on_loss(struct fw_law *law, const struct fw_loss *loss);
static void fw_inner_on_rto(struct fw_law *law, const struct fw_rto *rto);
static void fw_inner_on_ecn(struct fw_law *law, const struct fw_loss *loss);
static void fw_inner_set_mss(struct fw_law *law, u32 mss);

static inline void fw_law_init(struct fw_connection *c, struct tcp_sock *tp,
			       const struct fw_initial *initial)
{
	fw_inner_init(&c->law, initial);
	fw_watch_init(&c->law.watch, initial);
}

#ifdef FW_LITERAL
FW_INLINE int fw_watched_on_ack(struct fw_law *law, const struct fw_ack *ack)
{
	return fw_literal_on_ack(&law->watch, ack);
}

FW_INLINE void fw_hear_echo(struct fw_law *law, struct fw_ack *ack, const struct fw_connection *c,
			    const struct tcp_sock *tp)
{
}
#else
FW_INLINE int fw_watched_on_ack(struct fw_law *law, const struct fw_ack *ack)
{
	return fw_watch_on_ack(&law->watch, ack);
}

FW_INLINE void fw_hear_echo(struct fw_law *law, struct fw_ack *ack, const struct fw_connection *c,
			    const struct tcp_sock *tp)
{
	struct fw_echo *echo = &law->echo;
	u32 stamp = tp->rx_opt.rcv_tsecr, una = c->snd_una;

	if (!FW_BITS(tp, rx_opt.saw_tstamp) || !stamp)
		return;
	ack->has_echo_gap = 1;
	if (ack->acked)
		ack->echo_gap = fw_echo_gap(echo, &law->notes, una - ack->acked, una, stamp);
	if (fw_echo_noted(echo, tp->snd_nxt))
		return;
	fw_echo_note(echo, &law->notes, tp->snd_nxt,
		     fw_echo_tick(echo, fw_last_sent(tp), fw_tick_length(tp)));
}
#endif

static inline void fw_law_on_ack(struct fw_connection *c, struct tcp_sock *tp,
				 const struct fw_ack *heard)
{
	struct fw_law *law = &c->law;
	u32 ssthresh = fw_law_ssthresh(law);
	struct fw_ack ack = *heard;
	int answers;

	ack.sacked = fw_newly_sacked(law->watch.sacked, ack.acked, c, tp);
	fw_hear_echo(law, &ack, c, tp);
	fw_inner_on_ack(law, &ack);
	answers = fw_watched_on_ack(law, &ack);
	if (answers) {
		fw_inner_on_ack_loss(law);
		c->seen.answers++;
	}
	/* The window was reduced for lost ACKs, or the delay ended slow start. */
	if (fw_law_ssthresh(law) != ssthresh)
		tp->snd_ssthresh = fw_threshold(c);
	if (c->seen.acks_lost != law->watch.total)
		c->seen.acks_lost = law->watch.total;
	if (answers)
		fw_tell(tp, &c->seen, FW_ANSWERED);
}

static inline void fw_law_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_watch_on_loss(&law->watch);
	fw_inner_on_loss(law, loss);
}

static inline void fw_law_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_watch_on_rto(&law->watch);
	fw_inner_on_rto(law, rto);
}

static inline void fw_law_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_watch_on_loss(&law->watch);
	fw_inner_on_ecn(law, loss);
}

static inline void fw_law_set_mss(struct fw_law *law, u32 mss)
{
	law->watch.mss = mss;
	fw_inner_set_mss(law, mss);
}

#endif
