// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* TCP-AV: cc's `tcp-av`. The targets of connections come from maps that user space writes. */
#define FW_LAW "fw_tcp_av"
#include "fw_av.h"

struct fw_law {
	struct fw_av av;
	u32 paced; /* SO_MAX_PACING_RATE as set here, in bytes per second; zero: none */
};

#include "fw_glue.h"

/* Maximum number of cgroups that are searched for a target, from the socket's own upwards. */
#define FW_CGROUP_LEVELS 16

struct {
	FW_UINT(type, BPF_MAP_TYPE_HASH);
	FW_UINT(max_entries, 65536);
	FW_UINT(map_flags, BPF_F_NO_PREALLOC);
	u64 FW_TYPE(key); /* cookie */
	struct fw_target FW_TYPE(value);
} fw_by_socket FW_SECTION(".maps");

struct {
	FW_UINT(type, BPF_MAP_TYPE_LPM_TRIE);
	FW_UINT(max_entries, 65536);
	FW_UINT(map_flags, BPF_F_NO_PREALLOC);
	struct fw_destination FW_TYPE(key);
	struct fw_target FW_TYPE(value);
} fw_by_dest FW_SECTION(".maps");

struct {
	FW_UINT(type, BPF_MAP_TYPE_HASH);
	FW_UINT(max_entries, 4096);
	FW_UINT(map_flags, BPF_F_NO_PREALLOC);
	u64 FW_TYPE(key); /* cgroup id */
	struct fw_target FW_TYPE(value);
} fw_by_cgroup FW_SECTION(".maps");

/* User space increments this when targets change; ACKs look up a target only after that. */
struct {
	FW_UINT(type, BPF_MAP_TYPE_ARRAY);
	FW_UINT(max_entries, 1);
	u32 FW_TYPE(key);
	u32 FW_TYPE(value);
} fw_generation FW_SECTION(".maps");

static inline u32 fw_current_generation(void)
{
	u32 zero = 0, *generation = bpf_map_lookup_elem(&fw_generation, &zero);

	return generation ? *generation : 0;
}

static inline struct fw_target *fw_by_destination(struct tcp_sock *tp)
{
	const struct sock_common *common = &tp->inet_conn.icsk_inet.sk.__sk_common;
	struct fw_destination to = { .prefix_bits = 128 };
	u32 *words = (u32 *)to.address;

	if (common->skc_family == AF_INET6) {
		words[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		words[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		words[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		words[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		words[2] = __builtin_bswap32(0xffff);
		words[3] = common->skc_daddr;
	}
	return bpf_map_lookup_elem(&fw_by_dest, &to);
}

/* The target of the socket's cgroup, or of its nearest ancestor with a target. */
static inline struct fw_target *fw_by_cgroups(struct tcp_sock *tp)
{
	struct cgroup *cgroup = tp->inet_conn.icsk_inet.sk.sk_cgrp_data.cgroup;
	int level;

	for (level = 0; level < FW_CGROUP_LEVELS && cgroup; level++) {
		struct cgroup_subsys_state *parent = cgroup->self.parent;
		u64 id = cgroup->kn->id;
		struct fw_target *target = bpf_map_lookup_elem(&fw_by_cgroup, &id);

		if (target)
			return target;
		if (!parent)
			return 0;
		cgroup = parent->cgroup;
	}
	return 0;
}

static inline struct fw_target *fw_target_of(struct tcp_sock *tp)
{
	u64 cookie = tp->inet_conn.icsk_inet.sk.__sk_common.skc_cookie.counter;
	struct fw_target *target = cookie ? bpf_map_lookup_elem(&fw_by_socket, &cookie) : 0;

	if (!target)
		target = fw_by_destination(tp);
	return target ? target : fw_by_cgroups(tp);
}

/* The constants of TcpAvConfig::DEFAULT, and the target. */
static inline struct fw_aim fw_aim_at(const struct fw_target *target)
{
	struct fw_aim aim = {
		.target = target ? target->rate : 0,
		.horizon = 5000000000ull,
		.catch_up = 1000000000ull,
		.margin = { 105, 100 },
		.most = { 2, 1 },
		.severe = { 5, 100 },
		.cap_to_target = target ? target->cap_to_target : 0,
		.floor_at_reno = target ? target->floor_at_reno : 0,
	};

	return aim;
}

/* Paces a connection with `cap_to_target`. Its window alone does not bound the rate: at a low
 * round-trip time the initial window, and even two segments, are more than the target needs. A
 * connection behind its target is paced at the rate that makes up for the shortfall. */
static inline void fw_pace(struct fw_law *law, struct tcp_sock *tp)
{
	const struct fw_av *av = &law->av;
	u64 rate = 0;
	u32 value;

	if (av->rate && av->aim.cap_to_target)
		rate = fw_max64(fw_av_wanted_rate(av), av->rate) / 8;
	/* The option has 32 bits. A target above 34 Gbps is not paced. */
	value = rate < U32_MAX ? rate : 0;
	if (value == law->paced)
		return;
	law->paced = value;
	value = value ? value : U32_MAX;
	bpf_setsockopt(tp, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
}

static inline void fw_note_aim(struct fw_connection *c, struct tcp_sock *tp)
{
	c->seen.target = c->law.av.aim.target;
	c->seen.aimed_us = tp->tcp_mstamp;
	c->seen.aimed_bytes = tp->bytes_acked;
}

static inline void fw_law_init(struct fw_connection *c, struct tcp_sock *tp,
			       const struct fw_initial *initial)
{
	struct fw_aim aim;

	c->generation = fw_current_generation();
	aim = fw_aim_at(fw_target_of(tp));
	fw_av_init(&c->law.av, initial, &aim);
	c->law.paced = 0;
	fw_pace(&c->law, tp);
	fw_note_aim(c, tp);
}

static inline void fw_law_on_ack(struct fw_connection *c, struct tcp_sock *tp,
				 const struct fw_ack *heard)
{
	u32 generation = fw_current_generation(), ssthresh = c->law.av.reno.ssthresh;
	struct fw_ack ack = *heard;
	struct fw_aim aim;

	if (generation != c->generation) {
		c->generation = generation;
		aim = fw_aim_at(fw_target_of(tp));
		if (fw_av_differs(&c->law.av, &aim)) {
			fw_av_aim(&c->law.av, &aim);
			fw_note_aim(c, tp);
		}
	}
	ack.delivered = fw_delivered(c, tp);
	fw_av_on_ack(&c->law.av, &ack);
	fw_pace(&c->law, tp);
	/* The first round-trip time sets ssthresh. */
	if (c->law.av.reno.ssthresh != ssthresh)
		tp->snd_ssthresh = fw_threshold(c);
}

static inline void fw_law_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_av_on_loss(&law->av, loss);
}

static inline void fw_law_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_av_on_rto(&law->av, rto);
}

static inline void fw_law_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_av_on_ecn(&law->av, loss);
}

static inline void fw_law_on_spurious(struct fw_law *law)
{
	fw_reno_on_spurious(&law->av.reno);
}

static inline void fw_law_on_idle_restart(struct fw_law *law, u64 idle)
{
	fw_av_on_idle_restart(&law->av);
}

static inline void fw_law_set_mss(struct fw_law *law, u32 mss)
{
	law->av.reno.mss = mss;
	law->av.reno.growth.mss = mss;
	law->av.climb.growth.mss = mss;
}

static inline u32 fw_law_cwnd(const struct fw_law *law)
{
	return law->av.reno.cwnd;
}

static inline u32 fw_law_ssthresh(const struct fw_law *law)
{
	return law->av.reno.ssthresh;
}
