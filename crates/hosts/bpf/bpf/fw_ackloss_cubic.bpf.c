// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* CUBIC that reduces its window for lost ACKs: cc's `ack-loss-timestamps+cubic`. */
/* The kernel truncates the requested name fw_ackloss_cubic to 15 characters. */
#define FW_LAW "fw_ackloss_cubi"
#define FW_PLAIN
#include "fw_cubic.h"
#include "fw_echo.h"
#include "fw_plain_cubic.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_cubic cubic;
	struct fw_echo echo;
	struct fw_watch watch;
	struct fw_notes notes;
};

struct fw_inner_plain {
	struct fw_plain_cubic cubic;
};

#include "fw_watched.h"

static inline int fw_inner_plain_of(struct fw_inner_plain *plain, const struct fw_law *law, u64 heard)
{
	return fw_plain_cubic_of(&plain->cubic, &law->cubic, heard);
}

static inline void fw_inner_plain_back(const struct fw_inner_plain *plain, struct fw_law *law,
				       u64 heard)
{
	fw_plain_cubic_back(&plain->cubic, &law->cubic, heard);
}

static inline int fw_inner_plain_takes(const struct fw_inner_plain *plain, const struct fw_ack *ack,
				       u64 heard)
{
	return fw_plain_cubic_takes(&plain->cubic, ack, heard);
}

static inline void fw_inner_plain_on_ack(struct fw_inner_plain *plain, u32 mss,
					 const struct fw_ack *ack, u64 heard)
{
	fw_plain_cubic_on_ack(&plain->cubic, mss, ack, heard);
}

static inline u32 fw_inner_plain_cwnd(const struct fw_inner_plain *plain)
{
	return plain->cubic.cwnd;
}

#include "fw_inner_cubic.h"
