// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* CUBIC that reduces its window for lost ACKs as the paper writes it, for receivers that
 * acknowledge each segment: cc's `ack-loss-literal+cubic`. */
/* The kernel truncates the requested name fw_literal_cubic to 15 characters. */
#define FW_LAW "fw_literal_cubi"
#define FW_LITERAL
#include "fw_cubic.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_cubic cubic;
	struct fw_watch watch;
};

#include "fw_watched.h"

#include "fw_inner_cubic.h"
