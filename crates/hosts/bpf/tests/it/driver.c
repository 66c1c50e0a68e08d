/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Drives the laws of crates/hosts/bpf/bpf on the host. It reads a start and events as rows of 64-bit
 * numbers (differential.rs has their order) and prints a line for each: the window, ssthresh and
 * lost ACKs, and where the event asks for it the whole state as Rust's Debug would print it. In the
 * end it says how many ACKs were plain ones (fw_plain.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fw_av.h"
#include "fw_compound.h"
#include "fw_cubic.h"
#include "fw_echo.h"
#include "fw_plain_cubic.h"
#include "fw_watch.h"

enum { ACK, LOSS, RTO, ECN, SPURIOUS, ACK_LOSS, IDLE };

struct event {
	u64 kind, whole, now, una, next, delivered, rtt, acked, sacked, lost, has_rtt, in_recovery,
		cwnd_limited, covers_retransmission, flight, backoff, num, den, idle,
		has_echo_gap, echo_gap, keeps_ssthresh;
};

struct start {
	u64 mss, cwnd, ssthresh, byte_counting, slow_start_segments, target, horizon, catch_up, margin_num, margin_den,
		most_num, most_den, severe_num, severe_den, cap_to_target, floor_at_reno;
};

static struct fw_reno reno;
static struct fw_cubic cubic;
static struct fw_compound compound;
static struct fw_av av;
static struct fw_watch watch;
static int watched, literal;
static u64 plain_acks;

static void signed_128(struct fw_u128 x)
{
	unsigned __int128 left;
	char digits[48];
	int at = sizeof(digits);
	int negative = (s64)x.hi < 0;

	if (negative)
		x = fw_negative(x);
	left = (unsigned __int128)x.hi << 64 | x.lo;
	digits[--at] = 0;
	do {
		digits[--at] = '0' + (int)(left % 10);
		left /= 10;
	} while (left);
	printf("%s%s", negative ? "-" : "", digits + at);
}

static const char *truth(u32 x)
{
	return x ? "true" : "false";
}

static void option(const char *type, int has, u64 value)
{
	if (!has)
		printf("None");
	else if (*type)
		printf("Some(%s(%llu))", type, value);
	else
		printf("Some(%llu)", value);
}

static void show_growth(const struct fw_growth *growth)
{
	printf("Growth { mss: %u, limit_segments: %u, byte_counting: %s, credit: %u }", growth->mss,
	       growth->limit_segments, truth(growth->byte_counting), growth->credit);
}

static void show_reduction(u32 reduced, u64 until)
{
	if (reduced)
		printf(", reduced: Some(Reduction { until: %llu, by_mark: %s })", until,
		       truth(reduced == FW_REDUCED_BY_MARK));
	else
		printf(", reduced: None");
}

static void show_reno(const struct fw_reno *r)
{
	printf("Reno { mss: %u, initial_window: %u, cwnd: %u, ssthresh: %u, growth: ", r->mss,
	       r->initial_window, r->cwnd, r->ssthresh);
	show_growth(&r->growth);
	if (r->has_undo)
		printf(", undo: Some((%u, %u))", r->undo_cwnd, r->undo_ssthresh);
	else
		printf(", undo: None");
	show_reduction(r->reduced, r->reduced_until);
	printf(" }");
}

static void show_memory(const struct fw_memory *m, u32 mss)
{
	printf("Memory { w_max: %u, cwnd_prior: %u, epoch: ", m->w_max, m->cwnd_prior);
	if (m->has_epoch)
		printf("Some(Epoch { elapsed: Duration(%llu), curve: Curve { w_max: %u, k_us: "
		       "%llu, mss: %u }, w_est: %u, carry: %llu })",
		       m->epoch.elapsed, m->epoch.curve.w_max, m->epoch.curve.k_us, mss,
		       m->epoch.w_est, m->epoch.carry);
	else
		printf("None");
	printf(", growth: ");
	show_growth(&m->growth);
	printf(" }");
}

static void show_hystart(const struct fw_hystart *h)
{
	if (!h->on) {
		printf("None");
		return;
	}
	printf("Some(HyStart { most: %u, last: ", h->most);
	option("Duration", h->has_last, h->last);
	printf(", current: ");
	option("Duration", h->has_current, h->current);
	printf(", samples: %u, end: ", h->samples);
	option("", h->has_end, h->end);
	if (h->conservative)
		printf(", conservative: Some(Conservative { baseline: Duration(%llu), rounds: %u "
		       "}) })",
		       h->baseline, h->rounds);
	else
		printf(", conservative: None })");
}

static void show_cubic(const struct fw_cubic *c)
{
	u32 mss = c->reno.mss;

	printf("Cubic { reno: ");
	show_reno(&c->reno);
	printf(", mss: %u, hystart: true, first: ", mss);
	show_hystart(&c->first);
	printf(", memory: ");
	show_memory(&c->memory, mss);
	printf(", undo: ");
	if (c->has_undo) {
		printf("Some(");
		show_memory(&c->undo, mss);
		printf(")");
	} else {
		printf("None");
	}
	printf(", srtt: ");
	option("Duration", c->has_srtt, c->srtt);
	printf(", received: ");
	option("Instant", c->has_heard, c->heard);
	printf(" }");
}

static void show_windows(const struct fw_windows *w)
{
	printf("Windows { cwnd: %u, dwnd: %u, ssthresh: %u, loss_ssthresh: %u, gamma: %u }",
	       w->cwnd, w->dwnd, w->ssthresh, w->loss_ssthresh, w->gamma);
}

static void show_compound(const struct fw_compound *c)
{
	printf("Compound { config: *, mss: %u, initial_window: %u, windows: ", c->mss,
	       c->initial_window);
	show_windows(&c->windows);
	printf(", growth: ");
	show_growth(&c->growth);
	printf(", delay: Delay { base: ");
	option("Duration", c->delay.has_base, c->delay.base);
	printf(", end: ");
	option("", c->delay.has_end, c->delay.end);
	printf(", samples: %u, least: ", c->delay.samples);
	option("Duration", c->delay.has_least, c->delay.least);
	printf(" }, reno_diff: ");
	option("", c->has_reno_diff, c->reno_diff);
	printf(", undo: ");
	if (c->has_undo) {
		printf("Some(");
		show_windows(&c->undo);
		printf(")");
	} else {
		printf("None");
	}
	show_reduction(c->reduced, c->reduced_until);
	printf(" }");
}

static void show_account(const struct fw_av *a)
{
	printf("Account { rate: %llu, most: ", a->rate);
	signed_128(fw_account_brought(a->rate, a->aim.horizon));
	printf(", owed: ");
	signed_128(a->account.owed);
	if (a->account.has_last)
		printf(", last: Some((Instant(%llu), %llu)) }", a->account.at,
		       a->account.delivered);
	else
		printf(", last: None }");
}

static void show_severity(const struct fw_av *a)
{
	const struct fw_severity *s = &a->severity;

	printf("Severity { part: Duration(%llu), since: ",
	       fw_max64(a->aim.horizon / FW_PARTS, 1));
	option("Instant", s->has_since, s->since);
	printf(", delivered: ");
	option("", s->has_delivered, s->delivered);
	printf(", lost: %llu, sent: %llu }", s->lost, s->sent);
}

static void show_av(const struct fw_av *a)
{
	printf("TcpAv { reno: ");
	show_reno(&a->reno);
	if (!a->rate) {
		printf(", steering: None }");
		return;
	}
	printf(", steering: Some(Steering { config: *, mss: %u, rate: %llu, account: ",
	       a->reno.mss, a->rate);
	show_account(a);
	printf(", severity: ");
	show_severity(a);
	printf(", srtt: ");
	option("Duration", a->has_srtt, a->srtt);
	printf(", climb: Climb { growth: ");
	show_growth(&a->climb.growth);
	printf(", window: %u, acked: %u, step: %u, given: %u }, fallback: %u }) }",
	       a->climb.window, a->climb.acked, a->climb.step, a->climb.given, a->fallback);
}

static void show_watch(void)
{
	int i;

	printf(", config: *, mss: %u, learner: StrideEstimator { weights: [", watch.mss);
	for (i = 0; i < FW_LONGEST; i++)
		printf("%s%llu", i ? ", " : "", watch.learner.weights[i]);
	printf("], seen: %u }, whole: Mean { sum: %u }, sacked: %u, after_rto: %s, round: Round { end: ",
	       watch.learner.seen, watch.whole, watch.sacked, truth(watch.after_rto));
	option("", watch.round.has_end, watch.round.end);
	printf(", lost: %llu, received: %llu, answered: %s, hold_off: %s, reacted: false }, share: Share(%u), total: "
	       "%llu }",
	       watch.round.lost, watch.round.heard, truth(watch.round.answered),
	       truth(watch.round.hold_off), watch.share, watch.total);
}

/* One of the laws, chosen by its name in crates/protocols/cc. */
static char law;

static void on_ack_loss(struct fw_fraction part)
{
	switch (law) {
	case 'r': fw_reno_on_ack_loss(&reno, part); break;
	case 'c': fw_cubic_on_ack_loss(&cubic, part); break;
	case 'o': fw_compound_on_ack_loss(&compound, part); break;
	case 'a': fw_av_on_ack_loss(&av, part); break;
	}
}

/* As the two below: the laws' part of a plain ACK. */
static int reno_took_plain(const struct fw_ack *ack)
{
	struct fw_plain_reno plain;

	if (!fw_plain_reno_of(&plain, &reno))
		return 0;
	reno.cwnd = reno.ssthresh = reno.growth.credit = 3;
	fw_plain_reno_on_ack(&plain, reno.mss, ack);
	fw_plain_reno_back(&plain, &reno);
	return 1;
}

static int cubic_took_plain(const struct fw_ack *ack)
{
	u64 heard = cubic.heard;
	struct fw_plain_cubic plain = {};

	/* The kernel has microseconds. */
	if (heard % 1000 || ack->now % 1000 || !fw_plain_cubic_of(&plain, &cubic, heard) ||
	    !fw_plain_cubic_takes(&plain, ack, heard))
		return 0;
	cubic.srtt = cubic.heard = cubic.reno.cwnd = 7;
	if (plain.carry != FW_NO_EPOCH)
		cubic.memory.epoch.elapsed = cubic.memory.epoch.carry =
			cubic.memory.epoch.w_est = cubic.memory.growth.credit = 7;
	fw_plain_cubic_on_ack(&plain, cubic.reno.mss, ack, heard);
	fw_plain_cubic_back(&plain, &cubic, ack->now);
	return 1;
}

/* Handles a plain ACK as the kernel's program does. What such ACKs may write is spoilt meanwhile, so
 * that all of it must come from the short state. */
static int took_plain(const struct fw_ack *ack)
{
	struct fw_plain plain;
	u64 before = ack->una - ack->acked;

	if (!watched || literal || !fw_plain_of(&plain, &watch, before) ||
	    !fw_plain_takes(&plain, ack) || (ack->una ^ before) >> 31)
		return 0;
	if (!(law == 'r' && reno_took_plain(ack)) && !(law == 'c' && cubic_took_plain(ack)))
		return 0;
	watch.round.end = watch.round.heard = watch.whole = watch.share = 5;
	fw_plain_on_ack(&plain, ack, ack->una, ack->next);
	fw_plain_back(&plain, &watch, ack->una);
	plain_acks++;
	return 1;
}

static void on_ack(const struct fw_ack *ack)
{
	if (took_plain(ack))
		return;
	switch (law) {
	case 'r': fw_reno_on_ack(&reno, ack); break;
	case 'c': fw_cubic_on_ack(&cubic, ack); break;
	case 'o': fw_compound_on_ack(&compound, ack); break;
	case 'a': fw_av_on_ack(&av, ack); break;
	}
	if (watched && (literal ? fw_literal_on_ack(&watch, ack) : fw_watch_on_ack(&watch, ack)))
		on_ack_loss((struct fw_fraction){ 1, 1 });
}

static void on_loss(const struct fw_loss *loss)
{
	if (watched)
		fw_watch_on_loss(&watch);
	switch (law) {
	case 'r': fw_reno_on_loss(&reno, loss); break;
	case 'c': fw_cubic_on_loss(&cubic, loss); break;
	case 'o': fw_compound_on_loss(&compound, loss); break;
	case 'a': fw_av_on_loss(&av, loss); break;
	}
}

static void on_ecn(const struct fw_loss *loss)
{
	if (watched)
		fw_watch_on_loss(&watch);
	switch (law) {
	case 'r': fw_reno_on_ecn(&reno, loss); break;
	case 'c': fw_cubic_on_ecn(&cubic, loss); break;
	case 'o': fw_compound_on_ecn(&compound, loss); break;
	case 'a': fw_av_on_ecn(&av, loss); break;
	}
}

static void on_rto(const struct fw_rto *rto)
{
	if (watched)
		fw_watch_on_rto(&watch);
	switch (law) {
	case 'r': fw_reno_on_rto(&reno, rto); break;
	case 'c': fw_cubic_on_rto(&cubic, rto); break;
	case 'o': fw_compound_on_rto(&compound, rto); break;
	case 'a': fw_av_on_rto(&av, rto); break;
	}
}

static void on_spurious(void)
{
	switch (law) {
	case 'r': fw_reno_on_spurious(&reno); break;
	case 'c': fw_cubic_on_spurious(&cubic); break;
	case 'o': fw_compound_on_spurious(&compound); break;
	case 'a': fw_reno_on_spurious(&av.reno); break;
	}
}

static void on_idle(u64 idle)
{
	switch (law) {
	case 'r': fw_reno_on_idle_restart(&reno); break;
	case 'c': fw_cubic_on_idle_restart(&cubic, idle); break;
	case 'o': fw_compound_on_idle_restart(&compound); break;
	case 'a': fw_av_on_idle_restart(&av); break;
	}
}

static void apply(const struct event *e)
{
	struct fw_ack ack = {
		.now = e->now, .una = e->una, .next = e->next, .delivered = e->delivered,
		.rtt = e->rtt, .acked = e->acked, .sacked = e->sacked, .lost = e->lost,
		.has_rtt = e->has_rtt, .in_recovery = e->in_recovery,
		.cwnd_limited = e->cwnd_limited,
		.covers_retransmission = e->covers_retransmission,
		.has_echo_gap = e->has_echo_gap, .echo_gap = e->echo_gap,
	};
	struct fw_loss loss = { .una = e->una, .next = e->next, .flight = e->flight };
	struct fw_rto rto = {
		.flight = e->flight, .backoff = e->backoff, .keeps_ssthresh = e->keeps_ssthresh,
	};

	switch (e->kind) {
	case ACK: on_ack(&ack); break;
	case LOSS: on_loss(&loss); break;
	case RTO: on_rto(&rto); break;
	case ECN: on_ecn(&loss); break;
	case SPURIOUS: on_spurious(); break;
	case ACK_LOSS: on_ack_loss((struct fw_fraction){ e->num, e->den }); break;
	case IDLE: on_idle(e->idle); break;
	}
}

static void show(int whole)
{
	u32 cwnd = 0, ssthresh = 0;

	switch (law) {
	case 'r': cwnd = reno.cwnd, ssthresh = reno.ssthresh; break;
	case 'c': cwnd = cubic.reno.cwnd, ssthresh = cubic.reno.ssthresh; break;
	case 'o': cwnd = fw_compound_cwnd(&compound), ssthresh = compound.windows.ssthresh; break;
	case 'a': cwnd = av.reno.cwnd, ssthresh = av.reno.ssthresh; break;
	}
	printf("%u %u %llu", cwnd, ssthresh, watch.total);
	if (whole) {
		printf(watched ? " AckLoss { inner: " : " ");
		switch (law) {
		case 'r': show_reno(&reno); break;
		case 'c': show_cubic(&cubic); break;
		case 'o': show_compound(&compound); break;
		case 'a': show_av(&av); break;
		}
		if (watched)
			show_watch();
	}
	printf("\n");
}

static void begin(const struct start *s)
{
	struct fw_initial initial = { s->mss, s->cwnd, s->ssthresh, s->byte_counting,
				      s->slow_start_segments, s->cwnd };
	struct fw_aim aim = {
		.target = s->target, .horizon = s->horizon, .catch_up = s->catch_up,
		.margin = { s->margin_num, s->margin_den }, .most = { s->most_num, s->most_den },
		.severe = { s->severe_num, s->severe_den }, .cap_to_target = s->cap_to_target,
		.floor_at_reno = s->floor_at_reno,
	};

	fw_reno_init(&reno, &initial);
	fw_cubic_init(&cubic, &initial);
	fw_compound_init(&compound, &initial);
	fw_av_init(&av, &initial, &aim);
	fw_watch_init(&watch, &initial);
}

/* Reads ACKs with what was sent before each, prints the gaps that their echoes show. */
static int show_gaps(void)
{
	struct { u64 una, echoed, next, sent_at, tick; } row;
	static struct fw_echo echo;
	static struct fw_notes notes;
	u32 before = 0;

	while (fread(&row, sizeof(row), 1, stdin) == 1) {
		struct fw_plain_echo plain;
		struct fw_echo heard;

		fw_plain_echo_of(&plain, &echo);
		fw_plain_echo_back(&plain, echo.end - echo.begin, &heard);
		if (fw_plain_heard(&heard, before, row.una, row.echoed) &&
		    (fw_echo_noted(&heard, row.next) ||
		     fw_plain_note(&heard, row.next, fw_echo_tick(&heard, row.sent_at, row.tick)))) {
			printf("0\n");
			echo = heard;
			plain_acks++;
		} else {
			printf("%u\n", fw_echo_gap(&echo, &notes, before, row.una, row.echoed));
			if (!fw_echo_noted(&echo, row.next))
				fw_echo_note(&echo, &notes, row.next,
					     fw_echo_tick(&echo, row.sent_at, row.tick));
		}
		before = row.una;
	}
	printf("%llu plain\n", plain_acks);
	return 0;
}

int main(int argc, char **argv)
{
	struct start start;
	struct event event;
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "echo"))
		return show_gaps();
	watched = strchr(name, '+') != NULL;
	literal = strstr(name, "ack-loss-literal+") != NULL;
	name = watched ? strchr(name, '+') + 1 : name;
	law = !strcmp(name, "reno") ? 'r' : !strcmp(name, "cubic") ? 'c' :
	      !strcmp(name, "compound") ? 'o' : !strcmp(name, "tcp-av") ? 'a' : 0;
	if (!law || fread(&start, sizeof(start), 1, stdin) != 1)
		return 2;
	begin(&start);
	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		apply(&event);
		show(event.whole);
	}
	printf("%llu plain\n", plain_acks);
	return 0;
}
