// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Reno that reduces its window for lost ACKs: cc's `ack-loss-timestamps+reno`. */
#define FW_LAW "fw_ackloss_reno"
#define FW_PLAIN
#include "fw_reno.h"
#include "fw_echo.h"
#include "fw_plain.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_reno reno;
	struct fw_echo echo;
	struct fw_watch watch;
	struct fw_notes notes;
};

struct fw_inner_plain {
	struct fw_plain_reno reno;
};

#include "fw_watched.h"

static inline int fw_inner_plain_of(struct fw_inner_plain *plain, const struct fw_law *law, u64 heard)
{
	return fw_plain_reno_of(&plain->reno, &law->reno);
}

static inline void fw_inner_plain_back(const struct fw_inner_plain *plain, struct fw_law *law,
				       u64 heard)
{
	fw_plain_reno_back(&plain->reno, &law->reno);
}

static inline int fw_inner_plain_takes(const struct fw_inner_plain *plain, const struct fw_ack *ack,
				       u64 heard)
{
	return 1;
}

static inline void fw_inner_plain_on_ack(struct fw_inner_plain *plain, u32 mss,
					 const struct fw_ack *ack, u64 heard)
{
	fw_plain_reno_on_ack(&plain->reno, mss, ack);
}

static inline u32 fw_inner_plain_cwnd(const struct fw_inner_plain *plain)
{
	return plain->reno.cwnd;
}

#include "fw_inner_reno.h"
